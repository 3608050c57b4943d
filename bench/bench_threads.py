# SPDX-License-Identifier: Apache-2.0
"""What a second thread brings: every op on two threads against itself on one, beside a copy on one core and on two.

Wall clock, because process CPU time counts both threads. What is bound by arithmetic should come to 1.8, what is bound
by memory to 0.85 of what the second core brings to a copy in the same turns. Both must give the same bits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import wmb_fast as wmb

from ._harness import Case, Contender

ARITHMETIC, MEMORY = "arithmetic", "memory"


def cases(full: bool) -> Iterator[Case]:
    """One case an op, large enough that a chunk's end does not count."""
    rng = np.random.default_rng(0)
    n = 4096 if full else 2048
    a, b = rng.standard_normal((2, n, 256), dtype=np.float32)
    yield _case("mutual_matches", ARITHMETIC, f"{n}x{n}x256 float32", lambda: wmb.mutual_matches(a, b).index_b)
    yield _case("cosine_matrix", ARITHMETIC, f"{n}x{n}x256 float32", lambda: wmb.cosine_matrix(a, b))
    costs = rng.random((500 if full else 200, 40, 40))
    yield _case("assign", ARITHMETIC, f"{len(costs)} x (40 x 40) random", lambda: wmb.assign(costs))
    values, strata = rng.random((8, 500)), np.repeat(np.arange(10), 50)
    yield _case(
        "bootstrap_ci",
        ARITHMETIC,
        "2000 resamples x 500 cases, 10 strata, 8 models",
        lambda: wmb.bootstrap_ci(values, strata=strata, n=2000).low,
    )
    depth = (2 + rng.random((16, 480, 848))).astype(np.float32)
    camera, pose = np.array([500.0, 500.0, 424.0, 240.0], np.float32), np.eye(4, dtype=np.float32)
    pose[0, 3] = 0.05
    yield _case(
        "depth_agreement",
        ARITHMETIC,
        "16 pairs 480x848 float32 bilinear",
        lambda: wmb.depth_agreement(depth, depth, camera, pose, sampling="bilinear").median_relative_error,
    )
    x = rng.standard_normal((2000, 500, 3))
    y = x + 0.1 * rng.standard_normal(x.shape)
    yield _case("umeyama", MEMORY, "2000x500 float64", lambda: wmb.umeyama(x, y).rotation, 2.0 * x.nbytes)
    yield _case("ate", MEMORY, "2000x500 float64", lambda: wmb.ate(x, y).errors, 2.0 * x.nbytes)
    poses = np.tile(np.eye(4), (400, 500, 1, 1))
    poses[..., :3, 3] = x[:400]
    yield _case(
        "rpe", MEMORY, "200000 poses float64", lambda: wmb.rpe(poses, poses).translation.errors, 2.0 * poses.nbytes
    )
    rows = rng.standard_normal((2, 100_000 if full else 40_000, 512), dtype=np.float32)
    yield _case(
        "cosine_pairs", MEMORY, f"{rows.shape[1]}x512 float32", lambda: wmb.cosine_pairs(*rows), float(rows.nbytes)
    )
    flow = rng.standard_normal((64 if full else 16, 480, 848, 2), dtype=np.float32)
    yield _case(
        "flow_channels",
        MEMORY,
        f"{len(flow)} fields 480x848 float32",
        lambda: wmb.flow_channels(flow).radial,
        float(flow.nbytes),
    )


def _case(op: str, bound: str, name: str, call: Callable[[], Any], n_bytes: float = 48e6) -> Case:
    one = _on(1, call)()

    def same(found: Any) -> str:
        return "" if np.asarray(found).tobytes() == np.asarray(one).tobytes() else "other bits than on one thread"

    source = np.ones(int(n_bytes) // 16)
    copy = np.empty_like(source)
    sides = [
        Contender("wmb_fast, 2 threads", _on(2, call), same),
        Contender("wmb_fast, 1 thread", _on(1, call), same),
        Contender("copy, 2 cores", lambda: _copy_on_two(source, copy), None, np.__version__),
        Contender("copy, 1 core", lambda: np.copyto(copy, source), None, np.__version__),
    ]
    return Case(f"threads: {op}", f"{name} ({bound})", sides, 1.0, "calls/s", threads=2)


def _on(threads: int, call: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> Any:
        wmb.set_num_threads(threads)
        return call()

    return run


def _copy_on_two(source: Any, copy: Any) -> None:
    """Half of a copy on a second thread: NumPy lets go of the interpreter meanwhile."""
    half = source.size // 2
    other = threading.Thread(target=np.copyto, args=(copy[half:], source[half:]))
    other.start()
    np.copyto(copy[:half], source[:half])
    other.join()
