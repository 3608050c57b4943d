# SPDX-License-Identifier: Apache-2.0
"""Reading and writing video: what decodes is what counts. V01 to V12 are named after the cases they hold."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numbered_clips import (
    B_FRAMES,
    HEIGHT,
    INTRA,
    WIDTH,
    clip,
    flat,
    number,
    numbered,
    numbers,
    patched,
    png,
    sound,
    stamped,
)

from wmb_fast import ArgumentError, ArgumentTypeError, FileFormatError
from wmb_fast.rollout.stamps import clock_from_rate, clock_from_stamps, frame_at, frames_within, gaps
from wmb_fast.rollout.video import open_video, write_video


def test_v01_header_says_one_frame_more_than_decodes(tmp_path: Path) -> None:
    path = clip(tmp_path / "a.mp4", numbered(30), options=INTRA)
    video = open_video(patched(path, b"stts", 8, 30, 31))
    assert numbers(video.frames()) == list(range(30))
    assert video.n_frames == 30
    assert not video.truncated
    assert "the header states 31 frames, 30 decode" in video.notes
    with pytest.raises(ArgumentError, match=r"read: indices must lie in \[0, 30\), got 30"):
        video.read([30])


def test_v01_discarded_first_group_of_pictures(tmp_path: Path) -> None:
    path = clip(tmp_path / "b.mp4", numbered(30), options={"bf": "0", "g": "5", "sc_threshold": "0"})
    video = open_video(patched(path, b"elst", 12, 0, 5 * 512))  # the edit list starts five steps of 512 ticks later
    assert numbers(video.frames()) == list(range(5, 30))
    assert video.n_frames == 25
    assert not video.truncated
    assert "the header states 30 frames, 25 decode" in video.notes
    with pytest.raises(ArgumentError, match=r"lie in \[0, 25\), got 25"):
        open_video(path).read([0, 25])


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Sixty frames in each kind of container, B frames where the codec has them."""
    folder = tmp_path_factory.mktemp("whole")
    images = numbered(60)
    fast = {"deadline": "realtime", "cpu-used": "8"}
    made = [
        clip(folder / "clip.mp4", images, options=B_FRAMES, faststart=True),
        clip(folder / "clip.mkv", images, options=B_FRAMES),
        clip(folder / "clip.h264", images, options=B_FRAMES),
        clip(folder / "clip.webm", images, codec="libvpx-vp9", options=fast),
        clip(folder / "clip.gif", images, codec="gif", pix_fmt="rgb8"),
    ]
    return {path.suffix: path.read_bytes() for path in made}


@pytest.mark.parametrize("share", [0.3, 0.5, 0.62, 0.8, 0.81, 0.83, 0.97])
@pytest.mark.parametrize("ending", [".mp4", ".mkv", ".h264", ".webm", ".gif"])
def test_v02_damaged_tail(whole_files: dict[str, bytes], tmp_path: Path, ending: str, share: float) -> None:
    path = tmp_path / f"cut{ending}"
    path.write_bytes(whole_files[ending][: int(len(whole_files[ending]) * share)])
    video = open_video(path)
    seen = numbers(video.frames())
    assert 0 < len(seen) < 60
    assert seen == list(range(len(seen)))
    assert video.n_frames == len(seen)
    assert video.truncated
    assert f"the file is truncated: {len(seen)} frames decode" in video.notes


def test_v03_variable_rate(tmp_path: Path) -> None:
    pts = [0, 1, 2, 5, 6]
    video = open_video(stamped(tmp_path / "v.mp4", numbered(5), pts, pts, Fraction(1, 10)))
    np.testing.assert_allclose(video.times, [0, 0.1, 0.2, 0.5, 0.6], rtol=1e-12)
    assert [video.frame_at(t) for t in (0.45, 0.5, 0.05)] == [2, 3, 0]
    with pytest.raises(ArgumentError, match=r"frame_at: t must lie in \[0, 0.7\) seconds, got 0.7"):
        video.frame_at(0.7)
    assert any(note.startswith("variable frame rate") for note in video.notes)
    assert video.fps == pytest.approx(10)


def test_v04_presentation_order(tmp_path: Path) -> None:
    pts = [4854, 5622, 5366, 5878, 5110]
    ranks = [sorted(pts).index(stamp) for stamp in pts]
    images = numbered(5)
    dts = [4400, 4500, 4600, 4700, 4800]
    video = open_video(stamped(tmp_path / "o.mp4", [images[r] for r in ranks], pts, dts, Fraction(1, 15360)))
    assert numbers(video.frames()) == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(video.times, np.arange(5) / 60, rtol=1e-12)
    assert numbers(video.read([4, 1])) == [4, 1]


def test_v04_stamps_that_order_nothing(tmp_path: Path) -> None:
    path = stamped(tmp_path / "z.mkv", numbered(5), [0] * 5, [-4, -3, -2, -1, 0], Fraction(1, 25))
    video = open_video(path)
    assert numbers(video.frames()) == [0, 1, 2, 3, 4]
    assert any("all 5 frames have the same time stamp" in note for note in video.notes)
    raw = open_video(clip(tmp_path / "raw.h264", numbered(8), options=B_FRAMES))
    assert numbers(raw.frames()) == list(range(8))
    assert any("no frame has a time stamp" in note for note in raw.notes)


def test_v04_one_stamp_missing() -> None:
    clock = clock_from_stamps([0, 1, None, 3, None], Fraction(1, 10), None)
    np.testing.assert_allclose(clock.times, np.arange(5) / 10, rtol=1e-12)
    assert clock.notes == ("2 of 5 frames have no time stamp: theirs are interpolated",)


@pytest.mark.parametrize(
    ("yuv", "colorspace", "color_range", "rgb"),
    [
        ((81, 90, 240), 6, 1, (254, 0, 0)),  # 6 is SMPTE 170M, that is BT.601
        ((81, 90, 240), 5, 1, (254, 0, 0)),
        ((81, 90, 240), 1, 1, (255, 24, 0)),
        ((81, 90, 240), 2, 0, (254, 0, 0)),  # nothing stated: BT.601, limited
        ((16, 128, 128), 1, 2, (16, 16, 16)),
        ((235, 128, 128), 1, 2, (235, 235, 235)),
        ((16, 128, 128), 1, 1, (0, 0, 0)),
        ((235, 128, 128), 1, 1, (255, 255, 255)),
    ],
)
def test_v06_range_and_matrix(
    tmp_path: Path, yuv: tuple[int, int, int], colorspace: int, color_range: int, rgb: tuple[int, int, int]
) -> None:
    video = open_video(flat(tmp_path / "flat.mp4", yuv, colorspace, color_range))
    for image in video.frames():
        assert np.abs(image.astype(int) - rgb).max() <= 2


def test_v07_size_mismatch(tmp_path: Path) -> None:
    video = open_video(clip(tmp_path / "s.mp4", numbered(2, (640, 368))))
    assert (video.width, video.height) == (640, 368)
    video.require_size(640, 368)
    with pytest.raises(ArgumentError, match="require_size: size must be the frames' 640x368, got 640x360"):
        video.require_size(640, 360)


def test_v08_random_access(tmp_path: Path) -> None:
    video = open_video(clip(tmp_path / "r.mp4", numbered(120), options=B_FRAMES))
    every = list(video.frames())
    assert numbers(every) == list(range(120))
    wanted = [119, 0, 60, 59, 61, 7, 60]
    np.testing.assert_array_equal(video.read(wanted), [every[i] for i in wanted])
    for index in (119, 59):
        np.testing.assert_array_equal(open_video(video.path).read([index])[0], every[index])
    assert video.read([]).shape == (0, HEIGHT, WIDTH, 3)
    with pytest.raises(ArgumentError, match=r"lie in \[0, 120\), got -1"):
        video.read([-1])
    with pytest.raises(ArgumentTypeError, match="read: indices must be integers in one dimension, got float64"):
        video.read([0.5])  # type: ignore[list-item]


@pytest.mark.parametrize("kind", ["file", "folder"])
@pytest.mark.parametrize("room", [1 << 20, 1000])
def test_what_is_kept_is_what_decodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, room: int) -> None:
    path = clip(tmp_path / "k.mp4", numbered(20), options=B_FRAMES)
    if kind == "folder":
        path = tmp_path / "frames"
        path.mkdir()
        for i, image in enumerate(numbered(20)):
            png(path / f"{i}.png", image)
    plain, kept = open_video(path, fps=8), open_video(path, fps=8)
    wanted = list(plain.frames())
    kept.keep(room)
    assert next(iter(kept.some([3])))[0] == 3  # a pass that is given up keeps nothing
    assert (kept.n_frames, kept.notes) == (plain.n_frames, plain.notes)
    if room > 1000:
        monkeypatch.setattr(type(kept._source), "pictures", lambda *_: pytest.fail("decoded again"))
    for _ in range(2):
        frames = list(kept.frames())
        frames[7][:] = 0  # the caller's own
    np.testing.assert_array_equal(kept.read([7, 2]), [wanted[i] for i in (7, 2)])
    np.testing.assert_array_equal(kept.times, plain.times)


def test_v09_stamp_gaps(tmp_path: Path) -> None:
    pts = [0, 1, 2, 5, 6]
    video = open_video(stamped(tmp_path / "g.mp4", numbered(5), pts, pts, Fraction(1, 25)))
    assert video.frames_within(0.10, 0.22).tolist() == [3]
    assert video.frames_within(0.13, 0.19).tolist() == []
    assert [(index, round(step, 9)) for index, step in gaps(video.times)] == [(3, 0.12)]
    assert "a gap in the time stamps: 0.12 s before frame 3" in video.notes


@pytest.mark.parametrize("n", [1, 2])
def test_v10_tiny_clips(tmp_path: Path, n: int) -> None:
    video = open_video(clip(tmp_path / "t.mp4", numbered(n)))
    assert video.n_frames == n
    assert video.times.tolist() == [0.0, 0.04][:n]
    assert numbers(video.frames()) == list(range(n))
    assert not video.truncated


def test_v10_no_frame(tmp_path: Path) -> None:
    path = clip(tmp_path / "none.mp4", numbered(3), options=INTRA)
    data = path.read_bytes()
    start, end = data.index(b"mdat") + 4, data.index(b"moov") - 4
    path.write_bytes(data[:start] + bytes(end - start) + data[end:])
    with pytest.raises(FileFormatError, match="open_video: path must hold at least one frame that decodes, got none"):
        open_video(path)


def test_v11_the_same_film_at_three_times_the_rate(tmp_path: Path) -> None:
    images = numbered(12)
    slow = open_video(clip(tmp_path / "slow.mp4", images, rate=8, options={"qp": "0"}))
    fast = open_video(clip(tmp_path / "fast.mp4", [i for i in images for _ in range(3)], rate=24, options={"qp": "0"}))
    at = np.arange(12) / 8
    np.testing.assert_array_equal(slow.read([slow.frame_at(t) for t in at]), fast.read([fast.frame_at(t) for t in at]))
    assert (slow.fps, fast.fps) == (8.0, 24.0)


def test_v12_decoder_is_named(tmp_path: Path) -> None:
    decoder = open_video(clip(tmp_path / "d.mp4", numbered(1))).decoder
    assert decoder.startswith("pyav ")
    assert " / ffmpeg " in decoder


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda p: p.write_bytes(b""), "be a video, got an empty file"),
        (lambda p: p.write_bytes(bytes(range(256)) * 64), "be a video that FFmpeg can open, got"),
        (
            lambda p: p.with_suffix(".txt").rename(p) if p.with_suffix(".txt").write_text("no video") else None,
            "be a video",
        ),
        (sound, "have a video stream, got audio only"),
        (lambda p: p.mkdir(), "be a video or a folder of png or jpg frames, got a folder without frames"),
        (lambda p: None, "exist, got nothing there"),
    ],
)
def test_files_that_hold_no_video(tmp_path: Path, make: object, sentence: str) -> None:
    path = tmp_path / "file.mp4"
    make(path)  # type: ignore[operator]
    with pytest.raises(FileFormatError, match=f"^open_video: path must {sentence}"):
        open_video(path)


def test_text_is_not_shown_as_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("a plain text\n" * 40)
    with pytest.raises(FileFormatError, match="open_video: path must be a video"):
        open_video(path)


@pytest.mark.parametrize(
    ("matrix", "seen"),  # x' = a x + c y, y' = b x + d y, for (a, b, c, d)
    [
        ((0, 1, -1, 0), lambda image: np.rot90(image, -1)),  # what a telephone held upright writes
        ((-1, 0, 0, -1), lambda image: np.rot90(image, 2)),
        ((0, -1, 1, 0), lambda image: np.rot90(image, 1)),
        ((-1, 0, 0, 1), np.fliplr),
        ((1, 0, 0, -1), np.flipud),
        ((0, 1, 1, 0), lambda image: image.swapaxes(0, 1)),
    ],
)
def test_rotation_and_mirroring_are_applied(
    tmp_path: Path, matrix: tuple[int, ...], seen: Callable[[np.ndarray], np.ndarray]
) -> None:
    stored = list(open_video(clip(tmp_path / "stored.mp4", numbered(3))).frames())
    path = clip(tmp_path / "turned.mp4", numbered(3))
    for place, was, becomes in zip((0, 4, 12, 16), (1, 0, 0, 1), matrix, strict=True):
        patched(path, b"tkhd", 40 + place, was << 16, (becomes << 16) & 0xFFFFFFFF)
    video = open_video(path)
    for plain, shown in zip(stored, video.frames(), strict=True):
        np.testing.assert_array_equal(seen(plain), shown)
    assert (video.height, video.width) == seen(stored[0]).shape[:2]


@pytest.mark.parametrize(("ending", "codec", "pix_fmt"), [("webm", "libvpx-vp9", "yuv420p"), ("gif", "gif", "rgb8")])
def test_coarse_time_bases_keep_the_rate(tmp_path: Path, ending: str, codec: str, pix_fmt: str) -> None:
    options = {"deadline": "realtime", "cpu-used": "8"} if ending == "webm" else {}
    video = open_video(
        clip(tmp_path / f"c.{ending}", numbered(20), codec=codec, pix_fmt=pix_fmt, rate=16, options=options)
    )
    assert numbers(video.frames()) == list(range(20))
    assert video.fps == pytest.approx(16, rel=0.05 if ending == "gif" else 1e-3)


@pytest.mark.parametrize(
    ("numbers", "says"),
    [
        ((1, 2, 3), ""),
        ((0, 5, 10), ""),  # every fifth frame: no gap
        ((1, 2, 5, 6), "the folder has no frames between f2.png and f5.png: time goes on without them"),
        ((8, 9, 12, 13, 20), "between f9.png and f12.png, and so 1 times more"),
        ((7,), ""),
    ],
)
def test_numbers_missing_from_a_folder_are_noted(tmp_path: Path, numbers: tuple[int, ...], says: str) -> None:
    for k in numbers:
        png(tmp_path / f"f{k}.png", numbered(1)[0])
    told = [note for note in open_video(tmp_path, fps=8).notes if "no frames between" in note]
    assert len(told) == (1 if says else 0)
    assert says in "".join(told)


def test_a_folder_of_frames_in_natural_order(tmp_path: Path) -> None:
    images = numbered(12)
    for i in reversed(range(12)):
        png(tmp_path / f"frame_{i}.png", images[i])
    (tmp_path / "notes.txt").write_text("not a frame")
    video = open_video(tmp_path)
    np.testing.assert_array_equal(np.stack(list(video.frames())), images)
    assert (video.n_frames, video.fps, video.notes) == (12, None, ("no frame rate is known",))
    assert np.isnan(video.times).all()
    with pytest.raises(ArgumentError, match="frame rate is known"):
        video.frame_at(0.0)
    timed = open_video(tmp_path, fps=12)
    assert timed.times[-1] == 11 / 12
    assert timed.frame_at(0.5) == 6
    before = video.sha256
    (tmp_path / "frame_3.png").rename(tmp_path / "frame_30.png")
    assert open_video(tmp_path).sha256 != before
    png(tmp_path / "frame_40.png", numbered(1, (64, 64))[0].repeat(2, axis=1))
    with pytest.raises(FileFormatError, match="have the size of the frames before it, got 128x64 after 128x96"):
        list(open_video(tmp_path).frames())


def test_a_given_rate_replaces_one_that_disagrees(tmp_path: Path) -> None:
    path = clip(tmp_path / "r.mp4", numbered(10), rate=25)
    assert open_video(path, fps=25.01).fps == 25.0
    video = open_video(path, fps=16)
    assert video.fps == 16
    assert video.times[-1] == 9 / 16
    assert video.notes == ("the rate given, 16, replaces the file's: 25 frames per second",)
    with pytest.raises(ArgumentError, match="open_video: fps must be above 0, got 0"):
        open_video(path, fps=0)


def test_facts_do_not_depend_on_how_they_are_learnt(tmp_path: Path) -> None:
    path = clip(tmp_path / "f.mp4", numbered(40), options=B_FRAMES)
    counted, streamed = open_video(path), open_video(path)
    assert len(list(streamed.frames())) == counted.n_frames == streamed.n_frames
    np.testing.assert_array_equal(counted.times, streamed.times)
    assert counted.notes == streamed.notes
    half = open_video(path)
    next(half.frames())  # a pass that is given up tells nothing
    assert half.n_frames == 40


def test_clocks_without_stamps() -> None:
    with pytest.raises(ArgumentError, match="lie in"):
        frame_at(clock_from_rate(3, 10.0), -0.01)
    assert frame_at(clock_from_rate(3, 10.0), 0.2 - 1e-9) == 2
    assert frames_within(clock_from_rate(3, 10.0), 0, 10).tolist() == [0, 1, 2]
    assert clock_from_stamps([7], Fraction(1, 10), None).fps is None


def test_written_video_is_the_same_each_time(tmp_path: Path) -> None:
    images = numbered(20)
    for name in ("a.mp4", "b.mp4"):
        assert write_video(tmp_path / name, iter(images), fps=16) == "libx264"
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()
    video = open_video(tmp_path / "a.mp4")
    assert (video.fps, video.n_frames, video.notes) == (16.0, 20, ())
    assert numbers(video.frames()) == list(range(20))
    flats = [np.full((48, 64, 3), colour, np.uint8) for colour in ((200, 30, 90), (20, 220, 40))]
    write_video(tmp_path / "flat.mp4", flats, fps=2)
    assert np.abs(np.stack(list(open_video(tmp_path / "flat.mp4").frames())).astype(int) - flats).max() <= 2
    write_video(tmp_path / "odd.mp4", [np.full((31, 33, 3), 77, np.uint8)], fps=30000 / 1001)
    assert open_video(tmp_path / "odd.mp4").width == 33


def test_writing_fails_whole(tmp_path: Path) -> None:
    def broken() -> object:
        yield from numbered(3)
        yield np.zeros((8, 8, 3), np.uint8)

    path = tmp_path / "w.mp4"
    with pytest.raises(ArgumentError, match=r"write_video: frames\[3\] must have the shape of the first frame"):
        write_video(path, broken(), fps=16)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="write_video: frames must hold at least one frame, got none"):
        write_video(path, [], fps=16)
    with pytest.raises(ArgumentTypeError, match=r"frames\[0\] must be a uint8 array, got float64"):
        write_video(path, [np.zeros((8, 8, 3))], fps=16)  # type: ignore[list-item]
    with pytest.raises(ArgumentError, match=r"write_video: path must end in .mp4, .mov or .mkv, got 'w.wmv'"):
        write_video(tmp_path / "w.wmv", numbered(1), fps=16)
    assert list(tmp_path.iterdir()) == []


HASHES = """
import ctypes, hashlib, re, sys
import av
from wmb_fast.rollout.video import open_video
if sys.argv[2] == "plain":
    library = re.search(r"/\\S*libavutil\\S*", open("/proc/self/maps").read()).group()
    ctypes.CDLL(library).av_force_cpu_flags(0)
digest = hashlib.sha256()
for frame in open_video(sys.argv[1]).frames():
    digest.update(frame)
print(digest.hexdigest())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="FFmpeg's library is found in /proc")
def test_pixels_do_not_depend_on_vector_instructions(tmp_path: Path) -> None:
    path = clip(tmp_path / "p.mp4", numbered(6), options=B_FRAMES)
    hashes = [
        subprocess.run([sys.executable, "-c", HASHES, path, how], check=True, capture_output=True, text=True).stdout
        for how in ("vector", "plain")
    ]
    assert hashes[0] == hashes[1]


def test_real_clips_have_the_frames_their_table_states(shared: Path) -> None:
    folder = shared / "data" / "rollouts" / "worldmark"
    table = json.loads((folder / "annotations.json").read_text())
    assert len(table) == 8
    for stem in ("m3_bad", "m5_bad"):
        video, row = open_video(folder / f"{stem}.mp4"), table[stem]
        assert (video.n_frames, video.fps) == (row["frames"], row["fps"])
        assert (video.width, video.height) == (row["width"], row["height"])
        assert video.notes == ()
        assert number(video.read([0])[0]) >= 0
