# SPDX-License-Identifier: Apache-2.0
"""The extension modules, and the threads of the core."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
import warnings
from types import ModuleType

from .. import _core
from .checks import integer
from .errors import MissingExtraError, bad_value

core = _core
MOST_THREADS = 2**31 - 1  # an int of the core's


def set_num_threads(n: int) -> None:
    """Bounds the threads of the compiled core, for the whole process.

    Results do not depend on it: the same bits for any number.

    Args:
        n: At least 1.

    Raises:
        ArgumentError: ``n`` below 1.

    Example:
        >>> import wmb_fast as wmb
        >>> wmb.set_num_threads(2)
        >>> wmb.get_num_threads()
        2
    """
    core.set_num_threads(integer("set_num_threads", "n", n, at_least=1, at_most=MOST_THREADS))


def get_num_threads() -> int:
    """The bound on the core's threads: what was set, else ``WMB_NUM_THREADS``, else every core of the machine.

    A ``WMB_NUM_THREADS`` that is no positive integer is warned of when the package is imported, and not followed.

    Example:
        >>> import wmb_fast as wmb
        >>> wmb.set_num_threads(1)
        >>> wmb.get_num_threads()
        1
    """
    return int(core.num_threads())


def _threads_from_environment() -> None:
    """A wrong setting of a shell's is told and left alone: no result depends on it, and an import should not fail.

    The warning names no line of code, for none is at fault.
    """
    text = os.environ.get("WMB_NUM_THREADS", "")
    if not text:
        return
    if not text.isdecimal() or len(text) > 9 or int(text) < 1:
        told = f"wmb_fast: WMB_NUM_THREADS must be a positive integer, got {text!r}: all cores are used"
        warnings.warn(told, RuntimeWarning, stacklevel=10**6)
        return
    core.set_num_threads(int(text))


def simd_levels() -> tuple[str, ...]:
    """The SIMD levels of the similarity kernels that this CPU can run, narrowest first. The last is the default."""
    return tuple(core.simd_levels())


def _simd_from_environment() -> None:
    level = os.environ.get("WMB_SIMD")
    if level is None:
        return
    if not core.set_simd_level(level):
        here = " or ".join(simd_levels())
        raise bad_value("wmb_fast", "WMB_SIMD", f"be a level this CPU and build have ({here})", repr(level))


@functools.cache
def cuda_status() -> tuple[bool, str]:
    """Whether a CUDA device can be used through this build, and the sentence that says why not."""
    try:
        cuda = importlib.import_module("wmb_fast.kernels._cuda")
    except ModuleNotFoundError:
        return False, "this build has no CUDA module. Rebuild where nvcc is found, with WMB_CUDA=ON."
    error, count, text = cuda.probe_devices()
    if error == 35:  # cudaErrorInsufficientDriver: also what a machine without any driver answers
        return False, "this machine has no CUDA driver, or one too old for this build."
    if error == 100 or (error == 0 and count == 0):  # cudaErrorNoDevice
        return False, "this machine has a CUDA driver and no GPU it can use."
    if error != 0:
        return False, f"counting the CUDA devices failed: {text}."
    return True, f"{count} CUDA device{'s' if count > 1 else ''}"


def triton_status() -> tuple[bool, str]:
    """Whether Triton's kernels can be used, and the sentence that says why not."""
    if not _has_triton():
        return False, "the package triton is not installed. Install it with: pip install 'wmb-fast[triton]'"
    torch = sys.modules.get("torch")  # without it there is no tensor that a kernel could take
    if torch is None or not torch.cuda.is_available():
        return False, "torch sees no CUDA device, which Triton's kernels need."
    return True, "torch sees a CUDA device"


@functools.cache
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None


def kernels(family: str, backend: str = "cuda") -> ModuleType:
    """The module that launches an op family's kernels on device tensors."""
    return importlib.import_module(f"wmb_fast.kernels.{backend}.{family}")


def optional(module: str, extra: str, who: str) -> ModuleType:
    """Imports an optional dependency, or says with which command to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{who}: needs the package {module.split('.', 1)[0]}, which did not import ({error}). "
            f"Install it with: pip install 'wmb-fast[{extra}]'"
        ) from error


_threads_from_environment()
_simd_from_environment()
