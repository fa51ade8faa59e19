r"""Moves the vertices of embedded surfaces with the corners of their tetrahedra.

   3
  /|\          x = x0 + w1 (x1 - x0) + w2 (x2 - x0) + w3 (x3 - x0)
 / * \         with the barycentric coordinates w of the vertex * at rest: whatever
0--|--2        linear field the corners carry, the vertex gets its value, exactly.
  \|/
   1
"""

import numpy as np

from shinari.compute import Field, Record, convert, kernel, real
from shinari.compute.program import run_once

# The arithmetic as written: what a vertex gets is the same wherever it stands.
EXACT: frozenset[str] = frozenset()


class Weights(Record):
    """Where each vertex is embedded, and the weighted sum there."""

    corner = Field(np.uint32, 4, doc="local indices of the particles")
    weight = Field(np.float64, 4)
    result = Field(real, 3)


class Slots(Record):
    """Where each local particle stands among the values."""

    slot = Field(np.uint32)


class Values(Record):
    """What is blended."""

    value = Field(real, 3)


@kernel(fastmath=EXACT, mixed=True)
def blend_vertex(i, weights: Weights, slots: Slots, values: Values, ox: np.float64, oy: np.float64, oz: np.float64):
    """Origin plus the weighted sum, in double precision, rounded once."""
    a, b, c, d = weights.corner[i]
    _, u, v, w = weights.weight[i]
    p, q = values.value[slots.slot[a]], values.value[slots.slot[b]]
    r, s = values.value[slots.slot[c]], values.value[slots.slot[d]]
    x, y, z = np.float64(p[0]), np.float64(p[1]), np.float64(p[2])
    weights.result[i] = (
        convert(ox + (x + u * (q[0] - x) + v * (r[0] - x) + w * (s[0] - x)), p[0]),
        convert(oy + (y + u * (q[1] - y) + v * (r[1] - y) + w * (s[1] - y)), p[0]),
        convert(oz + (z + u * (q[2] - z) + v * (r[2] - z) + w * (s[2] - z)), p[0]),
    )


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
    precision = values.dtype.type
    result = np.empty((len(corners), 3), precision)
    weights_record = Weights(
        precision, corner=np.ascontiguousarray(corners, np.uint32), weight=np.ascontiguousarray(weights), result=result
    )
    local = Slots(precision, slot=np.ascontiguousarray(slots, np.uint32))
    vectors, where = Values(precision, value=np.ascontiguousarray(values[:, :3])), origin.astype(np.float64)
    run_once(blend_vertex, weights_record, local, vectors, *where, count=len(corners), threads=threads, grain=4096)
    return result
