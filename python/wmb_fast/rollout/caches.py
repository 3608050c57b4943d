# SPDX-License-Identifier: Apache-2.0
"""The flow caches that WorldMark's evaluator writes, by name: ``<model>__<image>_<action>.npz``."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from .plan import Plan
from .plans import WORLDMARK, named_plan

_NAME = re.compile(r"(?P<model>.+)__(?P<case>\d{3}_(?P<action>\d{3}))\.npz")


@dataclass(frozen=True)
class Cache:
    """What the name of a flow cache says."""

    model: str
    case: str
    plan: Plan


def cache_from_filename(path: str | os.PathLike[str]) -> Cache | None:
    """Model, case and plan out of the name of a published flow cache; ``None`` where it is not one.

    Example:
        >>> found = cache_from_filename("flow/HY-World__016_014.npz")
        >>> found.model, found.case, found.plan.name
        ('HY-World', '016_014', 'worldmark/14')
        >>> cache_from_filename("016_014.flow.npz")
    """
    named = _NAME.fullmatch(Path(path).name)
    if named is None or not 1 <= int(named["action"]) <= len(WORLDMARK):
        return None
    return Cache(named["model"], named["case"], named_plan(f"worldmark/{int(named['action'])}"))
