# SPDX-License-Identifier: Apache-2.0
"""The readable NumPy float64 statement of every op, under the same name. The fast ones are held to it."""

from .cosine import cosine_matrix, cosine_pairs
from .match import mutual_matches, nearest

__all__ = ["cosine_matrix", "cosine_pairs", "mutual_matches", "nearest"]
