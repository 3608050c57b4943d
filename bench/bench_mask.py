# SPDX-License-Identifier: Apache-2.0
"""mask_iou of pairs of frames against NumPy and torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import wmb_fast as wmb

from . import _rivals
from ._harness import Case, Contender


def cases(full: bool) -> Iterator[Case]:
    """Masks of random pixels: no branch can guess them."""
    n = 64 if full else 16
    a, b = np.random.default_rng(0).random((2, n, 480, 848)) < 0.5
    wanted = wmb.reference.mask_iou(a, b)

    def exact(found: Any) -> str:
        off = float(np.abs(np.asarray(found) - wanted).max())
        return "" if off <= 1e-12 else f"off by {off:.2g}"

    sides = [
        Contender("wmb_fast", lambda: wmb.mask_iou(a, b), exact),
        *_rivals.contender("numpy", lambda _: _numpy(a, b), exact, what="batched"),
        *_rivals.contender("torch", lambda torch: _torch(torch, a, b), exact, what="batched"),
    ]
    yield Case("mask_iou", f"{n} pairs 480x848", sides, float(a.nbytes + b.nbytes), "GB/s")


def _numpy(a: Any, b: Any) -> Any:
    return np.count_nonzero(a & b, axis=(1, 2)) / np.count_nonzero(a | b, axis=(1, 2))


def _torch(torch: Any, a: Any, b: Any) -> Any:
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    both, either = (x & y).sum(dim=(1, 2)), (x | y).sum(dim=(1, 2))
    return (both.double() / either.double()).numpy()
