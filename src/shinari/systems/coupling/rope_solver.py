r"""Newton steps of ropes that are tied to each other and carry loads: all of their rows at once.

       p - o - o - o - o         o  points of a rope, of mass m
       K0  K1  K2 \K3   \         p  a point that something holds
                   o     [ ]     a body of mass M >> m, attached to the last point
                    \
                     O           a heavy particle at the end of another rope, tied to the first one

A sweep moves the light point next to a load by what stretches its row, and the load by m / M of that. So a load of
1,000 times a point needs a thousand sweeps. Here a substep minimises

    E(x) = 1/2 (x - x*)^T M (x - x*) + sum_j (1/2 s_j C_j^2 - f_j . (x_i - x_k))     C_j = |x_i - x_k| - L_j

whose minimum is the implicit Euler step of springs (Gast, Schroeder, Stomakhin, Jiang and Teran 2015, Optimization
Integrator for Large Time Steps): x* is where the points are without it, s_j a stiffness times h^2 [kg], f_j the pull
that the row has given in this substep already [kg m]. Newton steps solve

    (M + sum_j K_j) dx = -grad E        K_j = s_j n n^T + max(s_j C_j, 0) / l_j (1 - n n^T)

by elimination in blocks of three, see `block_elimination`. The second part is the stiffness of a taut string against
sideways motion. Without it points of a rope under tension T are thrown sideways as soon as h^2 > m l / T; a pushed row
has none, so that the matrix is positive. A step is halved until E falls as it should (Armijo).

A point with a body has the mass of both: m + W^-1, where W is the displacement of the place on the body by a unit push.
Where a body hangs on several points of a net each has its part of it, as in mass splitting (Tonge, Benevolenski and
Voroshilov 2012, Mass Splitting for Jitter-Free Parallel Rigid Body Simulation).
"""

import numpy as np

from shinari.compute import Field, Record, convert, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.symmetric import inverse, isotropic, outer, plus, scaled, times
from shinari.maths.vec3 import ONE, ZERO, add, direction_and_length, dot, norm, scale, sub
from shinari.model.contact_passes import ContactPasses
from shinari.model.particles import Origins, Particles
from shinari.systems.colliders.collide import place, previous_position
from shinari.systems.coupling.attachment_rows import AttachmentRows
from shinari.systems.coupling.block_elimination import Blocks, Pivots, eliminate, substitute
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
# Contacts are solved again that move a point by more than this part of a segment.
NOTICEABLE = 1e-3


class RopeNets(Record):
    """Ropes that are tied to each other, R rows."""

    begin = Field(np.int64, doc="its first point")
    end = Field(np.int64, doc="behind its last point")
    first_link = Field(np.int64)
    end_link = Field(np.int64)
    shortest = Field(np.float64, unit="m", doc="length of its shortest segment")
    fresh = Field(np.bool_, doc="whether it has not been solved in this substep")


class StoredEnergy(Record):
    """Objects, T rows."""

    energy = Field(np.float64, unit="J", doc="elastic energy of segments whose material does not give")


class RopePoints(Record):
    """Points of these nets, in the order in which they are eliminated, P rows."""

    particle = Field(np.int64)
    attachment = Field(np.int64, doc="row that attaches it to a body; -1: none")
    share = Field(np.float64, doc="its part of the body")
    left = Field(np.float64, 3, unit="m", doc="where its particle was left")
    start = Field(np.float64, 3, unit="m", doc="x*")
    moved = Field(np.float64, 3, unit="m", doc="x - x*")
    mass = Field(np.float64, 6, unit="kg", doc="M of the point with its body, symmetric")
    push = Field(np.float64, 3, unit="kg m", doc="-grad E")


class RopeLinks(Record):
    """Segments of these nets, and what ties their ropes together, L rows."""

    first = Field(np.int64, doc="its point that is eliminated first")
    second = Field(np.int64)
    block = Field(np.int64, doc="block of both")
    object = Field(np.int64, doc="object of the first point, among all")
    row = Field(np.int64, doc="its distance row; -1: none")
    knot = Field(np.int64, doc="its row that holds both together; -1: none")
    side = Field(np.float64, doc="1 where that row has them in this order, else -1")
    stretching = Field(np.float64, unit="kg", doc="s where it is stretched")
    pressing = Field(np.float64, unit="kg", doc="s where it is pressed; 0: it is slack then")
    stores = Field(np.bool_, 2, doc="whether its stretch and its pressure count as elastic energy here")
    given = Field(np.float64, 3, unit="kg m", doc="f: its pull in this substep, from the second point")
    tension = Field(np.float64, unit="kg m", doc="the same as a number, negative where it is pressed")
    energy = Field(np.float64, unit="kg m^2", doc="elastic energy that it stores here, times h^2")
    rest = Field(np.float64, unit="m", doc="L")


@steady
def inverse_mobility(frames, b, arm):
    """Mass that a body has at an arm, as a symmetric matrix."""
    return inverse(mobility_at(frames.inverse_inertia[b], frames.inverse_mass[b], arm))


@steady
def is_left(begin, end, points, particles):
    """Whether nothing has moved a net since it was solved."""
    for k in range(begin, end):
        d = sub(place(particles.x, points.particle[k]), points.left[k])
        if dot(d, d) > ZERO:
            return False
    return True


@steady
def begin_point(k, points, pivots, particles, origins, frames, attachments, h):
    """Read a point, and the mass that it moves."""
    i = points.particle[k]
    points.start[k], points.moved[k] = place(particles.x, i), (0.0, 0.0, 0.0)
    w, m = np.float64(particles.x[i, 3]), points.attachment[k]
    pivots.held[k] = not w > ZERO
    points.mass[k] = isotropic(ONE / w if w > ZERO else ZERO)
    if w > ZERO and m >= 0 and not attachments.broken[m]:
        b = attachments.body[m]
        if frames.inverse_mass[b] > ZERO:
            body = inverse_mobility(frames, b, arm_of(i, b, particles, origins, frames, h))
            points.mass[k] = plus(points.mass[k], scaled(body, points.share[k]))
        else:
            pivots.held[k] = True


@steady
def share_body(k, begin, end, points, attachments):
    """Find the part of a body that hangs on a point: as much as on each other point of the net that holds it."""
    count, m = 0, points.attachment[k]
    for i in range(begin, end):
        other = points.attachment[i]
        if other >= 0 and not attachments.broken[other] and attachments.body[other] == attachments.body[m]:
            count += 1
    points.share[k] = ONE / max(count, 1)


@steady
def arm_of(i, b, particles, origins, frames, h):
    """Arm at which a push on an attached particle acts on its body: that of the start of the substep."""
    origin = origins.position[particles.origin_index[i]]
    return sub(add(origin, previous_position(particles.x, particles.predicted, particles.v, h, i)), frames.x0[b])


@steady
def stiffness_of(j, stretch, links):
    """Stiffness of a link that is so much too long."""
    return links.stretching[j] if stretch > ZERO else links.pressing[j]


@steady
def vector_of(j, links, points):
    """Vector of a link, from its second point."""
    a, b = links.first[j], links.second[j]
    return sub(add(points.start[a], points.moved[a]), add(points.start[b], points.moved[b]))


@steady
def energy_after(net, nets, part, points, pivots, links):
    """E after a part of the step."""
    total = 0.0
    for k in range(nets.begin[net], nets.end[net]):
        if not pivots.held[k]:
            moved = add(points.moved[k], scale(pivots.x[k], part))
            total += 0.5 * dot(moved, times(points.mass[k], moved))
    for j in range(nets.first_link[net], nets.end_link[net]):
        step = sub(pivots.x[links.first[j]], pivots.x[links.second[j]])
        d = add(vector_of(j, links, points), scale(step, part))
        stretch = norm(d) - links.rest[j]
        total += 0.5 * stiffness_of(j, stretch, links) * stretch * stretch - dot(links.given[j], d)
    return total


@steady
def assemble(net, nets, points, pivots, links, blocks):
    """Write -grad E and the matrix; returns E."""
    begin, end, total = nets.begin[net], nets.end[net], 0.0
    for k in range(begin, end):
        force = times(points.mass[k], points.moved[k])
        pivots.own[k], points.push[k] = points.mass[k], scale(force, -1.0)
        total += 0.0 if pivots.held[k] else 0.5 * dot(points.moved[k], force)
        for i in range(pivots.first[k], pivots.end[k]):
            for c in range(9):
                blocks.value[i, c] = 0.0
    for j in range(nets.first_link[net], nets.end_link[net]):
        a, b = links.first[j], links.second[j]
        d = vector_of(j, links, points)
        n, length = direction_and_length(d)
        stretch = length - links.rest[j]
        s, pull = stiffness(j, n, length, stretch, links), scale(n, stiffness_of(j, stretch, links) * stretch)
        total += 0.5 * dot(pull, n) * stretch - dot(links.given[j], d)
        pull = sub(pull, links.given[j])
        pivots.own[a], points.push[a] = plus(pivots.own[a], s), sub(points.push[a], pull)
        pivots.own[b], points.push[b] = plus(pivots.own[b], s), add(points.push[b], pull)
        blocks.value[links.block[j]] = -s[0], -s[5], -s[4], -s[5], -s[1], -s[3], -s[4], -s[3], -s[2]
    for k in range(begin, end):
        pivots.x[k] = points.push[k]
    return total


@steady
def stiffness(j, n, length, stretch, links):
    """K of a link along n."""
    s = stiffness_of(j, stretch, links)
    # what holds both points together is as stiff in all directions
    nothing = s if links.rest[j] == ZERO else 0.0
    across = s * stretch / length if stretch > ZERO and length > ZERO else nothing
    return plus(isotropic(across), outer(n, s - across))


@steady
def take_step(net, nets, before, points, pivots, links):
    """Go along the steps as far as E falls, which is `before` now; returns whether there should be another one."""
    slope, part = 0.0, ONE
    for k in range(nets.begin[net], nets.end[net]):
        slope -= dot(points.push[k], pivots.x[k])
    for _ in range(HALVINGS):
        if energy_after(net, nets, part, points, pivots, links) <= before + ENOUGH * part * slope:
            break
        part *= 0.5
    far, short = part < ONE, SHORT * nets.shortest[net]
    for k in range(nets.begin[net], nets.end[net]):
        points.moved[k] = add(points.moved[k], scale(pivots.x[k], part))
        far = far or norm(pivots.x[k]) > short
    return far


@kernel(mixed=True)
def begin_nets(r, nets: RopeNets, links: RopeLinks, parameters: Parameters):
    """Begin a substep: no link has pulled, and each has the length that its row has now."""
    nets.fresh[r] = True
    for j in range(nets.first_link[r], nets.end_link[r]):
        row = links.row[j]
        links.given[j] = 0.0, 0.0, 0.0
        links.rest[j] = np.float64(parameters.value[row]) if row >= 0 else 0.0


@kernel(fastmath=STEADY, mixed=True)
def solve_nets(
    _,
    nets: RopeNets,
    points: RopePoints,
    pivots: Pivots,
    links: RopeLinks,
    blocks: Blocks,
    particles: Particles,
    origins: Origins,
    frames: Frames,
    body_sweeps: BodySweeps,
    attachments: AttachmentRows,
    h: float,
):
    """Solve all nets once, one after the other, since they may share bodies; not those that nothing has moved."""
    for r in range(len(nets)):
        begin, end = nets.begin[r], nets.end[r]
        if not nets.fresh[r] and is_left(begin, end, points, particles):
            continue
        nets.fresh[r] = False
        for k in range(begin, end):
            if points.attachment[k] >= 0:
                share_body(k, begin, end, points, attachments)
            begin_point(k, points, pivots, particles, origins, frames, attachments, h)
        for _step in range(STEPS):
            before = assemble(r, nets, points, pivots, links, blocks)
            eliminate(begin, end, pivots, blocks)
            substitute(begin, end, pivots, blocks)
            if not take_step(r, nets, before, points, pivots, links):
                break
        for j in range(nets.first_link[r], nets.end_link[r]):
            end_link(j, links, points)
        for k in range(begin, end):
            end_point(k, points, pivots, particles, origins, frames, body_sweeps, attachments, h)


@steady
def end_link(j, links, points):
    """Keep the pull of a link, and what it stores."""
    n, length = direction_and_length(vector_of(j, links, points))
    stretch = length - links.rest[j]
    links.tension[j] = stiffness_of(j, stretch, links) * stretch
    links.given[j] = scale(n, links.tension[j])
    stores = links.stores[j, 0 if stretch > ZERO else 1]
    links.energy[j] = 0.5 * links.tension[j] * stretch if stores else 0.0


@steady
def end_point(k, points, pivots, particles, origins, frames, body_sweeps, attachments, h):
    """Move a point, and the body that is attached to it."""
    i, m, moved = points.particle[k], points.attachment[k], points.moved[k]
    if not pivots.held[k]:
        x, w = add(points.start[k], moved), particles.x[i, 3]
        particles.x[i] = convert(x[0], w), convert(x[1], w), convert(x[2], w), w
        if m >= 0 and not attachments.broken[m]:
            b = attachments.body[m]
            arm = arm_of(i, b, particles, origins, frames, h)
            push = scale(times(inverse_mobility(frames, b, arm), moved), -points.share[k])
            apply_reaction(frames, body_sweeps, b, arm, push, (0.0, 0.0, 0.0), ONE / h)
            attachments.multiplier[m] = add(attachments.multiplier[m], push)
    points.left[k] = place(particles.x, i)


@kernel
def tell_energy(_, links: RopeLinks, stored: StoredEnergy, h: float):
    """Add up what the links of each object store."""
    for j in range(len(links)):
        stored.energy[links.object[j]] = 0.0
    for j in range(len(links)):
        stored.energy[links.object[j]] += links.energy[j] / (h * h)


@kernel(mixed=True)
def ask_for_passes(_, nets: RopeNets, points: RopePoints, particles: Particles, passes: ContactPasses, most: int):
    """Ask for so many passes over the contacts if these have moved a point of a net noticeably."""
    for r in range(len(nets)):
        for k in range(nets.begin[r], nets.end[r]):
            d = sub(place(particles.x, points.particle[k]), points.left[k])
            if norm(d) > NOTICEABLE * nets.shortest[r]:
                passes.wanted[0] = max(passes.wanted[0], most)


@kernel(mixed=True)
def tell_pull(j, links: RopeLinks, multipliers: Multipliers):
    """Write the multiplier of the row of a segment, for those who ask for its force."""
    r = links.row[j]
    if r >= 0:
        multipliers.value[r] = convert(-links.tension[j], multipliers.value[r])


@kernel(mixed=True)
def tell_knot(j, links: RopeLinks, multipliers: Multipliers):
    """Write the multipliers of the row that holds two points together."""
    r = links.knot[j]
    if r >= 0:
        pull = scale(links.given[j], -links.side[j])
        for c in range(3):
            multipliers.value[3 * r + c] = convert(pull[c], multipliers.value[3 * r + c])
