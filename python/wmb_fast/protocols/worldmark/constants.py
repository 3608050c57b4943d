# SPDX-License-Identifier: Apache-2.0
"""Every constant of WorldMark, with its row of the paper's Table 7 (arXiv 2604.21686v2).

The 17 that enter a score, and that its Table 9 moves one at a time, are :class:`Thresholds`; the others only prepare
data. Lengths in time are in seconds. The published evaluator holds them as numbers of samples at 16 frames a second;
where its number is not the table's seconds, the seconds that give its number are taken, and the table's stand beside.
"""

from __future__ import annotations

from dataclasses import dataclass

# The fifteen action sequences by number, a key a segment.
SEQUENCES = {
    **{1: "W", 2: "S", 3: "A", 4: "D", 5: "R"},
    **{6: "WS", 7: "LR", 8: "AD", 9: "WR", 10: "SL"},
    **{11: "WSW", 12: "LRL", 13: "WRW", 14: "ADA", 15: "WRS"},
}

COMPAT_FPS = 16  # not in Table 7: the rate the evaluator takes every video to have

SLOWEST_FPS, FASTEST_FPS = 1, 240  # ours: a rate beyond these is an error of the file's

# (shared)
FLOW_STRIDE = 2  # flow frame stride
FLOW_GRID = (640, 432)  # frame resize: width, height
TRIM_BEFORE_SWITCH_S = 1.0  # segment edge trim, pre
TRIM_AFTER_SWITCH_S = 3.0  # segment edge trim, post
PARALLAX_STRIDE_S = 1.0  # parallax sampling
PARALLAX_SPREAD_PERCENTILES = (5, 95)  # inverse-depth span
PARALLAX_CLIP_PERCENTILES = (1, 99)  # point clip
PARALLAX_SPAN = (0.25, 0.9)  # not in Table 7: the part of a segment that is sampled
PARALLAX_EVERY = 6  # not in Table 7: every sixth pixel of a depth map
PARALLAX_NEAREST = 1e-3  # not in Table 7: depths below it count as it
PARALLAX_FEWEST_FRAMES = 3  # not in Table 7
SPLIT_EPSILON = 1e-6  # not in Table 7
RATIO_EPSILON = 1e-9  # not in Table 7
FEWEST_SAMPLES = 3  # not in Table 7: of a window that is scored
NO_MOTION = 1e-6  # not in Table 7: flow, in pixels, that is none

# Local Memory
LOCAL_STEP_S = 0.5  # sampling step: the flow of half a second
LOCAL_FEWEST_FRAMES = 5  # frozen threshold
SCENE_THRESHOLD = 0.5  # TransNetV2 scene thr
SPIKE_DEVIATIONS = 2.5  # not in Table 7: inferred, any factor from 2.24 to 2.79 gives the known numbers
LOCAL_SMALLEST_STEP = 1.0  # ours: a sampling step is at least one pixel of flow, below it flow is noise

# Revisit Memory
PAIRS_PER_REVERSAL = 10  # pairs
FEWEST_SECONDS_BETWEEN = 2.0  # min pair gap
ARC_TOLERANCE_PX = 30.0  # arc tolerance, translation
ARC_TOLERANCE_DEG = 3.0  # arc tolerance, rotation
FIELD_OF_VIEW_DEG = 70.0  # nominal FOV
SMALLEST_TURN_DEG = 15.0  # rotation magnitude gate
LOWEST_TURN_DEG = 5.0  # rotation out lower bound
DIRECTION_GATE = 0.3  # direction gate
GAIN_GATE = 0.5  # gain-symmetry gate
COVERAGE_GATE = 0.3  # coverage gate: a flag, it rejects nothing
RETURN_FACTOR = 0.2  # return-start: 20% of steady speed
RETURN_WINDOW_S = 3 / 16  # return-start: win 3
DEPTHS_TRIED = 200  # not in Table 7: where the smallest depth with a wide enough pair is looked for

# Global Memory
GLOBAL_STRIDE_S = 1.0  # sampling stride
GLOBAL_MOST_FRAMES = 64  # max frames
GLOBAL_FEWEST_FRAMES = 6  # not in Table 7: shorter videos are sampled more densely
GLOBAL_GRID = 16  # grid step
GLOBAL_OCCLUSION = (0.7, 1.4)  # occlusion band
GLOBAL_CONFIDENCE_QUANTILE = 0.3  # confidence drop
GLOBAL_FEWEST_POINTS = 5  # not in Table 7: of a pair of frames, inside and co-visible
GLOBAL_NEAREST = 1e-6  # not in Table 7: depths above it make the median depth

# Perceptual and Aesthetic Quality
QUALITY_STRIDE_S = 1.0  # frame sampling
RATING_LEVELS = 5  # rating levels: 1 (bad) to 5 (excellent)

# The report
EXCLUDED_MODELS = frozenset({"Open-Oasis", "Genie3"})
DISPLAY_NAMES = {
    "HY-World": "HY-World 1.5",
    "LingBotWorld-Fast": "LingBot-World",
    "SANA-WM-streaming": "SANA-WM",
    "Yume": "Yume 1.5",
    "Lyra-2": "Lyra 2.0",
}


@dataclass(frozen=True)
class Thresholds:
    """The 17 scoring constants, at their published values; a rollout is re-scored with others from what is cached.

    Attributes:
        mutation_distance: Local, mutation threshold: a distance above it is a mutation.
        cut_guard_s: Local, hard-cut guard: pairs so near to a cut are left out (8 frames of 16 a second).
        revisit_scale: Revisit, score scale.
        global_scale: Global, score scale.
        normal_speed_percentile: Latency, percentile: the usual speed.
        response_factor: Latency, response threshold: this share of the usual speed is a response.
        response_gate: Latency, response gate: up to this share of it is none.
        response_smoothing_s: Latency, moving-average window.
        steady_speed_percentile: Stability, speed baseline g.
        sustain_factor: Stability, sustain threshold, and where a stall begins, of g.
        stall_exit_factor: Stability, stall hysteresis, exit, of g.
        stall_s: Stability, min stall duration: 0.3 s in the table, 4 samples in the evaluator.
        stall_rate_scale: Stability, stall-rate scale, in 1/s.
        decay_window_s: Stability, decay window.
        decay_cap: Stability, decay cap.
        decay_target: Stability, decay target.
        stability_smoothing_s: Stability, smoothing window: 0.3 s in the table, 4 samples in the evaluator.
    """

    mutation_distance: float = 0.10
    cut_guard_s: float = 0.5
    revisit_scale: float = 1.0
    global_scale: float = 0.05
    normal_speed_percentile: float = 75
    response_factor: float = 0.5
    response_gate: float = 0.1
    response_smoothing_s: float = 0.5
    steady_speed_percentile: float = 70
    sustain_factor: float = 0.4
    stall_exit_factor: float = 0.5
    stall_s: float = 0.25
    stall_rate_scale: float = 0.5
    decay_window_s: float = 3.0
    decay_cap: float = 1.2
    decay_target: float = 0.7
    stability_smoothing_s: float = 0.25


PUBLISHED = Thresholds()
