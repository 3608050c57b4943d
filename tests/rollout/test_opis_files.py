# SPDX-License-Identifier: Apache-2.0
"""OPIS's files and the masks in them: what is read, and how a complaint names file and key."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from wmb_fast import FileFormatError
from wmb_fast.rollout.discover import find_rollouts
from wmb_fast.rollout.masks import from_runs, read_mask, to_runs
from wmb_fast.rollout.opis_files import (
    files_of,
    masks_of,
    read_all,
    read_geometry,
    read_reference_scene,
    read_structure,
)
from wmb_fast.rollout.opis_files import read_video_observation as read_observation
from wmb_fast.rollout.video import write_video

ONE = {"object_id": "a", "category": "cup", "bbox": [0, 0, 4, 4], "embedding": [1.0, 0.0]}
SEEN = {"observed_id": "x", "bbox": [0, 0, 4, 4]}


def case(root: Path, name: str = "home_indoor/home_indoor_0001", **files: Any) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "raw.jpg").touch()
    for stem, content in ({"reference_scene": {"objects": [ONE]}} | files).items():
        path = folder / f"{stem}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    return folder


def test_a_case_folder_is_found_without_a_plan(tmp_path: Path) -> None:
    folder = case(tmp_path / "seedance")
    (folder / "video.mp4").touch()
    [found] = find_rollouts(tmp_path)
    assert (found.model, found.case, found.plan) == ("seedance", "home_indoor_0001", None)
    [alone] = find_rollouts(tmp_path / "seedance")
    assert (alone.model, alone.case) == (None, "home_indoor_0001")
    assert found.id.endswith("seedance/home_indoor/home_indoor_0001/video")


def test_the_picture_of_a_case_is_no_rollout(tmp_path: Path) -> None:
    folder = case(tmp_path)
    (folder / "frames").mkdir()
    (folder / "frames" / "0.png").touch()
    [found] = find_rollouts(tmp_path)
    assert (found.video_path.name, found.case) == ("frames", "home_indoor_0001")


def test_files_by_name_and_by_stem(tmp_path: Path) -> None:
    windows = {"windows": [{"frame_index": 8, "frame_size": [8, 8], "objects": [SEEN]}]}
    folder = case(tmp_path, video_observation=windows, **{"geometry/geometry_v3": {"schema_version": 3, "frames": {}}})
    (folder / "wan.video_observation.json").write_text(json.dumps({"windows": []}))
    assert files_of(folder / "other.mp4")["observation"].name == "video_observation.json"
    assert files_of(folder / "wan.mp4")["observation"].name == "wan.video_observation.json"
    assert files_of(tmp_path / "elsewhere.mp4") == {}
    values = read_all(files_of(folder / "other.mp4"))
    assert sorted(values) == ["geometry", "observation", "reference", "subcategory"]
    assert values["subcategory"] == "home_indoor"
    assert values["observation"]["windows"][0]["window_id"] == "8"


def test_the_scene_may_say_where_it_belongs(tmp_path: Path) -> None:
    scene = {"metadata": {"subcategory": "own", "domain": "game"}, "objects": []}
    folder = case(tmp_path, reference_scene=scene, video_observation={"windows": []})
    values = read_all(files_of(folder / "v.mp4"))
    assert (values["subcategory"], values["domain"]) == ("own", "game")


def test_a_case_without_observation(tmp_path: Path) -> None:
    folder = case(tmp_path)
    with pytest.raises(
        FileFormatError, match=r"a case folder must hold video_observation\.json beside the video, got none"
    ):
        read_all(files_of(folder / "v.mp4"))


@pytest.mark.parametrize(
    ("read", "content", "said"),
    [
        (read_reference_scene, [], "a scene must be a mapping, got list"),
        (read_reference_scene, {}, "objects must be a list, got NoneType"),
        (read_reference_scene, {"objects": [ONE, ONE]}, r"objects\[1\].object_id must be unique, got 'a' twice"),
        (read_reference_scene, {"objects": [{}]}, r"objects\[0\].object_id must be text, got None"),
        (read_reference_scene, {"objects": [ONE | {"bbox": [1, 2, 3]}]}, r"bbox must be a list of 4 numbers"),
        (read_reference_scene, {"objects": [ONE | {"embedding": ["x"]}]}, r"embedding must be a list of numbers"),
        (read_reference_scene, {"objects": [ONE | {"embedding": [10**400]}]}, "within the range of float64"),
        (read_observation, {"windows": [{"objects": []}]}, r"windows\[0\].frame_size must be a list of 2 numbers"),
        (
            read_observation,
            {"windows": [{"frame_size": [8, 8], "frame_index": -1}]},
            "frame_index must be a whole number of at least 0, got -1",
        ),
        (
            read_observation,
            {"windows": [{"frame_size": [8, 8], "objects": [SEEN, SEEN]}]},
            r"windows\[0\].objects\[1\].observed_id must be unique, got 'x' twice",
        ),
        (
            read_observation,
            {"windows": [{"frame_size": [8, 8], "frame_index": 1}, {"frame_size": [8, 8], "window_id": "1"}]},
            r"windows\[1\].window_id must be unique",
        ),
        (
            read_observation,
            {"windows": [{"frame_size": [8, 8], "objects": [{"observed_id": "x"}]}]},
            "bbox must be a list",
        ),
        (read_geometry, {"schema_version": 2, "frames": {}}, "schema_version must be 3, got 2"),
        (read_geometry, {"schema_version": 3, "frames": {"8": {}}}, "frames.8.status must be text, got None"),
        (read_structure, {"schema_version": 1, "claims": {}}, "claims must be a list, got dict"),
    ],
)
def test_files_that_are_none(tmp_path: Path, read: Any, content: Any, said: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match=said) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_numbers_that_are_not_finite_pass_to_the_protocol(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps({"objects": [ONE | {"embedding": [float("nan"), 1.0]}]}))
    assert np.isnan(read_reference_scene(path)["objects"][0]["embedding"][0])


def write_png(path: Path, image: np.ndarray) -> Path:
    with av.open(str(path), "w", format="image2") as file:
        stream = file.add_stream("png", 1)
        stream.height, stream.width, stream.pix_fmt = *image.shape[:2], "gray"
        for packet in [*stream.encode(av.VideoFrame.from_ndarray(image, format="gray")), *stream.encode(None)]:
            file.mux(packet)
    return path


MASK = np.random.default_rng(0).random((21, 34)) < 0.4


def test_masks_in_every_spelling(tmp_path: Path) -> None:
    size = (34, 21)
    for faint in (255, 1):
        png = write_png(tmp_path / f"mask{faint}.png", np.where(MASK, faint, 0).astype(np.uint8))
        np.testing.assert_array_equal(read_mask(png.name, size, beside=tmp_path), MASK)
    np.testing.assert_array_equal(read_mask(MASK.astype(int).tolist(), size), MASK)
    np.testing.assert_array_equal(read_mask([MASK.astype(float).tolist()], size), MASK)
    np.testing.assert_array_equal(read_mask(to_runs(MASK), size), MASK)
    for whole in (np.ones((3, 5)), np.zeros((3, 5)), np.zeros((0, 5))):
        np.testing.assert_array_equal(from_runs(to_runs(whole)), whole != 0)


def coco_text(counts: list[int]) -> str:
    """COCO's packing, written from its definition, to read it back."""
    text = ""
    for i, count in enumerate(counts):
        value = count - counts[i - 2] if i > 2 else count
        more = True
        while more:
            bits = value & 31
            value >>= 5
            more = value != (-1 if bits & 16 else 0)
            text += chr(48 + (bits | 32 if more else bits))
    return text


def test_runs_as_text() -> None:
    runs = to_runs(MASK)
    assert min(np.diff(runs["counts"][::2])) < 0  # differences go both ways
    np.testing.assert_array_equal(from_runs(runs | {"counts": coco_text(runs["counts"])}), MASK)
    large = [0, 70000, 3, 200, 19797]
    np.testing.assert_array_equal(
        from_runs({"size": [300, 300], "counts": coco_text(large)}), from_runs({"size": [300, 300], "counts": large})
    )


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        ([[0, 1], [1, 0]], "mask must have the size 34x21, got 2x2: rows"),
        ([[0, 1], [1]], "rows must be numbers, of one length"),
        ([0, 1], "rows must be of two dimensions"),
        ({"size": [21, 34], "counts": [5, 6]}, "counts must add up to the 714 pixels, got 11"),
        ({"size": [21, 34], "counts": [715, -1]}, "counts must be whole numbers of at least 0"),
        ({"size": [21], "counts": [714]}, "run lengths must have the size"),
        ({"size": [21, 34], "counts": "\x10"}, "counts must be COCO's text"),
        ({"size": [21, 34], "counts": "o"}, "counts must be whole, got text that ends in the middle of a number"),
        ("nowhere.png", "mask must be a file that exists"),
        ("a" * 5000, "mask must be a file that exists"),
        ("a\0b", "mask must be a file that exists"),
        ([[float("nan")] * 34] * 21, "rows must be numbers, got nan"),
    ],
)
def test_masks_that_are_none(mask: Any, said: str) -> None:
    with pytest.raises(FileFormatError, match=said):
        read_mask(mask, (34, 21))


def png_of(path: Path, bits: int, kind: int, rows: list[bytes], palette: bytes = b"") -> Path:
    """A PNG of any kind of pixels, written from its definition; rows are a mask's."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", MASK.shape[1], MASK.shape[0], bits, kind, 0, 0, 0)
    pieces = [(b"IHDR", header), *([(b"PLTE", palette)] if palette else [])]
    pieces += [(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))), (b"IEND", b"")]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*piece) for piece in pieces))
    return path


@pytest.mark.parametrize(
    ("bits", "kind", "pixels", "palette"),
    [
        (1, 0, np.packbits(MASK, axis=1), b""),
        (16, 0, MASK.astype(">u2"), b""),  # 1 of 65535: half a step of eight bits
        (16, 2, np.repeat(MASK[..., None].astype(">u2"), 3, axis=-1), b""),
        (16, 4, np.stack([MASK.astype(">u2"), np.full(MASK.shape, 65535, ">u2")], axis=-1), b""),
        (8, 4, np.stack([np.full(MASK.shape, 255, np.uint8), np.where(MASK, 255, 0).astype(np.uint8)], axis=-1), b""),
        (8, 6, np.concatenate([np.full((*MASK.shape, 3), 9), 255 * MASK[..., None]], -1).astype(np.uint8), b""),
        (8, 3, MASK.astype(np.uint8), bytes([0, 0, 0, 128, 0, 0])),  # a label map with DAVIS's colours
        (8, 3, MASK.astype(np.uint8), bytes([255, 255, 255, 0, 0, 0])),  # the index counts, not the colour
    ],
)
def test_pictures_of_every_kind_of_pixel(
    tmp_path: Path, bits: int, kind: int, pixels: np.ndarray, palette: bytes
) -> None:
    path = png_of(tmp_path / "mask.png", bits, kind, [row.tobytes() for row in pixels], palette)
    np.testing.assert_array_equal(read_mask(path, (34, 21)), MASK)


@pytest.mark.parametrize("damage", [lambda b: b[:40], lambda b: b"", lambda b: b"not a picture" * 9])
def test_damaged_pictures(tmp_path: Path, damage: Any) -> None:
    png = write_png(tmp_path / "mask.png", MASK.astype(np.uint8) * 255)
    png.write_bytes(damage(png.read_bytes()))
    with pytest.raises(FileFormatError, match=r"read_mask: mask must be a picture that can be read, got .*mask\.png"):
        read_mask(png, (34, 21))


def test_a_clip_is_no_mask(tmp_path: Path) -> None:
    write_video(tmp_path / "clip.mp4", np.zeros((3, 32, 32, 3), np.uint8), fps=8)
    with pytest.raises(FileFormatError, match="must be a picture that can be read, got more"):
        read_mask("clip.mp4", (32, 32), beside=tmp_path)


def test_one_damaged_mask_does_not_lose_the_others(tmp_path: Path) -> None:
    write_png(tmp_path / "good.png", MASK.astype(np.uint8) * 255)
    write_png(tmp_path / "small.png", MASK[:4, :4].astype(np.uint8) * 255)
    (tmp_path / "torn.png").write_bytes((tmp_path / "good.png").read_bytes()[:30])
    objects = [
        {"object_id": "rle", "mask": to_runs(MASK)},
        {"object_id": "png", "mask_path": "good.png"},
        {"object_id": "elsewhere", "metadata": {"mask_path": "good.png"}},
        {"object_id": "short", "mask": {"size": [21, 34], "counts": [3]}},
        {"object_id": "small", "mask_path": "small.png"},
        {"object_id": "torn", "mask_path": "torn.png"},
        {"object_id": "none"},
    ]
    masks, reasons = masks_of({"metadata": {"image_size": [34, 21]}, "objects": objects}, tmp_path)
    assert list(masks) == ["rle", "png", "elsewhere"]
    assert all(np.array_equal(mask, MASK) for mask in masks.values())
    assert list(reasons) == ["short", "small", "torn", "none"]
    assert "must add up to the 714 pixels, got 3" in reasons["short"]
    assert "must have the size 34x21, got 4x4" in reasons["small"]
    assert reasons["none"].startswith("no_mask")
    with pytest.raises(FileFormatError, match=r"metadata\.image_size must be width and height, got None"):
        masks_of({"objects": objects}, tmp_path)


@pytest.mark.parametrize(
    "mask",
    [
        {"size": [10**9, 10**9], "counts": [10**18]},  # would be 10^18 pixels
        {"size": [21, 34], "counts": "\u20ac"},  # no text of COCO's
        {"size": None, "counts": [714]},
    ],
)
def test_damaged_run_lengths_are_refused_before_any_pixel_is_written(mask: dict[str, object]) -> None:
    with pytest.raises(FileFormatError, match=r"run lengths must have the size \[21, 34\]|counts must be COCO's text"):
        read_mask(mask, (34, 21))


@pytest.mark.parametrize(("name", "reader"), [("scene", read_reference_scene), ("seen", read_observation)])
def test_metadata_that_is_no_mapping_is_refused(name: str, reader: Any, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps({"metadata": "home", "objects": [], "windows": []}))
    with pytest.raises(FileFormatError, match=rf"metadata must be a mapping, got str: .*{name}\.json"):
        reader(path)
