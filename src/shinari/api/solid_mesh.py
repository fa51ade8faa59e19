"""From what a user gives as a solid to tetrahedra, and to the surface that is seen."""

import os
from typing import Any

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.geometry.embedded_surface import EmbeddedSurface
from shinari.geometry.tetrahedra.check import check_tetrahedra
from shinari.geometry.topology import mesh_arrays

Surface = tuple[np.ndarray, np.ndarray]
"""Vertices [m], (V, 3), and faces, (F, 3)."""


def solid_mesh(label: str, mesh: Any, cell: float | None) -> tuple[np.ndarray, np.ndarray, Surface | None, float]:
    """Tetrahedra of a solid.

    Args:
        label: What it belongs to, for messages: `"soft body 'jelly'"`.
        mesh: Tetrahedra or a surface, as arrays, an object or a path; see `Scene.add_soft_body`.
        cell: Size of the tetrahedra that fill a surface [m].

    Returns:
        Vertices [m], (N, 3), tetrahedra, (T, 4), the surface that was filled with them, if one was, and the volume of
        the body over that of the tetrahedra: these are thicker where they cover thin parts.

    Raises:
        SceneError: It is neither, or the tetrahedra cannot be simulated, or the surface cannot be filled.
        FileError: The file cannot be read.
    """
    vertices, cells = (check.shaped(label, "mesh", part) for part in _arrays(label, mesh))
    if np.ndim(cells) == 2 and np.shape(cells)[1] == 4:
        if cell is not None:
            raise SceneError(f"{label}: cell: is the size of tetrahedra that fill a surface, but tetrahedra were given")
        return *check_tetrahedra(vertices, cells, label), None, 1.0
    if np.ndim(cells) != 2 or np.shape(cells)[1] != 3:
        raise SceneError(
            f"{label}: mesh: expected tetrahedra of shape (T, 4) or faces of shape (F, 3), got {np.shape(cells)}"
        )
    # they bring the compiler
    from shinari.compute.program import load_kernels
    from shinari.geometry import bvh, embedding, ordering
    from shinari.geometry.tetrahedra import isosurface_stuffing
    from shinari.geometry.tetrahedra.fill import tetrahedralize

    load_kernels(ordering.find_key, *bvh.KERNELS, *isosurface_stuffing.KERNELS, *embedding.KERNELS)
    filled = tetrahedralize(vertices, cells, cell=cell, covers=True, label=label)
    surface = np.asarray(vertices, np.float64), np.asarray(cells, np.int64)
    return filled.vertices, filled.tetrahedra, surface, 1.0 / (1.0 - filled.missing)


def visual_of(
    label: str, visual: Any, filled: Surface | None, vertices: np.ndarray, tetrahedra: np.ndarray
) -> EmbeddedSurface | None:
    """The surface that is shown in place of tetrahedra, bound to them: the one given, else the one that was filled.

    Raises:
        SceneError: It is no surface, or lies outside of the tetrahedra.
        FileError: The file cannot be read.

    Warns:
        EmbeddingWarning: It reaches far out of the tetrahedra.
    """
    from shinari.geometry.embedding import bind

    if visual is not None:
        points, faces = mesh_arrays(f"{label}: visual", visual)
        points = check.array(label, "visual: vertices", points, (None, 3))
        filled = points, check.index_rows(label, "visual: faces", faces, 3, len(points))
    return None if filled is None else bind(label, *filled, vertices, tetrahedra)


def _arrays(label: str, mesh: Any) -> tuple[Any, Any]:
    """Vertices, and faces or tetrahedra."""
    if isinstance(mesh, (str, os.PathLike)):
        from shinari.geometry.files.meshes import EXTENSIONS

        mesh = check.path(label, "mesh", mesh)
        if mesh.suffix.lower() not in EXTENSIONS:
            from shinari.geometry.files.tetra_files import read_tetrahedra

            return read_tetrahedra(mesh)
    elif hasattr(mesh, "vertices") and hasattr(mesh, "tetrahedra"):
        return mesh.vertices, mesh.tetrahedra
    return mesh_arrays(label, mesh)
