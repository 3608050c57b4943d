# SPDX-License-Identifier: Apache-2.0
"""The tests of this folder run in processes of their own, with TRITON_INTERPRET=1: see ../test_triton.py."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest

if os.environ.get("TRITON_INTERPRET") != "1":
    raise RuntimeError("Triton's interpreter is chosen when triton is imported: set TRITON_INTERPRET=1")


@pytest.fixture(autouse=True)
def like_a_device() -> Iterator[None]:
    """Infinities and NaN without NumPy's warnings, as on a GPU."""
    with np.errstate(all="ignore"):
        yield
