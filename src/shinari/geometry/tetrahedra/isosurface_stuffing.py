"""Isosurface stuffing: tetrahedra that fill a surface, without slivers (Labelle and Shewchuk 2007).

A body-centred cubic lattice covers the surface (`tetra_stencils`). Its points are inside where the winding number is
above one half, whatever the sign: holes are closed as by a soap film, parts that overlap are one, parts that are inside
out count. Where an edge has one end inside, it is cut where the surface passes it. A point with a cut nearby moves
there and counts as on the surface; then the stencils cut what is left of each lattice tetrahedron. Since no cut is near
a point any more, all angles between faces are within `ANGLES`, whatever the surface. Sharp edges and corners are
blunted, and what lies between the points is not seen.

Points all move at once. That is as good as one after another: of two points of an edge only one can be near its cut,
and a cycle of four that move towards each other leaves a tetrahedron with all points on the surface: it is left out.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shinari.compute import Field, Record, function, kernel
from shinari.compute.kernels import STEADY
from shinari.compute.program import run_once, team
from shinari.geometry.tetrahedra.stencils import SLOTS, lattice_tetrahedra, stencils
from shinari.geometry.tetrahedra.winding import Dipoles, Leaves, Triangles, Winding, wind, winding_number
from shinari.maths.function import steady
from shinari.maths.vec3 import add, cross, dot, scale, sub

NEAR_BLACK, NEAR_RED = 0.24999, 0.41189
"""A cut nearer than this share of its edge moves the point (ibid.)."""
ANGLES = (9.2, 161.7)
"""Bounds of the angles between two faces [degrees], for any cuts."""
HALVINGS = 20
BLOCK = 4
"""Cubes along a side of a block that is seen at one glance, when no triangle is in it."""
SURE = 0.15
_FIRST, _NODES = stencils()
_POINTS, _EDGES, _TURNED = lattice_tetrahedra()


@dataclass(frozen=True, eq=False)
class Stuffing:
    """What fills a surface.

    Attributes:
        vertices: Positions [m], (V, 3).
        tetrahedra: Positively oriented, (T, 4).
        overlap: Integral of the winding number less the volume [m^3]: what the signed volume of the surface counts too
            often, or with the wrong sign.
        torn: Share of the boundary between inside and outside where there is no triangle.
        lattice: Cubes along x, y, z.
        origin: First corner of the lattice [m].
    """

    vertices: NDArray[np.float64]
    tetrahedra: NDArray[np.int64]
    overlap: float
    torn: float
    lattice: NDArray[np.int64]
    origin: NDArray[np.float64]


def stuff(corners: NDArray[np.float64], cell: float, most_torn: float) -> Stuffing:
    """Fill a surface.

    Args:
        corners: Triangles that have an area, (T, 3, 3) [m].
        cell: Edge of a cube of the lattice [m].
        most_torn: Share of the boundary without a triangle above which nothing is made.
    """
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    # one cube and a bit to spare on each side
    lattice = np.ceil((high - low) / cell).astype(np.int64) + 3
    origin = 0.5 * (low + high) - 0.5 * cell * (lattice - 1)
    surface = Winding(shortened(corners, BLOCK * cell))
    points = origin + cell * _lattice_points(lattice)
    winding = _wind(surface, points, lattice, origin, cell)
    signs = np.where(np.abs(winding) > 0.5, 1, -1).astype(np.int8).reshape(*lattice, 2)
    # the winding number cannot be that large outside of the box; a surface of two layers with a hole could
    signs[[0, -1]] = signs[:, [0, -1]] = signs[:, :, [0, -1]] = -1
    signs = signs.reshape(-1)
    ends, cut_of = _find_cuts(lattice, signs)
    cuts = _cut_at_triangles(surface, points, winding, ends)
    moves = np.zeros((len(points), 2))
    _move(ends, cuts, moves)
    # what no triangle cuts is cut where the winding number passes one half
    moved = moves[:, 1] > 0.0
    torn = np.flatnonzero(np.isnan(cuts) & ~moved[ends].any(axis=1))
    share = len(torn) / max(len(ends), 1)
    if share > most_torn:
        return Stuffing(np.zeros((0, 3)), np.zeros((0, 4), np.int64), 0.0, share, lattice, origin)
    if len(torn):
        _halve(surface, points, signs, ends[torn], cuts, torn)
        _move(ends, cuts, moves)
    spots = points[ends[:, 0]] + np.nan_to_num(cuts)[:, None] * (points[ends[:, 1]] - points[ends[:, 0]])
    at_surface = np.flatnonzero(moves[:, 1] > 0.0)
    points[at_surface] = spots[moves[at_surface, 0].astype(np.int64)]
    whole = np.where(moves[:, 1] > 0.0, 0, signs).astype(np.int8)
    vertices, tetrahedra = _cut_tetrahedra(lattice, whole, cut_of, points, spots)
    around = np.rint(winding)
    # points on the surface are neither here nor there
    sure = np.abs(winding - around) < 0.25
    overlap = 0.5 * cell**3 * float((around - (np.abs(winding) > 0.5))[sure].sum())
    return Stuffing(vertices, tetrahedra, overlap, share, lattice, origin)


def shortened(corners: NDArray[np.float64], most: float) -> NDArray[np.float64]:
    """The same surface in triangles without an edge longer than that: long ones have boxes that see everything.

    Each is halved across its longest edge. What two share is halved from both sides, at the same points.
    """
    done = []
    while len(corners):
        spans = np.linalg.norm(corners - corners[:, [1, 2, 0]], axis=2)
        longest = spans.argmax(axis=1)
        long = spans.max(axis=1) > most
        done.append(corners[~long])
        # a - b is the longest edge of the others
        a, b, c = (corners[long, (longest[long] + k) % 3] for k in range(3))
        middle = 0.5 * (a + b)
        corners = np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
    return np.concatenate(done)


def _lattice_points(lattice: NDArray[np.int64]) -> NDArray[np.float64]:
    """Corner and centre of each cube, in cells, (2 C, 3): x slowest, then y, z, kind."""
    cubes = np.indices([*lattice]).reshape(3, -1).T.astype(np.float64)
    return (cubes[:, None, :] + np.array([[0.0], [0.5]])).reshape(-1, 3)


def _wind(
    surface: Winding, points: NDArray[np.float64], lattice: NDArray[np.int64], origin: NDArray[np.float64], cell: float
) -> NDArray[np.float64]:
    """Winding number of each lattice point.

    It is smooth where there are no triangles, so in a block of cubes without one, and with nearly the same whole number
    in its middle and at its corners, that number stands for all of its points.
    """
    blocks = -(-lattice // BLOCK)
    low = origin + cell * BLOCK * np.indices([*blocks]).reshape(3, -1).T
    high = low + cell * BLOCK
    touched = np.zeros(len(low), bool)
    touched[surface.tree.overlaps(low, high, team().size)[:, 0]] = True
    middles = surface.numbers(0.5 * (low + high))
    nodes = surface.numbers(origin + cell * BLOCK * np.indices([*blocks + 1]).reshape(3, -1).T).reshape(*blocks + 1)
    ends = [nodes[x : x + blocks[0], y : y + blocks[1], z : z + blocks[2]].ravel() for x, y, z in np.ndindex(2, 2, 2)]
    whole = np.rint(middles)
    sure = ~touched & (np.abs(np.stack([middles, *ends]) - whole).max(axis=0) < SURE)
    i, j, k = np.indices([*lattice]).reshape(3, -1) // BLOCK
    block = np.repeat((i * blocks[1] + j) * blocks[2] + k, 2)
    winding = whole[block]
    rest = np.flatnonzero(~sure[block])
    winding[rest] = surface.numbers(points[rest])
    return winding


def _find_cuts(lattice: NDArray[np.int64], signs: NDArray[np.int8]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Edges between inside and outside: their ends, (E, 2), and the number of each edge of each cube or -1, (C, 14)."""
    nx, ny, nz = lattice.tolist()
    cubes = np.arange(nx * ny * nz).reshape(nx, ny, nz)[:-1, :-1, :-1].ravel()
    first, second = np.empty((2, len(cubes), SLOTS), np.int64)
    for slot in range(SLOTS):
        if slot < 6:
            first[:, slot] = 2 * cubes + slot // 3
            second[:, slot] = first[:, slot] + 2 * (ny * nz, nz, 1)[slot % 3]
        else:
            corner = slot - 6
            first[:, slot] = 2 * cubes + 1
            second[:, slot] = 2 * (cubes + corner // 4 * ny * nz + corner // 2 % 2 * nz + corner % 2)
    cut = signs[first] != signs[second]
    cut_of = np.full((len(signs) // 2, SLOTS), -1, np.int32)
    cut_of[cubes] = np.where(cut, np.cumsum(cut).reshape(cut.shape) - 1, -1)
    return np.stack([first[cut], second[cut]], axis=1), cut_of


def _cut_at_triangles(
    surface: Winding, points: NDArray[np.float64], winding: NDArray[np.float64], ends: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Where a triangle cuts each edge, as a share of its way from the first end, (E,); NaN where none does."""
    a, b = points[ends[:, 0]], points[ends[:, 1]]
    pairs = surface.tree.overlaps(np.minimum(a, b), np.maximum(a, b), team().size)
    starts = np.searchsorted(pairs[:, 0], np.arange(len(ends) + 1))
    place = np.empty(len(surface.tree.order), np.int64)
    place[surface.tree.order] = np.arange(len(place))
    edges = _edges(points, ends)
    edges.winding[...] = winding[ends[:, 0]]
    edges.passages[...] = np.stack([starts[:-1], starts[1:]], axis=1)
    passages = Passages.zeros(len(pairs))
    passages.triangle[...] = place[pairs[:, 1]]
    run_once(choose_cut, edges, passages, surface.triangles, count=len(edges))
    return edges.cut


class Edges(Record):
    """Edges between inside and outside."""

    start = Field(np.float64, 3, unit="m")
    span = Field(np.float64, 3, unit="m", doc="from the first end to the second")
    winding = Field(np.float64, doc="winding number of the first end")
    inside = Field(np.bool_, doc="whether the first end is inside")
    passages = Field(np.int64, 2, doc="first triangle that may cut it and the one after the last")
    cut = Field(np.float64, doc="share of the span; NaN where no triangle cuts it")


class Passages(Record):
    """Triangles that may cut edges, edge after edge; then their cuts, in order along the edge."""

    triangle = Field(np.int64)
    share = Field(np.float64, doc="of the span")
    side = Field(np.int64, doc="1 where the edge enters, -1 where it leaves")


def _edges(points: NDArray[np.float64], ends: NDArray[np.int64]) -> Edges:
    """The record of edges by their ends, (E, 2)."""
    edges = Edges.zeros(len(ends))
    edges.start[...] = points[ends[:, 0]]
    edges.span[...] = points[ends[:, 1]] - edges.start
    edges.cut[...] = np.nan
    return edges


@steady
def _pass(q, d, triangles, i):
    """Where a line from q along d passes triangle i, as a share of d, and 1 if it enters, -1 if it leaves, or 0."""
    a, b, c = sub(triangles.corner[i, 0], q), sub(triangles.corner[i, 1], q), sub(triangles.corner[i, 2], q)
    # volumes on the line and each side of the triangle: all of one sign where it passes
    u, v, w = dot(d, cross(c, b)), dot(d, cross(a, c)), dot(d, cross(b, a))
    total = u + v + w
    t = (u * dot(a, d) + v * dot(b, d) + w * dot(c, d)) / total / dot(d, d)
    hit = ((u >= 0.0) & (v >= 0.0) & (w >= 0.0)) | ((u <= 0.0) & (v <= 0.0) & (w <= 0.0))
    hit &= (total != 0.0) & (t >= -1e-9) & (t <= 1.0 + 1e-9)
    return t, (1 if total > 0.0 else -1) if hit else 0


@kernel(fastmath=STEADY)
def choose_cut(e, edges: Edges, passages: Passages, triangles: Triangles):
    """Of all passages of an edge, the one at which the winding number changes between inside and outside."""
    q, d, winding = edges.start[e], edges.span[e], edges.winding[e]
    first, last = edges.passages[e]
    end = first
    for n in range(first, last):
        t, side = _pass(q, d, triangles, passages.triangle[n])
        if side != 0:
            # kept in order along the edge
            at = end
            while at > first and passages.share[at - 1] > t:
                passages.share[at], passages.side[at] = passages.share[at - 1], passages.side[at - 1]
                at -= 1
            passages.share[at], passages.side[at] = t, side
            end += 1
    nearest = np.inf
    for n in range(first, end):
        middle = abs(abs(winding + 0.5 * passages.side[n]) - 0.5)
        winding += passages.side[n]
        if middle < nearest - 0.1:
            edges.cut[e], nearest = min(max(passages.share[n], 0.0), 1.0), middle


def _halve(
    surface: Winding,
    points: NDArray[np.float64],
    signs: NDArray[np.int8],
    ends: NDArray[np.int64],
    cuts: NDArray[np.float64],
    torn: NDArray[np.intp],
) -> None:
    """Cut the torn edges, whose ends are given, where the winding number passes one half."""
    edges = _edges(points, ends)
    edges.inside[...] = signs[ends[:, 0]] > 0
    run_once(halve, edges, surface.triangles, surface.leaves, surface.dipoles, count=len(edges), grain=8)
    cuts[torn] = edges.cut


@kernel(fastmath=STEADY)
def halve(e, edges: Edges, triangles: Triangles, leaves: Leaves, dipoles: Dipoles):
    """Cut an edge where the winding number passes one half, by halving."""
    low, high = 0.0, 1.0
    for _halving in range(HALVINGS):
        t = 0.5 * (low + high)
        there = add(edges.start[e], scale(edges.span[e], t))
        if (abs(winding_number(there, triangles, leaves, dipoles)) > 0.5) == edges.inside[e]:
            low = t
        else:
            high = t
    edges.cut[e] = 0.5 * (low + high)


def _move(ends: NDArray[np.int64], cuts: NDArray[np.float64], moves: NDArray[np.float64]) -> None:
    """For each point with a cut nearby: the nearest one, and 1, into (2 C, 2)."""
    first = cuts < 0.5
    point, share = np.where(first, ends[:, 0], ends[:, 1]), np.where(first, cuts, 1.0 - cuts)
    # black edges join two points of one kind
    black = (ends[:, 0] ^ ends[:, 1]) & 1 == 0
    near = np.flatnonzero(share < np.where(black, NEAR_BLACK, NEAR_RED))
    point, distance = point[near], (share * np.where(black, 1.0, np.sqrt(0.75)))[near]
    order = np.lexsort((near, distance, point))
    points, chosen = np.unique(point[order], return_index=True)
    moves[points, 0], moves[points, 1] = near[order[chosen]], 1.0


def _cut_tetrahedra(
    lattice: NDArray[np.int64],
    signs: NDArray[np.int8],
    cut_of: NDArray[np.int32],
    points: NDArray[np.float64],
    spots: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Vertices and tetrahedra of all lattice tetrahedra that have a point inside."""
    nx, ny, nz = lattice.tolist()
    cubes = Cubes.zeros((nx - 1) * (ny - 1) * (nz - 1))
    table = Lattice(
        corners=_POINTS.reshape(-1, 4, 4), edges=_EDGES.reshape(-1, 6, 4), turned=_TURNED.ravel().astype(np.int64)
    )
    nodes, slots = Nodes(sign=signs), Slots(cut=cut_of)
    records = cubes, table, nodes, Cases(first=_FIRST)
    run_once(count_tetrahedra, *records, ny, nz, count=len(cubes))
    ends = np.cumsum(cubes.first)
    cubes.first[...] = ends - cubes.first
    found = Tetrahedra.zeros(int(ends[-1]) if len(ends) else 0)
    run_once(write_tetrahedra, *records, Stencils(node=_NODES), slots, found, ny, nz, count=len(cubes))
    tetrahedra = found.corners
    used = np.zeros(len(points) + len(spots), bool)
    used[tetrahedra] = True
    number = np.cumsum(used) - 1
    return np.concatenate([points, spots])[used], number[tetrahedra]


class Cubes(Record):
    """Cubes of the lattice but for the last ones along each axis, z fastest."""

    first = Field(np.int64, doc="number of tetrahedra, then of the first one")


class Lattice(Record):
    """The twelve tetrahedra of an even cube, then those of an odd one; places are cubes along the axes, and a kind."""

    corners = Field(np.int64, (4, 4))
    edges = Field(np.int64, (6, 4), doc="place, and the slot of the edge")
    turned = Field(np.int64)


class Nodes(Record):
    """Points of the lattice: corner and centre of each cube."""

    sign = Field(np.int8)


class Slots(Record):
    """Cubes of the lattice."""

    cut = Field(np.int32, SLOTS, doc="number of the cut of each edge, or -1")


class Cases(Record):
    """Signs of the four corners of a tetrahedron, and one more."""

    first = Field(np.int64, doc="first tetrahedron of its stencil")


class Stencils(Record):
    """Tetrahedra of stencils."""

    node = Field(np.int64, 4, doc="a corner, or 4 and the number of an edge")


class Tetrahedra(Record):
    """What fills the surface."""

    corners = Field(np.int64, 4)


@function
def _place(c, ny, nz):
    """Cube (i, j, k) by its number."""
    k, row = c % (nz - 1), c // (nz - 1)
    return row // (ny - 1), row % (ny - 1), k


@function
def _node(place, i, j, k, ny, nz):
    """Point of the lattice at a place beside a cube."""
    return 2 * (((i + place[0]) * ny + j + place[1]) * nz + k + place[2]) + place[3]


@function
def _case(lattice, nodes, n, i, j, k, ny, nz):
    """Number of the signs of the corners of a tetrahedron of a cube."""
    case, weight = 0, 1
    for c in range(4):
        case += weight * (nodes.sign[_node(lattice.corners[n, c], i, j, k, ny, nz)] + 1)
        weight *= 3
    return case


@kernel
def count_tetrahedra(c, cubes: Cubes, lattice: Lattice, nodes: Nodes, cases: Cases, ny: np.int64, nz: np.int64):
    """Count the tetrahedra of a cube."""
    i, j, k = _place(c, ny, nz)
    count = 0
    for n in range(12):
        case = _case(lattice, nodes, 12 * ((i + j + k) % 2) + n, i, j, k, ny, nz)
        count += cases.first[case + 1] - cases.first[case]
    cubes.first[c] = count


@kernel
def write_tetrahedra(
    c,
    cubes: Cubes,
    lattice: Lattice,
    nodes: Nodes,
    cases: Cases,
    stencils: Stencils,
    slots: Slots,
    found: Tetrahedra,
    ny: np.int64,
    nz: np.int64,
):
    """Write the tetrahedra of a cube: corners are points of the lattice, then cuts."""
    i, j, k = _place(c, ny, nz)
    at = cubes.first[c]
    for each in range(12):
        n = 12 * ((i + j + k) % 2) + each
        case = _case(lattice, nodes, n, i, j, k, ny, nz)
        for s in range(cases.first[case], cases.first[case + 1]):
            for corner in range(4):
                node = stencils.node[s, corner]
                if node < 4:
                    vertex = _node(lattice.corners[n, node], i, j, k, ny, nz)
                else:
                    place = lattice.edges[n, node - 4]
                    cube = ((i + place[0]) * ny + j + place[1]) * nz + k + place[2]
                    vertex = len(nodes) + slots.cut[cube, place[3]]
                # the last two change places in a tetrahedron that is turned
                change = lattice.turned[n] == 1 and corner > 1
                found.corners[at, 5 - corner if change else corner] = vertex
            at += 1


KERNELS = choose_cut, halve, count_tetrahedra, write_tetrahedra, wind
"""The kernels that stuff a surface, to be compiled ahead."""
