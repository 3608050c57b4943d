# SPDX-License-Identifier: Apache-2.0
"""Triton's kernels without a GPU: interpreted, against the CPU core, and compiled for GPUs that are not there.

Either way is chosen when triton is imported, so both happen in processes of their own. The tests that the interpreter
runs are the files of `interpreted/`.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
# Bytes of shared memory that a block may have, by compute capability.
MOST_SHARED = {80: 163 << 10, 90: 227 << 10, 100: 227 << 10}
# Spilled registers are slow memory. A few of a loop's bounds and pointers, outside the innermost loop, are no matter.
MOST_STACK = 64


@pytest.fixture(autouse=True)
def needs_triton() -> None:
    if missing := [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]:
        if os.environ.get("WMB_REQUIRE_TRITON") == "1":
            pytest.fail(f"WMB_REQUIRE_TRITON=1, and {' and '.join(missing)} not installed")
        pytest.skip(f"{' and '.join(missing)} not installed")


def run(*command: str, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TRITON_", "PYTEST_"))}
    done = subprocess.run(
        [sys.executable, *command], cwd=HERE, env=kept | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("files", [("cosine.py", "ops.py"), ("match.py", "topk.py")])
def test_interpreted(files: tuple[str, ...]) -> None:
    paths = [str(HERE / "interpreted" / name) for name in files]
    told = run("-m", "pytest", "-q", "-p", "no:cacheprovider", *paths, TRITON_INTERPRET="1")
    assert "passed" in told
    assert "skipped" not in told


def test_compiled() -> None:
    """Every kernel becomes machine code, within the registers and shared memory of a block, and as it was meant."""
    kernels = [json.loads(line) for line in run("compiled.py", "90", "80", "100").splitlines()]
    for capability, most_shared in MOST_SHARED.items():
        built = [kernel for kernel in kernels if kernel["capability"] == capability]
        names = {kernel["kernel"] for kernel in built}
        assert names == (written() if capability == 90 else {"prepare_kernel", "sweep_kernel"})
        assert {kernel["kernel"] for kernel in built if kernel["tensor_cores"]} == {
            "sweep_kernel",
            "matrix_kernel",
        } & names
        for kernel in built:
            print(", ".join(f"{name} {value}" for name, value in kernel.items() if value))
            assert kernel["REG"] <= 255, kernel
            assert kernel["STACK"] <= MOST_STACK, kernel
            assert kernel["shared"] <= most_shared, kernel
            assert kernel["fusion"] is False, kernel
            assert kernel["approximate"] == 0, kernel
            assert kernel["atomics"] == 0, kernel


def written() -> set[str]:
    """The names of all kernels."""
    return {
        node.name
        for path in (HERE.parent.parent / "kernels" / "triton").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.endswith("_kernel")
    }
