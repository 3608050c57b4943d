# SPDX-License-Identifier: Apache-2.0
"""What a file of evidence holds, channel by channel, and what is wrong with one that does not.

Of a rollout of N frames that decode. Frames are integers in rising order; NaN stands for what was not found, and only
depth may be infinite (unknown). ``[name]`` need not be there.

- ``flow``: ``horizontal`` and ``radial`` (N - stride,); [``stride``] (2) and [``grid``] (width, height; 640, 432);
- ``flow_fields``: ``frames`` (K,), ``horizontal`` (K, H, W): each pixel's flow to the right, in pixels of the grid of
  ``flow``, from each frame to the one a stride later;
- ``cuts``: ``frames`` (M,), the first frame after each hard cut;
- ``features``: ``frames`` (K,), ``mean`` (K, D), [``cls``] (K, D), [``tokens``] (K, P, D);
- ``dino``, ``boq``, ``mvpr``: ``frames`` (K,), ``features`` (K, D), one vector a frame;
- ``poses``: an array (K, 4, 4) an estimator, camera to world, under the estimator's name, and under ``target`` what was
  commanded; [``frames``] (K,), by default all;
- ``geometry``: ``frames`` (K,), ``depth`` (K, H, W), [``confidence``] (K, H, W), from 0 up, ``cam_from_world``
  (K, 3, 4), ``intrinsics`` (K, 3, 3) in pixels of ``depth``;
- ``depth``: ``frames`` (K,), ``depth`` (K, H, W): z, not ray length;
- ``parallax``: ``segments`` (S,), and for each segment j ``inverse_depth_<j>`` and ``flow_<j>`` of one length;
- ``tracks``: ``frames`` (K,), and of T targets ``kinds`` (T,), 0 a person, 1 an object, ``found`` (T, K), whether the
  tracker has it, and [``masks``] (T, K, H, W), 0 outside; or JSON with run lengths or pictures, see :mod:`.tracks`;
- ``faces`` and ``appearance``: ``frames`` (K,), and of the targets of ``tracks`` ``embedding`` (T, K, D) and ``valid``
  (T, K), whether there is one; or of ``faces`` all F of those frames, by no target: ``face_frames`` (F,), the frame
  each is in, ``boxes`` (F, 4) left, top, right, bottom in pixels of the video, ``embedding`` (F, D);
- ``boxes``: ``frames`` (K,), those that were looked at, and of M boxes ``box_frames`` (M,), the frame each is in,
  ``boxes`` (M, 4) left, top, right, bottom in pixels of the video, ``scores`` (M,) from 0 to 1, [``labels``] (M,),
  which phrase each is of, as a row of the texts ``phrases`` (C,);
- ``points``: ``frames`` (K,), and of M points ``places`` (M, K, 2), x and y in pixels of the video, NaN where a point
  is not followed; [``scores``] (M, K);
- ``quality``: ``quality`` and ``aesthetic``, numbers from 1 to 5;
- ``frame_quality``: ``frames`` (K,), ``imaging`` (K,) from 0 to 100 and ``aesthetic`` (K,) from 0 to 10;
- of pairs of frames, ``pairs`` (P, 2), with (P,) values beside them: ``lpips`` (``lpips``, from 0 up), ``states``
  (``state_score``, 1 to 5, -1 where the judge failed), ``persistence`` (``appearance``, ``semantic``, from -1 to 1),
  ``matches``: ``n_matches``, ``n_a``, ``n_b``, ``n_inliers`` (-1 where there was no estimate), or ``match_ratio`` and
  ``inlier_ratio``. [Matches one by one]: ``match_pairs`` (M,), the row of ``pairs`` that each is of, ``places_a`` and
  ``places_b`` (M, 2) x and y in pixels of the video; ``n_matches`` is then counted where it is not said.

Two are JSON. ``checklist``: the questions of a case. ``judge``: a judge's reply as it came, or a transcript, an object
with ``reply`` and, as far as they are known, ``answered_by``, ``asked`` and ``origin``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

REQUIRED = {
    "flow": ("horizontal", "radial"),
    "cuts": ("frames",),
    "features": ("frames", "mean"),
    "parallax": ("segments",),
    "geometry": ("frames", "depth", "cam_from_world", "intrinsics"),
    "depth": ("frames", "depth"),
    "flow_fields": ("frames", "horizontal"),
    "quality": ("quality", "aesthetic"),
    "dino": ("frames", "features"),
    "boq": ("frames", "features"),
    "mvpr": ("frames", "features"),
    "lpips": ("pairs", "lpips"),
    "matches": ("pairs",),
    "states": ("pairs", "state_score"),
    "persistence": ("pairs", "appearance", "semantic"),
    "frame_quality": ("frames", "imaging", "aesthetic"),
    "poses": (),
    "tracks": ("frames", "kinds", "found"),
    "faces": ("frames", "embedding"),
    "appearance": ("frames", "embedding", "valid"),
    "boxes": ("frames", "box_frames", "boxes", "scores"),
    "points": ("frames", "places"),
    "checklist": (),
    "judge": (),
}
# Channels that tell of some frames alone: what they cover is known.
BY_FRAME = ("features", "dino", "boq", "mvpr", "geometry", "depth")
TEXTS = ("checklist", "judge")  # channels whose files are JSON
_WORDS = {"boxes": ("phrases",)}  # arrays that hold texts
_UNKNOWN = ("depth",)  # arrays in which infinity says that nothing is known
_NO_ROTATION = 0.05  # max |R'R - I|, as of pose files
_SLACK = 1e-5  # a cosine of two float32 vectors may lie beyond 1 by this much
Values = dict[str, Any]


class UnfitError(Exception):
    """What an array must do, and what it does."""

    def __init__(self, requirement: str, got: object) -> None:
        super().__init__(f"must {requirement}, got {got}")
        self.requirement, self.got = requirement, str(got)


def check(channel: str, values: Values, n_frames: int) -> None:
    """Holds arrays to the schema, and brings them to the kinds that protocols read.

    Args:
        channel: One that is no text.
        values: Its arrays; changed in place, defaults are added.
        n_frames: Of the rollout.

    Raises:
        UnfitError: The first thing that is wrong.
    """
    absent = [wanted for wanted in REQUIRED[channel] if wanted not in values]
    if absent:
        raise UnfitError(f"hold the array {absent[0]}", ", ".join(sorted(values)) or "nothing")
    for name, value in values.items():
        texts = name in _WORDS.get(channel, ())
        if (value.dtype.kind == "U") != texts or value.dtype.kind not in "biufU":
            raise UnfitError(f"hold {'texts' if texts else 'numbers'} in {name}", value.dtype)
        if value.dtype.kind == "f" and name not in _UNKNOWN and np.isinf(value).any():
            raise UnfitError(f"hold finite numbers, or NaN, in {name}", f"{int(np.isinf(value).sum())} infinite ones")
    for name, value in values.items():
        if value.ndim == 0 and value.dtype.kind != "U":
            values[name] = value.item()
    _CHECKS[channel](values, n_frames)


def _shaped(values: Values, name: str, wanted: Sequence[int | str]) -> None:
    """A text in ``wanted`` stands for any size of at least 1."""
    shape = np.shape(values[name])
    fits = len(shape) == len(wanted) and all(
        a >= 1 if isinstance(b, str) else a == b for a, b in zip(shape, wanted, strict=True)
    )
    if not fits:
        sides = ", ".join(map(str, wanted)) + ("," if len(wanted) == 1 else "")
        raise UnfitError(f"hold {name} of shape ({sides})", f"shape {shape}")


def _within(values: Values, name: str, low: float, high: float = np.inf, *, also: float = np.nan) -> None:
    """Numbers of a range; NaN, and one number that has a meaning of its own."""
    given = np.asarray(values[name], dtype=np.float64)
    bad = given[~np.isnan(given) & ((given < low - _SLACK) | (given > high + _SLACK)) & (given != also)]
    if bad.size:
        span = f"of at least {low:g}" if np.isinf(high) else f"from {low:g} to {high:g}"
        raise UnfitError(f"hold numbers {span} in {name}", f"{bad.flat[0]:g}")


def _whole(values: Values, name: str) -> None:
    if np.asarray(values[name]).dtype.kind not in "iu":
        raise UnfitError(f"hold integers in {name}", np.asarray(values[name]).dtype)
    values[name] = np.asarray(values[name]).astype(np.int64)


def _frames(values: Values, n_frames: int) -> int:
    """How many frames there are, which must be the video's."""
    frames = np.atleast_1d(values["frames"])
    fits = frames.ndim == 1 and frames.dtype.kind in "iu" and bool((np.diff(frames.astype(np.int64)) > 0).all())
    if not fits and frames.size:
        raise UnfitError("hold frames that are integers in rising order", f"{frames.dtype} {frames.shape}")
    values["frames"] = frames.astype(np.int64)
    if frames.size and (values["frames"][0] < 0 or values["frames"][-1] >= n_frames):
        raise UnfitError(f"hold frames within the video's {n_frames}", f"{frames.min()} to {frames.max()}")
    return len(frames)


def _among_frames(values: Values, name: str) -> int:
    """How many rows there are, each of one of the frames."""
    at = np.asarray(values.get(name, ()))
    if at.ndim != 1 or (at.size and at.dtype.kind not in "iu") or not np.isin(at, values["frames"]).all():
        raise UnfitError(f"hold {name} that are integers among its frames", f"{at.dtype} {at.shape}")
    values[name] = at.astype(np.int64)
    return len(at)


def _flags(values: Values, name: str, wanted: Sequence[int]) -> None:
    given = np.asarray(values[name])
    if given.shape != tuple(wanted) or not np.isin(given, (0, 1)).all():
        raise UnfitError(f"hold {name} of shape {tuple(wanted)}, 0 or 1", f"shape {given.shape}")
    values[name] = given != 0


def _corners(values: Values, n: int) -> None:
    _shaped(values, "boxes", (n, 4))
    left, top, right, bottom = np.asarray(values["boxes"], dtype=np.float64).reshape(n, 4).T
    bad = np.flatnonzero(~((left < right) & (top < bottom)))
    if len(bad):
        box = ", ".join(f"{x:g}" for x in values["boxes"][bad[0]])
        raise UnfitError("hold boxes as left, top, right, bottom, left < right and top < bottom", f"({box})")


def _motions(values: Values, name: str) -> None:
    """Rotations and translations: a mirror, or a matrix the wrong way round, is none. NaN where there is none."""
    rows = np.asarray(values[name], dtype=np.float64)
    rows = rows[np.isfinite(rows).all(axis=(1, 2))]
    if rows.shape[1] == 4 and (rows[:, 3] != (0, 0, 0, 1)).any():
        raise UnfitError(f"hold {name} with the last row 0 0 0 1", rows[(rows[:, 3] != (0, 0, 0, 1)).any(1)][0, 3])
    turns = rows[:, :3, :3]
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers too large to square
        off = np.abs(turns.swapaxes(1, 2) @ turns - np.eye(3)).max(axis=(1, 2), initial=0.0)
        volume = np.linalg.det(turns)
    bad = np.flatnonzero(~(off <= _NO_ROTATION) | (volume < 0))
    if len(bad):
        got = f"determinant {volume[bad[0]]:.3g} and max |R'R - I| = {off[bad[0]]:.3g}"
        raise UnfitError(f"hold rotations in {name}", got)


def _flow(values: Values, n_frames: int) -> None:
    stride = values.setdefault("stride", 2)
    if np.ndim(stride) or stride != int(stride) or stride < 1:
        raise UnfitError("hold a whole stride of at least 1", stride)
    grid = np.asarray(values.get("grid", (640, 432)))
    if grid.shape != (2,) or (grid < 1).any():
        raise UnfitError("hold a grid of width and height", grid.tolist())
    values["grid"] = tuple(int(side) for side in grid)
    for name in ("horizontal", "radial"):
        values[name] = np.asarray(values[name], dtype=np.float64)
        _shaped(values, name, (max(0, n_frames - int(stride)),))


def _flow_fields(values: Values, n_frames: int) -> None:
    _shaped(values, "horizontal", (_frames(values, n_frames), "H", "W"))


def _cuts(values: Values, n_frames: int) -> None:
    _frames(values, n_frames)
    if 0 in values["frames"]:
        raise UnfitError("hold the first frames after cuts", "frame 0, before which there is none")
    values["n_scenes"] = len(values["frames"]) + 1


def _features(values: Values, n_frames: int) -> None:
    n = _frames(values, n_frames)
    for name, sides in (("mean", ("D",)), ("cls", ("D",)), ("tokens", ("P", "D"))):
        if name in values:
            _shaped(values, name, (n, *sides))


def _vectors(values: Values, n_frames: int) -> None:
    _shaped(values, "features", (_frames(values, n_frames), "D"))


def _poses(values: Values, n_frames: int) -> None:
    values.setdefault("frames", np.arange(n_frames))
    n = _frames(values, n_frames)
    names = [name for name in values if name != "frames"]
    if not names:
        raise UnfitError("hold an array of poses under an estimator's name", "frames alone")
    for name in names:
        _shaped(values, name, (n, 4, 4))
        _motions(values, name)


def _geometry(values: Values, n_frames: int) -> None:
    n = _frames(values, n_frames)
    _shaped(values, "depth", (n, "H", "W"))
    if "confidence" in values:
        _shaped(values, "confidence", np.shape(values["depth"]))
        _within(values, "confidence", 0)
    _shaped(values, "cam_from_world", (n, 3, 4))
    _motions(values, "cam_from_world")
    _shaped(values, "intrinsics", (n, 3, 3))
    cameras = np.asarray(values["intrinsics"], dtype=np.float64)
    known = cameras[np.isfinite(cameras).all(axis=(1, 2))]
    bad = known[(known[:, 2] != (0, 0, 1)).any(1) | (known[:, [0, 1], [0, 1]] == 0).any(1)]
    if len(bad):
        raise UnfitError("hold intrinsics fx 0 cx, 0 fy cy, 0 0 1", bad[0].ravel().tolist())


def _depth(values: Values, n_frames: int) -> None:
    _shaped(values, "depth", (_frames(values, n_frames), "H", "W"))


def _parallax(values: Values, n_frames: int) -> None:
    given = np.atleast_1d(values["segments"])
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu") or (given < 0).any():
        raise UnfitError("hold segments that are integers from 0 up", f"{given.dtype} {given.shape}")
    values["segments"] = given.astype(np.int64).tolist()
    for j in values["segments"]:
        a, b = (np.shape(values[name]) if name in values else None for name in (f"inverse_depth_{j}", f"flow_{j}"))
        if a is None or a != b or len(a) != 1:
            raise UnfitError(f"hold inverse_depth_{j} and flow_{j} of one length", f"shapes {a} and {b}")


def _tracks(values: Values, n_frames: int) -> None:
    n = _frames(values, n_frames)
    values["kinds"] = np.atleast_1d(values["kinds"])
    if values["kinds"].ndim != 1 or not np.isin(values["kinds"], (0, 1)).all():
        raise UnfitError("hold kinds that are 0 or 1", values["kinds"].tolist())
    wanted = (len(values["kinds"]), n)
    _flags(values, "found", wanted)
    if "masks" in values:
        _shaped(values, "masks", (*wanted, "H", "W"))
        masks = values["masks"]
        if masks.dtype.kind == "f" and not np.isin(masks, (0, 1)).all():  # logits, or shares: where is its edge?
            raise UnfitError("hold masks that are 0 or 1", f"{masks.dtype} from {masks.min():g} to {masks.max():g}")
        values["masks"] = masks != 0


def _appearance(values: Values, n_frames: int) -> None:
    n = _frames(values, n_frames)
    shape = np.shape(values["embedding"])
    _shaped(values, "embedding", ("T" if not shape or shape[0] else 0, n, "D"))
    _flags(values, "valid", shape[:2])


def _faces(values: Values, n_frames: int) -> None:
    """By target, or as they were found."""
    if "boxes" not in values:
        if "valid" not in values:
            raise UnfitError("hold the array valid, or boxes", ", ".join(sorted(values)))
        return _appearance(values, n_frames)
    _frames(values, n_frames)
    n = _among_frames(values, "face_frames")
    _shaped(values, "embedding", (n, "D"))
    _corners(values, n)


def _boxes(values: Values, n_frames: int) -> None:
    _frames(values, n_frames)
    n = _among_frames(values, "box_frames")
    _corners(values, n)
    _shaped(values, "scores", (n,))
    _within(values, "scores", 0, 1)
    if ("labels" in values) != ("phrases" in values):
        raise UnfitError("hold labels and phrases, or neither", "one of them")
    if "labels" in values:
        _whole(values, "labels")
        _shaped(values, "labels", (n,))
        _shaped(values, "phrases", ("C",))
        _within(values, "labels", 0, len(values["phrases"]) - 1)


def _points(values: Values, n_frames: int) -> None:
    n = _frames(values, n_frames)
    shape = np.shape(values["places"])
    _shaped(values, "places", (shape[0] if shape else "M", n, 2))
    if "scores" in values:
        _shaped(values, "scores", shape[:2])


def _quality(values: Values, n_frames: int) -> None:
    for name in REQUIRED["quality"]:
        if np.ndim(values[name]):
            raise UnfitError(f"hold one number in {name}", f"shape {np.shape(values[name])}")
        _within(values, name, 1, 5)


def _frame_quality(values: Values, n_frames: int) -> None:
    n = _frames(values, n_frames)
    for name, best in (("imaging", 100), ("aesthetic", 10)):
        _shaped(values, name, (n,))
        _within(values, name, 0, best)


def _pairs(values: Values, n_frames: int, *, apart: Sequence[str] = ()) -> int:
    """How many pairs there are; all arrays but those ``apart`` have a value of each."""
    pairs = values["pairs"]
    if np.ndim(pairs) != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise UnfitError("hold pairs that are integers of shape (P, 2)", f"{np.asarray(pairs).dtype} {np.shape(pairs)}")
    values["pairs"] = pairs.astype(np.int64)
    for name, value in values.items():
        if name not in ("pairs", *apart) and np.shape(value) != (len(pairs),):
            raise UnfitError(f"hold {name} for each of its {len(pairs)} pairs", f"shape {np.shape(value)}")
    if pairs.size and (pairs.min() < 0 or pairs.max() >= n_frames):
        raise UnfitError(f"hold pairs within the video's {n_frames} frames", f"{pairs.min()} to {pairs.max()}")
    return len(pairs)


def _lpips(values: Values, n_frames: int) -> None:
    _pairs(values, n_frames)
    _within(values, "lpips", 0)


def _states(values: Values, n_frames: int) -> None:
    _pairs(values, n_frames)
    _within(values, "state_score", 1, 5, also=-1)


def _persistence(values: Values, n_frames: int) -> None:
    _pairs(values, n_frames)
    for name in ("appearance", "semantic"):
        _within(values, name, -1, 1)


_MATCHED = ("match_pairs", "places_a", "places_b")


def _matches(values: Values, n_frames: int) -> None:
    n = _pairs(values, n_frames, apart=_MATCHED)
    given = [name for name in _MATCHED if name in values]
    if given:
        lacking = [name for name in _MATCHED if name not in values]
        if lacking:
            raise UnfitError(f"hold the array {lacking[0]} beside {given[0]}", ", ".join(sorted(values)))
        _whole(values, "match_pairs")
        _shaped(values, "match_pairs", np.shape(values["match_pairs"])[:1] or ("M",))
        _within(values, "match_pairs", 0, n - 1)
        for name in _MATCHED[1:]:
            _shaped(values, name, (len(values["match_pairs"]), 2))
        counted = np.bincount(values["match_pairs"], minlength=n)
        if not np.array_equal(values.setdefault("n_matches", counted), counted):
            raise UnfitError("hold n_matches that count match_pairs", np.asarray(values["n_matches"]).tolist()[:8])
    if "n_matches" not in values and "match_ratio" not in values:
        raise UnfitError("hold n_matches, match_ratio or match_pairs", ", ".join(sorted(values)))
    for name in ("n_matches", "n_a", "n_b", "n_inliers"):
        if name in values:
            _within(values, name, 0, also=-1 if name == "n_inliers" else np.nan)
    for name in ("match_ratio", "inlier_ratio"):
        if name in values:
            _within(values, name, 0, 1)
    if "n_inliers" in values and "n_matches" in values and (values["n_inliers"] > values["n_matches"]).any():
        raise UnfitError("hold no more n_inliers than n_matches", np.asarray(values["n_inliers"]).tolist()[:8])


_CHECKS: dict[str, Callable[[Values, int], None]] = {
    "quality": _quality,
    "flow": _flow,
    "flow_fields": _flow_fields,
    "cuts": _cuts,
    "features": _features,
    "parallax": _parallax,
    "geometry": _geometry,
    "depth": _depth,
    **dict.fromkeys(("dino", "boq", "mvpr"), _vectors),
    "lpips": _lpips,
    "matches": _matches,
    "states": _states,
    "persistence": _persistence,
    "frame_quality": _frame_quality,
    "poses": _poses,
    "tracks": _tracks,
    "faces": _faces,
    "appearance": _appearance,
    "boxes": _boxes,
    "points": _points,
}
