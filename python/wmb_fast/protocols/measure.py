# SPDX-License-Identifier: Apache-2.0
"""What every metric of a protocol returns: a value, or the reason there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .record import Status


@dataclass(frozen=True)
class Measure:
    """A value, or the reason there is none, and what is reported beside it.

    Attributes:
        value: ``None`` where there is none; NaN only under ``compat``, where the published evaluator gives NaN.
        reason: Empty, or a short token, optionally followed by ``: `` and a sentence.
        n_used, n_total: How many samples, pairs, targets or revisits the value rests on, of how many.
        detail: Intermediate results by name.
        status: ``ok`` exactly when there is a value.
    """

    value: float | None
    reason: str = ""
    n_used: int = 0
    n_total: int = 0
    detail: Mapping[str, Any] = field(default_factory=dict)
    status: Status = Status.OK

    @property
    def is_nan(self) -> bool:
        """Whether this is a NaN that the published evaluator gives."""
        return self.value is not None and math.isnan(self.value)


class NotThereError(Exception):
    """Why a metric cannot be looked at."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure


def without(reason: str, n_total: int = 0, detail: Mapping[str, Any] | None = None, n_used: int = 0) -> Measure:
    """The protocol's own rule leaves no value."""
    return Measure(None, reason, n_used, n_total, detail or {}, Status.NOT_EVALUABLE)


def missing(reason: str, n_total: int = 0, detail: Mapping[str, Any] | None = None) -> Measure:
    """Evidence that the metric needs is not there."""
    return Measure(None, reason, 0, n_total, detail or {}, Status.MISSING)


def plain(value: Any) -> Any:
    """A value as strict JSON has it: plain containers and numbers, ``None`` for what is not finite."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
