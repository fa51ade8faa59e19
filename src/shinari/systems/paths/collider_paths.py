"""Paths of triangles and segments against colliders with an end.

A single particle needs no certificate: its contact looks along its whole path (`shinari.systems.colliders.collide`). A
triangle may go through between the points that its contact looks at. It may enter a thick collider by a part of the
thickness, which the contact mends; only what would go deeper, and come out on the other side, is held.
"""

import numpy as np

from shinari.compute import Field, Kernel, Program, Record, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.once import once
from shinari.compute.scan import Offsets
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector, to_local
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, scale, sub
from shinari.model.particles import Particles
from shinari.model.system_model import BoundSystems
from shinari.scene.objects import Collider
from shinari.shapes.base import Shape
from shinari.shapes.box import Box
from shinari.shapes.capsule import Capsule
from shinari.shapes.cylinder import Cylinder
from shinari.shapes.kernels.all_distances import distances, is_mesh, mesh_distance
from shinari.shapes.kernels.dispatch import for_kinds
from shinari.shapes.kernels.mesh_distance import MeshFields
from shinari.shapes.registry import LAST_CONVEX, LAST_UNBOUNDED
from shinari.shapes.sphere import Sphere
from shinari.systems.colliders.collide import place, record
from shinari.systems.colliders.contact_list import listed
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
from shinari.systems.colliders.mesh_features import MeshFeatures
from shinari.systems.colliders.mesh_particles import STILL, Looks
from shinari.systems.colliders.mesh_patches import (
    Pairs,
    Patches,
    distance_of_patch,
    is_far,
    keeps_off,
    reach_of_patch,
)
from shinari.systems.colliders.records import Colliders, ContactParticles, Contacts, Elements, Items, Poses
from shinari.systems.colliders.system import ColliderContacts
from shinari.systems.paths.certifier import Certificate
from shinari.systems.paths.impact import (
    FARTHER,
    FLOOR,
    KEPT,
    NEARER,
    NEARLY,
    STEPS,
    along,
    impact_time,
    least_distances,
)
from shinari.systems.paths.records import Begins, Forest, ItemPaths, PathState, Shares, Zones
from shinari.systems.paths.shares import join_to_solid, need_room_for_items
from shinari.systems.paths.zones import double

# Displacements shorter than this part of the least radius and of the thinnest collider need no certificate.
SHORT = 0.3
# A triangle may enter a collider by this part of its thickness on its path.
DEPTH = 0.25


class ColliderGate(Record):
    """One row."""

    open = Field(np.int64, doc="whether a displacement is so long that paths are looked at")


class Depths(Record):
    """Colliders, K rows."""

    allowed = Field(real, unit="m", doc="how deep a triangle may enter on its path")


class ColliderPaths:
    """Certifies the paths of triangles and segments against the colliders with an end.

    Args:
        certificate: What all certifiers share.
        colliders: The contacts with the colliders.
        bound: The simulation.
    """

    def __init__(self, certificate: Certificate, colliders: ColliderContacts, bound: BoundSystems) -> None:
        self._certificate, self._colliders, self._particles = certificate, colliders, bound.particles
        certificate.asks_longest = True
        assert colliders.element_list is not None, "there are triangles or segments"
        self._list, self._paths = colliders.element_list, ItemPaths.zeros(0, bound.model.real)
        meshes, kinds = len(colliders.fields) > 0, colliders.colliders.kind
        self._find, self._part = (for_kinds(make(meshes), kinds) for make in (find_times, part_paths))
        thick, radii = [_thickness(each) for each in bound.model.colliders], bound.model.radii
        finite = np.where(np.isinf(thick), 0.0, thick).astype(bound.model.real)
        self._depths = Depths(bound.model.real, allowed=DEPTH * finite)
        least = float(radii[radii > 0.0].min(initial=np.inf))
        self._gate, self._short = ColliderGate.zeros(1), SHORT * (least + min(thick))

    def record_pairs(self, p: Program) -> None:
        """Record that the list is made anew where something has left its margin."""
        c, gate = self._certificate, self._gate
        p.serial(open_gate, gate, c.state, self._colliders.colliders, c.poses, self._short)
        with p.when((gate.open, 0)):
            self._colliders.record_lists(p)
            p.require(self._paths, (self._list.counts.contacts, 0))

    def record_times(self, p: Program) -> None:
        """Record that the times of impact are found."""
        c, each, colliders, count = self._certificate, self._list, self._colliders, self._list.counts
        with p.when((self._gate.open, 0)):
            p.launch(forget_times, self._paths, count=(count.contacts, 0))
            if colliders.mesh_elements is not None:
                seen = colliders.particle_list
                near = seen.items, seen.rows, seen.contacts, colliders.looks
                moving = colliders.contact_particles, self._particles
                p.launch(
                    take_looks, self._paths, each.contacts, each.elements, *near, colliders.colliders, c.poses,
                    *moving, count=(count.contacts, 0), grain=256
                )  # fmt: skip
                p.launch(
                    find_safe, self._paths, each.contacts, each.elements, colliders.colliders, c.poses,
                    colliders.fields, *colliders.mesh_elements.records, self._particles, c.begins,
                    count=(count.contacts, 0), grain=64
                )  # fmt: skip
            p.launch(self._find, *self._records, count=(count.items, 0), grain=64)

    def record_part(self, p: Program) -> None:
        """Record that the ends of paths that meet are pushed apart."""
        with p.when((self._gate.open, 0)):
            p.copy((self._list.counts.items, 0), (self._certificate.state.count, 0))
            p.serial(self._part, *self._records)

    def record_join(self, p: Program) -> None:
        """Record that the zones of pairs whose paths meet are joined, and the pairs listed in `shares`."""
        c, each = self._certificate, self._list
        with p.when((self._gate.open, 0)):
            p.copy((each.counts.contacts, 0), (c.state.count, 0))
            p.serial(need_room_for_items, self._paths, c.state)
            p.require(c.shares, (c.state.room, 0))
            p.copy((each.counts.items, 0), (c.state.count, 0))
            # it only looks where they meet
            p.serial(self._part, *self._records)
            paths = self._paths, each.items, each.contacts
            p.serial(join_paths, *paths, c.zones, c.forest, c.shares, c.state, c.first_collider)

    @property
    def _records(self) -> tuple[Record, ...]:
        c, each, colliders = self._certificate, self._list, self._colliders
        solids = colliders.colliders, self._depths, c.poses, colliders.fields
        return self._paths, each.items, each.contacts, *solids, self._particles, c.begins, c.state


def _thickness(collider: Collider) -> float:
    """A lower bound of the thickness of a collider [m]; infinite without an end."""
    shape: Shape = collider.shape
    low, high = (np.asarray(corner, np.float64) for corner in shape.bounds())
    if not np.isfinite(high - low).all() or (isinstance(shape, Box) and shape.inside):
        return np.inf
    return float((high - low).min()) if isinstance(shape, Sphere | Box | Capsule | Cylinder) else 0.0


@kernel
def open_gate(_, gate: ColliderGate, state: PathState, colliders: Colliders, poses: Poses, short: float):
    """Whether a particle has gone far, or a collider has moved."""
    gate.open[0] = 1 if state.longest[0] > short else 0
    for k in range(len(colliders)):
        if colliders.moves[k]:
            for c in range(12):
                if poses.before[k, c] != poses.after[k, c]:
                    gate.open[0] = 1


@steady
def paths_in(before, after, particles, begins, i):
    """Corners of an element in the axes of a collider: at the start of the substep and at its end."""
    x, b = particles.x, begins.x
    starts = to_local(before, b[i[0]]), to_local(before, b[i[1]]), to_local(before, b[i[2]])
    ends = to_local(after, place(x, i[0])), to_local(after, place(x, i[1])), to_local(after, place(x, i[2]))
    return starts, ends


@steady
def identity(zero):
    """The pose of the axes themselves."""
    one = zero + ONE
    return one, zero, zero, zero, one, zero, zero, zero, one, zero, zero, zero


@kernel
def forget_times(m, paths: ItemPaths):
    """No path is known to be safe."""
    paths.time[m], paths.known[m] = 0.0, -1.0


@kernel(fastmath=STEADY)
def take_looks(
    m, paths: ItemPaths, contacts: Contacts, elements: Elements, items: Items, rows: Offsets, near: Contacts,
    looks: Looks, colliders: Colliders, poses: Poses, contact_particles: ContactParticles, particles: Particles
):  # fmt: skip
    """Take the distance of the vertices of an element from a mesh from what its particles know of it."""
    paths.free[m] = -ONE
    k, i = np.int64(contacts.solid[m]), vertices(elements.points[contacts.item[m]])
    if not is_mesh(colliders.kind[k]):
        return
    after = poses.after[np.int64(particles.origin_index[i[0]]) * len(colliders) + k]
    a, b, c = listed(items, rows, i[0]), listed(items, rows, i[1]), listed(items, rows, i[2])
    free = known_distance(i[0], k, a, near, looks, contact_particles, place(particles.x, i[0]), after)
    free = min(free, known_distance(i[1], k, b, near, looks, contact_particles, place(particles.x, i[1]), after))
    free = min(free, known_distance(i[2], k, c, near, looks, contact_particles, place(particles.x, i[2]), after))
    paths.free[m] = free


@steady
def known_distance(i, k, own, near, looks, contact_particles, x, after):
    """A lower bound of the distance of particle i, which is at x, from mesh k; -1 where none is known.

    `own`: its first contact, and the end of its contacts.

    It follows from what the particle saw in the last pass, or from how far it may go until it looks again.
    """
    least = ZERO * x[0] - ONE
    for n in range(own[0], own[1]):
        if near.solid[n] == k and looks.known[n]:
            least = looks.distance[n] - norm(sub(to_local(after, x), looks.at[n]))
        elif near.solid[n] == k:
            gone = contact_particles.path[i] + norm(sub(x, contact_particles.last_position[i]))
            # that may follow from a look at some distance
            near_by = (ONE - STILL - STILL) * contact_particles.radius[i]
            least = near_by + near.bound[n] - gone if near.bound[n] >= gone else least
    return least


@kernel(fastmath=STEADY)
def find_safe(
    m, paths: ItemPaths, contacts: Contacts, elements: Elements, colliders: Colliders, poses: Poses,
    fields: MeshFields, patches: Patches, pairs: Pairs, features: MeshFeatures, particles: Particles, begins: Begins
):  # fmt: skip
    """Advance along a path by the distance from a mesh, taken from the patch, as `impact_time` does.

    Most paths of what slides on a mesh are safe to their ends. How far others are is for `find_times`, which looks
    whether they begin outside. Where the patch ends before the path, that bisects the triangle.
    """
    k = np.int64(contacts.solid[m])
    if not is_mesh(colliders.kind[k]) or patches.slack[m] < ZERO:
        return
    i = vertices(elements.points[contacts.item[m]])
    at = np.int64(particles.origin_index[i[0]]) * len(colliders) + k
    starts, ends = paths_in(poses.before[at], poses.after[at], particles, begins, i)
    length, radius = longest_path(ends, starts), least_of(begins.radius, i)
    mesh, kept, time = np.int64(colliders.size[k, 0]), KEPT * radius, ZERO * radius
    last = paths.free[m]
    short = length <= np.float32(SHORT) * radius and last >= kept + length
    off = short and keeps_off(m, ends, patches, pairs, features, radius, kept + length)
    if off or is_far(m, starts, ends, patches):
        paths.time[m] = 1.0
        return
    last = min(last, distance_of_patch(m, ends, patches, pairs, features, radius)) if last > kept else last
    # the whole path is within its length of its end
    if last - kept >= length:
        paths.time[m] = 1.0
        return
    safe, least, stop, ended = ZERO * radius, kept, ZERO * radius - ONE, False
    for _ in range(STEPS):
        rest = ONE - time
        points = (
            add(scale(starts[0], rest), scale(ends[0], time)),
            add(scale(starts[1], rest), scale(ends[1], time)),
            add(scale(starts[2], rest), scale(ends[2], time)),
        )
        free = mesh_distance(points[0], mesh, fields)[0]
        free = min(free, mesh_distance(points[1], mesh, fields)[0])
        free = min(free, mesh_distance(points[2], mesh, fields)[0])
        if free > ZERO:
            free = min(free, distance_of_patch(m, points, patches, pairs, features, radius))
        least = min(kept, NEARLY * free) if stop < ZERO else least
        # the rest of the path is near this point or near its end
        if free - least + max(last - least, ZERO) >= rest * length and least >= FLOOR * radius:
            paths.time[m] = 1.0
            return
        ended = ended or free >= reach_of_patch(m, points, patches, radius)
        if stop < ZERO:
            # what is that near is left to `find_times`
            if least < FLOOR * radius:
                return
            stop = NEARER * (free - least)
        elif free - least < stop:
            break
        safe = time
        time = time + FARTHER * (free - least) / length
        if time >= ONE:
            paths.time[m] = 1.0
            return
    if not ended:
        paths.known[m] = np.float64(safe)


@steady
def solid_of(colliders, k, zero):
    """A collider as `shinari.systems.paths.impact.least_distance` takes it; meshes have patches."""
    convex = zero + np.float32(np.inf) if colliders.kind[k] <= LAST_CONVEX else zero - ONE
    return colliders.kind[k], colliders.size[k], convex


@once
def find_times(meshes: bool) -> Kernel:
    """Kernel that finds the times of impact of an item with the colliders near it."""
    least_distance_of = least_distances(meshes)

    @kernel(fastmath=STEADY)
    def find_collider_times(
        p, paths: ItemPaths, items: Items, contacts: Contacts, colliders: Colliders, depths: Depths, poses: Poses,
        fields: MeshFields, particles: Particles, begins: Begins, state: PathState
    ):  # fmt: skip
        i = vertices(items.points[p])
        row = np.int64(particles.origin_index[i[0]]) * len(colliders)
        for m in range(items.first[p], items.end[p]):
            k = np.int64(contacts.solid[m])
            if paths.time[m] >= ONE:
                continue
            paths.time[m] = 1.0
            if colliders.kind[k] <= LAST_UNBOUNDED:
                continue
            starts, ends = paths_in(poses.before[row + k], poses.after[row + k], particles, begins, i)
            radius = least_of(begins.radius, i)
            zero = radius - radius
            keep = KEPT * (radius + depths.allowed[k]) - depths.allowed[k]
            if stays_above(contacts.plane[m], ends, starts, (keep, keep, keep)):
                continue
            time = impact_time(
                least_distance_of,
                solid_of(colliders, k, zero),
                zero,
                fields,
                (starts, ends),
                (zero, zero, zero),
                identity(zero),
                radius,
                depths.allowed[k],
                zero + np.float32(paths.known[m]),
            )
            paths.time[m] = np.float64(time)
            if time < ONE:
                state.hit[0] = 1

    return find_collider_times


@once
def part_paths(meshes: bool) -> Kernel:
    """Kernel that pushes the ends of paths that meet colliders off them along the normal of the impact.

    A contact that has not pushed in the substep is where they meet. In a turn in which they join, that is all.
    """
    distance_and_normal, least_distance_of = distances(meshes), least_distances(meshes)

    @kernel(fastmath=STEADY)
    def part_collider_paths(
        _, paths: ItemPaths, items: Items, contacts: Contacts, colliders: Colliders, depths: Depths, poses: Poses,
        fields: MeshFields, particles: Particles, begins: Begins, state: PathState
    ):  # fmt: skip
        rate, parts = ONE / state.substep[0], state.part[0] != 0
        for p in range(state.count[0]):
            for m in range(items.first[p], items.end[p]):
                if paths.time[m] >= ONE:
                    continue
                i, k = vertices(items.points[p]), np.int64(contacts.solid[m])
                row = np.int64(particles.origin_index[i[0]]) * len(colliders)
                kind, size, after = colliders.kind[k], colliders.size[k], poses.after[row + k]
                starts, ends = paths_in(poses.before[row + k], after, particles, begins, i)
                radius = least_of(begins.radius, i)
                time = radius - radius + np.float32(paths.time[m])
                zero = radius - radius
                points = along(starts, ends, (zero, zero, zero), identity(zero), time)
                solid, enough = solid_of(colliders, k, zero), radius + radius
                _, weights = least_distance_of(solid, fields, points, enough, depths.allowed[k], zero)
                at = blend(weights, points[0], points[1], points[2])
                value, n = distance_and_normal(kind, at, size, fields)
                if contacts.normal_correction[m] <= ZERO:
                    contacts.weights[m], contacts.normal[m] = weights, rotate_vector(after, n)
                if not parts:
                    continue
                state.impacts[0] += 1
                end = blend(weights, ends[0], ends[1], ends[2])
                first, _ = least_distance_of(solid, fields, starts, radius, zero, zero)
                depth = min(radius, first) - (dot(n, sub(end, at)) + value)
                part = vertex_weights(weights, i)
                w = inverse_mass_at(particles.x, i, part)
                if depth > ZERO and w > ZERO:
                    shift = rotate_vector(after, scale(n, depth / w))
                    add_share(particles.x, i[0], particles.x[i[0], 3] * part[0], shift)
                    add_share(particles.x, i[1], particles.x[i[1], 3] * part[1], shift)
                    add_share(particles.x, i[2], particles.x[i[2], 3] * part[2], shift)
                    record(contacts.impulse, m, shift, rate)

    return part_collider_paths


@kernel
def join_paths(
    _, paths: ItemPaths, items: Items, contacts: Contacts, zones: Zones, forest: Forest, shares: Shares,
    state: PathState, first: int
):  # fmt: skip
    """Join the particles of items whose paths meet colliders with these; `first` is the node of the first one."""
    for p in range(state.count[0]):
        for m in range(items.first[p], items.end[p]):
            if paths.time[m] < ONE:
                state.impacts[0] += 1
                i, solid = vertices(items.points[p]), first + np.int64(contacts.solid[m])
                row = join_to_solid(zones, forest, shares, state, i, solid, paths.time[m])
                if row >= 0:
                    w = double(contacts.weights[m])
                    shares.weights[row], shares.normal[row] = (w[0], w[1], w[2], 0.0), double(contacts.normal[m])
