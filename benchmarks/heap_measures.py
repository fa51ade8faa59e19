"""What is measured on worlds of rigid bodies, from poses and velocities alone, so alike for every engine.

The depth of two convex solids is the least displacement of one of them that separates them: the smallest
overlap of their projections on an axis, which is a normal of a face of either or a product of an edge of each. Of two
edges only those count whose arcs, between the normals of their faces, cross on the sphere of normals (Gregorius 2013,
The separating axis test between convex polyhedra).
"""

from dataclasses import dataclass

import numpy as np
from rigid_worlds import World
from scipy.spatial import ConvexHull as Hull
from scipy.spatial import KDTree

import shinari as sn
from shinari.geometry.motion import quaternion_product, rotation_matrix

TOUCHING = 1e-6  # overlaps of bodies below this are not told from none [m]


@dataclass(frozen=True)
class Solid:
    """A convex solid: the hull of its corners, thickened by a radius.

    Attributes:
        corners: Corners [m], (V, 3): of a ball its centre, of a capsule the ends of its segment.
        normals: Directions of its faces, (F, 3).
        arcs: Normals of the two faces at each edge, (E, 2, 3).
        radius: Radius [m].
        reach: Distance of the farthest point from the origin [m].
    """

    corners: np.ndarray
    normals: np.ndarray
    arcs: np.ndarray
    radius: float
    reach: float


@dataclass(frozen=True)
class Piece:
    """A solid where it is."""

    body: int
    solid: Solid
    position: np.ndarray
    turn: np.ndarray

    @property
    def corners(self) -> np.ndarray:
        """Its corners in the world [m]."""
        return self.solid.corners @ self.turn.T + self.position


def solid_of(shape: sn.Shape) -> Solid:
    """The solid of a shape."""
    if isinstance(shape, sn.Sphere):
        return _round(np.zeros((1, 3)), shape.radius)
    if isinstance(shape, sn.Capsule):
        return _round(np.array([[0.0, -0.5, 0.0], [0.0, 0.5, 0.0]]) * shape.length, shape.radius)
    if isinstance(shape, sn.Box):
        corners = np.array(shape.size) * (np.array(list(np.ndindex(2, 2, 2))) - 0.5)
    else:
        assert isinstance(shape, sn.ConvexHull)
        corners = shape.vertices
    hull = Hull(corners)
    normals, faces = np.unique(np.round(hull.equations[:, :3], 9), axis=0, return_inverse=True)
    pairs = np.stack([np.repeat(np.arange(len(faces)), 3), hull.neighbors.ravel()], axis=1)
    pairs = np.unique(np.sort(faces.ravel()[pairs], axis=1), axis=0)
    arcs = normals[pairs[pairs[:, 0] != pairs[:, 1]]]
    return Solid(corners, normals, arcs, 0.0, float(np.linalg.norm(corners, axis=1).max()))


def _round(ends: np.ndarray, radius: float) -> Solid:
    return Solid(ends, np.zeros((0, 3)), np.zeros((0, 2, 3)), radius, radius + float(np.abs(ends).max()))


class Measures:
    """Measures of one world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._start, self._free = world.positions, world.free
        self._masses, self._tensors = world.masses()
        known: dict[int, Solid] = {}
        self._solids = []
        for i, body in enumerate(world.bodies):
            for shape, x, q in body.pieces:
                solid = known.setdefault(id(shape), known.get(id(shape)) or solid_of(shape))
                self._solids.append((i, solid, x, q))
        self._joined = {frozenset((link.child, link.parent)) for link in world.links}
        starts = rotation_matrix(world.rotations)
        self._anchors = [
            tuple(
                starts[i].T @ (link.anchor - self._start[i]) if i >= 0 else np.asarray(link.anchor)
                for i in (link.child, link.parent)
            )
            for link in world.links
        ]

    def sideways(self, x: np.ndarray) -> float:
        """Largest displacement along the ground from the start [m]."""
        return float(np.linalg.norm((x - self._start)[self._free][:, [0, 2]], axis=1).max())

    def sunk(self, x: np.ndarray) -> float:
        """Largest displacement downwards from the start [m]."""
        return float((self._start - x)[self._free, 1].max())

    def kinetic(self, q: np.ndarray, v: np.ndarray, w: np.ndarray) -> float:
        """Kinetic energy [J]."""
        turn = rotation_matrix(q)
        spin = np.einsum("kji,kj->ki", turn, w)
        turning = np.einsum("ki,kij,kj->", spin, self._tensors, spin)
        return float(0.5 * (self._masses * (v * v).sum(axis=1)).sum() + 0.5 * turning)

    def gap(self, x: np.ndarray, q: np.ndarray) -> float:
        """Largest distance between the two places that a joint holds together [m]; 0 without joints."""
        turn, largest = rotation_matrix(q), 0.0
        for link, (here, there) in zip(self._world.links, self._anchors, strict=True):
            other = x[link.parent] + turn[link.parent] @ there if link.parent >= 0 else there
            largest = max(largest, float(np.linalg.norm(x[link.child] + turn[link.child] @ here - other)))
        return largest

    def depth(self, x: np.ndarray, q: np.ndarray) -> float:
        """How deep a body is in another one or in the ground at most [m], 0 where none is."""
        if not self._world.collide:
            return 0.0
        turns = rotation_matrix(q)
        pieces = [
            Piece(i, solid, x[i] + turns[i] @ at, rotation_matrix(quaternion_product(q[i], turn)))
            for i, solid, at, turn in self._solids
        ]
        deepest = 0.0
        if self._world.ground:
            lowest = [piece.corners[:, 1].min() - piece.solid.radius for piece in pieces if self._free[piece.body]]
            deepest = max(deepest, -min(lowest))
        return max(deepest, self._between(pieces))

    def _between(self, pieces: list[Piece]) -> float:
        """Largest depth between two bodies; pairs with the largest bound come first, until none can be deeper."""
        centres = np.array([piece.position for piece in pieces])
        moving = np.array([self._free[piece.body] for piece in pieces])
        small = np.flatnonzero(moving)
        reach = max(pieces[i].solid.reach for i in small)
        pairs = [small[pair] for pair in KDTree(centres[small]).query_pairs(2.0 * reach, output_type="ndarray")]
        for i in np.flatnonzero(~moving):
            near = KDTree(centres[small]).query_ball_point(centres[i], pieces[i].solid.reach + reach)
            pairs += [np.array([i, k]) for k in small[near]]
        bounds = []
        for i, k in pairs:
            a, b = pieces[i], pieces[k]
            if a.body != b.body and frozenset((a.body, b.body)) not in self._joined:
                bound = _overlap(a, b, _axes(a, b, edges=False))
                if bound > 0.0:
                    bounds.append((bound, a, b))
        deepest = 0.0
        for bound, a, b in sorted(bounds, key=lambda found: -found[0]):
            if bound <= max(deepest, TOUCHING):
                break
            deepest = max(deepest, min(bound, _overlap(a, b, _axes(a, b, edges=True))))
        return deepest


def _axes(a: Piece, b: Piece, *, edges: bool) -> np.ndarray:
    """Unit vectors that may separate two solids; without the products of their edges unless they are round."""
    if len(a.solid.normals) == 0 or len(b.solid.normals) == 0:
        d = _shortest(a, b)
        length = np.linalg.norm(d)
        near = [d / length] if length > 0.0 else []
        return np.array([*near, *(a.solid.normals @ a.turn.T), *(b.solid.normals @ b.turn.T)]).reshape(-1, 3)
    axes = np.concatenate([a.solid.normals @ a.turn.T, b.solid.normals @ b.turn.T])
    if not edges:
        return axes
    p, q = a.solid.arcs @ a.turn.T, -b.solid.arcs @ b.turn.T
    along, across = np.cross(p[:, 1], p[:, 0]), np.cross(q[:, 1], q[:, 0])
    first, last = along @ q[:, 0].T, along @ q[:, 1].T  # where the ends of the second arcs are, (Ea, Eb)
    start, end = p[:, 0] @ across.T, p[:, 1] @ across.T  # and those of the first
    i, k = np.nonzero((first * last < 0.0) & (start * end < 0.0) & (first * end > 0.0))
    crossed = np.cross(along[i], across[k])
    length = np.linalg.norm(crossed, axis=1)
    return np.concatenate([axes, crossed[length > 1e-6] / length[length > 1e-6, None]])


def _overlap(a: Piece, b: Piece, axes: np.ndarray) -> float:
    """Smallest overlap of the projections of two solids on unit vectors [m]."""
    p, r = a.corners @ axes.T, b.corners @ axes.T
    both = np.minimum(p.max(axis=0) - r.min(axis=0), r.max(axis=0) - p.min(axis=0))
    return float(both.min(initial=np.inf)) + a.solid.radius + b.solid.radius


def _shortest(a: Piece, b: Piece) -> np.ndarray:
    """The shortest displacement from one core to the other: segments, or the centre of a ball and a box."""
    if len(a.solid.normals) > 0:
        return -_shortest(b, a)
    if len(b.solid.normals) > 0:
        assert len(a.solid.corners) == 1, "a ball against a box, or capsules against each other"
        half = b.solid.corners.max(axis=0)
        centre = (a.position - b.position) @ b.turn
        return b.turn @ (np.clip(centre, -half, half) - centre)
    return _between_segments(a.corners, b.corners)


def _between_segments(p: np.ndarray, r: np.ndarray) -> np.ndarray:
    """The shortest displacement from a segment to another, (2, 3) each; a single point is a segment without length."""
    u, v, w = p[-1] - p[0], r[-1] - r[0], p[0] - r[0]
    a, b, c, d, e = u @ u, u @ v, v @ v, u @ w, v @ w
    area = a * c - b * b
    s = np.clip((b * e - c * d) / area, 0.0, 1.0) if area > 1e-12 * max(a * c, 1e-30) else 0.0
    t = np.clip((b * s + e) / c, 0.0, 1.0) if c > 0.0 else 0.0
    s = np.clip((b * t - d) / a, 0.0, 1.0) if a > 0.0 else 0.0
    return r[0] + t * v - p[0] - s * u
