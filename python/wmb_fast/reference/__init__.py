# SPDX-License-Identifier: Apache-2.0
"""The readable NumPy float64 statement of every op, under the same name. The fast ones are held to it."""

from .cosine import cosine_matrix, cosine_pairs
from .match import mutual_matches, nearest
from .reproject import project, reproject_depth, splat_depth, unproject
from .reproject_pairs import depth_agreement, reprojection_error
from .visibility import visibility

__all__ = [
    "cosine_matrix",
    "cosine_pairs",
    "depth_agreement",
    "mutual_matches",
    "nearest",
    "project",
    "reproject_depth",
    "reprojection_error",
    "splat_depth",
    "unproject",
    "visibility",
]
