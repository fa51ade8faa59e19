"""The contacts of particles, triangles and segments with bodies, both of which are pushed.

In the sweeps bodies are free; their joints, and their contacts with each other, answer after each pass. A substep
therefore begins with what the last one ended with: the pushes, and the displacements by which the bodies answered.
These are taken back before the bodies are solved. A light finger on a rail that holds a cloth is then where its rail
has it already when the friction of the cloth is found; as a free body it would give way, and the cloth would slip by
that much in each substep. Both last from step to step as part of the state.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from shinari.collision.broad.pairs import Keys
from shinari.collision.law import slow_approach
from shinari.collision.narrow.fields import body_fields
from shinari.collision.report import ContactImpulses
from shinari.compute import Program
from shinari.compute.scan import Offsets, Scan
from shinari.model.model import Model
from shinari.model.particles import Origins, Particles
from shinari.model.settings import Settings
from shinari.model.state import State
from shinari.model.system import System
from shinari.model.system_model import BoundSystems
from shinari.scene.contents import Contents
from shinari.shapes.kernels.dispatch import for_kinds
from shinari.systems.colliders.elements import elements_of
from shinari.systems.colliders.supports import Supports
from shinari.systems.coupling.body_paths import BodyPaths
from shinari.systems.coupling.body_supports import (
    count_stopped,
    find_body_supports,
    find_pressed,
    forget_body_support,
    forget_passed,
    forget_unpressed,
)
from shinari.systems.coupling.bounce import bounce_items, note_motion, note_velocity
from shinari.systems.coupling.detection import (
    CHUNK,
    begin_detection,
    check_body_shapes,
    check_particle,
    count_candidates,
    count_item,
    end_detection,
    fill_item,
    keep_contact,
    list_candidates,
    measure_body_shape,
    measure_item,
    press_on_layers,
    set_boxes,
    set_margin,
    set_reference,
    set_shape_margin,
    sum_squares,
)
from shinari.systems.coupling.heavy_pairs import any_presses
from shinari.systems.coupling.impacts import forget_impacts
from shinari.systems.coupling.model import CONTACTS, PLACES, PUSHES, RESPONSES
from shinari.systems.coupling.records import (
    BodySweeps,
    Boxes,
    Candidates,
    ContactParticles,
    Contacts,
    Counts,
    Gravity,
    Items,
    Passes,
    Progress,
    Sums,
    body_shape_table,
)
from shinari.systems.coupling.response import (
    add_response,
    begin_body_sweep,
    end_body_sweep,
    expect_response,
    follow_frame,
    keep_response,
    note_pose,
    withdraw_response,
)
from shinari.systems.coupling.stored_pushes import ALL, BENEATH, PRESSING, apply_stored_multipliers, count_kept
from shinari.systems.coupling.sweeps import (
    check_convergence,
    project_elements,
    project_particles,
    start_sweeps,
)
from shinari.systems.paths.certifier import Certificate
from shinari.systems.rigid.body_shapes import BodyShapes, body_shapes_of
from shinari.systems.rigid.frames import Frames
from shinari.systems.surface_contact.system import SurfaceContacts

# A margin, in displacements that a particle or a body would have in a step.
AHEAD = 2.0
# Sweeps go on, up to so many, while one still moves something by more than a part of g h^2, or of the least radius:
# heavy bodies on both sides of a light one need many.
MOST_SWEEPS, SETTLED, SETTLED_RADIUS = 8, 0.2, 4e-5


class ContactList:
    """Contacts of particles, or of triangles and segments, with pieces.

    Attributes:
        items: The particles or elements.
        contacts: Their contacts.
        counts: How many of these there are.
    """

    def __init__(
        self, points: np.ndarray, objects: np.ndarray, held: np.ndarray, body_shapes: BodyShapes, whole: bool
    ) -> None:
        """Make an empty list.

        Args:
            points: Particles of each item, (I, 3) uint32.
            objects: Object of each particle, (N,).
            held: Particles and bodies that they are attached to, (H, 2): they never touch.
            body_shapes: The shapes of the bodies.
            whole: Whether the items are particles.
        """
        self.whole, count = whole, len(points)
        self.items: Items = Items.zeros(count, np.float64)
        self.items.points[...], self.items.object[...] = points, objects[points[:, 0]]
        rows, shapes = _pairs_of(held, None if whole else points, body_shapes.frames)
        self.held = Keys(np.float64, key=np.unique(rows * body_shapes.count + shapes).astype(np.int64))
        self.contacts: Contacts = Contacts.zeros(0, np.float64)
        self.old: Contacts = Contacts.zeros(0, np.float64)
        self.counts: Counts = Counts.zeros(1, np.float64)
        self.offsets = Offsets.zeros(count + 1)
        self.scan = Scan(self.offsets)

    def recall(self, contacts: np.ndarray, pushes: np.ndarray, places: np.ndarray) -> None:
        """Begin a step with what pushed in the last substep.

        Args:
            contacts: Items and pieces, ascending, (K, 2).
            pushes: Pushes along the normal and of friction, (K, 4).
            places: Normals, weights, and inverse masses of the items along the normals, (K, 7).
        """
        count, into = len(contacts), self.contacts
        if len(into) < count:
            into.grow(count * 3 // 2)
        self.counts.contacts[0] = count
        into.item[:count], into.body_shape[:count] = contacts.T
        into.multiplier[:count], into.friction_multiplier[:count] = pushes[:, 0], pushes[:, 1:]
        into.normal[:count], into.weights[:count], into.along[:count] = places[:, :3], places[:, 3:6], places[:, 6]
        into.gap[:count], into.impulse[:count] = 0.0, 0.0

    def pushing(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What pushed in the last substep, as `recall` takes it."""
        count, contacts = int(self.counts.contacts[0]), self.contacts
        on = np.flatnonzero((contacts.multiplier[:count] > 0.0) & contacts.settled[:count])
        return (
            np.stack([contacts.item[on], contacts.body_shape[on]], axis=1),
            np.column_stack([contacts.multiplier[on], contacts.friction_multiplier[on]]),
            np.column_stack([contacts.normal[on], contacts.weights[on], contacts.along[on]]),
        )

    def contact_impulses(self) -> ContactImpulses:
        """The contacts that pushed in this step."""
        count, contacts = int(self.counts.contacts[0]), self.contacts
        on = np.flatnonzero((contacts.impulse[:count] != 0.0).any(axis=1))
        particles = self.items.points[contacts.item[on]][:, [0, 1, 2, 0]]
        weights = np.zeros((len(on), 4))
        weights[:, :3] = contacts.weights[on]
        return ContactImpulses(particles, weights, contacts.body_shape[on], contacts.normal[on], contacts.impulse[on])


class BodyParticles(System):
    """Contacts of particles and elements with the pieces of bodies; a family, see `shinari.collision.report`.

    It has to be called between the prediction of the bodies and their own solver: it reads and changes `frames.x` and
    `frames.q`, and after an impact, in `bounce`, `frames.v` and `frames.w`.
    """

    order = 13
    can_rest = True
    on_device = True
    solves_contacts = True

    def __init__(
        self,
        scene: Contents,
        model: Model,
        state: State,
        settings: Settings,
        particles: Particles,
        origins: Origins,
        frames: Frames,
        held: np.ndarray | None = None,
        supports: Supports | None = None,
    ) -> None:
        """Bind the contacts to the arrays of a simulation.

        Args:
            scene: The scene.
            model: Its model.
            state: Its state.
            settings: Settings.
            particles: The particles.
            origins: Origins that positions are relative to.
            frames: The frames; the first ones are the bodies.
            held: Particles in solver order and bodies that they are attached to, (H, 2): they never touch.
            supports: What particles lie on, where there are colliders.
        """
        self._model, self._state, self._settings, self._frames = model, state, settings, frames
        real, count = model.real, model.particle_count
        self._body_shapes = body_shapes = body_shapes_of(scene.bodies)
        self.table, self.fields = body_shape_table(body_shapes), body_fields(tuple(body_shapes.fields))
        jointed = {number for joint in scene.joints for number in (joint.first, joint.second)}
        self.table.jointed[...] = [number in jointed for number in body_shapes.frames.tolist()]
        self.particles, self.origins = particles, origins
        self.contact_particles: ContactParticles = ContactParticles.zeros(count, real)
        self.contact_particles.radius[...], self.contact_particles.object[...] = model.radii, model.owners
        self.contact_particles.surface[...] = model.surfaces[model.owners]
        self.contact_particles.average[...] = _average_inverse_masses(scene)[model.owners]
        if supports is not None:
            shared = {
                name: supports.arrays[name]
                for name in ("solid", "normal", "offset", "motion", "grip", "push", "hold", "noted_push", "noted_hold")
            }
            self.contact_particles.bind(**shared)
        self.body_sweeps: BodySweeps = BodySweeps.zeros(len(frames), np.float64)
        self._progress: Progress = Progress.zeros(1, np.float64)
        self._sums = Sums.zeros(-(-count // CHUNK), np.float64)
        names = [body.name for body in scene.bodies]
        owners = [names[b] for b in body_shapes.frames]
        passes = [{g.name, n} in scene.ignored for g in scene.particle_objects for n in owners]
        self._passes = Passes(np.float64, passes=np.array(passes, bool))
        self._boxes, self._candidates = Boxes.zeros(len(scene.particle_objects), np.float64), Candidates.zeros(0)
        self._gravity = Gravity(np.float64, acceleration=np.array(model.gravity, np.float64).reshape(1, 3))
        self._weight = float(np.linalg.norm(model.gravity))
        self._slow = slow_approach(model.gravity, settings.substep) * settings.substep
        radii = model.radii[model.radii > 0.0]
        least = float(radii.min()) if len(radii) else 0.0
        self._small = max(SETTLED * self._weight * settings.substep**2, SETTLED_RADIUS * least)
        self._first_body = len(model.colliders)
        self._surfaces: SurfaceContacts | None = None
        held = np.zeros((0, 2), np.int64) if held is None else held
        each = np.repeat(np.arange(count, dtype=np.uint32)[:, None], 3, axis=1)
        self.lists = [ContactList(each, model.owners, held, body_shapes, True)]
        elements, _ = elements_of(scene, model)
        if len(elements):
            self.lists.append(ContactList(elements, model.owners, held, body_shapes, False))
        presses = any_presses(self.table, frames, float(self.contact_particles.average.max()))
        self._carry = len(elements) > 0 and len(scene.bodies) > 1 and presses

    def connect(self, bound: BoundSystems) -> None:
        """Take the contacts of surfaces, whose layers may lie on a collider."""
        self._surfaces = bound.find(SurfaceContacts)

    @property
    def body_shapes(self) -> BodyShapes:
        """The shapes of the bodies."""
        return self._body_shapes

    @property
    def frames(self) -> Frames:
        """The frames; the first ones are the bodies."""
        return self._frames

    @property
    def detections(self) -> int:
        """How often the lists were made in the last step."""
        return int(self._progress.detections[0])

    def begin(self, time: float, ends: np.ndarray) -> None:
        """A step begins with what pushed in the last one, as the state has it."""
        progress, arrays = self._progress, self._state.system_arrays
        contacts, pushes, places = (arrays[name] for name in (CONTACTS, PUSHES, PLACES))
        progress.stale[0], progress.factor[0], progress.detections[0] = 1, AHEAD, 0
        progress.fresh[0] = len(contacts) == 0
        for number, each in enumerate(self.lists):
            own = contacts[:, 0] == number
            each.recall(contacts[own, 1:], pushes[own], places[own])
        self.body_sweeps.expected[: len(arrays[RESPONSES])] = arrays[RESPONSES]
        if self._carry:
            # a step knows nothing of the one before that is not in the state
            self.contact_particles.solid[...] = 0
        self.contact_particles.active[...] = True
        self.contact_particles.active[self._model.inactive(self._state)] = False

    def end(self) -> None:
        """A step has ended: what pushes goes to the state."""
        found = [each.pushing() for each in self.lists]
        numbers = [np.full((len(rows), 1), number) for number, (rows, _, _) in enumerate(found)]
        contacts = [np.concatenate([number, rows], axis=1) for number, (rows, _, _) in zip(numbers, found, strict=True)]
        arrays = self._state.system_arrays
        arrays[CONTACTS] = np.concatenate(contacts)
        arrays[PUSHES], arrays[PLACES] = (np.concatenate([each[k] for each in found]) for k in (1, 2))
        arrays[RESPONSES][...] = self.body_sweeps.expected[: len(arrays[RESPONSES])]

    def record_detect(self, p: Program) -> None:
        """Record what a substep begins with: the velocities at its start."""
        p.launch(note_velocity, self.contact_particles, self.particles, count=len(self.particles))
        p.launch(note_motion, self._frames, self.body_sweeps, count=len(self._frames))

    def record_contacts(self, p: Program, first: bool) -> None:
        """Record that all particles and elements are kept out of all bodies."""
        progress, h = self._progress, self._settings.substep
        frames, body_sweeps = self._frames, self.body_sweeps
        if first:
            p.launch(expect_response, frames, body_sweeps, count=len(frames))
        else:
            p.launch(add_response, frames, body_sweeps, count=len(frames))
        self.record_lists(p, first)
        layers = None if self._surfaces is None else self._surfaces.layers
        if self._surfaces is not None and layers is not None:
            points, elements = self.lists[0], self.lists[-1]
            p.serial(press_on_layers, points.counts, elements.counts, self._surfaces.rows.table)
            layers.record_find(p, self.particles)
        escape, fall = self._settings.depenetration_speed, self._weight * h * h
        p.serial(start_sweeps, progress, int(first), escape, h, fall, self._small)
        if first and self._carry:
            self._record_supports(p, first)
            self._record_stored(p, BENEATH)
        if self._carry:
            self._record_supports(p, first)
        if first:
            self._record_stored(p, PRESSING if self._carry else ALL)
        with p.repeat(MOST_SWEEPS, until=(progress.done, 0)):
            points, *others = self.lists
            with p.when((progress.forth, 0)):
                self._record_projection(p, points)
            for each in others:
                self._record_projection(p, each)
            with p.when((progress.back, 0)):
                self._record_projection(p, points)
            p.serial(check_convergence, progress)
        if first:
            p.launch(withdraw_response, frames, body_sweeps, count=len(frames))
        p.launch(note_pose, frames, body_sweeps, count=len(frames))
        if layers is not None:
            layers.record_pass_on(p, self.particles, h)

    def _record_supports(self, p: Program, first: bool) -> None:
        """Record that what lies on heavy bodies is found."""
        particles, elements, count = self.contact_particles, self.lists[-1], len(self.particles)
        p.launch(forget_body_support, particles, int(first), count=count, grain=4096)
        p.serial(find_body_supports(len(self.fields) > 0), *self._arguments(self.lists[0]), self.table, self.fields,
                 self._frames, self._gravity, self._settings.substep)  # fmt: skip
        p.serial(find_pressed, elements.counts, elements.contacts, elements.items, particles, self.table,
                 self._frames)  # fmt: skip
        p.launch(forget_unpressed, particles, count=count, grain=4096)

    def _record_stored(self, p: Program, which: int) -> None:
        """Record that the pushes of the last substep are applied, those of some contacts."""
        for each in self.lists:
            with self.sweep(p, each):
                records = *self._arguments(each), self.table, self._frames, self.body_sweeps
                p.serial(apply_stored_multipliers, *records, self._settings.substep, which)
                self._record_stopped(p)

    def _record_stopped(self, p: Program) -> None:
        """Record that the contacts of particles with the bodies beneath them count what those have stopped."""
        if self._carry:
            first = self.lists[0]
            p.serial(count_stopped, first.counts, first.contacts, first.items, self.contact_particles, self.particles,
                     1.0 / self._settings.substep)  # fmt: skip

    def record_settle(self, p: Program) -> None:
        """Record what joints and contacts of bodies did in the substep."""
        p.launch(add_response, self._frames, self.body_sweeps, count=len(self._frames))
        h = self._settings.substep
        for each in self.lists:
            records = *self._arguments(each), self.table, self._frames, self.body_sweeps
            p.serial(forget_impacts, *records, h, self._slow)
            p.serial(count_kept, each.counts, each.contacts, self.table, self.body_sweeps)
        p.launch(keep_response, self.body_sweeps, count=len(self._frames))
        if self._carry:
            first = self.lists[0]
            p.serial(forget_passed, first.counts, first.contacts, first.items, self.contact_particles, self.particles)

    def record_lists(self, p: Program, first: bool) -> None:
        """Record that the lists are made anew where a particle or a body has left its margin; `first` in a substep."""
        progress, h, count = self._progress, self._settings.substep, len(self.particles)
        self.record_follow(p, first)
        self._record_measure(p)
        p.serial(check_body_shapes, self.table, progress)
        p.launch(check_particle, self.contact_particles, self.particles, progress, h, int(first), count=count)
        with p.when((progress.stale, 0)):
            self._record_search(p)

    def record_follow(self, p: Program, first: bool) -> None:
        """Record that the paths of the frames go on to where these are; `first` in a substep."""
        p.launch(follow_frame, self._frames, self.body_sweeps, int(first), count=len(self._frames))

    def path_certifier(self, certificate: Certificate) -> BodyPaths:
        """What certifies the paths of particles and elements against bodies."""
        return BodyPaths(certificate, self)

    def record_restitution(self, p: Program) -> None:
        """Record restitution, and that nothing approaches."""
        for each in self.lists:
            p.serial(bounce_items, *self._arguments(each), self.table, self._frames, self.body_sweeps, self._gravity,
                     self._settings.substep)  # fmt: skip

    def _arguments(self, each: ContactList) -> tuple:
        return each.counts, each.contacts, each.items, self.contact_particles, self.particles, self.origins

    def _record_measure(self, p: Program) -> None:
        p.launch(measure_body_shape, self.table, self._frames, self.body_sweeps, count=len(self.table))

    @contextmanager
    def sweep(self, p: Program, each: ContactList) -> Iterator[None]:
        """Record a sweep over the contacts of a list if it has any."""
        frames, body_sweeps = self._frames, self.body_sweeps
        with p.when((each.counts.contacts, 0)):
            p.launch(begin_body_sweep, frames, body_sweeps, count=len(frames))
            yield
            p.launch(end_body_sweep, frames, body_sweeps, self._settings.substep, count=len(frames))

    def _record_projection(self, p: Program, each: ContactList) -> None:
        meshes = len(self.fields) > 0
        kernel = for_kinds((project_particles if each.whole else project_elements)(meshes), self.table.kind)
        with self.sweep(p, each):
            arguments = *self._arguments(each), self.table, self.fields, self._frames, self.body_sweeps
            p.serial(kernel, self._progress, *arguments)
            self._record_stopped(p)

    def _record_search(self, p: Program) -> None:
        """Record that the pieces near particles and elements are listed; what has pushed in the step is kept."""
        contact_particles, particles, body_shapes, frames = (
            self.contact_particles,
            self.particles,
            self.table,
            self._frames,
        )
        progress, settings, count = self._progress, self._settings, len(self.particles)
        dt, h = settings.dt, settings.substep
        p.launch(set_reference, frames, self.body_sweeps, count=len(frames))
        self._record_measure(p)
        p.launch(sum_squares, particles, self._sums, count=len(self._sums), grain=4)
        p.serial(begin_detection, progress, self._sums, count, self._weight * dt)
        p.launch(set_margin, contact_particles, particles, progress, dt, h, count=count)
        p.launch(set_shape_margin, body_shapes, frames, progress, dt, count=len(body_shapes))
        p.serial(set_boxes, self._boxes, contact_particles, particles, self.origins)
        lists = self._boxes, self._passes, body_shapes, self._candidates
        p.serial(count_candidates, *lists, progress)
        p.require(self._candidates, (progress.candidates, 0))
        p.launch(list_candidates, *lists, count=len(self._boxes))
        for each in self.lists:
            counts = each.counts
            p.copy((counts.contacts, 0), (counts.old, 0))
            p.require(each.old, (counts.old, 0))
            p.launch(keep_contact, each.contacts, each.old, count=(counts.old, 0))
            p.launch(measure_item, each.items, contact_particles, particles, self.origins, count=len(each.items))
            arguments = (each.offsets, each.items, self._boxes, self._candidates, each.held, body_shapes, frames,
                         each.contacts, each.old, counts)  # fmt: skip
            p.launch(count_item, *arguments, count=len(each.items))
            each.scan.record(p, len(each.items))
            p.require(each.contacts, each.scan.total, "particles and bodies: contacts: {count} that may touch")
            p.copy(each.scan.total, (counts.contacts, 0))
            p.launch(fill_item, *arguments, count=len(each.items))
        p.serial(end_detection, progress)

    def contact_impulses(self) -> ContactImpulses:
        """The contacts that pushed in the last step; bodies are counted on from the colliders."""
        found = ContactImpulses.joined([each.contact_impulses() for each in self.lists])
        return replace(found, colliders=self._first_body + self._body_shapes.frames[found.colliders])


def _average_inverse_masses(scene: Contents) -> np.ndarray:
    """Inverse of the mean mass of the particles of each object [1/kg], pinned ones too; 0 where all are fixed."""
    means = np.array([np.mean(each.masses) for each in scene.particle_objects])
    return np.divide(1.0, means, out=np.zeros(len(means)), where=means > 0.0)


def _pairs_of(held: np.ndarray, elements: np.ndarray | None, shape_frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows (particles, or elements that have one of them) and pieces of the bodies that hold them."""
    rows, body_shapes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for particle, body in held.tolist():
        mine = np.array([particle]) if elements is None else np.flatnonzero((elements == particle).any(axis=1))
        shapes = np.flatnonzero(shape_frames == body)
        rows.append(np.repeat(mine, len(shapes)))
        body_shapes.append(np.tile(shapes, len(mine)))
    return np.concatenate(rows), np.concatenate(body_shapes)
