# SPDX-License-Identifier: Apache-2.0
"""cosine_matrix, cosine_pairs and verify_identity against NumPy, torch and NumKong, from one pair to all pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import wmb_fast as wmb

from . import _rivals
from ._harness import Case, Contender


def cases(full: bool) -> Iterator[Case]:
    """One pair (the overhead of a call), many pairs, a small gallery, all pairs, all pairs of one set."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 512), dtype=np.float32)
    yield Case(
        "cosine_pairs",
        "one pair of 512 float32",
        [
            Contender("wmb_fast", lambda: wmb.cosine_pairs(x, y), _close(wmb.reference.cosine_pairs(x, y))),
            *_rivals.contender("numkong", lambda nk: nk.angular(x, y), _close(1 - wmb.reference.cosine_pairs(x, y))),
            *_rivals.contender(
                "numpy",
                lambda np: np.dot(x, y) / np.sqrt(np.dot(x, x) * np.dot(y, y)),
                _close(wmb.reference.cosine_pairs(x, y)),
            ),
        ],
        1,
        "calls/s",
    )
    n = 100_000 if full else 20_000
    a, b = rng.standard_normal((2, n, 512), dtype=np.float32)
    right = _close(wmb.reference.cosine_pairs(a[:1000], b[:1000]))
    yield Case(
        "cosine_pairs",
        f"{n}x512 float32",
        [
            Contender("wmb_fast", lambda: wmb.cosine_pairs(a, b), right),
            *_rivals.contender("numpy", lambda np: _rivals.numpy_cosine_pairs(a, b), right),
            *_rivals.contender("torch", lambda torch: _rivals.torch_cosine_pairs(torch, a, b), right),
        ],
        a.nbytes + b.nbytes + 4.0 * n,
        "GB/s",
    )
    faces = rng.standard_normal((493, 512), dtype=np.float32)
    yield Case(
        "verify_identity",
        "493x512 float32 against one",
        [
            Contender(
                "wmb_fast",
                lambda: wmb.verify_identity(faces, faces[0], threshold=0.3).score,
                _close(wmb.reference.cosine_pairs(faces, faces[0])),
            ),
            *_rivals.contender(
                "numpy",
                lambda _: _rivals.numpy_verify(faces, faces[0]),
                _close(wmb.reference.cosine_pairs(faces, faces[0])),
                what="face by face",
            ),
        ],
        float(faces.nbytes),
        "GB/s",
    )
    sizes = [(493, 5, 512), (10_000, 10_000, 512) if full else (2500, 2500, 512)]
    for n, m, dim in sizes:
        p, q = rng.standard_normal((n, dim), dtype=np.float32), rng.standard_normal((m, dim), dtype=np.float32)
        yield _matrix(p, q)
    yield _symmetric(p)


def _matrix(a: Any, b: Any) -> Case:
    right = _close(wmb.reference.cosine_matrix(a[:50], b))
    work = 2.0 * len(a) * len(b) * a.shape[1]
    contenders = [
        Contender("wmb_fast", lambda: wmb.cosine_matrix(a, b), right),
        *_rivals.contender("numpy", lambda _: _rivals.numpy_cosine_matrix(a, b), right),
        *_rivals.contender("torch", lambda torch: _rivals.torch_cosine_matrix(torch, a, b), right),
    ]
    if work < 1e9:
        contenders += _rivals.contender(
            "numkong", lambda nk: 1 - np.asarray(nk.cdist(a, b, metric="angular")), right, what="cdist"
        )
    return Case("cosine_matrix", f"{len(a)}x{len(b)}x{a.shape[1]} float32", contenders, work, "GFLOP/s")


def _symmetric(a: Any) -> Case:
    right = _close(wmb.reference.cosine_matrix(a[:50], a))
    contenders = [
        Contender("wmb_fast", lambda: wmb.cosine_matrix(a), right),
        *_rivals.contender("numpy", lambda _: _rivals.numpy_cosine_matrix(a, a), right),
    ]
    work = 2.0 * len(a) ** 2 * a.shape[1]
    return Case("cosine_matrix symmetric", f"{len(a)}x{a.shape[1]} float32", contenders, work, "GFLOP/s")


def _close(truth: Any) -> Callable[[Any], str]:
    """Within 2e-6 of the float64 answer, which may be of the first rows alone."""

    def check(got: Any) -> str:
        error = float(np.max(np.abs(np.asarray(got, dtype=np.float64).ravel()[: np.size(truth)] - np.ravel(truth))))
        return "" if error <= 2e-6 else f"off by {error:.2g}"

    return check


def device_cases(full: bool, device: Any) -> Iterator[Case]:
    """All pairs of rows on a GPU."""
    from . import _device, _rivals_torch

    n, dim = (8192, 512) if full else (65, 32)
    sets = _device.sets_of(lambda rng: rng.standard_normal((2, n, dim), dtype=np.float32), device)
    right = _device.close([wmb.cosine_matrix(*(x.cpu().numpy() for x in sets[0]))], 2e-6)
    turn, other = _device.Turn(sets), _device.Turn(sets)
    sides = [
        Contender("wmb_fast", lambda: [wmb.cosine_matrix(*turn())], right),
        *_rivals.contender("torch", lambda _: [_rivals_torch.cosine_matrix(*other())], right),
    ]
    yield Case("cosine_matrix", f"{n}x{n}x{dim} float32", sides, 2.0 * n * n * dim, "GFLOP/s")
