# SPDX-License-Identifier: Apache-2.0
"""The same on a GPU: events around single calls, caches flushed before each, inputs in turn, ceilings of that device.

Any torch device will do: on the CPU the wall clock stands in for events, which is how the tests run these cases.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ._harness import BUDGET_S, TURNS, Case, Contender, Row, rows_of, verdict

FLUSH_BYTES = 256 << 20  # written before each call: several times the second-level cache of any GPU
SETS = 3  # of inputs, taken in turn
SIDE = {"cuda": 8192, "cpu": 256}  # of the matrices whose product is a ceiling
DTYPES = {"float32": torch.float32, "tf32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class Turn:
    """Sets of inputs, the next at each call; the first call gets the first set, by which answers are verified."""

    def __init__(self, sets: Sequence[Any]) -> None:
        self._sets = itertools.cycle(sets)

    def __call__(self) -> Any:
        return next(self._sets)


def sets_of(make: Callable[[np.random.Generator], Sequence[Any]], device: torch.device) -> list[tuple[Any, ...]]:
    """``SETS`` sets of inputs, made as NumPy arrays, on the device."""
    made = (make(np.random.default_rng(seed)) for seed in range(SETS))
    return [tuple(torch.from_numpy(np.asarray(array)).to(device) for array in arrays) for arrays in made]


def measure(case: Case, device: torch.device) -> list[Row]:
    """As :func:`bench._harness.measure`, on a device; its times are those between two events on the stream."""
    verdicts = [verdict(contender) for contender in case.contenders]
    if verdicts[0] != "yes":
        raise SystemExit(f"bench: {case.op} {case.name}: our own answer is wrong: {verdicts[0]}")
    ceiling = _ceiling(case, device)
    sides = [*case.contenders, *ceiling]
    samples = _in_turns(sides, device)
    return rows_of(case, sides, samples, [*verdicts, *("-" for _ in ceiling)], len(ceiling), 1)


def _in_turns(sides: Sequence[Contender], device: torch.device) -> list[list[float]]:
    flush = torch.empty(FLUSH_BYTES if device.type == "cuda" else 1, dtype=torch.uint8, device=device)
    once = [_time(side, flush, device) for side in sides for _ in range(2)][1::2]  # the first has much to load
    turns = min(max(int(BUDGET_S / max(sum(once), 1e-9)), TURNS[0]), TURNS[1])
    samples: list[list[float]] = [[] for _ in sides]
    for _ in range(turns):
        for side, times in zip(sides, samples, strict=True):
            times.append(_time(side, flush, device))
    return samples


def _time(side: Contender, flush: Any, device: torch.device) -> float:
    """Seconds of the whole work."""
    flush.zero_()
    if device.type != "cuda":
        start = time.perf_counter()
        side.call()
        return (time.perf_counter() - start) / side.share
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    events[0].record()
    side.call()
    events[1].record()
    events[1].synchronize()
    return float(events[0].elapsed_time(events[1])) / 1e3 / side.share


def _ceiling(case: Case, device: torch.device) -> list[Contender]:
    if case.unit == "GB/s":
        source = torch.ones(max(int(case.work) // 8, 1), dtype=torch.float32, device=device)
        copy = torch.empty_like(source)
        return [Contender("ceiling: device copy", lambda: copy.copy_(source), None, torch.__version__)]
    if case.unit == "GFLOP/s":
        n = SIDE[device.type]
        a, b = (torch.randn(n, n, device=device).to(DTYPES[case.precision]) for _ in range(2))
        share = 2.0 * n**3 / case.work
        call = in_precision(case.precision, lambda: a @ b)
        return [Contender(f"ceiling: {case.precision} product", call, None, torch.__version__, share)]
    return []


def in_precision(precision: str, call: Callable[[], Any]) -> Callable[[], Any]:
    """A call with torch's matrix products in tf32 or in whole float32."""

    def run() -> Any:
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        try:
            return call()
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before

    return run


def machine(device: torch.device) -> str:
    """A short name of the device: ``h200``."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "host"
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"NVIDIA|GeForce|Tesla", " ", name).lower()).strip("-")


def close(wanted: Sequence[Any], most: float) -> Callable[[Any], str]:
    """Whether tensors are the host's answers, but for this much of each answer's largest number."""

    def check(found: Any) -> str:
        for name, (got, want) in enumerate(zip(found, wanted, strict=True)):
            got, want = got.cpu().numpy().astype(np.float64), np.asarray(want, dtype=np.float64)
            off = float(np.nanmax(np.abs(got - want)) / max(float(np.nanmax(np.abs(want))), 1e-300))
            if got.shape != want.shape or (np.isnan(got) != np.isnan(want)).any() or off > most:
                return f"answer {name} is off by {off:.2g}"
        return ""

    return check
