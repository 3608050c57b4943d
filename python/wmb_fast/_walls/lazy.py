# SPDX-License-Identifier: Apache-2.0
"""The readable statements, imported when a call first asks for them: few calls do."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .. import reference
else:

    class _Reference:
        def __getattr__(self, name: str) -> Any:
            return getattr(importlib.import_module("wmb_fast.reference"), name)

    reference = _Reference()

__all__ = ["reference"]
