# SPDX-License-Identifier: Apache-2.0
"""The public ops on tensors that count as on a device: the answers that arrays get, in every form of batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from every_op import assert_same
from similarity import rows

import wmb_fast as wmb

LENGTHS = np.array([3, 0])
LENGTHS_B = np.array([[10], [4]])


def tensors(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    return [tensors(item) for item in value] if isinstance(value, list) else value


def agree(op: Any, *arguments: Any, **options: Any) -> None:
    want = op(*arguments, **options)
    got = op(*tensors(list(arguments)), **{name: tensors(x) for name, x in options.items()})
    of_items = isinstance(want, list) and isinstance(want[0], wmb.Matches)
    for x, y in zip(got, want, strict=True) if of_items else [(got, want)]:
        assert_same(x, y)


@pytest.fixture(params=["single", "padded", "ragged"])
def sets(request: pytest.FixtureRequest) -> tuple[Any, Any, dict[str, Any]]:
    """Two sets of rows, and their lengths."""
    a, b = rows(20, 5, 1), rows(20, 5, 2)
    if request.param == "single":
        return a, b, {}
    if request.param == "ragged":
        return [a[:3], a[3:3], a[3:]], [b[:9], b[9:10], b[10:]], {}
    return a.reshape(2, 10, 5), b.reshape(2, 1, 10, 5), {"lengths": LENGTHS, "lengths_b": LENGTHS_B}


def test_matrix(sets: tuple[Any, Any, dict[str, Any]]) -> None:
    a, b, lengths = sets
    agree(wmb.cosine_matrix, a, b, **lengths)
    agree(wmb.cosine_matrix, a, **{name: x for name, x in lengths.items() if name == "lengths"})


def test_matches(sets: tuple[Any, Any, dict[str, Any]]) -> None:
    a, b, lengths = sets
    agree(wmb.nearest, a, b, **lengths)
    agree(wmb.mutual_matches, a, b, min_score=0.3, **lengths)
    agree(wmb.patch_best_match, a, b, **lengths)


def test_topk(sets: tuple[Any, Any, dict[str, Any]]) -> None:
    a, b, lengths = sets
    named = {"gallery_lengths" if name == "lengths_b" else name: x for name, x in lengths.items()}
    agree(wmb.topk, a, b, 3, **named)
    agree(wmb.topk, a, b, 65, **named)


def test_pairs_and_identities() -> None:
    a, b = rows(30, 5, 1), rows(30, 5, 2)
    agree(wmb.cosine_pairs, a[2], b[2])
    agree(wmb.cosine_pairs, a.reshape(3, 10, 5), b.reshape(3, 10, 5)[:, :1])
    agree(wmb.cosine_pairs, a[:, :0], b[:, :0])
    agree(wmb.verify_identity, a, b[2], threshold=0.2)
    agree(wmb.verify_identity, [a[:3], a[3:]], [b[:3], b[3:]], threshold=0.2)
    found, want = wmb.verify_identity(*tensors([a, b]), threshold=0.2), wmb.verify_identity(a, b, threshold=0.2)
    assert [found.reason(i) for i in range(30)] == [want.reason(i) for i in range(30)]


def test_lengths_of_the_host() -> None:
    a = rows(20, 5, 1).reshape(2, 10, 5)
    assert_same(wmb.cosine_matrix(torch.from_numpy(a), lengths=LENGTHS), wmb.cosine_matrix(a, lengths=LENGTHS))
    with pytest.raises(wmb.ArgumentError, match="cosine_matrix: lengths must lie between 0 and 10, got 0 to 11"):
        wmb.cosine_matrix(torch.from_numpy(a), lengths=[11, 0])


def test_batches_without_lengths() -> None:
    a, b = rows(20, 5, 1).reshape(2, 10, 5), rows(10, 5, 2)
    agree(wmb.nearest, a, b)
    agree(wmb.mutual_matches, a, b)


def test_half_precision_gives_float32() -> None:
    a, b = (torch.from_numpy(rows(30, 5, seed)).half() for seed in (1, 2))
    for given in (wmb.nearest(a, b).score, wmb.topk(a, b, 2).score, wmb.cosine_matrix(a, b), wmb.cosine_pairs(a, b)):
        assert given.dtype == torch.float32
