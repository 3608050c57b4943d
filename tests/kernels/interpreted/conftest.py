# SPDX-License-Identifier: Apache-2.0
"""The tests of this folder run in processes of their own, with TRITON_INTERPRET=1: see ../test_triton.py.

Every torch tensor counts as on a device, so that public ops take it to Triton's kernels.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from triton.runtime import interpreter

from wmb_fast._walls import arrays, dispatch

if os.environ.get("TRITON_INTERPRET") != "1":
    raise RuntimeError("Triton's interpreter is chosen when triton is imported: set TRITON_INTERPRET=1")


_launch, _patched = interpreter.GridExecutor.__call__, set[int]()


def launch(self: Any, *arguments: Any, **options: Any) -> None:
    _patched.clear()
    _launch(self, *arguments, **options)


def call_of_a_kernel(self: Any, *arguments: Any, **options: Any) -> Any:
    """What a kernel calls: the language is patched once a launch and module; again each call takes most of the time."""
    module = id(self.fn.__globals__)
    if module not in _patched:
        _patched.add(module)
        interpreter._patch_lang(self.fn)
    return self.rewrite()(*arguments, **options)


@pytest.fixture(autouse=True)
def like_a_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tensors are on a device, and infinities and NaN come without NumPy's warnings."""
    monkeypatch.setattr(arrays, "device_of", lambda value: "cuda:0" if arrays.is_tensor(value) else "cpu")
    monkeypatch.setattr(interpreter.InterpretedFunction, "__call__", call_of_a_kernel)
    monkeypatch.setattr(interpreter.GridExecutor, "__call__", launch)
    monkeypatch.setattr(dispatch, "_device_status", lambda backend: (backend == "triton", "it is interpreted"))
    with np.errstate(all="ignore"):
        yield
