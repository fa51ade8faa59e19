"""Which points are near which particles of a fluid, seen from both sides.

The points are sorted into a grid of their own, once where they stand still, and each particle looks into the cells
around it. Both sides are written by counting, so that they are the same for any number of threads.
"""

import numpy as np

from shinari.collision.broad.grid import Cells, Extent, Grid, Levels, Points, SortedPoints
from shinari.collision.broad.neighbourhood import find_ranges
from shinari.compute import Field, Program, Record, function, kernel, real, scratch
from shinari.compute.kernels import AS_WRITTEN
from shinari.compute.scan import Offsets, Scan
from shinari.systems.fluid.records import FluidParticles, Solve

ZERO = np.float32(0.0)
NO_FORCE = np.float64(0.0)


class BoundaryPoints(Record):
    """Points that a fluid lies against, M rows."""

    at = Field(real, 3, unit="m", doc="position relative to the origin of the fluids")
    found_at = Field(real, 3, unit="m", doc="position when the points were sorted")
    volume = Field(real, doc="volume as a multiple of that of a particle of the fluid")
    owner = Field(np.uint32, doc="carrier of the point; ascending")
    kind = Field(np.uint32, doc="kind of the carrier, for `Ignored`")


class Owners(Record):
    """The carriers."""

    other = Field(np.int64, doc="collider, number of colliders plus body, or particle in solver order")
    whole = Field(real, doc="sum of the responses of its pairs")
    mean = Field(real, unit="kg m^2", doc="of a grain: mean of the last column of x around it; else 0")


class Grains(Record):
    """Those of the points that are grains, M rows."""

    particle = Field(np.uint32, doc="particle in solver order")
    diameter = Field(real, unit="m", doc="0: no grain")
    total = Field(real, doc="sum of the kernel over the fluid around it; 0 where there is none")
    slip = Field(real, 3, unit="m/s", doc="velocity of the fluid against it; then the impulse [N s]")
    conductance = Field(real, unit="kg", doc="K: impulse over the slip")


class Ignored(Record):
    """Which kinds of carriers each fluid passes through: row fluid times kinds plus kind."""

    passes = Field(np.uint8)


class Entries(Record):
    """Points near each particle, one list after the other."""

    point = Field(np.uint32)
    pair = Field(np.uint32, doc="pair of the particle and the carrier of the point")


class Pairs(Record):
    """Pairs of a particle and a carrier near it."""

    place = Field(np.uint32, doc="row of `FluidParticles`")
    particle = Field(np.uint32, doc="particle in solver order")
    owner = Field(np.uint32)
    gradient = Field(real, 3, unit="1/m", doc="gradient of the density of the particle by the carrier")
    push = Field(real, 3, unit="kg m", doc="push on the particle")
    response = Field(real, doc="sqrt(grad w grad) of the carrier")
    impulse = Field(np.float64, 3, unit="kg m", doc="sum of the pushes of the step")


class Transposed(Record):
    """Entries of each point, one point after the other."""

    entry = Field(np.uint32)


class PointState(Record):
    """One row: where the lists are, and constants."""

    stale = Field(np.int64, doc="whether the lists have to be made anew")
    unsorted = Field(np.int64, doc="whether the points have to be sorted anew")
    detections = Field(np.int64, doc="`Solve.detections` of the lists")
    entries = Field(np.int64)
    pairs = Field(np.int64)
    kinds = Field(np.int64, doc="kinds of carriers, 0 where no fluid passes through any")
    single = Field(np.int64, doc="whether each point has a carrier of its own")
    squared = Field(real, unit="m^2", doc="square of the distance up to which points are listed")
    allowed = Field(real, unit="m", doc="how far a coordinate of a point may go before the lists are made anew")


@kernel
def copy_points(b, points: BoundaryPoints, given: Points):
    """Give a point to the grid."""
    x = points.at[b]
    given.at[b] = x[0], x[1], x[2], ZERO * x[0]
    points.found_at[b] = x


@kernel
def finish_sort(_, state: PointState):
    """The points are sorted."""
    state.unsorted[0] = 0


@function(fastmath=AS_WRITTEN)
def cell_of(x, low, inverse, side):
    """Number of a cell along one axis of a table that repeats, for any place."""
    return np.int64(np.floor((np.float64(x) - low) * inverse)) % side


@function(fastmath=AS_WRITTEN)
def entry_of(x, extent, levels):
    """Entry of the table at a position."""
    low, inverse, sides = extent.low[0], levels.inverse[0], levels.sides[0]
    i, j, k = cell_of(x[0], low[0], inverse, sides[0]), cell_of(x[1], low[1], inverse, sides[1]), x[2]
    return (cell_of(k, low[2], inverse, sides[2]) * sides[1] + j) * sides[0] + i


@function(fastmath=AS_WRITTEN)
def is_near(x, p, ordered, squared):
    """Whether a sorted point is within reach."""
    dx, dy, dz = x[0] - ordered.x[p], x[1] - ordered.y[p], x[2] - ordered.z[p]
    return dx * dx + dy * dy + dz * dz < squared


@function
def passes_through(phase, p, ordered, points, ignored, kinds):
    """Whether a fluid passes through the carrier of a sorted point."""
    return kinds > 0 and ignored.passes[phase * kinds + points.kind[ordered.index[p]]] != 0


@kernel(fastmath=AS_WRITTEN, mixed=True)
def count_points(
    i, fluid: FluidParticles, points: BoundaryPoints, ordered: SortedPoints, cells: Cells, levels: Levels,
    extent: Extent, ignored: Ignored, state: PointState, offsets: Offsets
):  # fmt: skip
    """Number of points near a particle."""
    x, phase, found = fluid.x[i], np.int64(fluid.phase[i]), 0
    ranges = scratch((18, 2), 0)
    n, _ = find_ranges(entry_of(x, extent, levels), 0, cells, levels, ranges)
    for r in range(n):
        for p in range(ranges[r, 0], ranges[r, 1]):
            near = is_near(x, p, ordered, state.squared[0])
            if near and not passes_through(phase, p, ordered, points, ignored, state.kinds[0]):
                found += 1
    offsets.start[i] = found


@kernel(fastmath=AS_WRITTEN, mixed=True)
def fill_points(
    i, fluid: FluidParticles, points: BoundaryPoints, ordered: SortedPoints, cells: Cells, levels: Levels,
    extent: Extent, ignored: Ignored, state: PointState, offsets: Offsets, entries: Entries
):  # fmt: skip
    """List the points near a particle."""
    at = offsets.start[i]
    if offsets.start[i + 1] == at:
        return
    x, phase = fluid.x[i], np.int64(fluid.phase[i])
    ranges = scratch((18, 2), 0)
    n, _ = find_ranges(entry_of(x, extent, levels), 0, cells, levels, ranges)
    for r in range(n):
        for p in range(ranges[r, 0], ranges[r, 1]):
            near = is_near(x, p, ordered, state.squared[0])
            if near and not passes_through(phase, p, ordered, points, ignored, state.kinds[0]):
                entries.point[at] = ordered.index[p]
                at += 1


@kernel
def count_pairs(i, points: BoundaryPoints, offsets: Offsets, entries: Entries, starts: Offsets, state: PointState):
    """Number the carriers near a particle as they come."""
    first, last = offsets.start[i], offsets.start[i + 1]
    count = 0
    for k in range(first, last):
        other = k
        if state.single[0] == 0:
            owner, other = points.owner[entries.point[k]], first
            while points.owner[entries.point[other]] != owner:
                other += 1
        entries.pair[k] = count if other == k else entries.pair[other]
        count += 1 if other == k else 0
    starts.start[i] = count


@kernel
def fill_pairs(
    i, fluid: FluidParticles, points: BoundaryPoints, offsets: Offsets, entries: Entries, starts: Offsets, pairs: Pairs
):
    """Write the pairs of a particle."""
    for k in range(offsets.start[i], offsets.start[i + 1]):
        m = starts.start[i] + entries.pair[k]
        entries.pair[k] = m
        pairs.place[m], pairs.particle[m] = i, fluid.particle[i]
        pairs.owner[m] = points.owner[entries.point[k]]
        pairs.impulse[m] = NO_FORCE, NO_FORCE, NO_FORCE


@kernel
def transpose(_, entries: Entries, state: PointState, theirs: Offsets, transposed: Transposed):
    """List the entries of each point."""
    count = len(theirs) - 1
    for b in range(count + 1):
        theirs.start[b] = 0
    for k in range(state.entries[0]):
        theirs.start[np.int64(entries.point[k]) + 1] += 1
    for b in range(count):
        theirs.start[b + 1] += theirs.start[b]
    for k in range(state.entries[0]):
        b = np.int64(entries.point[k])
        transposed.entry[theirs.start[b]] = k
        theirs.start[b] += 1
    for b in range(count, 0, -1):
        theirs.start[b] = theirs.start[b - 1]
    theirs.start[0] = 0


class PointLists:
    """Pairs of particles and points within reach; valid until the next `record_find`.

    Args:
        points: The points.
        fluid: The particles.
        solve: How many there are.
        ignored: Which kinds each fluid passes through, (F, kinds) bool.
        reach: Distance up to which points are listed [m].
        transposes: Whether the particles near each point are listed, too.

    Attributes:
        state: Where the lists are.
        offsets: Where the entries of each particle start.
        entries: Points near each particle.
        starts: Where the pairs of each particle start.
        pairs: Pairs of a particle and a carrier.
        theirs: Where the entries of each point start.
        transposed: Entries of each point.
    """

    def __init__(
        self,
        points: BoundaryPoints,
        fluid: FluidParticles,
        solve: Solve,
        ignored: np.ndarray,
        reach: float,
        transposes: bool,
    ) -> None:
        count, precision = len(fluid), points.precision
        self._points, self._fluid, self._solve, self._transposes = points, fluid, solve, transposes
        self.grid = Grid(Points.zeros(len(points), precision))
        self.grid.levels.reach[0] = reach
        self._ignored = Ignored(precision, passes=ignored.astype(np.uint8).ravel())
        self.state: PointState = PointState.zeros(1, precision)
        self.state.squared[0] = precision(reach) ** 2
        self.state.kinds[0] = ignored.shape[1] if ignored.any() else 0
        self.state.single[0] = len(points) == int(points.owner[-1]) + 1
        self.offsets, self.starts = Offsets.zeros(count + 1, precision), Offsets.zeros(count + 1, precision)
        self.entries: Entries = Entries.zeros(0, precision)
        self.pairs: Pairs = Pairs.zeros(0, precision)
        self.theirs = Offsets.zeros(len(points) + 1 if transposes else 1, precision)
        self.transposed: Transposed = Transposed.zeros(0, precision)
        self._entry_scan, self._pair_scan = Scan(self.offsets), Scan(self.starts)

    def record_sort(self, p: Program) -> None:
        """Sort the points from where they are."""
        p.launch(copy_points, self._points, self.grid.points, count=len(self._points))
        self.grid.record_build(p, len(self._points))
        p.serial(finish_sort, self.state)

    def record_find(self, p: Program) -> None:
        """List the points near particles."""
        count, grid, points = (self._solve.count, 0), self.grid, self._points
        around = self._fluid, points, grid.ordered, grid.cells, grid.levels, grid.extent, self._ignored, self.state
        p.launch(count_points, *around, self.offsets, count=count)
        self._entry_scan.record(p, count)
        p.copy(self._entry_scan.total, (self.state.entries, 0))
        p.require(self.entries, self._entry_scan.total, "fluid: {count} points near particles")
        p.launch(fill_points, *around, self.offsets, self.entries, count=count)
        p.launch(count_pairs, points, self.offsets, self.entries, self.starts, self.state, count=count)
        self._pair_scan.record(p, count)
        p.copy(self._pair_scan.total, (self.state.pairs, 0))
        p.require(self.pairs, self._pair_scan.total, "fluid: {count} pairs with solids")
        records = self._fluid, points, self.offsets, self.entries, self.starts, self.pairs
        p.launch(fill_pairs, *records, count=count)
        if self._transposes:
            p.require(self.transposed, self._entry_scan.total, "fluid: {count} particles near points")
            p.serial(transpose, self.entries, self.state, self.theirs, self.transposed)
