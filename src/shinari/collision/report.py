"""Contacts of the last step with a force, from all systems."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ContactImpulses:
    """Contacts of the last step with a force, and their impulses.

    A contact lies between a point of the first object, the mean of up to four particles by positive weights that sum to
    one, and a point of the second, by negative weights that sum to minus one; or a collider or a body.

    Attributes:
        particles: Particles of each contact in solver order, (K, 4) uint32; any with weight 0 where there are fewer.
        weights: Their weights, (K, 4).
        colliders: Index of the collider, (K,) int64, bodies counted on from there; -1 where the second object has
            particles.
        normals: Unit vectors from the second to the first at the last contact, (K, 3).
        impulses: Sum over the step of the impulses on the first [N s], (K, 3) float64.
    """

    particles: np.ndarray
    weights: np.ndarray
    colliders: np.ndarray
    normals: np.ndarray
    impulses: np.ndarray

    @staticmethod
    def none() -> "ContactImpulses":
        """No contacts."""
        return ContactImpulses(
            np.zeros((0, 4), np.uint32), np.zeros((0, 4)), np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros((0, 3))
        )

    @staticmethod
    def joined(parts: "list[ContactImpulses]") -> "ContactImpulses":
        """The contacts of several lists."""
        if not parts:
            return ContactImpulses.none()
        return ContactImpulses(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ContactImpulses.__dataclass_fields__)
        )


@dataclass(frozen=True)
class Contacts:
    """Contacts of the last step with a force.

    Attributes:
        positions: Contact points on the surface of the first object [m], (K, 3).
        normals: Unit vectors from the second to the first, (K, 3).
        forces: Mean forces over the step on the first, with friction and restitution [N], (K, 3); the opposite acts on
            the second.
        first: Names of the first objects, (K,).
        second: Names of the second objects, (K,): objects, colliders or bodies.
        particle_forces: Sum of the contact forces on each particle [N], (N, 3), in the order in which particles were
            added.
    """

    positions: np.ndarray
    normals: np.ndarray
    forces: np.ndarray
    first: np.ndarray
    second: np.ndarray
    particle_forces: np.ndarray

    def __len__(self) -> int:
        return len(self.forces)
