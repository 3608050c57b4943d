# SPDX-License-Identifier: Apache-2.0
"""The hot paths as operators of torch: ``torch.ops.wmb_fast.<op>``, for ``torch.compile`` and ``torch.export``.

``import wmb_fast.torch_ops`` registers them. Each takes the tensors and the scalar options of the public op of its
name, on the CPU or on a device, and returns the tensors of its record in the order of the schema; nested records are
left out. No gradient flows through them: going backward raises torch's own sentence. In graphs every shape comes from
the arguments' shapes, but for ``mutual_matches``, which finds as many pairs as there are.

Example:
    >>> import torch, wmb_fast.torch_ops
    >>> a, b = torch.eye(3), torch.eye(3)[:2]
    >>> torch.ops.wmb_fast.cosine_matrix(a, b).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import wmb_fast as wmb

from ._walls.ext import optional

if TYPE_CHECKING:
    import torch
else:
    torch = optional("torch", "torch", "wmb_fast.torch_ops")

Tensor = Any
LAYOUT_AXES = {None: 3, "hwc": 3, "chw": 3, "hw": 2}


@dataclass(frozen=True)
class Op:
    """One operator.

    Attributes:
        arguments: Its schema's; all the tensors and options that it takes, named as the public op's.
        results: The names of the record's fields; none for an op whose result is one tensor.
        fake: The results' shapes and dtypes, as empty tensors, of fake arguments.
    """

    arguments: str
    results: tuple[str, ...]
    fake: Callable[..., Any]

    def schema(self) -> str:
        """The schema as torch takes it."""
        fields = ", ".join(f"Tensor {name}" for name in self.results)
        return f"({self.arguments}) -> ({fields})" if self.results else f"({self.arguments}) -> Tensor"


def _each(like: Tensor, shape: Sequence[int], n: int = 1, dtype: Any = None) -> list[Tensor]:
    return [like.new_empty(tuple(shape), dtype=dtype) for _ in range(n)]


def _status(like: Tensor, shape: Sequence[int]) -> list[Tensor]:
    return _each(like, shape, dtype=torch.uint8)


def _count(like: Tensor, shape: Sequence[int]) -> list[Tensor]:
    return _each(like, shape, dtype=torch.int64)


def _fit(source: Tensor, *_: Any, **__: Any) -> tuple[Tensor, ...]:
    batch = source.shape[:-2]
    matrix, vector, numbers = _each(source, (*batch, 3, 3)), _each(source, (*batch, 3)), _each(source, batch, 2)
    return (*_status(source, batch), *matrix, *vector, *numbers, *_count(source, batch))


def _poses_batch(trajectory: Tensor) -> Sequence[int]:
    """The batch's shape of positions (..., N, 3) or poses (..., N, 4, 4)."""
    return tuple(trajectory.shape[: -2 if trajectory.shape[-1] == 3 else -3])


def _aligned(estimate: Tensor, *_: Any, **__: Any) -> tuple[Tensor, ...]:
    return (*_status(estimate, _poses_batch(estimate)), *_each(estimate, estimate.shape))


def _errors(estimate: Tensor, *_: Any, **__: Any) -> tuple[Tensor, ...]:
    batch = _poses_batch(estimate)
    poses = _each(estimate, (*batch, estimate.shape[len(batch)]))
    return (*_status(estimate, batch), *_each(estimate, batch, 7), *poses, *_count(estimate, batch))


def _rmse_of_steps(estimate: Tensor, *_: Any, **__: Any) -> tuple[Tensor, ...]:
    batch = estimate.shape[:-3]
    return (*_status(estimate, batch), *_each(estimate, batch, 2))


def _views(maps: Tensor, *others: tuple[Tensor, int]) -> tuple[int, ...]:
    """The batch's shape of depth maps and of what goes with them, each with how many axes an item has."""
    return tuple(torch.broadcast_shapes(maps.shape[:-2], *(x.shape[:-n] for x, n in others)))


def _camera(intrinsics: Tensor) -> tuple[Tensor, int]:
    return intrinsics, 1 if intrinsics.shape[-1] == 4 else 2


def _reprojected(depth: Tensor, intrinsics: Tensor, T_dst_src: Tensor) -> tuple[Tensor, ...]:
    shape = (*_views(depth, _camera(intrinsics), (T_dst_src, 2)), *depth.shape[-2:])
    return (*_each(depth, (*shape, 2)), *_each(depth, shape), *_each(depth, shape, dtype=torch.bool))


def _splat(depth: Tensor, intrinsics: Tensor, T_dst_src: Tensor, shape: Sequence[int]) -> tuple[Tensor, ...]:
    size = (*_views(depth, _camera(intrinsics), (T_dst_src, 2)), *shape)
    return (*_each(depth, size), *_count(depth, size), *_each(depth, size, dtype=torch.bool))


def _agreement(src: Tensor, dst: Tensor, intrinsics: Tensor, T_dst_src: Tensor, *_: Any, **__: Any) -> Any:
    batch = _views(src, (dst, 2), _camera(intrinsics), (T_dst_src, 2))
    return (*_status(src, batch), *_each(src, batch, 2), *_count(src, batch))


def _reprojection(depth: Tensor, poses: Tensor, intrinsics: Tensor, *_: Any, **__: Any) -> tuple[Tensor, ...]:
    batch, k = depth.shape[:-3], depth.shape[-3]
    pairs = _each(depth, (*batch, k, k))
    return (*_status(depth, batch), *_each(depth, batch), *pairs, *_count(depth, batch), *_each(depth, batch, 2))


def _states(points: Tensor, depth: Tensor, intrinsics: Tensor, T_cam_world: Tensor, *_: Any, **__: Any) -> Tensor:
    batch = _views(depth, (points, 3), _camera(intrinsics), (T_cam_world, 2))
    return points.new_empty((*batch, points.shape[-3]), dtype=torch.uint8)


def _image_pairs(a: Tensor, *_: Any, layout: str | None = None, **__: Any) -> Tensor:
    axes = 2 if layout is None and a.dim() == 2 else LAYOUT_AXES[layout]
    return a.new_empty(a.shape[:-axes], dtype=torch.float32 if a.dtype == torch.float32 else torch.float64)


def _channels(flow: Tensor) -> tuple[Tensor, ...]:
    return (*_status(flow, flow.shape[:-3]), *_each(flow, flow.shape[:-3], 2))


def _parallax(u: Tensor, *_: Any) -> tuple[Tensor, ...]:
    return (*_status(u, u.shape[:-1]), *_each(u, u.shape[:-1], 4))


def _interval(values: Tensor, *_: Any, **__: Any) -> tuple[Tensor, ...]:
    batch = values.shape[:-1]
    return (*_status(values, batch), *_each(values, batch, 3), *_count(values, batch))


def _score_type(rows: Tensor) -> Any:
    return torch.float64 if rows.dtype == torch.float64 else torch.float32


def _sets(a: Tensor, b: Tensor) -> tuple[int, ...]:
    return tuple(torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]))


def _matrix(a: Tensor, b: Tensor) -> Tensor:
    return a.new_empty((*_sets(a, b), a.shape[-2], b.shape[-2]), dtype=_score_type(a))


def _pairs(a: Tensor, b: Tensor) -> Tensor:
    return a.new_empty(a.shape[:-1], dtype=_score_type(a))


def _nearest(a: Tensor, b: Tensor, metric: str = "cosine") -> tuple[Tensor, ...]:
    shape = (*_sets(a, b), a.shape[-2])
    return (*_count(a, shape), *_each(a, shape, dtype=_score_type(a)))


def _matches(a: Tensor, b: Tensor, *_: Any, **__: Any) -> tuple[Tensor, ...]:
    found = torch.library.get_ctx().new_dynamic_size()
    return (*_count(a, (found,)), *_count(a, (found,)), *_each(a, (found,), dtype=_score_type(a)))


def _best(queries: Tensor, gallery: Tensor, k: int) -> tuple[Tensor, ...]:
    shape = (*_sets(queries, gallery), queries.shape[-2], k)
    return (*_count(queries, shape), *_each(queries, shape, dtype=_score_type(queries)))


def _patches(a: Tensor, b: Tensor) -> Tensor:
    return a.new_empty((*_sets(a, b), a.shape[-2] + b.shape[-2]), dtype=_score_type(a))


def _identities(a: Tensor, b: Tensor, threshold: float) -> tuple[Tensor, ...]:
    batch = a.shape[:-1]
    return (*_status(a, batch), *_each(a, batch, dtype=_score_type(a)), *_each(a, batch, dtype=torch.bool))


_STATISTICS = ("status", "rmse", "mean", "median", "std", "min", "max", "sse", "errors", "n")
_FIT = ("status", "rotation", "translation", "scale", "rmse", "rank")
_PASSAGE = "Tensor depth, Tensor intrinsics, Tensor T_dst_src"
_BOTH = "Tensor estimate, Tensor reference"
_TWO = "Tensor a, Tensor b"
OPS = {
    "umeyama": Op("Tensor source, Tensor target, bool with_scale=True", _FIT, _fit),
    "align_trajectory": Op(f'{_BOTH}, str mode="sim3"', ("status", "poses"), _aligned),
    "ape": Op(f'{_BOTH}, str align="sim3", str relation="translation"', _STATISTICS, _errors),
    "rpe": Op(f'{_BOTH}, float delta=1, str align="none"', ("status", "translation", "rotation_deg"), _rmse_of_steps),
    "reproject_depth": Op(_PASSAGE, ("pixels", "depth", "valid"), _reprojected),
    "splat_depth": Op(f"{_PASSAGE}, SymInt[] shape", ("depth", "source_index", "valid"), _splat),
    "depth_agreement": Op(
        'Tensor depth_src, Tensor depth_dst, Tensor intrinsics, Tensor T_dst_src, str sampling="nearest"',
        ("status", "median_relative_error", "covisible_fraction", "n"),
        _agreement,
    ),
    "reprojection_error": Op(
        'Tensor depth, Tensor poses, Tensor intrinsics, int grid=16, str unit="depth", int min_points=5',
        ("status", "median", "per_pair", "n_pairs", "mean", "covisible_fraction"),
        _reprojection,
    ),
    "visibility": Op("Tensor points, Tensor depth, Tensor intrinsics, Tensor T_cam_world", (), _states),
    "mse": Op(f"{_TWO}, *, str? layout=None", (), _image_pairs),
    "psnr": Op(f"{_TWO}, *, float data_range, str? layout=None", (), _image_pairs),
    "ssim": Op(f"{_TWO}, *, float data_range, str variant, str? layout=None", (), _image_pairs),
    "flow_channels": Op("Tensor flow", ("status", "horizontal", "radial"), _channels),
    "parallax_split": Op(
        "Tensor u, Tensor inverse_depth", ("status", "translation", "rotation", "slope", "intercept"), _parallax
    ),
    "bootstrap_ci": Op(
        "Tensor values, int n=2000, float level=0.95, int seed=0",
        ("status", "low", "high", "estimate", "n_used"),
        _interval,
    ),
    "cosine_matrix": Op(_TWO, (), _matrix),
    "cosine_pairs": Op(_TWO, (), _pairs),
    "nearest": Op(f'{_TWO}, str metric="cosine"', ("index", "score"), _nearest),
    "mutual_matches": Op(
        f'{_TWO}, float? ratio=None, float? min_score=None, str metric="cosine"',
        ("index_a", "index_b", "score"),
        _matches,
    ),
    "topk": Op("Tensor queries, Tensor gallery, int k", ("index", "score"), _best),
    "patch_best_match": Op(_TWO, (), _patches),
    "verify_identity": Op(f"{_TWO}, float threshold", ("status", "score", "same"), _identities),
}


def _named(arguments: str) -> tuple[str, ...]:
    """The names of a schema's arguments, in order."""
    return tuple(part.split("=")[0].split()[-1] for part in arguments.split(", ") if part != "*")


def _register(name: str, op: Op) -> None:
    public, names = getattr(wmb, name), _named(op.arguments)
    n_tensors = op.arguments.count("Tensor ")

    def run(*positional: Any, **named: Any) -> Any:
        given = dict(zip(names, positional, strict=False)) | named
        tensors = [given.pop(tensor) for tensor in names[:n_tensors]]
        with torch.no_grad():
            result = public(*tensors, **given)
        if not op.results:
            return result
        return tuple(_tensor_of(getattr(result, field)) for field in op.results)

    operator = torch.library.custom_op(f"wmb_fast::{name}", run, mutates_args=(), schema=op.schema())
    operator.register_fake(op.fake)


def _tensor_of(field: Any) -> Tensor:
    """A field of a record; of a nested record of errors its root mean square."""
    return field if isinstance(field, torch.Tensor) else field.rmse


for _name, _op in OPS.items():
    _register(_name, _op)
