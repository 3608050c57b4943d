# SPDX-License-Identifier: Apache-2.0
"""The command ``wmb-fast``: its exit codes, and how it says what is wrong with a call.

0: done. 1: something could not be scored: a rollout or an estimator failed, a proxy was refused, a rollout has no value
at all; what and why is printed, the rest is written. A metric whose evidence nobody has (depth, say) is told, and is no
failure. Also 1: whoever read the output left before its end. 2: the call was wrong; one sentence on stderr. 130:
interrupted; what is finished is kept.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from ._walls.errors import WmbError
from ._walls.ext import optional

UNREAD, WRONG_CALL, INTERRUPTED = 1, 2, 130  # 0 and 1 are what commands return too


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and leaves with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a terminal cannot show is spelled out
    try:
        code = answer(sys.argv[1:] if arguments is None else list(arguments))
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more on its way out
        code = UNREAD
    sys.exit(code)


def answer(arguments: list[str]) -> int:
    """Runs one call and returns its exit code."""
    try:
        for package in ("typer", "rich"):
            optional(package, "score", "wmb-fast")
        from .commands import Abort, app

        try:
            code = int(app(args=arguments, prog_name="wmb-fast", standalone_mode=False) or 0)
        except (KeyboardInterrupt, Abort):
            code = INTERRUPTED
        return _interrupted() if code == INTERRUPTED else code
    except WmbError as error:
        return _wrong(str(error))
    except Exception as error:
        # What typer raises about arguments has a message of its own; its class moved between versions.
        if hasattr(error, "format_message"):
            return _wrong(f"wmb-fast: {error.format_message()}")
        raise


def _interrupted() -> NoReturn:
    print("wmb-fast: interrupted; the same command goes on from what is finished.", file=sys.stderr, flush=True)
    os._exit(INTERRUPTED)  # threads at work on a video would keep the process until they are done with it


def _wrong(sentence: str) -> int:
    print(" ".join(sentence.split()), file=sys.stderr)
    return WRONG_CALL
