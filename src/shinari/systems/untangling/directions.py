"""Where each crossing is to be pulled.

A contour that separates a region from one of its surfaces vanishes when this region is drawn through the other surface.
Of all regions at a contour the smallest is chosen, but where it parts a closed sheet, the smaller part: a sheet through
the middle of a ball of cloth would be drawn to all sides, while one half of the ball goes through it. Out of other
closed surfaces everything is drawn along their normals. A contour that separates nothing and ends at a boundary of A
and at one of B, like two cards that are slotted into each other, is shortened: they are drawn apart along it (Volino
and Magnenat-Thalmann 2006, Resolving surface collisions through intersection contour minimization). Two edges that have
gone past each other pierce triangles twice: what lies between is drawn back, out of a fold at its ridge. A knot of a
surface with itself, a few edges wide, has no regions that tell where to go: contacts let it pass, and the surface
straightens itself. So do those of a region of a few triangles at times: where it sits in a fold of the other surface,
pulls at both layers cancel.
"""

import numpy as np

from shinari.compute import convert, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, cross, direction_and_length, dot, neg, norm, scale, sub
from shinari.model.particles import Particles
from shinari.systems.surface_contact.records import ContactParticles, Frames
from shinari.systems.surface_contact.rows import relative, shift
from shinari.systems.untangling.records import Contours, Crossings, SheetEdges, SheetPoints, SheetTriangles, TangleState
from shinari.systems.untangling.regions import NONE
from shinari.systems.untangling.search import place_of

# An edge and a triangle of one surface that pierce each other are a knot when they are so many edges apart at rest.
KNOT = np.float32(2.5)
# Squares of the length of an edge in a small region.
SMALL = 4.0
# Sum of the normals of two layers from which on it tells where the ridge of their fold is.
FOLD = np.float32(0.1)


@steady
def separated(e, edges, points):
    """Regions at both ends of an edge, and whether it joins two of which none is a mere end of a contour."""
    i, j = np.int64(edges.points[e, 0]), np.int64(edges.points[e, 1])
    a, b = points.region[i], points.region[j]
    return a, b, a != b and not (points.blocked[i] or points.blocked[j])


@steady
def smaller(a, b, points):
    """The smaller one of two regions."""
    less = points.size[a] < points.size[b] or (points.size[a] == points.size[b] and a < b)
    return a if less else b


@steady
def is_closed(e, edges, triangles):
    """Sign of the normals outwards of the closed surface of an edge, else 0."""
    return triangles.outward[edges.face[e, 0]]


@steady
def is_parted(f, first, side, contours, triangles):
    """Whether a contour parts the closed sheet of triangle f in two."""
    return triangles.outward[f] != ZERO and triangles.hollow[f] and contours.region[first, side] != NONE


@steady
def chosen_side(c, crossings, contours, edges, triangles):
    """Side of a contour whose region is to go: a closed sheet that is parted, else that of the smaller region."""
    first, side = contours.first[c], np.int64(contours.swapped[c])
    if is_parted(edges.face[crossings.edge[c], 0], first, side, contours, triangles):
        return side
    if is_parted(crossings.triangle[c], first, 1 - side, contours, triangles):
        return 1 - side
    return 0 if contours.small[first, 0] <= contours.small[first, 1] else 1


@steady
def leaves_closed(c, crossings, contours, edges, triangles):
    """Whether a surface of a crossing is closed and not parted: the other one is to leave it along its normals."""
    e, t, first, side = crossings.edge[c], crossings.triangle[c], contours.first[c], np.int64(contours.swapped[c])
    f = edges.face[e, 0]
    piercing = triangles.outward[f] != ZERO and not is_parted(f, first, side, contours, triangles)
    pierced = triangles.outward[t] != ZERO and not is_parted(t, first, 1 - side, contours, triangles)
    return (piercing or pierced) and edges.object_index[e] != triangles.object_index[t]


@kernel
def measure_contours(
    _, state: TangleState, crossings: Crossings, contours: Contours, edges: SheetEdges, points: SheetPoints,
    particles: Particles, frames: Frames
):  # fmt: skip
    """The smallest region that each contour separates from each of both surfaces, and where it ends at boundaries."""
    for c in range(state.crossings[0]):
        first, side, e = contours.first[c], contours.swapped[c], crossings.edge[c]
        a, b, apart = separated(e, edges, points)
        if apart:
            region = smaller(a, b, points)
            if points.size[region] < contours.small[first, side]:
                contours.small[first, side], contours.region[first, side] = points.size[region], region
        if edges.face[e, 1] == NONE:
            p, _ = place_of(particles, frames, np.int64(edges.points[e, 0]))
            q, _ = place_of(particles, frames, np.int64(edges.points[e, 1]))
            at, sign = np.float64(crossings.place[c]), 1.0 if side == 1 else -1.0
            contours.ends[first, side] += 1
            for k in range(3):
                x = (1.0 - at) * np.float64(p[k]) + at * np.float64(q[k])
                contours.along[first, k] += sign * x


@steady
def triangle_normal(t, triangles, particles, frames):
    """Unit normal of a triangle."""
    i, j, k = triangles.points[t]
    origin_indices, origins, x = particles.origin_index, frames.origin, particles.x
    b = relative(x, i, j, shift(origin_indices, origins, i, j))
    c = relative(x, i, k, shift(origin_indices, origins, i, k))
    return direction_and_length(cross(b, c))[0]


@steady
def edge_normal(e, edges, triangles, particles, frames):
    """Unit normal of a surface at an edge, on one of its sides."""
    n = triangle_normal(edges.face[e, 0], triangles, particles, frames)
    if edges.face[e, 1] != NONE:
        m = triangle_normal(edges.face[e, 1], triangles, particles, frames)
        n = direction_and_length(add(n, m if dot(n, m) > ZERO else neg(m)))[0]
    return n


@steady
def towards(region, t, triangles, points, particles, frames):
    """Vector in a triangle from its corners outside of a region to those in it; zero where there are none of both."""
    i = np.int64(triangles.points[t, 0])
    origin_indices, origins, x = particles.origin_index, frames.origin, particles.x
    zero = x[i, 3] - x[i, 3]
    within, without, count = (zero, zero, zero), (zero, zero, zero), 0
    for k in range(3):
        j = np.int64(triangles.points[t, k])
        at = relative(x, i, j, shift(origin_indices, origins, i, j))
        if points.region[j] == region:
            within, count = add(within, at), count + 1
        else:
            without = add(without, at)
    if count == 1:
        without = scale(without, ONE / np.float32(2.0))
    elif count == 2:
        within = scale(within, ONE / np.float32(2.0))
    both = count == 1 or count == 2
    return sub(within, without) if both else (zero, zero, zero)


@steady
def oppose(points, region, number):
    """A region is drawn out of an object."""
    points.opponents[region] |= np.uint64(1) << np.uint64(number % 64)


@steady
def mark_near(c, crossings, edges, triangles, points):
    """Mark the particles of an edge and the triangle that it pierces."""
    for k in range(2):
        points.near[edges.points[crossings.edge[c], k]] = True
    for k in range(3):
        points.near[triangles.points[crossings.triangle[c], k]] = True


@steady
def first_on_edge(c, crossings):
    """First crossing of the edge of a crossing: those of an edge stand next to each other."""
    e = crossings.edge[c]
    while c > 0 and crossings.edge[c - 1] == e:
        c -= 1
    return c


@steady
def outer_end(c, state, crossings, contours):
    """Of an edge that goes through a contour and back: 1 where its first end is outside next to a crossing, else -1.

    0 for an edge that does not come back.
    """
    e, first, count, before = crossings.edge[c], contours.first[c], 0, 0
    start = first_on_edge(c, crossings)
    while start < state.crossings[0] and crossings.edge[start] == e:
        if contours.first[start] == first:
            count += 1
            before += 1 if crossings.place[start] < crossings.place[c] else 0
        start += 1
    zero = ZERO * crossings.place[c]
    return zero if count % 2 == 1 else (zero + ONE if before % 2 == 0 else zero - ONE)


@steady
def out_of_layer(c, state, crossings, contours, triangles, particles, frames):
    """Normal of the triangle of a crossing towards the side on which what lies between the crossings is to go."""
    sign = crossings.above[c] * outer_end(c, state, crossings, contours)
    return scale(triangle_normal(crossings.triangle[c], triangles, particles, frames), sign)


@steady
def out_of_fold(c, state, crossings, contours, triangles, particles, frames):
    """Direction in which an edge that goes through a contour and back leaves it; zero where it does not come back.

    What lies between two layers leaves them at the ridge of their fold: there the sum of both normals points.
    """
    e, first, k = crossings.edge[c], contours.first[c], first_on_edge(c, crossings)
    own = out_of_layer(c, state, crossings, contours, triangles, particles, frames)
    total = scale(own, ZERO)
    while k < state.crossings[0] and crossings.edge[k] == e:
        if contours.first[k] == first:
            total = add(total, out_of_layer(k, state, crossings, contours, triangles, particles, frames))
        k += 1
    direction, length = direction_and_length(total)
    return direction if length > FOLD else own


@steady
def draw_edge(c, region, state, crossings, contours, edges, triangles, points, particles, frames):
    """Draw the end of an edge that lies in a region through the triangle."""
    e, t = crossings.edge[c], crossings.triangle[c]
    a, b, apart = separated(e, edges, points)
    if apart:
        end = a if a == region else (b if b == region else smaller(a, b, points))
        # from the side of this end to the other one
        sign = -crossings.above[c] if end == a else crossings.above[c]
        crossings.push[c] = scale(triangle_normal(t, triangles, particles, frames), sign)
        oppose(points, end, triangles.object_index[t])
    else:
        crossings.push[c] = out_of_fold(c, state, crossings, contours, triangles, particles, frames)


@steady
def leave_closed(c, crossings, edges, triangles, points, particles, frames):
    """Draw the edge and the triangle of a crossing out of the closed surface that one of them belongs to."""
    e, t = crossings.edge[c], crossings.triangle[c]
    outward = triangles.outward[t]
    if outward != ZERO:
        crossings.push[c] = scale(triangle_normal(t, triangles, particles, frames), outward)
        inner = 1 if crossings.above[c] * outward > ZERO else 0
        oppose(points, points.region[edges.points[e, inner]], triangles.object_index[t])
        return
    n = triangle_normal(edges.face[e, 0], triangles, particles, frames)
    if edges.face[e, 1] != NONE:
        n = add(n, triangle_normal(edges.face[e, 1], triangles, particles, frames))
    crossings.push[c] = scale(direction_and_length(n)[0], -is_closed(e, edges, triangles))
    a, b, apart = separated(e, edges, points)
    if apart:
        oppose(points, smaller(a, b, points), triangles.object_index[t])
    else:
        mark_near(c, crossings, edges, triangles, points)


@steady
def draw_triangle(c, region, crossings, edges, triangles, points, particles, frames):
    """Draw the corners of a triangle that lie in a region past the edge that pierces it."""
    e = crossings.edge[c]
    m = towards(region, crossings.triangle[c], triangles, points, particles, frames)
    n = edge_normal(e, edges, triangles, particles, frames)
    # the triangle moves against m, relative to the edge
    crossings.push[c] = scale(n, ZERO if norm(m) == ZERO else (ONE if dot(n, m) > ZERO else -ONE))
    oppose(points, region, edges.object_index[e])


@steady
def part_along(c, crossings, contours, edges, triangles, points):
    """Draw both surfaces of a contour apart along it."""
    d, like = contours.along[contours.first[c]], crossings.place[c]
    n, _ = direction_and_length((convert(d[0], like), convert(d[1], like), convert(d[2], like)))
    crossings.push[c] = n if contours.swapped[c] == 0 else neg(n)
    mark_near(c, crossings, edges, triangles, points)


@steady
def rest_length(e, edges, rest):
    """Length of an edge at rest."""
    p, q = edges.points[e]
    return norm(sub(rest[p], rest[q]))


@steady
def is_knot(e, t, edges, triangles, rest):
    """Whether an edge pierces a triangle of its own surface that is a few edges away from it at rest."""
    if edges.object_index[e] != triangles.object_index[t]:
        return False
    p, q = edges.points[e]
    least = norm(sub(rest[p], rest[triangles.points[t, 0]]))
    for k in range(3):
        i = triangles.points[t, k]
        least = min(least, min(norm(sub(rest[p], rest[i])), norm(sub(rest[q], rest[i]))))
    return least < KNOT * rest_length(e, edges, rest)


@steady
def paused(e, first, state, contours, edges, rest):
    """Whether the contour of an edge bounds a small region and is let pass in this step."""
    length = np.float64(rest_length(e, edges, rest))
    return state.pauses[0] != 0 and min(contours.small[first, 0], contours.small[first, 1]) < SMALL * length * length


@kernel(fastmath=STEADY)
def choose_push(
    _, state: TangleState, crossings: Crossings, contours: Contours, edges: SheetEdges, triangles: SheetTriangles,
    points: SheetPoints, particles: Particles, frames: Frames, contact_particles: ContactParticles
):  # fmt: skip
    """Direction in which the edge of each crossing goes relative to its triangle; none where it is let pass."""
    for c in range(state.crossings[0]):
        e, t, first = crossings.edge[c], crossings.triangle[c], contours.first[c]
        if paused(e, first, state, contours, edges, contact_particles.rest) or is_knot(
            e, t, edges, triangles, contact_particles.rest
        ):
            mark_near(c, crossings, edges, triangles, points)
            continue
        chosen = chosen_side(c, crossings, contours, edges, triangles)
        region = contours.region[first, chosen]
        if leaves_closed(c, crossings, contours, edges, triangles):
            leave_closed(c, crossings, edges, triangles, points, particles, frames)
        elif region != NONE and contours.swapped[c] != chosen:
            draw_triangle(c, region, crossings, edges, triangles, points, particles, frames)
        elif region == NONE and contours.ends[first, 0] > 0 and contours.ends[first, 1] > 0:
            part_along(c, crossings, contours, edges, triangles, points)
        else:
            draw_edge(c, region, state, crossings, contours, edges, triangles, points, particles, frames)
            if region == NONE:
                mark_near(c, crossings, edges, triangles, points)
