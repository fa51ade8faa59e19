"""A box of cubes, each cut into five or six tetrahedra: the beams of tests, benchmarks and textbooks.

  3-------7       Five: one tetrahedron in the middle, one at every second corner. Its diagonals lie the other
 /|      /|       way round in the neighbouring cube, so cubes alternate, and the faces fit.
1-------5 |
| 2-----|-6       Six: the ways from corner 0 to corner 7 along three edges, one for each order of the axes
|/      |/        (Kuhn 1960). All cubes alike, and all diagonals in one direction.
0-------4
"""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from shinari import check
from shinari.errors import SceneError


def lattice(
    cells: Sequence[int], size: float | Sequence[float], *, split: int = 5
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """A box with one corner in the origin, as tetrahedra.

    Args:
        cells: Cubes along x, y and z.
        size: Edge of a cube [m], or its three edges.
        split: Tetrahedra of a cube: 5, or 6.

    Returns:
        Vertices [m], ((nx + 1) (ny + 1) (nz + 1), 3), z running fastest, and positively oriented tetrahedra,
        (split nx ny nz, 4), those of a cube one after another.

    Raises:
        SceneError: A count is below one, an edge is not positive, or there is no such split.
    """
    counts = check.shaped("lattice", "cells", cells)
    if counts.shape != (3,) or not np.issubdtype(counts.dtype, np.integer):
        raise SceneError(f"lattice: cells: expected three whole numbers, got {check.short(cells)}")
    counts = np.array([check.count("lattice", "cells", n) for n in counts])
    check.row_count("lattice", "cells", *(counts + 1).tolist())
    edges: NDArray[np.float64] = check.per_row("lattice", "size", size, 3, above=0.0)
    if check.count("lattice", "split", split) not in (5, 6):
        raise SceneError(f"lattice: split: expected 5 or 6, got {split}")
    points = np.indices([*counts + 1]).reshape(3, -1).T
    cubes = np.indices([*counts]).reshape(3, -1).T
    strides = np.array([(counts[1] + 1) * (counts[2] + 1), counts[2] + 1, 1])
    corners = (cubes @ strides)[:, None] + _CORNERS @ strides
    if split == 6:
        tetrahedra = corners[:, _SIX]
    else:
        odd = (cubes.sum(axis=1) % 2).astype(bool)
        tetrahedra = np.where(odd[:, None, None], corners[:, _FIVE_ODD], corners[:, _FIVE])
    return points * edges, np.ascontiguousarray(tetrahedra.reshape(-1, 4), np.int64)


_CORNERS = np.indices((2, 2, 2)).reshape(3, 8).T
"""Corner 4 x + 2 y + z of a cube."""


def _turned(tetrahedra: list[list[int]]) -> NDArray[np.int64]:
    """Tetrahedra of the corners of a cube, those of negative volume turned."""
    table = np.array(tetrahedra)
    points = _CORNERS[table].astype(np.float64)
    negative = np.linalg.det(points[:, 1:] - points[:, :1]) < 0.0
    table[negative] = table[negative][:, [0, 1, 3, 2]]
    return table


_FIVE = _turned([[0, 3, 5, 6], *([c, c ^ 4, c ^ 2, c ^ 1] for c in (1, 2, 4, 7))])
_FIVE_ODD = _turned([[1, 2, 4, 7], *([c, c ^ 4, c ^ 2, c ^ 1] for c in (0, 3, 5, 6))])
_SIX = _turned([[0, a, a + b, 7] for a, b, _ in permutations((4, 2, 1))])
