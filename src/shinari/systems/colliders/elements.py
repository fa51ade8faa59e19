"""Triangles and segments against bounded solids: the deepest point of each is a contact of its own.

A solid can press into a triangle between its vertices. The deepest point of the triangle is found by local optimisation
of the signed distance over it, as in Macklin et al. 2020, Local Optimization for Robust Signed Distance Field
Collision. Where the solid is locally a point, a line or a plane (a corner, an edge, a face; the centre of a ball, the
axis of a capsule), the step goes to the point of the triangle that is nearest to it, which is the deepest one as long
as the feature stays the same; where it fails, to where two planes meet that touch the solid (Kelley's cutting planes):
a convex solid lies behind them, so that they also tell when the search is done.

The deepest point then is a particle: weights b, inverse mass sum w b^2, way and response as in
`shinari.systems.colliders.collide`. A segment is a triangle whose last two vertices are one.
"""

import numpy as np

from shinari.collision.law import combined_surface, recoil
from shinari.compute import Kernel, kernel, real, scratch
from shinari.compute.colouring import colour
from shinari.compute.kernels import STEADY
from shinari.compute.once import once
from shinari.geometry.proximity import nearest_weights
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector, rotate_vector_back, to_local, to_world
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, scale, sub
from shinari.model.model import Model
from shinari.model.particles import Clock, Particles
from shinari.scene.contents import Contents
from shinari.shapes.kernels.all_distances import is_mesh
from shinari.shapes.kernels.dispatch import distance_and_normal, feature
from shinari.shapes.kernels.mesh_distance import MeshFields
from shinari.shapes.sphere import SPHERE
from shinari.systems.colliders.ball_elements import keep_off_ball
from shinari.systems.colliders.chords import middle_of_chord
from shinari.systems.colliders.collide import (
    convex_reach,
    place,
    record,
    remember,
    response,
    surface_of,
)
from shinari.systems.colliders.contact_list import FAR
from shinari.systems.colliders.cutting_planes import PLANES, keep_plane, lowest_of_planes
from shinari.systems.colliders.element_bounds import (
    bound_with,
    is_apart,
    is_far,
    leave,
    planar_gaps,
    takes_part,
    unknown_plane,
)
from shinari.systems.colliders.element_points import (
    AT_VERTEX,
    ROUNDS,
    SMALL,
    add_share,
    blend,
    inverse_mass_at,
    largest_of,
    local_path,
    longest_path,
    move_vertices,
    radii_of,
    vertex_weights,
    vertices,
)
from shinari.systems.colliders.records import Colliders, ContactParticles, Contacts, Items, Poses

LOOKS = 24
# Tries where the last two planes that touch the solid meet, and looks, before all of them are taken.
CUTS, SLOW = 2, 6
HALF = np.float32(0.5)
CLOSE = np.float32(5e-3)


def elements_of(scene: Contents, model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Triangles of cloth and segments of ropes that keep a distance, in solver order, colour after colour.

    Returns:
        Particles, (E, 3) uint32, those of a segment with the last one twice; and where each colour starts, (C + 1,).
    """
    parts, start = [], 0
    for obj in scene.particle_objects:
        segments = obj.segments
        if obj.faces is not None and (obj.radii > 0.0).any():
            parts.append(obj.faces + start)
        elif segments is not None and (obj.radii > 0.0).any():
            parts.append(segments[:, [0, 1, 1]] + start)
        start += len(obj.positions)
    if not parts:
        return np.zeros((0, 3), np.uint32), np.zeros(1, np.int64)
    rows = model.slots[np.concatenate(parts)]
    order, offsets = colour(rows, model.particle_count, free=model.inverse_masses > 0.0)
    return np.ascontiguousarray(rows[order]), offsets


@steady
def lowest_weights(n, a, b, c):
    """Weights of the vertex that lies lowest along a normal."""
    da, db, dc = dot(n, a), dot(n, b), dot(n, c)
    first, second = da <= db and da <= dc, db <= dc
    return ONE if first else ZERO * da, ZERO * da if first or not second else ONE, ZERO * da if first or second else ONE


@steady
def lowest_of_two(p, q):
    """Weights of the lowest point of the greater of two linear functions given at the vertices, and the value there.

    It is a vertex, or lies on an edge where both are equal.
    """
    one, zero = ONE + ZERO * p[0], ZERO * p[0]
    v0, v1, v2 = max(p[0], q[0]), max(p[1], q[1]), max(p[2], q[2])
    least, weights = v0, (one, zero, zero)
    if v1 < least:
        least, weights = v1, (zero, one, zero)
    if v2 < least:
        least, weights = v2, (zero, zero, one)
    d0, d1, d2 = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    t = d0 / (d0 - d1) if d0 * d1 < ZERO else zero
    u = p[0] + t * (p[1] - p[0])
    if t > ZERO and u < least:
        least, weights = u, (one - t, t, zero)
    t = d1 / (d1 - d2) if d1 * d2 < ZERO else zero
    u = p[1] + t * (p[2] - p[1])
    if t > ZERO and u < least:
        least, weights = u, (zero, one - t, t)
    t = d2 / (d2 - d0) if d2 * d0 < ZERO else zero
    u = p[2] + t * (p[0] - p[2])
    if t > ZERO and u < least:
        least, weights = u, (t, zero, one - t)
    return weights, least


@steady
def tangent(value, n, x, a, b, c):
    """The plane that touches a solid, as distances of three points from it."""
    return value + dot(n, sub(a, x)), value + dot(n, sub(b, x)), value + dot(n, sub(c, x))


@steady
def step_to(kind, s, q, gap, n, size, a, b, c):
    """Weights of the point of a triangle that is deepest if the solid is as it is nearest to q."""
    target, keep, flat = feature(kind, s, q, gap, n, size)
    ka = (keep[0] * a[0], keep[1] * a[1], keep[2] * a[2])
    kb = (keep[0] * b[0], keep[1] * b[1], keep[2] * b[2])
    kc = (keep[0] * c[0], keep[1] * c[1], keep[2] * c[2])
    near = nearest_weights((keep[0] * target[0], keep[1] * target[1], keep[2] * target[2]), ka, kb, kc)
    low = lowest_weights(n, a, b, c)
    return low if flat else near


@steady
def deepest(distance_and_normal, kind, s, reach, fields, start, radius, largest_displacement, back, ends, begins):
    """Weights of the point that a solid meets first.

    Looks at the triangle at the end of the substep; where its way is longer than the distance at which it ends, it may
    have gone through, and the start is looked at instead.

    Args:
        distance_and_normal: The function of the shapes.
        kind: Kind of the solid.
        s: Its numbers.
        reach: Distance up to which all of it is behind each plane that touches it [m]; -1: it is not convex.
        fields: Distance fields of meshes.
        start: Weights to start from.
        radius: Least distance that the triangle keeps [m].
        largest_displacement: The longest way of its vertices [m].
        back: Whether to look at the start too.
        ends: Its three vertices at the end of the substep, in the frame of the solid.
        begins: The same at the start.

    Returns:
        Whether it may touch, whether the weights are those at the start, the best lower bound found of its gap [m] at
        the end, the weights, and the plane that touches the solid there, see `planar_gaps`.
    """
    a, b, c = ends
    best, trial = start, start
    nothing = largest_displacement - largest_displacement
    gap = low = nothing
    size = max(norm(sub(b, a)), norm(sub(c, a))) * HALF
    close = CLOSE * (radius + CLOSE * size)
    stretch, plane = size, (nothing, nothing, nothing)
    touches, looks, fresh, late, misses, cutting = True, 0, True, False, 0, False
    support, convex = unknown_plane(nothing), reach >= nothing
    planes, count = scratch((PLANES, 3), nothing), 0
    while looks < LOOKS:
        looks += 1
        x = blend(trial, a, b, c)
        value, n = distance_and_normal(kind, x, s, fields)
        convex &= value <= reach
        # a convex solid lies behind the plane that touches it: no point of the triangle is deeper than this
        touching = tangent(value, n, x, a, b, c)
        bound = min(touching[0], min(touching[1], touching[2]))
        if fresh and not late:
            low = (bound if convex else value - size - size) - radius
            if low >= (largest_displacement if back else nothing):
                touches = False
                break
        elif convex and not late:
            low = max(low, bound - radius)
        done, better = looks == LOOKS, fresh or value < gap
        count = 0 if fresh else count
        if better:
            best, gap, fresh = trial, value, False
            plane, support = touching, (n[0], n[1], n[2], dot(n, x) - value)
            done |= convex and value - bound <= close
        if convex and not done:
            count = keep_plane(planes, count, touching, trial, HALF * close)
        cutting = convex and not done and (cutting or misses >= CUTS or looks >= SLOW)
        if better and not cutting:
            misses = 0
            trial = best if done else step_to(kind, s, x, value, n, stretch, a, b, c)
            stretch = stretch + stretch
        elif convex:
            # to where the last two planes are lowest, or all that are kept
            misses += 1
            stretch = HALF * HALF * stretch
            if cutting:
                bound, trial = lowest_of_planes(planes, count)
            else:
                trial, bound = lowest_of_two(plane, touching)
            done |= gap - bound <= close
        else:
            misses += 1
            trial = scale(add(trial, best), HALF)
            stretch = HALF * HALF * stretch
        moved = max(abs(trial[0] - best[0]), max(abs(trial[1] - best[1]), abs(trial[2] - best[2])))
        # of a convex solid the bound tells when it is enough: one step may be short where the next is not
        cutting |= convex and moved < CLOSE
        if done or (moved < CLOSE and not convex):
            if late or gap > largest_displacement or not back:
                break
            a, b, c = begins
            trial, fresh, late, looks, stretch, misses, cutting = best, True, True, 0, size, 0, False
    near = touches and (late or gap - radius < largest_displacement)
    return near, late, low, best, support if convex else unknown_plane(nothing)


@steady
def point_of_contact(kind, s, start, radii, largest_displacement, back, ends, begins):
    """Where an element touches an analytic solid; as `deepest`, and see `shinari.systems.colliders.chords`."""
    radius = min(radii[0], min(radii[1], radii[2]))
    near, late, low, b, plane = deepest(
        distance_and_normal, kind, s, convex_reach(kind, radius), (), start, radius, largest_displacement, back, ends,
        begins
    )  # fmt: skip
    if near and not late:
        b = middle_of_chord(kind, s, b, (plane[0], plane[1], plane[2]), radius, ends)
    return near, late, low, b, plane


@once
def project_elements() -> Kernel:
    """Kernel that keeps the deepest points of an element out of the colliders near it; as `project_particles`.

    A contact keeps the weights of the point, from which the next search in the same substep starts. Meshes are left to
    `shinari.systems.colliders.mesh_elements`.
    """
    respond_to_solid = response(False)

    @kernel(fastmath=STEADY)
    def project_element(
        p, items: Items, contacts: Contacts, colliders: Colliders, poses: Poses, fields: MeshFields,
        particles: Particles, contact_particles: ContactParticles, clock: Clock, speed: real,
    ):  # fmt: skip
        h = clock.substep_length[0]
        rate = ONE / h
        i, first = vertices(items.points[p]), clock.first[0] != 0
        if not takes_part(p, i, items, contact_particles, clock):
            return
        far = FAR + ZERO * h
        row, least = np.int64(particles.origin_index[i[0]]) * len(colliders), (far, far, far)
        radii = radii_of(contact_particles, i)
        for m in range(items.first[p], items.end[p]):
            k = np.int64(contacts.solid[m])
            if is_mesh(colliders.kind[k]) or is_far(contacts, m, contact_particles.path, i, first):
                least = bound_with(least, m, contacts, colliders)
                continue
            pose, kind, s, moves = poses.after[row + k], colliders.kind[k], colliders.size[k], colliders.moves[k]
            law = combined_surface(surface_of(contact_particles, i[0]), colliders.surface[k])
            is_done = (
                kind == SPHERE
                and not moves
                and keep_off_ball(m, i, pose, s, law, (h, h * speed), contacts, contact_particles, particles, clock)
            )
            for again in range(0 if is_done else ROUNDS):
                ends, begins = local_path(poses.before[row + k], pose, particles, i, h)
                if is_apart(contacts, m, contacts.plane[m], ends, begins, radii):
                    gaps = planar_gaps(contacts.plane[m], ends, radii)
                    leave(contacts, m, contact_particles.path, i, gaps, again > 0 or moves)
                    break
                largest_displacement = (
                    longest_path(ends, begins) if moves else largest_of(contact_particles.displacement, i)
                )
                near, late, low, b, plane = point_of_contact(
                    kind, s, contacts.weights[m], radii, largest_displacement, again == 0, ends, begins
                )
                contacts.plane[m], contacts.bounds[m] = plane, (-ONE, -ONE, -ONE)
                gaps = planar_gaps(plane, ends, radii) if near else (low, low, low)
                near = near and not is_apart(contacts, m, plane, ends, begins, radii)
                if again == 0:
                    contacts.weights[m] = b
                    leave(contacts, m, contact_particles.path, i, gaps, near or moves)
                share = vertex_weights(b, i)
                w = inverse_mass_at(particles.x, i, share)
                if not near or w <= ZERO:
                    break
                # what touches at a vertex is left to the vertex
                touches = max(share[0], max(share[1], share[2])) <= AT_VERTEX
                if touches:
                    contacts.weights[m] = b
                    reach = share[0] * radii[0] + share[1] * radii[1] + share[2] * radii[2]
                    touches, correction, silent, n, normal_correction, friction_correction, gap = respond_to_solid(
                        kind,
                        s,
                        fields,
                        blend(b, begins[0], begins[1], begins[2]),
                        blend(b, ends[0], ends[1], ends[2]),
                        reach,
                        w,
                        law,
                        contacts.normal_correction[m],
                        rotate_vector_back(pose, contacts.friction_correction[m]),
                        (rate * rate, h * speed),
                    )
                if touches:
                    hold, n = rotate_vector(pose, friction_correction), rotate_vector(pose, n)
                    remember(contacts, m, normal_correction, hold, n, gap)
                    correction, silent = rotate_vector(pose, correction), rotate_vector(pose, silent)
                    record(contacts.impulse, m, sub(correction, silent), rate / w)
                    move_vertices(contact_particles, particles, i, share, w, correction, silent, clock, rate)
                if not late and (not touches or norm(correction) <= SMALL * reach):
                    break
            least = bound_with(least, m, contacts, colliders)
        items.bounds[p] = least

    return project_element


@kernel(fastmath=STEADY)
def bounce_element(
    p,
    items: Items,
    contacts: Contacts,
    colliders: Colliders,
    poses: Poses,
    particles: Particles,
    contact_particles: ContactParticles,
    gx: real,
    gy: real,
    gz: real,
    slow: real,
    h: real,
):
    """Restitution of an element; as `bounce_particle`."""
    x, velocities, starts = particles.x, particles.v, contact_particles.start_velocity
    i = vertices(items.points[p])
    row = np.int64(particles.origin_index[i[0]]) * len(colliders)
    for m in range(items.first[p], items.end[p]):
        k = np.int64(contacts.solid[m])
        law = combined_surface(surface_of(contact_particles, i[0]), colliders.surface[k])
        b = contacts.weights[m]
        share = vertex_weights(b, i)
        w = inverse_mass_at(x, i, share)
        if contacts.normal_correction[m] <= ZERO or law[2] <= ZERO or w <= ZERO:
            continue
        point = blend(b, place(x, i[0]), place(x, i[1]), place(x, i[2]))
        carried = scale(sub(point, to_world(poses.before[row + k], to_local(poses.after[row + k], point))), ONE / h)
        start = sub(blend(b, starts[i[0]], starts[i[1]], starts[i[2]]), carried)
        now = sub(blend(b, velocities[i[0]], velocities[i[1]], velocities[i[2]]), carried)
        change = recoil(contacts.normal[m], contacts.gap[m], start, now, law, (gx, gy, gz), slow, h)
        record(contacts.impulse, m, change, ONE / w)
        add_share(velocities, i[0], x[i[0], 3] * share[0] / w, change)
        add_share(velocities, i[1], x[i[1], 3] * share[1] / w, change)
        add_share(velocities, i[2], x[i[2], 3] * share[2] / w, change)
