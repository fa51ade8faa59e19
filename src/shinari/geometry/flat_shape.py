"""Checks of rest shapes in a plane, as texture coordinates give them.

A triangle without area has no rest shape; two triangles that are joined along an edge in the plane and lie on the same
side of it are folded over each other; and two that overlap elsewhere were put on top of each other by a program that
thinks of pictures, not of cloth. Along a cut, both sides are to be equally long.
"""

import numpy as np
from numpy.typing import NDArray

from shinari.errors import SceneError
from shinari.geometry.topology import hinge_sides

SAME = 1e-6
"""Distance of two corners over the size of the plane under which they are at one place."""
FLAT = 1e-7
"""Height over longest side under which a triangle has no area."""
CUT = 0.1
"""Difference of both sides of an edge along a cut, as a part of the longer one, that is refused."""
_CHUNK = 2**21


def check_flat_shape(label: str, corners: NDArray[np.float64], faces: NDArray[np.integer]) -> None:
    """Refuse a rest shape in the plane that no cloth can be cut to.

    Args:
        label: What the shape belongs to, for messages.
        corners: Corners of the triangles in the plane [m], (F, 3, 2).
        faces: The triangles, (F, 3).

    Raises:
        SceneError: A triangle has no area, is flipped or lies on another one, or both sides of a cut differ in length;
            the message names the faces.
    """
    sides = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
    doubled = doubled_areas(corners)
    bad = np.flatnonzero(~(np.abs(doubled) > FLAT * sides.max(axis=1) ** 2))
    if bad.size:
        raise SceneError(
            f"{label}: face {bad[0]}, {faces[bad[0]].tolist()}, has no area in the plane{_others(bad)}; unwrap it again"
        )
    size = float(np.ptp(corners.reshape(-1, 2), axis=0).max())
    _check_edges(label, corners, faces, np.sign(doubled), sides, SAME * size)
    pair = _overlap(corners, SAME * size)
    if pair is not None:
        raise SceneError(
            f"{label}: faces {pair[0]} and {pair[1]} lie on top of each other in the plane; move the islands of the "
            f"texture coordinates apart"
        )


def doubled_areas(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Twice the areas [m^2] of triangles in the plane (F, 3, 2), negative where they run clockwise, (F,)."""
    u, v = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    return u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]


def _check_edges(
    label: str,
    corners: NDArray[np.float64],
    faces: NDArray[np.integer],
    turn: NDArray[np.float64],
    sides: NDArray[np.float64],
    same: float,
) -> None:
    """Refuse flipped neighbours, and cuts of which the sides differ in length."""
    one, two = hinge_sides(faces, label)
    flat = np.asarray(faces, np.int64)
    start, end = (flat[one // 3, (one + k) % 3] for k in range(2))
    alike = flat[two // 3, two % 3] == start
    first = corners[one // 3, one % 3], corners[one // 3, (one + 1) % 3]
    second = corners[two // 3, two % 3], corners[two // 3, (two + 1) % 3]
    there = (np.where(alike[:, None], second[0], second[1]), np.where(alike[:, None], second[1], second[0]))
    joined = np.max([np.abs(a - b).max(axis=1) for a, b in zip(first, there, strict=True)], axis=0) <= same
    flipped = np.flatnonzero(joined & (turn[one // 3] != np.where(alike, -1.0, 1.0) * turn[two // 3]))
    if flipped.size:
        k = flipped[0]
        raise SceneError(
            f"{label}: faces {one[k] // 3} and {two[k] // 3} lie on the same side of their edge ({start[k]}, {end[k]}) "
            f"in the plane: one of them is flipped{_others(flipped)}; unwrap them again"
        )
    lengths = np.stack([sides[one // 3, one % 3], sides[two // 3, two % 3]])
    differ = np.abs(lengths[0] - lengths[1]) / lengths.max(axis=0)
    uneven = np.flatnonzero(~joined & (differ > CUT))
    if uneven.size:
        k = uneven[np.argmax(differ[uneven])]
        raise SceneError(
            f"{label}: the edge ({start[k]}, {end[k]}) is {lengths[0, k]:.4g} m long in face {one[k] // 3} and "
            f"{lengths[1, k]:.4g} m in face {two[k] // 3}: both sides of a cut must match{_others(uneven)}; give the "
            f"islands one scale, or a second mesh as rest shape"
        )


def _overlap(corners: NDArray[np.float64], tolerance: float) -> tuple[int, int] | None:
    """Two triangles with a common area, or None: pairs by a sweep along x, then a line that separates them."""
    low, high = corners.min(axis=1), corners.max(axis=1)
    order = np.argsort(low[:, 0], kind="stable")
    ends = np.searchsorted(low[order, 0], high[order, 0] - tolerance)
    counts = np.maximum(ends - np.arange(len(order)) - 1, 0)
    start = 0
    totals = np.cumsum(counts)
    while start < len(order):
        stop = int(np.searchsorted(totals, (totals[start - 1] if start else 0) + _CHUNK)) + 1
        some = counts[start:stop]
        first = np.repeat(np.arange(start, start + len(some)), some)
        second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(some) - some, some)
        a, b = order[first], order[second]
        near = (low[a, 1] < high[b, 1] - tolerance) & (low[b, 1] < high[a, 1] - tolerance)
        a, b = a[near], b[near]
        found = np.flatnonzero(_meet(corners[a], corners[b], tolerance))
        if found.size:
            one, two = sorted((int(a[found[0]]), int(b[found[0]])))
            return one, two
        start = stop
    return None


def _meet(a: NDArray[np.float64], b: NDArray[np.float64], tolerance: float) -> NDArray[np.bool_]:
    """Whether no side of either triangle (P, 3, 2) separates it from the other one."""
    meet = np.ones(len(a), bool)
    for triangle in (a, b):
        for k in range(3):
            side = triangle[:, (k + 1) % 3] - triangle[:, k]
            normal = np.stack([-side[:, 1], side[:, 0]], axis=1) / np.linalg.norm(side, axis=1)[:, None]
            along, other = np.einsum("pki,pi->pk", a, normal), np.einsum("pki,pi->pk", b, normal)
            meet &= along.max(axis=1) > other.min(axis=1) + tolerance
            meet &= other.max(axis=1) > along.min(axis=1) + tolerance
    return meet


def _others(bad: NDArray[np.intp]) -> str:
    return f" (and {bad.size - 1} more)" if bad.size > 1 else ""
