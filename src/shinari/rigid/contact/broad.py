"""Broad phase of the bodies: which geoms may touch, found once a step and again when something leaves its margin.

A frame that hardly moves in a step has a margin all around for the whole step, at most a part of its size: how many
neighbours it has does not depend on its speed. When it leaves that margin, or will in the substep that begins, the
pairs are found anew. A frame that moves farther in one substep than its size allows is swept along its path in that
substep, and a pair stays when the two boxes meet on their paths. What is thrown off its path by more than its margin
is noticed after the solution, and its pairs are sought along the path that it took: see `left` and `extend`.
"""

import numba
import numpy as np

from shinari.contact.broad.bvh import Tree
from shinari.contact.keys import listed
from shinari.maths.function import STEADY, steady
from shinari.maths.quaternion import rotation_rows
from shinari.maths.vec3 import ZERO, norm
from shinari.rigid.contact.geoms import GeomArrays, Geoms
from shinari.rigid.frames import Frames

TWO = np.float32(2.0)
SLACK = np.float32(0.005)
"""Points are found up to this part of the smaller geom's size before they touch, besides what speeds ask for."""

ENDLESS = 1e9
# Searches for which a tree serves before its boxes are put in a new order.
TREE_AGE = 16
# A margin is at most so many times the size of a frame: as wide as the first number while a geom has at most `PLENTY`
# pairs on average, else as the second. In a dense heap of tumbling cubes a cube then has some twenty pairs. A frame
# that needs more in a substep is swept instead.
WIDE, MOST = 1.0, 0.25
PLENTY = 16
# The size of a flat geom, whose box has no volume, as part of half its diagonal.
FLAT = 0.1
# Boxes that are looked up at once at first, and overlaps of swept boxes that are held at once.
FEW, MOST_OVERLAPS = 256, 1 << 21


class BroadPhase:
    """Finds the pairs of geoms that may touch.

    Args:
        geoms: The geoms.
        frames: The frames; their poses at the start of the substep and their velocities are read.
        dt: Step [s].
        h: Substep [s].
        weight: Size of gravity [m/s^2].

    Attributes:
        fast: Whether a frame was swept when the pairs were found last.
    """

    def __init__(self, geoms: Geoms, frames: Frames, dt: float, h: float, weight: float) -> None:
        arrays = geoms.arrays
        self._geoms, self._frames = geoms, frames
        self._dt, self._h, self._weight = dt, h, weight
        endless = np.isinf(arrays.size)
        self._bounded, self._endless = np.flatnonzero(~endless), np.flatnonzero(endless)
        # of an endless frame any turn counts as leaving its margin
        radii = np.where(endless, ENDLESS, arrays.radius)
        self.radii = np.zeros(len(frames.x))
        np.maximum.at(self.radii, arrays.frame, radii)
        self._sizes = frame_sizes(arrays, len(frames.x))
        # see `set_margins`
        self._margins, self._wider, self._spins = np.zeros((3, len(frames.x)))
        self._paths = np.zeros_like(frames.x0)
        self._places, self._turns = np.zeros_like(frames.x0), np.zeros_like(frames.q0)
        self._low, self._high, self._first, self._last = np.zeros((4, len(self._bounded), 3))
        self._finds, self.fast, self._off = 0, False, np.zeros(len(frames.x), bool)

    def strayed(self) -> bool:
        """Whether a frame is, or may be in this substep, farther from where it was than its margin."""
        frames = self._frames
        away = strayed(self._places, self._turns, self._margins, self.radii, frames.x0, frames.q0, frames.v, frames.w,
                       frames.inverse_mass, self._weight, self._h)  # fmt: skip
        if self.fast and not away:
            # the paths were those of the last substep
            self.fast, self._paths[...], self._spins[...] = False, 0.0, 0.0
        return away

    def find(self, poses: np.ndarray, factor: float, threads: int) -> np.ndarray:
        """Pairs of geoms a < b that may touch, sorted, (K, 2) int64.

        Args:
            poses: Pose of each frame, (F, 12).
            factor: How many times as wide as necessary the margins are, where they may be so wide.
            threads: Threads to work on, at most.
        """
        frames = self._frames
        self._places[...], self._turns[...], self._off[...] = frames.x0, frames.q0, False
        pairs = np.zeros((0, 2), np.int64)
        for most in (WIDE, MOST):
            self.fast, bounded = set_margins(
                self._margins, self._wider, self._spins, self._paths, self._sizes, self.radii, frames.v, frames.w,
                frames.inverse_mass, self._weight, self._dt, self._h, factor * (self._dt + 2.0 * self._h), most
            )  # fmt: skip
            pairs = self._pairs(poses, threads)
            if not bounded or len(pairs) <= PLENTY * len(self._bounded):
                break
        return pairs

    @property
    def slow(self) -> np.ndarray:
        """Frames that were not swept when the pairs were found last, (F,) bool."""
        return ~np.asarray(self._paths.any(axis=1))

    def left(self) -> np.ndarray:
        """Frames that solutions of this substep have thrown farther off their paths than their margins, (L,).

        Empty when the last solution has thrown none off that path which is known of.
        """
        frames = self._frames
        off = off_path(self._places, self._turns, self._margins, self._spins, self._paths, self._sizes, self.radii,
                       frames.x, frames.q)  # fmt: skip
        self._off |= off
        return np.flatnonzero(self._off if off.any() else off)

    def extend(self, left: np.ndarray, poses: np.ndarray, threads: int) -> np.ndarray:
        """The pairs with those along the paths that some frames (L,) took instead; see `find`."""
        frames = self._frames
        self._paths[left] = frames.x[left] - self._places[left]
        length = np.linalg.norm(self._paths[left], axis=1)
        # however it turns, a geom stays in the ball around the origin of its frame
        self._spins[left] = 2.0 * self.radii[left]
        self._wider[left] = np.maximum(self._wider[left], length + self._spins[left])
        self.fast = True
        return self._pairs(poses, threads)

    def _pairs(self, poses: np.ndarray, threads: int) -> np.ndarray:
        """Pairs of boxes that meet on their paths."""
        geoms, frames = self._geoms, self._frames
        low, high, bounded = self._low, self._high, self._bounded
        set_boxes(low, high, bounded, geoms.arrays, poses, self._margins, self._spins, frames.inverse_mass)
        keys = [np.zeros(0, np.int64)]
        if len(bounded) > 1:
            first, last = low, high
            if self.fast:
                first, last = self._first, self._last
                sweep_boxes(low, high, bounded, geoms.arrays.frame, self._paths, first, last)
            # what the order in the tree was made for decides about speed, not about what is found
            if self._finds % TREE_AGE == 0:
                self._tree = Tree(low + 0.5 * (high - low), np.float64)
            self._finds += 1
            self._tree.refit(first, last, threads)
            if self.fast:
                keys += self._swept_keys(threads)
            else:
                keys.append(keys_of(self._tree.self_overlaps(threads), bounded, geoms.arrays, frames.inverse_mass,
                                    geoms.frame_count, geoms.apart))  # fmt: skip
        moves = (frames.v, frames.w, frames.inverse_mass)
        for g in self._endless:
            keys.append(beside_endless(g, low, high, bounded, geoms.arrays, geoms.shapes.size, poses, self._wider,
                                       *moves, geoms.frame_count, geoms.apart))  # fmt: skip
        joined = np.sort(np.concatenate(keys))
        return np.stack([joined // len(geoms), joined % len(geoms)], axis=1)

    def _swept_keys(self, threads: int) -> list[np.ndarray]:
        """Keys of the pairs whose boxes meet on their paths; of the swept boxes that overlap a few are held at once."""
        geoms, frames, bounded = self._geoms, self._frames, self._bounded
        order, keys, begin, size = self._tree.order, [], 0, FEW
        while begin < len(order):
            which = order[begin : begin + size]
            overlaps = self._tree.overlaps(self._first[which], self._last[which], threads)
            keys.append(
                keys_on_paths(overlaps, which, bounded, self._low, self._high, self._paths, geoms.arrays,
                              frames.inverse_mass, geoms.frame_count, geoms.apart)
            )  # fmt: skip
            begin += size
            size = max(FEW // 4, min(size * MOST_OVERLAPS // (len(overlaps) + 1), 8 * size))
        return keys


def frame_sizes(arrays: GeomArrays, count: int) -> np.ndarray:
    """Size of each frame [m], (F,): the edge of the cube with the volume of the box of its largest geom.

    Infinite without geoms, and where one has no end.
    """
    edges = arrays.high - arrays.low
    with np.errstate(invalid="ignore"):
        sizes = np.maximum(np.cbrt(edges.prod(axis=1)), FLAT * arrays.size)
    sizes[np.isinf(arrays.size)] = np.inf
    largest = np.zeros(count)
    np.maximum.at(largest, arrays.frame, sizes)
    return np.where(largest > 0.0, largest, np.inf)


@numba.njit(cache=True, **STEADY)
def set_poses(poses, x, q):
    """Poses as matrices in rows and positions, (F, 12), from origins and quaternions."""
    for f in range(len(x)):
        m0, m1, m2 = rotation_rows((q[f, 0], q[f, 1], q[f, 2], q[f, 3]))
        poses[f, 0], poses[f, 1], poses[f, 2] = m0
        poses[f, 3], poses[f, 4], poses[f, 5] = m1
        poses[f, 6], poses[f, 7], poses[f, 8] = m2
        poses[f, 9], poses[f, 10], poses[f, 11] = x[f, 0], x[f, 1], x[f, 2]


@steady
def speed_bound(v, w, inverse_mass, radius, f, fall):
    """Largest speed of a point of a frame within a radius, after a fall that adds to it."""
    spin = norm((w[f, 0], w[f, 1], w[f, 2])) * radius
    return norm((v[f, 0], v[f, 1], v[f, 2])) + spin + (fall if inverse_mass[f] > ZERO else ZERO)


@numba.njit(cache=True, **STEADY)
def set_margins(margins, wider, spins, paths, sizes, radii, v, w, inverse_mass, weight, dt, h, duration, most):
    """How far frames may move before the pairs are found anew; whether a frame is swept, and a margin above MOST.

    Args:
        margins: Receives how far each may move in any direction [m], (F,).
        wider: Receives how much farther each would get in the duration [m], (F,).
        spins: Receives how far turning takes a point of what is swept in a substep [m], (F,).
        paths: Receives the displacement of what is swept in a substep [m], (F, 3).
        sizes: Size of each [m], (F,).
        radii: Farthest point of each [m], (F,).
        v: Velocities, (F, 3).
        w: Angular velocities, (F, 3).
        inverse_mass: (F,).
        weight: Size of gravity [m/s^2].
        dt: Step [s].
        h: Substep [s].
        duration: Time for which the margins should last [s].
        most: Largest margin, in sizes.
    """
    fast = bounded = False
    for f in range(len(margins)):
        wanted = duration * speed_bound(v, w, inverse_mass, radii[f], f, weight * dt)
        needed = TWO * h * speed_bound(v, w, inverse_mass, radii[f], f, weight * h)
        swept = needed > most * sizes[f]
        fast |= swept
        bounded |= not swept and wanted > MOST * sizes[f]
        spins[f] = h * norm((w[f, 0], w[f, 1], w[f, 2])) * radii[f] if swept else ZERO * wanted
        margins[f] = MOST * sizes[f] + weight * h * h if swept else min(wanted, most * sizes[f])
        wider[f] = wanted if swept else wanted - margins[f]
        for k in range(3):
            paths[f, k] = h * v[f, k] if swept else ZERO * wanted
    return fast, bounded


@numba.njit(cache=True, **STEADY)
def off_path(places, turns, margins, spins, paths, sizes, radii, x, q):
    """Which frames have moved farther from their paths than their margins, and than the part of their size, (F,)."""
    off = np.zeros(len(margins), np.bool_)
    for f in range(len(margins)):
        e = (x[f, 0] - places[f, 0], x[f, 1] - places[f, 1], x[f, 2] - places[f, 2])
        d = (paths[f, 0], paths[f, 1], paths[f, 2])
        square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
        along = e[0] * d[0] + e[1] * d[1] + e[2] * d[2]
        t = min(max(along / square, ZERO * along), ZERO * along + 1.0) if square > ZERO else ZERO * along
        away = norm((e[0] - t * d[0], e[1] - t * d[1], e[2] - t * d[2]))
        away += max(turned_by(q, turns, f) * radii[f] - spins[f], ZERO * away)
        off[f] = away > max(margins[f], MOST * sizes[f])
    return off


@steady
def turned_by(q, turns, f):
    """Turn of a frame since a quaternion, as the length of the chord for a radius of one."""
    plus, minus = ZERO * q[f, 0], ZERO * q[f, 0]
    for k in range(4):
        plus += (q[f, k] + turns[f, k]) ** 2
        minus += (q[f, k] - turns[f, k]) ** 2
    return TWO * np.sqrt(min(plus, minus))


@numba.njit(cache=True, **STEADY)
def strayed(places, turns, margins, radii, x, q, v, w, inverse_mass, weight, h):
    """Whether a frame has moved, and may move in twice a substep, farther than its margin."""
    away = False
    for f in range(len(margins)):
        way = norm((x[f, 0] - places[f, 0], x[f, 1] - places[f, 1], x[f, 2] - places[f, 2]))
        way += turned_by(q, turns, f) * radii[f]
        way += TWO * h * speed_bound(v, w, inverse_mass, radii[f], f, weight * h)
        away |= not (way <= margins[f])
    return away


@steady
def box_of(g, geoms, poses):
    """Centre and half edges in world axes of the box around a geom that has an end."""
    f = geoms.frame[g]
    mx = 0.5 * (geoms.low[g, 0] + geoms.high[g, 0])
    my = 0.5 * (geoms.low[g, 1] + geoms.high[g, 1])
    mz = 0.5 * (geoms.low[g, 2] + geoms.high[g, 2])
    sx, sy, sz = geoms.high[g, 0] - mx, geoms.high[g, 1] - my, geoms.high[g, 2] - mz
    t = geoms.local[g]
    ax = t[0] * mx + t[1] * my + t[2] * mz + t[9]
    ay = t[3] * mx + t[4] * my + t[5] * mz + t[10]
    az = t[6] * mx + t[7] * my + t[8] * mz + t[11]
    p = poses[f]
    cx = p[0] * ax + p[1] * ay + p[2] * az + p[9]
    cy = p[3] * ax + p[4] * ay + p[5] * az + p[10]
    cz = p[6] * ax + p[7] * ay + p[8] * az + p[11]
    hx, hy, hz = ZERO * cx, ZERO * cx, ZERO * cx
    for k, s in enumerate((sx, sy, sz)):
        hx += abs(p[0] * t[k] + p[1] * t[3 + k] + p[2] * t[6 + k]) * s
        hy += abs(p[3] * t[k] + p[4] * t[3 + k] + p[5] * t[6 + k]) * s
        hz += abs(p[6] * t[k] + p[7] * t[3 + k] + p[8] * t[6 + k]) * s
    return (cx, cy, cz), (hx, hy, hz)


@numba.njit(cache=True, **STEADY)
def set_boxes(low, high, which, geoms, poses, margins, spins, inverse_mass):
    """Corners (K, 3) of the boxes around some geoms, wider by the margin of the frame and by the slack.

    Turning makes a box wider by `spins`, but never wider than the ball around the origin of the frame.
    """
    for k in range(len(which)):
        g = which[k]
        f = geoms.frame[g]
        c, s = box_of(g, geoms, poses)
        wide = margins[f] + (SLACK * geoms.size[g] if inverse_mass[f] > ZERO else ZERO)
        for i in range(3):
            ci = c[0] if i == 0 else (c[1] if i == 1 else c[2])
            si = s[0] if i == 0 else (s[1] if i == 1 else s[2])
            low[k, i], high[k, i] = ci - si - wide, ci + si + wide
            if spins[f] > ZERO:
                origin, radius = poses[f, 9 + i], geoms.radius[g]
                low[k, i] = max(ci - si - spins[f], origin - radius) - wide
                high[k, i] = min(ci + si + spins[f], origin + radius) + wide


@numba.njit(cache=True, **STEADY)
def sweep_boxes(low, high, which, frame, paths, first, last):
    """Corners (K, 3) of boxes around the boxes of some geoms on their paths."""
    for k in range(len(which)):
        f = frame[which[k]]
        for i in range(3):
            first[k, i] = low[k, i] + min(paths[f, i], ZERO * paths[f, i])
            last[k, i] = high[k, i] + max(paths[f, i], ZERO * paths[f, i])


@steady
def meet_on_paths(one, other, low, high, path, other_path):
    """Whether two boxes that move by their paths share a point at some time on their way."""
    begin, end = ZERO * low[one, 0], ZERO * low[one, 0] + 1.0
    apart = False
    for i in range(3):
        way = path[i] - other_path[i]
        # the gap on one side closes and that on the other opens: 0 <= ahead + way t and 0 <= behind - way t
        ahead, behind = high[one, i] - low[other, i], high[other, i] - low[one, i]
        if way == ZERO:
            apart |= (ahead < ZERO) | (behind < ZERO)
        else:
            a, b = -ahead / way, behind / way
            begin, end = max(begin, min(a, b)), min(end, max(a, b))
    return not apart and begin <= end


@steady
def may_touch(f, e, inverse_mass, count, apart):
    """Whether two frames may touch each other."""
    free = f != e and (inverse_mass[f] > ZERO or inverse_mass[e] > ZERO)
    return free and not (len(apart) > 0 and listed(min(f, e) * count + max(f, e), apart))


@numba.njit(cache=True, **STEADY)
def keys_of(overlaps, which, geoms, inverse_mass, count, apart):
    """Keys a * G + b (a < b) of the overlapping boxes (O, 2) whose frames may touch."""
    keys = np.empty(len(overlaps), np.int64)
    n = 0
    for k in range(len(overlaps)):
        one, other = which[overlaps[k, 0]], which[overlaps[k, 1]]
        keys[n] = min(one, other) * len(geoms.frame) + max(one, other)
        n += may_touch(geoms.frame[one], geoms.frame[other], inverse_mass, count, apart)
    return keys[:n]


@numba.njit(cache=True, **STEADY)
def keys_on_paths(overlaps, queries, which, low, high, paths, geoms, inverse_mass, count, apart):
    """Keys a * G + b (a < b) of overlaps (query, box) whose boxes meet on their paths and whose frames may touch."""
    keys = np.empty(len(overlaps), np.int64)
    n = 0
    for k in range(len(overlaps)):
        i, j = np.int64(queries[overlaps[k, 0]]), np.int64(overlaps[k, 1])
        one, other = which[i], which[j]
        f, e = geoms.frame[one], geoms.frame[other]
        keys[n] = one * len(geoms.frame) + other
        if i < j and may_touch(f, e, inverse_mass, count, apart):
            n += meet_on_paths(i, j, low, high, paths[f], paths[e])
    return keys[:n].copy()


@steady
def reaches_plane(c, s, size, pose):
    """Whether a box, centre and half edges in world axes, reaches into a half space."""
    nx = pose[0] * size[0] + pose[1] * size[1] + pose[2] * size[2]
    ny = pose[3] * size[0] + pose[4] * size[1] + pose[5] * size[2]
    nz = pose[6] * size[0] + pose[7] * size[1] + pose[8] * size[2]
    height = nx * (c[0] - pose[9]) + ny * (c[1] - pose[10]) + nz * (c[2] - pose[11]) - size[3]
    return height <= abs(nx) * s[0] + abs(ny) * s[1] + abs(nz) * s[2]


@numba.njit(cache=True, **STEADY)
def beside_endless(e, low, high, which, geoms, sizes, poses, wider, v, w, inverse_mass, count, apart):
    """Keys of the geoms whose boxes, wider by `wider` (F,), reach a half space; all of them where it moves.

    The pose of an endless geom in its frame is that of the frame: only colliders have no end.
    """
    keys = np.empty(len(which), np.int64)
    n = 0
    f = geoms.frame[e]
    moves = (v[f, 0] != ZERO) | (v[f, 1] != ZERO) | (v[f, 2] != ZERO)
    moves |= (w[f, 0] != ZERO) | (w[f, 1] != ZERO) | (w[f, 2] != ZERO)
    size, pose = sizes[e], poses[f]
    for k in range(len(which)):
        g = which[k]
        c = (0.5 * (low[k, 0] + high[k, 0]), 0.5 * (low[k, 1] + high[k, 1]), 0.5 * (low[k, 2] + high[k, 2]))
        more = wider[geoms.frame[g]]
        s = (high[k, 0] - c[0] + more, high[k, 1] - c[1] + more, high[k, 2] - c[2] + more)
        near = moves or reaches_plane(c, s, size, pose)
        keys[n] = min(g, e) * len(geoms.frame) + max(g, e)
        n += near and may_touch(geoms.frame[g], f, inverse_mass, count, apart)
    return keys[:n]
