# SPDX-License-Identifier: Apache-2.0
"""What a protocol may ask of a rollout, and the shape in which it gets it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..rollout.plan import Facts


@dataclass(frozen=True)
class Maker:
    """What made a channel.

    Attributes:
        role: ``flow``, ``features``, ``cuts``, ``depth``, …
        id: The estimator, for example ``opencv-dis``; ``external`` for arrays handed in.
        tier: ``builtin``, ``packaged``, ``stand-in`` (brought, and no paper's for this channel), ``official`` or
            ``external``. The first three make a score a proxy.
        fingerprint: Changes whenever the numbers may: version, settings, weights.
    """

    role: str
    id: str
    tier: str
    fingerprint: str


@dataclass(frozen=True)
class Channel:
    """One kind of evidence about one rollout: named arrays (and plain numbers), and what made them."""

    values: Mapping[str, Any]
    maker: Maker


@dataclass(frozen=True)
class Need:
    """A channel a protocol needs: of the whole rollout, of these frames, or of these pairs of frames (sorted)."""

    channel: str
    frames: tuple[int, ...] | None = None
    pairs: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True)
class Evidence:
    """All that is known about one rollout.

    Attributes:
        facts: Its plan, size, rate.
        channels: What there is, by name.
        missing: Why a channel that was asked for is not there, by name; a short reason.
        provenance: What the numbers come from: the content hash of the video, the decoder, whether it is truncated, and
            notes on the file.
        notes: What a reader of the numbers should know, a sentence each: those on the file, and damaged cache entries.
    """

    facts: Facts
    channels: Mapping[str, Channel] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
