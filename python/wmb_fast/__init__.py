# SPDX-License-Identifier: Apache-2.0
"""wmb_fast: the memory of video world models, measured fast and the same way every time.

Importing this package imports NumPy and the compiled core, nothing else.
"""

from . import reference
from ._walls.dispatch import available_backends
from ._walls.errors import (
    ArgumentError,
    ArgumentTypeError,
    BackendError,
    FileFormatError,
    MissingExtraError,
    WmbError,
)
from ._walls.ext import get_num_threads, set_num_threads
from .ops.align import align_trajectory, ape, ate, umeyama
from .ops.associate import associate
from .ops.cosine import cosine_matrix, cosine_pairs
from .ops.flow import flow_channels, parallax_split
from .ops.match import Matches, Nearest, mutual_matches, nearest
from .ops.path import interpolate_positions, path_length
from .ops.reproject import Projection, Reprojection, Splat, project, reproject_depth, splat_depth, unproject
from .ops.reproject_pairs import DepthAgreement, ReprojectionError, depth_agreement, reprojection_error
from .ops.rpe import orthogonality_deviation, rotation_angle_deg, rpe
from .ops.visibility import Visibility, visibility

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "BackendError",
    "DepthAgreement",
    "FileFormatError",
    "Matches",
    "MissingExtraError",
    "Nearest",
    "Projection",
    "Reprojection",
    "ReprojectionError",
    "Splat",
    "Visibility",
    "WmbError",
    "__version__",
    "align_trajectory",
    "ape",
    "associate",
    "ate",
    "available_backends",
    "cosine_matrix",
    "cosine_pairs",
    "depth_agreement",
    "flow_channels",
    "get_num_threads",
    "interpolate_positions",
    "mutual_matches",
    "nearest",
    "orthogonality_deviation",
    "parallax_split",
    "path_length",
    "project",
    "reference",
    "reproject_depth",
    "reprojection_error",
    "rotation_angle_deg",
    "rpe",
    "set_num_threads",
    "splat_depth",
    "umeyama",
    "unproject",
    "visibility",
]
