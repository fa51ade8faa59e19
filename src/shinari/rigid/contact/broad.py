"""Broad phase of the bodies: which geoms may touch in a step, found once a step.

The box of a geom is wider than the geom by what its frame can move in the step. When something leaves that margin, or
will in the substep that begins, the pairs are found anew with margins twice as wide: nothing goes through.
"""

import numba
import numpy as np

from shinari.contact.broad.bvh import Tree
from shinari.contact.keys import listed
from shinari.maths.function import STEADY, steady
from shinari.maths.quaternion import rotation_rows
from shinari.maths.vec3 import ZERO, norm
from shinari.rigid.contact.geoms import Geoms
from shinari.rigid.frames import Frames

TWO = np.float32(2.0)
SLACK = np.float32(0.005)
"""Points are found up to this part of the smaller geom's size before they touch, besides what speeds ask for."""

ENDLESS = 1e9
# Searches for which a tree serves before its boxes are put in a new order.
TREE_AGE = 16


class BroadPhase:
    """Finds the pairs of geoms that may touch.

    Args:
        geoms: The geoms.
        frames: The frames; their poses at the start of the substep and their velocities are read.
        dt: Step [s].
        h: Substep [s].
        weight: Size of gravity [m/s^2].
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
        self._margins = np.zeros(len(frames.x))
        self._places, self._turns = np.zeros_like(frames.x0), np.zeros_like(frames.q0)
        self._low, self._high = np.zeros((2, len(self._bounded), 3))
        self._finds = 0

    def strayed(self) -> bool:
        """Whether a frame is, or may be in this substep, farther from where it was than its margin."""
        frames = self._frames
        return strayed(self._places, self._turns, self._margins, self.radii, frames.x0, frames.q0, frames.v, frames.w,
                       frames.inverse_mass, self._weight, self._h)  # fmt: skip

    def find(self, poses: np.ndarray, factor: float, threads: int) -> np.ndarray:
        """Pairs of geoms a < b that may touch, sorted, (K, 2) int64.

        Args:
            poses: Pose of each frame, (F, 12).
            factor: How many times as wide as necessary the margins are.
            threads: Threads to work on, at most.
        """
        geoms, frames = self._geoms, self._frames
        self._places[...], self._turns[...] = frames.x0, frames.q0
        set_margins(self._margins, self.radii, frames.v, frames.w, frames.inverse_mass, self._weight, self._dt,
                    factor * (self._dt + 2.0 * self._h))  # fmt: skip
        low, high, bounded = self._low, self._high, self._bounded
        set_boxes(low, high, bounded, geoms.arrays, poses, self._margins, frames.inverse_mass)
        keys = [np.zeros(0, np.int64)]
        if len(bounded) > 1:
            # what the order in the tree was made for decides about speed, not about what is found
            if self._finds % TREE_AGE == 0:
                self._tree = Tree(low + 0.5 * (high - low), np.float64)
            self._finds += 1
            self._tree.refit(low, high, threads)
            keys.append(keys_of(self._tree.self_overlaps(threads), bounded, geoms.arrays, frames.inverse_mass,
                                geoms.frame_count, geoms.apart))  # fmt: skip
        moves = (frames.v, frames.w, frames.inverse_mass)
        for g in self._endless:
            keys.append(beside_endless(g, low, high, bounded, geoms.arrays, geoms.shapes.size, poses,
                                       *moves, geoms.frame_count, geoms.apart))  # fmt: skip
        joined = np.sort(np.concatenate(keys))
        return np.stack([joined // len(geoms), joined % len(geoms)], axis=1)


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
def set_margins(margins, radii, v, w, inverse_mass, weight, dt, duration):
    """How far frames may move before the pairs are found anew [m], (F,): the way of a duration [s]."""
    for f in range(len(margins)):
        margins[f] = duration * speed_bound(v, w, inverse_mass, radii[f], f, weight * dt)


@numba.njit(cache=True, **STEADY)
def strayed(places, turns, margins, radii, x, q, v, w, inverse_mass, weight, h):
    """Whether a frame has moved, and may move in twice a substep, farther than its margin."""
    away = False
    for f in range(len(margins)):
        way = norm((x[f, 0] - places[f, 0], x[f, 1] - places[f, 1], x[f, 2] - places[f, 2]))
        plus, minus = ZERO * way, ZERO * way
        for k in range(4):
            plus += (q[f, k] + turns[f, k]) ** 2
            minus += (q[f, k] - turns[f, k]) ** 2
        way += TWO * np.sqrt(min(plus, minus)) * radii[f]
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
def set_boxes(low, high, which, geoms, poses, margins, inverse_mass):
    """Corners (K, 3) of the boxes around some geoms, wider by the margin of the frame and by the slack."""
    for k in range(len(which)):
        g = which[k]
        f = geoms.frame[g]
        c, s = box_of(g, geoms, poses)
        wide = margins[f] + (SLACK * geoms.size[g] if inverse_mass[f] > ZERO else ZERO)
        low[k, 0], low[k, 1], low[k, 2] = c[0] - s[0] - wide, c[1] - s[1] - wide, c[2] - s[2] - wide
        high[k, 0], high[k, 1], high[k, 2] = c[0] + s[0] + wide, c[1] + s[1] + wide, c[2] + s[2] + wide


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


@steady
def reaches_plane(c, s, size, pose):
    """Whether a box, centre and half edges in world axes, reaches into a half space."""
    nx = pose[0] * size[0] + pose[1] * size[1] + pose[2] * size[2]
    ny = pose[3] * size[0] + pose[4] * size[1] + pose[5] * size[2]
    nz = pose[6] * size[0] + pose[7] * size[1] + pose[8] * size[2]
    height = nx * (c[0] - pose[9]) + ny * (c[1] - pose[10]) + nz * (c[2] - pose[11]) - size[3]
    return height <= abs(nx) * s[0] + abs(ny) * s[1] + abs(nz) * s[2]


@numba.njit(cache=True, **STEADY)
def beside_endless(e, low, high, which, geoms, sizes, poses, v, w, inverse_mass, count, apart):
    """Keys of the geoms whose boxes reach a half space; all of them where it moves.

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
        s = (high[k, 0] - c[0], high[k, 1] - c[1], high[k, 2] - c[2])
        near = moves or reaches_plane(c, s, size, pose)
        keys[n] = min(g, e) * len(geoms.frame) + max(g, e)
        n += near and may_touch(geoms.frame[g], f, inverse_mass, count, apart)
    return keys[:n]
