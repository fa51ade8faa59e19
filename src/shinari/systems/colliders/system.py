"""Colliders: their poses over a substep, and the contacts of particles, triangles and segments with them."""

from collections.abc import Sequence

import numpy as np

from shinari.collision.law import slow_approach
from shinari.collision.report import ContactImpulses
from shinari.compute import Kernel, Program, Record
from shinari.compute.program import run_once
from shinari.geometry import motion
from shinari.geometry.motion import rotation_matrix
from shinari.model.spins import Spins, spins_of
from shinari.model.system import System
from shinari.model.system_model import BoundSystems
from shinari.scene.objects import Collider
from shinari.shapes.kernels.all_distances import is_mesh
from shinari.shapes.kernels.dispatch import for_kinds
from shinari.shapes.kernels.encode import encode_shapes, meshes_of
from shinari.shapes.kernels.mesh_distance import MeshFields, mesh_fields
from shinari.shapes.registry import LAST_UNBOUNDED
from shinari.systems.colliders.collide import bounce_particle, project_particles
from shinari.systems.colliders.contact_list import ContactList
from shinari.systems.colliders.detection import (
    CHUNK,
    advance_poses,
    begin_search,
    check_margin,
    check_moving,
    finish_search,
    look_ahead,
    mark_element,
    mark_particle,
    start_pose,
    start_search,
    store_velocity,
    sum_squares,
)
from shinari.systems.colliders.elements import bounce_element, elements_of, project_elements
from shinari.systems.colliders.mesh_elements import MeshElements
from shinari.systems.colliders.mesh_features import mesh_features
from shinari.systems.colliders.mesh_particles import Looks, forget_look, project_mesh_particle
from shinari.systems.colliders.records import Colliders, ContactParticles, Ignored, Motion, Poses, Search, Sums
from shinari.systems.colliders.rolling import project_turning_particles
from shinari.systems.colliders.supports import (
    forget_plane,
    forget_pushes,
    forget_support,
    supports_of,
    take_last_push,
)

# A margin, in displacements of a particle in a step.
AHEAD = 2.0
# Items below which a part is not worth sharing.
FEW, MANY = 64, 512


class ColliderContacts(System):
    """Colliders of one simulation, with their poses at both ends of the substep, and the contacts with them.

    Attributes:
        colliders: The colliders.
        fields: Distance fields of the meshes among them.
        pose_table: Their poses at both ends of the substep.
        contact_particles: Particles as the contacts see them.
        particle_list: Contacts of particles.
        element_list: Contacts of triangles and segments, or None.
        looks: The last looks of particles at meshes.
        mesh_elements: Of these the contacts with meshes, or None.
    """

    order = 12
    can_rest = True
    on_device = True
    advice = "particles near colliders; a mesh collider with fewer triangles, or a simple shape, is faster"
    solves_contacts = tells_moved = True

    def __init__(self, bound: BoundSystems) -> None:
        scene, model, state, settings = bound.scene, bound.model, bound.state, bound.settings
        self._model, self._settings = model, settings
        self._particles, self._origins, self._clock = bound.particles, bound.origins, bound.clock
        precision, colliders, count = model.real, model.colliders, model.particle_count
        shapes = [collider.shape for collider in colliders]
        kinds, sizes, fields = encode_shapes(shapes, precision)
        corners = [shape.bounds() for shape in shapes]
        moves = np.array([c.motion is not None for c in colliders], bool)
        self.colliders = Colliders(
            precision,
            kind=kinds,
            size=sizes,
            surface=np.array([collider.surface.numbers for collider in colliders], precision),
            low=np.array([low for low, _ in corners], precision),
            high=np.array([high for _, high in corners], precision),
            moves=moves,
        )
        self.fields = mesh_fields(fields, precision)
        names = [obj.name for obj in scene.particle_objects]
        passes = [{n, c.name} in scene.ignored for n in names for c in colliders]
        self._ignored = Ignored(passes=np.array(passes, bool))
        self._movers = np.flatnonzero(moves)
        self.pose_table = Poses.zeros(len(model.origins) * len(colliders), precision)
        self._motion = Motion.zeros((settings.substeps + 1) * len(colliders))
        _write(self._motion.pose.reshape(-1, len(colliders), 12), *_given_poses(colliders))
        self.contact_particles = ContactParticles.zeros(count, precision)
        self._search, self._sums = Search.zeros(1, precision), Sums.zeros(-(-count // CHUNK))
        self._bounces = max(float(self.colliders.surface[:, 2].max()), float(model.surfaces[:, 2].max(initial=0.0))) > 0
        self.contact_particles.bind(
            radius=model.radii,
            object_index=model.owners,
            moved_in=bound.moved_in,
            surface=np.ascontiguousarray(model.surfaces, precision),
            start_velocity=np.zeros((count if self._bounces else 0, 3), precision),
        )
        self.supports = supports_of(scene, model)
        self._weight = float(np.linalg.norm(model.gravity))
        # particles first: what is deep at a vertex does not hide what is deep beside it
        self._spins: Spins | None = spins_of(scene, model, state)
        turns, bounds = self._spins is not None, np.array([0, count])
        self.particle_list = ContactList(None, bounds, len(colliders), precision, turns=turns)
        self.looks = Looks.zeros(0, precision)
        self._push: list[tuple[Kernel, ContactList, tuple[Record, ...]]] = []
        if self._spins is not None:
            self._add(project_turning_particles(len(self.fields) > 0), self.particle_list, self.supports, self._spins)
        else:
            if not all(is_mesh(kind) for kind in kinds):
                self._add(project_particles(), self.particle_list, self.supports)
            if len(self.fields) > 0:
                self._add(project_mesh_particle, self.particle_list, self.supports, self.looks)
        self.element_list: ContactList | None = None
        self.mesh_elements: MeshElements | None = None
        elements, offsets = elements_of(scene, model) if (kinds > LAST_UNBOUNDED).any() else ((), ())
        if len(elements):
            self.element_list = ContactList(elements, offsets, len(colliders), precision)  # type: ignore[arg-type]
            if any(kind > LAST_UNBOUNDED and not is_mesh(kind) for kind in kinds):
                self._add(project_elements(), self.element_list)
            if len(self.fields) > 0:
                features = mesh_features(meshes_of(shapes), precision)
                self.mesh_elements = MeshElements(self.element_list, features, precision)
        self.contact_particles.bind(has_elements=np.array([self.element_list is not None]))
        if self.element_list is None:
            none = np.zeros(0, precision)
            self.contact_particles.bind(travelled=none, displacement=none)
        # a particle that one collider has put on its surface stays there
        self.in_one_pass = len(kinds) == 1 and self.element_list is None and not turns and not is_mesh(kinds[0])
        self._lists = [each for each in (self.particle_list, self.element_list) if each is not None]

    def _add(self, kernel: Kernel, contact_list: ContactList, *more: Record) -> None:
        """Solve a list by a kernel for the kinds of this scene, with more records of its own."""
        self._push.append((for_kinds(kernel, self.colliders.kind), contact_list, more))

    @property
    def _solids(self) -> tuple[Colliders, Poses, MeshFields]:
        """The colliders, their poses and the distance fields of the meshes among them."""
        return self.colliders, self.pose_table, self.fields

    @property
    def detections(self) -> int:
        """How often the lists were made in the last step."""
        return int(self._search.detections[0])

    @property
    def after(self) -> np.ndarray:
        """Poses at the end of the substep relative to each origin, (G, K, 12): matrix, position."""
        return self.pose_table.after.reshape(-1, len(self.colliders), 12)

    @property
    def needs_python(self) -> bool:
        """Whether colliders move."""
        return len(self._movers) > 0

    def begin(self, time: float, ends: np.ndarray) -> None:
        """Tabulate the poses of the step that begins at a time [s], if colliders move."""
        if len(self._movers):
            self._tabulate(np.array([time, *ends]))

    def disturbed(self, time: float, ends: np.ndarray) -> bool:
        """Whether a collider moves in the step."""
        self.begin(time, ends)
        poses = self._motion.pose.reshape(-1, len(self.colliders), 12)[:, self._movers]
        return bool((poses != poses[0]).any())

    def set_poses(self, time: float) -> None:
        """Take the poses of a time [s], for results that are asked for between steps."""
        self._tabulate(np.array([time]))
        records = self.pose_table, self._motion, self.colliders, self._origins
        run_once(start_pose, *records, count=len(self.pose_table), threads=1)

    def _tabulate(self, times: np.ndarray) -> None:
        """Write the poses of colliders that move at the start of a step [s], row 0, and at the ends of substeps."""
        table = self._motion.pose.reshape(-1, len(self.colliders), 12)[: len(times)]
        for k in self._movers:
            _write(table[:, k], *_poses_of(self._model.colliders[k], times))

    def record_begin(self, p: Program) -> None:
        """A step begins: poses at its start, and empty lists."""
        records = self.pose_table, self._motion, self.colliders, self._origins
        p.launch(start_pose, *records, count=len(self.pose_table))
        p.serial(start_search, self._search, AHEAD)
        # a step knows nothing of the one before that is not in the state
        p.launch(forget_plane, self.supports, count=len(self.supports), grain=4096)
        for each in self._lists:
            each.record_forget(p)
        if self.mesh_elements is not None:
            self.mesh_elements.record_begin(p)

    def record_detect(self, p: Program) -> None:
        """A substep begins: poses at both of its ends."""
        if len(self._movers):
            records = self.pose_table, self._motion, self.colliders, self._origins, self._clock
            p.launch(advance_poses, *records, count=len(self.pose_table))
        if self._bounces:
            p.launch(store_velocity, self.contact_particles, self._particles, count=len(self._particles), grain=4096)

        p.launch(forget_pushes, self.supports, count=len(self.supports), grain=4096)

    def record_contacts(self, p: Program, first: bool) -> None:
        """Keep all free particles and elements out of all colliders; `first` in the first iteration of a substep."""
        settings = self._settings
        h, speed = settings.substep, settings.depenetration_speed if first else 0.0
        self.record_lists(p)
        if first:
            p.launch(forget_support, self.supports, count=len(self.supports), grain=4096)
        solids, moving = self._solids, (self._particles, self.contact_particles)
        if self.mesh_elements is not None:
            if first:
                p.copy(1, (self._search.refresh, 0))
            with p.when((self._search.refresh, 0)):
                self.mesh_elements.record_refresh(p, solids, moving, h)
                p.copy(0, (self._search.refresh, 0))
        for kernel, each, more in self._push:
            arguments = each.items, each.contacts, *solids, *moving, *more, self._clock, speed
            p.launch(kernel, *arguments, colours=each.colours.start, grain=FEW)
        if self.mesh_elements is not None:
            self.mesh_elements.record_project(p, solids, moving, self._clock, speed)

    def record_lists(self, p: Program) -> None:
        """List the colliders near particles and elements anew where a particle has left its margin."""
        h, count, moving = self._settings.substep, len(self._particles), (self.contact_particles, self._particles)
        p.launch(check_margin, *moving, self._search, h, count=count, grain=2048)
        if len(self._movers):
            p.launch(check_moving, *moving, self.colliders, self.pose_table, self._search, h, count=count, grain=MANY)
        with p.when((self._search.stale, 0)):
            self._record_search(p)

    def _record_search(self, p: Program) -> None:
        """List the colliders near particles and elements; contacts keep their state."""
        settings, count = self._settings, len(self._particles)
        h, dt = settings.substep, settings.dt
        p.launch(look_ahead, self.pose_table, self._motion, self.colliders, self._origins, count=len(self.pose_table))
        p.launch(sum_squares, self._sums, self._particles, count=len(self._sums), grain=8)
        p.serial(begin_search, self._search, self._sums, self._particles, self._weight * dt)
        solids = self.contact_particles, self._particles, self.colliders, self.pose_table, self._ignored
        p.launch(mark_particle, self.particle_list.marks, *solids, self._search, h, dt, count=count)
        if self.element_list is not None:
            elements = self.element_list.elements
            p.launch(mark_element, self.element_list.marks, elements, *solids, h, count=len(elements))
        for each in self._lists:
            each.record_renew(p)
        if len(self.fields) > 0:
            count = self.particle_list.counts.contacts, 0
            p.require(self.looks, count)
            p.launch(forget_look, self.looks, count=count, grain=4096)
        if self.mesh_elements is not None:
            self.mesh_elements.record_forget(p)
            p.copy(1, (self._search.refresh, 0))
        p.serial(finish_search, self._search)

    def record_restitution(self, p: Program) -> None:
        """Change velocities after impacts, and enter what was given back to particles since colliders were solved."""
        if len(self.supports):
            each, rate = self.particle_list, 1.0 / self._settings.substep
            records = self.supports, each.items, each.contacts, self._particles
            p.launch(take_last_push, *records, rate, count=(each.counts.items, 0), grain=1024)
        if not self._bounces:
            return
        gravity = *self._model.gravity, slow_approach(self._model.gravity, self._settings.substep)
        for each, bounce in zip(self._lists, (bounce_particle, bounce_element), strict=False):
            arguments = (
                each.items,
                each.contacts,
                self.colliders,
                self.pose_table,
                self._particles,
                self.contact_particles,
            )
            p.launch(bounce, *arguments, *gravity, self._settings.substep, colours=each.colours.start, grain=FEW)

    def contact_impulses(self) -> ContactImpulses:
        """The contacts that pushed in the last step."""
        return ContactImpulses.joined([each.contact_impulses() for each in self._lists])


def _given_poses(colliders: Sequence[Collider]) -> tuple[np.ndarray, np.ndarray]:
    """Positions (K, 3) [m] and rotations (K, 4) of colliders as they were added."""
    positions, rotations = [c.position for c in colliders], [c.rotation for c in colliders]
    return np.array(positions, np.float64).reshape(-1, 3), np.array(rotations, np.float64).reshape(-1, 4)


def poses_at(colliders: Sequence[Collider], time: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions (K, 3) [m] and rotations (K, 4), w x y z, of colliders at a time [s].

    Raises:
        SceneError: The motion of a collider returns something else than a finite pose.
    """
    positions, rotations = _given_poses(colliders)
    for k, collider in enumerate(colliders):
        if collider.motion is not None:
            positions[k], rotations[k] = _poses_of(collider, np.array([time]))
    return positions, rotations


def _poses_of(collider: Collider, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions (T, 3) [m] and rotations (T, 4) of a collider that moves at times (T,) [s]."""
    assert collider.motion is not None, "it moves"
    return motion.poses_at(collider.motion, times, collider.rotation, f"collider {collider.name!r}: motion")


def _write(table: np.ndarray, positions: np.ndarray, rotations: np.ndarray) -> None:
    """Write poses as matrices and positions, (..., 12)."""
    table[..., :9] = rotation_matrix(rotations).reshape(-1, 9)
    table[..., 9:] = positions
