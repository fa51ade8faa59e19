"""Random heaps of bodies of all shapes, and how deep they are in each other, without the contact solver.

Bodies measure 1 mm to 100 m, those of one heap differ by up to a factor of four, and fall from as much as their size. A
solid is known by convex pieces: the planes around them, and points of their surface. How deep a body is in another one
is the largest depth of such a point below the planes of a piece, so it is never told as more than it is.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.spatial import ConvexHull as Hull

import shinari as sn
from shinari.geometry.motion import rotation_matrix

KINDS = ("sphere", "box", "capsule", "cylinder", "cone", "ellipsoid", "hull", "mesh", "compound")
G = 9.81
MOST_FALL = 0.003  # part of its thickness by which gravity may move a body in a substep where heaps are resolved


@dataclass
class Piece:
    """A convex piece in the axes of its body: planes n . x <= d around it, and points of its surface, (P, 3)."""

    normals: np.ndarray
    offsets: np.ndarray
    points: np.ndarray


def piece(vertices: np.ndarray) -> Piece:
    """The hull of vertices (V, 3)."""
    hull = Hull(vertices)
    ends = hull.points[hull.simplices[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)]
    ends = ends[ends[:, 0, 0] < ends[:, 1, 0]] if len(ends) > 300 else ends
    share = np.linspace(0.0, 1.0, 3 if len(ends) > 100 else 9)[:, None, None]
    edges = (ends[:, 0] + share * (ends[:, 1] - ends[:, 0])).reshape(-1, 3)
    middles = hull.points[hull.simplices].mean(axis=1)
    planes = np.unique(np.round(hull.equations, 12), axis=0)
    return Piece(planes[:, :3], -planes[:, 3], np.unique(np.concatenate([edges, middles]), axis=0))


def solid(rng: np.random.Generator, kind: str, size: float) -> tuple[sn.Shape | sn.Compound, list[np.ndarray]]:
    """A shape of about a size [m] and the vertices of its convex pieces."""
    a, b, c = rng.uniform(0.4, 1.0, 3) * size
    shape: sn.Shape | sn.Compound
    if kind == "mesh":
        outline = np.array([[-0.5 * a, -0.15 * b], [0.5 * a, -0.15 * b], [0.5 * a, 0.85 * b], [0.2 * a, 0.85 * b],
                            [0.2 * a, 0.15 * b], [-0.5 * a, 0.15 * b]])  # fmt: skip
        bent = prism(outline, [(0, 1, 5), (1, 4, 5), (1, 2, 4), (2, 3, 4)], 0.4 * c)
        bars = [[-0.5 * a, 0.5 * a, -0.15 * b, 0.15 * b], [0.2 * a, 0.5 * a, -0.15 * b, 0.85 * b]]
        corners = [[(x, y, z) for x in bar[:2] for y in bar[2:] for z in (-0.2 * c, 0.2 * c)] for bar in bars]
        return bent, [np.array(bar) for bar in corners]
    if kind == "compound":
        boxes = sn.Box((a, 0.3 * b, 0.3 * c)), sn.Box((0.3 * a, b, 0.3 * c))
        return sn.Compound(list(boxes)), [box.surface()[0] for box in boxes]
    if kind == "sphere":
        shape = sn.Sphere(0.5 * a)
    elif kind == "box":
        shape = sn.Box((a, b, c))
    elif kind == "capsule":
        shape = sn.Capsule(0.25 * a, 0.5 * b)
    elif kind == "cylinder":
        shape = sn.Cylinder(0.4 * a, b)
    elif kind == "cone":
        shape = sn.Cone(0.5 * a, b)
    elif kind == "ellipsoid":
        shape = sn.Ellipsoid((0.5 * a, 0.5 * b, 0.5 * c))
    else:
        shape = sn.ConvexHull(rng.normal(size=(14, 3)) * [0.3 * a, 0.3 * b, 0.3 * c])
        return shape, [shape.vertices]
    return shape, [shape.surface(24)[0]]


def prism(outline: np.ndarray, triangles: list[tuple[int, int, int]], height: float) -> sn.Mesh:
    """A prism over an outline (N, 2), counter-clockwise, with the triangles of its base, centred in z."""
    n = len(outline)
    low, high = (np.column_stack([outline, np.full(n, z)]) for z in (-0.5 * height, 0.5 * height))
    faces = [(k, j, i) for i, j, k in triangles] + [(i + n, j + n, k + n) for i, j, k in triangles]
    for i in range(n):
        j = (i + 1) % n
        faces += [(i, j, j + n), (i, j + n, i + n)]
    return sn.Mesh(np.concatenate([low, high]), faces)


@dataclass
class RandomHeap:
    """A heap.

    Attributes:
        scene: The scene, with its ground in y = 0.
        settings: Arguments of `Simulation`.
        steps: Steps to run.
        name: What it is, with its numbers.
        pieces: Convex pieces of each body.
        sizes: Least extent of each body [m].
    """

    scene: sn.Scene
    settings: dict
    steps: int
    name: str
    pieces: list[list[Piece]] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)

    def depths(self, sim: sn.Simulation) -> tuple[float, float]:
        """How deep a body is in the ground, and one in another, at most, over the least extent of the smaller one."""
        x, turns = np.asarray(sim.state.body_positions), rotation_matrix(np.asarray(sim.state.body_rotations))
        points = [np.concatenate([p.points for p in body]) @ turns[k].T + x[k] for k, body in enumerate(self.pieces)]
        ground = max(-float(p[:, 1].min()) / self.sizes[k] for k, p in enumerate(points))
        reach = [np.linalg.norm(p - x[k], axis=1).max() for k, p in enumerate(points)]
        deepest = 0.0
        for i, j in np.argwhere(np.linalg.norm(x[:, None] - x[None], axis=2) < np.add.outer(reach, reach)):
            if i == j:
                continue
            near = (points[i] - x[j]) @ turns[j]
            for part in self.pieces[j]:
                inside = (part.offsets - near @ part.normals.T).min(axis=1).max()
                deepest = max(deepest, float(inside) / min(self.sizes[i], self.sizes[j]))
        return ground, deepest


def heap(seed: int, resolved: bool = True, **fixed) -> RandomHeap:
    """The random heap of a number; resolved: with enough substeps for its thinnest body."""
    rng = np.random.default_rng([seed, 17])
    size = float(10.0 ** rng.uniform(-3.0, 2.0))
    friction, restitution = float(rng.choice([0.0, 0.3, 0.6, 1.0])), float(rng.choice([0.0, 0.0, 0.3, 0.6]))
    scene = sn.Scene()
    scene.add_collider(sn.Plane((0, 1, 0), 0), friction=friction, restitution=restitution)
    count, mixed, height = int(rng.integers(3, 13)), rng.random() < 0.5, 0.0
    sizes, pieces = [], []
    for _ in range(count):
        own = size * (float(2.0 ** rng.uniform(-2.0, 0.0)) if mixed else 1.0)
        shape, hulls = solid(rng, str(rng.choice(KINDS)), own)
        parts = [piece(vertices) for vertices in hulls]
        reach = max(float(np.linalg.norm(p.points, axis=1).max()) for p in parts)
        q = rng.normal(size=4)
        height += reach
        x, z = size * rng.uniform(-0.4, 0.4, 2)
        scene.add_rigid_body(
            shape, density=float(10.0 ** rng.uniform(2.0, 4.0)), position=(x, height, z), friction=friction,
            rotation=q / np.linalg.norm(q), restitution=restitution,
        )  # fmt: skip
        height += reach + size * float(rng.choice([0.0, 0.1]))
        pieces.append(parts)
        sizes.append(min(float(np.ptp(part.points, axis=0).min()) for part in parts))
    settings = {"substeps": int(rng.choice([1, 2, 4, 10, 20])), "precision": str(rng.choice(["float32", "float64"]))}
    settings |= fixed
    if resolved:
        settings["substeps"] = max(settings["substeps"], int(np.ceil(np.sqrt(G / MOST_FALL / min(sizes)) / 60.0)))
    seconds = min(max(4.0 * np.sqrt(2.0 * height / G), 1.0), 15.0)
    name = (f"{count} bodies of {size * 1e3:.3g} mm{', mixed' if mixed else ''}, friction {friction:g}, "
            f"restitution {restitution:g}, {settings}")  # fmt: skip
    return RandomHeap(scene, settings, round(60 * seconds), name, pieces, sizes)
