"""Which edges pierce which triangles now."""

import numpy as np

from shinari.compute import Program, kernel
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets, Scan
from shinari.geometry.boxes import Boxes
from shinari.geometry.bvh import Bvh
from shinari.geometry.ordering import hilbert_order
from shinari.geometry.overlaps import BoxPairs, Queries
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, cross, dot, norm, sub
from shinari.model.particles import Particles
from shinari.systems.surface_contact.pair_filter import objects_may_collide
from shinari.systems.surface_contact.records import ContactParticles, Frames, Objects
from shinari.systems.surface_contact.rows import relative, shift
from shinari.systems.untangling.records import Crossings, SheetEdges, SheetPoints, SheetTriangles, TangleState

# An edge whose ends both lie nearer to the plane of a triangle than this part of the gap lies in it.
FLAT = np.float32(1e-3)
# Boxes are wider by this part of the largest coordinate, for rounding.
ROUNDING = np.float32(4.0 * np.finfo(np.float32).eps)


class CrossingSearch:
    """Finds the edges that pierce triangles.

    Attributes:
        crossings: What was found; the first `state.crossings` count.
        state: How many there are.
    """

    def __init__(
        self, edges: SheetEdges, triangles: SheetTriangles, points: SheetPoints, rest: np.ndarray, precision: type
    ) -> None:
        self.edges, self.triangles, self.points = edges, triangles, points
        self.crossings, self.state = Crossings.zeros(0, precision), TangleState.zeros(1)
        self._tree = Bvh(rest[triangles.points].mean(axis=1), precision)
        self._boxes = Boxes.zeros(len(edges), precision)
        order = hilbert_order(rest[edges.points].mean(axis=1)).astype(np.uint32)
        self._overlaps = self._tree.overlaps(self._boxes, Queries(precision, box=order))
        self._flags = Offsets.zeros(0)
        self._scan = Scan(self._flags)

    def record(
        self, p: Program, particles: Particles, frames: Frames, contact_particles: ContactParticles, objects: Objects
    ) -> None:
        """Record that they are found, at the positions of now."""
        edges, triangles, moving = self.edges, self.triangles, (particles, frames)
        p.launch(set_edge_box, edges, *moving, self._boxes, count=len(edges), grain=1024)
        p.launch(set_triangle_box, triangles, *moving, self._tree.boxes, count=len(triangles), grain=1024)
        self._tree.record_refit(p)
        self._overlaps.record(p, len(edges))
        total, pairs = self._overlaps.total, self._overlaps.pairs
        self._scan.make_room(p, total)
        surfaces = pairs, edges, triangles, *moving, contact_particles
        p.launch(find_crossing, *surfaces, objects, self.points, self._flags, count=total, grain=128)
        self._scan.record(p, total)
        p.copy(self._scan.total, (self.state.crossings, 0))
        p.require(self.crossings, (self.state.crossings, 0))
        p.launch(gather_crossing, *surfaces, self._flags, self.crossings, count=total, grain=1024)


@steady
def place_of(particles, frames, i):
    """Place of a particle in the frame that all share, and how much it is rounded."""
    x, offset = particles.x[i], frames.offset[particles.origin_index[i]]
    at = add((x[0], x[1], x[2]), offset)
    return at, ROUNDING * max(abs(at[0]), max(abs(at[1]), abs(at[2])))


@kernel(fastmath=STEADY)
def set_edge_box(e, edges: SheetEdges, particles: Particles, frames: Frames, boxes: Boxes):
    """Box around an edge."""
    i, j = edges.points[e]
    a, r = place_of(particles, frames, i)
    b, s = place_of(particles, frames, j)
    r = max(r, s)
    boxes.low[e] = min(a[0], b[0]) - r, min(a[1], b[1]) - r, min(a[2], b[2]) - r
    boxes.high[e] = max(a[0], b[0]) + r, max(a[1], b[1]) + r, max(a[2], b[2]) + r


@kernel(fastmath=STEADY)
def set_triangle_box(t, triangles: SheetTriangles, particles: Particles, frames: Frames, boxes: Boxes):
    """Box around a triangle."""
    i, j, k = triangles.points[t]
    a, r = place_of(particles, frames, i)
    b, s = place_of(particles, frames, j)
    c, u = place_of(particles, frames, k)
    r = max(r, max(s, u))
    boxes.low[t] = (
        min(a[0], min(b[0], c[0])) - r, min(a[1], min(b[1], c[1])) - r, min(a[2], min(b[2], c[2])) - r
    )  # fmt: skip
    boxes.high[t] = (
        max(a[0], max(b[0], c[0])) + r, max(a[1], max(b[1], c[1])) + r, max(a[2], max(b[2], c[2])) + r
    )  # fmt: skip


@steady
def pierced(e, t, edges, triangles, particles, frames, least):
    """Whether an edge pierces a triangle, where on both, and on which side its first end lies.

    An end in the plane counts as above it; an edge of which both ends are nearer to it than `least` lies in it.
    """
    p, q = edges.points[e]
    i, j, k = triangles.points[t]
    origin_indices, origins, x = particles.origin_index, frames.origin, particles.x
    pq = relative(x, p, q, shift(origin_indices, origins, p, q))
    a = relative(x, p, i, shift(origin_indices, origins, p, i))
    b = relative(x, p, j, shift(origin_indices, origins, p, j))
    c = relative(x, p, k, shift(origin_indices, origins, p, k))
    normal = cross(sub(b, a), sub(c, a))
    size = norm(normal)
    first, second = -dot(normal, a), dot(normal, sub(pq, a))
    u, v, w = dot(pq, cross(b, c)), dot(pq, cross(c, a)), dot(pq, cross(a, b))
    within = (u >= ZERO and v >= ZERO and w >= ZERO) or (u <= ZERO and v <= ZERO and w <= ZERO)
    whole = u + v + w
    through = (first >= ZERO) != (second >= ZERO) and max(abs(first), abs(second)) > least * size
    hit = within and through and whole != ZERO and size > ZERO
    place = first / (first - second) if hit else ZERO * size
    whole = whole if hit else ONE + ZERO * size
    side = ONE + ZERO * size if first >= ZERO else ZERO * size - ONE
    return hit, place, (u / whole, v / whole, w / whole), side


@kernel(fastmath=STEADY)
def find_crossing(
    r, pairs: BoxPairs, edges: SheetEdges, triangles: SheetTriangles, particles: Particles, frames: Frames,
    contact_particles: ContactParticles, objects: Objects, points: SheetPoints, flags: Offsets
):  # fmt: skip
    """Whether an edge pierces a triangle that it may touch, and neither is held at the other by a joint."""
    e, t = np.int64(pairs.boxes[r, 0]), np.int64(pairs.boxes[r, 1])
    p, q = edges.points[e]
    i, j, k = triangles.points[t]
    flags.start[r] = 0
    # edges and triangles with a common vertex meet there, across a seam also when both sides are not yet together
    vertex = contact_particles.vertex
    if vertex[p] in (vertex[i], vertex[j], vertex[k]) or vertex[q] in (vertex[i], vertex[j], vertex[k]):
        return
    own, free = edges.object_index[e] == triangles.object_index[t], contact_particles.free
    tied = not own and (points.tied[p] or points.tied[q]) and (points.tied[i] or points.tied[j] or points.tied[k])
    if tied or not (free[p] or free[q] or free[i] or free[j] or free[k]):
        return
    if not objects_may_collide(np.int64(p), np.int64(i), contact_particles, objects):
        return
    least = FLAT * (contact_particles.radius[p] + contact_particles.radius[i])
    hit, _, _, _ = pierced(e, t, edges, triangles, particles, frames, least)
    flags.start[r] = hit


@kernel(fastmath=STEADY)
def gather_crossing(
    r, pairs: BoxPairs, edges: SheetEdges, triangles: SheetTriangles, particles: Particles, frames: Frames,
    contact_particles: ContactParticles, flags: Offsets, crossings: Crossings
):  # fmt: skip
    """Write an edge that pierces a triangle."""
    at = flags.start[r]
    if flags.start[r + 1] > at:
        e, t = np.int64(pairs.boxes[r, 0]), np.int64(pairs.boxes[r, 1])
        least = FLAT * (contact_particles.radius[edges.points[e, 0]] + contact_particles.radius[triangles.points[t, 0]])
        _, place, weights, above = pierced(e, t, edges, triangles, particles, frames, least)
        crossings.edge[at], crossings.triangle[at] = e, t
        crossings.place[at], crossings.weights[at], crossings.above[at] = place, weights, above
        crossings.push[at] = ZERO, ZERO, ZERO
