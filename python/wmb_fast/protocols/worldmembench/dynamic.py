# SPDX-License-Identifier: Apache-2.0
"""Dynamic Memory: whether an event went on while nobody looked. From a judgement to scores.

EXACT (section 4.5, D.1, D.2): the judge's yes or no on whether the event started is the gate, by itself; no makes all
eight questions 0; else a question scores 1 if the answer is the frozen one; an aspect is the mean of its two, Overall
of all eight. RECONSTRUCTED: what becomes of an answer that cannot be read, of which the paper says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._walls.checks import integer, one_of
from ..._walls.errors import bad_value
from ..measure import Measure, missing
from .checklist import Checklist, Ranges
from .constants import ASPECTS
from .judge import Judgement

MISSING_ANSWERS = ("missing", "zero")
NOT_STARTED = "not_started: the event did not start, which counts 0"
UNREAD = "unread: what could not be read counts 0"


@dataclass(frozen=True, eq=False)
class DynamicMemory:
    """The scores of one video.

    Attributes:
        started: 1 or 0, or missing.
        questions: (8,) gated scores, 1 or 0; NaN where the answer is missing.
        aspects: Each aspect's mean; missing where one of its answers is.
        overall: The mean of all eight; missing where an answer is.
        n_missing: Answers that could not be read, the gate not counted. An unread answer of an event that did not start
            is counted, and scores 0 all the same.
    """

    started: Measure
    questions: npt.NDArray[np.float64]
    aspects: Mapping[str, Measure]
    overall: Measure
    n_missing: int


def dynamic_memory(
    judgement: Judgement,
    checklist: Checklist,
    *,
    missing_answer: str = "missing",
    fewest_cited: int = 0,
    ranges: Ranges | None = None,
) -> DynamicMemory:
    """Scores a judgement.

    Args:
        judgement: From :func:`read_judgement`.
        checklist: The questions and their frozen answers.
        missing_answer: ``missing``: an answer that cannot be read leaves its aspect and Overall without a value;
            ``zero``: it scores 0, and an unread gate is a no.
        fewest_cited: A yes must cite at least so many images of the initial hold, or counts as a no. The paper asks the
            judge for two and does not enforce it: 0, the default, is as published.
        ranges: Which images are the initial hold's; needed for ``fewest_cited``.

    Raises:
        ArgumentError: Another number of answers than questions, an unknown rule, ``fewest_cited`` without ranges.

    Source:
        WorldMemBench, section 4.5, appendices D.1 and D.2.

    Example:
        >>> from wmb_fast.protocols.worldmembench import Question
        >>> asked = Checklist(tuple(Question(str(i), ASPECTS[i // 2], "returned_view", "?", True) for i in range(8)))
        >>> found = dynamic_memory(Judgement(True, (1, 2), (True,) * 7 + (False,)), asked)
        >>> found.overall.value, found.aspects["causal_physical"].value
        (0.875, 0.5)
        >>> dynamic_memory(Judgement(False, (), (True,) * 8), asked).overall.value
        0.0
    """
    one_of("dynamic_memory", "missing_answer", missing_answer, MISSING_ANSWERS)
    integer("dynamic_memory", "fewest_cited", fewest_cited, at_least=0)
    if len(judgement.answers) != len(checklist.questions):
        wanted = f"have {len(checklist.questions)} answers"
        raise bad_value("dynamic_memory", "judgement", wanted, len(judgement.answers))
    started = _gate(judgement, fewest_cited, ranges)
    n_missing = sum(answer is None for answer in judgement.answers)
    if started is None and missing_answer == "zero":
        started = False
    scores = _against(judgement, checklist)
    if missing_answer == "zero":
        scores = np.nan_to_num(scores)
    if started is None:
        scores[:] = math.nan
    elif not started:
        scores[:] = 0.0
    detail = {"problems": list(judgement.problems), "missing_answers": n_missing}
    why = "; ".join(judgement.problems) or "no_answer: the judge gave none"
    gate_zero = f"{UNREAD}: {why}" if started is False and judgement.started is None else ""
    gate = missing(why, 1, detail) if started is None else Measure(float(started), gate_zero, 1, 1, detail)
    unread = np.array([answer is None for answer in judgement.answers])

    def zero(of: npt.NDArray[np.bool_]) -> str:
        """What made some of these questions 0, other than their answers."""
        if started is False:
            return gate_zero or NOT_STARTED
        return f"{UNREAD}: {why}" if unread[of].any() else ""

    which = {aspect: np.array([q.aspect == aspect for q in checklist.questions]) for aspect in ASPECTS}
    aspects = {aspect: _mean(scores[of], why, zero(of), {}) for aspect, of in which.items()}
    overall = _mean(
        scores, why, zero(np.ones(len(scores), dtype=bool)), {**detail, "questions": scores, "started": started}
    )
    return DynamicMemory(gate, scores, aspects, overall, n_missing)


def _against(judgement: Judgement, checklist: Checklist) -> npt.NDArray[np.float64]:
    """1 where an answer is the frozen one, 0 where not, NaN where there is none."""
    pairs = zip(judgement.answers, checklist.questions, strict=True)
    return np.array([math.nan if answer is None else float(answer == question.answer) for answer, question in pairs])


def _gate(judgement: Judgement, fewest: int, ranges: Ranges | None) -> bool | None:
    if not fewest or not judgement.started:
        return judgement.started
    if ranges is None:
        raise bad_value("dynamic_memory", "ranges", "be given with fewest_cited", "None")
    if ranges.initial_hold is None:
        return False
    first, last = ranges.initial_hold
    return len({n for n in judgement.cited if first <= n <= last}) >= fewest


def _mean(scores: npt.NDArray[np.float64], why: str, zero: str, detail: Mapping[str, object]) -> Measure:
    there = scores[np.isfinite(scores)]
    if there.size < scores.size:
        return Measure(None, why, int(there.size), scores.size, detail, missing("").status)
    return Measure(math.fsum(scores.tolist()) / scores.size, zero, scores.size, scores.size, detail)
