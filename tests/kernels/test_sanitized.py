# SPDX-License-Identifier: Apache-2.0
"""The CUDA kernels under sanitizers, on the host: indices, and what threads do to each other between barriers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from kernels_on_the_host import build

FOUND = {
    "address": {
        "beyond": "heap-buffer-overflow",
        "left": "a thread has left before a barrier that others reach",
        "lanes": "a warp operation was not reached by all lanes of the warp",
    },
    "thread": {"race": "data race"},
}


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("sanitizer", FOUND)
def test_kernels_on_odd_sizes(sanitizer: str, tmp_path: Path) -> None:
    programs = build(tmp_path, sanitizer, "kernel_tests", "kernel_faults")
    assert run(programs / "kernel_faults").returncode == 0
    for fault, sentence in FOUND[sanitizer].items():
        seen = run(programs / "kernel_faults", fault)
        assert seen.returncode != 0
        assert sentence in seen.stderr
    done = run(programs / "kernel_tests")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-8000:]
    assert "0 failed" in done.stdout
