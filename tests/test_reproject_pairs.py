# SPDX-License-Identifier: Apache-2.0
"""depth_agreement and reprojection_error: exact medians, known scenes, WorldMark's vectors, the readable statement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_reproject import CAMERA, EYE, OTHER, holed, motion, rng
from tolerances import FLOAT32_REL, FLOAT64_REL

import wmb_fast as wmb
from wmb_fast._walls.ext import core

ANY = (0.0, np.inf)


def assert_same(got: Any, expected: Any, dtype: Any) -> None:
    rel = FLOAT64_REL if dtype == np.float64 else FLOAT32_REL
    for name in expected._fields:
        a, b = np.asarray(getattr(got, name)), np.asarray(getattr(expected, name))
        assert a.dtype == (b.dtype if b.dtype.kind == "i" else dtype)
        np.testing.assert_allclose(a, b, rtol=0 if b.dtype.kind == "i" else rel, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sampling", ["nearest", "bilinear"])
def test_depth_agreement_is_the_readable_statement(sampling: str, dtype: Any) -> None:
    source, destination = holed(5, 1, 24, 33).astype(dtype), holed(3, 20, 31, seed=2).astype(dtype)
    to = np.stack([motion(0), motion(2, 0.3), EYE]).astype(dtype)
    camera = CAMERA.astype(dtype)
    for other in (None, OTHER.astype(dtype)):
        args, options = (source, destination, camera, to), {"intrinsics_dst": other, "sampling": sampling}
        expected = wmb.reference.depth_agreement(*args, **options)
        got = wmb.depth_agreement(*args, **options)
        assert got.n.shape == (5, 3)
        assert (got.n > 30).all()
        assert_same(got, expected, dtype)
        again = wmb.depth_agreement(*args, **options, backend="reference")
        np.testing.assert_array_equal(again.status, got.status)
        assert again.median_relative_error.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("unit", ["depth", "pixels"])
def test_reprojection_error_is_the_readable_statement(unit: str, dtype: Any) -> None:
    depth = holed(2, 4, 40, 50).astype(dtype)
    poses = np.stack([[motion(i + 7 * j, 0.05, 0.1) for i in range(4)] for j in range(2)]).astype(dtype)
    trust = rng(3).random(depth.shape).astype(dtype)
    trust[0, 1, ::3] = np.nan
    camera = (CAMERA * [1.5, 1.5, 1.5, 1.7]).astype(dtype)
    for confidence in (None, trust):
        options: dict[str, Any] = {"confidence": confidence, "grid": 3, "unit": unit}
        expected = wmb.reference.reprojection_error(depth, poses, camera, **options)
        got = wmb.reprojection_error(depth, poses, camera, **options)
        assert (got.n_pairs >= 9).all()
        assert_same(got, expected, dtype)
        again = wmb.reprojection_error(depth, poses, camera, **options, backend="reference")
        np.testing.assert_array_equal(again.status, got.status)


def agreement_of(ratios: np.ndarray) -> Any:
    """The agreement whose errors are |ratios - 1|: everything else is as simple as can be."""
    source = np.asarray(ratios)[None]
    camera = np.array([1.0, 1, 0, 0], dtype=source.dtype)
    return wmb.depth_agreement(source, np.ones_like(source), camera, EYE.astype(source.dtype), occlusion=ANY)


@given(data=st.data(), n=st.integers(1, 70))
@settings(max_examples=60, deadline=None)
def test_exact_medians_of_few(data: st.DataObject, n: int) -> None:
    """Many ties, odd and even."""
    ratios = np.array(data.draw(st.lists(st.sampled_from([1.0, 1.25, 1.5, 2.0, 3.0, 1e3]), min_size=n, max_size=n)))
    assert float(agreement_of(ratios).median_relative_error) == np.median(np.abs(ratios - 1))


@pytest.mark.parametrize("simd", core.simd_levels())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [31, 32, 33, 500, 4095, 4096, 4097, 4098, 30000, 30001, 400000])
@pytest.mark.parametrize("kind", ["spread", "ties", "two", "sorted", "periodic", "one odd"])
def test_exact_medians_of_many(kind: str, n: int, dtype: Any, simd: str) -> None:
    """Whatever the sample says: values in order, in the step of the sample, nearly all equal, in two heaps."""
    values = {
        "spread": lambda: 1 + np.exp(4 * rng(n).standard_normal(n)),
        "ties": lambda: 1 + rng(n).integers(0, 4, n) / 4,
        "two": lambda: np.where(np.arange(n) < n // 2, 1.25, 3.0),
        "sorted": lambda: 1 + np.arange(n) / n,
        "periodic": lambda: 1.0 + np.arange(n) % 848 / 848,
        "one odd": lambda: np.where(np.arange(n) == n // 3, 1.5, 2.0),
    }[kind]().astype(dtype)
    before = core.simd_levels()[-1]
    try:
        core.set_simd_level(simd)
        got = agreement_of(values).median_relative_error
    finally:
        core.set_simd_level(before)
    assert got == np.median(np.abs(values.astype(np.float64) - 1).astype(dtype).astype(np.float64)).astype(dtype)


def test_the_gate_excludes_its_bounds() -> None:
    for dtype in (np.float32, np.float64):
        source, seen = (np.array([[a, b, c]], dtype=dtype) for a, b, c in ((7, 14, 12), (10, 10, 10)))
        camera = np.array([1, 1, 0, 0], dtype=dtype)
        found = wmb.depth_agreement(source, seen, camera, np.eye(4, dtype=dtype))
        assert int(found.n) == 1
        assert float(found.median_relative_error) == pytest.approx(0.2, rel=FLOAT32_REL)


def test_bilinear_between_centres() -> None:
    """A ramp is sampled exactly; beyond the outermost centres, and beside holes that have weight, there is nothing."""
    aside = EYE.copy()
    aside[0, 3] = 0.25
    camera, ramp = np.array([2.0, 2.0, 0.0, 0.0]), np.tile(np.arange(1.0, 9), (3, 1))
    found = wmb.depth_agreement(np.ones((3, 8)), ramp, camera, aside, sampling="bilinear", occlusion=ANY)
    errors = [(x - 1) / x for x in np.arange(1.5, 8.5)]  # half a pixel to the right, the last column outside
    assert int(found.n) == 3 * 7
    assert float(found.median_relative_error) == pytest.approx(np.median(errors), rel=FLOAT64_REL)
    ramp[:, 3] = np.nan
    holed_ramp = wmb.depth_agreement(np.ones((3, 8)), ramp, camera, aside, sampling="bilinear", occlusion=ANY)
    assert int(holed_ramp.n) == 3 * 5
    assert int(wmb.depth_agreement(ramp, ramp, camera, EYE, sampling="bilinear").n) == 3 * 7


def test_bilinear_invents_depth_across_an_edge_and_nearest_does_not() -> None:
    aside = EYE.copy()
    aside[0, 3] = 0.5
    edge, camera = np.array([[1.0, 5.0]]), np.array([1.0, 1.0, 0.0, 0.0])
    source = np.array([[1.0, 0.0]])
    between = wmb.depth_agreement(source, edge, camera, aside, sampling="bilinear", occlusion=ANY)
    nearest = wmb.depth_agreement(source, edge, camera, aside, occlusion=ANY)
    assert float(between.median_relative_error) == pytest.approx(2 / 3)  # |1 - 3| / 3
    assert float(nearest.median_relative_error) == pytest.approx(4 / 5)  # half a pixel rounds up


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (2, 2)])
@pytest.mark.parametrize("sampling", ["nearest", "bilinear"])
def test_small_maps(shape: tuple[int, int], sampling: str) -> None:
    depth = 1 + rng().random(shape)
    for to in (EYE, motion(0, 0.0, 0.01)):
        args = (depth, depth[::-1, ::-1].copy(), np.array([1.0, 1.0, 0.0, 0.0]), to)
        expected = wmb.reference.depth_agreement(*args, sampling=sampling, occlusion=ANY)
        assert_same(wmb.depth_agreement(*args, sampling=sampling, occlusion=ANY), expected, np.float64)


@given(seed=st.integers(0, 10**6), exponent=st.sampled_from([-9, 9]))
@settings(max_examples=15, deadline=None)
def test_a_change_of_units_changes_no_error(seed: int, exponent: int) -> None:
    unit, to, depth = 10.0**exponent, motion(seed), holed(2, 20, 30, seed=seed)
    scaled = to.copy()
    scaled[:3, 3] *= unit
    a = wmb.depth_agreement(depth[0], depth[1], CAMERA, to)
    b = wmb.depth_agreement(depth[0] * unit, depth[1] * unit, CAMERA, scaled)
    assert a.n == b.n
    np.testing.assert_allclose(a.median_relative_error, b.median_relative_error, rtol=1e-6)
    clips = [
        wmb.reprojection_error(d, np.stack([EYE, t]), CAMERA, grid=2) for d, t in ((depth, to), (depth * unit, scaled))
    ]
    np.testing.assert_allclose(clips[0].median, clips[1].median, rtol=1e-6)


def wall(poses: np.ndarray, shape: tuple[int, int], camera: np.ndarray) -> np.ndarray:
    """Depth maps of the plane z = 3 as cameras that turn see it."""
    height, width = shape
    v, u = np.mgrid[0.0:height, 0.0:width]
    rays = np.stack([(u - camera[2]) / camera[0], (v - camera[3]) / camera[1], np.ones_like(u)], axis=-1)
    return np.stack([(3 - p[2, 3]) / (rays @ p[2, :3]) for p in poses])


def test_perfect_geometry_has_no_error_and_a_wrong_one_what_was_done() -> None:
    poses = np.stack([motion(i, 0.04, 0.1) for i in range(5)])
    camera = np.array([90.0, 90.0, 49.5, 39.5])
    depth = wall(poses, (80, 100), camera)
    turned = wmb.depth_agreement(
        depth[:, None], depth[None], camera, np.linalg.inv(poses)[None] @ poses[:, None], sampling="bilinear"
    )
    assert turned.n.shape == (5, 5)
    assert (turned.median_relative_error < 1e-4).all()  # bilinear depth of a slanted wall is not quite its depth
    still = wmb.reprojection_error(depth, poses, camera, grid=8, unit="pixels")
    assert float(still.median) < 0.02
    assert int(still.n_pairs) == 20
    moved = depth.copy()
    moved[2] *= 1.1
    wrong = wmb.reprojection_error(moved, poses, camera, grid=8, unit="pixels")
    right = np.delete(np.delete(wrong.per_pair, 2, 0), 2, 1)
    assert np.nanmax(right) < 0.02
    assert np.nanmin(np.concatenate([wrong.per_pair[2, [0, 1, 3, 4]], wrong.per_pair[[0, 1, 3, 4], 2]])) > 0.02
    aligned = wmb.reprojection_error(moved, np.tile(EYE, (5, 1, 1)), camera, grid=8)
    assert np.nanmedian(aligned.per_pair[2, 0]) == pytest.approx(0.1, rel=0.2)


def test_what_is_missing_says_why() -> None:
    depth, nothing = np.full((2, 20, 30), 2.0), np.zeros((2, 20, 30))
    away = EYE.copy()
    away[:3, :3] = np.diag([-1.0, 1.0, -1.0])
    bad = EYE * np.nan
    found = wmb.depth_agreement(
        np.stack([depth[0], nothing[0], depth[0], depth[0]]), depth[0], CAMERA, np.stack([EYE, EYE, away, bad])
    )
    assert found.status.tolist() == [0, 2, 2, 2]
    assert [found.reason(i) for i in range(4)] == [
        "",
        "no pixel has a valid depth",
        "no two views see enough of the same points",
        "the pose or the intrinsics are not finite, or cannot be inverted",
    ]
    assert found.n.tolist() == [600, 0, 0, 0]
    np.testing.assert_array_equal(found.covisible_fraction, [1, np.nan, 0, np.nan])
    clips = wmb.reprojection_error(
        np.stack([depth, nothing, depth, depth]),
        np.stack([[EYE, EYE], [EYE, EYE], [EYE, away], [bad, bad]]),
        CAMERA,
        grid=4,
    )
    assert clips.status.tolist() == [0, 2, 2, 2]
    assert [clips.reason(i) for i in range(4)] == [found.reason(i) for i in range(4)]
    assert np.isnan(clips.median[1:]).all()
    assert np.isnan(clips.per_pair[1:]).all()
    blind = wmb.reprojection_error(depth, np.stack([EYE, EYE]), CAMERA, confidence=depth * np.nan)
    assert blind.reason() == "no pixel has a finite confidence"


def test_an_unusable_frame_is_left_out() -> None:
    depth = np.full((3, 20, 30), 2.0)
    poses = np.stack([EYE, np.diag([1.0, 1.0, 0.0, 1.0]), EYE])
    found = wmb.reprojection_error(depth, poses, CAMERA, grid=4)
    assert int(found.n_pairs) == 2
    assert np.isfinite(found.per_pair).tolist() == [[False, False, True], [False] * 3, [True, False, False]]


@pytest.mark.parametrize("k", [0, 1])
def test_no_pair(k: int) -> None:
    found = wmb.reprojection_error(np.ones((k, 20, 30)), np.tile(EYE, (k, 1, 1)), CAMERA)
    assert (int(found.status), int(found.n_pairs), found.per_pair.shape) == (2, 0, (k, k))
    assert wmb.reprojection_error(np.ones((0, 2, 20, 30)), np.zeros((0, 2, 4, 4)) + EYE, CAMERA).median.shape == (0,)


def test_torch_comes_back() -> None:
    torch = pytest.importorskip("torch")
    depth = holed(2, 20, 30)
    a = wmb.depth_agreement(*(torch.from_numpy(x) for x in (depth[0], depth[1], CAMERA, motion(0))))
    b = wmb.depth_agreement(depth[0], depth[1], CAMERA, motion(0))
    assert isinstance(a.median_relative_error, torch.Tensor)
    assert a.n.dtype == torch.int64
    assert float(a.median_relative_error) == float(b.median_relative_error)
    clip = wmb.reprojection_error(*(torch.from_numpy(x) for x in (depth, np.stack([EYE, motion(0)]), CAMERA)), grid=4)
    assert isinstance(clip.per_pair, torch.Tensor)
    assert clip.per_pair.shape == (2, 2)


CLIP = (np.ones((2, 20, 30)), np.stack([EYE, EYE]), CAMERA)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: wmb.depth_agreement(CLIP[0], CLIP[0], CAMERA, EYE, occlusion=(1.4, 0.7)),
            r"depth_agreement: occlusion must satisfy 0 <= lo < hi, got \(1.4, 0.7\)",
        ),
        (
            lambda: wmb.depth_agreement(CLIP[0], CLIP[0], CAMERA, EYE, occlusion=0.7),  # type: ignore[arg-type]
            r"depth_agreement: occlusion must be two numbers \(lo, hi\), got 0.7",
        ),
        (
            lambda: wmb.depth_agreement(CLIP[0], CLIP[0], CAMERA, EYE, sampling="cubic"),
            "depth_agreement: sampling must be one of nearest, bilinear, got 'cubic'",
        ),
        (
            lambda: wmb.reprojection_error(CLIP[0], CLIP[1][:1], CAMERA),
            r"reprojection_error: poses must have shape \(2, 4, 4\), one a frame, got shape \(1, 4, 4\)",
        ),
        (
            lambda: wmb.reprojection_error(*CLIP[:2], np.stack([CAMERA] * 3)),
            "reprojection_error: batch dimensions must broadcast together, got .*",
        ),
        (
            lambda: wmb.reprojection_error(*CLIP, confidence=np.ones((2, 20, 31))),
            r"reprojection_error: confidence must have the shape of depth \(2, 20, 30\), got shape \(2, 20, 31\)",
        ),
        (lambda: wmb.reprojection_error(*CLIP, grid=0), "reprojection_error: grid must be at least 1, got 0"),
        (
            lambda: wmb.reprojection_error(*CLIP, confidence_quantile=1.5),
            "reprojection_error: confidence_quantile must be at most 1, got 1.5",
        ),
        (
            lambda: wmb.reprojection_error(*CLIP, unit="metres"),
            "reprojection_error: unit must be one of depth, pixels, got 'metres'",
        ),
    ],
)
def test_bad_input_gets_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(wmb.WmbError, match=f"^{sentence}$"):
        call()


def test_worldmark_global_vectors(oracles: Path) -> None:
    """A5: every clip of WorldMark's own evaluator, from the op alone, with its tolerances.

    Its missing value for one NaN confidence is a fault that the default mends; frame choice is the protocol's.
    """
    path = oracles / "A_worldmark" / "A5_global_C3.json"
    document, arrays = json.loads(path.read_text()), np.load(path.with_suffix(".npz"))
    seen = 0
    for case in document["cases"]:
        if "depth" not in case["inputs"]:
            continue
        extrinsics, intrinsics, depth, confidence = (
            arrays[case["inputs"][key]["$npz"]] for key in ("extr", "intr", "depth", "conf")
        )
        to_camera = np.tile(np.eye(4), (len(depth), 1, 1))
        to_camera[:, :3] = extrinsics
        poses = np.linalg.inv(to_camera).astype(np.float32)
        for backend in ("cpu", "reference"):
            got = wmb.reprojection_error(depth, poses, intrinsics, confidence=confidence, backend=backend)
            expected = case["expected"]
            if case["name"] == "nan_conf_pixel":
                assert int(got.status) == 0
            elif "na" in expected:
                assert (int(got.status), int(got.n_pairs)) == (2, 0), case["name"]
            else:
                assert abs(float(got.median) - expected["global_median_e"]) <= 2e-5, case["name"]
                assert abs(float(got.mean) - expected["global_mean_e"]) <= 2e-5, case["name"]
                assert abs(float(got.covisible_fraction) - expected["covis_ratio"]) <= 1.01e-3, case["name"]
        seen += 1
    assert seen == 16
