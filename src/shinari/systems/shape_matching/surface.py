"""Where the vertices of a surface are that is bound to the clusters of a lump."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shinari.compute import Field, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.compute.program import run_once
from shinari.geometry.k_nearest import nearest
from shinari.maths.vec3 import add, scale, sub
from shinari.model.particles import Particles
from shinari.scene.cluster_surface import ClusterSurface
from shinari.systems.shape_matching.kernels import NONE, curvature, double, mapped
from shinari.systems.shape_matching.model import ShapeMatchingModel
from shinari.systems.shape_matching.records import Clusters, Entries, Members, Quadratic

if TYPE_CHECKING:
    from shinari.model.model import Model
    from shinari.model.state import State

# Particles that a vertex follows.
CORNERS = 4


class Vertices(Record):
    """Vertices of a surface, V rows."""

    rest = Field(np.float64, 3, unit="m", doc="where it was when the lump was put")
    corners = Field(np.int64, 2, doc="first corner and the one after the last")
    now = Field(np.float64, 3, unit="m", doc="where it is now, relative to their origin")


class Corners(Record):
    """Particles near each vertex, vertex after vertex."""

    particle = Field(np.uint32)
    entries = Field(np.int64, 2, doc="first entry of the particle and the one after the last")
    weight = Field(np.float64)


class Centres(Record):
    """Centres of clusters at rest, C rows."""

    place = Field(np.float64, 3, unit="m")


def places(surface: ClusterSurface, model: "Model", state: "State", particles: range, threads: int) -> np.ndarray:
    """Vertices of a surface now [m], (V, 3); each moves as the clusters of its particles."""
    part = model.find(ShapeMatchingModel)
    assert part is not None  # the surface is that of a lump
    chosen = (surface.corners + part.firsts[np.searchsorted(part.numbers, particles.start)]).ravel()
    count, width = surface.corners.shape
    ends = width * np.arange(1, count + 1)
    vertices = Vertices(
        rest=surface.vertices.astype(np.float64),
        corners=np.stack([ends - width, ends], axis=1),
        now=np.zeros((count, 3)),
    )
    corners = Corners(
        particle=part.particles[chosen],
        entries=np.stack([part.entry_starts[chosen], part.entry_starts[chosen + 1]], axis=1),
        weight=surface.weights.ravel().astype(np.float64),
    )
    tables, moved = part.poses(state, threads), Particles.zeros(len(state.x), model.real)
    moved.bind(x=state.x)
    records = tables.entries, tables.members, tables.clusters, tables.quadratic
    run_once(
        place_vertex, vertices, corners, *records, Centres(place=part.centres), moved, count=count, threads=threads
    )  # fmt: skip
    return (state.origins[model.origin_index[model.slots[particles.start]]] + vertices.now).astype(model.real)


@kernel(fastmath=STEADY)
def place_vertex(
    v,
    vertices: Vertices,
    corners: Corners,
    entries: Entries,
    members: Members,
    clusters: Clusters,
    quadratic: Quadratic,
    centres: Centres,
    particles: Particles,
):
    """Place a vertex: from each of its particles on by the path to it, as the clusters of the particle map that."""
    rest, now = vertices.rest[v], NONE
    first, last = vertices.corners[v]
    for k in range(first, last):
        begin, end = corners.entries[k]
        weight = corners.weight[k]
        now = add(now, scale(double(particles.x[corners.particle[k]]), weight))
        for j in range(begin, end):
            e = entries.member[j]
            c = members.cluster[e]
            q, own = sub(rest, centres.place[c]), double(members.rest[e])
            path = sub(mapped(clusters, c, q), mapped(clusters, c, own))
            bend = sub(curvature(clusters, quadratic, c, q), curvature(clusters, quadratic, c, own))
            now = add(now, scale(add(path, bend), weight / (end - begin)))
    vertices.now[v] = now


def speeds(surface: ClusterSurface, model: "Model", state: "State", particles: range) -> np.ndarray:
    """Velocities of the vertices [m/s], (V, 3): the means of those of their particles."""
    own = state.v[model.slots[particles.start : particles.stop]]
    return np.einsum("vk,vkc->vc", surface.weights, own[surface.corners].astype(np.float64)).astype(model.real)


def bind(vertices: NDArray[np.float64], faces: NDArray[np.integer], points: NDArray[np.float64]) -> ClusterSurface:
    """A surface bound to particles, by the inverse squares of their distances.

    Args:
        vertices: Vertices at rest [m], (V, 3).
        faces: Vertex indices, (F, 3).
        points: Particles at rest [m], (N, 3).
    """
    corners, squares = nearest(vertices, points, min(CORNERS, len(points)))
    least = np.maximum(squares, 1e-6 * np.maximum(squares.mean(axis=1, keepdims=True), np.finfo(float).tiny))
    weights = 1.0 / least
    weights /= weights.sum(axis=1, keepdims=True)
    return ClusterSurface(np.ascontiguousarray(vertices, np.float64), faces.astype(np.int64), corners, weights)
