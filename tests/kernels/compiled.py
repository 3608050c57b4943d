# SPDX-License-Identifier: Apache-2.0
"""Compiles every Triton kernel as its launcher launches it, for a GPU that is not there, and prints what it takes.

A program of its own, without TRITON_INTERPRET: `python compiled.py 90 80 100`. The first in full, the
others the tensor cores' tiles alone. The launchers run on host tensors; a stand-in
for the driver names the target, and every launch is a compilation. A line of JSON for each kernel.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from typing import Any

import every_launch
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

# What is counted in the PTX.
COUNTED = {
    "tensor_cores": r"\b(?:mma\.sync|wgmma\.mma_async|tcgen05\.mma)\b",
    "fma": r"\bfma\.rn\.f(?:32|64)\b",
    "approximate": r"\.approx|\.ftz|div\.full",
    "atomics": r"\b(?:atom|red)\.(?!async)",
}


class NoDevice:
    """What compiling asks of a driver."""

    def __init__(self, capability: int) -> None:
        self.target = GPUTarget("cuda", capability, 32)

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_current_device(self) -> int:
        return int(self.target.arch)  # what was compiled for one target is not taken for another

    def get_current_stream(self, device: int) -> int:
        return 0


def resources(cubin: bytes) -> dict[str, int]:
    """Registers a thread, and bytes of stack and of local memory."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        usage = subprocess.run(
            [knobs.nvidia.cuobjdump.path, "-res-usage", file.name], capture_output=True, text=True, check=True
        ).stdout
    return {key: int(re.findall(rf"{key}:(\d+)", usage)[-1]) for key in ("REG", "STACK", "LOCAL")}


def main(capability: int, *, brief: bool) -> None:
    driver.set_active(NoDevice(capability))
    launch, seen = JITFunction.run, set()

    def compile_only(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        kernel = launch(self, *args, grid=grid, warmup=True, **kwargs)
        if kernel.hash not in seen:
            seen.add(kernel.hash)
            made, ptx = kernel.metadata, kernel.asm["ptx"]
            line = {"capability": capability, "kernel": made.name, "shared": made.shared}
            line |= {"fusion": made.enable_fp_fusion, **resources(kernel.asm["cubin"])}
            print(json.dumps(line | {name: len(re.findall(text, ptx)) for name, text in COUNTED.items()}), flush=True)
        return kernel

    JITFunction.run = compile_only
    every_launch.on(capability, brief=brief)
    JITFunction.run = launch


if __name__ == "__main__":
    for number in sys.argv[1:]:
        main(int(number), brief=number != sys.argv[1])
