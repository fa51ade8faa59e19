"""Mass, centre of mass and inertia of solids, exactly integrated over closed meshes.

A closed mesh is the signed sum of the tetrahedra that its triangles make with one point; over the tetrahedron of 0, a,
b, c with 6 V = a . (b x c)

    int x dV = V (a + b + c) / 4,    int x x^T dV = V / 20 (a a^T + b b^T + c c^T + s s^T),    s = a + b + c

(Tonon 2005, Explicit exact formulas for the 3-D tetrahedron inertia tensor). The point is the centre of mass itself,
found first: with a point far away the sum is a small difference of large numbers.
"""

from dataclasses import dataclass

import numpy as np

from shinari.errors import SceneError
from shinari.geometry.motion import rotation_matrix


@dataclass(frozen=True)
class MassProperties:
    """What the motion of a rigid body depends on.

    Attributes:
        mass: Mass [kg].
        centre: Centre of mass [m], (3,).
        tensor: Inertia about the centre of mass [kg m^2], (3, 3).
    """

    mass: float
    centre: np.ndarray
    tensor: np.ndarray

    def scaled(self, factor: float) -> "MassProperties":
        """The same solid, so many times as heavy."""
        return MassProperties(self.mass * factor, self.centre, self.tensor * factor)

    def moved(self, position: np.ndarray, rotation: np.ndarray) -> "MassProperties":
        """The same solid after a rotation (4,) and a shift (3,)."""
        turn = rotation_matrix(rotation)
        return MassProperties(self.mass, turn @ self.centre + position, turn @ self.tensor @ turn.T)


def mesh_properties(vertices: np.ndarray, faces: np.ndarray) -> MassProperties:
    """Mass properties of the inside of a closed mesh of density 1 kg/m^3.

    Args:
        vertices: Positions [m], (V, 3).
        faces: Triangles, counter-clockwise seen from outside, (F, 3).

    Raises:
        SceneError: The volume inside is not positive.
    """
    corners = np.asarray(vertices, np.float64)[faces]
    middle = 0.5 * (corners.min(axis=(0, 1)) + corners.max(axis=(0, 1)))
    volume, offset, _ = _integrals(corners - middle)
    if not volume > 0.0:
        raise SceneError(f"mesh: faces: the volume inside is {volume:.3g} m^3; the faces have to turn outward")
    volume, rest, second = _integrals(corners - (middle + offset))
    # What is left of the first moment is rounding; with it the result belongs to the centre exactly.
    second = second - volume * np.outer(rest, rest)
    return MassProperties(volume, middle + offset + rest, np.trace(second) * np.eye(3) - second)


def on_axis(mass: float, height: float, x: float, y: float, z: float) -> MassProperties:
    """A solid with its centre on Y and principal axes along its own, by the squared radii of gyration [m^2]."""
    return MassProperties(mass, np.array([0.0, height, 0.0]), mass * np.diag([x, y, z]))


def _integrals(corners: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, mean (3,) and second moment (3, 3) about the origin of what triangles (F, 3, 3) enclose."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    volume, s = float(volumes.sum()), a + b + c
    mean = (volumes[:, None] * s).sum(axis=0) / (4.0 * volume) if volume != 0.0 else np.zeros(3)
    points = np.stack([a, b, c, s])
    return volume, mean, np.einsum("f,pfi,pfj->ij", volumes, points, points) / 20.0
