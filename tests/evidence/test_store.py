# SPDX-License-Identifier: Apache-2.0
"""The cache: what goes in comes out, or it is recomputed and said so; never half an entry."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wmb_fast._walls.errors import ArgumentError
from wmb_fast.evidence import store as store_module
from wmb_fast.evidence.store import Key, Store, default_folder

KEY = Key("ab" * 32, "pyav 1", "flow", "0123456789abcdef", (1, 5))
VALUES = {
    "radial": np.linspace(0, 1, 500),
    "mean": np.arange(12, dtype=np.float32).reshape(3, 4),
    "none": np.empty((0, 3), dtype=np.int64),
    "stride": 2,
    "grid": (640, 432),
    "fps": 23.976023976023978,
    "what": None,
}


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    store = Store(tmp_path / "not" / "there" / "yet")
    assert store.get(KEY) == (None, "")
    store.put(KEY, VALUES)
    values, damage = store.get(KEY)
    assert damage == ""
    assert values is not None
    assert values.keys() == VALUES.keys()
    for name, value in VALUES.items():
        if isinstance(value, np.ndarray):
            assert values[name].dtype == value.dtype
            np.testing.assert_array_equal(values[name], value)
        else:
            assert values[name] == value
            assert type(values[name]) is type(value)


def test_an_entry_is_an_ordinary_npz(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(KEY, VALUES)
    with np.load(store.path(KEY)) as stored:
        np.testing.assert_array_equal(stored["radial"], VALUES["radial"])


@pytest.mark.parametrize(
    "change",
    [
        {"video": "cd" * 32},
        {"decoder": "pyav 2"},
        {"channel": "cuts"},
        {"maker": "f" * 16},
        {"frames": (1, 6)},
        {"frames": None},
    ],
)
def test_another_key_is_another_entry(tmp_path: Path, change: dict[str, object]) -> None:
    store = Store(tmp_path)
    store.put(KEY, VALUES)
    assert store.get(replace(KEY, **change)) == (None, "")  # type: ignore[arg-type]


def test_damage_anywhere_is_found(tmp_path: Path) -> None:
    """One bit turned at each of many places: never other values than those put in."""
    store = Store(tmp_path)
    store.put(KEY, VALUES)
    path = store.path(KEY)
    whole = path.read_bytes()
    found = 0
    for at in range(0, len(whole), max(1, len(whole) // 150)):
        damaged = bytearray(whole)
        damaged[at] ^= 0x10
        path.write_bytes(bytes(damaged))
        values, damage = store.get(KEY)
        found += bool(damage)
        assert (values is None) == bool(damage)
        if values is not None:  # in bytes of the zip that hold nothing, such as dates
            np.testing.assert_array_equal(values["radial"], VALUES["radial"])
            assert values["grid"] == VALUES["grid"]
    assert found > 100


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04"])
def test_rubbish_is_damage(tmp_path: Path, content: bytes) -> None:
    store = Store(tmp_path)
    store.put(KEY, VALUES)
    store.path(KEY).write_bytes(content)
    values, damage = store.get(KEY)
    assert values is None
    assert damage.startswith("the cached flow is damaged (")
    assert "computed again" in damage


def test_a_truncated_entry_and_one_of_another_key_are_damage(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(KEY, VALUES)
    whole = store.path(KEY).read_bytes()
    store.path(KEY).write_bytes(whole[: len(whole) // 2])
    assert store.get(KEY)[0] is None
    other = replace(KEY, channel="cuts")
    store.path(other).parent.mkdir(exist_ok=True)
    store.path(other).write_bytes(whole)
    values, damage = store.get(other)
    assert values is None
    assert "belongs to something else" in damage


def test_a_killed_writer_leaves_the_old_entry_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    store.put(KEY, VALUES)

    def killed(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(store_module.os, "fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        store.put(KEY, {"radial": np.zeros(3)})
    values, _ = store.get(KEY)
    assert values is not None
    assert len(values["radial"]) == 500
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [store.path(KEY)]


def test_what_a_killed_process_left_is_swept_when_a_store_is_opened(tmp_path: Path) -> None:
    code = (
        "import os, sys; from evidence.test_store import KEY, VALUES; from wmb_fast.evidence.store import Store\n"
        "os.replace = lambda a, b: os._exit(9)\n"
        "Store(sys.argv[1]).put(KEY, VALUES)"
    )
    tests = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, cwd=tests)
    assert done.returncode == 9
    shelf = Store(tmp_path / "other").path(KEY).parent.name
    assert len(list((tmp_path / "evidence" / shelf).iterdir())) == 1
    Store(tmp_path)
    assert list((tmp_path / "evidence" / shelf).iterdir()) == []


def test_a_folder_that_cannot_be_made_or_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match=r"^Store: folder must be a folder that can be written, got .*file"):
        Store(tmp_path / "file")
    with pytest.raises(ArgumentError, match="can be written"):
        Store(tmp_path / "file" / "below")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_read_only_folder_is_one_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ArgumentError, match="can be written"):
        Store(tmp_path)


def test_a_disk_that_fills_up_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store_module.os, "fsync", full)
    with pytest.raises(ArgumentError, match=r"No space left on device"):
        store.put(KEY, VALUES)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_where_it_is_by_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WMB_FAST_HOME", str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.delenv("WMB_FAST_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "wmb-fast"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".cache" / "wmb-fast"


WRITER = """
import sys, numpy as np
from wmb_fast.evidence.store import Key, Store
store, n = Store(sys.argv[1]), 0
for i in range(150):
    store.put(Key("v", "d", "flow", "m"), {"x": np.full(3000, float(sys.argv[2]))})
    values, damage = store.get(Key("v", "d", "flow", "m"))
    assert not damage and values is not None and len(set(values["x"].tolist())) == 1, damage
"""


def test_two_processes_may_write_and_read_one_entry(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(i)]) for i in range(2)]
    store, key, reads = Store(tmp_path), Key("v", "d", "flow", "m"), 0
    while any(writer.poll() is None for writer in writers):
        values, damage = store.get(key)
        assert damage == ""
        reads += values is not None
        time.sleep(0.001)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert reads > 0
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [store.path(key)]
