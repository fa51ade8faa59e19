"""Records of colliders and of the contacts with them."""

import numpy as np

from shinari.compute import Field, Record, real


class Colliders(Record):
    """Colliders, K rows."""

    kind = Field(np.int64, doc="kind of the shape, see `shinari.shapes.registry`")
    size = Field(real, 4, doc="numbers of the shape")
    surface = Field(real, 4, doc="friction, static friction, restitution, compliance [m/N]")
    low = Field(real, 3, unit="m", doc="low corner of the box around it in its axes; infinite where it has no end")
    high = Field(real, 3, unit="m", doc="high corner")
    moves = Field(np.bool_, doc="whether it has a motion")


class Poses(Record):
    """Poses of each collider relative to each origin, as matrix and position; row g K + k, G K rows."""

    before = Field(real, 12, doc="at the start of the substep")
    after = Field(real, 12, doc="at its end")
    reference = Field(real, 12, doc="at the last detection")
    far = Field(real, 12, doc="at the end of the step, as known at the last detection")


class Motion(Record):
    """Poses in the world at the start of the step and at the end of each substep s; row (s + 1) K + k."""

    pose = Field(np.float64, 12, doc="matrix and position [m]")


class Ignored(Record):
    """Colliders that objects pass through; row t K + k for object t."""

    passes = Field(np.bool_)


class ContactParticles(Record, ragged=True):
    """Particles as the contacts see them, N rows; the surface is that of each object.

    What is told for elements only, `travelled` and `displacement`, has no rows where there are none.
    """

    radius = Field(real, unit="m", doc="distance to keep")
    object_index = Field(np.uint16, doc="object that the particle belongs to")
    surface = Field(real, 4, doc="friction, static friction, restitution, compliance [m/N]")
    start_velocity = Field(real, 3, unit="m/s", doc="at the start of the substep; none where nothing bounces")
    detected_position = Field(real, 3, unit="m", doc="position at the last detection")
    margin = Field(real, unit="m", doc="distance that the particle may go before the next detection")
    travelled = Field(
        real, unit="m", doc="distance gone since the last detection, with the displacement in the substep"
    )
    last_position = Field(real, 3, unit="m", doc="position up to which its path is known")
    path = Field(real, unit="m", doc="length of its path since the last detection")
    settled = Field(real, unit="m", doc="length of its path up to which colliders change nothing; or -1")
    has_elements = Field(np.bool_, doc="one row: whether there are elements")
    moved_in = Field(np.uint32, doc="pass over the contacts that last moved it noticeably, see `was_moved`")
    displacement = Field(real, unit="m", doc="in this substep; only that of elements is kept up to date")


class Search(Record):
    """One row: the state of the detection."""

    stale = Field(np.int64, doc="whether the lists have to be made anew")
    factor = Field(real, doc="margin of a particle, in displacements of a step")
    drop = Field(real, unit="m/s", doc="by how much speeds may change in a step")
    refresh = Field(np.int64, doc="whether the pairs of elements with meshes are to be taken anew")
    detections = Field(np.int64, doc="how often the lists were made in this step")


class Elements(Record):
    """Items of a list of contacts: particles, three times the same; segments, the last one twice; triangles."""

    points = Field(np.uint32, 3)


class Marks(Record):
    """Colliders near each item as bits; so many words for each item."""

    word = Field(np.uint8)


class Items(Record):
    """Items near a collider, ascending; particles have `bound`, triangles and segments `points` and `bounds`."""

    item = Field(np.uint32)
    first = Field(np.int32, doc="its first contact")
    end = Field(np.int32, doc="end of its contacts")
    bound = Field(real, unit="m", doc="least bound of its contacts with other colliders than meshes", optional=True)
    points = Field(np.uint32, 3, doc="its particles", optional=True)
    bounds = Field(real, 3, unit="m", doc="least bounds of its contacts with other than meshes", optional=True)


class Contacts(Record):
    """Candidate pairs of an item and a collider, with the state of their contact in the substep.

    Particles have `bound`; triangles and segments `bounds`, `weights` and `plane`; grains that turn
    `rolling_correction`.
    """

    item = Field(np.uint32)
    solid = Field(np.uint32)
    normal_correction = Field(real, unit="m", doc="displacement along the normal so far")
    friction_correction = Field(real, 3, unit="m", doc="displacement by friction so far, world axes")
    rolling_correction = Field(real, 3, unit="m", doc="turn of the surface against rolling so far", optional=True)
    normal = Field(real, 3, doc="world axes")
    gap = Field(real, unit="m", doc="gap at the start of the substep")
    bound = Field(real, unit="m", doc="length of the path, see `path`, up to which it is apart", optional=True)
    bounds = Field(real, 3, unit="m", doc="those of its three particles", optional=True)
    weights = Field(real, 3, doc="weights of the point of the item that touches", optional=True)
    plane = Field(real, 4, doc="plane that the collider lies behind, in its axes, see `planar_gaps`", optional=True)
    impulse = Field(np.float64, 3, unit="N s", doc="sum over the step of the impulses on the item")
    carried = Field(np.bool_, doc="of an old one: whether it is in the list that replaced it", optional=True)


class Counts(Record):
    """One row: how many rows of the lists are in use."""

    items = Field(np.int64)
    contacts = Field(np.int64)
    old = Field(np.int64, doc="contacts before the last detection")
    kept = Field(np.int64, doc="contacts that pushed in this step and are in no list any more")
    needed = Field(np.int64, doc="room needed for these")


class Colours(Record):
    """Where the items of each colour start; one row more than there are colours."""

    whole = Field(np.int64, doc="among all items")
    start = Field(np.int64, doc="among those near a collider")


class Sums(Record):
    """One row for each block of particles."""

    squares = Field(np.float64, unit="m^2/s^2", doc="sum of the squares of the speeds")
