# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share: one spelling, one help text, one way to be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def named(text: str) -> Path:
    """A path that was named: an empty name would be the current folder."""
    if not text:
        raise typer.BadParameter("must be a path, got ''")
    return Path(text)


Ask = Annotated[str | None, typer.Option(metavar="URL", help="A judge's OpenAI-compatible endpoint: http://…/v1.")]
JudgeName = Annotated[str | None, typer.Option(metavar="MODEL", help="The model to ask for there.")]
Out = Annotated[Path, typer.Option("--out", "-o", parser=named, metavar="PATH", help="The folder to write.")]
Plan = Annotated[str | None, typer.Option(help="A plan file, or a plan's name; overrides what the files say.")]
Cache = Annotated[
    Path | None,
    typer.Option(
        parser=named, metavar="PATH", help="Where evidence is kept.  [default: $WMB_FAST_HOME, or ~/.cache/wmb-fast]"
    ),
]
Estimators = Annotated[
    str, typer.Option(help="builtin, packaged, official, or role=id, separated by commas; the later wins.")
]
Device = Annotated[str, typer.Option(help="Where networks run: cpu or cuda.")]
