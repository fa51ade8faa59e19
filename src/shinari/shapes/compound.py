"""Several shapes that are one body."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.geometry.motion import NO_ROTATION
from shinari.shapes.base import Shape


@dataclass(frozen=True)
class Piece:
    """A shape of a body, in the axes in which the body was described.

    Attributes:
        shape: The shape.
        position: Its origin [m], (3,).
        rotation: Unit quaternion w x y z, (4,).
    """

    shape: Shape
    position: np.ndarray
    rotation: np.ndarray


@dataclass(frozen=True, eq=False)
class Compound:
    """Shapes that are one rigid body.

    Where they overlap both count for the mass; give mass and inertia where that matters.

    Attributes:
        parts: Each a shape, or `(shape, position (3,) [m])`, or `(shape, position, rotation)` with a unit quaternion
            w x y z.

    Raises:
        SceneError: There are none, one is no shape, or has no place.
    """

    parts: Any

    def __post_init__(self) -> None:
        try:
            parts = list(self.parts)
        except TypeError:
            raise SceneError(f"Compound: parts: expected a list, got {check.short(self.parts)}") from None
        if not parts:
            raise SceneError("Compound: parts: there are none")
        object.__setattr__(self, "parts", tuple(_part(index, part) for index, part in enumerate(parts)))

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Its shapes and where they are."""
        return tuple(Piece(*part) for part in self.parts)

    def __repr__(self) -> str:
        return f"Compound({', '.join(repr(shape) for shape, _, _ in self.parts)})"


def _part(index: int, part: Any) -> tuple[Shape, np.ndarray, np.ndarray]:
    label = f"Compound: parts: part {index}"
    given = part if isinstance(part, (tuple, list)) else (part,)
    if not 1 <= len(given) <= 3 or not isinstance(given[0], Shape):
        raise SceneError(
            f"{label}: expected a shape, (shape, position) or (shape, position, rotation), got {check.short(part)}"
        )
    position, rotation = (*given[1:], *((0.0, 0.0, 0.0), NO_ROTATION)[len(given) - 1 :])
    return given[0], check.vector(label, "position", position), check.unit_quaternion(label, "rotation", rotation)
