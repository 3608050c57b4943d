# SPDX-License-Identifier: Apache-2.0
"""What a call costs through nanobind, which the core is bound with, and through pybind11: the same small function.

The twin is compiled here, with the flags of the core; without pybind11 or a compiler there is nothing to compare.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from wmb_fast._walls.ext import core

from . import _rivals
from ._harness import Case, Contender

REPO = Path(__file__).resolve().parent.parent
NAME = "binding_pybind11"


def cases(full: bool) -> Iterator[Case]:
    """Arrays of one byte: the function itself takes a few nanoseconds."""
    a = np.ones((1, 1), dtype=np.uint8)
    iou = np.zeros(1)

    def called(module: Any) -> Any:
        module.mask_iou(a, a, 0.0, iou)
        return iou.copy()

    def right(found: Any) -> str:
        return "" if found[0] == 1.0 else f"{found[0]} instead of 1"

    sides = [Contender("wmb_fast (nanobind)", lambda: called(core), right)]
    twin = _twin()
    if twin is not None:
        twin.set_num_threads(1)
        sides += _rivals.contender("pybind11", lambda _: called(twin), right, what="the same function")
    yield Case("binding", "mask_iou of one byte, _core called directly", sides, 1.0, "calls/s")


@functools.cache
def _twin() -> ModuleType | None:
    pybind11 = _rivals.module("pybind11")
    if pybind11 is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / (NAME + sysconfig.get_config_var("EXT_SUFFIX"))
        include = [f"-I{path}" for path in (REPO / "csrc", pybind11.get_include(), sysconfig.get_path("include"))]
        flags = ["-std=c++17", "-O3", "-shared", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-pthread"]
        sources = [REPO / "bench" / f"{NAME}.cpp", *(REPO / "csrc" / "cpu" / f"{s}.cpp" for s in ("mask", "parallel"))]
        try:
            compiler = os.environ.get("CXX", "c++")
            subprocess.run([compiler, *flags, *include, *map(str, sources), "-o", str(library)], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"bench: pybind11 is left out, its twin did not compile ({error})")
            return None
        spec = importlib.util.spec_from_file_location(NAME, library)
        if spec is None or spec.loader is None:
            raise ImportError(f"{library} is no extension module")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module
