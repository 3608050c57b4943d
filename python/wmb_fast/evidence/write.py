# SPDX-License-Identifier: Apache-2.0
"""Channels that an estimator of this library makes, written as files that can be looked at, kept, and handed in.

A file says whose it is: handed in, a proxy's numbers are a proxy's still.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .._walls import drafts
from .._walls.errors import FileFormatError, bad_value
from .._walls.places import home_folder
from ..estimators import choice
from ..estimators.registry import why_absent
from ..protocols.evidence import Channel, Evidence, Need
from ..rollout.discover import Rollout
from .make import gather
from .schema import REQUIRED
from .store import Store

StrPath = str | os.PathLike[str]


@dataclass(frozen=True)
class Made:
    """One channel of one video: the file that was written, or why there is none."""

    video: Path
    channel: str
    path: Path | None
    problem: str = ""


class _Wants:
    """A protocol that wants channels of every frame."""

    def __init__(self, channels: Sequence[str]) -> None:
        self._needs = [Need(channel) for channel in channels]

    def needs(self, evidence: Evidence, *, compat: bool = False) -> list[Need]:
        return self._needs


def write(
    videos: Sequence[StrPath],
    channels: Sequence[str],
    *,
    out: StrPath,
    estimators: str = choice.DEFAULT,
    device: str = "cpu",
    cache: StrPath | None = None,
) -> list[Made]:
    """Makes channels of all frames of videos, and writes ``<out>/<video>.<channel>.npz``, as :mod:`.schema` says.

    Args:
        videos: Files, or folders of frames; what their models were told to do need not be known.
        channels: Their names.
        out: The folder to write.
        estimators, device: As of :func:`..estimators.choice.chosen`.
        cache: Where evidence is kept.

    Returns:
        One entry a video and channel. What was handed in beside a video is no estimator's, and is not written.

    Raises:
        ArgumentError: A channel that no chosen estimator makes of frames; two videos of one name; a folder that cannot
            be written.
    """
    tools = choice.chosen(estimators, device)
    for channel in channels:
        if channel not in tools or channel not in REQUIRED:
            raise bad_value("evidence make", "channel", "have an estimator", f"{channel!r}: {why_absent(channel)}")
        if tools[channel].by_pair:
            raise bad_value("evidence make", "channel", "be of frames, not of a protocol's pairs", repr(channel))
    paths = [Path(video) for video in videos]
    names = [path.name if path.is_dir() else path.stem for path in paths]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise bad_value("evidence make", "videos", "have names of their own", f"{twice} twice")
    store = Store(home_folder() if cache is None else cache)
    made: list[Made] = []
    for name, path in zip(names, paths, strict=True):
        try:
            evidence = gather(Rollout(name, path, None, None, None), [_Wants(channels)], store=store, estimators=tools)
        except FileFormatError as error:
            made.extend(Made(path, channel, None, str(error)) for channel in channels)
            continue
        for channel in channels:
            found = evidence.channels.get(channel)
            if found is None or found.maker.tier == "external":
                made.append(Made(path, channel, None, "it was handed in" if found else evidence.missing[channel]))
                continue
            target = Path(out) / f"{name}.{channel}.npz"
            _keep(target, found, evidence.provenance["video_sha256"])
            made.append(Made(path, channel, target))
    return made


def _keep(path: Path, channel: Channel, video: str) -> None:
    maker = channel.maker
    origin = {"source": "wmb-fast", "fingerprint": maker.fingerprint, "video_sha256": video}
    texts = {"estimator": maker.id, "tier": maker.tier, "origin": json.dumps(origin, sort_keys=True)}
    packed, arrays = io.BytesIO(), {name: np.asarray(value) for name, value in {**channel.values, **texts}.items()}
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        drafts.write(path, packed.getvalue())
    except OSError as error:
        got = f"{path.parent} ({error})"
        raise bad_value("evidence make", "out", "be a folder that can be written", got) from error
