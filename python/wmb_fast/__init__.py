# SPDX-License-Identifier: Apache-2.0
"""wmb_fast: the memory of video world models, measured fast and the same way every time.

Importing this package imports NumPy and the compiled core, nothing else.
"""

from . import reference
from ._walls.dispatch import available_backends
from ._walls.errors import (
    ArgumentError,
    ArgumentTypeError,
    BackendError,
    FileFormatError,
    MissingExtraError,
    WmbError,
)
from ._walls.ext import get_num_threads, set_num_threads

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "BackendError",
    "FileFormatError",
    "MissingExtraError",
    "WmbError",
    "__version__",
    "available_backends",
    "get_num_threads",
    "reference",
    "set_num_threads",
]
