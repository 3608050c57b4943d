# SPDX-License-Identifier: Apache-2.0
"""Which observation is which reference object: a partial one-to-one assignment in every frame, all frames at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from ..._walls.ext import core
from ...ops.cosine import cosine_matrix
from .constants import (
    AMBIGUITY_MARGIN,
    ATTRIBUTE_WEIGHT,
    CATEGORY_WEIGHT,
    EMBEDDING_WEIGHT,
    MIN_AFFINITY,
    MIN_COSINE,
    SMALLEST_NORM,
    UNKNOWN_CATEGORY,
)
from .described import Array, Described, Floats

Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]
NEAR_FLOOR = 1e-6  # cosines this near to the floor are summed again, in the published order
_SIMILARITY = np.array(
    [EMBEDDING_WEIGHT, ATTRIBUTE_WEIGHT, CATEGORY_WEIGHT, UNKNOWN_CATEGORY, MIN_COSINE, NEAR_FLOOR], dtype=np.float64
)


@dataclass(frozen=True)
class Affinities:
    """Every reference with every observation: ``scores`` and ``cosines`` (R, N); a cosine is NaN without embeddings."""

    scores: Floats
    cosines: Array


@dataclass(frozen=True)
class Association:
    """What :func:`associate` returns, for T frames and R references.

    Attributes:
        observed: (T, R) int64: the position of the observation among all N, -1 for none.
        cosine: (T, R): of the pair's embeddings; NaN where there is no pair, or no embedding to compare.
        score: (T, R): the pair's affinity; NaN where there is none.
        margin: (T, R): by how much the choice beats the next one; NaN in frames without observations and for
            references that were no candidates.
        ambiguous: (T, R): the margin is below 0.05.
        unmatched: (N,): observations without a reference.
    """

    observed: Indices
    cosine: Floats
    score: Floats
    margin: Floats
    ambiguous: Flags
    unmatched: Flags


def affinities(reference: Described, observed: Described) -> Affinities:
    """How alike references and observations are, from 0 to 1.

    The mean of ``(cos + 1) / 2`` (weight 0.65), attributes (0.25) and category (0.10), renormalised over those that
    there are. A category is 1 where it agrees, 0 where not, 0.5 where one is missing; attributes are the mean over
    those that both have: numbers ``max(0, 1 - |d| / max(|ref|, 1))``, text 1 or 0. The whole is 0 where the cosine is
    below 0.05, where an embedding is not finite, and where neither embeddings nor attributes can be compared: a
    category alone says nothing of identity.

    Args:
        reference: R objects.
        observed: N objects, described with the same vocabulary.

    Returns:
        ``scores`` (R, N) float64, ``cosines`` (R, N) in the dtype of the embeddings.

    Numerics:
        Cosines by :func:`~wmb_fast.cosine_matrix`; the rest in float64, in the order of the formula. Whether a cosine
        within 1e-6 of the floor reaches it is decided on a sum in the order of the dimensions.

    Source:
        OPIS (arXiv 2609.35052), section 4.1; weights of its released evaluator.

    Example:
        >>> import numpy as np
        >>> one, other = np.array([[1.0, 0.0]]), np.array([[0.6, 0.8]])
        >>> affinities(Described.of_arrays(one, [7]), Described.of_arrays(other, [7])).scores.round(6)
        array([[0.826667]])
    """
    a, b = _same_width(reference.embeddings, observed.embeddings)
    cosines, comparable = _cosines(reference, observed, a, b)
    scores = np.empty(cosines.shape)
    parts = *_parts(reference, a), *_parts(observed, b)
    core.mixed_similarity(*parts, cosines, comparable, _SIMILARITY, scores)  # type: ignore[call-overload]
    if comparable is not None:
        scores[~_finite(reference)] = 0.0
        scores[:, ~_finite(observed)] = 0.0
        cosines = np.where(comparable, cosines, np.nan)
    return Affinities(scores, cosines)


def _parts(objects: Described, embeddings: Array) -> tuple[Array, ...]:
    codes = (np.ascontiguousarray(x, dtype=np.int64) for x in (objects.categories, objects.attribute_text))
    return embeddings, *codes, np.ascontiguousarray(objects.attribute_number, dtype=np.float64)


def _finite(objects: Described) -> Flags:
    return np.asarray(np.isfinite(objects.embeddings).all(axis=1))


def _same_width(*sets: Array) -> list[Array]:
    """Embeddings of two sets in one dtype and width; what is shorter is filled with zeros."""
    width, kind = max(rows.shape[1] for rows in sets), np.result_type(*sets)
    padded = (rows if rows.shape[1] == width else np.pad(rows, ((0, 0), (0, width - rows.shape[1]))) for rows in sets)
    return [np.ascontiguousarray(rows, dtype=kind) for rows in padded]


def _cosines(reference: Described, observed: Described, a: Array, b: Array) -> tuple[Array, Flags | None]:
    """Cosines of embeddings of one width, and where there are any; ``None`` for everywhere."""
    shape, width = (len(reference), len(observed)), a.shape[1]
    if not width or not all(shape):
        return np.zeros(shape, dtype=a.dtype), np.zeros(shape, dtype=bool)
    cosines = cosine_matrix(a, b)
    if (reference.dims == width).all() and (observed.dims == width).all() and not np.isnan(cosines).any():
        return cosines, None
    lengths = [np.linalg.norm(x.astype(np.float64), axis=1) for x in (a, b)]
    long_enough = [np.isfinite(length) & (length > SMALLEST_NORM) for length in lengths]
    alike = (reference.dims[:, None] == observed.dims[None, :]) & (reference.dims > 0)[:, None]
    comparable = alike & long_enough[0][:, None] & long_enough[1][None, :] & ~np.isnan(cosines)
    return np.where(comparable, cosines, 0.0), comparable


def associate(
    reference: Described, observed: Described, starts: npt.ArrayLike, *, candidates: Flags | None = None
) -> Association:
    """The partial one-to-one assignment of references to observations, in every frame.

    In each frame the pairs are taken that cost the least in sum, a pair costing 1 - affinity and a reference that stays
    alone 0.65; a pair is accepted at an affinity of 0.35 or more. The margin of a reference is the affinity of its pair
    (0.35 where it stays alone) less the best other one of its row, or 0.35 if that is more.

    Args:
        reference: R objects, sorted by id as text: the order decides ties.
        observed: N objects of all frames, frame by frame, each frame sorted by id.
        starts: (T + 1,): where each frame begins among them, and N.
        candidates: (T, R): references that may be seen in a frame at all; by default all.

    Returns:
        An :class:`Association`.

    Raises:
        ArgumentError: Starts or candidates that do not fit.

    Numerics:
        As :func:`affinities`; the assignment with ``ties="opis"``, to the last bit the released solver's choice.

    Source:
        OPIS (arXiv 2609.35052), section 4.1 and its released evaluator.

    Example:
        >>> import numpy as np
        >>> cups = Described.of_arrays(np.eye(2), [0, 0])
        >>> seen = Described.of_arrays(np.array([[0.1, 1.0], [1.0, 0.1], [0.0, 1.0]]), [0, 0, 0])
        >>> associate(cups, seen, [0, 2, 3]).observed
        array([[ 1,  0],
               [-1,  2]])
    """
    bounds = np.asarray(starts, dtype=np.int64)
    shape = (bounds.size - 1, len(reference))
    if (
        bounds.ndim != 1
        or not bounds.size
        or (np.diff(bounds) < 0).any()
        or bounds[0] != 0
        or bounds[-1] != len(observed)
    ):
        raise bad_value("associate", "starts", f"rise from 0 to the {len(observed)} observations", bounds.tolist())
    if candidates is not None and candidates.shape != shape:
        raise bad_value("associate", "candidates", f"have shape {shape}", candidates.shape)
    found = affinities(reference, observed)
    column, score, margin = np.empty(shape, dtype=np.int64), np.empty(shape), np.empty(shape)
    allowed = None if candidates is None else np.ascontiguousarray(candidates, dtype=bool)
    core.assign_spans(found.scores, bounds, allowed, MIN_AFFINITY, column, score, margin)
    frame, row = np.nonzero(column >= 0)
    position = column[frame, row]
    cosine = np.full(shape, np.nan)
    cosine[frame, row] = found.cosines[row, position]
    unmatched = np.ones(len(observed), dtype=bool)
    unmatched[position] = False
    with np.errstate(invalid="ignore"):
        return Association(column, cosine, score, margin, margin < AMBIGUITY_MARGIN, unmatched)
