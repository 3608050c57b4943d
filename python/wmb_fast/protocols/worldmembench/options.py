# SPDX-License-Identifier: Apache-2.0
"""What the paper leaves open, as it is settled for a score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..._walls.checks import integer, one_of
from ..._walls.errors import bad_value
from .camera import Following
from .constants import DYNAMIC, STATIC
from .dynamic import MISSING_ANSWERS
from .entities import REDUCTIONS


@dataclass(frozen=True)
class Options:
    """What the paper leaves open, as it is settled here; each stands in every record that it bears on.

    Attributes:
        approach: How many frames before its arrival the camera already counts as returned.
        reduce: Over the frames of a return, for entities: ``mean``, ``median`` or ``max``.
        following: Of Camera Following.
        missing_answer: What an answer of the judge is that cannot be read: ``missing`` or ``zero``.
        fewest_cited: How many images of the initial hold a yes on the gate must cite; 0 as published.
    """

    approach: int = 0
    reduce: str = "mean"
    following: Following = field(default_factory=Following)
    missing_answer: str = "missing"
    fewest_cited: int = 0

    def __post_init__(self) -> None:
        integer("Options", "approach", self.approach, at_least=0)
        one_of("Options", "reduce", self.reduce, REDUCTIONS)
        one_of("Options", "missing_answer", self.missing_answer, MISSING_ANSWERS)
        integer("Options", "fewest_cited", self.fewest_cited, at_least=0)

    def said(self, metric: str) -> dict[str, Any]:
        """What of it bears on a metric and is not told by the metric itself."""
        if metric in STATIC:
            return {"approach": self.approach}
        return {"missing_answer": self.missing_answer, "fewest_cited": self.fewest_cited} if metric in DYNAMIC else {}


def options_of(settings: Mapping[str, str]) -> Options:
    """Options out of texts, as a command line has them.

    Args:
        settings: By name: ``approach``, ``reduce``, ``missing_answer``, ``fewest_cited``, and of Camera Following
            ``following.delta``, ``following.reduce``, ``following.scale`` and ``following.unit``.

    Raises:
        ArgumentError: A name that is none, a value that the option does not take.

    Example:
        >>> options_of({"missing_answer": "zero", "following.delta": "4"}).following.delta
        4
    """
    defaults = {name: value for name, value in asdict(Options()).items() if name != "following"}
    defaults |= {f"following.{name}": value for name, value in asdict(Following()).items()}
    made: dict[str, Any] = {}
    for name, text in settings.items():
        if name not in defaults:
            raise bad_value("worldmembench", "option", f"be one of {', '.join(defaults)}", repr(name))
        if isinstance(defaults[name], int) and not text.isdecimal():
            raise bad_value("worldmembench", name, "be a whole number of at least 0", repr(text))
        made[name] = int(text) if isinstance(defaults[name], int) else text
    of_camera = {name.partition(".")[2]: made.pop(name) for name in list(made) if name.startswith("following.")}
    return replace(Options(**made), following=Following(**of_camera))
