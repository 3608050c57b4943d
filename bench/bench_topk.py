# SPDX-License-Identifier: Apache-2.0
"""topk against faiss's exact search, NumPy and torch, and against the bare matrix product."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import wmb_fast as wmb

from . import _rivals
from ._harness import Case, Contender

REDUCED = [(1, 20_000, 512, 5), (493, 20_000, 512, 5)]
FULL = [(1, 100_000, 512, 5), (493, 100_000, 512, 5), (493, 100_000, 512, 100)]


def cases(full: bool) -> Iterator[Case]:
    """Unit rows, because the rivals do not normalise: every query is a noisy copy of a row of the gallery."""
    for n, m, dim, k in FULL if full else REDUCED:
        rng = np.random.default_rng(n + m)
        gallery = _rivals.unit(rng.standard_normal((m, dim), dtype=np.float32))
        noise = _rivals.unit(rng.standard_normal((n, dim), dtype=np.float32))
        yield _of(_rivals.unit(gallery[rng.permutation(m)[:n]] + 0.7 * noise), gallery, k)


def _of(queries: Any, gallery: Any, k: int) -> Case:
    scores = queries.astype(np.float64) @ gallery.T
    truth = -np.sort(-scores, axis=1)[:, :k]
    right = _scores_are(truth)
    name = f"{len(queries)}x{len(gallery)}x{queries.shape[1]} float32, k = {k}"
    contenders = [
        Contender("wmb_fast", lambda: wmb.topk(queries, gallery, k).score, right),
        *_rivals.contender("faiss", _rivals.faiss_search(gallery, queries, k), right, what="IndexFlatIP"),
        *_rivals.contender("numpy", lambda _: _rivals.numpy_topk(queries, gallery, k), right, what="argpartition"),
        *_rivals.contender(
            "torch", lambda torch: _rivals.torch_topk(torch, queries, gallery, k), right, what="mm + topk"
        ),
    ]
    if len(queries) > 1:
        product = np.empty((len(queries), len(gallery)), dtype=np.float32)
        sgemm = _rivals.contender(
            "numpy", lambda np: np.matmul(queries, gallery.T, out=product), None, what="sgemm alone"
        )
        return Case("topk", name, contenders + sgemm, 2.0 * len(queries) * gallery.size, "GFLOP/s")
    return Case("topk", name, contenders, float(gallery.nbytes), "GB/s")


def _scores_are(truth: Any) -> Callable[[Any], str]:
    """Within 2e-6 of the float64 answer, place by place."""

    def check(got: Any) -> str:
        error = float(np.max(np.abs(np.asarray(got, dtype=np.float64) - truth)))
        return "" if error <= 2e-6 else f"off by {error:.2g}"

    return check
