# SPDX-License-Identifier: Apache-2.0
"""Writes the README's table of speeds from a results file: ``python -m bench.table [RESULTS.csv]``."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from ._harness import machine

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
CEILING, THREADS, CLIPS = "ceiling: ", "threads: ", "estimators"


Rows = list[dict[str, str]]  # of a results file


def table(path: Path) -> str:
    """A results file as Markdown: a line a case, rivals by how many times longer they take."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    single = [row for row in rows if row["threads"] == "1"]
    lines = ["| Op | Work | Time | Of the ceiling | Rivals' time over ours |", "|---|---|---|---|---|"]
    for (op, case), sides in _cases(single).items():
        ours, rivals = sides[0], [side for side in sides[1:] if not side["who"].startswith(CEILING)]
        cells = [f"`{op}`", case, _seconds(float(ours["median_s"])), _ceiling(ours, sides), _against(rivals)]
        lines.append("| " + " | ".join(cells) + " |")
    lines += _clips(rows) + _scaling(rows)
    dates = sorted({row["date"] for row in single})
    lines.append(f"\nMeasured {' to '.join(sorted({dates[0], dates[-1]}))} on `{path.stem}`.")
    return "\n".join(lines)


def _cases(rows: Rows) -> dict[tuple[str, str], Rows]:
    cases: dict[tuple[str, str], Rows] = {}
    for row in rows:
        cases.setdefault((row["op"], row["case"]), []).append(row)
    return cases


def _clips(rows: Rows) -> list[str]:
    """Clips through estimators, on two threads; nothing where the networks were not there."""
    lines = ["\n| A clip through estimators, two threads | Time | Rivals' time over ours |", "|---|---|---|"]
    cases = _cases([row for row in rows if row["op"] == CLIPS])
    for (_, case), (ours, *rivals) in cases.items():
        lines.append(f"| {case} | {_seconds(float(ours['median_s']))} | {_against(rivals)} |")
    return lines if cases else []


def _scaling(rows: Rows) -> list[str]:
    """What a second thread brings, by the rows of bench_threads; nothing where there are none."""
    lines = ["\n| Op | Work | Two threads over one | A copy on two cores over one |", "|---|---|---|---|"]
    cases = _cases([row for row in rows if row["op"].startswith(THREADS)])
    for (op, case), sides in cases.items():
        median = {side["who"]: float(side["median_s"]) for side in sides}
        own = median["wmb_fast, 1 thread"] / median["wmb_fast, 2 threads"]
        copy = median["copy, 1 core"] / median["copy, 2 cores"]
        lines.append(f"| `{op.removeprefix(THREADS)}` | {case} | {own:.2f}× | {copy:.2f}× |")
    return lines if cases else []


def _seconds(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def _ceiling(ours: dict[str, str], sides: Rows) -> str:
    names = [side["who"].removeprefix(CEILING) for side in sides if side["who"].startswith(CEILING)]
    return f"{float(ours['ceiling_share']):.0%} of {names[0]}" if names else ""


def _against(rivals: Rows) -> str:
    return ", ".join(f"{side['who']} {_times(float(side['ratio_to_ours']))}" for side in rivals)


def _times(ratio: float) -> str:
    """Two digits, and thousands set apart, never as a power of ten."""
    return f"{ratio:.2g}×" if ratio < 100 else f"{float(f'{ratio:.2g}'):,.0f}×"


def written(readme: str, block: str) -> str:
    """The README with the block between its markers."""
    head, _, rest = readme.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{block}\n{END}{tail}"


def main() -> None:
    results = ROOT / "bench" / "results"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else results / f"{machine()}.csv"
    readme = ROOT / "README.md"
    readme.write_text(written(readme.read_text(), table(path)))


if __name__ == "__main__":
    main()
