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

PACKAGES = {
    "faiss": "faiss-cpu",
    "cv2": "opencv-python-headless",
    "lap": "lapx",
    "skimage": "scikit-image",
}  # where the import name is another


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


def numpy_global(depth: Any, confidence: Any, cam_from_world: Any, intrinsics: Any) -> float:
    """WorldMark's Global memory as its evaluator goes about it: NumPy inside a Python loop over all ordered pairs."""
    k, height, width = depth.shape
    pose, camera = cam_from_world.astype(np.float64), intrinsics.astype(np.float64)
    scale, threshold = np.median(depth[depth > 1e-6]), np.quantile(confidence, 0.3)
    v, u = (a.ravel() for a in np.mgrid[0:height:16, 0:width:16])

    def world(j: int, x: Any, y: Any, z: Any) -> Any:
        c = camera[j]
        local = np.stack([(x - c[0, 2]) / c[0, 0] * z, (y - c[1, 2]) / c[1, 1] * z, z], axis=-1)
        return (local - pose[j, :, 3]) @ pose[j, :, :3]

    errors = []
    for i in range(k):
        trusted = confidence[i, v, u] >= threshold
        points = world(i, u[trusted], v[trusted], depth[i, v, u][trusted].astype(np.float64))
        for j in range(k):
            if i == j:
                continue
            p = points @ pose[j, :, :3].T + pose[j, :, 3]
            x = camera[j, 0, 0] * p[:, 0] / p[:, 2] + camera[j, 0, 2]
            y = camera[j, 1, 1] * p[:, 1] / p[:, 2] + camera[j, 1, 2]
            inside = (p[:, 2] > 0) & (x >= 0) & (x < width) & (y >= 0) & (y < height)
            if inside.sum() < 5:
                continue
            column, row = np.floor(x[inside]).astype(int), np.floor(y[inside]).astype(int)
            seen = depth[j, row, column]
            ratio = p[inside, 2].astype(np.float32) / seen
            together = (ratio > 0.7) & (ratio < 1.4) & (confidence[j, row, column] >= threshold)
            if together.sum() < 5:
                continue
            there = world(j, column, row, seen.astype(np.float64))
            errors.append(np.linalg.norm(points[inside] - there, axis=-1)[together] / scale)
    return float(np.median(np.concatenate(errors)))


def numpy_flow(fields: Any) -> Any:
    """Mean horizontal and mean radial flow of a batch (B, H, W, 2); the unit vectors are made once."""
    unit = _unit_vectors(*fields.shape[1:3])
    radial = np.einsum("bhwc,hwc->b", fields, unit, optimize=False) / unit[..., 0].size
    return fields[..., 0].mean(axis=(1, 2), dtype=np.float64), radial


def numpy_flow_loop(fields: Any) -> Any:
    """The same field by field, everything made anew, as evaluators do."""
    horizontal, radial = [], []
    for field in fields:
        unit = _unit_vectors(*field.shape[:2])
        horizontal.append(field[..., 0].mean(dtype=np.float64))
        radial.append((field[..., 0] * unit[..., 0] + field[..., 1] * unit[..., 1]).mean())
    return np.array(horizontal), np.array(radial)


def _unit_vectors(height: int, width: int) -> Any:
    y, x = np.mgrid[0:height, 0:width]
    away = np.stack([x - width / 2, y - height / 2], axis=-1)
    return away / (np.linalg.norm(away, axis=-1, keepdims=True) + 1e-6)


def numpy_parallax(u: Any, inverse_depth: Any) -> Any:
    """Translation and rotation of a batch (B, N), by the closed form of the line."""
    mean_u, mean_z = u.mean(axis=1, keepdims=True), inverse_depth.mean(axis=1, keepdims=True)
    off = inverse_depth - mean_z
    slope = (off * (u - mean_u)).sum(axis=1) / (off * off).sum(axis=1)
    low, high = np.percentile(inverse_depth, [5, 95], axis=1)
    return np.abs(slope) * (high - low), np.abs(mean_u[:, 0] - slope * mean_z[:, 0])


def numpy_parallax_loop(u: Any, inverse_depth: Any) -> Any:
    """The same field by field, by least squares."""
    found = []
    for a, b in zip(u, inverse_depth, strict=True):
        slope, intercept = np.linalg.lstsq(np.stack([b, np.ones_like(b)], axis=1), a, rcond=None)[0]
        low, high = np.percentile(b, [5, 95])
        found.append((abs(slope) * (high - low), abs(intercept)))
    return np.array(found).T


C1, C2 = 2.55**2, 7.65**2  # of SSIM, for values of 0..255


def _cv2_window(cv2: ModuleType, variant: str) -> tuple[Callable[..., Any], float, Any]:
    """OpenCV's filter for an SSIM variant, the factor of its covariances, and which of its values count."""
    cv2.setNumThreads(1)
    if variant == "uniform7":
        return functools.partial(cv2.blur, ksize=(7, 7)), 49 / 48, slice(3, -3)
    return functools.partial(cv2.GaussianBlur, ksize=(11, 11), sigmaX=1.5), 1.0, slice(None)


def cv2_ssim(cv2: ModuleType, a: Any, b: Any, variant: str) -> float:
    """SSIM of one pair as it is usually written by hand, with OpenCV's filters and NumPy's arithmetic in float32."""
    blur, sample, inside = _cv2_window(cv2, variant)
    if variant == "gaussian11_gray":
        a, b = cv2.cvtColor(a, cv2.COLOR_RGB2GRAY), cv2.cvtColor(b, cv2.COLOR_RGB2GRAY)
    x, y = a.astype(np.float32), b.astype(np.float32)
    mean_x, mean_y = blur(x), blur(y)
    xx, yy, xy = mean_x * mean_x, mean_y * mean_y, mean_x * mean_y
    var_x, var_y, cov = (sample * (blur(p) - q) for p, q in ((x * x, xx), (y * y, yy), (x * y, xy)))
    values = ((2 * xy + C1) * (2 * cov + C2)) / ((xx + yy + C1) * (var_x + var_y + C2))
    return float(values[inside, inside].mean(dtype=np.float64))


def cv2_ssim_in_place(a: Any, b: Any, variant: str) -> Callable[[ModuleType], Any]:
    """The same by an expert: every array is allocated once, all arithmetic is OpenCV's, and in place."""
    shape = a.shape[1:3] if variant == "gaussian11_gray" else a.shape[1:]
    x, y, product, mean_x, mean_y, squares, other, cov, means, mean_squares = np.empty((10, *shape), np.float32)

    def one(cv2: ModuleType, first: Any, second: Any) -> float:
        blur, sample, inside = _cv2_window(cv2, variant)
        if variant == "gaussian11_gray":
            first, second = cv2.cvtColor(first, cv2.COLOR_RGB2GRAY), cv2.cvtColor(second, cv2.COLOR_RGB2GRAY)
        np.copyto(x, first)
        np.copyto(y, second)
        blur(x, dst=mean_x)
        blur(y, dst=mean_y)
        blur(cv2.multiply(x, x, dst=product), dst=squares)
        blur(cv2.multiply(y, y, dst=product), dst=other)
        blur(cv2.multiply(x, y, dst=product), dst=cov)
        cv2.multiply(mean_x, mean_y, dst=means)
        cv2.multiply(mean_x, mean_x, dst=mean_squares)
        cv2.add(mean_squares, cv2.multiply(mean_y, mean_y, dst=product), dst=mean_squares)
        cv2.subtract(cv2.add(squares, other, dst=squares), mean_squares, dst=squares)
        cv2.subtract(cov, means, dst=cov)
        for array, factor, offset in (
            (means, 2, C1),
            (cov, 2 * sample, C2),
            (mean_squares, 1, C1),
            (squares, sample, C2),
        ):
            np.multiply(array, np.float32(factor), out=array)
            np.add(array, np.float32(offset), out=array)
        cv2.multiply(means, cov, dst=means)
        cv2.divide(means, cv2.multiply(mean_squares, squares, dst=squares), dst=means)
        return float(means[inside, inside].mean(dtype=np.float64))

    return lambda cv2: [one(cv2, first, second) for first, second in zip(a, b, strict=True)]


def skimage_ssim(skimage: ModuleType, a: Any, b: Any) -> Any:
    """scikit-image's default SSIM, pair by pair."""
    metrics = importlib.import_module("skimage.metrics")
    options = {"channel_axis": 2, "data_range": 255}
    return [metrics.structural_similarity(x, y, **options) for x, y in zip(a, b, strict=True)]


def skimage_psnr(skimage: ModuleType, a: Any, b: Any) -> Any:
    """scikit-image's PSNR, pair by pair."""
    metrics = importlib.import_module("skimage.metrics")
    return [metrics.peak_signal_noise_ratio(x, y, data_range=255) for x, y in zip(a, b, strict=True)]


def torchmetrics_ssim(torchmetrics: ModuleType, a: Any, b: Any) -> Any:
    """torchmetrics' default SSIM, in float32."""
    torch = importlib.import_module("torch")
    image = importlib.import_module("torchmetrics.functional.image")
    x, y = (torch.from_numpy(frames).permute(0, 3, 1, 2).float() for frames in (a, b))
    return image.structural_similarity_index_measure(x, y, data_range=255.0, reduction="none").numpy()
