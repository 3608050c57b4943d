# SPDX-License-Identifier: Apache-2.0
"""Runs: rollouts in, a run folder out. Resumable, and the same bytes however it was run."""

from .caches import write_caches
from .describe import version
from .engine import Outcome, Progress, score
from .exact import hand_in
from .folder import boards, displayed, grouped, read_scorecards
from .pair_files import pairs
from .prompts import write_prompts
from .sweep import HEADS as SWEEP_HEADS
from .sweep import Sweep, sweep
from .sweep import notes as sweep_notes
from .sweep import table as sweep_table

__all__ = [
    "SWEEP_HEADS",
    "Outcome",
    "Progress",
    "Sweep",
    "boards",
    "displayed",
    "grouped",
    "hand_in",
    "pairs",
    "read_scorecards",
    "score",
    "sweep",
    "sweep_notes",
    "sweep_table",
    "version",
    "write_caches",
    "write_prompts",
]
