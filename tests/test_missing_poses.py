# SPDX-License-Identifier: Apache-2.0
"""What does not count leaves no trace: poses that are not finite, masks all False, weights where nothing counts."""

from __future__ import annotations

import numpy as np
import pytest
from test_align import MODES, bits, pair, points
from tolerances import FLOAT64_REL
from trajectories import placed, stair

import wmb_fast as wmb


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("entry", [(0, 3), (0, 0), (3, 1)])
@pytest.mark.parametrize("align", MODES)
def test_a_pose_that_is_not_finite_is_missing_throughout(backend: str, bad: float, entry: tuple, align: str) -> None:
    est, ref = pair(1, 12)
    spoilt = est.copy()
    spoilt[(4, *entry)] = bad
    kept = np.arange(12) != 4
    moved = wmb.align_trajectory(spoilt, ref, mode=align, backend=backend)
    assert np.isnan(moved.poses[4]).all()
    without = wmb.align_trajectory(est[kept], ref[kept], mode=align, backend=backend)
    np.testing.assert_array_equal(moved.poses[kept], without.poses)
    for relation in ("translation", "full"):
        got = wmb.ape(spoilt, ref, align=align, relation=relation, backend=backend)
        assert np.flatnonzero(np.isnan(got.errors)).tolist() == [4]
    steps = wmb.rpe(spoilt, ref, align=align, backend=backend)
    assert np.flatnonzero(np.isnan(steps.translation.errors)).tolist() == [3, 4]


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("align", ["sim3", "se3"])
def test_nothing_to_fit_moves_nothing_anywhere(backend: str, align: str) -> None:
    est, ref = pair(2, 2, 9)
    mask = np.ones((2, 9), bool)
    mask[1] = False
    got = wmb.align_trajectory(est, ref, mode=align, mask=mask, backend=backend)
    assert np.isnan(got.poses[1, :, :3]).all()
    assert got.status.tolist() == [0, 2]
    flat = wmb.align_trajectory(est[..., :3, 3].copy(), ref[..., :3, 3].copy(), mode=align, mask=mask, backend=backend)
    assert np.isnan(flat.poses[1]).all()


@pytest.mark.parametrize("align", ["none", "origin"])
def test_what_needs_no_fit_does_not_miss_its_poses(align: str) -> None:
    est, ref = pair(3, 8)
    mask = np.arange(8) > 1
    got = wmb.ape(est, ref, align=align, n_align=2, mask=mask)
    assert got.status == 0
    assert bits(got) == bits(wmb.ape(est, ref, align=align, n_align=2, mask=mask, backend="cpu"))
    assert got.n == 6
    assert wmb.ape(est, ref, align=align, n_align=2, mask=mask, backend="reference").status == 0


def test_positions_of_matrices_that_are_no_poses_are_refused() -> None:
    """Transposed matrices have their positions in the last row: every error would be zero."""
    poses = placed(stair(5))
    transposed = np.swapaxes(poses, 1, 2).copy()
    for call in (wmb.ate, wmb.ape):
        with pytest.raises(wmb.ArgumentError, match=r"estimate must hold poses with the last row 0 0 0 1"):
            call(transposed, np.swapaxes(placed(2 * stair(5)), 1, 2).copy(), align="none")
    mirrored = poses.copy()
    mirrored[2, :3, :3] *= -1
    with pytest.raises(wmb.ArgumentError, match=r"ate: reference must hold rotations .* at \[2\]"):
        wmb.ate(poses, mirrored)
    masked = wmb.ate(poses, mirrored, mask=np.arange(5) != 2)
    assert masked.n == 4


def test_weights_are_not_read_where_nothing_counts() -> None:
    x, y = points(4, 2, 10)
    weights = np.random.default_rng(4).uniform(1, 2, (2, 10))
    lengths, mask = np.array([10, 6]), np.ones((2, 10), bool)
    mask[0, 3] = False
    want = wmb.umeyama(x, y, weights=weights, lengths=lengths, mask=mask)
    spoilt = weights.copy()
    spoilt[1, 6:], spoilt[0, 3] = np.nan, -1
    assert bits(wmb.umeyama(x, y, weights=spoilt, lengths=lengths, mask=mask)) == bits(want)
    spoilt[1, 5] = np.inf
    with pytest.raises(wmb.ArgumentError, match="umeyama: weights must be finite and at least 0, got inf"):
        wmb.umeyama(x, y, weights=spoilt, lengths=lengths, mask=mask)


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e200, 1e308])
@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_the_unit_of_weights_does_not_matter(size: float, backend: str) -> None:
    x, y = points(5, 10)
    got = wmb.umeyama(x, y, weights=np.full(10, size), backend=backend)
    want = wmb.umeyama(x, y)
    np.testing.assert_allclose(got.scale, want.scale, rtol=FLOAT64_REL)
    np.testing.assert_allclose(got.rmse, want.rmse, rtol=FLOAT64_REL)
    assert got.rank == 3
    assert got.status == 0
