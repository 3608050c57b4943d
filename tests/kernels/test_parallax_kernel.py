# SPDX-License-Identifier: Apache-2.0
"""parallax_split on a device against the host's: sizes, ragged lists, lengths, and what has no answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from every_op import assert_close
from tolerances import FLOAT32_REL, FLOAT64_ABS, FLOAT64_REL

import wmb_fast as wmb

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("on_device")
Array = np.ndarray[Any, Any]
TYPES = {"float32": FLOAT32_REL, "float64": FLOAT64_REL}


def samples(*shape: int, dtype: str = "float64") -> tuple[Array, Array]:
    rng = np.random.default_rng(shape)
    depth = rng.random(shape)
    return (3 * depth - 1 + 0.1 * rng.standard_normal(shape)).astype(dtype), depth.astype(dtype)


def tensors(*arrays: Array) -> list[Any]:
    return [torch.from_numpy(np.ascontiguousarray(array)) for array in arrays]


def assert_as_the_host(got: Any, want: Any, rel: float) -> None:
    assert_close(got, want, rel=rel, abs=FLOAT64_ABS)
    codes = np.asarray(want._codes)
    for index in np.ndindex(codes.shape):
        assert got.reason(index) == want.reason(index)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 2, 3, 17, 63, 65, 130, 1000])
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_as_the_host(dtype: str, n: int, batch: tuple[int, ...]) -> None:
    u, depth = samples(*batch, n, dtype=dtype)
    assert_as_the_host(wmb.parallax_split(*tensors(u, depth)), wmb.parallax_split(u, depth), TYPES[dtype])


@pytest.mark.parametrize("where", ["host", "device"])
def test_lengths(where: str) -> None:
    u, depth = samples(5, 40)
    lengths = np.array([0, 1, 2, 39, 40])
    given = torch.from_numpy(lengths) if where == "device" else lengths
    got = wmb.parallax_split(*tensors(u, depth), lengths=given)
    assert_as_the_host(got, wmb.parallax_split(u, depth, lengths=lengths), FLOAT64_REL)


def test_lengths_that_the_host_has_not_seen_are_held_within_the_room() -> None:
    u, depth = samples(2, 9)
    got = wmb.parallax_split(*tensors(u, depth), lengths=torch.tensor([-4, 100]))
    want = wmb.parallax_split(u, depth, lengths=[0, 9])
    assert_as_the_host(got, want, FLOAT64_REL)


@pytest.mark.parametrize("dtype", TYPES)
def test_lists(dtype: str) -> None:
    pairs = [samples(n, dtype=dtype) for n in (5, 1, 0, 300)]
    u, depth = ([pair[side] for pair in pairs] for side in (0, 1))
    got = wmb.parallax_split(tensors(*u), tensors(*depth))
    assert_as_the_host(got, wmb.parallax_split(u, depth), TYPES[dtype])


def test_what_has_no_line() -> None:
    u, depth = (np.tile(x, (6, 1)) for x in samples(20))
    depth[0] = 0.5  # all equal: the solution of least norm
    depth[1] = 0
    u[2, 3], depth[3, 19], u[4, 0] = np.nan, np.inf, -np.inf
    got, want = wmb.parallax_split(*tensors(u, depth)), wmb.parallax_split(u, depth)
    np.testing.assert_array_equal(want.status, [0, 0, 2, 2, 2, 0])
    assert_as_the_host(got, want, FLOAT64_REL)
    empty = np.empty((3, 0))
    assert_as_the_host(wmb.parallax_split(*tensors(empty, empty)), wmb.parallax_split(empty, empty), 0)
    nothing = np.empty((0, 4))
    assert wmb.parallax_split(*tensors(nothing, nothing)).slope.shape == (0,)


def test_percentiles_are_exact() -> None:
    depth = np.repeat([0.0, 0.25, 0.25, 1.0], 50)[None]
    got = wmb.parallax_split(*tensors(2 * depth, depth))
    assert got.translation.item() == pytest.approx(2.0, abs=FLOAT64_ABS)


def test_bad_arguments_are_told_as_on_the_host() -> None:
    u, depth = tensors(*samples(3, 8))
    with pytest.raises(wmb.ArgumentError, match="parallax_split: inverse_depth must have the shape of u"):
        wmb.parallax_split(u, depth[:2])
    with pytest.raises(wmb.ArgumentError, match="parallax_split: lengths must lie between 0 and 8, got 0 to 9"):
        wmb.parallax_split(u, depth, lengths=[0, 9, 1])
    with pytest.raises(wmb.ArgumentError, match="parallax_split: lengths must be None for a list"):
        wmb.parallax_split([u[0]], [depth[0]], lengths=[1])
    with pytest.raises(wmb.ArgumentTypeError, match="inverse_depth must be a list exactly when u is"):
        wmb.parallax_split([u[0]], depth)
