"""Records and kernels of `shinari.systems.fluid.sheets`."""

import numpy as np

from shinari.compute import Field, Kernel, Record, convert, function, kernel, real, shared
from shinari.compute.kernels import STEADY
from shinari.compute.once import once
from shinari.compute.scan import Offsets
from shinari.geometry.boxes import Boxes, Nodes
from shinari.geometry.overlaps import BoxPairs, Queries
from shinari.geometry.proximity import triangle_weights
from shinari.maths.vec3 import ZERO, add, direction_and_length, dot, neg, norm, scale, sub
from shinari.model.particles import Origins, Particles
from shinari.systems.fluid.records import FluidParticles, Neighbours, Solve
from shinari.systems.fluid.smoothing import weight
from shinari.systems.fluid.wall_kernels import Halfspace, look_up
from shinari.systems.surface_contact.records import DetectionState

Vector = tuple[real, real, real]
FAR = np.float32(np.inf)


class SheetParticles(Record):
    """Particles of the solver, N rows."""

    start = Field(real, 3, unit="m", doc="position at the start of the substep, relative to the origin of the fluids")
    found_at = Field(real, 3, unit="m", doc="the same when the triangles were listed")
    now = Field(real, 3, unit="m", doc="position now, of corners")
    radius = Field(real, unit="m", doc="half the thickness")
    watched = Field(np.uint8, doc="whether it is of a fluid or a corner of a triangle")


class SheetTriangles(Record):
    """Triangles that a fluid lies against, F rows."""

    corners = Field(np.uint32, 3, doc="particles")
    owner = Field(np.int64, doc="object that it belongs to")


class Corners(Record):
    """Corners of all triangles, each once."""

    particle = Field(np.uint32)


class SheetFilter(Record):
    """Which objects each fluid lies against: row fluid times objects plus object."""

    allowed = Field(np.uint8)


class MemberPlaces(Record):
    """Where the active members stand, P rows."""

    row = Field(np.uint32, doc="row of `FluidParticles`")


class SheetItems(Record):
    """Particles of the fluid near triangles."""

    member = Field(np.uint32, doc="row of `Members`")
    particle = Field(np.uint32, doc="particle in solver order")
    limit = Field(real, unit="m", doc="distance up to which triangles are kept")
    chosen = Field(np.int64, doc="the nearest triangle, or -1")
    weights = Field(real, 3, doc="weights of its corners in the nearest point")
    normal = Field(real, 3, doc="from there to the particle")


class Distances(Record):
    """One row for each pair of a particle and a triangle whose boxes touch."""

    distance = Field(real, unit="m", doc="infinite where the two do not meet")


class Candidates(Record):
    """Triangles that may come near each item, one list after the other."""

    triangle = Field(np.uint32)


class SheetState(Record):
    """One row: where the lists are, and constants."""

    stale = Field(np.int64, doc="whether the lists have to be made anew")
    wanted = Field(np.int64, doc="whether triangles are looked for: a particle may be near one")
    reordered = Field(np.int64, doc="whether the fluid is in another order than when places were last taken")
    detections = Field(np.int64, doc="how often it had been brought into order then")
    items = Field(np.int64)
    margin = Field(real, unit="m", doc="lists last until a particle or a corner has gone half of this")
    reach = Field(real, unit="m", doc="distance from a triangle up to which it counts")
    support = Field(real, unit="m", doc="distance at which the smoothing kernels end")
    inverse2 = Field(real, unit="1/m^2", doc="1 / support^2")
    weight_scale = Field(real, doc="see `Smoothing`")
    origin_index = Field(np.int64, doc="of the fluids")
    objects = Field(np.int64, doc="number of objects")


@function(fastmath=STEADY)
def here(x, particles, origins, origin_index, s):
    """A position of a particle of the solver, relative to the origin of the fluids."""
    a, b = origins.position[particles.origin_index[s]], origins.position[origin_index]
    return (
        x[0] + convert(a[0] - b[0], x[0]), x[1] + convert(a[1] - b[1], x[0]), x[2] + convert(a[2] - b[2], x[0])
    )  # fmt: skip


@kernel
def find_wanted(_, state: SheetState, detection: DetectionState, solve: Solve):
    """In a step triangles are looked for unless contacts know that all are far; between steps always."""
    state.wanted[0] = detection.loose[0] != 0 or solve.moving[0] == 0
    state.reordered[0] = state.wanted[0] != 0 and state.detections[0] != solve.detections[0]
    if state.reordered[0] != 0:
        state.detections[0] = solve.detections[0]


@kernel
def take_place(i, fluid: FluidParticles, places: MemberPlaces):
    """Keep where a member stands."""
    places.row[fluid.member[i]] = i


@kernel(fastmath=STEADY, mixed=True)
def find_start(
    s, sheets: SheetParticles, state: SheetState, particles: Particles, origins: Origins, solve: Solve, h: real
):
    """Position of a particle at the start of the substep; ask for new lists when it has gone too far."""
    x = particles.x[s]
    if solve.moving[0] != 0:
        p, v = particles.predicted[s], particles.v[s]
        x = p[0] - h * v[0], p[1] - h * v[1], p[2] - h * v[2], x[3]
    at = here(x, particles, origins, state.origin_index[0], s)
    sheets.start[s] = at
    if sheets.watched[s] != 0:
        moved = norm(sub(at, sheets.found_at[s]))
        # all that have gone too far write the same
        if not moved + moved <= state.margin[0]:
            state.stale[0] = 1


@kernel(fastmath=STEADY)
def find_box(f, sheets: SheetParticles, triangles: SheetTriangles, boxes: Boxes):
    """Box of a triangle with its thickness."""
    i, j, k = triangles.corners[f]
    a, b, c = sheets.start[i], sheets.start[j], sheets.start[k]
    r, s, t = sheets.radius[i], sheets.radius[j], sheets.radius[k]
    boxes.low[f] = (
        min(a[0] - r, min(b[0] - s, c[0] - t)),
        min(a[1] - r, min(b[1] - s, c[1] - t)),
        min(a[2] - r, min(b[2] - s, c[2] - t)),
    )
    boxes.high[f] = (
        max(a[0] + r, max(b[0] + s, c[0] + t)),
        max(a[1] + r, max(b[1] + s, c[1] + t)),
        max(a[2] + r, max(b[2] + s, c[2] + t)),
    )


@kernel(fastmath=STEADY)
def mark_particle(
    i, fluid: FluidParticles, sheets: SheetParticles, nodes: Nodes, state: SheetState, boxes: Boxes, marks: Offsets
):
    """Box of a particle of the fluid with the reach; mark it if it touches that of all triangles."""
    x, reach, all_of = sheets.start[fluid.particle[i]], state.reach[0] + state.margin[0], nodes.box[1]
    low, high = (x[0] - reach, x[1] - reach, x[2] - reach), (x[0] + reach, x[1] + reach, x[2] + reach)
    boxes.low[i], boxes.high[i] = low, high
    inside = high[0] > all_of[0] and high[1] > all_of[1] and high[2] > all_of[2]
    inside = inside and low[0] < all_of[3] and low[1] < all_of[4] and low[2] < all_of[5]
    marks.start[i] = 1 if inside else 0


@kernel
def list_item(i, fluid: FluidParticles, marks: Offsets, queries: Queries, items: SheetItems):
    """Put a marked particle into the list of items."""
    at = marks.start[i]
    if marks.start[i + 1] != at:
        queries.box[at] = i
        items.member[at], items.particle[at] = fluid.member[i], fluid.particle[i]


@shared(fastmath=STEADY)
def vector_to_triangle(p: Vector, a: Vector, b: Vector, c: Vector) -> tuple[Vector, Vector]:
    """Weights of the point of a triangle that is nearest to p, and the vector to there."""
    a, b, c = sub(a, p), sub(b, p), sub(c, p)
    w = triangle_weights(a, b, c)
    return w, add(add(scale(a, w[0]), scale(b, w[1])), scale(c, w[2]))


@function(fastmath=STEADY)
def near_point(p, f, triangles, sheets):
    """Weights and vector of the nearest point of a triangle, and its distance less half the thickness."""
    i, j, k = triangles.corners[f]
    w, to = vector_to_triangle(p, sheets.start[i], sheets.start[j], sheets.start[k])
    return w, to, norm(to) - sheets.radius[i]


@kernel(fastmath=STEADY)
def measure(
    q, fluid: FluidParticles, items: SheetItems, queries: Queries, sheets: SheetParticles, triangles: SheetTriangles,
    sheet_filter: SheetFilter, state: SheetState, found: Offsets, pairs: BoxPairs, distances: Distances, kept: Offsets
):  # fmt: skip
    """Distances of a particle from the triangles whose boxes touch its own, and how many of them are kept.

    Until the lists are made anew two distances change by at most a margin each.
    """
    p, phase = sheets.start[items.particle[q]], np.int64(fluid.phase[queries.box[q]])
    margin = state.margin[0]
    reach = state.reach[0] + margin
    nearest = reach
    for k in range(found.start[q], found.start[q + 1]):
        f = pairs.boxes[k, 1]
        d = near_point(p, f, triangles, sheets)[2]
        d = d if sheet_filter.allowed[phase * state.objects[0] + triangles.owner[f]] != 0 else FAR
        distances.distance[k] = d
        nearest = min(nearest, d)
    limit, count = nearest + margin + margin if nearest < reach else -FAR, 0
    for k in range(found.start[q], found.start[q + 1]):
        count += 1 if distances.distance[k] <= limit else 0
    items.limit[q], kept.start[q] = limit, count


@kernel
def list_candidates(
    q, items: SheetItems, found: Offsets, pairs: BoxPairs, distances: Distances, kept: Offsets, candidates: Candidates
):
    """Write the triangles of an item."""
    at = kept.start[q]
    for k in range(found.start[q], found.start[q + 1]):
        if distances.distance[k] <= items.limit[q]:
            candidates.triangle[at] = pairs.boxes[k, 1]
            at += 1


@kernel
def finish_lists(_, state: SheetState):
    """The lists are up to date."""
    state.stale[0] = 0


@kernel
def store_start(s, sheets: SheetParticles):
    """Keep the position at which the lists were made."""
    sheets.found_at[s] = sheets.start[s]


@kernel(fastmath=STEADY)
def choose(
    q, items: SheetItems, kept: Offsets, candidates: Candidates, sheets: SheetParticles, triangles: SheetTriangles,
    state: SheetState
):  # fmt: skip
    """The nearest triangle of an item, the weights of the nearest point, and the normal from there."""
    p, best = sheets.start[items.particle[q]], state.reach[0]
    items.chosen[q] = -1
    for k in range(kept.start[q], kept.start[q + 1]):
        f = candidates.triangle[k]
        w, to, distance = near_point(p, f, triangles, sheets)
        if distance < best:
            best = distance
            n, _ = direction_and_length(neg(to))
            items.chosen[q], items.weights[q], items.normal[q] = f, w, n


@kernel(fastmath=STEADY, mixed=True)
def place_corner(
    c, corners: Corners, sheets: SheetParticles, state: SheetState, particles: Particles, origins: Origins
):
    """Position of a corner now."""
    s = corners.particle[c]
    sheets.now[s] = here(particles.x[s], particles, origins, state.origin_index[0], s)


@once
def add_missing(smoothing: int) -> Kernel:
    """Kernel that adds what of the half space behind the nearest triangle is not filled by fluid to a density."""

    @kernel(fastmath=STEADY)
    def add_missing_density(
        q, items: SheetItems, places: MemberPlaces, fluid: FluidParticles, neighbours: Neighbours, offsets: Offsets,
        triangles: SheetTriangles, sheets: SheetParticles, state: SheetState, table: Halfspace
    ):  # fmt: skip
        f = items.chosen[q]
        if f < 0:
            return
        i, n, w = np.int64(places.row[items.member[q]]), items.normal[q], items.weights[q]
        a, b, c = triangles.corners[f]
        point = add(add(scale(sheets.now[a], w[0]), scale(sheets.now[b], w[1])), scale(sheets.now[c], w[2]))
        x, level = fluid.x[i], dot(n, point)
        missing = look_up(table.share, len(table), dot(n, x) - level - sheets.radius[a], state.support[0])
        for k in range(offsets.start[i], offsets.start[i + 1]):
            other = fluid.x[neighbours.place[k]]
            to = sub(x, other)
            there = state.weight_scale[0] * weight(smoothing, dot(to, to) * state.inverse2[0])
            missing -= there if dot(n, other) < level else ZERO
        fluid.density[i] += max(missing, ZERO)

    return add_missing_density
