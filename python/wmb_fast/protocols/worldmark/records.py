# SPDX-License-Identifier: Apache-2.0
"""How a measure becomes a record."""

from __future__ import annotations

from typing import Any

from ..measure import plain
from ..record import Status
from .measure import Measure, in_words

PUBLISHED_NAN = "published_nan"  # in a record's detail: the published evaluator gives NaN here


def as_fields(measure: Measure) -> dict[str, Any]:
    """The fields of a record that come from a measure, as strict JSON."""
    detail = {name: plain(value) for name, value in measure.detail.items()}
    value, status, reason = measure.value, measure.status, in_words(measure.reason)
    if measure.is_nan:
        value, status, reason = None, Status.NOT_EVALUABLE, "not_finite: the published evaluator gives NaN"
        detail[PUBLISHED_NAN] = True
    return {
        "value": value,
        "status": status,
        "reason": reason,
        "n_used": measure.n_used,
        "n_total": measure.n_total,
        "detail": detail,
    }
