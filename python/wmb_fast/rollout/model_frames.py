# SPDX-License-Identifier: Apache-2.0
"""How many frames WorldMark's ten models give each commanded segment, as far as it is known, and how that is known.

A model generates in chunks, so its segments are not exactly 20 s long, and the benchmark scores on the boundaries that
were realised. Many of the paper's numbers are lost in the copy at hand: what is not known is ``None``, and nothing is
guessed. Sources:

- ``paper C.1``: WorldMark (arXiv 2604.21686v2), section C.1, what survives of it.
- ``clip <id>``: frames and rate of a rollout that was published with the benchmark, from its ``annotations.json``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .plan import Plan


@dataclass(frozen=True)
class ModelFrames:
    """One model's frame arithmetic.

    Attributes:
        name: As the benchmark's tables have it.
        aliases: Other names of its folders.
        fps: Of its videos.
        segment_frames: Of each segment.
        first_segment_frames: Of the first one, where it differs.
        extra_frames: Beyond the segments, at the end of the video.
        even: Whether segments are equal shares of the video by the model's own rule.
        units: Chunks, actions or latents of a segment.
        frames_per_unit: Of each of them.
        observed: Number of segments to frames of a published rollout.
        sources: By attribute.
    """

    name: str
    aliases: tuple[str, ...] = ()
    fps: float | None = None
    segment_frames: int | None = None
    first_segment_frames: int | None = None
    extra_frames: int | None = None
    even: bool = False
    units: int | None = None
    frames_per_unit: int | None = None
    observed: Mapping[int, int] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    def boundaries(self, n_segments: int) -> tuple[int, ...] | None:
        """The first frame of each segment; ``None`` where it is not known, or follows from equal shares."""
        if self.segment_frames is None:
            return None
        first = self.first_segment_frames or self.segment_frames
        return (0, *(first + j * self.segment_frames for j in range(n_segments - 1)))

    def total(self, n_segments: int) -> int | None:
        """The frames of a whole rollout; ``None`` where it is not known."""
        starts = self.boundaries(n_segments)
        if starts is None or self.extra_frames is None or self.segment_frames is None:
            return None
        last = self.segment_frames if n_segments > 1 else self.first_segment_frames or self.segment_frames
        return starts[-1] + last + self.extra_frames


_TEN = (
    ModelFrames(
        "AlayaWorld",
        units=15,
        sources={"units": "paper C.1: fifteen chunks a segment, of four latents; their frames and rate are lost"},
    ),
    ModelFrames(
        "DreamX-World",
        even=True,
        sources={"even": "paper C.1: entries are shares of the frame budget, equal ones split the total evenly"},
    ),
    ModelFrames(
        "HY-GameCraft 1.0",
        ("HY-GameCraft", "Hunyuan-GameCraft-1.0"),
        fps=24.0,
        segment_frames=495,
        extra_frames=0,
        units=15,
        frames_per_unit=33,
        observed={3: 1485},
        sources={
            "fps": "clip m8_bad",
            "segment_frames": "clip m8_bad: 1485 frames, three segments of the same fifteen actions",
            "extra_frames": "clip m8_bad",
            "units": "paper C.1: a segment is the same action repeated fifteen times",
            "frames_per_unit": "495 / 15",
        },
    ),
    ModelFrames(
        "HY-World 1.5",
        ("HY-World",),
        units=120,
        sources={"units": "paper C.1: w-120, in latents; the frames of a latent and the rate are lost"},
    ),
    ModelFrames(
        "LingBot-World",
        ("LingBotWorld-Fast", "LingBot-World-Fast"),
        fps=16.0,
        segment_frames=320,
        extra_frames=1,
        observed={1: 321},
        sources={
            "fps": "clip m5_bad",
            "segment_frames": "paper C.1: a segment is w-320",
            "extra_frames": "clip m5_bad: 321 frames of one segment; of two and three the padding is lost",
        },
    ),
    ModelFrames(
        "Lyra 2.0",
        ("Lyra-2", "Lyra2.0"),
        fps=16.0,
        segment_frames=320,
        extra_frames=1,
        observed={2: 641},
        sources={
            "fps": "clip m6_good",
            "segment_frames": "clip m6_good: 641 frames of two segments, of the rates of LingBot-World (paper C.1)",
            "extra_frames": "clip m6_good",
        },
    ),
    ModelFrames(
        "Matrix-Game 2.0",
        ("Matrix-Game-2",),
        fps=12.0,
        observed={2: 477},
        sources={"fps": "clip m6_bad", "observed": "clip m6_bad: an odd number, which two equal segments do not give"},
    ),
    ModelFrames(
        "Matrix-Game 3.0",
        ("Matrix-Game-3",),
        fps=17.0,
        segment_frames=320,
        first_segment_frames=337,
        extra_frames=0,
        units=8,
        frames_per_unit=40,
        observed={2: 657},
        sources={
            "fps": "clip m1_good",
            "units": "paper C.1: eight chunks a segment, all alike except the first",
            "frames_per_unit": "paper C.1 and clip m1_good: 8 c / 17 = 18.8 s only for c = 40",
            "segment_frames": "8 * 40",
            "first_segment_frames": "clip m1_good: 657 - 320 = 337 frames, the paper's 19.8 s, and where the key "
            "display in its picture changes from W to S (its table says 328, half of the video)",
            "extra_frames": "clip m1_good",
        },
    ),
    ModelFrames(
        "SANA-WM",
        ("SANA-WM-streaming",),
        fps=16.0,
        segment_frames=312,
        extra_frames=0,
        observed={1: 312, 2: 624},
        sources={
            "fps": "clips m3_bad, m4_bad",
            "segment_frames": "clips m3_bad (312 frames of one segment) and m4_bad (624 of two)",
            "extra_frames": "clips m3_bad, m4_bad",
        },
    ),
    ModelFrames(
        "Yume 1.5",
        ("Yume",),
        fps=16.0,
        segment_frames=290,
        extra_frames=0,
        units=10,
        frames_per_unit=29,
        observed={2: 580},
        sources={
            "fps": "clip m1_bad",
            "segment_frames": "clip m1_bad: 580 frames of two segments of ten lines each",
            "extra_frames": "clip m1_bad",
            "units": "paper C.1: a segment is ten lines",
            "frames_per_unit": "290 / 10",
        },
    ),
)
MODELS: dict[str, ModelFrames] = {model.name: model for model in _TEN}


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


_BY_NAME = {_plain(name): model for model in _TEN for name in (model.name, *model.aliases)}


def model_frames(name: str | None) -> ModelFrames | None:
    """What is known of a model, by the name of its folder; case, hyphens, points and blanks do not matter.

    Example:
        >>> model_frames("Yume-1.5").segment_frames, model_frames("mine")
        (290, None)
    """
    return _BY_NAME.get(_plain(name)) if name else None


@dataclass(frozen=True)
class Realised:
    """A plan over a model's rollout, and how its boundaries are known."""

    plan: Plan
    how: str


def realised(plan: Plan, model: str | None, n_frames: int) -> Realised:
    """A plan with the boundaries that a model's frame arithmetic gives it in a rollout.

    Args:
        plan: A WorldMark sequence; boundaries that it has stay as they are.
        model: Whose rollout it is.
        n_frames: Of the rollout.

    Returns:
        The plan, with boundaries where they are known and the rollout has as many frames as they ask for; else as it
        is, equal shares, and the reason.

    Example:
        >>> from wmb_fast.rollout.plans import named_plan
        >>> realised(named_plan("WS"), "Matrix-Game 3.0", 657).plan.boundaries
        (0, 337)
        >>> realised(named_plan("WS"), "Matrix-Game 2.0", 477).how
        'equal shares: the segments of Matrix-Game 2.0 are not known'
    """
    if plan.boundaries is not None:
        return Realised(plan, "boundaries of its own")
    known = model_frames(model)
    if known is None or not plan.name.startswith("worldmark/"):
        return Realised(plan, "equal shares")
    if known.even:
        return Realised(plan, f"equal shares, as {known.name} has them")
    n = len(plan.steps)
    starts, total = known.boundaries(n), known.total(n)
    if starts is None:
        return Realised(plan, f"equal shares: the segments of {known.name} are not known")
    if n_frames != total:
        return Realised(plan, f"equal shares: {known.name} gives {n} segments {total} frames, not {n_frames}")
    return Realised(plan.realised(starts), f"frame arithmetic of {known.name}")
