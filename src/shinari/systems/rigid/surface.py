"""The surface of a rigid body, for drawing; the solver uses the exact shapes."""

import numpy as np

from shinari.geometry.motion import rotation_matrix
from shinari.scene.body import Body
from shinari.shapes.base import shape_mesh


def body_surface(body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Triangles of a body: its visual mesh if it has one, else its shapes one after the other.

    Args:
        body: The body.

    Returns:
        Vertices [m] in the axes of the body, (V, 3) float64, and faces, (F, 3) int32, counter-clockwise seen from
        outside; both are empty for a body without shapes.
    """
    if body.visual is not None:
        vertices, faces = body.visual
        return np.array(vertices, np.float64), np.array(faces, np.int32)
    pieces = []
    for piece in body.pieces:
        vertices, faces = shape_mesh(piece.shape)
        pieces.append((vertices @ rotation_matrix(piece.rotation).T + piece.position, faces))
    return join_meshes(pieces)


def join_meshes(meshes: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """One mesh of several: vertices, (V, 3) float64, and faces, (F, 3) int32."""
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in meshes)])
    vertices = np.concatenate([np.zeros((0, 3)), *(vertices for vertices, _ in meshes)])
    faces = [np.asarray(faces) + start for (_, faces), start in zip(meshes, starts, strict=False)]
    return vertices, np.concatenate([np.zeros((0, 3), np.int32), *faces]).astype(np.int32)
