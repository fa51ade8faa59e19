"""Velocities after contacts: rows that pushed leave at e times the speed of approach (Mueller et al. 2020, eq. 34).

Slow ones do not leave at all, but what still approaches stops. Sweeps that have not converged leave such speeds, with
which layers that lie on each other shiver. Pushes only: what leaves is left to do so.
"""

from shinari.collision.broad.blocks import Blocks, CurrentColour, rows_of_block
from shinari.collision.law import COMPLIANCE, RESTITUTION, friction, separation_speed, tangential
from shinari.compute import kernel, real
from shinari.compute.kernels import STEADY
from shinari.maths.vec3 import ONE, ZERO, add, dot, reciprocal, scale, sub
from shinari.model.particles import Particles
from shinari.systems.colliders.supports import Supports
from shinari.systems.surface_contact.pressed_points import (
    NEITHER,
    find_pressed,
    motion_of_colliders,
    tell_colliders,
    without,
)
from shinari.systems.surface_contact.records import ContactParticles, Objects, RowCounts, Rows
from shinari.systems.surface_contact.row_pushes import add_to, law_between, mobility_of, sum_of_four


@kernel(fastmath=STEADY)
def settle_block(
    k,
    blocks: Blocks,
    current: CurrentColour,
    counts: RowCounts,
    rows: Rows,
    particles: Particles,
    contact_particles: ContactParticles,
    supports: Supports,
    objects: Objects,
    slow: real,
    h: real,
):
    """Change the velocities along the normals of the rows of a block that pushed.

    Slower than `slow` [m/s], the change by gravity in a substep or two, nothing bounces. What is pressed on a collider
    counts as part of it.
    """
    begin, end = rows_of_block(k, blocks, current)
    x, v = particles.x, particles.v
    for r in range(begin, end):
        if rows.multiplier[r] <= ZERO:
            continue
        points = i0, i1, i2, i3 = rows.points[r]
        law = law_between(objects, contact_particles, i0, i2)
        target = separation_speed(law[RESTITUTION], rows.approach[r], slow)
        if target <= ZERO and (law[COMPLIANCE] > ZERO or counts.tangled[0] != 0):
            # it comes to rest at some depth by itself, or is to be pulled on beside what holds it
            continue
        w, n = rows.weights[r], rows.normal[r]
        masses = w[0] * x[i0, 3], w[1] * x[i1, 3], w[2] * x[i2, 3], w[3] * x[i3, 3]
        two = rows.edges[r]
        side, n, grip = find_pressed(supports, contact_particles.radius, x, points, two, w, masses, n)
        m0, m1, m2, m3 = moving = without(side, two, masses)
        relative = sum_of_four(without(side, two, w), v[i0], v[i1], v[i2], v[i3])
        if side != NEITHER:
            relative = add(relative, scale(motion_of_colliders(supports, side, two, points, w), ONE / h))
        speed = dot(n, relative)
        mobility = mobility_of(w, moving)
        change = max(target - speed, ZERO)
        # what keeps them apart rubs like any push, at the collider no more than what is pressed on it does
        push = change if target <= ZERO else ZERO * change
        rough = min(law[0], grip), min(law[1], grip), law[2], law[3]
        rubbing = friction(tangential(relative, n), push, rough)
        kick = scale(sub(scale(n, change), rubbing), reciprocal(mobility))
        add_to(v, i0, m0, kick)
        add_to(v, i1, m1, kick)
        add_to(v, i2, m2, kick)
        add_to(v, i3, m3, kick)
        add_to(rows.impulse, r, ONE, kick)
        tell_colliders(supports, x, side, two, points, w, scale(kick, h))
