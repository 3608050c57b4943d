# SPDX-License-Identifier: Apache-2.0
"""rpe (translation and rotation, steps of one frame) against NumPy and evo."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import wmb_fast as wmb

from . import _rivals
from ._harness import Case, Contender

EVO_ITEMS = 2  # evo takes minutes for all


def cases(full: bool) -> Iterator[Case]:
    """Cameras that walk and turn at random, and the same with noise."""
    n_items = 2000 if full else 200
    est, ref = _batch(n_items, 501)
    truth = _rivals.numpy_rpe(est, ref)

    def close(got: Any) -> str:
        off = max(np.abs(g - t[: len(g)]).max() for g, t in zip(got, truth, strict=True))
        return "" if off < 1e-6 else f"off by {off:.1e}"

    some = est[:EVO_ITEMS], ref[:EVO_ITEMS]
    sides = [
        Contender("wmb_fast", lambda: _ours(est, ref), close),
        *_rivals.contender("numpy", lambda _: _rivals.numpy_rpe(est, ref), close, what="vectorised"),
        *_rivals.contender(
            "evo", lambda evo: _rivals.evo_rpe(evo, *some), close, what="a loop", share=EVO_ITEMS / n_items
        ),
    ]
    yield Case("rpe", f"{n_items * 500} pairs float64", sides, 2.0 * est.nbytes, "GB/s")


def _ours(est: Any, ref: Any) -> Any:
    done = wmb.rpe(est, ref)
    return done.translation.errors, done.rotation_deg.errors


def _batch(n_items: int, n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(n_items)
    ref = np.zeros((n_items, n, 4, 4))
    ref[..., :3, :3] = _rotations(rng, n_items * n).reshape(n_items, n, 3, 3)
    ref[..., :3, 3] = np.cumsum(rng.standard_normal((n_items, n, 3)), axis=1)
    ref[..., 3, 3] = 1.0
    est = ref.copy()
    est[..., :3, :3] = ref[..., :3, :3] @ _rotations(rng, 64)[rng.integers(0, 64, (n_items, n))]
    est[..., :3, 3] += 0.05 * rng.standard_normal((n_items, n, 3))
    return est, ref


def _rotations(rng: Any, n: int) -> Any:
    """(n, 3, 3) of random unit quaternions."""
    w, x, y, z = (q := rng.standard_normal((4, n))) / np.linalg.norm(q, axis=0)
    rows = [
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip
    return np.stack(rows, axis=1).reshape(-1, 3, 3)


def device_cases(full: bool, device: Any) -> Iterator[Case]:
    """Thousands of trajectories on a GPU: the errors of every step, and their statistics."""
    from . import _device, _rivals_torch

    n_items, n = (4_000, 501) if full else (20, 51)
    pair = [poses.astype(np.float32) for poses in _batch(n_items, n)]
    sets = _device.sets_of(lambda _: pair, device)
    first, second = _device.Turn(sets), _device.Turn(sets)
    right = _device.close(_ours(*pair), 1e-4)
    sides = [
        Contender("wmb_fast", lambda: _ours(*first()), right),
        *_rivals.contender("torch", lambda _: _rivals_torch.rpe(*second()), right, what="errors alone"),
    ]
    moved = 2.0 * pair[0].nbytes + n_items * (n - 1) * 24.0  # two errors and two indices a pair
    yield Case("rpe", f"{n_items * (n - 1)} pairs float32", sides, moved, "GB/s")
