# SPDX-License-Identifier: Apache-2.0
"""One small adapter a rival. A rival that does not import is said so, once, and left out."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ._harness import Contender

PACKAGES = {"faiss": "faiss-cpu", "cv2": "opencv-python-headless"}  # where the import name is another


@functools.cache
def module(name: str) -> ModuleType | None:
    """A rival's module, or ``None`` where it does not import."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"bench: {name} is left out, it did not import ({error}); pip install '.[bench]'")
        return None


def contender(
    name: str,
    call: Callable[[Any], Any],
    verify: Callable[[Any], str] | None,
    *,
    what: str = "",
    share: float = 1.0,
) -> list[Contender]:
    """A rival as a list of one, or of none where it does not import; ``call`` gets its module."""
    library = module(name.split(".", 1)[0])
    if library is None:
        return []
    version = importlib.metadata.version(PACKAGES.get(name, name))
    return [Contender(f"{name} {what}".strip(), functools.partial(call, library), verify, version, share)]
