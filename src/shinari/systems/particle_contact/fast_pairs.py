"""Pairs with balls that go far in a substep: those that come close on their paths, not all within reach of the speed.

Ball i goes from b_i to b_i + w_i while every other one goes along its own path. Two of them are closest at the time

    t = -(d . w) / (w . w) in 0..1,    d = b_i - b_j,    w = w_i - w_j

and are a pair if they are within the sum of their reaches then. So memory is in proportion to the balls that meet or go
side by side, whatever the speed. A few fast balls are compared with all others. Many are found slice by slice of the
time: in a slice no ball moves by much more than its size, and a pair belongs to the slice of its t.
"""

import numpy as np

from shinari.collision.broad.pairs import BallPairs, PairSearch
from shinari.compute import Field, Program, Record, function, kernel
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets, Scan
from shinari.maths.vec3 import add, dot, norm, scale, sub
from shinari.systems.particle_contact.records import CHUNK, Chunks, Control, MemberPoints

# Comparisons of fast balls with all others up to which no slices are made.
FEW = 1 << 20
# What a ball moves in a slice of the time is at most so many mean reaches.
SLICE = 4.0
# Balls for which it is worth waking one more thread.
SHARE = 256


class Paths(Record):
    """Paths of the balls, P rows."""

    at = Field(np.float64, 3, unit="m", doc="position in the world now")
    past = Field(np.float64, 3, unit="m", doc="displacement in this substep up to now")
    ahead = Field(np.float64, 3, unit="m", doc="displacement from now on, while the rows hold")
    reach = Field(np.float64, unit="m", doc="radius and margin")
    fast = Field(np.bool_)


class FastBalls(Record):
    """Fast balls, one after the other."""

    ball = Field(np.int64)


@function(fastmath=STEADY)
def approach(d, w):
    """Time in 0..1 at which two balls are closest, and the square of their distance then.

    Args:
        d: From the second to the first at the begin.
        w: Displacement of the first relative to the second.
    """
    square, along = dot(w, w), dot(d, w)
    t = min(max(-along / square, 0.0), 1.0) if square > 0.0 else 0.0
    nearest = add(d, scale(w, t))
    return t, dot(nearest, nearest)


@function(fastmath=STEADY)
def closest(i, j, paths):
    """Time at which two balls are closest on their paths ahead, and whether they are within their reaches then."""
    t, square = approach(sub(paths.at[i], paths.at[j]), sub(paths.ahead[i], paths.ahead[j]))
    reach = paths.reach[i] + paths.reach[j]
    return t, square < reach * reach


@function(fastmath=STEADY)
def meet(i, j, paths, control):
    """Whether two balls come within their reaches ahead, or did in this substep."""
    ahead = closest(i, j, paths)[1]
    if ahead or control.resume[0] == 0:
        return ahead
    back = sub(paths.past[i], paths.past[j])
    _, square = approach(sub(sub(paths.at[i], paths.at[j]), back), back)
    reach = paths.reach[i] + paths.reach[j]
    return square < reach * reach


@kernel(fastmath=STEADY)
def measure_paths(c, paths: Paths, control: Control, chunks: Chunks):
    """Number of fast balls in a chunk, its longest path and the sum of the reaches."""
    count, longest, reaches = 0, 0.0, 0.0
    for b in range(c * CHUNK, min((c + 1) * CHUNK, control.balls[0])):
        past, ahead = paths.past[b], paths.ahead[b]
        count += np.int64(paths.fast[b])
        longest = max(longest, max(dot(past, past), dot(ahead, ahead)))
        reaches += paths.reach[b]
    chunks.flag[c], chunks.largest[c], chunks.square[c] = count, longest, reaches


@kernel(fastmath=STEADY)
def plan_slices(_, paths: Paths, fast: FastBalls, control: Control, chunks: Chunks, few: np.int64, h: np.float64):
    """Whether there are fast balls, and in how many slices of the time they are searched.

    Rows with fast balls hold for this substep only.
    """
    count, longest, reaches = 0, 0.0, 0.0
    for c in range(len(chunks)):
        count, longest, reaches = count + chunks.flag[c], max(longest, chunks.largest[c]), reaches + chunks.square[c]
    control.fast[0], control.slow[0], control.shorter[0] = count > 0, count == 0, 1.0
    if count > 0 and control.ahead[0] > 0.0:
        ahead = 0.0 if control.resume[0] != 0 else h
        control.shorter[0], control.ahead[0] = ahead / control.ahead[0], ahead
    control.few[0], control.slices[0], control.gathered[0] = 0, 1, 0
    if count > 0 and count * control.balls[0] <= few:
        control.few[0], at = 1, 0
        for b in range(control.balls[0]):
            if paths.fast[b]:
                fast.ball[at] = b
                at += 1
    elif count > 0:
        # the longest path of all is behind, or lies ahead and is shorter now
        longest *= 1.0 if control.resume[0] != 0 else control.shorter[0] * control.shorter[0]
        slices = np.ceil(np.sqrt(longest) / (SLICE * reaches / control.balls[0]))
        control.slices[0] = max(1, np.int64(slices))
    control.fast_balls[0] = count


@kernel(fastmath=STEADY)
def straighten_path(b, paths: Paths, control: Control):
    """Take the path in this substep alone, from its begin."""
    past = paths.past[b]
    paths.at[b], paths.ahead[b] = sub(paths.at[b], past), add(past, scale(paths.ahead[b], control.shorter[0]))
    paths.past[b] = 0.0, 0.0, 0.0


@kernel(fastmath=STEADY)
def place_in_slice(b, paths: Paths, centres: MemberPoints, control: Control):
    """Where a ball is in the middle of a slice, with a radius that holds its path in the slice.

    Fast balls that are compared with all others have none.
    """
    slices, past, ahead = np.float64(control.slices[0]), paths.past[b], paths.ahead[b]
    displacement = add(past, ahead)
    left = 1.0 - (control.slice[0] + 0.5) / slices
    longest = norm(displacement) / slices
    # without slices a path has a corner where the ball is now
    longest = max(longest, norm(sub(ahead, past))) if control.slices[0] == 1 else longest
    radius = paths.reach[b] + 0.5 * longest
    radius = np.nan if paths.fast[b] and control.few[0] else radius
    at = sub(add(paths.at[b], ahead), scale(displacement, left))
    centres.at[b] = at[0], at[1], at[2], radius


@function(fastmath=STEADY)
def in_slice(i, j, paths, control):
    """Whether two balls come close in this slice of the time."""
    t, close = closest(i, j, paths)
    return close and min(np.int64(t * control.slices[0]), control.slices[0] - 1) == control.slice[0]


@kernel(fastmath=STEADY)
def count_in_slice(b, pairs: BallPairs, starts: Offsets, paths: Paths, control: Control, offsets: Offsets):
    """Pairs of a ball that come close in this slice."""
    count = 0
    for k in range(starts.start[b], starts.start[b + 1]):
        count += np.int64(in_slice(b, np.int64(pairs.balls[k, 1]), paths, control))
    offsets.start[b] = count


@kernel(fastmath=STEADY)
def gather_in_slice(b, pairs: BallPairs, starts: Offsets, paths: Paths, control: Control, offsets: Offsets,
                    gathered: BallPairs):  # fmt: skip
    """Append the pairs of a ball that come close in this slice."""
    at = control.gathered_before[0] + offsets.start[b]
    for k in range(starts.start[b], starts.start[b + 1]):
        if in_slice(b, np.int64(pairs.balls[k, 1]), paths, control):
            gathered.balls[at] = pairs.balls[k]
            at += 1


@function(fastmath=STEADY)
def owns_fast_pair(b, f, paths):
    """Whether a ball has the pair with a fast one; of two fast balls the first has it."""
    return b != f and not (paths.fast[b] and f < b) and closest(b, f, paths)[1]


@kernel(fastmath=STEADY)
def count_fast(b, fast: FastBalls, paths: Paths, control: Control, offsets: Offsets):
    """Fast balls that a ball meets."""
    count = 0
    for k in range(control.fast_balls[0]):
        count += np.int64(owns_fast_pair(b, fast.ball[k], paths))
    offsets.start[b] = count


@kernel(fastmath=STEADY)
def gather_fast(b, fast: FastBalls, paths: Paths, control: Control, offsets: Offsets, gathered: BallPairs):
    """Append the pairs of a ball with fast ones."""
    at = control.gathered_before[0] + offsets.start[b]
    for k in range(control.fast_balls[0]):
        f = fast.ball[k]
        if owns_fast_pair(b, f, paths):
            gathered.balls[at] = b, f
            at += 1


@kernel
def sum_gathered(_, control: Control, offsets: Offsets):
    """How many pairs there are with those that are appended now."""
    control.gathered_before[0] = control.gathered[0]
    control.gathered[0] += offsets.start[control.balls[0]]


@kernel
def group_pairs(_, gathered: BallPairs, pairs: BallPairs, starts: Offsets, control: Control):
    """Bring all pairs into the order of their first balls."""
    balls, count = control.balls[0], control.gathered[0]
    for b in range(balls + 1):
        starts.start[b] = 0
    for k in range(count):
        starts.start[gathered.balls[k, 0]] += 1
    total = 0
    for b in range(balls + 1):
        here = starts.start[b]
        starts.start[b] = total
        total += here
    for k in range(count):
        b = gathered.balls[k, 0]
        pairs.balls[starts.start[b]] = gathered.balls[k]
        starts.start[b] += 1
    for b in range(balls, 0, -1):
        starts.start[b] = starts.start[b - 1]
    starts.start[0] = 0


class PathSearch:
    """Finds pairs of balls that come within their reaches on their paths.

    The pairs stand where those of the search are.

    Args:
        search: Search for balls that are close.
        centres: Its points.
        control: Decisions of the step; `control.balls` is the number of balls.

    Attributes:
        paths: Paths of the balls, which the caller writes.
        total: Cell with the number of pairs.
    """

    def __init__(self, search: PairSearch, centres: MemberPoints, control: Control, h: float) -> None:
        count, real = len(centres), centres.precision
        self._search, self._centres, self._control, self._h = search, centres, control, h
        self.paths, self._fast = Paths.zeros(count, real), FastBalls.zeros(count, real)
        self._chunks = Chunks.zeros(-(-count // CHUNK), real)
        self._offsets, self._gathered = Offsets.zeros(count + 1, real), BallPairs.zeros(0, real)
        self._scan = Scan(self._offsets)
        self.total = control.gathered, 0

    def record_find(self, p: Program) -> None:
        """Record the search. The run stops where the balls are spread too far."""
        control, paths, search = self._control, self.paths, self._search
        number = control.balls, 0
        p.launch(measure_paths, paths, control, self._chunks, count=len(self._chunks), grain=4)
        p.serial(plan_slices, paths, self._fast, control, self._chunks, FEW, self._h)
        with p.when((control.slow, 0)):
            self.record_place(p)
            search.record_find(p, number)
            p.copy(search.total, self.total)
        with p.when((control.fast, 0)):
            self._record_fast(p)

    def record_place(self, p: Program) -> None:
        """Record where the balls are sought when none is fast."""
        control = self._control
        p.copy(0, (control.slice, 0))
        p.launch(place_in_slice, self.paths, self._centres, control, count=(control.balls, 0), grain=8 * SHARE)

    def _record_fast(self, p: Program) -> None:
        control, paths, search = self._control, self.paths, self._search
        number, starts = (control.balls, 0), search.offsets
        p.launch(straighten_path, paths, control, count=number, grain=8 * SHARE)
        with p.loop((control.slices, 0), index=(control.slice, 0)):
            p.launch(place_in_slice, paths, self._centres, control, count=number, grain=8 * SHARE)
            search.record_find(p, number)
            found = search.pairs, starts, paths, control, self._offsets
            p.launch(count_in_slice, *found, count=number, grain=SHARE)
            self._record_sum(p)
            p.launch(gather_in_slice, *found, self._gathered, count=number, grain=SHARE)
        with p.when((control.few, 0)):
            p.launch(count_fast, self._fast, paths, control, self._offsets, count=number, grain=SHARE)
            self._record_sum(p)
            p.launch(gather_fast, self._fast, paths, control, self._offsets, self._gathered, count=number, grain=SHARE)
        p.require(search.pairs, self.total)
        p.serial(group_pairs, self._gathered, search.pairs, starts, control)

    def _record_sum(self, p: Program) -> None:
        self._scan.record(p, (self._control.balls, 0))
        p.serial(sum_gathered, self._control, self._offsets)
        p.require(self._gathered, self.total)
