r"""Rest shape of a cloth: the shape at the start, that of another mesh, or the plane of its texture coordinates.

In a plane every triangle has corners of its own, since a vertex on the border of two islands lies in both. An edge then
has the mean length of its two triangles, and a hinge is flat:

              c               both triangles unfolded to either side of the edge a -> b, each with the height and the
            /   \             foot that it has in its own island
          a ----- b
            \   /
              d

The same holds for the hinges that a seam makes, of two triangles that share no vertex.
"""

import numpy as np

from shinari.geometry.topology import edge_rows, hinge_rows, hinge_sides, sewn_sides
from shinari.scene.objects import ParticleObject


class RestShape:
    """Lengths, areas and stencils of a cloth at rest.

    Args:
        cloth: The cloth.

    Attributes:
        points: Vertices at rest [m], (V, 3); None: triangles have corners of their own.
        corners: Corners of the triangles at rest [m], (F, 3, 3).
        given: Whether it is not the shape at the start.
        hinges: Pairs of triangles with a common edge, then those that seams join: ends of the edge and the two far
            corners, (H, 4).
        hinge_points: These at rest [m], (H, 4, 3).
        seams: How many of the hinges are made by seams.

    Raises:
        SceneError: More than two triangles meet at an edge.
    """

    def __init__(self, cloth: ParticleObject) -> None:
        assert cloth.faces is not None
        faces, tailoring = np.asarray(cloth.faces, np.int64), cloth.tailoring
        rest = None if tailoring is None else tailoring.rest
        self.given = rest is not None
        self.points: np.ndarray | None = None
        if rest is not None and rest.ndim == 3:
            self.corners = np.concatenate([rest, np.zeros((*rest.shape[:2], 1))], axis=2)
        else:
            self.points = cloth.positions if rest is None else rest
            self.corners = self.points[faces]
        one, two = hinge_sides(faces, f"cloth {cloth.name!r}")
        joined = np.arange(len(cloth.positions))
        if tailoring is not None and len(tailoring.seams):
            joined = tailoring.joined(len(joined))
            sewn = sewn_sides(faces, joined)
            self.seams = len(sewn[0])
            one, two = np.concatenate([one, sewn[0]]), np.concatenate([two, sewn[1]])
        else:
            self.seams = 0
        self.hinges = hinge_rows(faces, one, two)
        inner = len(one) - self.seams
        self.hinge_points = np.zeros((len(one), 4, 3))
        if self.points is not None:
            self.hinge_points[:inner] = self.points[self.hinges[:inner]]
            self._unfold(slice(inner, None), faces, joined, one, two)
        else:
            self._unfold(slice(None), faces, joined, one, two)

    def _unfold(self, which: slice, faces: np.ndarray, joined: np.ndarray, one: np.ndarray, two: np.ndarray) -> None:
        """Lay both triangles of some hinges into a plane."""
        one, two = one[which], two[which]
        a, b, c = (self.corners[one // 3, (one + turn) % 3] for turn in range(3))
        start, end, d = (self.corners[two // 3, (two + turn) % 3] for turn in range(3))
        alike = (joined[faces[two // 3, two % 3]] == joined[faces[one // 3, one % 3]])[:, None]
        start, end = np.where(alike, start, end), np.where(alike, end, start)
        first, foot, height = _foot(a, b, c)
        second, other_foot, other_height = _foot(start, end, d)
        length = 0.5 * (first + second)
        points = self.hinge_points[which]
        points[:, 1, 0] = length
        points[:, 2, 0], points[:, 2, 1] = foot * length, height
        points[:, 3, 0], points[:, 3, 1] = other_foot * length, -other_height

    def squares(self, edges: np.ndarray, faces: np.ndarray) -> np.ndarray:
        """Square of the length of edges at rest [m^2], (E,).

        Args:
            edges: Ends of all edges of the mesh, (E, 2).
            faces: Its triangles, (F, 3).
        """
        if self.points is not None:
            return np.sum((self.points[edges[:, 0]] - self.points[edges[:, 1]]) ** 2, axis=1)
        sides = ((0, 1), (1, 2), (2, 0))
        at = edge_rows(np.concatenate([faces[:, side] for side in sides]), edges)
        lengths = [np.linalg.norm(self.corners[:, a] - self.corners[:, b], axis=1) for a, b in sides]
        total = np.bincount(at, np.concatenate(lengths), len(edges))
        return (total / np.bincount(at, minlength=len(edges))) ** 2


def _foot(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Length of the side from a to b, where along it the foot of c is, as a part, and the height of c."""
    side, to = b - a, c - a
    squares = np.einsum("hi,hi->h", side, side)
    length = np.sqrt(squares)
    return length, np.einsum("hi,hi->h", side, to) / squares, np.linalg.norm(np.cross(side, to), axis=1) / length
