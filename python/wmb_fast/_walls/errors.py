# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the library. Every message is one sentence; a second one is a remedy."""

from __future__ import annotations


class WmbError(Exception):
    """The base of every exception this library raises on purpose."""


class ArgumentError(WmbError, ValueError):
    """An argument has a value the op cannot take."""


class ArgumentTypeError(WmbError, TypeError):
    """An argument has a kind, dtype or device the op cannot take."""


class BackendError(WmbError, RuntimeError):
    """The backend asked for is not there."""


class MissingExtraError(WmbError, ImportError):
    """An optional dependency is not installed."""


class FileFormatError(WmbError, ValueError):
    """A file does not hold what its reader needs."""


class ValueRangeWarning(UserWarning):
    """Values that do not fit what was said of their range. The result is computed as asked."""


def bad_value(op: str, argument: str, requirement: str, got: object) -> ArgumentError:
    """The house's sentence about a value: ``op: argument must requirement, got value``."""
    return ArgumentError(f"{op}: {argument} must {requirement}, got {got}")


def bad_type(op: str, argument: str, requirement: str, got: object) -> ArgumentTypeError:
    """The same sentence about a kind, dtype or device."""
    return ArgumentTypeError(f"{op}: {argument} must {requirement}, got {got}")
