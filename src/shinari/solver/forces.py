"""Force fields: a user's compiled function, applied to every free particle."""

from collections.abc import Callable

from shinari.solver.rendered import render

_TEMPLATE = '''"""Force field. Rendered by shinari.solver.forces."""

import numba
import numpy as np

from shinari.maths.function import FLAGS
{imports}

ONE, ZERO = np.float32(1.0), np.float32(0.0)


@numba.njit(parallel=True, cache={cache}, **FLAGS)
def push(x, velocities, groups, origins, time, h):
    for i in numba.prange(len(x)):
        w = x[i, 3]
        if w > ZERO:
            g = groups[i]
            p = (origins[g, 0] + x[i, 0], origins[g, 1] + x[i, 1], origins[g, 2] + x[i, 2])
            v = (velocities[i, 0], velocities[i, 1], velocities[i, 2])
            f = field(p, v, ONE / w, time)
            # one by one: a field may mix precisions, as in `x[0], 0.0, 0.0`
            velocities[i, 0] += h * w * f[0]
            velocities[i, 1] += h * w * f[1]
            velocities[i, 2] += h * w * f[2]
'''


def force_kernel(function: Callable) -> Callable:
    """Compiled `push(x, velocities, groups, origins, time, h)` that adds h w f(x, v, m, t) to the velocities."""
    return render("force_field", _TEMPLATE, {"field": function}).push
