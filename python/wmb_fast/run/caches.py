# SPDX-License-Identifier: Apache-2.0
"""Rollouts as the flow caches that WorldMark's own evaluator reads: ``<model>__<image>_<action>.npz``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from .._walls.errors import WmbError
from ..evidence.make import gather
from ..evidence.store import Store, default_folder
from ..protocols import worldmark
from ..rollout.discover import Rollout, find_rollouts
from . import curves, files


def write_caches(
    paths: Sequence[Path], *, out: Path, plan: str | None = None, cache: Path | None = None
) -> tuple[list[Path], dict[str, str]]:
    """Writes the flow cache of each rollout.

    Args:
        paths: As for scoring; flow caches too.
        out: The folder to write.
        plan: For rollouts that do not bring theirs.
        cache: Where evidence is kept.

    Returns:
        The files, and rollout to reason where there is none.

    Raises:
        WmbError: The call is wrong.
    """
    rollouts = find_rollouts(paths, plan=plan)
    target = files.writable_folder("out", out)
    store = Store(files.writable_folder("cache", cache or default_folder()))
    written, refused = [], {}
    for rollout in rollouts:
        try:
            evidence = gather(rollout, [worldmark.FlowOnly], store=store, compat=True)
            arrays = worldmark.flow_cache(evidence)
            path = target / f"{_name(rollout, int(arrays['action']))}.npz"
            if path in written:
                raise FileExistsError(f"{path.name} is another rollout's too")
            files.write(path, curves.packed(arrays))
            written.append(path)
        except (WmbError, FileExistsError) as error:
            refused[rollout.id] = str(error)
    return written, refused


def _name(rollout: Rollout, action: int) -> str:
    case = (rollout.case or rollout.id).rsplit("/", 1)[-1]
    image = re.match(r"\d{3}(?=_)", case)
    stem = f"{image[0]}_{action:03d}" if image else files.safe_name(case)
    return f"{files.safe_name(rollout.model or 'model').replace('%20', ' ')}__{stem}"
