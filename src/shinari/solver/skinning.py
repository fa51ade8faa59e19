r"""Moves the vertices of embedded surfaces with the corners of their tetrahedra.

   3
  /|\          x = x0 + w1 (x1 - x0) + w2 (x2 - x0) + w3 (x3 - x0)
 / * \         with the barycentric coordinates w of the vertex * at rest: whatever
0--|--2        linear field the corners carry, the vertex gets its value, exactly.
  \|/
   1
"""

import numba
import numpy as np

from shinari.maths.function import FLAGS

# The arithmetic as written: free to reorder, the compiler would round differently in the vector part of a loop and in
# its rest, and so by the number of threads.
EXACT = {**FLAGS, "fastmath": False}
# Vertices for which it is worth waking one more thread.
SHARE = 8192


def blend(
    corners: np.ndarray, weights: np.ndarray, slots: np.ndarray, values: np.ndarray, origin: np.ndarray, threads: int
) -> np.ndarray:
    """Origin plus the weighted sum of the values of four particles, for each vertex.

    Args:
        corners: Local indices of the particles, (V, 4) uint32.
        weights: Weights that sum to one, (V, 4) float64.
        slots: Row in `values` of each local particle, (N,) uint32.
        values: Positions relative to the origin, or velocities, (rows, 3 or more).
        origin: What is added, (3,) float64.
        threads: Threads to use, at most.

    Returns:
        The sums, (V, 3), in the precision of the values, rounded once.
    """
    result = np.empty((len(corners), 3), values.dtype)
    threads = max(1, min(threads, len(corners) // SHARE))
    _blend(corners, weights, slots, values, origin, threads, result)
    return result


@numba.njit(**EXACT)
def _blend_part(t, corners, weights, slots, values, origin, threads, result):
    """One thread's part of `_blend`."""
    ox, oy, oz = origin[0], origin[1], origin[2]
    count = len(corners)
    for i in range(t * count // threads, (t + 1) * count // threads):
        a, b, c, d = slots[corners[i, 0]], slots[corners[i, 1]], slots[corners[i, 2]], slots[corners[i, 3]]
        u, v, w = weights[i, 1], weights[i, 2], weights[i, 3]
        x, y, z = np.float64(values[a, 0]), np.float64(values[a, 1]), np.float64(values[a, 2])
        result[i, 0] = ox + (x + u * (values[b, 0] - x) + v * (values[c, 0] - x) + w * (values[d, 0] - x))
        result[i, 1] = oy + (y + u * (values[b, 1] - y) + v * (values[c, 1] - y) + w * (values[d, 1] - y))
        result[i, 2] = oz + (z + u * (values[b, 2] - z) + v * (values[c, 2] - z) + w * (values[d, 2] - z))


@numba.njit(parallel=True, cache=True, **EXACT)
def _blend(corners, weights, slots, values, origin, threads, result):
    """Fill `result`, see `blend`; in double precision, which costs nothing beside the reading."""
    if threads == 1:
        _blend_part(0, corners, weights, slots, values, origin, threads, result)
    else:
        for t in numba.prange(threads):
            _blend_part(t, corners, weights, slots, values, origin, threads, result)
