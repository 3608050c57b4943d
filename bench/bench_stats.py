# SPDX-License-Identifier: Apache-2.0
"""Bootstrap intervals of eight models over ten strata, and rank correlation with ties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import wmb_fast as wmb

from ._harness import Case, Contender
from ._rivals import contender


def cases(full: bool) -> Iterator[Case]:
    yield _bootstrap(2000 if full else 500, 500, 10, 8)
    for n in (10_000, 200_000) if full else (10_000,):
        yield _spearman(n)


def _bootstrap(n: int, n_cases: int, n_strata: int, n_models: int) -> Case:
    values = np.random.default_rng(0).random((n_models, n_cases))
    strata = np.repeat(np.arange(n_strata), n_cases // n_strata)
    members = [np.flatnonzero(strata == s) for s in range(n_strata)]
    rng = np.random.default_rng(1)

    def vectorised() -> np.ndarray:
        """Draws shared by the models, one gather and mean a stratum."""
        means = [values[:, cases[rng.integers(0, cases.size, (n, cases.size))]].mean(axis=-1) for cases in members]
        return np.percentile(np.mean(means, axis=0), [2.5, 97.5], axis=-1)

    def multiplied() -> np.ndarray:
        """How often each case is drawn, times the values: one matrix product a stratum."""
        means = [
            rng.multinomial(cases.size, np.full(cases.size, 1 / cases.size), n) @ values[:, cases].T / cases.size
            for cases in members
        ]
        return np.percentile(np.mean(means, axis=0), [2.5, 97.5], axis=0)

    expected = wmb.bootstrap_ci(values, hierarchy=strata, strata=strata, n=20_000, seed=9)

    def verify(bounds: np.ndarray) -> str:
        worst = np.abs(bounds - np.stack([expected.low, expected.high])).max()
        return f"a bound is {worst:.3g} away from that of 20,000 other resamples" if worst > 5e-3 else ""

    def ours() -> np.ndarray:
        found = wmb.bootstrap_ci(values, hierarchy=strata, strata=strata, n=n)
        return np.stack([found.low, found.high])

    sides = [
        Contender("wmb_fast", ours, verify),
        Contender("numpy vectorised", vectorised, verify, np.__version__),
        Contender("numpy multinomial + product", multiplied, verify, np.__version__),
    ]
    name = f"{n} resamples x {n_cases} cases, {n_strata} strata, {n_models} models"
    return Case("bootstrap_ci", name, sides, float(n * n_cases * n_models), "calls/s")


def _spearman(n: int) -> Case:
    rng = np.random.default_rng(2)
    a = np.round(rng.normal(size=n), 2)
    b = np.round(a + rng.normal(size=n), 2)
    wanted = wmb.reference.spearman(a, b)

    def verify(found: tuple[float, float]) -> str:
        worst = max(abs(found[0] - wanted.value), abs(found[1] - wanted.p))
        return f"value or p is {worst:.3g} off the reference" if worst > 1e-12 else ""

    sides = [
        Contender("wmb_fast", lambda: tuple(wmb.spearman(a, b)), verify),
        *contender("scipy", lambda scipy: tuple(scipy.stats.spearmanr(a, b)), verify, what="spearmanr"),
    ]
    return Case("spearman", f"{n} with ties", sides, 1.0, "calls/s")


def device_cases(full: bool, device: Any) -> Iterator[Case]:
    """Resampled means on a GPU."""
    from . import _device, _rivals_torch

    n, n_cases, n_models = (2000, 500, 64) if full else (200, 50, 2)
    sets = _device.sets_of(lambda rng: [rng.random((n_models, n_cases))], device)
    wanted = wmb.bootstrap_ci(sets[0][0].cpu().numpy(), n=n)
    turn, other = _device.Turn(sets), _device.Turn(sets)

    def ours() -> Any:
        found = wmb.bootstrap_ci(*turn(), n=n)
        return found.low, found.high

    sides = [
        Contender("wmb_fast", ours, _device.close([wanted.low, wanted.high], 1e-9)),
        *contender(
            "torch",
            lambda _: _rivals_torch.bootstrap(*other(), n),
            _device.close([wanted.low, wanted.high], 0.1),  # of other draws
            what="gather + quantile",
        ),
    ]
    yield Case(
        "bootstrap_ci", f"{n} resamples x {n_cases} cases, {n_models} models", sides, float(n * n_cases), "calls/s"
    )
