"""Seams, fold lines and elastic bands of a cloth, as a user gives them, and what a cloth keeps of them."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from shinari import check
from shinari.errors import SceneError

EASE = 0.02
"""Difference of the lengths of both sides of a seam that is taken for rounding of a pattern."""


def length_rounding(parts: int, largest: float) -> float:
    """How far two lines of equal length may be apart by rounding [m].

    Coordinates are rounded by half a unit in the last place when they are given, and in each of about eight operations
    that divide, turn and move a line; both ends of each part, of both lines.

    Args:
        parts: Parts of both lines.
        largest: Largest coordinate in size [m].
    """
    return 2.0 * (1 + 8) * 0.5 * np.finfo(np.float64).eps * parts * largest


@dataclass(frozen=True, eq=False)
class Seam:
    """Two rows of vertices of a cloth that are sewn together, vertex for vertex.

    They are drawn together at a constant rate; bending runs across the closed seam as in one sheet. A vertex may be in
    several seams.

    Attributes:
        first: Vertices of one side, (K,).
        second: Vertices of the other side, (K,), in the same order.
        closing_time: Time in which it closes [s]; 0: at once.
        ease: Largest difference of the lengths of both sides at rest, as a part of the longer one; rounding is free.

    Raises:
        SceneError: The sides have different numbers of vertices, or a value is outside its bounds.
    """

    first: Any
    second: Any
    closing_time: float = 0.5
    ease: float = EASE

    def __post_init__(self) -> None:
        for field in ("first", "second"):
            object.__setattr__(self, field, check.indices("Seam", field, getattr(self, field), check.MOST))
        if len(self.first) != len(self.second):
            raise SceneError(
                f"Seam: second: first has {len(self.first)} vertices and second {len(self.second)}; vertices are sewn "
                f"in pairs: divide both edges into as many parts, as Pattern does"
            )
        if len(self.first) == 0:
            raise SceneError("Seam: first: a seam needs at least one pair of vertices")
        same = np.flatnonzero(self.first == self.second)
        if len(same):
            raise SceneError(f"Seam: second: pair {same[0]} sews vertex {self.first[same[0]]} to itself")
        object.__setattr__(self, "closing_time", check.number("Seam", "closing_time", self.closing_time, least=0.0))
        object.__setattr__(self, "ease", check.number("Seam", "ease", self.ease, least=0.0, most=1.0))


@dataclass(frozen=True, eq=False)
class Fold:
    """A line along edges of a cloth at which it is bent at rest.

    Attributes:
        vertices: Vertices along the line, (K,), each next to the one before along an edge.
        angle: Angle between the normals on both sides at rest [rad], above -pi and below pi; positive where the sides
            fall away from the side that the normals point to (a ridge), negative in a valley.
        stiffness: Bending stiffness along the line over that of the sheet.

    Raises:
        SceneError: Fewer than two vertices, or a value is outside its bounds.
    """

    vertices: Any
    angle: float
    stiffness: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", _line("Fold", self.vertices))
        angle = check.number("Fold", "angle", self.angle, above=-np.pi)
        if angle >= np.pi:
            raise SceneError(f"Fold: angle: must be below pi, got {angle:g}; angles are in radians")
        object.__setattr__(self, "angle", angle)
        object.__setattr__(self, "stiffness", check.number("Fold", "stiffness", self.stiffness, above=0.0))


@dataclass(frozen=True, eq=False)
class ElasticBand:
    """An elastic band sewn onto edges of a cloth.

    Attributes:
        vertices: Vertices along the band, (K,), each next to the one before along an edge; the first one again at the
            end closes it.
        ratio: Length of the band at rest over that of the cloth beneath it.
        stiffness: Force over strain of the band [N]: Young's modulus times cross section.

    Raises:
        SceneError: Fewer than two vertices, or a value is outside its bounds.
    """

    vertices: Any
    ratio: float = 0.8
    stiffness: float = 20.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", _line("ElasticBand", self.vertices))
        for field in ("ratio", "stiffness"):
            object.__setattr__(self, field, check.number("ElasticBand", field, getattr(self, field), above=0.0))


Sewing: TypeAlias = Seam | Fold | ElasticBand


@dataclass(frozen=True, eq=False)
class Tailoring:
    """What a cloth has beyond its mesh and its material; vertices are local indices.

    Attributes:
        rest: Rest shape: vertices of another mesh [m], (V, 3), or coordinates of the corners of all faces in the plane
            [m], (F, 3, 2); None: the shape at the start.
        stiffness: Factor of all stiffnesses at each vertex, (V,); None: one.
        pins: Weights of pins, (V,), from 0, free, to 1, fixed; None: none.
        seams: Vertices that are sewn together, (S, 2).
        closing: Closing time of each pair [s], (S,).
        folds: Edges of fold lines, (K, 2).
        angles: Angle at rest [rad] and factor of the stiffness of each, (K, 2).
        bands: Edges of elastic bands, (B, 2).
        elastic: Length at rest over that of the cloth, and stiffness [N] of each, (B, 2).
    """

    rest: np.ndarray | None
    stiffness: np.ndarray | None
    pins: np.ndarray | None
    seams: np.ndarray
    closing: np.ndarray
    folds: np.ndarray
    angles: np.ndarray
    bands: np.ndarray
    elastic: np.ndarray

    def check(self, label: str, vertices: int, faces: int) -> None:
        """Refuse wrong shapes and indices, in a changed file.

        Args:
            label: Name of the object, for messages.
            vertices: Vertices of the cloth.
            faces: Triangles of the cloth.

        Raises:
            SceneError: A shape or an index is wrong.
        """
        if self.rest is not None:
            flat = check.dimensions(label, "rest", self.rest) == 3
            check.array(label, "rest", self.rest, (faces, 3, 2) if flat else (vertices, 3))
        for field in ("stiffness", "pins"):
            if getattr(self, field) is not None:
                check.array(label, field, getattr(self, field), (vertices,))
        for pairs, values, width in (("seams", "closing", 0), ("folds", "angles", 2), ("bands", "elastic", 2)):
            count = len(getattr(self, pairs))
            if count:
                check.index_rows(label, pairs, getattr(self, pairs), 2, vertices)
            check.array(label, values, getattr(self, values), (count, width) if width else (count,))

    def joined(self, vertices: int) -> np.ndarray:
        """The least of the vertices with which each vertex is sewn together, (V,)."""
        first = np.arange(vertices)
        while True:
            least = np.minimum(first[self.seams[:, 0]], first[self.seams[:, 1]])
            before = first.copy()
            for side in range(2):
                np.minimum.at(first, self.seams[:, side], least)
            first = first[first]
            if np.array_equal(first, before):
                return first


def _line(label: str, value: Any) -> np.ndarray:
    vertices = check.indices(label, "vertices", value, check.MOST)
    if len(vertices) < 2:
        raise SceneError(f"{label}: vertices: a line needs at least two, got {len(vertices)}")
    return vertices
