# SPDX-License-Identifier: Apache-2.0
"""From evidence to records: what is asked for, what comes out, and the leaderboard over it."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from synthetic import drifting, places, round_trip

import wmb_fast as wmb
from wmb_fast.protocols import worldmark
from wmb_fast.protocols.evidence import Channel, Evidence, Maker, Need
from wmb_fast.protocols.record import Score, Status
from wmb_fast.rollout.plan import Action, Facts, Plan, Step

N = 640


def channel(role: str, **values: object) -> Channel:
    return Channel(values, Maker(role, f"some-{role}", "builtin", f"{role}-1"))


def facts(*actions: Action, n: int = N, fps: float | None = 16.0, **changes: object) -> Facts:
    plan = Plan("worldmark/7", tuple(Step(action) for action in actions)) if actions else None
    made = Facts("m/case", "m", "case", plan, n, fps, 576, 316)
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def turning(n: int = N, fps: float = 16.0, **channels: Channel) -> Evidence:
    """Turn left and right again, in a world that is remembered."""
    signal = round_trip(fps)
    flow = channel("flow", horizontal=signal, radial=0 * signal, stride=2, grid=(640, 432))
    cuts = channel("cuts", frames=np.empty(0, dtype=np.int64), n_scenes=1)
    features = channel("features", frames=np.arange(n), mean=places(n))
    made = {"flow": flow, "cuts": cuts, "features": features} | channels
    return Evidence(facts(Action.TURN_LEFT, Action.TURN_RIGHT, n=n, fps=fps), made)


def by_metric(records: list[Score], metric: str) -> list[Score]:
    return [record for record in records if record.metric == metric]


@pytest.mark.parametrize("compat", [False, True])
def test_every_record_is_strict_json_and_comes_back(compat: bool) -> None:
    records = worldmark.score(turning(), compat=compat)
    assert [r.metric for r in records] == [
        *("direction_accuracy", "direction_purity", "motion_stability"),
        *("direction_accuracy", "direction_purity", "motion_stability", "response_latency"),
        *("local_memory", "revisit_memory", "global_memory", "perceptual_quality", "aesthetic_quality"),
    ]
    for record in records:
        assert Score.from_json(record.to_json()) == Score.from_json(json.dumps(json.loads(record.to_json())))
        assert (record.value is None) == bool(record.reason)
        assert record.definition == f"worldmark.{record.metric}/1"
        assert record.compat is compat
    latency = by_metric(records, "response_latency")[0]
    assert latency.part == {"segment": 1, "action": "turn_right", "key": "R", "family": "yaw", "axis": "rotation"}
    assert [maker["role"] for maker in by_metric(records, "local_memory")[0].estimators] == ["flow", "cuts", "features"]
    assert latency.proxy


def test_default_without_depth_and_compat_without_depth() -> None:
    default, compat = (worldmark.score(turning(), compat=compat) for compat in (False, True))
    for metric in ("direction_accuracy", "direction_purity"):
        assert {(r.status, r.reason.split(":")[0]) for r in by_metric(default, metric)} == {(Status.MISSING, "depth")}
    assert [r.value for r in by_metric(compat, "direction_accuracy")] == [1.0, 1.0]
    assert [r.value for r in by_metric(compat, "direction_purity")] == [0.5, 0.5]


def test_parallax_channel_gives_direction() -> None:
    inverse = np.linspace(0.1, 1.0, 40)
    samples = {"inverse_depth_0": inverse, "flow_0": np.full(40, 3.0), "inverse_depth_1": inverse}
    parallax = channel("depth", segments=[0, 1], flow_1=np.full(40, -3.0), **samples)
    records = worldmark.score(turning(parallax=parallax))
    accuracies = by_metric(records, "direction_accuracy")
    assert [r.value for r in accuracies] == pytest.approx([1, 1], abs=1e-5)
    assert [maker["role"] for maker in accuracies[0].estimators] == ["flow", "depth"]


def test_needs_are_flow_and_cuts_then_exactly_the_sampled_frames() -> None:
    full = turning()
    empty = dataclasses.replace(full, channels={})
    each_second = tuple(range(0, N, 16))
    *first, depth = worldmark.needs(empty)
    assert first == [Need("flow"), Need("cuts"), Need("quality", each_second), Need("geometry", each_second)]
    with_flow = dataclasses.replace(full, channels={k: full.channels[k] for k in ("flow", "cuts")})
    *again, features = worldmark.needs(with_flow)
    assert (again, features.channel, depth.channel) == ([*first, depth], "features", "depth")
    assert features.frames == tuple(sorted(set(features.frames or ())))
    assert Need("features", None) in worldmark.needs(with_flow, compat=True)
    rows = np.array(features.frames)
    some = turning(features=channel("features", frames=rows, mean=places(N)[rows]))
    assert worldmark.score(some) == worldmark.score(full)
    assert worldmark.needs(some) == [*first, depth, features]
    for dropped in (0, len(rows) // 2, len(rows) - 1):
        left = np.delete(rows, dropped)
        lacking = worldmark.score(turning(features=channel("features", frames=left, mean=places(N)[left])))
        assert any(r.reason.startswith("features: ") for r in lacking)


@pytest.mark.parametrize("compat", [False, True])
def test_what_is_missing_is_said_and_the_rest_is_scored(compat: bool) -> None:
    base = turning()
    nothing = Evidence(base.facts, {}, {"flow": "the video has one frame"})
    for record in worldmark.score(nothing, compat=compat):
        assert record.value is None
        if record.metric in ("direction_accuracy", "response_latency", "local_memory", "revisit_memory"):
            assert (record.status, record.reason) == (Status.MISSING, "flow: the video has one frame")
    no_plan = dataclasses.replace(base, facts=facts())
    records = worldmark.score(no_plan, compat=compat)
    assert by_metric(records, "local_memory")[0].status is Status.OK
    for metric in ("direction_accuracy", "response_latency", "revisit_memory"):
        assert {r.reason.split(":")[0] for r in by_metric(records, metric)} == {"plan"}
    no_features = Evidence(
        base.facts, {k: base.channels[k] for k in ("flow", "cuts")}, {"features": "needs the extra onnx"}
    )
    records = worldmark.score(no_features, compat=compat)
    for metric in ("local_memory", "revisit_memory"):
        assert by_metric(records, metric)[0].reason == "features: needs the extra onnx"
    assert by_metric(records, "motion_stability")[0].status is Status.OK
    assert by_metric(records, "global_memory")[0].reason == "geometry: not in the evidence"
    assert by_metric(records, "perceptual_quality")[0].reason == "quality: not in the evidence"


def test_default_needs_the_rate_and_a_plan_that_fits() -> None:
    base = turning()
    no_rate = worldmark.score(dataclasses.replace(base, facts=facts(Action.TURN_LEFT, fps=None)))
    assert {r.reason for r in by_metric(no_rate, "motion_stability")} == {"fps: the rollout's frame rate is not known"}
    longer = Plan("mine", (Step(Action.TURN_LEFT), Step(Action.TURN_RIGHT)), boundaries=(0, 320, 700))
    records = worldmark.score(dataclasses.replace(base, facts=facts(plan=longer)))
    assert by_metric(records, "motion_stability")[0].status is Status.ERROR
    assert by_metric(records, "revisit_memory")[0].reason == (
        "plan: lay: plan must end within the video's 640 frames, got frame 700"
    )
    assert by_metric(records, "local_memory")[0].status is Status.OK


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (
            {"horizontal": np.ones(320), "radial": np.ones(320)},
            "flow: horizontal and radial must have shape (638,), got",
        ),
        (
            {"horizontal": np.ones(638), "radial": np.ones(637)},
            "flow: horizontal and radial must have shape (638,), got",
        ),
        ({"horizontal": np.ones(638)}, "flow: the channel must hold radial, got horizontal"),
    ],
    ids=["short", "unequal", "incomplete"],
)
def test_flow_that_does_not_fit_the_rollout_is_missing_not_scored(values: dict, reason: str) -> None:
    records = worldmark.score(turning(flow=channel("flow", **values)))
    for metric in ("motion_stability", "response_latency", "local_memory", "revisit_memory"):
        for record in by_metric(records, metric):
            assert (record.status, record.value) == (Status.MISSING, None)
            assert record.reason.startswith(reason)


def test_depth_and_flow_fields_tell_turning_from_strafing() -> None:
    """Near things move faster past one who strafes; to one who turns, all move alike."""
    asked = next(n for n in worldmark.needs(turning()) if n.channel == "depth").frames
    assert asked is not None
    depth = np.tile(np.linspace(1.0, 9.0, 64, dtype=np.float32), (len(asked), 48, 1))
    there = {"depth": channel("depth", frames=np.array(asked), depth=depth)}
    wanted = next(n for n in worldmark.needs(turning(**there)) if n.channel == "flow_fields").frames
    assert set(wanted or ()) == {*asked, *(frame + 2 for frame in asked)}
    sign = np.where(np.array(asked) < N / 2, 1, -1)[:, None, None]
    turned = channel("flow_fields", frames=np.array(asked), horizontal=sign * np.full((len(asked), 48, 64), 3.0))
    strafed = channel("flow_fields", frames=np.array(asked), horizontal=sign * 4.0 / depth)
    for fields, accuracy in ((turned, 1.0), (strafed, 0.0)):
        records = worldmark.score(turning(flow_fields=fields, **there))
        found = by_metric(records, "direction_accuracy")
        assert [r.value for r in found] == pytest.approx([accuracy] * 2, abs=0.02)
        assert [maker["role"] for maker in found[0].estimators] == ["flow", "flow_fields", "depth"]
    as_geometry = channel("geometry", frames=np.array(asked), depth=depth)
    records = worldmark.score(turning(flow_fields=turned, geometry=as_geometry))
    assert [r.value for r in by_metric(records, "direction_purity")] == pytest.approx([1, 1], abs=0.02)
    holes = depth.copy()
    holes[:, ::2] = 0
    holes[:, 1, :5] = np.nan
    some = worldmark.score(turning(flow_fields=turned, depth=channel("depth", frames=np.array(asked), depth=holes)))
    assert [r.value for r in by_metric(some, "direction_accuracy")] == pytest.approx([1, 1], abs=0.02)


def test_global_memory_is_of_one_frame_a_second() -> None:
    frames = np.array(worldmark.global_frames(N, 16.0))
    k = len(frames)
    camera = np.array([[50.0, 0, 31.5], [0, 50, 23.5], [0, 0, 1]])
    made = {"depth": np.full((k, 48, 64), 2.0), "cam_from_world": np.tile(np.eye(4)[:3], (k, 1, 1))}
    made["intrinsics"] = np.tile(camera, (k, 1, 1))
    for compat in (False, True):
        [record] = by_metric(
            worldmark.score(turning(geometry=channel("geometry", frames=frames, **made)), compat=compat),
            "global_memory",
        )
        assert (record.value, record.detail["residual"], record.n_used) == (100, 0, k * (k - 1))
    less = {name: array[1:] for name, array in made.items()}
    [record] = by_metric(
        worldmark.score(turning(geometry=channel("geometry", frames=frames[1:], **less))), "global_memory"
    )
    assert record.reason == "geometry: 1 of the 40 sampled frames have none, the first is 0"


@pytest.mark.parametrize("fps", [0.01, 90_000.0, float("nan"), float("inf"), 0.0, -25.0])
def test_a_rate_that_cannot_be_is_said_and_what_needs_none_is_scored(fps: float) -> None:
    base = turning()
    records = worldmark.score(dataclasses.replace(base, facts=dataclasses.replace(base.facts, fps=fps)))
    said = {r.reason.split(":")[0] for r in records if r.metric in ("motion_stability", "local_memory")}
    assert said == {"fps"}
    published = worldmark.score(dataclasses.replace(base, facts=dataclasses.replace(base.facts, fps=fps)), compat=True)
    assert by_metric(published, "motion_stability")[0].value is not None


@pytest.mark.parametrize("n", [1, 2, 3, 10])
@pytest.mark.parametrize("compat", [False, True])
def test_rollouts_of_a_few_frames_have_reasons(n: int, compat: bool) -> None:
    flow = channel("flow", horizontal=np.ones(max(n - 2, 0)), radial=np.zeros(max(n - 2, 0)), stride=2, grid=(640, 432))
    cuts = channel("cuts", frames=np.empty(0, dtype=np.int64), n_scenes=1)
    short = Evidence(facts(Action.TURN_LEFT, Action.TURN_RIGHT, n=n), {"flow": flow, "cuts": cuts})
    worldmark.needs(short, compat=compat)
    for record in worldmark.score(short, compat=compat):
        assert record.reason or compat or record.metric == "response_latency"
        assert record.value is None or compat


@pytest.mark.parametrize("n", range(0, 12))
@pytest.mark.parametrize("actions", [(Action.FORWARD,), (Action.FORWARD, Action.BACK), (Action.TURN_LEFT,) * 3])
@pytest.mark.parametrize("compat", [False, True])
def test_few_frames_in_motion_are_too_short_and_no_error(n: int, actions: tuple[Action, ...], compat: bool) -> None:
    for value in (1.0, np.nan):
        signal = np.full(max(n - 2, 0), value)
        flow = channel("flow", horizontal=signal, radial=signal, stride=2, grid=(640, 432))
        records = worldmark.score(Evidence(facts(*actions, n=n), {"flow": flow}), compat=compat)
        for record in records:
            assert record.status is not Status.ERROR
            assert (record.value is None) == bool(record.reason)
        if n < len(actions) and not compat:
            said = {r.reason for r in by_metric(records, "motion_stability")}
            assert said == {"too_short: too few samples to judge"}


def test_own_boundaries_are_used() -> None:
    """The rollout turned back at frame 200: with its own boundary it follows, at equal shares it does not."""
    signal = np.where(np.arange(N - 2) < 199, 3.0, -3.0)
    flow = channel("flow", horizontal=signal, radial=0 * signal, stride=2, grid=(640, 432))
    plan = Plan("mine", (Step(Action.TURN_LEFT), Step(Action.TURN_RIGHT)), boundaries=(0, 200, N))
    own = turning(flow=flow)
    own = dataclasses.replace(own, facts=dataclasses.replace(own.facts, plan=plan))
    stability = [r.value for r in by_metric(worldmark.score(own), "motion_stability")]
    assert stability[0] == pytest.approx(1, abs=0.1)
    assert by_metric(worldmark.score(own, compat=True), "motion_stability")[0].value < 0.6
    assert by_metric(worldmark.score(own), "response_latency")[0].detail["latency_s"] < 0.5


def test_actions_without_a_key_are_skipped_with_a_reason() -> None:
    plan = facts(Action.TURN_LEFT, Action.HOLD, Action.TURN_RIGHT)
    records = worldmark.score(dataclasses.replace(turning(), facts=plan))
    held = [r for r in records if r.part.get("segment") == 1]
    assert {(r.status, r.reason) for r in held} == {
        (Status.NOT_EVALUABLE, "no_key: WorldMark has no key for hold"),
    }
    assert [r.metric for r in held] == [
        "direction_accuracy",
        "direction_purity",
        "motion_stability",
        "response_latency",
    ]
    assert by_metric(records, "revisit_memory")[0].reason == "not_a_round_trip: the plan does not undo its own motion"


def test_a_frozen_rollout() -> None:
    n = 20
    still = channel("flow", horizontal=np.zeros(n - 2), radial=np.zeros(n - 2), stride=2, grid=(640, 432))
    cuts = channel("cuts", frames=np.empty(0, dtype=np.int64), n_scenes=1)
    frozen = Evidence(facts(Action.STRAFE_RIGHT, n=n), {"flow": still, "cuts": cuts})
    assert "features" not in {need.channel for need in worldmark.needs(frozen)}
    reasons = {r.metric: r.reason.split(":")[0] for r in worldmark.score(frozen)}
    for metric in ("direction_accuracy", "direction_purity", "motion_stability"):
        assert reasons[metric] == "no_motion"
    assert reasons["local_memory"] == "frozen"


def test_nan_flow_under_compat_poisons_its_column_and_the_default_counts_it() -> None:
    signal = round_trip()
    signal[100] = np.nan
    flow = channel("flow", horizontal=0 * round_trip(), radial=signal, stride=2, grid=(640, 432))
    evidence = dataclasses.replace(turning(flow=flow), facts=facts(Action.FORWARD, Action.BACK))
    compat, default = (worldmark.score(evidence, compat=compat) for compat in (True, False))
    assert by_metric(compat, "direction_accuracy")[0].reason == "not_finite: the published evaluator gives NaN"
    assert math.isnan(worldmark.leaderboard(compat)["m"]["DA_t"])
    assert worldmark.leaderboard(default)["m"]["DA_t"] == pytest.approx(100)
    assert by_metric(default, "direction_accuracy")[0].reason.startswith("not_finite: 1 of")


def rollout_of(name: str, speed: float, seed: int) -> Evidence:
    signal = round_trip(speed=speed)
    flow = channel("flow", horizontal=0 * signal, radial=signal, stride=2, grid=(640, 432))
    features = drifting(N, 0.01, seed)
    features[200:] = drifting(N, 0.01, seed + 100)[200:]
    made = turning(flow=flow, features=channel("features", frames=np.arange(N), mean=features))
    return dataclasses.replace(made, facts=facts(Action.FORWARD, Action.BACK, rollout=name, model=name.split("/")[0]))


def test_local_of_a_set_from_stored_curves_is_that_of_the_set_in_one_call() -> None:
    rollouts = [rollout_of(f"m{i % 2}/{i}", 20.0 + 25 * i, i) for i in range(5)]
    together = worldmark.score(rollouts, compat=True)
    alone = [record for rollout in rollouts for record in worldmark.score(rollout, compat=True)]
    assert by_metric(alone, "local_memory") != by_metric(together, "local_memory")
    curves = {rollout.facts.rollout: worldmark.curves(rollout, compat=True) for rollout in rollouts}
    assert worldmark.local_over_set(alone, curves) == together
    step = by_metric(together, "local_memory")[0].detail["step_px"]
    assert worldmark.score(rollouts[0], compat=True, local_delta=step) == [
        r for r in together if r.rollout == rollouts[0].facts.rollout
    ]
    separately = [record for rollout in rollouts for record in worldmark.score(rollout)]
    assert worldmark.score(rollouts) == separately
    assert worldmark.local_over_set(separately, curves) == separately
    with pytest.raises(wmb.ArgumentError, match="local_delta must be None unless compat is true, got 3"):
        worldmark.score(rollouts, local_delta=3.0)


def test_leaderboard_of_two_models() -> None:
    cut = channel("cuts", frames=np.array([241]), n_scenes=2)
    steady, broken = rollout_of("a/0", 40, 1), rollout_of("b/0", 40, 2)
    broken = dataclasses.replace(broken, channels={**broken.channels, "cuts": cut})
    quality = channel("quality", quality=4.0, aesthetic=2.0)
    steady = dataclasses.replace(steady, channels={**steady.channels, "quality": quality})
    rows = worldmark.leaderboard(worldmark.score([steady, broken]))
    assert list(rows) == ["a", "b"]
    assert list(rows["a"]) == "DA_t DA_r MP_t MP_r MS_t MS_r RL_t RL_r Local Global Rev QA_q QA_a".split()  # noqa: SIM905
    assert rows["a"]["Local"] > 90
    assert rows["b"]["Local"] == 0
    assert rows["a"]["QA_q"] == 75
    assert rows["a"]["QA_a"] == 25
    assert math.isnan(rows["a"]["Global"])
    assert math.isnan(rows["a"]["DA_r"])
    best, worst = worldmark.best_and_worst(rows)
    assert (best["Local"], worst["Local"]) == ("a", "b")
    lines = worldmark.csv_lines(rows)
    assert lines[1].startswith("a,100.0000,,")


def test_compat_reports_under_published_names_and_leaves_models_out() -> None:
    def renamed(name: str) -> Evidence:
        made = rollout_of("x/0", 40, 1)
        return dataclasses.replace(made, facts=dataclasses.replace(made.facts, model=name))

    rollouts = [renamed(name) for name in ("Genie3", "Yume", "mine")]
    assert list(worldmark.leaderboard(worldmark.score(rollouts, compat=True))) == ["Yume 1.5", "mine"]
    assert list(worldmark.leaderboard(worldmark.score(rollouts))) == ["Genie3", "Yume", "mine"]
