"""Colliders: their poses over a substep, and the contacts of particles with them."""

import numpy as np

from shinari.contact.collide import collide
from shinari.contact.family import Touches
from shinari.contact.shapes import encode
from shinari.model import Model
from shinari.scene.motion import pose_at, rotation_matrix
from shinari.settings import Settings
from shinari.state import State


class Solids:
    """Colliders as arrays, with their poses at both ends of the substep.

    Attributes:
        kinds: Kind of each shape, (K,).
        sizes: Numbers of each shape, (K, 4).
        fields: Distance fields of the meshes among them.
        surfaces: Friction, static friction, restitution and compliance [m/N] of each, (K, 4).
        before: Poses relative to each group at the start of the substep, (G, K, 12): matrix, position.
        after: The same at its end.
    """

    def __init__(self, model: Model, state: State, settings: Settings, predicted: np.ndarray) -> None:
        self._model, self._state, self._settings, self._predicted = model, state, settings, predicted
        self._colliders = model.colliders
        encoded = [encode(collider.shape) for collider in model.colliders]
        self.kinds = np.array([kind for kind, _ in encoded], np.int64)
        self.sizes = np.stack([numbers for _, numbers in encoded]).astype(model.real)
        self.fields = ()
        self.surfaces = np.array([collider.surface.numbers for collider in model.colliders], model.real)
        self.before = np.zeros((len(model.origins), len(encoded), 12), model.real)
        self.after = np.zeros_like(self.before)
        self._moves = any(collider.motion is not None for collider in model.colliders)

    def begin(self, time: float) -> None:
        """A step begins: set the poses at its time [s] as those at both ends of the substep."""
        self._write(time)
        self.before[...] = self.after

    def prepare(self, end: float, threads: int) -> None:
        """Take the poses at the end of a substep as those at the start of the next, which ends at `end`."""
        if self._moves:
            self.before[...] = self.after
            self._write(end)

    def project(self, threads: int, first: bool) -> None:
        """Keep all free particles out of all solids."""
        model, state, settings = self._model, self._state, self._settings
        collide(state.x, self._predicted, state.v, model.radii, model.owners, model.surfaces, model.groups, self.kinds,
                self.sizes, self.fields, self.surfaces, self.before, self.after, model.real(settings.substep),
                model.real(settings.depenetration_speed))  # fmt: skip

    def settle(self, threads: int) -> None:
        """Nothing to undo."""

    def bounce(self, threads: int) -> None:
        """Restitution."""

    def touches(self) -> Touches:
        """The contacts that pushed in the last step."""
        return Touches.none()

    def poses(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Positions (K, 3) [m] and rotations (K, 4), w x y z, at a time [s]."""
        poses = [
            (c.position, c.rotation) if c.motion is None else pose_at(c.motion, time, c.rotation)
            for c in self._colliders
        ]
        return np.stack([p for p, _ in poses]), np.stack([q for _, q in poses])

    def _write(self, time: float) -> None:
        positions, rotations = self.poses(time)
        for k, q in enumerate(rotations):
            self.after[:, k, :9] = rotation_matrix(q).ravel()
        self.after[:, :, 9:] = positions[None] - self._state.origins[:, None]
