# SPDX-License-Identifier: Apache-2.0
"""What others say: opencv-contrib 5.0 of features, the package brisque 0.2.0, made to run on NumPy 2, of scores."""

from __future__ import annotations

# QualityBRISQUE.computeFeatures of faces/person_b_1.jpg.
OPENCV = (
    *(1.38500, 0.22475, 0.56100, 0.04307, 0.04825, 0.08644, 0.56100, 0.04062, 0.04960),
    *(0.08574, 0.57800, -0.03628, 0.07835, 0.04758, 0.57700, -0.03700, 0.07875, 0.04734),
    *(1.60900, 0.27715, 0.63300, -0.03971, 0.11237, 0.07298, 0.63400, -0.04056, 0.11335),
    *(0.07305, 0.61800, -0.03248, 0.10761, 0.07523, 0.61900, -0.03346, 0.10747, 0.07426),
)
# The package's scores of these features times a factor, by libsvm 3.37.
BY_LIBSVM = {0.5: 37.12536853856656, 1: 8.186146454796557, 1.5: 43.67285710621306, 2: 63.98941455123381}
# The package's scores of pictures.
BY_THE_PACKAGE = {
    "faces/person_a_1.jpg": 12.815,
    "faces/person_a_2.jpg": 48.132,
    "faces/person_a_3.jpg": 13.730,
    "faces/person_b_1.jpg": 10.622,
    "faces/person_b_2.jpg": 13.032,
    "pairs/opencv/graf1.png": 16.443,
    "pairs/opencv/graf3.png": 13.594,
}
