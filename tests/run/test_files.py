# SPDX-License-Identifier: Apache-2.0
"""Files that are whole or not there, and parts that are used again only when they are right."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmb_fast import ArgumentError
from wmb_fast._walls import drafts
from wmb_fast.protocols.record import Score, Status
from wmb_fast.run import files, parts

KEY = {"version": "1", "video": "ab", "plan": None, "protocols": ["worldmark"]}


def score(reason=""):
    return Score(
        rollout="a/b",
        model="a",
        case="b",
        protocol="worldmark",
        metric="m",
        part={"segment": 1, "axis": "translation"},
        value=None if reason else 0.25,
        status=Status.MISSING if reason else Status.OK,
        reason=reason,
        n_used=1,
        n_total=1,
        definition="worldmark.m/1",
        compat=False,
        detail={"curve": [0.1, 0.2]},
    )


@pytest.fixture
def out(tmp_path):
    (tmp_path / "parts").mkdir()
    return tmp_path


def test_a_part_comes_back_as_it_was_kept(out):
    part = parts.Part([score(), score("depth: no depth,\u2028 \r\n or 深度")], {"frames": 40, "fps": None})
    parts.keep(out, "a/b", KEY, part)
    found, note = parts.find(out, "a/b", KEY)
    assert note == ""
    assert found.facts == part.facts
    assert [s.to_json() for s in found.scores] == [s.to_json() for s in part.scores]


@pytest.mark.parametrize(
    "changed", [{"video": "cd"}, {"version": "2"}, {"plan": "x"}, {"protocols": ["worldmark", "r2m"]}]
)
def test_a_changed_key_makes_a_part_stale(out, changed):
    parts.keep(out, "a/b", KEY, parts.Part([score()], {}))
    assert parts.find(out, "a/b", {**KEY, **changed}) == (None, "")


@pytest.mark.parametrize(
    "damage",
    [
        lambda b: b[:-3],
        lambda b: b[:40],
        lambda b: b.replace(b"0.25", b"0.75"),
        lambda b: b"",
        lambda b: b"[]\n",
        lambda b: b"\xff\xfe" + b,
        lambda b: b + b"{}\n",
    ],
)
def test_a_damaged_part_is_refused_and_reported(out, damage):
    parts.keep(out, "a/b", KEY, parts.Part([score()], {}))
    path = parts.path_of(out, "a/b")
    path.write_bytes(damage(path.read_bytes()))
    found, note = parts.find(out, "a/b", KEY)
    assert found is None
    assert "made anew" in note


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tmp_path):
    path = tmp_path / "scorecard.jsonl"
    files.write(path, "old\n")
    with pytest.raises(UnicodeEncodeError):
        files.write(path, "new\ud800")
    assert path.read_text() == "old\n"
    assert [p.name for p in tmp_path.iterdir()] == ["scorecard.jsonl"]


def test_drafts_of_dead_processes_are_swept_and_those_of_live_ones_stay(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from wmb_fast.run import files\n"
        "os.replace = lambda a, b: os._exit(9)\n"
        "files.write(Path(sys.argv[1]) / 'x.json', 'text')"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 9
    assert len(list(tmp_path.iterdir())) == 1
    live = tmp_path / f".y.json.{drafts.owner()}.1.tmp"
    live.touch()
    drafts.sweep(tmp_path)
    assert list(tmp_path.iterdir()) == [live]


@given(st.sets(st.text(min_size=1, max_size=300), min_size=2, max_size=6))
def test_names_are_safe_and_unlike(identifiers):
    names = [files.safe_name(i) for i in identifiers]
    assert len(set(names)) == len(names)
    for name in names:
        assert "/" not in name
        assert not name.startswith(".")
        assert len(name.encode()) < 200


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match="out must be a folder that can be written"):
        files.writable_folder("out", tmp_path / "file" / "out")


def test_files_with_one_long_beginning_can_be_written_at_once(tmp_path, monkeypatch):
    first, second = (tmp_path / f"{'a' * 130}{end}.jsonl" for end in "xy")
    replace = drafts.os.replace

    def slowly(draft, path):
        if path == first:
            files.write(second, "second")  # another thread, between the writing and the renaming
        replace(draft, path)

    monkeypatch.setattr(drafts.os, "replace", slowly)
    files.write(first, "first")
    assert (first.read_text(), second.read_text()) == ("first", "second")


def test_a_full_disk_is_one_sentence_and_leaves_no_draft(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(drafts.os, "fsync", full)
    with pytest.raises(ArgumentError, match=r"out must be a folder that can be written, got .*No space left"):
        files.write(tmp_path / "board.md", "text")
    assert list(tmp_path.iterdir()) == []
