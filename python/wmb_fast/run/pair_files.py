# SPDX-License-Identifier: Apache-2.0
"""The pairs of frames that R2M-Bench judges a rollout by, written in its own format.

Whoever computes a metric elsewhere (LPIPS, a judge's scores) needs to know of which frames.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from .._walls.errors import WmbError
from .._walls.places import home_folder
from ..evidence.make import gather
from ..evidence.store import Store
from ..protocols import r2m
from ..rollout.discover import find_rollouts
from ..rollout.r2m_files import write_pairs
from . import files

StrPath = str | os.PathLike[str]


def pairs(
    paths: Sequence[StrPath],
    *,
    out: StrPath,
    plan: str | None = None,
    compat: bool = False,
    cache: StrPath | None = None,
) -> Mapping[str, str]:
    """Writes a file for every rollout, named after its id: ``{revisit, baseline, short, meta}``.

    Args:
        paths: As for :func:`wmb_fast.run.score`.
        out: The folder to write.
        plan: A plan for all rollouts.
        compat: The published sampler, frame for frame.
        cache: Where facts about videos are kept.

    Returns:
        Rollout to an empty text, or to the reason why it has no pair, a video that cannot be read among them (then
        nothing is written for it).

    Raises:
        WmbError: The call is wrong.
    """
    target = files.writable_folder("out", Path(out))
    store = Store(files.writable_folder("cache", Path(cache) if cache else home_folder()))
    told = {}
    for rollout in find_rollouts(paths, plan=plan):
        try:
            evidence = gather(rollout, [], store=store)
        except WmbError as error:
            told[rollout.id] = f"failed: {error}"
            continue
        found, told[rollout.id] = r2m.pairs_of(evidence, compat=compat)
        if found is None:
            continue
        meta = {**found.meta, "protocol": r2m.NAME, "compat": compat, "rollout": rollout.id}
        path = target / f"{files.safe_name(rollout.id)}.json"
        write_pairs(path, {kind: some.tolist() for kind, some in found.kinds().items()}, meta)
    return told
