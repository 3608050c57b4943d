# SPDX-License-Identifier: Apache-2.0
"""The CUDA kernels without a device: built for the host (tests/cuda_shim), and called on tensors that say they are
elsewhere, the whole way from the public op down.
"""

from __future__ import annotations

import ctypes
import fcntl
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest
import wmb_fast.kernels.cuda.launch
from builds import build

from wmb_fast._walls import arrays, dispatch

# What Triton's interpreter runs is for processes of its own: test_triton.py.
collect_ignore = [] if os.environ.get("TRITON_INTERPRET") == "1" else ["interpreted"]


@pytest.fixture(scope="session")
def host_module(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The module ``_cuda`` with the kernels built for the host: once a run, however many processes it has."""
    nanobind = pytest.importorskip("nanobind")
    pytest.importorskip("torch")
    base = tmp_path_factory.getbasetemp()
    folder = base.parent / f"kernels-{run}" if (run := os.environ.get("PYTEST_XDIST_TESTRUNUID")) else base / "kernels"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        place = folder / "tests" / "cuda_shim"
        if not any(place.glob("_cuda*.so")):
            paths = {"nanobind_DIR": nanobind.cmake_dir(), "Python_EXECUTABLE": sys.executable}
            build(folder, "_cuda", WMB_CUDA_SHIM="module", **paths)
        (built,) = place.glob("_cuda*.so")
    spec = importlib.util.spec_from_file_location("wmb_fast.kernels._cuda", built)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def on_device(host_module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bool], None]]:
    """Every torch tensor counts as on a device, whose kernels are the host's. Call it to turn their order about."""
    launch = wmb_fast.kernels.cuda.launch
    monkeypatch.setattr(arrays, "device_of", lambda value: "cuda:0" if arrays.is_tensor(value) else "cpu")
    monkeypatch.setattr(dispatch, "_device_status", lambda backend: (backend == "cuda", "the host stands in"))
    monkeypatch.setattr(launch, "compiled", lambda: host_module)
    monkeypatch.setattr(launch, "stream_of", lambda tensor: 0)
    set_backwards = ctypes.CDLL(host_module.__file__).shim_set_backwards
    yield set_backwards
    set_backwards(False)
