# SPDX-License-Identifier: Apache-2.0
"""One rollout's evidence as the metrics want it: its commanded trajectory, its pairs, a metric's values of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.errors import ArgumentError
from ..evidence import Evidence
from ..record import Status
from .commanded import poses_of_plan, template_of
from .constants import Metric
from .metrics import (
    Real,
    appearance,
    cosine_similarity,
    match_ratio,
    ransac_inlier_ratio,
    state_scores,
)
from .pairs import Pairs, sample_pairs
from .trajectory import Trajectory, trajectory_of

_FEATURES = ("features", "mean")
_COUNTS = {"match_ratio": ("n_matches", "n_a", "n_b"), "inlier_ratio": ("n_inliers", "n_matches")}


class NotThereError(Exception):
    """Why something cannot be looked at: a status, and a reason for the record."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass(frozen=True)
class Rollout:
    """Evidence of one rollout; what is absent raises with its reason when it is asked for."""

    evidence: Evidence
    compat: bool

    def channel(self, name: str) -> Mapping[str, Any]:
        """The values of a channel."""
        if name not in self.evidence.channels:
            why = self.evidence.missing.get(name, "not in the evidence")
            raise NotThereError(Status.MISSING, f"{name}: {why}")
        return self.evidence.channels[name].values

    @cached_property
    def trajectory(self) -> Trajectory:
        """What was commanded: handed-in poses; else the plan's actions at the nominal pace."""
        facts = self.evidence.facts
        if "commanded" in self.evidence.channels:
            values = self.evidence.channels["commanded"].values
            try:
                return trajectory_of(values["cam_to_world"], values.get("frames"))
            except (ArgumentError, KeyError) as error:
                raise NotThereError(Status.ERROR, f"commanded: {error}") from error
        if "commanded" in self.evidence.missing:  # a file that was named and cannot be used is not passed over
            raise NotThereError(Status.MISSING, f"commanded: {self.evidence.missing['commanded']}")
        if facts.plan is None:
            why = "commanded: nothing says what the rollout was told: name its poses or a plan in a manifest"
            raise NotThereError(Status.MISSING, why)
        try:
            return trajectory_of(poses_of_plan(facts.plan, facts.n_frames))
        except ArgumentError as error:
            if facts.n_frames < len(facts.plan.steps):
                why = f"too_short: {facts.n_frames} frames for the plan's {len(facts.plan.steps)} steps"
                raise NotThereError(Status.NOT_EVALUABLE, why) from error
            raise NotThereError(Status.ERROR, f"plan: {error}") from error

    @property
    def source(self) -> str:
        """Where the trajectory comes from."""
        return "poses" if "commanded" in self.evidence.channels else "plan at a nominal pace"

    @cached_property
    def template(self) -> str:
        """Which kind of trajectory it is."""
        return template_of(self.trajectory)

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs that the rollout is judged by.

        By default frames whose pose is not finite are left out.
        """
        trajectory = self.trajectory
        if not self.compat and not trajectory.finite.all():
            trajectory = trajectory.where(trajectory.finite)
        found = sample_pairs(trajectory, self.evidence.facts.n_frames, compat=self.compat)
        if found.reason:
            raise NotThereError(Status.NOT_EVALUABLE, found.reason)
        return found

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What does not fit between the trajectory and the video, a sentence each."""
        said, n = [], self.evidence.facts.n_frames
        frames, finite = self.trajectory.frames, self.trajectory.finite
        n_poses, last = len(frames), int(frames[-1]) + 1 if len(frames) else 0
        if last != n:
            said.append(f"poses_and_frames: the poses reach frame {last - 1}, the video frame {n - 1}; both are needed")
        if n_poses < last:
            said.append(f"poses_missing: {last - n_poses} of {last} frames have no pose, and are in no pair")
        if not finite.all():
            left = "" if self.compat else ", and are in no pair"
            said.append(f"poses_not_finite: {int((~finite).sum())} of {n_poses} poses are not finite{left}")
        return tuple(said)

    def values(self, metric: Metric, pairs: npt.NDArray[np.int64]) -> Real:
        """A metric's value of each pair (P,); NaN where its evidence is lacking."""
        channel = self.channel(metric.channel)
        if metric.value in ("features", "mean"):
            name = next((key for key in (metric.value, *_FEATURES) if key in channel), None)
            if name is None:
                raise _lacks(metric, metric.value, channel)
            return cosine_similarity(channel[name], channel["frames"], pairs)
        if metric.channel == "fidelity" and "pictures" in channel:
            both = appearance(channel["pictures"], channel["frames"], pairs)
            return both[0] if metric.name == "psnr" else both[1]
        return _looked_up(channel["pairs"], _pair_values(metric, channel), pairs)


def _pair_values(metric: Metric, channel: Mapping[str, Any]) -> Real:
    """What a channel by pairs says of a metric, a value a pair."""
    if metric.value in channel:
        given = np.asarray(channel[metric.value], dtype=np.float64)
        return state_scores(given) if metric.name == "state_score" else given
    counts = _COUNTS.get(metric.value, ())
    if not counts or not all(name in channel for name in counts):
        raise _lacks(metric, metric.value, channel)
    of = match_ratio if metric.value == "match_ratio" else ransac_inlier_ratio
    return of(*(channel[name] for name in counts))


def _lacks(metric: Metric, name: str, channel: Mapping[str, Any]) -> NotThereError:
    got = ", ".join(channel) or "nothing"
    return NotThereError(Status.MISSING, f"{metric.channel}: the channel must hold {name}, got {got}")


def _looked_up(have: npt.ArrayLike, values: Real, wanted: npt.NDArray[np.int64]) -> Real:
    """The values of wanted pairs among those that a channel has; NaN where it has not."""
    known = {(int(u), int(v)): float(x) for (u, v), x in zip(np.asarray(have).tolist(), values, strict=True)}
    return np.array([known.get((u, v), np.nan) for u, v in wanted.tolist()], dtype=np.float64)
