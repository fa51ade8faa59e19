"""Kernels of contacts with solids, rendered with the distance functions that a scene needs.

The functions of meshes are large and are compiled into every kernel that calls them, so a scene without a mesh gets
kernels that know the analytic shapes alone.
"""

import inspect
from collections.abc import Callable
from typing import Any

from shinari.contact.solid import all_shapes, shapes
from shinari.solver.rendered import render

# Fewer items than this are done by one thread: waking another costs more.
SERIAL = 512

_SWEEP = '''"""Contacts with solids: {{name}}. Rendered by shinari.contact.solid.solid_kernels."""

import numba

from shinari.maths.function import STEADY
{imports}


@numba.njit(parallel=True, cache={cache}, **STEADY)
def sweep(threads, colours, {{arguments}}):
    for colour in range(len(colours) - 1):
        begin, end = colours[colour], colours[colour + 1]
        # one call for one thread and for many: compiled at two places it could round differently
        parts = 1 if end - begin < {{serial}} else threads
        for t in numba.prange(parts):
            body(
                {{shapes}}begin + (end - begin) * t // parts, begin + (end - begin) * (t + 1) // parts, {{arguments}}
            )
'''


def sweep(body: Any, *, meshes: bool = False) -> Callable[..., None]:
    """Kernel that calls a function on ranges of items, colour after colour.

    Args:
        body: Function of `begin, end` and more, before them perhaps `distance_and_normal`, which is filled in.
        meshes: Whether the shapes may be meshes.

    Returns:
        Function of `threads`, the offsets of the colours (C + 1,) and what follows `begin, end`.
    """
    arguments = list(inspect.signature(body.py_func).parameters)
    functions = {"body": body}
    asks = arguments[0] == "distance_and_normal"
    if asks:
        functions["distance_and_normal"] = (all_shapes if meshes else shapes).distance_and_normal
    name = body.py_func.__name__
    source = _SWEEP.replace("{{name}}", name).replace("{{serial}}", str(SERIAL))
    source = source.replace("{{shapes}}", "distance_and_normal, " if asks else "")
    source = source.replace("{{arguments}}", ", ".join(arguments[3 if asks else 2 :]))
    return render(f"solids_{name}", source, functions).sweep
