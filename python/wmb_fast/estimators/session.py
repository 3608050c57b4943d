# SPDX-License-Identifier: Apache-2.0
"""A network at work: one ONNX file, run so that equal fingerprints give equal bits.

onnxruntime promises no such thing by itself. Threads inside a session, the batch size, the level of optimisation and
the provider each change bits now and then, so all are fixed: one thread, nodes one after the other, the optimisations
of the extended level, batches padded to the one size the file was written for. Speed comes from several windows at
once: ``run`` may be called from many threads. What comes out is pooled and normalised outside, in a fixed order.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._walls.errors import BackendError, FileFormatError, bad_value
from .._walls.ext import optional
from .catalogue import Contract

Arrays = Mapping[str, npt.NDArray[Any]]
_TYPES = {"float32": "tensor(float)", "float64": "tensor(double)", "int64": "tensor(int64)"}
CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
_OPTIONS: dict[str, dict[str, Any]] = {
    CPU: {},
    # The exhaustive search times kernels and takes the fastest of the day; TF32 drops 13 bits.
    CUDA: {"cudnn_conv_algo_search": "HEURISTIC", "use_tf32": 0, "do_copy_in_default_stream": 1},
}


class Session:
    """One network, ready to run.

    Args:
        content: The ONNX file.
        name: What it is called, for messages.
        provider: ``CPUExecutionProvider`` or ``CUDAExecutionProvider``.

    Raises:
        MissingExtraError: onnxruntime is not installed.
        FileFormatError: The file is no graph that onnxruntime can run.
        BackendError: The provider was not taken: onnxruntime falls back to the CPU without a word, this does not.
    """

    def __init__(self, content: bytes, name: str, provider: str = CPU) -> None:
        if provider not in _OPTIONS:
            raise bad_value(name, "provider", f"be {CPU} or {CUDA}", repr(provider))
        runtime = optional("onnxruntime", "onnx" if provider == CPU else "onnx-gpu", name)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.execution_mode = runtime.ExecutionMode.ORT_SEQUENTIAL
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.use_deterministic_compute = True
        options.log_severity_level = 4
        options.add_session_config_entry(_EXTERNAL, os.devnull)  # a folder that is none
        asked = [(provider, _OPTIONS[provider])]
        if provider not in runtime.get_available_providers():
            raise BackendError(f"{name}: this onnxruntime has no {provider}. {_REMEDY[provider]}")
        try:
            self._session = runtime.InferenceSession(content, options, providers=asked)
        except Exception as error:
            if "External data" in str(error):  # it would be no part of the hash
                wanted, got = "hold its weights itself", "weights in a file beside it. Write it as one file"
            else:
                wanted, got = "be an ONNX graph that runs here", words_of(error)
            raise FileFormatError(f"{name}: the model must {wanted}, got {got}") from error
        if self._session.get_providers()[0] != provider:
            raise BackendError(f"{name}: onnxruntime did not take {provider} and fell back. {_REMEDY[provider]}")
        self._name = name
        self._facts = {
            "onnx_sha256": hashlib.sha256(content).hexdigest(),
            "onnxruntime": runtime.__version__,
            "provider": provider,
            "options": _OPTIONS[provider],
            "optimisation": "extended",
            "instructions": _instructions(),
        }
        self.inputs = {entry.name: tuple(entry.shape) for entry in self._session.get_inputs()}
        self.outputs = {entry.name: tuple(entry.shape) for entry in self._session.get_outputs()}
        self._types = {e.name: e.type for e in (*self._session.get_inputs(), *self._session.get_outputs())}

    @property
    def facts(self) -> dict[str, Any]:
        """All that the bits depend on besides the input."""
        return dict(self._facts)

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits of them."""
        text = json.dumps(self._facts, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def expects(self, contract: Contract) -> None:
        """Requires the inputs and outputs of a contract, their shapes and types; an output more does no harm.

        Raises:
            FileFormatError: The file has others.
        """
        kinds = (("input", contract.inputs, self.inputs), ("output", contract.outputs, self.outputs))
        for what, promised, found in kinds:
            for name, shape in promised.items():
                if name not in found:
                    raise FileFormatError(f"{self._name}: the model must have an {what} {name}, got {sorted(found)}")
                self._fits(f"{what} {name}", shape, found[name])
                dtype = contract.dtype(name)
                if self._types[name] != _TYPES[dtype]:
                    got = self._types[name]
                    raise FileFormatError(f"{self._name}: {what} {name} of the model must be {dtype}, got {got}")
        further = sorted(set(self.inputs) - set(contract.inputs))
        if further:
            wanted = f"have no input but {', '.join(contract.inputs) or 'none'}"
            raise FileFormatError(f"{self._name}: the model must {wanted}, got {further[0]} too")

    def _fits(self, what: str, shape: tuple[Any, ...], found: tuple[Any, ...]) -> None:
        """A size that the contract or the file leaves open fits any."""
        pairs = zip(shape, found, strict=False)
        if len(shape) != len(found) or any(a != b for a, b in pairs if isinstance(a, int) and isinstance(b, int)):
            raise FileFormatError(f"{self._name}: {what} of the model must have shape {shape}, got {found}")

    def run(self, inputs: Arrays) -> dict[str, npt.NDArray[Any]]:
        """One run, on arrays of the file's own shapes. Safe from many threads."""
        values = self._session.run(list(self.outputs), dict(inputs))
        return dict(zip(self.outputs, values, strict=True))

    def run_padded(self, name: str, rows: npt.NDArray[np.float32]) -> dict[str, npt.NDArray[np.float32]]:
        """Runs any number of rows through a graph of one input, in batches of the file's own size.

        The last batch is filled up with zeros: a batch of another size takes other kernels, and gives other bits.
        """
        size = self.inputs[name][0]
        parts: list[dict[str, npt.NDArray[np.float32]]] = []
        for begin in range(0, len(rows), size):
            batch = np.zeros((size, *rows.shape[1:]), dtype=np.float32)
            here = rows[begin : begin + size]
            batch[: len(here)] = here
            parts.append({key: value[: len(here)] for key, value in self.run({name: batch}).items()})
        if not parts:
            return {key: np.zeros((0, *shape[1:]), dtype=np.float32) for key, shape in self.outputs.items()}
        return {key: np.concatenate([part[key] for part in parts]) for key in self.outputs}


def words_of(error: Exception) -> str:
    """What onnxruntime says, in one line, without where in its own code it says so."""
    line = " ".join(str(error).split())
    return re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : |/onnxruntime_src/\S+ .*?\) (?=[A-Z])", "", line)[:300]


_EXTERNAL = "session.model_external_initializers_file_folder_path"
_REMEDY = {
    CPU: "Reinstall it: pip install --force-reinstall onnxruntime",
    CUDA: "Install it beside a CUDA driver, and without the CPU wheel: pip install 'wmb-fast[onnx-gpu]'",
}


def open_session(path: Path, name: str, provider: str = CPU) -> Session:
    """The session of a file."""
    return Session(path.read_bytes(), name, provider)


def _instructions() -> str:
    """The vector instructions of this CPU, by which onnxruntime picks its kernels."""
    try:
        flags = Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0].split()
    except (OSError, IndexError):
        import platform

        return platform.machine()
    wide = [
        name for name in ("avx", "avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile") if name in flags
    ]
    return "+".join(wide) or "baseline"
