# SPDX-License-Identifier: Apache-2.0
"""What a judge of Dynamic Memory is to be shown and asked, as files: for any judge, through any door.

A folder a rollout: ``prompt.txt``, and the images ``001.png``, … in their order. The judge's reply goes, as it came,
into ``<video>.judge.json`` beside the video, where scoring finds it; a judge that speaks OpenAI's chat completions is
asked here, and its reply put there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .._walls.errors import WmbError, bad_value
from ..estimators.judge import Judge
from ..evidence import external
from ..protocols import worldmembench
from ..rollout.discover import Rollout, find_rollouts
from ..rollout.pixels import Image
from ..rollout.plan import Plan
from ..rollout.png import write_png
from ..rollout.video import open_video
from . import files


@dataclass(frozen=True)
class Written:
    """One rollout: the folder that was written, and where the reply goes; or why nothing was."""

    rollout: str
    folder: Path | None
    reply: Path
    problem: str = ""


def write_prompts(
    paths: Sequence[str | os.PathLike[str]],
    *,
    out: str | os.PathLike[str],
    plan: str | None = None,
    template: str | os.PathLike[str] | None = None,
    judge: Judge | None = None,
) -> list[Written]:
    """Writes prompt and images of every rollout that has a checklist, and asks a judge where there is one.

    Args:
        paths: Videos, folders of them, or manifests; ``<video>.checklist.json`` beside each.
        out: The folder to write.
        plan: A plan file, or the name of a plan, for the rollouts that do not bring their own.
        template: A file with the prompt's wording, in place of our own; see
            :func:`wmb_fast.protocols.worldmembench.judge_prompt` for its fields.
        judge: Asked for each rollout that has no reply yet; its reply is written where scoring finds it.

    Returns:
        One entry a rollout. A rollout without a checklist, whose checklist or video cannot be used, or whose judge does
        not answer, says so; the next call goes on with those.

    Raises:
        ArgumentError: No rollout, a template that cannot be read or has another field, a folder that cannot be written.
    """
    wording = None if template is None else _read(Path(template))
    if wording is not None:  # a bad template is told before any work
        nothing = worldmembench.Ranges(None, (), (), None, None)
        worldmembench.judge_prompt(worldmembench.Checklist(()), nothing, 0, template=wording)
    rollouts = find_rollouts(paths, plan=plan)
    target = files.writable_folder("out", Path(out))
    return [_written(rollout, target, wording, judge) for rollout in rollouts]


def _read(template: Path) -> str:
    try:
        return template.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise bad_value("prompt", "prompt", "be a text file that can be read", f"{template} ({error})") from error


def _written(rollout: Rollout, out: Path, wording: str | None, judge: Judge | None) -> Written:
    video = rollout.video_path
    reply = video.parent / f"{video.name if video.is_dir() else video.stem}.judge.json"
    folder = None
    try:
        prompt, images = _question(rollout, wording)
        folder = _write(files.writable_folder("out", out / files.safe_name(rollout.id)), prompt, images)
        if judge is not None and not reply.exists():
            files.write(reply, judge.ask(prompt, images))
        return Written(rollout.id, folder, reply)
    except WmbError as error:
        return Written(rollout.id, folder, reply, str(error))


def _question(rollout: Rollout, wording: str | None) -> tuple[str, list[Image]]:
    """The words, and the images that go with them."""
    checklist = checklist_beside(rollout)
    if checklist is None:
        raise bad_value("prompt", "rollout", "have a checklist beside its video", f"none for {rollout.id}")
    video = open_video(rollout.video_path, fps=rollout.fps)
    words = question(checklist, rollout.plan, video.n_frames, wording)
    return words, [image for _, image in video.some(worldmembench.judged_frames(video.n_frames))]


def checklist_beside(rollout: Rollout) -> worldmembench.Checklist | None:
    """The questions that lie beside a video.

    Raises:
        FileFormatError: A file that cannot be read.
        ArgumentError: Questions that are none.
    """
    path = external.find(rollout.video_path, rollout.id, "checklist", None)
    if path is None:
        return None
    return checklist_in(path)


def checklist_in(path: Path) -> worldmembench.Checklist:
    """The questions of a file.

    Raises:
        FileFormatError: It cannot be read.
        ArgumentError: Questions that are none.
    """
    return worldmembench.checklist_of(external.read(path, "checklist", 0).values["document"])


def question(checklist: worldmembench.Checklist, plan: Plan | None, n_frames: int, wording: str | None = None) -> str:
    """What a judge is asked of a rollout of so many frames, which is shown as ``judged_frames`` says.

    Raises:
        ArgumentError: A plan that does not lead back to where it began, or none.
    """
    course = None if plan is None else worldmembench.course_of(plan, n_frames)
    if course is None:
        raise bad_value("prompt", "plan", "lead back to where it began", "none that does")
    frames = worldmembench.judged_frames(n_frames)
    ranges = worldmembench.phase_ranges(course, frames)
    return worldmembench.judge_prompt(checklist, ranges, len(frames), template=wording)


def _write(folder: Path, prompt: str, images: Sequence[Image]) -> Path:
    files.write(folder / "prompt.txt", prompt)
    for number, image in enumerate(images, start=1):
        write_png(folder / f"{number:03d}.png", image)
    return folder
