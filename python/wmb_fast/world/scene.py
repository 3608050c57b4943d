# SPDX-License-Identifier: Apache-2.0
"""What stands in the known-answer world: a room, boxes, what they are papered with.

World axes: x right, y down, z forward, in metres; the origin is the middle of the floor. A scene is plain data, so a
fault makes another one of it with :func:`dataclasses.replace`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .exact import Dice

LEFT, RIGHT, CEILING, FLOOR, BACK, FRONT = range(6)
EYE_HEIGHT = 1.5  # metres


@dataclass(frozen=True)
class Picture:
    """Something hung on a surface: ``left`` and ``top`` from the surface's upper left corner, in metres."""

    kind: str
    seed: int
    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Material:
    """What a surface looks like: a kind of :data:`surfaces.SURFACES`, its seed, and pictures on it.

    ``over`` is another material blended over it with the weight ``blend``, from 0 to 1.
    """

    kind: str
    seed: int
    pictures: tuple[Picture, ...] = ()
    over: Material | None = None
    blend: float = 0.0


@dataclass(frozen=True)
class Box:
    """A box, ``size`` along its own axes; positive yaw turns it to the right, seen from above."""

    name: str
    center: tuple[float, float, float]
    size: tuple[float, float, float]
    yaw_deg: float
    material: Material


@dataclass(frozen=True)
class Scene:
    """A room of ``size`` (x, y, z), papered with six materials, and boxes in it.

    Attributes:
        walls: For LEFT, RIGHT, CEILING, FLOOR, BACK, FRONT, as seen by a camera that looks along +z.
        boxes: Box b has identity ``6 + b`` in identity maps; the walls are 0 to 5.
        walkable: The camera may stand where x and z are at most these from the middle: nothing as high as its eyes
            is there.
        middle: x and z of the room's middle.
    """

    size: tuple[float, float, float]
    walls: tuple[Material, ...]
    boxes: tuple[Box, ...]
    walkable: tuple[float, float]
    middle: tuple[float, float] = (0.0, 0.0)

    def with_box(self, index: int, box: Box) -> Scene:
        """The scene with another box in the place of one."""
        return replace(self, boxes=(*self.boxes[:index], box, *self.boxes[index + 1 :]))

    def with_wall_moved(self, wall: int, outwards: float) -> Scene:
        """The scene with one of its four walls further out, by metres; the opposite one stays."""
        (wide, tall, deep), (x, z) = self.size, self.middle
        half = outwards / 2 if wall in (RIGHT, FRONT) else -outwards / 2
        if wall in (LEFT, RIGHT):
            return replace(self, size=(wide + outwards, tall, deep), middle=(x + half, z))
        return replace(self, size=(wide, tall, deep + outwards), middle=(x, z + half))

    def repapered(self, wall: int, material: Material) -> Scene:
        """The scene with another material on one wall."""
        return replace(self, walls=(*self.walls[:wall], material, *self.walls[wall + 1 :]))


WIDTH, HEIGHT, DEPTH = 9.0, 3.2, 10.0
# name, x, z, height of its foot, size, yaw, the surfaces it may have
_PLACES: tuple[tuple[str, float, float, float, tuple[float, float, float], float, tuple[str, ...]], ...] = (
    ("stack", -3.6, 4.1, 0.0, (1.0, 0.95, 1.0), 14, ("crate", "carton")),
    ("parcel", -3.55, 4.1, 0.95, (0.6, 0.5, 0.55), -18, ("carton", "stripes")),
    ("cabinet", 3.4, 4.55, 0.0, (1.5, 2.1, 0.55), 0, ("books",)),
    ("chest", 3.9, -0.6, 0.0, (0.7, 0.85, 0.9), 8, ("stripes", "check")),
    ("block", 3.85, 1.7, 0.0, (0.7, 0.6, 0.7), -22, ("check", "carton")),
    ("cube", -3.6, -4.1, 0.0, (0.9, 0.9, 0.9), 24, ("check", "stripes")),
    ("case", 3.5, -4.1, 0.0, (1.0, 1.3, 1.0), -12, ("crate",)),
    ("bench", -4.05, 0.7, 0.0, (0.55, 0.5, 2.0), 0, ("boards",)),
    ("table", 1.35, 2.3, 0.0, (1.2, 0.42, 0.7), 20, ("carton", "crate")),
    ("trunk", -1.5, -2.2, 0.0, (0.9, 0.4, 0.6), -30, ("stripes", "crate")),
    ("beam", 0.0, 2.4, HEIGHT - 0.24, (WIDTH, 0.24, 0.26), 0, ("boards",)),
    ("rafter", 0.0, -2.4, HEIGHT - 0.24, (WIDTH, 0.24, 0.26), 0, ("boards",)),
)
_UPRIGHT = ("brick", "plaster", "paper", "stone")


def default_scene(seed: int = 0) -> Scene:
    """A furnished room; another seed is another room of the same size.

    Args:
        seed: Any integer.

    Returns:
        The scene: the same for the same seed, on every machine.

    Example:
        >>> scene = default_scene(3)
        >>> scene == default_scene(3), scene == default_scene(4)
        (True, False)
    """
    dice = Dice(seed)
    orders = list(itertools.permutations(_UPRIGHT))
    front, right, back, left = orders[dice.below(len(orders))]
    rug = Picture("rug", _seed(dice), WIDTH / 2 - 1.4, DEPTH / 2 - 2.2, 2.8, 4.4)
    walls = (
        Material(left, _seed(dice), _hung(dice, DEPTH, ("window", "poster", "window", "poster"))),
        Material(right, _seed(dice), _hung(dice, DEPTH, ("poster", "window", "poster", "shelf"))),
        Material("tiles", _seed(dice)),
        Material("boards", _seed(dice), (rug,)),
        Material(back, _seed(dice), _hung(dice, WIDTH, ("poster", "door", "poster"))),
        Material(front, _seed(dice), _hung(dice, WIDTH, ("poster", "window", "poster"))),
    )
    return Scene((WIDTH, HEIGHT, DEPTH), walls, tuple(_placed(dice)), (3.0, 3.2))


def other_wall(scene: Scene, wall: int, seed: int) -> Material:
    """Another material for a wall: another kind of surface, with other pictures in other places."""
    dice = Dice(seed)
    kinds = [kind for kind in _UPRIGHT if kind != scene.walls[wall].kind]
    width = scene.size[2] if wall in (LEFT, RIGHT) else scene.size[0]
    pictures = _hung(dice, width, ("shelf", "poster", "poster", "window"))
    return Material(kinds[dice.below(len(kinds))], _seed(dice), pictures)


def _seed(dice: Dice) -> int:
    return dice.below(1 << 30)


def _hung(dice: Dice, width: float, kinds: Sequence[str]) -> tuple[Picture, ...]:
    """Pictures side by side, each somewhere in its own stretch of the wall."""
    sizes = {"poster": (1.2, 1.4, 0.45), "window": (1.7, 1.3, 0.5), "door": (1.0, 2.1, HEIGHT - 2.1),
             "shelf": (1.6, 1.9, 0.4)}  # fmt: skip
    first = dice.below(len(kinds))
    stretch = width / len(kinds)
    hung = []
    for i in range(len(kinds)):
        kind = kinds[(first + i) % len(kinds)]
        wide, tall, top = sizes[kind]
        if kind == "poster":
            wide, tall, top = wide * dice.between(0.75, 1.3), tall * dice.between(0.8, 1.15), dice.between(0.4, 0.7)
        left = i * stretch + dice.between(0.1, 0.9) * (stretch - wide)
        hung.append(Picture(kind, _seed(dice), left, top, wide, tall))
    return tuple(hung)


def _placed(dice: Dice) -> list[Box]:
    boxes = []
    for name, x, z, foot, (wide, tall, deep), yaw, kinds in _PLACES:
        loose = yaw != 0
        turn = yaw + dice.between(-6, 6) if loose else 0.0
        size = (wide * dice.between(0.9, 1.05), tall, deep * dice.between(0.9, 1.05)) if loose else (wide, tall, deep)
        center = (x, -(foot + tall / 2), z)
        boxes.append(Box(name, center, size, turn, Material(kinds[dice.below(len(kinds))], _seed(dice))))
    return boxes
