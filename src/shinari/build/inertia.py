"""Mass, centre of mass and inertia of solids: closed forms of the simple shapes, exact integrals over closed meshes.

A closed mesh is the signed sum of the tetrahedra that its triangles make with one point; over the tetrahedron of 0, a,
b, c with 6 V = a . (b x c)

    int x dV = V (a + b + c) / 4,    int x x^T dV = V / 20 (a a^T + b b^T + c c^T + s s^T),    s = a + b + c

(Tonon 2005, Explicit exact formulas for the 3-D tetrahedron inertia tensor). The point is the centre of mass itself,
found first: with a point far away the sum is a small difference of large numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shinari.errors import SceneError
from shinari.scene.compound_shape import Piece
from shinari.scene.motion import NO_ROTATION, quaternion_product, rotation_matrix
from shinari.scene.shapes import Box, Capsule, Cone, ConvexHull, Cylinder, Mesh, Shape, Sphere

# Products of inertia below this part of the moments are rounding.
ROUNDING = 1e-13
# A solid has moments of which two together are at least the third; this part less may be rounding.
SLACK = 1e-6


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


def solid_properties(shape: Shape) -> MassProperties:
    """Mass properties of a shape of density 1 kg/m^3 in its own axes.

    Raises:
        SceneError: It has no finite volume: a plane, a container, the ground, a sheet.
    """
    if isinstance(shape, Sphere):
        mass = 4.0 / 3.0 * math.pi * shape.radius**3
        return _diagonal(mass, 0.0, *(3 * [0.4 * shape.radius**2]))
    if isinstance(shape, Box) and not shape.inside:
        a, b, c = (edge * edge / 12.0 for edge in shape.size)
        return _diagonal(math.prod(shape.size), 0.0, b + c, c + a, a + b)
    if isinstance(shape, Capsule):
        return _capsule(shape.radius, shape.length)
    if isinstance(shape, Cylinder):
        square, across = shape.radius**2, shape.radius**2 / 4.0 + shape.length**2 / 12.0
        return _diagonal(math.pi * square * shape.length, 0.0, across, 0.5 * square, across)
    if isinstance(shape, Cone):
        square, across = shape.radius**2, 0.15 * shape.radius**2 + 0.0375 * shape.height**2
        mass = math.pi * square * shape.height / 3.0
        return _diagonal(mass, -0.25 * shape.height, across, 0.3 * square, across)
    if isinstance(shape, Mesh) and shape.solid:
        return mesh_properties(shape.vertices, shape.faces)
    if isinstance(shape, ConvexHull):
        return mesh_properties(shape.vertices, shape.faces)
    raise SceneError(f"{type(shape).__name__}: has no finite volume and cannot be a body")


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


def compound_properties(pieces: Sequence[Piece], densities: Sequence[float]) -> MassProperties:
    """Mass properties of several shapes together; where they overlap, both count.

    Args:
        pieces: The shapes, at least one.
        densities: Density of each [kg/m^3].

    Raises:
        SceneError: One of them has no finite volume.
    """
    placed = [
        solid_properties(piece.shape).scaled(density).moved(piece.position, piece.rotation)
        for piece, density in zip(pieces, densities, strict=True)
    ]
    mass = math.fsum(part.mass for part in placed)
    first = placed[0].centre
    centre = first + sum((part.mass / mass * (part.centre - first) for part in placed[1:]), np.zeros(3))
    tensor = np.zeros((3, 3))
    for part in placed:
        arm = part.centre - centre
        tensor += part.tensor + part.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return MassProperties(mass, centre, tensor)


def principal_axes(tensor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Principal moments (3,) of an inertia tensor (3, 3), and the unit quaternion (4,) that turns their axes into its.

    Jacobi's method, one plane after the other, each turned by at most an eighth of a circle: a tensor that is diagonal
    keeps its axes, in their order, and the axes are right-handed.
    """
    tensor = 0.5 * (tensor + tensor.T)
    least = ROUNDING * np.abs(tensor).max()
    turn = NO_ROTATION.copy()
    within = tensor
    for _ in range(60):  # ten times what it takes
        rows = rotation_matrix(turn)
        within = rows.T @ tensor @ rows
        products = np.abs([within[1, 2], within[2, 0], within[0, 1]])
        axis = int(np.argmax(products))
        if products[axis] <= least:
            break
        p, r = (axis + 1) % 3, (axis + 2) % 3
        gap, mixed = within[p, p] - within[r, r], within[p, r]
        angle = 0.5 * math.atan(2.0 * mixed / gap) if gap != 0.0 else math.copysign(math.pi / 4.0, mixed)
        step = np.zeros(4)
        step[0], step[1 + axis] = math.cos(0.5 * angle), math.sin(0.5 * angle)
        turn = quaternion_product(turn, step)
        turn /= np.linalg.norm(turn)
    return within.diagonal().copy(), turn


def check_inertia(thing: str, moments: np.ndarray) -> None:
    """Refuse principal moments (3,) [kg m^2] that no solid has.

    Raises:
        SceneError: One is not positive, or larger than the two others together.
    """
    if not (moments > 0.0).all():
        raise SceneError(f"{thing}: inertia: the principal moments must be above 0, got {_listed(moments)} kg m^2")
    if 2.0 * moments.max() > moments.sum() * (1.0 + SLACK):
        raise SceneError(
            f"{thing}: inertia: no body has a principal moment above the sum of the two others; got "
            f"{_listed(moments)} kg m^2"
        )


def _listed(moments: np.ndarray) -> str:
    return ", ".join(f"{moment:.6g}" for moment in moments)


def _diagonal(mass: float, height: float, x: float, y: float, z: float) -> MassProperties:
    """A solid with its centre on Y and principal axes along its own, by the squared radii of gyration [m^2]."""
    return MassProperties(mass, np.array([0.0, height, 0.0]), mass * np.diag([x, y, z]))


def _capsule(radius: float, length: float) -> MassProperties:
    """A cylinder and two half balls, whose centres of mass lie 3/8 of the radius beyond its ends."""
    square = radius * radius
    body, caps = math.pi * square * length, 4.0 / 3.0 * math.pi * square * radius
    along = body * 0.5 * square + caps * 0.4 * square
    across = body * (0.25 * square + length**2 / 12.0)
    across += caps * (0.4 * square + 0.25 * length**2 + 0.375 * length * radius)
    mass = body + caps
    return _diagonal(mass, 0.0, across / mass, along / mass, across / mass)


def _integrals(corners: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, mean (3,) and second moment (3, 3) about the origin of what triangles (F, 3, 3) enclose."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    volume, s = float(volumes.sum()), a + b + c
    mean = (volumes[:, None] * s).sum(axis=0) / (4.0 * volume) if volume != 0.0 else np.zeros(3)
    points = np.stack([a, b, c, s])
    return volume, mean, np.einsum("f,pfi,pfj->ij", volumes, points, points) / 20.0
