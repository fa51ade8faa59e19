"""Tetrahedra of a body from its surface."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shinari import check
from shinari.errors import SceneError, TetrahedraWarning, warn
from shinari.geometry.tetrahedra.check import boundary_faces, check_tetrahedra, orient, pieces
from shinari.geometry.tetrahedra.cover import cover
from shinari.geometry.tetrahedra.isosurface_stuffing import Stuffing, stuff
from shinari.geometry.tetrahedra.quality import Quality, drop_worst, measure_quality
from shinari.geometry.tetrahedra.surface import CLOSED, Surface, describe_holes, prepare_surface

__all__ = [
    "Quality",
    "Tetrahedra",
    "boundary_faces",
    "check_tetrahedra",
    "drop_worst",
    "measure_quality",
    "orient",
    "tetrahedralize",
]

COUNT = 10_000
"""Tetrahedra that a body gets when nothing is asked for."""
PER_CUBE = 12
FINEST = 120
"""Cells along the longest side of a surface when nothing is asked for, at most: it may be a sheet."""
MOST_CUBES = 2**21
OPEN = 0.1
"""Share of the boundary without a triangle from which on inside and outside are a guess: a box without its lid has
0.17."""
MISSING, UNSEEN = 0.1, 0.02
"""Share of the volume that is missing, and of the surface that no cell sees, from which on there is a warning."""
THICKER = 0.25
"""Share of the volume by which parts are thicker than the surface from which on there is a warning."""


@dataclass(frozen=True, eq=False)
class Tetrahedra:
    """A body cut into tetrahedra.

    Attributes:
        vertices: Positions [m], (V, 3).
        tetrahedra: Vertex indices, (T, 4): det(x1 - x0, x2 - x0, x3 - x0) > 0.
        quality: Shapes of the tetrahedra.
        cell: Edge of a cell of the lattice, or of a tetrahedron with `"tetwild"` [m].
        missing: Volume of the surface that they do not fill, as a share of it; negative when they fill more.
        unseen: Share of the surface that is farther than a cell from every tetrahedron.
    """

    vertices: NDArray[np.float64]
    tetrahedra: NDArray[np.int64]
    quality: Quality
    cell: float
    missing: float
    unseen: float

    def __str__(self) -> str:
        return f"{self.quality}, cell {self.cell:.3g} m, {100 * max(self.missing, 0.0):.1f} % of the volume missing"


def tetrahedralize(
    vertices: Any,
    faces: Any,
    *,
    cell: float | None = None,
    method: str = "lattice",
    covers: bool = False,
    label: str = "surface",
) -> Tetrahedra:
    """Fill a surface with tetrahedra.

    The surface may have small holes, parts that overlap, doubled faces and faces turned round; it need not be clean.
    Vertices of the result are not those of the surface. Sharp edges and corners are blunted, by a part of a cell.

    Args:
        vertices: Positions [m], (V, 3).
        faces: Vertex indices, (F, 3).
        cell: Edge of a cell of the lattice [m], about the size of a tetrahedron; left out: for about `COUNT` of them.
        method: `"lattice"`: isosurface stuffing, with angles between 9 and 162 degrees. `"tetwild"`: fTetWild, slower
            by far, keeps edges and thin parts; it comes with the extra [tet].
        covers: Whether the lattice covers the surface: parts thinner than a cell are made as thick as one, and sharp
            edges are not blunted but stand out a bit.
        label: What the surface belongs to, for messages.

    Raises:
        SceneError: Wrong shapes or numbers, a surface that is open, or thinner than a cell everywhere.
        MissingExtraError: pytetwild is not installed.

    Warns:
        TetrahedraWarning: Parts of the body are thinner than a cell: missing, or hanging loose.
    """
    check.text("tetrahedralize", "label", label)
    check.choice(label, "method", method, ("lattice", "tetwild"))
    vertices = check.array(label, "vertices", vertices, (None, 3))
    surface = prepare_surface(vertices, _faces(faces, len(vertices), label))
    if not len(surface.faces):
        raise SceneError(f"{label}: faces: none has an area")
    low, high = surface.corners.min(axis=(0, 1)), surface.corners.max(axis=(0, 1))
    if cell is None:
        cell = _default_cell(surface, float((high - low).max()))
    cell = check.number(label, "cell", cell, above=0.0)
    cubes = float(np.prod((high - low) / cell + 3.0))
    if cubes > MOST_CUBES:
        raise SceneError(
            f"{label}: cell: {cell:g} m makes a lattice of {cubes:.2g} cells, more than {MOST_CUBES}; the surface "
            f"measures {' x '.join(f'{side:.3g}' for side in high - low)} m"
        )
    filled = stuff(surface.corners, cell, OPEN)
    if filled.torn > OPEN and describe_holes(surface) == CLOSED:
        # edges of the lattice go through edges of the surface, and rounding takes them past both triangles
        filled = stuff(surface.corners, cell, 1.0)
    else:
        _check_closed(surface, filled, label)
    if check.flag(label, "covers", covers) and method == "lattice" and len(filled.tetrahedra):
        filled = cover(surface.corners, cell, filled, surface.parts)
    points, tetrahedra = filled.vertices, filled.tetrahedra
    if method == "tetwild":
        from shinari.geometry.tetrahedra.ftetwild import run_tetwild

        points, tetrahedra = run_tetwild(surface.corners, cell, label)
    if not len(tetrahedra):
        raise SceneError(
            f"{label}: cell: {cell:.3g} m is too large, nothing is that thick; try {_finer(surface, cell):.2g}"
        )
    quality = measure_quality(points, tetrahedra)
    volume = surface.volume - filled.overlap
    missing = 1.0 - quality.volume / volume if volume > 0.0 else 0.0
    unseen = _unseen(surface, points[tetrahedra].mean(axis=1), filled, cell)
    result = Tetrahedra(points + surface.middle, tetrahedra, quality, cell, missing, unseen)
    _warn(surface, result, label)
    return result


def _default_cell(surface: Surface, longest: float) -> float:
    """A cell for about `COUNT` tetrahedra, or up to eight times as many where the body is thin."""
    by_count = float(np.cbrt(PER_CUBE * surface.bulk / COUNT))
    return max(min(by_count, _thickness(surface)), 0.5 * by_count, longest / FINEST)


def _thickness(surface: Surface) -> float:
    """2 V / A [m]: of a plate its thickness, of a rod its radius, of a ball two thirds of it."""
    return 2.0 * surface.bulk / surface.area


def _faces(faces: Any, count: int, label: str) -> NDArray[np.int64]:
    """Faces in range; one that repeats a vertex has no area and is left out later."""
    table = check.shaped(label, "faces", faces)
    if table.ndim != 2 or table.shape[1] != 3 or not len(table) or not np.issubdtype(table.dtype, np.integer):
        raise SceneError(f"{label}: faces: expected whole numbers of shape (F, 3), got {check.short(table)}")
    bad = np.flatnonzero(((table < 0) | (table >= count)).any(axis=1))
    if len(bad):
        raise SceneError(f"{label}: faces[{bad[0]}] is {table[bad[0]].tolist()}, out of range for {count} vertices")
    return table.astype(np.int64)


def _check_closed(surface: Surface, filled: Stuffing, label: str) -> None:
    """Refuse a surface of which nobody can tell what is inside."""
    if filled.torn <= OPEN and len(filled.tetrahedra):
        return
    holes = describe_holes(surface)
    if filled.torn > OPEN:
        raise SceneError(
            f"{label}: faces: the surface is open, {100 * filled.torn:.0f} % of what should close it is missing: "
            f"{holes}; close it first, or make a cloth of it"
        )
    if surface.bulk <= 1e-3 * surface.area**1.5 and holes != CLOSED:
        raise SceneError(f"{label}: faces: the surface has no inside: {holes}; close it first, or make a cloth of it")


def _finer(surface: Surface, cell: float) -> float:
    """A cell that shows more: two layers of lattice points fit into a plate as thick as a cell."""
    return min(0.5 * cell, _thickness(surface))


def _unseen(surface: Surface, centres: NDArray[np.float64], filled: Stuffing, cell: float) -> float:
    """Share of the surface that is farther than a cell from every tetrahedron."""
    seen = np.zeros(filled.lattice + 2, bool)
    low = filled.origin - cell
    x, y, z = np.clip((centres - low) / cell, 0, filled.lattice + 1).astype(np.int64).T
    seen[x, y, z] = True
    for axis in range(3):
        line = np.moveaxis(seen, axis, 0)
        line[1:-1] = line[:-2] | line[1:-1] | line[2:]
    corners = surface.corners
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    # a few points on each triangle, spread evenly (Roberts 2018, the R2 sequence)
    count = np.ceil(2.0 * area / cell**2).astype(np.int64)
    face = np.repeat(np.arange(len(area)), count)
    spread = np.arange(len(face))[:, None] * np.array([0.7548776662466927, 0.5698402909980532]) % 1.0
    u, v = np.where(spread.sum(axis=1, keepdims=True) > 1.0, 1.0 - spread, spread).T[:, :, None]
    points = corners[face, 0] * (1.0 - u - v) + corners[face, 1] * u + corners[face, 2] * v
    x, y, z = ((points - low) / cell).astype(np.int64).T
    return float(((area / count)[face] * ~seen[x, y, z]).sum() / surface.area)


def _warn(surface: Surface, result: Tetrahedra, label: str) -> None:
    """Say what the tetrahedra are not."""
    count = int(pieces(result.tetrahedra).max()) + 1
    lost = []
    if result.missing > MISSING:
        lost.append(f"{100 * result.missing:.0f} % of the volume is missing")
    if result.unseen > UNSEEN:
        lost.append(f"{100 * result.unseen:.0f} % of the surface is far from any tetrahedron")
    if result.missing < -THICKER:
        lost.append(f"they are thickened, by {-100 * result.missing:.0f} % of the volume")
    if count > surface.parts:
        lost.append(f"they fall into {count} pieces, the surface into {surface.parts}")
    if lost:
        warn(
            f"{label}: tetrahedra in cells of {result.cell:.3g} m: {', '.join(lost)}; parts are thinner than a cell, "
            f"try cell={_finer(surface, result.cell):.2g}",
            TetrahedraWarning,
        )
