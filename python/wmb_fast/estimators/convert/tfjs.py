# SPDX-License-Identifier: Apache-2.0
"""Graphs of TensorFlow.js to ONNX: the operations that a few small networks are made of.

A model is a JSON file with the nodes, and a file of weights, end to end in the order of its manifest, some as float16.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..._walls.errors import FileFormatError
from .checkpoint import Tensors
from .graph import Graph
from .tfjs_ops import Operations, Weight

_STORED: dict[str, np.dtype[Any]] = {
    "float16": np.dtype("<f2"),
    "float32": np.dtype("<f4"),
    "int32": np.dtype("<i4"),
}
Shape = Sequence[int | str]


def convert(
    model: bytes, weights: bytes, *, name: str, takes: str, shape: Sequence[int], gives: Mapping[str, tuple[str, Shape]]
) -> bytes:
    """The part of a model that leads to some of its values.

    Args:
        model: The JSON file.
        weights: The file of weights.
        name: Of the graph.
        takes: What the input is called.
        shape: Of the input, in TensorFlow's layout.
        gives: What each output is called: the node whose value it is, and its shape, in TensorFlow's layout.

    Raises:
        FileFormatError: Not such a model, weights cut short, or an operation that is not among the known ones.
    """
    try:
        description = json.loads(model)
        nodes = {node["name"]: node for node in description["modelTopology"]["node"]}
        tensors = _tensors(description["weightsManifest"], weights)
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"models: {name} must be a TensorFlow.js graph model, got {error}") from error
    walk = _Walk(Graph(name, tensors), nodes, tensors, takes, tuple(shape))
    for called, (node, size) in gives.items():
        walk.graph.output(walk.value(node), called, size)
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

    def __init__(
        self, graph: Graph, nodes: dict[str, Any], tensors: Tensors, takes: str, shape: tuple[int, ...]
    ) -> None:
        self.graph, self._nodes, self._tensors, self._takes, self._shape = graph, nodes, tensors, takes, shape
        self._operations = Operations(graph, self._constant, shape[0])
        self._done: dict[str, list[str]] = {}

    def value(self, name: str) -> str:
        """The name in the new graph of a node's value, or of one of its values: ``node:1``."""
        # Without recursion: the chain is as long as the network is deep.
        waiting = [_node(name)]
        while waiting:
            node = self._at(waiting[-1])
            needed = map(_node, self._operations.values_of(node))
            missing = [i for i in needed if i not in self._done]
            if missing:
                waiting.extend(missing)
                continue
            if waiting[-1] not in self._done:
                self._done[waiting[-1]] = self._add(node)
            waiting.pop()
        return self._done_value(name)

    def _done_value(self, name: str) -> str:
        _, _, which = name.partition(":")
        return self._done[_node(name)][int(which or 0)]

    def _at(self, name: str) -> Any:
        node = self._nodes.get(name)
        if node is None:
            raise FileFormatError(f"models: the graph must hold the node {name}, got {len(self._nodes)} others")
        return node

    def _add(self, node: Any) -> list[str]:
        op, name = node["op"], node["name"]
        if op == "Const":
            return [self.graph.constant(self._tensors[name])]
        if op == "Placeholder":
            return [self.graph.input(self._takes, self._shape)]
        made = self._operations.add(node, [self._done_value(i) for i in self._operations.values_of(node)])
        if made is None:
            raise FileFormatError(f"models: the graph must be made of known operations, got {op} at {name}")
        return made

    def _constant(self, name: str) -> Weight:
        """What an input is that says how: a constant, or what comes of constants alone."""
        node = self._at(_node(name))
        if node["op"] == "Const":
            return np.asarray(self._tensors[node["name"]])
        inputs = [self._constant(i) for i in node.get("input", ())]
        if node["op"] in ("Add", "AddV2"):
            return np.asarray(inputs[0] + inputs[1])
        if node["op"] == "SparseToDense" and not len(inputs[0]):  # no places: all is the default
            return np.full(inputs[1], inputs[3])
        raise FileFormatError(f"models: {node['name']} must follow from constants, got {node['op']}")


def _node(name: str) -> str:
    return name.split(":", 1)[0]


def mobileface(model: bytes, weights: bytes) -> bytes:
    """MobileFace, version 3: four aligned faces of 112x112, RGB from 0 to 255, to 256 numbers each."""
    gives = {"embedding": ("batchnorm0/add_1", (4, "embedding_1"))}
    return convert(model, weights, name="mobileface", takes="faces", shape=(4, 112, 112, 3), gives=gives)


def faceres(model: bytes, weights: bytes) -> bytes:
    """FaceRes: four loose crops of 224x224, RGB from 0 to 255, to maps of 7x7 places with 1,024 numbers each."""
    gives = {"map": ("conv_pw_13_relu/clip_by_value", (4, "map_1", "map_2", "map_3"))}
    return convert(model, weights, name="faceres", takes="faces", shape=(4, 224, 224, 3), gives=gives)


def selfie(model: bytes, weights: bytes) -> bytes:
    """MediaPipe's selfie segmentation: a picture of 256x256, RGB from 0 to 1, to how surely pixels are a person's."""
    gives = {"person": ("activation_10", (1, 256, 256, 1))}
    return convert(model, weights, name="selfie", takes="pictures", shape=(1, 256, 256, 3), gives=gives)


def nanodet(model: bytes, weights: bytes) -> bytes:
    """NanoDet: a picture of 416x416 to 80 classes and 4 distances, in 11 steps each, at places 8, 16 and 32 apart."""
    places = {8: 52 * 52, 16: 26 * 26, 32: 13 * 13}
    gives: dict[str, tuple[str, Shape]] = {}
    for k, (step, count) in enumerate(places.items()):
        gives[f"classes_{step}"] = ("Identity" if k == 0 else f"Identity_{k}", (1, count, 80))
        gives[f"distances_{step}"] = (f"Identity_{k + 3}", (1, count, 44))
    return convert(model, weights, name="nanodet", takes="pictures", shape=(1, 3, 416, 416), gives=gives)
