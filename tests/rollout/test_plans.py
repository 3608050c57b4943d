# SPDX-License-Identifier: Apache-2.0
"""Plans: the published sequences, laying them over a video, their files."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from wmb_fast import ArgumentError, FileFormatError
from wmb_fast.rollout.plan import Action, Phase, Plan, Span, Step
from wmb_fast.rollout.planfile import plan_of, read_plan, write_plan
from wmb_fast.rollout.plans import KEYS, named_plan, plan_from_filename, plan_names, plan_of_keys


def test_worldmark_sequences_are_those_of_the_action_protocol(shared: Path) -> None:
    text = (shared / "data" / "rollouts" / "worldmark_inputs" / "action_protocol.txt").read_text()
    rows = [line.split(":", 1) for line in text.splitlines() if line[:2].strip().isdigit()]
    assert [int(number) for number, _ in rows] == list(range(1, 16))
    for number, rest in rows:
        keys, words = rest.split("(")[0].strip(), rest.split("(")[1].rstrip(")").split(" -> ")
        plan = named_plan(f"worldmark/{number.strip()}")
        assert plan == named_plan(keys)
        assert plan.actions == tuple(KEYS[key] for key in keys)
        said = {
            "forward": "W",
            "back": "S",
            "strafe left": "A",
            "strafe right": "D",
            "turn left": "L",
            "turn right": "R",
        }
        assert [said[word.replace("-", " ")] for word in words] == list(keys)
        assert plan.phases == ()


@pytest.mark.parametrize(
    ("name", "actions", "phases"),
    [
        ("translate_square", "hold forward strafe_right back strafe_left", "V D1:1-4 R1:4-5"),
        ("lrlr", "hold turn_left turn_right turn_left turn_right", "V D1:1-2 R1:2-3 D2:3-4 R2:4-5"),
        ("lrlrlr", "hold" + " turn_left turn_right" * 3, "V D1:1-2 R1:2-3 D2:3-4 R2:4-5 D3:5-6 R3:6-7"),
        ("lrud", "hold turn_left turn_right look_up look_down", "V D1:1-2 R1:2-3 D2:3-4 R2:4-5"),
        ("lr_hold", "hold turn_left turn_right hold", "V D1:1-2 R1:2-3 final:3-4"),
    ],
)
def test_worldmembench_plans(name: str, actions: str, phases: str) -> None:
    plan = named_plan(name)
    assert plan == named_plan(f"worldmembench/{name}")
    assert [action.value for action in plan.actions] == actions.split()
    written = [f"{p.name}:{p.first}-{p.stop}" if p.name != "V" else "V" for p in plan.phases]
    assert written == phases.split()
    assert plan.phases[0] == Phase("V", 0, 1)


def test_names_as_people_write_them() -> None:
    for written, name in (
        ("LRLR", "lrlr"),
        ("LR-hold", "lr_hold"),
        ("ws", "WS"),
        ("Translate Square", "translate_square"),
    ):
        assert named_plan(written) == named_plan(name)


def test_every_phase_covers_frames_once() -> None:
    for name in plan_names():
        laid = named_plan(name).lay(481)
        assert laid.steps[0].start == 0
        assert laid.steps[-1].stop == 481
        if laid.phases:
            spans = list(laid.phases.values())
            assert [s.start for s in spans[1:]] == [s.stop for s in spans[:-1]]
            assert (spans[0].start, spans[-1].stop) == (0, 481)


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(ArgumentError, match=r"named_plan: name must be one of worldmark/1 to .* got 'worldmark/16'"):
        named_plan("worldmark/16")
    for name in ("", "worldmark/0", "worldmark/", "WSD", "lrlrl"):
        with pytest.raises(ArgumentError, match="worldmembench/lr_hold"):
            named_plan(name)
    with pytest.raises(ArgumentError, match="plan_of_keys: keys must be some of W, S, A, D, L, R, got 'WX'"):
        plan_of_keys("p", "WX")


@pytest.mark.parametrize(
    "name",
    [
        "x/016_000.mp4",
        "x/016_016.mp4",
        "016_014.mp4",
        "x/16_14.mp4",
        "x/m1_good.mp4",
        "a/b/spin/case_1/video.mp4",
        "video.mp4",
    ],
)
def test_names_that_fit_no_layout(name: str) -> None:
    assert plan_from_filename(name) is None


def test_names_that_fit() -> None:
    named = plan_from_filename(Path("/data/first_view/real/HY-World/000_015.mp4"))
    assert named is not None
    assert (named.model, named.case, named.plan) == ("HY-World", "000_015", named_plan("WRS"))
    named = plan_from_filename("object/yume/translate_square/case_001/video.mp4")
    assert named is not None
    assert (named.model, named.plan) == ("yume", named_plan("translate_square"))
    held = plan_from_filename("dynamic_memory/yume/lr_hold_sym_0p5dpf/case_001/video.mp4")
    assert held is not None
    assert held.plan.phases[-1].name == "final"


def test_laying_by_shares_is_exact() -> None:
    steps = tuple(Step(Action.FORWARD, Fraction(1, 10)) for _ in range(10))
    assert [span.stop for span in Plan("tenths", steps).lay(30).steps] == list(range(3, 31, 3))
    assert named_plan("ADA").lay(1485).steps == (Span(0, 495), Span(495, 990), Span(990, 1485))
    assert named_plan("WS").lay(657).steps == (Span(0, 328), Span(328, 657))


def test_realised_boundaries_win() -> None:
    plan = named_plan("WS")
    assert plan.realised([0, 328, 650]).lay(657).steps == (Span(0, 328), Span(328, 650))
    assert plan.realised([5, 328]).lay(657).steps == (Span(5, 328), Span(328, 657))
    with pytest.raises(ArgumentError, match="lay: plan must end within the video's 600 frames, got frame 650"):
        plan.realised([0, 328, 650]).lay(600)
    with pytest.raises(ArgumentError, match="lay: plan must end within the video's 300 frames, got frame 329"):
        plan.realised([0, 328]).lay(300)
    with pytest.raises(ArgumentError, match="lay: plan must have no more steps than the video's 1 frames, got 2"):
        plan.lay(1)


@pytest.mark.parametrize("boundaries", [[328], [0, 328, 657, 700], [0, 0, 5], [3, 2], [-1, 4]])
def test_boundaries_that_cannot_be(boundaries: list[int]) -> None:
    with pytest.raises(ArgumentError, match="Plan: boundaries must"):
        named_plan("WS").realised(boundaries)


def test_plans_that_cannot_be() -> None:
    step = Step(Action.HOLD)
    with pytest.raises(ArgumentError, match="Plan: steps must hold at least one step, got none"):
        Plan("p", ())
    with pytest.raises(ArgumentError, match=r"Plan: steps\[0\] must have a share above 0, got 0"):
        Plan("p", (Step(Action.HOLD, Fraction(0)),))
    with pytest.raises(ArgumentError, match=r"Plan: phase V must cover some of the 1 steps, got \[0, 2\)"):
        Plan("p", (step,), (Phase("V", 0, 2),))
    with pytest.raises(ArgumentError, match="Plan: phases must have names of their own, got 'V' twice"):
        Plan("p", (step,), (Phase("V", 0, 1), Phase("V", 0, 1)))


@pytest.mark.parametrize("ending", ["json", "yaml", "yml"])
def test_plan_files_round_trip(tmp_path: Path, ending: str) -> None:
    odd = Plan(
        "odd", (Step(Action.HOLD, Fraction(1, 3)), Step(Action.LOOK_UP, Fraction(7))), (Phase("V", 0, 1),), (0, 4, 90)
    )
    for plan in (odd, *map(named_plan, plan_names())):
        file = tmp_path / f"p.{ending}"
        write_plan(file, plan)
        assert read_plan(file) == plan


def test_plan_files_as_people_write_them(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "steps:\n  - hold\n  - {action: turn_left, share: 2}\n  - {action: turn_right, share: 3/2}\n"
        "  - {action: hold, share: 0.1}\nphases:\n  V: [0, 1]\n  D1: [1, 2]\n"
    )
    plan = read_plan(file)
    assert plan.name == "mine"
    assert [step.share for step in plan.steps] == [1, 2, Fraction(3, 2), Fraction(1, 10)]
    assert plan.phases == (Phase("V", 0, 1), Phase("D1", 1, 2))
    file.write_text("keys: WSW\nboundaries: [0, 10, 20]\n")
    assert plan_of("mine.yaml", tmp_path) == Plan("mine", named_plan("WSW").steps, (), (0, 10, 20))
    file.write_text("like: lr_hold\n")
    assert plan_of(str(file)) == named_plan("lr_hold")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "step: [hold]",
            "a plan must have no keys but name, steps, keys, like, phases, boundaries, degrees_per_frame, "
            "distance_per_frame, got 'step'",
        ),
        ("name: x", "a plan must have one of steps, keys and like, got none"),
        ("keys: W\nlike: lrlr", "a plan must have one of steps, keys and like, got keys and like"),
        ("steps: [jump]", r"steps\[0\].action must be one of forward, .* hold, got 'jump'"),
        ("steps: [{action: hold, shares: 2}]", r"steps\[0\] must have no keys but action, share, got 'shares'"),
        (
            "steps: [{action: hold, share: much}]",
            r"steps\[0\].share must be a number or a fraction like 3/2, got 'much'",
        ),
        ("steps: [{action: hold, share: true}]", r"steps\[0\].share must be a number or a fraction like 3/2, got True"),
        (
            "steps: [{action: hold, share: -1}]",
            r"a plan must be possible, got Plan: steps\[0\] must have a share above 0",
        ),
        ("steps: hold", "steps must be a list, got 'hold'"),
        ("steps: []", "a plan must be possible, got Plan: steps must hold at least one step, got none"),
        ("keys: WX", "a plan must be possible, got plan_of_keys: keys must be some of"),
        ("like: nothing", "a plan must be possible, got named_plan: name must be one of"),
        ("keys: W\nphases: {V: [0, 2]}", "a plan must be possible, got Plan: phase V must cover some of the 1 steps"),
        ("keys: W\nphases: {V: [0]}", r"phases.V must be \[first, stop\], got \[0\]"),
        ("keys: W\nphases: [V]", r"phases must be a mapping of names to \[first, stop\], got \['V'\]"),
        ("keys: W\nboundaries: [0, x]", r"boundaries must be a list of whole numbers, got \[0, 'x'\]"),
        ("keys: W\nkeys: S", "key 'keys' must stand once, got it twice"),
        ("- hold", "a plan must be a mapping of keys to values, got list"),
        ("", "a plan must be a mapping of keys to values, got NoneType"),
        ("keys: [W", "file must be YAML, got expected ',' or ']'"),
    ],
)
def test_plan_files_with_something_wrong(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(FileFormatError, match=f"^read_plan: {sentence}.*mine.yaml$"):
        read_plan(file)


def test_plan_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="read_plan: file must be readable text, got"):
        read_plan(tmp_path / "none.json")
    (tmp_path / "twice.json").write_text('{"keys": "W", "keys": "S"}')
    with pytest.raises(FileFormatError, match="key 'keys' must stand once"):
        read_plan(tmp_path / "twice.json")
    (tmp_path / "half.json").write_text('{"keys": ')
    with pytest.raises(FileFormatError, match="read_plan: file must be JSON, got Expecting value in line 1"):
        read_plan(tmp_path / "half.json")
    with pytest.raises(FileFormatError, match=r"write_plan: file name must end in .json, .yaml or .yml, got 'p.txt'"):
        write_plan(tmp_path / "p.txt", named_plan("W"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("deep.json", "[" * 100_000),
        ("long.json", '{"steps": ["forward"], "boundaries": [' + "9" * 5000 + "]}"),
        ("half.json", '{"steps": ["forward"], "name": "\\ud800"}'),
        ("key.yaml", "? [a]\n: b\n"),
        ("month.yaml", "steps: [forward]\nname: 2020-13-45\n"),
        ("number.yaml", "steps: !!int abc\n"),
        ("deep.yaml", "steps: " + "[" * 3000),
        ("share.yaml", "steps: [{action: forward, share: 1e999999999}]\n"),
    ],
)
def test_files_that_break_their_parsers_are_refused_in_one_sentence(tmp_path, name, text):
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(FileFormatError, match=f"^read_plan: .* must .*{name}$"):
        read_plan(file)


def test_a_key_twice_is_told_once(tmp_path):
    file = tmp_path / "twice.yaml"
    file.write_text("name: a\nname: b\n")
    with pytest.raises(FileFormatError, match=r"^read_plan: key 'name' must stand once, got it twice: [^:]*$"):
        read_plan(file)


@pytest.mark.parametrize("ending", [".json", ".yaml"])
def test_rates_are_written_and_read(tmp_path: Path, ending: str) -> None:
    plan = replace(named_plan("lrud"), degrees_per_frame=0.5, distance_per_frame=0.02)
    write_plan(tmp_path / f"p{ending}", plan)
    assert read_plan(tmp_path / f"p{ending}") == plan


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("like: lrlr\ndegrees_per_frame: fast", "degrees_per_frame must be a number, got 'fast'"),
        ("like: lrlr\ndegrees_per_frame: true", "degrees_per_frame must be a number, got True"),
        ("like: lrlr\ndistance_per_frame: 0", "Plan: distance_per_frame must be above 0, got 0"),
        ("like: lrlr\ndegrees_per_frame: .inf", "Plan: degrees_per_frame must be finite, got inf"),
    ],
)
def test_rates_that_cannot_be(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(FileFormatError, match=sentence):
        read_plan(tmp_path / "p.yaml")
