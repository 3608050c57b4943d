# SPDX-License-Identifier: Apache-2.0
"""What all tests share: where the shared oracles and data are, and how a test that needs them skips visibly."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("WMB_SHARED", REPO.parent / "shared"))
ORACLES = Path(os.environ.get("WMB_ORACLES", SHARED / "oracles" / "open"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data; tests that need it are skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"no shared data at {SHARED}: set WMB_SHARED")
    return SHARED


@pytest.fixture(scope="session")
def oracles() -> Path:
    """The folder of oracle vectors; tests that need it are skipped where it is absent."""
    if not ORACLES.is_dir():
        pytest.skip(f"no oracle vectors at {ORACLES}: set WMB_ORACLES")
    return ORACLES
