"""Handles, which the `add_*` functions of a scene return."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shinari import check
from shinari.errors import SceneError

if TYPE_CHECKING:
    from shinari.scene.contents import Contents


@dataclass(frozen=True, eq=False, repr=False)
class Handle:
    """Particles that were added together.

    Attributes:
        name: Name in messages and results.
        particles: Their global indices, a range.
    """

    described: ClassVar[str] = "an object with particles"
    _scene: "Contents"
    name: str
    particles: range

    def __repr__(self) -> str:
        return f"<{self.name}: particles {self.particles.start} to {self.particles.stop - 1}>"

    def __len__(self) -> int:
        return len(self.particles)

    @property
    def positions(self) -> np.ndarray:
        """Positions in the scene as described [m], (N, 3), read only."""
        return self._scene.positions[self.particles.start : self.particles.stop]

    def pin(self, indices: Any) -> None:
        """Fix particles in space; they then follow values written to the state.

        Args:
            indices: Indices within this handle, 0 to N - 1, (K,) or one.

        Raises:
            SceneError: An index is out of range.
        """
        local = check.indices(self.name, "pin", indices, len(self.particles))
        self._scene.pin(local + self.particles.start)

    def nearest(self, point: Any) -> int:
        """Index within this handle of the particle nearest to a point [m].

        Raises:
            SceneError: The point is not three finite numbers.
        """
        offset = self.positions - check.vector(self.name, "point", point)
        return int(np.argmin((offset**2).sum(axis=1)))

    def where(self, predicate: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Indices within this handle of the particles for which a predicate holds.

        Args:
            predicate: Takes positions [m], (N, 3), and returns truth values (N,): `lambda x: x[:, 1] > 0.5`.

        Raises:
            SceneError: It is no function, or returns something of another shape.
        """
        check.function(f"{self.name}: where", "predicate", predicate)
        chosen = check.shaped(f"{self.name}: where", "predicate: what it returned", predicate(self.positions))
        if chosen.shape != (len(self.particles),):
            raise SceneError(
                f"{self.name}: where: predicate: it takes all positions (N, 3) at once and has to return shape "
                f"({len(self.particles)},), got {chosen.shape}"
            )
        if chosen.dtype != np.bool_:
            check.array(f"{self.name}: where", "predicate: what it returned", chosen, (len(self.particles),))
        return np.flatnonzero(chosen)


@dataclass(frozen=True, eq=False, repr=False)
class ColliderHandle:
    """A collider of a scene.

    Attributes:
        name: Name in messages and results.
        index: Its place among the colliders.
    """

    described: ClassVar[str] = "a collider"
    name: str
    index: int

    def __repr__(self) -> str:
        return f"<{self.name}: collider {self.index}>"


@dataclass(frozen=True, eq=False, repr=False)
class RowsHandle:
    """Constraint rows that were added together.

    Attributes:
        type: Name of their type.
        rows: Their places among the rows of that type, a range, as in `Simulation.forces`.
    """

    _scene: "Contents"
    type: str
    rows: range

    def __repr__(self) -> str:
        return f"<{self.type}: rows {self.rows.start} to {self.rows.stop - 1}>"


@dataclass(frozen=True, eq=False, repr=False)
class BodyHandle:
    """A rigid body of a scene.

    Attributes:
        name: Name in messages and results.
        index: Its place among the bodies, as in `State.body_positions`.
    """

    described: ClassVar[str] = "a rigid body"
    _scene: "Contents"
    name: str
    index: int

    def __repr__(self) -> str:
        return f"<{self.name}: body {self.index}>"
