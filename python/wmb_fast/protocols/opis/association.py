# SPDX-License-Identifier: Apache-2.0
"""Which observation is which reference object: a partial one-to-one assignment in every frame, all frames at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from ..._walls.ext import core
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
    [EMBEDDING_WEIGHT, ATTRIBUTE_WEIGHT, CATEGORY_WEIGHT, UNKNOWN_CATEGORY, MIN_COSINE, NEAR_FLOOR, SMALLEST_NORM],
    dtype=np.float64,
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
    category alone says nothing of identity. Embeddings of two lengths, and those no longer than 1e-12, cannot.

    Args:
        reference: R objects.
        observed: N objects, described with the same vocabulary.

    Returns:
        ``scores`` (R, N) float64, ``cosines`` (R, N) in the dtype of the embeddings.

    Numerics:
        Cosines as of :func:`~wmb_fast.cosine_matrix`, to the bit; the rest in float64, in the order of the formula.
        Whether a cosine within 1e-6 of the floor reaches it is decided on a sum in the order of the dimensions.

    Source:
        OPIS (arXiv 2609.35052), section 4.1; weights of its released evaluator.

    Example:
        >>> import numpy as np
        >>> one, other = np.array([[1.0, 0.0]]), np.array([[0.6, 0.8]])
        >>> affinities(Described.of_arrays(one, [7]), Described.of_arrays(other, [7])).scores.round(6)
        array([[0.826667]])
    """
    both = _parts(reference, observed)
    shape = len(reference), len(observed)
    scores, cosines = np.empty(shape), np.empty(shape, dtype=both[0].dtype)
    core.mixed_similarity(*both, _SIMILARITY, cosines, scores)  # type: ignore[call-overload]
    return Affinities(scores, cosines)


def _parts(*sets: Described) -> tuple[Array, ...]:
    """What the core reads of two sets: embeddings of one dtype and width; what is shorter is filled with zeros."""
    width = max(objects.embeddings.shape[1] for objects in sets)
    kind = np.result_type(*(objects.embeddings for objects in sets))
    parts: list[Array] = []
    for objects in sets:
        rows, codes = objects.embeddings, (objects.dims, objects.categories, objects.attribute_text)
        padded = rows if rows.shape[1] == width else np.pad(rows, ((0, 0), (0, width - rows.shape[1])))
        parts.append(np.ascontiguousarray(padded, dtype=kind))
        parts += (np.ascontiguousarray(x, dtype=np.int64) for x in codes)
        parts.append(np.ascontiguousarray(objects.attribute_number, dtype=np.float64))
    return tuple(parts)


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
    column, unmatched = np.empty(shape, dtype=np.int64), np.empty(len(observed), dtype=bool)
    cosine, score, margin = np.empty((3, *shape))
    allowed = None if candidates is None else np.ascontiguousarray(candidates, dtype=bool)
    both = _parts(reference, observed)
    core.assign_spans(  # type: ignore[call-overload]
        *both, _SIMILARITY, bounds, allowed, MIN_AFFINITY, column, cosine, score, margin, unmatched
    )
    return Association(column, cosine, score, margin, margin < AMBIGUITY_MARGIN, unmatched)
