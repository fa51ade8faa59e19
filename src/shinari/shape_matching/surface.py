"""Where the vertices of a surface are that is bound to the clusters of a lump."""

from typing import TYPE_CHECKING

import numba
import numpy as np

from shinari.maths.function import STEADY, steady
from shinari.scene.cluster_surface import ClusterSurface
from shinari.shape_matching.kernels import ONE, ZERO
from shinari.shape_matching.part import SHARE, ShapeMatching

if TYPE_CHECKING:
    from shinari.model import Model
    from shinari.state import State


def places(surface: ClusterSurface, model: "Model", state: "State", particles: range, threads: int) -> np.ndarray:
    """Vertices of a surface now [m], (V, 3); see `ClusterSurface.vertices_now`."""
    part = next(part for part in model.parts if isinstance(part, ShapeMatching))
    first = part.firsts[np.searchsorted(part.numbers, particles.start)]
    found = np.empty(surface.vertices.shape, model.real)
    origin = state.origins[model.groups[model.slots[particles.start]]]
    place_vertices(
        max(1, min(threads, len(found) // SHARE)), surface.vertices, surface.corners + first, surface.weights,
        part.particles, state.x, part.entry_starts, part.entries, part.clusters, part.centres, part.rest,
        part.quadratic, part.lengths, part.means, part.poses(state), origin, found,
    )  # fmt: skip
    return found


@numba.njit(parallel=True, cache=True, **STEADY)
def place_vertices(
    parts, vertices, corners, weights, particles, x, entry_starts, entries, clusters, centres, rest, quadratic, lengths,
    means, poses, origin, found
):  # fmt: skip
    """Fill `found` (V, 3); the arrays are those of `ShapeMatching` and `ClusterSurface`."""
    count = len(vertices)
    for t in numba.prange(parts):
        for v in range(count * t // parts, count * (t + 1) // parts):
            place_vertex(v, vertices, corners, weights, particles, x, entry_starts, entries, clusters, centres, rest,
                         quadratic, lengths, means, poses, origin, found)  # fmt: skip


@steady
def place_vertex(
    v, vertices, corners, weights, particles, x, entry_starts, entries, clusters, centres, rest, quadratic, lengths,
    means, poses, origin, found
):  # fmt: skip
    """Place one vertex: from each of its particles on, by the way to it as the clusters of the particle map it."""
    px = py = pz = ZERO
    for k in range(corners.shape[1]):
        p, share = corners[v, k], weights[v, k]
        i, each = particles[p], share / (entry_starts[p + 1] - entry_starts[p])
        px, py, pz = px + share * x[i, 0], py + share * x[i, 1], pz + share * x[i, 2]
        for j in range(entry_starts[p], entry_starts[p + 1]):
            e = entries[j]
            c = clusters[e]
            q = (vertices[v, 0] - centres[c, 0], vertices[v, 1] - centres[c, 1], vertices[v, 2] - centres[c, 2])
            a = mapped(c, q, quadratic, lengths, means, poses)
            own = (np.float64(rest[e, 0]), np.float64(rest[e, 1]), np.float64(rest[e, 2]))
            b = mapped(c, own, quadratic, lengths, means, poses)
            px, py, pz = px + each * (a[0] - b[0]), py + each * (a[1] - b[1]), pz + each * (a[2] - b[2])
    found[v, 0], found[v, 1], found[v, 2] = origin[0] + px, origin[1] + py, origin[2] + pz


@steady
def mapped(c, q, quadratic, lengths, means, poses):
    """Where cluster c takes a place at rest, counted from its centre."""
    x, y, z = poses[c, 0], poses[c, 1], poses[c, 2]
    g = quadratic[c]
    step = 3 if g < 0 else 9
    for k in range(3):
        x += poses[c, 3 + k] * q[k]
        y += poses[c, 3 + step + k] * q[k]
        z += poses[c, 3 + 2 * step + k] * q[k]
    if g >= 0:
        s = ONE / lengths[c]
        products = (
            s * q[0] * q[0],
            s * q[1] * q[1],
            s * q[2] * q[2],
            s * q[0] * q[1],
            s * q[1] * q[2],
            s * q[2] * q[0],
        )
        for k in range(6):
            part = products[k] - means[g, k]
            x, y, z = x + poses[c, 6 + k] * part, y + poses[c, 15 + k] * part, z + poses[c, 24 + k] * part
    return x, y, z
