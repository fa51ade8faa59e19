"""From what a user gives as a solid to tetrahedra."""

from typing import Any

import numpy as np

from shinari.errors import SceneError
from shinari.scene.arguments import mesh_arrays


def solid_mesh(thing: str, mesh: Any, cell: float | None) -> tuple[np.ndarray, np.ndarray, Any]:
    """Vertices, tetrahedra, and the surface that was filled with them."""
    vertices, cells = mesh_arrays(thing, mesh)
    vertices, cells = np.asarray(vertices, np.float64), np.asarray(cells, np.int64)
    if cells.ndim != 2 or cells.shape[1] != 4:
        raise SceneError(f"{thing}: mesh: surfaces are not filled yet")
    return vertices, cells, None


def boundary_faces(tetrahedra: np.ndarray) -> np.ndarray:
    """Triangles that belong to one tetrahedron only, outward, (F, 3)."""
    faces = np.concatenate([tetrahedra[:, list(k)] for k in ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))])
    _, first, counts = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    return faces[np.sort(first[counts == 1])]
