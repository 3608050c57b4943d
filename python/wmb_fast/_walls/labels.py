# SPDX-License-Identifier: Apache-2.0
"""Labels of cases, and the groups they make."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array
from .checks import shape_text
from .errors import bad_type, bad_value


def label_codes(op: str, argument: str, labels: Any, n: int) -> Array:
    """Labels (N,), an array, tensor or sequence of strings or whole numbers, as the ranks of their sorted names."""
    try:
        names = np.asarray(labels)
    except (TypeError, ValueError) as error:
        raise bad_type(op, argument, f"be one label a case, shape ({n},)", type(labels).__name__) from error
    if names.shape != (n,):
        raise bad_value(op, argument, f"be one label a case, shape ({n},)", shape_text(names))
    if n and names.dtype.kind not in "biuUS":
        raise bad_type(op, argument, "hold strings or whole numbers", f"dtype {names.dtype}")
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def level_codes(op: str, argument: str, hierarchy: Any, n: int) -> list[Array]:
    """One array of labels, or a list of them, finest first; the codes of each level."""
    nested = isinstance(hierarchy, (list, tuple)) and not (hierarchy and np.ndim(hierarchy[0]) == 0)
    levels = list(hierarchy) if nested else [hierarchy]
    if not levels:
        raise bad_value(op, argument, "have at least one level", "none")
    return [label_codes(op, f"{argument}[{i}]" if nested else argument, level, n) for i, level in enumerate(levels)]
