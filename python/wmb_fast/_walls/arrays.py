# SPDX-License-Identifier: Apache-2.0
"""Arrays in, arrays out: NumPy or torch, one kind and one device a call, no copy for contiguous input.

An op calls :func:`take` once, works on the NumPy views it gets, and gives its results to :meth:`Call.give`, so the same
kind comes back. Tensors that are not in host memory it gets as they are, and hands them to a kernel of their device.
torch is looked up among the modules the caller has imported; it is never imported here.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .errors import bad_type

Array = npt.NDArray[Any]
ArrayLike = Any  # numpy.ndarray or torch.Tensor; torch is not imported to say so

FLOATS = ("float32", "float64")
SMALL_FLOATS = ("float16", "bfloat16", *FLOATS)
MASKS = ("bool",)
BYTES = ("uint8",)
# What passes as it is: native byte order, no conversion. By the identity of NumPy's own dtype objects, because to hash
# one takes longer than the rest of the look; another object of the same dtype goes the long way to the same end.
_PLAIN = {id(np.dtype(name)): name for name in (*FLOATS, *MASKS, *BYTES)}


@dataclass(frozen=True)
class Call:
    """The kind and device that the arrays of one call share."""

    op: str
    kind: Literal["numpy", "torch"]
    device: str

    def give(self, result: Array) -> Any:
        """A result of the host's in the caller's kind; a 0-d one as a scalar."""
        if self.kind == "numpy":
            return result[()] if result.ndim == 0 else result
        return sys.modules["torch"].from_numpy(np.ascontiguousarray(result)).reshape(result.shape)


@functools.cache
def _numpy_call(op: str) -> Call:
    return Call(op, "numpy", "cpu")


def is_tensor(value: object) -> bool:
    """Whether a value is a torch tensor (which it cannot be before torch is imported)."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def device_of(value: ArrayLike) -> str:
    """Where an array's memory is: ``cpu``, or a torch device."""
    return str(value.device) if is_tensor(value) else "cpu"


def is_array(value: object) -> bool:
    """Whether a value is an array of either kind."""
    return isinstance(value, np.ndarray) or is_tensor(value)


def take(
    op: str,
    arguments: Mapping[str, ArrayLike | Sequence[ArrayLike] | None],
    *,
    dtypes: Mapping[str, Sequence[str]] | Sequence[str] = FLOATS,
    optional: Collection[str] = (),
    lists: bool = True,
) -> tuple[Call, Mapping[str, Any]]:
    """Checks kind, device and dtype of all array arguments together and returns C-contiguous NumPy views.

    Args:
        op: The op's name, for messages.
        arguments: Name to array; a list or tuple of arrays (a ragged batch) becomes a list.
        dtypes: The accepted dtypes, for all arguments or by name. Arguments whose dtypes are floating must agree in it.
        optional: The arguments that may be ``None``, and stay so.
        lists: Whether the op takes ragged batches.

    Returns:
        The call (kind, device), and the views by name: on the host NumPy's, float16 and bfloat16 as float32; elsewhere
        contiguous tensors.

    Raises:
        ArgumentTypeError: Something that is not an array, arrays of two kinds, devices or float dtypes, a dtype the
            op does not take, a NumPy masked array (its own mask would be lost), a sparse tensor, or a tensor that
            requires grad outside ``torch.no_grad()``.
        BackendError: Arrays on a device for which the op has no backend.
    """
    if _all_plain(arguments, dtypes, optional):
        return _numpy_call(op), arguments
    flat: list[tuple[str, ArrayLike]] = []
    for name, value in arguments.items():
        if lists and isinstance(value, (list, tuple)):
            flat.extend((f"{name}[{i}]", item) for i, item in enumerate(value))
        elif value is not None or name not in optional:
            flat.append((name, value))
    call = _common(op, flat)
    if call.device != "cpu":
        from .dispatch import require_backend

        require_backend(op, call.device)
    views = {name: _view(op, name, value, _accepted(dtypes, name)) for name, value in flat}
    _same_float(op, dict(flat))
    taken: dict[str, Any] = {}
    for name, value in arguments.items():
        if isinstance(value, (list, tuple)):
            taken[name] = [views[f"{name}[{i}]"] for i in range(len(value))]
        else:
            taken[name] = None if value is None else views[name]
    return call, taken


def _all_plain(
    arguments: Mapping[str, Any], dtypes: Mapping[str, Sequence[str]] | Sequence[str], optional: Collection[str]
) -> bool:
    """Whether these are C-contiguous NumPy arrays that need no conversion: the short way in for small calls."""
    float_seen = None
    for name, value in arguments.items():
        if value is None and name in optional:
            continue
        if type(value) is not np.ndarray or not value.flags.c_contiguous:
            return False
        dtype = _PLAIN.get(id(value.dtype))
        if dtype is None or dtype not in (dtypes[name] if isinstance(dtypes, dict) else dtypes):
            return False
        if dtype in FLOATS:
            if float_seen not in (None, dtype):
                return False
            float_seen = dtype
    return True


def _accepted(dtypes: Mapping[str, Sequence[str]] | Sequence[str], name: str) -> Sequence[str]:
    if isinstance(dtypes, Mapping):
        return dtypes[name.split("[", 1)[0]]
    return dtypes


def _common(op: str, flat: list[tuple[str, ArrayLike]]) -> Call:
    kinds: dict[str, str] = {}
    devices: dict[str, str] = {}
    for name, value in flat:
        if not is_array(value):
            raise bad_type(op, name, "be a NumPy array or a torch tensor", type(value).__name__)
        if isinstance(value, np.ma.MaskedArray):
            raise bad_type(op, name, "be an array without a mask of its own", type(value).__name__)
        kinds[name] = "torch" if is_tensor(value) else "numpy"
        devices[name] = device_of(value)
    for what, by_name in (("kind", kinds), ("device", devices)):
        if len(set(by_name.values())) > 1:
            (first, a), (second, b) = _first_two_that_differ(by_name)
            raise bad_type(op, second, f"have the {what} of {first} ({a})", b)
    kind: Literal["numpy", "torch"] = "torch" if "torch" in kinds.values() else "numpy"
    return Call(op, kind, next(iter(devices.values()), "cpu"))


def _first_two_that_differ(by_name: Mapping[str, str]) -> tuple[tuple[str, str], tuple[str, str]]:
    items = list(by_name.items())
    return items[0], next(item for item in items if item[1] != items[0][1])


def _dtype_name(value: ArrayLike) -> str:
    return str(value.dtype).removeprefix("torch.") if is_tensor(value) else value.dtype.newbyteorder("=").name


def _same_float(op: str, arrays: Mapping[str, ArrayLike]) -> None:
    floats = {name: _dtype_name(value) for name, value in arrays.items() if "float" in _dtype_name(value)}
    if len(set(floats.values())) > 1:
        (first, a), (second, b) = _first_two_that_differ(floats)
        raise bad_type(op, second, f"have the dtype of {first} ({a})", b)


def narrowed(values: Array, dtype: Any) -> Array:
    """Values in another float type; what is beyond its largest number is infinite, and no warning."""
    with np.errstate(over="ignore"):
        return values.astype(dtype, copy=False)


def _view(op: str, name: str, value: ArrayLike, accepted: Sequence[str]) -> Array:
    dtype = _dtype_name(value)
    if dtype not in accepted:
        raise bad_type(op, name, "have dtype " + " or ".join(accepted), dtype)
    if is_tensor(value):
        torch = sys.modules["torch"]
        if value.layout is not torch.strided:
            raise bad_type(op, name, "be a dense tensor", f"layout {value.layout}")
        if value.requires_grad and torch.is_grad_enabled():
            raise bad_type(op, name, "not require grad outside torch.no_grad()", "requires_grad=True")
        value = value.detach().resolve_neg()
        if device_of(value) != "cpu":
            return value.contiguous()  # type: ignore[no-any-return]  # a tensor yet, for a backend on its device
        value = (value.float() if dtype in ("float16", "bfloat16") else value).numpy()
    elif dtype == "float16":
        value = value.astype(np.float32)
    return np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("=")).reshape(value.shape)
