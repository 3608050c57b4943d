# SPDX-License-Identifier: Apache-2.0
"""Small files of plain data (JSON, YAML, CSV), read strictly: every complaint is one sentence with file and key."""

from __future__ import annotations

import csv
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .._walls.errors import FileFormatError
from .._walls.ext import optional

Row = dict[str, Any]
ENDINGS = (".json", ".yaml", ".yml")


def wrong(who: str, path: Path, key: str, requirement: str, got: object) -> FileFormatError:
    """The one sentence about a key of a file."""
    return FileFormatError(f"{who}: {key} must {requirement}, got {got}: {path}")


def load(who: str, path: Path) -> Any:
    """The data of a JSON or YAML file. A key that stands twice in one mapping is refused."""
    if path.suffix.lower() not in ENDINGS:
        raise wrong(who, path, "file name", "end in .json, .yaml or .yml", repr(path.name))
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors put a byte order mark before it
    except (OSError, ValueError) as error:
        raise wrong(who, path, "file", "be readable text", str(error).split(":")[0]) from error
    return _json(who, path, text) if path.suffix.lower() == ".json" else _yaml(who, path, text)


def _once(who: str, path: Path, pairs: Iterable[tuple[Hashable, Any]]) -> dict[Hashable, Any]:
    data: dict[Hashable, Any] = {}
    for key, value in pairs:
        if key in data:
            raise wrong(who, path, f"key {key!r}", "stand once", "it twice")
        data[key] = value
    return data


def _json(who: str, path: Path, text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _once(who, path, pairs))
    except json.JSONDecodeError as error:
        raise wrong(who, path, "file", "be JSON", f"{error.msg} in line {error.lineno}") from error
    except FileFormatError:
        raise
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets thousands deep
        raise wrong(who, path, "file", "be JSON that can be taken in", str(error)) from error


def _yaml(who: str, path: Path, text: str) -> Any:
    yaml = optional("yaml", "score", who)

    class Strict(yaml.SafeLoader):  # type: ignore[misc,name-defined]
        """PyYAML keeps the last of two equal keys; this refuses them."""

    def mapping(loader: Any, node: Any) -> dict[Hashable, Any]:
        return _once(who, path, loader.construct_pairs(node, deep=True))

    Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    try:
        return yaml.load(text, Loader=Strict)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f" in line {mark.line + 1}"
        what = getattr(error, "problem", None) or "something else"
        raise wrong(who, path, "file", "be YAML", f"{what}{line}") from error
    except FileFormatError:
        raise
    except (ValueError, TypeError, AttributeError, RecursionError) as error:  # a month 13, a list for a key, depth
        raise wrong(who, path, "file", "be YAML that can be taken in", str(error)) from error


def load_csv(who: str, path: Path) -> list[Row]:
    """The rows of a CSV table with a header; an empty cell is absent."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            header = [name.strip() for name in next(reader, [])]
            rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise wrong(who, path, "file", "be a readable table", str(error).split(":")[0]) from error
    _once(who, path, ((name, None) for name in header))
    for line, row in rows:
        if len(row) != len(header):
            raise wrong(who, path, f"line {line}", f"have the header's {len(header)} cells", len(row))
    return [{name: cell.strip() for name, cell in zip(header, row, strict=True) if cell.strip()} for _, row in rows]


def only(who: str, path: Path, at: str, row: object, known: Sequence[str]) -> Row:
    """Requires a mapping with none but the known keys."""
    if not isinstance(row, Mapping):
        raise wrong(who, path, at, "be a mapping of keys to values", type(row).__name__)
    for key in row:
        if key not in known:
            raise wrong(who, path, at, f"have no keys but {', '.join(known)}", repr(key))
    return dict(row)


def text_of(who: str, path: Path, at: str, value: object) -> str:
    """Requires text that is not empty and can be written (JSON can spell halves of characters)."""
    if not isinstance(value, str) or not value or any("\ud800" <= c <= "\udfff" for c in value):
        raise wrong(who, path, at, "be text", ascii(value))
    return value


def whole_numbers(who: str, path: Path, at: str, value: object) -> list[int]:
    """Requires a list of integers; in a table's cell they are written with blanks between."""
    items = value.split() if isinstance(value, str) else value
    if not isinstance(items, list):
        raise wrong(who, path, at, "be a list of whole numbers", repr(value))
    if isinstance(value, str):
        items = [int(item) if item.lstrip("-").isdecimal() else item for item in items]
    if any(isinstance(item, bool) or not isinstance(item, int) for item in items):
        raise wrong(who, path, at, "be a list of whole numbers", repr(value))
    return items
