# SPDX-License-Identifier: Apache-2.0
"""A small writer of ONNX graphs: a call adds a node and returns the name of its output.

The file is a function of the weights alone: nodes are numbered as they are added, nothing holds a date or a path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.errors import FileFormatError
from ..._walls.ext import optional

OPSET, IR_VERSION = 17, 8
Weights = Mapping[str, npt.NDArray[Any]]


class Graph:
    """One graph in the making, of float32 tensors where nothing else is said."""

    def __init__(self, name: str, weights: Weights) -> None:
        self._onnx = optional("onnx", "onnx", "models fetch")
        self._name = name
        self._weights = weights
        self._used: set[str] = set()
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def input(self, name: str, shape: Sequence[int | str], dtype: Any = np.float32) -> str:
        """An input; a text stands for a size that is left open."""
        self._inputs.append(self._described(name, shape, dtype))
        return name

    def output(self, value: str, name: str, shape: Sequence[int | str], dtype: Any = np.float32) -> None:
        """Gives a value to the outside."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name], name=name))
        self._outputs.append(self._described(name, shape, dtype))

    def _described(self, name: str, shape: Sequence[int | str], dtype: Any) -> Any:
        kind = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self._onnx.helper.make_tensor_value_info(name, kind, list(shape))

    def weight(self, name: str) -> npt.NDArray[np.float64]:
        """A tensor of the checkpoint, which counts as used."""
        if name not in self._weights:
            raise FileFormatError(
                f"models: the weights of {self._name} must hold {name}, got {len(self._weights)} others"
            )
        self._used.add(name)
        return np.asarray(self._weights[name], dtype=np.float64)

    def unused(self, *without: str) -> list[str]:
        """Weights nobody asked for, but those whose names end in one of ``without``."""
        return sorted(name for name in self._weights if name not in self._used and not name.endswith(without))

    def constant(self, value: npt.ArrayLike, dtype: Any = np.float32) -> str:
        """A constant tensor."""
        name = f"c{len(self._constants)}"
        array = np.ascontiguousarray(value, dtype=dtype)
        self._constants.append(self._onnx.numpy_helper.from_array(array.reshape(np.shape(value)), name))
        return name

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Adds a node with one output."""
        out = f"n{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(op, list(inputs), [out], name=out, **attributes))
        return out

    def nodes(self, op: str, count: int, *inputs: str, **attributes: Any) -> list[str]:
        """Adds a node with several outputs."""
        name = f"n{len(self._nodes)}"
        out = [f"{name}_{k}" for k in range(count)]
        self._nodes.append(self._onnx.helper.make_node(op, list(inputs), out, name=name, **attributes))
        return out

    def convolution(
        self, x: str, weight: npt.NDArray[Any], bias: npt.NDArray[Any] | None = None, **attributes: Any
    ) -> str:
        """A convolution of any dimension, with weights (out, in / groups, ...)."""
        inputs = [x, self.constant(weight)] + ([] if bias is None else [self.constant(bias)])
        return self.node("Conv", *inputs, kernel_shape=list(weight.shape[2:]), **attributes)

    def linear(self, x: str, weight: npt.NDArray[Any], bias: npt.NDArray[Any]) -> str:
        """x W' + b along the last axis, with weights (out, in)."""
        return self.node("Add", self.node("MatMul", x, self.constant(weight.T)), self.constant(bias))

    def batch_norm(self, prefix: str, epsilon: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """What a batch normalisation of the checkpoint does to a value: times the first, plus the second."""
        spread = np.sqrt(self.weight(f"{prefix}.running_var") + epsilon)
        affine = f"{prefix}.weight" in self._weights
        factor = (self.weight(f"{prefix}.weight") if affine else 1.0) / spread
        shift = (self.weight(f"{prefix}.bias") if affine else 0.0) - self.weight(f"{prefix}.running_mean") * factor
        return factor, shift

    def model(self) -> bytes:
        """The file, checked."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, self._name, self._inputs, self._outputs, self._constants)
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="wmb-fast")
        self._onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString(deterministic=True))


def folded(weight: npt.NDArray[np.float64], factor: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Convolution weights with a factor an output channel taken into them."""
    return weight * factor.reshape(-1, *([1] * (weight.ndim - 1)))
