# SPDX-License-Identifier: Apache-2.0
"""Verify first, then time A B A B in one process, beside the machine's own ceiling measured in the same turns."""

from __future__ import annotations

import csv
import datetime
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
import threadpoolctl

import wmb_fast as wmb

BUDGET_S = 8.0  # of measuring, a case
SAMPLE_S = 0.02  # a sample repeats the call until it lasts this long
TURNS = (5, 31)  # at least, at most
SLOW_TURNS = 3  # of a contender whose one call takes more than a fifth of the budget


@dataclass(frozen=True)
class Contender:
    """One side of a case.

    Attributes:
        who: The library, and what of it where that is not obvious: ``numpy sgemm``.
        call: Does the work once and returns its answer.
        verify: Says what is wrong with an answer, ``""`` where it is right; ``None`` where the side answers another
            question (a floor such as a bare matrix product).
        version: Of the library.
        share: The part of the case's work that one call does; below 1 for a rival too slow to do all of it.
    """

    who: str
    call: Callable[[], Any]
    verify: Callable[[Any], str] | None
    version: str = wmb.__version__
    share: float = 1.0


@dataclass(frozen=True)
class Case:
    """One op on one input. The first contender is ours.

    Attributes:
        op, name: For example ``mutual_matches`` and ``4096x4096x256 float32``.
        contenders: Ours first.
        work: What the whole case comes to: floating-point operations, or bytes that must be read and written once.
        unit: Of the rate; it also says which ceiling counts: sgemm or copy bandwidth. ``calls/s`` has none.
        threads: Of a case whose contenders set their own; ``None``: as many for all as the run was asked for.
        precision: Of the matrix product that is the ceiling on a device: ``float32``, ``tf32`` or ``bfloat16``.
    """

    op: str
    name: str
    contenders: Sequence[Contender]
    work: float
    unit: Literal["GFLOP/s", "GB/s", "calls/s"]
    threads: int | None = None
    precision: str = "float32"


@dataclass(frozen=True)
class Row:
    """A line of the results file. ``ratio_to_ours`` is the median of the ratios turn by turn: above 1 means slower."""

    op: str
    case: str
    who: str
    median_s: float
    p20_s: float
    p80_s: float
    ratio_to_ours: float
    rate: float
    rate_unit: str
    ceiling_share: float | str
    verified: str
    threads: int
    version: str
    date: str


def refuse_handicapped_rivals() -> None:
    """Ends the run where the environment slows NumPy's OpenBLAS down: the ratios would flatter us."""
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        if name in os.environ:
            sys.exit(f"bench: {name} must be unset, because it slows NumPy down, got {os.environ[name]!r}")


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Gives all sides the same number of threads."""
    wmb.set_num_threads(n)
    with threadpoolctl.threadpool_limits(n):
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(n)
        yield


def measure(case: Case, n_threads: int) -> list[Row]:
    """Verifies every contender, times them in turns, and returns their rows, ours first, the ceiling's last.

    One-thread figures are process CPU time, because it does not count what other processes do; with more threads it is
    the wall clock.
    """
    n_threads = case.threads or n_threads
    with threads(n_threads):
        verdicts = [verdict(contender) for contender in case.contenders]
        if verdicts[0] != "yes":
            raise SystemExit(f"bench: {case.op} {case.name}: our own answer is wrong: {verdicts[0]}")
        ceiling = _ceiling(case.unit, case.work)
        sides = [*case.contenders, *ceiling]
        samples = _in_turns(sides, time.process_time if n_threads == 1 else time.perf_counter)
    return rows_of(case, sides, samples, [*verdicts, *("-" for _ in ceiling)], len(ceiling), n_threads)


def rows_of(
    case: Case,
    sides: Sequence[Contender],
    samples: Sequence[Sequence[float]],
    verdicts: Sequence[str],
    n_ceilings: int,
    n_threads: int,
) -> list[Row]:
    """The lines of one case: its contenders', then the ceiling's, if it has one."""
    limit = float(np.median(samples[-1])) if n_ceilings else None
    rows = []
    for k, (side, times, verified) in enumerate(zip(sides, samples, verdicts, strict=True)):
        median, p20, p80 = (float(np.percentile(times, q)) for q in (50, 20, 80))
        is_ceiling = k >= len(sides) - n_ceilings
        sampled = not is_ceiling and (side.share < 1 or len(times) < TURNS[0])
        rows.append(
            Row(
                op=case.op,
                case=case.name,
                who=side.who + (" (sampled)" if sampled else ""),
                median_s=median,
                p20_s=p20,
                p80_s=p80,
                ratio_to_ours=float(np.median([t / ours for t, ours in zip(times, samples[0], strict=False)])),
                rate=case.work / median / (1.0 if case.unit == "calls/s" else 1e9),
                rate_unit=case.unit,
                ceiling_share="" if limit is None else limit / median,
                verified=verified,
                threads=n_threads,
                version=side.version,
                date=datetime.date.today().isoformat(),
            )
        )
    return rows


def verdict(contender: Contender) -> str:
    """Whether a contender answers right: ``yes``, ``no: why``, or ``-`` where that is not asked."""
    answer = contender.call()
    if contender.verify is None:
        return "-"
    problem = contender.verify(answer)
    return f"no: {problem}" if problem else "yes"


def _in_turns(sides: Sequence[Contender], clock: Callable[[], float]) -> list[list[float]]:
    """Seconds of the whole work by side: turn after turn, all sides in order, so that all see the same weather.

    The first turn says how often each side repeats its call; of a slow side, which does not repeat it, it counts.
    """
    once = [_time(side, 1, clock) for side in sides]
    repeats = [max(1, int(SAMPLE_S / max(t * side.share, 1e-7))) for t, side in zip(once, sides, strict=True)]
    lasts = [t * side.share * n for t, side, n in zip(once, sides, repeats, strict=True)]
    slow = [t > BUDGET_S / 5 for t in lasts]
    turn_s = sum(t for t, is_slow in zip(lasts, slow, strict=True) if not is_slow)
    turns = min(max(int(BUDGET_S / max(turn_s, 1e-9)), TURNS[0]), TURNS[1])
    samples = [[t] if is_slow else [] for t, is_slow in zip(once, slow, strict=True)]
    for _ in range(turns):
        for side, n, is_slow, times in zip(sides, repeats, slow, samples, strict=True):
            if not is_slow or len(times) < SLOW_TURNS:
                times.append(_time(side, n, clock))
    return samples


def _time(side: Contender, n: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(n):
        side.call()
    return (clock() - start) / n / side.share


def _ceiling(unit: str, work: float) -> list[Contender]:
    """What the machine itself needs for the same work, as one more side; none where there is no such limit.

    The copy moves as many bytes as the case, so that it runs in the same level of the memory hierarchy; bytes read and
    bytes written both count.
    """
    if unit == "GFLOP/s":
        a, b = np.random.default_rng(0).standard_normal((2, 1536, 1536), dtype=np.float32)
        product = np.empty_like(a)
        share = 2.0 * 1536**3 / work
        return [Contender("ceiling: numpy sgemm", lambda: np.matmul(a, b, out=product), None, np.__version__, share)]
    if unit == "GB/s":
        source = np.ones(max(int(work) // 16, 1))
        copy = np.empty_like(source)
        share = 16.0 * source.size / work
        return [Contender("ceiling: copy", lambda: np.copyto(copy, source), None, np.__version__, share)]
    return []


def show(case: Case, rows: Sequence[Row]) -> None:
    """Prints one case as a table."""
    print(f"\n{case.op}  {case.name}  ({rows[0].threads} thread{'s' if rows[0].threads > 1 else ''})")
    print(f"  {'who':42} {'median':>11} {'p20':>11} {'p80':>11} {'x ours':>8} {case.unit:>10} {'ceiling':>8}  verified")
    for row in rows:
        times = " ".join(f"{_readable(t):>11}" for t in (row.median_s, row.p20_s, row.p80_s))
        share = f"{row.ceiling_share:8.0%}" if isinstance(row.ceiling_share, float) else f"{'':8}"
        print(f"  {row.who:42} {times} {row.ratio_to_ours:8.2f} {row.rate:10.4g} {share}  {row.verified}")


def _readable(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds / 1e-9:.4g} ns"


def keep(rows: Sequence[Row], path: Path) -> None:
    """Puts rows into the results file, in the place of earlier ones of the same op, case and threads."""
    header = [field.name for field in fields(Row)]
    same = {(row.op, row.case, str(row.threads)) for row in rows}
    old: list[dict[str, str]] = []
    if path.exists():
        with path.open(newline="") as file:
            old = [r for r in csv.DictReader(file) if (r["op"], r["case"], r["threads"]) not in same]
    new = [{k: f"{v:.5g}" if isinstance(v, float) else str(v) for k, v in asdict(row).items()} for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, header, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(old + new, key=lambda r: (r["op"], r["case"], int(r["threads"]))))


def machine() -> str:
    """A short name of this kind of machine: CPU model, family and model number, cores. Never its host name."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    found = [re.search(rf"^{key}\s*: (.*)$", info, re.M) for key in ("model name", "cpu family", "model")]
    words = [match.group(1) for match in found if match] or [os.uname().machine]
    words[0] = re.sub(r"\((R|TM|r|tm)\)|@.*|CPU|Processor", " ", words[0])
    return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-") + f"-{os.cpu_count()}-cores"
