# SPDX-License-Identifier: Apache-2.0
"""The known-answer world: a room rendered along any plan, with exact depth, pose, flow and identities, and with faults
to order. For every fault it is known which metrics must fall and which must not move."""

from .evidence import exact_evidence
from .faults import FAULTS, Event, Fault
from .objects import exact_case
from .path import Pace
from .render import World, render_world
from .scene import Box, Material, Picture, Scene, default_scene
from .truth import Flow, View
from .write import build, save_world, truth_of

__all__ = [
    "FAULTS",
    "Box",
    "Event",
    "Fault",
    "Flow",
    "Material",
    "Pace",
    "Picture",
    "Scene",
    "View",
    "World",
    "build",
    "default_scene",
    "exact_case",
    "exact_evidence",
    "render_world",
    "save_world",
    "truth_of",
]
