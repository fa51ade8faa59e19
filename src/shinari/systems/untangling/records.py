"""Records of surfaces that intersect."""

import numpy as np

from shinari.compute import Field, Record, real


class SheetEdges(Record):
    """Edges of triangles."""

    points = Field(np.uint32, 2)
    object_index = Field(np.uint16)
    face = Field(np.int64, 2, doc="triangles on both sides; -1: none")
    crossed = Field(np.bool_, doc="whether it pierces a triangle")


class SheetTriangles(Record):
    """Triangles."""

    points = Field(np.uint32, 3)
    object_index = Field(np.uint16)
    outward = Field(real, doc="1 or -1 where the surface is closed: sign of its normal outwards; else 0")
    hollow = Field(np.bool_, doc="whether the object is no solid and nothing of it is held")


class SheetPoints(Record):
    """Particles, N rows."""

    area = Field(np.float64, unit="m^2", doc="part of the surface; more than all of it where the particle is fixed")
    tied = Field(np.bool_, doc="whether it is near a joint with another object")
    blocked = Field(np.bool_, doc="whether a contour ends there because its two curves meet")
    near = Field(np.bool_, doc="whether it belongs to an edge or triangle on a contour that separates nothing")
    region = Field(np.int64, doc="first particle of its region: what edges that pierce nothing join")
    size = Field(np.float64, unit="m^2", doc="area of the region, at its first particle")
    opponents = Field(np.uint64, doc="objects that the region is pulled out of, as bits; at its first particle")

    pulled = Field(np.bool_, doc="whether an edge of the region pierces something; at its first particle")
    mass = Field(np.float64, unit="kg", doc="of the region, at its first particle")
    momentum = Field(np.float64, 3, unit="kg m/s", doc="the same")
    fastest = Field(np.float64, unit="m/s", doc="largest speed in the region relative to its mean; the same")


class Crossings(Record):
    """Edges that pierce triangles."""

    edge = Field(np.int64)
    triangle = Field(np.int64)
    place = Field(real, doc="where on the edge, 0 to 1")
    weights = Field(real, 3, doc="where on the triangle")
    above = Field(real, doc="1 where the first end of the edge lies on the side of the normal, else -1")
    push = Field(real, 3, doc="direction in which the edge is to move relative to the triangle; zero: not known")


class Contours(Record):
    """Curves along which two surfaces intersect; sums stand at the first crossing of each."""

    first = Field(np.int64, doc="first crossing of the contour, or one nearer to it")
    swapped = Field(np.int64, doc="whether edge and triangle have the other roles than at that one")
    small = Field(np.float64, 2, unit="m^2", doc="size of the smallest region that it separates from each surface")
    region = Field(np.int64, 2, doc="that region")
    ends = Field(np.int64, 2, doc="boundary edges of each surface that pierce the other")
    along = Field(np.float64, 3, unit="m", doc="from the ends of the first surface to those of the second")


class FacePairs(Record):
    """Pairs of triangles that intersect, by a hash of their numbers."""

    key = Field(np.int64, doc="-1: free")
    crossing = Field(np.int64)


class TangleState(Record):
    """One row."""

    crossings = Field(np.int64)
    pauses = Field(np.int64, doc="whether small contours are let pass in this step, and not pulled")
    slots = Field(np.int64, doc="room for pairs of triangles")
