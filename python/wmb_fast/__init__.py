# SPDX-License-Identifier: Apache-2.0
"""wmb_fast: the memory of video world models, measured fast and the same way every time.

Importing this package imports NumPy and the compiled core, nothing else.
"""

import importlib
from typing import TYPE_CHECKING, Any

from ._walls.dispatch import available_backends
from ._walls.errors import (
    ArgumentError,
    ArgumentTypeError,
    BackendError,
    FileFormatError,
    MissingExtraError,
    ValueRangeWarning,
    WmbError,
)
from ._walls.ext import get_num_threads, set_num_threads
from .ops._trajectory import Alignment, ErrorStats, Sim3
from .ops.align import align_trajectory, ape, ate, umeyama
from .ops.assign import Assignment, assign, assignment
from .ops.associate import associate
from .ops.bootstrap import Interval, bootstrap_ci
from .ops.cosine import Verification, cosine_matrix, cosine_pairs, verify_identity
from .ops.flow import FlowChannels, Parallax, flow_channels, parallax_split
from .ops.image import mse, psnr, ssim
from .ops.mask import BoxMedians, box_medians, mask_iou
from .ops.match import Matches, Nearest, mutual_matches, nearest, patch_best_match
from .ops.path import interpolate_positions, path_length
from .ops.reproject import Projection, Reprojection, Splat, project, reproject_depth, splat_depth, unproject
from .ops.reproject_pairs import DepthAgreement, ReprojectionError, depth_agreement, reprojection_error
from .ops.rpe import PoseErrors, orthogonality_deviation, rotation_angle_deg, rpe
from .ops.stats import (
    Agreement,
    Correlation,
    FisherMean,
    fisher_mean,
    pairwise_agreement,
    pearson,
    spearman,
)
from .ops.topk import TopK, topk
from .ops.visibility import SampledVisibility, Visibility, sampled_visibility, visibility

if TYPE_CHECKING:
    from . import reference

__version__ = "0.1.0"

__all__ = [
    "Agreement",
    "Alignment",
    "ArgumentError",
    "ArgumentTypeError",
    "Assignment",
    "BackendError",
    "BoxMedians",
    "Correlation",
    "DepthAgreement",
    "ErrorStats",
    "FileFormatError",
    "FisherMean",
    "FlowChannels",
    "Interval",
    "Matches",
    "MissingExtraError",
    "Nearest",
    "Parallax",
    "PoseErrors",
    "Projection",
    "Reprojection",
    "ReprojectionError",
    "SampledVisibility",
    "Sim3",
    "Splat",
    "TopK",
    "ValueRangeWarning",
    "Verification",
    "Visibility",
    "WmbError",
    "__version__",
    "align_trajectory",
    "ape",
    "assign",
    "assignment",
    "associate",
    "ate",
    "available_backends",
    "bootstrap_ci",
    "box_medians",
    "cosine_matrix",
    "cosine_pairs",
    "depth_agreement",
    "fisher_mean",
    "flow_channels",
    "get_num_threads",
    "interpolate_positions",
    "mask_iou",
    "mse",
    "mutual_matches",
    "nearest",
    "orthogonality_deviation",
    "pairwise_agreement",
    "parallax_split",
    "patch_best_match",
    "path_length",
    "pearson",
    "project",
    "psnr",
    "reference",
    "reproject_depth",
    "reprojection_error",
    "rotation_angle_deg",
    "rpe",
    "sampled_visibility",
    "set_num_threads",
    "spearman",
    "splat_depth",
    "ssim",
    "topk",
    "umeyama",
    "unproject",
    "verify_identity",
    "visibility",
]


def __getattr__(name: str) -> Any:
    """``reference`` is imported when it is first asked for."""
    if name == "reference":
        return importlib.import_module(".reference", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
