# SPDX-License-Identifier: Apache-2.0
"""flow_channels and parallax_split over many fields against NumPy, a whole batch at once and field by field.

The fair rival is the batch: it makes the unit vectors once, and reduces all fields in whole-array operations. The loop
is what evaluators run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import wmb_fast as wmb

from . import _rivals
from ._harness import Case, Contender


def cases(full: bool) -> Iterator[Case]:
    """Random fields of the published size, and the sampled points of as many."""
    n = 64 if full else 16
    rng = np.random.default_rng(0)
    fields = rng.standard_normal((n, 480, 848, 2), dtype=np.float32)
    wanted = wmb.reference.flow_channels(fields)
    sides = [
        Contender("wmb_fast", lambda: _channels(fields), _close(wanted, 1e-6)),
        *_rivals.contender("numpy", lambda _: _rivals.numpy_flow(fields), _close(wanted, 1e-6), what="batched"),
        *_rivals.contender("numpy", lambda _: _rivals.numpy_flow_loop(fields), _close(wanted, 1e-6), what="a loop"),
    ]
    yield Case("flow_channels", f"{n} fields 480x848 float32", sides, float(fields.nbytes), "GB/s")
    yield _parallax(64, 5000, rng)


def _parallax(n: int, points: int, rng: Any) -> Case:
    inverse_depth = np.abs(rng.standard_normal((n, points)))
    u = 3 * inverse_depth - 0.5 + rng.standard_normal((n, points))
    items = [wmb.reference.parallax_split(a, b) for a, b in zip(u, inverse_depth, strict=True)]
    wanted = [np.array([item[k] for item in items]) for k in range(2)]
    sides = [
        Contender("wmb_fast", lambda: _split(u, inverse_depth), _close(wanted, 1e-9)),
        *_rivals.contender(
            "numpy", lambda _: _rivals.numpy_parallax(u, inverse_depth), _close(wanted, 1e-9), what="batched"
        ),
        *_rivals.contender(
            "numpy",
            lambda _: _rivals.numpy_parallax_loop(u, inverse_depth),
            _close(wanted, 1e-9),
            what="a loop of lstsq",
        ),
    ]
    return Case("parallax_split", f"{n} fields of {points} points float64", sides, 2.0 * u.nbytes, "GB/s")


def _channels(fields: Any) -> Any:
    found = wmb.flow_channels(fields)
    return found.horizontal, found.radial


def _split(u: Any, inverse_depth: Any) -> Any:
    found = wmb.parallax_split(u, inverse_depth)
    return found.translation, found.rotation


def _close(wanted: Any, most: float) -> Callable[[Any], str]:
    def check(found: Any) -> str:
        off = max(float(np.abs(f - w).max()) for f, w in zip(found, wanted, strict=True))
        return "" if off <= most else f"off by {off:.2g}"

    return check


def device_cases(full: bool, device: Any) -> Iterator[Case]:
    """The same fields on a GPU."""
    from . import _device, _rivals_torch

    n, height, width = (64, 480, 848) if full else (4, 48, 80)
    sets = _device.sets_of(lambda rng: [rng.standard_normal((n, height, width, 2), dtype=np.float32)], device)
    right = _device.close(_channels(sets[0][0].cpu().numpy()), 1e-5)
    ours, theirs = _device.Turn(sets), _device.Turn(sets)
    sides = [
        Contender("wmb_fast", lambda: _channels(*ours()), right),
        *_rivals.contender("torch", lambda _: _rivals_torch.flow_channels(*theirs()), right),
    ]
    yield Case("flow_channels", f"{n} fields {height}x{width} float32", sides, 8.0 * n * height * width, "GB/s")
