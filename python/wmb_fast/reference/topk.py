# SPDX-License-Identifier: Apache-2.0
"""The k best rows of a gallery, stated plainly: the whole matrix, sorted row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .cosine import cosine_matrix

Array = npt.NDArray[Any]


def topk(queries: Array, gallery: Array, k: int) -> tuple[Array, Array]:
    """Index (Q, k) and score (Q, k) of the best rows of the gallery (N, D); see :func:`wmb_fast.topk`."""
    scores = cosine_matrix(queries, gallery)
    index = np.full((len(queries), k), -1)
    score = np.full((len(queries), k), np.nan)
    for i, row in enumerate(scores):
        order = np.argsort(-row, kind="stable")  # NaN last, ties in order
        best = order[: min(k, np.count_nonzero(~np.isnan(row)))]
        index[i, : len(best)], score[i, : len(best)] = best, row[best]
    return index, score
