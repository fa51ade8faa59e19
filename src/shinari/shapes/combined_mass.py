"""Mass properties of bodies: of several shapes together, and their principal axes."""

import math
from collections.abc import Sequence

import numpy as np

from shinari.errors import SceneError
from shinari.geometry.motion import NO_ROTATION, quaternion_product, rotation_matrix
from shinari.shapes.compound import Piece
from shinari.shapes.mass import MassProperties

# Products of inertia below this part of the moments are rounding.
ROUNDING = 1e-13
# A solid has moments of which two together are at least the third; this part less may be rounding.
SLACK = 1e-6


def compound_properties(pieces: Sequence[Piece], densities: Sequence[float]) -> MassProperties:
    """Mass properties of several shapes together; where they overlap, both count.

    Args:
        pieces: The shapes, at least one.
        densities: Density of each [kg/m^3].

    Raises:
        SceneError: One of them has no finite volume.
    """
    placed = [
        piece.shape.mass_properties().scaled(density).moved(piece.position, piece.rotation)
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


def check_inertia(label: str, moments: np.ndarray) -> None:
    """Refuse principal moments (3,) [kg m^2] that no solid has.

    Raises:
        SceneError: One is not positive, or larger than the two others together.
    """
    if not (moments > 0.0).all():
        raise SceneError(f"{label}: inertia: the principal moments must be above 0, got {_listed(moments)} kg m^2")
    if 2.0 * moments.max() > moments.sum() * (1.0 + SLACK):
        raise SceneError(
            f"{label}: inertia: no body has a principal moment above the sum of the two others; got "
            f"{_listed(moments)} kg m^2"
        )


def _listed(moments: np.ndarray) -> str:
    return ", ".join(f"{moment:.6g}" for moment in moments)
