# SPDX-License-Identifier: Apache-2.0
"""What this installation has, and whether it answers known questions rightly."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import math
import platform
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ._walls.errors import WmbError
from ._walls.ext import core, cuda_status, get_num_threads
from ._walls.places import home_folder
from .estimators.catalogue import CATALOGUE
from .estimators.home import ModelHome
from .estimators.providers import providers, version_in_use
from .run import version
from .run.files import writable_folder

OPTIONAL = {
    "av": ("av", "score"),
    "opencv-python-headless": ("cv2", "score"),
    "typer": ("typer", "score"),
    "rich": ("rich", "score"),
    "pyyaml": ("yaml", "score"),
    "torch": ("torch", "torch"),
}
RUNTIMES = ("onnxruntime", "onnxruntime-gpu")


@dataclass(frozen=True)
class Finding:
    """One fact about the installation; ``wrong`` where it will make trouble."""

    name: str
    text: str
    wrong: bool = False


@dataclass(frozen=True)
class Check:
    """One question with a known answer."""

    name: str
    passed: bool
    text: str


def findings(cache: Path | None = None) -> list[Finding]:
    """What this installation has, in a fixed order."""
    return [
        Finding("wmb-fast", version()),
        Finding("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        Finding("numpy", np.__version__),
        Finding("core", f"{get_num_threads()} threads, SIMD {core.simd_levels()[-1]}"),
        Finding("cuda", cuda_status()[1]),
        *(_package(name, module, extra) for name, (module, extra) in OPTIONAL.items()),
        _onnxruntime(),
        *_models(),
        _cache(cache or home_folder()),
    ]


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _package(name: str, module: str, extra: str) -> Finding:
    if importlib.util.find_spec(module) is None:
        return Finding(name, f"not installed; pip install 'wmb-fast[{extra}]' adds it")
    return Finding(name, _version(name) or f"installed as {module}, by another package than {name}")


def _onnxruntime() -> Finding:
    wheels = {name: version for name in RUNTIMES if (version := _version(name))}
    if not wheels:
        return Finding("onnxruntime", "not installed; pip install 'wmb-fast[onnx]' adds it")
    said = ", ".join(f"{name} {version}" for name, version in wheels.items())
    try:
        used, found = version_in_use(), ", ".join(providers())
    except WmbError as error:
        return Finding("onnxruntime", str(error), wrong=True)
    if len(wheels) > 1:
        whose = next((name for name, version in wheels.items() if version == used), "neither")
        text = f"{said} overwrite each other's files; in use is {used}, that of {whose}, with {found}"
        return Finding("onnxruntime", f"{text}. pip uninstall both, then install one", wrong=True)
    if used not in wheels.values():
        return Finding("onnxruntime", f"{said} is installed, and {used} imports: reinstall it", wrong=True)
    return Finding("onnxruntime", f"{said}, providers {found}")


def _models() -> list[Finding]:
    """Which networks are here, by tier; whether they are whole is for ``wmb-fast models verify``."""
    home, found = ModelHome(), []
    for tier in ("packaged", "official"):
        names = [name for name, model in CATALOGUE.items() if model.tier == tier]
        states = {name: home.state(name) for name in names}
        here = [name for name in names if states[name] == "yes"]
        damaged = [name for name in names if states[name] == "damaged"]
        how = "models fetch --tier packaged" if tier == "packaged" else "models import ID FILE"
        rest = "" if len(here) == len(names) else f"; wmb-fast {how} brings the others"
        rest = f"; damaged: {', '.join(damaged)}{rest}" if damaged else rest
        text = f"{len(here)} of {len(names)}: {', '.join(here) or 'none'}{rest}"
        found.append(Finding(f"models, {tier}", text, wrong=bool(damaged)))
    return found


def _cache(folder: Path) -> Finding:
    try:
        writable_folder("cache", folder)
    except WmbError as error:
        return Finding("cache", str(error), wrong=True)
    return Finding("cache", f"{folder}, can be written")


def checks() -> list[Check]:
    """Asks the parts questions whose answers are known; a part that is not installed fails with the remedy."""
    return [_ask(name, question) for name, question in QUESTIONS.items()]


def _ask(name: str, question: Callable[[], tuple[bool, str]]) -> Check:
    try:
        passed, text = question()
    except Exception as error:
        return Check(name, False, f"{type(error).__name__}: {error}")
    return Check(name, passed, text)


def _umeyama() -> tuple[bool, str]:
    from .ops.align import umeyama

    source = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    found = umeyama(source, 2.5 * source @ turn.T + [1, 2, 3])
    error = max(
        float(np.abs(found.rotation - turn).max()),
        abs(float(found.scale) - 2.5),
        float(np.abs(found.translation - [1, 2, 3]).max()),
    )
    return error < 1e-12, f"a quarter turn, scale 2.5, shift (1, 2, 3): largest error {error:.1e}"


def _mutual_matches() -> tuple[bool, str]:
    from .ops.match import Matches, mutual_matches

    rows = np.eye(4, dtype=np.float32)
    found = mutual_matches(rows, rows[[2, 0, 3, 1]])
    assert isinstance(found, Matches)  # of one pair, not of a batch
    got = found.index_a.tolist(), found.index_b.tolist()
    expected = [0, 1, 2, 3], [1, 3, 0, 2]
    return got == expected, f"four rows, permuted: got {got[1]}, expected {expected[1]}"


def _render() -> tuple[bool, str]:
    from .rollout.plans import named_plan
    from .world import Pace, render_world

    pace = Pace(degrees_per_second=8.0)
    world = render_world(named_plan("worldmark/07"), seconds_per_step=1, fps=16, size=(65, 49), pace=pace)
    moved = float(world.flow(0, 2).uv[24, 32, 0])  # at the principal point a turn alone moves the image by f tan(angle)
    expected = float(world.intrinsics[0, 0]) * math.tan(math.radians(1.0))
    first, away, back = (world.view(frame).rgb for frame in (0, 16, 32))
    same = bool((first == back).all() and (first != away).any())
    text = f"a turn of one degree moves the middle by {moved:.6f} px, expected {expected:.6f}"
    text += f"; turned back, it is {'' if same else 'not '}the first frame again"
    return same and abs(moved - expected) < 1e-6, text


def _decode() -> tuple[bool, str]:
    from .rollout.video import open_video, write_video

    grey = [40, 90, 140, 190, 240]
    frames = [np.full((48, 64, 3), level, dtype=np.uint8) for level in grey]
    with tempfile.TemporaryDirectory() as folder:
        clip = Path(folder) / "clip.mp4"
        write_video(clip, frames, fps=16)
        video = open_video(clip)
        got = [float(frame.mean()) for frame in video.frames()]
        rate = video.fps
    error = max((abs(a - b) for a, b in zip(got, grey, strict=False)), default=255.0)
    passed = len(got) == len(grey) and rate == 16 and error <= 3
    return (
        passed,
        f"{len(got)} of {len(grey)} frames at {rate} frames per second, grey levels off by at most {error:.1f}",
    )


QUESTIONS: dict[str, Callable[[], tuple[bool, str]]] = {
    "umeyama": _umeyama,
    "mutual_matches": _mutual_matches,
    "render": _render,
    "decode": _decode,
}
