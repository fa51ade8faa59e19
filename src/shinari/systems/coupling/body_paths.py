"""Paths of particles, triangles and segments against bodies, both of which give way."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.collision.narrow.fields import BodyFields, Corners, Four, distances, triangle_distances
from shinari.collision.narrow.pose_records import Vector
from shinari.compute import Field, Kernel, Program, Record, kernel, shared
from shinari.compute.kernels import STEADY, Shared
from shinari.compute.once import once
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector, to_world
from shinari.maths.quaternion import exponential, rotate, rotate_back
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, scale, sub
from shinari.model.particles import Origins, Particles
from shinari.shapes.kernels.dispatch import for_kinds
from shinari.shapes.sphere import SPHERE
from shinari.systems.colliders.collide import place
from shinari.systems.colliders.element_bounds import stays_above
from shinari.systems.colliders.element_points import (
    add_share,
    blend,
    inverse_mass_at,
    least_of,
    longest_path,
    vertex_weights,
    vertices,
)
from shinari.systems.coupling.bounds import are_shorter, paths_with, piece_path
from shinari.systems.coupling.records import BodyShapeTable, BodySweeps, ContactParticles, Contacts, Items
from shinari.systems.coupling.response import apply_reaction, effective_inverse_mass
from shinari.systems.paths.certifier import Certificate
from shinari.systems.paths.impact import KEPT, along, impact_time, least_distance
from shinari.systems.paths.records import Begins, Forest, ItemPaths, PathState, Shares, Zones
from shinari.systems.paths.shares import join_to_solid, need_room_for_items
from shinari.systems.paths.zones import PATIENT
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import rotation_vector_between

if TYPE_CHECKING:
    from shinari.systems.coupling.system import BodyParticles

# Displacements shorter than this part of the least radius need no certificate.
SHORT = 0.3
EIGHTH = 0.125


class BodyGate(Record):
    """One row."""

    open = Field(np.int64, doc="whether a displacement is so long that paths are looked at")


@steady
def paths_of(particles, origins, begins, i, frames, b):
    """Corners of an element in the axes that a frame has at the start: there, at the end, and the turn of the frame."""
    x0, q0, x, q = frames.begin_x[b], frames.begin_q[b], frames.x[b], frames.q[b]
    first = sub(origins.position[particles.origin_index[i[0]]], x0)
    last = sub(origins.position[particles.origin_index[i[0]]], x)
    starts = (
        rotate_back(q0, add(first, place(begins.x, i[0]))),
        rotate_back(q0, add(first, place(begins.x, i[1]))),
        rotate_back(q0, add(first, place(begins.x, i[2]))),
    )
    ends = (
        rotate_back(q0, add(last, place(particles.x, i[0]))),
        rotate_back(q0, add(last, place(particles.x, i[1]))),
        rotate_back(q0, add(last, place(particles.x, i[2]))),
    )
    return starts, ends, rotate_back(q0, rotation_vector_between(q0, q))


@steady
def spin_reach(body_shapes, k):
    """How far a point of a piece is moved by a turn of its frame at most, for each radian [m]."""
    pose = body_shapes.local_pose[k]
    return norm((pose[9], pose[10], pose[11])) if body_shapes.kind[k] == SPHERE else body_shapes.reach[k]


@kernel(fastmath=STEADY)
def open_gate(
    _, gate: BodyGate, state: PathState, body_shapes: BodyShapeTable, frames: Frames,
    short: float
):  # fmt: skip
    """Whether particles and pieces may have gone far relative to each other."""
    longest = 0.0
    for k in range(len(body_shapes)):
        b = body_shapes.frame[k]
        move = norm(sub(frames.x[b], frames.begin_x[b]))
        move += norm(rotation_vector_between(frames.begin_q[b], frames.q[b])) * body_shapes.reach[k]
        longest = max(longest, move)
    gate.open[0] = 1 if state.longest[0] + longest > short else 0


@kernel(fastmath=STEADY)
def pass_over(
    m, paths: ItemPaths, items: Items, contacts: Contacts, contact_particles: ContactParticles, particles: Particles,
    begins: Begins, body_shapes: BodyShapeTable, body_sweeps: BodySweeps
):  # fmt: skip
    """A path is safe where the item ends farther from the piece than both go in the substep.

    The bound of its contact says how far it is at the end. That its path is clear the contact knows only as a straight
    one in the axes of the piece, which it is not where that turns.
    """
    i, k = vertices(items.points[contacts.item[m]]), contacts.body_shape[m]
    stride = body_sweeps.stride[body_shapes.frame[k]]
    far = piece_path(k, body_shapes, body_sweeps) + stride[0] + stride[1] * body_shapes.reach[k]
    lengths = add(
        paths_with(contact_particles.path, i, far),
        (
            displacements(contact_particles, particles, begins, i[0]),
            displacements(contact_particles, particles, begins, i[1]),
            displacements(contact_particles, particles, begins, i[2]),
        ),
    )
    paths.time[m] = 1.0 if are_shorter(lengths, contacts.bound[m]) else 0.0


@steady
def displacements(contact_particles, particles, begins, i):
    """How far a particle has been moved since its path was measured, and its displacement in the substep [m]."""
    now = place(particles.x, i)
    return norm(sub(now, contact_particles.last_position[i])) + norm(sub(now, place(begins.x, i)))


@kernel(fastmath=STEADY)
def measure_stride(b, frames: Frames, body_sweeps: BodySweeps):
    """How far a frame has gone and turned in the substep."""
    turned = rotation_vector_between(frames.begin_q[b], frames.q[b])
    body_sweeps.stride[b] = norm(sub(frames.x[b], frames.begin_x[b])), norm(turned)


@steady
def is_above(plane, starts, ends, turn, pose, keep):
    """Whether a path keeps a distance [m] from a plane that the piece is behind, from its start to its end.

    In the axes of the piece it is no straight line when that turns: it leaves it by an eighth of its curvature at most.
    """
    angle, longest = norm(turn), longest_path(ends, starts)
    reach = max(norm(starts[0]), max(norm(starts[1]), norm(starts[2]))) + longest
    least = keep + EIGHTH * angle * (angle * reach + longest + longest)
    first, last = along(starts, ends, turn, pose, 0.0), along(starts, ends, turn, pose, 1.0)
    return stays_above(plane, last, first, (least, least, least))


@steady
def in_one_zone(zones, i, solid):
    """Whether an item and a solid are in one zone."""
    return zones.name[solid] == zones.name[i[0]] == zones.name[i[1]] == zones.name[i[2]]


@once
def least_distances(meshes: bool) -> Shared:
    """`least_distance` for scenes with or without meshes, compiled once."""
    distance_and_normal, triangle_distance = distances(meshes), triangle_distances(meshes)

    @shared(fastmath=STEADY)
    def least_distance_of(
        solid: tuple[int, Four, float],
        fields: BodyFields,
        points: Corners,
        enough: float,
        allowed: float,
        too_near: float,
    ) -> tuple[float, Vector]:
        return least_distance(distance_and_normal, triangle_distance, solid, fields, points, enough, allowed, too_near)

    return least_distance_of


@once
def find_times(meshes: bool) -> Kernel:
    """Kernel that finds the time of impact of an item and a piece."""
    least_distance_of = least_distances(meshes)

    @kernel(fastmath=STEADY)
    def find_body_time(
        m, paths: ItemPaths, items: Items, contacts: Contacts,
        particles: Particles, origins: Origins, body_shapes: BodyShapeTable, fields: BodyFields, frames: Frames,
        begins: Begins, zones: Zones, state: PathState
    ):  # fmt: skip
        if paths.time[m] >= ONE:
            return
        paths.time[m] = 1.0
        i, k = vertices(items.points[contacts.item[m]]), contacts.body_shape[m]
        if i[0] == i[1] and begins.covered[i[0]]:
            return
        b = body_shapes.frame[k]
        solid = len(particles) + b
        one = state.joined[0] != 0 and in_one_zone(zones, i, solid)
        if one and zones.whole[zones.name[solid]]:
            # it goes as one from the start of the substep on: only rounding is left
            return
        starts, ends, turn = paths_of(particles, origins, begins, i, frames, b)
        radius = np.float64(least_of(begins.radius, i))
        shape, reach = (body_shapes.kind[k], body_shapes.size[k], body_shapes.convex[k]), spin_reach(body_shapes, k)
        pose = body_shapes.local_pose[k]
        if is_above(contacts.plane[m], starts, ends, turn, pose, KEPT * radius):
            return
        time = impact_time(least_distance_of, shape, reach, fields, (starts, ends), turn, pose, radius, 0.0, -1.0)
        # what meets again and again within a zone goes as one from the start of the substep on
        paths.time[m] = 0.0 if one and time < ONE and state.turn[0] > PATIENT else time
        if time < ONE:
            state.hit[0] = 1

    return find_body_time


@once
def part_paths(meshes: bool) -> Kernel:
    """Kernel that pushes the ends of paths that meet apart, by impulses at the impact that both share.

    A contact that does not push is where they meet. In a turn in which they join, that is all.
    """
    distance_and_normal, least_distance_of = distances(meshes), least_distances(meshes)

    @kernel(fastmath=STEADY)
    def part_body_paths(
        _, paths: ItemPaths, items: Items, contacts: Contacts, particles: Particles, origins: Origins,
        body_shapes: BodyShapeTable, fields: BodyFields, frames: Frames, begins: Begins, state: PathState,
        body_sweeps: BodySweeps
    ):  # fmt: skip
        rate, still, parts = ONE / state.substep[0], (0.0, 0.0, 0.0), state.part[0] != 0
        for m in range(state.count[0]):
            if paths.time[m] >= ONE:
                continue
            i, k = vertices(items.points[contacts.item[m]]), contacts.body_shape[m]
            b, kind, size = body_shapes.frame[k], body_shapes.kind[k], body_shapes.size[k]
            solid = kind, size, body_shapes.convex[k]
            starts, ends, turn = paths_of(particles, origins, begins, i, frames, b)
            radius = np.float64(least_of(begins.radius, i))
            time, pose = paths.time[m], body_shapes.local_pose[k]
            points = along(starts, ends, turn, pose, time)
            _, weights = least_distance_of(solid, fields, points, radius + radius, 0.0, 0.0)
            at = blend(weights, points[0], points[1], points[2])
            value, n = distance_and_normal(kind, at, size, fields)
            # the point of the body that is met, at the impact and at the end, in the axes at the start
            met = to_world(pose, sub(at, scale(n, value)))
            n = rotate(exponential(scale(turn, time)), rotate_vector(pose, n))
            if contacts.multiplier[m] <= ZERO:
                contacts.weights[m], contacts.normal[m] = weights, rotate(frames.begin_q[b], n)
            if not parts:
                continue
            state.impacts[0] += 1
            gone = sub(rotate(exponential(turn), met), rotate(exponential(scale(turn, time)), met))
            path = sub(blend(weights, ends[0], ends[1], ends[2]), blend(weights, starts[0], starts[1], starts[2]))
            before = along(starts, ends, turn, pose, 0.0)
            first, _ = least_distance_of(solid, fields, before, radius, 0.0, 0.0)
            depth = min(radius, first) - (dot(n, sub(scale(path, ONE - time), gone)) + value)
            part = vertex_weights(weights, i)
            x0 = frames.begin_x[b]
            n = rotate(frames.begin_q[b], n)
            # the arm of the point where it began, as in `shinari.systems.coupling.response`
            home = origins.position[particles.origin_index[i[0]]]
            begin = blend(weights, place(begins.x, i[0]), place(begins.x, i[1]), place(begins.x, i[2]))
            arm = sub(add(home, begin), x0)
            give = inverse_mass_at(particles.x, i, part) + effective_inverse_mass(frames, b, arm, n)
            if depth > ZERO and give > ZERO:
                push = scale(n, depth / give)
                add_share(particles.x, i[0], np.float64(particles.x[i[0], 3]) * part[0], push)
                add_share(particles.x, i[1], np.float64(particles.x[i[1], 3]) * part[1], push)
                add_share(particles.x, i[2], np.float64(particles.x[i[2], 3]) * part[2], push)
                apply_reaction(frames, body_sweeps, b, arm, push, still, rate)
                contacts.impulse[m] = add(contacts.impulse[m], scale(push, rate))

    return part_body_paths


@kernel
def join_paths(
    _, paths: ItemPaths, items: Items, contacts: Contacts, body_shapes: BodyShapeTable, zones: Zones, forest: Forest,
    shares: Shares, state: PathState, first: int
):  # fmt: skip
    """Join the particles of items whose paths meet bodies with these; `first` is the node of the first frame."""
    for m in range(state.count[0]):
        if paths.time[m] < ONE:
            state.impacts[0] += 1
            i, b = vertices(items.points[contacts.item[m]]), body_shapes.frame[contacts.body_shape[m]]
            row = join_to_solid(zones, forest, shares, state, i, first + b, paths.time[m])
            if row >= 0:
                w = contacts.weights[m]
                shares.weights[row], shares.normal[row] = (w[0], w[1], w[2], 0.0), contacts.normal[m]


class BodyPaths:
    """Certifies the paths of particles and elements against bodies.

    Args:
        certificate: What all certifiers share.
        contacts: The contacts with the bodies, `shinari.systems.coupling.system.BodyParticles`.
    """

    def __init__(self, certificate: Certificate, contacts: "BodyParticles") -> None:
        self._certificate, self._contacts = certificate, contacts
        certificate.asks_longest = True
        self._paths = [ItemPaths.zeros(0, certificate.begins.precision) for _ in contacts.lists]
        meshes, kinds = len(contacts.fields) > 0, contacts.table.kind
        self._find, self._part = (for_kinds(make(meshes), kinds) for make in (find_times, part_paths))
        radii = contacts.contact_particles.radius
        self._gate = BodyGate.zeros(1)
        self._short = SHORT * float(radii[radii > 0.0].min(initial=np.inf))

    def record_pairs(self, p: Program) -> None:
        """Record that the lists are made anew where something has left its margin."""
        c, contacts, gate = self._certificate, self._contacts, self._gate
        p.serial(open_gate, gate, c.state, contacts.table, c.frames, self._short)
        with p.when((gate.open, 0)):
            contacts.record_lists(p, False)
            for each, paths in zip(contacts.lists, self._paths, strict=True):
                p.require(paths, (each.counts.contacts, 0))

    def record_times(self, p: Program) -> None:
        """Record that the times of impact are found."""
        with p.when((self._gate.open, 0)):
            frames, body_sweeps = self._certificate.frames, self._contacts.body_sweeps
            self._contacts.record_follow(p, False)
            p.launch(measure_stride, frames, body_sweeps, count=len(frames))
        for each, paths in zip(self._contacts.lists, self._paths, strict=True):
            with p.when((self._gate.open, 0)):
                records, count = (paths, each.items, each.contacts), (each.counts.contacts, 0)
                p.launch(pass_over, *records, *self._moving, count=count, grain=256)
                *solids, state = self._records
                p.launch(self._find, *records, *solids, self._certificate.zones, state, count=count, grain=64)

    def record_part(self, p: Program) -> None:
        """Record that the ends of paths that meet are pushed apart."""
        contacts = self._contacts
        for each, paths in zip(contacts.lists, self._paths, strict=True):
            with p.when((self._gate.open, 0)), contacts.sweep(p, each):
                p.copy((each.counts.contacts, 0), (self._certificate.state.count, 0))
                p.serial(self._part, paths, each.items, each.contacts, *self._records, contacts.body_sweeps)

    def record_join(self, p: Program) -> None:
        """Record that the zones of pairs whose paths meet are joined, and the pairs listed in `shares`."""
        c = self._certificate
        for each, paths in zip(self._contacts.lists, self._paths, strict=True):
            with p.when((self._gate.open, 0)):
                p.copy((each.counts.contacts, 0), (c.state.count, 0))
                p.serial(need_room_for_items, paths, c.state)
                p.require(c.shares, (c.state.room, 0))
                # it only looks where they meet
                records = paths, each.items, each.contacts
                p.serial(self._part, *records, *self._records, self._contacts.body_sweeps)
                p.serial(
                    join_paths, *records, self._contacts.table, c.zones, c.forest, c.shares, c.state, c.first_frame
                )

    @property
    def _moving(self) -> tuple[Record, ...]:
        contacts = self._contacts
        moving = contacts.contact_particles, contacts.particles, self._certificate.begins
        return *moving, contacts.table, contacts.body_sweeps

    @property
    def _records(self) -> tuple[Record, ...]:
        c, contacts = self._certificate, self._contacts
        return (
            contacts.particles, contacts.origins, contacts.table, contacts.fields, c.frames, c.begins, c.state
        )  # fmt: skip
