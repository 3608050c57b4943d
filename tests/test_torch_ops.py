# SPDX-License-Identifier: Apache-2.0
"""The operators of torch: torch's own checks of each, graphs through all of them, and the public ops' answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from every_op import CALLS

import wmb_fast as wmb

torch = pytest.importorskip("torch")
torch_ops = pytest.importorskip("wmb_fast.torch_ops")
OPS = sorted(torch_ops.OPS)
OPTIONS: dict[str, dict[str, Any]] = {
    "splat_depth": {"shape": [9, 12]},
    "psnr": {"data_range": 8.0},
    "ssim": {"data_range": 8.0, "variant": "uniform7"},
    "topk": {"k": 4},
    "reprojection_error": {"grid": 2},
    "bootstrap_ci": {"n": 50},
    "verify_identity": {"threshold": 0.2},
    "mutual_matches": {"ratio": 0.99},
}


def tensors(op: str) -> list[Any]:
    return [torch.from_numpy(np.array(array)) for array in CALLS[op].arrays.values()]


def results(found: Any) -> list[Any]:
    return list(found) if isinstance(found, (tuple, list)) else [found]


@pytest.mark.parametrize("op", OPS)
def test_torch_accepts_the_operator(op: str) -> None:
    """The schema says the truth, the fake results have the true shapes, and graphs trace through it."""
    checks = ["test_schema", "test_autograd_registration", "test_faketensor"]
    if op not in ("reprojection_error", "splat_depth"):  # their NaN this check takes for a difference
        checks.append("test_aot_dispatch_dynamic")
    operator = getattr(torch.ops.wmb_fast, op).default
    torch.library.opcheck(operator, tuple(tensors(op)), OPTIONS.get(op, {}), test_utils=checks)


@pytest.mark.parametrize("op", OPS)
def test_it_answers_as_the_public_op(op: str) -> None:
    options = OPTIONS.get(op, {})
    want = getattr(wmb, op)(*tensors(op), **options)
    got = results(getattr(torch.ops.wmb_fast, op)(*tensors(op), **options))
    names = torch_ops.OPS[op].results
    fields = [getattr(want, name) for name in names] if names else [want]
    for name, x, y in zip(names or (op,), got, fields, strict=True):
        y = y if isinstance(y, torch.Tensor) else y.rmse
        torch.testing.assert_close(x, y, rtol=0, atol=0, equal_nan=True, msg=name)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_graph_goes_through_whole() -> None:
    def score(a: Any, b: Any) -> Any:
        index, best = torch.ops.wmb_fast.topk(a * 2, b, 3)
        return best.mean(dim=-1) + torch.ops.wmb_fast.cosine_matrix(a, b)[..., 0] + index[..., 0]

    a, b = tensors("topk")
    compiled = torch.compile(score, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(a, b), score(a, b))

    class Module(torch.nn.Module):
        def forward(self, a: Any, b: Any) -> Any:
            return score(a, b)

    exported = torch.export.export(Module(), (a, b))
    assert "wmb_fast.topk" in str(exported.graph)
    torch.testing.assert_close(exported.module()(a, b), score(a, b))


def test_no_gradient_flows() -> None:
    a, b = (tensor.requires_grad_() for tensor in tensors("cosine_matrix"))
    with pytest.raises(RuntimeError, match="no autograd formula"):
        torch.ops.wmb_fast.cosine_matrix(a, b).sum().backward()


def test_bad_arguments_are_told_as_ever() -> None:
    with pytest.raises(wmb.ArgumentError, match=r"^topk: k must be at least 1, got 0$"):
        torch.ops.wmb_fast.topk(*tensors("topk"), 0)
