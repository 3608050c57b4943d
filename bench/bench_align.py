# SPDX-License-Identifier: Apache-2.0
"""umeyama and ate against NumKong, NumPy and evo; associate against evo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import wmb_fast as wmb

from . import _rivals
from ._harness import Case, Contender

EVO_ITEMS = 20  # evo takes minutes for all


def cases(full: bool) -> Iterator[Case]:
    """Random walks and noisy copies of them, seen by another camera; then the same far from the origin."""
    n_items = 2000 if full else 400
    for dtype in (np.float64, np.float32):
        x, y = _batch(n_items, 500, dtype)
        name = f"{n_items}x500 {np.dtype(dtype)}"
        yield Case("umeyama", name, _fits(x, y), 2.0 * x.nbytes, "GB/s")
        yield Case("ate", name, _errors(x, y), 2.0 * x.nbytes, "GB/s")
    x, y = _batch(n_items, 500, np.float64)
    yield Case("umeyama", f"{n_items}x500 float64 at offset 1e6", _fits(x + 1e6, y - 1e6), 2.0 * x.nbytes, "GB/s")
    few = _batch(1, 5, np.float64)
    yield Case("umeyama", "one item of 5 points", _single(few[0][0], few[1][0]), 1.0, "calls/s")
    yield _association(100_000 if full else 20_000)


def _batch(n_items: int, n: int, dtype: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(n_items + n)
    x = np.cumsum(rng.standard_normal((n_items, n, 3)), axis=1)
    rotation, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    rotation *= np.sign(np.linalg.det(rotation))
    y = 0.7 * x @ rotation.T + rng.standard_normal(3) + 0.05 * rng.standard_normal(x.shape)
    return x.astype(dtype), y.astype(dtype)


def _ours(x: Any, y: Any) -> Any:
    fit = wmb.umeyama(x, y)
    return fit.scale, fit.rotation


def _fits(x: Any, y: Any) -> list[Contender]:
    truth = _rivals.numpy_umeyama(x.astype(np.float64), y.astype(np.float64))
    close = _same_fit(truth, 1e-9 if x.dtype == np.float64 else 1e-5)
    some = x[:EVO_ITEMS], y[:EVO_ITEMS]
    share = EVO_ITEMS / len(x)
    return [
        Contender("wmb_fast", lambda: _ours(x, y), close),
        *_rivals.contender("numkong", lambda nk: _rivals.numkong_umeyama(nk, x, y), close, what="batched"),
        *_rivals.contender("numpy", lambda _: _rivals.numpy_umeyama(x, y), close, what="batched"),
        *_rivals.contender("evo", lambda evo: _rivals.evo_umeyama(evo, *some), close, what="a loop", share=share),
    ]


def _same_fit(truth: Any, rel: float) -> Callable[[Any], str]:
    def check(got: Any) -> str:
        n = len(got[0])
        off = max(np.abs(got[0] / truth[0][:n] - 1).max(), np.abs(got[1] - truth[1][:n]).max())
        return "" if off < rel else f"off by {off:.1e}"

    return check


def _errors(x: Any, y: Any) -> list[Contender]:
    """NumKong gives no errors of single poses: its fit alone stands beside ours with them."""
    truth = _rivals.numpy_ate(x.astype(np.float64), y.astype(np.float64))
    rel = 1e-9 if x.dtype == np.float64 else 1e-4

    def close(got: Any) -> str:
        off = np.abs(got / truth - 1).max()
        return "" if off < rel else f"off by {off:.1e}"

    return [
        Contender("wmb_fast", lambda: wmb.ate(x, y).rmse, close),
        *_rivals.contender("numkong", lambda nk: _rivals.numkong_umeyama(nk, x, y), None, what="umeyama alone"),
        *_rivals.contender("numpy", lambda _: _rivals.numpy_ate(x, y), close, what="batched"),
    ]


def _single(x: Any, y: Any) -> list[Contender]:
    return [
        Contender("wmb_fast", lambda: wmb.umeyama(x, y), lambda fit: "" if fit.status == 0 else fit.reason()),
        *_rivals.contender("numkong", lambda nk: nk.umeyama(x, y), None),
        *_rivals.contender("evo", lambda evo: _rivals.evo_umeyama(evo, x[None], y[None]), None),
    ]


def _association(n: int) -> Case:
    rng = np.random.default_rng(n)
    a = np.sort(rng.uniform(0, 0.1 * n, n))
    b = np.sort(a + 1e-3 * rng.standard_normal(n))

    def nearest(got: Any) -> str:
        miss = np.abs(a[got[:, 0], None] - b[np.clip(got[:, 1, None] + [0, -1, 1], 0, n - 1)])
        wrong = int((miss[:, 0] > miss.min(axis=1)).sum())
        return "" if not wrong and len(got) > n // 2 else f"{wrong} of {len(got)} pairs are not the nearest"

    def one_to_one(got: Any) -> str:
        return "" if len(np.unique(got[:, 1])) == len(got) > n // 2 else "a stamp is used twice"

    sides = [
        Contender("wmb_fast", lambda: wmb.associate(a, b), one_to_one),
        Contender("wmb_fast one_to_one=False", lambda: wmb.associate(a, b, one_to_one=False), nearest),
        *_rivals.contender("evo", lambda evo: _rivals.evo_associate(evo, a, b), None, what="(its rule is the second)"),
    ]
    return Case("associate", f"{n} stamps", sides, 1.0, "calls/s")


def device_cases(full: bool, device: Any) -> Iterator[Case]:
    """Thousands of trajectories on a GPU: the fit, and the errors after it with their statistics."""
    from . import _device, _rivals_torch

    n_items, n = (20_000, 500) if full else (50, 100)
    batch = _batch(n_items, n, np.float32)
    sets = _device.sets_of(lambda rng: [x + rng.standard_normal(3).astype(np.float32) for x in batch], device)
    x, y = (each.cpu().numpy() for each in sets[0])
    name, work = f"{n_items}x{n} float32", 2.0 * x.nbytes
    first, second = _device.Turn(sets), _device.Turn(sets)
    fits = _device.close(_ours(x, y), 1e-4)
    sides = [
        Contender("wmb_fast", lambda: _ours(*first()), fits),
        *_rivals.contender("torch", lambda _: _rivals_torch.umeyama(*second()), fits, what="batched SVD"),
    ]
    yield Case("umeyama", name, sides, work, "GB/s")
    third, fourth = _device.Turn(sets), _device.Turn(sets)
    errors = _device.close(_rmse_and_median(x, y), 1e-3)
    sides = [
        Contender("wmb_fast", lambda: _rmse_and_median(*third()), errors),
        *_rivals.contender("torch", lambda _: _rivals_torch.ate(*fourth()), errors, what="batched SVD + quantile"),
    ]
    yield Case("ate", name, sides, work + 4.0 * n_items * n, "GB/s")
    one = [tuple(each[:1, :5].contiguous() for each in pair) for pair in sets]
    small = _device.Turn(one)
    alone = _device.close(_ours(*(each.cpu().numpy() for each in one[0])), 1e-3)
    overhead = [Contender("wmb_fast", lambda: _ours(*small()), alone)]
    yield Case("umeyama", "one item of 5 points (a call's overhead)", overhead, 1.0, "calls/s")


def _rmse_and_median(x: Any, y: Any) -> Any:
    found = wmb.ate(x, y)
    return found.rmse, found.median
