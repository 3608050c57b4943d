# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's operations as ONNX ones, for :mod:`.tfjs`.

TensorFlow keeps channels last; ONNX convolutions want them second. Values keep TensorFlow's layout and each operation
on places is set between two transpositions, which the runtime cancels out against its neighbours.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .graph import Graph

_LAST, _SECOND = [0, 2, 3, 1], [0, 3, 1, 2]  # permutations that put the channels there
_SAME = {
    "AddV2": "Add",
    "Add": "Add",
    "AddN": "Sum",
    "Sub": "Sub",
    "Mul": "Mul",
    "Maximum": "Max",
    "Minimum": "Min",
    "Relu": "Relu",
    "Sigmoid": "Sigmoid",
    "Identity": "Identity",
}
# Of these the first input alone is a value; the others say how, and are read where they are needed.
_ONE = ("Pad", "PadV2", "Reshape", "Conv2D", "DepthwiseConv2dNative", "MatMul", "Transpose", "ResizeBilinear", "SplitV")
Values = list[str]
Weight = np.ndarray[Any, Any]


class Operations:
    """Adds nodes to a graph.

    Args:
        graph: Where they go.
        constant: Gives the number that an input of a node is known to be.
        batch: Pictures a run.
    """

    def __init__(self, graph: Graph, constant: Callable[[str], Weight], batch: int) -> None:
        self._graph, self._constant, self._batch = graph, constant, batch
        self._makes: dict[str, Callable[[Any, Values], str | Values]] = {
            "Relu6": lambda node, x: graph.node("Clip", *x, graph.constant(0.0), graph.constant(6.0)),
            "LeakyRelu": lambda node, x: graph.node("LeakyRelu", *x, alpha=float(node["attr"]["alpha"]["f"])),
            "ConcatV2": lambda node, x: graph.node("Concat", *x, axis=int(self._last(node))),
            "Transpose": lambda node, x: graph.node("Transpose", *x, perm=self._second(node).tolist()),
            "MatMul": lambda node, x: graph.node("MatMul", *x, graph.constant(self._second(node))),
            "Conv2D": self._conv,
            "DepthwiseConv2dNative": self._depthwise,
            "Conv2DBackpropInput": self._transposed,
            "AvgPool": self._pooled,
            "MaxPool": self._pooled,
            "ResizeBilinear": self._resized,
            "Reshape": self._reshaped,
            "SplitV": self._split,
            "Pad": self._padded,
            "PadV2": self._padded,
        }

    def values_of(self, node: Any) -> list[str]:
        """Which inputs of a node are values."""
        op, named = node["op"], [i for i in node.get("input", ()) if not i.startswith("^")]
        if op == "ConcatV2":
            return named[:-1]
        if op == "Conv2DBackpropInput":
            return named[2:]
        return named[:1] if op in _ONE else named

    def add(self, node: Any, values: Values) -> Values | None:
        """The outputs of a node; ``None`` where it is of no known kind."""
        if node["op"] in _SAME:
            return [self._graph.node(_SAME[node["op"]], *values)]
        if node["op"] not in self._makes:
            return None
        made = self._makes[node["op"]](node, values)
        return [made] if isinstance(made, str) else made

    def _second(self, node: Any) -> Weight:
        return self._constant(node["input"][1])

    def _last(self, node: Any) -> Weight:
        return self._constant(node["input"][-1])

    def _padded(self, node: Any, x: Values) -> str:
        widths = [self._graph.constant(self._second(node).T.reshape(-1), np.int64)]
        with_ = [self._graph.constant(self._last(node))] if node["op"] == "PadV2" else []
        return self._graph.node("Pad", *x, *widths, *with_)

    def _reshaped(self, node: Any, x: Values) -> str:
        shape = [self._batch, *self._second(node)[1:]]
        return self._graph.node("Reshape", *x, self._graph.constant(shape, np.int64))

    def _split(self, node: Any, x: Values) -> Values:
        sizes = self._graph.constant(self._second(node), np.int64)
        return self._graph.nodes("Split", len(self._second(node)), *x, sizes, axis=int(self._last(node)))

    def _conv(self, node: Any, x: Values) -> str:
        return self._convolution(node, x, self._second(node).transpose(3, 2, 0, 1), 1)

    def _depthwise(self, node: Any, x: Values) -> str:
        kernel = self._second(node)  # (height, width, channels, 1)
        return self._convolution(node, x, kernel.transpose(2, 3, 0, 1), kernel.shape[2])

    def _convolution(self, node: Any, x: Values, weight: Weight, groups: int) -> str:
        inside = self._graph.node("Transpose", *x, perm=_SECOND)
        how = {"strides": _sides(node, "strides"), "group": groups, **_padding(node)}
        return self._graph.node("Transpose", self._graph.convolution(inside, weight, **how), perm=_LAST)

    def _transposed(self, node: Any, x: Values) -> str:
        """A convolution's transpose, which enlarges."""
        weight = self._second(node).transpose(3, 2, 0, 1)  # from (height, width, out, in)
        inside = [self._graph.node("Transpose", *x, perm=_SECOND), self._graph.constant(weight)]
        how = {"strides": _sides(node, "strides"), "kernel_shape": list(weight.shape[2:]), **_padding(node)}
        return self._graph.node("Transpose", self._graph.node("ConvTranspose", *inside, **how), perm=_LAST)

    def _pooled(self, node: Any, x: Values) -> str:
        inside = self._graph.node("Transpose", *x, perm=_SECOND)
        how = {"strides": _sides(node, "strides"), "kernel_shape": _sides(node, "ksize"), **_padding(node)}
        op = {"AvgPool": "AveragePool", "MaxPool": "MaxPool"}[node["op"]]
        return self._graph.node("Transpose", self._graph.node(op, inside, **how), perm=_LAST)

    def _resized(self, node: Any, x: Values) -> str:
        """Between the centres of pixels."""
        inside = self._graph.node("Transpose", *x, perm=_SECOND)
        size = self._second(node).tolist()
        channels = self._graph.node("Slice", self._graph.node("Shape", inside), *self._whole([0], [2]))
        shape = self._graph.node("Concat", channels, self._graph.constant(size, np.int64), axis=0)
        large = self._graph.node(
            "Resize", inside, "", "", shape, mode="linear", coordinate_transformation_mode="half_pixel"
        )
        return self._graph.node("Transpose", large, perm=_LAST)

    def _whole(self, *values: Sequence[int]) -> Values:
        return [self._graph.constant(value, np.int64) for value in values]


def _sides(node: Any, name: str) -> list[int]:
    """Height and width of an attribute in TensorFlow's layout."""
    return [int(i) for i in node["attr"][name]["list"]["i"]][1:3]


def _padding(node: Any) -> Mapping[str, Any]:
    # A text attribute, which the JSON holds in base64.
    same = base64.b64decode(node["attr"]["padding"]["s"]).decode() == "SAME"
    return {"auto_pad": "SAME_UPPER"} if same else {"pads": [0, 0, 0, 0]}
