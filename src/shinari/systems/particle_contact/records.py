"""Records of contacts between particles as balls."""

import numpy as np

from shinari.compute import Field, Record, real

# Balls that one item of a sum takes: the same whatever the number of threads.
CHUNK = 512


class Members(Record):
    """Balls that take part, ascending by particle, P rows."""

    particle = Field(np.uint32)
    radius = Field(real, unit="m")
    reach = Field(real, unit="m", doc="radius within which others are listed: larger where balls attract each other")
    object_index = Field(np.uint16, doc="object")
    free = Field(np.bool_, doc="whether it can move")
    before = Field(real, 3, unit="m/s", doc="velocity as the substep began")
    margin = Field(real, unit="m", doc="how far it may stray from the mean motion until the next detection")
    velocity = Field(real, 3, unit="m/s", doc="relative to the mean motion, at the detection")
    path = Field(real, 3, unit="m", doc="displacement in this substep relative to the mean motion, up to now")
    fast = Field(np.bool_, doc="whether it goes so far in a substep that its pairs are those on its path")
    seen = Field(real, 3, unit="m", doc="position when idle objects were last found far apart")


class MemberPoints(Record):
    """Members in the world: the same memory as the points of a grid in double precision, P rows."""

    at = Field(np.float64, 4, unit="m", doc="position, and radius with margin")


class Order(Record):
    """Points of a grid in the order of its cells: the same memory as there."""

    index = Field(np.uint32)


class Objects(Record):
    """Objects of the scene, T rows."""

    alone = Field(np.bool_, doc="whether its own particles pass through each other")
    surface = Field(real, 4, doc="friction, static friction, restitution, compliance [m/N]")
    scaling = Field(np.float64, unit="1/m", doc="rate at which masses fall with the height")


class SpecialPairs(Record):
    """Pairs of members that keep another distance than the sum of their radii: each stands with its smaller member."""

    partner = Field(np.uint32, doc="larger member, ascending for each member")
    distance = Field(real, unit="m", doc="0 where it is left out")


class SortedBalls(Record):
    """Members in the order of the rows, P rows; those of a detection come first."""

    at = Field(real, 8, doc="position [m], inverse mass [1/kg], displacement in the substep [m], not used")
    displacement = Field(real, 3, unit="m", doc="displacement in the substep as the sweep began")
    member = Field(np.uint32)
    particle = Field(np.uint32)
    object_index = Field(np.uint16, doc="object")
    origin_index = Field(np.uint16)
    margin = Field(real, unit="m")
    path = Field(real, unit="m", doc="length of its path net of the mean motion since the detection; not of grains")
    origin = Field(real, 3, unit="m", doc="position at the detection")
    velocity = Field(real, 3, unit="m/s", doc="relative to the mean motion, at the detection")
    factor = Field(real, doc="on the inverse mass, where masses are scaled by height")
    strayed = Field(np.bool_, doc="whether it has left its margin")
    latest = Field(np.int64, doc="link that was appended to it last; -1: none")


class Shifts(Record):
    """Origins relative to a place near all of them, G rows."""

    shift = Field(real, 3, unit="m")


class RowBalls(Record):
    """Rows: pairs of balls that may touch before the next detection, M rows in the order of their batches."""

    points = Field(np.uint32, 2)


class Rows(Record):
    """What rows keep and do, M rows."""

    keep = Field(real, unit="m", doc="distance that it keeps")
    law = Field(real, 3, doc="friction, static friction and compliance [m/N] of both surfaces together")
    silent = Field(real, unit="m", doc="what overlapped when the step began; infinite before it touches; not of grains")
    bound = Field(real, unit="m", doc="sum of the paths of both up to which they are apart; not of grains")
    push = Field(real, unit="kg m", doc="multiplier: of the substep; of grains also the first guess of the next one")
    friction_multiplier = Field(real, 3, unit="kg m", doc="friction on the first ball; of grains only")
    impulse = Field(real, 3, unit="N s", doc="on the first ball, summed over the step")
    normal = Field(real, 3, doc="from the second ball to the first, when it last pushed")


class PairDistances(Record):
    """Pairs of balls that are close, as many as the pair search finds."""

    keep = Field(real, unit="m", doc="distance that it keeps; 0: no row")


class Appended(Record):
    """Links that were appended after the detection, a row each."""

    before = Field(np.int64, doc="link that was appended to the same ball before; -1: none")


class WarmStart(Record):
    """Rows that pushed, when rows are found anew or a step ends; those of a particle stand together."""

    particles = Field(np.uint32, 2)
    push = Field(real, 4, unit="kg m", doc="multiplier, and friction on the first")
    normal = Field(real, 3)


class WarmStartRanges(Record):
    """Where the known rows of each particle stand, P rows."""

    first = Field(np.int64)
    last = Field(np.int64)


class Kept(Record):
    """Impulses of rows that were forgotten during the step."""

    particles = Field(np.uint32, 2)
    normal = Field(real, 3)
    impulse = Field(real, 3, unit="N s")


class Chunks(Record):
    """What chunks of members or balls add up, a row each."""

    sum = Field(np.float64, 3)
    square = Field(np.float64)
    largest = Field(np.float64)
    least = Field(np.float64)
    flag = Field(np.int64)


class Control(Record):
    """One row: what decides about detections, and what they start from."""

    left = Field(np.int64, doc="substeps that are left, with this one")
    first = Field(np.int64, doc="whether the substep is the first")
    last = Field(np.int64, doc="whether it is the last")
    found = Field(np.int64, doc="whether there are rows of this step")
    idle = Field(np.int64, doc="whether no two objects can meet soon")
    active = Field(np.int64, doc="whether they can")
    wake = Field(np.int64, doc="whether idle objects have come near in this substep")
    search = Field(np.int64, doc="whether rows have to be found")
    partial = Field(np.int64, doc="whether those of strayed balls alone")
    renew = Field(np.int64, doc="whether the rows of the last substep go on")
    resume = Field(np.int64, doc="whether rows that are found go on with what they pushed in this substep")
    strayed = Field(np.int64, doc="whether a ball has left its margin since this was last asked")
    begun = Field(np.int64, doc="sweeps of all rows in this projection")
    impact = Field(np.int64, doc="whether the last sweep moved a ball so far that all rows are swept once more")
    sweeps = Field(np.int64, doc="whether rows are swept: all, and then those that were appended")
    done = Field(np.int64, doc="whether no ball has left its margin in this sweep")
    detections = Field(np.int64, doc="in this step")
    balls = Field(np.int64, doc="balls of the last detection: all, or none when the state is not finite")
    crowd = Field(np.int64, doc="whether so many balls have strayed that the next detection takes larger margins")
    rows = Field(np.int64, doc="rows of the last detection and those that were appended since")
    rows_before = Field(np.int64, doc="rows that are not new")
    fresh = Field(np.int64, doc="rows that are appended now")
    appended = Field(np.int64, doc="rows that were appended since the last detection")
    rows_read = Field(np.int64, doc="the same with those that the last batch may read beyond the end")
    warm_start = Field(np.int64, doc="known rows")
    kept = Field(np.int64, doc="kept impulses")
    kept_before = Field(np.int64)
    fast = Field(np.int64, doc="whether the last detection had fast balls: its rows hold for one substep")
    slow = Field(np.int64, doc="whether it had none")
    fast_balls = Field(np.int64, doc="how many")
    shorter = Field(np.float64, doc="what is left of the paths ahead where rows hold for one substep")
    few = Field(np.int64, doc="whether these are compared with all others")
    slices = Field(np.int64, doc="of the time of the substep")
    slice = Field(np.int64)
    gathered = Field(np.int64, doc="pairs found so far")
    gathered_before = Field(np.int64)
    too_strong = Field(np.int64, doc="whether masses scaled by height differ by too much")
    spread = Field(np.float64, doc="exponent by which they differ")
    middle = Field(np.float64, doc="mean of the largest and the least exponent")
    room = Field(np.float64, unit="m", doc="how far idle members may go until they may meet")
    growth = Field(np.float64, doc="factor on the least margin")
    mean = Field(np.float64, 3, unit="m/s", doc="mean velocity of the members")
    drift = Field(np.float64, 3, unit="m", doc="displacement by the mean motion, from the detection to this substep")
    moved = Field(np.float64, 3, unit="m", doc="the same with this substep")
    gathered_at = Field(np.float64, 3, unit="m", doc="the same when particles were last brought to the balls")
    fast_margin = Field(np.float64, unit="m", doc="balls with larger margins are fast")
    elapsed = Field(np.float64, unit="s", doc="time from the detection to the begin of this substep")
    ahead = Field(np.float64, unit="s", doc="time from the detection for which its rows hold")
    least = Field(np.float64, unit="m", doc="margin at least, while most balls move")
    rounding = Field(np.float64, unit="m", doc="of positions")
    escape = Field(np.float64, unit="m", doc="how far what overlapped may come out in this sweep")
