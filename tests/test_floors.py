# SPDX-License-Identifier: Apache-2.0
"""The architecture, held: a floor imports only what stands below it, and importing the package imports NumPy alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parent.parent
PACKAGE = REPO / "python" / "wmb_fast"

# A floor: what of this package its modules may import (its own modules always). Longest prefix wins.
FLOORS: dict[str, set[str]] = {
    "_walls": {"_core", "kernels", "reference"},
    "kernels": set(),
    "reference": set(),
    "ops": {"_walls", "reference", "kernels"},
    "rollout": {"_walls", "ops"},
    "rollout.plan": {"_walls"},
    "estimators": {"_walls", "ops", "rollout"},
    "world": {"_walls", "ops", "rollout"},
    "protocols": {"_walls", "ops", "rollout.plan"},
    "board": {"_walls", "ops", "protocols.record"},
    "evidence": {"_walls", "ops", "rollout", "estimators", "world", "protocols.evidence"},
    "run": {"_walls", "ops", "rollout", "estimators", "world", "evidence", "protocols", "board"},
    "oracles": {"_walls", "ops", "reference", "rollout", "protocols", "board"},
    "doctor": {"_walls", "ops", "rollout", "estimators", "world", "evidence", "run"},
    "demo": {"_walls", "ops", "rollout", "world", "protocols", "run", "board"},
    "screen": {"protocols", "board", "run", "doctor", "demo"},
    "commands": {
        "_walls",
        "ops",
        "rollout",
        "estimators",
        "world",
        "evidence",
        "protocols",
        "board",
        "run",
        "doctor",
        "demo",
        "screen",
        "evidence_commands",
        "models_commands",
        "options",
    },
    "evidence_commands": {"_walls", "evidence", "run", "options"},
    "models_commands": {"_walls", "estimators"},
    "options": set(),
    "cli": {"_walls", "commands"},
    "__main__": {"cli"},
    "torch_ops": {"__init__", "_walls"},
    "__init__": {"_walls", "ops", "reference"},
}

# Third-party packages and the one floor that may know each.
OUTSIDERS = {
    "cv2": {"estimators"},
    "onnxruntime": {"estimators"},
    "av": {"rollout"},
    "yaml": {"rollout"},
    "ray": {"run"},
    "triton": {"kernels"},
}


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the package, by its dotted name below the package."""
    for folder, prefix in ((PACKAGE, ""), (REPO / "kernels", "kernels.")):
        for path in sorted(folder.rglob("*.py")):
            parts = list(path.relative_to(folder).with_suffix("").parts)
            if parts[-1] == "__init__" and len(parts) + bool(prefix) > 1:
                parts.pop()
            yield (prefix + ".".join(parts)).removesuffix("."), path


def imports(module: str, path: Path) -> Iterator[str]:
    """The absolute dotted names a module imports, wherever in it."""
    is_package = path.name == "__init__.py"
    base = ["wmb_fast", *([] if module == "__init__" else module.split("."))]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            up = node.level - (1 if is_package and module != "__init__" else 0)
            root = base[: len(base) - up] if node.level else []
            if module == "__init__" and node.level:
                root = ["wmb_fast"]
            stem = ".".join([*root, *([node.module] if node.module else [])])
            yield from (f"{stem}.{alias.name}" for alias in node.names)
        elif (
            isinstance(node, ast.Call)
            and getattr(node.func, "attr", getattr(node.func, "id", "")) in ("optional", "import_module")
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.args[0].value


def floor_of(module: str) -> str:
    names = [floor for floor in FLOORS if module == floor or module.startswith(floor + ".")]
    if not names:
        raise AssertionError(f"{module} stands on no floor: add it to FLOORS, or put it where it belongs")
    return max(names, key=len)


def complaints(module: str, path: Path) -> list[str]:
    floor = floor_of(module)
    top = floor.split(".", maxsplit=1)[0]
    found = []
    for name in imports(module, path):
        head, _, rest = name.partition(".")
        if head != "wmb_fast":
            if head in OUTSIDERS and top not in OUTSIDERS[head]:
                found.append(f"{module} imports {head}, which only {sorted(OUTSIDERS[head])} may know")
            continue
        if not rest:
            allowed = "__init__" in FLOORS[floor]
        elif floor == "__init__":
            allowed = rest.split(".")[0] in FLOORS["__init__"]
        else:
            own = rest == top or rest.startswith(top + ".")
            allowed = own or any(rest == below or rest.startswith(below + ".") for below in FLOORS[floor])
        if not allowed:
            found.append(f"{module} ({floor}) imports wmb_fast.{rest}, which does not stand below it")
    return found


@pytest.mark.parametrize(("module", "path"), list(modules()), ids=[name for name, _ in modules()])
def test_a_floor_imports_only_what_stands_below(module: str, path: Path) -> None:
    assert not complaints(module, path)


def test_the_check_sees_an_upward_import(tmp_path: Path) -> None:
    """The test above can fail."""
    bad = tmp_path / "align.py"
    bad.write_text("from ..protocols import worldmark\nimport cv2\nfrom .._walls import arrays\n")
    found = complaints("ops.align", bad)
    assert len(found) == 2
    assert "wmb_fast.protocols.worldmark" in found[0]
    assert "cv2" in found[1]


def test_headers_know_only_what_stands_below() -> None:
    """csrc: core includes core alone; cpu never bind; nothing includes Python, torch, Eigen or the CUDA runtime."""
    for path in sorted((REPO / "csrc").rglob("*")):
        if path.suffix not in (".h", ".cpp", ".inc"):
            continue
        floor = path.relative_to(REPO / "csrc").parts[0]
        for line in path.read_text().splitlines():
            if not line.startswith("#include"):
                continue
            name = line.split()[1].strip('<>"')
            assert not name.startswith(("Eigen", "torch", "cuda", "Python.h", "pybind11")), f"{path}: {line}"
            if floor == "core":
                assert not name.startswith(("cpu/", "bind/", "nanobind")), f"{path}: {line}"
                assert '"' not in line or name.startswith("core/"), f"{path}: {line}"
            if floor == "cpu":
                assert not name.startswith(("bind/", "nanobind")), f"{path}: {line}"


def test_import_brings_numpy_alone() -> None:
    program = """
import sys
import numpy
before = set(sys.modules)
import wmb_fast
new = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(new - {"wmb_fast", "numpy"} - set(sys.stdlib_module_names)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    # The editable finder of a development install names itself; an installed wheel has none.
    assert [name for name in ast.literal_eval(done.stdout) if not name.startswith("_wmb_fast_editable")] == []


def test_import_takes_under_150_ms_more_than_numpy() -> None:
    program = "import time, numpy\nt = time.process_time()\nimport wmb_fast\nprint(time.process_time() - t)"
    times = [
        float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
        for _ in range(5)
    ]
    assert min(times) < 0.150
