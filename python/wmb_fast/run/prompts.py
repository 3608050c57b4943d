# SPDX-License-Identifier: Apache-2.0
"""What a judge of Dynamic Memory is to be shown and asked, as files: for any judge, through any door.

A folder a rollout: ``prompt.txt``, and the images ``001.png``, … in their order. The judge's reply goes, as it came,
into ``<video>.judge.json`` beside the video, where scoring finds it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .._walls.errors import WmbError, bad_value
from ..evidence import external
from ..protocols import worldmembench
from ..rollout.discover import Rollout, find_rollouts
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
) -> list[Written]:
    """Writes prompt and images of every rollout that has a checklist.

    Args:
        paths: Videos, folders of them, or manifests; ``<video>.checklist.json`` beside each.
        out: The folder to write.
        plan: A plan file, or the name of a plan, for the rollouts that do not bring their own.
        template: A file with the prompt's wording, in place of our own; see
            :func:`wmb_fast.protocols.worldmembench.judge_prompt` for its fields.

    Returns:
        One entry a rollout. A rollout without a checklist, or whose checklist or video cannot be used, says so.

    Raises:
        ArgumentError: No rollout, a template that cannot be read or has another field, a folder that cannot be written.
    """
    wording = None if template is None else _read(Path(template))
    if wording is not None:  # a bad template is told before any work
        nothing = worldmembench.Ranges(None, (), (), None, None)
        worldmembench.judge_prompt(worldmembench.Checklist(()), nothing, 0, template=wording)
    rollouts = find_rollouts(paths, plan=plan)
    target = files.writable_folder("out", Path(out))
    return [_written(rollout, target, wording) for rollout in rollouts]


def _read(template: Path) -> str:
    try:
        return template.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise bad_value("prompt", "prompt", "be a text file that can be read", f"{template} ({error})") from error


def _written(rollout: Rollout, out: Path, wording: str | None) -> Written:
    video = rollout.video_path
    reply = video.parent / f"{video.name if video.is_dir() else video.stem}.judge.json"
    try:
        return Written(rollout.id, _write(rollout, out, wording), reply)
    except WmbError as error:
        return Written(rollout.id, None, reply, str(error))


def _write(rollout: Rollout, out: Path, wording: str | None) -> Path:
    path = external.find(rollout.video_path, rollout.id, "checklist", None)
    if path is None:
        raise bad_value("prompt", "rollout", "have a checklist beside its video", f"none for {rollout.id}")
    video = open_video(rollout.video_path, fps=rollout.fps)
    checklist = worldmembench.checklist_of(external.read(path, "checklist", video.n_frames).values["document"])
    course = None if rollout.plan is None else worldmembench.course_of(rollout.plan, video.n_frames)
    if course is None:
        raise bad_value("prompt", "plan", "lead back to where it began", "none that does")
    frames = worldmembench.judged_frames(video.n_frames)
    ranges = worldmembench.phase_ranges(course, frames)
    folder = files.writable_folder("out", out / files.safe_name(rollout.id))
    files.write(folder / "prompt.txt", worldmembench.judge_prompt(checklist, ranges, len(frames), template=wording))
    for number, (_, image) in enumerate(video.some(frames), start=1):
        write_png(folder / f"{number:03d}.png", image)
    return folder
