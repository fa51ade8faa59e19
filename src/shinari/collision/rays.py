"""Rays through a scene: a tree of boxes over all solids and surfaces, and for each ray the first that it meets.

All is in double precision, whatever the simulation has. Distances are measured from where a ray enters the ball around
what it may meet, so that a far origin costs no digits.
"""

import numpy as np

from shinari.compute import Field, Record, kernel, real
from shinari.compute.kernels import AS_WRITTEN
from shinari.compute.program import run_once
from shinari.geometry.bvh import Nodes
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

ENDLESS = 1e30
"""Where the boxes of what has no end do end [m]."""
LARGER = 1.0 + 1e-9
"""What the ball around a solid is larger than it."""


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
            offset, reach = sub(origin, solids.position[k]), solids.reach[k]
            passing, start = dot(offset, along), 0.0
            if reach < ENDLESS:
                start = max(-passing - LARGER * reach, 0.0)
                nearest = add(offset, scale(along, -passing))
                if start > best or dot(nearest, nearest) > LARGER * reach * reach:
                    continue
            offset, axes = add(offset, scale(along, start)), solids.axes[k]
            x, y, z = (axes[0], axes[1], axes[2]), (axes[3], axes[4], axes[5]), (axes[6], axes[7], axes[8])
            local = dot(x, offset), dot(y, offset), dot(z, offset)
            turned = dot(x, along), dot(y, along), dot(z, along)
            if solids.mesh[k] >= 0:
                found, n = meet_mesh(local, turned, best - start, solids.mesh[k], meshes, nodes, triangles)
            else:
                found, n = meet_shape(solids.kind[k], local, turned, solids.size[k], reach, fields)
            found += start
            if found < best or (hit < 0 and found <= best and found < np.inf):
                side = 1.0 * solids.side[k]
                if solids.side[k] == 0:
                    side = 1.0 if dot(n, turned) <= 0.0 else -1.0
                best, hit = found, k
                rays.normal[m] = scale(add(add(scale(x, n[0]), scale(y, n[1])), scale(z, n[2])), side)
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
        solids: Fields of `RaySolids`, K > 0 rows.
        boxes: Low and high corners of boxes around them [m], (K, 3); infinite where there is no end.
        parts: The meshes, see `shinari.geometry.ray_tree.joined`.
        threads: Threads to use; None: all.
    """
    low, high = (np.clip(corners, -ENDLESS, ENDLESS) for corners in boxes)
    tree = BoxTree(0.5 * (low + high))
    nodes = Nodes(np.float64, box=tree.around(low, high, threads))
    rows = RaySolids(np.float64, **{name: np.ascontiguousarray(values[tree.order]) for name, values in solids.items()})
    caster = for_kinds(cast_ray, solids["kind"][solids["mesh"] < 0])
    fields = MeshFields.zeros(0, np.float64)
    run_once(caster, rays, nodes, rows, *parts, fields, count=len(rays), threads=threads, grain=16)
    hit = rays.solid >= 0
    rays.solid[hit] = tree.order[rays.solid[hit]]
