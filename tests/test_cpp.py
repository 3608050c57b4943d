# SPDX-License-Identifier: Apache-2.0
"""The core's own C++ tests (tests/cpp): under sanitizers, and under valgrind where that is installed.

Skipped where there is no C++ compiler or CMake, unless ``WMB_REQUIRE_CPP=1``, which CI sets: then that is a failure.
"""

from __future__ import annotations

from pathlib import Path

import builds
from builds import require, run


def build(folder: Path, *targets: str, sanitize: bool = False) -> Path:
    """Builds programs of tests/cpp, and returns the folder they are in."""
    builds.build(folder, *targets, WMB_CPP_TESTS="ON", WMB_SANITIZE="ON" if sanitize else "OFF")
    return folder / "tests" / "cpp"


def passes(*command: str | Path) -> None:
    done = run(*command)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-8000:]
    assert "0 failed" in done.stdout


def test_address_and_undefined_behaviour(tmp_path: Path) -> None:
    programs = build(tmp_path, "core_tests", "faults", sanitize=True)
    assert run(programs / "faults").returncode == 0
    for fault, says in {
        "beyond": "heap-buffer-overflow",
        "overflow": "signed integer overflow",
        "cast": "nan is outside the range",
    }.items():
        seen = run(programs / "faults", fault)
        assert seen.returncode != 0
        assert says in seen.stderr
    passes(programs / "core_tests")


def test_threads(tmp_path: Path) -> None:
    programs = build(tmp_path, "thread_tests", "thread_faults")
    seen = run(programs / "thread_faults", "race")
    assert seen.returncode != 0
    assert "data race" in seen.stderr
    passes(programs / "thread_tests")


def test_values_never_set(tmp_path: Path) -> None:
    """Memory that is read before it is written: what no sanitizer of GCC sees, valgrind does."""
    require("valgrind")
    programs = build(tmp_path, "core_tests", "faults")
    valgrind = ("valgrind", "--quiet", "--error-exitcode=9", "--leak-check=full")
    assert run(*valgrind, programs / "faults").returncode == 0
    seen = run(*valgrind, programs / "faults", "unset")
    assert seen.returncode == 9
    assert "uninitialised" in seen.stderr
    passes(*valgrind, programs / "core_tests", "--once")
