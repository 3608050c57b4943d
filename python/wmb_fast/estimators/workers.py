# SPDX-License-Identifier: Apache-2.0
"""The work of one clip on all cores: done by threads that the process shares, its results in the order of asking.

While the clip decodes in one thread, others compare, resize and infer. Each piece of work is a function of its
arguments alone, so what comes out does not depend on how many threads there are, or on who is done first.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from .._walls.ext import get_num_threads

T = TypeVar("T")
_AHEAD = 2  # pieces of work a thread that may wait, so that a fast decoder does not fill the memory
_making = threading.Lock()


class InOrder(Generic[T]):
    """Pieces of work, some of them still being done.

    Example:
        >>> squares = InOrder[int]()
        >>> for i in range(5):
        ...     squares.put(lambda x: x * x, i)
        >>> squares.results()
        [0, 1, 4, 9, 16]
    """

    def __init__(self) -> None:
        self._waiting: deque[Future[T]] = deque()
        self._done: list[T] = []

    def put(self, work: Callable[..., T], *arguments: Any) -> None:
        """Has one more piece done; here where the library may use one thread, and waits where too much is waiting.

        Raises:
            Exception: What an earlier piece raised.
        """
        threads = get_num_threads()
        if threads == 1:
            self._take(0)
            self._done.append(work(*arguments))
            return
        self._waiting.append(_pool(os.getpid(), threads).submit(work, *arguments))
        self._take(_AHEAD * threads)

    def results(self) -> list[T]:
        """What all of it gave, in the order in which it was put."""
        self._take(0)
        return self._done

    def _take(self, left: int) -> None:
        while len(self._waiting) > left:
            self._done.append(self._waiting.popleft().result())


def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    with _making:
        return _made(process, threads)


@functools.lru_cache(maxsize=4)
def _made(process: int, threads: int) -> ThreadPoolExecutor:
    """One for each process, for a fork has the pool's lists and not its threads."""
    return ThreadPoolExecutor(max_workers=threads, thread_name_prefix="wmb-fast-clip")
