# SPDX-License-Identifier: Apache-2.0
"""The four action questions answered from camera poses, beside the answers from flow.

The benchmark reads flow, because a pose stream must be differenced, and its noise grows with the frame rate: that of
feed-forward poses is near eight times that of flow. Where poses are exact, or only poses are there, these are the same
metrics: the velocity along the camera's own axes stands for the flow channels. Poses also tell strafing from turning
without depth. That these use the flow metrics' windows and constants is ours; the paper gives the signals alone.

Source: WorldMark (arXiv 2604.21686), section F.1: the first difference of the heading for rotation and of the camera's
centre for translation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from .action import direction_accuracy, motion_stability, unusable
from .constants import PUBLISHED, RATIO_EPSILON, Thresholds
from .following import ActionMetrics, switch_latency
from .measure import Measure, Signal, missing, without
from .segments import KEYS, Timeline, check_keys

NO_DISTANCE = "distance: turning is compared with walking only where it is known how far things are"


@dataclass(frozen=True)
class PoseSignals:
    """Velocities of a camera along its own axes, (N,) each, from frame i to frame i + stride.

    Attributes:
        forward: Along the optical axis, in the poses' unit a sample.
        rightward: To the camera's right.
        right_turn: Radians, positive to the right.
    """

    forward: Signal
    rightward: Signal
    right_turn: Signal

    def of(self, key: str) -> Signal:
        """The channel that a key moves, positive when it moves as commanded."""
        channel = {"fwd": self.forward, "lat": self.rightward, "yaw": self.right_turn}[KEYS[key].family]
        return channel if key in "WDR" else -channel


def pose_signals(cam_to_world: npt.ArrayLike, *, stride: int = 2) -> PoseSignals:
    """Velocities from poses.

    ``inverse(T_i) T_{i + stride}``: its translation is forward z and rightward x, its heading ``atan2(R02, R22)``.

    Args:
        cam_to_world: (T, 4, 4) or (T, 3, 4), OpenCV axes (x right, y down, z forward), any unit. Rotations need not be
            orthonormal to the last digit.
        stride: In frames; 2, as the flow has it, so that windows are the same.

    Returns:
        Signals of max(T - stride, 0) samples; NaN where a pose is not finite.

    Raises:
        ArgumentError: Another shape, a stride below 1.

    Example:
        >>> import numpy as np
        >>> from wmb_fast.protocols import worldmark
        >>> poses = np.tile(np.eye(4), (5, 1, 1))
        >>> poses[:, 2, 3] = np.arange(5)
        >>> worldmark.pose_signals(poses).forward.tolist()
        [2.0, 2.0, 2.0]
    """
    poses = np.asarray(cam_to_world, dtype=np.float64)
    if poses.ndim != 3 or poses.shape[1:] not in ((4, 4), (3, 4)):
        raise bad_value("pose_signals", "cam_to_world", "have shape (T, 4, 4)", poses.shape)
    if stride < 1:
        raise bad_value("pose_signals", "stride", "be at least 1", stride)
    rotation, centre = poses[:, :3, :3], poses[:, :3, 3]
    start, moved = rotation[:-stride], centre[stride:] - centre[:-stride]
    later = rotation[stride:]

    def along(axis: int, vectors: npt.NDArray[np.float64]) -> Signal:
        """The component along an axis of the first camera: column ``axis`` of its rotation."""
        found: Signal = (start[:, :, axis] * vectors).sum(axis=1)
        return found

    turn = np.arctan2(along(0, later[:, :, 2]), along(2, later[:, :, 2]))
    return PoseSignals(along(2, moved), along(0, moved), turn)


def pose_action_metrics(
    cam_to_world: npt.ArrayLike,
    keys: Sequence[str | None],
    first_frames: Sequence[int],
    *,
    fps: float,
    distance: float | None = None,
    stride: int = 2,
    thresholds: Thresholds = PUBLISHED,
) -> ActionMetrics:
    """Direction accuracy, purity, stability and latency of a rollout from its poses.

    Args:
        cam_to_world: (T, 4, 4), one a frame, as in :func:`pose_signals`.
        keys: One a segment, out of W, S, A, D, L, R; ``None`` for an action WorldMark does not have.
        first_frames: Of each segment, and the end of the last.
        fps: Frames a second.
        distance: How far what is seen typically is, in the poses' unit: a turn by w moves the picture as much as a step
            of ``distance * w``. Without it purity, which adds turning to walking, has no value.
        stride: As in :func:`pose_signals`.
        thresholds: The scoring constants.

    Returns:
        By segment, as :func:`action_metrics` gives them; no splits.

    Raises:
        ArgumentError: Other shapes, keys or bounds.

    Example:
        >>> import numpy as np
        >>> from wmb_fast.protocols import worldmark
        >>> poses = np.tile(np.eye(4), (640, 1, 1))
        >>> poses[:, 2, 3] = np.minimum(np.arange(640), 640 - np.arange(640))  # forward, back
        >>> found = worldmark.pose_action_metrics(poses, ["W", "S"], (0, 320, 640), fps=16.0, distance=5.0)
        >>> round(found.direction_accuracy[1].value, 6), round(found.direction_purity[0].value, 6)
        (1.0, 1.0)
    """
    signals = pose_signals(cam_to_world, stride=stride)
    check_keys("pose_action_metrics", keys)
    if len(first_frames) != len(keys) + 1:
        raise bad_value("pose_action_metrics", "first_frames", f"bound {len(keys)} segments", len(first_frames) - 1)
    if not fps > 0:
        raise bad_value("pose_action_metrics", "fps", "be above 0", fps)
    if distance is not None and not (np.isfinite(distance) and distance > 0):
        raise bad_value("pose_action_metrics", "distance", "be a number above 0", distance)
    timeline = Timeline.of_frames(len(signals.forward), fps, first_frames, stride)
    walking = np.hypot(signals.forward, signals.rightward)
    metrics = ActionMetrics({}, {}, {}, {}, {})
    for j, key in enumerate(keys):
        if key is None:
            continue
        signal, window = signals.of(key), timeline.stable(j)
        # All motion in the unit of the command; how much the other unit moves needs a distance, and is purity's matter.
        speed = np.abs(signals.right_turn) if KEYS[key].family == "yaw" else walking
        if distance is not None:
            speed = np.hypot(walking, distance * signals.right_turn)
        here = speed[window]
        metrics.direction_accuracy[j] = direction_accuracy(signal[window], speed=here)
        metrics.direction_purity[j] = _purity(signals, window, KEYS[key].family, distance)
        metrics.motion_stability[j] = motion_stability(signal[window], speed=here, fps=fps, thresholds=thresholds)
        if j > 0:
            metrics.response_latency[j] = switch_latency(signal, speed, timeline, j, thresholds=thresholds)
    return metrics


def _purity(signals: PoseSignals, window: npt.NDArray[np.bool_], family: str, distance: float | None) -> Measure:
    n = int(window.sum())
    if distance is None:
        return missing(NO_DISTANCE, n)
    parts = {"fwd": signals.forward, "lat": signals.rightward, "yaw": distance * signals.right_turn}
    speed = np.sqrt(sum(part[window] ** 2 for part in parts.values()))
    reason = unusable(speed, speed, False)
    if reason:
        return without(reason, n)
    amounts = {name: float(np.abs(part[window]).mean()) for name, part in parts.items()}
    return Measure(amounts[family] / (sum(amounts.values()) + RATIO_EPSILON), "", n, n, amounts)
