# SPDX-License-Identifier: Apache-2.0
"""mutual_matches and patch_best_match against faiss, torch, NumPy and NumKong, and the bare matrix product."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import wmb_fast as wmb

from . import _rivals
from ._harness import Case, Contender

REDUCED = [(1024, 1024, 128), (4096, 4096, 256)]
FULL = [
    (1024, 1024, 128),
    (1024, 1024, 384),
    (4096, 4096, 128),
    (4096, 4096, 256),
    (4096, 4096, 384),
    (4096, 4096, 768),
]


def cases(full: bool) -> Iterator[Case]:
    """Unit rows, because the rivals do not normalise: half of b are noisy copies of rows of a."""
    for n, m, dim in FULL if full else REDUCED:
        rng = np.random.default_rng(n + dim)
        a, b = rng.standard_normal((n, dim), dtype=np.float32), rng.standard_normal((m, dim), dtype=np.float32)
        b[: m // 2] = a[rng.permutation(n)[: m // 2]] + 0.5 * b[: m // 2]
        a /= np.linalg.norm(a, axis=1, keepdims=True)
        b /= np.linalg.norm(b, axis=1, keepdims=True)
        yield from _of(a, b)
    for frames, patches, dim in [(24, 256, 384), (24, 1369, 768)] if full else [(8, 256, 384)]:
        yield _patches(np.random.default_rng(dim).standard_normal((frames, patches, dim), dtype=np.float32))


def _patches(tokens: Any) -> Case:
    """All adjacent pairs of a clip's frames."""
    a, b = tokens[:-1], tokens[1:]
    truth = _rivals.numpy_patches(a[:2].astype(np.float64), b[:2].astype(np.float64))
    contenders = [
        Contender("wmb_fast", lambda: wmb.patch_best_match(a, b), _close(truth)),
        *_rivals.contender("numpy", lambda _: _rivals.numpy_patches(a, b), _close(truth), what="pair by pair"),
        *_rivals.contender("torch", lambda torch: _rivals.torch_patches(torch, a, b), _close(truth), what="bmm"),
    ]
    name = f"{len(a)} pairs of {a.shape[1]}x{a.shape[2]} float32"
    return Case("patch_best_match", name, contenders, 2.0 * a.size * a.shape[1], "GFLOP/s")


def _of(a: Any, b: Any) -> Iterator[Case]:
    name, work = f"{len(a)}x{len(b)}x{a.shape[1]} float32", 2.0 * len(a) * len(b) * a.shape[1]
    truth = _rivals.numpy_mutual(a.astype(np.float64), b.astype(np.float64))
    product = np.empty((len(a), len(b)), dtype=np.float32)
    floor = _rivals.contender("numpy", lambda np: np.matmul(a, b.T, out=product), None, what="sgemm alone")
    mutual = [
        Contender("wmb_fast", lambda: _pairs(wmb.mutual_matches(a, b)), _same_as(truth)),
        *floor,
        *_rivals.contender("numpy", lambda _: _rivals.numpy_mutual(a, b), _same_as(truth), what="sgemm + argmax"),
        *_rivals.contender("faiss", lambda faiss: _rivals.faiss_mutual(faiss, a, b), _same_as(truth), what="knn"),
        *_rivals.contender("numkong", lambda nk: _rivals.numkong_mutual(nk, a, b), _same_as(truth), what="dots_packed"),
        *_rivals.contender("torch", lambda torch: _rivals.torch_mutual(torch, a, b), _same_as(truth), what="mm + max"),
    ]
    yield Case("mutual_matches", name, mutual, work, "GFLOP/s")
    ratio = [
        Contender("wmb_fast", lambda: _pairs(wmb.mutual_matches(a, b, ratio=0.8)), _within(truth)),
        *floor,
        *_rivals.contender("faiss", lambda faiss: _rivals.faiss_mutual(faiss, a, b, k=2), None, what="knn, 2 nearest"),
    ]
    yield Case("mutual_matches ratio", name, ratio, work, "GFLOP/s")


def _pairs(matches: Any) -> Any:
    return np.stack([matches.index_a, matches.index_b], axis=1)


def _same_as(truth: Any) -> Callable[[Any], str]:
    """Equal to the float64 answer but for near-ties: at most one pair in a thousand may differ."""
    want = {tuple(pair) for pair in truth.tolist()}

    def check(got: Any) -> str:
        differing = want ^ {tuple(pair) for pair in got.tolist()}
        return f"{len(differing)} of {len(want)} pairs differ" if len(differing) > len(want) / 1000 else ""

    return check


def _close(truth: Any) -> Callable[[Any], str]:
    """Within 2e-6 of the float64 answer, which is of the first pairs alone."""

    def check(got: Any) -> str:
        error = float(np.max(np.abs(np.asarray(got, dtype=np.float64)[: len(truth)] - truth)))
        return "" if error <= 2e-6 else f"off by {error:.2g}"

    return check


def _within(truth: Any) -> Callable[[Any], str]:
    """Some of the float64 answer's pairs, near-ties aside."""
    want = {tuple(pair) for pair in truth.tolist()}

    def check(got: Any) -> str:
        extra = {tuple(pair) for pair in got.tolist()} - want
        return f"{len(extra)} pairs are not mutual" if len(extra) > len(want) / 1000 or not len(got) else ""

    return check


def device_cases(full: bool, device: Any) -> Iterator[Case]:
    """Many sets of descriptors on a GPU, in each precision, and the patches of a clip's adjacent frames."""
    from . import _device, _rivals_torch

    batch, n, dim = (16, 8192, 256) if full else (2, 65, 32)
    sets = _device.sets_of(
        lambda rng: [_rivals.unit(rng.standard_normal((batch, n, dim), dtype=np.float32)) for _ in range(2)], device
    )
    for precision in ("float32", "bfloat16"):
        typed = [tuple(x.to(_device.DTYPES[precision]) for x in pair) for pair in sets]
        right = _same_partners(_rivals_torch.mutual(*(x.double().cpu() for x in typed[0])))
        turns = [_device.Turn(typed) for _ in range(3)]
        sides = [
            Contender("wmb_fast", lambda turn=turns[0]: wmb.mutual_matches(*turn()), right),
            *_rivals.contender(
                "torch", lambda _, turn=turns[1]: _rivals_torch.mutual(*turn()), right, what="mm + argmax"
            ),
        ]
        if precision == "float32":
            sides += _rivals.contender(
                "kornia", lambda lib, turn=turns[2]: _rivals_torch.kornia_mutual(lib, *turn()), right
            )
        name = f"{batch} x {n}x{n}x{dim} {precision}"
        yield Case("mutual_matches", name, sides, 2.0 * batch * n * n * dim, "GFLOP/s", precision=precision)
    frames, patches, dim = (64, 1369, 768) if full else (3, 65, 32)
    tokens = _device.sets_of(lambda rng: rng.standard_normal((2, frames, patches, dim), dtype=np.float32), device)
    close = _device.close([wmb.patch_best_match(*(x.cpu().numpy() for x in tokens[0]))], 2e-6)
    ours, theirs = _device.Turn(tokens), _device.Turn(tokens)
    sides = [
        Contender("wmb_fast", lambda: [wmb.patch_best_match(*ours())], close),
        *_rivals.contender("torch", lambda _: [_rivals_torch.patches(*theirs())], close, what="bmm"),
    ]
    yield Case(
        "patch_best_match",
        f"{frames} pairs of {patches}x{dim} float32",
        sides,
        2.0 * frames * patches**2 * dim,
        "GFLOP/s",
    )


def _same_partners(wanted: Any) -> Callable[[Any], str]:
    """The partners of float64's products, but for near-ties: at most one row in a thousand may differ."""

    def check(got: Any) -> str:
        if isinstance(got, list):  # records of matches, one an item
            full = -np.ones(tuple(wanted.shape), dtype=np.int64)
            for row, found in zip(full, got, strict=True):
                row[found.index_a.cpu().numpy()] = found.index_b.cpu().numpy()
            got = full
        else:
            got = got.cpu().numpy()
        differing = int((got != wanted.numpy()).sum())
        return f"{differing} of {got.size} rows differ" if differing > got.size / 1000 else ""

    return check
