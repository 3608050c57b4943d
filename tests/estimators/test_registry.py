# SPDX-License-Identifier: Apache-2.0
"""The registry: fingerprints change with the numbers, and nothing heavy is imported to look at it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from wmb_fast._walls.errors import MissingExtraError
from wmb_fast.estimators import flow_dis, opencv
from wmb_fast.estimators.registry import BUILTIN, why_absent


@pytest.mark.parametrize("role", sorted(BUILTIN))
def test_entries(role: str) -> None:
    entry = BUILTIN[role]
    exact = role == "fidelity"  # the benchmarks' own arithmetic, no stand-in for a network
    assert (entry.role, entry.tier, entry.licence) == (role, "official" if exact else "builtin", "Apache-2.0")
    print_ = entry.fingerprint(entry.settings(None))
    assert len(print_) == 16
    assert print_ == entry.fingerprint(entry.settings(None))


def test_a_fingerprint_changes_with_settings_version_and_library(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = BUILTIN["flow"]
    plain = entry.settings(None)
    seen = {entry.fingerprint(plain), entry.fingerprint({**plain, "stride": 1})}
    seen.add(entry.fingerprint(entry.settings("SANA-WM")))
    monkeypatch.setattr(flow_dis, "VERSION", 99)
    seen.add(entry.fingerprint(plain))
    monkeypatch.undo()
    for library in ("cv2", "numpy"):
        with monkeypatch.context() as patched:
            patched.setattr(f"{library}.__version__", "0.0")
            seen.add(entry.fingerprint(plain))
    assert len(seen) == 6


def test_libraries_that_compute_nothing_are_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The benchmarks' own arithmetic is in the core, and rows are gathered by NumPy: no OpenCV is asked for."""
    entry = BUILTIN["fidelity"]
    before = entry.fingerprint(entry.settings(None))
    monkeypatch.setitem(sys.modules, "cv2", None)
    assert entry.fingerprint(entry.settings(None)) == before


def test_the_registry_imports_no_opencv() -> None:
    program = "import sys, wmb_fast.estimators.registry; print('cv2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_opencv_the_command_that_adds_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'wmb-fast\[score\]'"):
        opencv.opencv("opencv-dis")


def test_what_no_estimator_makes_says_who_does() -> None:
    assert "parallax.npz" in why_absent("parallax")
    assert "hand in <video>.faces.npz" in why_absent("faces")
