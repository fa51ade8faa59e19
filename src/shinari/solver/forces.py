"""Force fields: a user's function f(x, v, m, t), applied to every free particle."""

from typing import Any

import numpy as np

from shinari.compute import Kernel, convert, kernel, real
from shinari.solver.particles import Clock, Groups, Particles, Times

ONE, ZERO = np.float32(1.0), np.float32(0.0)


def force_kernel(field: Any) -> Kernel:
    """Kernel that adds h w f(x, v, m, t) to the velocity of a free particle."""

    @kernel(subject="force field: function")
    def apply_force(i, particles: Particles, groups: Groups, clock: Clock, times: Times, h: real):
        x = particles.x[i]
        w = x[3]
        if w > ZERO:
            o, v = groups.origin[particles.group[i]], particles.v[i]
            p = convert(o[0], w) + x[0], convert(o[1], w) + x[1], convert(o[2], w) + x[2]
            f = field(p, v, ONE / w, times.end[clock.substep[0]])
            # one by one: a field may mix precisions, as in `x[0], 0.0, 0.0`
            particles.v[i] = v[0] + h * w * f[0], v[1] + h * w * f[1], v[2] + h * w * f[2]

    return apply_force
