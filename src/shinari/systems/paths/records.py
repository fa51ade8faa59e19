"""Records of the certificate of all paths of a substep."""

import numpy as np

from shinari.compute import Field, Record, real


class PathState(Record):
    """One row: the state of the certificate in a substep, and what it did in the step."""

    hit = Field(np.int64, doc="whether paths meet that can be pushed apart")
    solid = Field(np.int64, doc="whether paths of bodies meet, which move as one at once")
    turn = Field(np.int64)
    part = Field(np.int64, doc="whether they are pushed apart in this turn")
    join = Field(np.int64, doc="whether they move as one in this turn")
    clear = Field(np.int64, doc="whether none meet, or nothing more is tried")
    joined = Field(np.int64, doc="whether there are zones in this substep")
    changed = Field(np.int64, doc="whether the last turns have moved something")
    settled = Field(np.int64, doc="whether nothing has moved since the pairs were found")
    longest = Field(np.float64, unit="m", doc="longest displacement of a particle in the substep")
    count = Field(np.int64, doc="rows of the list that is looked at")
    substep = Field(np.float64, unit="s")
    impacts = Field(np.int64, doc="paths that met in this step, and were mended")
    zones = Field(np.int64, doc="turns in this step in which objects had to move as one")
    unresolved = Field(np.int64, doc="substeps in this step after which paths still met")
    shares = Field(np.int64, doc="rows of `Shares` in use")
    settled_shares = Field(np.int64, doc="those of them whose impulse is known")
    room = Field(np.int64, doc="rows of the list that grows next that may be needed")
    stops = Field(np.int64, doc="rows of `Stops` in use")
    settled_stops = Field(np.int64, doc="those of them whose points are settled")


class Begins(Record):
    """Where the particles are when a substep begins, N rows."""

    x = Field(real, 3, unit="m", doc="position relative to their origin")
    radius = Field(real, unit="m", doc="distance that it keeps")
    covered = Field(np.bool_, doc="whether it is a corner of triangles or segments that keep a distance")


class Lengths(Record):
    """One row for each block of particles."""

    longest = Field(real, unit="m", doc="longest displacement")


class ItemPaths(Record):
    """Paths of the contacts of a list of pairs."""

    time = Field(np.float64, doc="time of impact in the substep; 1 where it is safe")
    known = Field(np.float64, doc="the same where it begins outside and its patch tells; negative: not known")
    free = Field(real, unit="m", doc="distance of its vertices from a mesh at the end of the path; negative: not known")


class Zones(Record):
    """Particles, frames and colliders that move as one, N + F + K rows; sums stand at the first node of a zone."""

    name = Field(np.int64, doc="first node of its zone")
    size = Field(np.int64, doc="nodes of the zone")
    time = Field(np.float64, doc="time from which on it moves as one")
    whole = Field(np.bool_, doc="whether it moves as one from the start of the substep on")
    anchor = Field(np.int64, doc="node that does not give way, or -1")
    reach = Field(np.float64, unit="m", doc="displacement of the anchor")
    mass = Field(np.float64, unit="kg", doc="its mass")
    centre = Field(np.float64, 3, unit="m", doc="centre of mass at that time")
    mean = Field(np.float64, 3, unit="m", doc="mean displacement from then on")
    spin = Field(np.float64, 3, unit="kg m^2", doc="angular momentum of the displacements about the centre")
    inertia = Field(np.float64, 6, unit="kg m^2", doc="xx yy zz yz xz xy about the centre")
    angle = Field(np.float64, 3, unit="rad", doc="rotation vector from then on")


class Forest(Record):
    """The nodes of the zones as trees, rows as in `Zones`; a branch stands at the root that names itself no more."""

    root = Field(np.int64, doc="node of its tree, the least one in the end")
    held = Field(np.bool_, doc="whether a node of the tree does not give way; at its root")
    ends = Field(np.int64, 2, doc="nodes that the branch joins")
    share = Field(np.int64, doc="row of the branch in `Shares`; -1 within a triangle or segment, where none is told")
    branches = Field(np.int64, doc="branches at this node that are not done")
    which = Field(np.int64, doc="exclusive or of these: the last one that is left")
    start = Field(np.float64, 3, unit="m", doc="place before the first zones of the substep, relative to its origin")
    change = Field(np.float64, 3, unit="N s", doc="change of momentum of this node and of all that is done behind it")


class Shares(Record):
    """Pairs by which zones were joined in this step, and what went through them."""

    nodes = Field(np.int64, 2, doc="a node of each side")
    particles = Field(np.uint32, 4, doc="particles of both sides; where the first one is a frame, none")
    weights = Field(np.float64, 4, doc="their weights in the points that met, negative on the second side")
    place = Field(np.float64, 3, unit="m", doc="where frames met, in the axes of the first until it is settled")
    normal = Field(np.float64, 3, doc="unit vector from the second to the first")
    impulse = Field(np.float64, 3, unit="N s", doc="impulse on the first")


class Stops(Record):
    """Pairs of frames whose paths met in this substep."""

    frames = Field(np.int64, 2)
    place = Field(np.float64, 3, unit="m", doc="where they met, in the axes of the first")
    other = Field(np.float64, 3, unit="m", doc="the same point in the axes of the second, as it was settled")
    normal = Field(np.float64, 3, doc="unit vector from the second to the first; in the axes of the first once settled")
    push = Field(np.float64, unit="N", doc="force along it that keeps them apart as joints are closed")
    mobility = Field(np.float64, unit="m/N", doc="relative displacement along it by a unit force")
