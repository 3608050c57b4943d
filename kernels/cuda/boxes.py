# SPDX - License - Identifier : Apache - 2.0
"""Medians of what lies in boxes."""

from __future__ import annotations

from .launch import Tensor, compiled, empty, launch, type_of


def box_medians(
    points_a: Tensor, points_b: Tensor, values: Tensor, boxes_a: Tensor, boxes_b: Tensor, lengths: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Median and number of the values in each pair of boxes, (n, R) each, of (n, N, ...) points and (n, R, 4) boxes."""
    (n, n_points), n_boxes = values.shape, boxes_a.shape[1]
    median, count = empty(values, n, n_boxes, dtype="float64"), empty(values, n, n_boxes, dtype="int64")
    launch(
        compiled().box_medians, values, type_of(values), n, n_points, n_boxes, points_a, points_b, values, boxes_a,
        boxes_b, lengths, median, count,
    )  # fmt: skip
    return median, count
