# SPDX-License-Identifier: Apache-2.0
"""The CUDA kernels under sanitizers, on the host: indices, and what threads do to each other between barriers."""

from __future__ import annotations

from pathlib import Path

import pytest
from builds import build, run

FOUND = {
    "address": {
        "beyond": "heap-buffer-overflow",
        "left": "a thread has left before a barrier that others reach",
        "lanes": "a warp operation was not reached by all lanes of the warp",
    },
    "thread": {"race": "data race"},
}


@pytest.mark.parametrize("sanitizer", FOUND)
def test_kernels_on_odd_sizes(sanitizer: str, tmp_path: Path) -> None:
    build(tmp_path, "kernel_tests", "kernel_faults", WMB_CUDA_SHIM=sanitizer)
    programs = tmp_path / "tests" / "cuda_shim"
    assert run(programs / "kernel_faults").returncode == 0
    for fault, sentence in FOUND[sanitizer].items():
        seen = run(programs / "kernel_faults", fault)
        assert seen.returncode != 0
        assert sentence in seen.stderr
    done = run(programs / "kernel_tests")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-8000:]
    assert "0 failed" in done.stdout
