# SPDX-License-Identifier: Apache-2.0
"""Where the library keeps its own: cached evidence, networks, transcripts."""

from __future__ import annotations

import os
from pathlib import Path

HOME = "WMB_FAST_HOME"


def home_folder() -> Path:
    """``$WMB_FAST_HOME``; where that is not set, ``wmb-fast`` in the user's cache folder."""
    home = os.environ.get(HOME)
    if home:
        return Path(home)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wmb-fast"
