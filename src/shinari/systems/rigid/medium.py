"""Drag of bodies in a medium: that of the box with the same mass and inertia.

MuJoCo's model of inertia boxes (MuJoCo documentation, Computation, Passive forces, Inertia model): in the principal
axes of a body of half sizes r, with the velocity v against the medium and the angular velocity w,

    f_i = -2 rho r_j r_k |v_i| v_i - 6 pi beta r v_i                      r: mean of the half sizes
    g_i = -rho r_i (r_j^4 + r_k^4) |w_i| w_i / 2 - 8 pi beta r^3 w_i

Quadratic drag is pressure on the three faces, the rest that of a sphere at small Reynolds number. The forces are those
at the end of the substep, component by component, so that no drag is too strong for the time step.
"""

import math
from collections.abc import Sequence

import numpy as np

from shinari.compute import Field, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.quaternion import rotate, rotate_back
from shinari.maths.vec3 import add, sub
from shinari.scene.body import Body
from shinari.systems.rigid.frames import Frames


class DraggedBodies(Record):
    """Bodies in a medium, D rows."""

    frame = Field(np.int64)
    wind = Field(np.float64, 3, unit="m/s", doc="velocity of the medium")
    linear = Field(np.float64, 2, unit="1/s", doc="viscous drag over the mass; its moment, over no moment of inertia")
    quadratic = Field(np.float64, 6, doc="drag over the mass along [1/m] and moment about the principal axes")


def half_sizes(body: Body) -> np.ndarray:
    """Half sizes of the box with the mass and moments of inertia of a body [m], (3,)."""
    return np.sqrt(np.maximum(1.5 * (body.moments.sum() - 2.0 * body.moments) / body.mass, 0.0))


def dragged(bodies: Sequence[Body]) -> DraggedBodies:
    """The bodies that have a medium."""
    found = [(i, body) for i, body in enumerate(bodies) if body.medium is not None and body.mass > 0.0]
    result = DraggedBodies.zeros(len(found))
    for row, (i, body) in enumerate(found):
        medium = body.medium
        assert medium is not None
        r = half_sizes(body)
        mean, area = float(r.mean()), r.prod() / np.maximum(r, 1e-300)
        fourth = (r**4).sum() - r**4
        result.frame[row], result.wind[row] = i, medium.wind
        viscous = math.pi * medium.viscosity * mean
        result.linear[row] = 6.0 * viscous / body.mass, 8.0 * viscous * mean**2
        result.quadratic[row, :3] = 2.0 * medium.density * area / body.mass
        result.quadratic[row, 3:] = 0.5 * medium.density * r * fourth
    return result


@steady
def slowed(v, linear, quadratic, h):
    """A speed after the drag of a substep."""
    return v / (1.0 + h * (linear + quadratic * abs(v)))


@kernel(fastmath=STEADY)
def drag_body(d, bodies: DraggedBodies, frames: Frames, h: np.float64):
    """Change the velocities of a body by the drag of its medium."""
    i = bodies.frame[d]
    if frames.asleep[i]:
        return
    q, wind, linear, k, m = frames.q[i], bodies.wind[d], bodies.linear[d], bodies.quadratic[d], frames.moments[i]
    v, w = rotate_back(q, sub(frames.v[i], wind)), rotate_back(q, frames.w[i])
    v = slowed(v[0], linear[0], k[0], h), slowed(v[1], linear[0], k[1], h), slowed(v[2], linear[0], k[2], h)
    w = (
        slowed(w[0], linear[1] / m[0], k[3] / m[0], h),
        slowed(w[1], linear[1] / m[1], k[4] / m[1], h),
        slowed(w[2], linear[1] / m[2], k[5] / m[2], h),
    )
    frames.v[i], frames.w[i] = add(rotate(q, v), wind), rotate(q, w)
