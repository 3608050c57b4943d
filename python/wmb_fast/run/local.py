# SPDX-License-Identifier: Apache-2.0
"""The local engine: rollouts in threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from ..rollout.discover import Rollout
from .task import Done


def each(
    rollouts: Sequence[Rollout], do: Callable[[Rollout], Done], jobs: int, watch: Callable[[Done], None]
) -> list[Done]:
    """Does every rollout, ``jobs`` at a time, and returns them in the order given.

    ``watch`` is called in this thread, in the order in which they finish. An exception here, such as the user's
    interrupt, leaves at once what has not begun; what is done is kept.
    """
    pool = ThreadPoolExecutor(max_workers=max(1, min(jobs, len(rollouts))), thread_name_prefix="wmb-fast")
    try:
        futures = {pool.submit(do, rollout): i for i, rollout in enumerate(rollouts)}
        done: dict[int, Done] = {}
        for future in as_completed(futures):
            done[futures[future]] = future.result()
            watch(done[futures[future]])
        return [done[i] for i in range(len(rollouts))]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
