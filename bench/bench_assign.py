# SPDX-License-Identifier: Apache-2.0
"""Batches of assignment problems. The rivals answer with any optimum; ours is the lexicographically smallest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import wmb_fast as wmb

from ._harness import Case, Contender
from ._rivals import contender


def cases(full: bool) -> Iterator[Case]:
    rng = np.random.default_rng(0)
    share = 1 if full else 5
    random = rng.random((500 // share, 40, 40))
    yield _case("random", random)
    yield _case("random, opis ties", random, ties="opis")
    yield _case("whole numbers 0-9", np.floor(random * 10))
    yield _case("random", rng.random((20 // share, 256, 256)))
    yield _case("whole numbers 0-9", np.floor(rng.random((20 // share, 256, 256)) * 10))


def _case(kind: str, cost: np.ndarray, ties: str = "lowest") -> Case:
    ours = wmb.assignment(cost).total
    right = _totals(cost, wmb.reference.assign(cost[:1], ties="opis"))

    def verify(columns: Any) -> str:
        totals = _totals(cost, np.asarray(columns))
        worst = max(np.abs(totals[:1] - right).max(), np.abs(totals - ours).max())
        return f"a total is {worst:.3g} off" if worst > 1e-9 else ""

    sides = [
        Contender("wmb_fast", lambda: wmb.assign(cost, ties=ties), verify),
        *(side for solver in ("lapjvsa", "lapjvs", "lapjvx") for side in _lapx(f"{solver}_batch", cost, verify)),
        *contender(
            "scipy",
            lambda scipy: [scipy.optimize.linear_sum_assignment(item)[1] for item in cost],
            verify,
            what="linear_sum_assignment",
        ),
    ]
    n, rows, cols = cost.shape
    return Case("assign", f"{n} x ({rows} x {cols}) {kind}", sides, float(n), "calls/s")


def _lapx(solver: str, cost: np.ndarray, verify: Callable[[Any], str]) -> list[Contender]:
    """One of lapx's batch solvers; some answer with columns, some with pairs."""

    def verify_any(items: Any) -> str:
        return verify([item if item.ndim == 1 else item[:, 1] for item in items])

    return contender("lap", lambda lap: getattr(lap, solver)(cost, n_threads=1)[-1], verify_any, what=solver)


def _totals(cost: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return np.take_along_axis(cost[: len(columns)], columns[..., None], axis=-1).sum(axis=(-2, -1))
