# SPDX-License-Identifier: Apache-2.0
"""The channel ``objects``: what OPIS's own files, beside a video, say of the objects of its input and its frames."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from ..protocols.evidence import Channel, Maker
from ..rollout.opis_files import files_of, read_all

CHANNEL = "objects"
_MADE_BY = ("segmenter", "embedder", "vision_config", "strict_models")  # what an observation may say of its making


def find(video: Path) -> dict[str, Path]:
    """The files of a rollout, by what they tell; empty where it lies in no case folder."""
    return files_of(video)


def read(files: Mapping[str, Path]) -> Channel:
    """Reads and checks them.

    Raises:
        FileFormatError: A file that is missing or not what it should be.
    """
    values = read_all(files) | {"sha256": fingerprint(files)}
    told = values["observation"].get("metadata") or {}
    settings = {name: told[name] for name in _MADE_BY if name in told}
    name = str(settings.get("segmenter", "external"))
    text = json.dumps(settings, sort_keys=True, default=str)
    return Channel(values, Maker(CHANNEL, name, "external", hashlib.sha256(text.encode()).hexdigest()[:16]))


def fingerprint(files: Mapping[str, Path]) -> str:
    """16 hexadecimal digits that change with what the files hold."""
    digest = hashlib.sha256()
    for what, path in sorted(files.items()):
        digest.update(f"{what}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:16]
