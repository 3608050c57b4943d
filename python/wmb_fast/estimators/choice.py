# SPDX-License-Identifier: Apache-2.0
"""Which estimator makes what in a run. The default never depends on what happens to be installed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .._walls.errors import bad_value
from .registry import BUILTIN, ON_REQUEST, PACKAGED, Estimator
from .session import CPU, CUDA

DEVICES = {"cpu": CPU, "cuda": CUDA}
TIERS: Mapping[str, Mapping[str, Estimator]] = {"builtin": BUILTIN, "packaged": {**BUILTIN, **PACKAGED}}
DEFAULT = "builtin"
_EVERY = (BUILTIN, ON_REQUEST, PACKAGED)


def chosen(said: str = DEFAULT, device: str = "cpu") -> dict[str, Estimator]:
    """The estimators of a run, by role.

    Args:
        said: Separated by commas: a tier, ``builtin`` or ``packaged`` (whose roles without a network keep the builtin
            estimator), or ``role=id``. What stands later wins; a tier replaces all that stands before it.
        device: ``cpu`` or ``cuda``: where networks run.

    Returns:
        One a role.

    Raises:
        ArgumentError: An unknown tier, role, estimator or device.
        AbsentModelError: A network that is not on this machine; the message names the command that brings it.
        BackendError: CUDA, and onnxruntime does not run on it here.
        MissingExtraError: onnxruntime is not installed.

    Example:
        >>> {role: entry.id for role, entry in chosen("builtin").items() if role in ("flow", "cuts")}
        {'flow': 'opencv-dis', 'cuts': 'motion-compensated-cuts'}
    """
    if device not in DEVICES:
        raise bad_value("score", "device", "be " + " or ".join(DEVICES), repr(device))
    found = dict(BUILTIN)
    for word in filter(None, map(str.strip, said.split(","))):
        role, equals, name = word.partition("=")
        found = {**found, role: _named(role, name)} if equals else dict(_tier(word))
    made = {
        role: replace(entry, provider=DEVICES[device]) if entry.networks else entry for role, entry in found.items()
    }
    for entry in made.values():
        if entry.networks:  # whether they run is told before any work
            entry.fingerprint(entry.settings(None))
    return made


def spelt(estimators: Mapping[str, Estimator]) -> str:
    """The same choice in full, for ``run.json``."""
    return ",".join(f"{role}={entry.id}" for role, entry in sorted(estimators.items()))


def _tier(word: str) -> Mapping[str, Estimator]:
    if word not in TIERS:
        raise bad_value("score", "estimators", "name tiers (builtin, packaged) or have the form role=id", repr(word))
    return TIERS[word]


def _named(role: str, name: str) -> Estimator:
    every = [tier[role] for tier in _EVERY if role in tier]
    if not every:
        roles = ", ".join(sorted({role for tier in _EVERY for role in tier}))
        raise bad_value("score", "estimators", f"name a role that has estimators ({roles})", repr(role))
    for entry in every:
        if entry.id == name:
            return entry
    raise bad_value("score", f"estimator of {role}", "be " + " or ".join(e.id for e in every), repr(name))
