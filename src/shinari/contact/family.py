"""Contacts that pushed in the last step, as all systems tell them."""

from dataclasses import dataclass

import numpy as np


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
