# SPDX-License-Identifier: Apache-2.0
"""The protocols of this version, by name, and what the engine relies on in each."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import numpy.typing as npt

from .._walls.errors import bad_value
from ..protocols.evidence import Evidence, Need
from ..protocols.record import Column, Score

NAMES = ("worldmark", "r2m", "worldmembench", "opis")
REFUSED = "proxy: "  # begins the reason of a score that was refused because official estimators were required


class Scorer(Protocol):
    """What a protocol's module has."""

    NAME: str
    COLUMNS: tuple[Column, ...]

    def needs(self, evidence: Evidence, *, compat: bool = False) -> list[Need]: ...

    def score(self, evidence: Evidence, *, compat: bool = False) -> list[Score]: ...


@runtime_checkable
class SetScorer(Scorer, Protocol):
    """A protocol with numbers that, under ``compat``, depend on the whole set, or that are scored again in a sweep."""

    def curves(self, evidence: Evidence, *, compat: bool = False) -> Mapping[str, npt.NDArray[Any]]: ...

    def local_over_set(
        self, records: Sequence[Score], curves: Mapping[str, Mapping[str, npt.NDArray[Any]]]
    ) -> list[Score]: ...


@runtime_checkable
class Displays(Scorer, Protocol):
    """A protocol whose published board shows models under other names, or leaves some out."""

    def displayed(self, records: Iterable[Score]) -> list[Score]: ...


@runtime_checkable
class Groups(Scorer, Protocol):
    """A protocol that reports parts of its benchmark apart: by what, the labels in order, and a rollout's label."""

    GROUPS: Mapping[str, tuple[Sequence[str], Callable[[Sequence[Score]], str | None]]]


def protocols(names: Sequence[str]) -> tuple[Scorer, ...]:
    """The modules of these protocols, each once, in the order given.

    Raises:
        ArgumentError: No name, or one that this version does not have.
    """
    if not names:
        raise bad_value("score", "protocols", f"name at least one of {', '.join(NAMES)}", "none")
    for name in names:
        if name not in NAMES:
            raise bad_value("score", "protocols", f"be among {', '.join(NAMES)}", repr(name))
    found = [importlib.import_module(f"wmb_fast.protocols.{name}") for name in dict.fromkeys(names)]
    return tuple(cast(Scorer, module) for module in found)


@dataclass(frozen=True)
class Configured:
    """A protocol with options of its own, other than its defaults."""

    module: Any
    options: Any

    @property
    def NAME(self) -> str:  # noqa: N802
        return str(self.module.NAME)

    @property
    def COLUMNS(self) -> tuple[Column, ...]:  # noqa: N802
        return cast("tuple[Column, ...]", self.module.COLUMNS)

    def needs(self, evidence: Evidence, *, compat: bool = False) -> list[Need]:
        return cast(list[Need], self.module.needs(evidence, compat=compat, options=self.options))

    def score(self, evidence: Evidence, *, compat: bool = False) -> list[Score]:
        return cast(list[Score], self.module.score(evidence, compat=compat, options=self.options))


def configured(scorers: Sequence[Scorer], options: Sequence[str]) -> tuple[Scorer, ...]:
    """The protocols with what was asked of them as ``protocol.option=value``, each once.

    Raises:
        ArgumentError: Text of another form, an option twice, a protocol that is not scored or has no options, or does
            not take the value.
    """
    asked: dict[str, dict[str, str]] = {}
    for text in options:
        name, equals, value = text.partition("=")
        protocol, dot, option = name.partition(".")
        if not (equals and dot and option):
            raise bad_value("score", "option", "be protocol.option=value", repr(text))
        if option in asked.setdefault(protocol, {}):
            raise bad_value("score", "option", "be given once", repr(name))
        asked[protocol][option] = value
    able = [scorer.NAME for scorer in scorers if hasattr(scorer, "options_of")]
    for protocol in asked:
        if protocol not in able:
            wanted = f"be of a protocol that is scored and has options ({', '.join(able) or 'none here'})"
            raise bad_value("score", "option", wanted, repr(protocol))
    made: list[Scorer] = []
    for scorer in scorers:
        mine = asked.get(scorer.NAME)
        made.append(scorer if mine is None else cast(Scorer, Configured(scorer, cast(Any, scorer).options_of(mine))))
    return tuple(made)
