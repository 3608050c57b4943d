# SPDX-License-Identifier: Apache-2.0
"""Which backend runs an op. Kind and device come from the arguments; a backend asked for and missing is an error."""

from __future__ import annotations

from .checks import one_of
from .errors import BackendError, bad_value
from .ext import cuda_status, triton_status

BACKENDS = ("cpu", "cuda", "triton", "reference")
_declared: dict[str, tuple[str, ...]] = {}


def declare(op: str, *backends: str) -> None:
    """Says which backends an op has. Called once a public op, beside it."""
    _declared[op] = backends


def declared_ops() -> tuple[str, ...]:
    """The names of all ops, sorted."""
    return tuple(sorted(_declared))


def available_backends(op: str) -> tuple[str, ...]:
    """The backends that can run an op here and now.

    Args:
        op: The name of a public op, for example ``"umeyama"``.

    Returns:
        Names out of ``cpu``, ``cuda``, ``triton``, ``reference``.

    Raises:
        ArgumentError: No op has that name.

    Example:
        >>> import wmb_fast as wmb
        >>> wmb.available_backends("assign")
        ('cpu', 'reference')
    """
    if not isinstance(op, str) or op not in _declared:
        raise bad_value("available_backends", "op", "name a public op", repr(op))
    return tuple(b for b in _declared[op] if b in ("cpu", "reference") or _device_status(b)[0])


def _device_status(backend: str) -> tuple[bool, str]:
    """Whether a backend of devices can be used here, and the sentence that says why not."""
    return triton_status() if backend == "triton" else cuda_status()


def require_backend(op: str, device: str) -> None:
    """Requires that an op has a backend for arrays that are not in host memory.

    Raises:
        BackendError: It has none.
    """
    if not device.startswith("cuda") or not {"cuda", "triton"}.intersection(_declared.get(op, ())):
        raise BackendError(f"{op}: no backend of this version runs on device {device}. Move the arguments to the CPU.")


def pick(op: str, backend: str, device: str) -> str:
    """The backend of one call.

    Raises:
        ArgumentError: A name that is no backend, or one that does not run on the arguments' device.
        BackendError: A backend that this op, build or machine does not have.
    """
    on_host = device == "cpu"
    if backend == "auto" and on_host and "cpu" in _declared[op]:
        return "cpu"
    one_of(op, "backend", backend, ("auto", *BACKENDS))
    if backend == "auto":
        require_backend(op, device)
        backend = next(b for b in ("cuda", "triton") if b in _declared[op])
    if backend not in _declared[op]:
        raise BackendError(f"{op}: this version has no {backend} backend, it has {', '.join(_declared[op])}.")
    if backend in ("cuda", "triton"):
        usable, why_not = _device_status(backend)
        if not usable:
            raise BackendError(f"{op}: {why_not}")
    if (backend in ("cpu", "reference")) != on_host:
        raise bad_value(op, "backend", f"run on the arguments' device {device}", repr(backend))
    return backend
