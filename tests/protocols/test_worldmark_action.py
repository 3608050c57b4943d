# SPDX-License-Identifier: Apache-2.0
"""Action metrics on synthetic motion: what no vector covers, and what the default must hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wmb_fast as wmb
from wmb_fast.protocols import worldmark
from wmb_fast.protocols.record import Status

SECONDS = 20.0


def motion(fps: float, *speeds: float, stop: float | None = None) -> np.ndarray:
    """Flow over two frames of a camera that holds each speed (px/s) for 20 s; ``stop``: it stands still from there."""
    frames = np.arange(round(SECONDS * fps) * len(speeds) - 2)
    speed = np.repeat(np.asarray(speeds, dtype=float), round(SECONDS * fps))[: len(frames)]
    if stop is not None:
        speed = np.where(frames / fps >= stop, 0.0, speed)
    return speed * 2 / fps


def metrics(
    horizontal: np.ndarray, radial: np.ndarray, keys: str, fps: float = 16, **options: object
) -> worldmark.ActionMetrics:
    bounds = [round(j * SECONDS * fps) for j in range(len(keys) + 1)]
    timeline = worldmark.Timeline.of_frames(len(horizontal), fps, bounds)
    return worldmark.action_metrics(horizontal, radial, list(keys), timeline, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("fps", [8, 12, 16, 24, 30])
def test_the_same_motion_at_another_rate_scores_the_same(fps: int) -> None:
    wave = 40.0
    at_16, other = motion(16, wave, -wave), motion(fps, wave, -wave)
    base = metrics(np.zeros_like(at_16), at_16, "WS")
    here = metrics(np.zeros_like(other), other, "WS", fps)
    for j in (0, 1):
        assert here.direction_accuracy[j].value == pytest.approx(base.direction_accuracy[j].value, abs=1e-8)
        assert here.direction_purity[j].value == pytest.approx(base.direction_purity[j].value, abs=1e-8)
        assert here.motion_stability[j].value == pytest.approx(base.motion_stability[j].value, abs=0.02)
    latencies = [found.response_latency[1].detail["latency_s"] for found in (base, here)]
    assert abs(latencies[0] - latencies[1]) <= 1 / fps + 1 / 16


@pytest.mark.parametrize("n", range(0, 128))
@pytest.mark.parametrize("compat", [False, True])
def test_windows_of_any_length(n: int, compat: bool) -> None:
    signal = 1.0 + 0.5 * np.sin(np.arange(n))
    accuracy = worldmark.direction_accuracy(signal, compat=compat)
    purity = worldmark.direction_purity(np.zeros(n), signal, "fwd", compat=compat)
    stability = worldmark.motion_stability(signal, compat=compat)
    for measure in (accuracy, purity, stability):
        fewest = 4 if measure is stability and not compat else 3  # by default no filter is longer than its window
        if n < fewest:
            assert (measure.status, measure.reason) == (Status.NOT_EVALUABLE, "too_short")
        else:
            assert measure.value is not None
            assert 0 <= measure.value <= 1
            assert measure.n_used == n
    if n >= 3:
        assert accuracy.value == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize(("still", "stalls"), [(0, 0), (2, 0), (3, 0), (4, 0), (5, 1), (6, 1), (8, 1)])
def test_a_stall_still_open_at_the_end(still: int, stalls: int, compat: bool) -> None:
    """It takes four samples below .4 g; after the box of 4 the last s still samples leave s - 1 of them."""
    signal = np.ones(320)
    signal[len(signal) - still :] = 0
    assert worldmark.motion_stability(signal, compat=compat).detail["stalls"] == stalls


@pytest.mark.parametrize(("still", "stalls"), [(2, 0), (3, 1), (4, 1), (5, 1)])
def test_a_stall_that_ends_counts_with_its_last_sample(still: int, stalls: int) -> None:
    """Three still samples smooth to .5 .25 .25 .5 .75: two below .4, one not above .5, and the one that ends it."""
    signal = np.ones(320)
    signal[100 : 100 + still] = 0
    assert worldmark.motion_stability(signal).detail["stalls"] == stalls


def test_default_at_16_fps_and_equal_bounds_is_compat_unrounded() -> None:
    rng = np.random.default_rng(7)
    n = 638
    horizontal, radial = rng.normal(0.1, 0.5, n), np.where(np.arange(n) < 318, 2.0, -1.6) + rng.normal(0, 0.6, n)
    times = np.arange(n) / 16
    published = worldmark.Timeline.published(times, 2)
    own = worldmark.Timeline(times, published.bounds, 16)
    compat = worldmark.action_metrics(horizontal, radial, ["W", "S"], published, compat=True)
    default = worldmark.action_metrics(horizontal, radial, ["W", "S"], own)
    for name in ("direction_accuracy", "direction_purity", "motion_stability", "response_latency"):
        for j, measure in getattr(compat, name).items():
            assert getattr(default, name)[j].value == pytest.approx(measure.value, abs=0.0011)
            assert measure.value == round(measure.value, 3)


def test_the_published_boundary_is_the_first_sample_of_the_new_command() -> None:
    """641 frames, 639 samples: half the time of the last sample is where the flow about frame 320 stands."""
    own = worldmark.Timeline.of_frames(639, 16, (0, 320, 641))
    published = worldmark.Timeline.published(np.arange(639) / 16, 2)
    assert own.bounds == published.bounds
    for j in (0, 1):
        np.testing.assert_array_equal(own.stable(j), published.stable(j))


def test_each_fault_lowers_its_own_metric() -> None:
    good = motion(16, 40, -40)
    still = np.zeros_like(good)
    base = metrics(still, good, "WS")
    wrong = metrics(still, np.abs(good), "WS")
    assert wrong.direction_accuracy[1].value == pytest.approx(-1)
    assert wrong.direction_purity[1].value == pytest.approx(base.direction_purity[1].value)
    drifting = metrics(np.full_like(good, 5.0), good, "WS")
    assert drifting.direction_purity[0].value == pytest.approx(0.5)
    assert drifting.direction_accuracy[0].value == pytest.approx(1)
    late = good.copy()
    late[318 : 318 + 80] = 5.0  # five more seconds forward
    slow = metrics(still, late, "WS")
    assert slow.response_latency[1].value == pytest.approx(base.response_latency[1].value - 0.25, abs=0.02)
    assert slow.motion_stability[0].value == base.motion_stability[0].value
    stalled = good.copy()
    stalled[100:130] = 0
    assert metrics(still, stalled, "WS").motion_stability[0].value < base.motion_stability[0].value - 0.1
    assert metrics(still, stalled, "WS").direction_accuracy[0].value == pytest.approx(1)
    dying = good * np.exp(-np.arange(len(good)) / 80)
    assert metrics(still, dying, "WS").motion_stability[0].value < 0.4


def test_latency_of_a_step() -> None:
    times = np.arange(640) / 16
    signal = np.where(np.arange(640) >= 328, 2.0, -2.0)  # half a second after the switch at 320
    measure = worldmark.response_latency(signal, times, onset=20.0, duration=20.0, stable=times >= 23)
    assert measure.detail["latency_s"] == pytest.approx(0.5, abs=0.26)
    assert measure.value == pytest.approx(1 - measure.detail["latency_s"] / 20)


@pytest.mark.parametrize("n", range(3, 16))
@pytest.mark.parametrize("fps", [16.0, 60.0, 240.0])
def test_steady_motion_in_a_window_shorter_than_the_filter_is_not_called_unstable(n: int, fps: float) -> None:
    measure = worldmark.motion_stability(np.ones(n), fps=fps)
    if n < fps / 4:
        assert (measure.value, measure.reason) == (None, "too_short")
    else:
        assert measure.value is not None
        assert measure.value > 0.5


@pytest.mark.parametrize("n", range(3, 12))
def test_compat_has_no_latency_where_the_published_filter_is_longer_than_the_rollout(n: int) -> None:
    times = np.arange(n) / 16
    everywhere = np.ones(n, dtype=bool)
    measure = worldmark.response_latency(np.ones(n), times, onset=0.0, duration=1.0, stable=everywhere, compat=True)
    if n < 8:
        assert (measure.value, measure.reason) == (None, "too_short")
    else:
        assert measure.value is not None
        assert measure.value > 0.9
    still = worldmark.response_latency(np.zeros(n), times, onset=0.0, duration=1.0, stable=everywhere, compat=True)
    assert (still.value, still.detail["note"]) == (0.0, "no_response")


def test_a_switch_to_a_segment_of_no_length_has_no_latency() -> None:
    times, everywhere = np.arange(32) / 16, np.ones(32, dtype=bool)
    for compat in (False, True):
        measure = worldmark.response_latency(
            np.ones(32), times, onset=0.0, duration=0.0, stable=everywhere, compat=compat
        )
        assert (measure.value, measure.reason) == (None, "too_short")


def test_too_few_samples_are_missing_and_silence_is_no_response() -> None:
    short = np.ones(5)
    times = np.arange(5) / 16
    five = worldmark.response_latency(short, times, onset=0, duration=1, stable=np.ones(5, dtype=bool))
    assert (five.value, five.reason) == (None, "too_short")
    zeros, times = np.zeros(32), np.arange(32) / 16
    none = worldmark.response_latency(zeros, times, onset=0, duration=2, stable=np.ones(32, dtype=bool))
    assert (none.value, none.detail["note"]) == (0.0, "no_response")


def test_frozen_is_a_reason_and_motion_elsewhere_is_zero() -> None:
    n = 638
    frozen = metrics(np.zeros(n), np.zeros(n), "WS")
    for measure in (frozen.direction_accuracy[0], frozen.direction_purity[0], frozen.motion_stability[0]):
        assert (measure.status, measure.reason) == (Status.NOT_EVALUABLE, "no_motion")
    assert frozen.response_latency[1].detail["note"] == "no_response"
    sideways = metrics(np.full(n, 3.0), np.zeros(n), "WS")
    assert sideways.direction_accuracy[0].value == 0
    assert sideways.direction_purity[0].value == 0
    assert sideways.motion_stability[0].value == 0


def test_without_depth_sideways_direction_is_missing_and_with_it_weighted() -> None:
    n = 638
    flow = np.where(np.arange(n) < 318, 3.0, -3.0)
    blind = metrics(flow, np.zeros(n), "LR")
    for measure in (blind.direction_accuracy[0], blind.direction_purity[1]):
        assert (measure.status, measure.reason.split(":")[0]) == (Status.MISSING, "depth")
    assert blind.motion_stability[0].value is not None
    assert blind.response_latency[1].value is not None
    inverse = np.linspace(0.1, 1.0, 50)
    parallax = {0: (inverse, np.full(50, 3.0)), 1: (inverse, -2.0 * inverse)}
    seen = metrics(flow, np.zeros(n), "LR", parallax=parallax)
    assert seen.direction_accuracy[0].value == pytest.approx(1, abs=1e-6)
    assert seen.direction_purity[0].value == pytest.approx(1, abs=1e-6)
    assert seen.direction_accuracy[1].value == pytest.approx(0, abs=1e-6)


def test_one_nan_sample_makes_its_window_unusable_and_no_other() -> None:
    good = motion(16, 40, -40)
    good[100] = np.nan
    found = metrics(np.zeros_like(good), good, "WS")
    assert found.direction_accuracy[0].reason == "not_finite: 1 of 304 flow samples are not finite"
    assert found.motion_stability[0].value is None
    assert found.direction_accuracy[1].value == pytest.approx(1)
    assert found.response_latency[1].reason.startswith("not_finite")


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 400), st.floats(0.01, 100))
def test_ranges_and_units(seed: int, n: int, unit: float) -> None:
    signal = np.random.default_rng(seed).normal(0.5, 1.0, n)
    accuracy, scaled = (worldmark.direction_accuracy(signal * factor) for factor in (1.0, unit))
    assert accuracy.value is not None
    assert -1 <= accuracy.value <= 1
    assert scaled.value == pytest.approx(accuracy.value, abs=1e-6)
    stability = worldmark.motion_stability(signal)
    assert stability.value is not None
    assert 0 <= stability.value <= 1
    assert worldmark.direction_accuracy(-signal).value == pytest.approx(-accuracy.value)


def test_bad_arguments_are_one_sentence() -> None:
    timeline = worldmark.Timeline.of_frames(10, 16, (0, 12))
    with pytest.raises(wmb.ArgumentError, match=r"keys must be out of W, S, A, D, L, R and None, got 'X'"):
        worldmark.action_metrics(np.zeros(10), np.zeros(10), ["X"], timeline)
    with pytest.raises(wmb.ArgumentError, match="timeline must bound 2 segments, got 1"):
        worldmark.action_metrics(np.zeros(10), np.zeros(10), ["W", "S"], timeline)
    with pytest.raises(
        wmb.ArgumentError, match=r"horizontal and radial and times must have one shape \(N,\), got \(10,\) and \(9,\)"
    ):
        worldmark.action_metrics(np.zeros(10), np.zeros(9), ["W"], timeline)
    with pytest.raises(wmb.ArgumentError, match=r"signal must have shape \(N,\), got \(2, 5\)"):
        worldmark.motion_stability(np.zeros((2, 5)))
    with pytest.raises(wmb.ArgumentError, match="family must be one of fwd, lat, yaw, got 'roll'"):
        worldmark.direction_purity(np.ones(4), np.ones(4), "roll")
