"""Distance to triangle meshes: the nearest triangle exactly, and on which side of it a point lies.

The triangles are the leaves of a binary tree of boxes in preorder: a point either enters a node, which is the next one,
or skips its whole subtree. A regular grid over the mesh gives each search a good start: every cell knows the triangle
nearest to its centre, and a cell near the surface the stretch of the tree in which all triangles lie that can be
nearest to any of its points. So a search near the surface looks at a few boxes and triangles.

A point is outside when it lies on the outer side of the pseudonormal of the feature it is nearest to: the normal of a
face, the sum of both at an edge, the sum weighted by the angles at a vertex (Baerentzen and Aanaes 2005, Signed
distance computation using the angle weighted pseudonormal).

The distance is exact up to `FAR` cells from the surface, unless a point is about equally far from so many triangles
that the search stops, after `VISITS` nodes, before it has seen them all. Beyond, a point inside is taken to be as deep
as the nearest triangle found, and outside the distance is a lower bound, within the grid short by less than the
diagonal of a cell. So no distance is ever more than the true one; normals point from or to a triangle nearby.

`MeshFields` holds all meshes of a scene, one after another; `shinari.shapes.kernels.mesh_field` makes its arrays. The
functions here take the fields of it as a tuple, `tables(mesh_fields)`.
"""

from typing import Any

import numpy as np

from shinari.compute import Field, Record, real
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, dot, norm, reciprocal, scale, sub

VISITS = 1024
FAR = np.float32(8.0)
HALF = np.float32(0.5)


class MeshFields(Record, ragged=True):
    """Distance fields of the meshes of a scene."""

    frames = Field(
        real,
        8,
        doc="of each mesh: origin of the grid [m], edge of a cell [m] and its inverse, half the thickness [m] "
        "(negative for a solid), distance [m] under which the direction to the surface is rounding, unused",
    )
    extents = Field(np.int64, 8, doc="of each mesh: cells along x, y, z, first cell, first node, end of nodes, unused")
    cells = Field(np.uint32, 3, doc="triangle nearest to the centre, first node and end of the search")
    boxes = Field(real, 6, unit="m", doc="lower and upper corner of each node")
    links = Field(np.uint32, 3, doc="of each node: the next when it is skipped, first triangle and end of a leaf")
    triangles = Field(real, 9, unit="m", doc="corner a, edges b - a and c - a")
    normals = Field(real, (7, 3), doc="pseudonormals of a triangle: face; edges ab, ac, bc; corners a, b, c")


def mesh_fields(arrays: tuple[np.ndarray, ...], precision: type) -> MeshFields:
    """Record of the arrays of `shinari.shapes.kernels.mesh_field.join_fields`; of none at all for `()`."""
    if not arrays:
        return MeshFields.zeros(0, precision)
    return MeshFields(precision, **dict(zip(MeshFields.fields, arrays, strict=True)))


@steady
def tables(fields: Any):
    """The fields of `MeshFields` as a tuple."""
    return fields.frames, fields.extents, fields.cells, fields.boxes, fields.links, fields.triangles, fields.normals


@steady
def row(array, i, first):
    """Three numbers of a row, as a tuple."""
    return array[i, first], array[i, first + 1], array[i, first + 2]


@steady
def part(value):
    """Brought between 0 and 1."""
    return min(max(value, ZERO), ONE)


@steady
def closest_on_triangle(ap, ab, ac):
    """Vector from the nearest point of a triangle to a point, its square, and the feature on which that point lies.

    The face counts only where it is not farther than the edges: in a needle of a triangle its coordinates are rounding.

    Args:
        ap: The point, seen from corner a.
        ab: Edge b - a.
        ac: Edge c - a.
    """
    bb, cc, bc = dot(ab, ab), dot(ac, ac), dot(ab, ac)
    pb, pc = dot(ap, ab), dot(ap, ac)
    over = ONE / (bb * cc - bc * bc)
    u, v = (cc * pb - bc * pc) * over, (bb * pc - bc * pb) * over
    r, s = part(pb / bb), part(pc / cc)
    t = part((bb - bc + pc - pb) / (bb + cc - bc - bc))
    on_ab = sub(ap, scale(ab, r))
    on_ac = sub(ap, scale(ac, s))
    on_bc = sub(sub(ap, scale(ab, ONE - t)), scale(ac, t))
    on_face = sub(sub(ap, scale(ab, u)), scale(ac, v))
    d1, d2, d3, d0 = dot(on_ab, on_ab), dot(on_ac, on_ac), dot(on_bc, on_bc), dot(on_face, on_face)
    w, best, feature = on_ab, d1, 4 if r <= ZERO else (5 if r >= ONE else 1)
    if d2 < best:
        w, best, feature = on_ac, d2, 4 if s <= ZERO else (6 if s >= ONE else 2)
    if d3 < best:
        w, best, feature = on_bc, d3, 5 if t <= ZERO else (6 if t >= ONE else 3)
    if u >= ZERO and v >= ZERO and u + v <= ONE and d0 <= best:
        w, best, feature = on_face, d0, 0
    return w, best, feature


@steady
def to_triangle(q, i, triangles):
    """`closest_on_triangle` for triangle i."""
    return closest_on_triangle(sub(q, row(triangles, i, 0)), row(triangles, i, 3), row(triangles, i, 6))


@steady
def square_to_box(q, i, boxes):
    """Square of the distance of q from a node."""
    x = max(max(boxes[i, 0] - q[0], q[0] - boxes[i, 3]), ZERO)
    y = max(max(boxes[i, 1] - q[1], q[1] - boxes[i, 4]), ZERO)
    z = max(max(boxes[i, 2] - q[2], q[2] - boxes[i, 5]), ZERO)
    return x * x + y * y + z * z


@steady
def search(q, near, node, end, visits, boxes, links, triangles):
    """Triangle nearest to q among `near` and those in the nodes from `node` to `end`.

    Returns:
        The triangle, and whether the search looked at all that it had to.
    """
    best = to_triangle(q, near, triangles)[1]
    while node < end and visits > 0:
        visits -= 1
        following = np.int64(links[node, 0])
        if square_to_box(q, node, boxes) < best:
            following = node + 1
            for i in range(np.int64(links[node, 1]), np.int64(links[node, 2])):
                square = to_triangle(q, i, triangles)[1]
                closer = square < best
                best = square if closer else best
                near = i if closer else near
        node = following
    return near, node >= end


@steady
def step_of(value, count):
    """Index of the cell that holds a coordinate, or of the last one on that side; 0 for NaN."""
    last = count - 1
    end = np.float32(last)
    return np.int64(value) if value > ZERO and value < end else (last if value >= end else last - last)


@steady
def cell_of(q, m, frames, extents):
    """Cell of mesh m that holds q or is the nearest in its grid, its centre, and whether it holds q."""
    nx, ny, nz = np.int64(extents[m, 0]), np.int64(extents[m, 1]), np.int64(extents[m, 2])
    x, y, z = (
        (q[0] - frames[m, 0]) * frames[m, 4],
        (q[1] - frames[m, 1]) * frames[m, 4],
        (q[2] - frames[m, 2]) * frames[m, 4],
    )
    i, j, k = step_of(x, nx), step_of(y, ny), step_of(z, nz)
    centre = (
        frames[m, 0] + frames[m, 3] * (np.float32(i) + HALF),
        frames[m, 1] + frames[m, 3] * (np.float32(j) + HALF),
        frames[m, 2] + frames[m, 3] * (np.float32(k) + HALF),
    )
    inside = x <= np.float32(nx) and y <= np.float32(ny) and z <= np.float32(nz)
    holds = x >= ZERO and y >= ZERO and z >= ZERO and inside
    return np.int64(extents[m, 3]) + (i * ny + j) * nz + k, centre, holds


@steady
def pseudonormal(normals, i, feature):
    """Normal of a feature of triangle i."""
    return normals[i, feature, 0], normals[i, feature, 1], normals[i, feature, 2]


@steady
def mesh_distance_and_normal(q, m, fields):
    """Signed distance [m] of q from mesh m and its gradient; a sheet is solid within half its thickness."""
    return mesh_distance_within(q, m, ZERO * q[0], fields)


@steady
def mesh_distance_within(q, m, reach, fields):
    """`mesh_distance_and_normal`, exact at least up to a distance [m]."""
    frames, extents, cells, boxes, links, triangles, normals = fields
    cell, centre, holds = cell_of(q, m, frames, extents)
    start, node, end = np.int64(cells[cell, 0]), np.int64(cells[cell, 1]), np.int64(cells[cell, 2])
    first, last = np.int64(extents[m, 4]), np.int64(extents[m, 5])
    visits, certain, centre_side = last - first, norm(q) * ZERO, ONE
    if not holds or end - node == last - first:  # not near the surface
        from_start, square, feature = to_triangle(centre, start, triangles)
        centre_side = dot(from_start, pseudonormal(normals, start, feature)) if holds else ONE
        certain = max(np.sqrt(square) - norm(sub(q, centre)), np.sqrt(square_to_box(q, first, boxes)))
        visits = 0 if certain > max(FAR * frames[m, 3], reach) else VISITS
        node, end = first, last
    near, complete = search(q, start, node, end, visits, boxes, links, triangles)
    w, square, feature = to_triangle(q, near, triangles)
    n = pseudonormal(normals, near, feature)
    # only the nearest feature tells the side; a point that is certainly not at the surface is where its centre is
    sure = complete or certain <= ZERO
    height = dot(w, n)
    side = height if sure else centre_side
    up = ONE if side >= ZERO else -ONE
    length = np.sqrt(square)
    flat = sure and (feature == 0 or length <= frames[m, 6])
    span = up * abs(height) if flat and feature == 0 else up * length
    per_length = ZERO if flat else up * reciprocal(length)
    out = (
        n[0] if flat else per_length * w[0],
        n[1] if flat else per_length * w[1],
        n[2] if flat else per_length * w[2],
    )
    sheet = frames[m, 5] >= ZERO
    if not complete and (sheet or span > ZERO):
        span = up * max(min(certain, abs(span)), ZERO)
    return (abs(span) - frames[m, 5], scale(out, up)) if sheet else (span, out)
