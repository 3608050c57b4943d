# SPDX-License-Identifier: Apache-2.0
"""The commands of ``wmb-fast evidence``: files that are handed in, looked at before a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ._walls.errors import WmbError
from .evidence.inspect import inspect

DONE, INCOMPLETE = 0, 1

app = typer.Typer(help="Evidence that is handed in: check.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def group() -> None:
    """Evidence that is handed in."""


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
        except WmbError as error:
            print(error, file=sys.stderr)
            failed += 1
            continue
        print(f"{file}: {found.channel} by {found.estimator}, {found.fingerprint}, fits {found.n_frames} frames")
        for name, text in (*found.values.items(), *((f"origin {k}", str(v)) for k, v in found.origin.items())):
            print(f"  {name}  {text}")
    return INCOMPLETE if failed else DONE
