# SPDX-License-Identifier: Apache-2.0
"""A judge at work in a run: it is shown the frames that a protocol needs, and asked what ``wmb-fast prompt`` writes.

It makes the channel ``judge`` where no reply was handed in. Its transcripts are kept, so what was answered once is
replayed without a network; while it is unreachable the scores that need it are missing, and the next run asks again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .._walls.errors import WmbError
from ..estimators.judge import Judge
from ..estimators.registry import Consumer, Estimator, Frame, Pairs, Settings
from ..evidence import external
from ..protocols import worldmembench
from ..protocols.worldmembench.prompt import TEMPLATE
from ..rollout.discover import Rollout
from ..rollout.plan import Plan
from . import prompts

CHANNEL = "judge"


@dataclass(frozen=True, kw_only=True)
class Asked(Estimator):
    """The judge of one rollout.

    Attributes:
        judge: Who is asked.
        checklist: The questions.
        plan: What the rollout was told to do.
    """

    judge: Judge
    checklist: worldmembench.Checklist
    plan: Plan

    def settings(self, model: str | None) -> Settings:
        asked = [asdict(question) for question in self.checklist.questions]
        return {**self.judge.settings, "plan": repr(self.plan), "checklist": asked, "wording": TEMPLATE}

    def start(self, settings: Settings, pairs: Pairs = ()) -> Consumer:
        return _Shown(self)

    def fingerprint(self, settings: Settings) -> str:
        """Of the model, its settings and the question; what is replied may differ for all that, and is kept."""
        return hashlib.sha256(json.dumps(dict(settings), sort_keys=True).encode()).hexdigest()[:16]


class _Shown:
    """Keeps the frames that are shown, and asks when all are there."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._pictures: list[Frame] = []
        self._last = 0

    def feed(self, index: int, frame: Frame) -> None:
        self._pictures.append(frame.copy())
        self._last = index  # a rollout's last frame is always shown

    def finish(self) -> dict[str, Any]:
        words = prompts.question(self._asked.checklist, self._asked.plan, self._last + 1)
        return {"text": self._asked.judge.ask(words, self._pictures)}


def with_judge(estimators: Mapping[str, Estimator], judge: Judge | None, rollout: Rollout) -> Mapping[str, Estimator]:
    """The estimators of a rollout, the judge among them where there is something to ask it."""
    if judge is None or rollout.plan is None or external.find(rollout.video_path, rollout.id, CHANNEL, None):
        return estimators
    try:
        checklist = prompts.checklist_beside(rollout)
    except WmbError:  # the protocol says what is wrong with it
        return estimators
    if checklist is None:
        return estimators
    entry = (CHANNEL, judge.model, "external", "of the endpoint", True, "judge")
    asked = Asked(*entry, judge=judge, checklist=checklist, plan=rollout.plan)
    return {**estimators, CHANNEL: asked}
