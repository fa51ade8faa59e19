"""A point of particles against a piece of a body: the push that stops the point at the surface, shared by both.

All as in `shinari.contact.solid.collide`, with the body as a solid that gives way. A push P [kg m] at an arm r from its
centre moves the body by P / m and turns it by I^-1 (r x P), so along a direction n the two yield by

    w = w_point + 1/m + (r x n) . I^-1 (r x n)

for each unit of P. The push along the normal adds up over a substep and never pulls; friction takes the slip away as
far as its share of that push allows (Coulomb, as a limit on the tangential push of the substep).

The arm is that of the point at the start of the substep. Velocities are (x - x0) / h, so what a push gives to the
angular momentum of a particle is x0 cross P / h; with this arm the body is given the exact opposite.
"""

from shinari.contact.solid.collide import into, touching_plane, turn
from shinari.maths.function import steady
from shinari.maths.quaternion import normalised, rotate, rotate_back
from shinari.maths.vec3 import ONE, ZERO, norm, reciprocal
from shinari.rigid.contact.vectors import add, cross, dot, scale, sub
from shinari.rigid.motion import mean_spin, quaternion, spin_of, symmetric_times, turn_between, turned_by, vector


@steady
def yielding(inverse_mass, inverse_inertia, b, r, n):
    """How far a body gives way along n at an arm r for each unit of push along n [1/kg]."""
    moment = cross(r, n)
    return inverse_mass[b] + dot(moment, symmetric_times(inverse_inertia, b, moment))


@steady
def into_piece(places, k, x, q, point):
    """A point of the world in the axes of piece k, whose frame is at x and turned by q."""
    return into(places[k], rotate_back(q, sub(point, x)))


@steady
def respond(
    distance_and_normal, kind, s, fields, places, k, pose, pose0, inverse_mass, inverse_inertia, b, start, now, reach,
    w, law, push, hold, ease, escape
):  # fmt: skip
    """The push of a piece on a point, in the world.

    Args:
        distance_and_normal: The function of the shapes.
        kind: Kind of the piece.
        s: Its numbers.
        fields: Distance fields of meshes.
        places: Poses of the pieces in the axes of their frames, (K, 12).
        k: The piece.
        pose: Origin and quaternion of the frame now.
        pose0: The same at the start of the substep.
        inverse_mass: Of the frames, (F,).
        inverse_inertia: Of the frames, (F, 6).
        b: The frame.
        start: The point at the start of the substep [m].
        now: The point now [m].
        reach: Distance that it keeps [m].
        w: Its inverse mass [1/kg].
        law: Friction, static friction, restitution and compliance of the pair.
        push: Push along the normal so far in this substep [kg m].
        hold: Push of friction so far [kg m].
        ease: 1 / h^2.
        escape: How far what was inside comes out at most [m].

    Returns:
        Whether it touches, the further push on the point [kg m], how far the two come apart without velocity [m], the
        normal, both pushes so far, and the gap at the start of the substep, or now when it does not touch.
    """
    zero = (now[0] - now[0], now[1] - now[1], now[2] - now[2])
    first, last = into_piece(places, k, pose0[0], pose0[1], start), into_piece(places, k, pose[0], pose[1], now)
    value, normal = distance_and_normal(kind, last, s, fields)
    gap_b = value - reach
    way = sub(last, first)
    if gap_b >= norm(way) and push <= ZERO:
        return False, zero, zero, zero, push, hold, gap_b
    n, depth, before = touching_plane(distance_and_normal, kind, s, fields, first, last, reach, gap_b, normal)
    if depth <= ZERO and push <= ZERO:
        return False, zero, zero, zero, push, hold, gap_b
    gap = max(dot(n, sub(first, last)) - depth, ZERO)
    n, way = rotate(pose[1], turn(places[k], n)), rotate(pose[1], turn(places[k], way))
    arm = sub(start, pose0[0])
    give = w + yielding(inverse_mass, inverse_inertia, b, arm, n)
    if not give > ZERO:
        return False, zero, zero, zero, push, hold, gap_b
    soft = law[3] * ease
    rigid = soft <= ZERO
    wanted = depth - before if rigid else depth - soft * push
    change = max(wanted / (give + soft), -push)
    pushed = push + change
    out = min(max(min(depth, before), ZERO), escape) if rigid else ZERO * depth
    slip = sub(way, scale(n, dot(n, way)))
    length = norm(slip)
    along = scale(slip, reciprocal(length))
    held = sub(hold, scale(slip, ONE / (w + yielding(inverse_mass, inverse_inertia, b, arm, along))))
    held = sub(held, scale(n, dot(n, held)))
    size = norm(held)
    held = scale(held, ONE if size <= law[1] * pushed else min(law[0] * pushed * reciprocal(size), ONE))
    return True, add(scale(n, change), sub(held, hold)), scale(n, out), n, pushed, held, gap


@steady
def write_memory(memory, m, push, hold, n, gap):
    """What a contact remembers of the substep; see `shinari.contact.solid.collide.MEMORY`."""
    memory[m, 0] = push
    memory[m, 1], memory[m, 2], memory[m, 3] = hold
    memory[m, 4], memory[m, 5], memory[m, 6] = n
    memory[m, 7] = gap


@steady
def give_back(x, q, x0, inverse_mass, inverse_inertia, impulses, torques, moved, b, arm, push, silent, rate):
    """Let the opposite of a push act on a body at once.

    Args:
        x: Origins of the frames [m], (F, 3).
        q: Their quaternions, (F, 4).
        x0: Origins at the start of the substep, (F, 3); they move along with what brings no velocity.
        inverse_mass: (F,).
        inverse_inertia: (F, 6).
        impulses: Sum of impulses and their moments over the step, (F, 6).
        torques: Moments of the impulses of this sweep [N m s], (F, 3).
        moved: How far each frame was moved [m] and turned [rad] in this sweep at most, (F, 2).
        b: The frame.
        arm: From its origin to the point [m].
        push: Push on the point [kg m].
        silent: How far the body moves without velocity [m].
        rate: 1 / h.
    """
    if inverse_mass[b] <= ZERO:
        return
    moment = cross(push, arm)
    turned = symmetric_times(inverse_inertia, b, moment)
    for c in range(3):
        x[b, c] += silent[c] - inverse_mass[b] * push[c]
        x0[b, c] += silent[c]
        impulses[b, c] -= rate * push[c]
        impulses[b, 3 + c] += rate * moment[c]
        torques[b, c] += rate * moment[c]
    here = turned_by(quaternion(q, b), turned)
    q[b, 0], q[b, 1], q[b, 2], q[b, 3] = here
    moved[b, 0] += norm(silent) + inverse_mass[b] * norm(push)
    moved[b, 1] += norm(turned)


@steady
def balance(torques, x, x0, inverse_mass, b, silent, speed, rate):
    """Take from the spin of a body the angular momentum that comes in where an overlap goes out without velocity.

    What moves by s without velocity takes its momentum along, m s cross v. With S = m s of the point, and the opposite
    of the body, both together gain S cross (v - v_b).

    Args:
        torques: Moments of the impulses of this sweep [N m s], (F, 3); changed.
        x: Origins of the frames [m], (F, 3).
        x0: Origins at the start of the substep, (F, 3).
        inverse_mass: (F,).
        b: The frame.
        silent: S of the point [kg m].
        speed: Its velocity after the push [m/s].
        rate: 1 / h.
    """
    if inverse_mass[b] > ZERO and max(abs(silent[0]), max(abs(silent[1]), abs(silent[2]))) > ZERO:
        gained = cross(silent, sub(speed, scale(sub(vector(x, b), vector(x0, b)), rate)))
        for c in range(3):
            torques[b, c] -= gained[c]


@steady
def begin_turns(before, q, torques, moved):
    """Keep the quaternions before a sweep, and clear its sums."""
    # number by number: assigning arrays as wholes takes seconds to compile
    for b in range(len(q)):
        moved[b, 0] = moved[b, 1] = ZERO
        for c in range(4):
            before[b, c] = q[b, c]
        for c in range(3):
            torques[b, c] = ZERO


@steady
def finish_turns(before, q, q0, moments, w, torques, h):
    """Turn bodies by exactly what the moments of a sweep give to their angular momenta.

    In the sweep turns add up to first order. What a turn adds to the angular momentum is counted from the pose that the
    body would have on its own, as in `shinari.rigid.motion.derive`.

    Args:
        before: Quaternions before the sweep, (F, 4).
        q: Quaternions after it; changed.
        q0: Quaternions at the start of the substep.
        moments: Principal moments, (F, 3).
        w: Angular velocities at the start of the substep, (F, 3).
        torques: Moments of the impulses of the sweep [N m s], (F, 3).
        h: Substep [s].
    """
    for b in range(len(torques)):
        moment = vector(torques, b)
        if dot(moment, moment) > ZERO:
            start = quaternion(q0, b)
            free = normalised(turned_by(start, scale(mean_spin(start, moments, b, vector(w, b), h), h)))
            way = turn_between(free, quaternion(before, b))
            way = add(way, scale(spin_of(free, moments, b, moment), h))
            q[b, 0], q[b, 1], q[b, 2], q[b, 3] = turned_by(free, way)
