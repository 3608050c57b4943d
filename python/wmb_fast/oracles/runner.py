# SPDX-License-Identifier: Apache-2.0
"""Finds vector files, runs their cases, prints one JSON line a case and a count by file."""

from __future__ import annotations

import io
import json
import math
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

SCHEMA = "wmb-oracle/1"


@dataclass(frozen=True)
class Case:
    """One case of a vector file, its arrays and non-finite numbers in place.

    ``raises`` is what the reference raised (``{"type", "message"}``), ``recommended`` what a default should do instead.
    """

    file: str
    name: str
    kind: str
    inputs: Mapping[str, Any]
    expected: Any
    raises: Mapping[str, str] | None
    recommended: str | None
    tolerance: Mapping[str, Any]


@dataclass
class Outcome:
    """What a case came to. ``problems`` empty means it passed; ``skipped`` says why it was not run."""

    got: Any = None
    problems: list[str] = field(default_factory=list)
    skipped: str | None = None

    def expect(self, ok: bool, problem: str) -> None:
        """Notes a problem unless ``ok``."""
        if not ok:
            self.problems.append(problem)

    def close(self, what: str, got: Any, expected: Any, *, rel: float = 0.0, abs_: float = 0.0) -> None:
        """Notes a problem unless ``got`` equals ``expected`` within the tolerance; NaN equals NaN, None equals None."""
        if expected is None or got is None:
            self.expect(expected is None and got is None, f"{what}: got {got}, expected {expected}")
            return
        a, b = np.asarray(got, dtype=np.float64), np.asarray(expected, dtype=np.float64)
        if a.shape != b.shape:
            self.problems.append(f"{what}: got shape {a.shape}, expected {b.shape}")
        elif not np.allclose(a, b, rtol=rel, atol=abs_, equal_nan=True):
            with np.errstate(invalid="ignore"):
                worst = int(np.nanargmax(np.abs(a - b))) if np.isfinite(a - b).any() else 0
            self.problems.append(
                f"{what}: got {a.flat[worst]!r}, expected {b.flat[worst]!r} (rel {rel:g}, abs {abs_:g})"
            )

    def same(self, what: str, got: Any, expected: Any) -> None:
        """Notes a problem unless ``got`` equals ``expected`` exactly."""
        self.expect(got == expected, f"{what}: got {got}, expected {expected}")


Adapter = Callable[[Case], Outcome]


def adapters() -> dict[str, Adapter]:
    """Vector file id (``group/name``) to the function that runs one of its cases."""
    from . import evo, images, libs, libs_stats, opis, opis_contract, r2m, worldmark

    modules = (evo, images, libs, libs_stats, opis, opis_contract, r2m, worldmark)
    return {file: adapter for module in modules for file, adapter in module.ADAPTERS.items()}


# Groups whose protocol or op this version does not have: reported as skipped, by name.
NOT_BUILT = {
    "E_memobench": "wmb_fast.protocols.kin is not built yet",
    "E_mind": "wmb_fast.protocols.kin is not built yet",
    "E_wbench": "wmb_fast.protocols.kin is not built yet",
    "E_worldscore": "wmb_fast.protocols.kin is not built yet",
    "E_wrbench": "wmb_fast.protocols.kin is not built yet",
}


def run(folder: Path) -> Iterator[dict[str, Any]]:
    """Runs every case of every vector file below a folder; yields one JSON-ready line a case.

    A folder without vector files, a file that does not parse and a file no module knows yield a ``fail`` line.
    """
    paths = sorted(folder.rglob("*.json")) if folder.is_dir() else []
    if not paths:
        yield _line(str(folder), "-", "fail", why="the folder must hold vector files (*.json), got none")
    known = adapters()
    for path in paths:
        try:
            document = json.loads(path.read_text(encoding="utf-8-sig"))
            if document.get("schema") != SCHEMA:
                raise ValueError(f"schema must be {SCHEMA}, got {document.get('schema')!r}")
            file, cases = document["id"], document["cases"]
            arrays = np.load(io.BytesIO(path.with_suffix(".npz").read_bytes())) if document.get("arrays") else {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
            yield _line(str(path), "-", "fail", why=f"not a vector file: {error}")
            continue
        if not cases:
            yield _line(file, "-", "fail", why="the file must hold cases, got none")
        reason = NOT_BUILT.get(file) or NOT_BUILT.get(file.split("/", 1)[0])
        adapter = known.get(file)
        for raw in cases:
            if adapter is None:
                status, why = ("skipped", reason) if reason else ("fail", f"no module knows the file {file}")
                yield _line(file, raw.get("name", "-"), status, why=why)
            else:
                yield _run_case(adapter, file, raw, arrays, document.get("tolerance", {}))


def _run_case(
    adapter: Adapter, file: str, raw: Mapping[str, Any], arrays: Mapping[str, Any], tolerance: Mapping[str, Any]
) -> dict[str, Any]:
    expected: Any = None
    try:
        expected = _filled(raw.get("expected"), arrays)
        case = Case(
            file,
            raw["name"],
            raw["kind"],
            _filled(raw["inputs"], arrays),
            expected,
            raw.get("reference_raises"),
            raw.get("recommended_product_behaviour"),
            tolerance,
        )
        outcome = adapter(case)
    except Exception as error:
        outcome = Outcome(problems=[f"raised {type(error).__name__}: {error}"])
    if outcome.skipped is not None:
        return _line(file, raw.get("name", "-"), "skipped", why=outcome.skipped)
    status = "fail" if outcome.problems else "pass"
    why = "; ".join(outcome.problems)
    return _line(file, raw.get("name", "-"), status, outcome.got, expected, tolerance, why)


def _filled(value: Any, arrays: Mapping[str, Any]) -> Any:
    """A JSON value with its arrays and non-finite numbers in place."""
    if isinstance(value, dict):
        if set(value) == {"$npz"}:
            return arrays[value["$npz"]]
        if set(value) == {"$float"}:
            return float(value["$float"])
        return {key: _filled(item, arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, arrays) for item in value]
    return value


def _line(
    file: str,
    case: str,
    status: str,
    got: Any = None,
    expected: Any = None,
    tolerance: Mapping[str, Any] | None = None,
    why: str | None = "",
) -> dict[str, Any]:
    return {
        "file": file,
        "case": case,
        "status": status,
        "got": _plain(got),
        "expected": _plain(expected),
        "tolerance": _plain(tolerance or {}),
        "why": why or "",
    }


def _plain(value: Any) -> Any:
    """A value as strict JSON: long arrays by shape, non-finite numbers as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist()) if value.size <= 16 else f"array of shape {value.shape}"
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value] if len(value) <= 64 else f"list of {len(value)}"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def main(arguments: Sequence[str]) -> int:
    """Command line: exit status 0 when nothing failed, 1 when something did, 2 for a wrong call."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(
            "oracles: DIR must be one folder of vector files, got " + (" ".join(arguments) or "nothing"),
            file=sys.stderr,
        )
        return 2
    counts: dict[str, Counter[str]] = {}
    for line in run(Path(arguments[0])):
        print(json.dumps(line, allow_nan=False))
        counts.setdefault(line["file"], Counter())[line["status"]] += 1
    for file, count in counts.items():
        print(json.dumps({"file": file, **{status: count[status] for status in ("pass", "fail", "skipped")}}))
    return 1 if any(count["fail"] for count in counts.values()) else 0
