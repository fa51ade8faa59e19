"""Particles that lie on a collider, for what presses on them from the other side.

      body         |  P      A body is stopped by a light particle as if by the ground beneath it: the particle gives
    ---------      v         way only along the surface of the collider,
        o  particle
    ---------  ^ g             w(n) = w (1 - (n . g)^2)       where n . g < 0, n: direction of the push, g: normal
     collider  |
                             and what it is pushed into the collider, the collider gives back at once.

It is the elimination of one of two rows that share a particle. Solved one after the other, they would meet after as
many sweeps as the body is heavier than the particle. The collider is told what it has given, so that it holds the
particle by friction, and reports it as a force.
"""

import numpy as np

from shinari.compute import Field, Record, kernel, real
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.poses import to_local, to_world
from shinari.maths.vec3 import ZERO, sub
from shinari.model.model import Model
from shinari.model.particles import Particles
from shinari.model.spins import bounded
from shinari.scene.contents import Contents
from shinari.systems.colliders.records import Contacts, Items

# A particle lies on the plane up to this part of the distance that it keeps.
TOUCHES = np.float32(1e-3)
# Masses of two that touch, one over the other, from which on what lies on the lighter one is found in layers.
LIGHTER = np.float32(4.0)
# Number of a collider that stands for a layer of particles which lies on one, and that of piece 0 of bodies; the others
# follow below.
LAYER, BODY = -1, -2


class Supports(Record, ragged=True):
    """Planes that particles lie on in this substep, N rows; none where no body can press on them."""

    solid = Field(np.int64, doc="the collider, counted from 1; 0: none; LAYER; BODY - k: piece k of a body")
    normal = Field(real, 3, doc="its normal in world axes")
    offset = Field(real, unit="m", doc="product of the normal and a point of the plane, relative to the origin")
    motion = Field(real, 3, unit="m", doc="displacement of the collider there in the substep")
    grip = Field(real, doc="coefficient of friction between both")
    push = Field(real, unit="m", doc="displacement by which the collider has stopped pushes from the other side")
    hold = Field(real, 3, unit="m", doc="the same along the plane, by friction")
    noted_push = Field(real, unit="m", doc="part of `push` that the contact with the collider knows of")
    noted_hold = Field(real, 3, unit="m", doc="part of `hold` that it knows of")
    even = Field(np.bool_, doc="one row: whether no object is so much heavier than another that it presses on layers")


def supports_of(scene: Contents, model: Model) -> Supports:
    """Room for what particles lie on, if something may press on them: bodies, or other objects on sheets or ropes."""
    masses, surfaces = [], False
    for number, obj in enumerate(scene.particle_objects):
        inverse = model.inverse_masses[model.owners == number]
        if obj.kind != "fluid" and (inverse > 0.0).any():
            masses.append(float(np.mean(1.0 / inverse[inverse > 0.0])))
            surfaces = surfaces or obj.faces is not None or obj.segments is not None
    heavy = bool(scene.bodies) or (len(masses) > 1 and max(masses) > LIGHTER * min(masses))
    pressed = heavy or (len(masses) > 1 and surfaces)
    supports: Supports = Supports.zeros(model.particle_count if pressed else 0, model.real)
    supports.bind(even=np.array([not heavy]))
    return supports


@kernel
def forget_plane(i, supports: Supports):
    """A step begins: nothing is known to lie on anything."""
    supports.solid[i] = 0


@kernel
def forget_pushes(i, supports: Supports):
    """A substep begins: no plane has stopped a push. Until colliders are solved planes move on with them."""
    supports.push[i] = supports.noted_push[i] = ZERO
    supports.hold[i] = supports.noted_hold[i] = ZERO, ZERO, ZERO
    for c in range(3):
        supports.offset[i] += supports.normal[i, c] * supports.motion[i, c]


@kernel
def forget_support(i, supports: Supports):
    """Colliders are about to be solved: nothing is known to lie on what has not stopped a push in this substep."""
    if not supports.push[i] > ZERO:
        supports.solid[i] = 0


@steady
def lie_on(supports, i, k, n, x, law, poses):
    """Note that particle i lies on collider k where it is; what gives way (law: friction, ...) supports nothing.

    A plane that has stopped a push stays for the substep: along another normal it would not be given back.
    `poses`: those of the collider at the start and the end of the substep.
    """
    if len(supports) > 0 and law[3] <= ZERO and supports.push[i] <= ZERO:
        here = x[i, 0], x[i, 1], x[i, 2]
        supports.solid[i], supports.normal[i], supports.grip[i] = k + 1, n, law[0]
        supports.motion[i] = sub(here, to_world(poses[0], to_local(poses[1], here)))
        supports.offset[i] = n[0] * x[i, 0] + n[1] * x[i, 1] + n[2] * x[i, 2]


@steady
def take_push(supports, contacts, m, i, mass):
    """Enter into contact m what its collider has given back to particle i; mass: impulse of a displacement [kg/s]."""
    if len(supports) > 0 and supports.solid[i] == np.int64(contacts.solid[m]) + 1:
        fresh, most = supports.push[i] - supports.noted_push[i], supports.grip[i] * supports.push[i]
        hold = bounded(supports.hold[i], most)
        contacts.normal_correction[m] += fresh
        for c in range(3):
            along = hold[c] - supports.noted_hold[i, c]
            contacts.friction_correction[m, c] += along
            contacts.impulse[m, c] += mass * (fresh * supports.normal[i, c] + along)
            supports.noted_hold[i, c] = hold[c]
        supports.noted_push[i] = supports.push[i]


@steady
def has_new_push(supports, i):
    """Whether a collider has given back to particle i what its contact does not know of."""
    return len(supports) > 0 and supports.push[i] != supports.noted_push[i]


@kernel(fastmath=STEADY)
def take_last_push(p, supports: Supports, items: Items, contacts: Contacts, particles: Particles, rate: real):
    """A substep ends: enter what was given back after the collider was solved for the last time."""
    i = np.int64(items.item[p])
    if supports.solid[i] != 0:
        for m in range(items.first[p], items.end[p]):
            take_push(supports, contacts, m, i, rate / particles.x[i, 3])


@steady
def is_on_body(supports, i):
    """Whether the plane of particle i is that of a body."""
    return supports.solid[i] <= BODY


@steady
def lies_on_ground(supports, i):
    """Whether particle i lies on a collider, or on a layer on one."""
    return supports.solid[i] != 0 and not is_on_body(supports, i)


@steady
def gap_above(supports, i, x):
    """Height of particle i above its plane [m]."""
    n = supports.normal[i]
    return n[0] * x[i, 0] + n[1] * x[i, 1] + n[2] * x[i, 2] - supports.offset[i]


@steady
def touches_plane(supports, i, x, radius):
    """Whether particle i lies on a plane."""
    return supports.solid[i] != 0 and gap_above(supports, i, x) <= TOUCHES * radius


@steady
def plane_below(supports, i, x, radius):
    """Whether particle i lies on a plane, or is held to it by what presses, its normal, and what it has given back."""
    n, push = supports.normal[i], supports.push[i]
    lies = touches_plane(supports, i, x, radius) or (supports.solid[i] != 0 and push > ZERO)
    return lies, (n[0], n[1], n[2]), push
