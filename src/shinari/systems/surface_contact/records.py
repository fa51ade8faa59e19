"""Records of contacts of triangles, edges and points."""

import numpy as np

from shinari.compute import Field, Record, real


class ContactParticles(Record):
    """What contacts know of each particle, N rows."""

    radius = Field(real, unit="m", doc="half of the distance that it keeps")
    object_index = Field(np.uint16, doc="object that it belongs to")
    free = Field(np.bool_, doc="whether it can move")
    inactive = Field(np.bool_, doc="whether it waits in an emitter")
    arc = Field(real, unit="m", doc="distance along the rope")
    rest = Field(real, 3, unit="m", doc="position at the start of the scene, relative to their origin")
    moved_in = Field(np.uint32, doc="pass over the contacts that last moved it noticeably, see `was_moved`")
    last_position = Field(real, 3, unit="m", doc="position up to which its path is known, relative to its origin")
    path = Field(real, unit="m", doc="length of its path in this substep, from where its velocity would bring it")
    vertex = Field(np.uint32, doc="the particle itself, or the one that stands for all with which it is sewn together")


class Paths(Record):
    """Displacements of the particles in a substep, N rows; places are in one frame for all."""

    begin = Field(real, 3, unit="m", doc="position at the start of the substep, relative to their origin")
    place = Field(real, 3, unit="m", doc="position at the start of the substep")
    goal = Field(real, 3, unit="m", doc="position at its end, as known")
    velocity = Field(real, 3, unit="m/s", doc="velocity with which the particle is expected to go on")
    low = Field(
        real, 3, unit="m", doc="low corner of the box that the particle stays in, in the frame, without its radius"
    )
    high = Field(real, 3, unit="m", doc="high corner")
    outside = Field(np.bool_, doc="whether it leaves its box")
    inside = Field(np.bool_, doc="whether its box was in the region of its object at the detection")
    length = Field(real, unit="m", doc="length of the displacement in the substep less the mean")
    moved = Field(np.bool_, doc="whether the end of its path has moved since times of impact were last found")
    travel = Field(
        real,
        3,
        unit="m",
        doc="sum of the lengths in this step, the next length, and the path beside it in the last substep",
    )


class Frames(Record):
    """Origins, G rows."""

    origin = Field(real, 3, unit="m", doc="exact, since origins are whole metres")
    offset = Field(real, 3, unit="m", doc="origin relative to the frame of the places")


class Objects(Record, ragged=True):
    """Objects, T rows."""

    ignored = Field(np.int64, doc="sorted keys first KEY + second (first < second) of objects that ignore each other")
    takes_part = Field(np.bool_)
    alone = Field(np.bool_, doc="whether it passes through itself")
    loose = Field(np.bool_, doc="whether its particles have neither edges nor triangles")
    has_triangles = Field(np.bool_)
    has_room = Field(np.bool_, doc="whether no element is nearer to another one of it at rest than both keep")
    reach_along = Field(
        real, 2, unit="m", doc="distance along a rope under which its points never touch, and its length as a ring"
    )
    surface = Field(real, 4, doc="friction, static friction, restitution, compliance [m/N]")
    box = Field(real, 6, unit="m", doc="low and high corner at the detection")
    region = Field(real, 6, unit="m", doc="where it can meet another object or itself; empty: nowhere")
    first_member = Field(np.int64, doc="where its particles start; one row more")
    member = Field(np.uint32, doc="particles, object after object")


class Joints(Record, ragged=True):
    """Particles that share an edge or a row with each particle."""

    start = Field(np.int64, doc="where those of each particle start; one row more")
    neighbour = Field(np.uint32)


class Members(Record):
    """Particles that take part."""

    particle = Field(np.uint32)


class Sums(Record):
    """One row for each block of particles that take part."""

    place = Field(np.float64, 3, unit="m")
    goal = Field(np.float64, 3, unit="m")
    velocity = Field(np.float64, 3, unit="m/s")
    largest = Field(np.float64, unit="m", doc="largest coordinate")


class GradientSums(Record):
    """One row for each block of particles that take part; places and velocities less their means."""

    places = Field(np.float64, 9, unit="m^2", doc="sum of x x^T by rows")
    velocities = Field(np.float64, 9, unit="m^2/s", doc="sum of v x^T by rows")
    squares = Field(np.float64, unit="m^2/s^2", doc="sum of v^2")


class DetectionState(Record):
    """One row: the state of the detection."""

    centre = Field(real, 3, unit="m", doc="mean place")
    goal = Field(real, 3, unit="m", doc="mean goal")
    displacement = Field(real, 3, unit="m", doc="mean displacement in the substep")
    velocity = Field(real, 3, unit="m/s", doc="mean velocity")
    gradient = Field(real, 9, unit="1/s", doc="velocity gradient of the frame, by rows")
    elapsed = Field(np.int64, doc="substeps from where the frame began to the start of this one")
    before = Field(real, 9, doc="from places less their mean into the frame at the start of the substep, by rows")
    after = Field(real, 9, doc="the same at its end")
    bow = Field(real, doc="how far a path in the frame leaves its chord, as part of the displacement less the mean")
    horizon = Field(real, unit="s", doc="time for which boxes look ahead beyond the goals")
    ahead = Field(real, unit="s", doc="the same until the end of the step")
    stray = Field(real, unit="m", doc="how far a particle may stray from its way along each axis")
    few = Field(np.float64, doc="when more than this part of the particles is astray all pairs are found anew")
    members = Field(np.int64, doc="particles that take part now")
    surface_members = Field(np.int64, doc="the same while loose particles are far: surfaces that may meet; first")
    all_members = Field(np.int64, doc="the same with loose particles")
    loose = Field(np.int64, doc="whether loose particles take part: they are not far from all surfaces")
    left = Field(np.int64, doc="substeps left in the step")
    found = Field(np.int64, doc="whether pairs have been found in this step")
    every = Field(np.int64, doc="whether all pairs are to be found")
    some = Field(np.int64, doc="whether the pairs of the particles that are astray are to be found")
    detections = Field(np.int64, doc="times in this step that all pairs were found")
    renewals = Field(np.int64, doc="times in this step that the pairs of a few particles were found anew")


class Side(Record):
    """Points, three times the same; edges, the last particle twice; triangles."""

    points = Field(np.uint32, 3)
    object_index = Field(np.uint16, doc="object of the first")


class Filtered(Record):
    """Pairs whose boxes overlap."""

    distance = Field(real, unit="m", doc="now")
    gap = Field(real, unit="m", doc="distance that the pair keeps")


class Candidates(Record):
    """Pairs that may come to touch before the next detection."""

    near = Field(np.bool_, doc="whether it is about as near as it keeps")
    points = Field(np.uint32, 4, doc="point and triangle, or the ends of both edges")
    edges = Field(np.bool_, doc="whether it is two edges")
    gap = Field(real, unit="m", doc="distance that it keeps")


class Rows(Record):
    """Contact rows; see `shinari.systems.surface_contact.rows`."""

    points = Field(np.uint32, 4, doc="point and triangle, or the ends of both edges")
    edges = Field(np.bool_, doc="whether it is two edges")
    active = Field(np.bool_, doc="whether weights and normal are those of the start of this substep")
    gap = Field(real, unit="m", doc="distance that it keeps; negative: retired")
    weights = Field(real, 4, doc="b")
    normal = Field(real, 3, doc="n")
    shift = Field(real, unit="m", doc="part of n . gap vector that comes from the origins")
    start = Field(real, unit="m", doc="distance at the start of the substep, or a lower bound where that is enough")
    distance = Field(real, unit="m", doc="distance at the start of the substep; what comes out silently adds to it")
    approach = Field(real, unit="m/s", doc="relative velocity along n at the start of the substep")
    bound = Field(real, unit="m", doc="sum of the paths of its particles from which on it may overlap")
    multiplier = Field(real, unit="kg m", doc="sum of the pushes over their inverse masses in this substep")
    hold = Field(real, 3, unit="kg m", doc="the same of friction, where a row may take back what it has pushed")
    base = Field(real, unit="m", doc="distance when it was last taken plus what its particles had travelled")
    impulse = Field(real, 3, unit="N s", doc="impulse on the first point, summed over the step")
    time = Field(real, doc="time of impact in the substep; 1 where it is safe")


class RowCounts(Record):
    """One row: how many rows are in use, and which."""

    rows = Field(np.int64, doc="rows, retired ones too")
    found = Field(np.int64, doc="candidates that were found last")
    room = Field(np.int64, doc="room needed for something that grows next")
    overlaps = Field(np.int64, doc="pairs of boxes that overlap in a search")
    batches = Field(np.int64, doc="batches of pairs or rows that are measured at once")
    fresh = Field(np.int64, doc="rows that were written last")
    unused = Field(np.int64, doc="rows that are retired")
    retired = Field(np.int64, doc="rows that were retired last")
    kept = Field(np.int64, doc="rows that pushed in this step and are gone")
    overlap = Field(real, doc="largest overlap that the last sweep found, as part of the gap")
    deep = Field(np.int64, doc="whether a row that has not pushed overlaps by much")
    pressing = Field(np.int64, doc="whether something may press on light layers in this step")
    tangled = Field(np.int64, doc="whether surfaces intersect that are pulled apart in this substep")


class Places(Record):
    """Numbers of rows."""

    row = Field(np.int64)


class BlockOverlaps(Record):
    """One row for each block of rows, by colour."""

    largest = Field(real, doc="largest overlap that the last sweep found, as part of the gap")


class Ends(Record):
    """Ends of paths as they were when times of impact were last found, a row for each particle that takes part."""

    position = Field(real, 3, unit="m", doc="relative to their origin")


class CrossingState(Record):
    """One row."""

    mean = Field(real, 3, unit="m", doc="mean displacement")
