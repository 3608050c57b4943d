# SPDX-License-Identifier: Apache-2.0
"""The readable statements, imported when a call first asks for them: few calls do."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import ArgumentError

if TYPE_CHECKING:
    from .. import reference
else:

    class _Reference:
        """The statements as an op calls them: without NumPy's warnings, and with the library's own exception."""

        def __getattr__(self, name: str) -> Any:
            found = getattr(importlib.import_module("wmb_fast.reference"), name)
            return _as_op(name, found) if callable(found) else found

    def _as_op(name: str, statement: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(statement)
        def call(*arguments: Any, **options: Any) -> Any:
            try:
                with np.errstate(all="ignore"):
                    return statement(*arguments, **options)
            except ValueError as error:
                raise ArgumentError(f"{name}: {error}") from error

        return call

    reference = _Reference()

__all__ = ["reference"]
