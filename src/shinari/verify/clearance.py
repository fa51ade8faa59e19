"""How near the parts of sheets and ropes come to each other, and to solids: measured apart from the contact solver.

Distances are taken in double precision by projection on planes, lines and ends, for all pairs whose boxes come near.
"""

from collections.abc import Callable

import numpy as np

# Parts into which an edge of a triangle is cut to sample its distance to a solid.
SAMPLES = 6
# Largest error of a volume by rounding, over the sum of the sizes of its terms: (7 + 56 eps) eps, eps = 2^-53.
ORIENTATION = (7.0 + 56.0 * 2.0**-53) * 2.0**-53

SignedDistance = Callable[[np.ndarray], np.ndarray]


def point_triangle_distances(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Distances [m], (K,), of points (K, 3) to triangles (K, 3, 3)."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    normal = np.cross(b - a, c - a)
    square = _dot(normal, normal)
    sides = [(a, b), (b, c), (c, a)]
    over = square > 0.0
    for start, end in sides:
        over &= _dot(np.cross(end - start, points - start), normal) >= 0.0
    result = np.min([point_segment_distances(points, start, end) for start, end in sides], axis=0)
    result[over] = np.abs(_dot(points - a, normal)[over]) / np.sqrt(square[over])
    return result


def point_segment_distances(points: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Distances [m], (K,), of points to segments from starts to ends, all (K, 3)."""
    along = ends - starts
    square = _dot(along, along)
    place = np.clip(_dot(points - starts, along) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
    return np.linalg.norm(points - starts - place[:, None] * along, axis=1)


def segment_distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Distances [m], (K,), of segments (K, 2, 3).

    Either the common perpendicular of the lines meets both segments, or an end is among the nearest points.
    """
    p, q, r, s = first[:, 0], first[:, 1], second[:, 0], second[:, 1]
    result = np.min([point_segment_distances(*three) for three in ((p, r, s), (q, r, s), (r, p, q), (s, p, q))], axis=0)
    u, v, w = q - p, s - r, r - p
    across = np.cross(u, v)
    square = _dot(across, across)
    skew = square > 0.0
    whole = np.where(skew, square, 1.0)
    place, other = _dot(np.cross(w, v), across) / whole, _dot(np.cross(w, u), across) / whole
    meets = skew & (place >= 0.0) & (place <= 1.0) & (other >= 0.0) & (other <= 1.0)
    apart = np.abs(_dot(w, across)) / np.sqrt(whole)
    result[meets] = np.minimum(result, apart)[meets]
    return result


def pierces(segments: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Whether segments (K, 2, 3) go through triangles (K, 3, 3), (K,) bool, by the signs of volumes.

    Only signs that rounding cannot turn count: the volumes of what lies in one plane, such as a sheet on a flat face,
    have any sign, however far apart the two are. What goes through by no more than rounding has a distance near 0.
    """
    p, q = segments[:, 0], segments[:, 1]
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    sides = _side(p, a, b, c) * _side(q, a, b, c) < 0
    turns = _side(p, q, a, b) + _side(p, q, b, c) + _side(p, q, c, a)
    return sides & (np.abs(turns) == 3)


def near_boxes(first: np.ndarray, second: np.ndarray, reach: float) -> np.ndarray:
    """Pairs (K, 2) of items (M, P, 3) and (N, Q, 3), given by their corners, whose boxes are nearer than `reach`."""
    low, high = first.min(axis=1) - reach, first.max(axis=1) + reach
    other_low, other_high = second.min(axis=1), second.max(axis=1)
    if len(first) == 0 or len(second) == 0:
        return np.zeros((0, 2), np.int64)
    sweeps = []
    for axis in range(3):
        order = np.argsort(other_low[:, axis], kind="stable")
        widest = float((other_high - other_low)[:, axis].max())
        begin = np.searchsorted(other_low[order, axis], low[:, axis] - widest, side="left")
        end = np.searchsorted(other_low[order, axis], high[:, axis], side="right")
        sweeps.append((int((end - begin).sum()), axis, order, begin, end - begin))
    _, first_axis, order, begin, counts = min(sweeps, key=lambda sweep: sweep[:2])
    one = np.repeat(np.arange(len(first)), counts)
    # places in the order, which run on: the corners are read one after the other
    two = np.arange(len(one)) + np.repeat(begin - (np.cumsum(counts) - counts), counts)
    for axis in (first_axis, (first_axis + 1) % 3, (first_axis + 2) % 3):
        touch = other_high[order, axis][two] >= low[:, axis][one]
        touch &= other_low[order, axis][two] <= high[:, axis][one]
        one, two = one[touch], two[touch]
    return np.stack([one, order[two]], axis=1)


def edges_of(faces: np.ndarray) -> np.ndarray:
    """Edges of triangles (F, 3), each once, (E, 2)."""
    return np.unique(np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1), axis=0)


def least_distance(x: np.ndarray, triangles: np.ndarray, segments: np.ndarray, reach: float) -> float:
    """Least distance [m] of parts that share no particle: 0 where an edge goes through a triangle.

    Args:
        x: Positions [m], (N, 3).
        triangles: Triangles, (F, 3).
        segments: Segments that belong to no triangle, such as those of ropes, (S, 2).
        reach: What is farther apart than this is not looked at, and this is returned where nothing is nearer [m].
    """
    x = np.asarray(x, np.float64)
    lines = np.concatenate([edges_of(triangles), segments]).astype(np.int64)
    points = np.unique(lines)[:, None]
    result = [reach]
    if len(triangles):
        near = _strangers(lines, triangles, near_boxes(x[lines], x[triangles], 0.0))
        if pierces(x[lines[near[:, 0]]], x[triangles[near[:, 1]]]).any():
            return 0.0
        near = _strangers(points, triangles, near_boxes(x[points], x[triangles], reach))
        result.append(point_triangle_distances(x[points[near[:, 0], 0]], x[triangles[near[:, 1]]]).min(initial=reach))
    near = near_boxes(x[lines], x[lines], reach)
    near = _strangers(lines, lines, near[near[:, 0] < near[:, 1]])
    result.append(segment_distances(x[lines[near[:, 0]]], x[lines[near[:, 1]]]).min(initial=reach))
    return float(min(result))


def distance_of_surfaces(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray], reach: float
) -> float:
    """Least distance [m] of two surfaces, 0 where they intersect; `reach` where they are no nearer than that.

    Args:
        first: Positions (N, 3) [m] and triangles (F, 3).
        second: The same of the other surface.
        reach: Distance above which no pair is looked at [m].
    """
    surfaces, result = [], [reach]
    for x, triangles in (first, second):
        x = np.asarray(x, np.float64)
        surfaces.append((x[np.unique(triangles)][:, None], x[edges_of(triangles)], x[triangles]))
    for (points, lines, _), (_, _, triangles) in (surfaces, surfaces[::-1]):
        near = near_boxes(lines, triangles, 0.0)
        if pierces(lines[near[:, 0]], triangles[near[:, 1]]).any():
            return 0.0
        near = near_boxes(points, triangles, reach)
        result.append(point_triangle_distances(points[near[:, 0], 0], triangles[near[:, 1]]).min(initial=reach))
    (_, lines, _), (_, others, _) = surfaces
    near = near_boxes(lines, others, reach)
    result.append(segment_distances(lines[near[:, 0]], others[near[:, 1]]).min(initial=reach))
    return float(min(result))


def least_signed_distance(x: np.ndarray, triangles: np.ndarray, distance: SignedDistance) -> float:
    """Least signed distance [m] of sample points of triangles (F, 3) at positions x (N, 3), negative inside."""
    steps = np.arange(SAMPLES + 1) / SAMPLES
    weights = np.array([(u, v, 1.0 - u - v) for u in steps for v in steps if u + v <= 1.0 + 1e-9])
    return float(distance(np.einsum("sk,fkc->fsc", weights, x[triangles].astype(np.float64)).reshape(-1, 3)).min())


def _strangers(first: np.ndarray, second: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Of pairs of rows (K, 2) those that share no particle."""
    one, two = first[pairs[:, 0]], second[pairs[:, 1]]
    apart = np.ones(len(pairs), bool)
    for a in range(one.shape[1]):
        for b in range(two.shape[1]):
            apart &= one[:, a] != two[:, b]
    return pairs[apart]


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", a, b)


def _side(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Signs of the volumes of tetrahedra, (K,); 0 where rounding could turn them (Shewchuk 1997, section 4.3)."""
    u, v, w = b - a, c - a, d - a
    i, j = [1, 2, 0], [2, 0, 1]
    volume = _dot(np.cross(u, v), w)
    terms = np.abs(u[:, i] * v[:, j]) + np.abs(u[:, j] * v[:, i])
    return np.where(np.abs(volume) > ORIENTATION * _dot(terms, np.abs(w)), np.sign(volume), 0.0)
