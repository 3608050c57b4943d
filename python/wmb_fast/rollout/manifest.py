# SPDX-License-Identifier: Apache-2.0
"""Tables of rollouts: our own manifests, and tables that others put beside their videos.

A manifest is a CSV table with a header, or JSON or YAML: a list of rows, or a mapping whose only key is ``rollouts``.

    video,model,case,plan,boundaries,fps
    a/016_014.mp4,lyra-2,016_014,worldmark/14,0 320 641,16

Only ``video`` is required: a video file or a folder of frames, relative to the manifest. ``id`` names the rollout
otherwise than by its path; ``plan`` is a name or a plan file; ``boundaries`` are the first frames of its steps (and the
end of the last one); ``fps`` is the rate of a folder of frames; ``poses`` is a file of commanded poses (R2M-Bench's
pose JSON, or an npz with ``cam_to_world``).

A table of others is a JSON mapping of file stems to rows like ``{"model": "Yume 1.5", "action_id": 6, "fps": 16.0,
"segment_boundaries_frame": [290], "frames": 580}``; keys that are not known are theirs and are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._walls.errors import ArgumentError
from .plan import Plan
from .planfile import plan_of
from .plans import named_plan
from .tables import ENDINGS, Row, load, load_csv, only, text_of, whole_numbers, wrong

WHO = "find_rollouts"
COLUMNS = ("id", "video", "model", "case", "plan", "boundaries", "fps", "poses")
TABLE = "annotations.json"


@dataclass(frozen=True)
class Entry:
    """One row: what a table says of a rollout."""

    video: Path
    model: str | None
    case: str | None
    plan: Plan | None
    fps: float | None
    identity: str | None
    source: str
    poses: Path | None = None


def read_manifest(path: Path) -> list[Entry]:
    """The rows of a manifest, or of a table of others, in their order.

    Raises:
        FileFormatError: A file of another form, an unknown column, a bad value, a plan that does not exist: file, row
            and column are named.
    """
    if path.suffix.lower() == ".csv":
        rows = load_csv(WHO, path)
        return [_entry(path, f"row {i + 1}", row) for i, row in enumerate(rows)]
    data = load(WHO, path)
    if isinstance(data, dict) and list(data) != ["rollouts"]:
        return read_table(path, data)
    listed = data["rollouts"] if isinstance(data, dict) else data
    if not isinstance(listed, list):
        raise wrong(WHO, path, "a manifest", "be a list of rows", type(listed).__name__)
    return [_entry(path, f"row {i + 1}", row) for i, row in enumerate(listed)]


def is_manifest(path: Path) -> bool:
    """Whether a file found in a folder is a manifest of ours: rows that are mappings, the first with a video.

    Raises:
        FileFormatError: A file that cannot be read as what its ending says.
    """
    if path.suffix.lower() not in (".csv", *ENDINGS):
        return False
    data = load_csv(WHO, path) if path.suffix.lower() == ".csv" else load(WHO, path)
    rows = data.get("rollouts") if isinstance(data, dict) else data
    return isinstance(rows, list) and bool(rows) and isinstance(rows[0], dict) and "video" in rows[0]


def _entry(path: Path, at: str, raw: object) -> Entry:
    row = only(WHO, path, at, raw, COLUMNS)
    if "video" not in row:
        raise wrong(WHO, path, at, "have a video", "none")
    texts = {
        key: text_of(WHO, path, f"{at}, {key}", row[key])
        for key in ("id", "video", "model", "case", "poses")
        if key in row
    }
    plan = None
    try:
        if "plan" in row:
            plan = plan_of(text_of(WHO, path, f"{at}, plan", row["plan"]), path.parent)
        if "boundaries" in row:
            boundaries = whole_numbers(WHO, path, f"{at}, boundaries", row["boundaries"])
            if plan is None:
                raise wrong(WHO, path, f"{at}, boundaries", "stand with a plan", "none")
            plan = plan.realised(boundaries)
    except ArgumentError as error:
        raise wrong(WHO, path, f"{at}, plan", "be possible", str(error)) from error
    return Entry(
        video=path.parent / texts["video"],
        model=texts.get("model"),
        case=texts.get("case"),
        plan=plan,
        fps=_rate(path, f"{at}, fps", row.get("fps")),
        identity=texts.get("id"),
        source=f"manifest {path.name}",
        poses=path.parent / texts["poses"] if "poses" in texts else None,
    )


def _rate(path: Path, at: str, value: object) -> float | None:
    if value is None:
        return None
    try:
        rate = float("nan") if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        rate = float("nan")
    if not 0 < rate < float("inf"):
        raise wrong(WHO, path, at, "be a number above 0", repr(value))
    return rate


def read_table(path: Path, data: Any = None) -> list[Entry]:
    """The rows of a table of others: what can be inferred from it, for the videos that stand beside it."""
    data = load(WHO, path) if data is None else data
    if not isinstance(data, dict) or not data or not all(isinstance(row, dict) for row in data.values()):
        raise wrong(WHO, path, "a table", "map file stems to rows", type(data).__name__)
    beside = {p.stem: p for p in sorted(path.parent.iterdir()) if p.is_file() and p != path}
    return [_inferred(path, stem, row, beside.get(stem, path.parent / stem)) for stem, row in data.items()]


def table_beside(videos: Sequence[Path]) -> dict[Path, Entry]:
    """What a table in the folder of these videos says of them; nothing where there is none that knows one of them."""
    if not videos or not (videos[0].parent / TABLE).is_file():
        return {}
    path = videos[0].parent / TABLE
    data = load(WHO, path)
    stems = {video.stem for video in videos}
    rows = {key: row for key, row in data.items() if key in stems} if isinstance(data, dict) else {}
    return {entry.video: entry for entry in read_table(path, rows)} if rows else {}


def _inferred(path: Path, stem: str, row: Row, video: Path) -> Entry:
    try:
        plan = _inferred_plan(path, stem, row)
    except ArgumentError as error:
        raise wrong(WHO, path, f"row {stem!r}", "give a plan that is possible", str(error)) from error
    known = [key for key in ("model", "input_image") if key in row]
    texts = {key: text_of(WHO, path, f"row {stem!r}, {key}", row[key]) for key in known}
    numbered = "input_image" in texts and plan is not None
    return Entry(
        video=video,
        model=texts.get("model"),
        case=f"{texts['input_image']}_{int(row['action_id']):03d}" if numbered and "action_id" in row else stem,
        plan=plan,
        fps=_rate(path, f"row {stem!r}, fps", row.get("fps")),
        identity=None,
        source=f"inferred from the table {path.name}",
    )


def _inferred_plan(path: Path, stem: str, row: Row) -> Plan | None:
    """WorldMark's plan by its action id or keys, with the frames at which the keys really changed."""
    if "action_id" in row:
        plan = named_plan(f"worldmark/{row['action_id']}")
    elif "command" in row:
        plan = named_plan(text_of(WHO, path, f"row {stem!r}, command", row["command"]))
    else:
        return None
    if "command" in row and plan != named_plan(str(row["command"])):
        got = f"{row['command']!r} and {row['action_id']!r}"
        raise wrong(WHO, path, f"row {stem!r}", "have a command that is its action_id's", got)
    if "segment_boundaries_frame" not in row:
        return plan
    inner = whole_numbers(WHO, path, f"row {stem!r}, segment_boundaries_frame", row["segment_boundaries_frame"])
    end = whole_numbers(WHO, path, f"row {stem!r}, frames", [row["frames"]]) if "frames" in row else []
    return plan.realised([0, *inner, *end])
