# SPDX-License-Identifier: Apache-2.0
"""A folder of clips as model folders hold them, and evidence of them that all tests of runs share."""

from __future__ import annotations

from pathlib import Path

import pytest
from clips import write_clip


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, two cases each; every clip there and back."""
    root = tmp_path_factory.mktemp("given") / "rollouts"
    for m, model in enumerate(("Alpha", "Beta")):
        for c, case in enumerate(("001_006", "002_006")):
            write_clip(root / model / f"{case}.mp4", seed=10 * m + c)
    return root


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache of evidence, so that each clip's is made once."""
    return tmp_path_factory.mktemp("cache")
