# SPDX-License-Identifier: Apache-2.0
"""Which of onnxruntime's execution providers really run here."""

from __future__ import annotations

from .._walls.ext import optional

# A graph of one Identity node on one float32, as ONNX writes it: what a provider must at least be able to run.
_IDENTITY = bytes.fromhex(
    "08083a370a100a017812017922084964656e746974791201675a0f0a0178120a0a08080112040a020801"
    "620f0a0179120a0a08080112040a0208014202100d"
)


def providers() -> list[str]:
    """The execution providers that onnxruntime lists, and of those that do not run a graph the word that they do not.

    A wheel lists what it was built for; a session falls back to the CPU in silence where a library is missing.

    Raises:
        MissingExtraError: onnxruntime is not installed, or does not import.
    """
    runtime = optional("onnxruntime", "onnx", "providers")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    said = []
    for provider in runtime.get_available_providers():
        try:
            session = runtime.InferenceSession(_IDENTITY, options, providers=[provider])
            runs = provider in session.get_providers()
        except Exception:
            runs = False
        said.append(provider if runs else f"{provider} (listed, does not run)")
    return said


def version_in_use() -> str:
    """The version that imports, whichever of the two wheels it came with.

    Raises:
        MissingExtraError: Neither is installed, or it does not import.
    """
    return str(optional("onnxruntime", "onnx", "providers").__version__)
