# SPDX-License-Identifier: Apache-2.0
"""``python -m bench [OP ...] [--full] [--threads N] [--out FILE]``."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import time
from pathlib import Path

from . import _harness


def main() -> int:
    """Runs the cases of the named ops (all by default), prints tables, keeps the rows; status 1 for a wrong answer."""
    here = Path(__file__).parent
    ops = sorted(m.name.removeprefix("bench_") for m in pkgutil.iter_modules([str(here)]) if m.name[:6] == "bench_")
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("op", nargs="*", help="which to measure, out of " + ", ".join(ops) + "; all by default")
    parser.add_argument("--full", action="store_true", help="the sizes of the published table instead of reduced ones")
    parser.add_argument("--threads", type=int, default=1, help="threads for all sides (default 1)")
    parser.add_argument("--out", type=Path, help="the results file (default bench/results/<machine>.csv)")
    asked = parser.parse_args()
    for op in asked.op:
        if op not in ops:
            parser.error(f"OP must be one of {', '.join(ops)}, got {op!r}")
    if asked.threads < 1:
        parser.error(f"--threads must be at least 1, got {asked.threads}")
    _harness.refuse_handicapped_rivals()
    results = asked.out or here / "results" / f"{_harness.machine()}.csv"
    start = time.monotonic()
    for op in asked.op or ops:
        for case in importlib.import_module(f"bench.bench_{op}").cases(asked.full):
            rows = _harness.measure(case, asked.threads)
            _harness.show(case, rows)
            _harness.keep(rows, results)
    print(f"\n{(time.monotonic() - start) / 60:.1f} minutes; the rows are in {results}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
