# SPDX-License-Identifier: Apache-2.0
"""The protocols of this version, by name, and what the engine relies on in each."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
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
