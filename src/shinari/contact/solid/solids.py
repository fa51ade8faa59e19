"""Colliders: their poses over a substep, and the contacts of particles, triangles and segments with them."""

import math

import numpy as np

from shinari.contact.family import Touches
from shinari.contact.solid.collide import bounce_particles, push_particles
from shinari.contact.solid.elements import bounce_elements, elements_of, push_elements
from shinari.contact.solid.encode import bounds, encode_shapes
from shinari.contact.solid.near import WORD, mark_elements, mark_particles, strayed
from shinari.contact.solid.near_list import NearList
from shinari.contact.solid.shapes import LAST_UNBOUNDED
from shinari.contact.solid.solid_kernels import sweep
from shinari.model import Model
from shinari.scene.motion import pose_at, rotation_matrix
from shinari.scene.scene import Scene
from shinari.settings import Settings
from shinari.state import State

# A margin, in ways that a particle would go in a step.
AHEAD = 2.0


class Solids:
    """Colliders as arrays, with their poses at both ends of the substep, and what is near them.

    Attributes:
        kinds: Kind of each shape, (K,).
        sizes: Numbers of each shape, (K, 4).
        fields: Distance fields of the meshes among them.
        surfaces: Friction, static friction, restitution and compliance [m/N] of each, (K, 4).
        ignored: Which colliders each thing passes through, (T, K) bool.
        before: Poses relative to each group at the start of the substep, (G, K, 12): matrix, position.
        after: The same at its end.
        detections: How often the lists were made in the last step.
    """

    def __init__(self, scene: Scene, model: Model, state: State, settings: Settings, predicted: np.ndarray) -> None:
        self._model, self._state, self._settings, self._predicted = model, state, settings, predicted
        real, colliders = model.real, model.colliders
        shapes = [collider.shape for collider in colliders]
        self.kinds, self.sizes, self.fields = encode_shapes(shapes, real)
        corners = [bounds(shape) for shape in shapes]
        self._lows = np.array([low for low, _ in corners], real)
        self._highs = np.array([high for _, high in corners], real)
        self.surfaces = np.array([collider.surface.numbers for collider in colliders], real)
        names = [group.name for group in scene.groups]
        self.ignored = np.array(
            [[(min(n, c.name), max(n, c.name)) in scene.ignored for c in colliders] for n in names], bool
        )
        self.before = np.zeros((len(model.origins), len(colliders), 12), real)
        self.after, self._far, self._reference = (np.zeros_like(self.before) for _ in range(3))
        self._moves = np.array([c.motion is not None for c in colliders])
        self._movers = np.flatnonzero(self._moves)
        bounces = max(float(self.surfaces[:, 2].max()), float(model.surfaces[:, 2].max(initial=0.0))) > 0.0
        self._starts = np.zeros_like(state.v) if bounces else None
        self._places = np.zeros_like(predicted)
        self._margins, self._gone, self._ways = np.zeros((3, len(predicted)), real)
        self._valid, self._factor, self._time = False, 1.0, 0.0
        self._weight = float(np.linalg.norm(model.gravity))
        self.detections = 0

        meshes = len(self.fields) > 0
        words = -(-len(colliders) // WORD)
        self._mark, push = sweep(mark_particles), sweep(push_particles, meshes=meshes)
        count = model.particle_count
        self._lists = [NearList(np.array([0, count]), np.zeros((count, words), np.uint64), None, push, real)]
        elements, offsets = np.zeros((0, 3), np.uint32), np.zeros(1, np.int64)
        if (self.kinds > LAST_UNBOUNDED).any():
            elements, offsets = elements_of(scene, model)
        if len(elements):
            self._mark_elements = sweep(mark_elements)
            push = sweep(push_elements, meshes=meshes)
            # particles first: what is deep at a vertex does not hide what is deep beside it
            marks = np.zeros((len(elements), words), np.uint64)
            self._lists.append(NearList(offsets, marks, elements, push, real))

    @property
    def particle_contacts(self) -> NearList:
        """The contacts of particles."""
        return self._lists[0]

    def begin(self, time: float) -> None:
        """A step begins: set the poses at its time [s] as those at both ends of the substep."""
        self._time, self._valid, self._factor, self.detections = time, False, AHEAD, 0
        self._write(time, self.after)
        self.before[...] = self.after
        for near in self._lists:
            near.forget()

    def prepare(self, end: float, threads: int) -> None:
        """Take the poses at the end of a substep as those at the start of the next, which ends at `end`."""
        if len(self._movers):
            self.before[...] = self.after
            self._write(end, self.after)
        if self._starts is not None:
            self._starts[...] = self._state.v

    def project(self, threads: int, first: bool) -> float:
        """Keep all free particles and elements out of all solids."""
        model, real, settings = self._model, self._model.real, self._settings
        if not self._valid or self._strayed(threads):
            self._find(threads)
        ways = (self._gone, self._ways, self._moves)
        solids = (self.kinds, self.sizes, self.fields, self.surfaces, self.before, self.after)
        for near in self._lists:
            if near.count:
                near.push(threads, *near.table, *ways, *near.elements, *self._motion, model.radii, model.owners,
                          model.surfaces, model.groups, *solids, first, real(settings.substep),
                          real(settings.depenetration_speed if first else 0.0))  # fmt: skip
        return 0.0

    def settle(self, threads: int) -> None:
        """Nothing to undo."""

    def bounce(self, threads: int) -> None:
        """Restitution."""
        if self._starts is None:
            return
        model, real = self._model, self._model.real
        here = (model.surfaces, model.groups, self.surfaces, self.before, self.after)
        for near in self._lists:
            if near.count:
                body = bounce_elements if near.elements else bounce_particles
                sweep(body)(threads, *near.table, *near.elements, self._state.x, self._state.v, self._starts,
                            model.owners, *here, model.gravity.astype(real), real(self._weight),
                            real(self._settings.substep))  # fmt: skip

    def touches(self) -> Touches:
        """The contacts that pushed in the last step."""
        return Touches.joined([near.touches() for near in self._lists])

    def poses(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Positions (K, 3) [m] and rotations (K, 4), w x y z, at a time [s].

        Raises:
            SceneError: The motion of a collider returns something else than a finite pose.
        """
        poses = [
            (c.position, c.rotation)
            if c.motion is None
            else pose_at(c.motion, time, c.rotation, f"collider {c.name!r}: motion")
            for c in self._model.colliders
        ]
        return np.stack([p for p, _ in poses]), np.stack([q for _, q in poses])

    @property
    def _motion(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._state.x, self._predicted, self._state.v

    def _strayed(self, threads: int) -> bool:
        margins = (self._places, self._margins, self._gone, self._ways)
        poses = (self._reference, self.before, self.after, self._far)
        return strayed(threads, np.zeros(threads, np.bool_), *margins, self._movers, *self._motion, self._model.groups,
                       *poses, self._model.real(self._settings.substep))  # fmt: skip

    def _find(self, threads: int) -> None:
        """List what is near which solid; what has pushed so far in the step is kept."""
        model, real, settings = self._model, self._model.real, self._settings
        self._reference[...] = self.after
        self._far[...] = self.after
        if len(self._movers):
            self._write(self._time + settings.dt, self._far)
        solids = (self.ignored, model.groups, self._moves, self.kinds, self.sizes, self._lows, self._highs,
                  self.before, self.after, self._far, real(settings.substep))  # fmt: skip
        # by how much speeds may change in a step: the fall, and a quarter of what they are in the mean
        drop = self._weight * settings.dt + 0.25 * math.sqrt(3.0 * float(np.square(self._state.v).mean()))
        particles = self._lists[0]
        margins = (self._places, self._margins, self._gone, self._ways)
        self._mark(threads, particles.all_colours, particles.marks, *margins, real(self._factor), real(settings.dt),
                   real(drop), *self._motion, model.radii, model.owners, *solids)  # fmt: skip
        if len(self._lists) > 1:
            faces = self._lists[1]
            self._mark_elements(threads, np.array([0, len(faces.marks)]), faces.marks, *faces.elements, self._margins,
                                *self._motion, model.radii, model.owners, *solids)  # fmt: skip
        for near in self._lists:
            near.renew()
        self._valid, self._factor = True, 2.0 * self._factor
        self.detections += 1

    def _write(self, time: float, poses: np.ndarray) -> None:
        positions, rotations = self.poses(time)
        for k, q in enumerate(rotations):
            poses[:, k, :9] = rotation_matrix(q).ravel()
        poses[:, :, 9:] = positions[None] - self._state.origins[:, None]
