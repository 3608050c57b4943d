# SPDX-License-Identifier: Apache-2.0
"""Does a run folder tell the truth? Everything is made again, from the videos on, and compared with what it says."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import board
from .._walls.errors import FileFormatError
from ..estimators.judge import Judge
from ..protocols.record import Score
from . import folder, sources
from .engine import Progress, score

StrPath = str | os.PathLike[str]
_OPTIONS = {
    "protocols": list,
    "options": list,
    "plan": str | None,
    "compat": bool,
    "require_official": bool,
    "shard": str | None,
    "engine": str,
    "estimators": str,
    "device": str,
}
_COMPARED = ("value", "status", "reason", "n_used", "n_total", "definition", "estimators")


@dataclass(frozen=True)
class Difference:
    """One thing that the folder says, and what was found now."""

    rollout: str
    what: str
    recorded: str
    found: str


@dataclass(frozen=True)
class Verified:
    """How much was compared, and what differs."""

    rollouts: int
    channels: int
    records: int
    differences: Sequence[Difference]


def verify(
    out: StrPath,
    *,
    paths: Sequence[StrPath] = (),
    jobs: int | None = None,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> Verified:
    """Scores a run's rollouts again, without any cache, and compares.

    Compared are the video's hash and frames, of each channel its estimator's fingerprint and the hash of its values,
    of each record the value, status, reason, counts, definition and estimators, and the leaderboard with the records.
    Equal fingerprints must give equal bits; where a fingerprint differs (another onnxruntime, another CPU), that is
    told, and with it how far the scores differ. What a judge replied comes from its transcripts: it is not asked again.

    Args:
        out: A run folder.
        paths: Where the videos are now; by default where they were.
        jobs: Rollouts at a time. Changes nothing.
        watch: As of :func:`.engine.score`.

    Raises:
        FileFormatError: No run folder, a damaged one, or one that does not say where its videos are.
        WmbError: As of :func:`.engine.score`.
    """
    where = Path(out)
    said = _document(where)
    given, plan = sources.read(where) if not paths else (list(paths), said["options"]["plan"])
    options = said["options"]
    recorded = folder.read_scorecards([where])
    with tempfile.TemporaryDirectory(prefix="wmb-fast-verify-") as fresh:
        again = score(
            given,
            options["protocols"],
            out=Path(fresh) / "out",
            cache=Path(fresh) / "cache",
            plan=plan,
            compat=options["compat"],
            require_official=options["require_official"],
            jobs=jobs,
            shard=_shard(options["shard"]),
            engine=options["engine"],
            options=options["options"],
            estimators=options["estimators"],
            device=options["device"],
            judge=_remembered(options.get("judge")),
            watch=watch,
        )
        now = _document(again.out)
    rollouts = {one["rollout"]: one for one in said["rollouts"]}
    found = {one["rollout"]: one for one in now["rollouts"]}
    differences = [*_of_facts(rollouts, found), *_of_records(recorded, again.scores), *_of_board(where, recorded)]
    channels = sum(len(facts.get("evidence", {})) for facts in rollouts.values())
    return Verified(len(rollouts), channels, len(recorded), differences)


def _remembered(said: Mapping[str, Any] | None) -> Judge | None:
    """The judge of the run, whose transcripts are replayed; nobody is asked."""
    if said is None:
        return None
    return Judge(None, said["model"], seed=said["seed"], most_tokens=said["max_tokens"])


def _shard(said: str | None) -> tuple[int, int] | None:
    if said is None:
        return None
    i, n = map(int, said.split("/"))
    return i, n


def _document(out: Path) -> dict[str, Any]:
    path = out / "run.json"
    try:
        document: dict[str, Any] = json.loads(path.read_bytes())
        options = document["options"]
        for name, kind in _OPTIONS.items():
            said = options[name]
            if not isinstance(said, kind) or (kind is list and not all(isinstance(one, str) for one in options[name])):
                raise TypeError(f"options {name}")
        _shard(options["shard"])
        _remembered(options.get("judge"))
        if not all(isinstance(one["rollout"], str) and one.get("evidence", {}).keys for one in document["rollouts"]):
            raise TypeError("rollouts")
    except FileNotFoundError:
        raise FileFormatError(f"verify: {out} must be a run folder, got none (no run.json)") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        got = f"{type(error).__name__} ({error})"
        raise FileFormatError(f"verify: {path} must be what this version writes, got {got}") from error
    return document


def _of_facts(recorded: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[Difference]:
    for rollout in sorted({*recorded, *found}):
        a, b = recorded.get(rollout), found.get(rollout)
        if a is None or b is None:
            yield Difference(rollout, "rollout", "is there" if a else "none", "is there" if b else "none")
            continue
        flat_a, flat_b = dict(_flat(a)), dict(_flat(b))
        for what in sorted({*flat_a, *flat_b}):
            if flat_a.get(what) != flat_b.get(what):
                yield Difference(rollout, what, str(flat_a.get(what, "none")), str(flat_b.get(what, "none")))


def _flat(facts: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name} ")
        else:
            yield before + name, value


def _of_records(recorded: Sequence[Score], found: Sequence[Score]) -> Iterator[Difference]:
    a, b = ({_place(score): score for score in scores} for scores in (recorded, found))
    for place in sorted({*a, *b}):
        rollout, *rest = place
        what = " ".join(filter(None, rest))
        if place not in a or place not in b:
            yield Difference(rollout, what, "a record" if place in a else "none", "a record" if place in b else "none")
            continue
        for name in _COMPARED:
            x, y = getattr(a[place], name), getattr(b[place], name)
            if json.dumps(x) != json.dumps(y):
                yield Difference(rollout, f"{what} {name}", str(x), str(y))


def _place(score: Score) -> tuple[str, str, str, str]:
    part = json.dumps(score.part, sort_keys=True) if score.part else ""
    return score.rollout, score.protocol, score.metric, part


def _of_board(out: Path, recorded: Sequence[Score]) -> Iterator[Difference]:
    """The leaderboard of the folder's own records: nothing but them went into it."""
    try:
        stands = (out / "board.json").read_text()
    except OSError as error:
        stands = str(error)
    if stands != board.to_json(folder.boards(recorded)):
        yield Difference("", "board.json", "another leaderboard", "that of the records")
