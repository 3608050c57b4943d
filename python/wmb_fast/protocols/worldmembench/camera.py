# SPDX-License-Identifier: Apache-2.0
"""Camera Following: how far the camera's steps differ from those it was told to make.

That translation and rotation errors of relative poses are reported, of more than one estimator, is EXACT (section 4.3);
the formula is RECONSTRUCTED: the paper's text ends before it. What was chosen stands in every record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.checks import integer, one_of, real, shape_text, trailing
from ..._walls.errors import bad_type, bad_value
from ...ops.align import umeyama
from ...ops.rpe import rpe
from ...rollout.plan import Action, Plan, Span
from ..measure import Measure, missing, without

Poses = npt.NDArray[np.float64]
SCALES = ("lstsq", "umeyama_sim3", "path_ratio", "none")
REDUCTIONS = ("mean", "rmse")
ROTATION_UNITS = ("deg", "rad")
STILL = "scale_undetermined"

# Forward, right, turn right, look up: what one frame of an action moves.
_MOTIONS: dict[Action, tuple[int, int, int, int]] = {
    Action.FORWARD: (1, 0, 0, 0),
    Action.BACK: (-1, 0, 0, 0),
    Action.STRAFE_RIGHT: (0, 1, 0, 0),
    Action.STRAFE_LEFT: (0, -1, 0, 0),
    Action.TURN_RIGHT: (0, 0, 1, 0),
    Action.TURN_LEFT: (0, 0, -1, 0),
    Action.LOOK_UP: (0, 0, 0, 1),
    Action.LOOK_DOWN: (0, 0, 0, -1),
    Action.HOLD: (0, 0, 0, 0),
}


def target_poses(
    plan: Plan, n_frames: int, *, degrees_per_frame: float | None = None, distance_per_frame: float | None = None
) -> Poses:
    """The camera poses Q_t that a plan prescribes.

    Args:
        plan: Its steps; a step's motion goes from each of its frames to the next.
        n_frames: Of the video.
        degrees_per_frame: Of turning and looking; by default the plan's.
        distance_per_frame: Of walking; by default the plan's, or 1: the unit of a translation error is then a step.

    Returns:
        (N, 4, 4) float64, camera to world, OpenCV axes: x_world = Q_t x_cam; the first is the identity. A camera that
        has turned back is where it was, to the bit; a way back of one frame less, as equal shares of an odd length may
        have it, ends a frame's motion short of it.

    Raises:
        ArgumentError: The plan turns, and nothing says how far a frame; a rate that is not above 0.

    Source:
        WorldMemBench, section 3.3, and the release's folder names (``lrlrlr_sym_1dpf``). RECONSTRUCTED: the paper gives
        no poses.

    Example:
        >>> from wmb_fast.rollout.plans import named_plan
        >>> poses = target_poses(named_plan("lrlr"), 101, degrees_per_frame=1.0)
        >>> bool((poses[0] == poses[60]).all()), round(float(poses[40, 0, 2]), 6)  # 20 degrees to the left
        (True, -0.34202)
    """
    integer("target_poses", "n_frames", n_frames, at_least=1)
    counts = np.zeros((n_frames, 4), dtype=np.int64)
    for step, span in zip(plan.steps, plan.lay(n_frames).steps, strict=True):
        counts[span.start + 1 : span.stop + 1] = _MOTIONS[step.action]
    sums = np.cumsum(counts, axis=0)
    turn = plan.degrees_per_frame if degrees_per_frame is None else degrees_per_frame
    walk = plan.distance_per_frame if distance_per_frame is None else distance_per_frame
    for name, rate in (("degrees_per_frame", turn), ("distance_per_frame", walk)):
        if rate is not None:
            real("target_poses", name, rate, above=0)
    if turn is None:
        if counts[:, 2:].any():
            raise bad_value("target_poses", "degrees_per_frame", "be given for a plan that turns", "None")
        turn = 0.0
    yaw, pitch = np.radians(sums[:, 2] * turn), np.radians(sums[:, 3] * turn)
    poses = np.tile(np.eye(4), (n_frames, 1, 1))
    poses[:, :3, :3] = _heading(yaw) @ _lift(pitch)
    return _walked(poses, counts, yaw, 1.0 if walk is None else walk)


def _heading(yaw: Poses) -> Poses:
    """Rotations about the vertical; positive turns right."""
    turned = np.tile(np.eye(3), (len(yaw), 1, 1))
    turned[:, 0, 0] = turned[:, 2, 2] = np.cos(yaw)
    turned[:, 0, 2], turned[:, 2, 0] = np.sin(yaw), -np.sin(yaw)
    return turned


def _lift(pitch: Poses) -> Poses:
    """Rotations about the camera's own x axis; positive looks up (y points down)."""
    lifted = np.tile(np.eye(3), (len(pitch), 1, 1))
    lifted[:, 1, 1] = lifted[:, 2, 2] = np.cos(pitch)
    lifted[:, 1, 2], lifted[:, 2, 1] = -np.sin(pitch), np.sin(pitch)
    return lifted


def _walked(poses: Poses, counts: npt.NDArray[np.int64], yaw: Poses, distance: float) -> Poses:
    """The poses with their positions: for each heading, whole steps are summed first, so a loop closes exactly."""
    before = np.concatenate([yaw[:1], yaw[:-1]])
    for heading in dict.fromkeys(before.tolist()):
        here = (before == heading)[:, None]
        steps = np.cumsum(np.where(here, counts[:, :2], 0), axis=0) * distance
        poses[:, 0, 3] += steps[:, 0] * math.sin(heading) + steps[:, 1] * math.cos(heading)
        poses[:, 2, 3] += steps[:, 0] * math.cos(heading) - steps[:, 1] * math.sin(heading)
    return poses


@dataclass(frozen=True)
class Following:
    """How Camera Following is measured; all of it is RECONSTRUCTED.

    Attributes:
        delta: The length of a step, in frames.
        reduce: ``mean`` or ``rmse`` over the steps.
        scale: What brings an estimate to the target's scale, once a video: ``lstsq`` (positions relative to the first,
            least squares), ``umeyama_sim3`` (the scale of the best similarity), ``path_ratio`` (lengths of the paths)
            or ``none``.
        unit: Of angles: ``deg`` or ``rad``.
    """

    delta: int = 1
    reduce: str = "mean"
    scale: str = "lstsq"
    unit: str = "deg"

    def __post_init__(self) -> None:
        integer("Following", "delta", self.delta, at_least=1)
        one_of("Following", "reduce", self.reduce, REDUCTIONS)
        one_of("Following", "scale", self.scale, SCALES)
        one_of("Following", "unit", self.unit, ROTATION_UNITS)


@dataclass(frozen=True)
class CameraFollowing:
    """What :func:`camera_following` returns: the whole video, and each window in the order given."""

    translation: Measure
    rotation: Measure
    windows: tuple[tuple[Measure, Measure], ...]


def camera_following(
    target: Poses,
    estimates: Mapping[str, Poses],
    *,
    how: Following | None = None,
    windows: Sequence[Span] = (),
) -> CameraFollowing:
    """Relative pose errors of estimated cameras against the prescribed ones, averaged over the estimators.

    ``E_t = (Q_t^-1 Q_{t+delta})^-1 (P_t^-1 P_{t+delta})``; translation ``|trans E_t|`` after one scale a video and
    estimator, rotation the angle of ``E_t``; the mean (or root mean square) over t, then the mean over estimators.

    Args:
        target: (N, 4, 4) Q_t, camera to world.
        estimates: Name to (N, 4, 4) P_t, of the same convention; a pose with NaN is left out.
        how: Step, reduction, scale and unit.
        windows: Frames of which steps within count, for one more value each (a departure and its revisit).

    Returns:
        Measures in the target's unit and in degrees; ``detail`` holds the settings, and each estimator's value and
        scale. Estimators without a value are left out and counted. Where the target stands still nothing fixes a scale:
        translation is then not evaluable, unless ``scale="none"``.

    Raises:
        ArgumentError: No estimator, poses of another length, matrices that are no poses.

    Source:
        WorldMemBench, section 4.3 (two estimators, RPE: EXACT; formula RECONSTRUCTED).

    Example:
        >>> from wmb_fast.rollout.plans import named_plan
        >>> target = target_poses(named_plan("lrlr"), 101, degrees_per_frame=1.0)
        >>> frozen = np.tile(np.eye(4), (101, 1, 1))
        >>> found = camera_following(target, {"frozen": frozen, "perfect": target})
        >>> found.rotation.value, found.translation.reason.split(":")[0]
        (0.4, 'scale_undetermined')
    """
    how = how or Following()
    reference = _poses("target", target)
    if not estimates:
        raise bad_value("camera_following", "estimates", "hold at least one estimator", "none")
    scaled, scales = [], {}
    for name, poses in estimates.items():
        given = _poses(f"estimates[{name!r}]", poses)
        if given.shape != reference.shape:
            raise bad_value(
                "camera_following", f"estimates[{name!r}]", f"have shape {reference.shape}", shape_text(given)
            )
        scales[name] = _scale(given, reference, how.scale)
        factor = scales[name] if math.isfinite(scales[name]) else 1.0
        moved = given.copy()
        moved[:, :3, 3] *= factor
        scaled.append(moved)
    made = _Errors.of(np.stack(scaled), reference, tuple(estimates), scales, how)
    return CameraFollowing(
        made.measure("translation", None),
        made.measure("rotation", None),
        tuple((made.measure("translation", w), made.measure("rotation", w)) for w in windows),
    )


@dataclass(frozen=True)
class _Errors:
    """The errors of all estimators: (E, M) each over pairs (M, 2)."""

    translation: Poses
    rotation: Poses
    pairs: npt.NDArray[np.int64]
    names: tuple[str, ...]
    scales: Mapping[str, float]
    how: Following

    @staticmethod
    def of(
        estimates: Poses, reference: Poses, names: tuple[str, ...], scales: Mapping[str, float], how: Following
    ) -> _Errors:
        if len(reference) <= how.delta:
            none = np.empty((len(names), 0))
            return _Errors(none, none, np.empty((0, 2), dtype=np.int64), names, scales, how)
        targets = np.ascontiguousarray(np.broadcast_to(reference, estimates.shape))
        errors = rpe(estimates, targets, delta=how.delta)
        rotation = errors.rotation_deg.errors
        turned = np.radians(rotation) if how.unit == "rad" else rotation
        return _Errors(errors.translation.errors, turned, errors.pairs[0], names, scales, how)

    def measure(self, what: str, window: Span | None) -> Measure:
        """One kind of error, over all pairs or those within a window."""
        inside = np.ones(len(self.pairs), dtype=bool)
        if window is not None:
            inside = (self.pairs[:, 0] >= window.start) & (self.pairs[:, 1] < window.stop)
        detail: dict[str, Any] = {**asdict(self.how), "estimators": list(self.names)}
        if what == "translation":
            detail["scales"] = dict(self.scales)
            if all(math.isnan(scale) for scale in self.scales.values()):
                words = f'{STILL}: the target or the estimate does not move; scale="none" takes poses as they are'
                return without(words, len(self.names), detail)
        values = {}
        for row, name in zip(getattr(self, what)[:, inside], self.names, strict=True):
            usable = row[np.isfinite(row)]
            if usable.size and not (what == "translation" and math.isnan(self.scales[name])):
                mean = np.mean(usable) if self.how.reduce == "mean" else np.sqrt(np.mean(usable**2))
                values[name] = float(mean)
        detail["values"] = values
        if not values:
            return missing("poses: no estimator has two poses of a step", len(self.names), detail)
        return Measure(math.fsum(values.values()) / len(values), "", len(values), len(self.names), detail)


def _poses(argument: str, poses: Poses) -> Poses:
    given = np.asarray(poses)
    if given.dtype.kind not in "fiu":
        raise bad_type("camera_following", argument, "hold numbers", given.dtype)
    trailing("camera_following", argument, given, (4, 4))
    if given.ndim != 3:
        raise bad_value("camera_following", argument, "have shape (N, 4, 4)", shape_text(given))
    return given.astype(np.float64)


def _scale(estimate: Poses, target: Poses, rule: str) -> float:
    """The factor of an estimate's positions; NaN where nothing fixes it."""
    if rule == "none":
        return 1.0
    there = np.isfinite(estimate).all(axis=(1, 2))
    if there.sum() < 2:
        return math.nan
    p, q = (_from_first(poses[there]) for poses in (estimate, target))
    if rule == "lstsq":
        return _positive(float((p * q).sum()), float((p * p).sum()))
    if rule == "path_ratio":
        lengths = [float(np.linalg.norm(np.diff(x, axis=0), axis=1).sum()) for x in (q, p)]
        return _positive(*lengths)
    fit = umeyama(p, q)
    return _positive(float(fit.scale), 1.0) if float(np.abs(q).max()) > 0 else math.nan


def _positive(above: float, below: float) -> float:
    return above / below if above > 0 and below > 0 else math.nan


def _from_first(poses: Poses) -> Poses:
    """Positions as the first camera sees them."""
    seen: Poses = (poses[:, :3, 3] - poses[0, :3, 3]) @ poses[0, :3, :3]
    return seen
