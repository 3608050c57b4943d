# SPDX-License-Identifier: Apache-2.0
"""A rollout's evidence as the flow cache that the published evaluator writes, and reads in place of the video."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from ..evidence import Evidence, Need
from ..measure import NotThereError
from .constants import COMPAT_FPS, SEQUENCES
from .scoring import parallax_needs
from .view import Rollout


class FlowOnly:
    """What a flow cache needs, as a protocol asks for it."""

    @staticmethod
    def needs(evidence: Evidence, *, compat: bool = True) -> list[Need]:
        """Flow, depth at the published frames, and then the flow fields that go with it."""
        return [Need("flow"), *parallax_needs(Rollout(evidence, compat=True))]


def flow_cache(evidence: Evidence) -> dict[str, npt.NDArray[Any]]:
    """The arrays of ``<model>__<image>_<action>.npz``: ``tm Sx Srad keys action px_segs iv_<j> uu_<j>``.

    Beside the published arrays ``estimator`` says what made the flow: its id and its tier.

    Raises:
        ArgumentError: No flow, no plan, or a plan that is none of WorldMark's fifteen sequences.

    Example:
        >>> import numpy as np
        >>> from wmb_fast.protocols import worldmark
        >>> from wmb_fast.protocols.evidence import Channel, Evidence, Maker
        >>> from wmb_fast.rollout.plan import Action, Facts, Plan, Step
        >>> plan = Plan("there and back", (Step(Action.FORWARD), Step(Action.BACK)))
        >>> facts = Facts("mine/000_006", "mine", "000_006", plan, 34, 16.0, 1280, 720)
        >>> flow = {"horizontal": np.zeros(32), "radial": np.ones(32)}
        >>> evidence = Evidence(facts, {"flow": Channel(flow, Maker("flow", "external", "external", "by hand"))})
        >>> arrays = worldmark.flow_cache(evidence)
        >>> int(arrays["action"]), arrays["keys"].tolist(), arrays["tm"][:3].tolist()
        (6, ['W', 'S'], [0.0, 0.0625, 0.125])
    """
    rollout = Rollout(evidence, compat=True)
    try:
        horizontal, radial = rollout.flow
        keys = rollout.keys
    except NotThereError as absent:
        raise bad_value("flow_cache", "evidence", "have flow and a plan", absent.measure.reason) from absent
    action = next((number for number, sequence in SEQUENCES.items() if list(sequence) == keys), None)
    if action is None:
        got = " ".join(map(str, rollout.actions))
        raise bad_value("flow_cache", "plan", "be one of WorldMark's fifteen sequences", got)
    parallax = rollout.parallax()
    arrays: dict[str, npt.NDArray[Any]] = {
        "tm": np.arange(len(horizontal)) / COMPAT_FPS,
        "Sx": horizontal,
        "Srad": radial,
        "keys": np.array(list(SEQUENCES[action])),
        "action": np.array(action),
        "px_segs": np.array(sorted(parallax), dtype=np.int64),
    }
    maker = evidence.channels["flow"].maker
    arrays["estimator"] = np.array(f"{maker.id} {maker.tier}")
    for j, (inverse, along) in parallax.items():
        arrays |= {f"iv_{j}": inverse, f"uu_{j}": along}
    return arrays
