"""Tetrahedra that cover their surface: thin parts are thickened, and the boundary moves out to the rest of the surface.

A lattice does not see parts thinner than half a cell, and blunts edges. A vertex outside of all tetrahedra follows the
nearest one, linearly continued: an ear bound to a far cheek makes large false motions. So the body is filled once more
together with a block around each place that is left out: overlapping parts are one (`isosurface_stuffing`). Parts that
stick out less are covered by moving the vertices of the boundary, as far as the tetrahedra keep their shape.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shinari.geometry.embedding import locate
from shinari.geometry.tetrahedra.check import boundary_faces, pieces
from shinari.geometry.tetrahedra.isosurface_stuffing import Stuffing, shortened, stuff
from shinari.geometry.tetrahedra.quality import shapes

OUT = 0.45
"""A vertex farther out than this part of a cell is on a thin part."""
BLOCK = 0.65
"""Half the edge of the block around it, in cells: every ball of 0.56 cells holds a point of the lattice."""
SPACING = 0.5
"""Distance of blocks, in cells."""
TIMES, ROUNDS, HALVINGS = 4, 10, 4
PART = 0.6
"""Part of its displacement that a vertex makes at a time: its neighbours go, too."""
MORE = 0.01
"""How much farther it goes, in cells."""
SHAPE = 0.15
"""Least shape that a tetrahedron keeps when its vertices move."""
CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
SIDES = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
                  [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]])  # fmt: skip

Mesh = tuple[NDArray[np.float64], NDArray[np.int64]]


def cover(corners: NDArray[np.float64], cell: float, filled: Stuffing, parts: int) -> Stuffing:
    """Tetrahedra that cover a surface, from those that fill it.

    Args:
        corners: Triangles of the surface, turned outwards, (T, 3, 3) [m].
        cell: Edge of a cell of the lattice [m].
        filled: Tetrahedra that fill the surface.
        parts: Connected parts of the surface.
    """
    points = np.unique(shortened(corners, SPACING * cell).reshape(-1, 3), axis=0)
    thick, most = corners, OUT * cell
    for _ in range(TIMES):
        blocks = _blocks(points, (filled.vertices, filled.tetrahedra), cell, most)
        loose = pieces(filled.tetrahedra).max() >= parts
        if len(blocks):
            thick = np.concatenate([thick, blocks])
            more = stuff(thick, cell, 1.0)
            filled = replace(filled, vertices=more.vertices, tetrahedra=more.tetrahedra)
        elif not loose:
            break
        # parts that are connected by less than a cell are thickened there
        most *= 0.5 if loose else 1.0
    return replace(filled, vertices=_move_boundary_out(points, (filled.vertices, filled.tetrahedra), MORE * cell))


def _blocks(points: NDArray[np.float64], mesh: Mesh, cell: float, most: float) -> NDArray[np.float64]:
    """Triangles of blocks around the points that are farther outside of tetrahedra than that, (B, 3, 3) [m]."""
    out = points[locate(points, *mesh)[2] > most]
    places = np.unique(np.round(out / (SPACING * cell)), axis=0) * (SPACING * cell)
    return (places[:, None] + BLOCK * cell * CORNERS)[:, SIDES].reshape(-1, 3, 3)


def _move_boundary_out(points: NDArray[np.float64], mesh: Mesh, more: float) -> NDArray[np.float64]:
    """Vertices of tetrahedra whose boundary has moved out to the points of a surface that were outside, (N, 3)."""
    x, tetrahedra = mesh[0].copy(), mesh[1]
    faces = boundary_faces(tetrahedra)
    on_boundary = np.zeros(len(x), bool)
    on_boundary[faces] = True
    for _ in range(ROUNDS):
        chosen, weights, away = locate(points, x, tetrahedra)
        # points that are inside stay there: the boundary only moves out
        out = away > 0.0
        points = points[out]
        if not len(points):
            break
        moves = _moves(x, tetrahedra[chosen[out]], weights[out], points, more)
        moves[~on_boundary] = 0.0
        x = _move(x, tetrahedra, moves)
    return x


def _moves(
    x: NDArray[np.float64],
    corners: NDArray[np.int64],
    weights: NDArray[np.float64],
    points: NDArray[np.float64],
    more: float,
) -> NDArray[np.float64]:
    """Where each vertex goes for its faces to come nearer to the points that are outside of them, (N, 3) [m]."""
    nearest = np.clip(weights, 0.0, None)
    nearest /= nearest.sum(axis=1, keepdims=True)
    displacements = points - np.einsum("pk,pkc->pc", nearest, x[corners])
    length = np.linalg.norm(displacements, axis=1)
    displacements *= PART + (more / np.maximum(length, more))[:, None]
    moves, longest = np.zeros_like(x), np.zeros(len(x))
    # the longest last: it counts
    for k in range(4):
        row = np.flatnonzero(nearest[:, k] > 0.0)
        row = row[np.argsort(length[row], kind="stable")]
        at = corners[row, k]
        last = np.zeros(len(x), np.int64) - 1
        last[at] = row
        found = np.flatnonzero(last >= 0)
        found = found[length[last[found]] > longest[found]]
        moves[found], longest[found] = displacements[last[found]], length[last[found]]
    return moves


def _move(x: NDArray[np.float64], tetrahedra: NDArray[np.int64], moves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move vertices; those of tetrahedra that would lose their shape by less, or not at all."""
    part, before = np.ones((len(x), 1)), np.minimum(shapes(x, tetrahedra), SHAPE)
    for halvings in range(len(x)):
        moved = x + part * moves
        flat = shapes(moved, tetrahedra) < before
        if not flat.any():
            break
        part[tetrahedra[flat]] *= 0.5 if halvings < HALVINGS else 0.0
    return moved
