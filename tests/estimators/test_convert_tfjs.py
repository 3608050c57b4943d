# SPDX-License-Identifier: Apache-2.0
"""Each operation of TensorFlow.js that the converter knows, against PyTorch's; and models that are none."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

from wmb_fast._walls.errors import FileFormatError
from wmb_fast.estimators.convert.tfjs import convert
from wmb_fast.estimators.session import Session

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")
torch = pytest.importorskip("torch")
F = torch.nn.functional
SHAPE = (1, 6, 8, 4)
X = np.random.default_rng(0).standard_normal(SHAPE, dtype=np.float32)


class Model:
    """A graph model in the making: ``x`` is its input."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = [{"name": "x", "op": "Placeholder"}]
        self.weights: list[dict[str, Any]] = []
        self.bytes = b""

    def const(self, name: str, value: Any, dtype: str = "float32") -> str:
        array = np.asarray(value, dtype=dtype)
        self.nodes.append({"name": name, "op": "Const"})
        self.weights.append({"name": name, "shape": list(array.shape), "dtype": dtype})
        self.bytes += array.tobytes()
        return name

    def node(self, name: str, op: str, *inputs: str, **attributes: Any) -> str:
        coded = {
            k: {"s": base64.b64encode(v.encode()).decode()} if isinstance(v, str) else v for k, v in attributes.items()
        }
        self.nodes.append({"name": name, "op": op, "input": list(inputs), "attr": coded})
        return name

    def files(self) -> tuple[bytes, bytes]:
        text = {"modelTopology": {"node": self.nodes}, "weightsManifest": [{"weights": self.weights}]}
        return json.dumps(text).encode(), self.bytes

    def converted(self, **gives: tuple[str, Any]) -> bytes:
        return convert(*self.files(), name="small", takes="x", shape=SHAPE, gives=gives)

    def run(self, **gives: tuple[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
        return Session(self.converted(**gives), "small").run({"x": X})


def sides(height: int, width: int) -> dict[str, Any]:
    return {"list": {"i": ["1", str(height), str(width), "1"]}}


def second(value: np.ndarray[Any, Any]) -> Any:
    return torch.from_numpy(np.ascontiguousarray(value.transpose(0, 3, 1, 2)))


def last(value: Any) -> np.ndarray[Any, Any]:
    return np.asarray(value.numpy().transpose(0, 2, 3, 1))


def assert_close(got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5)  # float32 sums of up to 36 products of about 1


@pytest.mark.parametrize(("op", "oracle"), [("AvgPool", F.avg_pool2d), ("MaxPool", F.max_pool2d)])
def test_pools(op: str, oracle: Any) -> None:
    model = Model()
    model.node("y", op, "x", ksize=sides(2, 4), strides=sides(2, 4), padding="VALID")
    assert_close(model.run(y=("y", (1, 3, 2, 4)))["y"], last(oracle(second(X), (2, 4))))


def test_resizing_is_between_centres() -> None:
    model = Model()
    model.node("y", "ResizeBilinear", "x", model.const("size", [12, 12], "int32"))
    expected = F.interpolate(second(X), (12, 12), mode="bilinear", align_corners=False)
    assert_close(model.run(y=("y", (1, 12, 12, 4)))["y"], last(expected))


@pytest.mark.parametrize("kernel", [2, 3])
def test_transposed_convolutions_cut_at_the_end(kernel: int) -> None:
    """SAME with stride 2: twice the size, what is too much cut at the bottom and at the right."""
    model = Model()
    weight = np.random.default_rng(1).standard_normal((kernel, kernel, 5, 4), dtype=np.float32)
    names = (model.const("sizes", [1, 12, 16, 5], "int32"), model.const("w", weight), "x")
    model.node("y", "Conv2DBackpropInput", *names, strides=sides(2, 2), padding="SAME")
    whole = F.conv_transpose2d(second(X), torch.from_numpy(weight.transpose(3, 2, 0, 1).copy()), stride=2)
    assert_close(model.run(y=("y", (1, 12, 16, 5)))["y"], last(whole)[:, :12, :16])


@pytest.mark.parametrize(("size", "stride"), [(3, 1), (3, 2)])
def test_convolutions(size: int, stride: int) -> None:
    """SAME pads at the end first, as TensorFlow does."""
    model = Model()
    rng = np.random.default_rng(2)
    full, each = (rng.standard_normal((size, size, 4, k), dtype=np.float32) for k in (3, 1))
    model.node("y", "Conv2D", "x", model.const("w", full), strides=sides(stride, stride), padding="SAME")
    model.node("z", "DepthwiseConv2dNative", "x", model.const("v", each), strides=sides(stride, stride), padding="SAME")
    out = model.run(y=("y", (1, 6 // stride, 8 // stride, 3)), z=("z", (1, 6 // stride, 8 // stride, 4)))
    before, after = (1, 1) if stride == 1 else (0, 1)
    padded = F.pad(second(X), (before, after, before, after))
    assert_close(out["y"], last(F.conv2d(padded, torch.from_numpy(full.transpose(3, 2, 0, 1).copy()), stride=stride)))
    separate = torch.from_numpy(each.transpose(2, 3, 0, 1).copy())
    assert_close(out["z"], last(F.conv2d(padded, separate, stride=stride, groups=4)))


def test_pieces_are_told_apart_and_put_together() -> None:
    model = Model()
    axis = model.const("axis", 3, "int32")
    model.node("s", "SplitV", "x", model.const("lengths", [1, 3], "int32"), axis)
    model.node("c", "ConcatV2", "s:1", "s", axis)
    model.node("t", "Transpose", "c", model.const("perm", [0, 3, 1, 2], "int32"))
    zeros = [
        model.const(n, v, "int32") for n, v in (("at", np.zeros((0, 1))), ("n", [3]), ("v", np.zeros(0)), ("d", 0))
    ]
    model.node("zero", "SparseToDense", *zeros)
    model.node("shape", "AddV2", "zero", model.const("told", [1, 4, -1], "int32"))
    model.node("y", "Reshape", "t", "shape")
    expected = np.concatenate([X[..., 1:], X[..., :1]], axis=3).transpose(0, 3, 1, 2).reshape(1, 4, 48)
    np.testing.assert_array_equal(model.run(y=("y", (1, 4, 48)))["y"], expected)


def test_what_is_done_number_by_number() -> None:
    model = Model()
    model.node("a", "LeakyRelu", "x", alpha={"f": 0.1})
    model.node("b", "Relu6", model.node("b0", "Mul", "x", model.const("nine", 9.0)))
    model.node("c", "AddN", "a", "b", "x")
    widths = model.const("widths", [[0, 0], [1, 2], [0, 1], [0, 0]], "int32")
    model.node("d", "PadV2", "c", widths, model.const("low", -7.0))
    model.node("y", "Sigmoid", model.node("e", "Identity", "d"))
    total = np.where(X > 0, X, np.float32(0.1) * X) + np.clip(9 * X, 0, 6) + X
    padded = np.pad(total, ((0, 0), (1, 2), (0, 1), (0, 0)), constant_values=-7)
    assert_close(model.run(y=("y", (1, 9, 9, 4)))["y"], 1 / (1 + np.exp(-padded)))


def test_models_that_are_none() -> None:
    model = Model()
    model.node("y", "Cumsum", "x")
    with pytest.raises(FileFormatError, match="must be made of known operations, got Cumsum at y"):
        model.converted(y=("y", SHAPE))
    with pytest.raises(FileFormatError, match="must hold the node z, got 2 others"):
        model.converted(z=("z", SHAPE))
    moving = Model()
    moving.node("y", "Transpose", "x", "x")
    with pytest.raises(FileFormatError, match="x must follow from constants, got Placeholder"):
        moving.converted(y=("y", SHAPE))
    weighed = Model()
    weighed.node("y", "Mul", "x", weighed.const("two", [2.0, 2, 2, 2]))
    text, weights = weighed.files()
    for content, sentence in ((weights[:-1], "cut short at two"), (weights + b"x", "1 bytes of weights too many")):
        with pytest.raises(FileFormatError, match=sentence):
            convert(text, content, name="small", takes="x", shape=SHAPE, gives={"y": ("y", SHAPE)})
    with pytest.raises(FileFormatError, match=r"must be a TensorFlow\.js graph model"):
        convert(b"{", b"", name="small", takes="x", shape=SHAPE, gives={})
