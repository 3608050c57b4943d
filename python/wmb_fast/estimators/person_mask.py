# SPDX-License-Identifier: Apache-2.0
"""Where the people of a picture are: MediaPipe's selfie segmentation, made for one or two people near the camera.

A picture is resized to 256x256, each new pixel the mean of what it covers, and the network says how surely each pixel
is a person's. There is one mask for all people together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .._walls.errors import bad_value
from .registry import Frame
from .resize import area_resized, bilinear_resized
from .session import Session

NETWORK = "selfie"
_SIDE, _PROMPTS = 256, ("person",)


class PersonMask:
    """The network.

    Args:
        session: Of the converted network.
        likelihood: How sure it must be of a pixel.
    """

    def __init__(self, session: Session, *, likelihood: float = 0.5) -> None:
        self._session, self._likelihood = session, likelihood

    def masks(self, picture: Frame, prompts: Mapping[str, Any]) -> npt.NDArray[np.bool_]:
        """(1, H, W) of a picture, (H, W, 3) uint8 RGB.

        Args:
            picture: See above.
            prompts: ``{"texts": ["person"]}``: there is nothing else that it could look for.

        Raises:
            ArgumentError: Another prompt.
        """
        if {name: tuple(said) for name, said in prompts.items()} != {"texts": _PROMPTS}:
            raise bad_value(NETWORK, "prompts", 'be {"texts": ["person"]}', repr(dict(prompts)))
        values = area_resized(picture, _SIDE, _SIDE).astype(np.float32) / np.float32(255)
        sure = self._session.run({"pictures": values[None]})["person"][0, ..., 0]
        # In bytes, of which the interpolation is exact.
        steps = np.floor(sure.astype(np.float64) * 255 + 0.5).astype(np.uint8)
        mask: npt.NDArray[np.bool_] = bilinear_resized(steps, *picture.shape[1::-1]) > 255 * self._likelihood
        return mask[None]
