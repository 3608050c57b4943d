# SPDX-License-Identifier: Apache-2.0
"""Names, counts and limits of WorldMemBench.

EXACT means printed in the paper; RECONSTRUCTED means the most defensible reading of a paper whose formulas are not
public. The record of every score says which, by its metric.
"""

from __future__ import annotations

NAME = "worldmembench"
EXACT, RECONSTRUCTED = "EXACT", "RECONSTRUCTED"

# Section 3.2: cases by family; the first three are static. Section 3.3: how many revisits each trajectory prescribes.
CASES = {"human": 60, "object": 70, "environment": 70, "dynamic_memory": 60}
CAMERA_CASES = 85
REVISITS = {"translate_square": 1, "lrlr": 2, "lrlrlr": 3, "lrud": 2, "lr_hold": 1}
ROTATIONS = ("lrlr", "lrlrlr", "lrud")

HUMAN = ("human_identity", "human_appearance")
OBJECT = ("object_appearance", "object_geometry")
ENVIRONMENT = ("environment_visible", "environment_depth", "environment_reconstruction")
STATIC = (*HUMAN, *OBJECT, *ENVIRONMENT)
CAMERA = ("camera_translation_rpe", "camera_rotation_rpe")
QUALITY = ("imaging_quality", "aesthetic_quality")
ASPECTS = ("return_progress", "persistence_reset", "final_state", "causal_physical")
DYNAMIC = ("event_started", *(f"dynamic_{aspect}" for aspect in ASPECTS), "dynamic_overall")

# What the release calls a category (the first folder of a case), and what is scored on it.
CATEGORIES = {
    "human": (*HUMAN, *CAMERA, *QUALITY),
    "object": (*OBJECT, *CAMERA, *QUALITY),
    "environment": (*ENVIRONMENT, *CAMERA, *QUALITY),
    "camera_rotation": CAMERA,
    "camera_translation": CAMERA,
    "dynamic_memory": DYNAMIC,
}

VERSIONS = dict.fromkeys((*STATIC, *CAMERA, *QUALITY, *DYNAMIC), 1)
CERTAINTY = {
    **dict.fromkeys((*STATIC, *CAMERA), RECONSTRUCTED),
    **dict.fromkeys(DYNAMIC, EXACT),
    **dict.fromkeys(QUALITY, "EXACT sampling, RECONSTRUCTED normalisation"),
}

# Section 4.2, 4.5: every 4th frame for quality; every 8th, and the last, for the judge.
QUALITY_STRIDE, JUDGE_STRIDE = 4, 8
IMAGING_RANGE, AESTHETIC_RANGE = 100.0, 10.0  # of MUSIQ-SPAQ and the LAION predictor: RECONSTRUCTED

# Appendix G.1.
DEPARTURE_DEG, RETURN_DEG = 30.0, 30.0
TOLERANCES_DEG = (5.0, 15.0, 30.0)
SLACK_DEG = 1e-6  # an angle that should be the limit itself is not rejected for its last bits
