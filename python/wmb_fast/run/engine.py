# SPDX-License-Identifier: Apache-2.0
"""A run: find the rollouts, have each done, write the folder.

What is written depends on the inputs and options alone: not on threads, on the order of completion, on the clock, or on
how often the run was killed on its way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import board
from .._walls import drafts
from .._walls.checks import integer
from .._walls.errors import bad_value
from .._walls.ext import get_num_threads
from .._walls.places import home_folder
from ..estimators import choice
from ..estimators.judge import Judge
from ..evidence.store import Store
from ..protocols.record import Score
from ..rollout.discover import Rollout, find_rollouts
from . import curves, describe, files, folder, known, local, sources, task

StrPath = str | os.PathLike[str]
ENGINE = "local"


@dataclass(frozen=True)
class Progress:
    """A step of a run: first ``begun``, of no rollout; then each rollout ``scored``, ``kept`` or ``failed``."""

    rollout: str
    how: str
    notes: Sequence[str]
    done: int
    total: int


@dataclass(frozen=True)
class Outcome:
    """What a run made.

    Attributes:
        out: The folder it lies in.
        scores: The scorecard's records, in its order.
        tables: The leaderboards.
        complete: Whether nothing failed: no rollout, no metric, no score refused as a proxy, none without any value.
    """

    out: Path
    scores: Sequence[Score]
    tables: Sequence[board.Table]
    complete: bool


def score(
    paths: Sequence[StrPath],
    protocols: Sequence[str],
    *,
    out: StrPath,
    plan: str | None = None,
    compat: bool = False,
    require_official: bool = False,
    options: Sequence[str] = (),
    jobs: int | None = None,
    shard: tuple[int, int] | None = None,
    cache: StrPath | None = None,
    engine: str = ENGINE,
    estimators: str = choice.DEFAULT,
    device: str = "cpu",
    judge: Judge | None = None,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> Outcome:
    """Scores rollouts and writes the run folder.

    Args:
        paths: Videos, folders of them, or folders of frames.
        protocols: Their names, for example ``["worldmark"]``.
        out: The run folder; what an earlier run of the same rollouts and options finished there is kept.
        plan: A plan file, or the name of a plan, for the rollouts that do not bring their own.
        compat: Asks for the published evaluators' numbers, their bugs included.
        require_official: Refuses scores that a builtin or packaged estimator had a hand in.
        options: What a protocol leaves open, as ``protocol.option=value``: ``worldmembench.missing_answer=zero``.
        jobs: Rollouts at a time; by default as many as the core may use threads. Changes no result.
        shard: ``(i, n)``, i from 1: takes every n-th rollout from the i-th on.
        cache: Where evidence is kept; by default ``WMB_FAST_HOME`` or a folder below the user's cache folder.
        engine: ``local`` is the one of this version.
        estimators: Which make the evidence, see :func:`..estimators.choice.chosen`; never what happens to be installed.
        device: Where networks run, ``cpu`` or ``cuda``.
        judge: Asked for each rollout that has a checklist and no reply beside it. One that does not answer leaves the
            scores that need it missing, with ``judge unreachable``; the same call goes on from there.
        watch: Called in the caller's thread at the start and as each rollout is done.

    Returns:
        What was made. The folder holds ``scorecard.jsonl``, ``board.json``, ``board.md``, ``run.json``,
        ``sources.json`` and ``parts/``.

    Raises:
        WmbError: The call is wrong: an unknown protocol, plan or engine, no video, a folder that cannot be written.
            A rollout that fails does not raise; its records say why.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from wmb_fast.rollout.video import write_video
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     clip = Path(folder) / "model" / "001_006.mp4"  # the name says the plan: forward, back
        ...     clip.parent.mkdir()
        ...     _ = write_video(clip, np.zeros((9, 32, 48, 3), np.uint8), fps=2)
        ...     made = score([clip], ["worldmark"], out=Path(folder) / "out", cache=Path(folder) / "cache")
        >>> made.scores[0].rollout, made.scores[0].metric, made.scores[0].status.value, made.complete
        ('model/001_006', 'direction_accuracy', 'not_evaluable', False)
    """
    if engine != ENGINE:
        raise bad_value("score", "engine", f"be {ENGINE}, the one engine of this version", repr(engine))
    tools = choice.chosen(estimators, device)
    scorers = known.configured(known.protocols(protocols), options)
    chosen = task.Options(scorers, compat, require_official, tools, judge)
    jobs = get_num_threads() if jobs is None else integer("score", "jobs", jobs, at_least=1)
    rollouts = _shard(find_rollouts(paths, plan=plan), shard)
    target = files.writable_folder("out", out)
    store = Store(files.writable_folder("cache", home_folder() if cache is None else cache))
    for place in (target, files.writable_folder("out", target / "parts"), target / "curves"):
        drafts.sweep(place)
    done: list[task.Done] = []
    watch(Progress("", "begun", (), 0, len(rollouts)))

    def finished(one: task.Done) -> None:
        done.append(one)
        watch(Progress(one.rollout, one.how, one.notes, len(done), len(rollouts)))

    made = local.each(rollouts, lambda rollout: task.do(rollout, chosen, target, store), jobs, finished)
    asked = {
        "protocols": [scorer.NAME for scorer in chosen.scorers],
        "options": list(options),
        "plan": plan,
        "compat": compat,
        "require_official": require_official,
        "shard": "/".join(map(str, shard)) if shard else None,
        "engine": engine,
        "estimators": choice.spelt(tools),
        "device": device,
        "judge": None if judge is None else judge.settings,
    }
    sources.keep(target, paths, plan)
    return _write(target, made, asked)


def _shard(rollouts: Sequence[Rollout], shard: tuple[int, int] | None) -> list[Rollout]:
    ordered = sorted(rollouts, key=lambda rollout: rollout.id)
    if shard is None:
        return ordered
    i, n = (integer("score", "shard", x, at_least=1) for x in shard)
    if i > n:
        raise bad_value("score", "shard", "be i/n with 1 <= i <= n", f"{i}/{n}")
    return ordered[i - 1 :: n]


def _write(target: Path, made: Sequence[task.Done], asked: Mapping[str, Any]) -> Outcome:
    scores = curves.over_set([score for one in made for score in one.part.scores], [target])
    tables = folder.boards(scores)
    rollouts = [{"rollout": one.rollout, **one.part.facts} for one in made]
    files.write(target / "scorecard.jsonl", folder.scorecard(scores))
    files.write(target / "board.json", board.to_json(tables))
    files.write(target / "board.md", board.to_markdown(tables))
    files.write(target / "run.json", describe.document(asked, rollouts, scores))
    return Outcome(target, scores, tables, complete(scores))


def complete(scores: Sequence[Score]) -> bool:
    """Whether nothing failed, was refused or waits for a judge, and every rollout has a value in every protocol."""
    without = {(s.rollout, s.protocol) for s in scores} - {
        (s.rollout, s.protocol) for s in scores if s.value is not None
    }
    return not without and not any(task.unfinished(s) or s.reason.startswith(known.REFUSED) for s in scores)
