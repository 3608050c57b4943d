# SPDX-License-Identifier: Apache-2.0
"""What holds for every op alike: the kinds, dtypes, strides and sizes of arrays it takes, and those it gives back.

B01 to B04 and B07 of the collection of real faults are here, for all ops.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from every_op import CALLS, assert_same, leaves

import wmb_fast as wmb
from wmb_fast._walls.dispatch import declared_ops

torch = pytest.importorskip("torch")
OPS = sorted(CALLS)


def test_every_op_is_here() -> None:
    assert set(OPS) == set(declared_ops())


def changed(op: str, change: Callable[[np.ndarray], Any]) -> Any:
    return CALLS[op].of(op, **{name: change(array) for name, array in CALLS[op].arrays.items()})


def spread(x: np.ndarray) -> np.ndarray:
    """The same values, every second place of a larger array."""
    out = np.full(tuple(2 * n for n in x.shape), np.nan)
    view = out[tuple(slice(None, None, 2) for _ in x.shape)]
    view[...] = x
    return view


def backwards(x: np.ndarray) -> np.ndarray:
    """The same values under negative strides."""
    turned = tuple(slice(None, None, -1) for _ in x.shape)
    return np.ascontiguousarray(x[turned])[turned]


VIEWS: dict[str, Callable[[np.ndarray], Any]] = {
    "spread": spread,
    "backwards": backwards,
    "fortran": np.asfortranarray,
    "big-endian": lambda x: x.astype(">f8"),
    "unaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float64).reshape(x.shape),
    "read-only": lambda x: np.frombuffer(x.tobytes()).reshape(x.shape),
    "subclass": lambda x: x.view(type("Named", (np.ndarray,), {})),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("op", OPS)
def test_b01_b02_b04_strides_are_part_of_the_value(op: str, view: str) -> None:
    before = {name: array.copy() for name, array in CALLS[op].arrays.items()}
    assert_same(changed(op, VIEWS[view]), CALLS[op].of(op))
    for name, array in CALLS[op].arrays.items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", OPS)
def test_torch_in_torch_out_with_the_same_bits(op: str, dtype: str) -> None:
    want = changed(op, lambda x: x.astype(dtype))
    got = changed(op, lambda x: torch.from_numpy(x.astype(dtype)))
    assert_same(got, want)
    for name, value in leaves(got):
        assert isinstance(value, torch.Tensor), name
        assert value.device.type == "cpu"
        assert value.grad_fn is None
    for name, value in leaves(want):
        assert isinstance(value, (np.ndarray, np.generic)), (name, type(value))


@pytest.mark.parametrize("op", OPS)
def test_torch_views(op: str) -> None:
    def permuted(x: np.ndarray) -> Any:
        return torch.from_numpy(np.ascontiguousarray(x.T)).permute(*range(x.ndim - 1, -1, -1))

    assert_same(changed(op, permuted), changed(op, torch.from_numpy))


@pytest.mark.parametrize("op", OPS)
def test_b03_tensors_that_require_grad(op: str) -> None:
    def with_grad(x: np.ndarray) -> Any:
        return torch.from_numpy(x.copy()).requires_grad_()

    with pytest.raises(wmb.ArgumentTypeError, match=rf"^{op}: \w+ must not require grad outside torch.no_grad\(\)"):
        changed(op, with_grad)
    with torch.no_grad():
        assert_same(changed(op, with_grad), changed(op, torch.from_numpy))


@pytest.mark.parametrize("op", OPS)
def test_b07_dtypes(op: str) -> None:
    taken = CALLS[op].floats
    for dtype in ("float16", "bfloat16"):
        tensor = changed if dtype in taken else None
        if tensor is None:
            with pytest.raises(wmb.ArgumentTypeError, match=rf"^{op}: \w+ must have dtype .*, got {dtype}$"):
                changed(op, lambda x, dtype=dtype: torch.from_numpy(x).to(getattr(torch, dtype)))
            continue
        got = changed(op, lambda x, dtype=dtype: torch.from_numpy(x).to(getattr(torch, dtype)))
        wide = changed(op, lambda x, dtype=dtype: torch.from_numpy(x).to(getattr(torch, dtype)).float())
        assert_same(got, wide)
    for dtype in (object, complex, "S4", "datetime64[s]"):
        with pytest.raises(wmb.ArgumentTypeError, match=rf"^{op}: \w+ must "):
            changed(op, lambda x, dtype=dtype: np.zeros(x.shape, dtype))


@pytest.mark.parametrize("op", OPS)
def test_what_is_no_plain_array_is_refused_in_one_sentence(op: str) -> None:
    for make in (np.ma.masked_invalid, lambda x: x.tolist(), lambda x: None, lambda x: torch.from_numpy(x).to_sparse()):
        with pytest.raises((wmb.ArgumentTypeError, wmb.ArgumentError), match=rf"^{op}: [^\n]+$"):
            changed(op, make)
    first = next(iter(CALLS[op].arrays))
    if len(CALLS[op].arrays) > 1:
        with pytest.raises(wmb.ArgumentTypeError, match=rf"^{op}: \w+ must have the kind of"):
            CALLS[op].of(op, **{first: torch.from_numpy(CALLS[op].arrays[first])})
    if len(CALLS[op].arrays) > 1 and op != "mask_iou":  # where any dtype is a mask
        with pytest.raises(wmb.ArgumentTypeError, match=rf"^{op}: \w+ must have (the dtype of|dtype)"):
            CALLS[op].of(op, **{first: CALLS[op].arrays[first].astype(np.float32)})


@pytest.mark.parametrize("op", OPS)
def test_shapes_without_meaning_are_refused_in_one_sentence(op: str) -> None:
    for name, array in CALLS[op].arrays.items():
        for wrong in (np.float64(1.0) * np.ones(()), np.zeros((*array.shape, 2)), np.zeros(0)):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    CALLS[op].of(op, **{name: wrong})
            except wmb.WmbError as error:
                assert str(error).startswith(f"{op}: "), error  # noqa: PT017
                assert "\n" not in str(error)  # noqa: PT017


SIZED = [op for op in OPS if CALLS[op].per_item]


@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize("op", SIZED)
def test_few_items(op: str, n: int) -> None:
    """An answer with a status, or one sentence; never a warning, and never a number where there is none."""
    call = CALLS[op]
    few = {name: np.take(call.arrays[name], range(n), axis) for name, axis in call.per_item.items()}
    try:
        got = call.of(op, **few)
    except wmb.ArgumentError as error:
        assert n == 0
        assert str(error).startswith(f"{op}: ")  # noqa: PT017
        return
    as_tensors = {name: torch.from_numpy(array) for name, array in {**call.arrays, **few}.items()}
    assert_same(call.of(op, **as_tensors), got)
    status = getattr(got, "status", None)
    if status is None:
        return
    for index in np.ndindex(np.shape(status)):
        assert bool(got.reason(index)) == (np.asarray(status)[index] != 0)


@pytest.mark.parametrize("op", OPS)
def test_values_that_are_not_finite(op: str) -> None:
    """NaN, infinity, denormals and the ends of the numbers: an answer or one sentence, no crash, no warning."""
    for value in (np.nan, np.inf, -np.inf, 5e-324, 1e308, -1e308, 1e-200):
        for name, array in CALLS[op].arrays.items():
            for spoilt in (array.copy(), np.full(array.shape, value)):
                spoilt.flat[0] = value
                try:
                    with warnings.catch_warnings():
                        warnings.filterwarnings(
                            "ignore", message=f"{op}: "
                        )  # the library's own, of values out of range
                        CALLS[op].of(op, **{name: spoilt})
                except wmb.WmbError as error:
                    assert str(error).startswith(f"{op}: "), error  # noqa: PT017


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_a_transform_is_missing_where_its_last_row_is_not_finite(backend: str) -> None:
    """Of that row nothing is used but this: whoever gives it has lost the transform."""
    lost = np.eye(4)
    lost[3, 1] = np.inf
    for op in ("reproject_depth", "splat_depth", "project"):
        name = "T_cam_world" if op == "project" else "T_dst_src"
        assert not np.asarray(CALLS[op].of(op, **{name: lost}, backend=backend).valid).any()
    agreement = CALLS["depth_agreement"].of("depth_agreement", T_dst_src=lost, backend=backend)
    assert (agreement.status, agreement.n) == (2, 0)
    assert "not finite" in agreement.reason()
    seen = CALLS["visibility"].of("visibility", T_cam_world=lost, backend=backend)
    assert set(np.asarray(seen).tolist()) == {int(wmb.Visibility.UNKNOWN)}


@pytest.mark.parametrize("op", ["ape", "ate", "rpe", "align_trajectory", "rotation_angle_deg"])
def test_the_reference_refuses_in_the_same_words(op: str) -> None:
    first = next(iter(CALLS[op].arrays))
    wrong = CALLS[op].arrays[first].copy()
    wrong[2, :3, :3] *= -1
    for backend, name in (("cpu", op), ("reference", "ape" if op == "ate" else op)):  # ate is ape's statement
        with pytest.raises(
            wmb.ArgumentError, match=rf"^{name}: .* must (hold|be) rotations.*got .*not a rotation.* at "
        ):
            CALLS[op].of(op, **{first: wrong}, backend=backend)


def test_what_leaves_float64_on_its_way_is_missing_with_a_reason() -> None:
    """Numbers that are finite, and whose squares or sums are not: never NaN under status 0, never a warning."""
    huge = np.array([1e308, 1e308, -1e308, 1.0])
    interval = wmb.bootstrap_ci(huge, n=20)
    assert (interval.status, bool(np.isnan(interval.estimate)), bool(interval.reason())) == (2, True, True)
    split = wmb.parallax_split(np.array([1.0, 1e300, 3.0]), np.array([1e-300, 2e-300, 5e-300]))
    assert np.isfinite(split.translation) or (split.status == 2 and bool(split.reason()))
    assert wmb.pearson(huge[:3] / 2, huge[:3]).value == pytest.approx(1)
    for backend in ("cpu", "reference"):
        with pytest.raises(wmb.ArgumentError, match="not a rotation"):
            wmb.rotation_angle_deg(np.full((3, 3), 1e200), np.eye(3), backend=backend)
        sheared = np.tile(np.eye(4), (3, 1, 1))
        sheared[1, 3, 0] = 0.5
        with pytest.raises(wmb.ArgumentError, match="the last row 0 0 0 1"):
            wmb.rpe(sheared, np.tile(np.eye(4), (3, 1, 1)), backend=backend)
