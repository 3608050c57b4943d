# SPDX-License-Identifier: Apache-2.0
"""BRISQUE's regression: (1, 36) features in float64 to a score; a support vector machine as a few plain operations.

Each feature is moved from its range to [-1, 1], x; the score is the sum over the support vectors s of
coefficient(s) exp(-gamma |x - s|^2), less rho. In float64, as libsvm has it: coefficients of 1024 cancel, and scores
in float32 would be off by up to 0.004.

Source: Mittal, Moorthy and Bovik, "No-Reference Image Quality Assessment in the Spatial Domain", IEEE TIP 21(12), 2012,
section III-C; libsvm's README for the file of the machine.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..._walls.errors import FileFormatError
from .graph import Graph

FEATURES = 36
_HEADER = {"svm_type": "epsilon_svr", "kernel_type": "rbf", "nr_class": "2"}
Reals = npt.NDArray[np.float64]


class Machine(NamedTuple):
    """A regression with Gaussian kernels.

    Attributes:
        vectors: (S, 36) support vectors.
        coefficients: (S,).
        gamma, rho: Of the kernel, and what is taken off.
    """

    vectors: Reals
    coefficients: Reals
    gamma: float
    rho: float


def convert(machine: bytes, ranges: Any) -> bytes:
    """The graph of libsvm's file and of the features' ranges.

    Args:
        machine: The file, as text.
        ranges: A dict of ``min_`` and ``max_``, 36 numbers each.

    Raises:
        FileFormatError: Another kind of machine, or not what was promised.
    """
    low, high = _ranges(ranges)
    svr = read_machine(machine)
    g = Graph("brisque", {})

    def real(value: npt.ArrayLike) -> str:
        return g.constant(value, np.float64)

    features = g.input("features", (1, FEATURES), np.float64)
    share = g.node("Mul", g.node("Sub", features, real(low)), real(2 / (high - low)))
    away = g.node("Sub", g.node("Sub", share, real(1)), real(svr.vectors))
    squared = g.node("ReduceSum", g.node("Mul", away, away), g.constant([1], np.int64), keepdims=0)
    near = g.node("Exp", g.node("Mul", squared, real(-svr.gamma)))
    terms = g.node("Mul", near, real(svr.coefficients))
    total = g.node("ReduceSum", terms, g.constant([0], np.int64), keepdims=1)
    g.output(g.node("Sub", total, real(svr.rho)), "score", (1,), np.float64)
    return g.model()


def read_machine(content: bytes) -> Machine:
    """A regression as libsvm writes it: a header, ``SV``, and a line a support vector, zeros left out.

    Raises:
        FileFormatError: It is none, of another kernel, cut short, or of more features.
    """
    try:
        head, _, body = content.decode("ascii").partition("\nSV\n")
        said = dict(line.split(maxsplit=1) for line in head.splitlines())
        rows = [line.split() for line in body.splitlines()]
        gamma, rho, count = float(said["gamma"]), float(said["rho"]), int(said["total_sv"])
        coefficients = np.array([float(row[0]) for row in rows])
        vectors = np.zeros((len(rows), FEATURES))
        for vector, row in zip(vectors, rows, strict=True):
            for place, value in (entry.split(":") for entry in row[1:]):
                if not 1 <= int(place) <= FEATURES:
                    raise ValueError(f"the feature {place}")
                vector[int(place) - 1] = float(value)
    except (UnicodeDecodeError, ValueError, KeyError, IndexError) as error:
        raise _unfit("libsvm's text of a regression on 36 features", error) from error
    for name, wanted in _HEADER.items():
        if said.get(name) != wanted:
            raise _unfit(f"a machine of {name} {wanted}", said.get(name))
    if len(rows) != count or not count:
        raise _unfit(f"{count} support vectors, as it says, and at least one", len(rows))
    if not (np.isfinite(vectors).all() and np.isfinite(coefficients).all() and np.isfinite([gamma, rho]).all()):
        raise _unfit("a machine of finite numbers", "others")
    return Machine(vectors, coefficients, gamma, rho)


def _ranges(ranges: Any) -> tuple[Reals, Reals]:
    try:
        low, high = (np.array([float(value) for value in ranges[name]]) for name in ("min_", "max_"))
    except (TypeError, ValueError, LookupError) as error:
        raise _unfit("the ranges min_ and max_", error) from error
    fit = low.shape == high.shape == (FEATURES,) and np.isfinite([low, high]).all()
    if not fit or not (low < high).all():
        raise _unfit(f"{FEATURES} ranges, each from a number to a larger one", f"{low.size} and {high.size} numbers")
    return low, high


def _unfit(wanted: str, got: Any) -> FileFormatError:
    return FileFormatError(f"models: the weights of brisque must hold {wanted}, got {got}")
