"""Kernels of one thread, rendered with the distance functions that a scene needs, as in `solid_kernels`."""

import inspect
import warnings
from collections.abc import Callable
from typing import Any

from numba.core.errors import NumbaExperimentalFeatureWarning

from shinari.contact.solid import all_shapes, shapes
from shinari.solver.rendered import render

_SERIAL = '''"""Contacts with bodies: {{name}}. Rendered by shinari.rigid.coupling.kernels."""

import numba

from shinari.maths.function import STEADY
{imports}


@numba.njit(cache={cache}, **STEADY)
def run({{arguments}}):
    return body(distance_and_normal, {{arguments}})
'''


def serial(body: Any, *, meshes: bool) -> Callable[..., float]:
    """Kernel that calls a function of `distance_and_normal` and more.

    Args:
        body: The function.
        meshes: Whether the shapes may be meshes.

    Returns:
        Function of what follows the first argument.
    """
    arguments = ", ".join(list(inspect.signature(body.py_func).parameters)[1:])
    functions = {"body": body, "distance_and_normal": (all_shapes if meshes else shapes).distance_and_normal}
    source = _SERIAL.replace("{{name}}", body.py_func.__name__).replace("{{arguments}}", arguments)
    kernel = render(f"bodies_{body.py_func.__name__}", source, functions).run

    def quiet(*numbers: Any) -> float:
        with warnings.catch_warnings():
            # while it compiles Numba warns that functions which are passed on are an experiment
            warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)
            return kernel(*numbers)

    return quiet
