"""What the families of contacts have in common: when a step calls them, and what they tell about the contacts."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Family(Protocol):
    """Contacts of one family, such as those of particles with solids."""

    def begin(self, time: float) -> None:
        """A step begins at a time [s]: forget the last impulses; carry nothing over that is no state."""
        ...

    def prepare(self, end: float, threads: int) -> None:
        """A substep begins that ends at a time [s]: before the prediction, after forces have changed the velocities."""
        ...

    def project(self, threads: int, first: bool) -> float:
        """Solve every contact once; `first` in the first iteration of a substep.

        Returns:
            The largest overlap that it found, as part of the distance to keep; 0 when it needs no more turns.
        """
        ...

    def settle(self, threads: int) -> None:
        """All iterations are done: undo what must not happen, such as a crossing; positions do not change after it."""
        ...

    def bounce(self, threads: int) -> None:
        """The velocities of the substep are known: restitution."""
        ...

    def touches(self) -> "Touches":
        """The contacts that pushed in the last step."""
        ...


@dataclass(frozen=True)
class Touches:
    """Contacts that pushed in the last step, and how much.

    A contact lies between a point of the first thing, the mean of up to four particles by positive weights that sum to
    one, and a point of the second, by negative weights that sum to minus one; or a collider or a body.

    Attributes:
        particles: Particles of each contact in solver order, (K, 4) uint32; any with weight 0 where there are fewer.
        weights: Their weights, (K, 4).
        colliders: Index of the collider, (K,) int64, bodies counted on from there; -1 where the second thing has
            particles.
        normals: Unit vectors from the second to the first at the last touch, (K, 3).
        impulses: Sum over the step of the impulses on the first [N s], (K, 3) float64.
    """

    particles: np.ndarray
    weights: np.ndarray
    colliders: np.ndarray
    normals: np.ndarray
    impulses: np.ndarray

    @staticmethod
    def none() -> "Touches":
        """No contacts."""
        return Touches(
            np.zeros((0, 4), np.uint32), np.zeros((0, 4)), np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros((0, 3))
        )

    @staticmethod
    def joined(parts: "list[Touches]") -> "Touches":
        """The contacts of several families, or of several lists of one."""
        if not parts:
            return Touches.none()
        return Touches(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in Touches.__dataclass_fields__)
        )
