# SPDX-License-Identifier: Apache-2.0
"""The four splits and the three tiers of difficulty that WorldMark reports apart.

A split is a viewpoint and a domain: first or third person, real or stylized. It stands in a rollout's case or path, as
in the benchmark's own inputs (``first_view/real/024``). A tier is the number of segments: easy has one (20 s), medium
two (one switch), hard three.

Source: WorldMark (arXiv 2604.21686), sections 3.3 and 4.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..record import Score
from .constants import SEQUENCES

SPLITS = ("first-person real", "first-person stylized", "third-person real", "third-person stylized")
TIERS = ("easy", "medium", "hard")

_VIEW = re.compile(r"(?<![a-z])(?:(first|third)[-_ ]?(?:view|person)|(fp|tp))(?![a-z])")
_DOMAIN = re.compile(r"(?<![a-z])(?:(real)|(style|stylized))(?![a-z])")
_ACTION = re.compile(r"(?:^|/)\d{3}_(\d{3})$")


def split_of(records: Sequence[Score]) -> str | None:
    """The split of a rollout, from its records; ``None`` where neither its case nor its path says it.

    Example:
        >>> from wmb_fast.protocols import worldmark
        >>> from wmb_fast.protocols.record import Score, Status
        >>> def one(case):
        ...     return [Score("m/1", "m", case, "worldmark", "x", {}, 1.0, Status.OK, "", 1, 1, "x/1", False)]
        >>> worldmark.split_of(one("first_view/style/003_006")), worldmark.split_of(one("003_006"))
        ('first-person stylized', None)
    """
    for text in (records[0].case or "", records[0].rollout):
        view, domain = _VIEW.search(text.lower()), _DOMAIN.search(text.lower())
        if view and domain:
            third = (view[1] or view[2])[0] == "t"
            return SPLITS[2 * third + bool(domain[2])]
    return None


def tier_of(records: Sequence[Score]) -> str | None:
    """The tier of a rollout, from its records: by its segments, else by the action number of its case.

    Example:
        >>> from wmb_fast.protocols import worldmark
        >>> from wmb_fast.protocols.record import Score, Status
        >>> whole = Score("m/1", "m", "003_014", "worldmark", "x", {}, 1.0, Status.OK, "", 1, 1, "x/1", False)
        >>> worldmark.tier_of([whole])
        'hard'
    """
    segments = [record.part["segment"] for record in records if "segment" in record.part]
    if segments:
        n = max(segments) + 1
    else:
        number = _ACTION.search(records[0].case or "")
        n = len(SEQUENCES.get(int(number[1]), "")) if number else 0
    return TIERS[n - 1] if 1 <= n <= len(TIERS) else None


GROUPS: dict[str, tuple[Sequence[str], Callable[[Sequence[Score]], str | None]]] = {
    "split": (SPLITS, split_of),
    "tier": (TIERS, tier_of),
}
