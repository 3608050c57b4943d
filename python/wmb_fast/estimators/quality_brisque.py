# SPDX-License-Identifier: Apache-2.0
"""Quality of frames by BRISQUE: how near their statistics are to those of undamaged photographs. No MUSIQ.

BRISQUE scores a picture from 0, undamaged, to about 100; the rating is 100 - score, held to 0 and 100. It was trained
on people's opinions of photographs that JPEG, JPEG 2000, noise, blur and lost packets had damaged (LIVE), and tells
those: it rises in steps as they do. What generated video has instead, melting shapes, wrong hands, pasted textures, it
does not see, and pictures that differ in content alone differ by tens of points. Far from every picture it was trained
on the score tends to 155.8, so the rating there is 0.

A picture whose sides are shorter than 14 pixels, or that is flat, has no such statistics: NaN, a frame that could not
be rated. ``aesthetic`` is NaN: nothing here rates it.
"""

from __future__ import annotations

import numpy as np

from .brisque_features import SMALLEST, features
from .home import session_of
from .quality_exposure import RatedFrames
from .registry import Frame, Settings
from .session import CPU, Session

VERSION = 1
NETWORK = "brisque"


def settings(model: str | None) -> Settings:
    """The same for every model."""
    return {
        "grey": "BT.601, whole levels",
        "half": "cubic, a = -3/4",
        "border": "held",
        "smallest": SMALLEST,
        "rating": "100 - score, from 0 to 100",
    }


def start(settings: Settings) -> RatedFrames:
    return RatedFrames(Brisque(session_of(NETWORK, settings.get("provider", CPU))))


class Brisque:
    """Rates pictures.

    Args:
        session: Of the converted regression.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def score(self, picture: Frame) -> float:
        """BRISQUE's own number, smaller is better, not held to any range, of a picture (H, W, 3) uint8 RGB.

        NaN of a picture that is flat, or shorter than 14 pixels.
        """
        found = features(picture)
        if not np.isfinite(found).all():
            return float("nan")
        return float(self._session.run({"features": found[None]})["score"][0])

    def rate(self, picture: Frame) -> float:
        """100 - score, from 0 to 100: larger is better. NaN where there is no score."""
        return float(np.clip(100.0 - self.score(picture), 0.0, 100.0))
