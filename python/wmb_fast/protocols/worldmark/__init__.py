# SPDX-License-Identifier: Apache-2.0
"""WorldMark: does a video world model follow its commands, and does it remember what it showed?

:func:`needs` says which evidence is wanted, :func:`score` makes records of it, :data:`COLUMNS` and :func:`leaderboard`
make the published table of the records. Every metric is here as a function of plain arrays, too.

``compat=True`` gives the published evaluator's numbers, its bugs included. The default mends what is known to be wrong:

- time is the rollout's own: its frame rate, and the boundaries of its own segments; the evaluator takes every video
  to have 16 frames a second and equal segments;
- Local's sampling step comes from the rollout alone, and is at least a pixel; the evaluator's is the median of
  whichever videos are scored together (:func:`local_over_set` gives that, once the set is complete);
- degrees become pixels of the flow's grid, not of the video;
- without depth, strafing and turning cannot be told apart: their direction metrics are missing, never a silent half;
- samples, depths and confidences that are not finite are left out or a reason, no motion and too few samples a reason;
- nothing is rounded.

Source: WorldMark (arXiv 2604.21686v2) and its evaluator, AlayaLab/WorldMark at 26f33a81.
"""

from .action import direction_accuracy, direction_purity, motion_stability, response_latency
from .caches import FlowOnly, flow_cache
from .constants import PUBLISHED, SEQUENCES, Thresholds
from .features import Pooled, cosine_distances, pool_tokens
from .following import ActionMetrics, action_metrics
from .geometry import Residual, global_frames, global_memory, global_residual, global_score
from .groups import GROUPS, split_of, tier_of
from .kept import curves, local_over_set
from .local import Cuts, cuts_from_logits, equal_motion_frames, local_delta, local_memory, mutation_rate, own_step
from .measure import Measure
from .parallax import Split, parallax_frames, parallax_samples, split_segment
from .poses import PoseSignals, pose_action_metrics, pose_signals
from .ratings import quality, quality_frames, rating
from .report import COLUMNS, best_and_worst, columns, csv_lines, displayed, leaderboard
from .rescoring import COLUMNS_OF, SWEPT, Rescorer, Swept, moved
from .revisit import Reversal, published_bounds, reversals, revisit_frames, revisit_memory
from .scoring import NAME, needs, score
from .segments import Timeline, is_round_trip, key_of

__all__ = [
    "COLUMNS",
    "COLUMNS_OF",
    "GROUPS",
    "NAME",
    "PUBLISHED",
    "SEQUENCES",
    "SWEPT",
    "ActionMetrics",
    "Cuts",
    "FlowOnly",
    "Measure",
    "Pooled",
    "PoseSignals",
    "Rescorer",
    "Residual",
    "Reversal",
    "Split",
    "Swept",
    "Thresholds",
    "Timeline",
    "action_metrics",
    "best_and_worst",
    "columns",
    "cosine_distances",
    "csv_lines",
    "curves",
    "cuts_from_logits",
    "direction_accuracy",
    "direction_purity",
    "displayed",
    "equal_motion_frames",
    "flow_cache",
    "global_frames",
    "global_memory",
    "global_residual",
    "global_score",
    "is_round_trip",
    "key_of",
    "leaderboard",
    "local_delta",
    "local_memory",
    "local_over_set",
    "motion_stability",
    "moved",
    "mutation_rate",
    "needs",
    "own_step",
    "parallax_frames",
    "parallax_samples",
    "pool_tokens",
    "pose_action_metrics",
    "pose_signals",
    "published_bounds",
    "quality",
    "quality_frames",
    "rating",
    "response_latency",
    "reversals",
    "revisit_frames",
    "revisit_memory",
    "score",
    "split_of",
    "split_segment",
    "tier_of",
]
