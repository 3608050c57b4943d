# SPDX-License-Identifier: Apache-2.0
"""Official networks at work once they are brought, and their roles missing until then. Graphs of their contracts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimators.official_nets import FOCAL, POINTS, SCALE, arcface, moge, scrfd
from estimators.same_bits import assert_same_bits

from wmb_fast import run
from wmb_fast._walls.errors import FileFormatError
from wmb_fast.estimators import depth_moge, face_embedder, faces_found, home, registry
from wmb_fast.estimators.catalogue import model_of
from wmb_fast.estimators.choice import chosen
from wmb_fast.estimators.depth_moge import MoGe, focal_and_shift, view_plane
from wmb_fast.estimators.faces import Faces
from wmb_fast.estimators.faces_scrfd import Scrfd
from wmb_fast.estimators.home import AbsentModelError, ModelHome, session_of
from wmb_fast.estimators.imports import take_in
from wmb_fast.estimators.registry import BUILTIN
from wmb_fast.protocols.record import Score
from wmb_fast.rollout.video import write_video

ARCFACE, MOGE, SCRFD = "arcface-w600k-r50", "moge-2-vitl", "scrfd-det-10g"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelHome:
    monkeypatch.setenv("WMB_FAST_HOME", str(tmp_path))
    home._session.cache_clear()
    return ModelHome()


def brought(here: ModelHome, tmp_path: Path, name: str, content: bytes) -> None:
    file = tmp_path / "brought.onnx"
    file.write_bytes(content)
    take_in(model_of(name), file, here)


def picture(seed: int, height: int = 48, width: int = 80) -> np.ndarray[Any, Any]:
    """Smooth red, which the small MoGe takes for depth; blue on the left three quarters, which it takes for valid."""
    y, x = np.mgrid[:height, :width]
    rgb = np.zeros((height, width, 3), dtype=np.uint8)
    rgb[..., 0] = 128 + 100 * np.sin(x / 9 + seed) * np.cos(y / 7)
    rgb[:, : 3 * width // 4, 2] = 255
    return rgb


def test_until_it_is_brought_the_role_is_missing_with_the_command(here: ModelHome) -> None:
    assert chosen("official") == BUILTIN
    assert "wmb-fast models import arcface-w600k-r50 FILE.onnx" in registry.why_absent("faces")
    assert "wmb-fast models import moge-2-vitl FILE.onnx" in registry.why_absent("depth")
    for said in (f"faces=mtcnn+{ARCFACE}", f"depth={MOGE}"):
        with pytest.raises(AbsentModelError, match=r"not on this machine\. Bring .* wmb-fast models import"):
            chosen(said)


def test_what_was_brought_takes_its_role(here: ModelHome, tmp_path: Path) -> None:
    brought(here, tmp_path, MOGE, moge())
    assert {role: entry.id for role, entry in chosen("official").items() if entry != BUILTIN.get(role)} == {
        "depth": MOGE
    }
    brought(here, tmp_path, ARCFACE, arcface())
    with pytest.raises(AbsentModelError, match="models fetch mtcnn-first"):  # nobody has to decide on the detector
        chosen("official")
    assert chosen("builtin") == BUILTIN


def test_another_file_is_another_fingerprint(here: ModelHome, tmp_path: Path) -> None:
    entry = registry.OFFICIAL["depth"]
    prints = []
    for content in (moge(), moge(scale=3.0), moge()):
        home._session.cache_clear()
        brought(here, tmp_path, MOGE, content)
        prints.append(entry.fingerprint(entry.settings(None)))
    assert prints[0] == prints[2] != prints[1]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (ARCFACE, arcface(rows=256), r"output 683 of the model must have shape \('batch', 512\), got \('None', 256\)"),
        (ARCFACE, arcface(side=224), r"input input\.1 of the model must have shape .*, got \('None', 3, 224, 224\)"),
        (ARCFACE, moge(), r"must have an input input\.1, got \['image', 'num_tokens'\]"),
        (MOGE, arcface(), r"must have an input image"),
        (MOGE, moge(dimensions=2), r"output points of the model must have shape .*, got \('b', 'h', 'w', 2\)"),
        (MOGE, moge(whole=()), r"input num_tokens of the model must be int64, got tensor\(float\)"),
        (SCRFD, arcface(), r"input input\.1 of the model must have shape .*, got \('None', 3, 112, 112\)"),
        (SCRFD, scrfd(320), r"input input\.1 of the model must have shape .*, got \(1, 3, 320, 320\)"),
        (ARCFACE, arcface()[:1000], r"must be an ONNX graph that runs here"),
    ],
)
def test_files_that_are_not_the_contract(
    here: ModelHome, tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    with pytest.raises(FileFormatError, match=sentence) as refused:
        brought(here, tmp_path, name, content)
    assert str(refused.value).startswith(f"{name}: ")
    assert here.find(name) is None


def test_a_file_that_does_otherwise_than_it_declares(here: ModelHome, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="arcface"):
        brought(here, tmp_path, ARCFACE, arcface(rows=500, declared=512))
    assert here.find(ARCFACE) is None


def test_weights_beside_the_file_are_refused(here: ModelHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """onnxruntime would take them from wherever the process stands, and no hash would know them."""
    import onnx

    whole = onnx.load_from_string(arcface())
    parts = {"save_as_external_data": True, "location": "weights.bin", "size_threshold": 0}
    onnx.save(whole, tmp_path / "parted.onnx", **parts)
    content = (tmp_path / "parted.onnx").read_bytes()
    for place in (tmp_path, here.folder.parent):
        place.mkdir(exist_ok=True)
        monkeypatch.chdir(place)
        with pytest.raises(FileFormatError, match="must hold its weights itself, got weights in a file beside it"):
            brought(here, tmp_path, ARCFACE, content)
    assert here.find(ARCFACE) is None


def test_a_network_that_answers_no_numbers_is_refused(here: ModelHome, tmp_path: Path) -> None:
    with pytest.raises(
        FileFormatError, match="output metric_scale of a black picture must be finite, got NaN or infinity"
    ):
        brought(here, tmp_path, MOGE, moge(scale=float("nan")))


def test_depth_and_the_camera_come_back(here: ModelHome, tmp_path: Path) -> None:
    brought(here, tmp_path, MOGE, moge())
    network = MoGe(session_of(MOGE), depth_moge.settings(None))
    shown = picture(0)
    seen = network.see(shown)
    known = SCALE * (1 + shown[..., 0] / 255.0)
    valid = shown[..., 2] > 0
    np.testing.assert_allclose(seen.depth[valid], known[valid], rtol=2e-6)
    assert np.isnan(seen.depth[~valid]).all()
    pixels = FOCAL * math.hypot(*shown.shape[:2]) / 2
    expected = [[pixels, 0, 39.5], [0, pixels, 23.5], [0, 0, 1]]
    np.testing.assert_allclose(seen.intrinsics, expected, rtol=2e-6)
    depth, there = network.depth(shown)
    np.testing.assert_array_equal(there, valid)
    np.testing.assert_array_equal(depth, seen.depth)
    large = network.see(picture(0, 480, 1280))
    assert large.depth.shape == (240, 640)
    nothing = shown.copy()
    nothing[..., 2] = 0
    assert np.isnan(network.see(nothing).depth).all()


def test_the_camera_of_points_is_found_from_any_shift() -> None:
    rng = np.random.default_rng(0)
    plane = view_plane(40, 72)
    there = np.ones((40, 72), dtype=bool)
    for _ in range(20):
        focal, shift = rng.uniform(0.5, 4), rng.uniform(-3, 3)
        z = rng.uniform(4, 12, there.shape)
        points = np.concatenate([plane * z[..., None] / focal, z[..., None] - shift], axis=-1)
        np.testing.assert_allclose(focal_and_shift(points, plane, there), (focal, shift), rtol=1e-6, atol=1e-6)
        noisy = points + rng.normal(0, 1e-3, points.shape)
        np.testing.assert_allclose(focal_and_shift(noisy, plane, there), (focal, shift), rtol=0.01, atol=0.02)
    assert np.isnan(focal_and_shift(points, plane, ~there)).all()


def test_the_camera_agrees_with_a_solver_of_another_hand() -> None:
    from scipy.optimize import least_squares

    rng = np.random.default_rng(1)
    plane = view_plane(64, 64)
    z = rng.uniform(1, 5, (64, 64))
    points = np.concatenate([plane * z[..., None] / 1.7, z[..., None] - 0.4], axis=-1) + rng.normal(
        0, 0.02, (64, 64, 3)
    )
    xyz, uv = points.reshape(-1, 3), plane.reshape(-1, 2)
    other = least_squares(lambda p: (p[0] * xyz[:, :2] / (xyz[:, 2:] + p[1]) - uv).ravel(), [1.0, 0.0], xtol=1e-15)
    np.testing.assert_allclose(focal_and_shift(points, plane, z > 0), other.x, rtol=1e-5)


def test_the_channel_has_the_same_bits_for_any_threads(here: ModelHome, tmp_path: Path) -> None:
    brought(here, tmp_path, MOGE, moge())
    entry = chosen(f"depth={MOGE}")["depth"]
    one = assert_same_bits(entry, {index: picture(index) for index in (3, 8, 9)})
    assert one["frames"].tolist() == [3, 8, 9]
    assert one["depth"].shape == (3, 48, 80)
    assert one["intrinsics"].shape == (3, 3, 3)


def test_scrfd_says_where_faces_are(here: ModelHome, tmp_path: Path) -> None:
    """A red square, shown to the network twice as large, fills one cell of the grid of 32 and more of the others."""
    brought(here, tmp_path, SCRFD, scrfd())
    detector = Scrfd(session_of(SCRFD))
    shown = np.zeros((200, 320, 3), dtype=np.uint8)
    shown[96:112, 32:48, 0] = 255  # to the network: 64 to 96 across, 192 to 224 down
    faces = detector.detect(shown)
    large = np.flatnonzero(np.isclose(faces.boxes[:, 2] - faces.boxes[:, 0], 64))
    np.testing.assert_allclose(faces.boxes[large], [[64 / 2 - 32, 192 / 2 - 32, 64 / 2 + 32, 192 / 2 + 32]])
    np.testing.assert_allclose(faces.points[large[0]], (np.array([64, 192]) + 32 * np.reshape(POINTS, (5, 2))) / 2)
    sides = faces.boxes[:, 2:] - faces.boxes[:, :2]
    assert set(sides.ravel().tolist()) == {16, 32, 64}
    assert (np.diff(faces.scores) <= 0).all()
    assert faces.scores.max() == pytest.approx(127.5 / 128)
    assert faces.scores.min() >= 0.5  # cells that the square's edge crosses are less red
    assert detector.detect(np.zeros((64, 48, 3), np.uint8)).points.shape == (0, 5, 2)


def test_insightfaces_own_pipeline_is_there_by_name(here: ModelHome, tmp_path: Path) -> None:
    said = f"faces=scrfd+{ARCFACE}"
    brought(here, tmp_path, ARCFACE, arcface())
    with pytest.raises(AbsentModelError, match=r"models import scrfd-det-10g FILE\.onnx"):
        chosen(said)
    brought(here, tmp_path, SCRFD, scrfd())
    entry = chosen(said)["faces"]
    assert entry.tier == "official"
    consumer = entry.start(entry.settings(None))
    consumer.feed(7, picture(0, 64, 64))
    found = consumer.finish()
    assert found["frames"].tolist() == [7]
    assert found["embedding"].shape == (len(found["boxes"]), 512)


class OneFace:
    """A detector that sees one sure face, on the template, and one that it is less sure of."""

    def detect(self, shown: np.ndarray[Any, Any]) -> Faces:
        points = np.stack([face_embedder.TEMPLATE, face_embedder.TEMPLATE])
        return Faces(np.array([[0.0, 0, 112, 112], [5, 5, 60, 60]]), np.array([0.999, 0.95]), points)


def test_arcface_embeds_the_faces_that_were_found(here: ModelHome, tmp_path: Path) -> None:
    brought(here, tmp_path, ARCFACE, arcface())
    embedder = face_embedder.ArcFace(session_of(ARCFACE))
    consumer = faces_found.FacesFound(OneFace(), embedder, faces_found.settings(None)["likelihood"]["mtcnn"])  # type: ignore[arg-type]
    shown = {index: picture(index, 112, 112) for index in (0, 4)}
    for index, one in shown.items():
        consumer.feed(index, one)
    found = consumer.finish()
    assert (found["frames"].tolist(), found["face_frames"].tolist()) == ([0, 4], [0, 4])
    assert found["boxes"].tolist() == [[0, 0, 112, 112]] * 2
    rows = found["embedding"]
    assert rows.shape == (2, 512)
    pooled = ((shown[0] - 127.5) / 127.5).transpose(2, 0, 1).reshape(3, 14, 8, 14, 8).mean(axis=(2, 4)).ravel()
    matrix = np.random.default_rng(0).standard_normal((588, 512)).astype(np.float32)
    np.testing.assert_allclose(rows[0], pooled @ matrix, atol=2e-4)


def test_no_frames_and_no_faces() -> None:
    class NoFace(OneFace):
        def detect(self, shown: np.ndarray[Any, Any]) -> Faces:
            return Faces(np.zeros((0, 4)), np.zeros(0), np.zeros((0, 5, 2)))

    class Embedder:
        def embed(self, shown: np.ndarray[Any, Any], faces: Faces) -> np.ndarray[Any, Any]:
            return np.zeros((len(faces.boxes), 7), dtype=np.float32)

    for frames in (0, 2):
        consumer = faces_found.FacesFound(NoFace(), Embedder(), 0.9)  # type: ignore[arg-type]
        for index in range(frames):
            consumer.feed(index, picture(index))
        found = consumer.finish()
        assert found["frames"].tolist() == list(range(frames))
        assert found["face_frames"].shape == (0,)
        assert found["boxes"].shape == (0, 4)
        assert found["embedding"].shape == (0, 7 if frames else 0)


def test_a_score_with_it_says_so(here: ModelHome, tmp_path: Path) -> None:
    """MoGe-2's depth is no paper's here: a proxy, and refused where official estimators are required."""
    brought(here, tmp_path, MOGE, moge())
    folder = tmp_path / "videos" / "mine" / "environment" / "lrlr"
    folder.mkdir(parents=True)
    write_video(folder / "case_001.mp4", [picture(0, 64, 96)] * 41, fps=8)
    found = {}
    for required in (False, True):
        options: dict[str, Any] = {"plan": "lrlr", "estimators": "official", "cache": tmp_path / "cache", "jobs": 1}
        outcome = run.score(
            [tmp_path / "videos"], ["worldmembench"], out=tmp_path / str(required), require_official=required, **options
        )
        records = [Score.from_json(line) for line in (outcome.out / "scorecard.jsonl").read_text().splitlines()]
        found[required] = next(r for r in records if r.metric == "environment_depth" and "revisit" not in r.part)
    assert found[False].value == pytest.approx(1.0, abs=1e-3)  # one picture, and what the encoder makes of it
    assert [(m["role"], m["id"], m["tier"]) for m in found[False].estimators] == [("depth", MOGE, "stand-in")]
    assert found[False].proxy
    assert found[True].value is None
    assert found[True].reason == "proxy: official estimators were required, this score has depth by moge-2-vitl"
