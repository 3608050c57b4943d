# SPDX-License-Identifier: Apache-2.0
"""From evidence by frame to the reference and the returns of a course."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.checks import shape_text
from ...rollout.plan import Span
from ..measure import NotThereError, missing
from .arrays import Flags, Values
from .course import Course
from .revisits import NO_FRAME, NO_REFERENCE, Revisits

Frames = npt.NDArray[np.int64]


def within(frames: Frames, span: Span) -> Flags:
    """Which frames lie in a span."""
    inside: Flags = (frames >= span.start) & (frames < span.stop)
    return inside


def by_view(course: Course, name: str, frames: Frames, rows: Any) -> tuple[Any, Any, Flags]:
    """(M, …) by frame to the reference (…), the returns (K, W, …), and which of these there are (K, W).

    The reference is the first frame of V that there is evidence of.
    """
    first = np.flatnonzero(_of_reference(course, name, frames))
    windows = _windows(course, frames)
    observed = np.zeros((len(windows), _most(windows), *rows.shape[1:]), dtype=rows.dtype)
    there = np.zeros(observed.shape[:2], dtype=bool)
    for k, window in enumerate(windows):
        observed[k, : len(window)] = rows[window]
        there[k, : len(window)] = True
    return rows[first[0]], observed, there


def by_target(course: Course, name: str, frames: Frames, rows: Any, valid: Flags) -> tuple[Any, Any, Flags, Flags]:
    """(T, M, …) by frame to the references (T, …), the returns (K, W, T, …), where targets are valid (K, W, T), and
    the returns that there is evidence of (K,).

    A target's reference is the first frame of V in which it is valid; without one it is NaN, of masks empty.
    """
    seen_first = _of_reference(course, name, frames)
    first = np.argmax(valid & seen_first, axis=1)
    evaluated = (valid & seen_first).any(axis=1)
    reference = rows[np.arange(len(rows)), first].copy()
    reference[~evaluated] = False if reference.dtype == bool else np.nan
    windows = _windows(course, frames)
    observed = np.zeros((len(windows), _most(windows), *reference.shape), dtype=rows.dtype)
    there = np.zeros(observed.shape[:3], dtype=bool)
    for k, window in enumerate(windows):
        observed[k, : len(window)] = np.moveaxis(rows[:, window], 0, 1)
        there[k, : len(window)] = valid[:, window].T
    return reference, observed, there, np.array([len(window) > 0 for window in windows])


def _of_reference(course: Course, name: str, frames: Frames) -> Flags:
    span = course.reference
    inside = within(frames, span)
    if not inside.any():
        raise NotThereError(missing(f"{name}: no frame of V, frames {span.start} to {span.stop - 1}"))
    return inside


def _windows(course: Course, frames: Frames) -> list[Frames]:
    """The places, among the frames, of each return's."""
    return [np.flatnonzero(within(frames, revisit.window)) for revisit in course.revisits]


def _most(windows: list[Frames]) -> int:
    return max(1, *(len(window) for window in windows))


def not_shown(found: Revisits, name: str, shown: Flags) -> Revisits:
    """A return of whose frames there is no evidence has no score: nobody looked, so nothing was lost.

    ``shown`` is (K,), or (K, W) by frame.
    """
    absent = ~shown.reshape(len(shown), -1).any(axis=1)
    if not absent.any() or found.reason.startswith(NO_REFERENCE):
        return found
    reason = found.reason
    if reason in ("", NO_FRAME):
        reason = f"{name}: no frame of the return to be scored"
    used = np.where(absent, 0, found.n_used)
    return replace(found, values=np.where(absent, np.nan, found.values), n_used=used, reason=reason)


def cam_to_world(cam_from_world: Values) -> Values:
    """The inverses of (K, 3, 4) or (K, 4, 4) rigid motions, as (K, 4, 4)."""
    if cam_from_world.ndim != 3 or cam_from_world.shape[1:] not in ((3, 4), (4, 4)):
        shape = shape_text(cam_from_world)
        raise NotThereError(missing(f"geometry: cam_from_world must have shape (K, 3, 4), got {shape}"))
    poses = np.tile(np.eye(4), (len(cam_from_world), 1, 1))
    poses[:, :3, :3] = cam_from_world[:, :3, :3].swapaxes(1, 2)
    poses[:, :3, 3] = -np.einsum("nij,nj->ni", poses[:, :3, :3], cam_from_world[:, :3, 3])
    return poses
