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
from .ops.cosine import cosine_matrix, cosine_pairs
from .ops.match import Matches, Nearest, mutual_matches, nearest

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "BackendError",
    "FileFormatError",
    "Matches",
    "MissingExtraError",
    "Nearest",
    "WmbError",
    "__version__",
    "available_backends",
    "cosine_matrix",
    "cosine_pairs",
    "get_num_threads",
    "mutual_matches",
    "nearest",
    "reference",
    "set_num_threads",
]
