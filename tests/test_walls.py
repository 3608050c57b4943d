# SPDX-License-Identifier: Apache-2.0
"""The walls: arrays of either kind in, the same kind out, no copy where none is needed, one sentence if wrong."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import wmb_fast as wmb
from wmb_fast._walls import arrays, checks, dispatch, ext

torch = pytest.importorskip("torch")

POINTS = np.arange(24, dtype=np.float64).reshape(4, 6)


def test_contiguous_input_is_not_copied() -> None:
    for value in (POINTS, torch.from_numpy(POINTS)):
        _, taken = arrays.take("op", {"a": value})
        assert np.shares_memory(taken["a"], POINTS)


@pytest.mark.parametrize(
    "view",
    [
        POINTS[::2],
        POINTS[:, ::-1],
        POINTS[::-1, 1::2],
        POINTS.T,
        np.asfortranarray(POINTS),
        np.broadcast_to(POINTS[:1], (4, 6)),
        POINTS.astype(">f8"),
        np.lib.stride_tricks.as_strided(POINTS, (2, 3), (48, 8)),
    ],
    ids=["step", "reversed", "both", "transposed", "fortran", "broadcast", "big-endian", "strided"],
)
def test_views_arrive_with_the_values_of_their_copy(view: np.ndarray) -> None:
    view.flags.writeable = False
    before = view.copy()
    _, taken = arrays.take("op", {"a": view})
    assert taken["a"].flags.c_contiguous
    assert taken["a"].dtype.isnative
    np.testing.assert_array_equal(taken["a"], before)
    np.testing.assert_array_equal(view, before)


def test_memory_map_and_expanded_tensor(tmp_path) -> None:
    POINTS.tofile(tmp_path / "points")
    mapped = np.memmap(tmp_path / "points", dtype=np.float64, mode="r", shape=POINTS.shape)
    np.testing.assert_array_equal(arrays.take("op", {"a": mapped})[1]["a"], POINTS)
    expanded = torch.from_numpy(POINTS[0].copy()).expand(3, 6)
    np.testing.assert_array_equal(arrays.take("op", {"a": expanded})[1]["a"], np.tile(POINTS[0], (3, 1)))
    permuted = torch.from_numpy(POINTS).permute(1, 0)
    np.testing.assert_array_equal(arrays.take("op", {"a": permuted})[1]["a"], POINTS.T)


def test_same_kind_comes_back() -> None:
    call, _ = arrays.take("op", {"a": POINTS})
    assert isinstance(call.give(np.zeros(3)), np.ndarray)
    assert isinstance(call.give(np.array(1.5)), np.float64)
    call, _ = arrays.take("op", {"a": torch.from_numpy(POINTS)})
    assert isinstance(call.give(np.zeros((0, 2))), torch.Tensor)
    assert call.give(np.zeros((0, 2))).shape == (0, 2)
    assert call.give(np.array(1.5)).shape == ()


def test_sixteen_bit_floats_arrive_as_float32_where_they_are_taken() -> None:
    half = POINTS.astype(np.float16)
    for value in (half, torch.from_numpy(half), torch.from_numpy(half).to(torch.bfloat16)):
        assert arrays.take("op", {"a": value}, dtypes=arrays.SMALL_FLOATS)[1]["a"].dtype == np.float32
        with pytest.raises(wmb.ArgumentTypeError, match=r"op: a must have dtype float32 or float64, got b?float16"):
            arrays.take("op", {"a": value})


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"a": [[1.0, 2.0]]}, r"op: a\[0\] must be a NumPy array or a torch tensor, got list"),
        ({"a": 3.0}, r"op: a must be a NumPy array or a torch tensor, got float"),
        ({"a": POINTS, "b": torch.zeros(2)}, r"op: b must have the kind of a \(numpy\), got torch"),
        ({"a": POINTS, "b": POINTS.astype(np.float32)}, r"op: b must have the dtype of a \(float64\), got float32"),
        ({"a": POINTS.astype(object)}, "op: a must have dtype float32 or float64, got object"),
        ({"a": POINTS.astype(complex)}, "op: a must have dtype float32 or float64, got complex128"),
        ({"a": POINTS.astype(int)}, "op: a must have dtype float32 or float64, got int64"),
        (
            {"a": torch.zeros(2, device="meta"), "b": torch.zeros(2)},
            r"op: b must have the device of a \(meta\), got cpu",
        ),
    ],
)
def test_wrong_arrays_get_one_sentence(arguments, sentence: str) -> None:
    with pytest.raises(wmb.ArgumentTypeError, match=f"^{sentence}$"):
        arrays.take("op", arguments)


def test_tensors_that_require_grad_only_under_no_grad() -> None:
    tensor = torch.zeros(3, requires_grad=True)
    with pytest.raises(wmb.ArgumentTypeError, match=r"op: a must not require grad outside torch.no_grad\(\)"):
        arrays.take("op", {"a": tensor})
    with torch.no_grad():
        call, taken = arrays.take("op", {"a": tensor})
        assert call.give(taken["a"]).grad_fn is None


def test_checks_say_what_was_wrong() -> None:
    with pytest.raises(wmb.ArgumentError, match=r"^op: a must have shape \(..., N, 3\), got shape \(4, 6\)$"):
        checks.trailing("op", "a", POINTS, ("N", 3))
    with pytest.raises(wmb.ArgumentError, match=r"^op: b must have the shape of a \(4, 6\), got shape \(6, 4\)$"):
        checks.same_shape("op", "b", POINTS.T, "a", POINTS)
    with pytest.raises(wmb.ArgumentError, match=r"^op: a must be finite, got nan at index \(0, 1\)$"):
        checks.finite("op", "a", np.array([[1.0, np.nan]]))
    with pytest.raises(wmb.ArgumentError, match=r"^op: mode must be one of x, y, got 'z'$"):
        checks.one_of("op", "mode", "z", ("x", "y"))
    with pytest.raises(wmb.ArgumentTypeError, match=r"^op: n must be an integer, got True$"):
        checks.integer("op", "n", True)
    with pytest.raises(wmb.ArgumentError, match=r"^op: n must be at least 1, got 0$"):
        checks.integer("op", "n", 0, at_least=1)
    with pytest.raises(wmb.ArgumentTypeError, match=r"^op: x must be a real number, got '1'$"):
        checks.real("op", "x", "1")
    with pytest.raises(wmb.ArgumentError, match=r"^op: x must be finite, got nan$"):
        checks.real("op", "x", float("nan"))
    with pytest.raises(wmb.ArgumentError, match=r"^op: x must be above 0, got 0$"):
        checks.real("op", "x", 0, above=0)


def test_dispatch_never_falls_back() -> None:
    dispatch.declare("an_op", "cpu", "reference")
    try:
        assert dispatch.pick("an_op", "auto", "cpu") == "cpu"
        assert dispatch.pick("an_op", "reference", "cpu") == "reference"
        with pytest.raises(wmb.ArgumentError, match="an_op: backend must be one of auto, cpu, cuda, triton, reference"):
            dispatch.pick("an_op", "gpu", "cpu")
        with pytest.raises(wmb.ArgumentError, match="an_op: backend must run on the arguments' device cpu, got 'cuda'"):
            dispatch.pick("an_op", "cuda", "cpu")
        with pytest.raises(wmb.BackendError, match="an_op: this version has no cuda backend, it has cpu, reference"):
            dispatch.pick("an_op", "cuda", "cuda:0")
        with pytest.raises(wmb.BackendError, match="an_op: no backend of this version runs on device cuda:0"):
            dispatch.pick("an_op", "auto", "cuda:0")
    finally:
        del dispatch._declared["an_op"]
    with pytest.raises(wmb.ArgumentError, match="available_backends: op must name a public op, got 'no_such_op'"):
        wmb.available_backends("no_such_op")


def test_every_declared_op_is_public_and_has_its_reference() -> None:
    for op in dispatch.declared_ops():
        assert op in wmb.__all__
        assert "reference" in wmb.available_backends(op)
        assert callable(getattr(wmb.reference, op))


def test_threads() -> None:
    before = wmb.get_num_threads()
    try:
        wmb.set_num_threads(3)
        assert wmb.get_num_threads() == 3
        with pytest.raises(wmb.ArgumentError, match="set_num_threads: n must be at least 1, got 0"):
            wmb.set_num_threads(0)
    finally:
        wmb.set_num_threads(before)


@pytest.mark.parametrize(("text", "says"), [("5", "5"), ("0", "must be a positive integer, got '0'"), ("x", "got 'x'")])
def test_threads_from_the_environment(text: str, says: str) -> None:
    program = "import wmb_fast; print(wmb_fast.get_num_threads())"
    environment = os.environ | {"WMB_NUM_THREADS": text}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert says in (done.stdout if done.returncode == 0 else done.stderr)


def test_a_missing_extra_is_named_with_its_command() -> None:
    with pytest.raises(
        wmb.MissingExtraError, match=r"who: needs the package no_such_module.*pip install 'wmb-fast\[x\]'"
    ):
        ext.optional("no_such_module.part", "x", "who")


def test_cuda_status_is_one_sentence() -> None:
    there, sentence = ext.cuda_status()
    assert isinstance(there, bool)
    assert sentence
    assert "\n" not in sentence
