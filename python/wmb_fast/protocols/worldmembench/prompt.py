# SPDX-License-Identifier: Apache-2.0
"""What a judge is asked, in our own words, or in the user's.

The paper's protocol (appendix D.3) fixes what the judge is told and what it must answer with; the words are ours, so
that a reply means the same. A template of the user's has the same fields in braces.
"""

from __future__ import annotations

import json
import string

from ..._walls.errors import bad_value
from .checklist import Checklist, Ranges

FIELDS = ("n_images", "phase_ranges", "comparison_ranges", "questions")

TEMPLATE = """\
You are shown {n_images} images of one video, in the order of filming, numbered from 1. The camera first holds still, \
then turns away, comes back, and holds still again. Judge what became of one event, by eight questions.

Rules of evidence
- Only what can be seen counts. What the video was meant to show is not told to you, and a question is no evidence.
- A change needs an image from before it and one from after it that differ in a way you can name. Without both, say no.
- What vanished, was replaced, or became another scene has not been completed.
- Movement of the camera, another framing or light, a pose, or another person or thing in its place is no progress.
- If you cannot make out a state, say no. Measure words of degree against the state named in the question.
- Never report a reset, a reversal or a disappearance that no image shows.

Where the camera was meant to be, as first and last image number of each phase:
{phase_ranges}
Stretches worth comparing:
{comparison_ranges}
A question's evidence_window says which images it is about:
- returned_view: the images of returned_hold, against departure_baseline where it asks for a change;
- returned_hold_sequence: what happens within returned_hold;
- returned_and_later_visible_sequence: from returned_hold to the last image;
- final_stationary_view: the images of final_stationary;
- ordered_visible_sequence: all images.

First decide whether the event that the questions are about is seen to begin during initial_hold, before the camera \
turns away. Say yes only if at least two images of initial_hold show the person or thing itself getting on with it; a \
pose, a touch, or what seems to be intended does not do. Then answer all eight questions, whatever you decided.

Questions:
{questions}

Reply with one JSON object and nothing else, with exactly these two keys:
{{"event_started": {{"answer": "yes" or "no", "evidence_image_numbers": [image numbers of initial_hold, two or more], \
"reason": "one sentence on what is seen"}},
 "answers": [eight objects in the order of the questions: {{"id": "...", "answer": "yes" or "no", \
"evidence_image_numbers": [image numbers], "reason": "one sentence on what these images show"}}]}}
"""


def judge_prompt(checklist: Checklist, ranges: Ranges, n_images: int, *, template: str | None = None) -> str:
    """The text that goes with the images to the judge. The frozen answers are not in it.

    Args:
        checklist: The questions.
        ranges: The phases as image numbers.
        n_images: How many images are shown.
        template: Text with the fields ``{n_images}``, ``{phase_ranges}``, ``{comparison_ranges}`` and ``{questions}``,
            each at most once, the last at least once; a brace of the text itself stands twice. By default our own.

    Raises:
        ArgumentError: A template with another field, or without the questions.

    Source:
        WorldMemBench, appendix D.3 (the contents EXACT, the wording ours).

    Example:
        >>> from wmb_fast.protocols.worldmembench import Question
        >>> asked = Checklist((Question("q1", "final_state", "final_stationary_view", "Is it whole?", True),))
        >>> text = judge_prompt(asked, Ranges(None, (), (), None, None), 3, template="{n_images} images: {questions}")
        >>> text[:65]
        '3 images: [{"id": "q1", "category": "final_state", "evidence_wind'
    """
    text = TEMPLATE if template is None else template
    questions = [
        {"id": q.id, "category": q.aspect, "evidence_window": q.window, "question": q.text} for q in checklist.questions
    ]
    values = {
        "n_images": str(n_images),
        "phase_ranges": json.dumps(ranges.planned()),
        "comparison_ranges": json.dumps(ranges.comparison()),
        "questions": json.dumps(questions, ensure_ascii=False),
    }
    try:
        fields = [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
    except ValueError as error:
        raise bad_value("judge_prompt", "template", "have its braces in pairs", str(error)) from None
    unknown = [name for name in fields if name not in FIELDS]
    if unknown or "questions" not in fields:
        got = f"{{{unknown[0]}}}" if unknown else "no {questions}"
        raise bad_value("judge_prompt", "template", f"have the fields {', '.join(FIELDS)} and no others", got)
    return text.format(**values)
