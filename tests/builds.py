# SPDX-License-Identifier: Apache-2.0
"""Builds of C++ that tests make for themselves, and runs of what was built."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parent.parent


def require(*programs: str) -> None:
    """Skips the test where a program is missing, or fails it under ``WMB_REQUIRE_CPP=1``."""
    missing = [name for name in programs if shutil.which(name) is None]
    if missing and os.environ.get("WMB_REQUIRE_CPP") == "1":
        pytest.fail(f"WMB_REQUIRE_CPP=1, and {' and '.join(missing)} not found")
    if missing:
        pytest.skip(f"no {' and no '.join(missing)} on PATH")


def build(folder: Path, *targets: str, **defines: str) -> None:
    """Configures the project in a folder with CMake, without CUDA, and builds some targets."""
    require("cmake", "c++")
    options = {"SKBUILD_PROJECT_VERSION": "0", "WMB_CUDA": "OFF", **defines}
    for command in (
        ["cmake", "-S", str(REPO), "-B", str(folder), *(f"-D{name}={value}" for name, value in options.items())],
        ["cmake", "--build", str(folder), "--parallel", "2", "--target", *targets],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end, whatever that is."""
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
