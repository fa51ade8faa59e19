"""Points of particles that lie on a collider or a heavy body, between that and another body.

See `shinari.systems.colliders.supports` and `shinari.systems.coupling.body_supports`.

A point of an element has a support for each of its vertices:

    held     inverse mass that the support takes from the point [1/kg]: w b^2, b the part of the vertex
    g        normal of the plane, three numbers
    given    push that it has stopped so far [kg m]; no more than that can be taken back
    grip     its coefficient of friction
    touches  1; 0 where the vertex has been lifted since: then it has to come back before it can be pressed
    firm     coefficient of friction with which it holds the vertex; -1 where it slips
    left     part of the inverse mass that it does not take
    free     inverse mass times part of a vertex that nothing holds [1/kg]; 0 of others
"""

import numpy as np

from shinari.collision.law import tangential
from shinari.compute import shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.quaternion import rotate
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, reciprocal, scale, sub
from shinari.model.particles import Particles
from shinari.model.spins import bounded
from shinari.systems.colliders.collide import move, place
from shinari.systems.colliders.supports import BODY, LAYER, gap_above, is_on_body, plane_below, touches_plane
from shinari.systems.coupling.records import ContactParticles

Support = tuple[float, float, float, float, float, float, float, float, float, float]
Supports = tuple[Support, Support, Support]
FAR = 1e30
# Part of the inverse mass that no support takes: bodies beyond 3,000 times its mass are stopped in steps. A body takes
# more of it: where steps are too short, both bodies would be moved in turn.
LEFT, LEFT_ON_BODY = 3e-4, 3e-5
# Part of the distance that a particle keeps by which a push moves it at most while it lies on something.
FARTHEST = np.float32(0.1)
# What presses a point down near a vertex that is held turns its element about that: a vertex that is free goes so many
# times as far as the point at most. Where none is held it is up to 1.4.
LEVER = 1.5
# Part of the most that friction holds from which on a particle slips.
NEARLY = np.float32(0.999)


@steady
def supports_of(contact_particles, particles, i, part, between):
    """Supports of a point with such parts of three particles; `between`: see `may_lie`."""
    return (
        support_of(contact_particles, particles, i[0], part[0], between),
        support_of(contact_particles, particles, i[1], part[1], between),
        support_of(contact_particles, particles, i[2], part[2], between),
    )


@steady
def may_lie(contact_particles, i, between):
    """Whether a particle counts as supported: not on a body, for what leaves that alone; see `leaves_support`."""
    return not (between and is_on_body(contact_particles, i))


@steady
def follow_body(contact_particles, i, origin, body_shapes, frames):
    """Move the plane of a particle on with its body, if it lies on one."""
    if is_on_body(contact_particles, i):
        b, foot = body_shapes.frame[BODY - contact_particles.solid[i]], place(contact_particles.foot, i)
        at, start = rotate(frames.q[b], foot), rotate(frames.q0[b], foot)
        at, start = add(frames.x[b], at), add(frames.x0[b], start)
        contact_particles.motion[i] = sub(at, start)
        contact_particles.offset[i] = dot(place(contact_particles.normal, i), sub(at, origin))


@steady
def follow_bodies(contact_particles, i, origin, body_shapes, frames):
    """`follow_body` for the vertices of an item."""
    follow_body(contact_particles, i[0], origin, body_shapes, frames)
    if i[1] != i[0]:
        follow_body(contact_particles, i[1], origin, body_shapes, frames)
        follow_body(contact_particles, i[2], origin, body_shapes, frames)


@shared(fastmath=STEADY)
def support_of(
    contact_particles: ContactParticles, particles: Particles, i: int, part: float, between: bool
) -> Support:
    """Support of a vertex, or of a particle. A body that supports it gives way itself."""
    lies, n, push = plane_below(contact_particles, i, particles.x, contact_particles.radius[i])
    touches = 1.0 if touches_plane(contact_particles, i, particles.x, contact_particles.radius[i]) else 0.0
    give, none = np.float64(particles.x[i, 3]) * part, 0.0 * np.float64(part)
    holds = lies and give > 0.0 and may_lie(contact_particles, i, between)
    yields = contact_particles.yields[i] * part if is_on_body(contact_particles, i) else none
    held, stopped = max(give * part - yields, none) if holds else none, np.float64(push) / give if holds else none
    grip = np.float64(contact_particles.grip[i])
    most = NEARLY * contact_particles.grip[i] * push
    slips = push > ZERO and norm(place(contact_particles.hold, i)) >= most
    firm, left = -1.0 if slips else grip, LEFT_ON_BODY if is_on_body(contact_particles, i) else LEFT
    free = none if holds else give
    return held, np.float64(n[0]), np.float64(n[1]), np.float64(n[2]), stopped, grip, touches, firm, left, free


@steady
def start_on_support(contact_particles, particles, i, between, start, now):
    """Where a particle was at the start of the substep, as far as a body may be driven by it.

    What lies on a collider has moved along its normal with that: it may have been pressed in, and come up at once.
    """
    lies = touches_plane(contact_particles, i, particles.x, contact_particles.radius[i])
    if not (lies and may_lie(contact_particles, i, between)):
        return start
    n = place(contact_particles.normal, i)
    return add(start, scale(n, dot(n, sub(sub(now, start), place(contact_particles.motion, i)))))


@steady
def held_back(support, n):
    """Inverse mass that a support takes from its vertex along n [1/kg], and push that it can give back there [kg m].

    Friction holds the vertex where n is in its cone. Farther aside it slips out, which is allowed for by half of the
    sine at least: from w sin^2 alone a push could follow that moves the vertex many times as far as the body is to be.
    """
    held, gx, gy, gz, given, grip, _, _, left, _ = support
    into = -min(gx * n[0] + gy * n[1] + gz * n[2], 0.0)
    aside = max(np.sqrt(max(1.0 - into * into, 0.0)) - grip * into, 0.0)
    part = held * max(1.0 - aside * max(aside, 0.5), 0.0) if into > 0.0 else 0.0
    return part * (1.0 - left), given / into if part > 0.0 else FAR


@steady
def least_inverse_mass(supports):
    """Inverse mass of a point below which a push on it would throw a vertex that is free [1/kg]."""
    return max(supports[0][9], max(supports[1][9], supports[2][9])) / LEVER


@steady
def supported_inverse_mass(w, supports, n, apart, other):
    """Inverse mass of a point along n [1/kg], and how much of its multiplier can be taken back with it [kg m].

    What presses it onto supports moves it only along these, if it touches them; so does what is taken back, as far as
    they have given it. `apart`: by how much the push has come too far [m]; other: inverse mass of the body there.
    """
    first, a = held_back(supports[0], n)
    second, b = held_back(supports[1], n)
    third, c = held_back(supports[2], n)
    least = min(least_inverse_mass(supports), w)
    if apart <= 0.0:
        return max(w - supports[0][6] * first - supports[1][6] * second - supports[2][6] * third, least), FAR
    held, given = first + second + third, min(a, min(b, c))
    holds = held > 0.0 and given * (w + other) >= apart
    return max(w - held, least) if holds else w, given if holds else FAR


@steady
def inverse_mass_aside(w, supports, law):
    """Inverse mass of a point along the surface [1/kg]: friction holds it on supports that are no smoother."""
    first = supports[0][0] if supports[0][7] >= law[1] else 0.0
    second = supports[1][0] if supports[1][7] >= law[1] else 0.0
    third = supports[2][0] if supports[2][7] >= law[1] else 0.0
    return max(w - (first + second + third), min(least_inverse_mass(supports), w))


@steady
def friction_less_thrown(rubs, slip, supports):
    """Friction on a point of which supports hold a part, bounded by its slip [kg m].

    What a vertex had while it was held would throw it when it is taken back from it once it is free.
    """
    least = least_inverse_mass(supports)
    return bounded(rubs, norm(slip) / least) if least > 0.0 else rubs


@steady
def push_particle(contact_particles, particles, i, between, part, pushes, grip, rate):
    """Move a particle by a part of what pushes a point.

    What lies on a collider does not go into it. Friction there holds it against a push that is within its cone, and
    against friction if the collider is no smoother than what rubs. It is not moved by that, not even until the collider
    is solved again: a light particle would be far away. What it does not take of a push, since that would throw it, the
    other side does not get either.

    Args:
        contact_particles: The particles, and what they lie on.
        particles: The particles.
        i: The particle.
        between: See `may_lie`.
        part: Its part of the point times its inverse mass [1/kg].
        pushes: Along the normal, by friction, and what a unit of inverse mass moves silently [kg m].
        grip: Coefficient of friction of what rubs.
        rate: 1 / h.

    Returns:
        What it and its support have taken less than the push [kg m].
    """
    x, before, lost = particles.x, place(particles.x, i), scale(pushes[0], ZERO)
    along, rubs, silent = pushes
    lies, n, _ = plane_below(contact_particles, i, x, contact_particles.radius[i])
    if lies and may_lie(contact_particles, i, between):
        silent = sub(silent, scale(n, min(dot(n, silent), 0.0)))
        lost = push_on_plane(contact_particles, particles, i, part, (along, rubs, silent), grip, rate)
    else:
        move(x, particles.predicted, particles.v, i, part, add(add(along, rubs), silent), silent, rate)
    now = place(x, i)
    contact_particles.path[i] += norm(sub(now, before))
    contact_particles.last_position[i] = now
    return lost


@steady
def push_on_plane(contact_particles, particles, i, part, pushes, grip, rate):
    """Move a particle that lies on a plane by a part of what pushes a point; see `push_particle`."""
    x, (along, rubs, silent) = particles.x, pushes
    w, farthest = np.float64(x[i, 3]), FARTHEST * contact_particles.radius[i]
    ground, lost = contact_particles.solid[i] != LAYER, scale(along, ZERO)
    gone, thrown, push, hold = displacement_on_plane(contact_particles, i, x, part, pushes, grip)
    if ground and norm(gone) > farthest:
        # it slips out: the push gets weaker along its line, else the body would be held up by a particle that yields
        left = farthest / norm(gone)
        lost = scale(add(along, rubs), (ONE - left) * part / w)
        pushes = scale(along, left), scale(rubs, left), silent
        gone, thrown, push, hold = displacement_on_plane(contact_particles, i, x, part, pushes, grip)
    less = ONE - min(farthest * reciprocal(norm(gone)), ONE)
    move(x, particles.predicted, particles.v, i, ONE, scale(gone, ONE - less), scale(silent, part), rate)
    contact_particles.push[i], contact_particles.hold[i] = push, hold
    return add(lost, scale(add(scale(gone, less), thrown), ONE / w)) if ground else lost


@steady
def displacement_on_plane(contact_particles, i, x, part, pushes, grip):
    """How far a push moves a particle that lies on a plane.

    The arguments are those of `push_particle`.

    Returns:
        Its displacement; by how much the plane does not give back what would throw it; and the displacement by which
        the plane has stopped pushes so far, along its normal and by friction [m].
    """
    along, rubs, silent = pushes
    n, push, wanted = place(contact_particles.normal, i), contact_particles.push[i], place(contact_particles.hold, i)
    aside, into = tangential(along, n), contact_particles.grip[i] * abs(dot(n, along))
    held = scale(aside, min(into * reciprocal(norm(aside)), ONE))
    along = sub(along, held)
    if contact_particles.grip[i] >= grip:
        held = add(held, tangential(rubs, n))
        rubs = scale(n, dot(n, rubs))
    wanted = sub(wanted, scale(held, part))
    moved = scale(add(add(along, rubs), silent), part)
    back = max(-(gap_above(contact_particles, i, x) + dot(n, moved)), -push)
    push += back
    gone = add(moved, scale(n, back))
    # a push that is not given back where it was taken would throw a particle that is so light
    ground, high = contact_particles.solid[i] != LAYER, 0.0 * back
    if ground:
        high = max(dot(n, gone) - FARTHEST * contact_particles.radius[i], high)
    back = min(high, push)
    push -= back
    # a layer passes on what it has stopped, whole
    hold = bounded(wanted, contact_particles.grip[i] * push) if ground else wanted
    gone = add(gone, sub(sub(hold, wanted), scale(n, high)))
    return gone, scale(n, high - back), push, hold
