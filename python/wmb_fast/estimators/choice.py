# SPDX-License-Identifier: Apache-2.0
"""Which estimator makes what in a run. The default never depends on what happens to be installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from .._walls.errors import bad_value
from .catalogue import CATALOGUE
from .home import AbsentModelError, ModelHome, remedy
from .registry import BUILTIN, EVERY, OFFICIAL, PACKAGED, Estimator
from .session import CPU, CUDA

DEVICES = {"cpu": CPU, "cuda": CUDA}
TIERS: Mapping[str, Mapping[str, Estimator]] = {
    "builtin": BUILTIN,
    "packaged": {**BUILTIN, **PACKAGED},
    "official": {**BUILTIN, **OFFICIAL},
}
DEFAULT = "builtin"
_FORM = f"name tiers ({', '.join(TIERS)}) or have the form role=id"


def chosen(said: str = DEFAULT, device: str = "cpu") -> dict[str, Estimator]:
    """The estimators of a run, by role.

    Args:
        said: Separated by commas: a tier, ``builtin``, ``packaged`` or ``official`` (whose roles without a network keep
            the builtin estimator), or ``role=id``. What stands later wins; a tier replaces all that stands before it.
        device: ``cpu`` or ``cuda``: where networks run.

    Returns:
        One a role. None for a role of a tier whose network somebody has to decide on, and did not: official ones that
        were not brought, packaged ones whose licence is not clear. Their channel is missing, with the command.

    Raises:
        ArgumentError: No word, an unknown tier, role, estimator or device; or CUDA, and no estimator runs a network.
        AbsentModelError: Any other network that is not on this machine, and any that was named; the message names the
            command that brings it.
        BackendError: CUDA, and onnxruntime does not run on it here.
        MissingExtraError: onnxruntime is not installed.

    Example:
        >>> {role: entry.id for role, entry in chosen("builtin").items() if role in ("flow", "cuts")}
        {'flow': 'opencv-dis', 'cuts': 'motion-compensated-cuts'}
    """
    if device not in DEVICES:
        raise bad_value("score", "device", "be " + " or ".join(DEVICES), repr(device))
    words = [word for word in map(str.strip, said.split(",")) if word]
    if not words:
        raise bad_value("score", "estimators", _FORM, repr(said))
    found = dict(BUILTIN)
    for word in words:
        role, equals, name = map(str.strip, word.partition("="))
        found = {**found, role: _named(role, name)} if equals else _tier(word)
    networks = [name for entry in found.values() for name in entry.networks]
    if DEVICES[device] != CPU and not networks:
        raise bad_value("score", "device", "be cpu where no estimator runs a network", repr(device))
    _require(networks)
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


def _require(networks: Sequence[str]) -> None:
    """All that are not here are told at once."""
    home = ModelHome()
    absent = [name for name in dict.fromkeys(networks) if home.find(name) is None]
    if absent:
        verb = "is" if len(absent) == 1 else "are"
        raise AbsentModelError(f"models: {', '.join(absent)} {verb} not on this machine. {remedy(*absent)}")


def _tier(word: str) -> dict[str, Estimator]:
    if word not in TIERS:
        raise bad_value("score", "estimators", _FORM, repr(word))
    home = ModelHome()
    return {role: entry for role, entry in TIERS[word].items() if not _undecided(entry, home)}


def _undecided(entry: Estimator, home: ModelHome) -> bool:
    """Whether a network is not here that nobody fetches without having been asked."""
    asked = [name for name in entry.networks if CATALOGUE[name].tier == "official" or not CATALOGUE[name].licence_clear]
    return any(home.find(name) is None for name in asked)


def _named(role: str, name: str) -> Estimator:
    every = [entry for entry in EVERY if entry.role == role]
    if not every:
        roles = ", ".join(sorted({entry.role for entry in EVERY}))
        raise bad_value("score", "estimators", f"name a role that has estimators ({roles})", repr(role))
    for entry in every:
        if entry.id == name:
            return entry
    raise bad_value("score", f"estimator of {role}", "be " + " or ".join(e.id for e in every), repr(name))
