"""The shapes of all bodies as arrays, in the axes of their frames, for contacts with particles."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shinari.geometry.motion import rotation_matrix
from shinari.maths.quaternion import conjugate, multiply
from shinari.scene.body import Body
from shinari.shapes.base import Shape
from shinari.shapes.kernels.encode import encode_shapes
from shinari.shapes.kernels.mesh_distance import FAR
from shinari.shapes.mesh import Mesh
from shinari.shapes.registry import LAST_CONVEX


@dataclass(frozen=True)
class BodyShapes:
    """Arrays of the K shapes of all bodies, float64.

    Attributes:
        shapes: The shapes, hulls as meshes.
        kinds: Kind of each, see `shinari.shapes.registry`, (K,) int64.
        sizes: Its numbers, (K, 4).
        fields: Distance fields of the meshes among them.
        local_poses: Pose in the axes of the body's frame: matrix by rows, position [m], (K, 12).
        frames: Frame of each, which is the index of its body, (K,) int64.
        lows: Low corner of its box in its own axes [m], (K, 3).
        highs: High corner [m], (K, 3).
        centres: Middle of the box in the axes of the frame [m], (K, 3).
        radii: Half the diagonal of the box [m], (K,).
        surfaces: Friction, static friction, restitution and compliance [m/N], (K, 4).
    """

    shapes: list[Shape]
    kinds: np.ndarray
    sizes: np.ndarray
    fields: tuple[np.ndarray, ...]
    local_poses: np.ndarray
    frames: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    centres: np.ndarray
    radii: np.ndarray
    surfaces: np.ndarray

    @property
    def count(self) -> int:
        """Shapes of all bodies."""
        return len(self.kinds)

    @property
    def reaches(self) -> np.ndarray:
        """How far a point of each can be from the origin of its frame [m], (K,)."""
        return np.linalg.norm(self.centres, axis=1) + self.radii

    @property
    def convex(self) -> np.ndarray:
        """Distance up to which all of a shape is behind each plane that touches it [m], (K,); -1: it is not convex."""
        convex = np.where(self.kinds <= LAST_CONVEX, np.inf, -1.0)
        for k, shape in enumerate(self.shapes):
            if isinstance(shape, Mesh) and shape.is_convex:
                # farther away distances are estimates
                convex[k] = float(FAR) * self.fields[0][int(self.sizes[k, 0]), 3]
        return convex


def body_shapes_of(bodies: Sequence[Body]) -> BodyShapes:
    """The shapes of bodies."""
    shapes, places, frames, surfaces = [], [], [], []
    for b, body in enumerate(bodies):
        back = np.array(conjugate(tuple(body.axes)))
        for piece in body.pieces:
            shapes.append(_solid(piece.shape))
            turn = rotation_matrix(np.array(multiply(tuple(back), tuple(piece.rotation))))
            at = rotation_matrix(back) @ (piece.position - body.centre)
            places.append(np.concatenate([turn.ravel(), at]))
            frames.append(b)
            surfaces.append(body.surface.numbers)
    kinds, sizes, fields = encode_shapes(shapes, np.float64)
    corners = np.array([shape.bounds() for shape in shapes]).reshape(-1, 2, 3)
    poses = np.array(places).reshape(-1, 12)
    middles = corners.mean(axis=1)
    return BodyShapes(
        shapes=shapes,
        kinds=kinds,
        sizes=sizes,
        fields=fields,
        local_poses=poses,
        frames=np.array(frames, np.int64),
        lows=np.ascontiguousarray(corners[:, 0]),
        highs=np.ascontiguousarray(corners[:, 1]),
        centres=np.einsum("krc,kc->kr", poses[:, :9].reshape(-1, 3, 3), middles) + poses[:, 9:],
        radii=0.5 * np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1),
        surfaces=np.array(surfaces, np.float64).reshape(-1, 4),
    )


def _solid(shape: Shape) -> Shape:
    """A shape with a signed distance: a hull is the mesh of its faces."""
    mesh = getattr(shape, "mesh", None)
    return mesh if isinstance(mesh, Mesh) else shape
