# SPDX-License-Identifier: Apache-2.0
"""One rollout, from its video to its records. The unit that every engine runs, and that a resumed run keeps."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .._walls.errors import WmbError
from ..estimators.judge import UNREACHABLE, Judge
from ..estimators.registry import Estimator
from ..evidence import external, objects, published, schema
from ..evidence.make import gather
from ..evidence.store import Store, digest_of
from ..protocols.evidence import Channel, Evidence
from ..protocols.record import PROXIES, WHOLE_ROLLOUT, Score, Status
from ..rollout.discover import Rollout
from ..rollout.model_frames import realised
from ..rollout.video import open_video
from . import curves, parts
from .asked import with_judge
from .describe import version
from .known import REFUSED, Configured, Scorer, SetScorer


@dataclass(frozen=True)
class Options:
    """What a result depends on beside its rollout."""

    scorers: Sequence[Scorer]
    compat: bool
    require_official: bool
    estimators: Mapping[str, Estimator]
    judge: Judge | None = None


@dataclass(frozen=True)
class Done:
    """A finished rollout: how (``scored``, ``kept`` from an earlier run, ``failed``), its part, and notes on it."""

    rollout: str
    how: str
    part: parts.Part
    notes: Sequence[str] = ()


def do(rollout: Rollout, options: Options, out: Path, store: Store) -> Done:
    """Scores one rollout, or finds what an earlier run made of it. Never raises on account of the rollout."""
    try:
        options = replace(options, estimators=with_judge(options.estimators, options.judge, rollout))
        key = _key(rollout, options, *_identity(rollout))
        part, note = parts.find(out, rollout.id, key)
        if part is not None and _curves_are_whole(out, rollout, part):
            return Done(rollout.id, "kept", part, part.facts["notes"])
        evidence = gather(rollout, options.scorers, store=store, compat=options.compat, estimators=options.estimators)
        part = _scored(rollout, options, evidence, out)
        if not any(unfinished(score) for score in part.scores):  # what failed is tried again next time
            parts.keep(out, rollout.id, key, part)
        return Done(rollout.id, "scored", part, [*evidence.notes, *([note] if note else [])])
    except WmbError as error:
        return _failed(rollout, options, f"failed: {error}")
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        return _failed(rollout, options, f"internal_error: {type(error).__name__} in {place}: {error}")


def unfinished(score: Score) -> bool:
    """Whether something broke, or a judge did not answer: another run may do better."""
    return score.status is Status.ERROR or (score.value is None and score.reason.endswith(UNREACHABLE))


def _identity(rollout: Rollout) -> tuple[str, str]:
    """The hash of the content, and what decodes it."""
    if published.is_cache(rollout):
        return published.identity(rollout)
    video = open_video(rollout.video_path, fps=rollout.fps)
    return video.sha256, video.decoder


def _key(rollout: Rollout, options: Options, sha256: str, decoder: str) -> dict[str, Any]:
    """What the records follow from: equal keys, equal records."""
    estimators = {role: e.fingerprint(e.settings(rollout.model)) for role, e in options.estimators.items()}
    return {
        "version": version(),
        "rollout": [rollout.id, rollout.model, rollout.case, rollout.fps],
        "plan": repr(rollout.plan),
        "video": sha256,
        "decoder": decoder,
        "estimators": estimators,
        "handed_in": _handed_in(rollout),
        "protocols": [scorer.NAME for scorer in options.scorers],
        "options": [repr(scorer.options) for scorer in options.scorers if isinstance(scorer, Configured)],
        "compat": options.compat,
        "require_official": options.require_official,
    }


def _handed_in(rollout: Rollout) -> dict[str, str]:
    """The hashes of the channels that lie beside the video."""
    found = {name: external.find(rollout.video_path, rollout.id, name, None) for name in schema.REQUIRED}
    found["commanded"] = rollout.poses if rollout.poses is not None and rollout.poses.is_file() else None
    hashes = {name: external.digest(path, name) for name, path in found.items() if path}
    files = objects.find(rollout.video_path)
    return hashes | ({objects.CHANNEL: objects.fingerprint(files)} if files else {})


def _curves_are_whole(out: Path, rollout: Rollout, part: parts.Part) -> bool:
    digest = part.facts.get("curves")
    return digest is None or curves.is_whole(out, rollout.id, digest)


def _scored(rollout: Rollout, options: Options, evidence: Evidence, out: Path) -> parts.Part:
    source = evidence.provenance
    provenance = {"wmb_fast": version(), **{name: source[name] for name in ("video_sha256", "decoder", "truncated")}}
    scores = []
    for scorer in options.scorers:
        for score in scorer.score(evidence, compat=options.compat):
            score = replace(_told_apart(score), provenance={**provenance, **score.provenance})
            scores.append(_refused(score) if options.require_official and score.proxy else score)
    return parts.Part(scores, _facts(rollout, options, evidence, out))


def _facts(rollout: Rollout, options: Options, evidence: Evidence, out: Path) -> dict[str, Any]:
    """What ``run.json`` says of a rollout, with the hash of what is kept of it for the set and for a sweep."""
    known, source = evidence.facts, evidence.provenance
    facts: dict[str, Any] = {"frames": known.n_frames, "fps": known.fps, "size": [known.width, known.height]}
    facts |= {name: source[name] for name in ("video_sha256", "decoder", "notes")} | {
        "plan": _plan(rollout, known.n_frames)
    }
    facts["evidence"] = {name: _made(channel) for name, channel in sorted(evidence.channels.items())}
    arrays: dict[str, Any] = {}
    for scorer in options.scorers:
        if isinstance(scorer, SetScorer):
            arrays |= scorer.curves(evidence, compat=options.compat)
    if arrays or options.compat:
        facts["curves"] = curves.keep(out, rollout.id, arrays)
    return facts


def _made(channel: Channel) -> dict[str, str]:
    """What made a channel, and what its values hash to: what ``verify`` compares."""
    maker = channel.maker
    return {
        "estimator": maker.id,
        "tier": maker.tier,
        "fingerprint": maker.fingerprint,
        "values": digest_of(channel.values),
    }


def _plan(rollout: Rollout, n_frames: int) -> dict[str, Any] | None:
    if rollout.plan is None:
        return None
    laid = realised(rollout.plan, rollout.model, n_frames)
    return {
        "name": rollout.plan.name,
        "source": rollout.plan_source,
        "actions": list(map(str, rollout.plan.actions)),
        "boundaries": None if laid.plan.boundaries is None else list(laid.plan.boundaries),
        "laid_by": laid.how,
    }


def _told_apart(score: Score) -> Score:
    """Evidence that could not be made because something broke is an error; evidence that nobody has is missing."""
    broke = score.status is Status.MISSING and "estimator error: " in score.reason
    return replace(score, status=Status.ERROR) if broke else score


def _refused(score: Score) -> Score:
    """A proxy where official scores were required: no number, and the estimators that made it one."""
    if score.value is None:
        return score
    proxies = sorted({f"{m['role']} by {m['id']}" for m in score.estimators if m["tier"] in PROXIES})
    reason = f"{REFUSED}official estimators were required, this score has {', '.join(proxies)}"
    return replace(score, value=None, status=Status.MISSING, reason=reason, detail={})


def _failed(rollout: Rollout, options: Options, reason: str) -> Done:
    """One record a protocol that says why the rollout as a whole has none."""
    reason = reason.encode(errors="backslashreplace").decode()  # it may name a file whose name is no UTF-8
    scores = [
        Score(
            rollout=rollout.id,
            model=rollout.model,
            case=rollout.case,
            protocol=scorer.NAME,
            metric=WHOLE_ROLLOUT,
            part={},
            value=None,
            status=Status.ERROR,
            reason=reason,
            n_used=0,
            n_total=1,
            definition=f"{scorer.NAME}.{WHOLE_ROLLOUT}/1",
            compat=options.compat,
            provenance={"wmb_fast": version()},
        )
        for scorer in options.scorers
    ]
    return Done(rollout.id, "failed", parts.Part(scores, {}), [reason])
