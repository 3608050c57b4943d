# SPDX-License-Identifier: Apache-2.0
"""A_worldmark: the published WorldMark evaluator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..ops.flow import flow_channels
from ..protocols import worldmark
from ..protocols.evidence import Channel, Evidence, Maker
from ..protocols.record import Score, Status
from ..rollout.plan import Action, Facts, Plan, Step
from .runner import Adapter, Case, Outcome

ACTIONS = {worldmark.key_of(action): action for action in Action}
Result = dict[str, Any]


def flow_segments(case: Case) -> Outcome:
    """A1: the four action metrics of one flow cache."""
    inputs, outcome = case.inputs, Outcome()
    keys = inputs["keys"]
    signals = inputs["Sx"], inputs["Srad"]
    parallax = {j: (inputs[f"iv_{j}"], inputs[f"uu_{j}"]) for j in inputs["px_segs"]}
    timeline = worldmark.Timeline.published(inputs["tm"], len(keys))
    found = worldmark.action_metrics(*signals, keys, timeline, parallax=parallax, compat=True)
    outcome.got = _as_published(inputs["action"], keys, found)
    if case.raises is None:
        _compare(outcome, "", outcome.got, case.expected, case.tolerance["abs"])
    if case.recommended is not None:
        bounds = [round(j * len(inputs["tm"]) / len(keys)) for j in range(len(keys) + 1)]
        own = worldmark.Timeline.of_frames(len(inputs["tm"]), 16, bounds)
        default = worldmark.action_metrics(*signals, keys, own, parallax=parallax)
        _recommended_segments(outcome, case, found, default, own)
    return outcome


def _as_published(action: int, keys: list[str], found: worldmark.ActionMetrics) -> Result:
    def rows(measures: Mapping[int, worldmark.Measure], names: Mapping[str, str], value: str) -> list[Result]:
        result = []
        for j, measure in measures.items():
            row: Result = {"seg": j, "key": keys[j]}
            if measure.value is None:
                row["na"] = True
            else:
                row |= {names[name]: item for name, item in measure.detail.items() if name in names}
                row |= {value: measure.value}
            result.append(row)
        return result

    latencies = []
    for j, measure in found.response_latency.items():
        detail = measure.detail
        row = {"new": keys[j], "t0": detail.get("onset_s"), "latency": detail.get("latency_s"), "score": measure.value}
        row["ss_ratio"] = detail.get("steady_ratio")
        latencies.append(row | ({"note": detail["note"]} if "note" in detail else {}))
    names = {"p_translation": "p_trans", "p_rotation": "p_yaw", "slope": "a", "intercept": "b_far"}
    names |= {"translation": "trans_amp", "rotation": "rot_amp"}
    splits = {
        str(j): {theirs: getattr(split, ours) for ours, theirs in names.items()} for j, split in found.splits.items()
    }
    amounts = {"lat": "lat", "fwd": "fwd", "yaw": "yaw"}
    stability = {"sustain": "sustain", "stalls": "hiccups", "decay": "decay"}
    return {
        "action_id": action,
        "keys": list(keys),
        "M1": rows(found.direction_accuracy, {"direction": "dir", "weight": "type_w"}, "dir_gated"),
        "M2": rows(found.direction_purity, amounts, "purity"),
        "M3": latencies,
        "M4": rows(found.motion_stability, stability, "score"),
        "parallax": splits,
    }


def _compare(outcome: Outcome, where: str, got: Any, expected: Any, tolerance: float) -> None:
    """Every field of ``expected`` in ``got``; the family is this library's own table, and not compared twice."""
    if isinstance(expected, Mapping):
        for name, value in expected.items():
            if name != "family":
                outcome.expect(isinstance(got, Mapping) and name in got, f"{where}.{name}: not there")
                _compare(outcome, f"{where}.{name}", dict(got).get(name), value, tolerance)
    elif isinstance(expected, list):
        outcome.same(f"{where} length", len(got), len(expected))
        for i, (mine, theirs) in enumerate(zip(got, expected, strict=False)):
            _compare(outcome, f"{where}[{i}]", mine, theirs, tolerance)
    elif isinstance(expected, float):
        outcome.close(where, got, expected, abs_=tolerance)
    else:
        outcome.same(where, got, expected)


def _recommended_segments(
    outcome: Outcome,
    case: Case,
    compat: worldmark.ActionMetrics,
    default: worldmark.ActionMetrics,
    timeline: worldmark.Timeline,
) -> None:
    if not len(case.inputs["tm"]):
        for found in (compat, default):
            every = [*found.direction_accuracy.values(), *found.motion_stability.values()]
            for measure in [*every, *found.response_latency.values()]:
                ok = measure.status is Status.NOT_EVALUABLE and bool(measure.reason)
                outcome.expect(ok, f"empty signals: {measure}")
    elif case.raises is not None:
        said = compat.direction_accuracy[0].detail.get("parallax", "")
        outcome.expect("no samples" in said, "an empty parallax bucket is not mentioned under compat")
        missing = default.direction_accuracy[0]
        outcome.expect(missing.status is Status.MISSING and "depth" in missing.reason, "default: depth is not missing")
    usable = np.isfinite(np.asarray(case.inputs["Sx"]) + np.asarray(case.inputs["Srad"]))
    for measures in (default.direction_accuracy, default.direction_purity, default.motion_stability):
        for j, measure in measures.items():
            flagged = measure.reason.startswith("not_finite") and measure.value is None
            outcome.expect(flagged != usable[timeline.stable(j)].all(), f"default: NaN samples pass in segment {j}")


def signals(case: Case) -> Outcome:
    """A2: flow channels of fields, and the samples and split of the parallax."""
    inputs, outcome = case.inputs, Outcome()
    if "flow" in inputs:
        _channels(case, outcome)
        return outcome
    n, keys = inputs["n_frames"], worldmark.SEQUENCES[inputs["action"]]
    frames = worldmark.parallax_frames(n, list(keys))
    at = {frame: k for k, frame in enumerate(inputs["frames_stored"])}
    got: Result = {"pick_frames": sorted(f for chosen in frames.values() for f in chosen), "px_segs": list(frames)}
    got["parallax"], got["n"] = {}, {}
    for j, chosen in frames.items():
        rows = [at[frame] for frame in chosen]
        inverse, along = worldmark.parallax_samples(inputs["flow_u"][rows], inputs["depth"][rows], compat=True)
        split = worldmark.split_segment((inverse, along), compat=True)
        got["n"][str(j)], got[f"iv_{j}"], got[f"uu_{j}"] = len(inverse), inverse, along
        got["parallax"][str(j)] = {
            "a": split.slope,
            "b_far": split.intercept,
            "trans_amp": split.translation,
            "rot_amp": split.rotation,
            "p_trans": split.p_translation,
            "p_yaw": split.p_rotation,
        }
    outcome.got = got
    for name, value in case.expected.items():
        if name.startswith(("iv_", "uu_")):
            outcome.close(name, got[name], value, rel=case.tolerance["rel"], abs_=case.tolerance["abs"])
        else:
            # The split is stored with three decimals.
            _compare(outcome, name, got[name], value, 0.001001)
    return outcome


def _channels(case: Case, outcome: Outcome) -> None:
    channels = flow_channels(np.ascontiguousarray(case.inputs["flow"].transpose(0, 2, 3, 1)))
    n = len(channels.horizontal)
    tm = worldmark.Timeline.of_frames(n, 16, (0, n)).times
    outcome.got = {"tm": tm, "Sx": channels.horizontal, "Srad": channels.radial}
    if case.raises is None:
        for name, value in outcome.got.items():
            outcome.close(name, value, case.expected[name], rel=case.tolerance["rel"], abs_=case.tolerance["abs"])
    if case.inputs["n_frames"] <= 2:
        evidence = _evidence(channels.horizontal, channels.radial, "W", case.inputs["n_frames"])
        for compat in (True, False):
            for record in worldmark.score(evidence, compat=compat):
                outcome.expect(record.value is None and bool(record.reason), f"{record.metric}: a value of no flow")


def _evidence(horizontal: np.ndarray, radial: np.ndarray, keys: str, n_frames: int) -> Evidence:
    plan = Plan("case", tuple(Step(ACTIONS[key]) for key in keys))
    flow = {"horizontal": horizontal, "radial": radial, "stride": 2, "grid": (640, 432)}
    maker = Maker("flow", "external", "external", "vector")
    return Evidence(Facts("case", "m", None, plan, n_frames, 16.0, 640, 432), {"flow": Channel(flow, maker)})


def local(case: Case) -> Outcome:
    """A3: the sampling step of a set, Local memory of a video, hard cuts, and the report's Local."""
    inputs, outcome = case.inputs, Outcome()
    if "videos" in inputs:
        got = worldmark.local_delta((v["Sx"], v["Srad"], v["tm"]) for v in inputs["videos"])
        outcome.got = {"delta": got}
        outcome.close("delta", got, case.expected["delta"], rel=case.tolerance["delta"]["rel"])
    elif "records" in inputs:
        rows = worldmark.leaderboard(_local_record("m", str(i), c1) for i, c1 in enumerate(inputs["records"]))
        outcome.got = {"local_score": rows["m"]["Local"] if rows else math.nan}
        expected = case.expected["local_score"]
        outcome.close("local_score", outcome.got["local_score"], expected, abs_=case.tolerance["local_score"]["abs"])
    else:
        _local_of_video(case, outcome)
    return outcome


def _local_of_video(case: Case, outcome: Outcome) -> None:
    inputs, expected, tolerance = case.inputs, case.expected, case.tolerance
    cuts = worldmark.cuts_from_logits(inputs.get("cut_logits", []))
    got: Result = {"hard_cut": cuts.hard_cut, "n_scenes": cuts.n_scenes, "cut_frames": list(cuts.frames)}
    if "Sx" in inputs:
        pooled = worldmark.pool_tokens(inputs["tokens"]).mean if len(inputs["token_frames"]) else np.empty((0, 1))
        arrays = inputs["Sx"], inputs["Srad"], np.array(inputs["token_frames"], dtype=np.int64), pooled, cuts
        n, step = inputs["n_frames"], inputs["delta"]
        measure = worldmark.local_memory(*arrays, n_frames=n, step=step, compat=True)
        detail = measure.detail
        got |= {"n_pairs": detail["n_pairs"], "na": measure.reason or None}
        names = {"frames": "idx", "distances": "pmean_dists", "mean_distance": "pmean_level", "spikes": "pmean_spikes"}
        names |= {"mutations": "mut_events", "mutation_rate_near_cuts_too": "mut_rate"}
        got |= {theirs: detail[ours] for ours, theirs in names.items() if ours in detail}
        if case.recommended is not None:
            default = worldmark.local_memory(*arrays, n_frames=n)
            outcome.expect(default.reason.startswith("not_finite"), f"default: NaN flow gives {default}")
    outcome.got = got
    for name, value in expected.items():
        if name.startswith("lpips") or name == "err":
            continue
        if name in ("pmean_dists", "pmean_level"):
            outcome.close(name, got.get(name), value, abs_=tolerance[name]["abs"])
        else:
            outcome.same(name, got.get(name), value)


def _score(model: str, rollout: str, metric: str, value: float | None, **fields: Any) -> Score:
    """A record of a number that the published evaluator stored; NaN becomes what ``compat`` makes of it."""
    detail = dict(fields.pop("detail", {}))
    if value is not None and math.isnan(value):
        value, detail["published_nan"] = None, True
    status = Status.NOT_EVALUABLE if value is None else Status.OK
    defaults: Result = {"reason": "" if value is not None else "not_finite", "part": {}, "n_used": 1, "n_total": 1}
    return Score(
        rollout=rollout,
        model=model,
        case=None,
        protocol="worldmark",
        metric=metric,
        value=value,
        status=status,
        definition="vector",
        compat=True,
        detail=detail,
        **(defaults | fields),
    )


def _local_record(model: str, rollout: str, c1: Result) -> Score:
    if "pmean_dists" not in c1:
        return _score(model, rollout, "local_memory", None, reason=c1["na"])
    rate, pairs = worldmark.mutation_rate(c1["pmean_dists"], c1.get("idx"), c1.get("cut_frames", ()), compat=True)
    detail = {"hard_cut": c1["hard_cut"], "mutation_rate": rate}
    if not pairs:
        return _score(model, rollout, "local_memory", None, reason="near_cut", detail=detail)
    return _score(model, rollout, "local_memory", 100 * (1 - bool(c1["hard_cut"])) * (1 - rate), detail=detail)


def revisit(case: Case) -> Outcome:
    """A4: the reversals, their pairs, and Revisit memory of a video."""
    inputs, outcome = case.inputs, Outcome()
    keys, flow = worldmark.SEQUENCES[inputs["action"]], (inputs["Sx"], inputs["Srad"])
    if not worldmark.is_round_trip(list(keys)):
        outcome.got = {"result": {"na_scope": True}, "reversals": [], "arc_calls": []}
        _compare(outcome, "", outcome.got, case.expected, 0.0)
        return outcome
    bounds = worldmark.published_bounds(len(inputs["Sx"]), len(keys))
    turns = worldmark.reversals(*flow, list(keys), bounds, width=inputs["width"], compat=True)
    has_tokens = len(inputs["token_frames"]) > 0
    pooled = worldmark.pool_tokens(inputs["tokens"]) if has_tokens else None
    mean = pooled.mean if pooled is not None else np.empty((0, 1), dtype=np.float32)
    stored = np.array(inputs["token_frames"], dtype=np.int64)
    family = "yaw" if keys[0] in "LR" else "fwd"
    settings: Result = {"n_frames": inputs["n_frames"], "family": family}
    measure = worldmark.revisit_memory(turns, stored, mean, width=inputs["width"], compat=True, **settings)
    outcome.got = _revisit_as_published(measure, turns, family)
    if pooled is not None and measure.value is not None:
        rows = np.searchsorted(stored, np.minimum(np.array(measure.detail["pairs"]), inputs["n_frames"] - 1))
        a, b = rows[:, 0], rows[:, 1]
        outcome.got["pmean"] = measure.detail["distances"]
        outcome.got["cls"] = worldmark.cosine_distances(pooled.cls[a], pooled.cls[b])
        outcome.got["ppatch"] = worldmark.cosine_distances(pooled.patches[a], pooled.patches[b]).mean(axis=1)
    _compare_revisit(outcome, case)
    if case.recommended is not None:
        default = worldmark.reversals(*flow, list(keys), bounds)
        answer = worldmark.revisit_memory(default, stored, mean, **settings)
        token = "not_finite" if "NaN" in case.recommended else "too_short"
        outcome.expect(token in answer.reason, f"default: expected {token}, got {answer.reason!r}")
    return outcome


def _revisit_as_published(measure: worldmark.Measure, turns: list[worldmark.Reversal], family: str) -> Result:
    detail = measure.detail
    result: Result = {"not_evaluable": measure.value is None, "type": "rot" if family == "yaw" else "trans"}
    if measure.value is None:
        result["reasons"] = [turn.rejected for turn in turns if turn.rejected]
    else:
        passed = sum(bool(turn.arcs and turn.arcs.pairs) for turn in turns)
        result |= {"n_pairs": len(detail["pairs"]), "n_reversals_passed": passed, "partial": detail["partial"]}
        result |= {"C2": measure.value, "C2_std": detail["std"], "dbar": detail["mean_distance"]}
        result["mean_angle_mismatch_deg"] = detail.get("angle_mismatch_deg")
    rows = [
        {
            "b": turn.segment,
            "t0": turn.turn,
            "dir_prev": turn.direction_out,
            "dir_next": turn.direction_back,
            "return_start": turn.return_start,
            "gain_ratio": turn.gain,
        }
        for turn in turns
    ]
    calls = [
        {
            "t0": turn.turn,
            "seg_lo": turn.start,
            "seg_hi": turn.stop,
            "t_resp": turn.return_start,
            "pairs": [list(pair) for pair in turn.arcs.pairs],
            "resid": turn.arcs.residuals,
            "tot_out": turn.arcs.path_out,
            "tot_ret": turn.arcs.path_back,
        }
        for turn in turns
        if turn.arcs is not None
    ]
    return {"result": result, "reversals": rows, "arc_calls": calls}


def _compare_revisit(outcome: Outcome, case: Case) -> None:
    got, expected, tolerance = outcome.got, case.expected, case.tolerance
    within = {"C2": tolerance["C2"]["abs"], "dbar": tolerance["dbar"]["abs"]}
    within["C2_std"], within["mean_angle_mismatch_deg"] = tolerance["C2"]["abs"], 0.010001
    for name, value in expected["result"].items():
        _compare(outcome, f"result.{name}", got["result"].get(name), value, within.get(name, 0.0))
    _compare(outcome, "reversals", got["reversals"], expected["reversals"], tolerance["seg_dir"]["abs"])
    outcome.same("arc_calls", len(got["arc_calls"]), len(expected["arc_calls"]))
    for mine, theirs in zip(got["arc_calls"], expected["arc_calls"], strict=False):
        for name in ("t0", "seg_lo", "seg_hi", "t_resp", "pairs"):
            outcome.same(f"arc_calls.{name}", mine[name], theirs[name])
        within = tolerance["resid"]
        outcome.close("resid", mine["resid"], theirs["resid"], rel=within["rel"], abs_=within["abs"])
        for name in ("tot_out", "tot_ret"):
            outcome.close(name, mine[name], theirs[name], rel=tolerance["tot_out/tot_ret"]["rel"])
    for name in ("pmean", "cls", "ppatch"):
        if name in expected:
            outcome.close(name, got.get(name), expected[name], abs_=tolerance["pmean"]["abs"])


def geometry(case: Case) -> Outcome:
    """A5: which frames Global reconstructs, and its residual of given depth and cameras."""
    inputs, outcome = case.inputs, Outcome()
    if "extr" not in inputs:
        outcome.got = {"frame_indices": worldmark.global_frames(inputs["n_frames"], inputs["fps"])}
        outcome.same("frame_indices", outcome.got["frame_indices"], (case.expected or {}).get("frame_indices", []))
        return outcome
    arrays = inputs["depth"], inputs["extr"], inputs["intr"], inputs["conf"]
    found = worldmark.global_memory(*arrays, compat=True)
    if found.value is None:
        outcome.got = {"na": found.reason}
    else:
        detail = found.detail
        names = {"global_median_e": "residual", "global_mean_e": "mean_residual", "covis_ratio": "covisible_fraction"}
        outcome.got = {theirs: detail[ours] for theirs, ours in names.items()}
        # Their file has a score of its own, with a scale of 1, which their report ignores.
        outcome.got["global_score"] = round(worldmark.global_score(detail["residual"], 1.0), 3)
    for name, value in case.expected.items():
        if name not in ("model", "stem"):
            _compare(outcome, name, outcome.got.get(name), value, case.tolerance.get(name, {}).get("abs", 0.0))
    if case.recommended is not None:
        default = worldmark.global_memory(*arrays)
        all_gone = "no valid depth" in case.recommended
        said = "depth" in default.reason if all_gone else default.value is not None
        outcome.expect(said, f"default: {case.recommended}, got {default}")
    return outcome


def report(case: Case) -> Outcome:
    """A6: the table of the records that the earlier stages store."""
    outcome = Outcome()
    rows = worldmark.leaderboard(_records(case.inputs))
    best, worst = worldmark.best_and_worst(rows)
    columns = [column.name for column in worldmark.COLUMNS]
    lines = worldmark.csv_lines(rows)
    outcome.got = {"rows": rows, "columns": columns, "best": best, "worst": worst, "csv": lines}
    outcome.same("models", sorted(rows), sorted(case.expected["rows"]))
    within = case.tolerance["default"]
    for model, row in case.expected["rows"].items():
        for column, value in row.items():
            outcome.close(f"{model}.{column}", rows[model][column], value, rel=within["rel"], abs_=within["abs"])
    for name in ("columns", "best", "worst", "csv"):
        outcome.same(name, outcome.got[name], case.expected[name])
    return outcome


def _records(inputs: Mapping[str, Any]) -> list[Score]:
    records = []
    fields = {"M1": ("direction_accuracy", "dir_gated"), "M2": ("direction_purity", "purity")}
    fields |= {"M3": ("response_latency", "score"), "M4": ("motion_stability", "score")}
    for video in inputs["flow"]:
        for stage, (metric, name) in fields.items():
            for row in video[stage]:
                axis = "rotation" if row.get("key", row.get("new")) in ("L", "R") else "translation"
                part = {"axis": axis}
                records.append(_score(video["model"], video["stem"], metric, row.get(name), part=part))
    for stem, video in inputs["quality"].items():
        for metric, name in (("perceptual_quality", "qalign_quality"), ("aesthetic_quality", "qalign_aesthetic")):
            records.append(_score(video["model"], stem, metric, video[name]))
    for video in inputs["c3"].values():
        residual = video.get("global_median_e")
        detail = {"residual": residual}
        records.append(_score(video["model"], video["stem"], "global_memory", residual, detail=detail))
    for video in inputs["c2"].values():
        records.append(_score(video["model"], video["stem"], "revisit_memory", video["C2"].get("C2")))
    records += [_local_record(video["model"], video["stem"], video["C1"]) for video in inputs["c1"].values()]
    return records


ADAPTERS: dict[str, Adapter] = {
    "A_worldmark/A1_flow_segments": flow_segments,
    "A_worldmark/A2_signals": signals,
    "A_worldmark/A3_local_C1": local,
    "A_worldmark/A4_revisit_C2": revisit,
    "A_worldmark/A5_global_C3": geometry,
    "A_worldmark/A6_report": report,
}
