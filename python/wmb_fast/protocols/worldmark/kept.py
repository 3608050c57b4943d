# SPDX-License-Identifier: Apache-2.0
"""What is kept of a rollout beside its records: for Local over a whole set, and to score again with other constants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..evidence import Evidence
from ..measure import NotThereError
from ..record import Score
from .constants import COMPAT_FPS
from .local import local_delta, local_memory
from .measure import Signal
from .records import as_fields
from .view import Rollout, cuts_of

Curves = Mapping[str, npt.NDArray[np.generic]]


def curves(evidence: Evidence, *, compat: bool = False) -> dict[str, npt.NDArray[np.generic]]:
    """The few arrays of a rollout that :class:`~wmb_fast.protocols.worldmark.Rescorer` needs, to be stored.

    Under ``compat`` also features and cuts, which :func:`local_over_set` needs when the set is complete. Empty without
    flow that fits the rollout.
    """
    rollout = Rollout(evidence, compat)
    try:
        horizontal, radial = rollout.flow
    except NotThereError:
        return {}
    kept: dict[str, npt.ArrayLike] = {
        "horizontal": horizontal,
        "radial": radial,
        "n_frames": evidence.facts.n_frames,
    }
    with suppress(NotThereError):
        kept |= {"fps": rollout.fps}
        kept |= {"bounds": np.asarray(rollout.timeline().bounds)}
    if compat and "features" in evidence.channels:
        features = evidence.channels["features"].values
        kept |= {"feature_frames": features["frames"], "feature_mean": features["mean"]}
    if compat and "cuts" in evidence.channels:
        cuts = evidence.channels["cuts"].values
        kept |= {"cut_frames": cuts["frames"], "n_scenes": cuts["n_scenes"]}
    return {name: np.asarray(value) for name, value in kept.items()}


def set_delta(flows: Iterable[tuple[Signal, Signal]]) -> float:
    """Local's published sampling step over a set of (horizontal, radial)."""
    return local_delta((h, r, np.arange(len(h)) / COMPAT_FPS) for h, r in flows)


def local_over_set(records: Sequence[Score], kept: Mapping[str, Curves]) -> list[Score]:
    """Under ``compat`` Local depends on the whole set: its records again, with the set's sampling step.

    Args:
        records: Any records; those of ``compat`` Local memory are scored again, the others are returned as they are.
        kept: Rollout to :func:`curves`, of every rollout of the set, whatever records there are.
    """
    delta = set_delta((c["horizontal"], c["radial"]) for c in kept.values() if "horizontal" in c)  # type: ignore[misc]
    return [_over_set(record, kept.get(record.rollout) or {}, delta) for record in records]


def _over_set(record: Score, curve: Curves, delta: float) -> Score:
    wanted = record.protocol == "worldmark" and record.metric == "local_memory" and record.compat
    if not wanted or "feature_mean" not in curve:
        return record
    cuts = {"frames": curve["cut_frames"], "n_scenes": curve["n_scenes"]} if "cut_frames" in curve else {}
    measure = local_memory(
        curve["horizontal"],  # type: ignore[arg-type]
        curve["radial"],  # type: ignore[arg-type]
        curve["feature_frames"],
        curve["feature_mean"],
        cuts_of(cuts),
        n_frames=int(curve["n_frames"]),
        step=delta,
        compat=True,
    )
    return replace(record, **as_fields(measure))
