# SPDX-License-Identifier: Apache-2.0
"""The three networks of MTCNN: convolutions, pooling that rounds up, and rectifiers with a slope a channel.

``first`` takes pictures of any size, (1, 3, H, W), and answers for every place; ``second`` and ``third`` take batches
of 64 crops of 24x24 and 48x48. Outputs: ``likely`` (two numbers, the second that of a face), ``moves`` (four shares of
the box's sides), and of the third ``points`` (five x, then five y, as shares).

Source: Zhang et al., IEEE SPL 23(10), 2016, figure 2.
"""

from __future__ import annotations

import numpy as np

from .checkpoint import Tensors
from .graph import Graph

BATCH = 64


def convert_first(weights: Tensors) -> bytes:
    """P-net."""
    g = Graph("mtcnn-first", weights)
    x = _layer(g, g.input("pictures", (1, 3, "height", "width")), 1, pool=2)
    x = _layer(g, _layer(g, x, 2), 3)
    likely = g.convolution(x, g.weight("conv4_1.weight"), g.weight("conv4_1.bias"))
    moves = g.convolution(x, g.weight("conv4_2.weight"), g.weight("conv4_2.bias"))
    g.output(g.node("Softmax", likely, axis=1), "likely", (1, 2, "h", "w"))
    g.output(moves, "moves", (1, 4, "h", "w"))
    return g.model()


def convert_second(weights: Tensors) -> bytes:
    """R-net."""
    g = Graph("mtcnn-second", weights)
    x = _layer(g, g.input("crops", (BATCH, 3, 24, 24)), 1, pool=3)
    x = _layer(g, _layer(g, x, 2, pool=3), 3)
    return _answered(g, x, 4, 5, ("likely", "moves"))


def convert_third(weights: Tensors) -> bytes:
    """O-net."""
    g = Graph("mtcnn-third", weights)
    x = _layer(g, g.input("crops", (BATCH, 3, 48, 48)), 1, pool=3)
    x = _layer(g, _layer(g, _layer(g, x, 2, pool=3), 3, pool=2), 4)
    return _answered(g, x, 5, 6, ("likely", "moves", "points"))


def _layer(g: Graph, x: str, number: int, pool: int = 0) -> str:
    x = g.convolution(x, g.weight(f"conv{number}.weight"), g.weight(f"conv{number}.bias"))
    x = g.node("PRelu", x, g.constant(g.weight(f"prelu{number}.weight").reshape(-1, 1, 1)))
    return g.node("MaxPool", x, kernel_shape=[pool, pool], strides=[2, 2], ceil_mode=1) if pool else x


def _answered(g: Graph, x: str, hidden: int, last: int, names: tuple[str, ...]) -> bytes:
    """One dense layer, and one for each answer. The flattened order is that of the first port: width before height."""
    flat = g.node("Transpose", x, perm=[0, 3, 2, 1])
    flat = g.node("Reshape", flat, g.constant([BATCH, -1], np.int64))
    dense = g.linear(flat, g.weight(f"dense{hidden}.weight"), g.weight(f"dense{hidden}.bias"))
    dense = g.node("PRelu", dense, g.constant(g.weight(f"prelu{hidden}.weight")))
    for k, name in enumerate(names, start=1):
        weight, bias = g.weight(f"dense{last}_{k}.weight"), g.weight(f"dense{last}_{k}.bias")
        answer = g.linear(dense, weight, bias)
        g.output(g.node("Softmax", answer, axis=1) if name == "likely" else answer, name, (BATCH, len(weight)))
    return g.model()
