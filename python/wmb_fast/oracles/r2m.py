# SPDX-License-Identifier: Apache-2.0
"""B_r2m: the published R2M-Bench evaluator."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._walls.errors import FileFormatError
from ..protocols import r2m
from ..protocols.evidence import Evidence
from ..protocols.record import Status
from ..rollout.plan import Facts
from ..rollout.trajectory import read_trajectory
from .runner import Adapter, Case, Outcome

Result = dict[str, Any]
STATS = 1e-9  # of statistics of a drawing, relative


def pose_pairs(case: Case) -> Outcome:
    """B1: revisits of a trajectory, and the pairs drawn from them."""
    inputs, outcome = case.inputs, Outcome()
    if "path" in inputs:
        _no_such_file(outcome, inputs["path"])
        return outcome
    trajectory = r2m.trajectory_of(_poses(inputs))
    if "n_video" in inputs:
        _sampled(case, outcome, trajectory)
        return outcome
    asked = {"degrees": inputs.get("angle_tolerance"), "metres": inputs.get("translation_tolerance")}
    found = r2m.detect_revisits(trajectory, **asked, compat=True)
    outcome.got = _detected(trajectory, found)
    _compare_detected(case, outcome)
    return outcome


def _poses(inputs: Mapping[str, Any]) -> np.ndarray:
    if "poses" in inputs:
        return np.asarray(inputs["poses"])
    rows = [inputs["pose_json"][key]["extrinsic"] for key in sorted(inputs["pose_json"], key=int)]
    return np.array(rows, dtype=np.float64).reshape(-1, 4, 4)


def _no_such_file(outcome: Outcome, path: str) -> None:
    """A pose file that is not there: one sentence, and a record with its reason."""
    try:
        read_trajectory(path, format="r2m")
        outcome.problems.append("a pose file that does not exist was read")
    except FileFormatError as error:
        facts = Facts("case", "m", None, None, 481, 16.0, 640, 480)
        records = r2m.score(Evidence(facts, missing={"commanded": str(error)}))
        outcome.got = {"reason": records[0].reason}
        ok = all(record.status is Status.MISSING and str(error) in record.reason for record in records)
        outcome.expect(ok, f"a record without the reason: {records[0]}")


def _detected(trajectory: r2m.Trajectory, found: r2m.Revisits) -> Result:
    return {
        "trimmed_count": found.n_trimmed,
        "n_pose": found.n_poses,
        "angle_tol_deg": found.tolerances.degrees,
        "trans_tol": found.tolerances.metres,
        "segments": [[segment.first, segment.last, segment.letter] for segment in found.segments],
        "yaw_deg": trajectory.first(found.n_poses).yaw_deg,
        "groups": [{"name": name, "n": len(g), "pairs": g.tolist()} for name, g in found.groups.items()],
        "n_flat": len(found.pairs),
        "flat_pairs": found.pairs.tolist(),
        "info": {
            "mode": found.tolerances.mode,
            "angle_tolerance_deg": found.tolerances.degrees,
            "translation_tolerance_m": found.tolerances.metres,
        },
    }


def _compare_detected(case: Case, outcome: Outcome) -> None:
    got, within = outcome.got, case.tolerance["tolerances"]
    for name, value in case.expected.items():
        if name in ("angle_tol_deg", "trans_tol", "yaw_deg"):
            if value is not None:
                outcome.close(name, got[name], value, rel=within["rel"], abs_=within["abs"])
        elif name == "info":
            outcome.same("mode", got["info"]["mode"], value["mode"])
            for key in ("angle_tolerance_deg", "translation_tolerance_m"):
                outcome.close(key, got["info"][key], value[key], rel=within["rel"], abs_=within["abs"])
        elif name == "groups":  # long lists of pairs are stored in part
            outcome.same("groups", [(g["name"], g["n"]) for g in got[name]], [(g["name"], g["n"]) for g in value])
            for mine, theirs in zip(got[name], value, strict=False):
                outcome.same(f"groups.{theirs['name']}", mine["pairs"][: len(theirs["pairs"])], theirs["pairs"])
        elif name == "flat_pairs":
            whole = case.expected.get("n_flat", len(value))
            outcome.same("n_flat", len(got[name]), whole)
            outcome.same(name, got[name][: len(value)], value)
        else:
            outcome.same(name, got[name], value)


def _sampled(case: Case, outcome: Outcome, trajectory: r2m.Trajectory) -> None:
    inputs = case.inputs
    settings = {"most": inputs["max_eval_pairs"], "seed": inputs["seed"], "least_gap_share": inputs["min_gap_ratio"]}
    found = r2m.sample_pairs(trajectory, inputs["n_video"], **settings, compat=True)
    outcome.got = {kind: pairs.tolist() for kind, pairs in found.kinds().items()} | {"meta": dict(found.meta)}
    for kind in ("revisit", "baseline", "short"):
        outcome.same(kind, outcome.got[kind], case.expected[kind])
    _compare(outcome, "meta", outcome.got["meta"], case.expected["meta"], STATS)
    outcome.expect(bool(found.reason) == (not len(found.revisit)), f"reason {found.reason!r}")


def samplers(case: Case) -> Outcome:
    """B2: baselines, short pairs and bins of time."""
    inputs, outcome = case.inputs, Outcome()
    if "frames" in inputs:
        n, n_bins = inputs["n_video"], inputs["num_bins"]
        bins = r2m.binned(inputs["frames"], n, n_bins)
        outcome.got = {"bins": bins, "index": [r2m.bin_of(frame, n, n_bins) for frame in inputs["frames"]]}
        outcome.same("bins", outcome.got, case.expected)
        return outcome
    trajectory, options = _of_frame_poses(inputs), inputs.get("kwargs", {})
    if "revisit_pairs" in inputs:
        names = {"exclusion_radius": "exclusion_radius", "num_temporal_bins": "n_bins"}
        names |= {"max_attempts_per_pair": "tries", "allow_duplicate": "allow_duplicate"}
        names |= {"min_gap_tolerance": "relaxed_tolerance"}
        given = np.array(inputs["revisit_pairs"], dtype=np.int64).reshape(-1, 2)
        settings = {names[key]: value for key, value in options.items()}
        drawn = r2m.baseline_pairs(given, inputs["n_video"], trajectory, seed=inputs["seed"], **settings)
    else:
        names = {"min_gap": "shortest", "max_gap": "longest"}
        settings = {names[key]: value for key, value in options.items()}
        drawn = r2m.short_pairs(inputs["n_video"], inputs["count"], trajectory, seed=inputs["seed"], **settings)
    outcome.got = {"pairs": drawn.pairs.tolist(), "stats": dict(drawn.stats)}
    outcome.same("pairs", outcome.got["pairs"], case.expected["pairs"])
    _compare(outcome, "stats", outcome.got["stats"], case.expected["stats"], STATS)
    return outcome


def _of_frame_poses(inputs: Mapping[str, Any]) -> r2m.Trajectory:
    """A trajectory of headings and places alone; the vector says in words which frames have a pose."""
    poses = inputs["frame_poses"]
    n, rule = len(poses["yaw"]), inputs.get("pose_present")
    if rule not in (None, "k%3!=0 or k<100"):
        raise ValueError(f"samplers: pose_present must be a known rule, got {rule!r}")
    kept = np.array([k for k in range(n) if rule is None or k % 3 != 0 or k < 100], dtype=np.int64)
    place = np.stack([poses["tx"], np.zeros(n), poses["tz"]], axis=1)[kept]
    level = np.zeros(len(kept))
    return r2m.Trajectory(kept, place, np.asarray(poses["yaw"])[kept], level, np.zeros((len(kept), 3, 3)))


def nmr(case: Case) -> Outcome:
    """B4: the summary of results files."""
    inputs, outcome = case.inputs, Outcome()
    videos = r2m.videos_of_results(inputs["visual"], inputs["state"])
    found = r2m.summarise(videos, eps=inputs["eps"], compat=True)
    parts = ("n", "mg", "dr", "nmr")
    outcome.got = {
        "summary": {
            model: {
                name: {m: {p: getattr(g, p) for p in parts} for m, g in gains.items()} for name, gains in by.items()
            }
            for model, by in found.by_template.items()
        },
        "template_balanced": {
            model: {m: {p: getattr(g, p) for p in parts[1:]} for m, g in gains.items()}
            for model, gains in found.balanced.items()
        },
        "overall": dict(found.overall),
        "overall_per_template": {model: dict(row) for model, row in found.overall_by_template.items()},
    }
    _compare(outcome, "", outcome.got, case.expected, case.tolerance["default"]["rel"])
    if case.recommended is not None:
        _recommended(outcome, case, videos)
    return outcome


def _recommended(outcome: Outcome, case: Case, videos: list[r2m.Video]) -> None:
    """By default nothing that is not finite comes out: such videos are dropped, and counted."""
    wanted = case.recommended or ""
    default = r2m.summarise(videos, eps=case.inputs["eps"])
    for model, gains in default.balanced.items():
        for name, gain in gains.items():
            outcome.expect(not math.isinf(gain.nmr), f"default: {model} {name} is infinite")
            counted = sum(name in video.means for video in videos if video.model == model)
            outcome.expect(gain.n + gain.n_dropped == counted, f"default: {model} {name} loses videos uncounted")
    if "non-finite" in wanted:
        poisoned = {m for means in case.expected["template_balanced"].values() for m in means if means[m]["dr"] > 0}
        for gains in default.balanced.values():
            ok = all(math.isfinite(gains[name].nmr) for name in poisoned)
            outcome.expect(ok, "default: one video that is not finite takes the others with it")
    if "negative scores" in wanted:
        mean, n, told = r2m.pair_mean([5.0, -1.0, 4.0], "state_score")
        outcome.expect((mean, n, told) == (4.5, 2, {"judge_failed": 1}), f"default: failures averaged in: {mean}")
    if "infinite PSNR" in wanted:
        _no_infinite_psnr(outcome)


def _no_infinite_psnr(outcome: Outcome) -> None:
    mean, n, told = r2m.pair_mean([math.inf, 30.0], "psnr")
    ok = mean is not None and math.isfinite(mean) and (n, told) == (2, {"identical": 1})
    outcome.expect(ok, f"default: identical frames give {mean}, {told}")


def per_video(case: Case) -> Outcome:
    """B5: a video's entry of results.json, and the summary in the same file."""
    inputs, outcome = case.inputs, Outcome()
    if "per_video" in inputs:
        outcome.got = r2m.global_results(inputs["per_video"])
    else:
        outcome.got = r2m.video_results({kind: inputs[f"{kind}_pairs"] for kind in ("revisit", "baseline", "short")})
    _compare(outcome, "", outcome.got, case.expected, 0.0, case.tolerance["default"]["abs"])
    if case.recommended is not None and "infinite PSNR" in case.recommended:
        _no_infinite_psnr(outcome)
    return outcome


def snippets(case: Case) -> Outcome:
    """B6: pieces of the released trajectories."""
    inputs, outcome = case.inputs, Outcome()
    poses, within = np.array(inputs["extrinsic_c2w"]), case.tolerance["yaw/tolerances"]["abs"]
    trajectory = r2m.trajectory_of(poses, inputs["frame_keys"])
    found = r2m.detect_revisits(trajectory, compat=True)
    own = trajectory.rotation
    to_itself = (np.einsum("nij,nij->n", own, own) - 1.0) / 2.0
    outcome.got = {
        "trimmed": found.n_trimmed,
        "angle_tol_deg": found.tolerances.degrees,
        "trans_tol": found.tolerances.metres,
        "segments": [[segment.first, segment.last, segment.letter] for segment in found.segments],
        "yaw_deg": trajectory.yaw_deg,
        "self_rotation_distance_deg": np.degrees(np.arccos(np.clip(to_itself, -1.0, 1.0))),
        "det_R": np.linalg.det(own),
    }
    for name, value in case.expected.items():
        if name in ("trimmed", "segments"):
            outcome.same(name, outcome.got[name], value)
        else:  # the arc cosine near 1 turns an error of 1e-15 into one of 1e-6 degrees
            slack = 3e-6 if name == "self_rotation_distance_deg" else within
            outcome.close(name, outcome.got[name], value, abs_=slack)
    outcome.expect(_can_be_read(inputs), "the released poses are refused")
    return outcome


def _can_be_read(inputs: Mapping[str, Any]) -> bool:
    """Whether the file format's reader takes these poses, though they are not all orthonormal."""
    camera = [[969.7675145179088, 0, 960], [0, 969.7675145179088, 540], [0, 0, 1]]
    entries = zip(inputs["frame_keys"], inputs["extrinsic_c2w"], strict=True)
    data = {str(key): {"extrinsic": pose, "K": camera} for key, pose in entries}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "poses.json"
        path.write_text(json.dumps(data))
        read = read_trajectory(path, format="r2m")
    return read.frames.tolist() == inputs["frame_keys"] and len(read.poses) == len(data)


def _compare(outcome: Outcome, where: str, got: Any, expected: Any, rel: float, abs_: float = 1e-12) -> None:
    """The whole of ``expected``, and nothing beside it; numbers within the tolerance, NaN equal to NaN."""
    if isinstance(expected, Mapping):
        outcome.same(f"{where} names", sorted(got), sorted(expected))
        for name in sorted(set(got) & set(expected)):
            _compare(outcome, f"{where}.{name}", got[name], expected[name], rel, abs_)
    elif isinstance(expected, float):
        outcome.close(where, got, expected, rel=rel, abs_=abs_)
    else:
        outcome.same(where, got, expected)


ADAPTERS: dict[str, Adapter] = {
    "B_r2m/B1_pose_pairs": pose_pairs,
    "B_r2m/B2_samplers": samplers,
    "B_r2m/B4_nmr": nmr,
    "B_r2m/B5_nmr_per_video_path": per_video,
    "B_r2m/B6_released_template_snippets": snippets,
}
