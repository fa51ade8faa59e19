"""Whether a rope is knotted: the determinant of a knot, from the crossings of its shadow."""

import numpy as np


def determinant(points: np.ndarray) -> float:
    """Determinant of the knot of an open curve (N, 3), its ends carried far away and joined there.

    1 for what is not knotted, 3 for an overhand knot, 5 for a figure eight. Fox 1962, A quick trip through knot theory:
    at each crossing twice the arc above less the two below; any minor of that matrix.
    """
    closed = _closed(np.asarray(points, np.float64))
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]
    x = closed @ turn
    over, under = _crossings(x)
    if len(under) < 2:
        return 1.0
    # arcs run from one passage below to the next, and are counted by the passages below before a place on the curve
    passages = np.sort(under)
    count = len(passages)
    rows = np.zeros((count, count))
    for above, below in zip(over, under, strict=True):
        place = int(np.searchsorted(passages, below))
        rows[place, np.searchsorted(passages, above) % count] += 2.0
        rows[place, place] -= 1.0
        rows[place, (place + 1) % count] -= 1.0
    return float(abs(np.linalg.det(rows[1:, 1:])))


def _closed(x: np.ndarray) -> np.ndarray:
    """The curve with its ends led away from its middle to a great arc around it."""
    centre = x.mean(axis=0)
    size = 50.0 * float(np.linalg.norm(x - centre, axis=1).max())
    displacements = [end - centre for end in (x[-1], x[0])]
    first, last = (displacement / np.linalg.norm(displacement) for displacement in displacements)
    side = np.cross(first, [0.3, 0.5, 0.8])
    arc = [first, first + 0.5 * side, 0.5 * side, last + 0.5 * side, last]
    return np.concatenate([x, centre + size * np.array(arc), x[:1]])


def _crossings(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places along a closed curve, in segments, of the upper and of the lower strand at each crossing seen along Z."""
    p, d = x[:-1], np.diff(x, axis=0)
    i, j = np.triu_indices(len(p), 2)
    keep = ~((i == 0) & (j == len(p) - 1))
    i, j = i[keep], j[keep]
    cross = d[i, 0] * d[j, 1] - d[i, 1] * d[j, 0]
    w = p[j] - p[i]
    whole = np.where(cross == 0.0, np.inf, cross)
    s = (w[:, 0] * d[j, 1] - w[:, 1] * d[j, 0]) / whole
    t = (w[:, 0] * d[i, 1] - w[:, 1] * d[i, 0]) / whole
    meet = (cross != 0.0) & (s >= 0.0) & (s < 1.0) & (t >= 0.0) & (t < 1.0)
    i, j, s, t = i[meet], j[meet], s[meet], t[meet]
    above = p[i, 2] + s * d[i, 2] > p[j, 2] + t * d[j, 2]
    return np.where(above, i + s, j + t), np.where(above, j + t, i + s)
