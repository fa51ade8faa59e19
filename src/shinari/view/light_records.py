"""Records of the kernels that draw shadows and light, see `shinari.view.shadows`."""

import numpy as np

from shinari.compute import Field, Record


class Lamps(Record):
    """Directions to lights."""

    across = Field(np.float32, 3, doc="unit vector along the columns of the map")
    up = Field(np.float32, 3, doc="unit vector along its rows")
    towards = Field(np.float32, 3, doc="unit vector to the light")
    cells = Field(np.int64, doc="cells of a depth map along an edge")


class Map(Record):
    """Cells of depth maps, map after map, row after row."""

    depth = Field(np.float32, unit="m", doc="distance of the nearest object towards the light, -inf: none")


class Triangles(Record):
    """Triangles that throw shadows, from the middle."""

    corner = Field(np.float32, (3, 3), unit="m")


class Spheres(Record):
    """Spheres that throw shadows, from the middle."""

    ball = Field(np.float32, 4, unit="m", doc="centre and radius")


class Floor(Record):
    """Points of the grid on the ground, row after row."""

    light = Field(np.float32)


class Pixels(Record):
    """Samples as VTK drew them, row after row, first row below."""

    color = Field(np.uint8, 3)
    depth = Field(np.float32, doc="1 where nothing is")


class Result(Record):
    """Pixels of the picture, row after row, first row above."""

    color = Field(np.uint8, 3)


class Picture(Record):
    """One row: camera and ground; places count from the middle."""

    size = Field(np.int64, 3, doc="rows and columns of samples, and how many of them make a pixel along an edge")
    eye = Field(np.float32, 3, unit="m")
    axes = Field(np.float32, (3, 3), doc="right, up, ahead")
    lens = Field(np.float32, 4, doc="half the width and the height of the picture at 1 m; near and far plane [m]")
    ground = Field(np.float32, 3, unit="m", doc="height, size of the motion, distance of the lines or 0")
    offset = Field(np.float32, 3, unit="m", doc="the middle in the world")
    wide = Field(np.float32, unit="m", doc="half the edge of the grid on the ground")
    reach = Field(np.float32, unit="m", doc="half the edge of a depth map")
    top = Field(np.float32, 3, doc="background above, 0 to 255")
    bottom = Field(np.float32, 3, doc="background below")
