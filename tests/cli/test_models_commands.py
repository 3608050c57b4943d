# SPDX-License-Identifier: Apache-2.0
"""``wmb-fast models``: what is here, what is damaged, what is not taken."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimators.nets import network

from wmb_fast.cli import answer
from wmb_fast.estimators import fetch
from wmb_fast.estimators.catalogue import CATALOGUE, Model
from wmb_fast.estimators.home import Installed, ModelHome

Out = pytest.CaptureFixture[str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelHome:
    monkeypatch.setenv("WMB_FAST_HOME", str(tmp_path))
    return ModelHome()


def said_of(name: str, capsys: Out) -> str:
    """The last column of a line of the list."""
    assert answer(["models", "list"]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith(f"{name} ")]
    return line.split()[-1]


def test_what_is_damaged_hides_nothing_else(here: ModelHome, capsys: Out) -> None:
    assert answer(["models", "verify"]) == 0
    assert "wmb-fast models fetch --tier packaged brings" in capsys.readouterr().out
    assert said_of("xfeat", capsys) == "no"
    for name in ("transnetv2", "xfeat", "nanodet"):
        here.put(CATALOGUE[name], name.encode(), {})
    assert said_of("xfeat", capsys) == "yes"
    (here.folder / "xfeat.json").write_text("{")
    for name in ("transnetv2", "nanodet"):
        assert said_of(name, capsys) == "yes"
    assert said_of("xfeat", capsys) == "damaged"
    assert answer(["models", "info", "xfeat"]) == 0
    assert "damaged. Bring it with: wmb-fast models fetch xfeat" in capsys.readouterr().out
    assert answer(["models", "verify"]) == 1
    out, err = capsys.readouterr()
    assert [line.split(";")[0] for line in out.splitlines()] == ["transnetv2: whole", "nanodet: whole"]
    assert out.count("is not the file that this version was tested with") == 2
    assert "xfeat.json must be the entry of a model" in err
    found = here.find("nanodet")
    assert found is not None
    found.path.unlink()
    assert said_of("nanodet", capsys) == "damaged"


def test_a_packaged_network_is_fetched_and_not_imported(here: ModelHome, tmp_path: Path, capsys: Out) -> None:
    """Whatever file it were, its score would be told as the packaged one's."""
    (tmp_path / "mine.onnx").write_bytes(network())
    assert answer(["models", "import", "xfeat", str(tmp_path / "mine.onnx")]) == 2
    assert capsys.readouterr().err.startswith("models import: xfeat must be official, got packaged. Bring it with: ")


def test_archives_go_though_a_licence_was_declined(
    here: ModelHome, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    def brought(model: Model, home: ModelHome, say: fetch.Say) -> Installed:
        (home.folder / "downloads").mkdir(parents=True, exist_ok=True)
        (home.folder / "downloads" / model.id).write_bytes(b"an archive")
        return home.put(model, b"a network", {})

    monkeypatch.setattr(fetch, "fetch", brought)
    assert answer(["models", "fetch", "--tier", "packaged"]) == 1
    out = capsys.readouterr().out
    assert "mobileface: not fetched; its licence is not clear. --accept-licence takes it" in out
    assert list((here.folder / "downloads").iterdir()) == []
    assert (here.state("xfeat"), here.state("mobileface")) == ("yes", "no")
    assert answer(["models", "fetch", "--accept-licence", "mobileface"]) == 0
    capsys.readouterr()
    assert answer(["models", "fetch", "--tier", "packaged"]) == 1  # faceres; what is here needs no further word
    assert "mobileface: not fetched" not in capsys.readouterr().out
