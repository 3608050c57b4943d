# SPDX-License-Identifier: Apache-2.0
"""From evidence to score records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ..._walls.checks import one_of
from ..._walls.errors import ArgumentError, bad_value
from ..evidence import Evidence, Need
from ..record import Score, Status
from . import contract_3_11
from .constants import domain_of
from .diagnostics import ablations, coverage, identity_failures, load_of, of_rows, time_intervals
from .formula import Components
from .reading import case_of, sampled_frames
from .rows import Case, Rows, observe

NAME = "opis"
CHANNEL = "objects"
PAPER, PUBLIC_CODE = "paper", "3.11"
COMPONENTS = ("presence", "identity", "structure", "structure_coverage", "opis")
CONTRACT_METRICS = ("presence_score", "identity_score", "core_2d_score", "full_igm_score")
# What the released code reports only where there is evidence, and what it says of it.
_CONTRACT_MORE = ("v3_reference_projective_score", "v3_input_structure_score", "v3_structural_quality_score")

NO_FRAMES = "no_frames: no frame was observed"
NOT_COUNTED = {
    "presence": "nothing_expected: in no frame is an object known to be visible, or an extra confirmed",
    "identity": "no_appearance: no match has embeddings to compare",
    "opis": "component_missing: a component has no value",
}


def needs(evidence: Evidence, *, compat: bool = False) -> list[Need]:
    """What this protocol wants to know of a rollout: the objects of its input, and those of the frames it samples."""
    facts = evidence.facts
    return [Need(CHANNEL, None if facts.fps is None else tuple(sampled_frames(facts.n_frames, facts.fps)))]


def score(evidence: Evidence | Sequence[Evidence], *, compat: bool = False, contract: str | None = None) -> list[Score]:
    """The score records of one rollout, or of several.

    Args:
        evidence: With a channel ``objects``: ``reference``, ``observation``, and perhaps ``geometry`` and
            ``structure``, the records of OPIS's own files; ``subcategory`` and ``domain``.
        compat: The released code's numbers: the same as ``contract="3.11"``.
        contract: ``paper`` or ``3.11``; by default what ``compat`` says.

    Returns:
        By the paper's formula, for every rollout: presence, identity, structure, structure coverage and OPIS; the same
        in three intervals of time; OPIS under four ablations; the rate of frames with an identity failure; and five
        shares of evidence. By contract 3.11: presence, identity, core 2D and full IGM, and the static and dynamic
        structure where there is evidence. All from 0 to 100.

    Raises:
        ArgumentError: An unknown contract, or one that ``compat`` contradicts.

    Example:
        >>> from wmb_fast.protocols import opis
        >>> from wmb_fast.protocols.evidence import Channel, Evidence, Maker
        >>> from wmb_fast.rollout.plan import Facts
        >>> cup = {"category": "cup", "embedding": [1.0, 0.0], "bbox": [10, 10, 30, 30]}
        >>> window = {"window_id": "w", "frame_index": 24, "frame_size": [64, 48], "timestamp": 1.5}
        >>> values = {
        ...     "reference": {"objects": [{"object_id": "a", **cup}]},
        ...     "observation": {"windows": [{**window, "objects": [{"observed_id": "x", **cup}]}]},
        ...     "subcategory": "home",
        ... }
        >>> facts = Facts("mine/1", "mine", "1", None, 240, 24.0, 64, 48)
        >>> maker = Maker("objects", "external", "external", "by hand")
        >>> records = opis.score(Evidence(facts, {"objects": Channel(values, maker)}))
        >>> [(r.metric, round(r.value, 6)) for r in records[:3]]
        [('presence', 100.0), ('identity', 100.0), ('structure', 0.0)]
    """
    chosen = (PUBLIC_CODE if compat else PAPER) if contract is None else contract
    one_of("score", "contract", chosen, (PAPER, PUBLIC_CODE))
    if compat and chosen != PUBLIC_CODE:
        raise bad_value("score", "contract", "be 3.11 under compat", repr(contract))
    items = [evidence] if isinstance(evidence, Evidence) else list(evidence)
    return [record for item in items for record in _Maker(item, chosen).records()]


@dataclass(frozen=True)
class _Found:
    """A value from 0 to 100, or why there is none; a note on a value that there is."""

    value: float | None
    reason: str = ""
    n_used: int = 0
    n_total: int = 0
    detail: Mapping[str, Any] | None = None
    status: Status = Status.NOT_EVALUABLE
    note: str = ""


class _Maker:
    """Makes the records of one rollout."""

    def __init__(self, evidence: Evidence, contract: str) -> None:
        self._evidence, self._contract = evidence, contract
        channel = evidence.channels.get(CHANNEL)
        self._values: Mapping[str, Any] = channel.values if channel else {}
        self._maker = channel.maker if channel else None

    def records(self) -> list[Score]:
        if self._maker is None:
            why = self._evidence.missing.get(CHANNEL, "nobody handed any in")
            return self._without(Status.MISSING, f"{CHANNEL}: {why}")
        try:
            told = self._values
            absent = [name for name in ("reference", "observation") if name not in told]
            if absent:
                raise bad_value("opis", CHANNEL, f"hold {absent[0]}", ", ".join(told) or "nothing")
            case = case_of(told["reference"], told["observation"], told.get("geometry"), told.get("structure"))
            rows = observe(case)
        except ArgumentError as error:  # any other exception would be a fault of ours, and is none of the evidence's
            return self._without(Status.MISSING, f"{CHANNEL}: unusable_evidence: {error}")
        return self._paper(case, rows) if self._contract == PAPER else self._public(case, rows)

    def _without(self, status: Status, reason: str) -> list[Score]:
        names = COMPONENTS if self._contract == PAPER else CONTRACT_METRICS
        return [self._one(name, {}, _Found(None, reason, status=status)) for name in names]

    def _paper(self, case: Case, rows: Rows) -> list[Score]:
        whole = of_rows(rows)
        load = {"load": load_of(len(case.bank)), "n_objects": len(case.bank)}
        records = self._components({}, whole, load, self._notes(case, whole))
        for name, part in time_intervals(rows, self._times(case)).items():
            records += self._components({"interval_s": name}, part, {})
        for name, variant in ablations(rows).items():
            records.append(self._one("ablation", {"variant": name}, _scored(variant, "opis", {})))
        failures = identity_failures(rows)
        frames = whole.n_identity, whole.n_frames
        records.append(self._one("identity_failure", {}, _share(failures, NOT_COUNTED["identity"], *frames)))
        audit = asdict(coverage(rows, case.bank))
        has_structure = audit.pop("has_structure")
        del audit["structure"]  # it is structure_coverage
        for name, share in audit.items():
            found = _share(share, f"none: there is nothing that {name} coverage could be of", 0, 0)
            records.append(self._one("coverage", {"of": name}, found))
        lacking = _Found(0.0 if has_structure else 100.0, n_used=1, n_total=1)
        return [*records, self._one("no_structure", {}, lacking)]

    def _notes(self, case: Case, whole: Components) -> dict[str, str]:
        """What a reader of a low value should know, by component."""
        notes = {}
        embeddings = case.observations.described.embeddings
        broken = int((~np.isfinite(embeddings)).any(axis=1).sum())
        if broken:
            text = f"not_finite: {broken} of {len(embeddings)} observations have such an embedding, and match nothing"
            notes["presence"] = notes["identity"] = text
        if whole.n_frames and not whole.n_structure:
            lacking = [name for name in ("geometry", "structure") if self._values.get(name) is None]
            told = f" (not handed in: {', '.join(lacking)})" if lacking else ""
            notes["structure"] = f"no_structure: no frame has a measurement, which counts 0{told}"
        return notes

    def _components(
        self,
        part: Mapping[str, Any],
        found: Components,
        detail: Mapping[str, Any],
        notes: Mapping[str, str] = MappingProxyType({}),
    ) -> list[Score]:
        """Of the whole, or of an interval of time."""
        when = f", {part['interval_s']} s after the input" if "interval_s" in part else ""
        made = {name: _scored(found, name, detail, when) for name in COMPONENTS}
        return [self._one(name, part, replace(one, note=notes.get(name, ""))) for name, one in made.items()]

    def _times(self, case: Case) -> np.ndarray[Any, Any]:
        """Seconds after the input: as told, else by the rollout's rate."""
        seen, fps = case.observations, self._evidence.facts.fps
        by_rate = np.where(seen.frames >= 0, seen.frames / fps, np.nan) if fps else np.full(len(seen), np.nan)
        return np.where(np.isnan(seen.times_s), by_rate, seen.times_s)

    def _public(self, case: Case, rows: Rows) -> list[Score]:
        found = contract_3_11.metrics(rows, case.bank, case.observations)
        total = contract_3_11.full_igm(found)
        detail = {name: value for name, value in (found | total).items() if name not in CONTRACT_METRICS}
        values = {
            "presence_score": 100.0 * found["presence_score"],
            "identity_score": 100.0 * found["identity_score"],
            "core_2d_score": found["core_2d_score"],
            "full_igm_score": total["full_igm_score"],
        }
        n = len(rows.presence)
        records = [
            self._one(name, {}, _Found(value, n_used=n, n_total=n, detail=detail)) for name, value in values.items()
        ]
        for name in _CONTRACT_MORE:
            if name in found:
                records.append(self._one(name, {}, _share(found[name], "no_evidence: nothing was measured", n, n)))
        return records

    def _one(self, metric: str, part: Mapping[str, Any], found: _Found) -> Score:
        facts, maker = self._evidence.facts, self._maker
        there = found.value is not None and math.isfinite(found.value)
        subcategory, domain = (str(told) if told else None for told in map(self._values.get, ("subcategory", "domain")))
        domain = domain or (domain_of(subcategory) if subcategory else None)
        where = {"subcategory": subcategory, "domain": domain}
        makers = [] if maker is None else [asdict(maker)]
        version = "paper" if self._contract == PAPER else contract_3_11.NAME
        return Score(
            rollout=facts.rollout,
            model=facts.model,
            case=facts.case,
            protocol=NAME,
            metric=metric,
            part={**part, **{name: value for name, value in where.items() if value}},
            value=found.value if there else None,
            status=Status.OK if there else found.status,
            reason=found.note if there else found.reason,
            n_used=found.n_used,
            n_total=found.n_total,
            definition=f"{NAME}.{metric}/1 {version}",
            compat=self._contract == PUBLIC_CODE,
            estimators=makers,
            detail=dict(found.detail or {}),
            provenance={"objects_sha256": self._values["sha256"]} if "sha256" in self._values else {},
        )


def _scored(found: Components, name: str, detail: Mapping[str, Any], when: str = "") -> _Found:
    """One component of a case as a record has it."""
    if not found.n_frames:
        return _Found(None, NO_FRAMES + when)
    used = {"presence": found.n_presence, "identity": found.n_identity, "opis": found.n_frames}
    value = found.opis
    if name != "opis":
        part = found.coverage if name == "structure_coverage" else getattr(found, name)
        value = None if part is None else 100.0 * part
    more = {"structure_mean": found.structure_mean} if name == "structure" else {}
    return _Found(
        value, NOT_COUNTED.get(name, ""), used.get(name, found.n_structure), found.n_frames, {**detail, **more}
    )


def _share(share: float | None, reason: str, n_used: int, n_total: int) -> _Found:
    return _Found(None if share is None else 100.0 * share, reason, n_used, n_total)
