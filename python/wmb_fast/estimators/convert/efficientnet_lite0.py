# SPDX-License-Identifier: Apache-2.0
"""EfficientNet-Lite0, up to the map before its pooling: (1, 3, 224, 224) from -1 to 1 in, (1, 1280, 7, 7) out.

The mean over the 49 places is taken outside of the graph, in a fixed order.

Source: Tan and Le, "EfficientNet", ICML 2019, table 1, as the Lite variant has it: no squeeze-and-excitation,
rectifiers that stop at 6, a stem and a head that do not scale.
"""

from __future__ import annotations

from .checkpoint import Tensors
from .graph import Graph, folded

SIDE, CHANNELS, PLACES = 224, 1280, 7
_BN_EPSILON = 1e-3
# (repeats, kernel, stride of the first) of the seven stages.
_STAGES = ((1, 3, 1), (2, 3, 2), (2, 5, 2), (3, 3, 2), (3, 5, 1), (4, 5, 2), (1, 3, 1))


def convert(weights: Tensors) -> bytes:
    """The graph of a checkpoint, without its classifier."""
    g = Graph("efficientnet-lite0", weights)
    x = _layer(g, g.input("pictures", (1, 3, SIDE, SIDE)), "_conv_stem", "_bn0", stride=2, side=SIDE)
    side, index = SIDE // 2, 0
    for repeats, _kernel, stride in _STAGES:
        for repeat in range(repeats):
            step = stride if repeat == 0 else 1
            x = _block(g, x, f"_blocks.{index}", step, side, residual=repeat > 0)
            side = -(-side // step)
            index += 1
    x = _layer(g, x, "_conv_head", "_bn1", stride=1, side=side)
    g.output(x, "map", (1, CHANNELS, PLACES, PLACES))
    return g.model()


def _layer(
    g: Graph, x: str, convolution: str, norm: str, *, stride: int, side: int, groups: bool = False, clip: bool = True
) -> str:
    factor, shift = g.batch_norm(norm, _BN_EPSILON)
    weight = folded(g.weight(f"{convolution}.weight"), factor)
    kernel = weight.shape[-1]
    # Padded as TensorFlow does: as little as covers the picture, the odd one at the end.
    total = max((-(-side // stride) - 1) * stride + kernel - side, 0)
    before = total // 2
    pads = [before, before, total - before, total - before]
    x = g.convolution(x, weight, shift, strides=[stride, stride], pads=pads, group=len(weight) if groups else 1)
    return g.node("Clip", x, g.constant(0.0), g.constant(6.0)) if clip else x


def _block(g: Graph, x: str, prefix: str, stride: int, side: int, *, residual: bool) -> str:
    """Widened, filtered a channel each, narrowed; added to what came in where it repeats."""
    kept = x
    if prefix != "_blocks.0":
        x = _layer(g, x, f"{prefix}._expand_conv", f"{prefix}._bn0", stride=1, side=side)
    x = _layer(g, x, f"{prefix}._depthwise_conv", f"{prefix}._bn1", stride=stride, side=side, groups=True)
    x = _layer(g, x, f"{prefix}._project_conv", f"{prefix}._bn2", stride=1, side=-(-side // stride), clip=False)
    return g.node("Add", x, kept) if residual else x
