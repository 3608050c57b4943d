# SPDX-License-Identifier: Apache-2.0
"""R2M-Bench: does a return show what was there before, more than the rollout's own standstill would explain?

:func:`needs` says which evidence is wanted, :func:`score` makes records of it, :data:`COLUMNS` and :func:`leaderboard`
make the published tables of the records. Every step is here as a function of plain arrays, too: revisits and pairs from
commanded poses, the eleven pair metrics, MemoryGain and NMR, rankings, validation against people and motion.

``compat=True`` gives the published evaluator's numbers, its bugs included. The default mends what is known to be wrong:

- a heading's change is wrapped at 180 degrees when motion is named, and the pitch of a revisit must agree too;
- poses that are not quite orthonormal do not turn away from themselves, and those that are not finite are in no pair;
- a camera that is commanded to stand still revisits nothing;
- frames whose pose is missing do not shorten the rollout;
- identical frames count as 100 dB, not as infinity; a judge's failures and other missing values are left out, counted;
- a dynamic range that is not above 1e-8 leaves no NMR, where one published path has 0 and the other a negative ratio;
- Overall needs a value in every family; nothing is rounded.

Source: R2M-Bench (arXiv 2608.27328) and its evaluator, AMAP-ML/R2MBench at 88e0cd91.
"""

from .commanded import poses_of_plan, template_of
from .constants import FAMILIES, METRICS, PLACE, TEMPLATES, Metric
from .gain import (
    Gain,
    Means,
    Summary,
    Video,
    dynamic_range,
    family_means,
    memory_gain,
    normalized_ratio,
    overall,
    pair_mean,
    summarise,
)
from .metrics import (
    appearance,
    cosine_similarity,
    lpips_distance,
    match_ratio,
    object_persistence,
    ransac_inlier_ratio,
    state_scores,
)
from .motion import PERTURBATIONS, Dependence, Split, motion_dependence, quality_perturbation, speed_splits
from .pairs import Drawn, Pairs, baseline_pairs, bin_of, binned, sample_pairs, short_pairs
from .published import global_results, task_of, video_results, videos_of_results
from .rank import Ranks, mean_ranks, rankings, raw_means
from .report import COLUMNS, leaderboard, videos_of
from .revisit import Revisits, Segment, Tolerances, detect_revisits, motion_segments, tolerances_of
from .scoring import NAME, needs, pairs_of, score
from .study import Correlation, Table, cluster_bootstrap, correlations, family_balanced, partial_spearman, table_of
from .trajectory import Trajectory, static_tail, trajectory_of
from .validation import Agreement, Ratings, family_validation, human_validation

__all__ = [
    "COLUMNS",
    "FAMILIES",
    "METRICS",
    "NAME",
    "PERTURBATIONS",
    "PLACE",
    "TEMPLATES",
    "Agreement",
    "Correlation",
    "Dependence",
    "Drawn",
    "Gain",
    "Means",
    "Metric",
    "Pairs",
    "Ranks",
    "Ratings",
    "Revisits",
    "Segment",
    "Split",
    "Summary",
    "Table",
    "Tolerances",
    "Trajectory",
    "Video",
    "appearance",
    "baseline_pairs",
    "bin_of",
    "binned",
    "cluster_bootstrap",
    "correlations",
    "cosine_similarity",
    "detect_revisits",
    "dynamic_range",
    "family_balanced",
    "family_means",
    "family_validation",
    "global_results",
    "human_validation",
    "leaderboard",
    "lpips_distance",
    "match_ratio",
    "mean_ranks",
    "memory_gain",
    "motion_dependence",
    "motion_segments",
    "needs",
    "normalized_ratio",
    "object_persistence",
    "overall",
    "pair_mean",
    "pairs_of",
    "partial_spearman",
    "poses_of_plan",
    "quality_perturbation",
    "rankings",
    "ransac_inlier_ratio",
    "raw_means",
    "sample_pairs",
    "score",
    "short_pairs",
    "speed_splits",
    "state_scores",
    "static_tail",
    "summarise",
    "table_of",
    "task_of",
    "template_of",
    "tolerances_of",
    "trajectory_of",
    "video_results",
    "videos_of",
    "videos_of_results",
]
