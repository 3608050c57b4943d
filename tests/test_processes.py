# SPDX-License-Identifier: Apache-2.0
"""The core beside other runtimes and in child processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

FORKED = """
import multiprocessing, numpy as np, wmb_fast as wmb
rows = np.random.default_rng(0).standard_normal((700, 64)).astype(np.float32)
def work(_):
    return wmb.nearest(rows, rows[::-1].copy()).index.sum(), wmb.spearman(rows[0], rows[1]).value
wmb.set_num_threads(3)
before = work(0)
with multiprocessing.get_context("fork").Pool(4) as pool:
    inside = pool.map(work, range(8))
print(sum(found == before for found in [*inside, work(0)]))
"""

CALLED = """
import {first}, {second}, numpy as np, torch, wmb_fast as wmb
torch.set_num_threads(2)
a = torch.rand(300, 64)
b = torch.nn.functional.normalize(a)
assert torch.allclose(wmb.cosine_matrix(a), b @ b.T, atol=1e-5)
assert torch.get_num_threads() == 2
"""

ALONE = """
import numpy as np, wmb_fast as wmb
wmb.cosine_matrix(np.eye(8))
print("gomp" in open("/proc/self/maps").read() or "iomp" in open("/proc/self/maps").read())
"""


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_b09_fork_safety() -> None:
    """Children that are forked after the core was used use it too: no thread of it outlives a call."""
    assert run(FORKED) == "9"  # eight children, and the parent afterwards


@pytest.mark.parametrize(("first", "second"), [("torch", "wmb_fast"), ("wmb_fast", "torch")])
def test_b10_openmp_runtimes(first: str, second: str) -> None:
    """Either order of import works, and changes nobody's threads; alone, the core brings no OpenMP runtime."""
    pytest.importorskip("torch")
    run(CALLED.format(first=first, second=second))
    if sys.platform == "linux":
        assert run(ALONE) == "False"
