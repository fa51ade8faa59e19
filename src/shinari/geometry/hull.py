"""Convex hulls of points: the corners, and the faces as polygons.

Quickhull (Barber, Dobkin, Huhdanpaa 1996, The Quickhull algorithm for convex hulls): each point outside belongs to one
triangle that it sees; the farthest point of a triangle is joined to the rim of all that it sees. Whether a point sees a
triangle is decided by the sign of a determinant, in floating point where that is surely right (the bound is that of
Shewchuk 1997, Adaptive precision floating-point arithmetic and fast robust geometric predicates), else in whole
numbers without rounding: points in one plane, in one line or twice at one place need no tolerance and no luck.

What is left to round is what counts as flat. Triangles whose corners are within `FLAT` of one plane become one face;
points that are then corners of fewer than three faces are left out and the hull of the others is taken, until none is.

A coarse hull leaves out all that is outside of it by less than a distance: the farthest point comes first, so that few
corners are enough.
"""

from fractions import Fraction

import numpy as np

from shinari.errors import SceneError

FLAT = 1e-6
"""Distance from a plane, over the size of the points, within which a point is in it."""
_ROUNDING = (7.0 + 56.0 * 2.0**-53) * 2.0**-53
_IN_PLANE = "all lie in one plane; a hull needs four that do not"
Triangle = tuple[int, int, int]


def convex_hull(points: np.ndarray, label: str = "hull") -> tuple[np.ndarray, list[np.ndarray]]:
    """Convex hull of points.

    Args:
        points: Finite positions [m], (N, 3).
        label: What messages name.

    Returns:
        Which of the points are corners, (V,) increasing, and the corners of each face as places among those (K,),
        counter-clockwise seen from outside.

    Raises:
        SceneError: The points lie in one plane, in one line or at one place.
    """
    points = points * 2.0 ** -float(np.frexp(np.abs(points).max())[1])  # so that no product leaves the range of numbers
    flat = FLAT * float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))
    kept = np.unique(points + 0.0, axis=0, return_index=True)[1]
    kept.sort()
    while True:
        places = points[kept]
        triangles = _triangles(places, flat, label)
        faces = _merged(places, triangles, flat, label)
        meeting = np.bincount(np.concatenate([np.unique(face) for face in faces]), minlength=len(kept))
        corners = np.unique(np.array(triangles))
        doubles = _doubles(places, triangles, flat)
        wanted = np.setdiff1d(corners, doubles) if len(doubles) else corners[meeting[corners] >= 3]
        if len(wanted) == len(corners):
            break
        if len(wanted) < 4:
            raise SceneError(f"{label}: points: {_IN_PLANE}")
        kept = kept[wanted]
    rank = np.zeros(len(kept), np.int64)
    rank[corners] = np.arange(len(corners))
    return kept[corners], [rank[face] for face in faces]


def coarse_corners(points: np.ndarray, distance: float, label: str = "hull") -> np.ndarray:
    """Points of which the hull leaves all others at most a distance outside, (K,) increasing.

    Args:
        points: Finite positions [m], (N, 3).
        distance: The distance [m].
        label: What messages name.

    Raises:
        SceneError: As `convex_hull`.
    """
    scale = 2.0 ** -float(np.frexp(np.abs(points).max())[1])
    points = points * scale
    flat = FLAT * float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))
    kept = np.unique(points + 0.0, axis=0, return_index=True)[1]
    return np.sort(kept[np.unique(np.array(_triangles(points[kept], flat, label, distance * scale)))])


class _Points:
    """Points as floating point numbers and as whole numbers of one small unit."""

    def __init__(self, places: np.ndarray) -> None:
        self.places = places
        self.rows = places.tolist()
        ratios = [[Fraction(value) for value in row] for row in self.rows]
        unit = max(value.denominator for row in ratios for value in row)  # all are powers of two
        self.whole = [[int(value * unit) for value in row] for row in ratios]

    def heights(self, triangles: list[Triangle], points: np.ndarray) -> np.ndarray:
        """Determinants of right sign, (T, P): above 0 where a point (P,) is above a triangle."""
        corners = self.places[np.array(triangles)]
        a, u, v = corners[:, :1], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        arms = self.places[points] - a
        forward = np.stack([u[:, 1] * v[:, 2], u[:, 2] * v[:, 0], u[:, 0] * v[:, 1]], axis=1)
        backward = np.stack([u[:, 2] * v[:, 1], u[:, 0] * v[:, 2], u[:, 1] * v[:, 0]], axis=1)
        result = np.einsum("tpk,tk->tp", arms, forward - backward)
        bound = _ROUNDING * np.einsum("tpk,tk->tp", np.abs(arms), np.abs(forward) + np.abs(backward))
        for t, p in np.argwhere(np.abs(result) <= bound).tolist():
            result[t, p] = self._exact_sign(*triangles[t], int(points[p])) * bound[t, p]
        return result

    def above(self, triangle: Triangle, point: int) -> bool:
        """Whether a point is above a triangle."""
        a, b, c = (self.rows[k] for k in triangle)
        p = self.rows[point]
        ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
        px, py, pz = p[0] - a[0], p[1] - a[1], p[2] - a[2]
        x, y, z = uy * vz, uz * vx, ux * vy
        x_, y_, z_ = uz * vy, ux * vz, uy * vx
        value = px * (x - x_) + py * (y - y_) + pz * (z - z_)
        size = abs(px) * (abs(x) + abs(x_)) + abs(py) * (abs(y) + abs(y_)) + abs(pz) * (abs(z) + abs(z_))
        return value > 0.0 if abs(value) > _ROUNDING * size else self._exact_sign(*triangle, point) > 0

    def _exact_sign(self, a: int, b: int, c: int, p: int) -> int:
        o, b_, c_, p_ = (self.whole[k] for k in (a, b, c, p))
        ux, uy, uz = b_[0] - o[0], b_[1] - o[1], b_[2] - o[2]
        vx, vy, vz = c_[0] - o[0], c_[1] - o[1], c_[2] - o[2]
        px, py, pz = p_[0] - o[0], p_[1] - o[1], p_[2] - o[2]
        value = px * (uy * vz - uz * vy) + py * (uz * vx - ux * vz) + pz * (ux * vy - uy * vx)
        return (value > 0) - (value < 0)


def _triangles(places: np.ndarray, flat: float, label: str, distance: float = 0.0) -> list[Triangle]:
    """Triangles of the hull of different points, counter-clockwise seen from outside.

    Points that are outside by less than a distance may be left out.
    """
    points = _Points(places)
    a, b, c, d = _start(places, flat, label)
    if points.above((a, b, c), d):
        b, c = c, b
    waiting: dict[Triangle, tuple[np.ndarray, np.ndarray]] = {}
    beside: dict[tuple[int, int], Triangle] = {}

    def add(new: list[Triangle], free: np.ndarray) -> None:
        """Enter triangles, and give each free point to the first that it is above."""
        heights = points.heights(new, free) if len(free) else np.zeros((len(new), 0))
        seen = heights > (distance * _sizes(places, new)[:, None] if distance > 0.0 else 0.0)
        owner = np.where(seen.any(axis=0), seen.argmax(axis=0), -1)
        for t, (i, j, k) in enumerate(new):
            beside[i, j] = beside[j, k] = beside[k, i] = new[t]
            own = owner == t
            waiting[new[t]] = free[own], heights[t, own]

    first = [(a, b, c), (a, d, b), (b, d, c), (c, d, a)]
    add(first, np.setdiff1d(np.arange(len(places)), [a, b, c, d]))
    todo = list(first)
    while todo or (distance > 0.0 and (todo := _entered(places, waiting, distance))):
        start = todo.pop()
        above, heights = waiting.get(start, ((), ()))
        if len(above) == 0:
            continue
        top = int(above[np.argmax(heights)])
        gone, rim = _seen_from(points, top, start, beside)
        free = np.concatenate([waiting.pop(triangle)[0] for triangle in gone])
        new = [(i, j, top) for i, j in rim]
        add(new, np.sort(free[free != top]))
        todo += new
    return list(waiting)


def _sizes(places: np.ndarray, triangles: list[Triangle]) -> np.ndarray:
    """Twice the areas of triangles, (T,)."""
    corners = places[np.array(triangles)]
    return np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)


def _entered(
    places: np.ndarray, waiting: dict[Triangle, tuple[np.ndarray, np.ndarray]], distance: float
) -> list[Triangle]:
    """Give points that are farther outside than a distance to a triangle; those triangles.

    A point that was left out beside the new triangles may be far above an old one.
    """
    triangles = list(waiting)
    corners = places[np.array(triangles)]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(_sizes(places, triangles), np.finfo(float).tiny)[:, None]
    offsets = np.einsum("tk,tk->t", normals, corners[:, 0])
    found: dict[int, list[tuple[int, float]]] = {}
    for first in range(0, len(places), 512):
        heights = normals @ places[first : first + 512].T - offsets[:, None]
        most = heights.argmax(axis=0)
        for p in np.flatnonzero(heights.max(axis=0) > distance).tolist():
            found.setdefault(int(most[p]), []).append((first + p, float(heights[most[p], p])))
    for t, above in found.items():
        waiting[triangles[t]] = np.array([p for p, _ in above]), np.array([height for _, height in above])
    return [triangles[t] for t in found]


def _seen_from(
    points: _Points, top: int, start: Triangle, beside: dict[tuple[int, int], Triangle]
) -> tuple[list[Triangle], list[tuple[int, int]]]:
    """Triangles that a point is above, from one of them on, and the directed edges at their rim."""
    seen, rim, known = [start], [], {start: True}
    for triangle in seen:
        i, j, k = triangle
        for edge in ((i, j), (j, k), (k, i)):
            other = beside[edge[1], edge[0]]
            if other not in known:
                known[other] = points.above(other, top)
                if known[other]:
                    seen.append(other)
            if not known[other]:
                rim.append(edge)
    return seen, rim


def _start(places: np.ndarray, flat: float, label: str) -> tuple[int, int, int, int]:
    """Four points far from one place, one line and one plane."""
    a = int(np.argmin(places[:, 0]))
    arms = places - places[a]
    b = int(np.argmax((arms**2).sum(axis=1)))
    along = arms[b] / max(float(np.linalg.norm(arms[b])), np.finfo(float).tiny)
    across = np.linalg.norm(np.cross(arms, along), axis=1)
    c = int(np.argmax(across))
    if not across[c] > flat:
        raise SceneError(f"{label}: points: a hull needs four that are not in one plane; these lie in one line")
    normal = np.cross(along, arms[c]) / across[c]
    heights = np.abs(arms @ normal)
    d = int(np.argmax(heights))
    if not heights[d] > flat:
        raise SceneError(f"{label}: points: {_IN_PLANE}")
    return a, b, c, d


def _merged(places: np.ndarray, triangles: list[Triangle], flat: float, label: str) -> list[np.ndarray]:
    """Faces: triangles that lie in one plane together, as loops of corners; large triangles decide first."""
    corners = places[np.array(triangles)]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    beside = {(t[i], t[(i + 1) % 3]): n for n, t in enumerate(triangles) for i in range(3)}
    taken = [False] * len(triangles)
    faces = []
    for seed in np.argsort(-areas, kind="stable").tolist():
        if taken[seed]:
            continue
        normal = normals[seed] / areas[seed]
        members = _in_plane(places @ normal - corners[seed, 0] @ normal, flat, triangles, beside, taken, seed)
        if len(members) == len(triangles):
            raise SceneError(f"{label}: points: {_IN_PLANE}")
        loop = _loop(triangles, beside, members)
        if not loop:  # it touches itself at a corner: its triangles stay faces of their own
            members, loop = {seed}, list(triangles[seed])
        for member in members:
            taken[member] = True
        faces.append(np.array(loop))
    return faces


def _in_plane(
    heights: np.ndarray,
    flat: float,
    triangles: list[Triangle],
    beside: dict[tuple[int, int], int],
    taken: list[bool],
    seed: int,
) -> set[int]:
    """Triangles not taken that hang together with one of them and have no corner off its plane; heights are (N,)."""
    members, todo = {seed}, [seed]
    for triangle in todo:
        i, j, k = triangles[triangle]
        for other in (beside[j, i], beside[k, j], beside[i, k]):
            if not taken[other] and other not in members and all(abs(heights[p]) <= flat for p in triangles[other]):
                members.add(other)
                todo.append(other)
    return members


def _loop(triangles: list[Triangle], beside: dict[tuple[int, int], int], members: set[int]) -> list[int]:
    """Corners around triangles, counter-clockwise; empty if their rim is not one loop."""
    after: dict[int, int] = {}
    count = 0
    for triangle in sorted(members):
        i, j, k = triangles[triangle]
        for start, end in ((i, j), (j, k), (k, i)):
            if beside[end, start] not in members:
                after[start] = end
                count += 1
    first = min(after)
    loop = [first]
    while (following := after[loop[-1]]) != first:
        loop.append(following)
    return loop if len(loop) == count else []


def _doubles(places: np.ndarray, triangles: list[Triangle], flat: float) -> np.ndarray:
    """Points at the end of an edge without length, of which the other end stays."""
    table = np.array(triangles)
    pairs = np.concatenate([table[:, [0, 1]], table[:, [1, 2]], table[:, [2, 0]]])
    short = np.linalg.norm(places[pairs[:, 0]] - places[pairs[:, 1]], axis=1) <= flat
    return np.unique(pairs[short].max(axis=1))
