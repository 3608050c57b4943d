# SPDX-License-Identifier: Apache-2.0
"""``run.json``: with what a run was made, and what in it failed.

It holds no time and no number of threads: neither changes a result, and the same run gives the same bytes.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..protocols.record import Score, Status

PACKAGES = ("wmb-fast", "numpy", "av", "opencv-python-headless", "opencv-python", "onnxruntime", "onnxruntime-gpu")


def version() -> str:
    """The version of this library that is installed."""
    return importlib.metadata.version("wmb-fast")


def versions() -> dict[str, str]:
    """The versions of what a result may depend on; a package that is not installed is left out."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """The machine: system, architecture, processor, cores."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


def missing_by_reason(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """Every metric without a value, by protocol, metric, status and reason, and how many records that are."""
    counted = Counter(
        (s.protocol, s.metric, s.status.value, s.reason)
        for s in scores
        if s.value is None and s.status is not Status.ERROR
    )
    names = ("protocol", "metric", "status", "reason")
    return [{**dict(zip(names, key, strict=True)), "records": n} for key, n in sorted(counted.items())]


def document(options: Mapping[str, Any], rollouts: Sequence[Mapping[str, Any]], scores: Sequence[Score]) -> str:
    """The whole of ``run.json``, strict, with a newline at its end."""
    failed = [
        {"rollout": s.rollout, "protocol": s.protocol, "metric": s.metric, "part": s.part, "reason": s.reason}
        for s in scores
        if s.status is Status.ERROR
    ]
    content = {
        "format": 1,
        "versions": versions(),
        "machine": machine(),
        "options": options,
        "definitions": sorted({s.definition for s in scores}),
        "estimators": [dict(m) for m in sorted({tuple(sorted(e.items())) for s in scores for e in s.estimators})],
        "rollouts": rollouts,
        "failed": failed,
        "missing": missing_by_reason(scores),
    }
    return json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1) + "\n"
