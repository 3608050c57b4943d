# SPDX-License-Identifier: Apache-2.0
"""What the README says of speed is what the committed results say, and every line of them was verified."""

from __future__ import annotations

import csv
import importlib
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parent.parent
RESULTS = sorted((REPO / "bench" / "results").glob("*.csv"))


@pytest.fixture
def table(monkeypatch):
    pytest.importorskip("threadpoolctl")
    monkeypatch.syspath_prepend(str(REPO))
    from bench import table

    yield table
    for name in [name for name in sys.modules if name.split(".")[0] == "bench"]:
        del sys.modules[name]


def test_the_readme_shows_the_results(table) -> None:
    readme = (REPO / "README.md").read_text()
    block = readme.partition(table.BEGIN)[2].partition(table.END)[0].strip()
    assert block in [table.table(path) for path in RESULTS]


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_no_result_is_kept_unverified(path: Path) -> None:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    # "-": a floor that answers another question, such as a bare matrix product; "no: …" says what a rival got wrong.
    assert all(row["verified"] == "yes" for row in rows if row["who"].split(" (")[0] == "wmb_fast")
    assert all(row["verified"] in ("yes", "-") or row["verified"].startswith("no: ") for row in rows)


OPS_ON_DEVICES = sorted(p.stem for p in (REPO / "bench").glob("bench_*.py") if "def device_cases" in p.read_text())


@pytest.mark.parametrize("name", OPS_ON_DEVICES)
def test_the_cases_for_devices_run(name: str, table, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the CPU in the place of a device: every side answers right, and every case has its ceiling."""
    torch = pytest.importorskip("torch")
    from bench import _device

    monkeypatch.setattr(_device, "BUDGET_S", 0.0)
    device = torch.device("cpu")
    for case in importlib.import_module(f"bench.{name}").device_cases(False, device):
        rows = _device.measure(case, device)
        assert rows[0].who == "wmb_fast"
        assert [row.verified for row in rows if not row.who.startswith("ceiling")] == ["yes"] * len(case.contenders)
        assert rows[-1].who.startswith("ceiling") or case.unit == "calls/s"
        assert all(row.median_s > 0 for row in rows)
