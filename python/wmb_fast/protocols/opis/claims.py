# SPDX-License-Identifier: Apache-2.0
"""Dynamic structure by claims: which facts about an object's build does a judge still find supported?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ..._walls.checks import real
from ..._walls.errors import bad_value
from .constants import FAMILIES, MIN_CLAIM_CONFIDENCE, MOST_CLAIMS


class Verdict(StrEnum):
    """What a judge says of a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Claim:
    """A fact about one reference object, taken from the input image.

    Attributes:
        fact: Its id, unique for the object.
        family: ``parts``, ``connectivity``, ``local_shape`` or ``material_continuity``.
        confidence: Of the claim, 0 to 1.
    """

    fact: str
    family: str
    confidence: float


@dataclass(frozen=True)
class Judgement:
    """What a judge says of one claim in one frame."""

    fact: str
    verdict: Verdict
    confidence: float
    visible: bool = True


@dataclass(frozen=True)
class ClaimStructure:
    """What :func:`claim_structure` returns.

    Attributes:
        score: The mean over families of the supported fraction; ``None`` where nothing could be judged.
        reason: ``scored`` or why not.
        families: Family to its supported fraction.
        coverage: Judged claims over those that count; ``None`` where none counts.
        n_claims, n_counting, n_judged: How many there are of each.
    """

    score: float | None
    reason: str
    families: Mapping[str, float]
    coverage: float | None
    n_claims: int
    n_counting: int
    n_judged: int


NOTHING_TO_JUDGE = "no_evaluable_structure_evidence"


def claim_structure(
    claims: Sequence[Claim], judgements: Sequence[Judgement], *, min_confidence: float = MIN_CLAIM_CONFIDENCE
) -> ClaimStructure:
    """How much of an object's build a judge still finds, from 0 to 1.

    Claims of a confidence below 0.7 do not count. A claim is judged where the judge saw it, is sure to 0.7, and does
    not answer ``unknown``; what is not judged takes no part. Each family's score is the supported fraction of its
    judged claims, and the score their mean over the families that have any. The order of answers does not matter.

    Args:
        claims: Of one object; at most 12.
        judgements: Of one frame; at most one a claim.
        min_confidence: Of claims and of judgements.

    Raises:
        ArgumentError: More than 12 claims, a family that is none, a fact claimed or judged twice, a judgement of a fact
            that nobody claimed, a verdict that is none, a confidence outside 0 to 1.

    Source:
        OPIS (arXiv 2609.35052), sections 4.3 and 5.1.

    Example:
        >>> claims = [Claim("legs", "parts", 0.9), Claim("arms", "parts", 0.9), Claim("joint", "connectivity", 0.8)]
        >>> said = [Judgement("joint", Verdict.SUPPORTED, 0.9), Judgement("legs", Verdict.CONTRADICTED, 0.9)]
        >>> found = claim_structure(claims, said)
        >>> found.score, round(found.coverage, 6), dict(found.families)
        (0.5, 0.666667, {'connectivity': 1.0, 'parts': 0.0})
    """
    _check(claims, judgements)
    real("claim_structure", "min_confidence", min_confidence)
    said = {judgement.fact: judgement for judgement in judgements}
    counting = [claim for claim in claims if claim.confidence >= min_confidence]
    by_family: dict[str, list[float]] = {}
    for claim in counting:
        judgement = said.get(claim.fact)
        if judgement is None or not judgement.visible or judgement.confidence < min_confidence:
            continue
        if judgement.verdict != Verdict.UNKNOWN:
            by_family.setdefault(claim.family, []).append(float(judgement.verdict == Verdict.SUPPORTED))
    families = {name: sum(values) / len(values) for name, values in sorted(by_family.items())}
    judged = sum(map(len, by_family.values()))
    score = sum(families.values()) / len(families) if families else None
    coverage = judged / len(counting) if counting else None
    reason = NOTHING_TO_JUDGE if score is None else "scored"
    return ClaimStructure(score, reason, families, coverage, len(claims), len(counting), judged)


def _check(claims: Sequence[Claim], judgements: Sequence[Judgement]) -> None:
    op = "claim_structure"
    if len(claims) > MOST_CLAIMS:
        raise bad_value(op, "claims", f"be at most {MOST_CLAIMS}", len(claims))
    for name, items in (("claims", claims), ("judgements", judgements)):
        seen: set[str] = set()
        for item in items:
            if item.fact in seen:
                raise bad_value(op, name, "have each fact once", f"{item.fact!r} twice")
            seen.add(item.fact)
            if not 0 <= item.confidence <= 1:
                raise bad_value(op, f"confidence of {item.fact}", "lie between 0 and 1", item.confidence)
    for judgement in judgements:
        if judgement.verdict not in set(Verdict):
            wanted = "be one of " + ", ".join(Verdict)
            raise bad_value(op, f"verdict on {judgement.fact}", wanted, repr(judgement.verdict))
    for claim in claims:
        if claim.family not in FAMILIES:
            raise bad_value(op, f"family of {claim.fact}", "be one of " + ", ".join(FAMILIES), repr(claim.family))
    foreign = sorted({judgement.fact for judgement in judgements} - {claim.fact for claim in claims})
    if foreign:
        raise bad_value(op, "judgements", "be of facts that were claimed", repr(foreign[0]))
