"""The table of contact points between bodies, and with colliders, that the solver of the bodies reads.

The points of a substep are those at its start, up to a gap that the substep may close. They are sorted by key, so that
the table does not depend on the threads; the force that a point carries from the last substep finds it by its key.
"""

import numba
import numpy as np

from shinari.compute import Field, Record
from shinari.contact.solid.collide import combined
from shinari.contact.solid.shapes import MESH, MESH_SHEET
from shinari.maths.function import STEADY, steady
from shinari.memory import require_memory
from shinari.rigid.contact.broad import BroadPhase, set_poses
from shinari.rigid.contact.features import features_of
from shinari.rigid.contact.geoms import Geoms
from shinari.rigid.contact.pairs import (
    FEATURE,
    NOW_A,
    NOW_B,
    NOW_NORMAL,
    RADIUS_A,
    RADIUS_B,
    SLOTS,
    PairArrays,
    update_pairs,
)
from shinari.rigid.frames import Frames

# A key is the number of the pair, a * G + b, times this, plus the number of the feature.
FEATURES = 1 << 28
# Part of the size of the smaller geom within which a point with another key counts as the same.
CLOSE = 0.1
# Pairs for which it is worth waking one more thread.
SHARE = 64
# Memory of a point with the work arrays of the solver, which have room for more points [bytes].
POINT_BYTES = 1500


class Counts(Record):
    """One row: cells of the detection of contacts."""

    points = Field(np.int64, doc="points of contact in the table")


class Points(Record):
    """Points of contact between frames a and b; the first `counts.points[0]` rows count, the record has room for more.

    Attributes:
        counts: Where the number of points stands.
    """

    frames = Field(np.int64, 2, doc="frames a and b")
    core = Field(np.float64, 6, unit="m", doc="core point of a in the axes of frame a, of b in those of frame b")
    radius = Field(np.float64, 2, unit="m", doc="distance of the surface of a and of b from the core point")
    normal = Field(np.float64, 3, doc="unit vector from b to a at the start of the substep, world axes")
    law = Field(
        np.float64,
        6,
        unit="1, 1, 1, m/N, m, m",
        doc="friction, static friction, restitution, compliance, rolling and torsional friction",
    )
    key = Field(np.int64, doc="unique, and the same for the same features in the next substep, ascending")
    force = Field(np.float64, 3, unit="N", doc="force on a in the last substep, world axes; the solver writes it")
    geoms = Field(np.int64, 2, doc="geoms a and b")

    def __init__(self, precision: type = np.float64, **arrays: np.ndarray) -> None:
        super().__init__(precision, **arrays)
        self.counts: Counts = Counts.zeros(1)

    @property
    def count(self) -> int:
        """Points, P."""
        return int(self.counts.points[0])

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        """The arrays in the order of the fields."""
        return tuple(self.arrays.values())


class BodyContacts:
    """Finds the points of contact of bodies in each substep.

    Args:
        geoms: The geoms of the scene.
        frames: The frames: poses at the start of the substep and velocities are read.
        dt: Step [s].
        h: Substep [s].
        weight: Size of gravity [m/s^2].
        detection: When pairs are found: `"frame"`, once a step and when something leaves its margin, or `"substep"`.

    Attributes:
        table: The points.
        pairs: The pairs of geoms that may touch in this step, and what is kept of them.
        detections: How often the pairs were found in the last step.
    """

    def __init__(
        self, geoms: Geoms, frames: Frames, dt: float, h: float, weight: float, detection: str = "frame"
    ) -> None:
        self._geoms, self._frames = geoms, frames
        self._h, self._weight, self._detection = h, weight, detection
        self._broad = BroadPhase(geoms, frames, dt, h, weight)
        self._poses = np.zeros((geoms.frame_count, 12))
        self._meshed = np.isin(geoms.shapes.kind, (MESH, MESH_SHEET))
        self._features = features_of(geoms.meshes)
        self._found, self._factor = False, 1.0
        self._starts = np.zeros(1, np.int64)
        self.table: Points = Points.zeros(0, np.float64)
        self.pairs = PairArrays.of(np.zeros((0, 2), np.int64))
        self.detections = 0

    def begin(self, threads: int) -> None:
        """A step begins: pairs and points will be found anew, so that they depend on the state alone."""
        self._found, self._factor, self.detections = False, 1.0, 0

    def carried(self) -> tuple[np.ndarray, np.ndarray]:
        """Keys (P,), and core points of a and forces (P, 6), of the last substep: what the next one starts from."""
        table, n = self.table, self.table.count
        return table.key[:n].copy(), np.concatenate([table.core[:n, :3], table.force[:n]], axis=1)

    def recall(self, keys: np.ndarray, rows: np.ndarray) -> None:
        """Take what `carried` gave for the points of the last substep."""
        self.table.grow(max(len(keys), len(self.table)))
        self.table.counts.points[0] = len(keys)
        n, table = len(keys), self.table
        table.key[:n], table.core[:n, :3], table.force[:n] = keys, rows[:, :3], rows[:, 3:]
        self._found = False

    def find(self, threads: int) -> None:
        """Fill the table with the points at the start of a substep; poses there and velocities are known."""
        geoms, frames = self._geoms, self._frames
        if len(geoms) == 0:
            return
        set_poses(self._poses, frames.x0, frames.q0)
        renewed = not self._found or self._detection == "substep" or self._broad.strayed()
        if renewed:
            known = self._found and self._detection == "frame"
            self._take_pairs(self._broad.find(self._poses, self._factor, threads), known)
            self._found, self._factor = True, 2.0 * self._factor
            self.detections += 1
        self._update(threads, frames.v, renewed)

    @property
    def fast(self) -> bool:
        """Whether a frame moves farther in this substep than its size allows; then `find_left` has to be asked."""
        return self._broad.fast

    def find_left(self, threads: int) -> bool:
        """Add the points of frames that the solution has thrown off their paths; whether there are any such frames.

        The poses are those of the solution; velocities those at the start of the substep.
        """
        frames, left = self._frames, self._broad.left()
        if len(left) == 0:
            return False
        v = frames.v.copy()
        v[left] = (frames.x[left] - frames.x0[left]) / self._h
        found = self._broad.extend(left, self._poses, threads)
        count = len(self._geoms)
        old, new = (pairs[:, 0] * count + pairs[:, 1] for pairs in (self.pairs.geoms, found))
        keys = np.union1d(old, new)
        self._take_pairs(np.stack([keys // count, keys % count], axis=1), True)
        self._update(threads, v, True)
        return True

    def _update(self, threads: int, v: np.ndarray, renewed: bool) -> None:
        """Points of the pairs at the velocities (F, 3)."""
        geoms, frames = self._geoms, self._frames
        pairs, parts = self.pairs, _parts(len(self._convex), threads)
        arrays = (pairs, geoms.arrays, geoms.shapes, self._poses, frames.q0, v, frames.w, self._weight, self._h)
        if len(self._convex):
            update(parts, self._convex, *arrays)
        if len(self._rough):
            # imported here: a scene without meshes does not wait for their kernels
            from shinari.rigid.contact.mesh_pairs import update_meshes

            update_meshes(max(1, min(threads, len(self._rough))), self._rough, *arrays, self._features, geoms.fields)
        if renewed or pairs.changed.any():
            self._write(threads, renewed)
        else:
            move_points(pairs, self._starts, self.table.core, self.table.normal)

    def _take_pairs(self, geoms: np.ndarray, known: bool) -> None:
        """Take other pairs (K, 2); what is known of those that stay is kept if `known`, but not of fast frames."""
        old, count = self.pairs, len(self._geoms)
        stay = places = np.zeros(0, np.int64)
        if known and len(old.geoms):
            keys, wanted = (pairs[:, 0] * count + pairs[:, 1] for pairs in (old.geoms, geoms))
            places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            same = keys[places] == wanted
            if self.fast:
                same &= self._broad.slow[self._geoms.arrays.frame[geoms]].all(axis=1)
            stay, places = np.flatnonzero(same), places[same]
        if self.fast:
            # there may be too many pairs to hold them twice
            old, places = PairArrays(*(values[places] for values in old)), np.arange(len(places))
            self.pairs = PairArrays.of(geoms[:0])
        require_memory(PairArrays.size_of(len(geoms)), f"rigid bodies: contacts: {len(geoms)} pairs that may touch")
        self.pairs = PairArrays.of(geoms)
        keep_pairs(stay, places, old, self.pairs)
        rough = self._meshed[geoms].any(axis=1)
        self._convex, self._rough = np.flatnonzero(~rough), np.flatnonzero(rough)

    def _write(self, threads: int, renewed: bool) -> None:
        """Write the table anew; forces are carried by key."""
        table, pairs, count = self.table, self.pairs, len(self.pairs.mask)
        old_starts, (old_keys, old_rows) = self._starts, self.carried()
        self._starts = np.zeros(count + 1, np.int64)
        total = sum_up(pairs.mask, self._starts)
        if total > len(table.key):
            require_memory(total * POINT_BYTES, f"rigid bodies: contacts: {total} points")
            table.grow(int(1.5 * total) + 64)
        table.counts.points[0] = total
        old = (old_keys, old_rows[:, :3], old_rows[:, 3:])
        write_points(_parts(count, threads), pairs, self._geoms.arrays, self._starts, table.columns, old,
                     np.zeros(0, np.int64) if renewed else old_starts)  # fmt: skip


def _parts(count: int, threads: int) -> int:
    return max(1, min(threads, count // SHARE))


@numba.njit(parallel=True, cache=True, **STEADY)
def update(parts, which, pairs, geoms, shapes, poses, q, v, w, weight, h):
    """Points of the convex pairs; see `update_pairs`."""
    # one call for one thread and for many: compiled at two places it could round differently
    for t in numba.prange(parts):
        begin, end = len(which) * t // parts, len(which) * (t + 1) // parts
        update_pairs(begin, end, which, pairs, geoms, shapes, poses, q, v, w, weight, h)


@numba.njit(cache=True, **STEADY)
def keep_pairs(stay, places, old, new):
    """Copy pairs at some places to where they stay."""
    for k in range(len(stay)):
        p, o = stay[k], places[k]
        new.valid[p], new.count[p], new.mask[p], new.margin[p] = old.valid[o], old.count[o], old.mask[o], old.margin[o]
        new.place[p] = old.place[o]
        for i in range(old.count[o]):
            new.slots[p, i] = old.slots[o, i]


@numba.njit(cache=True, **STEADY)
def sum_up(masks, starts):
    """Where the points of each pair start in the table, (K + 1,); returns how many there are."""
    total = 0
    for p in range(len(masks)):
        starts[p] = total
        for k in range(SLOTS):
            total += (masks[p] >> k) & 1
    starts[len(masks)] = total
    return total


@numba.njit(cache=True, **STEADY)
def move_points(pairs, starts, core, normal):
    """Write where the points of the table are now."""
    for p in range(len(pairs.mask)):
        at = starts[p]
        for k in range(pairs.count[p]):
            if (pairs.mask[p] >> k) & 1:
                write_place(pairs.slots, p, k, at, core, normal)
                at += 1


@steady
def write_place(slots, p, k, at, core, normal):
    """Core points and normal of a point."""
    for c in range(3):
        core[at, c], core[at, 3 + c] = slots[p, k, NOW_A + c], slots[p, k, NOW_B + c]
        normal[at, c] = slots[p, k, NOW_NORMAL + c]


@steady
def law_of(a, b, surface):
    """Friction, static friction, restitution, compliance, rolling and torsional friction of two geoms."""
    return (
        combined(surface[a, 0], surface[b, 0]),
        combined(surface[a, 1], surface[b, 1]),
        max(surface[a, 2], surface[b, 2]),
        surface[a, 3] + surface[b, 3],
        max(surface[a, 4], surface[b, 4]),
        max(surface[a, 5], surface[b, 5]),
    )


@steady
def first_from(key, keys):
    """Place of the first of ascending keys that is not below a key."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@steady
def write_row(p, k, at, a, b, key, terms, pairs, geoms, table):
    """A point of pair p as row of the table; without its force."""
    frames, core, radius, normal, law, keys, _, which = table
    write_place(pairs.slots, p, k, at, core, normal)
    frames[at, 0], frames[at, 1], which[at, 0], which[at, 1] = geoms.frame[a], geoms.frame[b], a, b
    radius[at, 0], radius[at, 1] = pairs.slots[p, k, RADIUS_A], pairs.slots[p, k, RADIUS_B]
    for c in range(6):
        law[at, c] = terms[c]
    keys[at] = key


@steady
def carry_forces(begin, end, first, last, close, table, old):
    """Give the rows of a pair the forces of its old rows: those of the same key, then what is left by place.

    Where equal faces lie on each other, or a choice of points changes, a point has another feature than before.
    """
    _, core, _, _, _, keys, force, _ = table
    old_keys, old_core, old_force = old
    taken = given = 0
    for at in range(begin, end):
        force[at, 0], force[at, 1], force[at, 2] = 0.0, 0.0, 0.0
        for i in range(first, last):
            if old_keys[i] == keys[at]:
                force[at, 0], force[at, 1], force[at, 2] = old_force[i, 0], old_force[i, 1], old_force[i, 2]
                taken |= 1 << (i - first)
                given |= 1 << (at - begin)
    for at in range(begin, end):
        best, least = -1, close * close
        for i in range(first, last):
            x, y, z = core[at, 0] - old_core[i, 0], core[at, 1] - old_core[i, 1], core[at, 2] - old_core[i, 2]
            square = x * x + y * y + z * z
            nearer = square < least and not (taken >> (i - first)) & 1 and not (given >> (at - begin)) & 1
            best, least = (i, square) if nearer else (best, least)
        if best >= 0:
            force[at, 0], force[at, 1], force[at, 2] = old_force[best, 0], old_force[best, 1], old_force[best, 2]
            taken |= 1 << (best - first)


@steady
def write_pair(p, pairs, geoms, starts, table, old, old_starts):
    """The points of one pair, and the forces that they carry."""
    a, b = pairs.geoms[p, 0], pairs.geoms[p, 1]
    base = (a * len(geoms.frame) + b) * FEATURES
    at = starts[p]
    terms = law_of(a, b, geoms.surface)
    for k in range(pairs.count[p]):
        if (pairs.mask[p] >> k) & 1:
            write_row(p, k, at, a, b, base + np.int64(pairs.slots[p, k, FEATURE]), terms, pairs, geoms, table)
            at += 1
    same = len(old_starts) > 0
    first = old_starts[p] if same else first_from(base, old[0])
    last = old_starts[p + 1] if same else first_from(base + FEATURES, old[0])
    close = CLOSE * min(geoms.size[a], geoms.size[b])
    carry_forces(starts[p], at, first, last, close, table, old)


@numba.njit(parallel=True, cache=True, **STEADY)
def write_points(parts, pairs, geoms, starts, table, old, old_starts):
    """Write the table.

    Args:
        parts: Threads to work on.
        pairs: The pairs.
        geoms: Arrays of the geoms.
        starts: First row of each pair, and the end, (K + 1,).
        table: Columns of the table.
        old: Keys (ascending), core points of a and forces of the last table.
        old_starts: First row of each pair in it; empty where the pairs were others.
    """
    for t in numba.prange(parts):
        for p in range(len(pairs.mask) * t // parts, len(pairs.mask) * (t + 1) // parts):
            write_pair(p, pairs, geoms, starts, table, old, old_starts)
