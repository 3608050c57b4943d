# SPDX-License-Identifier: Apache-2.0
"""An estimator answers with the same bits, whatever the number of threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import wmb_fast as wmb
from wmb_fast.estimators.registry import Estimator, Frame


def assert_same_bits(entry: Estimator, pictures: Mapping[int, Frame]) -> Mapping[str, Any]:
    """What an estimator makes of pictures, by their frames' numbers, once one and two threads agree."""
    found = []
    before = wmb.get_num_threads()
    try:
        for threads in (1, 2):
            wmb.set_num_threads(threads)
            consumer = entry.start(entry.settings(None))
            for index, picture in pictures.items():
                consumer.feed(index, picture)
            found.append(consumer.finish())
    finally:
        wmb.set_num_threads(before)
    one, two = found
    assert one.keys() == two.keys()
    assert all(one[key].tobytes() == two[key].tobytes() for key in one)
    return one
