# SPDX-License-Identifier: Apache-2.0
"""A_worldmark: the published WorldMark evaluator."""

from __future__ import annotations

from .runner import Adapter

ADAPTERS: dict[str, Adapter] = {}
