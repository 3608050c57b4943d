# SPDX-License-Identifier: Apache-2.0
"""Scoring again with other constants, from what a run has kept: records, and a few arrays a rollout.

Most of it stands in the records: Local's distances and frames, Revisit's distances, Global's residuals. Latency and
stability need the flow channels. Direction accuracy and purity have no constant to move.

Source: WorldMark (arXiv 2604.21686), section D.2 and table 9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from ..record import Score
from .action import motion_stability
from .constants import PUBLISHED, Thresholds
from .following import switch_latency
from .geometry import global_score
from .local import NEAR_CUT, mutation_rate
from .measure import Measure, Signal, without
from .records import as_fields
from .revisit import revisit_score
from .segments import KEYS, Timeline

Curves = Mapping[str, npt.NDArray[np.generic]]


@dataclass(frozen=True)
class Swept:
    """A scoring constant that a sweep moves: the paper's name for it, the metric it shows in, and where it is moved."""

    label: str
    metric: str
    settings: tuple[float, ...]


_LOCAL, _LATENCY, _STABILITY = "local_memory", "response_latency", "motion_stability"

# The published ranges, in the paper's order (table 9): four settings astride each default, three where it has no more
# room. Seconds are whole numbers of samples at 16 a second.
SWEPT: dict[str, Swept] = {
    "mutation_distance": Swept("Local: mutation thr", _LOCAL, (0.06, 0.08, 0.12, 0.15)),
    "cut_guard_s": Swept("Local: hard-cut guard (s)", _LOCAL, (0.25, 0.375, 0.75, 1.0)),
    "revisit_scale": Swept("Revisit: scale", "revisit_memory", (0.5, 0.75, 1.5, 2.0)),
    "global_scale": Swept("Global: scale", "global_memory", (0.03, 0.04, 0.075, 0.1)),
    "normal_speed_percentile": Swept("Latency: percentile", _LATENCY, (70, 72.5, 77.5, 80)),
    "response_factor": Swept("Latency: response factor", _LATENCY, (0.4, 0.45, 0.55, 0.6)),
    "response_gate": Swept("Latency: gate factor", _LATENCY, (0.05, 0.075, 0.125, 0.15)),
    "response_smoothing_s": Swept("Latency: smoothing window (s)", _LATENCY, (0.25, 0.375, 0.75, 1.0)),
    "steady_speed_percentile": Swept("Stability: baseline g pct", _STABILITY, (60, 65, 75, 80)),
    "sustain_factor": Swept("Stability: sustain factor", _STABILITY, (0.3, 0.35, 0.45, 0.5)),
    "stall_exit_factor": Swept("Stability: stall exit hyst. (g)", _STABILITY, (0.45, 0.55, 0.6)),
    "stall_s": Swept("Stability: min stall dur (s)", _STABILITY, (0.1875, 0.3125, 0.375, 0.5)),
    "stall_rate_scale": Swept("Stability: stall scale", _STABILITY, (0.4, 0.45, 0.55, 0.6)),
    "decay_window_s": Swept("Stability: decay window (s)", _STABILITY, (2.0, 2.5, 3.5, 4.0)),
    "decay_cap": Swept("Stability: decay cap", _STABILITY, (1.1, 1.3, 1.4, 1.5)),
    "decay_target": Swept("Stability: decay target", _STABILITY, (0.6, 0.65, 0.75, 0.8)),
    "stability_smoothing_s": Swept("Stability: smoothing window (s)", _STABILITY, (0.1875, 0.3125, 0.375, 0.5)),
}
COLUMNS_OF = {
    "local_memory": ("Local",),
    "revisit_memory": ("Rev",),
    "global_memory": ("Global",),
    "response_latency": ("RL_t", "RL_r"),
    "motion_stability": ("MS_t", "MS_r"),
}


@dataclass(frozen=True)
class Trace:
    """The flow of one rollout and where its segments lie, from its :func:`~.scoring.curves`."""

    horizontal: Signal
    radial: Signal
    speed: Signal
    timeline: Timeline

    @staticmethod
    def of(curves: Curves) -> Trace:
        horizontal, radial = (np.asarray(curves[name], dtype=np.float64) for name in ("horizontal", "radial"))
        fps = float(curves["fps"])
        bounds = tuple(float(bound) for bound in curves["bounds"])
        timeline = Timeline(np.arange(len(horizontal)) / fps, bounds, fps)
        return Trace(horizontal, radial, np.hypot(horizontal, radial), timeline)


class Rescorer:
    """The records of a run, ready to be scored again and again.

    Args:
        records: Of WorldMark, all compat or all default.
        curves: Rollout to what was kept of it; those of rollouts that failed may lack.

    Raises:
        ArgumentError: A record with latency or stability whose rollout's arrays are not there.

    Example:
        >>> from wmb_fast.protocols import worldmark
        >>> worldmark.Rescorer([], {})(worldmark.PUBLISHED)
        []
    """

    def __init__(self, records: Iterable[Score], curves: Mapping[str, Curves]) -> None:
        self.records = list(records)
        self._traces = {name: Trace.of(kept) for name, kept in curves.items() if "bounds" in kept}
        lacking = [r.rollout for r in self.records if _is_of_flow(r) and r.rollout not in self._traces]
        if lacking:
            wanted = "hold the flow of every rollout (score it again)"
            raise bad_value("sweep", "curves", wanted, f"none of {lacking[0]}")

    def __call__(self, thresholds: Thresholds, metrics: Sequence[str] = tuple(COLUMNS_OF)) -> list[Score]:
        """All records, those of some metrics scored with these constants; the others as they are."""
        return [self._again(r, thresholds) if r.metric in metrics else r for r in self.records]

    def _again(self, record: Score, thresholds: Thresholds) -> Score:
        measure = _AGAIN[record.metric](self, record, thresholds)
        return record if measure is None else replace(record, **as_fields(measure))

    def _local(self, record: Score, thresholds: Thresholds) -> Measure | None:
        detail = record.detail
        if "distances" not in detail or not (record.value is not None or record.reason.startswith(NEAR_CUT)):
            return None
        distances = [np.nan if d is None else d for d in detail["distances"]]
        fps = self._traces[record.rollout].timeline.fps if record.rollout in self._traces else 16.0
        rate, n_used = mutation_rate(
            distances, detail["frames"], detail["cut_frames"], fps=fps, thresholds=thresholds, compat=record.compat
        )
        if not n_used:
            return without(NEAR_CUT, record.n_total, {k: v for k, v in detail.items() if k != "mutation_rate"})
        value = 100.0 * (1 - bool(detail["hard_cut"])) * (1 - rate)
        return Measure(value, "", n_used, record.n_total, {**detail, "mutation_rate": rate})

    def _revisit(self, record: Score, thresholds: Thresholds) -> Measure | None:
        if record.value is None:
            return None
        value = revisit_score(record.detail["distances"], thresholds.revisit_scale, compat=record.compat)
        return Measure(value, "", record.n_used, record.n_total, record.detail)

    def _global(self, record: Score, thresholds: Thresholds) -> Measure | None:
        if record.value is None:
            return None
        value = global_score(record.detail["residual"], thresholds.global_scale)
        return Measure(value, "", record.n_used, record.n_total, record.detail)

    def _stability(self, record: Score, thresholds: Thresholds) -> Measure | None:
        if not _is_of_flow(record):
            return None
        trace = self._traces[record.rollout]
        window = trace.timeline.stable(record.part["segment"])
        signal = KEYS[record.part["key"]].signed(trace.horizontal, trace.radial)[window]
        return motion_stability(
            signal, speed=trace.speed[window], fps=trace.timeline.fps, thresholds=thresholds, compat=record.compat
        )

    def _latency(self, record: Score, thresholds: Thresholds) -> Measure | None:
        if not _is_of_flow(record):
            return None
        trace = self._traces[record.rollout]
        signal = KEYS[record.part["key"]].signed(trace.horizontal, trace.radial)
        j, compat = record.part["segment"], record.compat
        return switch_latency(signal, trace.speed, trace.timeline, j, thresholds=thresholds, compat=compat)


def _is_of_flow(record: Score) -> bool:
    """Whether a record was made of a segment's flow: not one whose flow, plan or rate was not there."""
    of_segment = record.metric in ("motion_stability", "response_latency") and "key" in record.part
    return of_segment and record.status.value in ("ok", "not_evaluable")


_AGAIN: dict[str, Callable[[Rescorer, Score, Thresholds], Measure | None]] = {
    "local_memory": Rescorer._local,
    "revisit_memory": Rescorer._revisit,
    "global_memory": Rescorer._global,
    "motion_stability": Rescorer._stability,
    "response_latency": Rescorer._latency,
}


def moved(name: str, setting: float) -> Thresholds:
    """The published constants, one of them moved.

    Example:
        >>> from wmb_fast.protocols import worldmark
        >>> worldmark.moved("decay_cap", 1.5).decay_cap, worldmark.PUBLISHED.decay_cap
        (1.5, 1.2)
    """
    if name not in SWEPT:
        raise bad_value("moved", "name", f"be one of {', '.join(SWEPT)}", repr(name))
    return replace(PUBLISHED, **{name: setting})
