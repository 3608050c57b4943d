# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a file of evidence, told before a run finds out."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._walls.errors import FileFormatError, bad_value
from ..rollout.video import open_video
from . import external, schema


@dataclass(frozen=True)
class Inspected:
    """A file that a run would take.

    Attributes:
        channel: What it holds.
        estimator: What it says made it.
        origin: What else it says of that.
        fingerprint: Of its bytes, as records will carry it.
        values: What is in it, and how large.
        n_frames: Of the rollout that it was held against.
    """

    channel: str
    estimator: str
    origin: Mapping[str, Any]
    fingerprint: str
    values: Mapping[str, str]
    n_frames: int


def inspect(path: str | os.PathLike[str], *, channel: str | None = None, n_frames: int | None = None) -> Inspected:
    """Reads a file as a run would.

    Args:
        path: An npz (or JSON) of one channel.
        channel: Which; by default as the file's name says: ``<video>.<channel>.npz``.
        n_frames: Of its rollout; by default of the video beside it.

    Raises:
        FileFormatError: What is wrong with it, in one sentence: no such file, not an npz of plain arrays, an array that
            is missing, of another shape, type or range, or that does not fit the rollout; an origin that is no JSON
            object; a judge's reply that no protocol will read, because it is none (a run takes it as it is).
        ArgumentError: The channel is unknown; or there is no video beside it, and the frames are not said.
    """
    file = Path(path)
    stem, _, named = file.stem.rpartition(".")
    channel = channel or named
    if channel not in schema.REQUIRED:
        known = ", ".join(schema.REQUIRED)
        raise bad_value("evidence check", "channel", f"be one of {known} (<video>.<channel>.npz)", repr(channel))
    if not file.is_file():
        raise FileFormatError(f"evidence check: {file} must exist, got nothing there")
    n = _beside(file, stem) if n_frames is None else n_frames
    found = external.read(file, channel, n)
    if channel == "judge":
        _must_be_an_object(file, found.values["text"])
    values = {name: _told(value) for name, value in found.values.items()}
    maker = found.maker
    return Inspected(channel, maker.id, external.origin(file), maker.fingerprint, values, n)


def _must_be_an_object(file: Path, reply: str) -> None:
    try:
        said: Any = json.loads(reply)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        got = repr(reply if len(reply) <= 40 else f"{reply[:40]}...")
        raise FileFormatError(f"evidence check: {file.name} must hold a reply that is one JSON object, got {got}")


def _beside(file: Path, stem: str) -> int:
    for video in sorted(file.parent.iterdir()):
        same = video.name == stem if video.is_dir() else video.stem == stem and video.suffix not in (".npz", ".json")
        if same:
            return open_video(video).n_frames
    raise bad_value("evidence check", "frames", "be said where no video lies beside the file", f"none for {file.name}")


def _told(value: Any) -> str:
    if isinstance(value, np.ndarray):
        numbers = value[np.isfinite(value)] if value.dtype.kind == "f" else value
        span = f", {numbers.min():g} to {numbers.max():g}" if numbers.size and value.dtype.kind in "iuf" else ""
        lacking = value.size - numbers.size
        return f"{value.dtype} {value.shape}{span}" + (f", {lacking} not finite" if lacking else "")
    text = json.dumps(value, default=str)
    return text if len(text) <= 80 else f"{text[:77]}..."
