# SPDX-License-Identifier: Apache-2.0
"""What OPIS fixes: thresholds, weights, and where its subcategories belong.

Source: OPIS (arXiv 2609.35052), sections 3.2, 4 and 5.1, and what its released evaluator adds.
"""

from __future__ import annotations

# Association (section 4.1 and 5.1; the weights and the floor are the released evaluator's).
EMBEDDING_WEIGHT, ATTRIBUTE_WEIGHT, CATEGORY_WEIGHT = 0.65, 0.25, 0.10
UNKNOWN_CATEGORY = 0.5  # the similarity to an object without a category
MIN_COSINE = 0.05  # below, two objects are not the same whatever else agrees
MIN_AFFINITY = 0.35  # a pair is accepted from here on
AMBIGUITY_MARGIN = 0.05
SMALLEST_NORM = 1e-12  # an embedding shorter than this has no direction
ATTRIBUTES = ("color", "shape", "texture", "mark")

# Visibility.
MIN_INSIDE, MIN_AREA_PX, OCCLUSION = 0.30, 16.0, 0.95
MIN_DEPTH_COVERAGE, MIN_OCCLUDED, MIN_VISIBLE = 0.70, 0.70, 0.30
MIN_CAMERA_CONFIDENCE = MIN_DEPTH_CONFIDENCE = 0.65
FEWEST_QUERIES = 4
QUERY_POINTS, MASK_MARGIN_PX = 128, 3

# Structure.
GEOMETRY_TOLERANCE = 0.05  # lambda_g of Eq. 4, in diagonals of the observed box
FEWEST_CORRESPONDENCES = 4
POSE_TOLERANCE = 0.2  # tau of Eq. 5
MIN_LANDMARK_CONFIDENCE, SHORTEST_SEGMENT = 0.5, 1e-8
FEWEST_SEGMENTS, MIN_SEGMENT_COVERAGE = 3, 0.5
MOST_CLAIMS, MIN_CLAIM_CONFIDENCE = 12, 0.7
FAMILIES = ("parts", "connectivity", "local_shape", "material_continuity")

# Scores (section 5.1).
IDENTITY_THRESHOLD = STRUCTURE_THRESHOLD = 0.35
WEIGHTS = (0.2, 0.4, 0.4)  # presence, identity, structure
PRIOR_MEAN, PRIOR_STRENGTH = 0.5, 2.0  # of contract 3.11 alone

# Sampling and diagnostics (sections 5.1 and E, figure 5).
STRIDE, FIRST_SECOND = 8, 1.0
INTERVALS_S = ((1.0, 4.0), (4.0, 7.0), (7.0, 10.0))
LOADS = ((0, 20), (21, 40), (41, None))  # reference objects, both ends included

# Section 3.2: ten subcategories in three domains. A folder of the released set is told by the word it contains.
DOMAINS = {
    "real_world": ("home", "public", "natural", "urban"),
    "embodied": ("industrial", "lab", "simulated"),
    "game": ("cartoon", "pixel", "realistic"),
}


def domain_of(subcategory: str) -> str | None:
    """The domain of a subcategory, told by the word its name contains; ``None`` for one that is not OPIS's.

    Example:
        >>> domain_of("Realistic_style_3D_world"), domain_of("robot_lab_setup"), domain_of("my_own")
        ('game', 'embodied', None)
    """
    name = subcategory.lower()
    found = [domain for domain, words in DOMAINS.items() if any(word in name for word in words)]
    return found[0] if len(found) == 1 else None
