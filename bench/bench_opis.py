# SPDX-License-Identifier: Apache-2.0
"""A whole OPIS case: association, visibility and scoring. The rival is the same arithmetic, object by object.

The rival follows the definitions as the released evaluator does: Python lists, one cosine at a time, a shortest-path
assignment in pure Python, and visibility point by point. It is timed on a part of the frames.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wmb_fast.protocols import opis

from ._harness import Case, Contender
from ._opis_frame import opis_frame

FRAMES, OBJECTS, DIMENSIONS, POINTS, MATCHES = 64, 100, 384, 128, 512
SIZE = (832, 480)


def cases(full: bool) -> Iterator[Case]:
    made = case(FRAMES, OBJECTS)
    rival_frames = 4 if full else 1
    want = opis.of_rows(opis.observe(made))

    def ours() -> opis.Components:
        return opis.of_rows(opis.observe(made))

    def verify(found: opis.Components) -> str:
        return "" if found == want else f"{found}, not {want}"

    records = as_records(made, rival_frames)
    part = opis.observe(made)

    def rival() -> list[Any]:
        return [opis_frame(*frame) for frame in records]

    def verify_rival(frames: list[Any]) -> str:
        for t, (pairs, states, identities, structures) in enumerate(frames):
            observed = part.observed[t] - made.observations.starts[t]
            if [int(o) if part.observed[t, i] >= 0 else -1 for i, o in enumerate(observed)] != pairs:
                return f"frame {t}: another assignment"
            if [opis.State(int(s)).name.lower() for s in part.sighting.state[t]] != states:
                return f"frame {t}: another visibility"
            for mine, theirs in ((part.identity[t], identities), (part.geometry[t], structures)):
                if not np.allclose(mine, theirs, atol=1e-6, equal_nan=True):
                    return f"frame {t}: other scores"
        return ""

    name = f"{FRAMES} frames, {OBJECTS} objects, {DIMENSIONS} dimensions, {POINTS} points, {MATCHES} matches"
    contenders = [
        Contender("wmb_fast", ours, verify),
        Contender("pure Python", rival, verify_rival, "-", share=rival_frames / FRAMES),
    ]
    yield Case("opis", name, contenders, 1.0, "calls/s")


def case(n_frames: int, n_objects: int) -> opis.Case:
    """Objects that are seen, somewhat changed, by a camera that moves a little; a tenth of them is hidden."""
    rng = np.random.default_rng(0)
    corner = rng.uniform([0, 0], [SIZE[0] - 80, SIZE[1] - 80], (n_objects, 2))
    boxes = np.concatenate([corner, corner + rng.uniform(30, 80, (n_objects, 2))], axis=1)
    embeddings = rng.standard_normal((n_objects, DIMENSIONS)).astype(np.float32)
    bank = opis.Bank(
        tuple(f"o{i:03}" for i in range(n_objects)),
        opis.Described.of_arrays(embeddings, np.arange(n_objects) % 20),
        boxes,
        (opis.Track.STATIC,) * n_objects,
        np.ones(n_objects, dtype=bool),
        (None,) * n_objects,
        (None,) * n_objects,
    )
    shift = np.cumsum(rng.normal(0, 1, (n_frames, 1, 2)), axis=0)
    return opis.Case(
        bank,
        _observations(rng, embeddings, boxes, shift),
        np.ones(n_frames, dtype=bool),
        _projections(rng, boxes, shift),
        [_matches(rng, step) for step in shift],
    )


def _observations(rng: Any, embeddings: Any, boxes: Any, shift: Any) -> opis.Observations:
    n_frames, n_objects = len(shift), len(boxes)
    noise = rng.standard_normal((n_frames, *embeddings.shape)).astype(np.float32)
    seen = (embeddings + 0.6 * noise).reshape(-1, embeddings.shape[1])
    return opis.Observations(
        tuple(f"w{t}" for t in range(n_frames)),
        np.arange(n_frames) * 8,
        np.tile(np.array(SIZE, dtype=np.float64), (n_frames, 1)),
        np.arange(n_frames) / 8.0 + 1.0,
        np.arange(n_frames + 1) * n_objects,
        tuple(f"x{i:03}" for _ in range(n_frames) for i in range(n_objects)),
        (None,) * (n_frames * n_objects),
        (boxes + np.tile(shift, 2)).reshape(-1, 4),
        opis.Described.of_arrays(seen, np.tile(np.arange(n_objects) % 20, n_frames)),
    )


def _projections(rng: Any, boxes: Any, shift: Any) -> opis.Projections:
    n_frames, n_objects = len(shift), len(boxes)
    inside = rng.uniform(0, 1, (n_objects, POINTS, 2))
    points = boxes[:, None, :2] + inside * (boxes[:, None, 2:] - boxes[:, None, :2])
    pixels = (points + shift[:, :, None]).reshape(-1, POINTS, 2)
    depth = np.tile(rng.uniform(1, 5, (n_objects, POINTS)), (n_frames, 1))
    hidden = np.tile((rng.random((n_objects, 1)) < 0.1), (n_frames, 1))
    n = n_frames * n_objects
    return opis.Projections(
        np.repeat(np.arange(n_frames), n_objects),
        np.tile(np.arange(n_objects), n_frames),
        pixels,
        depth,
        depth * np.where(hidden, 0.5, 1.0),
        np.ones(depth.shape),
        np.full(n, POINTS),
        np.full(n, 0.9),
        np.ones(n, dtype=bool),
        np.ones(n, dtype=bool),
    )


def _matches(rng: Any, step: Any) -> opis.Correspondences:
    pixels = rng.uniform(0, SIZE, (MATCHES, 2))
    return opis.Correspondences(pixels, pixels + step, rng.exponential(1.0, MATCHES))


def as_records(made: opis.Case, n_frames: int) -> list[tuple[Any, ...]]:
    """The first frames as the rival takes them: lists."""
    references = [
        {"embedding": e.tolist(), "category": int(c), "box": b.tolist()}
        for e, c, b in zip(made.bank.described.embeddings, made.bank.described.categories, made.bank.boxes, strict=True)
    ]
    seen, told = made.observations, made.projections
    assert isinstance(told, opis.Projections)
    frames = []
    for t in range(n_frames):
        first, last = seen.starts[t : t + 2].tolist()
        objects = [
            {"embedding": e.tolist(), "category": int(c), "box": b.tolist()}
            for e, c, b in zip(
                seen.described.embeddings[first:last],
                seen.described.categories[first:last],
                seen.boxes[first:last],
                strict=True,
            )
        ]
        rows = np.flatnonzero(told.frame == t)
        points = [
            [told.pixels[r].tolist(), told.depth[r].tolist(), told.seen_depth[r].tolist(), told.confidence[r].tolist()]
            for r in rows
        ]
        matches = made.matches[t]
        assert matches is not None
        found = [matches.reference.tolist(), matches.current.tolist(), matches.residual.tolist()]
        frames.append((references, objects, points, found, SIZE))
    return frames
