# SPDX-License-Identifier: Apache-2.0
"""The kernels on a GPU: the host's answers, the same bits from run to run, and nothing that waits.

Skipped without one, unless ``WMB_REQUIRE_CUDA=1``, which `make test-gpu` sets: then that is a failure.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from every_op import CALLS, assert_close, assert_same, leaves
from tolerances import FLOAT32_REL, FLOAT64_ABS, FLOAT64_REL

import wmb_fast as wmb
from wmb_fast._walls.dispatch import _declared
from wmb_fast._walls.ext import cuda_status

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.cuda
OPS = sorted(op for op, backends in _declared.items() if {"cuda", "triton"} & set(backends))
ASYNCHRONOUS = [op for op in OPS if op != "mutual_matches"]  # it finds as many pairs as there are


@pytest.fixture(autouse=True)
def gpu() -> None:
    usable, why_not = cuda_status()
    if usable and torch.cuda.is_available():
        return
    if os.environ.get("WMB_REQUIRE_CUDA") == "1":
        pytest.fail(f"WMB_REQUIRE_CUDA=1 and {why_not if not usable else 'this torch has no CUDA'}")
    pytest.skip(why_not if not usable else "this torch has no CUDA")


def changed(op: str, change: Callable[[np.ndarray], Any]) -> Any:
    return CALLS[op].of(op, **{name: change(array) for name, array in CALLS[op].arrays.items()})


def on_the_host(result: Any) -> Any:
    return [(name, value.cpu()) for name, value in leaves(result)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", OPS)
def test_small_shapes_answer_as_the_host(op: str, dtype: str) -> None:
    want = changed(op, lambda x: torch.from_numpy(x.astype(dtype)))
    got = changed(op, lambda x: torch.from_numpy(x.astype(dtype)).cuda())
    for name, value in leaves(got):
        assert value.device.type == "cuda", name
    rel = FLOAT32_REL if dtype == "float32" else FLOAT64_REL
    assert_close([v for _, v in on_the_host(got)], [v for _, v in leaves(want)], rel=rel, abs=FLOAT64_ABS)


@pytest.mark.parametrize("op", OPS)
def test_the_same_bits_from_run_to_run_and_on_any_stream(op: str) -> None:
    tensors = {name: torch.from_numpy(array).cuda() for name, array in CALLS[op].arrays.items()}
    first = on_the_host(CALLS[op].of(op, **tensors))
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(5):
            again = CALLS[op].of(op, **tensors)
        torch.cuda.current_stream().synchronize()
        assert_same([v for _, v in on_the_host(again)], [v for _, v in first])


@pytest.mark.parametrize("op", ASYNCHRONOUS)
def test_nothing_waits_for_the_device(op: str) -> None:
    tensors = {name: torch.from_numpy(array).cuda() for name, array in CALLS[op].arrays.items()}
    want = CALLS[op].of(op, **tensors)
    torch.cuda.set_sync_debug_mode("error")  # what waits raises
    try:
        got = CALLS[op].of(op, **tensors)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert_same([v for _, v in on_the_host(got)], [v for _, v in on_the_host(want)])


@pytest.mark.parametrize("op", ASYNCHRONOUS)
def test_a_call_goes_into_a_graph(op: str) -> None:
    tensors = {name: torch.from_numpy(array).cuda() for name, array in CALLS[op].arrays.items()}
    want = on_the_host(CALLS[op].of(op, **tensors))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = CALLS[op].of(op, **tensors)
    graph.replay()
    torch.cuda.synchronize()
    assert_same([v for _, v in on_the_host(captured)], [v for _, v in want])


def test_small_sizes_around_a_warp_and_a_block() -> None:
    for n in (1, 17, 63, 65, 130):
        rng = np.random.default_rng(n)
        a, b = (torch.from_numpy(rng.standard_normal((n, 33), dtype=np.float32)) for _ in range(2))
        host, device = wmb.nearest(a, b), wmb.nearest(a.cuda(), b.cuda())
        assert_same(device.index.cpu(), host.index)
