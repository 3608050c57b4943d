# SPDX-License-Identifier: Apache-2.0
"""One frame of OPIS as the released evaluator's way of working has it: lists, one pair and one point at a time.

Written from the definitions, for comparison alone: cosines by generator sums, a shortest-path assignment with one null
column a reference, and every object classified before and after the assignment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Point = Sequence[float]


def opis_frame(
    references: Sequence[dict[str, Any]],
    objects: Sequence[dict[str, Any]],
    points: Sequence[Sequence[Sequence[Any]]],
    matches: Sequence[Sequence[Any]],
    size: tuple[int, int],
) -> tuple[list[int], list[str], list[float], list[float]]:
    """The observation of each reference (-1: none), its state, its identity and its static structure (NaN: none)."""
    first = [_projected(*queries, size) for queries in points]
    rows = [i for i, state in enumerate(first) if state not in ("outside_view", "occluded", "too_small")]
    scores = [[_affinity(references[i], one) for one in objects] for i in rows]
    cost = [[1.0 - s for s in row] + [0.65] * len(rows) for row in scores]
    pairs = [-1] * len(references)
    for i, row, column in zip(rows, scores, _assigned(cost), strict=True):
        best = max([s for k, s in enumerate(row) if k != column] + [0.35])
        _ = (row[column] if column < len(objects) else 0.35) - best  # the margin, which flags ambiguity
        if column < len(objects) and row[column] >= 0.35:
            pairs[i] = column
    states, identities, structures = [], [], []
    for i, column in enumerate(pairs):
        state = _projected(*points[i], size)
        if column >= 0 and state not in ("outside_view", "occluded", "too_small"):
            state = "expected_visible" if _area(objects[column]["box"], size) >= 16 else "too_small"
        seen = column >= 0 and state == "expected_visible"
        cosine = _cosine(references[i]["embedding"], objects[column]["embedding"]) if seen else math.nan
        states.append(state)
        identities.append(max(0.0, cosine) if seen else math.nan)
        structures.append(_structure(references[i]["box"], objects[column]["box"], matches) if seen else math.nan)
    return pairs, states, identities, structures


def _cosine(a: Point, b: Point) -> float:
    dot = sum(float(x) * float(y) for x, y in zip(a, b, strict=True))
    lengths = math.sqrt(sum(float(x) * float(x) for x in a)) * math.sqrt(sum(float(y) * float(y) for y in b))
    return dot / lengths


def _affinity(reference: dict[str, Any], one: dict[str, Any]) -> float:
    cosine = _cosine(reference["embedding"], one["embedding"])
    if not all(math.isfinite(x) for vector in (reference["embedding"], one["embedding"]) for x in vector):
        return 0.0
    if cosine < 0.05:
        return 0.0
    category = 1.0 if reference["category"] == one["category"] else 0.0
    return (0.65 * (cosine + 1.0) / 2.0 + 0.10 * category) / 0.75


def _assigned(cost: list[list[float]]) -> list[int]:
    """The column of each row, at the least total: shortest augmenting paths; at least as many columns as rows."""
    n, m = len(cost), len(cost[0]) if cost else 0
    row_price, column_price, owner = [0.0] * (n + 1), [0.0] * (m + 1), [0] * (m + 1)
    for row in range(1, n + 1):
        owner[0], column = row, 0
        distance, done, before = [math.inf] * (m + 1), [False] * (m + 1), [0] * (m + 1)
        while owner[column]:
            done[column], current = True, owner[column]
            step, following = math.inf, 0
            for j in range(1, m + 1):
                if done[j]:
                    continue
                reduced = cost[current - 1][j - 1] - row_price[current] - column_price[j]
                if reduced < distance[j]:
                    distance[j], before[j] = reduced, column
                if distance[j] < step:
                    step, following = distance[j], j
            for j in range(m + 1):
                if done[j]:
                    row_price[owner[j]] += step
                    column_price[j] -= step
                else:
                    distance[j] -= step
            column = following
        while column:
            owner[column] = owner[before[column]]
            column = before[column]
    columns = [-1] * n
    for j in range(1, m + 1):
        if owner[j]:
            columns[owner[j] - 1] = j - 1
    return columns


def _projected(pixels: Sequence[Point], depth: Point, seen: Point, trust: Point, size: tuple[int, int]) -> str:
    n = len(depth)
    inside = [k for k in range(n) if 0 <= pixels[k][0] < size[0] and 0 <= pixels[k][1] < size[1] and depth[k] > 0]
    if len(inside) / n < 0.30:
        return "outside_view"
    if _hull([tuple(pixels[k]) for k in inside]) < 16:
        return "too_small"
    known = [k for k in inside if math.isfinite(seen[k]) and seen[k] > 0 and trust[k] >= 0.65]
    if len(known) / len(inside) < 0.70:
        return "evaluator_failure"
    hidden = sum(seen[k] < 0.95 * depth[k] for k in known)
    if (len(known) - hidden) / n >= 0.30:
        return "expected_visible"
    return "occluded" if hidden / n >= 0.70 else "evaluator_failure"


def _hull(points: list[tuple[float, ...]]) -> float:
    ordered = sorted(points)

    def half(sequence: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
        chain: list[tuple[float, ...]] = []
        for p in sequence:
            while len(chain) >= 2:
                (ax, ay), (bx, by) = chain[-2:]
                if (bx - ax) * (p[1] - ay) - (by - ay) * (p[0] - ax) > 0:
                    break
                chain.pop()
            chain.append(p)
        return chain[:-1]

    ring = half(ordered) + half(ordered[::-1])
    return sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(ring, ring[1:] + ring[:1], strict=True)) / 2


def _area(box: Point, size: tuple[int, int]) -> float:
    width = min(box[2], size[0]) - max(box[0], 0.0)
    return max(width, 0.0) * max(min(box[3], size[1]) - max(box[1], 0.0), 0.0)


def _structure(reference_box: Point, observed_box: Point, matches: Sequence[Sequence[Any]]) -> float:
    def inside(point: Point, box: Point) -> bool:
        return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]

    chosen = sorted(
        residual
        for a, b, residual in zip(*matches, strict=True)
        if inside(a, reference_box) and inside(b, observed_box)
    )
    if len(chosen) < 4:
        return math.nan
    median = (chosen[(len(chosen) - 1) // 2] + chosen[len(chosen) // 2]) / 2
    diagonal = math.hypot(observed_box[2] - observed_box[0], observed_box[3] - observed_box[1])
    return math.exp(-median / diagonal / 0.05)
