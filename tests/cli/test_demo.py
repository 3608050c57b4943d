# SPDX-License-Identifier: Apache-2.0
"""The demo's verdicts follow from the numbers: they can fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from wmb_fast import cli, demo, run
from wmb_fast.screen import Screen

SMALL = {"SECONDS": 5.0, "FPS": 4.0, "SIZE": (160, 96)}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> run.Outcome:
    """A smaller demo, scored."""
    out = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SMALL.items():
            patch.setattr(demo, name, value)
        demo.run_demo(out)
    scores = run.read_scorecards([out / "scores"])
    return run.Outcome(out / "scores", scores, run.boards(scores), True)


def test_each_fault_lowers_its_own_metric(outcome):
    shown = demo.compare(outcome)
    assert shown.passed
    assert {v.fault for v in shown.verdicts if v.must_fall} == set(demo.shown_faults())
    assert list(shown.cells) == list(demo.worlds())


def test_a_fault_that_lowers_nothing_fails_the_demo(outcome, capsys):
    twins = {
        s.metric: s
        for s in outcome.scores
        if s.rollout == demo.WALK and s.metric in ("local_memory", "motion_stability")
    }
    spoilt = [
        replace(s, value=twins[s.metric].value, detail=twins[s.metric].detail)
        if s.rollout in ("hard_cut", "stall") and s.metric in twins and s.value is not None
        else s
        for s in outcome.scores
    ]
    shown = demo.compare(replace(outcome, scores=spoilt))
    assert not shown.passed
    assert {v.fault for v in shown.verdicts if v.must_fall and not v.passed} == {"hard_cut", "stall"}
    Screen().demo(shown)
    assert "✗ hard_cut" in capsys.readouterr().out


def test_the_command_exits_by_the_verdicts(outcome, monkeypatch, capsys, tmp_path):
    shown = demo.compare(outcome)
    for passed, code in ((True, 0), (False, 1)):
        monkeypatch.setattr(demo, "run_demo", lambda out, watch, p=passed: replace(shown, passed=p))
        assert cli.answer(["demo", "--out", str(tmp_path)]) == code
        out = capsys.readouterr().out
        assert str(Path(outcome.out) / "scorecard.jsonl") in out
        assert "repainted_wall" in out
