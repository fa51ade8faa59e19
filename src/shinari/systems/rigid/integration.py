"""Integration of a rigid body in a substep: prediction, and the velocities that follow from the poses.

Without a torque the angular momentum L is constant in the world. The prediction is the midpoint rule that conserves it:
the body rotates by h W with W = I(q_mid)^-1 L at the midpoint q_mid, and ends with W = I(q)^-1 L. The rotation is exact
(exponential map), so that the quaternion keeps its length. The update of Mueller et al. 2020,
algorithm 2, treats the gyroscopic term explicitly and linearises the rotation; over ten seconds of a tumbling body
it loses several per cent of the energy and of |L|, this one none of |L|.

The solver changes the predicted pose; its rotation then adds to the momentum of the prediction.
"""

import math

import numpy as np

from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.quaternion import conjugate, exponential, multiply, rotate, rotate_back, rotation_rows
from shinari.maths.vec3 import add, cross, dot, norm, scale, sub
from shinari.model.particles import Clock
from shinari.systems.rigid.frames import Frames, KinematicFrames, Path, SolverFrames
from shinari.systems.rigid.progress import ExternalImpulses, Flags, NonFinite

MIDPOINTS = 12
# Squares of the relative error of the momentum at which the Newton steps end, and at which they have converged.
CLOSE, FOUND = 1e-26, 1e-12
# Determinant below which the slope counts as singular, over that without a turn.
SINGULAR = 0.1
HALF = 0.5
# Square of the sine of half an angle below which rotations are taken from series.
NEAR = 0.01
# Rotation in a substep [rad] above which a body that is stopped may gain no energy.
FAR_TURN = 1.0


@steady
def vector(a, i):
    """Row i of an array (N, 3 or more)."""
    return a[i, 0], a[i, 1], a[i, 2]


@steady
def symmetric_times(s, i, v):
    """Product of the symmetric matrix in row i (xx yy zz yz zx xy) and a vector."""
    return (
        s[i, 0] * v[0] + s[i, 5] * v[1] + s[i, 4] * v[2],
        s[i, 5] * v[0] + s[i, 1] * v[1] + s[i, 3] * v[2],
        s[i, 4] * v[0] + s[i, 3] * v[1] + s[i, 2] * v[2],
    )


@steady
def velocity_at(v, w, i, r):
    """Velocity of a frame at an arm from its origin."""
    return add(vector(v, i), cross(vector(w, i), r))


@steady
def logarithm(q):
    """Rotation vector of a unit quaternion, at most half a turn [rad]."""
    w, x, y, z = q
    sign = -1.0 if w < 0.0 else 1.0
    square = x * x + y * y + z * z
    if square < NEAR:
        s = 2.0 * sign * arc_over_sine(square)
    else:
        sine = math.sqrt(square)
        s = 2.0 * sign * math.atan2(sine, sign * w) / sine
    return s * x, s * y, s * z


@steady
def arc_over_sine(u):
    """Arcsine of s over s for u = s^2 below `NEAR`; the next term of the series is below 1e-17."""
    tail = 35.0 / 1152.0 + u * (63.0 / 2816.0 + u * (231.0 / 13312.0 + u * (143.0 / 10240.0)))
    return 1.0 + u * (1.0 / 6.0 + u * (3.0 / 40.0 + u * (5.0 / 112.0 + u * tail)))


@steady
def rotation_by(v):
    """The rotation by |v| about v [rad], by series for small angles; the next terms are below 1e-17."""
    u = 0.25 * dot(v, v)
    if u > NEAR:
        return exponential(v)
    c = 1.0 / 40320.0 - u * (1.0 / 3628800.0 - u * (1.0 / 479001600.0))
    c = 1.0 - u * (0.5 - u * (1.0 / 24.0 - u * (1.0 / 720.0 - u * c)))
    s = 1.0 / 362880.0 - u * (1.0 / 39916800.0)
    s = 0.5 * (1.0 - u * (1.0 / 6.0 - u * (1.0 / 120.0 - u * (1.0 / 5040.0 - u * s))))
    return c, s * v[0], s * v[1], s * v[2]


@steady
def is_round(moments, i):
    """Whether a body has the same inertia about all axes."""
    return moments[i, 0] == moments[i, 1] and moments[i, 1] == moments[i, 2]


@steady
def spin_of(q, moments, i, momentum):
    """Angular velocity, I^-1 L, in world axes."""
    if is_round(moments, i):
        return scale(momentum, 1.0 / moments[i, 0])
    local = rotate_back(q, momentum)
    return rotate(q, (local[0] / moments[i, 0], local[1] / moments[i, 1], local[2] / moments[i, 2]))


@steady
def momentum_of(q, moments, i, spin):
    """Angular momentum, I W, in world axes."""
    if is_round(moments, i):
        return scale(spin, moments[i, 0])
    local = rotate_back(q, spin)
    return rotate(q, (local[0] * moments[i, 0], local[1] * moments[i, 1], local[2] * moments[i, 2]))


@steady
def rotated_world_axes(q, v):
    """The frame q after the rotation vector v in world axes."""
    return multiply(rotation_by(v), q)


@steady
def rotation_vector_between(q0, q1):
    """Rotation vector in world axes from q0 to q1, at most half a turn."""
    return logarithm(multiply(q1, (q0[0], -q0[1], -q0[2], -q0[3])))


@steady
def restored(q):
    """A quaternion that differs from length one by rounding, brought back to it: a Newton step of 1 / |q|."""
    s = 1.5 - HALF * (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return s * q[0], s * q[1], s * q[2], s * q[3]


@steady
def moved_frame(q, v):
    """The unit quaternion q after the rotation vector v in world axes."""
    return restored(rotated_world_axes(q, v))


@steady
def half_turn(moments, i, spin, h):
    """Half of the rotation of a free body in a substep, in its axes at the start; whether it was found.

    With W at the midpoint the body sees the momentum S = exp(-v) L, v = h W / 2, so that W is the zero of
    F(W) = S - I W. Newton steps take the slope of F to the second order of v,

        -(I - h / 2 [S]x (1 - [v]x / 2)) = -(I - [a]x + (v a^T - (a . v) 1) / 2),    a = h / 2 S

    A plain iteration does not converge where the largest moment of inertia over the least times the turn is large.
    """
    x, y, z = moments[i]
    momentum, step = (x * spin[0], y * spin[1], z * spin[2]), HALF * h
    half, size, found, middle = (1.0, 0.0, 0.0, 0.0), dot(momentum, momentum), False, spin
    for _ in range(MIDPOINTS):
        half = rotation_by(scale(middle, step))
        seen = rotate_back(half, momentum)
        error = seen[0] - x * middle[0], seen[1] - y * middle[1], seen[2] - z * middle[2]
        square = dot(error, error)
        found = square <= FOUND * size
        if square <= CLOSE * size:
            break
        a, v = scale(seen, step), scale(middle, HALF * step)
        along = dot(a, v)
        first = x + v[0] * a[0] - along, a[2] + v[0] * a[1], v[0] * a[2] - a[1]
        second = v[1] * a[0] - a[2], y + v[1] * a[1] - along, a[0] + v[1] * a[2]
        third = a[1] + v[2] * a[0], v[2] * a[1] - a[0], z + v[2] * a[2] - along
        across = cross(second, third)
        determinant = dot(first, across)
        # of a turn that no substep resolves there may be no such W
        s = 1.0 / determinant if determinant > SINGULAR * x * y * z else 0.0
        change = add(scale(across, error[0]), scale(cross(third, first), error[1]))
        middle = add(middle, scale(add(change, scale(cross(first, second), error[2])), s))
    return half, found


@steady
def free_rotation(q, moments, i, spin, h):
    """Quaternion of a free body at the end of a substep, and whether its rotation was found."""
    if spin == (0.0, 0.0, 0.0):
        return q, True
    if is_round(moments, i):
        return moved_frame(q, scale(spin, h)), True
    half, found = half_turn(moments, i, rotate_back(q, spin), h)
    c, s = 2.0 * half[0] * half[0] - 1.0, 2.0 * half[0]
    return restored(multiply(q, (c, s * half[1], s * half[2], s * half[3]))), found


@steady
def turned_by_moment(frames, b, before, moment, h):
    """Quaternion of a frame with quaternion `before` after impulses of moments [N m s].

    The rotation adds exactly the impulse of the moments to the angular momentum, relative to the pose of free motion.
    """
    start = frames.q0[b]
    free = free_rotation(start, frames.moments, b, frames.w[b], h)[0]
    rotation = rotation_vector_between(free, before)
    return rotated_world_axes(free, add(rotation, scale(spin_of(free, frames.moments, b, moment), h)))


@steady
def free_motion(q, moments, i, spin, h):
    """Rotation and angular momentum of a free body at the end of a substep.

    The momentum is constant; where the midpoint iteration has not converged, it is reduced so that the energy does not
    grow.
    """
    free, found = free_rotation(q, moments, i, spin, h)
    momentum = momentum_of(q, moments, i, spin)
    if not found:
        before, after = dot(spin, momentum), dot(spin_of(free, moments, i, momentum), momentum)
        momentum = scale(momentum, math.sqrt(before / after) if after > before else 1.0)
    return free, momentum


@steady
def in_world_axes(q, diagonal):
    """A symmetric matrix in world axes, xx yy zz yz zx xy, that is diagonal in the axes of a frame."""
    a, b, c = diagonal
    if a == b and b == c:
        return a, a, a, 0.0, 0.0, 0.0
    u, v, w = rotation_rows(q)
    au, av, aw = (a * u[0], b * u[1], c * u[2]), (a * v[0], b * v[1], c * v[2]), (a * w[0], b * w[1], c * w[2])
    return dot(au, u), dot(av, v), dot(aw, w), dot(av, w), dot(aw, u), dot(au, v)


@steady
def write_inverse_inertia(inverse_inertia, inverse_mass, moments, q, i):
    """Inverse inertia in world axes, R diag(1 / moments) R^T."""
    if inverse_mass[i] > 0.0:
        inertia = moments[i]
        inverse_inertia[i] = in_world_axes(q[i], (1.0 / inertia[0], 1.0 / inertia[1], 1.0 / inertia[2]))


@steady
def is_free(frames, i):
    """Whether a frame moves by forces."""
    return frames.inverse_mass[i] > 0.0 and not frames.asleep[i]


@steady
def velocities_after(frames, solver_frames, i, h):
    """Velocity and angular velocity of a body from its poses at both ends of the substep.

    One that ends where it began has none: the rest of its free rotation is rounding.
    """
    moved, start, after = sub(frames.x[i], frames.x0[i]), frames.q0[i], frames.q[i]
    if moved == (0.0, 0.0, 0.0) and after == start:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    speed, free, momentum = scale(moved, 1.0 / h), solver_frames.free_q[i], solver_frames.momentum[i]
    rotation, moments = logarithm(multiply(conjugate(free), after)), scale(frames.moments[i], 1.0 / h)
    gain = rotation[0] * moments[0], rotation[1] * moments[1], rotation[2] * moments[2]
    momentum = add(momentum, rotate(free, gain))
    return speed, spin_of(after, frames.moments, i, momentum)


@kernel(fastmath=STEADY)
def start_substep(i, frames: Frames, solver_frames: SolverFrames, flags: Flags):
    """Store pose and velocity; a value that is not finite stops all bodies."""
    x, q, v, w = frames.x[i], frames.q[i], frames.v[i], frames.w[i]
    frames.x0[i], frames.q0[i], solver_frames.start_v[i], solver_frames.start_w[i] = x, q, v, w
    frames.stopped[i] = False
    total = x[0] + x[1] + x[2] + q[0] + q[1] + q[2] + q[3] + v[0] + v[1] + v[2] + w[0] + w[1] + w[2]
    if total - total != 0.0:
        flags.finite[0] = 0


@kernel(fastmath=STEADY)
def predict_body(
    i, frames: Frames, solver_frames: SolverFrames, gx: np.float64, gy: np.float64, gz: np.float64, h: np.float64
):  # fmt: skip
    """Predict the pose of a body after a substep; (gx, gy, gz) is the change of velocity by gravity.

    An immovable body moves with constant velocities.
    """
    solver_frames.slept[i] = frames.asleep[i]
    if frames.asleep[i]:
        # if it is woken within the substep, see `predict_woken`
        solver_frames.free_q[i], solver_frames.momentum[i] = frames.q[i], (0.0, 0.0, 0.0)
        return
    free, v, spin = frames.inverse_mass[i] > 0.0, frames.v[i], frames.w[i]
    if free:
        v = add(v, scale((gx, gy, gz), frames.gravity_scale[i]))
        frames.v[i] = v
    frames.x[i] = add(frames.x[i], scale(v, h))
    if free:
        frames.q[i], solver_frames.momentum[i] = free_motion(frames.q[i], frames.moments, i, spin, h)
        solver_frames.free_q[i] = frames.q[i]
    else:
        frames.q[i] = moved_frame(frames.q[i], scale(spin, h))
    write_inverse_inertia(frames.inverse_inertia, frames.inverse_mass, frames.moments, frames.q, i)


@kernel(fastmath=STEADY)
def predict_woken(
    i, frames: Frames, solver_frames: SolverFrames, gx: np.float64, gy: np.float64, gz: np.float64, h: np.float64
):  # fmt: skip
    """Predict the pose of a body that has slept until it was pushed in this substep: it falls as an awake one does."""
    if solver_frames.slept[i] and not frames.asleep[i]:
        solver_frames.slept[i] = False
        v = scale((gx, gy, gz), frames.gravity_scale[i])
        frames.v[i] = solver_frames.free_v[i] = v
        frames.x[i] = add(frames.x[i], scale(v, h))


@kernel(fastmath=STEADY)
def expect_kinematic_frame(d, kinematic: KinematicFrames, path: Path, frames: Frames, clock: Clock, h: np.float64):
    """Velocity of a kinematic frame in the substep that begins, where it is another one than before."""
    i, at = kinematic.frame[d], clock.substep[0] * len(kinematic) + d
    v = scale(sub(path.x[at], frames.x[i]), 1.0 / h)
    w = scale(rotation_vector_between(frames.q[i], path.q[at]), 1.0 / h)
    if norm(sub(v, frames.v[i])) > HALF * norm(v):
        frames.v[i] = v
    if norm(sub(w, frames.w[i])) > HALF * norm(w):
        frames.w[i] = w


@kernel(fastmath=STEADY)
def set_kinematic_frame(d, kinematic: KinematicFrames, path: Path, frames: Frames, clock: Clock, h: np.float64):
    """Set a kinematic frame to its pose at the end of the substep, with the velocities of that displacement."""
    i, at = kinematic.frame[d], clock.substep[0] * len(kinematic) + d
    frames.x[i], frames.q[i] = path.x[at], path.q[at]
    frames.v[i] = scale(sub(frames.x[i], frames.x0[i]), 1.0 / h)
    spin = frames.w[i]
    free = moved_frame(frames.q0[i], scale(spin, h))
    frames.w[i] = add(spin, scale(rotation_vector_between(free, frames.q[i]), 1.0 / h))


@kernel(fastmath=STEADY)
def store_predicted_velocity(i, frames: Frames, solver_frames: SolverFrames):
    """Store the predicted velocities and clear the displacement of the solution."""
    solver_frames.displacement[i] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    solver_frames.free_v[i], solver_frames.free_w[i] = frames.v[i], frames.w[i]


@kernel
def store_predicted_pose(i, frames: Frames, solver_frames: SolverFrames):
    """Store the pose from which a solution starts, without what solutions before it have moved in the substep.

    What they moved is in their forces, which are found anew: with it in the pose it would be in none.
    """
    d, q = solver_frames.displacement[i], frames.q[i]
    turn = d[3], d[4], d[5]
    solver_frames.predicted_x[i] = sub(frames.x[i], (d[0], d[1], d[2]))
    solver_frames.predicted_q[i] = rotated_world_axes(q, scale(turn, -1.0)) if dot(turn, turn) > 0.0 else q


@kernel
def restore_start_velocity(i, frames: Frames, solver_frames: SolverFrames):
    """Restore the velocity at the start of the substep, and store the present one."""
    solver_frames.final_v[i], solver_frames.final_w[i] = frames.v[i], frames.w[i]
    frames.v[i], frames.w[i] = solver_frames.start_v[i], solver_frames.start_w[i]


@kernel
def restore_final_velocity(i, frames: Frames, solver_frames: SolverFrames):
    """Undo `restore_start_velocity`."""
    frames.v[i], frames.w[i] = solver_frames.final_v[i], solver_frames.final_w[i]


@kernel
def restore_start_pose(i, frames: Frames):
    """Restore the pose at the start of the substep."""
    frames.x[i], frames.q[i] = frames.x0[i], frames.q0[i]


@kernel
def restore_predicted_pose(i, frames: Frames, solver_frames: SolverFrames):
    """Restore the pose that was stored."""
    frames.x[i], frames.q[i] = solver_frames.predicted_x[i], solver_frames.predicted_q[i]
    solver_frames.displacement[i] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


@kernel(fastmath=STEADY)
def update_inertia(i, frames: Frames):
    """Inverse inertia of a frame in world axes."""
    write_inverse_inertia(frames.inverse_inertia, frames.inverse_mass, frames.moments, frames.q, i)


@steady
def kinetic_energy(frames, i, v, w, q):
    """Kinetic energy of a free body with quaternion q [J]."""
    return HALF * (dot(v, v) / frames.inverse_mass[i] + dot(w, momentum_of(q, frames.moments, i, w)))


@steady
def bounded_spin(frames, solver_frames, i, v, w, h):
    """Angular velocity of a body that was stopped at something that stands: it gains no energy there.

    Where it turns far in a substep, whole turns are lost between the poses: what they seem to have changed is no force.
    """
    start = solver_frames.start_w[i]
    if norm(start) * h <= FAR_TURN:
        return w
    none = (0.0, 0.0, 0.0)
    most = kinetic_energy(frames, i, solver_frames.free_v[i], start, frames.q0[i])
    room = max(most - kinetic_energy(frames, i, v, none, frames.q[i]), 0.0)
    own = kinetic_energy(frames, i, none, w, frames.q[i])
    return scale(w, np.sqrt(room / own)) if own > room else w


@kernel(fastmath=STEADY)
def derive_velocities(i, frames: Frames, solver_frames: SolverFrames, h: np.float64, decay: np.float64):
    """Velocities of a body from its poses at both ends of the substep, and their damping."""
    if is_free(frames, i):
        v, w = velocities_after(frames, solver_frames, i, h)
        if frames.stopped[i]:
            w = bounded_spin(frames, solver_frames, i, v, w, h)
        frames.v[i], frames.w[i] = scale(v, decay), scale(w, decay)


@kernel(fastmath=STEADY, in_order=True)
def compare_impulses(_, frames: Frames, external: ExternalImpulses, flags: Flags):
    """Decide whether external impulses have changed since the last solution."""
    total = 0.0
    for i in range(len(frames)):
        a = frames.impulses[i]
        total += abs(a[0]) + abs(a[1]) + abs(a[2]) + abs(a[3]) + abs(a[4]) + abs(a[5])
    flags.again[0] = 1 if total != external.total[0] else 0
    external.total[0] = total


def as_frame(position: np.ndarray, rotation: np.ndarray, centre: np.ndarray, axes: np.ndarray) -> tuple:
    """Origin and quaternion of the frame of a body from the pose of the body as described."""
    return position + np.array(rotate(tuple(rotation), tuple(centre))), np.array(multiply(tuple(rotation), tuple(axes)))


@kernel
def find_non_finite(_, frames: Frames, flags: Flags, non_finite: NonFinite, count: int):
    """Find the first non-finite pose or velocity among `count` frames."""
    total = 0.0
    for b in range(count):
        x, q, v, w = frames.x[b], frames.q[b], frames.v[b], frames.w[b]
        total += x[0] + x[1] + x[2] + q[0] + q[1] + q[2] + q[3] + v[0] + v[1] + v[2] + w[0] + w[1] + w[2]
    non_finite.flag[0] = flags.finite[0] == 0 or not abs(total) < np.inf
