# SPDX-License-Identifier: Apache-2.0
"""One rollout's evidence as the metrics want it; what is absent raises with its reason when it is asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.errors import ArgumentError
from ...rollout.plan import Facts, Plan
from ..evidence import Evidence
from ..measure import Measure, NotThereError, missing, without
from ..record import Status
from .arrays import Flags, Values
from .camera import CameraFollowing, camera_following, target_poses
from .channels import fitting, numbers_of
from .checklist import checklist_of, judged_frames, phase_ranges
from .constants import AESTHETIC_RANGE, CATEGORIES, DYNAMIC, IMAGING_RANGE, STATIC
from .course import Course, Revisit, course_of
from .dynamic import DynamicMemory, dynamic_memory
from .entities import human_appearance, human_identity, object_appearance, object_geometry
from .environment import environment_depth, environment_reconstruction, environment_visible
from .judge import read_judgement
from .options import Options
from .people import FoundFaces, people_by_mask, people_by_resemblance
from .qualify import Angles, departure_and_return, tracking_support, whole
from .quality import quality_frames, video_quality
from .revisits import Revisits
from .windows import by_target, by_view, cam_to_world, not_shown, within

TARGET = "target"  # the array of the poses channel that holds Q_t
HUMAN_KIND, OBJECT_KIND = 0, 1


def category_of(case: str | None) -> str | None:
    """The release's category, the first folder of a case; ``None`` where it is not one."""
    first = (case or "").split("/", 1)[0]
    return first if first in CATEGORIES else None


def case_key(case: str) -> str:
    """A case without its trajectory, to pair a case's trajectories: ``human/case_007``."""
    parts = case.split("/")
    return f"{parts[0]}/{parts[-1]}" if len(parts) == 3 and parts[0] in CATEGORIES else case


@dataclass(frozen=True)
class Rollout:
    """Evidence of one rollout."""

    evidence: Evidence
    options: Options

    @property
    def facts(self) -> Facts:
        return self.evidence.facts

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """What is scored on this rollout: what its category says, else everything there may be evidence of."""
        category = category_of(self.facts.case)
        if category is not None:
            return CATEGORIES[category]
        held = self.facts.plan is not None and self.facts.plan.name.endswith("lr_hold")
        judged = held or any(name in self.evidence.channels for name in ("checklist", "judge"))
        everything = (*STATIC, *CATEGORIES["camera_rotation"], "imaging_quality", "aesthetic_quality")
        return (*everything, *DYNAMIC) if judged else everything

    @property
    def plan(self) -> Plan:
        if self.facts.plan is None:
            raise NotThereError(missing("plan: what the rollout was told to do is not known"))
        return self.facts.plan

    @property
    def laid_plan(self) -> Plan:
        """The plan, of a video with a frame for each of its steps."""
        plan, n_frames = self.plan, self.facts.n_frames
        if n_frames < len(plan.steps):
            raise NotThereError(without(f"too_short: {n_frames} frames for the plan's {len(plan.steps)} steps"))
        return plan

    @cached_property
    def course(self) -> Course:
        try:
            course = course_of(self.laid_plan, self.facts.n_frames, approach=self.options.approach)
        except ArgumentError as error:
            raise NotThereError(Measure(None, f"plan: {error}", status=Status.ERROR)) from error
        if course is None:
            raise NotThereError(without("no_revisit: the plan never leads back to where it began"))
        return course

    @property
    def trajectory(self) -> str | None:
        return None if self.facts.plan is None else self.facts.plan.name.rsplit("/", 1)[-1]

    def channel(self, name: str, *needed: str) -> Mapping[str, Any]:
        """The values of a channel, the needed ones among them."""
        if name not in self.evidence.channels:
            why = self.evidence.missing.get(name, "not in the evidence")
            raise NotThereError(missing(f"{name}: {why}"))
        values = self.evidence.channels[name].values
        fitting(name, values, needed)
        return values

    def wanted_frames(self) -> tuple[int, ...]:
        """The frames of the whole view that are compared: the reference, and the returns."""
        windows = [range(r.window.start, r.window.stop) for r in self.course.revisits]
        return tuple(sorted({self.course.reference.start, *(frame for window in windows for frame in window)}))

    def face_frames(self) -> tuple[int, ...]:
        """The frames in which faces are looked for: V, and the returns."""
        spans = (self.course.reference, *(revisit.window for revisit in self.course.revisits))
        return tuple(sorted({frame for span in spans for frame in range(span.start, span.stop)}))

    # -- humans and objects ------------------------------------------------------------------------------------------

    def entity(self, metric: str) -> Revisits:
        """One of the four metrics of targets."""
        if metric == "human_identity":
            self.channel("faces")  # without faces no tracker helps
            if self.finds_faces:
                return self._identity_of_found()
        kind = HUMAN_KIND if metric.startswith("human") else OBJECT_KIND
        tracks = self.channel("tracks", "frames", "kinds", "found")
        chosen = np.flatnonzero(np.asarray(tracks["kinds"]) == kind)
        if not chosen.size:
            what = "person" if kind == HUMAN_KIND else "object"
            raise NotThereError(without(f"no_target: the evidence tracks no {what}"))
        if metric == "object_geometry":
            values = self.channel("tracks", "frames", "kinds", "found", "masks")
            rows, valid = np.asarray(values["masks"])[chosen], np.asarray(values["found"], dtype=bool)[chosen]
            found = self._scored(object_geometry, "tracks", values["frames"], rows, valid)
        else:
            name = "faces" if metric == "human_identity" else "appearance"
            values = self.channel(name, "frames", "embedding", "valid")
            if len(values["embedding"]) != len(tracks["kinds"]):
                sizes = f"{len(values['embedding'])} for {len(tracks['kinds'])} targets"
                raise NotThereError(missing(f"{name}: one embedding a target of tracks is needed, got {sizes}"))
            rows, valid = np.asarray(values["embedding"])[chosen], np.asarray(values["valid"], dtype=bool)[chosen]
            score = {"human_identity": human_identity, "human_appearance": human_appearance}.get(metric)
            found = self._scored(score or object_appearance, name, values["frames"], rows, valid)
        return replace(found, detail={**found.detail, **self._supported(chosen)})

    @property
    def finds_faces(self) -> bool:
        """Whether the faces are those of every frame, by no person."""
        return "faces" in self.evidence.channels and "boxes" in self.evidence.channels["faces"].values

    @cached_property
    def followed_people(self) -> npt.NDArray[np.int64]:
        """Which targets of the tracker are people; none where there is no tracker, or one without masks."""
        tracks = self.evidence.channels["tracks"].values if "tracks" in self.evidence.channels else {}
        kinds = tracks["kinds"] if {"kinds", "masks"} <= tracks.keys() else ()
        return np.flatnonzero(np.asarray(kinds) == HUMAN_KIND)

    def _identity_of_found(self) -> Revisits:
        """Human Identity of the faces that were found in each frame."""
        faces = FoundFaces.of(self.channel("faces", "frames", "face_frames", "boxes", "embedding"))
        chosen = self.followed_people
        if not len(chosen):
            people = people_by_resemblance(faces, self.course.reference)
        else:
            tracks = self.channel("tracks", "frames", "kinds", "found", "masks")
            masks, found = (np.asarray(tracks[name], dtype=bool)[chosen] for name in ("masks", "found"))
            people = people_by_mask(faces, tracks["frames"], masks, found, (self.facts.width, self.facts.height))
        scored = self._scored(human_identity, "faces", people.frames, people.embedding, people.valid)
        told = self._supported(chosen) if len(chosen) else {}
        whose = "the tracker's masks" if len(chosen) else "resemblance to the faces of V"
        return replace(scored, detail={**scored.detail, **told, "people_by": whose})

    def _supported(self, chosen: npt.NDArray[np.int64]) -> dict[str, Any]:
        support, evaluated = self.support
        mine = support[:, chosen[evaluated[chosen]]]
        return {"supported": np.array([whole(row) for row in mine[:, None]]), "target_support": mine}

    @cached_property
    def support(self) -> tuple[Flags, Flags]:
        """(K, T) whether the tracker saw each target leave and come back; (T,) whether V shows it at all."""
        values = self.channel("tracks", "frames", "found")
        frames, found = np.asarray(values["frames"]), np.asarray(values["found"], dtype=bool)
        departed, observed = [], []
        for revisit in self.course.revisits:
            away = (frames >= revisit.departure.start) & (frames <= revisit.departure.stop)
            departed.append((~found[:, away]).any(axis=1))
            observed.append(found[:, within(frames, revisit.window)].any(axis=1))
        evaluated: Flags = np.asarray(found[:, within(frames, self.course.reference)].any(axis=1))
        return tracking_support(np.array(departed), np.array(observed), evaluated), evaluated

    def _scored(self, metric: Any, name: str, frames: Any, rows: Any, valid: Flags) -> Revisits:
        """A metric of targets, of evidence (T, M, …) by frame."""
        reference, observed, there, shown = by_target(self.course, name, np.asarray(frames), rows, valid)
        found: Revisits = metric(reference, observed, there, reduce=self.options.reduce)
        return not_shown(found, name, shown)

    # -- the environment ---------------------------------------------------------------------------------------------

    def visible(self) -> Revisits:
        values = self.channel("features", "frames")
        which = next((name for name in ("cls", "mean") if name in values), None)
        if which is None:
            raise NotThereError(missing("features: the channel must hold cls or mean"))
        fitting("features", values, ("frames", which))
        reference, observed, valid = self._returns("features", values["frames"], np.asarray(values[which]))
        found = environment_visible(reference, observed, valid)
        return not_shown(replace(found, detail={"feature": which}), "features", valid)

    def depth(self) -> Revisits:
        name = "geometry" if "geometry" in self.evidence.channels else "depth"
        values = self.channel(name, "frames", "depth")
        reference, observed, valid = self._returns(name, values["frames"], np.asarray(values["depth"]))
        return not_shown(environment_depth(reference, observed, valid), name, valid)

    def reconstruction(self) -> Revisits:
        values = self.channel("geometry", "frames", "depth", "cam_from_world", "intrinsics")
        poses = cam_to_world(np.asarray(values["cam_from_world"], dtype=np.float64))
        reference, observed, seen = self._returns("geometry", values["frames"], np.asarray(values["depth"]))
        start, later, _ = self._returns("geometry", values["frames"], poses)
        if not np.isfinite(start).all():  # then nothing says whether the camera came back
            raise NotThereError(missing("geometry: the reference has no pose"))
        later = np.where(seen[..., None, None], later, np.nan)
        camera = np.asarray(values["intrinsics"])[0]
        angles, source = self.angles
        valid = self.returned(angles)
        found = environment_reconstruction(reference, start, observed, later, camera, valid)
        found = replace(found, detail={**found.detail, "angles_from": source, "validity": "30 degrees (RECONSTRUCTED)"})
        return not_shown(found, "geometry", seen)

    def returned(self, angles: Angles) -> Flags:
        """Whether each return is valid: departed by 30 degrees, where the plan turns, and back within 30."""
        turns = np.array([revisit.turns for revisit in self.course.revisits], dtype=bool)
        valid: Flags = (angles.departed() | ~turns) & angles.returned()
        return valid

    @cached_property
    def angles(self) -> tuple[Angles, str]:
        """Departure and return by orientation, and whose poses say so."""
        if "geometry" in self.evidence.channels:
            values = self.channel("geometry", "frames", "cam_from_world")
            poses = cam_to_world(np.asarray(values["cam_from_world"], dtype=np.float64))
            return self._angles(poses, values["frames"]), "geometry"
        estimates = self.estimates()
        name = "da3" if "da3" in estimates else next(iter(estimates))
        return self._angles(estimates[name], range(self.facts.n_frames)), f"poses: {name}"

    def _angles(self, poses: Values, frames: Any) -> Angles:
        try:
            return departure_and_return(poses, np.asarray(frames), self.course)
        except ArgumentError as error:
            raise NotThereError(Measure(None, f"poses: {error}", status=Status.ERROR)) from error

    def _returns(self, name: str, frames: Any, rows: Any) -> tuple[Any, Any, Flags]:
        return by_view(self.course, name, np.asarray(frames), rows)

    # -- the camera, quality, dynamics -------------------------------------------------------------------------------

    def estimates(self) -> dict[str, Values]:
        """Estimator to poses of all frames, NaN where it gives none."""
        made = {name: poses for name, poses in self.cameras.items() if name != TARGET}
        if not made:
            raise NotThereError(missing("poses: the channel holds no estimator's array"))
        return made

    @cached_property
    def cameras(self) -> dict[str, Values]:
        """All arrays of the poses channel, (N, 4, 4) each."""
        values = self.channel("poses", "frames")
        at, n = np.asarray(values["frames"]), self.facts.n_frames
        made = {}
        for name in (name for name in values if name != "frames"):
            poses = numbers_of("poses", name, values[name]).astype(np.float64)
            if poses.shape != (len(at), 4, 4) or (at.size and not 0 <= at.min() <= at.max() < n):
                wanted = f"{name} must hold poses (K, 4, 4) of frames within the video's {n}"
                raise NotThereError(missing(f"poses: {wanted}, got shape {poses.shape}"))
            made[name] = np.full((n, 4, 4), np.nan)
            made[name][at] = poses
        return made

    @property
    def revisits(self) -> tuple[Revisit, ...]:
        """The prescribed revisits; none where the plan never leads back."""
        try:
            return self.course.revisits
        except NotThereError:
            return ()

    @cached_property
    def following(self) -> CameraFollowing:
        target, estimates = self.target, self.estimates()
        windows = [revisit.motion for revisit in self.revisits]
        try:
            return camera_following(target, estimates, how=self.options.following, windows=windows)
        except ArgumentError as error:
            raise NotThereError(Measure(None, f"poses: {error}", status=Status.ERROR)) from error

    @property
    def target(self) -> Values:
        """Q_t: handed in, or as the plan says."""
        if TARGET in self.cameras:
            return self.cameras[TARGET]
        try:
            return target_poses(self.laid_plan, self.facts.n_frames)
        except ArgumentError as error:
            remedy = "give degrees_per_frame in a plan file, or the commanded poses as the array target"
            raise NotThereError(missing(f"plan: {error}; {remedy}")) from error

    def quality(self, metric: str) -> Measure:
        name, best = ("imaging", IMAGING_RANGE) if metric == "imaging_quality" else ("aesthetic", AESTHETIC_RANGE)
        values = self.channel("frame_quality", "frames", name)
        rated = dict(zip(np.asarray(values["frames"]).tolist(), np.asarray(values[name]).tolist(), strict=True))
        return video_quality([rated.get(f, math.nan) for f in quality_frames(self.facts.n_frames)], best)

    @cached_property
    def dynamic(self) -> DynamicMemory:
        try:
            checklist = checklist_of(self.channel("checklist", "document")["document"])
        except ArgumentError as error:
            raise NotThereError(missing(f"checklist: {error}")) from error
        reply = self.channel("judge", "text")["text"]
        frames = judged_frames(self.facts.n_frames)
        ranges = phase_ranges(self.course, frames) if self.options.fewest_cited else None
        return dynamic_memory(
            read_judgement(reply, checklist, len(frames)),
            checklist,
            missing_answer=self.options.missing_answer,
            fewest_cited=self.options.fewest_cited,
            ranges=ranges,
        )
