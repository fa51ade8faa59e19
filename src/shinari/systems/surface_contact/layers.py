"""Layers on a collider: what lies on a sheet that lies on a collider supports what presses on it, too.

      heavy        |  P      The row between a particle A and a triangle T, all of whose corners have supports, is
    ---------      v         eliminated as that of T and the ground is (`shinari.systems.colliders.supports`): A lies on
        A  particle          a plane of its own, with the normal of the row.
    ---------  T
     collider

What that plane has stopped is passed on: to the row, for the force that it reports, and to the supports of the corners
by their weights, down to the collider. So what presses on several layers is stopped as by the ground, and the ground
carries it. The row itself may not pull back what the plane has stopped: that lifted the layers below.

Rows do not end exactly at their distance, as contacts with colliders do. What is too deep is raised to it by the next
push of a body, else that would sink by as much as it presses in before a layer is found, again and again. Layers are
found from below, one after the other. What lies on edges alone, as a rope across ropes does, is solved as before.
"""

import numpy as np

from shinari.compute import Field, Program, Record, kernel, real
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import ZERO, dot, sub
from shinari.model.particles import Particles
from shinari.model.spins import bounded
from shinari.systems.colliders.supports import LAYER, Supports, gap_above, lies_on_ground
from shinari.systems.surface_contact.records import ContactParticles, Objects, RowCounts, Rows
from shinari.systems.surface_contact.row_pushes import law_between
from shinari.systems.surface_contact.row_table import RowTable

# Cosine of the angle between the normals of a row and of the supports below it up to which it is eliminated.
ALIKE = np.float32(0.9)
# Part of the distance that a row keeps up to which beyond it a particle lies on the triangle; how far above their
# planes, in radii, corners still support; and by how much at most a particle that is too deep is raised.
NEAR, ABOVE, RAISED = np.float32(1e-2), np.float32(0.02), np.float32(0.1)
# Most layers above the lowest one.
MOST_LAYERS = 16


class Layers(Record):
    """Particles that lie on triangles with supports, lower ones first; room for N rows."""

    particle = Field(np.int64)
    row = Field(np.int64, doc="contact row between both")


class LayerCount(Record):
    """One row."""

    layers = Field(np.int64, doc="particles that are listed")


@steady
def distance_of(rows, r, x):
    """Distance of the two points of a row [m]."""
    i, a, b, c = rows.points[r]
    n, w, place = rows.normal[r], rows.weights[r], rows.shift[r]
    for k in range(3):
        place += n[k] * (w[0] * x[i, k] + w[1] * x[a, k] + w[2] * x[b, k] + w[3] * x[c, k])
    return place


@steady
def is_supported(supports, i, n, x, radius):
    """Whether a corner has a support with a normal like n."""
    lies = lies_on_ground(supports, i)
    return lies and gap_above(supports, i, x) <= ABOVE * radius and dot(n, supports.normal[i]) > ALIKE


@steady
def lie_on_layer(supports, contact_particles, objects, r, rows, x):
    """Let the particle of a row lie on its triangle, if that has supports; whether it does."""
    i, a, b, c = rows.points[r]
    n, radius = rows.normal[r], contact_particles.radius
    if supports.solid[i] != 0 or supports.solid[a] == 0 or x[i, 3] <= ZERO or rows.weights[r, 0] <= ZERO:
        return False
    firm = is_supported(supports, a, n, x, radius[a]) and is_supported(supports, b, n, x, radius[b])
    law = law_between(objects, contact_particles, i, a)
    apart = distance_of(rows, r, x) - rows.gap[r]
    if not firm or not is_supported(supports, c, n, x, radius[c]) or law[3] > ZERO or apart > NEAR * rows.gap[r]:
        return False
    supports.solid[i], supports.normal[i], supports.motion[i] = LAYER, n, supports.motion[a]
    supports.grip[i] = min(law[0], min(supports.grip[a], min(supports.grip[b], supports.grip[c])))
    supports.offset[i] = n[0] * x[i, 0] + n[1] * x[i, 1] + n[2] * x[i, 2] - max(apart, -RAISED * radius[i])
    return True


@kernel(fastmath=STEADY)
def find_layers(
    _, rows: Rows, counts: RowCounts, supports: Supports, layers: Layers, found: LayerCount,
    contact_particles: ContactParticles, objects: Objects, particles: Particles
):  # fmt: skip
    """List what lies on what has supports, if something may press on it.

    A plane that has stopped a push stays for the substep.
    """
    kept = 0
    for k in range(found.layers[0]):
        i = layers.particle[k]
        if supports.push[i] > ZERO:
            layers.particle[kept], layers.row[kept] = i, layers.row[k]
            kept += 1
        else:
            supports.solid[i] = 0
    count, before = kept, -1
    for _level in range(MOST_LAYERS if counts.pressing[0] != 0 else 0):
        if count == before:
            break
        before = count
        for r in range(counts.rows[0]):
            if (
                rows.active[r]
                and not rows.edges[r]
                and lie_on_layer(supports, contact_particles, objects, r, rows, particles.x)
            ):
                layers.particle[count], layers.row[count] = rows.points[r, 0], r
                count += 1
    found.layers[0] = count


@kernel(fastmath=STEADY)
def pass_on(_, rows: Rows, supports: Supports, layers: Layers, found: LayerCount, particles: Particles, rate: real):
    """Pass on what has been stopped since the last time, from the uppermost layer down."""
    x = particles.x
    for k in range(found.layers[0] - 1, -1, -1):
        i, r = layers.particle[k], layers.row[k]
        n, w, p = rows.normal[r], rows.weights[r], rows.points[r]
        held = bounded(supports.hold[i], supports.grip[i] * supports.push[i])
        along, push = sub(held, supports.noted_hold[i]), (supports.push[i] - supports.noted_push[i]) / x[i, 3]
        supports.noted_push[i], supports.noted_hold[i] = supports.push[i], held
        for j in range(1, 4):
            part = -w[j] * x[p[j], 3]
            supports.push[p[j]] = max(supports.push[p[j]] + part * push, ZERO)
            for c in range(3):
                supports.hold[p[j], c] += part * along[c] / x[i, 3]
        for c in range(3):
            rows.impulse[r, c] += rate * (push * n[c] + along[c] / x[i, 3])


@kernel
def forget_layers(_, supports: Supports, layers: Layers, found: LayerCount):
    """A substep begins: nothing is known to lie on layers."""
    for k in range(found.layers[0]):
        supports.solid[layers.particle[k]] = 0
    found.layers[0] = 0


class LayerSupports:
    """Supports of what lies in layers on the colliders of one simulation."""

    def __init__(
        self, rows: RowTable, supports: Supports, contact_particles: ContactParticles, objects: Objects
    ) -> None:
        """Bind them to the contacts of surfaces, and to what particles lie on."""
        self._rows, self._supports, self._contact_particles, self._objects = rows, supports, contact_particles, objects
        precision = contact_particles.precision
        self._layers, self._found = Layers.zeros(len(supports), precision), LayerCount.zeros(1, precision)

    def record_forget(self, p: Program) -> None:
        """Record that a substep begins."""
        p.serial(forget_layers, self._supports, self._layers, self._found)

    def record_find(self, p: Program, particles: Particles) -> None:
        """Record that layers are found where something may press on them."""
        lists = self._supports, self._layers, self._found, self._contact_particles, self._objects
        p.serial(find_layers, self._rows.rows, self._rows.table, *lists, particles)

    def record_pass_on(self, p: Program, particles: Particles, h: float) -> None:
        """Record that what layers have stopped goes down to the collider."""
        p.serial(pass_on, self._rows.rows, self._supports, self._layers, self._found, particles, 1.0 / h)
