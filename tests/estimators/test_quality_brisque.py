# SPDX-License-Identifier: Apache-2.0
"""BRISQUE without its weights: the features against a plain statement of them, the regression against its formula."""

from __future__ import annotations

import hashlib
import io
import math
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimators import brisque_answers
from estimators.same_bits import assert_same_bits

from wmb_fast._walls.errors import FileFormatError
from wmb_fast.estimators import fetch, home
from wmb_fast.estimators.brisque_features import SMALLEST, features, fitted, moments, normalised
from wmb_fast.estimators.catalogue import CATALOGUE, Archive
from wmb_fast.estimators.choice import TIERS, chosen
from wmb_fast.estimators.convert.brisque import convert, read_machine
from wmb_fast.estimators.convert.checkpoint import read_plain
from wmb_fast.estimators.home import AbsentModelError, ModelHome, session_of
from wmb_fast.estimators.quality_brisque import Brisque
from wmb_fast.estimators.registry import why_absent
from wmb_fast.estimators.resize import cubic_resized
from wmb_fast.estimators.session import Session
from wmb_fast.rollout.planfile import plan_of
from wmb_fast.world import render_world

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")
PICTURE = render_world(plan_of("worldmark/1"), seconds_per_step=1, size=(576, 320)).view(0).rgb
NOISE = np.random.default_rng(0).integers(0, 256, (71, 93, 3)).astype(np.uint8)
LOW, HIGH = np.full(36, -0.5), np.linspace(1, 3, 36)
GAMMA, RHO = 0.05, -60.0


def plain_features(picture: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same by SciPy's filters, and by trying every shape of the grid."""
    ndimage, gamma = pytest.importorskip("scipy.ndimage"), pytest.importorskip("scipy.special").gamma
    grid = [np.float32(0.2)]
    while (larger := np.float32(grid[-1] + np.float32(0.001))) < 10:
        grid.append(larger)
    shapes = np.array(grid, dtype=np.float64)
    ratios = gamma(2 / shapes) ** 2 / (gamma(1 / shapes) * gamma(3 / shapes))
    bell = np.exp(-(np.arange(-3, 4) ** 2) / (2 * (7 / 6) ** 2))

    def blurred(values: Any) -> Any:
        for axis in (0, 1):
            values = ndimage.correlate1d(values, bell / bell.sum(), axis=axis, mode="nearest")
        return values

    def fit(values: Any) -> list[float]:
        left, right = ((values[side] ** 2).mean() for side in (values < 0, values > 0))
        q = np.sqrt(left / right)
        wanted = np.abs(values).mean() ** 2 / (values**2).mean() * (q**3 + 1) * (q + 1) / (q**2 + 1) ** 2
        a = shapes[np.argmin(np.abs(ratios - wanted))]
        mean = (np.sqrt(right) - np.sqrt(left)) * gamma(2 / a) / np.sqrt(gamma(1 / a) * gamma(3 / a))
        return [a, mean, left, right]

    found: list[float] = []
    grey = np.rint(picture @ np.array([0.299, 0.587, 0.114]))
    for level in (grey, cubic_resized(grey, grey.shape[1] // 2, grey.shape[0] // 2)):
        mean = blurred(level)
        values = (level - mean) / (np.sqrt(np.abs(blurred(level**2) - mean**2)) + 1)
        shape, _, left, right = fit(values)
        found += [shape, (left + right) / 2]
        framed = np.pad(values, 1)
        for down, across in ((0, 1), (1, 0), (1, 1), (-1, 1)):
            found += fit(values * np.roll(framed, (-down, -across), (0, 1))[1:-1, 1:-1])
    return np.array(found)


@pytest.mark.parametrize("picture", [NOISE, np.ascontiguousarray(NOISE[:14, :15]), np.tile(NOISE, (3, 1, 1))])
def test_features_are_what_they_are_said_to_be(picture: np.ndarray[Any, Any]) -> None:
    """To a step of the grid in the shapes, and what that does to the means; weights are rounded to 2**-17."""
    np.testing.assert_allclose(features(picture), plain_features(picture), rtol=0, atol=1.5e-3)
    variances = [1, *(k + j for k in (2, 6, 10, 14) for j in (2, 3))]
    variances += [18 + v for v in variances]
    np.testing.assert_allclose(features(picture)[variances], plain_features(picture)[variances], rtol=0, atol=5e-5)


@pytest.mark.parametrize(("shape", "draw"), [(1.0, "laplace"), (2.0, "normal")])
def test_the_fit_finds_a_known_distribution(shape: float, draw: str) -> None:
    rng = np.random.default_rng(3)
    values = getattr(rng, draw)(size=(1000, 1000))
    found = fitted(moments(values), values.size)
    assert found.shape == pytest.approx(shape, rel=0.01)
    assert found.mean == pytest.approx(0, abs=0.01)
    assert found.left == pytest.approx(values.var(), rel=0.01)
    wide = fitted(moments(np.where(values > 0, 2 * values, values)), values.size)
    # The sides have the weights of their spreads, 1 and 2, in a true one; halves here: the means differ by that.
    assert wide.right == pytest.approx(4 * wide.left, rel=0.02)
    assert wide.mean > 0.2


def test_zeros_belong_to_no_side_and_are_counted() -> None:
    values = np.array([[-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]])
    assert moments(values).tolist() == [2, 3, -3, 6, 5, 14]
    found = fitted(moments(values), values.size)
    assert (found.left, found.right) == (5 / 2, 14 / 3)
    assert fitted(moments(values[:, 3:]), 3)[1:] == pytest.approx((math.nan,) * 3, nan_ok=True)


def test_what_is_flat_is_on_no_side() -> None:
    """Values of a flat patch are 0, not what rounding left: of any level, of a half, beside anything."""
    grey = NOISE[..., 0].astype(np.float64)
    for level in (0.0, 1.0, 77.0, 173.0, 255.0, 254.9990234375):
        barred = np.concatenate([grey, np.full((40, 93), level)])
        for picture in (barred, cubic_resized(barred, 46, 55)):
            values = normalised(np.pad(picture, 3, mode="edge"))
            assert not values[-15:].any()
            assert values[:30].all()
    for level in (0, 77, 255):
        assert np.isnan(features(np.full((32, 47, 3), level, np.uint8))[:18]).all()


@pytest.mark.parametrize("size", [(SMALLEST - 1, 200), (200, SMALLEST - 1), (1, 1)])
def test_pictures_that_are_too_small(size: tuple[int, int]) -> None:
    assert np.isnan(features(np.zeros((*size, 3), np.uint8))).all()
    assert features(NOISE[:SMALLEST, :SMALLEST]).shape == (36,)


def test_mirrored_pictures_have_the_same_features() -> None:
    """But the two diagonals, which change places."""
    one, other = features(NOISE[:, :92]).reshape(2, 18), features(NOISE[:, :92][:, ::-1]).reshape(2, 18)
    changed = [*range(10), *range(14, 18), *range(10, 14)]
    np.testing.assert_allclose(other[:, changed], one, rtol=0, atol=1e-9)


def test_opencv_has_the_same_features(shared: Path) -> None:
    """In float32, its shapes on a grid of the same steps in float64."""
    cv2 = pytest.importorskip("cv2")
    image = cv2.imread(str(shared / "data/faces/person_b_1.jpg"))[..., ::-1]
    np.testing.assert_allclose(features(image), brisque_answers.OPENCV, rtol=0, atol=1e-4)


def machine(vectors: int = 5, seed: int = 4, **said: str) -> bytes:
    """A regression as libsvm writes it, zeros left out."""
    rng = np.random.default_rng(seed)
    rows = np.where(rng.random((vectors, 36)) < 0.2, 0, rng.uniform(-1, 1, (vectors, 36)).round(6))
    head = {
        "svm_type": "epsilon_svr",
        "kernel_type": "rbf",
        "gamma": str(GAMMA),
        "nr_class": "2",
        "total_sv": str(vectors),
        "rho": str(RHO),
        **said,
    }
    text = "".join(f"{key} {value}\n" for key, value in head.items()) + "SV\n"
    for coefficient, row in zip(rng.uniform(-40, 40, vectors), rows, strict=True):
        text += f"{coefficient:.10g} " + " ".join(f"{k + 1}:{v:g}" for k, v in enumerate(row) if v) + " \n"
    return text.encode()


RANGES = {"min_": LOW.tolist(), "max_": HIGH.tolist()}


def test_the_graph_is_the_formula() -> None:
    content = convert(machine(), RANGES)
    assert content == convert(machine(), RANGES)
    session = Session(content, "brisque")
    session.expects(CATALOGUE["brisque"].contract)
    svr = read_machine(machine())
    for values in np.random.default_rng(5).uniform(-1, 4, (4, 36)):
        x = 2 * (values - LOW) / (HIGH - LOW) - 1
        terms = [c * math.exp(-GAMMA * math.fsum((x - v) ** 2)) for c, v in zip(*svr[1::-1], strict=True)]
        score = session.run({"features": values[None]})["score"]
        assert (score.dtype, score.shape) == (np.float64, (1,))
        assert score[0] == pytest.approx(math.fsum(terms) - RHO, abs=1e-12)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (machine(svm_type="c_svc"), "hold a machine of svm_type epsilon_svr, got c_svc"),
        (machine(kernel_type="linear"), "a machine of kernel_type rbf, got linear"),
        (machine(total_sv="6"), "6 support vectors, as it says, and at least one, got 5"),
        (machine(0), "0 support vectors, as it says, and at least one, got 0"),
        (machine(rho="nan"), "a machine of finite numbers"),
        (machine().replace(b" 1:", b" 37:"), "libsvm's text of a regression on 36 features, got the feature 37"),
        (machine().rpartition(b":")[0] + b":", "libsvm's text of a regression on 36 features"),
        (machine().partition(b"SV\n")[0], "5 support vectors, as it says, and at least one, got 0"),
        (b"\xff\xfe", "libsvm's text of a regression on 36 features"),
        (b"", "libsvm's text of a regression on 36 features"),
    ],
)
def test_another_machine_is_refused(content: bytes, sentence: str) -> None:
    with pytest.raises(FileFormatError, match=f"the weights of brisque must {'' if 'hold' in sentence else 'hold '}"):
        convert(content, RANGES)
    with pytest.raises(FileFormatError, match=sentence):
        convert(content, RANGES)


@pytest.mark.parametrize(
    "ranges",
    [
        {"min_": LOW.tolist()},
        {**RANGES, "max_": LOW.tolist()},
        {**RANGES, "max_": HIGH[:35].tolist()},
        {**RANGES, "max_": [math.nan] * 36},
        {**RANGES, "max_": "numbers"},
        [1.0, 2.0],
        None,
    ],
)
def test_other_ranges_are_refused(ranges: Any) -> None:
    with pytest.raises(FileFormatError, match="the weights of brisque must hold"):
        convert(machine(), ranges)


class _Code:
    def __reduce__(self) -> tuple[Any, Any]:
        return print, ("ran",)


def test_a_pickle_of_plain_numbers_and_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    for protocol in range(6):
        assert read_plain(pickle.dumps(RANGES, protocol), "ranges.pickle") == RANGES
    for value, named in ((_Code(), "print"), (np.ones(3), "numpy"), ({"min_": np.float64(1)}, "numpy")):
        with pytest.raises(FileFormatError, match=rf"ranges\.pickle must be a pickle of plain numbers.*{named}"):
            read_plain(pickle.dumps(value), "ranges.pickle")
    for content in (pickle.dumps(RANGES)[:-9], b"", b"foreign"):
        with pytest.raises(FileFormatError, match="must be a pickle of plain numbers"):
            read_plain(content, "ranges.pickle")
    assert capsys.readouterr().out == ""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelHome:
    monkeypatch.setenv("WMB_FAST_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("WMB_FAST_OFFLINE", raising=False)
    home._session.cache_clear()
    return ModelHome()


def brought(here: ModelHome, monkeypatch: pytest.MonkeyPatch, ranges: bytes, seed: int = 4) -> Any:
    """Fetches the regression of these tests, from a wheel laid out as the package's is."""
    files = {"brisque/models/svm.txt": machine(seed=seed), "brisque/models/normalize.pickle": ranges}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as wheel:
        for name, content in files.items():
            wheel.writestr(zipfile.ZipInfo(name), content)
    wheel_sha256 = hashlib.sha256(packed.getvalue()).hexdigest()
    entry = replace(
        CATALOGUE["brisque"],
        archive=Archive("pypi", "brisque", "0", wheel_sha256, 0.1),
        members={name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    )
    assert list(entry.members) == list(CATALOGUE["brisque"].members)
    monkeypatch.setattr(fetch, "_downloaded", lambda archive, folder: packed.getvalue())
    return fetch.fetch(entry, here, lambda text: None)


def test_from_the_wheel_to_the_channel(here: ModelHome, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AbsentModelError, match="wmb-fast models fetch brisque"):
        chosen("frame_quality=brisque")
    assert brought(here, monkeypatch, pickle.dumps(RANGES)).sha256 != CATALOGUE["brisque"].onnx_sha256
    entry = chosen("frame_quality=brisque")["frame_quality"]
    assert (entry.tier, entry.by_frame) == ("packaged", True)
    pictures = [PICTURE, NOISE, np.full((64, 64, 3), 255, np.uint8), np.zeros((13, 13, 3), np.uint8)]
    one = assert_same_bits(entry, {4 * k: picture for k, picture in enumerate(pictures)})
    assert one["frames"].tolist() == [0, 4, 8, 12]
    assert np.isnan(one["imaging"]).tolist() == [False, False, True, True]  # flat, too small: not rated
    assert np.isnan(one["aesthetic"]).all()
    brisque = Brisque(session_of("brisque"))
    assert one["imaging"][:2].tolist() == [np.clip(100 - brisque.score(p), 0, 100) for p in pictures[:2]]
    assert math.isnan(brisque.score(pictures[2]))


def test_the_fingerprint_is_the_file_s(here: ModelHome, monkeypatch: pytest.MonkeyPatch) -> None:
    prints = set()
    for seed in (4, 7):
        monkeypatch.setenv("WMB_FAST_HOME", str(here.folder.parent / str(seed)))
        brought(ModelHome(), monkeypatch, pickle.dumps(RANGES), seed)
        entry = chosen("frame_quality=brisque")["frame_quality"]
        prints.add(entry.fingerprint(entry.settings(None)))
    assert len(prints) == 2


def test_a_rating_is_held_to_its_scale() -> None:
    for rho, rating in ((60.0, 100.0), (-160.0, 0.0)):
        session = Session(convert(machine(1, rho=str(rho)), RANGES), "brisque")
        assert Brisque(session).rate(NOISE) == rating


def test_a_wheel_with_code_is_refused(here: ModelHome, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileFormatError, match=r"normalize\.pickle must be a pickle of plain numbers"):
        brought(here, monkeypatch, pickle.dumps(_Code()))
    assert here.find("brisque") is None


def test_it_is_made_on_request_alone() -> None:
    assert all("frame_quality" not in roles for roles in TIERS.values())
    assert "frame_quality=brisque does, after wmb-fast models fetch brisque" in why_absent("frame_quality")
