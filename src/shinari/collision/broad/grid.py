"""A uniform grid over points: the points of a cell lie next to each other in memory.

Cells are numbered along x, then y, then z, in a table that repeats itself in all directions: cell (i, j, k) of space is
entry (i mod nx, j mod ny, k mod nz). A table as large as the bounding box is an ordinary grid; points spread farther
than that share entries with points far away, which the distance test of a search rejects. So the domain has no bounds,
a row of cells stays contiguous, and the 27 cells around a point are 27 entries, since no side is shorter than three:
nothing is found twice.

Points are brought into the order of the cells by counting (Green 2008, Particle simulation using CUDA), first into
buckets of consecutive cells, then within each, so that all threads work on memory that fits their caches. Inside a cell
they keep the order of their rows: the result does not depend on the number of threads.

Balls of different radii have several levels, each with a table and a size of cells of its own, from the finest to the
coarsest; the sorted points of a level come before those of the next one.
"""

import numpy as np
from numpy.typing import NDArray

from shinari.compute import Field, Program, Record, function, kernel, real, shared
from shinari.compute.kernels import AS_WRITTEN
from shinari.compute.program import Cell
from shinari.errors import ShinariError

# A cell is this much larger than the reach, more than the rounding of its number: see `cell_number`.
SLACK = 1e-5
# More cells in a row than this are not numbered: their coordinates would round by more than SLACK.
MOST_CELLS = 2**31
# Entries of the table for each point when space has more cells than that.
ENTRIES = 2
FEWEST_ENTRIES = 4096
BUCKETS = 1024
# No side of the table is shorter: the cells before, at and after one are three entries.
FEWEST = 3
# Points of all chunks in which they are counted, at least: a chunk has as many as the parts of a program leave it.
FEWEST_COUNTED = 131072
# Levels of radii: those of a level differ by up to this factor, and the finest has all that are smaller.
LEVEL, MOST_LEVELS = 0.7, 20
INFINITY = np.float32(np.inf)


class Points(Record):
    """The points that are sorted, one row each."""

    at = Field(real, 4, unit="m", doc="position, and a number that goes along: the radius where there are levels")


class SortedPoints(Record):
    """The points in the order of the cells, as many rows as there are points."""

    index = Field(np.uint32, doc="row of the point")
    entry = Field(np.uint32, doc="entry of its cell")
    x = Field(real, unit="m")
    y = Field(real, unit="m")
    z = Field(real, unit="m")
    w = Field(real, doc="the number that goes along")


class Cells(Record):
    """The table, one row for each entry and one more."""

    start = Field(np.uint32, doc="first sorted point of the entry; that of the next one ends it")


class Levels(Record):
    """Size of the cells and of the table, one row for each level; a grid without radii has one."""

    reach = Field(np.float64, unit="m", doc="distance up to which neighbours are sought")
    inverse = Field(np.float64, unit="1/m", doc="cells in a metre")
    sides = Field(np.int64, 3, doc="cells of the table along x, y and z")
    first = Field(np.int64, doc="first entry of the level")
    count = Field(np.int64, doc="points of the level")
    above = Field(np.float64, unit="m", doc="points with larger radii belong to a coarser level")


class Extent(Record):
    """One row: how many points there are, and where."""

    points = Field(np.int64)
    chunks = Field(np.int64)
    low = Field(np.float64, 3, unit="m", doc="corner where the cells start")
    high = Field(np.float64, 3, unit="m")
    largest = Field(np.float64, unit="m", doc="largest radius")
    margin = Field(np.float64, unit="m", doc="distance of two balls up to which they are close, with several levels")
    entries = Field(np.int64, doc="of the tables of all levels")
    room = Field(np.int64, doc="entries and one")
    shift = Field(np.int64, doc="bits of the number of an entry within its bucket")
    least = Field(np.float64, doc="least reach, as a part of the longest side of the bounds")
    lost = Field(np.int64, doc="whether the points are spread over more cells than can be numbered")


class Chunks(Record):
    """What each chunk of the points has counted."""

    low = Field(real, 3)
    high = Field(real, 3)
    largest = Field(real, MOST_LEVELS)
    count = Field(np.int64, MOST_LEVELS)
    histogram = Field(np.int64, BUCKETS, doc="points in each bucket, then where in it the next one goes")


class Edges(Record):
    """Where each bucket starts, and the end; at first how many points it has."""

    first = Field(np.int64)


class Moved(Record):
    """Entries and rows of the points, as given and in the order of the buckets."""

    entry = Field(np.uint32)
    moved_entry = Field(np.uint32)
    moved_index = Field(np.uint32)


@function(fastmath=AS_WRITTEN)
def first_of_chunk(count, chunk, chunks):
    """First item of a chunk when a count of them is divided evenly."""
    return count * chunk // chunks


@kernel(fastmath=AS_WRITTEN)
def divide_points(_, extent: Extent, chunks: Chunks, least: np.int64):
    """Into how many chunks the points are divided, of about `least` or more."""
    extent.chunks[0] = min(max(extent.points[0] // least, 1), len(chunks)) if extent.points[0] > 0 else 0
    extent.lost[0] = 0


@kernel(fastmath=AS_WRITTEN)
def find_bounds(t, points: Points, chunks: Chunks, extent: Extent):
    """Smallest and largest coordinates and largest radius of a chunk; a NaN does not count."""
    x0, y0, z0, x1, y1, z1, largest = INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY, np.float32(0.0)
    count = extent.points[0]
    for i in range(first_of_chunk(count, t, extent.chunks[0]), first_of_chunk(count, t + 1, extent.chunks[0])):
        x, y, z, w = points.at[i]
        x0, y0, z0 = x if x < x0 else x0, y if y < y0 else y0, z if z < z0 else z0
        x1, y1, z1 = x if x > x1 else x1, y if y > y1 else y1, z if z > z1 else z1
        largest = w if w > largest else largest
    chunks.low[t] = x0, y0, z0
    chunks.high[t] = x1, y1, z1
    chunks.largest[t, 0] = largest


@kernel(fastmath=AS_WRITTEN, mixed=True)
def join_bounds(_, chunks: Chunks, extent: Extent, levels: Levels):
    """Bounds of all points, and which radii belong to which level."""
    extent.largest[0] = 0.0
    for k in range(3):
        extent.low[0, k], extent.high[0, k] = np.inf, -np.inf
    for t in range(extent.chunks[0]):
        for k in range(3):
            extent.low[0, k] = min(extent.low[0, k], np.float64(chunks.low[t, k]))
            extent.high[0, k] = max(extent.high[0, k], np.float64(chunks.high[t, k]))
        extent.largest[0] = max(extent.largest[0], np.float64(chunks.largest[t, 0]))
    above = extent.largest[0]
    for level in range(len(levels) - 1, -1, -1):
        levels.above[level] = above
        above *= LEVEL
    levels.count[0] = extent.points[0]


@function(fastmath=AS_WRITTEN)
def level_of(radius, levels):
    """Level of a radius."""
    level = len(levels) - 1
    while level > 0 and not radius > levels.above[level - 1]:
        level -= 1
    return level


@kernel(fastmath=AS_WRITTEN, mixed=True)
def count_levels(t, points: Points, chunks: Chunks, extent: Extent, levels: Levels):
    """Points and largest radius of each level in a chunk."""
    for level in range(MOST_LEVELS):
        chunks.count[t, level], chunks.largest[t, level] = 0, np.float32(0.0)
    count = extent.points[0]
    for i in range(first_of_chunk(count, t, extent.chunks[0]), first_of_chunk(count, t + 1, extent.chunks[0])):
        radius = points.at[i, 3]
        level = level_of(np.float64(radius), levels)
        chunks.count[t, level] += 1
        # a ball with the radius NaN is close to none
        chunks.largest[t, level] = radius if radius > chunks.largest[t, level] else chunks.largest[t, level]


@kernel(fastmath=AS_WRITTEN, mixed=True)
def set_reaches(_, chunks: Chunks, extent: Extent, levels: Levels):
    """Points of each level, and how far they reach: two of its largest radii and the margin."""
    for level in range(len(levels)):
        count, largest = 0, 0.0
        for t in range(extent.chunks[0]):
            count += chunks.count[t, level]
            largest = max(largest, np.float64(chunks.largest[t, level]))
        reach = 2.0 * largest + extent.margin[0]
        # balls of radius zero without a margin are never close: any cell will do
        levels.count[level], levels.reach[level] = count, reach if reach > 0.0 else 1.0


@function
def is_prime(value):
    """Whether a number above one has no divisor."""
    d = 2
    while d * d <= value and value % d != 0:
        d += 1
    return d * d > value


@shared
def side_of(wanted: int, left: np.float64, rank: int, one: int, other: int) -> int:
    """Length of a side of a table; see `table_sides`. `one` and `other` are taken."""
    share = left ** (1.0 / 3.0) if rank == 0 else left**0.5 if rank == 1 else left
    side = max(FEWEST, int(np.floor(share)))
    if wanted <= side:
        return wanted
    while side in (one, other) or not is_prime(side):
        side += 1
    return int(side)


@function
def table_sides(wanted, entries):
    """Sides of a table of at most about so many entries, from FEWEST to as long as wanted; tuples of three.

    A side that is shorter than wanted is prime, and no other side has its length, so that what repeats in space at
    round distances does not fall on the same entries again and again: a diagonal meets all entries before it repeats.
    """
    x, y, z = wanted
    # the shortest comes first; ranks of equal ones are those of their axes
    rank_x, rank_y = int(y < x) + int(z < x), int(x <= y) + int(z < y)
    rank_z = 3 - rank_x - rank_y
    a = 0 if rank_x == 0 else 1 if rank_y == 0 else 2
    b = 0 if rank_x == 1 else 1 if rank_y == 1 else 2
    want_a = x if a == 0 else y if a == 1 else z
    want_b = x if b == 0 else y if b == 1 else z
    want_c = x if rank_x == 2 else y if rank_y == 2 else z
    side_a = side_of(want_a, np.float64(entries), 0, 0, 0)
    left = max(1, entries // side_a)
    side_b = side_of(want_b, np.float64(left), 1, side_a, 0)
    side_c = side_of(want_c, np.float64(max(1, left // side_b)), 2, side_a, side_b)
    sx = side_a if rank_x == 0 else side_b if rank_x == 1 else side_c
    sy = side_a if rank_y == 0 else side_b if rank_y == 1 else side_c
    sz = side_a if rank_z == 0 else side_b if rank_z == 1 else side_c
    return sx, sy, sz


@kernel(fastmath=AS_WRITTEN)
def lay_out(_, extent: Extent, levels: Levels, fewest: np.int64, per_point: np.int64):
    """Choose the size of the cells and the sides of the tables."""
    total = 0
    low, high = extent.low[0], extent.high[0]
    wide = high[0] - low[0], high[1] - low[1], high[2] - low[2]
    if not max(wide[0], max(wide[1], wide[2])) >= 0.0:
        extent.low[0], wide = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    finest = extent.least[0] * max(wide[0], max(wide[1], wide[2]))
    for level in range(len(levels)):
        levels.first[level] = total
        inverse = 1.0 / (max(levels.reach[level], finest) * (1.0 + SLACK))
        levels.inverse[level] = inverse
        levels.sides[level] = FEWEST, FEWEST, FEWEST
        if levels.count[level] > 0:
            cells = wide[0] * inverse, wide[1] * inverse, wide[2] * inverse
            if max(cells[0], max(cells[1], cells[2])) < MOST_CELLS:
                # one empty cell at the end keeps the two ends of a table that does not repeat apart
                wanted = (
                    max(np.int64(cells[0]) + 2, FEWEST),
                    max(np.int64(cells[1]) + 2, FEWEST),
                    max(np.int64(cells[2]) + 2, FEWEST),
                )
                levels.sides[level] = table_sides(wanted, max(fewest, per_point * levels.count[level]))
            else:
                extent.lost[0] = 1
            sides = levels.sides[level]
            total += sides[0] * sides[1] * sides[2]
    total = max(total, FEWEST * FEWEST * FEWEST)
    extent.entries[0], extent.room[0] = total, total + 1
    shift = 0
    while (total - 1) >> shift >= BUCKETS:
        shift += 1
    extent.shift[0] = shift


@function(fastmath=AS_WRITTEN)
def cell_number(x, low, inverse, side):
    """Number of a cell along one axis, in the table; 0 for a NaN.

    In double precision, whose rounding is less than 1e-6 of a cell up to MOST_CELLS: points within reach are never put
    more than one cell apart.
    """
    place = (np.float64(x) - low) * inverse
    cell = np.int64(place if place > 0.0 else 0.0)
    return cell % side if cell >= side else cell


@kernel(fastmath=AS_WRITTEN, mixed=True)
def number_points(t, points: Points, moved: Moved, chunks: Chunks, extent: Extent, levels: Levels):
    """Entry of each point of a chunk, and how many of them fall into each bucket."""
    for b in range(BUCKETS):
        chunks.histogram[t, b] = 0
    count, shift, low = extent.points[0], extent.shift[0], extent.low[0]
    for i in range(first_of_chunk(count, t, extent.chunks[0]), first_of_chunk(count, t + 1, extent.chunks[0])):
        at = points.at[i]
        level = level_of(np.float64(at[3]), levels)
        inverse, sides = levels.inverse[level], levels.sides[level]
        x = cell_number(at[0], low[0], inverse, sides[0])
        y = cell_number(at[1], low[1], inverse, sides[1])
        z = cell_number(at[2], low[2], inverse, sides[2])
        entry = levels.first[level] + (z * sides[1] + y) * sides[0] + x
        moved.entry[i] = entry
        chunks.histogram[t, entry >> shift] += 1


@kernel
def join_histograms(b, chunks: Chunks, edges: Edges, extent: Extent):
    """Points of a bucket, and where in it those of each chunk go."""
    total = 0
    for t in range(extent.chunks[0]):
        n = chunks.histogram[t, b]
        chunks.histogram[t, b] = total
        total += n
    edges.first[b] = total


@kernel
def place_buckets(_, edges: Edges):
    """Where each bucket starts."""
    total = 0
    for b in range(BUCKETS):
        n = edges.first[b]
        edges.first[b] = total
        total += n
    edges.first[BUCKETS] = total


@kernel
def fill_buckets(t, moved: Moved, chunks: Chunks, edges: Edges, extent: Extent):
    """Bring the points of a chunk into the order of the buckets."""
    count, shift = extent.points[0], extent.shift[0]
    for i in range(first_of_chunk(count, t, extent.chunks[0]), first_of_chunk(count, t + 1, extent.chunks[0])):
        entry = moved.entry[i]
        bucket = entry >> shift
        before = chunks.histogram[t, bucket]
        chunks.histogram[t, bucket] = before + 1
        at = edges.first[bucket] + before
        moved.moved_entry[at] = entry
        moved.moved_index[at] = i


@kernel
def sort_bucket(b, points: Points, moved: Moved, edges: Edges, extent: Extent, cells: Cells, ordered: SortedPoints):
    """Sort a bucket by counting."""
    size = 1 << extent.shift[0]
    low, high = min(b * size, extent.entries[0]), min((b + 1) * size, extent.entries[0])
    begin, end = edges.first[b], edges.first[b + 1]
    if b == 0:
        cells.start[0] = 0
    for e in range(low, high):
        cells.start[e + 1] = 0
    for p in range(begin, end):
        e = np.int64(moved.moved_entry[p])
        cells.start[e + 1] += 1
    at = begin
    for e in range(low, high):
        n = cells.start[e + 1]
        cells.start[e + 1] = at
        at += n
    for p in range(begin, end):
        e, i = np.int64(moved.moved_entry[p]), moved.moved_index[p]
        place = cells.start[e + 1]
        cells.start[e + 1] = place + 1
        ordered.index[place], ordered.entry[place] = i, e
        ordered.x[place], ordered.y[place], ordered.z[place], ordered.w[place] = points.at[i]


class Grid:
    """Points sorted by cell.

    A grid with one level searches within `levels.reach[0]`, which the caller sets; one with more sets the reaches from
    the radii.

    Args:
        points: The points; the grid has room for as many as there are rows.
        levels: 1, or `MOST_LEVELS` for balls of different radii.

    Attributes:
        points: The points as given.
        ordered: The points in the order of the cells.
        cells: The table.
        moved: What the sort needs for itself.
        levels: Sizes of cells and tables.
        extent: Number and bounds of the points.
    """

    def __init__(self, points: Points, levels: int = 1) -> None:
        count, precision = len(points), points.precision
        self.points, self.ordered = points, SortedPoints.zeros(count, precision)
        self.levels, self.extent = Levels.zeros(levels, precision), Extent.zeros(1, precision)
        self.levels.reach[...] = 1.0
        self.cells, self.moved = Cells.zeros(FEWEST_ENTRIES, precision), Moved.zeros(count, precision)
        # the entries of the points as given are not asked for any more when those of the sorted ones are written
        self.moved.bind(entry=self.ordered.entry)
        self._chunks, self._edges = Chunks.zeros(0, precision), Edges.zeros(BUCKETS + 1, precision)

    def record_build(self, p: Program, count: Cell) -> None:
        """Record the sort of the first `count` points. The run stops where they are spread too far: see `check`."""
        points, extent, levels = self.points, self.extent, self.levels
        each, least = (extent.chunks, 0), FEWEST_COUNTED // p.most_parts
        room = min(max(len(points) // least, 1), p.most_parts)
        if len(self._chunks) < room:
            self._chunks = Chunks.zeros(room, points.precision)
        chunks = self._chunks
        p.copy(count, (extent.points, 0))
        p.serial(divide_points, extent, chunks, least)
        p.launch(find_bounds, points, chunks, extent, count=each, grain=1)
        p.serial(join_bounds, chunks, extent, levels)
        if len(levels) > 1:
            p.launch(count_levels, points, chunks, extent, levels, count=each, grain=1)
            p.serial(set_reaches, chunks, extent, levels)
        p.serial(lay_out, extent, levels, FEWEST_ENTRIES, ENTRIES)
        p.stop_if((extent.lost, 0))
        p.require(self.cells, (extent.room, 0))
        p.launch(number_points, points, self.moved, chunks, extent, levels, count=each, grain=1)
        p.launch(join_histograms, chunks, self._edges, extent, count=BUCKETS)
        p.serial(place_buckets, self._edges)
        p.launch(fill_buckets, self.moved, chunks, self._edges, extent, count=each, grain=1)
        p.launch(sort_bucket, points, self.moved, self._edges, extent, self.cells, self.ordered, count=BUCKETS)

    def check(self) -> None:
        """Raise an error if the last sort could not number the cells.

        Raises:
            ShinariError: The points are spread over more cells than can be numbered.
        """
        if self.extent.lost[0]:
            wide, reach = (self.extent.high[0] - self.extent.low[0]).max(), self.levels.reach.min()
            raise ShinariError(
                f"points are spread over {wide:.3g} m, too far to find neighbours within {reach:.3g} m: a point has "
                "flown away"
            )


class ImmediateGrid:
    """A grid over arrays that is built at once, outside of a program.

    Its arrays are valid until the next `build`.

    Attributes:
        order: Index of each sorted point, (N,) uint32.
        columns: x, y, z of the sorted points and a fourth number of each, (4, N), in the precision of the points.
        entries: Entry of the table of each sorted point, (N,) uint32, ascending.
        starts: Entry e holds the sorted points `starts[e]` to `starts[e + 1]`, (nx ny nz + 1,) uint32.
        sides: nx, ny, nz.
        low: Corner where the cells start (three floats) [m].
        inverse: Cells in a metre [1/m].
    """

    def __init__(self) -> None:
        self.grid: Grid | None = None
        self._sort = Program()

    def build(
        self,
        points: NDArray[np.floating],
        reach: float,
        threads: int,
        members: NDArray[np.uint32] | None = None,
        fourth: NDArray[np.floating] | None = None,
    ) -> None:
        """Sort points into cells of the size of the reach.

        Args:
            points: (N, 3) or (N, 4), finite; a fourth column is not read.
            reach: Distance up to which neighbours will be sought [m], positive.
            threads: Threads to work on, at most.
            members: Indices of the points to take, ascending; all by default.
            fourth: Number of each point to carry along, (N,), of the type of the points; 0 by default.

        Raises:
            ShinariError: The points are spread over more cells than can be numbered.
        """
        count = len(points) if members is None else len(members)
        grid = self.grid
        if grid is None or len(grid.points) != count or grid.points.precision != points.dtype.type:
            grid = self.grid = Grid(Points.zeros(count, points.dtype.type))
            self.columns = np.zeros((4, count), points.dtype)
            grid.ordered.bind(**dict(zip("xyzw", self.columns, strict=True)))
            self._sort = Program()
            grid.record_build(self._sort, count)
        which = slice(None) if members is None else members
        grid.points.at[:, :3] = points[which, :3]
        grid.points.at[:, 3] = 0.0 if fourth is None else fourth[which]
        grid.levels.reach[0] = reach
        self._sort.run(threads)
        grid.check()
        self.order = grid.ordered.index if members is None else members[grid.ordered.index]
        self.entries, self.starts = grid.ordered.entry, grid.cells.start[: grid.extent.room[0]]
        low, sides = grid.extent.low[0], grid.levels.sides[0]
        self.low, self.sides = (float(low[0]), float(low[1]), float(low[2])), tuple(map(int, sides))
        self.inverse = float(grid.levels.inverse[0])
