# SPDX-License-Identifier: Apache-2.0
"""Objects as association sees them: embedding, attributes and category, each as arrays."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_type, bad_value
from .constants import ATTRIBUTES

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
ABSENT = -1  # the code of text that is not there


@dataclass(frozen=True)
class Described:
    """N objects.

    Attributes:
        embeddings: (N, D), float32 or float64; what is shorter than D is filled with zeros.
        dims: (N,) int64: the length of each embedding; 0 where there is none. Two of unequal length are not compared.
        categories: (N,) int64 codes, -1 where there is none. Both sides of a comparison share their codes.
        attribute_text: (A, N) int64 codes, -1 where the object lacks the attribute.
        attribute_number: (A, N) float64, NaN where the attribute is no number.
    """

    embeddings: Array
    dims: npt.NDArray[np.int64]
    categories: npt.NDArray[np.int64]
    attribute_text: npt.NDArray[np.int64]
    attribute_number: Floats

    def __post_init__(self) -> None:
        n, per_attribute = len(self.dims), (len(ATTRIBUTES), len(self.dims))
        got = [x.shape for x in (self.categories, self.attribute_text, self.attribute_number)]
        if self.embeddings.ndim != 2 or len(self.embeddings) != n or got != [(n,), per_attribute, per_attribute]:
            parts = "embeddings, categories, attribute_text and attribute_number"
            wanted = f"be of {n} objects and {len(ATTRIBUTES)} attributes"
            raise bad_value("Described", parts, wanted, f"shapes {[self.embeddings.shape, *got]}")
        if self.embeddings.dtype not in (np.float32, np.float64):
            raise bad_type("Described", "embeddings", "have dtype float32 or float64", str(self.embeddings.dtype))

    def __len__(self) -> int:
        return len(self.dims)

    @classmethod
    def of_arrays(cls, embeddings: Array, categories: npt.ArrayLike | None = None) -> Described:
        """Objects that all have an embedding (N, D), and perhaps category codes (N,), and no attributes."""
        embeddings = np.asarray(embeddings)
        embeddings = embeddings if embeddings.dtype.kind == "f" else embeddings.astype(np.float64)
        n = len(embeddings)
        codes = np.full(n, ABSENT, np.int64) if categories is None else np.asarray(categories, np.int64)
        if embeddings.ndim != 2 or codes.shape != (n,):
            got = f"shapes {embeddings.shape} and {codes.shape}"
            raise bad_value("Described", "embeddings and categories", "have shapes (N, D) and (N,)", got)
        dims = np.full(n, embeddings.shape[1], np.int64)
        nothing = np.full((len(ATTRIBUTES), n), ABSENT, np.int64)
        return cls(embeddings, dims, codes, nothing, np.full(nothing.shape, np.nan))


def describe(
    embeddings: Sequence[Sequence[float] | Array | None],
    categories: Sequence[str | None],
    attributes: Sequence[Mapping[str, Any]],
    vocabulary: MutableMapping[str, int],
) -> Described:
    """Objects as arrays.

    Args:
        embeddings: One an object, or ``None``.
        categories: One an object, or ``None``; upper and lower case are the same.
        attributes: Of these ``color``, ``shape``, ``texture`` and ``mark`` count; numbers are compared as numbers.
        vocabulary: Text to code; grows. What is to be compared is described with one vocabulary.

    Example:
        >>> made = describe([[1.0, 0.0], None], ["Cup", "cup"], [{"color": "red"}, {"color": 3}], {})
        >>> made.dims, made.categories, made.attribute_text[0], made.attribute_number[0]
        (array([2, 0]), array([0, 0]), array([1, 2]), array([nan,  3.]))
    """
    n = len(embeddings)
    rows = [None if row is None else np.asarray(row) for row in embeddings]
    dims = np.array([0 if row is None else row.size for row in rows], dtype=np.int64)
    is_single = any(row is not None for row in rows) and all(row is None or row.dtype == np.float32 for row in rows)
    values = np.zeros((n, int(dims.max(initial=0))), dtype=np.float32 if is_single else np.float64)
    for i, row in enumerate(rows):
        if row is not None:
            values[i, : row.size] = row.ravel()
    text = np.full((len(ATTRIBUTES), n), ABSENT, dtype=np.int64)
    number = np.full((len(ATTRIBUTES), n), np.nan)
    coded = [_code(category, vocabulary) if category else ABSENT for category in categories]
    for i, told in enumerate(attributes):
        for a, key in enumerate(ATTRIBUTES):
            if key in told:
                text[a, i] = _code(told[key], vocabulary)
                number[a, i] = told[key] if isinstance(told[key], (int, float)) else np.nan
    return Described(values, dims, np.array(coded, dtype=np.int64).reshape(n), text, number)


def _code(value: object, vocabulary: MutableMapping[str, int]) -> int:
    return vocabulary.setdefault(str(value).lower(), len(vocabulary))
