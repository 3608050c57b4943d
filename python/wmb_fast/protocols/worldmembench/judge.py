# SPDX-License-Identifier: Apache-2.0
"""What a judge replied: validated strictly, and never guessed at.

The reply must be one JSON object with exactly the keys ``event_started`` and ``answers`` (appendix D.3, EXACT). What is
malformed is missing, with the reason; whatever can be read beside it stands. Nothing is repaired: no fences are
stripped, no prose is searched for a yes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..._walls.checks import integer
from ..._walls.errors import bad_type
from .checklist import Checklist

_KEYS = ("event_started", "answers")
_EVENT_KEYS = ("answer", "evidence_image_numbers", "reason")
_ANSWER_KEYS = ("id", *_EVENT_KEYS)
_ANSWERS = {"yes": True, "no": False}


@dataclass(frozen=True)
class Judgement:
    """What can be read of a reply.

    Attributes:
        started: The judge's word on the gate; ``None`` where there is none that can be read.
        cited: The image numbers that it cites for it.
        answers: One a question, in the checklist's order; ``None`` where there is none that can be read.
        problems: What is wrong with the reply, a token and a sentence each.
    """

    started: bool | None
    cited: tuple[int, ...]
    answers: tuple[bool | None, ...]
    problems: tuple[str, ...] = ()


class _MalformedError(Exception):
    """A part of a reply that cannot be read."""


def read_judgement(reply: str | Mapping[str, Any], checklist: Checklist, n_images: int) -> Judgement:
    """Reads a judge's reply.

    Args:
        reply: The reply's text, or its JSON already parsed.
        checklist: What was asked.
        n_images: How many images the judge was shown. Citing another number is told, and leaves the answer standing.

    Returns:
        The judgement. Prose, JSON with a wrong or repeated key, and answers that are too few, too many or in another
        order than the checklist's leave all answers missing; an answer other than yes or no, or without its fields,
        leaves that one missing.

    Source:
        WorldMemBench, appendix D.3 (EXACT); what is malformed is missing: RECONSTRUCTED.

    Example:
        >>> from wmb_fast.protocols.worldmembench import Question
        >>> asked = Checklist(tuple(Question(str(i), "final_state", "returned_view", "?", True) for i in range(8)))
        >>> found = read_judgement("The event starts.", asked, 12)
        >>> found.started, found.answers[0], found.problems
        (None, None, ('not_json: the reply is no JSON object',))
    """
    integer("read_judgement", "n_images", n_images, at_least=1)
    nothing: tuple[bool | None, ...] = (None,) * len(checklist.questions)
    try:
        document = _document(reply)
    except _MalformedError as error:
        return Judgement(None, (), nothing, (str(error),))
    problems: list[str] = []
    started: bool | None = None
    cited: tuple[int, ...] = ()
    try:
        started, cited = _said("event_started", document["event_started"], _EVENT_KEYS, n_images, problems)
    except _MalformedError as error:
        problems.append(str(error))
    try:
        answers = _answers(document["answers"], checklist, n_images, problems)
    except _MalformedError as error:
        problems.append(str(error))
        answers = nothing
    return Judgement(started, cited, answers, tuple(problems))


def _document(reply: str | Mapping[str, Any]) -> Mapping[str, Any]:
    document: Any = reply
    if isinstance(reply, str):
        try:
            document = json.loads(reply, object_pairs_hook=_once, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise _MalformedError("not_json: the reply is no JSON object") from None
    elif not isinstance(reply, Mapping):
        raise bad_type("read_judgement", "reply", "be text or a mapping", type(reply).__name__)
    if not isinstance(document, Mapping):
        raise _MalformedError("not_json: the reply is no JSON object")
    if sorted(map(str, document)) != sorted(_KEYS):
        raise _MalformedError(f"wrong_keys: the reply must have exactly the keys {' and '.join(_KEYS)}")
    return document


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    if twice:
        raise _MalformedError(f"key_twice: {twice[0]!r} stands twice in one object")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise _MalformedError(f"not_json: {name} is no JSON")


def _answers(given: Any, checklist: Checklist, n_images: int, problems: list[str]) -> tuple[bool | None, ...]:
    wanted = [question.id for question in checklist.questions]
    if not isinstance(given, list) or len(given) != len(wanted):
        got = len(given) if isinstance(given, list) else type(given).__name__
        raise _MalformedError(f"wrong_count: answers must be {len(wanted)}, got {got}")
    ids = [str(item.get("id")) if isinstance(item, Mapping) else None for item in given]
    if ids != wanted:
        what = "out_of_order" if sorted(map(str, ids)) == sorted(wanted) else "wrong_ids"
        raise _MalformedError(f"{what}: answers must have the questions' ids in their order")
    answers: list[bool | None] = []
    for name, item in zip(wanted, given, strict=True):
        try:
            answers.append(_said(f"answer {name}", item, _ANSWER_KEYS, n_images, problems)[0])
        except _MalformedError as error:
            problems.append(str(error))
            answers.append(None)
    return tuple(answers)


def _said(
    what: str, item: Any, keys: tuple[str, ...], n_images: int, problems: list[str]
) -> tuple[bool, tuple[int, ...]]:
    """A yes or no, and the images cited for it."""
    if not isinstance(item, Mapping) or sorted(map(str, item)) != sorted(keys):
        raise _MalformedError(f"wrong_keys: {what} must have exactly the keys {', '.join(keys)}")
    answer, cited = item["answer"], item["evidence_image_numbers"]
    if not isinstance(answer, str) or answer not in _ANSWERS:
        raise _MalformedError(f"not_yes_or_no: {what} must be yes or no, got {answer!r}")
    if not isinstance(cited, list) or any(isinstance(n, bool) or not isinstance(n, int) for n in cited):
        raise _MalformedError(f"wrong_evidence: {what} must cite a list of image numbers")
    if not isinstance(item["reason"], str):
        raise _MalformedError(f"wrong_reason: {what} must give a sentence")
    beyond = [n for n in cited if not 1 <= n <= n_images]
    if beyond:
        problems.append(f"no_such_image: {what} cites image {beyond[0]} of {n_images}")
    return _ANSWERS[answer], tuple(cited)
