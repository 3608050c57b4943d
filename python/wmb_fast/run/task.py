# SPDX-License-Identifier: Apache-2.0
"""One rollout, from its video to its records. The unit that every engine runs, and that a resumed run keeps."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .._walls.errors import WmbError
from ..evidence.make import gather
from ..evidence.store import Store
from ..protocols.record import WHOLE_ROLLOUT, Score, Status
from ..rollout.discover import Rollout
from ..rollout.video import open_video
from . import curves, parts
from .describe import version
from .known import Scorer, SetScorer


@dataclass(frozen=True)
class Options:
    """What a result depends on beside its rollout."""

    scorers: Sequence[Scorer]
    compat: bool
    require_official: bool


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
        video = open_video(rollout.video_path, fps=rollout.fps)
        key = _key(rollout, video.sha256, video.decoder, options)
        part, note = parts.find(out, rollout.id, key)
        if part is not None and _curves_are_whole(out, rollout, part):
            return Done(rollout.id, "kept", part)
        part = _scored(rollout, options, out, store)
        parts.keep(out, rollout.id, key, part)
        return Done(rollout.id, "scored", part, [note] if note else [])
    except WmbError as error:
        return _failed(rollout, options, f"failed: {error}")
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        return _failed(rollout, options, f"internal_error: {type(error).__name__} in {place}: {error}")


def _key(rollout: Rollout, sha256: str, decoder: str, options: Options) -> dict[str, Any]:
    """What the records follow from: equal keys, equal records."""
    return {
        "version": version(),
        "rollout": [rollout.id, rollout.model, rollout.case, rollout.fps],
        "plan": repr(rollout.plan),
        "video": sha256,
        "decoder": decoder,
        "protocols": [scorer.NAME for scorer in options.scorers],
        "compat": options.compat,
        "require_official": options.require_official,
    }


def _curves_are_whole(out: Path, rollout: Rollout, part: parts.Part) -> bool:
    digest = part.facts.get("curves")
    return digest is None or curves.is_whole(out, rollout.id, digest)


def _scored(rollout: Rollout, options: Options, out: Path, store: Store) -> parts.Part:
    evidence = gather(rollout, options.scorers, store=store, compat=options.compat)
    provenance = {"wmb_fast": version()}
    scores = []
    for scorer in options.scorers:
        for score in scorer.score(evidence, compat=options.compat):
            score = replace(score, provenance={**provenance, **score.provenance})
            scores.append(_refused(score) if options.require_official and score.proxy else score)
    known_facts = evidence.facts
    facts = {
        "frames": known_facts.n_frames,
        "fps": known_facts.fps,
        "size": [known_facts.width, known_facts.height],
    }
    if options.compat:
        arrays = {
            k: v for s in options.scorers if isinstance(s, SetScorer) for k, v in s.local_curves(evidence).items()
        }
        facts["curves"] = curves.keep(out, rollout.id, arrays)
    return parts.Part(scores, facts)


def _refused(score: Score) -> Score:
    """A proxy where official scores were required: no number, and the estimators that made it one."""
    proxies = sorted({f"{m['role']} by {m['id']}" for m in score.estimators if m["tier"] in ("builtin", "packaged")})
    reason = f"proxy: official estimators were required, this score has {', '.join(proxies)}"
    return replace(score, value=None, status=Status.ERROR, reason=reason, detail={})


def _failed(rollout: Rollout, options: Options, reason: str) -> Done:
    """One record a protocol that says why the rollout as a whole has none."""
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
