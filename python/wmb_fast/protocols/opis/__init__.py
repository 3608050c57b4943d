# SPDX-License-Identifier: Apache-2.0
"""OPIS: does a video world model keep the particular objects that its input shows?

:func:`needs` says which evidence is wanted, :func:`score` makes records of it, :data:`COLUMNS` and :func:`leaderboard`
make the published table of the records. Every step is here as a function of plain arrays, too: the reference bank,
association, visibility, static structure, landmarks, claims, the score, ablations, the hierarchy.

The default is the paper's formula. ``compat=True``, or ``contract="3.11"``, is what the released code computes instead:
no gate on identity, structure drawn towards one half, a product of powers, 0 where there is no evidence. Both score the
same table of what was found (:func:`observe`).

Source: OPIS (arXiv 2609.35052v1) and its released evaluator, SSStarain/OPIS at e1fb0e98.
"""

from .association import Affinities, Association, affinities, associate
from .bank import Bank, Observations, Track, track_of
from .build import background, distinct, query_pixels, reference_bank
from .claims import Claim, ClaimStructure, Judgement, Verdict, claim_structure
from .constants import domain_of
from .contract_3_11 import full_igm
from .contract_3_11 import metrics as contract_metrics
from .described import Described, describe
from .diagnostics import (
    ABLATIONS,
    Agreement,
    Coverage,
    ablations,
    coverage,
    identity_failures,
    label_agreement,
    load_of,
    of_rows,
    pooled,
    time_intervals,
)
from .formula import Components, case_components, components, frame_presence, frame_scores, identity, opis_score
from .hierarchy import CaseScores, Group, Hierarchy, aggregate, interval
from .pose import Landmarks, PoseStructure, landmarks, pose_structure, proportion_scores
from .reading import case_of, sampled_frames
from .report import (
    ABLATION_COLUMNS,
    COLUMNS,
    COVERAGE_COLUMNS,
    by_domain,
    by_interval,
    by_load,
    leaderboard,
    missing_subcategories,
)
from .rows import Case, Measured, Rows, observe
from .scoring import NAME, needs, score
from .structure import Correspondences, StaticStructure, static_scores, static_structure
from .visibility import Projections, Sighting, State, Why, classify, direct_areas, look, project

__all__ = [
    "ABLATIONS",
    "ABLATION_COLUMNS",
    "COLUMNS",
    "COVERAGE_COLUMNS",
    "NAME",
    "Affinities",
    "Agreement",
    "Association",
    "Bank",
    "Case",
    "CaseScores",
    "Claim",
    "ClaimStructure",
    "Components",
    "Correspondences",
    "Coverage",
    "Described",
    "Group",
    "Hierarchy",
    "Judgement",
    "Landmarks",
    "Measured",
    "Observations",
    "PoseStructure",
    "Projections",
    "Rows",
    "Sighting",
    "State",
    "StaticStructure",
    "Track",
    "Verdict",
    "Why",
    "ablations",
    "affinities",
    "aggregate",
    "associate",
    "background",
    "by_domain",
    "by_interval",
    "by_load",
    "case_components",
    "case_of",
    "claim_structure",
    "classify",
    "components",
    "contract_metrics",
    "coverage",
    "describe",
    "direct_areas",
    "distinct",
    "domain_of",
    "frame_presence",
    "frame_scores",
    "full_igm",
    "identity",
    "identity_failures",
    "interval",
    "label_agreement",
    "landmarks",
    "leaderboard",
    "load_of",
    "look",
    "missing_subcategories",
    "needs",
    "observe",
    "of_rows",
    "opis_score",
    "pooled",
    "pose_structure",
    "project",
    "proportion_scores",
    "query_pixels",
    "reference_bank",
    "sampled_frames",
    "score",
    "static_scores",
    "static_structure",
    "time_intervals",
    "track_of",
]
