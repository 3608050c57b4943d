# SPDX-License-Identifier: Apache-2.0
"""OPIS: does a video world model keep the particular objects that its input shows?"""

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
from .hierarchy import CaseScores, Group, Hierarchy, aggregate, interval
from .pose import Landmarks, PoseStructure, landmarks, pose_structure, proportion_scores
from .rows import Case, Measured, Rows, observe
from .score import Components, case_components, components, frame_presence, frame_scores, identity, opis_score
from .structure import Correspondences, StaticStructure, static_scores, static_structure
from .visibility import Projections, Sighting, State, Why, classify, direct_areas, look, project
