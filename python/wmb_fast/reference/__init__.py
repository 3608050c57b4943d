# SPDX-License-Identifier: Apache-2.0
"""The readable NumPy float64 statement of every op, under the same name. The fast ones are held to it."""

from .align import Alignment, ErrorStats, Sim3, align_trajectory, ape, associate, ate, umeyama
from .assign import assign, assignment
from .cosine import cosine_matrix, cosine_pairs, verify_identity
from .flow import flow_channels, parallax_split
from .image import mse, psnr, ssim
from .mask import box_medians, mask_iou
from .match import mutual_matches, nearest, patch_best_match
from .path import interpolate_positions, path_length
from .reproject import project, reproject_depth, splat_depth, unproject
from .reproject_pairs import depth_agreement, reprojection_error
from .rpe import PoseErrors, deviation, rotation_angle_deg, rpe
from .stats import bootstrap_ci, fisher_mean, pairwise_agreement, pearson, spearman
from .topk import topk
from .visibility import sampled_visibility, visibility

__all__ = [
    "Alignment",
    "ErrorStats",
    "PoseErrors",
    "Sim3",
    "align_trajectory",
    "ape",
    "assign",
    "assignment",
    "associate",
    "ate",
    "bootstrap_ci",
    "box_medians",
    "cosine_matrix",
    "cosine_pairs",
    "depth_agreement",
    "deviation",
    "fisher_mean",
    "flow_channels",
    "interpolate_positions",
    "mask_iou",
    "mse",
    "mutual_matches",
    "nearest",
    "pairwise_agreement",
    "parallax_split",
    "patch_best_match",
    "path_length",
    "pearson",
    "project",
    "psnr",
    "reproject_depth",
    "reprojection_error",
    "rotation_angle_deg",
    "rpe",
    "sampled_visibility",
    "spearman",
    "splat_depth",
    "ssim",
    "topk",
    "umeyama",
    "unproject",
    "verify_identity",
    "visibility",
]
