# SPDX-License-Identifier: Apache-2.0
"""The commands of ``wmb-fast``. Each only reads its arguments, calls the floor below and shows what comes back."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from . import board, run
from ._walls.checks import one_of
from ._walls.errors import bad_value
from .estimators.judge import Judge
from .evidence_commands import app as evidence
from .models_commands import app as models
from .options import Ask, Cache, Device, Estimators, JudgeName, Out, Plan, named
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

app.add_typer(models, name="models")
app.add_typer(evidence, name="evidence")


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False) -> None:
    """The memory of video world models, measured fast and the same way every time."""
    if show:
        print(f"wmb-fast {run.version()}")
        raise typer.Exit


@app.command()
def score(
    paths: Annotated[
        list[Path],
        typer.Argument(parser=named, metavar="PATH...", help="Videos, folders of videos or of frames, or manifests."),
    ],
    protocol: Annotated[
        list[str], typer.Option(help="Protocols, separated by commas: worldmark, r2m, worldmembench, opis.")
    ],
    plan: Plan = None,
    out: Out = Path("out"),
    compat: Annotated[bool, typer.Option("--compat", help="The published evaluator's numbers, bugs included.")] = False,
    require_official: Annotated[
        bool, typer.Option("--require-official", help="Give no number that a proxy estimator made.")
    ] = False,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="PROTOCOL.OPTION=VALUE", help="What a protocol leaves open; may stand more than once."),
    ] = None,
    engine: Annotated[str, typer.Option(help="local; this version has no other.")] = "local",
    shard: Annotated[str | None, typer.Option(help="i/n: every n-th rollout from the i-th on.")] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Rollouts at a time; changes no result.  [default: all cores]")
    ] = None,
    cache: Cache = None,
    estimators: Estimators = "builtin",
    device: Device = "cpu",
    ask: Ask = None,
    judge: JudgeName = None,
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
            options=option or (),
            jobs=jobs,
            shard=_shard(shard),
            cache=cache,
            engine=engine,
            estimators=estimators,
            device=device,
            judge=_judge(ask, judge),
            watch=watch,
        )
    screen.outcome(outcome)
    return DONE if outcome.complete else INCOMPLETE


def _judge(ask: str | None, model: str | None) -> Judge | None:
    if (ask is None) != (model is None):
        raise bad_value("judge", "call", "have both --ask URL and --judge MODEL", "one of them")
    return None if ask is None else Judge(ask, model or "")


@app.command("pairs")
def pairs_(
    paths: Annotated[list[Path], typer.Argument(help="Videos, folders of videos or of frames, or manifests.")],
    plan: Plan = None,
    out: Out = Path("pairs"),
    compat: Annotated[bool, typer.Option("--compat", help="The published sampler, frame for frame.")] = False,
    cache: Cache = None,
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
    out: Annotated[list[Path], typer.Argument(parser=named, metavar="PATH...", help="Run folders.")],
    compare: Annotated[tuple[str, str] | None, typer.Option(help="Two models, paired on the cases both have.")] = None,
    by: Annotated[
        str | None, typer.Option("--by", help="Parts apart: split or tier, and what changes from first to last.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of tables.")] = False,
) -> int:
    """Print the leaderboard of one or more run folders, or two models against each other."""
    if compare is not None and by is not None:
        raise bad_value("board", "--by", "stand without --compare", repr(by))
    scores = run.displayed(run.read_scorecards(out))
    if by is not None:
        parts = run.grouped(scores, by)
        if as_json:
            plain = {name: board.grouped_json(tables, labels) for name, labels, tables in parts}
            print(json.dumps(plain, allow_nan=False, ensure_ascii=False, indent=1))
        else:
            print("\n".join(board.grouped_markdown(tables, labels) for _, labels, tables in parts), end="")
        return DONE
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


@app.command()
def verify(
    out: Annotated[Path, typer.Argument(help="A run folder.")],
    given: Annotated[
        list[Path] | None, typer.Option("--from", help="Where the videos are now.  [default: where they were]")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Rollouts at a time.  [default: all cores]")] = None,
) -> int:
    """Make a run's evidence and scores again, from the videos on, and compare them with what it says."""
    screen = Screen()
    with screen.progress() as watch:
        found = run.verify(out, paths=given or (), jobs=jobs, watch=watch)
    for one in found.differences:
        print(f"differs  {one.rollout}  {one.what}: recorded {one.recorded}, found {one.found}")
    counted = f"{found.rollouts} rollouts, {found.channels} channels of evidence, {found.records} records"
    differ = len(found.differences)
    print(f"verified  {counted}: {differ or 'no'} difference{'' if differ == 1 else 's'}")
    return INCOMPLETE if found.differences else DONE


@app.command()
def prompt(
    paths: Annotated[list[Path], typer.Argument(help="Videos, folders of videos, or manifests.")],
    template: Annotated[
        Path | None, typer.Option("--prompt", help="A file with the prompt's wording.  [default: our own]")
    ] = None,
    plan: Plan = None,
    out: Out = Path("prompts"),
    ask: Ask = None,
    judge: JudgeName = None,
) -> int:
    """Write what a judge of Dynamic Memory is shown and asked: images and prompt, a folder a rollout; or ask one."""
    written = run.write_prompts(paths, out=out, plan=plan, template=template, judge=_judge(ask, judge))
    for one in written:
        if one.problem:
            print(f"{'not asked' if one.folder else 'not written'}  {one.rollout}: {one.problem}")
        else:
            print(f"prompt  {one.folder}  (the reply {'is in' if one.reply.exists() else 'goes into'} {one.reply})")
    return INCOMPLETE if any(one.problem for one in written) else DONE


@app.command()
def sweep(
    out: Annotated[list[Path], typer.Argument(help="Run folders; sweep.json and sweep.md are written to the first.")],
) -> int:
    """Move each scoring constant alone, score again from what a run has kept, and say what happens to the order."""
    started = time.perf_counter()
    found = run.sweep(out)
    Screen().sweep(found, time.perf_counter() - started, out[0])
    return DONE


@app.command()
def caches(
    paths: Annotated[list[Path], typer.Argument(help="Videos, folders of them, manifests, or flow caches.")],
    out: Out,
    plan: Plan = None,
    cache: Cache = None,
) -> int:
    """Write WorldMark's own flow caches, <model>__<image>_<action>.npz, which score reads too."""
    written, refused = run.write_caches(paths, out=out, plan=plan, cache=cache)
    for path in written:
        print(path)
    for rollout, reason in refused.items():
        print(f"{rollout}: {reason}", file=sys.stderr)
    return INCOMPLETE if refused else DONE


_FAULT_HELP = (
    "NAME=STRENGTH, or NAME alone for its usual strength. "
    "Names: slow_response, wrong_direction, stall, hard_cut, repainted_wall, displaced_wall, squashed_box, "
    "retextured_box, missing_box."
)


@app.command()
def world(
    plan: Annotated[str, typer.Argument(help="A plan's name, for example worldmark/06, or a plan file.")],
    out: Out,
    fault: Annotated[list[str] | None, typer.Option(help=_FAULT_HELP)] = None,
    seed: Annotated[int, typer.Option(help="Another seed is another room.")] = 0,
    fps: Annotated[float, typer.Option(help="Frames a second.")] = 16.0,
    seconds: Annotated[float, typer.Option(help="What a step of the plan lasts.")] = 20.0,
    size: Annotated[str, typer.Option(help="WIDTHxHEIGHT in pixels.")] = "320x192",
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Hand in exact cameras, depth, masks and objects beside the video.")
    ] = False,
) -> int:
    """Render the known-answer world along a plan, with faults to order."""
    from .rollout.planfile import plan_of
    from .world import render_world, save_world

    made = render_world(
        plan_of(plan), faults=_faults(fault or []), seed=seed, fps=fps, seconds_per_step=seconds, size=_size(size)
    )
    print(f"world  {save_world(made, out)}")
    for path in run.hand_in(made, out / "video.mp4") if evidence else ():
        print(f"exact  {path}")
    return DONE


def _faults(texts: list[str]) -> dict[str, float]:
    from .world import FAULTS

    faults: dict[str, float] = {}
    for text in texts:
        name, equals, strength = text.partition("=")
        one_of("world", "fault", name, FAULTS)
        if name in faults:
            raise bad_value("world", "fault", "be given once each", f"{name} twice")
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
    cache: Annotated[
        Path | None, typer.Option(parser=named, metavar="PATH", help="The cache folder to look at.")
    ] = None,
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
