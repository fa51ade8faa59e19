"""The points of pairs of which one is a mesh: found by distance fields, or carried along for a very short way."""

import numba
import numpy as np

from shinari.maths.function import STEADY, steady
from shinari.rigid.contact.choose import choose
from shinari.rigid.contact.field_points import POOL, mesh_points
from shinari.rigid.contact.pairs import (
    FEATURE,
    SLOTS,
    carry_along,
    keep_all,
    moved_since,
    near_enough,
    place_of,
    reach_of,
    world_pose,
)
from shinari.rigid.contact.shapes import BOX, HULL, MESH, MESH_SHEET

# Turn [rad] and slide [of the smaller size] after which the points are found anew: a mesh is not even.
MOST_TURN, MOST_SLIDE = 0.002, 0.001


@steady
def angular(kind):
    """Whether a shape has no round places, so that its points stay where they are on it."""
    return kind in (BOX, HULL, MESH, MESH_SHEET)


@steady
def update_mesh_pairs(begin, end, which, pairs, geoms, shapes, poses, q, v, w, weight, h, features, fields):
    """Points of pairs with a mesh at the start of a substep; see `shinari.rigid.contact.pairs.update_pairs`."""
    pool, found, before = np.empty((POOL, 14)), np.empty((SLOTS, 14)), np.empty(SLOTS)
    x = poses[:, 9:]
    for i in range(begin, end):
        p = which[i]
        a, b = pairs.geoms[p, 0], pairs.geoms[p, 1]
        f, e = geoms.frame[a], geoms.frame[b]
        reach = reach_of(a, b, f, e, geoms, x, v, w, weight * h, h)
        at, turn = place_of(f, e, poses, q)
        size = min(geoms.size[a], geoms.size[b])
        renew = not pairs.valid[p]
        if not renew:
            way, angle = moved_since(p, at, turn, pairs.place)
            way += angle * geoms.radius[a]
            renew = not (angle <= MOST_TURN and way <= MOST_SLIDE * size and way + reach <= pairs.margin[p])
        if renew:
            margin = reach + MOST_SLIDE * size
            pose_a, pose_b = world_pose(a, geoms, poses), world_pose(b, geoms, poses)
            count = mesh_points(a, pose_a, b, pose_b, margin, geoms, features, shapes, fields, pool)
            for k in range(SLOTS):
                before[k] = pairs.slots[p, k, FEATURE] if k < pairs.count[p] else -1.0
            count = choose(pool, count, SLOTS, size, margin, before, found)
            keep_all(p, count, f, e, poses, pairs.slots, found)
            pairs.valid[p] = angular(shapes.kind[a]) and angular(shapes.kind[b])
            pairs.count[p], pairs.margin[p] = count, margin
            pairs.place[p, 0], pairs.place[p, 1], pairs.place[p, 2] = at
            pairs.place[p, 3], pairs.place[p, 4], pairs.place[p, 5], pairs.place[p, 6] = turn
        else:
            for k in range(pairs.count[p]):
                carry_along(p, f, e, poses, pairs.slots, k)
        mask = near_enough(p, pairs.count[p], pairs.slots, reach)
        pairs.changed[p] = renew or mask != pairs.mask[p]
        pairs.mask[p] = mask


@numba.njit(parallel=True, cache=True, **STEADY)
def update_meshes(parts, which, pairs, geoms, shapes, poses, q, v, w, weight, h, features, fields):
    """Points of the pairs with a mesh, dealt out one by one: they differ in work."""
    for t in numba.prange(parts):
        update_mesh_pairs(0, len(which[t::parts]), which[t::parts], pairs, geoms, shapes, poses, q, v, w, weight, h,
                          features, fields)  # fmt: skip
