"""Sweeps over the contacts of particles and elements with bodies, one after the other, by one thread.

A body is touched by many particles, and each has to see what the others did to it. There are few of them beside all
particles of a scene, and in this order the result is the same whatever the number of threads.

A substep begins with the pushes of the last one, and each sweep brings them nearer to what it takes: a push can become
smaller again, down to nothing. What rests then has a few sweeps for each of many substeps, not for each alone; without
it a box on four points would be tilted by the first, turned back by the last, and walk. Sweeps go there and back in
turn, which keeps them from feeding energy, see `shinari.systems.coupling.attachment_rows`.
"""

import numpy as np

from shinari.collision.law import combined_surface
from shinari.collision.narrow.fields import BodyFields, Four, distances
from shinari.collision.narrow.pose_records import Vector
from shinari.compute import Kernel, kernel, shared
from shinari.compute.kernels import STEADY, Shared
from shinari.compute.once import once
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, scale, sub
from shinari.model.particles import Origins, Particles
from shinari.systems.colliders.collide import place, slack
from shinari.systems.colliders.contact_list import FAR
from shinari.systems.colliders.element_points import (
    AT_VERTEX,
    ROUNDS,
    SMALL,
    blend,
    blend_of,
    inverse_mass_at,
    longest_path,
    vertex_weights,
    vertices,
)
from shinari.systems.colliders.elements import deepest
from shinari.systems.colliders.supports import is_on_body
from shinari.systems.coupling.bounds import (
    are_shorter,
    leave_apart,
    leave_to_vertices,
    paths_with,
    piece_path,
    piece_stride,
    radii_of,
)
from shinari.systems.coupling.detection import THIRD
from shinari.systems.coupling.heavy_pairs import (
    NOTHING,
    forgets,
    leaves_support,
    opposite_of,
    push_opposite,
    record_impulse,
)
from shinari.systems.coupling.impacts import ground_motion
from shinari.systems.coupling.records import (
    BodyShapeTable,
    BodySweeps,
    ContactParticles,
    Contacts,
    Counts,
    Items,
    Progress,
)
from shinari.systems.coupling.response import apply_reaction, balance, response, to_shape_local
from shinari.systems.coupling.stored_pushes import (
    less_lost,
    particle_previous_position,
    share_push,
    take_back,
)
from shinari.systems.coupling.supported_points import (
    follow_bodies,
    follow_body,
    start_on_support,
    supports_of,
)
from shinari.systems.rigid.frames import Frames

# The deepest point of an element has gone elsewhere when a weight changes by more than this.
JUMP = np.float32(0.02)
# Sweeps in the first substep of a step that begins without pushes.
FIRST_SWEEPS = 8
Corners = tuple[Vector, Vector, Vector]
# Of what `respond_to_shape` returns: whether the item touches, its gap, and the further push on its other side.
TOUCHES, GAP, ON_OTHER_SIDE = 0, 7, 9
NO_PUSH = (0.0, 0.0, 0.0)


@steady
def speed_of(particles, i, rate):
    """Velocity that a particle would have if the substep ended now."""
    x, p, v = particles.x[i], particles.predicted[i], particles.v[i]
    return v[0] + (x[0] - p[0]) * rate, v[1] + (x[1] - p[1]) * rate, v[2] + (x[2] - p[2]) * rate


@steady
def world_path(origin, particles, i, h):
    """Vertices of an element in the world: now, and at the start of the substep."""
    x = particles.x
    now = add(origin, place(x, i[0])), add(origin, place(x, i[1])), add(origin, place(x, i[2]))
    starts = (
        add(origin, particle_previous_position(particles, i[0], h)),
        add(origin, particle_previous_position(particles, i[1], h)),
        add(origin, particle_previous_position(particles, i[2], h)),
    )
    return now, starts


@steady
def triangle_in_piece(body_shapes, k, x, q, points):
    """Three points of the world in the axes of piece k, whose frame is at x and turned by q."""
    return (
        to_shape_local(body_shapes, k, x, q, points[0]),
        to_shape_local(body_shapes, k, x, q, points[1]),
        to_shape_local(body_shapes, k, x, q, points[2]),
    )


@steady
def jumps(weights, kept):
    """Whether the deepest point of an element has gone elsewhere."""
    change = max(abs(weights[0] - kept[0]), max(abs(weights[1] - kept[1]), abs(weights[2] - kept[2])))
    return change > JUMP


@steady
def apply_answer(m, answer, item, body, grip, records, opposite):
    """Apply what `respond_to_shape` returned for a contact that touches, and remember it.

    Args:
        m: The contact.
        answer: See `respond_to_shape`.
        item: Vertices of the item, their shares of its point, its inverse mass there, and see `leaves_support`.
        body: The body, and the arm of the point.
        grip: Coefficient of static friction.
        records: Contacts, their particles, what `share_push` calls bodies, and progress.
        opposite: The contact on the other side, and its body and arm.

    Returns:
        How far it moves the point and the body against each other [m].
    """
    contacts, contact_particles, bodies, progress = records
    particles, _, _, frames, body_sweeps = bodies
    _, push, rub, silent, n, normal_push, friction_multiplier, gap, along, opposite_push = answer
    (i, part, w, between), (b, arm), rate = item, body, ONE / progress.substep[0]
    multiplier, other = add(push, rub), frames.inverse_mass[b]
    each = ONE / (along + other) if along + other > ZERO else 0.0
    # what it lies on takes its share of what goes without velocity, too
    of_item = scale(silent, each * along / w if w > ZERO else 0.0)
    pushes = add(push, opposite_push), rub, of_item
    lost = share_push(contact_particles, bodies, i, between, part, pushes, grip, rate)
    given = sub(multiplier, lost)
    normal_push, friction_multiplier = less_lost(normal_push, friction_multiplier, n, lost)
    # the least of a substep: what a support has stopped is not to be taken back from a vertex that is free
    contacts.along[m] = min(along, contacts.along[m]) if contacts.multiplier[m] > ZERO else along
    contacts.multiplier[m], contacts.friction_multiplier[m], contacts.normal[m] = normal_push, friction_multiplier, n
    contacts.gap[m] = gap
    record_impulse(contacts, m, given, rate)
    apply_reaction(frames, body_sweeps, b, arm, given, scale(silent, -other * each), rate)
    if dot(opposite_push, opposite_push) > ZERO:
        push_opposite(contacts, frames, body_sweeps, opposite, opposite_push, rate)
    speed = blend(
        part, speed_of(particles, i[0], rate), speed_of(particles, i[1], rate), speed_of(particles, i[2], rate)
    )
    balance(frames, body_sweeps, b, (of_item, scale(silent, each)), speed, rate)
    return (along + other) * norm(multiplier)


@steady
def normal_before(contacts, m, contact_particles, i, between, pinched):
    """Normal of a contact whose push is taken apart when it turns, see `along_normal`; zero for others."""
    first, second = is_on_body(contact_particles, i[0]), is_on_body(contact_particles, i[1])
    lies = not between and (first or second or is_on_body(contact_particles, i[2]))
    return contacts.normal[m] if pinched or lies else (0.0, 0.0, 0.0)


@steady
def contact_of(turn, count, progress):
    """Contact of a turn of a sweep: sweeps go there and back."""
    return count - 1 - turn if progress.back[0] != 0 else turn


@once
def project_particles(meshes: bool) -> Kernel:
    """Kernel of a sweep over the contacts of particles."""
    respond_to_shape = response(meshes)

    @kernel(fastmath=STEADY)
    def project_all_particles(
        _,
        progress: Progress,
        counts: Counts,
        contacts: Contacts,
        items: Items,
        contact_particles: ContactParticles,
        particles: Particles,
        origins: Origins,
        body_shapes: BodyShapeTable,
        fields: BodyFields,
        frames: Frames,
        body_sweeps: BodySweeps,
    ):
        """Keep the listed particles out of the pieces near them; `progress` tells where to, and how far they moved."""
        h, count, largest = progress.substep[0], counts.contacts[0], progress.largest[0]
        rate, fall = ONE / h, progress.fall[0]
        limits = rate * rate, h * progress.escape[0]
        bodies = particles, origins, body_shapes, frames, body_sweeps
        begins, solved = progress.sweep[0] == 0, -1
        for turn in range(count):
            m = contact_of(turn, count, progress)
            i, k = np.int64(items.points[contacts.item[m], 0]), contacts.body_shape[m]
            b, far = body_shapes.frame[k], contact_particles.path[i] + piece_path(k, body_shapes, body_sweeps)
            # a sweep after the first one passes over what pushes and has not moved since
            pushes = contacts.multiplier[m] > ZERO
            if (far < contacts.bound[m, 0] and not (pushes and begins)) or m == solved:
                continue
            w, fixed = np.float64(particles.x[i, 3]), frames.x0[b]
            origin = origins.position[particles.origin_index[i]]
            start, now = add(origin, particle_previous_position(particles, i, h)), add(origin, place(particles.x, i))
            law = combined_surface(contact_particles.surface[i], body_shapes.surface[k])
            between = leaves_support((i, i, i), k, contact_particles, body_shapes, frames)
            opposite = NOTHING
            if between or not is_on_body(contact_particles, i):
                opposite = opposite_of(contacts, m, count, body_shapes, frames, contact_particles, i)
            normal = normal_before(contacts, m, contact_particles, (i, i, i), between, opposite[0] >= 0)
            follow_body(contact_particles, i, origin, body_shapes, frames)
            path = start_on_support(contact_particles, particles, i, between, start, now), now
            answer = respond_to_shape(
                body_shapes,
                fields,
                frames,
                k,
                path,
                (np.float64(contact_particles.radius[i]), w),
                supports_of(contact_particles, particles, (i, i, i), (1.0, 0.0, 0.0), between),
                law,
                (contacts.multiplier[m], contacts.friction_multiplier[m], normal),
                limits,
                (ground_motion(contact_particles, (i, i, i), (1.0, 0.0, 0.0)), fall),
                opposite,
            )
            if answer[TOUCHES]:
                item, body = ((i, i, i), (1.0, 0.0, 0.0), w, between), (b, sub(start, fixed))
                records = contacts, contact_particles, bodies, progress
                there = body_shapes.frame[max(opposite[1], 0)]
                on_other_side = opposite, (there, sub(path[0], frames.x0[there]))
                largest = max(largest, apply_answer(m, answer, item, body, law[1], records, on_other_side))
                # what both bodies push is solved for both at once
                solved = opposite[0] if answer[ON_OTHER_SIDE] != NO_PUSH else -1
                far = contact_particles.path[i] + piece_path(k, body_shapes, body_sweeps)
                still = opposite[0] < 0 and contacts.multiplier[m] > ZERO
                contacts.bound[m, 0] = far + progress.small[0] if still else -1.0
            else:
                stride = norm(sub(now, start)) + piece_stride(frames, k, body_shapes)
                contacts.bound[m, 0] = far + slack(answer[GAP], np.float64(contact_particles.radius[i]), stride)
        progress.largest[0] = largest

    return project_all_particles


@once
def search(meshes: bool) -> Shared:
    """`deepest` for scenes with or without meshes, compiled once."""
    distance_and_normal = distances(meshes)

    @shared(fastmath=STEADY)
    def deepest_point(
        kind: int,
        s: Four,
        reach: float,
        fields: BodyFields,
        start: Vector,
        radius: float,
        largest_displacement: float,
        back: bool,
        ends: Corners,
        begins: Corners,
    ) -> tuple[bool, bool, float, Vector, Four]:
        return deepest(
            distance_and_normal, kind, s, reach, fields, start, radius, largest_displacement, back, ends, begins
        )

    return deepest_point


@once
def project_elements(meshes: bool) -> Kernel:
    """Kernel of a sweep over the contacts of triangles and segments."""
    respond_to_shape, deepest_point, distance_and_normal = response(meshes), search(meshes), distances(meshes)

    @kernel(fastmath=STEADY)
    def project_all_elements(
        _,
        progress: Progress,
        counts: Counts,
        contacts: Contacts,
        items: Items,
        contact_particles: ContactParticles,
        particles: Particles,
        origins: Origins,
        body_shapes: BodyShapeTable,
        fields: BodyFields,
        frames: Frames,
        body_sweeps: BodySweeps,
    ):
        """Keep the deepest points of the listed elements out of the pieces near them; see `project_particles`."""
        h, count, largest = progress.substep[0], counts.contacts[0], progress.largest[0]
        rate, fall = ONE / h, progress.fall[0]
        limits = rate * rate, h * progress.escape[0]
        bodies = particles, origins, body_shapes, frames, body_sweeps
        for turn in range(count):
            m = contact_of(turn, count, progress)
            k, i = contacts.body_shape[m], vertices(items.points[contacts.item[m]])
            origin, b = origins.position[particles.origin_index[i[0]]], body_shapes.frame[k]
            far = paths_with(contact_particles.path, i, piece_path(k, body_shapes, body_sweeps))
            if are_shorter(far, contacts.bound[m]):
                continue
            radii = radii_of(contact_particles, i)
            law, other = (
                combined_surface(contact_particles.surface[i[0]], body_shapes.surface[k]),
                frames.inverse_mass[b],
            )
            done, between = False, leaves_support(i, k, contact_particles, body_shapes, frames)
            for again in range(ROUNDS):
                fixed, (now, starts) = frames.x0[b], world_path(origin, particles, i, h)
                ends = triangle_in_piece(body_shapes, k, frames.x[b], frames.q[b], now)
                begins = triangle_in_piece(body_shapes, k, fixed, frames.q0[b], starts)
                if leave_apart(contacts, m, again, (far, radii), ends, begins):
                    break
                piece = body_shapes.kind[k], body_shapes.size[k], fields
                ways = far, radii
                if again == 0 and leave_to_vertices(distance_and_normal, contacts, m, piece, ways, ends, begins):
                    break
                free, least = contacts.multiplier[m] <= ZERO, min(radii[0], min(radii[1], radii[2]))
                # what comes out must not depend on when an element was listed or passed over
                kept = (THIRD, THIRD, THIRD) if free else contacts.weights[m]
                longest = longest_path(ends, begins)
                near, late, low, weights, plane = deepest_point(
                    body_shapes.kind[k],
                    body_shapes.size[k],
                    body_shapes.convex[k],
                    fields,
                    kept,
                    least,
                    longest,
                    again == 0,
                    ends,
                    begins,
                )
                gap = -FAR if near or again > 0 else slack(low, least, longest)
                contacts.plane[m], contacts.bound[m] = plane, add(far, (gap, gap, gap))
                near = not leave_apart(contacts, m, again, (far, radii), ends, begins) and near
                part = vertex_weights(weights, i)
                w = inverse_mass_at(particles.x, i, part)
                if not near or not w + other > ZERO:
                    break
                # what touches at a vertex is left to the vertex
                touches, moved = max(part[0], max(part[1], part[2])) <= AT_VERTEX, 0.0
                reach = blend_of(contact_particles.radius, i, part)
                if touches:
                    follow_bodies(contact_particles, i, origin, body_shapes, frames)
                    contacts.settled[m] = contacts.settled[m] and not (
                        contacts.multiplier[m] > ZERO and jumps(weights, kept)
                    )
                    contacts.weights[m] = weights
                    normal = normal_before(contacts, m, contact_particles, i, between, body_sweeps.pinches[b])
                    start = blend(
                        weights,
                        start_on_support(contact_particles, particles, i[0], between, starts[0], now[0]),
                        start_on_support(contact_particles, particles, i[1], between, starts[1], now[1]),
                        start_on_support(contact_particles, particles, i[2], between, starts[2], now[2]),
                    )
                    answer = respond_to_shape(
                        body_shapes,
                        fields,
                        frames,
                        k,
                        (start, blend(weights, now[0], now[1], now[2])),
                        (reach, w),
                        supports_of(contact_particles, particles, i, part, between),
                        law,
                        (contacts.multiplier[m], contacts.friction_multiplier[m], normal),
                        limits,
                        (ground_motion(contact_particles, i, part), fall),
                        NOTHING,
                    )
                    touches = answer[TOUCHES]
                    if touches:
                        done, records = True, (contacts, contact_particles, bodies, progress)
                        moved = apply_answer(
                            m,
                            answer,
                            (i, part, w, between),
                            (b, sub(start, fixed)),
                            law[1],
                            records,
                            (NOTHING, (b, start)),
                        )
                        largest = max(largest, moved)
                if not late and (not touches or moved <= SMALL * reach):
                    break
            if not (done or forgets(m, contacts, items, contact_particles, body_shapes, frames, body_sweeps)):
                # it has left the body, or a vertex carries it now
                take_back(
                    m, contacts, items, contact_particles, particles, origins, body_shapes, frames, body_sweeps, h
                )
        progress.largest[0] = largest

    return project_all_elements


@kernel
def start_sweeps(_, progress: Progress, first: np.int64, speed: float, h: float, fall: float, small: float):
    """Sweeps begin; `speed` [m/s] is that at which what was inside comes out in the first one of a substep.

    `fall` [m]: displacement that gravity adds in a substep; `small` [m]: see `Progress`.
    """
    progress.fall[0], progress.small[0] = fall, small
    progress.sweep[0], progress.least[0], progress.escape[0], progress.done[0] = 0, 1, 0.0, 0
    if first != 0:
        progress.least[0] = FIRST_SWEEPS if progress.fresh[0] != 0 else 1
        progress.escape[0] = speed
        progress.fresh[0] = progress.back[0] = 0
    progress.forth[0] = 1 - progress.back[0]
    progress.largest[0], progress.substep[0] = 0.0, h


@kernel
def check_convergence(_, progress: Progress):
    """Whether sweeps go on, while one still moves something."""
    progress.sweep[0] += 1
    settled = progress.sweep[0] >= progress.least[0] and progress.largest[0] <= progress.small[0]
    progress.done[0] = 1 if settled else 0
    progress.escape[0], progress.largest[0] = 0.0, 0.0
    progress.back[0], progress.forth[0] = progress.forth[0], progress.back[0]
