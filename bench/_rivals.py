# SPDX-License-Identifier: Apache-2.0
"""One small adapter a rival. A rival that does not import is said so, once, and left out."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ._harness import Contender

PACKAGES = {"faiss": "faiss-cpu", "cv2": "opencv-python-headless", "lap": "lapx"}  # where the import name is another


@functools.cache
def module(name: str) -> ModuleType | None:
    """A rival's module, or ``None`` where it does not import."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"bench: {name} is left out, it did not import ({error}); pip install '.[bench]'")
        return None


def contender(
    name: str,
    call: Callable[[Any], Any],
    verify: Callable[[Any], str] | None,
    *,
    what: str = "",
    share: float = 1.0,
) -> list[Contender]:
    """A rival as a list of one, or of none where it does not import; ``call`` gets its module."""
    library = module(name.split(".", 1)[0])
    if library is None:
        return []
    version = importlib.metadata.version(PACKAGES.get(name, name))
    return [Contender(f"{name} {what}".strip(), functools.partial(call, library), verify, version, share)]


def numpy_mutual(a: Any, b: Any) -> Any:
    """(K, 2) mutual nearest neighbours of unit rows, by the whole matrix."""
    similarity = a @ b.T
    return _agreeing(similarity.argmax(axis=1), similarity.argmax(axis=0))


def faiss_mutual(faiss: ModuleType, a: Any, b: Any, k: int = 1) -> Any:
    """The same by faiss's exact search in both directions; k = 2 is what a ratio test needs from a to b."""
    forward = faiss.knn(a, b, k, metric=faiss.METRIC_INNER_PRODUCT)[1][:, 0]
    backward = faiss.knn(b, a, 1, metric=faiss.METRIC_INNER_PRODUCT)[1][:, 0]
    return _agreeing(forward, backward)


def torch_mutual(torch: ModuleType, a: Any, b: Any) -> Any:
    """The same as NumPy's, by torch."""
    similarity = torch.from_numpy(a) @ torch.from_numpy(b).T
    return _agreeing(similarity.max(dim=1).indices.numpy(), similarity.max(dim=0).indices.numpy())


def numkong_mutual(numkong: ModuleType, a: Any, b: Any) -> Any:
    """The same by NumKong's packed dot products and NumPy's argmax."""
    similarity = np.asarray(numkong.dots_packed(a, numkong.dots_pack(b)))
    return _agreeing(similarity.argmax(axis=1), similarity.argmax(axis=0))


def unit(rows: Any) -> Any:
    """Rows at length 1."""
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def faiss_search(gallery: Any, queries: Any, k: int) -> Callable[[ModuleType], Any]:
    """Scores of the k best by faiss's exact index, which is built once, beforehand."""
    index: list[Any] = []

    def search(faiss: ModuleType) -> Any:
        if not index:
            index.append(faiss.IndexFlatIP(gallery.shape[1]))
            index[0].add(gallery)
        return index[0].search(queries, k)[0]

    return search


def numpy_topk(queries: Any, gallery: Any, k: int) -> Any:
    """The same by the whole matrix."""
    scores = queries @ gallery.T
    best = np.take_along_axis(scores, np.argpartition(scores, -k, axis=1)[:, -k:], axis=1)
    return -np.sort(-best, axis=1)


def torch_topk(torch: ModuleType, queries: Any, gallery: Any, k: int) -> Any:
    """The same by torch."""
    return torch.topk(torch.from_numpy(queries) @ torch.from_numpy(gallery).T, k, dim=1).values.numpy()


def numpy_patches(a: Any, b: Any) -> Any:
    """Best cosines both ways of each pair of frames, as WRBench's evaluator takes them: (pairs, N + M)."""
    matrices = (unit(x) @ unit(y).T for x, y in zip(a, b, strict=True))
    return np.stack([np.concatenate([s.max(axis=1), s.max(axis=0)]) for s in matrices])


def torch_patches(torch: ModuleType, a: Any, b: Any) -> Any:
    """The same by torch, all pairs in one batch."""
    normalize = torch.nn.functional.normalize
    matrices = normalize(torch.from_numpy(a), dim=-1) @ normalize(torch.from_numpy(b), dim=-1).mT
    return torch.cat([matrices.amax(dim=2), matrices.amax(dim=1)], dim=1).numpy()


def _agreeing(forward: Any, backward: Any) -> Any:
    index = np.arange(len(forward))
    mutual = backward[forward] == index
    return np.stack([index[mutual], forward[mutual]], axis=1)


def numpy_cosine_pairs(a: Any, b: Any) -> Any:
    """Cosines of rows that belong together."""
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.einsum("nd,nd->n", a, b) / lengths


def numpy_verify(faces: Any, reference: Any) -> Any:
    """One cosine at a time, as the evaluators of faces do."""
    return np.array([np.dot(f, reference) / (np.linalg.norm(f) * np.linalg.norm(reference)) for f in faces])


def torch_cosine_pairs(torch: ModuleType, a: Any, b: Any) -> Any:
    """The same by torch."""
    return torch.nn.functional.cosine_similarity(torch.from_numpy(a), torch.from_numpy(b)).numpy()


def numpy_cosine_matrix(a: Any, b: Any) -> Any:
    """Cosines of all rows: normalised, then one matrix product."""
    return (a / np.linalg.norm(a, axis=1, keepdims=True)) @ (b / np.linalg.norm(b, axis=1, keepdims=True)).T


def torch_cosine_matrix(torch: ModuleType, a: Any, b: Any) -> Any:
    """The same by torch."""
    normalize = torch.nn.functional.normalize
    return (normalize(torch.from_numpy(a)) @ normalize(torch.from_numpy(b)).T).numpy()


def numpy_umeyama(x: Any, y: Any) -> Any:
    """Scales (B,) and rotations of a batch of similarity fits (B, N, 3), in whole-array operations."""
    mean_x, mean_y = x.mean(axis=1, keepdims=True), y.mean(axis=1, keepdims=True)
    dx, dy = x - mean_x, y - mean_y
    u, d, vt = np.linalg.svd(np.einsum("bni,bnj->bij", dy, dx) / x.shape[1])
    d[:, 2] *= (sign := np.sign(np.linalg.det(u) * np.linalg.det(vt)))
    u[:, :, 2] *= sign[:, None]
    return d.sum(axis=1) / np.einsum("bni,bni->b", dx, dx) * x.shape[1], u @ vt


def numpy_ate(x: Any, y: Any) -> Any:
    """Root mean square errors (B,) after the alignment."""
    scale, rotation = numpy_umeyama(x, y)
    moved = scale[:, None, None] * (x - x.mean(axis=1, keepdims=True)) @ rotation.transpose(0, 2, 1)
    return np.sqrt(((moved - (y - y.mean(axis=1, keepdims=True))) ** 2).sum(axis=2).mean(axis=1))


def numkong_umeyama(numkong: ModuleType, x: Any, y: Any) -> Any:
    """NumKong's batched fit: scales and rotations."""
    fit = numkong.umeyama(x, y)
    return np.asarray(fit.scale), np.asarray(fit.rotation)


def evo_umeyama(evo: ModuleType, x: Any, y: Any) -> Any:
    """evo, one item after the other: scales and rotations."""
    geometry = importlib.import_module("evo.core.geometry")
    fits = [geometry.umeyama_alignment(a.T, b.T, True) for a, b in zip(x, y, strict=True)]
    return np.array([fit[2] for fit in fits]), np.array([fit[0] for fit in fits])


def numpy_rpe(est: Any, ref: Any) -> Any:
    """Translation and angle (degrees) of the errors of steps of one frame, in whole-array operations."""
    e = _inverse(_inverse(ref[:, :-1]) @ ref[:, 1:]) @ (_inverse(est[:, :-1]) @ est[:, 1:])
    vee = np.stack([e[..., 2, 1] - e[..., 1, 2], e[..., 0, 2] - e[..., 2, 0], e[..., 1, 0] - e[..., 0, 1]], axis=-1)
    trace = np.trace(e[..., :3, :3], axis1=-2, axis2=-1)
    angle = np.degrees(np.arctan2(np.linalg.norm(vee, axis=-1), trace - 1.0))
    return np.linalg.norm(e[..., :3, 3], axis=-1), angle


def _inverse(poses: Any) -> Any:
    out = np.zeros_like(poses)
    out[..., :3, :3] = np.swapaxes(poses[..., :3, :3], -1, -2)
    out[..., :3, 3:] = -(out[..., :3, :3] @ poses[..., :3, 3:])
    out[..., 3, 3] = 1.0
    return out


def evo_rpe(evo: ModuleType, est: Any, ref: Any) -> Any:
    """The same by evo, one trajectory after the other, translation and rotation one after the other."""
    metrics, trajectory = (importlib.import_module(f"evo.core.{name}") for name in ("metrics", "trajectory"))
    errors: list[list[Any]] = [[], []]
    for a, b in zip(est, ref, strict=True):
        pair = tuple(trajectory.PosePath3D(poses_se3=list(poses)) for poses in (b, a))
        for kind, relation in enumerate(("translation_part", "rotation_angle_deg")):
            metric = metrics.RPE(metrics.PoseRelation[relation], 1, metrics.Unit.frames, all_pairs=True)
            metric.process_data(pair)
            errors[kind].append(metric.error)
    return np.array(errors[0]), np.array(errors[1])


def evo_associate(evo: ModuleType, a: Any, b: Any) -> Any:
    """evo's nearest stamp of b for every a."""
    pairs = importlib.import_module("evo.core.sync").matching_time_indices(a, b, 0.01)
    return np.array(pairs).T
