"""The contacts of particles, triangles and segments with bodies, both of which are pushed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from shinari.collision.broad.pairs import Keys
from shinari.collision.narrow.fields import body_fields
from shinari.collision.report import Touches
from shinari.compute import Program
from shinari.compute.scan import Offsets, Scan
from shinari.model.model import Model
from shinari.model.particles import Groups, Particles
from shinari.model.settings import Settings
from shinari.model.state import State
from shinari.model.system import System
from shinari.scene.contents import Contents
from shinari.shapes.kernels.dispatch import for_kinds
from shinari.systems.colliders.elements import elements_of
from shinari.systems.coupling.bounce import bounce_items, note_motion, note_velocity
from shinari.systems.coupling.near import (
    BLOCK,
    begin_detection,
    check_particle,
    check_pieces,
    count_candidates,
    count_item,
    end_detection,
    fill_item,
    keep_contact,
    list_candidates,
    measure_item,
    measure_piece,
    set_boxes,
    set_margin,
    set_piece_margin,
    set_reference,
    sum_squares,
)
from shinari.systems.coupling.records import (
    Boxes,
    Candidates,
    Contacts,
    Counts,
    Gravity,
    Items,
    Margins,
    Passes,
    Progress,
    Sums,
    Turns,
    piece_table,
)
from shinari.systems.coupling.response import begin_turn, end_turn
from shinari.systems.coupling.sweeps import (
    judge_sweep,
    push_elements,
    push_particles,
    repeat_pushes,
    start_sweeps,
)
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.pieces import Pieces, pieces_of

# A margin, in displacements that a particle or a body would have in a step.
AHEAD = 2.0
# Sweeps go on, up to so many, while one still moves something by more than this part of g h^2 (or of a micrometre):
# heavy bodies on both sides of a light one need many.
MOST_SWEEPS, SETTLED, TINY = 8, 0.2, 1e-6


class ContactList:
    """Contacts of particles, or of triangles and segments, with pieces.

    Attributes:
        items: The particles or elements.
        contacts: Their contacts.
        counts: How many of these there are.
    """

    def __init__(self, points: np.ndarray, objects: np.ndarray, held: np.ndarray, pieces: Pieces, whole: bool) -> None:
        """Make an empty list.

        Args:
            points: Particles of each item, (I, 3) uint32.
            objects: Object of each particle, (N,).
            held: Particles and bodies that they are attached to, (H, 2): they never touch.
            pieces: The shapes of the bodies.
            whole: Whether the items are particles.
        """
        self.whole, count = whole, len(points)
        self.items: Items = Items.zeros(count, np.float64)
        self.items.points[...], self.items.object[...] = points, objects[points[:, 0]]
        rows, shapes = _pairs_of(held, None if whole else points, pieces.frames)
        self.held = Keys(np.float64, key=np.unique(rows * pieces.count + shapes).astype(np.int64))
        self.contacts: Contacts = Contacts.zeros(0, np.float64)
        self.old: Contacts = Contacts.zeros(0, np.float64)
        self.counts: Counts = Counts.zeros(1, np.float64)
        self.offsets = Offsets.zeros(count + 1)
        self.scan = Scan(self.offsets)

    def touches(self) -> Touches:
        """The contacts that pushed in this step."""
        count, contacts = int(self.counts.contacts[0]), self.contacts
        on = np.flatnonzero((contacts.impulse[:count] != 0.0).any(axis=1))
        particles = self.items.points[contacts.item[on]][:, [0, 1, 2, 0]]
        weights = np.zeros((len(on), 4))
        weights[:, :3] = contacts.weights[on]
        return Touches(particles, weights, contacts.piece[on], contacts.normal[on], contacts.impulse[on])


class BodyParticles(System):
    """Contacts of particles and elements with the pieces of bodies; a family, see `shinari.collision.report`.

    It has to be called between the prediction of the bodies and their own solver: it reads and changes `frames.x` and
    `frames.q`, and after an impact, in `bounce`, `frames.v` and `frames.w`.
    """

    order = 13
    touching = True

    def __init__(
        self,
        scene: Contents,
        model: Model,
        state: State,
        settings: Settings,
        particles: Particles,
        groups: Groups,
        frames: Frames,
        held: np.ndarray | None = None,
    ) -> None:
        """Bind the contacts to the arrays of a simulation.

        Args:
            scene: The scene.
            model: Its model.
            state: Its state.
            settings: Settings.
            particles: The particles.
            groups: Their groups.
            frames: The frames; the first ones are the bodies.
            held: Particles in solver order and bodies that they are attached to, (H, 2): they never touch.
        """
        self._model, self._state, self._settings, self._frames = model, state, settings, frames
        real, count = model.real, model.particle_count
        self._pieces = pieces = pieces_of(scene.bodies)
        self._table, self._fields = piece_table(pieces), body_fields(tuple(pieces.fields))
        self._particles, self._groups = particles, groups
        self._margins: Margins = Margins.zeros(count, real)
        self._margins.radius[...], self._margins.object[...] = model.radii, model.owners
        self._margins.surface[...] = model.surfaces[model.owners]
        self._turns: Turns = Turns.zeros(len(frames), np.float64)
        self._progress: Progress = Progress.zeros(1, np.float64)
        self._sums = Sums.zeros(-(-count // BLOCK), np.float64)
        names = [body.name for body in scene.bodies]
        owners = [names[b] for b in pieces.frames]
        passes = [(min(g.name, n), max(g.name, n)) in scene.ignored for g in scene.groups for n in owners]
        self._passes = Passes(np.float64, passes=np.array(passes, bool))
        self._boxes, self._candidates = Boxes.zeros(len(scene.groups), np.float64), Candidates.zeros(0)
        self._gravity = Gravity(np.float64, acceleration=np.array(model.gravity, np.float64).reshape(1, 3))
        self._weight = float(np.linalg.norm(model.gravity))
        self._small = SETTLED * max(self._weight * settings.substep**2, TINY)
        self._first_body = len(model.colliders)
        held = np.zeros((0, 2), np.int64) if held is None else held
        each = np.repeat(np.arange(count, dtype=np.uint32)[:, None], 3, axis=1)
        self._lists = [ContactList(each, model.owners, held, pieces, True)]
        elements, _ = elements_of(scene, model)
        if len(elements):
            self._lists.append(ContactList(elements, model.owners, held, pieces, False))

    @property
    def pieces(self) -> Pieces:
        """The shapes of the bodies."""
        return self._pieces

    @property
    def detections(self) -> int:
        """How often the lists were made in the last step."""
        return int(self._progress.detections[0])

    def begin(self, time: float, ends: np.ndarray) -> None:
        """A step begins."""
        progress = self._progress
        progress.stale[0], progress.factor[0], progress.detections[0], progress.fresh[0] = 1, AHEAD, 0, 1
        for each in self._lists:
            each.counts.contacts[0] = 0
        self._margins.active[...] = True
        self._margins.active[self._model.absent(self._state)] = False

    def record_detect(self, p: Program) -> None:
        """Record what a substep begins with: the velocities at its start."""
        p.launch(note_velocity, self._margins, self._particles, count=len(self._particles))
        p.launch(note_motion, self._frames, self._turns, count=len(self._frames))

    def record_contacts(self, p: Program, first: bool) -> None:
        """Record that all particles and elements are kept out of all bodies."""
        progress, h = self._progress, self._settings.substep
        self._record_measure(p)
        p.serial(check_pieces, self._table, progress)
        p.launch(check_particle, self._margins, self._particles, progress, h, count=len(self._particles))
        with p.when((progress.stale, 0)):
            self._record_search(p)
        p.serial(start_sweeps, progress, int(first), self._settings.depenetration_speed, h)
        if first:
            for each in self._lists:
                with self._sweep(p, each):
                    p.serial(repeat_pushes, *self._arguments(each), self._table, self._frames, self._turns, h)
            self._record_measure(p)
        with p.repeat(MOST_SWEEPS, until=(progress.done, 0)):
            points, *others = self._lists
            with p.when((progress.forth, 0)):
                self._record_push(p, points)
            for each in others:
                self._record_push(p, each)
            with p.when((progress.back, 0)):
                self._record_push(p, points)
            p.serial(judge_sweep, progress, self._small)

    def record_restitution(self, p: Program) -> None:
        """Record restitution, and that nothing approaches."""
        for each in self._lists:
            p.serial(bounce_items, *self._arguments(each), self._table, self._frames, self._turns, self._gravity,
                     self._settings.substep)  # fmt: skip

    def _arguments(self, each: ContactList) -> tuple:
        return each.counts, each.contacts, each.items, self._margins, self._particles, self._groups

    def _record_measure(self, p: Program) -> None:
        p.launch(measure_piece, self._table, self._frames, self._turns, count=len(self._table))

    @contextmanager
    def _sweep(self, p: Program, each: ContactList) -> Iterator[None]:
        """Record a sweep over the contacts of a list if it has any."""
        frames, turns = self._frames, self._turns
        with p.when((each.counts.contacts, 0)):
            p.launch(begin_turn, frames, turns, count=len(frames))
            yield
            p.launch(end_turn, frames, turns, self._settings.substep, count=len(frames))

    def _record_push(self, p: Program, each: ContactList) -> None:
        meshes = len(self._fields) > 0
        kernel = for_kinds((push_particles if each.whole else push_elements)(meshes), self._table.kind)
        with self._sweep(p, each):
            arguments = *self._arguments(each), self._table, self._fields, self._frames, self._turns
            p.serial(kernel, self._progress, *arguments)
        with p.when((each.counts.contacts, 0)):
            self._record_measure(p)

    def _record_search(self, p: Program) -> None:
        """Record that the pieces near particles and elements are listed; what has pushed in the step is kept."""
        margins, particles, pieces, frames = self._margins, self._particles, self._table, self._frames
        progress, settings, count = self._progress, self._settings, len(self._particles)
        dt, h = settings.dt, settings.substep
        p.launch(set_reference, frames, self._turns, count=len(frames))
        self._record_measure(p)
        p.launch(sum_squares, particles, self._sums, count=len(self._sums), grain=4)
        p.serial(begin_detection, progress, self._sums, count, self._weight * dt)
        p.launch(set_margin, margins, particles, progress, dt, h, count=count)
        p.launch(set_piece_margin, pieces, frames, progress, dt, count=len(pieces))
        p.serial(set_boxes, self._boxes, margins, particles, self._groups)
        lists = self._boxes, self._passes, pieces, self._candidates
        p.serial(count_candidates, *lists, progress)
        p.require(self._candidates, (progress.candidates, 0))
        p.launch(list_candidates, *lists, count=len(self._boxes))
        for each in self._lists:
            counts = each.counts
            p.copy((counts.contacts, 0), (counts.old, 0))
            p.require(each.old, (counts.old, 0))
            p.launch(keep_contact, each.contacts, each.old, count=(counts.old, 0))
            p.launch(measure_item, each.items, margins, particles, self._groups, count=len(each.items))
            arguments = (each.offsets, each.items, self._boxes, self._candidates, each.held, pieces, frames,
                         each.contacts, each.old, counts)  # fmt: skip
            p.launch(count_item, *arguments, count=len(each.items))
            each.scan.record(p, len(each.items))
            p.require(each.contacts, each.scan.total, "particles and bodies: contacts: {count} that may touch")
            p.copy(each.scan.total, (counts.contacts, 0))
            p.launch(fill_item, *arguments, count=len(each.items))
        p.serial(end_detection, progress)

    def touches(self) -> Touches:
        """The contacts that pushed in the last step; bodies are counted on from the colliders."""
        found = Touches.joined([each.touches() for each in self._lists])
        return replace(found, colliders=self._first_body + self._pieces.frames[found.colliders])


def _pairs_of(held: np.ndarray, elements: np.ndarray | None, piece_frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows (particles, or elements that have one of them) and pieces of the bodies that hold them."""
    rows, pieces = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for particle, body in held.tolist():
        mine = np.array([particle]) if elements is None else np.flatnonzero((elements == particle).any(axis=1))
        shapes = np.flatnonzero(piece_frames == body)
        rows.append(np.repeat(mine, len(shapes)))
        pieces.append(np.tile(shapes, len(mine)))
    return np.concatenate(rows), np.concatenate(pieces)
