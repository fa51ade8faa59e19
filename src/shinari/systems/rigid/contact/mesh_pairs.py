"""The points of pairs of which one is a mesh, found by distance fields."""

import numpy as np

from shinari.collision.narrow.convex import Shapes
from shinari.collision.narrow.features import Features
from shinari.collision.narrow.field_points import mesh_points
from shinari.collision.narrow.fields import BodyFields
from shinari.collision.narrow.mesh_pool import POOL
from shinari.collision.narrow.pose_records import Poses
from shinari.collision.narrow.reduction import SLOTS, choose
from shinari.collision.narrow.rows import WIDTH, Rows
from shinari.compute import kernel, scratch, shared
from shinari.compute.kernels import STEADY
from shinari.systems.rigid.contact.collision_shapes import CollisionShapeArrays
from shinari.systems.rigid.contact.margins import FrameMargins
from shinari.systems.rigid.contact.pair_points import PairPoints
from shinari.systems.rigid.contact.pairs import MESHES, Pairs, write_slots

# Part of the least extent from which on an overlap counts that only points outside of their cones tell.
UNSEEN = 0.01


@shared(fastmath=STEADY)
def points_of_pair(
    a: int,
    b: int,
    limit: float,
    unseen: float,
    poses: Poses,
    collision_shapes: CollisionShapeArrays,
    features: Features,
    shapes: Shapes,
    fields: BodyFields,
    pool: Rows,
) -> int:
    """`mesh_points`, compiled once for all that look for the points of a pair."""
    return mesh_points(a, b, limit, unseen, poses, collision_shapes, features, shapes, fields, pool)


@kernel(fastmath=STEADY)
def find_mesh_points(
    i,
    pairs: Pairs,
    stored: PairPoints,
    collision_shapes: CollisionShapeArrays,
    shapes: Shapes,
    frame_poses: Poses,
    poses: Poses,
    features: Features,
    fields: BodyFields,
    margins: FrameMargins,
    time: float,
):
    """Points of a pair with a mesh; see `shinari.systems.rigid.contact.finders`."""
    p = pairs.sought[i]
    if pairs.kind[p] == MESHES:
        a, b = pairs.collision_shapes[p]
        margin = pairs.margin[p]
        pool, found, before = scratch((POOL, WIDTH), margin), scratch((SLOTS, WIDTH), margin), scratch(SLOTS, margin)
        count = points_of_pair(a, b, margin, UNSEEN, poses, collision_shapes, features, shapes, fields, pool)
        for k in range(SLOTS):
            before[k] = np.float64(stored.feature[pairs.place[p] + k]) if k < pairs.count[p] else -1.0
        count = choose(
            pool, count, SLOTS, min(collision_shapes.size[a], collision_shapes.size[b]), margin, before, found
        )
        write_slots(p, count, pairs, stored, collision_shapes, frame_poses, margins, time, found)
