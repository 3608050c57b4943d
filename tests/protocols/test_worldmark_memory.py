# SPDX-License-Identifier: Apache-2.0
"""Local and Revisit memory on synthetic motion and features."""

from __future__ import annotations

import numpy as np
import pytest
from synthetic import drifting, places, round_trip

import wmb_fast as wmb
from wmb_fast.protocols import worldmark
from wmb_fast.protocols.record import Status

NO_CUTS = worldmark.Cuts((), 1, False)


def local(features: np.ndarray, speed: float = 2.0, fps: float = 16, **options: object) -> worldmark.Measure:
    n = len(features)
    flow = np.full(n - 2, speed)
    settings: dict[str, object] = {"cuts": NO_CUTS, "n_frames": n, "fps": fps} | options
    cuts = settings.pop("cuts")
    return worldmark.local_memory(flow, np.zeros(n - 2), np.arange(n), features, cuts, **settings)  # type: ignore[arg-type]


def test_a_smooth_rollout_scores_100_and_samples_each_half_second() -> None:
    measure = local(drifting(321))
    assert measure.value == 100
    assert np.diff(measure.detail["frames"]).tolist() == [8] * (len(measure.detail["frames"]) - 1)
    assert measure.n_used == measure.n_total == len(measure.detail["frames"]) - 1


@pytest.mark.parametrize("fps", [8, 24, 30])
def test_the_step_is_half_a_second_at_any_rate(fps: int) -> None:
    n = 20 * fps + 1
    measure = local(drifting(n), speed=32.0 / fps, fps=fps)
    base = local(drifting(321), speed=2.0, fps=16)
    assert measure.detail["step_px"] == pytest.approx(base.detail["step_px"])
    seconds = np.array(measure.detail["frames"]) / fps
    np.testing.assert_allclose(np.diff(seconds), 0.5, atol=1 / fps)


def test_jumps_of_appearance_lower_it_and_are_counted() -> None:
    features = drifting(321)
    features[100:] = drifting(321, seed=1)[100:]
    features[200:] = drifting(321, seed=2)[200:]
    measure = local(features)
    assert measure.detail["mutations"] == 2
    assert measure.value == pytest.approx(100 * (1 - 2 / measure.n_total))


def test_a_hard_cut_makes_it_zero_and_its_pairs_are_left_out() -> None:
    features = drifting(321)
    features[241:] = drifting(321, seed=1)[241:]
    measure = local(features, cuts=worldmark.Cuts((241,), 2, True))
    assert measure.value == 0
    assert measure.detail["mutation_rate"] == 0
    assert measure.n_used < measure.n_total


@pytest.mark.parametrize("speed", [0.0, 1e-8, 0.01])
def test_a_frozen_rollout_has_no_score(speed: float) -> None:
    measure = local(drifting(321), speed=speed)
    assert (measure.value, measure.status, measure.reason) == (None, Status.NOT_EVALUABLE, "frozen")


def test_what_is_not_there_is_said() -> None:
    features = drifting(321)
    no_detector = local(features, cuts=worldmark.Cuts((), 0, None))
    assert (no_detector.status, no_detector.reason) == (Status.MISSING, "cuts: no detector ran")
    assert local(features, cuts=worldmark.Cuts((), 0, None), compat=True).value == 100
    flow = np.full(319, 2.0)
    few = worldmark.local_memory(flow, flow, np.arange(100), features[:100], NO_CUTS, n_frames=321)
    assert few.status is Status.MISSING
    assert few.reason.startswith("features: ")
    flow[7] = np.nan
    assert local_of(flow, features).reason == "not_finite: 1 of 319 flow samples are not finite"


def local_of(flow: np.ndarray, features: np.ndarray) -> worldmark.Measure:
    return worldmark.local_memory(flow, 0 * flow, np.arange(len(features)), features, NO_CUTS, n_frames=len(features))


def test_features_that_are_not_finite_leave_their_pairs_out() -> None:
    features = drifting(321)
    features[local(features).detail["frames"][5]] = np.nan
    measure = local(features)
    assert measure.value == 100
    assert measure.n_used == measure.n_total - 2
    features[:] = np.nan
    assert local(features).reason == "not_finite: no distance is finite"


def revisit(
    signal: np.ndarray, features: np.ndarray, keys: str = "LR", fps: float = 16, width: float = 640, **options: object
) -> worldmark.Measure:
    n = len(signal)
    other = np.zeros(n)
    flow = (other, signal) if keys[0] in "WS" else (signal, other)
    bounds = [round(j * n / len(keys)) for j in range(len(keys) + 1)]
    turns = worldmark.reversals(*flow, list(keys), bounds, fps=fps, width=width, **options)  # type: ignore[arg-type]
    family = {"W": "fwd", "A": "lat", "L": "yaw"}[keys[0]]
    return worldmark.revisit_memory(
        turns,
        np.arange(n + 2),
        features,
        n_frames=n + 2,
        family=family,
        width=width,
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("keys", ["WS", "AD", "LR"])
def test_a_world_that_is_remembered_scores_near_100(keys: str) -> None:
    measure = revisit(round_trip(), places(640), keys)
    assert measure.value > 99
    assert len(measure.detail["pairs"]) == 10
    assert all(j - i >= 32 for i, j in measure.detail["pairs"])
    forgotten = revisit(round_trip(), np.concatenate([places(640)[:320], drifting(640, seed=3)[320:]]), keys)
    assert forgotten.value < 70


@pytest.mark.parametrize("fps", [8, 12, 24])
def test_another_frame_rate_pairs_the_same_places(fps: int) -> None:
    base, here = revisit(round_trip(), places(640)), revisit(round_trip(fps), places(40 * fps), fps=fps)
    depth = [[j - i for i, j in m.detail["pairs"]] for m in (base, here)]
    np.testing.assert_allclose(np.array(depth[1]) / fps, np.array(depth[0]) / 16, atol=0.3)
    assert here.detail["reversals"][0]["path_out_px"] == pytest.approx(
        base.detail["reversals"][0]["path_out_px"], rel=0.02
    )


def test_the_width_of_the_video_does_not_count_by_default() -> None:
    """20 degrees on the 640 grid, of a video 1400 wide: the published tolerance takes it for 9."""
    slow = round_trip(speed=640 / 70 * 20 / 20 / 2)
    published = revisit(slow, places(640), width=1400, compat=True)
    assert published.reason == "undershoot"
    assert revisit(slow, places(640)).value > 99


def test_gates_are_reasons() -> None:
    features = places(640)
    signal = round_trip()
    assert revisit(np.abs(signal), features).reason == "dir"
    assert revisit(np.where(signal < 0, 0.4 * signal, signal), features).reason == "gain"
    assert revisit(0.05 * signal, features).reason == "undershoot"
    assert revisit(np.zeros_like(signal), features).reason == "dir"
    broken = signal.copy()
    broken[50] = np.nan
    assert revisit(broken, features).reason.startswith("not_finite: 1 of")
    assert revisit(signal[300:340], features[:42]).reason == "too_short"
    features[10:630] = np.nan
    assert revisit(signal, features).reason.startswith("not_finite: ")


def test_a_pause_before_the_return_is_not_paired() -> None:
    measure = revisit(round_trip(pause=3.0), places(640))
    start = measure.detail["reversals"][0]["return_start"]
    assert 320 + 3 * 16 - 4 <= start <= 320 + 3 * 16
    assert min(j for _, j in measure.detail["pairs"]) >= start


def test_features_needed_are_exactly_those_of_the_pairs() -> None:
    signal = round_trip()
    turns = worldmark.reversals(signal, 0 * signal, ["L", "R"], (0, 319, 638))
    frames = worldmark.revisit_frames(turns)
    rows = places(640)[frames]
    some = worldmark.revisit_memory(turns, np.array(frames), rows, n_frames=640, family="yaw")
    every = worldmark.revisit_memory(turns, np.arange(640), places(640), n_frames=640, family="yaw")
    assert some == every
    lacking = worldmark.revisit_memory(turns, np.array(frames[:-1]), rows[:-1], n_frames=640, family="yaw")
    assert (lacking.status, lacking.reason) == (Status.MISSING, "features: 1 of 20 paired frames have none")


def test_which_sequences_are_round_trips() -> None:
    found = {number for number, keys in worldmark.SEQUENCES.items() if worldmark.is_round_trip(list(keys))}
    assert found == {6, 7, 8, 11, 12, 14}
    assert not worldmark.is_round_trip(["L", None, "R"])
    with pytest.raises(wmb.ArgumentError, match="keys must be a round trip, each undoing the one before, got WR"):
        worldmark.reversals(np.zeros(9), np.zeros(9), ["W", "R"], (0, 4, 9))


def test_cuts_of_logits() -> None:
    logits = np.full(60, -5.0)
    logits[[0, 1, 20, 21, 40, 59]] = 5.0
    assert worldmark.cuts_from_logits(logits) == worldmark.Cuts((22, 41), 3, True)
    assert worldmark.cuts_from_logits(np.full(9, 5.0)) == worldmark.Cuts((), 1, False)
    assert worldmark.cuts_from_logits([]).hard_cut is None
