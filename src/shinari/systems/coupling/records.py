"""Records of the contacts of particles, triangles and segments with bodies."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Field, Record, real

if TYPE_CHECKING:
    from shinari.systems.rigid.body_shapes import BodyShapes


class BodyShapeTable(Record):
    """Shapes of all bodies, K rows."""

    kind = Field(np.int64, doc="kind, see `shinari.shapes.registry`")
    size = Field(np.float64, 4, doc="its numbers")
    local_pose = Field(np.float64, 12, doc="pose in the axes of its frame: matrix by rows, position [m]")
    frame = Field(np.int64, doc="its frame, which is the index of its body")
    jointed = Field(np.bool_, doc="whether a joint holds its body, which answers after the sweeps")
    low = Field(np.float64, 3, unit="m", doc="low corner of its box in its own axes")
    high = Field(np.float64, 3, unit="m", doc="high corner")
    centre = Field(np.float64, 3, unit="m", doc="middle of the box in the axes of the frame")
    radius = Field(np.float64, unit="m", doc="half the diagonal of the box")
    reach = Field(np.float64, unit="m", doc="how far a point of it can be from the origin of its frame")
    convex = Field(
        np.float64, unit="m", doc="distance up to which all of it is behind each plane that touches it; -1: not convex"
    )
    surface = Field(np.float64, 4, doc="friction, static friction, restitution, compliance [m/N]")
    middle = Field(np.float64, 3, unit="m", doc="middle of the box in the world")
    margin = Field(np.float64, unit="m", doc="distance that it may go before the next detection")
    travel = Field(
        np.float64, unit="m", doc="distance that any point has gone since the detection, with that of the substep"
    )


def body_shape_table(body_shapes: "BodyShapes") -> BodyShapeTable:
    """Record of the shapes of bodies."""
    table = BodyShapeTable.zeros(body_shapes.count, np.float64)
    names = {
        "kind": "kinds",
        "size": "sizes",
        "local_pose": "local_poses",
        "frame": "frames",
        "low": "lows",
        "high": "highs",
        "centre": "centres",
        "radius": "radii",
        "reach": "reaches",
        "convex": "convex",
        "surface": "surfaces",
    }
    for field, name in names.items():
        table.arrays[field][...] = getattr(body_shapes, name)
    return table


class BodySweeps(Record):
    """Frames while contacts with particles are solved, F rows."""

    pinches = Field(np.bool_, doc="whether it begins the substep with pushes on a light particle on another heavy body")
    before = Field(np.float64, 4, doc="quaternion before a sweep")
    torque = Field(np.float64, 3, unit="N m s", doc="moment of the impulses of a sweep")
    reference_x = Field(np.float64, 3, unit="m", doc="origin at the last detection")
    reference_q = Field(np.float64, 4, doc="quaternion at the last detection")
    start_v = Field(np.float64, 3, unit="m/s", doc="velocity at the start of the substep")
    start_w = Field(np.float64, 3, unit="rad/s", doc="angular velocity at the start of the substep")
    path = Field(np.float64, 2, unit="m, rad", doc="how far it has gone and turned since the detection, added up")
    stride = Field(np.float64, 2, unit="m, rad", doc="how far it has gone and turned in the substep")
    last_x = Field(np.float64, 3, unit="m", doc="origin up to which the path is known")
    last_q = Field(np.float64, 4, doc="quaternion up to which the path is known")
    left_x = Field(np.float64, 3, unit="m", doc="origin after the last sweep")
    left_q = Field(np.float64, 4, doc="quaternion after the last sweep")
    response = Field(
        np.float64, 6, unit="m, rad", doc="displacement by joints and contacts of bodies since the prediction"
    )
    expected = Field(np.float64, 6, unit="m, rad", doc="the same in the last substep, to the pushes that go on")
    pushed = Field(np.float64, unit="kg m", doc="sum of the pushes along the normals at the end of the substep")
    kept = Field(np.float64, unit="kg m", doc="part of it that goes on to the next substep")


class ContactParticles(Record):
    """Particles as the contacts see them, N rows."""

    radius = Field(real, unit="m", doc="distance to keep")
    object = Field(np.uint16, doc="object that the particle belongs to")
    surface = Field(real, 4, doc="friction, static friction, restitution, compliance [m/N]")
    average = Field(real, unit="1/kg", doc="inverse of the mean mass of the particles of its object")
    active = Field(np.bool_, doc="False for a particle that waits in an emitter, or that a sink has taken")
    start_velocity = Field(real, 3, unit="m/s", doc="velocity at the start of the substep")
    detected_position = Field(real, 3, unit="m", doc="position at the last detection")
    margin = Field(real, unit="m", doc="distance that it may go before the next detection")
    last_position = Field(real, 3, unit="m", doc="position up to which the path is known")
    path = Field(real, unit="m", doc="length of its path since the detection")
    solid = Field(np.int64, doc="what it lies on, see `shinari.systems.colliders.supports`")
    normal = Field(real, 3, doc="normal of that")
    offset = Field(real, unit="m", doc="place of that along the normal")
    motion = Field(real, 3, unit="m", doc="displacement of that in the substep")
    grip = Field(real, doc="coefficient of friction there")
    hold = Field(real, 3, unit="m", doc="displacement by friction there against such pushes")
    push = Field(real, unit="m", doc="displacement by which that has stopped pushes from the other side")
    pressed = Field(np.bool_, doc="whether a heavy body is near on the other side")
    noted_push = Field(real, unit="m", doc="part of `push` that it knows of")
    noted_hold = Field(real, 3, unit="m", doc="part of `hold` that it knows of")
    foot = Field(np.float64, 3, unit="m", doc="a point of its plane, in the axes of the body")
    yields = Field(np.float64, unit="1/kg", doc="how far it gives way along the normal, if it is a body")


class Items(Record):
    """Items of a list of contacts: particles, segments and triangles."""

    points = Field(np.uint32, 3, doc="its particles: a particle three times, the last one of a segment twice")
    object = Field(np.int64, doc="object that it belongs to")
    middle = Field(np.float64, 3, unit="m", doc="its middle in the world, at a detection")
    reach = Field(np.float64, unit="m", doc="how far from there pieces are near, besides their margins; -1 for none")
    free = Field(np.bool_, doc="whether it can move")


class Boxes(Record):
    """Boxes around the margins of all particles of each object in the world, and its candidates."""

    low = Field(np.float64, 3, unit="m")
    high = Field(np.float64, 3, unit="m")
    start = Field(np.int64, doc="its first candidate")
    end = Field(np.int64, doc="end of its candidates")


class Passes(Record):
    """Row t K + k: whether object t passes through piece k."""

    passes = Field(np.bool_)


class Candidates(Record):
    """Pieces that may be near an object, object by object."""

    body_shape = Field(np.int64)


class Contacts(Record):
    """Contacts of items with pieces, sorted by item, then by piece."""

    item = Field(np.int64)
    body_shape = Field(np.int64)
    multiplier = Field(np.float64, unit="kg m", doc="impulse along the normal in the substep, times the substep")
    friction_multiplier = Field(np.float64, 3, unit="kg m", doc="the same of friction")
    normal = Field(np.float64, 3, doc="world axes")
    gap = Field(np.float64, unit="m", doc="gap at the start of the substep")
    weights = Field(np.float64, 3, doc="weights of the point of the item that touches")
    bound = Field(
        np.float64,
        3,
        unit="m",
        doc="length of the paths of a particle and the piece until which they cannot touch, or hardly push otherwise",
    )
    plane = Field(np.float64, 4, doc="normal of a plane that the piece is behind, in its axes, and where it is [m]")
    along = Field(
        np.float64, unit="1/kg", doc="inverse mass of the item along the normal, with what it lies on; the least yet"
    )
    settled = Field(
        np.bool_, doc="whether the deepest point of an element has stayed where it was, and it is no impact"
    )
    impulse = Field(np.float64, 3, unit="N s", doc="sum over the step of the impulses on the item")


class Counts(Record):
    """One row: rows of a list in use."""

    contacts = Field(np.int64)
    old = Field(np.int64, doc="before the last detection")


class Progress(Record):
    """One row: the state of the detection and of the sweeps."""

    fall = Field(np.float64, unit="m", doc="displacement that gravity adds in a substep")
    stale = Field(np.int64, doc="whether the lists have to be made anew")
    detections = Field(np.int64, doc="how often the lists were made in this step")
    candidates = Field(np.int64)
    fresh = Field(np.int64, doc="whether the step begins without pushes")
    back = Field(np.int64, doc="whether the next sweep goes from the last to the first")
    forth = Field(np.int64, doc="the opposite")
    sweep = Field(np.int64, doc="number of the sweep")
    least = Field(np.int64, doc="fewest sweeps")
    done = Field(np.int64, doc="whether no more sweeps are needed")
    factor = Field(np.float64, doc="margin of a particle or a body, in displacements of a step")
    drop = Field(np.float64, unit="m/s", doc="by how much speeds may change in a step")
    escape = Field(np.float64, unit="m/s", doc="speed at which what was inside comes out")
    substep = Field(np.float64, unit="s")
    largest = Field(np.float64, unit="m", doc="farthest that a push moved a point and a body against each other")
    small = Field(np.float64, unit="m", doc="length below which that moves nothing")


class Sums(Record):
    """One row for each block of particles."""

    squares = Field(np.float64, unit="m^2/s^2", doc="sum of the squares of the speeds")


class Gravity(Record):
    """One row."""

    acceleration = Field(np.float64, 3, unit="m/s^2")
