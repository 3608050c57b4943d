# SPDX-License-Identifier: Apache-2.0
"""From a rollout to its evidence: what protocols need, made once.

Protocols are asked for their needs again and again, for a need may follow from what is known by then. In a round all
channels that are not known yet are made together, in one pass over the video; what has been made before comes from the
cache, and when all of it does, the video is not decoded at all. What a pass decodes stays in memory for those after it,
where it fits.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from .._walls.errors import FileFormatError
from ..estimators.home import AbsentModelError
from ..estimators.judge import UNREACHABLE, JudgeUnreachableError
from ..estimators.registry import ABSENT, BUILTIN, Consumer, Estimator, Frame, why_absent
from ..protocols.evidence import Channel, Evidence, Maker, Need
from ..rollout.discover import Rollout
from ..rollout.model_frames import realised
from ..rollout.plan import Facts
from ..rollout.video import open_video
from . import commanded, objects, published, schema
from . import external as handed_in
from .store import Key, Store


class Asks(Protocol):
    """What the evidence maker wants of a protocol: what it needs, given what is known."""

    def needs(self, evidence: Evidence, *, compat: bool = False) -> list[Need]: ...


_AT_HAND = 1 << 28  # bytes of decoded frames that a rollout may hold: about 980 of 576x316

Items = tuple[int, ...] | tuple[tuple[int, int], ...] | None  # frames, pairs of frames, or the whole rollout
Wanted = Mapping[str, Items]


def gather(
    rollout: Rollout,
    protocols: Sequence[Asks],
    *,
    store: Store,
    compat: bool = False,
    external: str | os.PathLike[str] | None = None,
    estimators: Mapping[str, Estimator] | None = None,
) -> Evidence:
    """Everything that some protocols need to know of a rollout.

    May be called from many threads and processes at once, with one store.

    Args:
        rollout: Its video is opened, and decoded where the cache does not hold all that is asked for. Or a published
            flow cache, which is all there is.
        protocols: Modules with ``needs(evidence, *, compat)``. Frames that several ask for are united.
        store: Where evidence is kept.
        compat: Handed on to the protocols.
        external: A folder of channels that the user hands in, see :mod:`.external`; channels beside the video are found
            without it.
        estimators: Which makes which channel, see :func:`..estimators.choice.chosen`; by default the builtin ones.

    Returns:
        The evidence. A channel that no estimator makes, or whose estimator failed, stands in ``missing`` with the
        reason (``estimator error: …``); the others are there. ``notes`` tells of cache entries that were damaged, and
        made again.

    Raises:
        FileFormatError: The video cannot be read.
        ArgumentError: The store can no longer be written.
    """
    if published.is_cache(rollout):
        return published.read(rollout, external)
    desk = _Desk(rollout, store, external, BUILTIN if estimators is None else estimators)
    while wanted := desk.unmet(
        [need for protocol in protocols for need in protocol.needs(desk.evidence, compat=compat)]
    ):
        desk.make(wanted)
    return desk.evidence


@dataclass
class _Job:
    """One estimator at work in a pass."""

    key: Key
    maker: Maker
    consumer: Consumer
    items: Items

    @cached_property
    def frames(self) -> frozenset[int] | None:
        """The frames that it must see."""
        if self.items is None:
            return None
        return frozenset(frame for item in self.items for frame in (item if isinstance(item, tuple) else (item,)))

    def feed(self, index: int, frame: Frame) -> None:
        if self.frames is None or index in self.frames:
            self.consumer.feed(index, frame)


class _Desk:
    """What is known of one rollout so far."""

    def __init__(
        self,
        rollout: Rollout,
        store: Store,
        external: str | os.PathLike[str] | None,
        estimators: Mapping[str, Estimator],
    ) -> None:
        self._rollout, self._store, self._estimators = rollout, store, estimators
        self._video = open_video(rollout.video_path, fps=rollout.fps)
        self._video.keep(_AT_HAND)
        self._channels: dict[str, Channel] = {}
        self._covered: dict[str, Items] = {}
        self._missing = {channel: why for channel, why in ABSENT.items() if channel not in estimators}
        self._notes: list[str] = []
        self._known = self._facts()
        self._notes.extend(self._known["notes"])
        for channel in schema.REQUIRED:
            self._take_in(channel, external)
        self._take_in_commanded()
        self._take_in_objects()

    @property
    def evidence(self) -> Evidence:
        """All that is known by now."""
        rollout, known = self._rollout, self._known
        facts = Facts(
            rollout=rollout.id,
            model=rollout.model,
            case=rollout.case,
            plan=realised(rollout.plan, rollout.model, known["n_frames"]).plan if rollout.plan else None,
            n_frames=known["n_frames"],
            fps=known["fps"],
            width=known["width"],
            height=known["height"],
        )
        provenance = {
            "video_sha256": self._video.sha256,
            "decoder": self._video.decoder,
            "truncated": known["truncated"],
            "notes": list(known["notes"]),
        }
        return Evidence(facts, dict(self._channels), dict(self._missing), provenance, tuple(self._notes))

    def unmet(self, needs: Sequence[Need]) -> Wanted:
        """The channels to be made, with the frames (or pairs) of all needs together; ``None`` for every frame."""
        wanted: dict[str, Items] = {}
        for need in needs:
            channel, items = need.channel, self._within(need)
            if channel in self._missing or self._covers(channel, items):
                continue
            before = wanted[channel] if channel in wanted else self._covered.get(channel, ())
            wanted[channel] = None if items is None or before is None else tuple(sorted({*before, *items}))
        return wanted

    def make(self, wanted: Wanted) -> None:
        """Makes channels, or finds them in the cache, or learns why they cannot be made."""
        jobs = []
        for channel, items in wanted.items():
            job = self._begun(channel, items)
            if job is not None:
                jobs.append(job)
        self._run(jobs)

    def _facts(self) -> dict[str, Any]:
        key = Key(self._video.sha256, self._video.decoder, "facts", f"fps={self._rollout.fps}")
        known = self._cached(key)
        if known is None:
            video = self._video
            known = {
                "n_frames": video.n_frames,
                "fps": video.fps,
                "width": video.width,
                "height": video.height,
                "truncated": video.truncated,
                "notes": video.notes,
            }
            self._store.put(key, known)
        return known

    def _cached(self, key: Key) -> dict[str, Any] | None:
        values, damage = self._store.get(key)
        if damage:
            self._notes.append(damage)
        return values

    def _take_in(self, channel: str, folder: str | os.PathLike[str] | None) -> None:
        path = handed_in.find(self._rollout.video_path, self._rollout.id, channel, folder)
        if path is None:
            return
        try:
            self._know(channel, handed_in.read(path, channel, self._known["n_frames"]), None)
        except (FileFormatError, OSError) as error:
            self._missing[channel] = str(error)
            return
        if channel in schema.BY_FRAME:
            self._covered[channel] = tuple(self._channels[channel].values["frames"].tolist())

    def _take_in_commanded(self) -> None:
        path = self._rollout.poses
        if path is None:
            return
        try:
            self._know(commanded.NAME, commanded.read(path), None)
        except (FileFormatError, OSError) as error:
            self._missing[commanded.NAME] = str(error)

    def _take_in_objects(self) -> None:
        try:
            files = objects.find(self._rollout.video_path)
            if files:
                self._know(objects.CHANNEL, objects.read(files), None)
        except (FileFormatError, OSError) as error:
            self._missing[objects.CHANNEL] = str(error)

    def _know(self, channel: str, found: Channel, items: Items) -> None:
        self._channels[channel] = found
        self._covered[channel] = items
        self._missing.pop(channel, None)

    def _within(self, need: Need) -> Items:
        """The frames, or pairs, of a need that the video has; of a channel that needs all frames, all."""
        n = self._known["n_frames"]
        if need.pairs is not None:
            return tuple(pair for pair in need.pairs if all(0 <= frame < n for frame in pair))
        if need.frames is None or (need.channel in self._estimators and not self._estimators[need.channel].by_frame):
            return None
        return tuple(frame for frame in need.frames if 0 <= frame < n)

    def _covers(self, channel: str, items: Items) -> bool:
        if channel not in self._covered:
            return False
        have = self._covered[channel]
        return have is None or (set(range(self._known["n_frames"]) if items is None else items) <= set(have))

    def _begun(self, channel: str, items: Items) -> _Job | None:
        if channel in self._channels and self._channels[channel].maker.tier == "external":
            have = set(self._covered[channel] or ())
            lacking = [frame for frame in items or range(self._known["n_frames"]) if frame not in have]
            del self._channels[channel], self._covered[channel]
            self._missing[channel] = f"the external {channel} lack {len(lacking)} frames, the first is {lacking[0]}"
            return None
        if channel not in self._estimators:
            self._missing[channel] = why_absent(channel)
            return None
        estimator = self._estimators[channel]
        try:
            settings = estimator.settings(self._rollout.model)
            maker = Maker(channel, estimator.id, estimator.tier, estimator.fingerprint(settings))
            flat = None if items is None else tuple(int(i) for i in np.ravel(items))
            key = Key(self._video.sha256, self._video.decoder, channel, maker.fingerprint, flat)
            values = self._cached(key)
            if values is None:
                told = (settings, items) if estimator.by_pair else (settings,)
                return _Job(key, maker, estimator.start(*told), items)
        except AbsentModelError as error:
            self._missing[channel] = str(error)
            return None
        except Exception as error:
            self._failed(channel, error)
            return None
        self._know(channel, Channel(values, maker), items)
        return None

    def _run(self, jobs: list[_Job]) -> None:
        """One pass over the video feeds all jobs; one that fails leaves the others alone."""
        for index, frame in self._pictures(jobs):
            frame.flags.writeable = False
            for job in list(jobs):
                try:
                    job.feed(index, frame)
                except Exception as error:
                    self._failed(job.key.channel, error)
                    jobs.remove(job)
            if not jobs:
                return
        for job in jobs:
            try:
                values = job.consumer.finish()
            except JudgeUnreachableError as error:
                self._missing[job.key.channel] = UNREACHABLE  # where and why differs from day to day
                self._notes.append(str(error))
                continue
            except Exception as error:
                self._failed(job.key.channel, error)
                continue
            self._store.put(job.key, values)
            self._know(job.key.channel, Channel(values, job.maker), job.items)

    def _pictures(self, jobs: Sequence[_Job]) -> Iterator[tuple[int, Frame]]:
        if not jobs:
            return iter(())
        frames = [job.frames for job in jobs]
        if None in frames:
            return enumerate(self._video.frames())
        return self._video.some(sorted(set().union(*(some for some in frames if some is not None))))

    def _failed(self, channel: str, error: Exception) -> None:
        self._channels.pop(channel, None)
        self._missing[channel] = f"estimator error: {type(error).__name__}: {error}"
