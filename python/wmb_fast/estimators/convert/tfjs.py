# SPDX-License-Identifier: Apache-2.0
"""Graphs of TensorFlow.js to ONNX: the dozen operations that the small face networks are made of.

A model is a JSON file with the nodes, and a file of weights, end to end in the order of its manifest, some as float16.
TensorFlow keeps channels last; ONNX convolutions want them second. Values keep TensorFlow's layout and each convolution
is set between two transpositions, which the runtime cancels out against its neighbours.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._walls.errors import FileFormatError
from .checkpoint import Tensors
from .graph import Graph

_STORED: dict[str, np.dtype[Any]] = {
    "float16": np.dtype("<f2"),
    "float32": np.dtype("<f4"),
    "int32": np.dtype("<i4"),
}
_LAST, _SECOND = [0, 2, 3, 1], [0, 3, 1, 2]  # permutations that put the channels there
_SAME_NAME = {"AddV2": "Add", "Add": "Add", "Sub": "Sub", "Mul": "Mul", "Maximum": "Max", "Minimum": "Min"}


def convert(model: bytes, weights: bytes, *, name: str, shape: Sequence[int], output: str, gives: str) -> bytes:
    """The part of a model that leads to one of its values.

    Args:
        model: The JSON file.
        weights: The file of weights.
        name: Of the graph.
        shape: Of the input, which is called ``faces``: (batch, height, width, 3).
        output: The node whose value is given out, in TensorFlow's layout.
        gives: What the output is called.

    Raises:
        FileFormatError: Not such a model, weights cut short, or an operation that is none of the dozen.
    """
    try:
        description = json.loads(model)
        nodes = {node["name"]: node for node in description["modelTopology"]["node"]}
        tensors = _tensors(description["weightsManifest"], weights)
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"models: {name} must be a TensorFlow.js graph model, got {error}") from error
    walk = _Walk(Graph(name, tensors), nodes, tensors, tuple(shape))
    value = walk.value(output)
    walk.graph.output(value, gives, [shape[0], *([f"{gives}_{i}" for i in range(1, walk.rank(output))])])
    return walk.graph.model()


def _tensors(manifest: Sequence[Any], content: bytes) -> Tensors:
    tensors: Tensors = {}
    at = 0
    for entry in (entry for group in manifest for entry in group["weights"]):
        dtype = _STORED[entry.get("quantization", {}).get("dtype", entry["dtype"])]
        count = int(np.prod(entry["shape"], dtype=np.int64))
        if at + count * dtype.itemsize > len(content):
            raise ValueError(f"weights cut short at {entry['name']}")
        stored = np.frombuffer(content, dtype, count, at).reshape(entry["shape"])
        tensors[entry["name"]] = stored.astype(_STORED[entry["dtype"]])
        at += count * dtype.itemsize
    if at != len(content):
        raise ValueError(f"{len(content) - at} bytes of weights too many")
    return tensors


class _Walk:
    """Goes from an output back to the input, and adds each node once, after what it needs."""

    def __init__(self, graph: Graph, nodes: dict[str, Any], tensors: Tensors, shape: tuple[int, ...]) -> None:
        self.graph, self._nodes, self._tensors, self._shape = graph, nodes, tensors, shape
        self._done: dict[str, str] = {}
        self._flat: set[str] = set()

    def value(self, name: str) -> str:
        """The name in the new graph of a node's value."""
        # Without recursion: the chain is as long as the network is deep.
        waiting = [name]
        while waiting:
            node = self._nodes.get(waiting[-1])
            if node is None:
                raise FileFormatError(
                    f"models: the graph must hold the node {waiting[-1]}, got {len(self._nodes)} others"
                )
            missing = [i for i in self._inputs(node) if i not in self._done]
            if missing:
                waiting.extend(missing)
                continue
            self._done.setdefault(waiting[-1], self._add(node))
            waiting.pop()
        return self._done[name]

    def rank(self, name: str) -> int:
        """How many axes a value has: 4, or 2 once it was flattened."""
        return 2 if name in self._flat else 4

    def _inputs(self, node: Any) -> list[str]:
        """The inputs that are values; those that only say how are read where they are needed."""
        named = [i.split(":", 1)[0] for i in node.get("input", ()) if not i.startswith("^")]
        keep = 1 if node["op"] in ("Pad", "Reshape", "Conv2D", "DepthwiseConv2dNative", "MatMul") else len(named)
        return named[:keep]

    def _add(self, node: Any) -> str:
        op, name = node["op"], node["name"]
        self._flat.update({name} if op in ("Reshape", "MatMul") or self._flat & set(self._inputs(node)) else ())
        if op == "Const":
            return self.graph.constant(self._tensors[name])
        if op == "Placeholder":
            return self.graph.input("faces", self._shape)
        values = [self._done[i] for i in self._inputs(node)]
        if op in _SAME_NAME:
            return self.graph.node(_SAME_NAME[op], *values)
        adders: dict[str, Callable[[Any, str], str]] = {
            "Relu": lambda node, x: self.graph.node("Relu", x),
            "Pad": self._pad,
            "Reshape": self._flatten,
            "MatMul": lambda node, x: self.graph.node("MatMul", x, self.graph.constant(self._second(node))),
            "Conv2D": lambda node, x: self._convolution(node, x, self._second(node).transpose(3, 2, 0, 1), 1),
            "DepthwiseConv2dNative": self._depthwise,
        }
        if op not in adders:
            raise FileFormatError(f"models: the graph must be made of known operations, got {op} at {name}")
        return adders[op](node, values[0])

    def _second(self, node: Any) -> np.ndarray[Any, Any]:
        return np.asarray(self._tensors[node["input"][1].split(":", 1)[0]])

    def _pad(self, node: Any, x: str) -> str:
        widths = self._second(node)
        return self.graph.node("Pad", x, self.graph.constant(widths.T.reshape(-1), np.int64))

    def _flatten(self, node: Any, x: str) -> str:
        return self.graph.node("Reshape", x, self.graph.constant([self._shape[0], *self._second(node)[1:]], np.int64))

    def _depthwise(self, node: Any, x: str) -> str:
        kernel = self._second(node)  # (height, width, channels, 1)
        return self._convolution(node, x, kernel.transpose(2, 3, 0, 1), kernel.shape[2])

    def _convolution(self, node: Any, x: str, weight: np.ndarray[Any, Any], groups: int) -> str:
        attributes = node["attr"]
        strides = [int(i) for i in attributes["strides"]["list"]["i"]][1:3]
        padding = _text(attributes["padding"]["s"])
        how = {"auto_pad": "SAME_UPPER"} if padding == "SAME" else {"pads": [0, 0, 0, 0]}
        inside = self.graph.node("Transpose", x, perm=_SECOND)
        inside = self.graph.convolution(inside, weight, strides=strides, group=groups, **how)
        return self.graph.node("Transpose", inside, perm=_LAST)


def _text(encoded: str) -> str:
    """A text attribute, which the JSON holds in base64."""
    return base64.b64decode(encoded).decode()


def mobileface(model: bytes, weights: bytes) -> bytes:
    """MobileFace, version 3: four aligned faces of 112x112, RGB from 0 to 255, to 256 numbers each."""
    shape = (4, 112, 112, 3)
    return convert(model, weights, name="mobileface", shape=shape, output="batchnorm0/add_1", gives="embedding")


def faceres(model: bytes, weights: bytes) -> bytes:
    """FaceRes: four loose crops of 224x224, RGB from 0 to 255, to maps of 7x7 places with 1,024 numbers each."""
    shape = (4, 224, 224, 3)
    return convert(model, weights, name="faceres", shape=shape, output="conv_pw_13_relu/clip_by_value", gives="map")
