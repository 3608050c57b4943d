# SPDX-License-Identifier: Apache-2.0
"""Small graphs with exactly the inputs and outputs of the official networks, and answers that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")
from wmb_fast.estimators.faces_scrfd import OUTPUTS  # noqa: E402 - after the skips

_helper, _numpy, _types = onnx.helper, onnx.numpy_helper, onnx.TensorProto

POINTS = [-1.0, -1, 1, -1, 0, 0, -0.5, 1, 0.5, 1]  # x, y of the five, in cells from the anchor
FOCAL, SHIFT, SCALE = 1.3, 0.7, 2.5  # of the small MoGe: in half diagonals, of z, metres a unit


class _Nodes:
    """Nodes and constants in the making."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def put(self, op: str, *inputs: Any, **attributes: Any) -> str:
        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        self.nodes.append(_helper.make_node(op, names, [f"n{len(self.nodes)}"], **attributes))
        return str(self.nodes[-1].output[0])

    def constant(self, value: Any) -> str:
        array = np.asarray(value)
        array = array.astype(np.float32) if array.dtype.kind == "f" else array.astype(np.int64)
        self.constants.append(_numpy.from_array(array, f"c{len(self.constants)}"))
        return str(self.constants[-1].name)

    def give(self, value: str, name: str) -> None:
        self.nodes.append(_helper.make_node("Identity", [value], [name]))

    def model(self, inputs: dict[str, Any], outputs: dict[str, Any], whole: tuple[str, ...] = ()) -> bytes:
        def told(named: dict[str, Any]) -> list[Any]:
            kind = {name: _types.INT64 if name in whole else _types.FLOAT for name in named}
            return [_helper.make_tensor_value_info(name, kind[name], shape) for name, shape in named.items()]

        graph = _helper.make_graph(self.nodes, "small", told(inputs), told(outputs), self.constants)
        opset = [_helper.make_opsetid("", 17)]
        made: bytes = _helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()
        return made


def arcface(rows: int = 512, side: int = 112, declared: int | None = None) -> bytes:
    """Faces to seeded projections of what they look like at 14x14."""
    net = _Nodes()
    pooled = net.put("AveragePool", "input.1", kernel_shape=[side // 14] * 2, strides=[side // 14] * 2)
    flat = net.put("Flatten", pooled)
    matrix = np.random.default_rng(0).standard_normal((3 * 14 * 14, rows)).astype(np.float32)
    net.give(net.put("MatMul", flat, matrix), "683")
    return net.model({"input.1": ["None", 3, side, side]}, {"683": ["None", rows if declared is None else declared]})


def scrfd(side: int | str = "?") -> bytes:
    """A face wherever a cell is red: its box two cells to each side, its points at and about the centre, in cells."""
    net = _Nodes()
    red = net.put("Gather", "input.1", [0], axis=1)
    outputs = {}
    for grid, names in OUTPUTS.items():
        count = (640 // grid) ** 2
        cells = net.put("Reshape", net.put("AveragePool", red, kernel_shape=[grid] * 2, strides=[grid] * 2), [count, 1])
        with_none = net.put("Concat", cells, np.zeros((count, 1), np.float32), axis=1)  # the second anchor
        net.give(net.put("Reshape", with_none, [2 * count, 1]), names[0])
        for name, row in ((names[1], [2.0] * 4), (names[2], POINTS)):
            net.give(net.constant(np.tile(np.float32(row), (2 * count, 1))), name)
        outputs |= {name: [2 * count, size] for name, size in zip(names, (1, 4, 10), strict=True)}
    return net.model({"input.1": [1, 3, side, side]}, outputs)


def moge(dimensions: int = 3, scale: float = SCALE, whole: tuple[str, ...] = ("num_tokens",)) -> bytes:
    """A pinhole camera whose depth is 1 + red, in units, where blue is above a half; z is given without the shift."""
    net = _Nodes()
    height, width = (net.put("Gather", net.put("Shape", "image"), [axis]) for axis in (2, 3))
    high, wide = (net.put("Cast", side, to=_types.FLOAT) for side in (height, width))
    squares = net.put("Add", net.put("Mul", high, high), net.put("Mul", wide, wide))
    half = net.put("Mul", net.put("Sqrt", squares), [0.5])
    planes = []
    for side, real, shape in ((width, wide, [1, 1, -1]), (height, high, [1, -1, 1])):
        scalar = net.put("Squeeze", side, [0])
        steps = net.put("Cast", net.put("Range", np.array(0), scalar, np.array(1)), to=_types.FLOAT)
        middle = net.put("Mul", net.put("Sub", real, [1.0]), [0.5])
        planes.append(net.put("Reshape", net.put("Div", net.put("Sub", steps, middle), half), shape))
    red, _, blue = (net.put("Squeeze", net.put("Gather", "image", [k], axis=1), [1]) for k in range(3))
    z = net.put("Add", red, [1.0])
    x, y = (net.put("Div", net.put("Mul", z, plane), [FOCAL]) for plane in planes)
    given = [net.put("Unsqueeze", value, [3]) for value in (x, y, net.put("Sub", z, [SHIFT]))][:dimensions]
    net.give(net.put("Concat", *given, axis=3), "points")
    net.give(blue, "mask")
    tokens = net.put("Cast", "num_tokens", to=_types.FLOAT)
    metres = net.put("Add", net.put("Mul", tokens, 0.0), [scale])
    net.give(metres, "metric_scale")
    return net.model(
        {"image": ["batch", 3, "height", "width"], "num_tokens": []},
        {"points": ["b", "h", "w", dimensions], "mask": ["b", "h", "w"], "metric_scale": ["b"]},
        whole,
    )
