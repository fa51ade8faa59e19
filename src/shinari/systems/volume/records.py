"""Records of closed meshes whose volume is kept."""

import numpy as np

from shinari.compute import Field, Record, real


class Faces(Record):
    """Faces of all meshes."""

    points = Field(np.uint32, 3, doc="particles")
    area = Field(real, 3, unit="m^2", doc="twice the area as a vector")


class Vertices(Record):
    """Vertices of all meshes, and a row at the end."""

    particle = Field(np.uint32)
    start = Field(np.int64, doc="where its faces start in the list")
    gradient = Field(real, 3, unit="m^2", doc="gradient of the volume")


class VertexFaces(Record):
    """Faces of each vertex, one vertex after another."""

    face = Field(np.uint32)


class Chunks(Record):
    """Faces or vertices of a partial sum."""

    bounds = Field(np.int64, 4, doc="first, last (exclusive), mesh, and a particle of the mesh")
    sum = Field(np.float64)


class Meshes(Record):
    """Closed meshes."""

    faces = Field(np.int64, 2, doc="first and last (exclusive) of its chunks of faces")
    vertices = Field(np.int64, 2, doc="the same of its chunks of vertices")
    volume = Field(np.float64, unit="m^3", doc="the volume that it is to have")
    scaled_compliance = Field(np.float64)
    closed = Field(np.bool_)
    multiplier = Field(np.float64, saved=True)
    change = Field(np.float64, doc="of the multiplier")
