# SPDX-License-Identifier: Apache-2.0
"""Pose files: each format, each convention, and what is caught. T09 to T12 are named after the cases they hold."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmb_fast import ArgumentError, FileFormatError
from wmb_fast.rollout.rotations import quaternion_of, rotation_of
from wmb_fast.rollout.trajectory import (
    Trajectory,
    pixel_intrinsics,
    read_trajectory,
    resized_intrinsics,
    write_trajectory,
)

HALF = np.sqrt(0.5)


def random_poses(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    poses = np.tile(np.eye(4), (n, 1, 1))
    poses[:, :3, :3] = rotation_of(rng.normal(size=(n, 4)))
    poses[:, :3, 3] = rng.normal(size=(n, 3)) * 10
    return poses


def yaw_z(degrees: float) -> np.ndarray:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def angle_deg(a: np.ndarray, b: np.ndarray) -> float:
    relative = a.T @ b
    skew = np.array([relative[2, 1] - relative[1, 2], relative[0, 2] - relative[2, 0], relative[1, 0] - relative[0, 1]])
    return float(np.degrees(np.arctan2(np.linalg.norm(skew) / 2, (np.trace(relative) - 1) / 2)))


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def npy(path: Path, poses: np.ndarray) -> Path:
    np.save(path, poses)
    return path


def test_t09_matrices_off_so3(tmp_path: Path) -> None:
    pose = np.eye(4)[None].repeat(2, axis=0)
    pose[1, :3, :3] *= 1.01
    read = read_trajectory(npy(tmp_path / "a.npy", pose), format="npy", convention="c2w")
    assert read.notes == ("1 rotations are not orthonormal: max |R'R - I| = 0.0201",)
    np.testing.assert_array_equal(read.poses, pose)
    rounded = np.eye(4)[None].copy()
    rounded[0, :3, :3] = yaw_z(30).round(3)
    read = read_trajectory(npy(tmp_path / "b.npy", rounded), format="npy", convention="c2w")
    assert angle_deg(read.poses[0, :3, :3], yaw_z(30)) < 0.05
    assert len(read.notes) == 1
    mirrored = np.eye(4)[None].repeat(3, axis=0)
    mirrored[2, 2, 2] = -1
    with pytest.raises(FileFormatError, match=r"read_trajectory: pose 2 must hold a rotation, got .* determinant -1: "):
        read_trajectory(npy(tmp_path / "c.npy", mirrored), format="npy", convention="c2w")
    with pytest.raises(FileFormatError, match=r"pose 0 must hold a rotation, got a matrix with max \|R'R - I\| = 0.21"):
        read_trajectory(npy(tmp_path / "d.npy", np.diag([1.1, 1.1, 1.1, 1.0])[None]), format="npy", convention="c2w")


def test_t10_quaternion_order(tmp_path: Path) -> None:
    path = written(tmp_path / "q.txt", "0 0 0 0.70710678 0.70710678 0 0\n")
    first, last = (
        read_trajectory(path, format="xyzquat", convention="c2w", quaternion=order).poses[0, :3, :3]
        for order in ("wxyz", "xyzw")
    )
    np.testing.assert_allclose(first, [[1, 0, 0], [0, 0, -1], [0, 1, 0]], atol=1e-12)
    np.testing.assert_allclose(last, [[0, 1, 0], [1, 0, 0], [0, 0, -1]], atol=1e-12)
    assert angle_deg(first, last) == pytest.approx(120)
    tum = read_trajectory(written(tmp_path / "t.txt", "5 0 0 0 0.70710678 0.70710678 0 0\n"), format="tum")
    np.testing.assert_array_equal(tum.poses[0, :3, :3], last)
    with pytest.raises(ArgumentError, match="quaternion must be one of xyzw, wxyz, got None"):
        read_trajectory(path, format="xyzquat", convention="c2w")
    with pytest.raises(ArgumentError, match="quaternion must be left out: tum fixes the order, got 'wxyz'"):
        read_trajectory(path, format="tum", quaternion="wxyz")


def test_t11_quaternion_norm_and_sign(tmp_path: Path) -> None:
    path = written(tmp_path / "n.txt", "# stamp t q\n0 0 0 0 0 0 2 2\n1 0 0 0 0 0 -2 -2\n")
    read = read_trajectory(path, format="tum")
    np.testing.assert_allclose(read.poses[:, :3, :3], [yaw_z(90)] * 2, atol=1e-12)
    assert read.notes == ("2 quaternions were not of norm 1: 2.828 to 2.828",)
    with pytest.raises(FileFormatError, match=r"line 3 must hold a quaternion, got one of norm 0: .*z.txt"):
        read_trajectory(written(tmp_path / "z.txt", "0 0 0 0 0 0 0 1\n\n1 0 0 0 0 0 0 0\n"), format="tum")


@pytest.mark.parametrize("size", [1e-200, 1e200, 1e308])
def test_quaternions_of_any_size(tmp_path: Path, size: float) -> None:
    (tmp_path / "q.txt").write_text(f"0 1 2 3 0 0 {size} {size}\n")
    read = read_trajectory(tmp_path / "q.txt", format="tum")
    np.testing.assert_allclose(read.poses[0, :3, :3], yaw_z(90), atol=1e-12)
    (tmp_path / "q.txt").write_text("0 1 2 3 0 0 0 1\n0 1 2 3 0 0 inf 1\n")
    with pytest.raises(FileFormatError, match=r"line 2 must hold a quaternion, got an infinite number"):
        read_trajectory(tmp_path / "q.txt", format="tum")


def test_damaged_archives_are_named(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "whole.npz", c2w=random_poses(20))
    whole = (tmp_path / "whole.npz").read_bytes()
    np.savez(tmp_path / "objects.npz", c2w=np.array([{}], dtype=object))
    objects = (tmp_path / "objects.npz").read_bytes()
    for content in (whole[:-40], whole[:200] + b"\xff" * 60 + whole[260:], b"PK\x03\x04", objects):
        (tmp_path / "p.npz").write_bytes(content)
        with pytest.raises(FileFormatError, match=r"file must be a NumPy file without pickled objects, got .*p.npz"):
            read_trajectory(tmp_path / "p.npz", format="npz")


def test_an_underscore_makes_no_number(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("0 1_0 2 3 0 0 0 1\n")
    with pytest.raises(FileFormatError, match="line 1 must hold numbers alone, got '1_0'"):
        read_trajectory(tmp_path / "q.txt", format="tum")


def test_t12_pose_convention(tmp_path: Path) -> None:
    world_to_cam = np.eye(4)[None].copy()
    world_to_cam[0, :3, :3], world_to_cam[0, :3, 3] = yaw_z(90), (1, 0, 0)
    read = read_trajectory(npy(tmp_path / "a.npy", world_to_cam), format="npy", convention="w2c")
    np.testing.assert_allclose(read.poses[0, :3, 3], [0, 1, 0], atol=1e-15)
    poses = random_poses(20)
    as_c2w = read_trajectory(npy(tmp_path / "c.npy", poses), format="npy", convention="c2w")
    as_w2c = read_trajectory(npy(tmp_path / "w.npy", np.linalg.inv(poses)), format="npy", convention="w2c")
    np.testing.assert_allclose(as_w2c.poses, as_c2w.poses, atol=1e-12)


@pytest.mark.parametrize(("format", "fixed"), [("tum", "c2w"), ("kitti", "c2w"), ("euroc", "c2w"), ("re10k", "w2c")])
def test_a_convention_that_contradicts_the_format(tmp_path: Path, format: str, fixed: str) -> None:
    texts = {
        "tum": "0 0 0 0 0 0 0 1\n",
        "kitti": "1 0 0 0 0 1 0 0 0 0 1 0\n",
        "euroc": "#stamp\n1000000000,0,0,0,1,0,0,0,0.1\n",
        "re10k": "https://video\n1000000 .5 .9 .5 .5 0 0 1 0 0 0 0 1 0 0 0 0 1 0\n",
    }
    path = written(tmp_path / "p.txt", texts[format])
    read = read_trajectory(path, format=format, convention=fixed)
    np.testing.assert_array_equal(read.poses, [np.eye(4)])
    other = "w2c" if fixed == "c2w" else "c2w"
    with pytest.raises(ArgumentError, match=f"convention must be {fixed}, which {format} fixes, got '{other}'"):
        read_trajectory(path, format=format, convention=other)


def test_a_convention_that_must_be_given(tmp_path: Path) -> None:
    path = npy(tmp_path / "p.npy", random_poses(3))
    with pytest.raises(ArgumentError, match=r"convention must be c2w or w2c: npy does not fix it, got None: .*p.npy"):
        read_trajectory(path, format="npy")
    np.savez(tmp_path / "p.npz", w2c=random_poses(3), intrinsics=np.array([500, 500, 320, 240.0]))
    read = read_trajectory(tmp_path / "p.npz", format="npz")
    np.testing.assert_allclose(read.poses, np.linalg.inv(random_poses(3)), atol=1e-12)
    assert read.intrinsics is not None
    assert read.intrinsics.tolist() == [[500, 500, 320, 240]] * 3
    with pytest.raises(ArgumentError, match="convention must be w2c, which the name of the array, w2c, fixes"):
        read_trajectory(tmp_path / "p.npz", format="npz", convention="c2w")
    with pytest.raises(ArgumentError, match="convention must be one of c2w, w2c, got 'cam2world'"):
        read_trajectory(path, format="npy", convention="cam2world")
    with pytest.raises(ArgumentError, match="format must be one of tum, kitti"):
        read_trajectory(path, format="colmap")


def test_transposed_matrices_are_caught(tmp_path: Path) -> None:
    path = npy(tmp_path / "t.npy", random_poses(3).swapaxes(1, 2))
    with pytest.raises(FileFormatError, match=r"pose 0 must have the last row 0 0 0 1, got .* \(a transposed matrix\?"):
        read_trajectory(path, format="npy", convention="c2w")


def test_axes_of_other_worlds(tmp_path: Path) -> None:
    """A camera that looks along its own forward axis keeps doing so."""
    path = npy(tmp_path / "p.npy", random_poses(4))
    plain = read_trajectory(path, format="npy", convention="c2w").poses[:, :3, :3]
    opengl = read_trajectory(path, format="npy", convention="c2w", axes="opengl").poses[:, :3, :3]
    ned = read_trajectory(path, format="npy", convention="c2w", axes="ned").poses[:, :3, :3]
    np.testing.assert_allclose(opengl @ [0, 0, 1], -plain @ [0, 0, 1.0])  # forward is −z there
    np.testing.assert_allclose(opengl @ [1, 0, 0], plain @ [1, 0, 0])
    np.testing.assert_allclose(ned @ [0, 0, 1], plain @ [1, 0, 0])  # forward is x there
    np.testing.assert_allclose(ned @ [1, 0, 0], plain @ [0, 1, 0])  # right is y there
    np.testing.assert_allclose(np.linalg.det(ned), 1)
    with pytest.raises(ArgumentError, match="axes must be one of opencv, opengl, ned"):
        read_trajectory(path, format="npy", convention="c2w", axes="blender")


@pytest.mark.parametrize(
    ("format", "text", "sentence"),
    [
        ("tum", "", "file must hold at least one pose, got none"),
        ("tum", "0 0 0 0 0 0 1\n", "line 1 must have 8 numbers, got 7"),
        ("tum", "# c\n0 0 0 0 0 0 x 1\n", "line 2 must hold numbers alone, got 'x'"),
        ("tum", "nan 0 0 0 0 0 0 1\n", "line 1 must have a finite stamp, got none"),
        ("tum", "0 inf 0 0 0 0 0 1\n", "pose 0 must be finite or NaN, got an infinite number"),
        ("kitti", "1 0 0 0 0 1 0 0 0 0 1 0\n1 2\n", "line 2 must have 12 numbers, got 2"),
        ("kitti", "1 0 0 0 0 1 0 0 0 0 -1 0\n", "pose 0 must hold a rotation, got a matrix with determinant -1"),
        ("euroc", "1,0,0,0,1,0,0\n", "line 1 must have at least 8 numbers, got 7"),
        ("re10k", "1 .5 .9 .5 .5 0 0 1 0 0 0 0 1 0 0 0 0 1 0\n", "line 1 must be the address of the video"),
        ("re10k", "https://v\n1 .5 .9\n", "line 2 must have 19 numbers, got 3"),
        ("re10k", "https://v\n", "file must hold at least one pose, got none"),
        ("r2m", "[]", "file must map frame numbers to poses, got list"),
        ("r2m", "{}", "file must map frame numbers to poses, got no frame"),
        ("r2m", '{"0": {}, "a": {}}', r"file must map frame numbers \(0, 1, ...\) to poses, got the frame 'a'"),
        ("r2m", '{"-1": {}}', r"file must map frame numbers \(0, 1, ...\) to poses, got the frame '-1'"),
        ("r2m", '{"0.5": {}}', r"file must map frame numbers \(0, 1, ...\) to poses, got the frame '0.5'"),
        ("r2m", '{"0": {"K": 1}}', "frame 0 must have extrinsic, a 4x4 matrix, got none"),
        ("r2m", '{"0": {"extrinsic": [[1, 2]]}}', r"frame 0 must have extrinsic, a 4x4 matrix, got \(1, 2\)"),
    ],
)
def test_files_with_something_wrong(tmp_path: Path, format: str, text: str, sentence: str) -> None:
    path = written(tmp_path / "p.json", text)
    with pytest.raises(FileFormatError, match=f"^read_trajectory: {sentence}"):
        read_trajectory(path, format=format)


def test_arrays_with_something_wrong(tmp_path: Path) -> None:
    for name, array, sentence in (
        ("shape", np.zeros((3, 3)), r"the array must have shape \(N, 4, 4\) or \(N, 3, 4\), got \(3, 3\)"),
        ("type", np.zeros((3, 4, 4), int), "the array must be an array of floats, got int64"),
    ):
        with pytest.raises(FileFormatError, match=sentence):
            read_trajectory(npy(tmp_path / f"{name}.npy", array), format="npy", convention="c2w")
    np.savez(tmp_path / "two.npz", c2w=random_poses(2), w2c=random_poses(2))
    with pytest.raises(FileFormatError, match=r"file must hold one array of poses, .* got c2w, w2c"):
        read_trajectory(tmp_path / "two.npz", format="npz")
    np.savez(tmp_path / "k.npz", c2w=random_poses(2), K=np.array([[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]))
    with pytest.raises(FileFormatError, match="intrinsics must be fx 0 cx, 0 fy cy, 0 0 1, got other numbers"):
        read_trajectory(tmp_path / "k.npz", format="npz")
    with pytest.raises(FileFormatError, match="path must be a file, got nothing"):
        read_trajectory(tmp_path / "gone.npy", format="npy", convention="c2w")
    with pytest.raises(FileFormatError, match="file must be a NumPy file without pickled objects"):
        read_trajectory(written(tmp_path / "text.npy", "no array"), format="npy", convention="c2w")


def test_missing_poses_are_nan_throughout(tmp_path: Path) -> None:
    path = written(tmp_path / "m.txt", "0 0 0 0 0 0 0 1\n1 nan nan nan 0 0 0 1\n2 1 0 0 nan nan nan nan\n")
    read = read_trajectory(path, format="tum")
    assert np.isnan(read.poses[1:]).all()
    assert np.isfinite(read.poses[0]).all()
    assert read.notes == ("2 of 3 poses are missing (NaN)",)


def test_r2m_frames_and_interpolated_rotations(tmp_path: Path) -> None:
    half_way = (np.eye(3) + yaw_z(2.5)) / 2
    assert 0.999 < np.linalg.det(half_way) < 0.9996
    data = {}
    for frame, rotation in ((10, np.eye(3)), (2, half_way)):
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = rotation, (frame, 0, 0)
        data[str(frame)] = {"extrinsic": pose.tolist(), "K": [[969.7675, 0, 960], [0, 969.7675, 540], [0, 0, 1]]}
    read = read_trajectory(written(tmp_path / "r.json", json.dumps(data)), format="r2m")
    assert read.frames.tolist() == [2, 10]
    assert read.poses[:, 0, 3].tolist() == [2, 10]
    np.testing.assert_array_equal(read.poses[0, :3, :3], half_way)  # kept as released
    assert read.notes[0].startswith("1 rotations are not orthonormal: max |R'R - I| = 0.0004")
    assert read.intrinsics is not None
    assert read.intrinsics[0].tolist() == [969.7675, 969.7675, 960, 540]


def test_stamps_of_euroc_and_re10k_are_seconds(tmp_path: Path) -> None:
    text = "#timestamp [ns],p\n1403636580838555648,1,2,3,1,0,0,0,9,9,9,\n1403636580838555649,1,2,3,1,0,0,0,9,9,9,\n"
    read = read_trajectory(written(tmp_path / "e.csv", text), format="euroc")
    assert read.stamps is not None
    assert read.stamps[0] == 1403636580.838555648
    assert read.poses[0, :3, 3].tolist() == [1, 2, 3]
    assert read.notes == (
        "poses are those of the body, not of a camera",
        "stamps do not increase: first at row 1",  # one nanosecond is below float64 at this size
    )


def test_t20_unsorted_stamps_are_noted(tmp_path: Path) -> None:
    path = written(tmp_path / "u.txt", "".join(f"{t} {t} 0 0 0 0 0 1\n" for t in (0, 2, 1, 3)))
    read = read_trajectory(path, format="tum")
    assert read.notes == ("stamps do not increase: first at row 2",)
    assert read.poses[:, 0, 3].tolist() == [0, 2, 1, 3]


@pytest.mark.parametrize("format", ["tum", "kitti"])
def test_what_is_written_is_read_back(tmp_path: Path, format: str) -> None:
    poses = random_poses(50, seed=3)
    stamps = 1403636580 + np.arange(50) / 30 if format == "tum" else None
    write_trajectory(tmp_path / "w.txt", poses, format=format, stamps=stamps)
    read = read_trajectory(tmp_path / "w.txt", format=format)
    np.testing.assert_array_equal(read.poses[:, :3, 3], poses[:, :3, 3])
    np.testing.assert_allclose(read.poses, poses, atol=1e-15 if format == "kitti" else 1e-14)
    if stamps is not None:
        np.testing.assert_array_equal(read.stamps, stamps)
    assert [p.name for p in tmp_path.iterdir()] == ["w.txt"]


def test_writing_what_cannot_be_written(tmp_path: Path) -> None:
    poses = random_poses(2)
    with pytest.raises(ArgumentError, match="stamps must be given for tum, and for tum alone, got none"):
        write_trajectory(tmp_path / "w.txt", poses, format="tum")
    with pytest.raises(ArgumentError, match="stamps must be given for tum, and for tum alone, got some"):
        write_trajectory(tmp_path / "w.txt", poses, format="kitti", stamps=[0, 1])
    with pytest.raises(ArgumentError, match=r"stamps must have shape \(2,\), got shape \(3,\)"):
        write_trajectory(tmp_path / "w.txt", poses, format="tum", stamps=[0, 1, 2])
    with pytest.raises(ArgumentError, match=r"poses must have shape \(N, 4, 4\), got shape \(4, 4\)"):
        write_trajectory(tmp_path / "w.txt", poses[0], format="kitti")
    assert not list(tmp_path.iterdir())


@given(st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(lambda q: np.linalg.norm(q) > 1e-3))
def test_quaternions_and_matrices_are_inverse(quat: list[float]) -> None:
    unit = np.array(quat) / np.linalg.norm(quat)
    back = quaternion_of(rotation_of(np.array([quat])))[0]
    assert min(np.abs(back - unit).max(), np.abs(back + unit).max()) < 1e-14
    assert back[3] >= 0


@pytest.mark.parametrize("signs", [(1, -1, -1), (-1, 1, -1), (-1, -1, 1), (1, 1, 1)])
def test_half_turns(signs: tuple[int, int, int]) -> None:
    matrix = np.diag(signs).astype(float)
    np.testing.assert_array_equal(rotation_of(quaternion_of(matrix[None]))[0], matrix)


def test_v07_d09_resized_intrinsics() -> None:
    camera = np.array([500, 500, 319.5, 179.5])
    np.testing.assert_allclose(resized_intrinsics(camera, (640, 360), (640, 368)), [500, 500 * 368 / 360, 319.5, 183.5])
    assert resized_intrinsics(np.array([1, 1, 639.5, 0]), (1280, 720), (640, 360))[2] == 319.5
    back = resized_intrinsics(resized_intrinsics(camera, (640, 360), (97, 41)), (97, 41), (640, 360))
    np.testing.assert_allclose(back, camera, rtol=1e-12)
    with pytest.raises(ArgumentError, match="resized_intrinsics: new_size must be at least 1, got 0"):
        resized_intrinsics(camera, (640, 360), (0, 360))


def test_real_files(shared: Path) -> None:
    cameras, paths = shared / "data" / "cameras", shared / "data" / "trajectories"
    for file in sorted(cameras.glob("re10k_*.txt")):
        read = read_trajectory(file, format="re10k")
        assert read.poses.shape == (16, 4, 4)
        assert read.normalised
        row = [float(x) for x in file.read_text().splitlines()[1].split()]
        world_to_cam = np.eye(4)
        world_to_cam[:3] = np.array(row[7:]).reshape(3, 4)
        np.testing.assert_allclose(world_to_cam @ read.poses[0], np.eye(4), atol=1e-7)
        np.testing.assert_allclose(pixel_intrinsics(read, 640, 360)[0, 2:], [319.5, 179.5])
        with pytest.raises(ArgumentError, match="trajectory must have normalised intrinsics, got none"):
            pixel_intrinsics(Trajectory(read.poses, read.frames), 640, 360)
    lyra = read_trajectory(cameras / "lyra2_example_0.npz", format="npz")
    assert lyra.poses.shape == (500, 4, 4)
    assert lyra.intrinsics is not None
    np.testing.assert_allclose(lyra.intrinsics[0], [821.64325, 821.7507, 640, 360], rtol=1e-6)
    ling = read_trajectory(cameras / "lingbot_00_poses.npy", format="npy", convention="c2w")
    assert (len(ling.poses), ling.notes) == (961, ())
    truth = read_trajectory(paths / "tum_fr2_desk" / "fr2_desk_groundtruth.txt", format="tum")
    assert len(truth.poses) == 20957
    assert truth.notes == ("stamps do not increase: first at row 10859",)
    air = read_trajectory(
        paths / "tartanair" / "pose_gt.txt", format="xyzquat", convention="c2w", quaternion="xyzw", axes="ned"
    )
    assert (np.abs(np.linalg.det(air.poses[:, :3, :3]) - 1) < 1e-12).all()
    assert (air.poses[:, 2, 1] > 0.6).all()  # the camera's down stays near the world's


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half", b"text"])
def test_an_npz_that_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(FileFormatError, match="file must be a NumPy file without pickled objects"):
        read_trajectory(tmp_path / "a.npz", format="npz", convention="c2w")
