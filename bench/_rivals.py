# SPDX-License-Identifier: Apache-2.0
"""One small adapter a rival. A rival that does not import is said so, once, and left out."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ._harness import Contender

PACKAGES = {"faiss": "faiss-cpu", "cv2": "opencv-python-headless"}  # where the import name is another


@functools.cache
def module(name: str) -> ModuleType | None:
    """A rival's module, or ``None`` where it does not import."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"bench: {name} is left out, it did not import ({error}); pip install '.[bench]'")
        return None


def contender(
    name: str,
    call: Callable[[Any], Any],
    verify: Callable[[Any], str] | None,
    *,
    what: str = "",
    share: float = 1.0,
) -> list[Contender]:
    """A rival as a list of one, or of none where it does not import; ``call`` gets its module."""
    library = module(name.split(".", 1)[0])
    if library is None:
        return []
    version = importlib.metadata.version(PACKAGES.get(name, name))
    return [Contender(f"{name} {what}".strip(), functools.partial(call, library), verify, version, share)]


def numpy_mutual(a: Any, b: Any) -> Any:
    """(K, 2) mutual nearest neighbours of unit rows, by the whole matrix."""
    similarity = a @ b.T
    return _agreeing(similarity.argmax(axis=1), similarity.argmax(axis=0))


def faiss_mutual(faiss: ModuleType, a: Any, b: Any, k: int = 1) -> Any:
    """The same by faiss's exact search in both directions; k = 2 is what a ratio test needs from a to b."""
    forward = faiss.knn(a, b, k, metric=faiss.METRIC_INNER_PRODUCT)[1][:, 0]
    backward = faiss.knn(b, a, 1, metric=faiss.METRIC_INNER_PRODUCT)[1][:, 0]
    return _agreeing(forward, backward)


def torch_mutual(torch: ModuleType, a: Any, b: Any) -> Any:
    """The same as NumPy's, by torch."""
    similarity = torch.from_numpy(a) @ torch.from_numpy(b).T
    return _agreeing(similarity.max(dim=1).indices.numpy(), similarity.max(dim=0).indices.numpy())


def numkong_mutual(numkong: ModuleType, a: Any, b: Any) -> Any:
    """The same by NumKong's packed dot products and NumPy's argmax."""
    similarity = np.asarray(numkong.dots_packed(a, numkong.dots_pack(b)))
    return _agreeing(similarity.argmax(axis=1), similarity.argmax(axis=0))


def _agreeing(forward: Any, backward: Any) -> Any:
    index = np.arange(len(forward))
    mutual = backward[forward] == index
    return np.stack([index[mutual], forward[mutual]], axis=1)


def numpy_cosine_pairs(a: Any, b: Any) -> Any:
    """Cosines of rows that belong together."""
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.einsum("nd,nd->n", a, b) / lengths


def torch_cosine_pairs(torch: ModuleType, a: Any, b: Any) -> Any:
    """The same by torch."""
    return torch.nn.functional.cosine_similarity(torch.from_numpy(a), torch.from_numpy(b)).numpy()


def numpy_cosine_matrix(a: Any, b: Any) -> Any:
    """Cosines of all rows: normalised, then one matrix product."""
    return (a / np.linalg.norm(a, axis=1, keepdims=True)) @ (b / np.linalg.norm(b, axis=1, keepdims=True)).T


def torch_cosine_matrix(torch: ModuleType, a: Any, b: Any) -> Any:
    """The same by torch."""
    normalize = torch.nn.functional.normalize
    return (normalize(torch.from_numpy(a)) @ normalize(torch.from_numpy(b)).T).numpy()
