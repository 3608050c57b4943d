# SPDX-License-Identifier: Apache-2.0
"""TransNetV2, the shot-boundary network: dilated 3-D convolutions, and how alike the frames of a window are.

Inputs are one window of 100 frames, (1, 3, 100, 27, 48) from 0 to 1, and the likeness of their colour histograms,
(1, 100, 101): column k of row t is that of frames t and t + k - 50, 0 outside the window. The histograms are counted
outside of the graph, in integers. The output is a logit a frame, (1, 100): above 0 the shot ends at that frame.

Source: Soucek and Lokoc, "TransNet V2", 2020, section 3.
"""

from __future__ import annotations

import numpy as np

from .checkpoint import Tensors
from .graph import Graph, folded

FRAMES, HEIGHT, WIDTH, LOOKUP = 100, 27, 48, 101
_FILTERS, _DILATIONS, _BLOCKS = (16, 32, 64), (1, 2, 4, 8), 2
_BN_EPSILON = 1e-3


def convert(weights: Tensors) -> bytes:
    """The graph of a checkpoint."""
    g = Graph("transnetv2", weights)
    x = g.input("frames", (1, 3, FRAMES, HEIGHT, WIDTH))
    histogram_likeness = g.input("histogram_likeness", (1, FRAMES, LOOKUP))
    means = []
    for stack in range(len(_FILTERS)):
        x = _stack(g, x, f"SDDCNN.{stack}")
        means.append(g.node("ReduceMean", x, axes=[3, 4], keepdims=0))
    features = g.node("Transpose", g.node("Concat", *means, axis=1), perm=[0, 2, 1])
    pixels = g.node("Transpose", x, perm=[0, 2, 3, 4, 1])
    pixels = g.node("Reshape", pixels, g.constant([1, FRAMES, -1], np.int64))
    frames_alike = _dense(g, _likeness(g, features), "frame_sim_layer.fc")
    colours_alike = _dense(g, histogram_likeness, "color_hist_layer.fc")
    joined = g.node("Concat", colours_alike, frames_alike, pixels, axis=2)
    hidden = _dense(g, joined, "fc1")
    logits = g.linear(hidden, g.weight("cls_layer1.weight"), g.weight("cls_layer1.bias"))
    g.output(g.node("Reshape", logits, g.constant([1, FRAMES], np.int64)), "logits", (1, FRAMES))
    return g.model()


def _dense(g: Graph, x: str, name: str) -> str:
    return g.node("Relu", g.linear(x, g.weight(f"{name}.weight"), g.weight(f"{name}.bias")))


def _stack(g: Graph, x: str, prefix: str) -> str:
    """Two dilated blocks, the first of which is added to the second; halves height and width."""
    first = None
    for block in range(_BLOCKS):
        x = _dilated(g, x, f"{prefix}.DDCNN.{block}")
        if block + 1 < _BLOCKS:
            x = g.node("Relu", x)
        first = x if first is None else first
    total = g.node("Add", g.node("Relu", x), str(first))
    return g.node("AveragePool", total, kernel_shape=[1, 2, 2], strides=[1, 2, 2])


def _dilated(g: Graph, x: str, prefix: str) -> str:
    """Convolutions in space, then in time at four distances, side by side; their normalisation is folded in."""
    factor, shift = g.batch_norm(f"{prefix}.bn", _BN_EPSILON)
    parts = []
    for k, dilation in enumerate(_DILATIONS):
        layers = f"{prefix}.Conv3D_{dilation}.layers"
        space = g.convolution(x, g.weight(f"{layers}.0.weight"), pads=[0, 1, 1, 0, 1, 1])
        time = g.weight(f"{layers}.1.weight")
        own = slice(k * len(time), (k + 1) * len(time))
        pads = [dilation, 0, 0, dilation, 0, 0]
        parts.append(g.convolution(space, folded(time, factor[own]), shift[own], dilations=[dilation, 1, 1], pads=pads))
    return g.node("Concat", *parts, axis=1)


def _likeness(g: Graph, features: str) -> str:
    """Cosines of each frame with those up to 50 before and after it."""
    x = g.linear(features, g.weight("frame_sim_layer.projection.weight"), g.weight("frame_sim_layer.projection.bias"))
    length = g.node("Max", g.node("ReduceL2", x, axes=[2], keepdims=1), g.constant(1e-12))
    x = g.node("Div", x, length)
    cosines = g.node("MatMul", x, g.node("Transpose", x, perm=[0, 2, 1]))
    reach = LOOKUP // 2
    padded = g.node("Pad", cosines, g.constant([0, 0, reach, 0, 0, reach], np.int64))
    place = np.arange(FRAMES)[:, None] + np.arange(LOOKUP)
    return g.node("GatherElements", padded, g.constant(place[None], np.int64), axis=2)
