"""Records of shape matching: clusters, their members, the pieces that sums run over, particles and lumps."""

import numpy as np

from shinari.compute import Field, Record, real


class Members(Record):
    """Members of clusters, cluster after cluster, E rows."""

    particle = Field(np.uint32)
    cluster = Field(np.int64)
    rest = Field(real, 3, unit="m", doc="place at rest from the centre of the cluster")
    weight = Field(np.float64, unit="kg", doc="mass in the cluster")


class Clusters(Record):
    """Clusters, C rows."""

    origin = Field(np.uint32, doc="particle from which sums are counted")
    chunks = Field(np.int64, 2, doc="first piece and the one after the last, of its kind")
    mass = Field(np.float64, unit="kg")
    inverse = Field(np.float64, 9, unit="1/(kg m^2)", doc="inverse of sum m q q^T on what it spans, by rows")
    open_part = Field(np.float64, 9, doc="projection on what it does not span, by rows")
    law = Field(np.float64, 4, doc="beta, yield, creep [1/s] and largest plastic strain")
    rotation = Field(np.float64, 4, doc="w x y z, followed from step to step", saved=True)
    centre = Field(np.float64, 3, unit="m")
    map = Field(np.float64, 9, doc="map of the place at rest to the goal, by rows; of a quadratic one, its linear part")
    quadratic = Field(np.int64, doc="number among the quadratic clusters, or -1")


class Chosen(Record):
    """The linear clusters, or those of them that flow."""

    cluster = Field(np.int64)


class Plastic(Record):
    """Plastic deformations, C rows, or none where nothing yields."""

    shape = Field(np.float64, 9, doc="by rows", saved=True)


class Quadratic(Record):
    """Quadratic clusters, Q rows."""

    cluster = Field(np.int64)
    length = Field(np.float64, unit="m", doc="length that makes products of coordinates lengths")
    inverse = Field(np.float64, (9, 9), doc="inverse of the moments of all nine columns")
    mean = Field(np.float64, 6, unit="m", doc="means of the products of coordinates")
    map = Field(np.float64, (3, 9), doc="map of the nine columns to the goal")


class Chunks(Record):
    """Pieces of linear clusters: at most `CHUNK` members of one."""

    cluster = Field(np.int64)
    begin = Field(np.int64, doc="first member")
    end = Field(np.int64, doc="member after the last one")
    first = Field(np.float64, 3, unit="kg m", doc="sum of m (x - x0)")
    moment = Field(np.float64, 9, unit="kg m^2", doc="sum of m (x - x0) q^T, by rows")


class QuadraticChunks(Record):
    """Pieces of quadratic clusters."""

    cluster = Field(np.int64)
    begin = Field(np.int64, doc="first member")
    end = Field(np.int64, doc="member after the last one")
    first = Field(np.float64, 3, unit="kg m", doc="sum of m (x - x0)")
    moment = Field(np.float64, (3, 9), unit="kg m^2", doc="sum of m (x - x0) q^T with nine columns")


class Matched(Record):
    """Particles of lumps, lump after lump, P rows."""

    particle = Field(np.uint32)
    lump = Field(np.int64)
    entries = Field(np.int64, 2, doc="first entry and the one after the last")
    displacement = Field(real, 3, unit="m", doc="by matching, in this substep")
    velocity = Field(real, 3, unit="m/s", doc="velocity of the prediction")


class Entries(Record):
    """Members of clusters, particle after particle, E rows."""

    member = Field(np.int64)


class Lumps(Record):
    """Lumps, L rows."""

    origin = Field(np.uint32, doc="particle from which sums are counted")
    chunks = Field(np.int64, 2, doc="first piece and the one after the last")
    share = Field(np.float64, 2, doc="s and r of `kernels.move_to_goal`")
    held = Field(np.bool_, doc="whether a particle of it is fixed")
    rigid = Field(np.bool_, doc="whether it is a free rigid body")
    centre = Field(np.float64, 3, unit="m")
    spin = Field(np.float64, 3, unit="rad/s", doc="change of angular velocity")


class LumpChunks(Record):
    """Pieces of lumps: at most `CHUNK` particles of one."""

    lump = Field(np.int64)
    begin = Field(np.int64, doc="first particle among those of the lumps")
    end = Field(np.int64, doc="particle after the last one")
    mass = Field(np.float64, unit="kg")
    first = Field(np.float64, 3, unit="kg m", doc="sum of m r, r counted from the origin")
    second = Field(np.float64, 6, unit="kg m^2", doc="sum of m r r^T: xx, yy, zz, yz, zx, xy")
    momentum = Field(np.float64, 3, unit="kg m/s", doc="sum of m v, of rigid lumps")
    spin = Field(np.float64, 3, unit="kg m^2/s", doc="change of spin; or of rigid lumps the sum of m r cross v")
