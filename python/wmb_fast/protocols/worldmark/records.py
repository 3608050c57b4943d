# SPDX-License-Identifier: Apache-2.0
"""How a measure becomes a record."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..record import Status
from .measure import Measure, in_words

PUBLISHED_NAN = "published_nan"  # in a record's detail: the published evaluator gives NaN here


def as_fields(measure: Measure) -> dict[str, Any]:
    """The fields of a record that come from a measure, as strict JSON."""
    detail = {name: _plain(value) for name, value in measure.detail.items()}
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


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
