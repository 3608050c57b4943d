# SPDX-License-Identifier: Apache-2.0
"""Compiles every Triton kernel as its launcher launches it, for a GPU that is not there, and prints what it takes.

A program of its own, without TRITON_INTERPRET: `python compiled.py 90`. The launchers run on host tensors; a stand-in
for the driver names the target, and every launch is a compilation. A line of JSON for each kernel.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from typing import Any

from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction


class NoDevice:
    """What compiling asks of a driver."""

    def __init__(self, capability: int) -> None:
        self.target = GPUTarget("cuda", capability, 32)

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


def resources(cubin: bytes) -> dict[str, int]:
    """Registers a thread, bytes of stack and of local memory, and what the machine code is made of."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        usage = subprocess.run(
            [knobs.nvidia.cuobjdump.path, "-res-usage", file.name], capture_output=True, text=True, check=True
        ).stdout
        code = subprocess.run(
            [knobs.nvidia.nvdisasm.path, "-c", file.name], capture_output=True, text=True, check=True
        ).stdout
    found = {key: int(re.findall(rf"{key}:(\d+)", usage)[-1]) for key in ("REG", "STACK", "LOCAL", "SHARED")}
    for name in ("HGMMA", "HMMA", "FFMA", "DFMA", "LDL", "STL", "UTCHMMA", "RED", "ATOM"):
        found[name] = len(re.findall(rf"\b{name}\b", code))
    return found


def main(capability: int) -> None:
    driver.set_active(NoDevice(capability))
    launch, seen = JITFunction.run, {}

    def compile_only(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        kernel = launch(self, *args, grid=grid, warmup=True, **kwargs)
        if kernel.hash not in seen:
            seen[kernel.hash] = True
            line = {
                "kernel": kernel.metadata.name,
                "shared": kernel.metadata.shared,
                "fusion": kernel.metadata.enable_fp_fusion,
            }
            if os.environ.get("DUMP"):
                open(f"{os.environ['DUMP']}/{kernel.metadata.name}_{len(seen)}.cubin", "wb").write(kernel.asm["cubin"])
                open(f"{os.environ['DUMP']}/{kernel.metadata.name}_{len(seen)}.ptx", "w").write(kernel.asm["ptx"])
            print(json.dumps(line | resources(kernel.asm["cubin"])), flush=True)
        return kernel

    JITFunction.run = compile_only
    import every_launch

    every_launch.on(capability)


if __name__ == "__main__":
    main(int(sys.argv[1]))
