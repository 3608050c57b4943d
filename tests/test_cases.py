# SPDX-License-Identifier: Apache-2.0
"""docs/cases.md and the tests agree: every test named after a case is in its row, and every row's tests exist."""

from __future__ import annotations

import re
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
NUMERIC = "TDMSIOA"  # the sections whose cases are numbers, which an op may answer


def rows() -> dict[str, str]:
    lines = (REPO / "docs" / "cases.md").read_text(encoding="utf-8").splitlines()
    cells = [line.strip("|").split(" | ") for line in lines if re.match(r"\| [A-Z]\d\d \|", line)]
    found = {row[0].strip(): row[2].strip() for row in cells}
    assert len(found) == len(cells) == 119
    return found


def named_after() -> dict[str, set[str]]:
    """The tests of each case, by their names: test_b01_b02_strides is of two."""
    found: dict[str, set[str]] = {}
    for file in sorted((REPO / "tests").rglob("test_*.py")):
        for name in re.findall(r"^def (test(?:_[a-z]\d\d)+_\w+)", file.read_text(encoding="utf-8"), re.M):
            cases = re.match(r"test((?:_[a-z]\d\d)+)_", name)
            assert cases is not None
            for case in cases[1].strip("_").split("_"):
                found.setdefault(case.upper(), set()).add(f"{file.relative_to(REPO).as_posix()}::{name}")
    return found


def test_every_case_has_its_tests_in_its_row() -> None:
    table, tests = rows(), named_after()
    assert set(tests) <= set(table)
    for case, cell in table.items():
        named = {path for path in re.findall(r"`(tests/[^`]+)`", cell) if re.search(rf"[_:]{case.lower()}_", path)}
        assert named == tests.get(case, set()), f"docs/cases.md, row {case}"


def test_every_test_that_a_row_names_exists() -> None:
    for case, cell in rows().items():
        named = re.findall(r"`(tests/[\w/.]+)(?:::(\w+))?`", cell)
        for path, name in named:
            text = (REPO / path).read_text(encoding="utf-8")
            assert not name or re.search(rf"^def {name}\(", text, re.M), f"docs/cases.md, row {case}: {path}::{name}"
        reason = re.sub(r"`tests/[^`]+`", "", cell).replace("<br>", "").strip()
        assert named or reason, case


def test_a_numeric_case_without_a_test_says_which_op_it_needs() -> None:
    tests = named_after()
    for case, cell in rows().items():
        if case[0] in NUMERIC and case not in tests:
            assert cell.startswith(("no op: ", "needs `", "the run: ")), f"docs/cases.md, row {case}"


def test_the_table_has_the_cases_there_are(shared: Path) -> None:
    listed = re.findall(r"^### (\w\d\d) ", (shared / "cases.md").read_text(encoding="utf-8"), re.M)
    assert list(rows()) == listed
