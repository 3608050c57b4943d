# SPDX-License-Identifier: Apache-2.0
"""The compiled passes of OPIS's association against the same in NumPy, pair by pair and frame by frame, bit by bit."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wmb_fast as wmb
from wmb_fast._walls.ext import core
from wmb_fast.protocols import opis
from wmb_fast.protocols.opis.association import NEAR_FLOOR

SEEDS = range(24)
ABSENT = -1


def described(rng: Any, n: int, width: int, seed: int) -> opis.Described:
    """Objects with coarse numbers, so that much ties; some without a direction, an attribute or a category."""
    rows = np.round(rng.standard_normal((n, width)), 1).astype(np.float32 if seed % 2 else np.float64)
    if seed % 4 == 1 and n and width:
        rows[rng.integers(0, n)] = rng.choice([0, np.nan, np.inf])
    dims = rng.integers(0, width + 1, n) if seed % 5 == 2 else np.full(n, width)
    text = rng.integers(-1, 3, (4, n)) if seed % 3 else np.full((4, n), ABSENT)
    number = np.where(rng.random((4, n)) < 0.5, rng.choice([0.0, 0.5, -2.0, 3.0, np.inf], (4, n)), np.nan)
    number[text == ABSENT] = np.nan
    return opis.Described(rows, dims.astype(np.int64), rng.integers(-1, 3, n), text.astype(np.int64), number)


def made(seed: int) -> tuple[opis.Described, opis.Described, np.ndarray, np.ndarray | None]:
    rng = np.random.default_rng(seed)
    n_frames, n_references = int(rng.integers(1, 6)), int(rng.integers(0, 12))
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, 9, n_frames))])
    width = int(rng.choice([0, 1, 3, 16]))
    other = width if seed % 3 else 8
    candidates = None if seed % 3 == 0 else rng.random((n_frames, n_references)) < 0.7
    return described(rng, n_references, width, seed), described(rng, int(starts[-1]), other, seed), starts, candidates


def score_of(a: opis.Described, i: int, b: opis.Described, j: int, cosine: float, kind: Any) -> float:
    """The published mean of one pair; ``cosine`` is NaN where the embeddings cannot be compared."""
    comparable, below = not math.isnan(cosine), False
    total, weight = 0.0, 0.0
    if comparable:
        total, weight = (cosine + 1.0) * (0.65 / 2), 0.65
        below = kind(cosine) < kind(0.05)
        if abs(kind(cosine) - kind(0.05)) < kind(NEAR_FLOOR):
            x, y = a.embeddings[i].tolist(), b.embeddings[j].tolist()
            dot = sum(p * q for p, q in zip(x, y, strict=False))
            lengths = math.sqrt(sum(p * p for p in x)) * math.sqrt(sum(q * q for q in y))
            below = lengths > 0 and 2.0 * ((dot / lengths + 1.0) / 2.0) - 1.0 < 0.05
    alike = []
    for mine, theirs, x, y in zip(
        a.attribute_text[:, i], b.attribute_text[:, j], a.attribute_number[:, i], b.attribute_number[:, j], strict=True
    ):
        if ABSENT in (mine, theirs):
            continue
        with np.errstate(invalid="ignore"):
            nearness = 1.0 - abs(y - x) / max(abs(x), 1.0)
        alike.append(float(mine == theirs) if math.isnan(nearness) else max(nearness, 0.0))
    if alike:
        total, weight = total + 0.25 * (sum(alike) / len(alike)), weight + 0.25
    if below or (not comparable and not alike):
        return 0.0
    mine, theirs = int(a.categories[i]), int(b.categories[j])
    total += 0.05 if ABSENT in (mine, theirs) else 0.10 * (mine == theirs)
    is_usable = bool(np.isfinite(a.embeddings[i]).all() and np.isfinite(b.embeddings[j]).all())
    return min(total / (weight + 0.10), 1.0) if is_usable else 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_affinities_pair_by_pair(seed: int) -> None:
    a, b, _, _ = made(seed)
    found = opis.affinities(a, b)
    kind = np.result_type(a.embeddings, b.embeddings).type
    want = [[score_of(a, i, b, j, float(found.cosines[i, j]), kind) for j in range(len(b))] for i in range(len(a))]
    np.testing.assert_array_equal(found.scores, np.array(want).reshape(len(a), len(b)), strict=True)


@pytest.mark.parametrize(("kind", "reach"), [(np.float32, 2e-8), (np.float64, 2e-16)])
def test_a_cosine_at_the_floor_is_summed_in_order(kind: Any, reach: float) -> None:
    """Embeddings that make cosines within a rounding of 0.05, on either side; some change sides as they are summed."""
    rng = np.random.default_rng(0)
    one, other = np.linalg.qr(rng.standard_normal((64, 2)))[0].T
    cosine = 0.05 + rng.uniform(-reach, reach, (301, 1))
    a = opis.Described.of_arrays(one[None].astype(kind), [0])
    b = opis.Described.of_arrays((cosine * one + np.sqrt(1 - cosine**2) * other).astype(kind), np.zeros(301))
    found = opis.affinities(a, b)
    want = [score_of(a, 0, b, j, float(found.cosines[0, j]), kind) for j in range(301)]
    np.testing.assert_array_equal(found.scores[0], want)
    assert ((found.scores[0] == 0) != (found.cosines[0] < kind(0.05))).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_association_frame_by_frame(seed: int) -> None:
    a, b, starts, candidates = made(seed)
    found, scores = opis.associate(a, b, starts, candidates=candidates), opis.affinities(a, b).scores
    for t, (first, last) in enumerate(itertools.pairwise(starts.tolist())):
        allowed = np.ones(len(a), dtype=bool) if candidates is None else candidates[t]
        rows, here = np.flatnonzero(allowed), scores[allowed, first:last]
        chosen = wmb.assign(1.0 - here, null_cost=1.0 - 0.35, ties="opis", backend="reference")
        observed, score, margin = np.full(len(a), -1), np.full(len(a), np.nan), np.full(len(a), np.nan)
        for i, row, j in zip(rows, here, chosen.tolist(), strict=True):
            taken = j >= 0 and row[j] >= 0.35
            if taken:
                observed[i], score[i] = first + j, row[j]
            others = np.delete(row, j) if taken else row
            if last > first:
                margin[i] = (row[j] if taken else 0.35) - max([0.35, *others.tolist()])
        np.testing.assert_array_equal(found.observed[t], observed)
        np.testing.assert_array_equal(found.score[t], score)
        np.testing.assert_array_equal(found.margin[t], margin)
    assert not found.unmatched[found.observed[found.observed >= 0]].any()


@pytest.fixture
def restored() -> Iterator[None]:
    before = core.num_threads(), core.simd_levels()[-1]
    yield
    core.set_num_threads(before[0])
    core.set_simd_level(before[1])


@pytest.mark.parametrize("simd", core.simd_levels())
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.usefixtures("restored")
def test_same_bits_for_any_threads_level_and_split(simd: str, threads: int) -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((37, 19)).astype(np.float32)
    seen = np.concatenate([rows + rng.normal(0, 0.7, rows.shape).astype(np.float32) for _ in range(11)])
    a, b = (opis.Described.of_arrays(x, np.arange(len(x)) % 5) for x in (rows, seen))
    starts = np.arange(12) * 37
    core.set_num_threads(1)
    core.set_simd_level("portable")
    want = opis.associate(a, b, starts)
    core.set_num_threads(threads)
    core.set_simd_level(simd)
    found = opis.associate(a, b, starts)
    for t in range(11):
        part = opis.Described.of_arrays(seen[37 * t : 37 * t + 37], np.arange(37 * t, 37 * t + 37) % 5)
        alone = opis.associate(a, part, [0, 37])
        for name in ("cosine", "score", "margin"):
            whole = getattr(want, name)[t]
            np.testing.assert_array_equal(getattr(found, name)[t], whole)
            np.testing.assert_array_equal(getattr(alone, name)[0], whole)
        np.testing.assert_array_equal(found.observed[t], want.observed[t])
        np.testing.assert_array_equal(alone.observed[0] + np.where(alone.observed[0] >= 0, 37 * t, 0), want.observed[t])


@pytest.mark.parametrize("simd", core.simd_levels())
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.usefixtures("restored")
def test_same_bits_of_whatever_is_described(simd: str, seed: int) -> None:
    a, b, starts, candidates = made(seed)
    core.set_num_threads(1)
    core.set_simd_level("portable")
    want = opis.associate(a, b, starts, candidates=candidates), opis.affinities(a, b)
    core.set_num_threads(3)
    core.set_simd_level(simd)
    found = opis.associate(a, b, starts, candidates=candidates), opis.affinities(a, b)
    for mine, theirs in zip(found, want, strict=True):
        for name, value in vars(theirs).items():
            np.testing.assert_array_equal(getattr(mine, name), value, strict=True)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_cosines_are_those_of_the_matrix(kind: Any) -> None:
    """More references than are packed at once, more observations than are compared at once, two chains of terms."""
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((431, 150)).astype(kind), rng.standard_normal((700, 150)).astype(kind)
    b[::3] = a[rng.integers(0, len(a), len(b[::3]))] + b[::3] / 2
    whole = wmb.cosine_matrix(a, b)
    references, seen = (opis.Described.of_arrays(x) for x in (a, b))
    np.testing.assert_array_equal(opis.affinities(references, seen).cosines, whole, strict=True)
    found = opis.associate(references, seen, [0, 300, 301, 700])
    frame, row = np.nonzero(found.observed >= 0)
    assert len(row) > 200
    np.testing.assert_array_equal(found.cosine[frame, row], whole[row, found.observed[frame, row]])


def test_a_pair_does_not_depend_on_the_others() -> None:
    """An embedding too short to have a direction is none, whether or not another is missing altogether."""
    reference = opis.Described.of_arrays(np.array([[1.0, 0.0]]), [0])
    for others in ([[0.0, 1.0]], [[0.0, 0.0]], [[np.nan, 0.0]]):
        found = opis.affinities(reference, opis.Described.of_arrays(np.array([[1e-12, 0.0], [2e-12, 0.0], *others])))
        assert found.scores[0, :2].tolist() == [0.0, (0.65 + 0.05) / 0.75]
        np.testing.assert_array_equal(found.cosines[0, :2], [np.nan, 1.0])


def test_what_is_described_in_parts_of_unequal_length() -> None:
    one = opis.Described.of_arrays(np.eye(3), [0, 1, 2])
    with pytest.raises(wmb.ArgumentError, match=r"Described: embeddings, .* must be of 3 objects and 4 attributes"):
        dataclasses.replace(one, categories=one.categories[:2])
    with pytest.raises(wmb.ArgumentTypeError, match="embeddings must have dtype float32 or float64, got int64"):
        dataclasses.replace(one, embeddings=np.eye(3, dtype=np.int64))
