# SPDX-License-Identifier: Apache-2.0
"""The eight questions of a Dynamic Memory case, and where in the video the judge is to look.

EXACT (section 4.5, appendices D.1 and D.3): eight frozen binary questions, two an aspect, with fixed answers; frames 0,
8, 16, … and always the last; phases as inclusive ranges of image numbers from 1. RECONSTRUCTED: the keys of the file,
and the ranges that are called useful for comparison.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..._walls.checks import integer
from ..._walls.errors import bad_value
from ...rollout.plan import Span
from .constants import ASPECTS, JUDGE_STRIDE
from .course import Course

QUESTIONS = 8
WINDOWS = (
    "returned_view",
    "returned_hold_sequence",
    "returned_and_later_visible_sequence",
    "final_stationary_view",
    "ordered_visible_sequence",
)
_SPELLINGS = {
    "return_progress": ("return", "progress"),
    "persistence_reset": ("persistence", "reset"),
    "final_state": ("final",),
    "causal_physical": ("causal", "physical", "physics", "causal_physics", "causal_physical_consistency"),
}
_ASPECT_OF = {name: aspect for aspect, others in _SPELLINGS.items() for name in (aspect, *others)}
_ANSWERS = {"yes": True, "no": False}

Range = tuple[int, int]


@dataclass(frozen=True)
class Question:
    """One item.

    Attributes:
        id: As the judge must repeat it.
        aspect: One of return_progress, persistence_reset, final_state, causal_physical.
        window: Which images it is about, one of :data:`WINDOWS`.
        text: The question.
        answer: The frozen reference answer: True is yes.
    """

    id: str
    aspect: str
    window: str
    text: str
    answer: bool


@dataclass(frozen=True)
class Checklist:
    """The questions of a case, in their order."""

    questions: tuple[Question, ...]


def checklist_of(data: Any) -> Checklist:
    """A checklist out of the data of its file.

    Args:
        data: A list of eight items, or a mapping whose ``questions`` are these. An item has ``id``, ``category`` (the
            aspect, as in ``Persistence / Reset`` or ``final_state``), ``evidence_window``, ``question`` and ``answer``
            (yes or no).

    Raises:
        ArgumentError: Not eight questions, not two an aspect, an id twice, an unknown category or window, an answer
            other than yes and no.

    Source:
        WorldMemBench, appendix D.3 (EXACT; the keys ``questions`` and ``answer`` RECONSTRUCTED).

    Example:
        >>> checklist_of([{"id": "q1"}])
        Traceback (most recent call last):
            ...
        wmb_fast._walls.errors.ArgumentError: checklist: questions must be 8, got 1
    """
    items = data.get("questions") if isinstance(data, Mapping) else data
    if not isinstance(items, list):
        raise bad_value("checklist", "file", "hold a list of questions", type(items).__name__)
    if len(items) != QUESTIONS:
        raise bad_value("checklist", "questions", f"be {QUESTIONS}", len(items))
    questions = tuple(_question(i, item) for i, item in enumerate(items))
    ids = [question.id for question in questions]
    for name in ids:
        if ids.count(name) > 1:
            raise bad_value("checklist", "ids", "be unique", f"{name!r} twice")
    for aspect in ASPECTS:
        count = sum(question.aspect == aspect for question in questions)
        if count != QUESTIONS // len(ASPECTS):
            raise bad_value("checklist", f"questions on {aspect}", f"be {QUESTIONS // len(ASPECTS)}", count)
    return Checklist(questions)


def _question(i: int, item: Any) -> Question:
    if not isinstance(item, Mapping):
        raise bad_value("checklist", f"questions[{i}]", "be a mapping", type(item).__name__)
    texts = {key: _text(i, key, item.get(key)) for key in ("id", "category", "evidence_window", "question")}
    aspect = _ASPECT_OF.get(re.sub(r"[^a-z]+", "_", texts["category"].lower()).strip("_"))
    if aspect is None:
        raise bad_value("checklist", f"questions[{i}].category", f"be one of {', '.join(ASPECTS)}", texts["category"])
    if texts["evidence_window"] not in WINDOWS:
        wanted = f"be one of {', '.join(WINDOWS)}"
        raise bad_value("checklist", f"questions[{i}].evidence_window", wanted, repr(texts["evidence_window"]))
    answer = item.get("answer")
    if not isinstance(answer, str) or answer not in _ANSWERS:
        raise bad_value("checklist", f"questions[{i}].answer", "be yes or no", repr(answer))
    return Question(texts["id"], aspect, texts["evidence_window"], texts["question"], _ANSWERS[answer])


def _text(i: int, key: str, value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and key == "id":
        return str(value)
    if not isinstance(value, str) or not value.strip() or re.search("[\ud800-\udfff]", value):  # half a character
        raise bad_value("checklist", f"questions[{i}].{key}", "be text", repr(value))
    return value


def judged_frames(n_frames: int, stride: int = JUDGE_STRIDE) -> tuple[int, ...]:
    """The frames that the judge is shown: 0, 8, 16, … and always the last.

    Source:
        WorldMemBench, appendix D.1 (EXACT).

    Example:
        >>> judged_frames(21), judged_frames(17), judged_frames(1)
        ((0, 8, 16, 20), (0, 8, 16), (0,))
    """
    last = integer("judged_frames", "n_frames", n_frames, at_least=1) - 1
    step = integer("judged_frames", "stride", stride, at_least=1)
    return tuple(dict.fromkeys((*range(0, last + 1, step), last)))


@dataclass(frozen=True)
class Ranges:
    """The phases as image numbers from 1, both ends included; ``None`` where no image falls into one.

    Attributes:
        initial_hold: Of V, before the camera leaves.
        departures, revisits: One each.
        final_stationary: The last hold.
        returned_hold: From the last return on: the images after which nothing is out of view any more.
    """

    initial_hold: Range | None
    departures: tuple[Range | None, ...]
    revisits: tuple[Range | None, ...]
    final_stationary: Range | None
    returned_hold: Range | None

    def planned(self) -> dict[str, Any]:
        """What the prompt calls the planned phase ranges."""
        return {
            "initial_hold": self.initial_hold,
            "departures": list(self.departures),
            "revisits": list(self.revisits),
            "final_stationary": self.final_stationary,
        }

    def comparison(self) -> dict[str, Any]:
        """What the prompt calls useful comparison ranges (RECONSTRUCTED)."""
        return {"departure_baseline": self.initial_hold, "returned_hold": self.returned_hold}


def phase_ranges(course: Course, frames: Sequence[int]) -> Ranges:
    """The phases of a course among the frames that the judge is shown.

    Source:
        WorldMemBench, appendices D.1 and D.3 (EXACT: inclusive, from 1; RECONSTRUCTED: a revisit is the whole way
        back).

    Example:
        >>> from wmb_fast.protocols.worldmembench import course_of
        >>> from wmb_fast.rollout.plans import named_plan
        >>> course = course_of(named_plan("lr_hold"), 81)
        >>> ranges = phase_ranges(course, judged_frames(81))
        >>> ranges.planned()
        {'initial_hold': (1, 3), 'departures': [(4, 5)], 'revisits': [(6, 8)], 'final_stationary': (9, 11)}
    """
    departures = tuple(_images(frames, revisit.departure) for revisit in course.revisits)
    revisits = tuple(_images(frames, revisit.back) for revisit in course.revisits)
    returned = None
    if course.revisits:
        returned = _images(frames, Span(course.revisits[-1].window.start, frames[-1] + 1))
    final = _images(frames, course.final) if course.final else None
    return Ranges(_images(frames, course.reference), departures, revisits, final, returned)


def _images(frames: Sequence[int], span: Span) -> Range | None:
    inside = [i + 1 for i, frame in enumerate(frames) if span.start <= frame < span.stop]
    return (inside[0], inside[-1]) if inside else None
