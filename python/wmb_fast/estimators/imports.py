# SPDX-License-Identifier: Apache-2.0
"""Takes in the ONNX file of an official network that the user brings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .._walls.errors import FileFormatError
from .catalogue import Model
from .home import Installed, ModelHome
from .session import Session, words_of

_OPEN = {"batch": 1}  # what an open size is tried with; all others with
_SIDE = 64


def take_in(model: Model, file: Path, home: ModelHome) -> Installed:
    """Keeps a file as a model's, if it has the inputs and outputs of the contract, and answers a black picture by it.

    Raises:
        FileFormatError: It cannot be read, is no ONNX graph that runs here, or has other shapes or types.
        ArgumentError: The folder cannot be written.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise FileFormatError(f"models: {file} could not be read ({error.strerror})") from error
    session = Session(content, model.id)
    session.expects(model.contract)
    _tried(model, session)
    with home.locked():
        facts = {"tier": model.tier, "role": model.role, "licence": model.licence, "source": f"brought as {file.name}"}
        return home.put(model, content, facts)


def _tried(model: Model, session: Session) -> None:
    """Runs once, for what a file declares need not be what it does."""
    contract = model.contract
    fed = {
        name: np.array(contract.whole[name], dtype=np.int64)
        if name in contract.whole
        else np.zeros(_sized(shape), dtype=contract.dtype(name))
        for name, shape in contract.inputs.items()
    }
    try:
        given = session.run(fed)
    except Exception as error:  # onnxruntime's own kinds
        said = words_of(error)
        raise FileFormatError(f"{model.id}: the model must run on inputs of its contract, got {said}") from error
    for name, shape in contract.outputs.items():
        if given[name].shape != _sized(shape):
            got = given[name].shape
            raise FileFormatError(f"{model.id}: output {name} of the model must have shape {_sized(shape)}, got {got}")
        if not np.isfinite(given[name]).all():
            raise FileFormatError(f"{model.id}: output {name} of a black picture must be finite, got NaN or infinity")


def _sized(shape: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(side if isinstance(side, int) else _OPEN.get(side, _SIDE) for side in shape)
