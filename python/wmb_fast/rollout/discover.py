# SPDX-License-Identifier: Apache-2.0
"""From paths to rollouts: files, folders, manifests; what each one was told to do, and how that is known."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from .._walls.errors import bad_value
from .caches import cache_from_filename
from .decode import IMAGES
from .manifest import TABLE, WHO, Entry, is_manifest, read_manifest, table_beside
from .opis_files import is_case_folder
from .plan import Plan
from .planfile import plan_of
from .plans import PATTERNS, plan_from_filename
from .r2m_files import read_tasks

VIDEOS = (".mp4", ".webm", ".gif", ".mkv", ".mov", ".avi", ".m4v")
POSES = (".commanded.json", ".commanded.npz")  # after the video's stem: the poses it was commanded to follow
MASKS = ".tracks"  # after the video's stem: a folder of pictures that are masks, and no rollout
TASKS = ".conf"  # R2M-Bench's tasks
_MANIFESTS = (".json", ".yaml", ".yml", ".csv", TASKS)


@dataclass(frozen=True)
class Rollout:
    """One video to score.

    Attributes:
        id: Unique in a run, path-like: the path below the folder that was given, that folder's name in front, without
            the ending; or what a manifest says.
        video_path: A video file, a folder of frames, or a flow cache.
        model: Whose rollout it is; ``None`` where nothing says so.
        case: The benchmark's case; ``None`` where nothing says so.
        plan: What was commanded; ``None`` where nothing says so.
        fps: The rate that a table states; ``None`` where the file's own time stamps are all there is.
        plan_source: How the plan is known, for the record: ``file name``, ``given``, ``manifest m.csv``, ….
        poses: The file of commanded poses that a manifest names, or that lies beside the video.
    """

    id: str
    video_path: Path
    model: str | None
    case: str | None
    plan: Plan | None
    fps: float | None = None
    plan_source: str | None = None
    poses: Path | None = None


def find_rollouts(
    paths: Sequence[str | os.PathLike[str]] | str | os.PathLike[str], *, plan: str | Plan | None = None
) -> list[Rollout]:
    """Finds the rollouts below some paths.

    A path is a video file, a folder of videos (searched through and through), a folder of png or jpg frames, a manifest
    (:mod:`.manifest`), a configuration with R2M-Bench's tasks (``*.conf``), or a flow cache of WorldMark's evaluator
    (``<model>__<image>_<action>.npz``), also in folders. What a video was told to do comes, in this order, from
    ``plan``, from a manifest (the path itself, or a file named ``manifest`` in a folder on the way), from a table
    ``annotations.json`` beside it, or from its name (WorldMark's and WorldMemBench's layouts). Poses that it was
    commanded to follow come from a manifest or task, or from ``<stem>.commanded.json`` or ``.npz`` beside it; they can
    stand in for a plan. A video in an OPIS case folder (:mod:`.opis_files`) needs none; the folder names its case.

    Args:
        paths: One or more.
        plan: A plan, the name of one, or a plan file; it overrides whatever the files say.

    Returns:
        The rollouts, sorted by id. One whose plan nothing tells has ``plan=None``.

    Raises:
        ArgumentError: No path, one that does not exist, a folder without videos, videos of which not one has a plan,
            two rollouts with one id, an unknown plan.
        FileFormatError: A manifest, table or plan file with something wrong in it. A video that one lists and that is
            not there is a rollout like the others, and fails when it is opened.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     (Path(folder) / "lyra-2").mkdir()
        ...     (Path(folder) / "lyra-2" / "016_014.mp4").touch()
        ...     [found] = find_rollouts(Path(folder) / "lyra-2")
        >>> found.id, found.model, found.case, found.plan.name
        ('lyra-2/016_014', 'lyra-2', '016_014', 'worldmark/14')
    """
    texts = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not texts or not all(map(os.fspath, texts)):  # an empty name would be the current folder
        raise bad_value(WHO, "paths", "name at least one video, folder or manifest", repr("") if texts else "none")
    given = [Path(p) for p in texts]
    override = plan_of(plan) if isinstance(plan, str) else plan
    found: dict[Path, Rollout] = {}
    for path in given:
        for rollout in _below(path):
            found.setdefault(_whole(rollout.video_path), rollout)
    rollouts = [_with_poses(_overridden(rollout, override)) for rollout in found.values()]
    if all(r.plan is None and r.poses is None and not is_case_folder(r.video_path.parent) for r in rollouts):
        raise _nothing_fits(rollouts)
    _check_ids(rollouts)
    return sorted(rollouts, key=lambda rollout: rollout.id)


def _whole(path: Path) -> Path:
    """The absolute path by the names that the user sees: links keep theirs, not what they point to."""
    return Path(os.path.abspath(path))


def _legible(text: str) -> str:
    """A name as text for one line: its bytes as UTF-8 whatever the locale is; what cannot be shown as ``\\x…``."""
    name = os.fsencode(text).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)


def _below(path: Path) -> list[Rollout]:
    if not os.path.exists(path):  # Path.exists raises for a name that is too long
        raise bad_value(WHO, "paths", "exist", str(path))
    if path.is_dir():
        rollouts = list(_in_folder(path))
        if not rollouts:
            raise bad_value(WHO, "paths", "hold videos or folders of frames", f"none below {path}")
        return rollouts
    if path.suffix.lower() in _MANIFESTS:
        entries = read_tasks(path) if path.suffix.lower() == TASKS else read_manifest(path)
        if not entries:
            raise bad_value(WHO, "paths", "list rollouts", f"an empty manifest {path}")
        return [_from_entry(entry, _whole(path).parent.parent) for entry in entries]
    if cache_from_filename(path) is not None:
        return [_from_cache(path, _whole(path).parent.parent)]
    above, rows = _whole(path).parent.parent, table_beside([path])
    return [_from_entry(rows[path], above) if path in rows else _from_file(path, above)]


def _in_folder(root: Path) -> Iterator[Rollout]:
    """Videos wherever they stand; a folder with images and no videos is a rollout itself.

    What manifests on the way list comes before what is found after it.
    """
    above = _whole(root).parent
    for where, folders, files in os.walk(root, onerror=_unreadable, followlinks=True):
        folder = Path(where)
        masks = {Path(name).stem + MASKS for name in files if Path(name).suffix.lower() in VIDEOS}
        wanted = (name for name in folders if not name.startswith(".") and name not in masks)
        folders[:] = sorted(name for name in wanted if _leads_on(root, folder / name))
        seen = [folder / name for name in sorted(files) if not name.startswith(".")]
        videos = [path for path in seen if path.suffix.lower() in VIDEOS]
        rows = table_beside(videos)
        for told_by in (path for path in seen if path.stem == "manifest" and is_manifest(path)):
            yield from (_from_entry(entry, above) for entry in read_manifest(told_by))
        yield from (_from_cache(path, above) for path in seen if cache_from_filename(path) is not None)
        for path in videos:
            yield _from_entry(rows[path], above) if path in rows else _from_file(path, above)
        if not videos and not is_case_folder(folder) and any(path.suffix.lower() in IMAGES for path in seen):
            yield _from_file(folder, above.parent if folder == root else above)


def _unreadable(error: OSError) -> NoReturn:
    raise bad_value(WHO, "paths", "be folders that can be read", f"{error.filename} ({error.strerror})") from error


def _leads_on(root: Path, folder: Path) -> bool:
    """Whether to go into a folder: a link only if it leads out of what is searched anyway, and not in a circle."""
    if not folder.is_symlink():
        return True
    target = os.path.realpath(folder)
    above = {os.path.realpath(way) for way in _whole(folder).parents}
    return target not in above and not Path(target).is_relative_to(os.path.realpath(root))


def _from_cache(path: Path, above: Path) -> Rollout:
    named = cache_from_filename(path)
    assert named is not None
    identity = Path(_legible(str(_whole(path)))).relative_to(_legible(str(above))).with_suffix("").as_posix()
    return Rollout(identity, path, named.model, named.case, named.plan, None, "file name")


def _from_file(path: Path, above: Path) -> Rollout:
    whole = Path(_legible(str(_whole(path))))
    named = plan_from_filename(whole)
    below = whole.relative_to(_legible(str(above)))
    identity = below if path.is_dir() else below.with_suffix("")
    if named is None and is_case_folder(path.parent):
        model = identity.parts[1] if len(identity.parts) > 4 else None  # <root>/<model>/<subcategory>/<case>/<video>
        return Rollout(identity.as_posix(), path, model, whole.parent.name, None)
    if named is None:
        return Rollout(identity.as_posix(), path, _folder_as_model(identity), whole.stem, None)
    return Rollout(identity.as_posix(), path, named.model, named.case, named.plan, None, "file name")


def _folder_as_model(identity: Path) -> str | None:
    """``<root>/<model>/…/<video>``: the first folder below the one that was given, where there is one."""
    return identity.parts[1] if len(identity.parts) > 2 else None


def _from_entry(entry: Entry, above: Path) -> Rollout:
    """A row's rollout. That its video is not there is found when it is opened: the others are none the worse for it."""
    video, above = Path(_legible(str(_whole(entry.video)))), Path(_legible(str(above)))
    below = video.relative_to(above) if video.is_relative_to(above) else Path(video.name)
    identity = entry.identity or (below if entry.video.is_dir() else below.with_suffix("")).as_posix()
    plan, source = entry.plan, entry.source
    named = plan_from_filename(video)
    if named is not None and plan is None:
        plan, source = named.plan, "file name"
    model = entry.model or (named.model if named else _folder_as_model(below))
    case = entry.case or (named.case if named else video.stem)
    return Rollout(identity, entry.video, model, case, plan, entry.fps, source if plan else None, entry.poses)


def _overridden(rollout: Rollout, plan: Plan | None) -> Rollout:
    return rollout if plan is None else replace(rollout, plan=plan, plan_source="given")


def _with_poses(rollout: Rollout) -> Rollout:
    """With the commanded poses that lie beside the video, unless a manifest names others."""
    if rollout.poses is not None:
        return rollout
    video = rollout.video_path
    stem = video.name if video.is_dir() else video.stem
    beside = (video.parent / f"{stem}{ending}" for ending in POSES)
    return replace(rollout, poses=next((path for path in beside if path.is_file()), None))


def _nothing_fits(rollouts: Sequence[Rollout]) -> Exception:
    names = [rollout.video_path.name for rollout in rollouts]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    wanted = f"hold videos named like {' or '.join(PATTERNS)}, a table {TABLE} or a manifest, unless a plan is given"
    return bad_value(WHO, "paths", wanted, ", ".join(names[:3]) + more)


def _check_ids(rollouts: Iterable[Rollout]) -> None:
    seen: dict[str, Path] = {}
    for rollout in rollouts:
        if rollout.id in seen:
            got = f"{rollout.id!r} for {seen[rollout.id]} and {rollout.video_path}"
            raise bad_value(WHO, "paths", "give each rollout an id of its own", got)
        seen[rollout.id] = rollout.video_path
