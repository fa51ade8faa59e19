"""A point of particles against a piece of a body: the push that stops the point at the surface, shared by both.

All as in `shinari.systems.colliders.collide`, with the body as a solid that gives way. A push P [kg m] at an arm r from
its centre moves the body by P / m and turns it by I^-1 (r x P), so along a direction n the two yield by

    w = w_point + 1/m + (r x n) . I^-1 (r x n)

for each unit of P. The push along the normal adds up over a substep and never pulls; friction takes the slip away as
far as its share of that push allows (Coulomb, as a limit on the tangential push of the substep).

The arm is that of the point at the start of the substep. Velocities are (x - x0) / h, so what a push gives to the
angular momentum of a particle is x0 cross P / h; with this arm the body is given the exact opposite.
"""

from shinari.collision.law import COMPLIANCE, friction, normal_response, recovery, tangential
from shinari.collision.narrow.fields import BodyFields, Four, distances
from shinari.collision.narrow.pose_records import Vector
from shinari.compute import kernel, shared
from shinari.compute.kernels import STEADY, Shared
from shinari.compute.once import once
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector, to_local
from shinari.maths.quaternion import rotate, rotate_back
from shinari.maths.vec3 import ONE, ZERO, add, cross, direction_and_length, dot, norm, scale, sub
from shinari.systems.colliders.collide import contact_plane, convex_reach
from shinari.systems.coupling.between import OPPOSED, Opposite, both_frictions, both_pushes
from shinari.systems.coupling.records import BodyShapeTable, BodySweeps
from shinari.systems.coupling.supported_points import (
    Supports,
    friction_less_thrown,
    inverse_mass_aside,
    supported_inverse_mass,
)
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import (
    rotated_world_axes,
    rotation_vector_between,
    symmetric_times,
    turned_by_moment,
)


@steady
def effective_inverse_mass(frames, b, r, n):
    """How far a body gives way along n at an arm r for each unit of push along n [1/kg]."""
    moment = cross(r, n)
    return frames.inverse_mass[b] + dot(moment, symmetric_times(frames.inverse_inertia, b, moment))


@steady
def start_velocity(body_sweeps, b, arm):
    """Velocity of a point of a body when the substep began [m/s]."""
    return add(body_sweeps.start_v[b], cross(body_sweeps.start_w[b], arm))


@steady
def to_shape_local(body_shapes, k, x, q, point):
    """A point of the world in the axes of piece k, whose frame is at x and turned by q."""
    return to_local(body_shapes.local_pose[k], rotate_back(q, sub(point, x)))


@steady
def along_normal(multiplier, rub, before, n):
    """Pushes so far along a normal and of friction, once it has turned [kg m].

    Between two heavy bodies all that was given along the normal `before` is taken back where it is too much: along that
    of now it would throw them. Elsewhere, `before` is zero, the push turns with its normal: at an edge that goes from
    face to face and back, and what rests there would be lost each time.
    """
    whole = add(rub, scale(before, multiplier))
    along = dot(n, whole) if dot(before, before) > ZERO else multiplier + dot(n, rub)
    return along, tangential(whole, n)


@once
def meeting(meshes: bool) -> Shared:
    """How a point meets a piece, for scenes with or without meshes; compiled once."""
    distance_and_normal = distances(meshes)

    @shared(fastmath=STEADY)
    def meet(
        body_shapes: BodyShapeTable,
        fields: BodyFields,
        frames: Frames,
        k: int,
        path: tuple[Vector, Vector],
        reach: float,
        multiplier: float,
    ) -> tuple[bool, Vector, Vector, float, float, float]:
        """How a point meets a piece.

        Args:
            body_shapes: The pieces.
            fields: Distance fields of meshes.
            frames: The frames.
            k: The piece.
            path: The point at the start of the substep, and now [m].
            reach: Distance that it keeps [m].
            multiplier: Push so far [kg m]; a contact that pushes is looked at until it does no more.

        Returns:
            Whether it touches, the normal, the displacement of the point against the piece in the substep, its depth,
            that at the start of the substep, and the gap then, or now when it does not touch [m].
        """
        zero, b, kind, s = (0.0, 0.0, 0.0), body_shapes.frame[k], body_shapes.kind[k], body_shapes.size[k]
        start, now = path
        first = to_shape_local(body_shapes, k, frames.x0[b], frames.q0[b], start)
        last = to_shape_local(body_shapes, k, frames.x[b], frames.q[b], now)
        value, normal = distance_and_normal(kind, last, s, fields)
        gap_b = value - reach
        displacement = sub(last, first)
        if gap_b >= norm(displacement) and multiplier <= ZERO:
            return False, zero, zero, 0.0, 0.0, gap_b
        behind = convex_reach(kind, reach)
        n, depth, before = contact_plane(
            distance_and_normal, kind, s, behind, fields, first, last, reach, gap_b, normal
        )
        if depth <= ZERO and multiplier <= ZERO:
            return False, zero, zero, 0.0, 0.0, gap_b
        gap = max(dot(n, sub(first, last)) - depth, 0.0)
        q = frames.q[b]
        n, displacement = (
            rotate(q, rotate_vector(body_shapes.local_pose[k], n)),
            rotate(q, rotate_vector(body_shapes.local_pose[k], displacement)),
        )
        return True, n, displacement, depth, before, gap

    return meet


@once
def response_of_both(meshes: bool) -> Shared:
    """The pushes of two pieces on a point between them, for scenes with or without meshes; compiled once."""
    meet = meeting(meshes)

    @shared(fastmath=STEADY)
    def respond_to_both(
        body_shapes: BodyShapeTable,
        fields: BodyFields,
        frames: Frames,
        k: int,
        path: tuple[Vector, Vector],
        reach: float,
        w: float,
        here: tuple[Vector, Vector, float, Vector, float],
        pushes: tuple[float, Vector],
        law: Four,
        fall: float,
        opposite: Opposite,
    ) -> tuple[bool, float, Vector, Vector]:
        """The pushes of two pieces on a point between them, see `shinari.systems.coupling.between`.

        Args:
            body_shapes: The pieces.
            fields: Distance fields of meshes.
            frames: The frames.
            k: The first piece.
            path: The point at the start of the substep, and now [m].
            reach: Distance that it keeps [m].
            w: Its inverse mass [1/kg].
            here: Normal of the first piece, slip, overlap of the substep, arm, and how far the body gives way [1/kg].
            pushes: Of the first piece so far in this substep, along the normal and of friction [kg m].
            law: Of the first contact.
            fall: Displacement that gravity adds in a substep [m].
            opposite: The second contact.

        Returns:
            Whether the second piece is touched on the other side and one of the bodies gives way, the further push of
            the first one along its normal, its push of friction so far, and the further push of the second one [kg m].
        """
        zero, (n, slip, fresh, arm, other) = (0.0, 0.0, 0.0), here
        _, piece, law_there, push_there, so_far = opposite
        touches, there, gone, depth, before, _ = meet(body_shapes, fields, frames, piece, path, reach, push_there)
        if not touches or dot(n, there) >= OPPOSED or law_there[COMPLIANCE] > ZERO:
            return False, 0.0, zero, zero
        push_there, rub_there = dot(there, so_far), tangential(so_far, there)
        first, second = body_shapes.frame[k], body_shapes.frame[piece]
        arm_there, slip_there = sub(path[0], frames.x0[second]), tangential(gone, there)
        others = other, effective_inverse_mass(frames, second, arm_there, there)
        if not others[0] + others[1] > ZERO:
            return False, 0.0, zero, zero
        push, rub = pushes
        # what is so light stops both bodies, and throws neither: how far they still come together
        overlaps, moved = (fresh, depth - before), sub(path[1], path[0])
        closing = overlaps[0] + overlaps[1] + dot(add(n, there), moved) + fall + fall
        room = closing / (others[0] + others[1])
        change, further = both_pushes(w, others, overlaps, dot(n, there), (push, push_there), room)
        # between faces that are not parallel it slips out: friction knows of that before it is far away
        thrown = scale(add(scale(n, change), scale(there, further)), w)
        slip, slip_there = add(slip, tangential(thrown, n)), add(slip_there, tangential(thrown, there))
        direction, _ = direction_and_length(sub(slip, slip_there))
        others = (
            effective_inverse_mass(frames, first, arm, direction),
            effective_inverse_mass(frames, second, arm_there, direction),
        )
        held, held_there = rub, rub_there
        if others[0] + others[1] > ZERO:
            held, held_there = both_frictions(
                w,
                others,
                (slip, slip_there),
                (rub, rub_there),
                (push + change, push_there + further),
                (law, law_there),
            )
        return True, change, held, add(scale(there, further), sub(held_there, rub_there))

    return respond_to_both


@once
def response(meshes: bool) -> Shared:
    """The push of a piece on a point, in the world, for scenes with or without meshes; compiled once."""
    meet, respond_to_both = meeting(meshes), response_of_both(meshes)

    @shared(fastmath=STEADY)
    def respond_to_shape(
        body_shapes: BodyShapeTable,
        fields: BodyFields,
        frames: Frames,
        k: int,
        path: tuple[Vector, Vector],
        point: tuple[float, float],
        supports: Supports,
        law: Four,
        pushes: tuple[float, Vector, Vector],
        limits: tuple[float, float],
        ground: tuple[Vector, float],
        opposite: Opposite,
    ) -> tuple[bool, Vector, Vector, Vector, Vector, float, Vector, float, float, Vector]:
        """The push of a piece on a point.

        Args:
            body_shapes: The pieces.
            fields: Distance fields of meshes.
            frames: The frames.
            k: The piece.
            path: The point at the start of the substep, and now [m].
            point: Distance that it keeps [m], and its inverse mass [1/kg].
            supports: What its vertices lie on, see `supports_of`.
            law: Friction, static friction, restitution and compliance of the pair.
            pushes: Push so far in this substep, along the normal that it had and of friction [kg m], and that normal,
                see `along_normal`.
            limits: 1 / h^2, and how far what was inside comes out at most [m].
            ground: Displacements in the substep of what the point lies on, and by gravity [m].
            opposite: The contact with another body on the other side, see `shinari.systems.coupling.between`.

        Returns:
            Whether it touches, the further pushes on the point along the normal and of friction [kg m], how far the two
            come apart without velocity [m], the normal, both pushes so far, the gap at the start of the substep, or now
            when it does not touch, the inverse mass of the point along the normal [1/kg], and the further push by
            what is on the other side [kg m].
        """
        zero, b, (inverse_h2, escape), (reach, w) = (0.0, 0.0, 0.0), body_shapes.frame[k], limits, point
        multiplier, rub, normal = pushes
        touches, n, displacement, depth, before, gap = meet(body_shapes, fields, frames, k, path, reach, multiplier)
        if not touches:
            return False, zero, zero, zero, zero, multiplier, rub, gap, w, zero
        arm = sub(path[0], frames.x0[b])
        other = effective_inverse_mass(frames, b, arm, n)
        along, most = supported_inverse_mass(w, supports, n, before - depth, other)
        give = along + other
        if not give > ZERO:
            return False, zero, zero, zero, zero, multiplier, rub, gap, w, zero
        soft = law[COMPLIANCE] * inverse_h2
        multiplier, friction_multiplier = along_normal(multiplier, rub, normal, n)
        # the substep begins with the push of the last one, which is taken back where it was too much
        change = normal_response(depth, depth - before, multiplier, soft, give, -min(multiplier, most))
        if along < w and other > ZERO:
            # a light particle on a collider is no hammer: it stops the body, and throws it no farther than it came
            comes = sub(sub(path[1], path[0]), add(displacement, ground[0]))
            change = min(change, max(dot(n, comes) + ground[1], 0.0) / other)
        pushed = multiplier + change
        out = recovery(min(depth, before), escape) if soft <= ZERO else 0.0
        slip = tangential(displacement, n)
        slip_direction, _ = direction_and_length(slip)
        yields = inverse_mass_aside(w, supports, law) + effective_inverse_mass(frames, b, arm, slip_direction)
        wanted = sub(friction_multiplier, scale(slip, ONE / yields)) if yields > ZERO else friction_multiplier
        held = friction(wanted, pushed, law)
        opposite_push = zero
        if opposite[0] >= 0 and along >= w and w > ZERO and soft <= ZERO:
            here = n, slip, depth - before, arm, other
            found, of_both, rubs_of_both, opposite_push = respond_to_both(
                body_shapes,
                fields,
                frames,
                k,
                path,
                reach,
                w,
                here,
                (multiplier, friction_multiplier),
                law,
                ground[1],
                opposite,
            )
            if found:
                change, held = of_both, rubs_of_both
                pushed = multiplier + change
        rubs = sub(held, friction_multiplier)
        if along < w:
            rubs = friction_less_thrown(rubs, slip, supports)
        return True, scale(n, change), rubs, scale(n, out), n, pushed, held, gap, along, opposite_push

    return respond_to_shape


@shared(fastmath=STEADY)
def apply_reaction(
    frames: Frames, body_sweeps: BodySweeps, b: int, arm: Vector, multiplier: Vector, silent: Vector, rate: float
) -> None:
    """Apply the opposite of a push to a body at once.

    Args:
        frames: The frames; `x0` moves along with what brings no velocity.
        body_sweeps: Receives moments of the sweep and the length of the path.
        b: The frame.
        arm: From its origin to the point [m].
        multiplier: Push on the point [kg m].
        silent: How far the body moves without velocity [m].
        rate: 1 / h.
    """
    w = frames.inverse_mass[b]
    if w <= ZERO:
        return
    moment = cross(multiplier, arm)
    turned = symmetric_times(frames.inverse_inertia, b, moment)
    frames.x[b] = add(frames.x[b], sub(silent, scale(multiplier, w)))
    frames.x0[b] = add(frames.x0[b], silent)
    for c in range(3):
        frames.impulses[b, c] -= rate * (multiplier[0] if c == 0 else (multiplier[1] if c == 1 else multiplier[2]))
        frames.impulses[b, 3 + c] += rate * (moment[0] if c == 0 else (moment[1] if c == 1 else moment[2]))
    body_sweeps.torque[b] = add(body_sweeps.torque[b], scale(moment, rate))
    frames.q[b] = rotated_world_axes(frames.q[b], turned)
    body_sweeps.path[b, 0] += norm(silent) + w * norm(multiplier)
    body_sweeps.path[b, 1] += norm(turned)


@steady
def balance(frames, body_sweeps, b, silent, speed, rate):
    """Take from the spin of a body the angular momentum that comes in where an overlap goes out without velocity.

    What moves by s without velocity takes its momentum along, m s cross v. With S = m s of the point and S_b = m_b s_b
    against it of the body, both together gain S cross v - S_b cross v_b.

    Args:
        frames: The frames.
        body_sweeps: Moments of the impulses of this sweep; changed.
        b: The frame.
        silent: S and S_b [kg m]; they differ where the point lies on something.
        speed: Velocity of the point after the push [m/s].
        rate: 1 / h.
    """
    point, body = silent
    if frames.inverse_mass[b] > ZERO and max(abs(body[0]), max(abs(body[1]), abs(body[2]))) > ZERO:
        of_body = cross(body, scale(sub(frames.x[b], frames.x0[b]), rate))
        body_sweeps.torque[b] = sub(body_sweeps.torque[b], sub(cross(point, speed), of_body))


@steady
def follow(frames, body_sweeps, b, x, q):
    """Add the way of a frame to a pose to its path, and go on from there."""
    gone, turned = sub(x, body_sweeps.last_x[b]), rotation_vector_between(body_sweeps.last_q[b], q)
    body_sweeps.path[b, 0] += norm(gone)
    body_sweeps.path[b, 1] += norm(turned)
    body_sweeps.last_x[b], body_sweeps.last_q[b] = x, q


@kernel(fastmath=STEADY)
def follow_frame(b, frames: Frames, body_sweeps: BodySweeps, first: int):
    """Add what a frame has gone since it was seen last to its path; `first` in a substep, which begins elsewhere."""
    if first != 0:
        follow(frames, body_sweeps, b, frames.x0[b], frames.q0[b])
    follow(frames, body_sweeps, b, frames.x[b], frames.q[b])


@kernel(fastmath=STEADY)
def begin_body_sweep(b, frames: Frames, body_sweeps: BodySweeps):
    """Keep the quaternion of a frame before a sweep, and clear its sums."""
    follow(frames, body_sweeps, b, frames.x[b], frames.q[b])
    body_sweeps.before[b], body_sweeps.torque[b] = frames.q[b], (0.0, 0.0, 0.0)


@kernel(fastmath=STEADY)
def end_body_sweep(b, frames: Frames, body_sweeps: BodySweeps, h: float):
    """Turn a body by exactly what the moments of a sweep give to its angular momentum.

    In the sweep turns add up to first order; the path has them already.
    """
    moment = body_sweeps.torque[b]
    body_sweeps.last_x[b], body_sweeps.last_q[b] = frames.x[b], frames.q[b]
    if dot(moment, moment) > ZERO:
        frames.q[b] = turned_by_moment(frames, b, body_sweeps.before[b], moment, h)
        follow(frames, body_sweeps, b, frames.x[b], frames.q[b])


@steady
def move_by(frames, b, displacement, sign):
    """Move and turn a body."""
    d = displacement[b]
    turned = sign * d[3], sign * d[4], sign * d[5]
    frames.x[b] = add(frames.x[b], (sign * d[0], sign * d[1], sign * d[2]))
    if dot(turned, turned) > ZERO:
        frames.q[b] = rotated_world_axes(frames.q[b], turned)


@kernel(fastmath=STEADY)
def expect_response(b, frames: Frames, body_sweeps: BodySweeps):
    """Move a body as joints and contacts of bodies did in the last substep: they answer after the sweeps.

    Without it a light finger would give way to what it holds, and be put back by its joint: what it holds would slip by
    that much in each substep.
    """
    move_by(frames, b, body_sweeps.expected, 1.0)
    body_sweeps.response[b] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@kernel(fastmath=STEADY)
def withdraw_response(b, frames: Frames, body_sweeps: BodySweeps):
    """Move it back; joints and contacts of bodies are about to be solved."""
    move_by(frames, b, body_sweeps.expected, -1.0)


@kernel(fastmath=STEADY)
def note_pose(b, frames: Frames, body_sweeps: BodySweeps):
    """Keep the pose of a body after the sweeps."""
    body_sweeps.left_x[b], body_sweeps.left_q[b] = frames.x[b], frames.q[b]


@kernel(fastmath=STEADY)
def add_response(b, frames: Frames, body_sweeps: BodySweeps):
    """Add how far joints and contacts of bodies have moved a body since the sweeps."""
    d, gone = body_sweeps.response[b], sub(frames.x[b], body_sweeps.left_x[b])
    turned = rotation_vector_between(body_sweeps.left_q[b], frames.q[b])
    body_sweeps.response[b] = (
        d[0] + gone[0], d[1] + gone[1], d[2] + gone[2], d[3] + turned[0], d[4] + turned[1], d[5] + turned[2]
    )  # fmt: skip


@kernel(fastmath=STEADY)
def keep_response(b, body_sweeps: BodySweeps):
    """A substep ends: what answered the pushes that go on is expected again."""
    d, pushed = body_sweeps.response[b], body_sweeps.pushed[b]
    part = body_sweeps.kept[b] / pushed if pushed > ZERO else 1.0
    body_sweeps.expected[b] = part * d[0], part * d[1], part * d[2], part * d[3], part * d[4], part * d[5]
    body_sweeps.pushed[b] = body_sweeps.kept[b] = 0.0
