# SPDX-License-Identifier: Apache-2.0
"""``python -m bench [OP ...] [--full] [--threads N] [--device cuda] [--out FILE]``."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from . import _harness


@dataclass(frozen=True)
class Run:
    """Where cases come from, how they are measured, and what the machine is called."""

    machine: str
    cases: Callable[[ModuleType, bool], Iterable[_harness.Case]]
    measure: Callable[[_harness.Case], list[_harness.Row]]


def _on_host(threads: int) -> Run:
    return Run(_harness.machine(), lambda ops, full: ops.cases(full), lambda case: _harness.measure(case, threads))


def _on_device(name: str) -> Run:
    """Only the ops that have kernels have cases there."""
    import torch

    from . import _device

    if name.startswith("cuda") and not torch.cuda.is_available():
        sys.exit(f"bench: --device must name a device that torch sees, got {name!r}")
    device = torch.device(name)
    return Run(
        _device.machine(device),
        lambda ops, full: ops.device_cases(full, device) if hasattr(ops, "device_cases") else (),
        lambda case: _device.measure(case, device),
    )


def main() -> int:
    """Runs the cases of the named ops (all by default), prints tables, keeps the rows; status 1 for a wrong answer."""
    here = Path(__file__).parent
    ops = sorted(m.name.removeprefix("bench_") for m in pkgutil.iter_modules([str(here)]) if m.name[:6] == "bench_")
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("op", nargs="*", help="which to measure, out of " + ", ".join(ops) + "; all by default")
    parser.add_argument("--full", action="store_true", help="the sizes of the published table instead of reduced ones")
    parser.add_argument("--threads", type=int, default=1, help="threads for all sides (default 1)")
    parser.add_argument("--device", help="cuda: the ops' GPU kernels instead, beside rivals on the same device")
    parser.add_argument("--out", type=Path, help="the results file (default bench/results/<machine>.csv)")
    asked = parser.parse_args()
    for op in asked.op:
        if op not in ops:
            parser.error(f"OP must be one of {', '.join(ops)}, got {op!r}")
    if asked.threads < 1:
        parser.error(f"--threads must be at least 1, got {asked.threads}")
    _harness.refuse_handicapped_rivals()
    run = _on_device(asked.device) if asked.device else _on_host(asked.threads)
    results = asked.out or here / "results" / f"{run.machine}.csv"
    start = time.monotonic()
    for op in asked.op or ops:
        for case in run.cases(importlib.import_module(f"bench.bench_{op}"), asked.full):
            rows = run.measure(case)
            _harness.show(case, rows)
            _harness.keep(rows, results)
    print(f"\n{(time.monotonic() - start) / 60:.1f} minutes; the rows are in {results}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
