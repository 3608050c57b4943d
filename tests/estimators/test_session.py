# SPDX-License-Identifier: Apache-2.0
"""Sessions: the same bits for any threads and batches, the provider asked for, the contract promised."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from estimators.nets import INPUTS, OUTPUTS, bits, network, pictures

from wmb_fast._walls.errors import ArgumentError, BackendError, FileFormatError, MissingExtraError
from wmb_fast.estimators import session as sessions
from wmb_fast.estimators.catalogue import Contract
from wmb_fast.estimators.session import CPU, CUDA, Session


@pytest.fixture(scope="module")
def small() -> Session:
    return Session(network(), "small")


def test_the_same_bits_from_one_thread_two_and_a_fresh_session(small: Session) -> None:
    rows = [pictures(4, seed) for seed in range(12)]
    alone = [small.run({"pictures": row})["vector"] for row in rows]
    for workers in (1, 2, 5):
        with ThreadPoolExecutor(workers) as pool:
            together = list(pool.map(lambda row: small.run({"pictures": row})["vector"], rows))
        assert bits(together) == bits(alone)
    again = Session(network(), "small")
    assert bits([again.run({"pictures": row})["vector"] for row in rows]) == bits(alone)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9])
def test_the_same_bits_in_any_batch(small: Session, n: int) -> None:
    rows = pictures(9)
    one_by_one = [small.run_padded("pictures", row[None])["vector"][0] for row in rows[:n]]
    assert bits(list(small.run_padded("pictures", rows[:n])["vector"])) == bits(one_by_one)
    turned = small.run_padded("pictures", rows[:n][::-1].copy())["vector"][::-1]
    assert bits(list(turned)) == bits(one_by_one)


def test_no_rows_give_none(small: Session) -> None:
    assert small.run_padded("pictures", pictures(0))["vector"].shape == (0, 12)


def test_the_network_computes_what_it_says(small: Session) -> None:
    """Against the convolutions by hand, in float64."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((8, 3, 3, 3), dtype=np.float32)
    b = rng.standard_normal((8, 8, 3, 3), dtype=np.float32)
    c = rng.standard_normal((8 * 16 * 16, 12), dtype=np.float32)

    def convolved(x: Any, kernel: Any) -> Any:
        padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        return np.einsum("nchwij,ocij->nohw", windows, kernel)

    x = pictures(4)
    expected = convolved(np.maximum(convolved(x, a), 0), b).reshape(4, -1) @ c
    assert np.abs(small.run({"pictures": x})["vector"] - expected).max() < 1e-5 * np.abs(expected).max()


def test_a_fingerprint_is_of_all_that_the_bits_depend_on(small: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = small.facts
    assert facts["provider"] == CPU
    assert facts["optimisation"] == "extended"
    assert len(facts["onnx_sha256"]) == 64
    assert Session(network(), "another name").fingerprint == small.fingerprint
    others = {small.fingerprint, Session(network(seed=1), "small").fingerprint}
    monkeypatch.setattr(sessions, "_instructions", lambda: "avx512f")
    others.add(Session(network(), "small").fingerprint)
    assert len(others) == 3


@pytest.mark.parametrize("content", [b"", b"not a graph", network()[:1000], b"\x80\x04K\x01."])
def test_truncated_and_foreign_files(content: bytes) -> None:
    with pytest.raises(FileFormatError, match=r"^small: the model must be an ONNX graph that runs here, got "):
        Session(content, "small")


@pytest.mark.parametrize(
    ("inputs", "outputs", "sentence"),
    [
        ({"images": (4, 3, 16, 16)}, OUTPUTS, r"must have an input images, got \['pictures'\]"),
        ({"pictures": (4, 3, 8, 16)}, OUTPUTS, r"input pictures of the model must have shape .*, got \(4, 3, 16, 16\)"),
        ({"pictures": (4, 3, 16)}, OUTPUTS, r"input pictures of the model must have shape"),
        (INPUTS, {"vector": (4, 13)}, r"output vector of the model must have shape \(4, 13\), got \(4, 12\)"),
        (INPUTS, {"map": (4, 12)}, r"must have an output map"),
        ({}, OUTPUTS, r"must have no input but none, got pictures too"),
    ],
)
def test_shapes_that_are_not_the_contract(small: Session, inputs: Any, outputs: Any, sentence: str) -> None:
    small.expects(contract(INPUTS, OUTPUTS))
    small.expects(contract({"pictures": ("batch", 3, "h", "w")}, {}))
    with pytest.raises(FileFormatError, match=sentence):
        small.expects(contract(inputs, outputs))


def test_types_that_are_not_the_contract(small: Session) -> None:
    with pytest.raises(FileFormatError, match=r"input pictures of the model must be int64, got tensor\(float\)"):
        small.expects(Contract(INPUTS, OUTPUTS, "rgb", "any", "none", whole={"pictures": 0}))


def contract(inputs: Any, outputs: Any) -> Contract:
    return Contract(inputs, outputs, "rgb", "any", "none")


def test_cuda_asked_for_and_absent() -> None:
    import onnxruntime

    if CUDA in onnxruntime.get_available_providers():
        pytest.skip("this onnxruntime lists CUDA")
    with pytest.raises(BackendError, match=r"has no CUDAExecutionProvider\. Install it .*wmb-fast\[onnx-gpu\]"):
        Session(network(), "small", CUDA)
    with pytest.raises(ArgumentError, match="provider must be CPUExecutionProvider or CUDAExecutionProvider"):
        Session(network(), "small", "TensorrtExecutionProvider")


def test_a_provider_that_falls_back_in_silence_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the GPU wheel does on a machine without CUDA's libraries: it lists CUDA, takes it, and runs on the CPU."""
    import onnxruntime

    asked = {}

    def falls_back(content: bytes, options: Any, providers: Any) -> Any:
        asked["providers"] = providers
        return SimpleNamespace(get_providers=lambda: [CPU])

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [CUDA, CPU])
    monkeypatch.setattr(onnxruntime, "InferenceSession", falls_back)
    with pytest.raises(BackendError, match="did not take CUDAExecutionProvider and fell back"):
        Session(network(), "small", CUDA)
    ((provider, options),) = asked["providers"]
    assert (provider, options["cudnn_conv_algo_search"], options["use_tf32"]) == (CUDA, "HEURISTIC", 0)


def test_without_onnxruntime_the_command_that_adds_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'wmb-fast\[onnx\]'"):
        Session(network(), "small")


def test_pictures_too_small_for_xfeat_have_no_keypoints() -> None:
    from wmb_fast.estimators.match_xfeat import XFeat

    finder = XFeat(Session(network(), "small"))  # is not run
    for height, width in ((1, 1), (31, 300), (300, 31)):
        found = finder.keypoints(np.zeros((height, width, 3), np.uint8))
        assert (found.places.shape, found.scores.shape, found.descriptors.shape) == ((0, 2), (0,), (0, 64))
        assert [len(values) for values in finder.match(found, found)] == [0, 0, 0]
