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

import numba
import numpy as np
from numpy.typing import NDArray

from shinari.build.tetrahedra.stencils import NODES, SLOTS, lattice_tetrahedra, stencils
from shinari.build.tetrahedra.winding import Winding, winding_number
from shinari.contact.broad.grid import EXACT
from shinari.maths.function import STEADY, steady

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
    surface = Winding(_shortened(corners, BLOCK * cell))
    points = origin + cell * _lattice_points(lattice)
    winding = _wind(surface, points, lattice, origin, cell)
    signs = np.where(np.abs(winding) > 0.5, 1, -1).astype(np.int8).reshape(*lattice, 2)
    # the winding number cannot be that large outside of the box; a surface of two layers with a hole could
    signs[[0, -1]] = signs[:, [0, -1]] = signs[:, :, [0, -1]] = -1
    signs = signs.reshape(-1)
    ends, cut_of = _find_cuts(lattice, signs)
    cuts = _cut_at_triangles(surface, points, winding, ends)
    moves = np.zeros((len(points), 2))
    _move(lattice, cut_of, cuts, moves)
    # what no triangle cuts is cut where the winding number passes one half
    moved = moves[:, 1] > 0.0
    torn = np.flatnonzero(np.isnan(cuts) & ~moved[ends].any(axis=1))
    share = len(torn) / max(len(ends), 1)
    if share > most_torn:
        return Stuffing(np.zeros((0, 3)), np.zeros((0, 4), np.int64), 0.0, share, lattice, origin)
    if len(torn):
        _halve(points, signs, ends, torn, surface.corners, surface.tree.firsts, surface.dipoles, cuts)
        _move(lattice, cut_of, cuts, moves)
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


def _shortened(corners: NDArray[np.float64], most: float) -> NDArray[np.float64]:
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
    touched[surface.tree.overlaps(low, high, numba.get_num_threads())[:, 0]] = True
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
    cut_of = np.full((len(signs) // 2, SLOTS), -1, np.int32)
    ends = np.zeros((_list_cuts(lattice, signs, cut_of, np.zeros((0, 2), np.int64)), 2), np.int64)
    _list_cuts(lattice, signs, cut_of, ends)
    return ends, cut_of


@numba.njit(cache=True, **EXACT)
def _list_cuts(lattice, signs, cut_of, ends):
    """Number the cut edges; when there is room for their ends, write them."""
    nx, ny, nz = lattice[0], lattice[1], lattice[2]
    count = 0
    for i in range(nx - 1):
        for j in range(ny - 1):
            for k in range(nz - 1):
                cube = (i * ny + j) * nz + k
                for slot in range(SLOTS):
                    if slot < 6:
                        kind, axis = slot // 3, slot % 3
                        first = 2 * cube + kind
                        second = first + 2 * (ny * nz if axis == 0 else (nz if axis == 1 else 1))
                    else:
                        corner = slot - 6
                        first = 2 * cube + 1
                        second = 2 * (cube + (corner // 4) * ny * nz + (corner // 2 % 2) * nz + corner % 2)
                    if signs[first] != signs[second]:
                        if len(ends) > 0:
                            cut_of[cube, slot] = count
                            ends[count, 0] = first
                            ends[count, 1] = second
                        count += 1
    return count


def _cut_at_triangles(
    surface: Winding, points: NDArray[np.float64], winding: NDArray[np.float64], ends: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Where a triangle cuts each edge, as a share of its way from the first end, (E,); NaN where none does."""
    cuts = np.full(len(ends), np.nan)
    a, b = points[ends[:, 0]], points[ends[:, 1]]
    pairs = surface.tree.overlaps(np.minimum(a, b), np.maximum(a, b), numba.get_num_threads())
    first = np.searchsorted(pairs[:, 0], np.arange(len(ends) + 1))
    place = np.empty(len(surface.corners), np.int64)
    place[surface.tree.order] = np.arange(len(place))
    _choose_cuts(a, b - a, winding[ends[:, 0]], first, place[pairs[:, 1]], surface.corners, cuts)
    return cuts


@steady
def _pass(q, d, corners, i):
    """Where a line from q along d passes triangle i, as a share of d, and 1 if it enters, -1 if it leaves, or 0."""
    ax, ay, az = corners[i, 0, 0] - q[0], corners[i, 0, 1] - q[1], corners[i, 0, 2] - q[2]
    bx, by, bz = corners[i, 1, 0] - q[0], corners[i, 1, 1] - q[1], corners[i, 1, 2] - q[2]
    cx, cy, cz = corners[i, 2, 0] - q[0], corners[i, 2, 1] - q[1], corners[i, 2, 2] - q[2]
    # volumes on the line and each side of the triangle: all of one sign where it passes
    u = d[0] * (cy * bz - cz * by) + d[1] * (cz * bx - cx * bz) + d[2] * (cx * by - cy * bx)
    v = d[0] * (ay * cz - az * cy) + d[1] * (az * cx - ax * cz) + d[2] * (ax * cy - ay * cx)
    w = d[0] * (by * az - bz * ay) + d[1] * (bz * ax - bx * az) + d[2] * (bx * ay - by * ax)
    total = u + v + w
    t = (u * (ax * d[0] + ay * d[1] + az * d[2]) + v * (bx * d[0] + by * d[1] + bz * d[2])) / total
    t += w * (cx * d[0] + cy * d[1] + cz * d[2]) / total
    t /= d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
    hit = ((u >= 0.0) & (v >= 0.0) & (w >= 0.0)) | ((u <= 0.0) & (v <= 0.0) & (w <= 0.0))
    hit &= (total != 0.0) & (t >= -1e-9) & (t <= 1.0 + 1e-9)
    return t, (1 if total > 0.0 else -1) if hit else 0


@steady
def _choose_cut(q, d, winding, first, last, places, corners, hits, sides):
    """Of all passages of one edge, the one at which the winding number changes between inside and outside."""
    count = 0
    for n in range(first, last):
        t, side = _pass(q, d, corners, places[n])
        if side != 0:
            # kept in order along the edge
            at = count
            while at > 0 and hits[at - 1] > t:
                hits[at], sides[at] = hits[at - 1], sides[at - 1]
                at -= 1
            hits[at], sides[at] = t, side
            count += 1
    best, nearest = np.nan, np.inf
    for n in range(count):
        middle = abs(abs(winding + 0.5 * sides[n]) - 0.5)
        winding += sides[n]
        if middle < nearest - 0.1:
            best, nearest = min(max(hits[n], 0.0), 1.0), middle
    return best


@numba.njit(parallel=True, cache=True, **STEADY)
def _choose_cuts(starts, spans, winding, first, places, corners, cuts):
    count = len(starts)
    shares = (count + 255) // 256
    for share in numba.prange(shares):
        low, high = share * 256, min(count, (share + 1) * 256)
        most = 1
        for e in range(low, high):
            most = max(most, first[e + 1] - first[e])
        hits, sides = np.empty(most), np.empty(most, np.int64)
        for e in range(low, high):
            q, d = (starts[e, 0], starts[e, 1], starts[e, 2]), (spans[e, 0], spans[e, 1], spans[e, 2])
            cuts[e] = _choose_cut(q, d, winding[e], first[e], first[e + 1], places, corners, hits, sides)


@numba.njit(parallel=True, cache=True, **STEADY)
def _halve(points, signs, ends, torn, corners, firsts, dipoles, cuts):
    """Cut edges where the winding number passes one half, by halving."""
    for n in numba.prange(len(torn)):
        a, b = ends[torn[n], 0], ends[torn[n], 1]
        low, high = 0.0, 1.0
        q = (points[a, 0], points[a, 1], points[a, 2])
        d = (points[b, 0] - q[0], points[b, 1] - q[1], points[b, 2] - q[2])
        inside = signs[a] > 0
        for _ in range(HALVINGS):
            t = 0.5 * (low + high)
            there = (q[0] + t * d[0], q[1] + t * d[1], q[2] + t * d[2])
            if (abs(winding_number(there, corners, firsts, dipoles)) > 0.5) == inside:
                low = t
            else:
                high = t
        cuts[torn[n]] = 0.5 * (low + high)


@numba.njit(cache=True, **EXACT)
def _move(lattice, cut_of, cuts, moves):
    """For each point with a cut nearby: the nearest one, and 1, (2 C, 2)."""
    ny, nz = lattice[1], lattice[2]
    nearest = np.full(len(moves), np.inf)
    for cube in range(len(cut_of)):
        for slot in range(SLOTS):
            cut = cut_of[cube, slot]
            if cut < 0 or np.isnan(cuts[cut]):
                continue
            if slot < 6:
                first, axis, length, near = 2 * cube + slot // 3, slot % 3, 1.0, NEAR_BLACK
                second = first + 2 * (ny * nz if axis == 0 else (nz if axis == 1 else 1))
            else:
                corner = slot - 6
                first, length, near = 2 * cube + 1, np.sqrt(0.75), NEAR_RED
                second = 2 * (cube + (corner // 4) * ny * nz + (corner // 2 % 2) * nz + corner % 2)
            t = cuts[cut]
            point, share = (first, t) if t < 0.5 else (second, 1.0 - t)
            if share < near and share * length < nearest[point]:
                nearest[point] = share * length
                moves[point, 0], moves[point, 1] = cut, 1.0


def _cut_tetrahedra(
    lattice: NDArray[np.int64],
    signs: NDArray[np.int8],
    cut_of: NDArray[np.int32],
    points: NDArray[np.float64],
    spots: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Vertices and tetrahedra of all lattice tetrahedra that have a point inside."""
    tables = (_FIRST, _NODES, _POINTS, _EDGES, _TURNED)
    count = _apply_stencils(lattice, signs, cut_of, tables, np.zeros((0, 4), np.int64))
    tetrahedra = np.zeros((count, 4), np.int64)
    _apply_stencils(lattice, signs, cut_of, tables, tetrahedra)
    used = np.zeros(len(points) + len(spots), bool)
    used[tetrahedra] = True
    number = np.cumsum(used) - 1
    return np.concatenate([points, spots])[used], number[tetrahedra]


@numba.njit(cache=True, **EXACT)
def _apply_stencils(lattice, signs, cut_of, tables, tetrahedra):
    """Count the tetrahedra; when there is room, write them: lattice points first, then cuts."""
    first, stencil, points, edges, turned = tables
    nx, ny, nz = lattice[0], lattice[1], lattice[2]
    node = np.zeros(NODES, np.int64)
    count = 0
    for i in range(nx - 1):
        for j in range(ny - 1):
            for k in range(nz - 1):
                parity = (i + j + k) % 2
                for n in range(12):
                    case, weight = 0, 1
                    for c in range(4):
                        at = points[parity, n, c]
                        node[c] = 2 * (((i + at[0]) * ny + j + at[1]) * nz + k + at[2]) + at[3]
                        case += weight * (signs[node[c]] + 1)
                        weight *= 3
                    if first[case + 1] > first[case] and len(tetrahedra) > 0:
                        for e in range(6):
                            at = edges[parity, n, e]
                            cut = cut_of[((i + at[0]) * ny + j + at[1]) * nz + k + at[2], at[3]]
                            node[4 + e] = len(signs) + cut
                        for s in range(first[case], first[case + 1]):
                            last, other = (2, 3) if turned[parity, n] == 1 else (3, 2)
                            tetrahedra[count, 0], tetrahedra[count, 1] = node[stencil[s, 0]], node[stencil[s, 1]]
                            tetrahedra[count, 2], tetrahedra[count, 3] = node[stencil[s, other]], node[stencil[s, last]]
                            count += 1
                    else:
                        count += first[case + 1] - first[case]
    return count
