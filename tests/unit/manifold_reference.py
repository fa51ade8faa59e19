"""Convex shapes in plain NumPy, to check the contacts of `shinari.collision.narrow` against.

The signed distance of two convex sets is the largest gap along any direction (negative: the least translation that
parts them). Here it is searched over directions, by dense sampling and ever finer sampling around the best.
"""

import numpy as np

from shinari.collision.narrow.convex import Shapes
from shinari.collision.narrow.faces import ROOM
from shinari.collision.narrow.manifold import boxes_manifold, convex_manifold
from shinari.collision.narrow.planes import plane_manifold
from shinari.collision.narrow.pose_records import Poses
from shinari.collision.narrow.round import ball_manifold, capsules_manifold
from shinari.collision.narrow.rows import forget, mirror
from shinari.compute import Field, Program, Record, kernel, scratch
from shinari.compute.kernels import STEADY
from shinari.shapes.box import Box
from shinari.shapes.capsule import Capsule
from shinari.shapes.cone import Cone
from shinari.shapes.cylinder import Cylinder
from shinari.shapes.hull import ConvexHull
from shinari.shapes.sphere import Sphere
from shinari.systems.rigid.contact.pairs import BALLS, BOXES, CAPSULES, PLANES, kind_of_pair

FIELDS = ("kind", "size", "radius", "extent", "corners", "axes", "flat", "angular", "hull")
"""Fields with a row for each shape."""


class Hull(ConvexHull):
    """What `shapes_of` asks of a convex hull."""

    def __init__(self, vertices, loops):
        object.__setattr__(self, "vertices", np.asarray(vertices, float))
        object.__setattr__(self, "loops", tuple(np.asarray(loop) for loop in loops))


def hull_of(points):
    """Hull of points, its triangles merged into polygons by SciPy's equations of the faces."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    centre = points[hull.vertices].mean(axis=0)
    groups: dict[tuple, set] = {}
    for simplex, equation in zip(hull.simplices, hull.equations, strict=True):
        groups.setdefault(tuple(np.round(equation, 7)), set()).update(simplex.tolist())
    number = {int(v): k for k, v in enumerate(hull.vertices)}
    loops = []
    for equation, members in groups.items():
        normal = np.array(equation[:3])
        ids = np.array(sorted(members))
        middle = points[ids].mean(axis=0)
        across = np.cross(normal, points[ids[0]] - middle)
        angle = np.arctan2(
            ((points[ids] - middle) @ across) / np.linalg.norm(across),
            ((points[ids] - middle) @ (points[ids[0]] - middle)) / np.linalg.norm(points[ids[0]] - middle),
        )
        assert normal @ (middle - centre) > 0.0
        loops.append([number[int(v)] for v in ids[np.argsort(angle)]])
    return Hull(points[hull.vertices], loops)


def rotation(rng):
    """Random rotation matrix."""
    q = rng.normal(size=4)
    w, x, y, z = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def pose(at, turn=None):
    """Twelve numbers of a pose."""
    turn = np.eye(3) if turn is None else turn
    return np.concatenate([np.asarray(turn, float).ravel(), np.asarray(at, float)])


def heights(shape, d):
    """Support function of a shape in its own axes for directions (N, 3)."""
    across = np.hypot(d[:, 0], d[:, 2])
    if isinstance(shape, Sphere):
        return np.full(len(d), shape.radius)
    if isinstance(shape, Box):
        return np.abs(d) @ (0.5 * np.array(shape.size))
    if isinstance(shape, Capsule):
        return 0.5 * shape.length * np.abs(d[:, 1]) + shape.radius
    if isinstance(shape, Cylinder):
        return 0.5 * shape.length * np.abs(d[:, 1]) + shape.radius * across
    if isinstance(shape, Cone):
        half = 0.5 * shape.height
        return np.maximum(half * d[:, 1], shape.radius * across - half * d[:, 1])
    return (d @ shape.vertices.T).max(axis=1)


def gaps(first, pose_a, second, pose_b, n):
    """Gap along unit vectors n (N, 3) from b to a."""
    ra, rb = pose_a[:9].reshape(3, 3), pose_b[:9].reshape(3, 3)
    return n @ (pose_a[9:] - pose_b[9:]) - heights(first, -n @ ra) - heights(second, n @ rb)


def sphere_points(count):
    """Directions spread evenly."""
    k = np.arange(count) + 0.5
    z, angle = 1 - 2 * k / count, np.pi * (1 + 5**0.5) * k
    r = np.sqrt(1 - z * z)
    return np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)


COARSE = sphere_points(4000)


def signed_distance(first, pose_a, second, pose_b, rng, starts=6):
    """Largest gap over all directions, and the direction."""
    value = gaps(first, pose_a, second, pose_b, COARSE)
    best, best_n = -np.inf, None
    taken: list[np.ndarray] = []
    for i in np.argsort(-value):
        if len(taken) == starts:
            break
        if any(COARSE[i] @ t > 0.95 for t in taken):
            continue
        taken.append(COARSE[i])
        n, g, width = COARSE[i], value[i], 0.06
        while width > 1e-9:
            trial = n + width * rng.normal(size=(60, 3))
            trial /= np.linalg.norm(trial, axis=1)[:, None]
            v = gaps(first, pose_a, second, pose_b, trial)
            k = np.argmax(v)
            if v[k] > g:
                n, g = trial[k], v[k]
            else:
                width *= 0.5
        if g > best:
            best, best_n = g, n
    return best, best_n


class Asked(Record):
    """Pairs of shapes, and what is found."""

    shapes = Field(np.int64, 2)
    margin = Field(np.float64)
    count = Field(np.int64)
    rows = Field(np.float64, (8, 14))


@kernel(fastmath=STEADY)
def find(i, asked: Asked, shapes: Shapes, poses: Poses):
    """Manifold of a pair; shape 2 i of the poses is its first, 2 i + 1 its second."""
    rows = scratch((ROOM, 14), asked.margin[i])
    forget(rows)
    swapped = shapes.kind[2 * i] > shapes.kind[2 * i + 1]
    a, b = (2 * i + 1, 2 * i) if swapped else (2 * i, 2 * i + 1)
    kind, count = kind_of_pair(shapes.kind[a], shapes.kind[b]), 0
    if kind == PLANES:
        count = plane_manifold(shapes, poses, a, b, asked.margin[i], rows)
    elif kind == BALLS:
        count = ball_manifold(shapes, poses, a, b, asked.margin[i], rows)
    elif kind == CAPSULES:
        count = capsules_manifold(shapes, poses, a, b, asked.margin[i], rows)
    elif kind == BOXES:
        count = boxes_manifold(shapes, poses, a, b, asked.margin[i], rows)
    else:
        count = convex_manifold(shapes, poses, a, b, asked.margin[i], rows)
    if swapped:
        mirror(rows, count)
    asked.count[i] = count
    for k in range(count):
        for c in range(14):
            asked.rows[i, k, c] = rows[k, c]


def manifolds(shapes, a, pose_a, b, pose_b, margin):
    """Rows of the contacts of each pair."""
    count = len(pose_a)
    asked, poses = Asked.zeros(count, np.float64), Poses.zeros(2 * count, np.float64)
    both = np.stack([np.broadcast_to(a, count), np.broadcast_to(b, count)], axis=1).astype(np.int64)
    asked.shapes[...], asked.margin[...] = both, margin
    poses.pose[0::2], poses.pose[1::2] = pose_a, pose_b
    # each pair has shapes of its own, so that each has its pose
    arrays = dict(shapes.arrays)
    arrays |= {name: np.ascontiguousarray(arrays[name][both.ravel()]) for name in FIELDS}
    p = Program()
    p.launch(find, asked, Shapes(np.float64, **arrays), poses, count=count)
    p.run()
    return [asked.rows[i, : asked.count[i]].copy() for i in range(count)]
