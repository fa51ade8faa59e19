"""Zones: particles and bodies whose paths meet go on as one from the time of the impact.

Up to the first impact of a zone everything goes along its own path. From then on a zone moves rigidly, with the mean
and the spin of what was left of its displacements, weighted by mass, as after an inelastic impact: momentum and angular
momentum are those of the displacements, and kinetic energy only falls (Provot 1997, Collision and self-collision
handling in cloth model dedicated to design garments; Bridson et al. 2002, section 7.4; bodies take part with mass and
inertia). A zone with something that does not give way, such as a pinned particle, a collider or a body with a motion,
is carried along by that.
"""

import numpy as np

from shinari.compute import convert, kernel, scratch
from shinari.compute.kernels import STEADY
from shinari.maths.eigen import eigen
from shinari.maths.function import steady
from shinari.maths.poses import to_local, to_world
from shinari.maths.quaternion import conjugate, exponential, multiply, normalised, rotate, rotate_back
from shinari.maths.symmetric import plus, times
from shinari.maths.union_find import root, unite
from shinari.maths.vec3 import ONE, ZERO, add, cross, norm, scale, sub
from shinari.model.particles import Origins, Particles
from shinari.systems.colliders.records import Poses
from shinari.systems.paths.records import Begins, PathState, Zones
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import rotation_vector_between

# Eigenvalues of an inertia below this part of the largest count as zero.
SINGULAR = 1e-9
# A zone turns by at most so much in a substep [rad]: what it turns from then on is no path that a straight one is like.
MOST_TURN = 0.8
HALF = 0.5
# A turned zone may meet again what it has left. Rotations are halved after so many turns, so that this comes to an end.
PATIENT = 10


@steady
def join(zones, i, j, time):
    """Join the zones of two nodes whose paths meet at a time."""
    low, high = unite(zones.name, i, j)
    zones.time[low] = min(min(zones.time[low], zones.time[high]), time)
    zones.whole[low] = zones.whole[low] or zones.whole[high] or time <= 0.0


@kernel
def begin_zones(_, zones: Zones, state: PathState):
    """Nothing is joined when the first zones of a substep are made; times are those of the paths of now."""
    for i in range(len(zones)):
        if state.joined[0] == 0:
            zones.name[i], zones.whole[i] = i, False
        zones.time[i] = 1.0
    state.joined[0] = 1


@steady
def double(a):
    """The first three numbers of a row in float64."""
    return np.float64(a[0]), np.float64(a[1]), np.float64(a[2])


@steady
def between(begin, end, time):
    """A point on a straight path."""
    return add(scale(begin, ONE - time), scale(end, time))


@steady
def turned_part(q0, q, time):
    """Quaternion at a time on the shortest way from q0 to q."""
    return normalised(multiply(exponential(scale(rotation_vector_between(q0, q), time)), q0))


@steady
def inertia_of(frames, f, q):
    """Inertia of a body with quaternion q in world axes."""
    a, b, c = frames.moments[f]
    x, y, z = rotate(q, (1.0, 0.0, 0.0)), rotate(q, (0.0, 1.0, 0.0)), rotate(q, (0.0, 0.0, 1.0))
    return (
        a * x[0] * x[0] + b * y[0] * y[0] + c * z[0] * z[0],
        a * x[1] * x[1] + b * y[1] * y[1] + c * z[1] * z[1],
        a * x[2] * x[2] + b * y[2] * y[2] + c * z[2] * z[2],
        a * x[1] * x[2] + b * y[1] * y[2] + c * z[1] * z[2],
        a * x[0] * x[2] + b * y[0] * y[2] + c * z[0] * z[2],
        a * x[0] * x[1] + b * y[0] * y[1] + c * z[0] * z[1],
    )


@steady
def gives_way(i, particles, frames):
    """Whether a node moves by forces."""
    count = len(particles)
    if i < count:
        return particles.x[i, 3] > ZERO
    f = i - count
    return f < len(frames) and frames.inverse_mass[f] > ZERO and not frames.asleep[f]


@steady
def path_of(i, particles, origins, begins, frames):
    """Where a particle or a frame begins and ends, in the world."""
    count = len(particles)
    if i < count:
        at = origins.position[particles.origin_index[i]]
        return add(at, double(begins.x[i])), add(at, double(particles.x[i]))
    return frames.begin_x[i - count], frames.x[i - count]


@steady
def pose_change(poses, k):
    """How much the pose of collider k changes: 0 where it stands."""
    total = 0.0
    for c in range(12):
        total += abs(np.float64(poses.after[k, c]) - np.float64(poses.before[k, c]))
    return total


@steady
def pose_row(pose):
    """A pose in float64."""
    return (
        np.float64(pose[0]), np.float64(pose[1]), np.float64(pose[2]), np.float64(pose[3]), np.float64(pose[4]),
        np.float64(pose[5]), np.float64(pose[6]), np.float64(pose[7]), np.float64(pose[8]), np.float64(pose[9]),
        np.float64(pose[10]), np.float64(pose[11]),
    )  # fmt: skip


@kernel
def number_zones(_, zones: Zones):
    """Number of nodes of each zone; its sums are zero."""
    for i in range(len(zones)):
        zones.size[i], zones.anchor[i], zones.reach[i], zones.mass[i] = 0, -1, -1.0, 0.0
        zones.centre[i] = zones.mean[i] = zones.spin[i] = zones.angle[i] = 0.0, 0.0, 0.0
        zones.inertia[i] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(zones)):
        name = root(zones.name, i)
        zones.name[i] = name
        zones.size[name] += 1
        if zones.whole[name] and zones.time[name] < 1.0:
            zones.time[name] = 0.0


@steady
def moves_as_one(zones, z):
    """Whether a zone has more than one node, whose paths meet."""
    return zones.size[z] >= 2 and zones.time[z] < ONE


@steady
def mass_of(i, particles, frames):
    """Mass of a node that gives way [kg]."""
    count = len(particles)
    return 1.0 / (np.float64(particles.x[i, 3]) if i < count else frames.inverse_mass[i - count])


@steady
def anchor_reach(i, particles, origins, begins, frames, poses):
    """How far a node goes that does not give way [m]; of two the one that goes farther carries the zone."""
    count = len(particles)
    if i >= count + len(frames):
        return 1e-9 + pose_change(poses, i - count - len(frames))
    begin, end = path_of(i, particles, origins, begins, frames)
    far = norm(sub(end, begin))
    if i >= count:
        # a frame says where everything goes, a particle only how far
        far += 1e-9 + norm(rotation_vector_between(frames.begin_q[i - count], frames.q[i - count]))
    return far


@kernel(fastmath=STEADY, mixed=True)
def sum_zones(
    _, zones: Zones, particles: Particles, origins: Origins, begins: Begins, frames: Frames, poses: Poses
):  # fmt: skip
    """Mass, centre, mean displacement and anchor of each zone."""
    for i in range(len(zones)):
        z = zones.name[i]
        if not moves_as_one(zones, z):
            continue
        if gives_way(i, particles, frames):
            begin, end = path_of(i, particles, origins, begins, frames)
            mass = mass_of(i, particles, frames)
            zones.mass[z] += mass
            zones.centre[z] = add(zones.centre[z], scale(between(begin, end, zones.time[z]), mass))
            zones.mean[z] = add(zones.mean[z], scale(sub(end, begin), (ONE - zones.time[z]) * mass))
        else:
            far = anchor_reach(i, particles, origins, begins, frames, poses)
            if far > zones.reach[z]:
                zones.anchor[z], zones.reach[z] = i, far
    for z in range(len(zones)):
        if zones.mass[z] > ZERO:
            zones.centre[z] = scale(zones.centre[z], 1.0 / zones.mass[z])
            zones.mean[z] = scale(zones.mean[z], 1.0 / zones.mass[z])


@steady
def point_inertia(mass, arm):
    """Inertia of a point."""
    x, y, z = arm
    return (
        mass * (y * y + z * z), mass * (x * x + z * z), mass * (x * x + y * y),
        -mass * y * z, -mass * x * z, -mass * x * y,
    )  # fmt: skip


@kernel(fastmath=STEADY, mixed=True)
def turn_zones(
    _, zones: Zones, particles: Particles, origins: Origins, begins: Begins, frames: Frames, state: PathState
):  # fmt: skip
    """Rotation of each zone that nothing holds."""
    count = len(particles)
    for i in range(len(zones)):
        z = zones.name[i]
        if not moves_as_one(zones, z) or zones.anchor[z] >= 0:
            continue
        begin, end = path_of(i, particles, origins, begins, frames)
        mass, rest = mass_of(i, particles, frames), ONE - zones.time[z]
        arm = sub(between(begin, end, zones.time[z]), zones.centre[z])
        spin = scale(cross(arm, sub(scale(sub(end, begin), rest), zones.mean[z])), mass)
        zones.inertia[z] = plus(zones.inertia[z], point_inertia(mass, arm))
        if i >= count:
            f = i - count
            own = inertia_of(frames, f, turned_part(frames.begin_q[f], frames.q[f], zones.time[z]))
            turn = scale(rotation_vector_between(frames.begin_q[f], frames.q[f]), rest)
            spin = add(spin, times(own, turn))
            zones.inertia[z] = plus(zones.inertia[z], own)
        zones.spin[z] = add(zones.spin[z], spin)
    part = HALF ** max(state.turn[0] - PATIENT, 0)
    for z in range(len(zones)):
        if moves_as_one(zones, z) and zones.anchor[z] < 0:
            a = zones.inertia[z]
            angle = solve_singular(a[0], a[1], a[2], a[3], a[4], a[5], zones.spin[z])
            size = norm(angle)
            zones.angle[z] = scale(angle, part * min(1.0, MOST_TURN / size) if size > 0.0 else 0.0)


@steady
def carried(x, now, f, frames, time):
    """Where a point ends that is fixed to a frame from a time on, in the axes of which it goes straight until then."""
    begin = rotate_back(frames.begin_q[f], sub(x, frames.begin_x[f]))
    end = rotate_back(frames.q[f], sub(now, frames.x[f]))
    return add(frames.x[f], rotate(frames.q[f], between(begin, end, time)))


@steady
def turned_along(q0, q, f, frames, time):
    """Quaternion at the end of a body that is fixed to a frame from a time on."""
    begin = multiply(conjugate(frames.begin_q[f]), q0)
    end = multiply(conjugate(frames.q[f]), q)
    return normalised(multiply(frames.q[f], turned_part(begin, end, time)))


@steady
def stands(a, frames, poses):
    """Whether frame a, or the collider after the frames, does not move in the substep; not a particle."""
    if a >= len(frames):
        return pose_change(poses, a - len(frames)) == 0.0
    return a >= 0 and frames.begin_x[a] == frames.x[a] and frames.begin_q[a] == frames.q[a]


@kernel(fastmath=STEADY, mixed=True)
def move_zone_node(
    i, zones: Zones, particles: Particles, origins: Origins, begins: Begins, frames: Frames,
    poses: Poses
):  # fmt: skip
    """Move a node of a zone as one with the others."""
    z, count = zones.name[i], len(particles)
    time, anchor = zones.time[z], zones.anchor[z]
    if not (moves_as_one(zones, z) and gives_way(i, particles, frames)):
        return
    begin, end = path_of(i, particles, origins, begins, frames)
    here = between(begin, end, time)
    if anchor >= count + len(frames):
        k, home = anchor - count - len(frames), origins.position[0]
        before, after = pose_row(poses.before[k]), pose_row(poses.after[k])
        local = between(to_local(before, sub(begin, home)), to_local(after, sub(end, home)), time)
        here = add(home, to_world(after, local))
    elif anchor >= count:
        here = carried(begin, end, anchor - count, frames, time)
    elif anchor >= 0:
        first, last = path_of(anchor, particles, origins, begins, frames)
        here = add(here, scale(sub(last, first), ONE - time))
    else:
        turn = exponential(zones.angle[z])
        here = add(add(zones.centre[z], zones.mean[z]), rotate(turn, sub(here, zones.centre[z])))
    if i < count:
        at, like = sub(here, origins.position[particles.origin_index[i]]), particles.x[i, 3]
        particles.x[i] = convert(at[0], like), convert(at[1], like), convert(at[2], like), like
        return
    f = i - count
    q = turned_part(frames.begin_q[f], frames.q[f], time)
    if count <= anchor < count + len(frames):
        q = turned_along(frames.begin_q[f], frames.q[f], anchor - count, frames, time)
    elif anchor < 0:
        q = normalised(multiply(exponential(zones.angle[z]), q))
    frames.x[f], frames.q[f] = here, q
    frames.stopped[f] = frames.stopped[f] or stands(anchor - count, frames, poses)


@steady
def solve_singular(xx, yy, zz, yz, xz, xy, b):
    """Least solution of H w = b for a symmetric matrix H, which may be singular."""
    h, v = scratch((3, 3), 0.0), scratch((3, 3), 0.0)
    h[0, 0], h[1, 1], h[2, 2] = xx, yy, zz
    h[1, 2] = h[2, 1] = yz
    h[0, 2] = h[2, 0] = xz
    h[0, 1] = h[1, 0] = xy
    eigen(h, v)
    least = SINGULAR * max(abs(h[0, 0]), max(abs(h[1, 1]), abs(h[2, 2])))
    w0, w1, w2 = 0.0, 0.0, 0.0
    for k in range(3):
        part = v[0, k] * b[0] + v[1, k] * b[1] + v[2, k] * b[2]
        part = part / h[k, k] if abs(h[k, k]) > least else 0.0
        w0, w1, w2 = w0 + part * v[0, k], w1 + part * v[1, k], w2 + part * v[2, k]
    return w0, w1, w2
