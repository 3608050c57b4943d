# SPDX-License-Identifier: Apache-2.0
"""Builds the CUDA kernels for the host (tests/cuda_shim)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parent.parent.parent


def require(*programs: str) -> None:
    missing = [name for name in programs if shutil.which(name) is None]
    if missing and os.environ.get("WMB_REQUIRE_CPP") == "1":
        pytest.fail(f"WMB_REQUIRE_CPP=1, and {' and '.join(missing)} not found")
    if missing:
        pytest.skip(f"no {' and no '.join(missing)} on PATH")


def build(folder: Path, kind: str, *targets: str, **defines: str) -> Path:
    """Builds the kernels for the host, and returns the folder of what was built."""
    require("cmake", "c++")
    options = {"SKBUILD_PROJECT_VERSION": "0", "WMB_CUDA": "OFF", "WMB_CUDA_SHIM": kind, **defines}
    for command in (
        ["cmake", "-S", str(REPO), "-B", str(folder), *(f"-D{name}={value}" for name, value in options.items())],
        ["cmake", "--build", str(folder), "--parallel", "2", "--target", *targets],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return folder / "tests" / "cuda_shim"
