"""Particles against particles: loose ones, and the vertices of sheets in particle mode.

Pairs are found once a step with a margin, and again when a particle leaves its margin: nothing is missed, and nothing
is carried from one step to the next. While the boxes around the things are too far apart for any two to meet, a step
only looks whether that still holds.
"""

import numpy as np

from shinari.contact.buffers import grown
from shinari.contact.family import Touches
from shinari.contact.particle.pair_detection import CHUNK, Detection, chunk_sums
from shinari.contact.particle.pair_members import Members, box_gaps
from shinari.contact.particle.pair_rows import BLOCK, gather, rebounds, scatter, sweep
from shinari.contact.surface.blocks import colour_blocks
from shinari.model import Model
from shinari.settings import Settings
from shinari.state import State

# Each push may drive a particle out of its margin: detections and sweeps within one call, at most.
ROUNDS = 16
# Each further detection in a step doubles the least margin, up to so many times it, or up to twice it where each
# particle has so many rows.
MOST_GROWTH, CROWDED = 16.0, 4
# Particles for which it is worth waking one more thread.
SHARE = 2000
# Things are idle when the way between their boxes is this many times what the fastest covers in a step.
FAR = 4.0
# Approaches up to so many times the speed that gravity gives in a substep do not bounce.
SLOW = 2.0


class Pairs:
    """Contacts between particles.

    Attributes:
        detections: Detections in the last step.
        row_count: Rows of the last detection.
    """

    def __init__(self, model: Model, state: State, settings: Settings, predicted: np.ndarray, members: Members) -> None:
        self._model, self._state, self._settings, self._predicted = model, state, settings, predicted
        self._members = members
        real, count = model.real, len(members.particles)
        self._detection = Detection(members, model.inverse_masses, model.groups, real)
        self._h = real(settings.substep)
        surfaces = model.surfaces[np.unique(members.owners)]
        self._bounces = bool((surfaces[:, 2] > 0.0).any())
        self._keeps_pushes = self._bounces or bool((surfaces[:, 3] > 0.0).any())
        self._slow = real(SLOW * settings.substep * float(np.linalg.norm(model.gravity)))
        self._bodies, self._ways = np.zeros((count, 8), real), np.zeros((count, 3), real)
        self._before = np.zeros_like(state.v) if self._bounces else np.zeros((0, 3), real)
        self._sums = np.zeros((-(-count // CHUNK), 3))
        # pairs of things that may meet, while it is worth asking
        crowd = ~members.alone[members.owners].all()
        self._meeting = None if crowd else members.meeting()
        self._buffers: dict[str, np.ndarray] = {}
        self._pushes = np.zeros(0, real)
        self._kept: list[Touches] = []
        self.detections = self.row_count = 0
        self._found = self._idle = False

    def begin(self, time: float) -> None:
        """A step begins: forget its rows and what pushed."""
        self._kept = []
        self._found = self._idle = False
        self._substep = self.detections = self.row_count = 0
        self._growth = 1.0

    def prepare(self, end: float, threads: int) -> None:
        """A substep begins: find pairs if there are none, or one has left its margin."""
        self._left_steps = self._settings.substeps - self._substep
        self._substep += 1
        if self._substep == 1 and self._meeting is not None:
            self._idle = self._far()
        if self._idle and not self._closer():
            return
        self._idle = False
        threads = self._threads(threads)
        state = self._state
        chunk_sums(self._members.particles, state.v, self._sums)
        self._mean = self._sums.sum(axis=0) / len(self._members.particles)
        if self._found:
            self._drift = self._drift + self._settings.substep * self._mean
        if self._bounces:
            self._before[...] = state.v
        every = self._settings.contact_detection == "substep"
        if not self._found or every or self._left(self._drift):
            # the substep moves nothing yet
            self._find(np.zeros(len(self._members.particles), self._model.real), threads, resume=False)
            self._drift = np.zeros(3)
        else:
            self._renew()

    def project(self, threads: int, first: bool) -> float:
        """Solve every row once, and those again of what was driven out of its margin."""
        if self._idle and not self._closer():
            return 0.0
        threads = self._threads(threads)
        if self._idle:
            self._wake(threads)
        settings, real = self._settings, self._model.real
        escape = real(settings.substep * settings.depenetration_speed) if first else real(0.0)
        for _ in range(ROUNDS):
            moved = self._bring(threads)
            if self.row_count == 0:
                return 0.0
            self._sweep(escape, threads)
            if not self._scatter(moved, threads):
                return 0.0
            escape = real(0.0)
        return 0.0

    def settle(self, threads: int) -> None:
        """Nothing to undo."""

    def bounce(self, threads: int) -> None:
        """Restitution."""
        if not self._bounces or self._idle or self.row_count == 0:
            return
        found, state = self._detection, self._state
        rebounds(
            self._threads(threads), self._order, self._offsets, found.indices, found.particles, found.owners,
            self._model.surfaces, state.x, state.v, self._before, self._pushes, self._impulses,
            self._normals, self._slow,
        )  # fmt: skip

    def touches(self) -> Touches:
        """The contacts that pushed in the last step, one for each pair."""
        self._keep()
        touches = Touches.joined(self._kept)
        if len(touches.particles) == 0:
            return touches
        pairs = touches.particles[:, 0].astype(np.int64) << 32 | touches.particles[:, 1].astype(np.int64)
        keys, last, place = np.unique(pairs[::-1], return_index=True, return_inverse=True)
        impulses = np.zeros((len(keys), 3))
        np.add.at(impulses, place, touches.impulses[::-1])
        at = len(pairs) - 1 - last
        return Touches(touches.particles[at], touches.weights[at], touches.colliders[at], touches.normals[at], impulses)

    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Particles (M, 2), normals from second to first (M, 3), and sums of the impulses on the first [N s] (M, 3)."""
        if self.row_count == 0:
            none = np.zeros((0, 3), self._model.real)
            return np.zeros((0, 2), np.uint32), none, none
        found = self._detection
        return found.particles[found.indices], self._normals, self._impulses

    def _bring(self, threads: int) -> np.ndarray:
        """Bring the particles to the bodies, of rows found anew where one has left its margin; what all have moved."""
        moved = self._drift + self._settings.substep * self._mean
        if self._gather(moved, threads):
            self._find(self._astray(), threads, resume=True)
            # the next substep begins here
            self._drift, moved = -self._settings.substep * self._mean, np.zeros(3)
            self._gather(moved, threads)
        return moved

    def _renew(self) -> None:
        """A substep begins with the rows of the last one."""
        if self._keeps_pushes:
            self._pushes[:] = 0.0

    def _threads(self, threads: int) -> int:
        return max(1, min(threads, len(self._members.particles) // SHARE))

    def _far(self) -> bool:
        """Whether no two things can meet soon; keeps how far each particle may go until it is asked again."""
        state, particles = self._state, self._members.particles
        assert self._meeting is not None
        points = state.x[particles, :3] + state.origins[self._model.groups[particles]]
        gap = float(box_gaps(self._members, points, self._meeting).min(initial=np.inf))
        speeds = np.linalg.norm(state.v[particles], axis=1).max()
        fall = float(np.linalg.norm(self._model.gravity)) * self._settings.dt
        self._reference, self._room = state.x[particles, :3], 0.5 * gap
        return gap > FAR * (float(speeds) + fall) * self._settings.dt

    def _closer(self) -> bool:
        """Whether a particle of idle things has gone so far that two of them may meet."""
        moved = self._state.x[self._members.particles, :3] - self._reference
        return not bool(np.einsum("ij,ij->i", moved, moved).max(initial=0.0) < self._room**2)

    def _wake(self, threads: int) -> None:
        """Things that were idle may meet within this substep."""
        chunk_sums(self._members.particles, self._state.v, self._sums)
        self._mean = self._sums.sum(axis=0) / len(self._members.particles)
        self._idle = False
        if self._bounces:
            self._before[...] = self._state.v
        self._find(self._astray(), threads, resume=True)
        self._drift = -self._settings.substep * self._mean

    def _astray(self) -> np.ndarray:
        """What each member has moved in this substep beside the mean motion [m], (P,)."""
        state, particles, h = self._state, self._members.particles, self._h
        way = state.x[particles, :3] - self._predicted[particles] + h * state.v[particles]
        return np.linalg.norm(way - h * self._mean.astype(way.dtype), axis=1)

    def _find(self, ways: np.ndarray, threads: int, resume: bool) -> None:
        """Find the rows anew; in the middle of a substep they resume with what they had."""
        pushed = self._keep() if self._found else None
        found, state, settings = self._detection, self._state, self._settings
        if self.detections > 0:
            most = 2.0 if self.row_count > CROWDED * len(self._members.particles) else MOST_GROWTH
            self._growth = max(self._growth, min(2.0 * self._growth, most))
        found.find(
            state.x, state.v, ways, self._mean, state.origins, self._left_steps * settings.substep, settings.substep,
            self._growth, threads,
        )  # fmt: skip
        count = len(found.indices)
        self._order, self._offsets = colour_blocks(found.indices, found.free, BLOCK)
        self._impulses, self._normals = self._array("impulses", count, 3), self._array("normals", count, 3)
        self._silent = self._array("silent", count)
        self._pushes = self._array("pushes", count if self._keeps_pushes else 0)
        self._impulses[:], self._normals[:], self._silent[:], self._pushes[:] = 0.0, 0.0, np.inf, 0.0
        self._shifts = (state.origins - np.round(state.origins.mean(axis=0))).astype(self._model.real)
        self._flags = np.zeros(threads, np.bool_)
        self.detections += 1
        self.row_count, self._found = count, True
        if resume and pushed is not None:
            self._resume(*pushed)

    def _array(self, name: str, rows: int, *columns: int) -> np.ndarray:
        """Memory for a number of each row, or some."""
        self._buffers[name] = grown(self._buffers.get(name), rows, self._model.real, *columns)
        return self._buffers[name][:rows]

    def _keep(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Put away the impulses before the rows are forgotten; return what of this substep must go on."""
        if self.row_count == 0:
            return None
        found, impulses = self._detection, self._impulses
        pushed = np.flatnonzero((impulses[:, 0] != 0.0) | (impulses[:, 1] != 0.0) | (impulses[:, 2] != 0.0))
        pairs = found.particles[found.indices[pushed]]
        swap = pairs[:, 0] > pairs[:, 1]
        sign = np.where(swap, -1.0, 1.0)[:, None]
        pairs = np.where(swap[:, None], pairs[:, ::-1], pairs)
        normals = sign * self._normals[pushed]
        count = len(pushed)
        self._kept.append(
            Touches(
                np.concatenate([pairs, pairs], axis=1),
                np.tile([1.0, -1.0, 0.0, 0.0], (count, 1)),
                np.full(count, -1),
                normals,
                sign * impulses[pushed].astype(np.float64),
            )
        )
        impulses[pushed] = 0.0
        if not self._keeps_pushes:
            return None
        return pairs, normals, self._pushes[pushed]

    def _resume(self, pairs: np.ndarray, normals: np.ndarray, pushes: np.ndarray) -> None:
        """Give rows found anew in the middle of a substep the multipliers that they had."""
        if len(pairs) == 0:
            return
        found, n = self._detection, self._model.particle_count
        keys = pairs[:, 0].astype(np.int64) * n + pairs[:, 1]
        order = np.argsort(keys)
        rows = found.particles[found.indices].astype(np.int64)
        sign = np.where(rows[:, 0] > rows[:, 1], -1.0, 1.0)
        wanted = rows.min(axis=1) * n + rows.max(axis=1)
        place = order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]
        same = np.flatnonzero(keys[place] == wanted)
        self._pushes[same] = pushes[place[same]]
        self._normals[same] = sign[same, None] * normals[place[same]]

    def _left(self, drift: np.ndarray) -> bool:
        found = self._detection
        moved = self._state.x[found.particles, :3] - found.origin - drift.astype(self._model.real)
        return bool((np.einsum("ij,ij->i", moved, moved) > found.margins**2).any())

    def _gather(self, drift: np.ndarray, threads: int) -> bool:
        """Bring the particles to the bodies; whether one has left its margin."""
        found, state = self._detection, self._state
        gather(
            threads, found.particles, state.x, self._predicted, state.v, self._h, found.origin,
            drift.astype(self._model.real), found.margins, self._bodies, self._ways, self._flags,
        )  # fmt: skip
        return bool(self._flags.any())

    def _sweep(self, escape: float, threads: int) -> None:
        found, rate = self._detection, self._model.real(1.0 / self._settings.substep)
        sweep(
            threads, self._order, self._offsets, found.indices, found.keeps, self._shifts, found.groups, found.owners,
            self._model.surfaces, self._bodies, self._silent, self._pushes, self._impulses, self._normals, rate, escape,
        )  # fmt: skip

    def _scatter(self, drift: np.ndarray, threads: int) -> bool:
        """Bring what changed back to the particles; whether one has left its margin."""
        found, state = self._detection, self._state
        scatter(
            threads, found.particles, self._bodies, self._ways, state.x, self._predicted, state.v, self._h,
            found.origin, drift.astype(self._model.real), found.margins, self._flags,
        )  # fmt: skip
        return bool(self._flags.any())
