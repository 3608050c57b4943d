# SPDX-License-Identifier: Apache-2.0
"""C_opis: the published OPIS evaluator."""

from __future__ import annotations

import numpy as np

from .._walls.errors import ArgumentError
from ..ops.assign import assign, assignment
from .libs_stats import matrix
from .runner import Adapter, Case, Outcome


def hungarian(case: Case) -> Outcome:
    """C2: the public solver's assignment, its choice among ties included. What it should have refused, we refuse."""
    cost, outcome = case.inputs["cost"], Outcome()
    if case.raises is not None and case.raises["type"] == "ValueError":
        try:
            outcome.got = assign([np.asarray(row, dtype=np.float64) for row in cost], ties="opis")
            outcome.problems.append("rows of unequal length must raise an ArgumentError")
        except ArgumentError as error:
            outcome.got = str(error)
        return outcome
    found = assignment(matrix(cost), ties="opis")
    pairs = [[i, int(j)] for i, j in enumerate(found.columns) if j >= 0]
    outcome.got = {"assignment": pairs, "total": float(found.total), "reason": found.reason()}
    if case.recommended is not None:
        outcome.expect(found.status == 2 and not pairs, "costs that are not numbers must be refused, with a reason")
        return outcome
    outcome.expect(found.status == 0, f"status is {found.status}: {found.reason()}")
    outcome.same("assignment", pairs, case.expected["assignment"])
    if "total" in case.expected:
        outcome.close("total", found.total, case.expected["total"], abs_=case.tolerance["total"]["abs"])
    return outcome


ADAPTERS: dict[str, Adapter] = {"C_opis/C2_hungarian": hungarian}
