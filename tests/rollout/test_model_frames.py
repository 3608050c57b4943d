# SPDX-License-Identifier: Apache-2.0
"""The ten models' frame arithmetic: every number has a source, what is observed comes out, the rest is not known."""

from __future__ import annotations

import csv
import json
from dataclasses import fields
from pathlib import Path

import pytest

from wmb_fast.rollout.model_frames import MODELS, model_frames, realised
from wmb_fast.rollout.plan import Plan
from wmb_fast.rollout.plans import WORLDMARK, named_plan


def test_every_number_has_a_source_and_no_source_stands_alone() -> None:
    for model in MODELS.values():
        known = {f.name for f in fields(model) if f.name not in ("name", "aliases", "observed", "sources")}
        given = {name for name in known if getattr(model, name) is not None and getattr(model, name) is not False}
        assert given <= set(model.sources), model.name
        assert set(model.sources) - given <= {"observed"}, model.name
        if model.units and model.frames_per_unit and model.segment_frames:
            assert model.units * model.frames_per_unit == model.segment_frames
        for n, total in model.observed.items():
            if model.segment_frames:
                assert model.total(n) == total


def test_the_models_are_those_of_the_tables(shared: Path) -> None:
    with open(shared / "data" / "stats" / "worldmark_fp-real.csv", newline="") as file:
        assert [line[0] for line in csv.reader(file)][3:] == list(MODELS)


def test_the_published_clips_are_as_the_arithmetic_has_them(shared: Path) -> None:
    clips = json.loads((shared / "data" / "rollouts" / "worldmark" / "annotations.json").read_text())
    assert len(clips) == 8
    for clip in clips.values():
        model = MODELS[clip["model"]]
        assert model.fps == clip["fps"]
        assert model.observed[len(clip["command"])] == clip["frames"]
        laid = realised(named_plan(clip["command"]), clip["model"], clip["frames"])
        assert laid.how.startswith("frame arithmetic") == (model.segment_frames is not None)


def test_matrix_game_3_is_its_papers_seconds() -> None:
    """19.8 s, then 18.8 s; the zoom of its published clip turns at frame 336."""
    model = MODELS["Matrix-Game 3.0"]
    assert round(model.first_segment_frames / model.fps, 1) == 19.8
    assert round(model.segment_frames / model.fps, 1) == 18.8
    assert realised(named_plan("WS"), "Matrix-Game 3.0", 657).plan.boundaries == (0, 337)


@pytest.mark.parametrize("keys", WORLDMARK)
@pytest.mark.parametrize("name", MODELS)
def test_all_plans_lie_over_a_rollout_of_any_model(keys: str, name: str) -> None:
    plan, model = named_plan(keys), MODELS[name]
    n = model.total(len(keys)) or 480 * len(keys) + 3
    laid = realised(plan, name, n)
    spans = laid.plan.lay(n).steps
    assert len(spans) == len(keys)
    assert (spans[0].start, spans[-1].stop) == (0, n)
    assert laid.how
    off = realised(plan, name, n + 5)
    assert off.plan == plan
    assert off.how.startswith("equal shares")


def test_boundaries_of_its_own_and_other_models_stay() -> None:
    own = named_plan("WS").realised([0, 100])
    assert realised(own, "SANA-WM", 624) == realised(own, None, 624)
    assert realised(own, "SANA-WM", 624).plan.boundaries == (0, 100)
    assert realised(named_plan("WS"), "mine", 624).plan.boundaries is None
    assert realised(named_plan("lrlr"), "SANA-WM", 624).plan.boundaries is None
    mine = Plan("mine", named_plan("WS").steps)
    assert realised(mine, "SANA-WM", 624).plan == mine


def test_folders_are_known_by_any_of_their_names() -> None:
    for name in ("SANA-WM-streaming", "sana-wm", "HY-World", "LingBotWorld-Fast", "Lyra-2", "Yume", "Matrix-Game-3.0"):
        assert model_frames(name) is not None
    assert model_frames("") is None
    assert model_frames(None) is None
