# SPDX-License-Identifier: Apache-2.0
"""The commands of ``wmb-fast evidence``: files that are handed in, looked at before a run; and files of ours."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ._walls.errors import ArgumentError, FileFormatError, WmbError
from .evidence.inspect import inspect
from .evidence.write import write
from .options import Cache, Device, Estimators, Out
from .run import prompts

DONE, INCOMPLETE = 0, 1

app = typer.Typer(
    help="Evidence as files: check what is handed in, make what an estimator can.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def group() -> None:
    """Evidence as files."""


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(help="Files of one channel each: <video>.<channel>.npz.")],
    channel: Annotated[str | None, typer.Option(help="The channel.  [default: as the name says]")] = None,
    frames: Annotated[int | None, typer.Option(help="Frames of the rollout.  [default: of the video beside]")] = None,
) -> int:
    """Say what is wrong with a file, or what a run would take from it."""
    failed = 0
    for file in files:
        try:
            found = inspect(file, channel=channel, n_frames=frames)
            if found.channel == "checklist":
                _must_be_questions(file)
        except WmbError as error:
            print(error, file=sys.stderr)
            failed += 1
            continue
        print(f"{file}: {found.channel} by {found.estimator}, {found.fingerprint}, fits {found.n_frames} frames")
        for name, text in (*found.values.items(), *((f"origin {k}", str(v)) for k, v in found.origin.items())):
            print(f"  {name}  {text}")
    return INCOMPLETE if failed else DONE


def _must_be_questions(file: Path) -> None:
    """A run takes whatever JSON there is, and the protocol says what is wrong with it; here it is said before."""
    try:
        prompts.checklist_in(file)
    except ArgumentError as error:
        raise FileFormatError(f"{file.name}: {error}") from error


@app.command()
def make(
    videos: Annotated[list[Path], typer.Argument(help="Videos, or folders of frames.")],
    channel: Annotated[str, typer.Option(help="Channels, separated by commas: flow, cuts, features, points, …")],
    out: Out,
    estimators: Estimators = "builtin",
    device: Device = "cpu",
    cache: Cache = None,
) -> int:
    """Write what an estimator makes of every frame, <video>.<channel>.npz; a proxy's file says that it is one."""
    names = [name.strip() for name in channel.split(",") if name.strip()]
    made = write(videos, names, out=out, estimators=estimators, device=device, cache=cache)
    for one in made:
        print(one.path or f"{one.video}: no {one.channel}: {one.problem}", file=None if one.path else sys.stderr)
    return INCOMPLETE if any(one.problem for one in made) else DONE
