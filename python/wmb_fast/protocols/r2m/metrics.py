# SPDX-License-Identifier: Apache-2.0
"""The eleven pair metrics, each on plain arrays. What belongs to a frame is computed once and looked up by pairs.

| family | metric | from |
|---|---|---|
| appearance | psnr, ssim | decoded frames: :func:`appearance` |
| | lpips | layers of a network, of both frames: :func:`lpips_distance` |
| scene identity | dino, boq, mvpr similarity | one vector a frame: :func:`cosine_similarity` |
| object identity | appearance, semantic persistence | crops and detections: :func:`object_persistence` |
| local geometry | match_ratio | counts of matches and keypoints: :func:`match_ratio` |
| | ransac_inlier_ratio | counts of inliers and matches: :func:`ransac_inlier_ratio` |
| persistent state | state_score | a judge's answers: :func:`state_scores` |

Source: R2M-Bench (arXiv 2608.27328), section 3; its evaluator at 88e0cd91.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from ...ops.cosine import cosine_pairs
from ...ops.image import psnr, ssim

Real = npt.NDArray[np.float64]

FEWEST_MATCHES = 8  # a fundamental matrix needs as many
ACCEPTED = 0.5  # the least score at which an object is found again
JUDGED = (1.0, 5.0)
FAILED = -1.0
WEIGHTS = (0.5, 0.5)  # appearance and meaning in what decides whether an object is found again


def rows_of(frames: npt.ArrayLike, wanted: npt.ArrayLike) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Where each wanted frame stands among rising frames, and whether it does.

    Example:
        >>> rows, there = rows_of([2, 5, 9], [5, 9, 3])
        >>> rows[there].tolist(), there.tolist()
        ([1, 2], [True, True, False])
    """
    have, asked = np.asarray(frames, dtype=np.int64), np.asarray(wanted, dtype=np.int64)
    if not have.size:
        return np.zeros(asked.shape, np.int64), np.zeros(asked.shape, bool)
    rows = np.minimum(np.searchsorted(have, asked), have.size - 1)
    return rows, have[rows] == asked


def appearance(pictures: npt.NDArray[np.uint8], frames: npt.ArrayLike, pairs: npt.ArrayLike) -> tuple[Real, Real]:
    """PSNR and SSIM of pairs of frames, as scikit-image has them: 8-bit RGB, uniform 7x7 windows.

    Args:
        pictures: (K, H, W, 3) uint8.
        frames: (K,) their numbers, rising.
        pairs: (P, 2) frame numbers.

    Returns:
        Two (P,) float64: PSNR in dB, infinite for identical frames; SSIM, the mean over the three channels. NaN where a
        frame is not among the pictures, or is smaller than the window.

    Example:
        >>> import numpy as np
        >>> pictures = np.zeros((2, 8, 8, 3), np.uint8)
        >>> pictures[1] += 255
        >>> decibel, alike = appearance(pictures, [0, 9], [(0, 9)])
        >>> decibel.tolist(), bool(0 < alike[0] < 1e-3)
        ([0.0], True)
    """
    asked = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    rows, there = rows_of(frames, asked)
    both = np.flatnonzero(there.all(axis=1))
    decibel, alike = np.full(len(asked), np.nan), np.full(len(asked), np.nan)
    at_once = max(1, (1 << 24) // max(pictures[0].nbytes, 1)) if len(pictures) else 1  # pairs copied together: 32 MB
    for lo in range(0, len(both), at_once):
        some = both[lo : lo + at_once]
        a, b = pictures[rows[some, 0]], pictures[rows[some, 1]]
        decibel[some] = psnr(a, b, data_range=255)
        if min(a.shape[1:3]) >= 7:
            alike[some] = ssim(a, b, data_range=255, variant="uniform7")
    return decibel, alike


def cosine_similarity(features: npt.ArrayLike, frames: npt.ArrayLike, pairs: npt.ArrayLike) -> Real:
    """Cosines of frames' vectors, by pairs: the scene-identity family.

    Args:
        features: (K, D) float32 or float64, one vector a frame.
        frames: (K,) their numbers, rising.
        pairs: (P, 2) frame numbers.

    Returns:
        (P,) in -1 to 1; NaN where a frame has no vector, or one that is zero or not finite.

    Example:
        >>> cosine_similarity(np.array([[1.0, 0.0], [0.6, 0.8]]), [3, 7], [(3, 7), (3, 8)]).round(6).tolist()
        [0.6, nan]
    """
    vectors, asked = np.asarray(features), np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    rows, there = rows_of(frames, asked)
    both = there.all(axis=1)
    cosines = np.full(len(asked), np.nan)
    if both.any():
        a, b = (np.ascontiguousarray(vectors[rows[both, side]]) for side in (0, 1))
        cosines[both] = cosine_pairs(a, b)
    return cosines


def lpips_distance(
    layers_a: Sequence[npt.ArrayLike], layers_b: Sequence[npt.ArrayLike], weights: Sequence[npt.ArrayLike]
) -> Real:
    """LPIPS from a network's activations: ``sum over layers of mean over places of w . (a/|a| - b/|b|)^2``.

    Args:
        layers_a, layers_b: A layer (P, C, H, W) each, of both frames of P pairs.
        weights: (C,) of each layer.

    Returns:
        (P,) float64, 0 for identical frames; less is better.

    Source:
        Zhang et al., "The Unreasonable Effectiveness of Deep Features as a Perceptual Metric", equation 1; R2M-Bench
        takes it with AlexNet, at full resolution, of pictures in [-1, 1].
    """
    total = np.zeros(len(np.asarray(layers_a[0])))
    for a, b, w in zip(layers_a, layers_b, weights, strict=True):
        one, other = (_unit(np.asarray(layer, dtype=np.float64)) for layer in (a, b))
        total += np.einsum("c,pchw->p", np.asarray(w, dtype=np.float64), (one - other) ** 2) / np.prod(one.shape[2:])
    return total


def _unit(layer: Real) -> Real:
    return np.asarray(layer / (np.sqrt(np.square(layer).sum(axis=1, keepdims=True)) + 1e-10))


def match_ratio(n_matches: npt.ArrayLike, n_a: npt.ArrayLike, n_b: npt.ArrayLike) -> Real:
    """Matches over the keypoints of the frame that has fewer: ``matches / max(min(a, b), 1)``.

    Example:
        >>> match_ratio([30, 0], [100, 0], [60, 50]).tolist()
        [0.5, 0.0]
    """
    fewest = np.maximum(np.minimum(np.asarray(n_a, dtype=np.float64), np.asarray(n_b, dtype=np.float64)), 1.0)
    return np.asarray(np.asarray(n_matches, dtype=np.float64) / fewest)


def ransac_inlier_ratio(n_inliers: npt.ArrayLike, n_matches: npt.ArrayLike) -> Real:
    """Matches that a fundamental matrix explains, over all; 0 below eight matches, or where none was found.

    Args:
        n_inliers: (P,), negative or NaN where the estimation failed.
        n_matches: (P,).

    Example:
        >>> ransac_inlier_ratio([20, 7, -1], [40, 7, 50]).tolist()
        [0.5, 0.0, 0.0]
    """
    inliers, matches = np.asarray(n_inliers, dtype=np.float64), np.asarray(n_matches, dtype=np.float64)
    usable = (matches >= FEWEST_MATCHES) & (inliers >= 0)
    return np.where(usable, inliers, 0.0) / np.where(usable, matches, 1.0)


def state_scores(answers: npt.ArrayLike) -> Real:
    """A judge's answers from 1 to 5, clamped; what is not a number, or below 0, is its failure: -1.

    Example:
        >>> state_scores([4, 9, -1, float("nan"), 0]).tolist()
        [4.0, 5.0, -1.0, -1.0, 1.0]
    """
    given = np.asarray(answers, dtype=np.float64)
    return np.where(given >= 0, np.clip(given, *JUDGED), FAILED)


def object_persistence(
    candidates: Sequence[Mapping[str, Any]],
    *,
    weights: tuple[float, float] = WEIGHTS,
    accepted: float = ACCEPTED,
) -> tuple[float, float]:
    """How well the objects of one frame are found again in another, by looks and by meaning.

    For each anchor, of what was detected for it in the other frame:

        looks = clip01((cos + 1) / 2) of the crops' descriptors
        meaning = 0.5 confidence + 0.5 clip01((cos + 1) / 2) of the crops' joint text-image embedding
        match = w0 looks + w1 meaning

    The best match counts if it reaches ``accepted``, else the anchor counts as 0. One detection may answer for several
    anchors.

    Args:
        candidates: One an anchor: ``looks_cosine``, ``meaning_cosine`` and ``confidence``, each (C,); C may be 0.
        weights: Of looks and meaning. The published class has (0.7, 0.3) where its command line does not say.
        accepted: See above.

    Returns:
        Mean looks and mean meaning over anchors; 0 and 0 without any.

    Example:
        >>> object_persistence([
        ...     {"looks_cosine": [0.5, 1.0], "meaning_cosine": [0.0, 0.5], "confidence": [0.5, 0.75]},
        ...     {"looks_cosine": [], "meaning_cosine": [], "confidence": []},
        ... ])
        (0.5, 0.375)
    """
    looks_total = meaning_total = 0.0
    for anchor in candidates:
        looks_cosine, meaning_cosine, confidence = (
            np.asarray(anchor[name], dtype=np.float64) for name in ("looks_cosine", "meaning_cosine", "confidence")
        )
        if not looks_cosine.shape == meaning_cosine.shape == confidence.shape:
            shapes = f"{looks_cosine.shape}, {meaning_cosine.shape} and {confidence.shape}"
            raise bad_value("object_persistence", "candidates", "hold arrays of one shape", shapes)
        if not looks_cosine.size:
            continue
        looks = np.clip((looks_cosine + 1.0) / 2.0, 0.0, 1.0)
        meaning = 0.5 * confidence + 0.5 * np.clip((meaning_cosine + 1.0) / 2.0, 0.0, 1.0)
        score = weights[0] * looks + weights[1] * meaning
        best = int(score.argmax())
        if score[best] >= accepted:
            looks_total += float(looks[best])
            meaning_total += float(meaning[best])
    n = len(candidates)
    return (looks_total / n, meaning_total / n) if n else (0.0, 0.0)
