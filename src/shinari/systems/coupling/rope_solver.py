r"""Newton steps of a rope that carries bodies: all of its rows at once, in linear time.

       p - o - o - o - o         o  points of the rope, of mass m
       K0  K1  K2  K3   \         p  a point that something holds
                         [ ]     a body of mass M >> m, attached to the last point

A sweep moves the light point beside the load by what stretches its row, and the load by m / M of that. So a load of
1,000 times a point needs a thousand sweeps. Here a substep minimises

    E(x) = 1/2 (x - x*)^T M (x - x*) + sum_j (1/2 s_j C_j^2 - f_j . (x_i - x_k))     C_j = |x_i - x_k| - L_j

whose minimum is the implicit Euler step of springs (Gast, Schroeder, Stomakhin, Jiang and Teran 2015, Optimization
Integrator for Large Time Steps): x* is where the points are without it, s_j a stiffness times h^2 [kg], f_j the pull
that the row has given in this substep already [kg m]. Newton steps solve

    (M + sum_j K_j) dx = -grad E        K_j = s_j n n^T + max(s_j C_j, 0) / l_j (1 - n n^T)

by blocks of three along the rope. The second part is the stiffness of a taut string against sideways motion. Without it
points of a rope under tension T are thrown sideways as soon as h^2 > m l / T; a pushed row has none, so that the matrix
is positive. A step is halved until E falls as it should (Armijo).

A point with a body has the mass of both: m + W^-1, where W is the displacement of the place on the body by a unit push.
"""

import numpy as np

from shinari.compute import Field, Record, convert, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.symmetric import inverse, isotropic, mixed, outer, plus, scaled, times
from shinari.maths.vec3 import ONE, ZERO, add, direction_and_length, dot, norm, scale, sub
from shinari.model.particles import Origins, Particles
from shinari.systems.colliders.collide import place, previous_position
from shinari.systems.coupling.attachment_rows import AttachmentRows
from shinari.systems.coupling.records import BodySweeps
from shinari.systems.coupling.response import apply_reaction
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.sweep_rows import mobility_at
from shinari.systems.rows.row_access import Multipliers, Parameters

# Newton steps at most, and the longest one, in lengths of a segment, after which there is no further one: what it
# leaves is of second order. With 1e-3 they take twice the time, with 5e-2 ropes that fall in coils gain energy.
STEPS, SHORT = 40, 1e-2
# A step is halved up to so often, until E falls by this part of what its slope promises.
HALVINGS, ENOUGH = 10, 1e-4


class Ropes(Record):
    """Ropes that carry bodies, R rows."""

    begin = Field(np.int64, doc="its first point")
    end = Field(np.int64, doc="behind its last point")
    object = Field(np.int64, doc="its number among the objects")


class StoredEnergy(Record):
    """Objects, T rows."""

    energy = Field(np.float64, unit="J", doc="elastic energy of segments whose material does not give")


class RopePoints(Record):
    """Points of these ropes, each with the segment to the next one, P rows; the last point of a rope has none."""

    particle = Field(np.int64)
    attachment = Field(np.int64, doc="row that attaches it to a body; -1: none")
    row = Field(np.int64, doc="distance row of its segment")
    stretching = Field(np.float64, unit="kg", doc="s where the segment is stretched")
    pressing = Field(np.float64, unit="kg", doc="s where it is pressed; 0: it is slack then")
    stores = Field(np.bool_, 2, doc="whether its stretch and its pressure count as elastic energy here")
    left = Field(np.float64, 3, unit="m", doc="where its particle was left")
    given = Field(np.float64, 3, unit="kg m", doc="f: pull of the segment in this substep, from the next point")
    tension = Field(np.float64, unit="kg m", doc="the same as a number, negative where it is pressed")
    start = Field(np.float64, 3, unit="m", doc="x*")
    moved = Field(np.float64, 3, unit="m", doc="x - x*")
    step = Field(np.float64, 3, unit="m", doc="dx")
    mass = Field(np.float64, 6, unit="kg", doc="M of the point with its body, symmetric")
    held = Field(np.bool_, doc="whether nothing moves it")
    own = Field(np.float64, 6, unit="1/kg", doc="inverse of its block once the points before are eliminated")
    normal = Field(np.float64, 3, doc="direction of its segment, from the next point")
    along = Field(np.float64, unit="kg", doc="K along the segment")
    across = Field(np.float64, unit="kg", doc="K across it")
    rest = Field(np.float64, unit="m", doc="L")


@steady
def inverse_mobility(frames, b, arm):
    """Mass that a body has at an arm, as a symmetric matrix."""
    return inverse(mobility_at(frames.inverse_inertia[b], frames.inverse_mass[b], arm))


@steady
def is_left(begin, end, points, particles):
    """Whether nothing has moved a rope since it was solved."""
    for k in range(begin, end):
        d = sub(place(particles.x, points.particle[k]), points.left[k])
        if dot(d, d) > ZERO:
            return False
    return True


@steady
def begin_point(k, points, particles, origins, frames, attachments, parameters, h):
    """Read a point, the mass that it moves, and the length of its segment."""
    i = points.particle[k]
    points.start[k], points.moved[k] = place(particles.x, i), (0.0, 0.0, 0.0)
    points.rest[k] = np.float64(parameters.value[points.row[k]]) if points.row[k] >= 0 else 0.0
    w, m = np.float64(particles.x[i, 3]), points.attachment[k]
    points.held[k] = not w > ZERO
    points.mass[k] = isotropic(ONE / w if w > ZERO else ZERO)
    if w > ZERO and m >= 0 and not attachments.broken[m]:
        b = attachments.body[m]
        if frames.inverse_mass[b] > ZERO:
            body = inverse_mobility(frames, b, arm_of(i, b, particles, origins, frames, h))
            points.mass[k] = plus(points.mass[k], body)
        else:
            points.held[k] = True


@steady
def arm_of(i, b, particles, origins, frames, h):
    """Arm at which a push on an attached particle acts on its body: that of the start of the substep."""
    origin = origins.position[particles.origin_index[i]]
    return sub(add(origin, previous_position(particles.x, particles.predicted, particles.v, h, i)), frames.x0[b])


@steady
def stiffness_of(k, stretch, points):
    """Stiffness of a segment that is so much too long."""
    return points.stretching[k] if stretch > ZERO else points.pressing[k]


@steady
def segment(k, points):
    """Vector of a segment, from its next point."""
    return sub(add(points.start[k], points.moved[k]), add(points.start[k + 1], points.moved[k + 1]))


@steady
def energy_after(begin, end, part, points):
    """E after a part of the step."""
    total = 0.0
    for k in range(begin, end):
        if not points.held[k]:
            moved = add(points.moved[k], scale(points.step[k], part))
            total += 0.5 * dot(moved, times(points.mass[k], moved))
        if k + 1 < end:
            d = add(segment(k, points), scale(sub(points.step[k], points.step[k + 1]), part))
            stretch = norm(d) - points.rest[k]
            total += 0.5 * stiffness_of(k, stretch, points) * stretch * stretch - dot(points.given[k], d)
    return total


@steady
def eliminate(begin, end, points):
    """Write -grad E into the steps, and eliminate the points one after the other."""
    before = (0.0, 0.0, 0.0)
    for k in range(begin, end):
        push, block = before, points.mass[k]
        if k > begin:
            block = plus(block, coupling(k - 1, points))
        if k + 1 < end:
            before = pull_now(k, points)
            block, push = plus(block, coupling(k, points)), sub(push, before)
        points.own[k], points.step[k] = isotropic(0.0), (0.0, 0.0, 0.0)
        if not points.held[k]:
            push = sub(push, times(points.mass[k], points.moved[k]))
            if k > begin:
                block, push = without_last(k, block, push, points)
            points.own[k], points.step[k] = inverse(block), push


@steady
def pull_now(k, points):
    """Find direction and stiffness of a segment, and what it pulls beyond what it has given."""
    n, length = direction_and_length(segment(k, points))
    stretch = length - points.rest[k]
    s = stiffness_of(k, stretch, points)
    points.normal[k], points.along[k] = n, s
    points.across[k] = s * stretch / length if stretch > ZERO and length > ZERO else 0.0
    return sub(scale(n, s * stretch), points.given[k])


@steady
def coupling(k, points):
    """K of a segment."""
    return plus(isotropic(points.across[k]), outer(points.normal[k], points.along[k] - points.across[k]))


@steady
def carried(k, v, points):
    """K v of a segment."""
    n, across = points.normal[k], points.across[k]
    return add(scale(v, across), scale(n, (points.along[k] - across) * dot(n, v)))


@steady
def without_last(k, block, push, points):
    """Block and push of a point once the point before it is eliminated: less K D K, and with K D push of that."""
    n, g, d = points.normal[k - 1], points.across[k - 1], points.own[k - 1]
    more, u = points.along[k - 1] - g, times(d, n)
    block = plus(block, scaled(d, -g * g))
    block = plus(plus(block, outer(n, -more * more * dot(n, u))), scaled(mixed(n, u), -g * more))
    return block, add(push, carried(k - 1, times(d, points.step[k - 1]), points))


@steady
def substitute(begin, end, points):
    """Find the steps from the last point back; returns their slope of E, negative."""
    slope = 0.0
    for k in range(end - 1, begin - 1, -1):
        if k + 1 < end:
            points.step[k] = add(points.step[k], carried(k, points.step[k + 1], points))
        points.step[k] = times(points.own[k], points.step[k])
    for k in range(begin, end):
        if not points.held[k]:
            slope += dot(points.step[k], times(points.mass[k], points.moved[k]))
        if k + 1 < end:
            slope += dot(pull_now(k, points), sub(points.step[k], points.step[k + 1]))
    return slope


@steady
def take_step(begin, end, points):
    """Go along the steps as far as E falls; returns whether there should be another one."""
    slope, before, part = substitute(begin, end, points), energy_after(begin, end, 0.0, points), ONE
    for _ in range(HALVINGS):
        if energy_after(begin, end, part, points) <= before + ENOUGH * part * slope:
            break
        part *= 0.5
    far, short = part < ONE, SHORT * points.rest[begin]
    for k in range(begin, end):
        points.moved[k] = add(points.moved[k], scale(points.step[k], part))
        short = min(short, SHORT * points.rest[k]) if k + 1 < end else short
        far = far or norm(points.step[k]) > short
    return far


@kernel(fastmath=STEADY, mixed=True)
def solve_ropes(
    _,
    ropes: Ropes,
    points: RopePoints,
    particles: Particles,
    origins: Origins,
    frames: Frames,
    body_sweeps: BodySweeps,
    attachments: AttachmentRows,
    parameters: Parameters,
    stored: StoredEnergy,
    first: np.int64,
    h: float,
):
    """Solve all ropes once, one after the other, since they may share bodies; `first` in a new substep."""
    for r in range(len(ropes)):
        begin, end = ropes.begin[r], ropes.end[r]
        if first == 0 and is_left(begin, end, points, particles):
            continue
        for k in range(begin, end):
            if first != 0:
                points.given[k] = 0.0, 0.0, 0.0
            begin_point(k, points, particles, origins, frames, attachments, parameters, h)
        for _step in range(STEPS):
            eliminate(begin, end, points)
            if not take_step(begin, end, points):
                break
        total = 0.0
        for k in range(begin, end):
            total += end_point(k, end, points, particles, origins, frames, body_sweeps, attachments, h)
        stored.energy[ropes.object[r]] = total / (h * h)


@steady
def end_point(k, end, points, particles, origins, frames, body_sweeps, attachments, h):
    """Move a point, and the body that is attached to it; keep the pull of its segment, and tell what it stores."""
    i, m, moved, stored = points.particle[k], points.attachment[k], points.moved[k], 0.0
    if k + 1 < end:
        n, length = direction_and_length(segment(k, points))
        stretch = length - points.rest[k]
        points.tension[k] = stiffness_of(k, stretch, points) * stretch
        stored = 0.5 * points.tension[k] * stretch if points.stores[k, 0 if stretch > ZERO else 1] else 0.0
        points.given[k] = scale(n, points.tension[k])
    if not points.held[k]:
        x, w = add(points.start[k], moved), particles.x[i, 3]
        particles.x[i] = convert(x[0], w), convert(x[1], w), convert(x[2], w), w
        if m >= 0 and not attachments.broken[m]:
            b = attachments.body[m]
            arm = arm_of(i, b, particles, origins, frames, h)
            push = scale(times(inverse_mobility(frames, b, arm), moved), -1.0)
            apply_reaction(frames, body_sweeps, b, arm, push, (0.0, 0.0, 0.0), ONE / h)
            attachments.multiplier[m] = add(attachments.multiplier[m], push)
    points.left[k] = place(particles.x, i)
    return stored


@kernel(mixed=True)
def tell_pull(k, points: RopePoints, multipliers: Multipliers):
    """Write the multiplier of the row of a segment, for those who ask for its force."""
    r = points.row[k]
    if r >= 0:
        multipliers.value[r] = convert(-points.tension[k], multipliers.value[r])
