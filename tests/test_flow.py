# SPDX-License-Identifier: Apache-2.0
"""flow_channels and parallax_split against their references, and what must hold for any input."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import wmb_fast as wmb

FLOAT64_SUM = 1e-12  # two orders of summation of up to 1e5 float64 values
FLOAT32_RESULT = 2e-7  # the result rounded to float32


def fields(shape: tuple[int, ...], seed: int, dtype: str = "float64") -> np.ndarray:
    return np.random.default_rng(seed).normal(scale=3.0, size=(*shape, 2)).astype(dtype)


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (17, 25), (3, 5, 7), (2, 2, 9, 12), (0, 4, 6)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_channels_are_the_reference(shape: tuple[int, ...], dtype: str) -> None:
    flow = fields(shape, 1, dtype)
    got, wanted = wmb.flow_channels(flow), wmb.reference.flow_channels(flow)
    tolerance = FLOAT64_SUM if dtype == "float64" else FLOAT32_RESULT
    for name in ("horizontal", "radial"):
        value = getattr(got, name)
        assert value.dtype == dtype
        assert np.shape(value) == shape[:-2]
        np.testing.assert_allclose(value, getattr(wanted, name), rtol=tolerance, atol=tolerance)
    assert np.shape(got.status) == shape[:-2]
    assert not np.any(got.status)


def test_channels_of_a_list() -> None:
    sizes = [(3, 4, 2), (1, 1, 2), (7, 5, 2)]
    listed = [fields(size[:2], seed, "float32") for seed, size in enumerate(sizes)]
    listed[1][0, 0, 0] = np.nan
    for backend in ("cpu", "reference"):
        got = wmb.flow_channels(listed, backend=backend)
        one = wmb.flow_channels(listed[2], backend=backend)
        assert got.horizontal.shape == got.radial.shape == got.status.shape == (3,)
        assert got.horizontal.dtype == np.float32
        assert (got.horizontal[2], got.radial[2]) == (one.horizontal, one.radial)
        assert got.status.tolist() == [0, 2, 0]
    assert wmb.flow_channels([]).horizontal.shape == (0,)
    with pytest.raises(wmb.ArgumentError, match=r"^flow_channels: flow\[1\] must have shape \(H, W, 2\), got shape"):
        wmb.flow_channels([listed[0], listed[0][None]])


def test_channels_backend_reference() -> None:
    flow = fields((2, 6, 8), 2)
    flow[1, 0, 0, 1] = np.nan
    fast, slow = wmb.flow_channels(flow), wmb.flow_channels(flow, backend="reference")
    np.testing.assert_allclose(fast.radial, slow.radial, rtol=FLOAT64_SUM, equal_nan=True)
    np.testing.assert_array_equal(fast.status, slow.status)
    assert fast.reason(1) == slow.reason(1) == "a value is not finite"


def test_zoom_and_pan_each_move_their_own_channel() -> None:
    y, x = np.mgrid[0:41, 0:61].astype(float)
    zoom = np.stack([x - 30.5, y - 20.5], axis=-1)
    pan = np.stack([np.full_like(x, 2.0), np.zeros_like(x)], axis=-1)
    zoomed, panned = wmb.flow_channels(zoom), wmb.flow_channels(pan)
    assert zoomed.radial > 15
    assert abs(zoomed.horizontal) < 1
    assert panned.horizontal == 2
    assert abs(panned.radial) < 0.1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_bad_pixel_makes_one_field_missing(bad: float) -> None:
    flow = fields((3, 8, 10), 3)
    flow[1, 4, 5, 0] = bad
    got = wmb.flow_channels(flow)
    assert got.status.tolist() == [0, 2, 0]
    assert np.isnan(got.horizontal[1])
    assert np.isnan(got.radial[1])
    assert np.isfinite(got.horizontal[[0, 2]]).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_bits_do_not_depend_on_threads_or_batch(n: int, height: int, width: int, seed: int) -> None:
    flow = fields((n, height, width), seed, "float32")
    before = wmb.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 7):
            wmb.set_num_threads(threads)
            results.append(wmb.flow_channels(flow))
    finally:
        wmb.set_num_threads(before)
    alone = [wmb.flow_channels(flow[i]) for i in range(n)]
    for name in ("horizontal", "radial"):
        for result in results[1:]:
            np.testing.assert_array_equal(getattr(result, name), getattr(results[0], name))
        np.testing.assert_array_equal([getattr(item, name) for item in alone], getattr(results[0], name))


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 30), st.integers(2, 30), st.integers(-9, 9), st.integers(0, 2**32 - 1))
def test_channels_scale_with_the_unit_and_change_sign_with_the_flow(h: int, w: int, power: int, seed: int) -> None:
    flow = fields((h, w), seed)
    base, scaled, negative = (wmb.flow_channels(flow * factor) for factor in (1.0, 2.0**power, -1.0))
    assert scaled.radial == base.radial * 2.0**power
    assert scaled.horizontal == base.horizontal * 2.0**power
    assert negative.radial == -base.radial


def test_strided_readonly_torch_and_numpy_agree() -> None:
    flow = fields((2, 12, 14), 5, "float32")
    wanted = wmb.flow_channels(np.ascontiguousarray(flow[:, ::2, ::-1]))
    view = flow[:, ::2, ::-1]
    view.flags.writeable = False
    np.testing.assert_array_equal(wmb.flow_channels(view).radial, wanted.radial)
    tensor = wmb.flow_channels(torch.from_numpy(np.ascontiguousarray(view)))
    assert isinstance(tensor.radial, torch.Tensor)
    assert tensor.radial.dtype == torch.float32
    np.testing.assert_array_equal(tensor.radial.numpy(), wanted.radial)


@pytest.mark.parametrize(
    ("flow", "sentence"),
    [
        (np.zeros((4, 5, 3)), r"flow_channels: flow must have shape \(..., H, W, 2\), got shape \(4, 5, 3\)"),
        (np.zeros((0, 5, 2)), r"flow_channels: flow must have at least one pixel, got shape \(0, 5, 2\)"),
        (np.zeros((4, 5, 2), dtype=np.int64), "flow_channels: flow must have dtype float32 or float64, got int64"),
    ],
)
def test_channels_say_what_is_wrong(flow: np.ndarray, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        wmb.flow_channels(flow)


def sample(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    inverse_depth = rng.uniform(0.05, 2.0, n)
    return 3.0 * inverse_depth - 1.5 + rng.normal(scale=0.2, size=n), inverse_depth


NAMES = ("translation", "rotation", "slope", "intercept")
LEAST_SQUARES = 1e-9  # normal equations against a singular value decomposition, well-conditioned points


@pytest.mark.parametrize("n", [2, 3, 20, 21, 997])
def test_split_is_the_reference(n: int) -> None:
    u, inverse_depth = sample(n, n)
    got, wanted = wmb.parallax_split(u, inverse_depth), wmb.reference.parallax_split(u, inverse_depth)
    for name in NAMES:
        np.testing.assert_allclose(getattr(got, name), getattr(wanted, name), rtol=LEAST_SQUARES, atol=LEAST_SQUARES)


@pytest.mark.parametrize("depth", [0.0, 0.25, 0.1, 1e-9, 1e9])
@pytest.mark.parametrize("n", [1, 2, 66])
def test_constant_depth_takes_the_least_norm(depth: float, n: int) -> None:
    u = np.linspace(1.0, 2.0, n)
    inverse_depth = np.full(n, depth)
    got, wanted = wmb.parallax_split(u, inverse_depth), wmb.reference.parallax_split(u, inverse_depth)
    for name in NAMES:
        np.testing.assert_allclose(getattr(got, name), getattr(wanted, name), rtol=LEAST_SQUARES, atol=1e-12)
    assert got.translation == 0
    assert got.status == 0


@settings(max_examples=40, deadline=None)
@given(st.floats(-50, 50), st.floats(-50, 50), st.integers(-9, 9), st.integers(3, 60), st.integers(0, 2**32 - 1))
def test_split_recovers_a_line_in_any_unit(slope: float, turn: float, power: int, n: int, seed: int) -> None:
    inverse_depth = np.random.default_rng(seed).uniform(0.1, 2.0, n)
    unit = 10.0**power
    got = wmb.parallax_split(slope * inverse_depth + turn, inverse_depth * unit)
    spread = np.subtract(*np.percentile(inverse_depth, [95, 5]))
    np.testing.assert_allclose(got.translation, abs(slope) * spread, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(got.rotation, abs(turn), rtol=1e-6, atol=1e-6)


def test_lists_padding_and_single_items_agree() -> None:
    samples = [sample(n, n) for n in (5, 0, 33, 12)]
    us, depths = [u for u, _ in samples], [z for _, z in samples]
    listed = wmb.parallax_split(us, depths)
    padded_u, padded_z = (np.full((4, 40), np.nan) for _ in range(2))
    for row, (u, z) in enumerate(samples):
        padded_u[row, : u.size], padded_z[row, : z.size] = u, z
    padded = wmb.parallax_split(padded_u, padded_z, lengths=np.array([5, 0, 33, 12]))
    for lengths in ([5, 0, 33, 12], np.array([5, 0, 33, 12], np.int32)):
        np.testing.assert_array_equal(wmb.parallax_split(padded_u, padded_z, lengths=lengths).slope, padded.slope)
    slow = wmb.parallax_split(us, depths, backend="reference")
    assert listed.status.tolist() == padded.status.tolist() == slow.status.tolist() == [0, 2, 0, 0]
    assert listed.reason(1) == slow.reason(1) == "there are no samples"
    for name in NAMES:
        np.testing.assert_array_equal(getattr(listed, name), getattr(padded, name))
        one = getattr(wmb.parallax_split(us[2], depths[2]), name)
        assert one == getattr(listed, name)[2]


def test_split_reports_what_is_not_finite() -> None:
    u, z = np.zeros((2, 4)), np.ones((2, 4))
    u[0, 1] = np.nan
    got = wmb.parallax_split(u, z)
    assert got.status.tolist() == [2, 0]
    assert np.isnan(got.translation[0])
    assert got.reason(0) == "a value is not finite"


def test_split_says_what_is_wrong() -> None:
    u = np.zeros((2, 4))
    with pytest.raises(wmb.ArgumentError, match="inverse_depth must have the shape of u"):
        wmb.parallax_split(u, np.zeros((2, 3)))
    with pytest.raises(wmb.ArgumentError, match="lengths must lie between 0 and 4, got 1 to 5"):
        wmb.parallax_split(u, u, lengths=np.array([1, 5]))
    with pytest.raises(wmb.ArgumentTypeError, match="be a list exactly when u is"):
        wmb.parallax_split([u[0]], u)
    with pytest.raises(wmb.ArgumentError, match="have as many items as u"):
        wmb.parallax_split([u[0]], [u[0], u[1]])
