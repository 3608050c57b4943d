# SPDX-License-Identifier: Apache-2.0
"""Runs: rollouts in, a run folder out. Resumable, and the same bytes however it was run."""

from .describe import version
from .engine import Outcome, Progress, score
from .folder import boards, read_scorecards
from .pair_files import pairs

__all__ = ["Outcome", "Progress", "boards", "pairs", "read_scorecards", "score", "version"]
