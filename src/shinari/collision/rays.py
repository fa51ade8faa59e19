"""Rays through a scene: a tree of boxes over all solids and surfaces, and for each ray the first that it meets.

The parts of a body are one solid, their union. From outside its surface is the first of any part; a ray that starts
within goes on from part to part as long as one holds the place where it leaves another.

All is in double precision, whatever the simulation has. Distances are measured from where a ray enters the ball around
what it may meet, so that a far origin costs no digits.
"""

import numpy as np

from shinari.compute import Field, Record, function, kernel, real, shared
from shinari.compute.kernels import AS_WRITTEN
from shinari.compute.program import run_once
from shinari.geometry.boxes import Nodes
from shinari.geometry.ray_tree import (
    BoxTree,
    Meshes,
    Triangles,
    inverse,
    meet_mesh,
    next_leaf,
    node_after,
)
from shinari.maths.vec3 import add, dot, scale, sub
from shinari.shapes.kernels.dispatch import for_kinds
from shinari.shapes.kernels.mesh_distance import MeshFields
from shinari.shapes.kernels.rays import meet_shape

Vector = tuple[real, real, real]
ENDLESS = 1e30
"""Where the boxes of what has no end do end [m]."""
LARGER = 1.0 + 1e-9
"""What the ball around a solid is larger than it."""
GAP = 1e-6
"""Gaps between parts of a body that are none: those of parts that touch, in single precision, over their size."""


class Rays(Record):
    """Rays, and what they meet."""

    origin = Field(real, 3, unit="m")
    along = Field(real, 3, doc="unit vector")
    distance = Field(real, unit="m", doc="largest distance that counts; then that of the hit, or infinity")
    normal = Field(real, 3, doc="of the surface at the hit")
    solid = Field(np.int64, doc="row of what was hit; -1: nothing")


class RaySolids(Record):
    """What rays can meet: shapes and meshes, each where it is."""

    kind = Field(np.int64, doc="of a shape that is no mesh")
    size = Field(real, 4, doc="its numbers")
    mesh = Field(np.int64, doc="row of the mesh, or -1")
    reach = Field(real, unit="m", doc="radius of a ball around the origin that holds all of it, or infinity")
    side = Field(np.int64, doc="1: normals as they are; -1: turned; 0: towards the origin of the ray")
    position = Field(real, 3, unit="m")
    axes = Field(real, 9, doc="its axes in the world, one after another")
    next = Field(np.int64, doc="row of the next part of the same body, after the last the first")


@function(fastmath=AS_WRITTEN)
def meet_solid(k, origin, along, most, solids, meshes, nodes, triangles, fields):
    """Where a ray first meets a solid, and the normal there; infinity where it does not, or not within a distance."""
    offset, reach = sub(origin, solids.position[k]), solids.reach[k]
    passing, start = dot(offset, along), 0.0
    if reach < ENDLESS:
        start = max(-passing - LARGER * reach, 0.0)
        nearest = add(offset, scale(along, -passing))
        if start > most or dot(nearest, nearest) > LARGER * reach * reach:
            return np.inf, along
    offset, axes = add(offset, scale(along, start)), solids.axes[k]
    x, y, z = (axes[0], axes[1], axes[2]), (axes[3], axes[4], axes[5]), (axes[6], axes[7], axes[8])
    local = dot(x, offset), dot(y, offset), dot(z, offset)
    turned = dot(x, along), dot(y, along), dot(z, along)
    if solids.mesh[k] >= 0:
        found, n = meet_mesh(local, turned, most - start, solids.mesh[k], meshes, nodes, triangles)
    else:
        found, n = meet_shape(solids.kind[k], local, turned, solids.size[k], reach, fields)
    return found + start, add(add(scale(x, n[0]), scale(y, n[1])), scale(z, n[2]))


@shared(fastmath=AS_WRITTEN)
def leave_parts(
    k: int, origin: Vector, along: Vector, solids: RaySolids, meshes: Meshes, nodes: Nodes, triangles: Triangles,
    fields: MeshFields,
) -> tuple[int, real, Vector]:  # fmt: skip
    """Where a ray that starts within the parts of a body leaves them all; row -1 where it starts within none.

    Args:
        k: Row of one of the parts.
        origin: Origin of the ray [m].
        along: Its direction, a unit vector.
        solids: All solids.
        meshes: The meshes.
        nodes: Their trees.
        triangles: Their triangles.
        fields: Fields of meshes; not used.

    Returns:
        Row of the part that it leaves last, the distance [m], and the normal there.
    """
    hit, left, t, normal = -1, k, 0.0, along
    part, going = k, True
    while going:
        reach = solids.reach[part]
        start = t + GAP * reach if hit >= 0 else 0.0
        point = add(origin, scale(along, start))
        offset = sub(point, solids.position[part])
        if dot(offset, offset) <= LARGER * reach * reach:
            found, n = meet_solid(part, point, along, np.inf, solids, meshes, nodes, triangles, fields)
            if found < np.inf and dot(n, along) > 0.0:
                hit, left, t, normal = part, part, start + found, n
        part = solids.next[part]
        going = part != left
    return hit, t, normal


@kernel(fastmath=AS_WRITTEN)
def cast_ray(
    m, rays: Rays, tree: Nodes, solids: RaySolids, meshes: Meshes, nodes: Nodes, triangles: Triangles,
    fields: MeshFields,
):  # fmt: skip
    """Find the first solid that a ray meets within its distance."""
    origin, along, best = rays.origin[m], rays.along[m], rays.distance[m]
    count, leaves, hit = len(solids), len(tree) // 2, np.int64(-1)
    inverses = inverse(along)
    node = next_leaf(tree, 0, leaves, 1, origin, inverses, best)
    while node > 0:
        for k in range((node - leaves) * count // leaves, (node - leaves + 1) * count // leaves):
            found, n = meet_solid(k, origin, along, best, solids, meshes, nodes, triangles, fields)
            if found < best or (hit < 0 and found <= best and found < np.inf):
                met = k
                if solids.next[k] != k:
                    part, distance, normal = leave_parts(k, origin, along, solids, meshes, nodes, triangles, fields)
                    if part >= 0:
                        met, found, n = part, distance, normal
                        if found > best or (found == best and hit >= 0):
                            continue
                side = 1.0 * solids.side[k]
                if solids.side[k] == 0:
                    side = 1.0 if dot(n, along) <= 0.0 else -1.0
                best, hit = found, met
                rays.normal[m] = scale(n, side)
        node = next_leaf(tree, 0, leaves, node_after(node), origin, inverses, best)
    rays.solid[m] = hit
    rays.distance[m] = best if hit >= 0 else np.inf


def cast(
    rays: Rays,
    solids: dict[str, np.ndarray],
    boxes: tuple[np.ndarray, np.ndarray],
    parts: tuple[Meshes, Nodes, Triangles],
    threads: int | None,
) -> None:
    """Find what each ray meets first.

    Args:
        rays: The rays; distances, normals and rows of `solids` are written.
        solids: Fields of `RaySolids`, K > 0 rows, with the number of the `body` for `next`.
        boxes: Low and high corners of boxes around them [m], (K, 3); infinite where there is no end.
        parts: The meshes, see `shinari.geometry.ray_tree.joined`.
        threads: Threads to use; None: all.
    """
    low, high = (np.clip(corners, -ENDLESS, ENDLESS) for corners in boxes)
    tree = BoxTree(0.5 * (low + high))
    nodes = Nodes(np.float64, box=tree.around(low, high, threads))
    values = {name: np.ascontiguousarray(each[tree.order]) for name, each in solids.items()}
    rows = RaySolids(np.float64, next=_next_parts(values.pop("body")), **values)
    caster = for_kinds(cast_ray, solids["kind"][solids["mesh"] < 0])
    fields = MeshFields.zeros(0, np.float64)
    run_once(caster, rays, nodes, rows, *parts, fields, count=len(rays), threads=threads, grain=16)
    hit = rays.solid >= 0
    rays.solid[hit] = tree.order[rays.solid[hit]]


def _next_parts(bodies: np.ndarray) -> np.ndarray:
    """Row of the next part of the same body, (K,), after the last the first, from the number of the body of each."""
    order = np.argsort(bodies, kind="stable")
    number = bodies[order]
    first = np.flatnonzero(np.append(True, number[1:] != number[:-1]))
    following = np.empty(len(bodies), np.int64)
    following[order] = np.roll(order, -1)
    following[order[np.append(first[1:], len(order)) - 1]] = order[first]
    return following
