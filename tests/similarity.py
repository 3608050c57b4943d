# SPDX-License-Identifier: Apache-2.0
"""What the tests of the similarity ops share: their inputs, and one hash over all results.

Run as a program it prints that hash, so that it can be compared across SIMD levels and threads.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

import wmb_fast as wmb


def rows(n: int, dim: int, seed: int = 0, dtype: str = "float32") -> np.ndarray[Any, Any]:
    """Random rows with some that are zero, NaN, repeated, tiny and huge."""
    x = np.random.default_rng(seed).standard_normal((n, dim))
    if n > 20:
        x[3] = 0
        x[5, dim // 2] = np.nan
        x[7] = x[11] = x[2]
        x[13] *= 1e-25
        x[17] *= 1e20
    return x.astype(dtype)


def everything(scale: float = 1.0) -> str:
    """A hash over the results of all similarity ops in all dtypes and metrics, at sizes that no tile divides."""
    digest = hashlib.sha256()

    def add(*arrays: Any) -> None:
        for array in arrays:
            array = np.ascontiguousarray(array)
            digest.update(np.where(array == array, array, -7).tobytes())

    for dtype, n, m, dim in (("float32", 401, 603, 130), ("float64", 131, 97, 261), ("float32", 1, 700, 33)):
        n, m = max(1, int(n * scale)), int(m * scale)
        a, b = rows(n, dim, 1, dtype), rows(m, dim, 2, dtype)
        add(wmb.cosine_pairs(a[:50], b[:n][:50]), wmb.cosine_matrix(a, b), wmb.cosine_matrix(b))
        best = wmb.topk(a, b, 17)
        add(best.index, best.score, wmb.patch_best_match(a, b))
        for metric in ("cosine", "l2"):
            found = wmb.nearest(a, b, metric=metric)
            add(found.index, found.score)
            for ratio in (None, 0.9):
                matches = wmb.mutual_matches(a, b, ratio=ratio, metric=metric)
                add(matches.index_a, matches.index_b, matches.score)
    bits = np.random.default_rng(3).integers(0, 256, (300, 33), dtype=np.uint8)
    found = wmb.nearest(bits[:140], bits[140:], metric="hamming")
    add(found.index, found.score)
    return digest.hexdigest()


if __name__ == "__main__":
    print(everything())
