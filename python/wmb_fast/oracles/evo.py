# SPDX-License-Identifier: Apache-2.0
"""D_evo: evo's APE, RPE, alignment and association.

evo stops with an exception at geometry that determines no alignment, at trajectories without pairs and at poses that
are not finite; we report. For those cases an adapter holds the result to our own rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._walls.arrays import Array
from .._walls.errors import ArgumentError, ArgumentTypeError
from ..ops.align import ape
from ..ops.associate import associate
from ..ops.path import interpolate_positions, path_length
from ..ops.rpe import rpe
from .runner import Adapter, Case, Outcome

RELATIONS = {
    "translation_part": "translation",
    "rotation_angle_deg": "rotation_deg",
    "rotation_angle_rad": "rotation_rad",
    "rotation_part": "rotation_part",
    "full_transformation": "full",
    "point_distance": "point_distance",
    "point_distance_error_ratio": "point_distance_error_ratio",
}
UNITS = {"frames": "frames", "meters": "metres", "degrees": "degrees", "radians": "radians"}
STATISTICS = ("rmse", "mean", "median", "std", "min", "max", "sse")


def _poses(side: Any) -> Array:
    return np.asarray(side["poses_se3"] if isinstance(side, Mapping) else side, dtype=np.float64).reshape(-1, 4, 4)


def _alignment(text: str | None) -> tuple[str, int | None]:
    """evo's name of an alignment; ``sim3_n100`` fits on the first 100 poses."""
    mode, _, first = (text or "none").partition("_n")
    if text in ("none", None):
        return "none", None
    return {"scale_only": "scale"}.get(mode, mode), int(first) if first else None


def _measured(inputs: Mapping[str, Any]) -> tuple[Any, Any]:
    """The statistics of the case's relation, and the pairs they are of."""
    est, ref = _poses(inputs["est"]), _poses(inputs["ref"])
    mode, n_align = _alignment(inputs.get("align"))
    relation = RELATIONS[inputs.get("relation", "translation_part")]
    if inputs.get("metric", "APE") == "APE":
        return ape(est, ref, align=mode, relation=relation, n_align=n_align), None
    unit = UNITS[inputs["unit"]]
    done = rpe(
        est,
        ref,
        delta=inputs["delta"],
        unit=unit,
        all_pairs=inputs["all_pairs"],
        relative_tolerance=inputs.get("rel_delta_tol", 0.1),
        pairs_from="reference" if inputs.get("pairs_from_reference") else "estimate",
        relation=relation,
        align=mode,
        n_align=n_align,
    )
    return done.relation, done.pairs


def _errors(case: Case) -> Outcome:
    if "metric" not in case.inputs and case.expected is not None:
        return _info(case)
    outcome = Outcome()
    try:
        stats, pairs = _measured(case.inputs)
    except (ArgumentError, ArgumentTypeError) as error:
        outcome.got = {"raises": str(error)}
        outcome.expect(case.raises is not None and _must_be_refused(case.inputs), f"raised {error}")
        return outcome
    got = {name: float(getattr(stats, name)) for name in STATISTICS}
    outcome.got = {**got, "n": int(stats.n), "status": int(stats.status), "reason": stats.reason()}
    if case.raises is not None:
        _reported(outcome, case, stats)
    else:
        _compare(outcome, case, stats, pairs)
    return outcome


def _must_be_refused(inputs: Mapping[str, Any]) -> bool:
    """Arguments that are wrong, whatever the geometry."""
    lengths = {len(_poses(inputs[side])) for side in ("est", "ref")}
    delta = inputs.get("delta", 1)
    fraction = inputs.get("unit") == "frames" and float(delta) % 1 != 0
    return len(lengths) > 1 or 0 in lengths or delta <= 0 or fraction


def _reported(outcome: Outcome, case: Case, stats: Any) -> None:
    """Where evo raises: a status, a reason, and every error that is determined."""
    inputs = case.inputs
    no_pairs = case.raises is not None and case.raises["type"] in ("FilterException", "ValueError")
    if _must_be_refused(inputs):
        outcome.expect(False, "must be refused")
    elif no_pairs:
        outcome.same("n", int(stats.n), 0)
        outcome.same("status", int(stats.status), 2)
        outcome.expect(bool(np.isnan(float(stats.rmse))), "rmse of nothing must be NaN")
    else:
        finite = int(np.isfinite(_poses(inputs["est"])).all((1, 2)).sum())
        outcome.same("n", int(stats.n), finite)
        outcome.expect(bool(np.isfinite(float(stats.rmse))), "rmse must be finite")
        if finite == len(_poses(inputs["est"])):
            outcome.same("status", int(stats.status), 1)
    outcome.expect(int(stats.status) == 0 or bool(stats.reason()), "a status must have a reason")


def _compare(outcome: Outcome, case: Case, stats: Any, pairs: Any) -> None:
    expected = case.expected
    angle = case.inputs.get("relation") in ("rotation_angle_deg", "rotation_angle_rad")
    plain = case.tolerance["statistics"]
    noise = _angle_noise(case) if angle else plain["abs"]
    errors = np.asarray(stats.errors)
    if pairs is not None:
        ends = np.asarray(pairs)[:, 1]
        if "delta_ids" in expected:
            outcome.same("delta_ids", ends.tolist(), np.asarray(expected["delta_ids"]).tolist())
        if "delta_ids_head" in expected:
            outcome.same("delta_ids_head", ends[: len(expected["delta_ids_head"])].tolist(), expected["delta_ids_head"])
            outcome.same("delta_ids_sum", int(ends.sum()), expected["delta_ids_sum"])
    if np.isnan(expected["statistics"]["rmse"]):
        # evo's statistics are those of a NaN. Ours leave that pose out, and say which it is.
        lost = np.isnan(errors)
        outcome.same("n", int(stats.n), expected["n"] - int(lost.sum()))
        outcome.expect(bool(lost.any()) and bool(np.isfinite(float(stats.rmse))), "the NaN pose must be left out")
    else:
        kept = errors[~np.isnan(errors)]
        outcome.same("n", int(stats.n), expected["n"])
        for name in STATISTICS:
            outcome.close(name, getattr(stats, name), expected["statistics"][name], rel=plain["rel"], abs_=noise)
        if "error" in expected:
            outcome.close("error", kept, expected["error"], rel=plain["rel"], abs_=noise)
        outcome.close("error_head", kept[:6], np.asarray(expected["error_head"])[:6], rel=plain["rel"], abs_=noise)
    if expected.get("align") is not None:
        _compare_fit(outcome, case, stats.alignment.sim3)


def _angle_noise(case: Case) -> float:
    """evo takes angles through a rotation vector; near 0 and 180 degrees that has noise of its own."""
    identical = np.array_equal(_poses(case.inputs["est"]), _poses(case.inputs["ref"]))
    name = "rotation angle near 0 between identical rotations" if identical else "rotation_angle (deg)"
    degrees = float(case.tolerance[name]["abs"])
    return degrees if case.inputs["relation"] == "rotation_angle_deg" else float(np.radians(degrees))


def _compare_fit(outcome: Outcome, case: Case, fit: Any) -> None:
    expected, tolerance = case.expected["align"], case.tolerance["umeyama r,t,s"]

    def close(what: str, got: Any, wanted: Any) -> None:
        outcome.close(what, got, wanted, rel=tolerance["rel"], abs_=tolerance["abs"])

    if "origin_transform" in expected:
        close("align.rotation", fit.rotation, np.asarray(expected["origin_transform"])[:3, :3])
        close("align.translation", fit.translation, np.asarray(expected["origin_transform"])[:3, 3])
        return
    close("align.r", fit.rotation, expected["r"])
    close("align.t", fit.translation, expected["t"])
    close("align.s", fit.scale, expected["s"])


def _info(case: Case) -> Outcome:
    tolerance = case.tolerance["statistics"]
    got = {"n": len(_poses(case.inputs["ref"]))}
    lengths = {f"{side}_path_length": float(path_length(_poses(case.inputs[side]))) for side in ("ref", "est")}
    outcome = Outcome(got={**got, **lengths})
    outcome.same("n", got["n"], case.expected["n"])
    for name, value in lengths.items():
        outcome.close(name, value, case.expected[name], rel=tolerance["rel"], abs_=tolerance["abs"])
    return outcome


def _association(case: Case) -> Outcome:
    """evo's two functions: the nearest of the second for every stamp of the first, and the same from the shorter."""
    first, second = (np.asarray(case.inputs[name], dtype=np.float64) for name in ("t1", "t2"))
    limit, offset = case.inputs["max_diff"], case.inputs["offset_2"]
    outcome = Outcome()
    try:
        pairs = forth = associate(first, second, max_difference=limit, offset=offset, one_to_one=False)
        if len(first) >= len(second):
            pairs = associate(second, first, max_difference=limit, offset=-offset, one_to_one=False)[:, ::-1]
    except (ArgumentError, ArgumentTypeError) as error:
        outcome.got = {"raises": str(error)}
        outcome.expect(case.raises is not None, f"raised {error}")
        return outcome
    outcome.got = {"matching_time_indices": forth.T.tolist(), "pairs": pairs.tolist()}
    if case.raises is not None:
        outcome.same("pairs", len(pairs), 0)
        return outcome
    expected = case.expected
    i, j = (np.asarray(side, dtype=np.int64) for side in expected["matching_time_indices"])
    outcome.same("matching_time_indices[0]", forth[:, 0].tolist(), i.tolist())
    # Among equal stamps any is right.
    outcome.same("stamps of matching_time_indices[1]", second[forth[:, 1]].tolist(), second[j].tolist())
    outcome.same("t1", first[pairs[:, 0]].tolist(), list(expected["t1"]))
    outcome.same("t2", second[pairs[:, 1]].tolist(), list(expected["t2"]))
    if expected.get("interpolation"):
        _interpolated(outcome, case, first, second, pairs)
    return outcome


def _interpolated(outcome: Outcome, case: Case, first: Array, second: Array, pairs: Array) -> None:
    """The longer trajectory at the stamps of the shorter; positions are (t, 0, 2 t)."""
    expected, tolerance, offset = case.expected["interpolation"], case.tolerance["statistics"], case.inputs["offset_2"]
    t1, t2 = first[pairs[:, 0]], second[pairs[:, 1]]

    def along(t: Array) -> Array:
        return np.stack([t, 0 * t, 2 * t], axis=1)

    xyz1, xyz2 = along(t1), along(t2)
    if len(first) >= len(second):
        t1 = t2 + offset
        xyz1 = interpolate_positions(first, along(first), t1)
    else:
        t2 = t1 - offset
        xyz2 = interpolate_positions(second, along(second), t2)
    for name, value in {"t1": t1, "t2": t2, "xyz1": xyz1, "xyz2": xyz2}.items():
        outcome.close(f"interpolation.{name}", value, expected[name], rel=tolerance["rel"], abs_=tolerance["abs"])


def _edges(case: Case) -> Outcome:
    return _association(case) if "t1" in case.inputs else _errors(case)


ADAPTERS: dict[str, Adapter] = {"D_evo/D1_ape_rpe_real": _errors, "D_evo/D2_edges": _edges}
