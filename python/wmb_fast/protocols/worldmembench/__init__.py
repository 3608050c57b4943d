# SPDX-License-Identifier: Apache-2.0
"""WorldMemBench: what of the world does a video model still know when the camera comes back, once, twice, thrice?

:func:`needs` says which evidence is wanted, :func:`score` makes records of it, :data:`COLUMNS` and :func:`leaderboard`
make table 2 of the records. Every metric is here as a function of plain arrays, too.

No evaluator is published, and the paper's formulas are lost in its public text. Each docstring, and ``certainty`` in
each record, says what is EXACT (printed in the paper) and what is RECONSTRUCTED (the reading that its tables bear out
best). So ``compat=True`` changes no number.

Missing data: a target lost after return, an invalid return (Reconstruction) and an event that did not start count 0, as
the paper has it. Evidence that is broken or was never made is missing, with its reason, and is never a 0.

Source: WorldMemBench (arXiv 2610.19063).
"""

from .agreement import ChecklistAlignment, StaticAlignment, checklist_alignment, static_alignment
from .camera import CameraFollowing, Following, camera_following, target_poses
from .checklist import Checklist, Question, Ranges, checklist_of, judged_frames, phase_ranges
from .constants import CASES, NAME, REVISITS, ROTATIONS
from .course import Course, Revisit, course_of
from .diagnostics import (
    AxisRow,
    Coverage,
    Decomposition,
    Effect,
    Policy,
    axis_row,
    compare_policies,
    cross_axis_excess,
    decompose,
    multi_revisit_decrease,
    pose_coverage,
    revisit_curves,
    tolerance_sensitivity,
    tracking_coverage,
)
from .dynamic import DynamicMemory, dynamic_memory
from .entities import human_appearance, human_identity, object_appearance, object_geometry, shape_agreement
from .environment import environment_depth, environment_reconstruction, environment_visible
from .judge import Judgement, read_judgement
from .options import Options, options_of
from .prompt import judge_prompt
from .qualify import Angles, departure_and_return, tracking_support, whole
from .quality import quality_frames, video_quality
from .report import (
    COLUMNS,
    case_angles,
    case_scores,
    case_supports,
    columns,
    dynamic_table,
    leaderboard,
    qualified_cases,
    revisit_scores,
)
from .revisits import Revisits, model_score, video_score
from .scoring import needs, score

__all__ = [
    "CASES",
    "COLUMNS",
    "NAME",
    "REVISITS",
    "ROTATIONS",
    "Angles",
    "AxisRow",
    "CameraFollowing",
    "Checklist",
    "ChecklistAlignment",
    "Course",
    "Coverage",
    "Decomposition",
    "DynamicMemory",
    "Effect",
    "Following",
    "Judgement",
    "Options",
    "Policy",
    "Question",
    "Ranges",
    "Revisit",
    "Revisits",
    "StaticAlignment",
    "axis_row",
    "camera_following",
    "case_angles",
    "case_scores",
    "case_supports",
    "checklist_alignment",
    "checklist_of",
    "columns",
    "compare_policies",
    "course_of",
    "cross_axis_excess",
    "decompose",
    "departure_and_return",
    "dynamic_memory",
    "dynamic_table",
    "environment_depth",
    "environment_reconstruction",
    "environment_visible",
    "human_appearance",
    "human_identity",
    "judge_prompt",
    "judged_frames",
    "leaderboard",
    "model_score",
    "multi_revisit_decrease",
    "needs",
    "object_appearance",
    "object_geometry",
    "options_of",
    "phase_ranges",
    "pose_coverage",
    "qualified_cases",
    "quality_frames",
    "read_judgement",
    "revisit_curves",
    "revisit_scores",
    "score",
    "shape_agreement",
    "static_alignment",
    "target_poses",
    "tolerance_sensitivity",
    "tracking_coverage",
    "tracking_support",
    "video_quality",
    "video_score",
    "whole",
]
