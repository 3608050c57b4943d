# SPDX-License-Identifier: Apache-2.0
"""umeyama, align_trajectory, ape and ate: held to the readable statement, and to what must hold of any alignment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tolerances import ANGLE_DEG, FLOAT32_REL, FLOAT64_ABS, FLOAT64_REL
from trajectories import disturbed, placed, rotations, walk

import wmb_fast as wmb
from wmb_fast import reference

torch = pytest.importorskip("torch")

MODES = ("sim3", "se3", "scale", "origin", "none")
RELATIONS = ("translation", "rotation_deg", "rotation_rad", "rotation_part", "full", "point_distance")
FIELDS = ("rmse", "mean", "median", "std", "min", "max", "sse")
SEEDS = st.integers(0, 2**32 - 1)


def pair(seed: int, *shape: int) -> tuple[np.ndarray, np.ndarray]:
    """An estimate and its reference, (*shape, 4, 4)."""
    rng = np.random.default_rng(seed)
    reference_poses = walk(rng, *shape)
    return disturbed(rng, reference_poses), reference_poses


def points(seed: int, *shape: int) -> tuple[np.ndarray, np.ndarray]:
    est, ref = pair(seed, *shape)
    return est[..., :3, 3].copy(), ref[..., :3, 3].copy()


def cut(lengths: Sequence[int], *batches: np.ndarray) -> list[list[np.ndarray]]:
    """Padded batches as lists."""
    return [[item[:n] for item, n in zip(batch, lengths, strict=True)] for batch in batches]


def assert_fit(got: object, want: reference.Sim3, size: float = 1.0, rel: float = FLOAT64_REL) -> None:
    """Every field of a fit: rotations by angle, translations against the extent, scale relative."""
    angle = float(wmb.rotation_angle_deg(np.asarray(got.rotation, np.float64), want.rotation))
    assert angle <= np.degrees(rel)
    np.testing.assert_allclose(got.translation, want.translation, rtol=rel, atol=rel * size)
    np.testing.assert_allclose(got.scale, want.scale, rtol=rel)
    np.testing.assert_allclose(got.rmse, want.rmse, rtol=rel, atol=FLOAT64_ABS * size)
    assert int(got.rank) == want.rank


def assert_stats(got: object, want: reference.ErrorStats, rel: float = FLOAT64_REL, abs_: float = FLOAT64_ABS) -> None:
    assert int(got.n) == want.n
    np.testing.assert_allclose(got.errors, want.errors, rtol=rel, atol=abs_)
    for name in FIELDS:
        np.testing.assert_allclose(getattr(got, name), getattr(want, name), rtol=rel, atol=abs_, err_msg=name)


def bits(record: object) -> list[bytes]:
    """Every array of a record, and of the records in it, as bytes."""
    found: list[bytes] = []
    for value in vars(record).values():
        if value is None:
            continue
        if hasattr(value, "__dataclass_fields__"):
            found += bits(value)
        else:
            parts = value if isinstance(value, list) else [value]
            found += [np.ascontiguousarray(part).tobytes() for part in parts]
    return found


# Against the readable statement


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 64, 501, 1025])
@pytest.mark.parametrize("with_scale", [True, False])
def test_umeyama_is_the_readable_statement(n: int, with_scale: bool) -> None:
    x, y = points(n, n)
    assert_fit(wmb.umeyama(x, y, with_scale=with_scale), reference.umeyama(x, y, with_scale=with_scale), size=n)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("align", MODES)
def test_ape_is_the_readable_statement(align: str, relation: str) -> None:
    est, ref = pair(3, 130)
    got = wmb.ape(est, ref, align=align, relation=relation)
    abs_ = ANGLE_DEG if relation == "rotation_deg" else FLOAT64_ABS
    want = reference.ape(est, ref, align=align, relation=relation)
    assert_stats(got, want, abs_=100 * abs_)
    if align in ("sim3", "se3", "scale"):
        assert_fit(got.alignment.sim3, want.alignment, size=100)


@pytest.mark.parametrize("align", MODES)
def test_align_trajectory_is_the_readable_statement(align: str) -> None:
    est, ref = pair(4, 77)
    got, want = wmb.align_trajectory(est, ref, mode=align), reference.align_trajectory(est, ref, mode=align)
    np.testing.assert_allclose(got.poses, want.poses, atol=1e-11)
    if align != "origin":
        moved = wmb.align_trajectory(est[:, :3, 3].copy(), ref[:, :3, 3].copy(), mode=align)
        np.testing.assert_array_equal(moved.poses, got.poses[:, :3, 3])


@pytest.mark.parametrize("align", MODES)
@pytest.mark.parametrize("relation", ["translation", "rotation_deg"])
def test_masks_and_poses_that_are_not_finite(align: str, relation: str) -> None:
    est, ref = pair(5, 60)
    est[7] = np.nan
    ref[11, 0, 3] = np.inf
    mask = np.ones(60, bool)
    mask[[0, 30]] = False
    got = wmb.ape(est, ref, align=align, relation=relation, mask=mask)
    kept = np.setdiff1d(np.arange(60), [0, 7, 11, 30])
    assert np.flatnonzero(~np.isnan(got.errors)).tolist() == kept.tolist()
    want = wmb.ape(est[kept], ref[kept], align=align, relation=relation)
    np.testing.assert_array_equal(got.errors[kept], want.errors)
    assert all(getattr(got, name) == getattr(want, name) for name in FIELDS)


def test_n_align_fits_on_the_first_poses_alone() -> None:
    est, ref = pair(6, 90)
    got = wmb.ape(est, ref, n_align=20)
    fit = wmb.umeyama(est[:20, :3, 3], ref[:20, :3, 3])
    np.testing.assert_array_equal(got.alignment.sim3.rotation, fit.rotation)
    assert_stats(got, reference.ape(est, ref, n_align=20))


def test_weights() -> None:
    x, y = points(7, 50)
    rng = np.random.default_rng(7)
    weights = rng.uniform(0, 3, 50) * (rng.uniform(size=50) > 0.2)
    assert_fit(wmb.umeyama(x, y, weights=weights), reference.umeyama(x, y, weights=weights), size=50)
    whole = rng.integers(0, 4, 50)
    repeated = wmb.umeyama(np.repeat(x, whole, axis=0), np.repeat(y, whole, axis=0))
    weighted = wmb.umeyama(x, y, weights=whole.astype(float))
    np.testing.assert_allclose(weighted.rotation, repeated.rotation, atol=FLOAT64_ABS)
    np.testing.assert_allclose(weighted.scale, repeated.scale, rtol=FLOAT64_REL)


def test_float32_in_float32_out() -> None:
    est, ref = (p.astype(np.float32) for p in pair(8, 200))
    got = wmb.ape(est, ref, relation="rotation_deg")
    wide = wmb.ape(est.astype(np.float64), ref.astype(np.float64), relation="rotation_deg")
    assert got.errors.dtype == got.rmse.dtype == got.alignment.sim3.rotation.dtype == np.float32
    np.testing.assert_array_equal(got.errors, wide.errors.astype(np.float32))
    np.testing.assert_array_equal(got.rmse, wide.rmse.astype(np.float32))
    x, y = est[:, :3, 3].copy(), ref[:, :3, 3].copy()
    assert_fit(wmb.umeyama(x, y), reference.umeyama(x, y), size=100, rel=FLOAT32_REL)


# Batches


def test_the_forms_of_a_batch_agree() -> None:
    est, ref = pair(9, 6, 40)
    one_by_one = [wmb.ape(est[i], ref[i]) for i in range(6)]
    both = wmb.ape(est.reshape(2, 3, 40, 4, 4), ref.reshape(2, 3, 40, 4, 4))
    assert both.rmse.shape == (2, 3)
    assert both.errors.shape == (2, 3, 40)
    np.testing.assert_array_equal(both.errors.reshape(6, 40), [one.errors for one in one_by_one])
    np.testing.assert_array_equal(both.median.reshape(6), [one.median for one in one_by_one])
    as_list = wmb.ape(list(est), list(ref))
    assert isinstance(as_list.errors, list)
    np.testing.assert_array_equal(as_list.errors, both.errors.reshape(6, 40))
    assert one_by_one[0].rmse.shape == ()
    assert isinstance(one_by_one[0].rmse, np.float64)


def test_ragged_batches() -> None:
    est, ref = pair(10, 5, 33)
    lengths = np.array([33, 1, 0, 20, 2])
    padded = wmb.ape(est, ref, lengths=lengths)
    listed = wmb.ape(*cut(lengths, est, ref))
    for i, n in enumerate(lengths):
        assert np.isnan(padded.errors[i, n:]).all()
        np.testing.assert_array_equal(padded.errors[i, :n], listed.errors[i])
        if n:
            np.testing.assert_array_equal(listed.errors[i], wmb.ape(est[i, :n], ref[i, :n]).errors)
    assert padded.n.tolist() == lengths.tolist()
    assert padded.status.tolist() == listed.status.tolist() == [0, 1, 2, 0, 1]
    assert "too few points" in padded.reason(1)
    moved = wmb.align_trajectory(est, ref, lengths=lengths)
    assert np.isnan(moved.poses[3, 20:]).all()
    assert np.isfinite(moved.poses[3, :20]).all()


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_the_bits_do_not_depend_on_threads_or_batch(threads: int) -> None:
    est, ref = pair(11, 23, 50)
    whole = wmb.ape(est, ref, relation="full")
    fits = wmb.umeyama(est[..., :3, 3], ref[..., :3, 3])
    before = wmb.get_num_threads()
    wmb.set_num_threads(threads)
    try:
        assert bits(wmb.ape(est, ref, relation="full")) == bits(whole)
        parts = [wmb.ape(est[a:b], ref[a:b], relation="full") for a, b in ((0, 1), (1, 8), (8, 23))]
        np.testing.assert_array_equal(np.concatenate([part.errors for part in parts]), whole.errors)
        for name in FIELDS:
            np.testing.assert_array_equal(np.concatenate([getattr(p, name) for p in parts]), getattr(whole, name))
        alone = [wmb.umeyama(e, r) for e, r in zip(est[..., :3, 3], ref[..., :3, 3], strict=True)]
        np.testing.assert_array_equal([fit.rotation for fit in alone], fits.rotation)
    finally:
        wmb.set_num_threads(before)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_torch_in_torch_out_with_the_same_bits(backend: str) -> None:
    est, ref = pair(12, 3, 21)
    ours = wmb.ape(torch.from_numpy(est), torch.from_numpy(ref), lengths=torch.tensor([21, 9, 4]), backend=backend)
    theirs = wmb.ape(est, ref, lengths=[21, 9, 4], backend=backend)
    assert isinstance(ours.errors, torch.Tensor)
    assert isinstance(ours.alignment.sim3.rotation, torch.Tensor)
    assert ours.n.dtype == torch.int64
    assert ours.status.dtype == torch.uint8
    assert bits(ours) == bits(theirs)


def test_the_reference_backend_gives_the_same_record() -> None:
    est, ref = pair(13, 4, 30)
    slow, fast = wmb.ape(est, ref, backend="reference"), wmb.ape(est, ref)
    np.testing.assert_allclose(slow.errors, fast.errors, atol=FLOAT64_ABS * 30)
    assert slow.status.tolist() == fast.status.tolist()
    fits = wmb.umeyama(list(est[..., :3, 3]), list(ref[..., :3, 3]), backend="reference")
    np.testing.assert_allclose(fits.rotation, wmb.umeyama(est[..., :3, 3], ref[..., :3, 3]).rotation, atol=1e-11)


@pytest.mark.parametrize("change", ["step", "reversed", "fortran", "read-only", "big-endian", "transposed"])
def test_any_memory_layout(change: str) -> None:
    x, y = points(14, 40)
    views = {
        "step": lambda a: np.repeat(a, 2, axis=0)[::2],
        "reversed": lambda a: a[::-1].copy()[::-1],
        "fortran": np.asfortranarray,
        "read-only": lambda a: np.frombuffer(a.tobytes()).reshape(a.shape),
        "big-endian": lambda a: a.astype(">f8"),
        "transposed": lambda a: a.T.copy().T,
    }
    got = wmb.ate(views[change](x), views[change](y))
    np.testing.assert_array_equal(got.errors, wmb.ate(x, y).errors)


# What must hold of any alignment


@settings(deadline=None, max_examples=40)
@given(SEEDS, st.integers(4, 40), st.floats(-9, 9), st.floats(-9, 9))
def test_a_similarity_is_found_in_any_unit(seed: int, n: int, unit: float, other: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    rotation, shift, scale = rotations(rng, 1)[0], rng.normal(size=3), 10.0 ** (other - unit)
    fit = wmb.umeyama(x * 10.0**unit, (x @ rotation.T + shift) * 10.0**other)
    assert float(wmb.rotation_angle_deg(fit.rotation, rotation)) < 1e-10
    np.testing.assert_allclose(fit.scale, scale, rtol=FLOAT64_REL)
    np.testing.assert_allclose(fit.translation, shift * 10.0**other, rtol=0, atol=FLOAT64_REL * 10.0**other)
    assert fit.rmse <= 1e-13 * 10.0**other
    assert fit.status == 0


@settings(deadline=None, max_examples=40)
@given(SEEDS, st.integers(3, 60))
def test_moving_the_reference_moves_the_alignment(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
    rotation, shift, scale = rotations(rng, 1)[0], rng.normal(size=3), float(rng.uniform(0.1, 10))
    before, after = wmb.ate(x, y), wmb.ate(x, scale * y @ rotation.T + shift)
    np.testing.assert_allclose(after.errors, scale * before.errors, rtol=1e-7, atol=1e-9 * scale)


@settings(deadline=None, max_examples=40)
@given(SEEDS, st.integers(3, 60))
def test_the_order_of_points_does_not_matter(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
    order = rng.permutation(n)
    one, other = wmb.umeyama(x, y), wmb.umeyama(x[order], y[order])
    np.testing.assert_allclose(one.rmse, other.rmse, rtol=FLOAT64_REL, atol=FLOAT64_ABS)
    np.testing.assert_allclose(one.scale, other.scale, rtol=1e-7, atol=1e-9)


@settings(deadline=None, max_examples=60)
@given(SEEDS, st.integers(1, 30), st.sampled_from(["any", "plane", "line", "point", "mirror", "repeated"]))
def test_a_rotation_is_proper_whatever_the_points(seed: int, n: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    if kind == "plane":
        x[:, 2] = 1.5
    if kind == "line":
        x = x[:, :1] * rng.normal(size=3) + rng.normal(size=3)
    if kind == "point":
        x = np.tile(x[:1], (n, 1))
    if kind == "repeated":
        x = np.repeat(x[:2], n, axis=0)
    y = x @ rotations(rng, 1)[0].T * 3 + 1
    if kind == "mirror":
        y[:, 1] *= -1
    got, want = wmb.umeyama(x, y), reference.umeyama(x, y)
    assert got.reason() == wmb._walls.records.SENTENCES[want.reason]
    assert int(got.rank) == want.rank
    if not np.isnan(got.rotation).any():
        np.testing.assert_allclose(got.rotation @ got.rotation.T, np.eye(3), atol=1e-14)
        np.testing.assert_allclose(np.linalg.det(got.rotation), 1.0, atol=1e-14)
        np.testing.assert_allclose(got.rmse, want.rmse, rtol=1e-7, atol=1e-13)
    assert np.isnan(got.rotation).any() == (got.status == 2)


@settings(deadline=None, max_examples=60)
@given(SEEDS, st.integers(5, 40))
def test_no_other_transform_is_better(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
    fit = wmb.umeyama(x, y)
    tilt = rotations(rng, 1, spread=1e-3)[0]
    other = fit.scale * (1 + 1e-3 * rng.normal()) * x @ (tilt @ fit.rotation).T
    other += (y - other).mean(axis=0)
    assert np.sqrt(((other - y) ** 2).sum(axis=1).mean()) >= fit.rmse - 1e-12


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.sampled_from([1e5, 1e6, 2.6e6, 1e8]))
def test_an_offset_costs_nothing(seed: int, offset: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(200, 3))
    y = 0.7 * x @ rotations(rng, 1)[0].T + 0.01 * rng.normal(size=(200, 3))
    here, far = wmb.ate(x, y), wmb.ate(x + offset, y - offset)
    np.testing.assert_allclose(far.rmse, here.rmse, rtol=0, atol=10 * np.spacing(offset))
    np.testing.assert_allclose(far.alignment.sim3.scale, here.alignment.sim3.scale, atol=10 * np.spacing(offset))


def test_a_line_with_noise_keeps_its_direction() -> None:
    """The roll about the line is noise, and stays so; where the line goes is not."""
    rng = np.random.default_rng(1)
    x = np.linspace(0, 1, 100)[:, None] * [1, 2, 3] + 1e-4 * rng.normal(size=(100, 3))
    rotation = rotations(rng, 1)[0]
    y = x @ rotation.T + 1e-4 * rng.normal(size=(100, 3))
    axis = np.array([1, 2, 3]) / np.sqrt(14)
    np.testing.assert_allclose(wmb.umeyama(x, y).rotation @ axis, rotation @ axis, atol=1e-3)


def test_opposite_lines_take_a_half_turn() -> None:
    x = np.arange(5.0)[:, None] * [0, 0, 1]
    fit = wmb.umeyama(x, -2 * x)
    np.testing.assert_allclose(fit.rotation @ [0, 0, 1], [0, 0, -1], atol=1e-15)
    assert float(wmb.rotation_angle_deg(fit.rotation, np.eye(3))) == pytest.approx(180)
    assert fit.rank == 1
    assert fit.status == 1


def test_a_target_that_stands_still() -> None:
    x, _ = points(15, 20)
    fit = wmb.umeyama(x, np.full((20, 3), 4.0))
    assert fit.scale == 0
    assert fit.status == 1
    assert fit.rmse == 0
    np.testing.assert_array_equal(fit.translation, [4, 4, 4])


def test_degenerate_items_do_not_touch_the_others() -> None:
    est, ref = pair(16, 4, 20)
    alone = wmb.ape(est[0], ref[0])
    est[1] = np.nan
    est[2, :, :3, 3] = 1.0
    got = wmb.ape(est, ref)
    assert got.status.tolist() == [0, 2, 1, 0]
    np.testing.assert_array_equal(got.errors[0], alone.errors)
    assert got.reason(1) == "every item is masked or not finite"
    assert got.reason(0) == ""


# Bad input


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda x, y: wmb.umeyama(x, y[:-1]), "umeyama: target must have the shape of source (5, 3), got shape (4, 3)"),
        (lambda x, y: wmb.umeyama(x[:, :2], y[:, :2]), "umeyama: source must have shape (..., N, 3), got shape (5, 2)"),
        (lambda x, y: wmb.umeyama(x[:0], y[:0]), "umeyama: source must hold at least one point, got none"),
        (lambda x, y: wmb.umeyama(x, y, weights=-x[:, 0] - 1), "umeyama: weights must be finite and at least 0, got -"),
        (lambda x, y: wmb.umeyama(x, y, mask=x[:, 0]), "umeyama: mask must have dtype bool, got float64"),
        (lambda x, y: wmb.umeyama(x, y, mask=np.ones(4, bool)), "umeyama: mask must have shape (5,), got shape (4,)"),
        (lambda x, y: wmb.umeyama(x, y.astype(np.float32)), "umeyama: target must have the dtype of source (float64)"),
        (lambda x, y: wmb.umeyama([x], y), "umeyama: target must be a list like the trajectories, got one array"),
        (lambda x, y: wmb.umeyama([], []), "umeyama: source must hold at least one trajectory, got an empty list"),
        (lambda x, y: wmb.umeyama([x, x], [y]), "umeyama: target must have as many items as source (2), got 1"),
        (lambda x, y: wmb.umeyama(x[None], y[None], lengths=[6]), "umeyama: lengths must lie between 0 and 5, got 6"),
        (lambda x, y: wmb.umeyama(x, y, lengths=[5]), "umeyama: lengths must have the batch's shape"),
        (lambda x, y: wmb.ate(x, y, align="rigid"), "ate: align must be one of sim3, se3, scale, origin, none, got"),
        (lambda x, y: wmb.ape(x, y, relation="full"), "ape: estimate must have shape (..., N, 4, 4), got shape (5, 3)"),
        (lambda x, y: wmb.ape(x, y, align="origin"), "ape: estimate must have shape (..., N, 4, 4), got shape (5, 3)"),
        (lambda x, y: wmb.ape(x, y, n_align=0), "ape: n_align must be at least 1, got 0"),
        (lambda x, y: wmb.ape(x, y, relation="point_distance_error_ratio"), "ape: relation must be one of translation"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence: str) -> None:
    x, y = points(17, 5)
    with pytest.raises((wmb.ArgumentError, wmb.ArgumentTypeError)) as refusal:
        call(x, y)
    assert str(refusal.value).startswith(sentence)


def test_matrices_that_are_no_poses_are_refused_by_index() -> None:
    est, ref = pair(18, 2, 10)
    mirrored = ref.copy()
    mirrored[1, 4, :3, 0] *= -1
    with pytest.raises(wmb.ArgumentError, match=r"reference must hold rotations.*det=-1, .* at \[1, 4\]"):
        wmb.ape(est, mirrored, relation="full")
    with pytest.raises(wmb.ArgumentError, match=r"estimate must hold rotations.* at \[1\]\[4\]"):
        wmb.align_trajectory(list(mirrored), list(ref))
    transposed = np.swapaxes(ref, -1, -2)
    with pytest.raises(wmb.ArgumentError, match="last row 0 0 0 1"):
        wmb.ape(est, transposed, relation="full")
    scaled = ref.copy()
    scaled[0, 3, :3, :3] *= 2
    with pytest.raises(wmb.ArgumentError, match=r"det=8, .* at \[0, 3\]"):
        wmb.ape(est, scaled, relation="full")
    masked = np.ones((2, 10), bool)
    masked[0, 3] = False
    assert wmb.ape(est, scaled, relation="full", mask=masked).n.tolist() == [9, 10]


def test_poses_near_so3_are_projected_and_said_so() -> None:
    est, ref = pair(19, 12)
    loose = est.copy()
    loose[5, :3, :3] *= 1.02
    got, want = wmb.ape(loose, ref, relation="rotation_deg"), wmb.ape(est, ref, relation="rotation_deg")
    np.testing.assert_allclose(got.errors, want.errors, atol=1e-9)
    assert got.deviation == pytest.approx(1.02**2 - 1)
    assert want.deviation < 1e-14


def test_placed_positions_and_poses_agree() -> None:
    x, y = points(20, 25)
    np.testing.assert_array_equal(wmb.ate(placed(x), placed(y)).errors, wmb.ate(x, y).errors)
