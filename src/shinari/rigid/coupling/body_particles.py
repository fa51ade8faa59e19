"""The contacts of particles, triangles and segments with bodies, both of which are pushed."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from shinari.contact.family import Touches
from shinari.contact.solid.elements import elements_of
from shinari.contact.solid.near import WORD
from shinari.contact.solid.near_list import NearList, strayed
from shinari.fluid.waiting import waiting
from shinari.model import Model
from shinari.rigid.coupling.bounce import bounce_elements, bounce_particles
from shinari.rigid.coupling.kernels import serial
from shinari.rigid.coupling.near import boxes_of_things, mark_elements, mark_particles, measure_pieces, set_margins
from shinari.rigid.coupling.pieces import Pieces, pieces_of
from shinari.rigid.coupling.push import push_elements, push_particles, repeat_all
from shinari.rigid.frames import Frames
from shinari.scene.scene import Scene
from shinari.settings import Settings
from shinari.state import State

# A margin, in ways that a particle or a body would go in a step.
AHEAD = 2.0
# Sweeps in the first substep of a step, which begins without pushes: nothing is carried over that is no state.
FIRST_SWEEPS = 8
# Sweeps go on, up to so many, while one still moves something by more than this part of g h^2 (or of a micrometre):
# heavy things on both sides of a light one need many.
MOST_SWEEPS, SETTLED, TINY = 8, 0.2, 1e-6


class BodyParticles:
    """Contacts of particles and elements with the pieces of bodies; a family, see `shinari.contact.family`.

    It has to be called between the prediction of the bodies and their own solver: it reads and changes `frames.x` and
    `frames.q`, and after an impact, in `bounce`, `frames.v` and `frames.w`.

    Attributes:
        detections: How often the lists were made in the last step.
    """

    def __init__(
        self,
        scene: Scene,
        model: Model,
        state: State,
        settings: Settings,
        predicted: np.ndarray,
        frames: Frames,
        held: np.ndarray | None = None,
    ) -> None:
        """Bind the contacts to the arrays of a simulation.

        Args:
            scene: The scene.
            model: Its model.
            state: Its state.
            settings: Settings.
            predicted: Predicted positions in solver order, (N, 3).
            frames: The frames; the first ones are the bodies.
            held: Particles in solver order and bodies that they are attached to, (H, 2): they never touch.
        """
        self._model, self._state, self._settings, self._predicted = model, state, settings, predicted
        self._frames, real = frames, model.real
        self._pieces = pieces = pieces_of(scene.bodies)
        names = [body.name for body in scene.bodies]
        owners = [names[b] for b in pieces.frames]
        self._ignored = np.array(
            [[(min(g.name, n), max(g.name, n)) in scene.ignored for n in owners] for g in scene.groups], bool
        ).reshape(len(scene.groups), pieces.count)
        count, words = model.particle_count, -(-pieces.count // WORD)
        self._places = np.zeros_like(predicted)
        self._margins, self._gone, self._ways = np.zeros((3, count), real)
        self._travels, self._piece_margins = np.zeros((2, pieces.count))
        self._boxes = np.zeros((len(scene.groups), 6))
        self._reference_x, self._reference_q = frames.x.copy(), frames.q.copy()
        self._before, self._torques, self._moved = (
            frames.q.copy(),
            np.zeros_like(frames.x),
            np.zeros((len(frames.x), 2)),
        )
        self._starts = (np.zeros_like(state.v), frames.v.copy(), frames.w.copy())
        self._weight = float(np.linalg.norm(model.gravity))
        self._small = SETTLED * max(self._weight * settings.substep**2, TINY)
        self._first_body = len(model.colliders)
        self._valid, self._factor, self.detections = False, 1.0, 0
        self._still = np.zeros((len(model.origins), 0, 12), real)

        meshes = len(pieces.fields) > 0
        marks = np.zeros((count, words), np.uint64)
        push = serial(push_particles, meshes=meshes)
        self._lists = [NearList(np.array([0, count]), marks, None, push, np.float64)]  # type: ignore[arg-type]
        elements, _ = elements_of(scene, model)
        if len(elements):
            push, marks = serial(push_elements, meshes=meshes), np.zeros((len(elements), words), np.uint64)
            self._lists.append(NearList(np.array([0, len(elements)]), marks, elements, push, np.float64))  # type: ignore[arg-type]
        # a particle is an element of three times itself
        self._elements = [np.repeat(np.arange(count, dtype=np.uint32)[:, None], 3, axis=1), elements]
        self._elements = self._elements[: len(self._lists)]
        self._steadies = [np.ones(0, bool) for _ in self._lists]
        self._fresh, self._back = True, False
        self.exclude(np.zeros((0, 2), np.int64) if held is None else held)

    @property
    def pieces(self) -> Pieces:
        """The shapes of the bodies."""
        return self._pieces

    def exclude(self, held: np.ndarray) -> None:
        """Let particles, and the elements that they belong to, pass through the bodies that they are attached to.

        Args:
            held: Particles in solver order and bodies, (H, 2); they replace those of the last call.
        """
        self._cleared = []
        for near in self._lists:
            rows, pieces = _pairs_of(held, near.elements[0] if near.elements else None, self._pieces.frames)
            bits = ~(np.uint64(1) << (pieces % WORD).astype(np.uint64))
            self._cleared.append((rows, pieces // WORD, bits))
        self._valid = False

    def begin(self, time: float) -> None:
        """A step begins."""
        self._valid, self._factor, self.detections, self._fresh = False, AHEAD, 0, True
        for near in self._lists:
            near.forget()

    def prepare(self, end: float, threads: int) -> None:
        """A substep begins."""
        for start, now in zip(self._starts, (self._state.v, self._frames.v, self._frames.w), strict=True):
            start[...] = now

    def project(self, threads: int, first: bool) -> float:
        """Keep all particles and elements out of all bodies."""
        if not self._valid or self._left(threads):
            self._find()
        escape = self._settings.depenetration_speed if first else 0.0
        least = 1
        if first:
            least = FIRST_SWEEPS if self._fresh else 1
            self._fresh = self._back = False
            self._repeat()
        for sweep in range(MOST_SWEEPS):
            largest = self._sweep(escape)
            escape, self._back = 0.0, not self._back
            if sweep + 1 >= least and largest <= self._small:
                break
        return 0.0

    def _sweep(self, escape: float) -> float:
        """Solve every contact once, there or back; the farthest that anything was moved [m]."""
        largest = 0.0
        model, settings, frames, pieces = self._model, self._settings, self._frames, self._pieces
        bodies = (frames.x, frames.q, frames.x0, frames.q0, frames.inverse_mass, frames.inverse_inertia,
                  frames.moments, frames.w, frames.impulses, self._before, self._back)  # fmt: skip
        shapes = (pieces.kinds, pieces.sizes, pieces.fields, pieces.places, pieces.frames, pieces.surfaces)
        things = (*self._motion, model.radii, model.owners, model.surfaces, model.groups, self._state.origins)
        both = list(zip(self._lists, self._steadies, strict=True))
        for near, steadies in reversed(both) if self._back else both:
            if near.count:
                ways = (self._gone, self._ways, steadies) if near.elements else (self._gone,)
                push: Any = near.push
                moved = push(*near.table[1:], *ways, self._travels, pieces.reaches, self._moved, self._torques,
                          *near.elements, *things, *shapes, *bodies, settings.substep,
                                  escape)  # fmt: skip
                largest = max(largest, moved)
                self._measure_pieces()
        return largest

    def settle(self, threads: int) -> None:
        """Nothing to undo."""

    def bounce(self, threads: int) -> None:
        """Restitution, and no approach."""
        model, frames, pieces = self._model, self._frames, self._pieces
        starts, linear, angular = self._starts
        bodies = (frames.x, frames.q, frames.v, frames.w, linear, angular, frames.inverse_mass, frames.inverse_inertia,
                  frames.moments, frames.impulses)  # fmt: skip
        things = (self._state.x, self._state.v, starts, model.owners, model.surfaces, model.groups, self._state.origins)
        for near in self._lists:
            if near.count:
                body: Any = bounce_elements if near.elements else bounce_particles
                body(*near.table[1:], *near.elements, *things, pieces.frames, pieces.surfaces, *bodies, model.gravity,
                     self._weight, self._settings.substep)  # fmt: skip

    def _repeat(self) -> None:
        """Apply the pushes of the last substep."""
        model, state, frames = self._model, self._state, self._frames
        for near, elements, steadies in zip(self._lists, self._elements, self._steadies, strict=True):
            if near.count:
                again: Any = repeat_all
                again(*near.table[1:], self._gone, self._ways, steadies, elements, self._moved, self._torques,
                           *self._motion, model.groups, state.origins, self._pieces.frames, frames.x, frames.q,
                           frames.x0, frames.q0, frames.inverse_mass, frames.inverse_inertia, frames.moments, frames.w,
                           frames.impulses, self._before,
                           self._settings.substep)  # fmt: skip
        self._measure_pieces()

    def touches(self) -> Touches:
        """The contacts that pushed in the last step; bodies are counted on from the colliders."""
        found = Touches.joined([near.touches() for near in self._lists])
        return replace(found, colliders=self._first_body + self._pieces.frames[found.colliders])

    @property
    def _motion(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._state.x, self._predicted, self._state.v

    def _measure_pieces(self) -> None:
        frames, pieces = self._frames, self._pieces
        measure_pieces(pieces.frames, pieces.reaches, frames.x, frames.q, frames.x0, frames.q0, self._reference_x,
                       self._reference_q, self._travels)  # fmt: skip

    def _left(self, threads: int) -> bool:
        """Whether a particle or a body has left its margin."""
        self._measure_pieces()
        margins = (self._places, self._margins, self._gone, self._ways)
        none, poses = np.zeros(0, np.int64), (self._still, self._still, self._still, self._still)
        far = strayed(threads, np.zeros(threads, np.bool_), *margins, none, *self._motion, self._model.groups, *poses,
                      self._model.real(self._settings.substep))  # fmt: skip
        return far or not bool((self._travels <= self._piece_margins).all())

    def _find(self) -> None:
        """List what is near which piece; what has pushed so far in the step is kept."""
        model, real, settings, frames, pieces = (
            self._model,
            self._model.real,
            self._settings,
            self._frames,
            self._pieces,
        )
        self._reference_x[...], self._reference_q[...] = frames.x, frames.q
        self._measure_pieces()
        # by how much speeds may change in a step: the fall, and a quarter of what they are in the mean
        drop = self._weight * settings.dt + 0.25 * math.sqrt(3.0 * float(np.square(self._state.v).mean()))
        set_margins(self._places, self._margins, self._gone, self._ways, real(self._factor), real(settings.dt),
                    real(drop), *self._motion, model.radii, real(settings.substep))  # fmt: skip
        speeds = np.linalg.norm(frames.v, axis=1)[pieces.frames]
        speeds += np.linalg.norm(frames.w, axis=1)[pieces.frames] * pieces.reaches + drop
        self._piece_margins[...] = np.maximum(self._factor * settings.dt * speeds, self._travels)
        centres = _carried(pieces, frames)
        offsets, candidates = self._candidates(centres)
        here = (model.radii, model.owners, model.groups, self._state.origins, pieces.frames, pieces.places, pieces.lows,
                pieces.highs, centres, pieces.radii, self._piece_margins, frames.x, frames.q,
                frames.inverse_mass)  # fmt: skip
        for near, (rows, words, bits) in zip(self._lists, self._cleared, strict=True):
            mark: Any = mark_elements if near.elements else mark_particles
            mark(near.marks, *near.elements, self._margins, offsets, candidates, self._state.x, *here)
            np.bitwise_and.at(near.marks, (rows, words), bits)
            if not near.elements:
                near.marks[waiting(model, self._state)] = 0
            near.renew()
        self._steadies = [np.ones(near.count, bool) for near in self._lists]
        self._valid, self._factor = True, 2.0 * self._factor
        self.detections += 1

    def _candidates(self, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pieces that may be near each thing: where those of each start, (T + 1,), and the pieces."""
        model = self._model
        boxes_of_things(self._state.x, self._margins, model.radii, model.owners, model.groups, self._state.origins,
                        self._boxes)  # fmt: skip
        reach = (self._pieces.radii + self._piece_margins)[:, None]
        low, high = centres - reach, centres + reach
        near = (self._boxes[:, None, :3] <= high).all(axis=2) & (low <= self._boxes[:, None, 3:]).all(axis=2)
        near &= ~self._ignored
        # contiguous, however many there are: a kernel is compiled for each layout
        return np.concatenate([[0], np.cumsum(near.sum(axis=1))]), np.ascontiguousarray(np.nonzero(near)[1])


def _carried(pieces: Pieces, frames: Frames) -> np.ndarray:
    """Middles of the pieces in the world [m], (K, 3)."""
    q = frames.q[pieces.frames]
    twice = 2.0 * np.cross(q[:, 1:], pieces.centres)
    turned = pieces.centres + q[:, :1] * twice + np.cross(q[:, 1:], twice)
    return frames.x[pieces.frames] + turned


def _pairs_of(held: np.ndarray, elements: np.ndarray | None, piece_frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows (particles, or elements that have one of them) and pieces of the bodies that hold them."""
    rows, pieces = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for particle, body in held.tolist():
        mine = np.array([particle]) if elements is None else np.flatnonzero((elements == particle).any(axis=1))
        shapes = np.flatnonzero(piece_frames == body)
        rows.append(np.repeat(mine, len(shapes)))
        pieces.append(np.tile(shapes, len(mine)))
    return np.concatenate(rows), np.concatenate(pieces)
