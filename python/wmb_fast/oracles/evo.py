# SPDX-License-Identifier: Apache-2.0
"""D_evo: evo's APE, RPE, alignment and association."""

from __future__ import annotations

from .runner import Adapter

ADAPTERS: dict[str, Adapter] = {}
