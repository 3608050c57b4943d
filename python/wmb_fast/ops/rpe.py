# SPDX-License-Identifier: Apache-2.0
"""Relative pose errors, and angles between rotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._walls.arrays import Array, ArrayLike, Call, narrowed, take
from .._walls.checks import flag, integer, one_of, real, same_shape, trailing
from .._walls.device import copied_to, only_device_knows
from .._walls.dispatch import declare, pick
from .._walls.errors import BackendError, bad_type, bad_value
from .._walls.ext import core, kernels
from .._walls.lazy import reference as readable
from .._walls.records import Record
from . import _trajectory_device as on_device
from ._trajectory import (
    FIT_ROW,
    POSES,
    STATISTICS_ROW,
    Alignment,
    Batch,
    ErrorStats,
    Trajectories,
    alignment_of,
    batch_of,
    not_a_rotation,
    refuse,
    sim3_of,
    stats_of,
)
from .align import ALIGNMENTS, MOST_POSES, RELATIONS, first_to_fit, fit_row, statistics_row

UNITS = ("frames", "metres", "degrees", "radians")  # csrc/cpu/pairs.h
MOST_FRAMES = 2**53  # the core is told delta in float64


@dataclass(frozen=True, eq=False)
class PoseErrors(Record):
    """Relative errors over pairs of poses.

    Attributes:
        translation, rotation_deg: Statistics of the translation and of the angle of the error pose.
        relation: Those of the relation that was asked for; ``None`` without.
        pairs: (..., M, 2) int64: indices (i, j) of the poses, i < j; -1 where an item of a batch has fewer than M.
        alignment: What was done to the estimate first.
    """

    translation: ErrorStats
    rotation_deg: ErrorStats
    relation: ErrorStats | None
    pairs: Any
    alignment: Alignment


@dataclass(frozen=True)
class _Selection:
    """How pairs are chosen, checked."""

    delta: float
    unit: str
    all_pairs: bool
    tolerance: float
    from_estimate: bool

    def core(self) -> tuple[Any, ...]:
        return UNITS.index(self.unit), self.delta, self.tolerance, self.all_pairs, self.from_estimate

    def pairs_of(self, sizes: Array) -> Array:
        """How many pairs trajectories of so many poses have, in frames."""
        delta = int(self.delta)
        counts: Array = np.maximum(sizes - delta, 0) if self.all_pairs else np.maximum(sizes - 1, 0) // delta
        return counts

    def readable(self) -> dict[str, Any]:
        return {
            "delta": self.delta,
            "unit": self.unit,
            "all_pairs": self.all_pairs,
            "relative_tolerance": self.tolerance,
            "pairs_from": "estimate" if self.from_estimate else "reference",
        }


def rpe(
    estimate: Trajectories,
    reference: Trajectories,
    *,
    delta: float = 1,
    unit: str = "frames",
    all_pairs: bool = True,
    relative_tolerance: float = 0.1,
    pairs_from: str = "estimate",
    relation: str | None = None,
    frame: str = "local",
    align: str = "none",
    n_align: int | None = None,
    mask: Trajectories | None = None,
    lengths: ArrayLike | Sequence[int] | None = None,
    backend: str = "auto",
) -> PoseErrors:
    """Relative pose errors of an estimated trajectory: how far its steps differ from the reference's.

    For a pair (i, j) of poses the error pose is ``E = (ref_i^-1 ref_j)^-1 (est_i^-1 est_j)``.

    Args:
        estimate: (..., N, 4, 4) poses, camera to world, or a list of (N_i, 4, 4). float32 or float64.
        reference: The same shape and dtype, pose by pose.
        delta: The length of a step, above 0, in ``unit``; a whole number of ``frames``.
        unit: ``frames``, ``metres`` (along the path, in the unit of the positions), ``degrees`` or ``radians``.
        all_pairs: True takes overlapping steps: every (i, i + delta); for metres, for each i the later pose whose
            distance along the path is nearest to delta, if within the tolerance; for angles every later pose whose
            relative angle is within the tolerance. False takes a chain of steps from the first pose on, each the first
            to reach delta. evo's default is False.
        relative_tolerance: For ``all_pairs`` in metres or angles, as a share of delta.
        pairs_from: Which trajectory the pairs are chosen on: ``estimate`` (after the alignment) or ``reference``.
        relation: One more statistic: ``translation``, ``rotation_deg``, ``rotation_rad``, ``rotation_part``, ``full``,
            ``point_distance`` (difference of the lengths of the steps) or ``point_distance_error_ratio`` (the same in
            percent of the reference's; steps of length 0 do not count).
        frame: Of the translation error: ``local`` (of E, in the first camera's frame) or ``world`` (difference of the
            displacements). Angles are those of E in both.
        align: As in :func:`align_trajectory`. A rotation and a translation cancel in E; a scale does not.
        n_align: Fit on the first so many poses only; the errors are those of all.
        mask: (..., N) bool, True = use. Poses that are not finite are left out in any case.
        lengths: (...) poses of each item of a padded array.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        ``translation`` and ``rotation_deg`` as :func:`ape` gives them, with ``errors`` (..., M) over ``pairs``
        (..., M, 2), NaN where a pose of the pair does not count; ``relation`` likewise; ``alignment``; ``status``:
        missing, with NaN, where there is no pair with an error, degenerate where the alignment is. In frames every
        pair is listed; along a path, and in angles, it goes over poses that do not count. evo's result is that of
        ``all_pairs=False``, except that poses that are not finite stop it. Where ``lengths`` is a tensor on a device, M
        is what N poses have.

    Raises:
        ArgumentError: Shapes that do not agree, N = 0, delta not above 0 or not whole for frames, an unknown choice, a
            matrix that is no pose (on a device: reported, missing).
        ArgumentTypeError: Something that is not an array, or of another dtype.
        BackendError: Tensors on a device, and a ``unit`` other than frames.

    Numerics:
        float64 throughout, rounded once to the estimate's dtype. Angles by atan2, right from 0 to 180 degrees, with an
        arc tangent of our own: the same bits on every machine, for any number of threads, batch and SIMD level.
        Rotations within 1e-5 of SO(3) are used as they are, within 0.1 replaced by the nearest. On a device the same
        bits from run to run, and the host's to rounding.

    Source:
        Sturm et al., "A benchmark for the evaluation of RGB-D SLAM systems", IROS 2012, eq. 1; pair selection as in
        evo 1.38.1, https://github.com/MichaelGrupp/evo.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> reference = np.tile(np.eye(4), (5, 1, 1))
        >>> reference[:, 0, 3] = range(5)
        >>> estimate = reference.copy()
        >>> estimate[:, 0, 3] *= 1.1
        >>> error = wmb.rpe(estimate, reference, delta=2)
        >>> error.pairs.tolist(), round(float(error.translation.mean), 6), float(error.rotation_deg.max)
        ([[0, 2], [1, 3], [2, 4]], 0.2, 0.0)
    """
    selection = _selection(delta, unit, all_pairs, relative_tolerance, pairs_from)
    one_of("rpe", "frame", frame, ("local", "world"))
    one_of("rpe", "align", align, ALIGNMENTS)
    if relation is not None:
        one_of("rpe", "relation", relation, RELATIONS)
    batch = batch_of("rpe", {"estimate": estimate, "reference": reference}, (POSES,), mask, lengths)
    n_fit = first_to_fit("rpe", n_align)
    chosen = pick("rpe", backend, batch.call.device)
    if chosen == "cuda":
        return _rpe_on_device(batch, selection, relation, frame, align, n_fit, lengths)
    if chosen == "reference":
        return _readable_rpe(batch, selection, relation, frame, align, n_align)
    return _core_rpe(batch, selection, relation, frame, align, n_fit)


def _selection(delta: float, unit: str, all_pairs: bool, tolerance: float, pairs_from: str) -> _Selection:
    one_of("rpe", "unit", unit, UNITS)
    one_of("rpe", "pairs_from", pairs_from, ("estimate", "reference"))
    if unit == "frames":
        if isinstance(delta, (float, np.floating)) and float(delta).is_integer():
            delta = int(delta)
        length = float(integer("rpe", "delta", delta, at_least=1, at_most=MOST_FRAMES))
    else:
        length = real("rpe", "delta", delta, above=0)
    share = real("rpe", "relative_tolerance", tolerance, at_least=0)
    return _Selection(length, unit, flag("rpe", "all_pairs", all_pairs), share, pairs_from == "estimate")


def _core_rpe(
    batch: Batch, selection: _Selection, relation: str | None, frame: str, align: str, n_fit: int
) -> PoseErrors:
    pair = batch.data["estimate"], batch.data["reference"]
    how = ALIGNMENTS.index(align), n_fit, *selection.core()
    if selection.unit == "frames":
        counts = selection.pairs_of(batch.sizes())
    else:
        counts = np.empty(batch.n, dtype=np.int64)
        refuse(batch, core.count_pairs(*pair, *batch.layout(), *how, counts))  # type: ignore[call-overload]
    rows = _Rows(batch, counts)
    extra = -1 if relation is None else RELATIONS.index(relation)
    out = rows.pairs.reshape(-1), rows.errors, rows.statistics.reshape(3, -1), rows.deviation, rows.fits.reshape(-1)
    what = frame == "world", extra, rows.starts
    refuse(batch, core.rpe(*pair, *batch.layout(), *how, *what, *out))  # type: ignore[call-overload]
    return rows.record(relation)


def _rpe_on_device(
    batch: Batch, selection: _Selection, relation: str | None, frame: str, align: str, n_fit: int, lengths: Any
) -> PoseErrors:
    if selection.unit != "frames":
        raise BackendError(
            f"rpe: no kernel takes unit={selection.unit!r}, for how many pairs there are shows only while it runs. "
            "Move the arguments to the CPU."
        )
    launcher, like = kernels("rpe"), batch.data["estimate"]
    sizes = np.full(batch.n, batch.each, np.int64)
    if batch.is_list:
        sizes = batch.sizes()
    elif lengths is not None and not only_device_knows(lengths, like):
        sizes = np.asarray(lengths, np.int64).reshape(-1)
    counts = selection.pairs_of(sizes)
    most = int(counts.max()) if counts.size else 0
    starts, total = None, batch.n * most
    if batch.is_list:
        begins, total = np.cumsum(counts) - counts, int(counts.sum())
        starts = copied_to(like, begins)
    extra = -1 if relation is None else RELATIONS.index(relation)
    first = MOST_POSES if n_fit < 0 else n_fit
    how = ALIGNMENTS.index(align), first, int(selection.delta), selection.all_pairs, frame == "world", extra
    found = launcher.rpe(on_device.tracks_of(batch), how, launcher.Pairs(starts, most, total))

    def give(rows: Any) -> Any:
        if batch.is_list:
            return [rows[b : b + n] for b, n in zip(begins.tolist(), counts.tolist(), strict=True)]
        return rows.reshape(*batch.shape, most, *rows.shape[1:])

    alignment = on_device.alignment_of(batch, found.fits)
    stats = [
        on_device.stats_of(batch, found.statistics[k], give(found.errors[k]), alignment, found.deviation)
        for k in range(2 if relation is None else 3)
    ]
    extras = stats[2] if relation is not None else None
    return PoseErrors(stats[0].status, stats[0]._codes, stats[0], stats[1], extras, give(found.pairs), alignment)


def _readable_rpe(
    batch: Batch, selection: _Selection, relation: str | None, frame: str, align: str, n_align: int | None
) -> PoseErrors:
    done = []
    how: dict[str, Any] = {**selection.readable(), "relation": relation, "frame": frame}
    for i in range(batch.n):
        (a, b), use = batch.item(i)
        done.append(readable.rpe(a, b, **how, align=align, n_align=n_align, mask=use))
    rows = _Rows(batch, np.array([len(d.pairs) for d in done], dtype=np.int64))
    for i, d in enumerate(done):
        here = slice(rows.starts[i], rows.starts[i] + len(d.pairs))
        rows.pairs[here] = d.pairs
        rows.fits[i] = fit_row(d.alignment)
        for k, stats in enumerate((d.translation, d.rotation_deg, d.relation)):
            if stats is not None:
                rows.errors[k, here] = stats.errors
                rows.statistics[k, i] = statistics_row(stats)
    return rows.record(relation)


class _Rows:
    """Room for the results of a batch: pairs and errors item by item, padded to the most pairs unless a list."""

    def __init__(self, batch: Batch, counts: Array) -> None:
        self.batch = batch
        self.counts = counts
        self.most = int(counts.max()) if counts.size else 0
        even = bool((counts == self.most).all())
        padded = not batch.is_list
        self.starts = np.arange(batch.n, dtype=np.int64) * self.most if padded else np.cumsum(counts) - counts
        room = self.most * batch.n if padded else int(counts.sum())
        self.pairs = np.empty((room, 2), dtype=np.int64) if even else np.full((room, 2), -1, dtype=np.int64)
        self.errors = np.empty((3, room)) if even else np.full((3, room), np.nan)
        self.statistics = np.empty((3, batch.n, STATISTICS_ROW))
        self.deviation = np.zeros(batch.n)
        self.fits = np.empty((batch.n, FIT_ROW))

    def give(self, rows: Array) -> Any:
        """Rows a pair, as the caller gets them."""
        batch = self.batch
        if batch.is_list:
            return [batch.call.give(rows[s : s + n]) for s, n in zip(self.starts, self.counts, strict=True)]
        return batch.call.give(rows.reshape(*batch.shape, self.most, *rows.shape[1:]))

    def record(self, relation: str | None) -> PoseErrors:
        batch = self.batch
        alignment = alignment_of(batch, sim3_of(batch, self.fits))
        why = "no_pairs"
        stats = [
            stats_of(
                batch,
                self.statistics[k],
                self.give(narrowed(self.errors[k], batch.dtype)),
                alignment,
                self.deviation,
                why,
            )
            for k in range(2 if relation is None else 3)
        ]
        first = stats[0]
        extra = stats[2] if relation is not None else None
        return PoseErrors(first.status, first._codes, first, stats[1], extra, self.give(self.pairs), alignment)


def rotation_angle_deg(
    R_a: ArrayLike | Sequence[ArrayLike], R_b: ArrayLike | Sequence[ArrayLike], *, backend: str = "auto"
) -> Any:
    """The angle between two rotations, in degrees: that of ``R_a^T R_b``.

    Args:
        R_a, R_b: (..., 3, 3), float32 or float64, of one shape; or two lists of such arrays.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        (...) in 0 to 180, in the dtype of the input, a list for lists; NaN where a matrix is not finite. Matrices
        within ``max |R^T R - I| <= 0.1`` are taken for the rotation nearest to them; :func:`orthogonality_deviation`
        says how far off they are.

    Raises:
        ArgumentError: Other shapes; a matrix that is no rotation: determinant -1, or further off than 0.1 (on a device:
            NaN).
        ArgumentTypeError: Something that is not an array, or of another dtype.

    Numerics:
        ``atan2(|vee(E - E^T)|, tr E - 1)`` in float64: right to rounding from 0 to 180 degrees, where the arc cosine
        of the trace answers 0 below 1e-8 rad. The same bits on every machine.

    Source:
        The exponential coordinates of a rotation; Hartley et al., "Rotation averaging", IJCV 103, 2013, section 4.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> half_turn = np.diag([1.0, -1.0, -1.0])
        >>> float(wmb.rotation_angle_deg(half_turn, np.eye(3)))
        180.0
    """
    op = "rotation_angle_deg"
    call, taken = take(op, {"R_a": R_a, "R_b": R_b})
    a, b = taken["R_a"], taken["R_b"]
    chosen = pick(op, backend, call.device)
    if not isinstance(a, list) and not isinstance(b, list):
        return _angles(call, "", a, b, chosen)
    if not isinstance(a, list) or not isinstance(b, list):
        raise bad_type(op, "R_b", "be a list of arrays where R_a is one, and only there", type(b).__name__)
    if len(a) != len(b):
        raise bad_value(op, "R_b", f"be a list as long as R_a ({len(a)})", f"{len(b)} arrays")
    return [_angles(call, f"[{i}]", x, y, chosen) for i, (x, y) in enumerate(zip(a, b, strict=True))]


def _angles(call: Call, item: str, a: Array, b: Array, backend: str) -> Any:
    """Degrees between two arrays of rotations, in their kind and dtype; ``item`` says where they stand in a list."""
    op = call.op
    trailing(op, f"R_a{item}", a, (3, 3))
    same_shape(op, f"R_b{item}", b, f"R_a{item}", a)
    shape = a.shape[:-2]
    if backend == "cuda":
        return kernels("rpe").rotation_angle_deg(a.reshape(-1, 3, 3), b.reshape(-1, 3, 3)).reshape(shape)
    if backend == "reference":
        return call.give(readable.rotation_angle_deg(a, b).astype(a.dtype))
    radians = np.empty(shape)
    refused = core.rotation_angles(a.reshape(-1), b.reshape(-1), radians.reshape(-1))
    for name, matrices, at in (("R_a", a, refused[0]), ("R_b", b, refused[1])):
        if at >= 0:
            where = str([int(k) for k in np.unravel_index(at, shape)])
            raise not_a_rotation(op, f"{name}{item}", matrices.reshape(-1, 3, 3)[at], where)
    return call.give(np.asarray(radians * (180.0 / np.pi)).astype(a.dtype, copy=False))


def orthogonality_deviation(R: ArrayLike) -> Any:
    """How far matrices are from orthogonal: ``max |R^T R - I|`` over the entries.

    Args:
        R: (..., 3, 3), float32 or float64.

    Returns:
        (...) in the dtype of the input; NaN where a matrix is not finite.

    Raises:
        ArgumentError: Another shape.
        ArgumentTypeError: Something that is not an array, or of another dtype.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> round(float(wmb.orthogonality_deviation(1.01 * np.eye(3))), 4)
        0.0201
    """
    call, taken = take("orthogonality_deviation", {"R": R}, lists=False)
    trailing("orthogonality_deviation", "R", taken["R"], (3, 3))
    return call.give(readable.deviation(taken["R"].astype(np.float64)).astype(taken["R"].dtype))


for _op in ("rpe", "rotation_angle_deg"):
    declare(_op, "cpu", "cuda", "reference")
