# SPDX-License-Identifier: Apache-2.0
"""topk against faiss's exact search, NumPy and torch, and against the bare matrix product."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import wmb_fast as wmb

from . import _rivals
from ._harness import Case, Contender

REDUCED = [(1, 20_000, 512, 5), (8, 20_000, 512, 5), (493, 20_000, 512, 5)]
FULL = [(1, 100_000, 512, 5), (8, 100_000, 512, 5), (493, 100_000, 512, 5), (493, 100_000, 512, 100)]


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
        contenders += sgemm
    if len(queries) > 8:
        return Case("topk", name, contenders, 2.0 * len(queries) * gallery.size, "GFLOP/s")
    return Case("topk", name, contenders, float(gallery.nbytes), "GB/s")


def _scores_are(truth: Any) -> Callable[[Any], str]:
    """Within 2e-6 of the float64 answer, place by place."""

    def check(got: Any) -> str:
        error = float(np.max(np.abs(np.asarray(got, dtype=np.float64) - truth)))
        return "" if error <= 2e-6 else f"off by {error:.2g}"

    return check


def device_cases(full: bool, device: Any) -> Iterator[Case]:
    """The same on a GPU."""
    import torch

    from . import _device

    n, m, dim, k = (1024, 200_000, 512, 10) if full else (17, 130, 32, 4)
    sets = _device.sets_of(
        lambda rng: [_rivals.unit(rng.standard_normal((rows, dim), dtype=np.float32)) for rows in (n, m)], device
    )
    right = _device.close([wmb.topk(*(x.cpu().numpy() for x in sets[0]), k).score], 2e-6)
    turn, other = _device.Turn(sets), _device.Turn(sets)

    def theirs(queries: Any, gallery: Any) -> Any:
        return [torch.topk(queries @ gallery.T, k, dim=1).values]

    sides = [
        Contender("wmb_fast", lambda: [wmb.topk(*turn(), k).score], right),
        *_rivals.contender("torch", lambda _: theirs(*other()), right, what="mm + topk"),
    ]
    yield Case("topk", f"{n}x{m}x{dim} float32, k = {k}", sides, 2.0 * n * m * dim, "GFLOP/s")
