# SPDX-License-Identifier: Apache-2.0
"""The readable NumPy float64 statement of every op, under the same name. The fast ones are held to it."""

from .align import Alignment, ErrorStats, Sim3, align_trajectory, ape, associate, ate, umeyama
from .cosine import cosine_matrix, cosine_pairs
from .flow import flow_channels, parallax_split
from .match import mutual_matches, nearest
from .path import interpolate_positions, path_length
from .rpe import PoseErrors, deviation, rotation_angle_deg, rpe

__all__ = [
    "Alignment",
    "ErrorStats",
    "PoseErrors",
    "Sim3",
    "align_trajectory",
    "ape",
    "associate",
    "ate",
    "cosine_matrix",
    "cosine_pairs",
    "deviation",
    "flow_channels",
    "interpolate_positions",
    "mutual_matches",
    "nearest",
    "parallax_split",
    "path_length",
    "rotation_angle_deg",
    "rpe",
    "umeyama",
]
