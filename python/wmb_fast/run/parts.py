# SPDX-License-Identifier: Apache-2.0
"""What a run keeps of each finished rollout, so that a killed run goes on where it stopped.

A part is one file: a line that says what the records were made from (the key) and what they hash to, then the records.
It is used again when its key is the one that would be made now and its records are whole; else it is made anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..protocols.record import Score
from .files import safe_name, write

FORMAT = 2
Key = Mapping[str, Any]


@dataclass(frozen=True)
class Part:
    """The records of one rollout, and the facts about it that ``run.json`` repeats."""

    scores: Sequence[Score]
    facts: Mapping[str, Any]


def path_of(out: Path, rollout: str) -> Path:
    """Where a rollout's part lies."""
    return out / "parts" / f"{safe_name(rollout)}.jsonl"


def keep(out: Path, rollout: str, key: Key, part: Part) -> None:
    """Writes a part, whole or not at all."""
    body = "".join(score.to_json() + "\n" for score in part.scores)
    head = {"format": FORMAT, "key": key, "facts": part.facts, "sha256": sha256(body.encode()).hexdigest()}
    write(path_of(out, rollout), json.dumps(head, allow_nan=False, ensure_ascii=False) + "\n" + body)


def find(out: Path, rollout: str, key: Key) -> tuple[Part | None, str]:
    """The part that was made from this key, or ``None`` and a sentence where a damaged one lies in its place."""
    path = path_of(out, rollout)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None, ""
    except (OSError, UnicodeDecodeError) as error:
        return None, f"{path.name} could not be read ({error}) and is made anew"
    first, _, body = text.partition("\n")
    try:
        head = json.loads(first)
        if head["format"] != FORMAT or head["key"] != json.loads(json.dumps(key)):
            return None, ""
        if head["sha256"] != sha256(body.encode()).hexdigest():
            return None, f"{path.name} is damaged and is made anew"
        return Part([Score.from_json(line) for line in body.split("\n") if line], head["facts"]), ""
    except (ValueError, KeyError, TypeError):
        return None, f"{path.name} is damaged and is made anew"
