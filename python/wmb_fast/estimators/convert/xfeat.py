# SPDX-License-Identifier: Apache-2.0
"""XFeat, a small network of local features.

The input is a grey picture of sides divisible by 32, (1, 1, H, W), of mean 0 and variance 1 (normalised outside of the
graph). Outputs at an eighth of its size: `features` (1, 64, h, w), not normalised; `keypoints` (1, 65, h, w), logits of
the 64 pixels of a cell and of none of them; `reliability` (1, 1, h, w), from 0 to 1.

Source: Potje et al., "XFeat: Accelerated Features for Lightweight Image Matching", CVPR 2024, figure 3.
"""

from __future__ import annotations

import numpy as np

from .checkpoint import Tensors
from .graph import Graph, folded

_BN_EPSILON = 1e-5
_STRIDES = {"block1": (1, 2, 1, 2), "block2": (1, 1), "block3": (2, 1, 1), "block4": (2, 1, 1), "block5": (2, 1, 1, 1)}


def convert(weights: Tensors) -> bytes:
    """The graph of a checkpoint. The fine matcher of its semi-dense mode is left out."""
    g = Graph("xfeat", weights)
    x = g.input("grey", (1, 1, "height", "width"))
    skip = g.node("AveragePool", x, kernel_shape=[4, 4], strides=[4, 4])
    skip = g.convolution(skip, g.weight("skip1.1.weight"), g.weight("skip1.1.bias"))
    second = _block(g, g.node("Add", _block(g, x, "block1"), skip), "block2")
    third = _block(g, second, "block3")
    fourth = _block(g, third, "block4")
    fifth = _block(g, fourth, "block5")
    size = g.node("Shape", third)
    total = third
    for smaller in (fourth, fifth):
        total = g.node("Add", total, _enlarged(g, smaller, size))
    fused = _layer(g, _layer(g, total, "block_fusion.0"), "block_fusion.1")
    features = g.convolution(fused, g.weight("block_fusion.2.weight"), g.weight("block_fusion.2.bias"))
    g.output(features, "features", (1, 64, "h", "w"))
    cells = g.node("SpaceToDepth", x, blocksize=8)
    g.output(_head(g, cells, "keypoint_head", 3), "keypoints", (1, 65, "h", "w"))
    g.output(g.node("Sigmoid", _head(g, features, "heatmap_head", 2)), "reliability", (1, 1, "h", "w"))
    return g.model()


def _layer(g: Graph, x: str, prefix: str, stride: int = 1) -> str:
    """A convolution, its normalisation folded in, and a rectifier."""
    factor, shift = g.batch_norm(f"{prefix}.layer.1", _BN_EPSILON)
    weight = folded(g.weight(f"{prefix}.layer.0.weight"), factor)
    pad = weight.shape[-1] // 2
    return g.node("Relu", g.convolution(x, weight, shift, strides=[stride, stride], pads=[pad] * 4))


def _block(g: Graph, x: str, name: str) -> str:
    for i, stride in enumerate(_STRIDES[name]):
        x = _layer(g, x, f"{name}.{i}", stride)
    return x


def _head(g: Graph, x: str, name: str, layers: int) -> str:
    for i in range(layers):
        x = _layer(g, x, f"{name}.{i}")
    return g.convolution(x, g.weight(f"{name}.{layers}.weight"), g.weight(f"{name}.{layers}.bias"))


def _enlarged(g: Graph, x: str, size_of: str) -> str:
    """Bilinear, to the height and width of another value; both have 64 channels."""
    none = g.constant(np.zeros(0))
    return g.node("Resize", x, none, none, size_of, mode="linear", coordinate_transformation_mode="pytorch_half_pixel")
