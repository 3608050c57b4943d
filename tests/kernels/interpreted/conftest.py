# SPDX-License-Identifier: Apache-2.0
"""The tests of this folder run in processes of their own, with TRITON_INTERPRET=1: see ../test_triton.py.

Every torch tensor counts as on a device, so that public ops take it to Triton's kernels.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest

from wmb_fast._walls import arrays, dispatch

if os.environ.get("TRITON_INTERPRET") != "1":
    raise RuntimeError("Triton's interpreter is chosen when triton is imported: set TRITON_INTERPRET=1")


@pytest.fixture(autouse=True)
def like_a_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tensors are on a device, and infinities and NaN come without NumPy's warnings."""
    monkeypatch.setattr(arrays, "device_of", lambda value: "cuda:0" if arrays.is_tensor(value) else "cpu")
    monkeypatch.setattr(dispatch, "_device_status", lambda backend: (backend == "triton", "it is interpreted"))
    with np.errstate(all="ignore"):
        yield
