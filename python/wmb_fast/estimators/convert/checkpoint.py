# SPDX-License-Identifier: Apache-2.0
"""Reads the tensors of a PyTorch checkpoint (a pickle and raw storages) without torch and without its code.

Also pickles of plain numbers, which may name nothing at all.

The pickle may name the handful of things that a state dict of plain tensors is made of. Anything else in it is refused
before it is built: a checkpoint is data, and a pickle that wants to call something is not.
"""

from __future__ import annotations

import collections
import io
import pickle
import zipfile
from collections.abc import Callable
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..._walls.errors import FileFormatError

Tensors = dict[str, npt.NDArray[Any]]

_STORAGES: dict[str, np.dtype[Any]] = {
    "FloatStorage": np.dtype("<f4"),
    "DoubleStorage": np.dtype("<f8"),
    "HalfStorage": np.dtype("<f2"),
    "LongStorage": np.dtype("<i8"),
    "IntStorage": np.dtype("<i4"),
    "ByteStorage": np.dtype("u1"),
    "BoolStorage": np.dtype("?"),
}


_STREAM_MAGIC = 0x1950A86A20F9469CFC6C


class _Storage(NamedTuple):
    dtype: np.dtype[Any]


def _tensor(storage: npt.NDArray[Any], offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> Any:
    count = int(np.prod(size, dtype=np.int64))
    # The last element's place bounds them all: torch's strides are not negative.
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if count else offset
    if offset < 0 or any(s < 0 for s in stride) or any(n < 0 for n in size) or last >= max(len(storage), 1):
        raise pickle.UnpicklingError("a tensor reaches beyond its storage")
    steps = tuple(s * storage.itemsize for s in stride)
    return np.lib.stride_tricks.as_strided(storage[offset:], size, steps, writeable=False).copy()


class _Unpickler(pickle.Unpickler):
    """Builds nothing but tensors, on storages that `fetch` finds by key, element type and count."""

    def __init__(self, file: IO[bytes], fetch: Callable[[str, np.dtype[Any], int], npt.NDArray[Any]]) -> None:
        super().__init__(file)
        self._fetch = fetch

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in _STORAGES:
            return _Storage(_STORAGES[name])
        raise pickle.UnpicklingError(f"it names {module}.{name}, which no plain state dict needs")

    def persistent_load(self, pid: Any) -> npt.NDArray[Any]:
        kind, storage, key, _, count = pid[:5]
        if kind != "storage" or not isinstance(storage, _Storage) or not str(key).isdecimal():
            raise pickle.UnpicklingError(f"it names the object {pid!r}")
        return self._fetch(str(key), storage.dtype, int(count))


def _of_zip(content: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        pickled = [entry for entry in archive.namelist() if entry.endswith("/data.pkl")]
        if len(pickled) != 1:
            raise pickle.UnpicklingError(f"{len(pickled)} pickles in the zip")
        root = pickled[0].removesuffix("/data.pkl")

        def fetch(key: str, dtype: np.dtype[Any], count: int) -> npt.NDArray[Any]:
            return _elements(archive.read(f"{root}/data/{key}"), key, dtype, count)

        return _Unpickler(io.BytesIO(archive.read(pickled[0])), fetch).load()


def _of_stream(content: bytes) -> Any:
    """The form of before 2020: pickles one after the other, then the storages, each after its count."""
    file = io.BytesIO(content)
    met: dict[str, np.dtype[Any]] = {}

    def note(key: str, dtype: np.dtype[Any], count: int) -> npt.NDArray[Any]:
        if not 0 <= count * dtype.itemsize <= len(content):
            raise pickle.UnpicklingError(f"storage {key} is larger than the file")
        met[key] = dtype
        return np.zeros(count, dtype)

    magic, _version, _system = (_Unpickler(file, note).load() for _ in range(3))
    if magic != _STREAM_MAGIC:
        raise pickle.UnpicklingError("neither a zip nor a stream of torch's")
    begin = file.tell()
    _Unpickler(file, note).load()
    data: dict[str, bytes] = {}
    for key in _Unpickler(file, note).load():
        count = int.from_bytes(file.read(8), "little")
        data[str(key)] = file.read(count * met[str(key)].itemsize)
    file.seek(begin)
    return _Unpickler(file, lambda key, dtype, count: _elements(data[key], key, dtype, count)).load()


def _elements(data: bytes, key: str, dtype: np.dtype[Any], count: int) -> npt.NDArray[Any]:
    if len(data) < count * dtype.itemsize:
        raise pickle.UnpicklingError(f"storage {key} is cut short")
    return np.frombuffer(data, dtype=dtype, count=count)


def read_checkpoint(content: bytes, name: str) -> Tensors:
    """The tensors of a state dict by name.

    Args:
        content: The file, in either of PyTorch's two forms.
        name: What it is called, for messages.

    Raises:
        FileFormatError: Something else, cut short, or a pickle that names anything but tensors.
    """
    try:
        state = (_of_zip if zipfile.is_zipfile(io.BytesIO(content)) else _of_stream)(content)
    except (zipfile.BadZipFile, pickle.UnpicklingError, LookupError, EOFError, ValueError, TypeError) as error:
        raise _refused(name, "be a PyTorch checkpoint of plain tensors", str(error)) from error
    if not isinstance(state, dict) or not all(isinstance(value, np.ndarray) for value in state.values()):
        raise _refused(name, "be a state dict of tensors", type(state).__name__)
    return {str(key): value for key, value in state.items()}


class _Plain(pickle.Unpickler):
    """Builds nothing but what the language of pickles has by itself: numbers, texts, lists, dicts."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it names {module}.{name}, which no plain numbers need")


def read_plain(content: bytes, name: str) -> Any:
    """What a pickle of plain numbers, texts, lists and dicts holds; nothing in it is called.

    Args:
        content: The file.
        name: What it is called, for messages.

    Raises:
        FileFormatError: Something else, cut short, or a pickle that names any class or function, arrays' among them.
    """
    try:
        return _Plain(io.BytesIO(content)).load()
    except (pickle.UnpicklingError, LookupError, EOFError, ValueError, TypeError, AttributeError) as error:
        raise _refused(name, "be a pickle of plain numbers", str(error)) from error


def _refused(name: str, requirement: str, got: str) -> FileFormatError:
    return FileFormatError(f"models: {name} must {requirement}, got {got}")
