# SPDX-License-Identifier: Apache-2.0
"""The walls: arrays of either kind in, the same kind out, no copy where none is needed, one sentence if wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import types

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
        ({"a": None}, r"op: a must be a NumPy array or a torch tensor, got NoneType"),
        ({"a": POINTS, "b": None}, r"op: b must be a NumPy array or a torch tensor, got NoneType"),
        ({"a": np.ma.masked_array(POINTS)}, "op: a must be an array without a mask of its own, got MaskedArray"),
        ({"a": torch.zeros(2, 2).to_sparse()}, "op: a must be a dense tensor, got layout torch.sparse_coo"),
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


def test_only_what_is_optional_may_be_none() -> None:
    _, taken = arrays.take("op", {"a": POINTS, "mask": None}, optional=("mask",))
    assert taken["mask"] is None


def test_an_op_without_ragged_batches_takes_no_list() -> None:
    with pytest.raises(wmb.ArgumentTypeError, match=r"^op: a must be a NumPy array or a torch tensor, got list$"):
        arrays.take("op", {"a": [POINTS]}, lists=False)


def test_another_device_is_refused_before_anything_is_read() -> None:
    points, turns = torch.zeros(4, 3, device="meta"), torch.zeros(2, 3, 3, device="meta")
    stamps, field = torch.zeros(4, device="meta"), torch.zeros(4, 4, 2, device="meta")
    calls = {
        "umeyama": lambda: wmb.umeyama(points, points),
        "ate": lambda: wmb.ate([points], [points]),
        "associate": lambda: wmb.associate(stamps, stamps),
        "rotation_angle_deg": lambda: wmb.rotation_angle_deg(turns, turns),
        "nearest": lambda: wmb.nearest([points], [points]),
        "flow_channels": lambda: wmb.flow_channels(field),
        "path_length": lambda: wmb.path_length(points),
    }
    for op, call in calls.items():
        with pytest.raises(wmb.BackendError, match=f"^{op}: no backend of this version runs on device meta. Move the"):
            call()


def test_a_negated_view_arrives_with_its_values() -> None:
    view = torch.complex(torch.zeros(3), torch.ones(3)).conj().imag
    assert view.is_neg()
    assert arrays.take("op", {"a": view})[1]["a"].tolist() == [-1, -1, -1]


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
    with pytest.raises(wmb.ArgumentError, match=r"^op: mode must be one of x, y, got array"):
        checks.one_of("op", "mode", np.array(["x", "y"]), ("x", "y"))
    with pytest.raises(wmb.ArgumentTypeError, match=r"^op: sort must be True or False, got 'no'$"):
        checks.flag("op", "sort", "no")
    with pytest.raises(wmb.ArgumentError, match=r"^op: n must be at most 9, got 10$"):
        checks.integer("op", "n", 10, at_most=9)
    with pytest.raises(wmb.ArgumentError, match=r"^op: x must be within the range of float64, got 1000"):
        checks.real("op", "x", 10**400)
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


@pytest.mark.parametrize(
    ("lengths", "sentence"),
    [
        ([[1], [2, 3]], "op: lengths must be one array of integers, got"),
        ([1.0, 2.0], "op: lengths must hold integers, got float64"),
        ([1, 2, 3], r"op: lengths must have the batch's shape \(2,\), got shape \(3,\)"),
        ([-1, 2], "op: lengths must lie between 0 and 4, got -1 to 2"),
        (np.array([2**63 + 5, 1], np.uint64), "op: lengths must lie between 0 and 4, got 1 to 9223372036854775813"),
    ],
)
def test_wrong_lengths(lengths: object, sentence: str) -> None:
    with pytest.raises((wmb.ArgumentError, wmb.ArgumentTypeError), match=f"^{sentence}"):
        checks.lengths_of("op", lengths, (2,), 4)


def test_lengths_come_in_any_form_of_integers() -> None:
    for lengths in ([3, 4], (3, 4), np.array([3, 4], np.int32), torch.tensor([3, 4])):
        assert checks.lengths_of("op", lengths, (2,), 4).tolist() == [3, 4]


def test_a_reason_is_that_of_one_item() -> None:
    batch = wmb.ate(np.zeros((2, 4, 3)), np.ones((2, 4, 3)))
    assert "zero spread" in batch.reason(-1)
    with pytest.raises(
        wmb.ArgumentError, match=r"^reason: index must name one item of a batch of shape \(2,\), got \(\)$"
    ):
        batch.reason()


def test_dispatch_never_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    dispatch.declare("an_op", "cpu", "reference")
    monkeypatch.setitem(dispatch._declared, "another", ("cpu", "cuda", "triton", "reference"))
    try:
        assert dispatch.pick("an_op", "auto", "cpu") == "cpu"
        assert dispatch.pick("an_op", "reference", "cpu") == "reference"
        with pytest.raises(wmb.ArgumentError, match="an_op: backend must be one of auto, cpu, cuda, triton, reference"):
            dispatch.pick("an_op", "gpu", "cpu")
        for device in ("cpu", "cuda:0"):
            with pytest.raises(wmb.BackendError, match="an_op: this version has no cuda backend, it has cpu, ref"):
                dispatch.pick("an_op", "cuda", device)
        with pytest.raises(wmb.ArgumentError, match="an_op: backend must run on the arguments' device cuda:0"):
            dispatch.pick("an_op", "cpu", "cuda:0")
        with pytest.raises(wmb.BackendError, match="an_op: no backend of this version runs on device cuda:0"):
            dispatch.pick("an_op", "auto", "cuda:0")
        for device in ("cpu", "cuda:0"):
            monkeypatch.setattr(dispatch, "_device_status", lambda backend: (False, f"no {backend} here."))
            for backend in ("cuda", "triton"):
                with pytest.raises(wmb.BackendError, match=f"^another: no {backend} here.$"):
                    dispatch.pick("another", backend, device)
            assert wmb.available_backends("another") == ("cpu", "reference")
            monkeypatch.setattr(dispatch, "_device_status", lambda backend: (True, ""))
            assert wmb.available_backends("another") == ("cpu", "cuda", "triton", "reference")
        assert dispatch.pick("another", "auto", "cpu") == "cpu"
        assert dispatch.pick("another", "auto", "cuda:0") == "cuda"
        assert dispatch.pick("another", "triton", "cuda:0") == "triton"
        with pytest.raises(wmb.ArgumentError, match="another: backend must run on the arguments' device cpu"):
            dispatch.pick("another", "cuda", "cpu")
    finally:
        del dispatch._declared["an_op"]
    with pytest.raises(wmb.ArgumentError, match="available_backends: op must name a public op, got 'no_such_op'"):
        wmb.available_backends("no_such_op")
    with pytest.raises(wmb.ArgumentError, match=r"available_backends: op must name a public op, got \[\]"):
        wmb.available_backends([])


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
        with pytest.raises(wmb.ArgumentError, match="set_num_threads: n must be at most 2147483647, got 1099511627776"):
            wmb.set_num_threads(2**40)
    finally:
        wmb.set_num_threads(before)


@pytest.mark.parametrize(
    ("text", "threads", "says"),
    [
        ("5", "5", ""),
        ("", "", ""),
        ("0", "", "must be a positive integer, got '0': all cores are used"),
        ("abc", "", "got 'abc'"),
        ("9" * 30, "", "got '999"),
    ],
)
def test_threads_from_the_environment(text: str, threads: str, says: str) -> None:
    """A wrong number is one line on stderr; the program goes on."""
    program = "import wmb_fast; print(wmb_fast.get_num_threads())"
    environment = os.environ | {"WMB_NUM_THREADS": text}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == (threads or str(os.cpu_count()))
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == (1 if says else 0)


def test_a_missing_extra_is_named_with_its_command() -> None:
    with pytest.raises(
        wmb.MissingExtraError, match=r"who: needs the package no_such_module.*pip install 'wmb-fast\[x\]'"
    ):
        ext.optional("no_such_module.part", "x", "who")


@pytest.mark.parametrize(
    ("answer", "usable", "sentence"),
    [
        ((35, 0, "old"), False, "this machine has no CUDA driver, or one too old for this build."),
        ((100, 0, "none"), False, "this machine has a CUDA driver and no GPU it can use."),
        ((0, 0, ""), False, "this machine has a CUDA driver and no GPU it can use."),
        ((2, 0, "out of memory"), False, "counting the CUDA devices failed: out of memory."),
        ((0, 1, ""), True, "1 CUDA device"),
        (None, False, "this build has no CUDA module. Rebuild where nvcc is found, with WMB_CUDA=ON."),
    ],
)
def test_each_want_of_cuda_has_a_sentence_of_its_own(
    answer: tuple[int, int, str] | None, usable: bool, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = None if answer is None else types.SimpleNamespace(probe_devices=lambda: answer)
    monkeypatch.setitem(sys.modules, "wmb_fast.kernels._cuda", module)
    assert ext.cuda_status.__wrapped__() == (usable, sentence)


def test_want_of_triton_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ext, "_has_triton", lambda: False)
    assert ext.triton_status() == (
        False,
        "the package triton is not installed. Install it with: pip install 'wmb-fast[triton]'",
    )
    monkeypatch.setattr(ext, "_has_triton", lambda: True)
    for there in (False, True):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert ext.triton_status()[0] is there
