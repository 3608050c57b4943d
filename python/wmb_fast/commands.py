# SPDX-License-Identifier: Apache-2.0
"""The commands of ``wmb-fast``. Each only reads its arguments, calls the floor below and shows what comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from . import board, run
from ._walls.checks import one_of
from ._walls.errors import bad_value
from .screen import Screen

Abort = typer.Abort
DONE, INCOMPLETE = 0, 1

app = typer.Typer(
    help="The memory of video world models, measured fast and the same way every time.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Out = Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")]


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False) -> None:
    """The memory of video world models, measured fast and the same way every time."""
    if show:
        print(f"wmb-fast {run.version()}")
        raise typer.Exit


@app.command()
def score(
    paths: Annotated[list[Path], typer.Argument(help="Videos, folders of videos or of frames, or manifests.")],
    protocol: Annotated[list[str], typer.Option(help="Protocols, separated by commas: worldmark, r2m.")],
    plan: Annotated[
        str | None, typer.Option(help="A plan file, or a plan's name; overrides what the files say.")
    ] = None,
    out: Out = Path("out"),
    compat: Annotated[bool, typer.Option("--compat", help="The published evaluator's numbers, bugs included.")] = False,
    require_official: Annotated[
        bool, typer.Option("--require-official", help="Give no number that a proxy estimator made.")
    ] = False,
    engine: Annotated[str, typer.Option(help="local; this version has no other.")] = "local",
    shard: Annotated[str | None, typer.Option(help="i/n: every n-th rollout from the i-th on.")] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Rollouts at a time; changes no result.  [default: all cores]")
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="Where evidence is kept.  [default: ~/.cache/wmb-fast]")] = None,
) -> int:
    """Score rollouts, and write scorecard.jsonl, board.json, board.md and run.json."""
    screen = Screen()
    names = [name.strip() for text in protocol for name in text.split(",") if name.strip()]
    with screen.progress() as watch:
        outcome = run.score(
            paths,
            names,
            out=out,
            plan=plan,
            compat=compat,
            require_official=require_official,
            jobs=jobs,
            shard=_shard(shard),
            cache=cache,
            engine=engine,
            watch=watch,
        )
    screen.outcome(outcome)
    return DONE if outcome.complete else INCOMPLETE


@app.command("pairs")
def pairs_(
    paths: Annotated[list[Path], typer.Argument(help="Videos, folders of videos or of frames, or manifests.")],
    plan: Annotated[str | None, typer.Option(help="A plan file, or a plan's name.")] = None,
    out: Out = Path("pairs"),
    compat: Annotated[bool, typer.Option("--compat", help="The published sampler, frame for frame.")] = False,
    cache: Annotated[Path | None, typer.Option(help="Where evidence is kept.  [default: ~/.cache/wmb-fast]")] = None,
) -> int:
    """Write the pairs of frames that R2M-Bench judges rollouts by, for metrics that are computed elsewhere."""
    told = run.pairs(paths, out=out, plan=plan, compat=compat, cache=cache)
    for rollout, reason in told.items():
        print(f"{rollout}  {reason or 'written'}")
    print(f"pairs  {out}")
    return INCOMPLETE if any(told.values()) else DONE


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    i, slash, n = text.partition("/")
    if not (slash and i.isdecimal() and n.isdecimal()):
        raise bad_value("score", "shard", "be i/n, for example 1/4", repr(text))
    return int(i), int(n)


@app.command("board")
def board_(
    out: Annotated[list[Path], typer.Argument(help="Run folders.")],
    compare: Annotated[tuple[str, str] | None, typer.Option(help="Two models, paired on the cases both have.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of tables.")] = False,
) -> int:
    """Print the leaderboard of one or more run folders, or two models against each other."""
    scores = run.read_scorecards(out)
    tables = run.boards(scores)
    if compare is None:
        print(board.to_json(tables) if as_json else board.to_markdown(tables), end="")
        return DONE
    pairs = [
        board.compare([s for s in scores if s.protocol == table.protocol], table.columns, *compare) for table in tables
    ]
    if as_json:
        print(
            json.dumps([board.comparison_json(pair) for pair in pairs], allow_nan=False, ensure_ascii=False, indent=1)
        )
    else:
        print("\n".join(map(board.comparison_markdown, pairs)), end="")
    return DONE


_FAULT_HELP = (
    "NAME=STRENGTH, or NAME alone for its usual strength. "
    "Names: slow_response, wrong_direction, stall, hard_cut, repainted_wall."
)


@app.command()
def world(
    plan: Annotated[str, typer.Argument(help="A plan's name, for example worldmark/06, or a plan file.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")],
    fault: Annotated[list[str] | None, typer.Option(help=_FAULT_HELP)] = None,
    seed: Annotated[int, typer.Option(help="Another seed is another room.")] = 0,
    fps: Annotated[float, typer.Option(help="Frames a second.")] = 16.0,
    seconds: Annotated[float, typer.Option(help="What a step of the plan lasts.")] = 20.0,
    size: Annotated[str, typer.Option(help="WIDTHxHEIGHT in pixels.")] = "320x192",
) -> int:
    """Render the known-answer world along a plan, with faults to order."""
    from .world import build

    written = build(plan, _faults(fault or []), out, seed=seed, fps=fps, seconds=seconds, size=_size(size))
    print(f"world  {written}")
    return DONE


def _faults(texts: list[str]) -> dict[str, float]:
    from .world import FAULTS

    faults = {}
    for text in texts:
        name, equals, strength = text.partition("=")
        one_of("world", "fault", name, FAULTS)
        try:
            faults[name] = float(strength) if equals else FAULTS[name].default
        except ValueError:
            raise bad_value("world", f"fault {name}", "have a number for its strength", repr(strength)) from None
    return faults


def _size(text: str) -> tuple[int, int]:
    width, cross, height = text.partition("x")
    if not (cross and width.isdecimal() and height.isdecimal()):
        raise bad_value("world", "size", "be WIDTHxHEIGHT, for example 320x192", repr(text))
    return int(width), int(height)


@app.command()
def doctor(
    check: Annotated[bool, typer.Option("--check", help="Also test the parts against known answers.")] = False,
    cache: Annotated[Path | None, typer.Option(help="The cache folder to look at.")] = None,
) -> int:
    """Say what this installation has, and whether it works."""
    from . import doctor as examine

    findings = examine.findings(cache)
    checks = examine.checks() if check else []
    Screen().doctor(findings, checks)
    return DONE if all(c.passed for c in checks) and not any(f.wrong for f in findings) else INCOMPLETE


@app.command()
def demo(out: Out = Path("out/demo")) -> int:
    """Render good and faulty worlds, score them, and show that each fault lowers its own metric."""
    from . import demo as show

    screen = Screen()
    with screen.progress() as watch:
        shown = show.run_demo(out, watch)
    screen.demo(shown)
    return DONE if shown.passed else INCOMPLETE
