# SPDX-License-Identifier: Apache-2.0
"""Dynamic Memory: what the judge is shown, what it may reply, and what becomes of a reply of another form."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import pytest

from wmb_fast import ArgumentError, ArgumentTypeError
from wmb_fast.protocols import worldmembench as wb
from wmb_fast.protocols.record import Status
from wmb_fast.rollout.plan import Plan
from wmb_fast.rollout.plans import named_plan

CATEGORIES = ("Return Progress", "Persistence / Reset", "final_state", "Causal / Physics")


def items(**changes: Any) -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{i}",
            "category": CATEGORIES[i // 2],
            "evidence_window": "returned_view",
            "question": f"Is {i} so?",
            "answer": "yes" if i % 3 else "no",
            **changes,
        }
        for i in range(8)
    ]


CHECKLIST = wb.checklist_of(items())
ANSWERS = tuple(question.answer for question in CHECKLIST.questions)


def said(answer: str = "yes", **changes: Any) -> dict[str, Any]:
    return {"answer": answer, "evidence_image_numbers": [1, 2], "reason": "It is seen.", **changes}


def reply(event: Any = None, answers: Any = None, **more: Any) -> dict[str, Any]:
    right = [{"id": q.id, **said("yes" if q.answer else "no")} for q in CHECKLIST.questions]
    return {"event_started": event or said(), "answers": right if answers is None else answers, **more}


def scored(given: Any, **options: Any) -> wb.DynamicMemory:
    text = given if isinstance(given, str) else json.dumps(given)
    return wb.dynamic_memory(wb.read_judgement(text, CHECKLIST, 20), CHECKLIST, **options)


def test_frames_and_phases_of_a_published_length() -> None:
    """D.1: stride 8, first and last always; D.3: inclusive ranges of image numbers from 1, without holes."""
    frames = wb.judged_frames(493)
    assert frames[:3] == (0, 8, 16)
    assert frames[-2:] == (488, 492)
    course = wb.course_of(named_plan("LR-hold"), 493)
    assert course is not None
    ranges = wb.phase_ranges(course, frames)
    spans = [ranges.initial_hold, *ranges.departures, *ranges.revisits, ranges.final_stationary]
    assert spans[0][0] == 1
    assert spans[-1][1] == len(frames) == 63
    assert all(b[0] == a[1] + 1 for a, b in itertools.pairwise(spans))
    assert list(ranges.planned()) == ["initial_hold", "departures", "revisits", "final_stationary"]


def test_a_phase_without_an_image_is_none() -> None:
    course = wb.course_of(named_plan("lr_hold"), 12)
    assert course is not None
    ranges = wb.phase_ranges(course, wb.judged_frames(12))
    assert None in (ranges.initial_hold, *ranges.departures, *ranges.revisits)


def test_all_right_is_one_and_each_question_counts_an_eighth() -> None:
    assert scored(reply()).overall.value == 1
    wrong = reply()
    wrong["answers"][7]["answer"] = "no" if ANSWERS[7] else "yes"
    found = scored(wrong)
    assert found.overall.value == 0.875
    assert {a: m.value for a, m in found.aspects.items()} == {
        "return_progress": 1, "persistence_reset": 1, "final_state": 1, "causal_physical": 0.5,
    }  # fmt: skip


def test_the_gate_alone_decides() -> None:
    found = scored(reply(said("no", evidence_image_numbers=[])))
    assert (found.overall.value, found.started.value) == (0, 0)
    assert [m.value for m in found.aspects.values()] == [0, 0, 0, 0]
    # A yes that cites nothing is a yes, unless two cited images are asked for.
    lone = reply(said("yes", evidence_image_numbers=[1]))
    assert scored(lone).overall.value == 1
    course = wb.course_of(named_plan("lr_hold"), 153)
    assert course is not None
    ranges = wb.phase_ranges(course, wb.judged_frames(153))
    assert scored(lone, fewest_cited=2, ranges=ranges).overall.value == 0
    assert scored(reply(), fewest_cited=2, ranges=ranges).overall.value == 1
    late = reply(said("yes", evidence_image_numbers=[1, 15]))
    assert scored(late, fewest_cited=2, ranges=ranges).overall.value == 0
    with pytest.raises(ArgumentError, match="dynamic_memory: ranges must be given with fewest_cited, got None"):
        scored(lone, fewest_cited=2)


WHOLE = [
    ("prose", "The event clearly starts, so yes.", "not_json"),
    ("empty", "", "not_json"),
    ("fenced", "```json\n" + json.dumps(reply()) + "\n```", "not_json"),
    ("a list", "[]", "not_json"),
    ("NaN", json.dumps({"event_started": math.nan, "answers": []}), "not_json"),
    ("another key", json.dumps(reply(notes="")), "wrong_keys"),
    ("a key twice", json.dumps(reply())[:-1] + ', "answers": []}', "key_twice"),
    ("cut short", json.dumps(reply())[:-20], "not_json"),
]


@pytest.mark.parametrize(("text", "token"), [case[1:] for case in WHOLE], ids=[case[0] for case in WHOLE])
def test_replies_that_are_no_reply_are_missing(text: str, token: str) -> None:
    found = scored(text)
    assert (found.overall.value, found.overall.status) == (None, Status.MISSING)
    assert found.overall.reason.startswith(token)
    assert found.n_missing == 8
    zero = scored(text, missing_answer="zero")
    assert (zero.overall.value, zero.started.value, zero.n_missing) == (0, 0, 8)


def _without(answers: list[dict[str, Any]], i: int) -> list[dict[str, Any]]:
    return answers[:i] + answers[i + 1 :]


LISTS = [
    ("seven", lambda a: _without(a, 3), "wrong_count"),
    ("nine", lambda a: [*a, a[0]], "wrong_count"),
    ("out of order", lambda a: a[::-1], "out_of_order"),
    ("an id twice", lambda a: [a[0], *a[:7]], "wrong_ids"),
    ("a mapping", lambda a: {x["id"]: x for x in a}, "wrong_count"),
]


@pytest.mark.parametrize(("change", "token"), [case[1:] for case in LISTS], ids=[case[0] for case in LISTS])
def test_lists_of_answers_that_are_not_the_questions(change, token: str) -> None:
    found = scored(reply(answers=change(reply()["answers"])))
    assert found.started.value == 1  # the gate can still be read
    assert (found.overall.value, found.overall.reason.split(":")[0], found.n_missing) == (None, token, 8)
    assert scored(reply(answers=change(reply()["answers"])), missing_answer="zero").overall.value == 0


SINGLE = [
    ("maybe", {"answer": "maybe"}, "not_yes_or_no"),
    ("a capital", {"answer": "Yes"}, "not_yes_or_no"),
    ("true", {"answer": True}, "not_yes_or_no"),
    ("null", {"answer": None}, "not_yes_or_no"),
    ("evidence in words", {"evidence_image_numbers": "3 and 4"}, "wrong_evidence"),
    ("evidence in text", {"evidence_image_numbers": ["3"]}, "wrong_evidence"),
    ("no reason", {"reason": None}, "wrong_reason"),
    ("one more key", {"confidence": 1}, "wrong_keys"),
]


@pytest.mark.parametrize(("change", "token"), [case[1:] for case in SINGLE], ids=[case[0] for case in SINGLE])
def test_one_answer_that_cannot_be_read_is_missing_alone(change: dict[str, Any], token: str) -> None:
    given = reply()
    given["answers"][2] |= change
    found = scored(given)
    assert found.n_missing == 1
    assert found.overall.value is None
    assert found.overall.reason.startswith(token)
    assert found.aspects["persistence_reset"].value is None
    assert found.aspects["return_progress"].value == 1
    zero = scored(given, missing_answer="zero")
    assert (zero.overall.value, zero.aspects["persistence_reset"].value, zero.n_missing) == (0.875, 0.5, 1)
    gate = scored(reply({**said(), **change}))
    assert (gate.started.value, gate.overall.value, gate.n_missing) == (None, None, 0)


def test_unread_answers_of_an_event_that_did_not_start_are_zero_and_counted() -> None:
    given = reply(said("no"))
    given["answers"][0]["answer"] = "?"
    found = scored(given)
    assert (found.overall.value, found.n_missing) == (0, 1)


def test_an_image_that_was_not_shown_is_told_and_the_answer_stands() -> None:
    given = reply()
    given["answers"][0]["evidence_image_numbers"] = [21]
    found = scored(given)
    assert found.overall.value == 1
    assert found.overall.detail["problems"] == ["no_such_image: answer q0 cites image 21 of 20"]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (items()[:7], "checklist: questions must be 8, got 7"),
        ({"question": items()}, "checklist: file must hold a list of questions, got NoneType"),
        ([*items()[:7], items()[0]], "checklist: ids must be unique, got 'q0' twice"),
        (items(category="Mood"), r"questions\[0\].category must be one of return_progress, .*, got Mood"),
        (items(category="final_state"), "questions on return_progress must be 2, got 0"),
        (items(evidence_window="sometime"), r"questions\[0\].evidence_window must be one of returned_view"),
        (items(answer="maybe"), r"questions\[0\].answer must be yes or no, got 'maybe'"),
        (items(answer=True), r"questions\[0\].answer must be yes or no, got True"),
        (items(question=" "), r"questions\[0\].question must be text, got ' '"),
        ([*items()[:7], 3], r"questions\[7\] must be a mapping, got int"),
    ],
)
def test_checklists_that_cannot_be(data: Any, sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        wb.checklist_of(data)


def test_the_prompt_holds_the_questions_and_not_the_answers() -> None:
    course = wb.course_of(named_plan("lr_hold"), 153)
    assert course is not None
    ranges = wb.phase_ranges(course, wb.judged_frames(153))
    text = wb.judge_prompt(CHECKLIST, ranges, 20)
    assert all(q.text in text and f'"{q.id}"' in text for q in CHECKLIST.questions)
    assert json.dumps(ranges.planned()) in text
    flipped = wb.checklist_of([{**item, "answer": "no" if item["answer"] == "yes" else "yes"} for item in items()])
    assert wb.judge_prompt(flipped, ranges, 20) == text
    assert wb.judge_prompt(CHECKLIST, ranges, 20, template="{{}} {n_images}: {questions}").startswith("{} 20: [{")


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ("{n_images} images", "template must have the fields .* and no others, got no {questions}"),
        ("{questions} {answers}", "got {answers}"),
        ("{questions} {", "template must have its braces in pairs"),
    ],
)
def test_templates_that_cannot_be(template: str, sentence: str) -> None:
    nothing = wb.Ranges(None, (), (), None, None)
    with pytest.raises(ArgumentError, match=sentence):
        wb.judge_prompt(CHECKLIST, nothing, 20, template=template)


def test_plans_without_a_return_have_no_course() -> None:
    assert wb.course_of(named_plan("W"), 100) is None
    mixed = wb.course_of(named_plan("WSW"), 99)
    assert mixed is not None
    assert [(r.departure.start, r.window.start) for r in mixed.revisits] == [(0, 66)]
    assert wb.course_of(named_plan("WRS"), 99) is None  # it walks back another way than it came
    half = named_plan("lrlr")
    with pytest.raises(ArgumentError, match="course_of: plan must have the phases V, D1, R1, D2, R2, got no D2"):
        wb.course_of(Plan("half", half.steps, tuple(p for p in half.phases if p.name != "D2")), 100)


def test_an_id_that_no_file_can_hold_is_refused() -> None:
    given = items()
    given[0] = {**given[0], "id": "q\ud800"}  # JSON can spell half a character; UTF-8 cannot
    with pytest.raises(ArgumentError, match=r"questions\[0\].id must be text, got 'q\\ud800'"):
        wb.checklist_of(given)


def test_what_was_made_0_on_request_says_so() -> None:
    asked = wb.checklist_of(items())
    prose = wb.dynamic_memory(wb.read_judgement("It did.", asked, 12), asked, missing_answer="zero")
    for measure in (prose.started, prose.overall, *prose.aspects.values()):
        assert (measure.value, measure.status) == (0, Status.OK)
        assert measure.reason == "unread: what could not be read counts 0: not_json: the reply is no JSON object"
    said = reply()
    said["answers"][0]["answer"] = "Perhaps"
    part = wb.dynamic_memory(wb.read_judgement(said, asked, 12), asked, missing_answer="zero")
    assert part.overall.value == 7 / 8
    assert part.overall.reason.startswith("unread: what could not be read counts 0: not_yes_or_no: answer q0 must be")
    aspects = {name: measure.reason.partition(":")[0] for name, measure in part.aspects.items()}
    assert sorted(aspects.values()) == ["", "", "", "unread"]


@pytest.mark.parametrize("n_images", [0, None])
def test_a_judge_is_shown_at_least_one_image(n_images) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match="read_judgement: n_images must be"):
        wb.read_judgement(reply(), wb.checklist_of(items()), n_images)
