# SPDX-License-Identifier: Apache-2.0
"""Takes in the ONNX file of an official network that the user brings."""

from __future__ import annotations

from pathlib import Path

from .._walls.errors import FileFormatError
from .catalogue import Model
from .home import Installed, ModelHome
from .session import Session


def take_in(model: Model, file: Path, home: ModelHome) -> Installed:
    """Keeps a file as a model's, if it runs and has the inputs and outputs of the contract.

    Raises:
        FileFormatError: It cannot be read, is no ONNX graph that runs here, or has other shapes.
        ArgumentError: The folder cannot be written.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise FileFormatError(f"models: {file} could not be read ({error.strerror})") from error
    session = Session(content, model.id)
    session.expects(model.contract.inputs, model.contract.outputs)
    with home.locked():
        facts = {"tier": model.tier, "role": model.role, "licence": model.licence, "source": f"brought as {file.name}"}
        return home.put(model, content, facts)
