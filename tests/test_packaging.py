# SPDX-License-Identifier: Apache-2.0
"""What the build promises: CUDA optional, mathematics fit for the device, stubs in step with the core."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

REPO = Path(__file__).resolve().parent.parent


def need(tool: str, required_by: str = "") -> str:
    """The path of a tool; a test that needs it is skipped without it, or fails where the environment requires it."""
    path = shutil.which(tool)
    if path is None:
        if required_by and os.environ.get(required_by) == "1":
            pytest.fail(f"{required_by}=1 and {tool} is not on PATH")
        pytest.skip(f"{tool} is not on PATH")
    return path


def test_cuda_on_without_nvcc_stops_with_one_sentence(tmp_path: Path) -> None:
    cmake = need("cmake")
    # A PATH that has the compilers and no nvcc.
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("cmake", "c++", "g++", "cc", "gcc", "make", "ninja", "ld", "ar", "ranlib", "as", "uname", "sh"):
        if found := shutil.which(tool):
            (tools / tool).symlink_to(found)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CUDA")} | {"PATH": str(tools)}
    done = subprocess.run(
        [cmake, "-S", str(REPO), "-B", str(tmp_path / "build"), "-DSKBUILD_PROJECT_VERSION=0", "-DWMB_CUDA=ON"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if "CMAKE_CUDA_COMPILER" in done.stderr and "WMB_CUDA=ON must find nvcc" not in done.stderr:
        pytest.skip("CMake finds an nvcc outside PATH")
    assert done.returncode != 0
    assert "WMB_CUDA=ON must find nvcc, got none on PATH." in re.sub(r"\s+", " ", done.stderr)


def test_core_headers_compile_for_the_device(tmp_path: Path) -> None:
    nvcc = need("nvcc", "WMB_REQUIRE_NVCC")
    headers = sorted((REPO / "csrc" / "core").glob("*.h"))
    source = tmp_path / "all.cu"
    source.write_text("".join(f'#include "core/{header.name}"\n' for header in headers) + "__global__ void k() {}\n")
    done = subprocess.run(
        [
            nvcc,
            "-std=c++17",
            "-arch=sm_90",
            "--fmad=false",
            "-I",
            str(REPO / "csrc"),
            "-cubin",
            "-o",
            str(tmp_path / "all.cubin"),
            str(source),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert headers


def cuda_module() -> ModuleType:
    """The CUDA module; a test that needs it is skipped without it, or fails where the environment requires it."""
    try:
        return importlib.import_module("wmb_fast.kernels._cuda")
    except ImportError:
        if os.environ.get("WMB_REQUIRE_NVCC") == "1":
            pytest.fail("WMB_REQUIRE_NVCC=1 and this build has no CUDA module")
        pytest.skip("this build has no CUDA module")


def test_kernels_fit_each_device_they_are_compiled_for() -> None:
    """On 9.0 none spills, and four blocks of 128 threads or two of 256 fit a multiprocessor of 65536 registers.

    The older and the newer devices get by with what 9.0 was written for, and 64 bytes at the most.
    """
    triton = pytest.importorskip("triton")
    module = cuda_module()
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    done = subprocess.run(
        [str(tool), "--dump-resource-usage", str(module.__file__)], capture_output=True, text=True, check=True
    )
    seen: dict[str, list[tuple[str, int, int]]] = {}
    for part in done.stdout.split("Fatbin elf code:")[1:]:
        device = re.search(r"arch = (sm_\d+)", part)
        assert device is not None
        uses = re.findall(r"Function (\S+):\s+REG:(\d+) STACK:(\d+)", part)
        seen.setdefault(device[1], []).extend((name, int(registers), int(stack)) for name, registers, stack in uses)
    assert set(seen) == {"sm_80", "sm_90", "sm_100"}
    assert len({len(kernels) for kernels in seen.values()}) == 1
    for device, kernels in sorted(seen.items()):
        print(f"{device}: {len(kernels)} kernels")
        for name, registers, stack in kernels:
            print(f"  {registers:3} registers {stack:3} bytes of stack  {name}")
            assert registers <= 128
            assert stack <= (0 if device == "sm_90" else 64)


def test_cuda_module_imports_without_a_driver() -> None:
    """Where the build had nvcc, the module must load on any machine, and say what is missing."""
    error, count, text = cuda_module().probe_devices()
    assert (error == 0) == (text == "")
    assert count >= 0


def test_stubs_name_what_the_core_has() -> None:
    import wmb_fast._core as core

    stub = next(
        (p for root in map(Path, sys.path) for p in [root / "wmb_fast" / "_core.pyi"] if p.is_file()),
        None,
    )
    if stub is None:
        pytest.skip("a development install keeps its stubs in the build folder")
    declared = set(re.findall(r"^(?:def|class) (\w+)", stub.read_text(), re.MULTILINE))
    assert declared == {name for name in vars(core) if not name.startswith("_")}
