# SPDX-License-Identifier: Apache-2.0
"""evo's vectors through the public functions, and evo's values on three public trajectories."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tolerances import PRINTED_ABS, PRINTED_REL
from trajectories import disturbed, placed, poses_from, stair, walk

import wmb_fast as wmb
from wmb_fast.oracles import run
from wmb_fast.oracles.evo import ADAPTERS, RELATIONS, STATISTICS
from wmb_fast.oracles.runner import Case

FILES = {
    "tum_fr2_desk/ORB": ("fr2_desk_ORB.txt", "fr2_desk_groundtruth.txt"),
    "tum_fr2_desk/ORB_kf_mono": ("fr2_desk_ORB_kf_mono.txt", "fr2_desk_groundtruth.txt"),
    "tartanair/pose_est": ("pose_est.txt", "pose_gt.txt"),
    "slambook_ch4/estimated": ("estimated.txt", "groundtruth.txt"),
}
MODES = {"none": "none", "se3": "se3", "sim3": "sim3", "scale_only": "scale"}


def test_every_vector_passes(oracles: Path) -> None:
    folder = oracles / "D_evo"
    assert len(list(folder.glob("*.json"))) == 2
    lines = list(run(folder))
    assert len(lines) >= 200
    assert [(line["case"], line["why"]) for line in lines if line["status"] != "pass"] == []


def test_the_adapters_can_fail(oracles: Path, tmp_path: Path) -> None:
    """One digit of one expected number changed: the case fails."""
    for name in ("D1_ape_rpe_real", "D2_edges"):
        document = json.loads((oracles / "D_evo" / f"{name}.json").read_text())
        document["cases"] = [case for case in document["cases"] if "statistics" in (case.get("expected") or {})][:40:8]
        for case in document["cases"]:
            case["expected"]["statistics"]["mean"] = case["expected"]["statistics"]["mean"] * (1 + 1e-4) + 1e-4
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
        (tmp_path / f"{name}.npz").symlink_to(oracles / "D_evo" / f"{name}.npz")
    lines = list(run(tmp_path))
    assert lines
    assert all(line["status"] == "fail" and "mean" in line["why"] for line in lines)


def case_of(inputs: dict, expected: object = None, raises: object = None) -> Case:
    tolerance = {"statistics": {"rel": 1e-9, "abs": 1e-9}, "umeyama r,t,s": {"rel": 1e-9, "abs": 1e-9}}
    return Case("D_evo/D2_edges", "a case of another name", "edge", inputs, expected, raises, None, tolerance)


@pytest.mark.parametrize(
    "change",
    [{"delta": 0}, {"delta": -2}, {"delta": 2.5}, {"est": placed(stair(6))}, {"est": [], "ref": []}],
    ids=["zero", "negative", "fraction", "unequal", "empty"],
)
def test_what_must_be_refused_is_told_by_the_inputs(change: dict) -> None:
    inputs = {"metric": "RPE", "unit": "frames", "delta": 1, "all_pairs": True, "align": "none"}
    inputs |= {"est": placed(stair(5)), "ref": placed(stair(5)), "relation": "translation_part"} | change
    adapter = ADAPTERS["D_evo/D2_edges"]
    assert adapter(case_of(inputs, raises={"type": "AnyException"})).problems == []
    assert adapter(case_of(inputs, expected={"statistics": {}})).problems


def test_steps_after_an_alignment_on_the_first_poses() -> None:
    """The twin of an evo case with n: the adapter hands it on."""
    rng = np.random.default_rng(1)
    ref = walk(rng, 40)
    est = disturbed(rng, ref)
    fit = wmb.umeyama(est[:10, :3, 3].copy(), ref[:10, :3, 3].copy())
    moved = wmb.rpe(est, ref, align="sim3", n_align=10)
    statistics = {name: float(getattr(moved.translation, name)) for name in STATISTICS}
    expected = {"statistics": statistics, "n": 39, "error_head": moved.translation.errors[:6].tolist()}
    expected["align"] = {"r": fit.rotation.tolist(), "t": fit.translation.tolist(), "s": float(fit.scale)}
    inputs = {"metric": "RPE", "unit": "frames", "delta": 1, "all_pairs": True, "align": "sim3_n10"}
    inputs |= {"est": est, "ref": ref, "relation": "translation_part"}
    assert ADAPTERS["D_evo/D1_ape_rpe_real"](case_of(inputs, expected)).problems == []


def test_association_of_clocks_that_barely_miss() -> None:
    first, second = np.arange(5.0), np.array([4.5, 5.0])
    adapter = ADAPTERS["D_evo/D2_edges"]
    apart = {"t1": first, "t2": second, "max_diff": 0.25, "offset_2": 0.0}
    assert adapter(case_of(apart, raises={"type": "SyncException"})).problems == []
    between = {"t1": [0.1, 0.2, 0.3], "t2": [0.05, 0.15], "max_diff": 0.01, "offset_2": 0.0}
    nothing = {"matching_time_indices": [[], []], "t1": [], "t2": [], "interpolation": None}
    assert adapter(case_of(between, nothing)).problems == []


def read(path: Path) -> tuple[np.ndarray | None, np.ndarray]:
    """Stamps, if any, and poses of rows [t] x y z qx qy qz qw."""
    rows = np.loadtxt(path)
    stamps = rows[:, 0] if rows.shape[1] == 8 else None
    rows = rows[:, -7:]
    x, y, z, w = (rows[:, 3:] / np.linalg.norm(rows[:, 3:], axis=1, keepdims=True)).T
    r = np.stack(
        [
            1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
            2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
            2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
        ],
        axis=1,
    )  # fmt: skip
    return stamps, poses_from(r.reshape(-1, 3, 3), rows[:, :3])


def matched(shared: Path, name: str, max_difference: float | None) -> tuple[np.ndarray, np.ndarray]:
    folder = shared / "data" / "trajectories" / name.split("/")[0]
    (t_est, est), (t_ref, ref) = (read(folder / file) for file in FILES[name])
    if max_difference is None:
        return est, ref
    # evo runs over the shorter row.
    pairs = wmb.associate(t_est, t_ref, max_difference=max_difference, one_to_one=False)
    return est[pairs[:, 0]], ref[pairs[:, 1]]


def values(document: dict) -> Iterator[tuple[str, str, dict]]:
    for mode in MODES:
        for key, value in document[mode].items():
            if isinstance(value, dict):
                yield mode, key, value


@pytest.mark.parametrize("name", FILES)
def test_evo_s_values_on_public_trajectories(shared: Path, name: str) -> None:
    document = json.loads((shared / "data" / "trajectories" / "reference_values_evo.json").read_text())[name]
    est, ref = matched(shared, name, document["max_diff"])
    assert len(est) == document["pairs"]
    checked = 0
    for mode, key, value in values(document):
        metric, rest = key.split("_", 1)
        relation, _, step = rest.partition("_delta")
        if metric == "ape":
            got = wmb.ape(est, ref, align=MODES[mode], relation=RELATIONS[relation])
        else:
            unit = "metres" if step.endswith("meters") else "frames"
            delta = float(step.removesuffix("meters").removesuffix("frames"))
            got = wmb.rpe(est, ref, delta=delta, unit=unit, all_pairs=False, align=MODES[mode])
            got = got.rotation_deg if relation == "rotation_angle_deg" else got.translation
        for statistic in STATISTICS:
            np.testing.assert_allclose(
                getattr(got, statistic),
                value[statistic],
                rtol=PRINTED_REL,
                atol=PRINTED_ABS,
                err_msg=f"{mode} {key} {statistic}",
            )
            checked += 1
    for mode in ("se3", "sim3", "scale_only"):
        fit = wmb.align_trajectory(est, ref, mode=MODES[mode]).sim3
        np.testing.assert_allclose(fit.scale, document[mode]["scale"], rtol=PRINTED_REL)
        np.testing.assert_allclose(fit.rotation, document[mode]["rotation"], atol=PRINTED_REL)
        np.testing.assert_allclose(fit.translation, document[mode]["translation"], rtol=PRINTED_REL, atol=PRINTED_REL)
    assert checked >= 4 * 4 * len(STATISTICS)


def test_damaged_arrays_are_a_failure_and_stop_no_other_file(oracles: Path, tmp_path: Path) -> None:
    for name in ("D1_ape_rpe_real", "D2_edges"):
        (tmp_path / f"{name}.json").write_bytes((oracles / "D_evo" / f"{name}.json").read_bytes())
        (tmp_path / f"{name}.npz").write_bytes((oracles / "D_evo" / f"{name}.npz").read_bytes()[:200])
    lines = list(run(tmp_path))
    assert [line["status"] for line in lines] == ["fail", "fail"]
    assert all("not a vector file" in line["why"] for line in lines)
