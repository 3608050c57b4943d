# SPDX-License-Identifier: Apache-2.0
"""The known-answer world's own evidence, handed in as estimators' would be, with exactly the frames asked for.

With it WorldMark's lateral and turning direction and its Global memory are live, WorldMemBench's static metrics and
Camera Following, and OPIS; and their right answers are known.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._walls.errors import bad_value
from ..protocols.evidence import Evidence
from ..rollout.opis_files import FILES
from ..rollout.plan import Facts
from ..world import World, exact_case, exact_evidence
from . import objects
from .make import Asks

NAME = "known-answer-world"


def hand_in(world: World, video: str | os.PathLike[str], protocols: Sequence[Asks]) -> list[Path]:
    """Writes the exact channels beside a world's video, where scoring finds them.

    Args:
        world: The world.
        video: Its video; ``<stem>.<channel>.npz`` are written beside it and, where a protocol asks for the objects of
            some frames, the files of an OPIS case.
        protocols: Modules with ``needs(evidence, *, compat)``: the frames of depth, geometry and objects are those they
            ask for.

    Returns:
        The files.

    Raises:
        ArgumentError: The folder cannot be written.
    """
    written = []
    for path, content in _files(world, Path(video), protocols):
        try:
            path.write_bytes(content)
        except OSError as error:
            raise bad_value("hand_in", "video", "lie in a folder that can be written", f"{path} ({error})") from error
        written.append(path)
    return written


def _files(world: World, video: Path, protocols: Sequence[Asks]) -> Iterator[tuple[Path, bytes]]:
    facts = Facts("world", None, None, world.plan, len(world), world.fps, *world.size)
    asked: dict[str, set[int]] = {"depth": set(), "geometry": set(), objects.CHANNEL: set()}
    for protocol in protocols:
        for need in protocol.needs(Evidence(facts)):
            if need.channel in asked:
                asked[need.channel].update(range(len(world)) if need.frames is None else need.frames)
    observed = sorted(asked.pop(objects.CHANNEL))
    for channel, arrays in exact_evidence(world, **asked).items():
        packed = io.BytesIO()
        named: dict[str, Any] = {"estimator": np.array(NAME), **arrays}
        np.savez_compressed(packed, **named)
        yield video.with_suffix(f".{channel}.npz"), packed.getvalue()
    if observed:
        case = exact_case(world, observed)
        case["observation"]["metadata"] = {"segmenter": NAME, "embedder": NAME}
        for what, record in case.items():
            yield video.with_name(FILES[what][0]), json.dumps(record, allow_nan=False).encode()
