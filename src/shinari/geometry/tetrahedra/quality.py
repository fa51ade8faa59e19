"""How good tetrahedra are for a solver that projects one after another.

A projection divides by the gradients of the volume and of the deformation, which grow like one over the heights of a
tetrahedron: a sliver, flat without a short edge, turns a small error into a large step, and takes many iterations to
come to rest with its neighbours. Two measures see every kind of flatness, both 1 for the regular tetrahedron and 0 for
one without volume:

    shape           6 sqrt(2) V / l_rms^3, volume over the cube of the root mean square of the edges (Parthasarathy,
                    Graichen, Hathaway 1994): smooth, and the one that is summed up
    radius ratio    3 times the radius of the inscribed sphere over that of the circumscribed one

Angles between faces are what meshing papers bound; a sliver has one near 0 and one near 180 degrees.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shinari.geometry.tetrahedra.check import EDGES, FACES, volumes

BINS = 10


@dataclass(frozen=True, eq=False)
class Quality:
    """Measures of each tetrahedron.

    Attributes:
        shape: 6 sqrt(2) V / l_rms^3, (T,); 1 when regular, negative when inverted.
        radius_ratio: 3 r / R, (T,); 1 when regular.
        angles: Smallest and largest angle between two faces [degrees], (T, 2).
        volume: Of all tetrahedra [m^3].
    """

    shape: NDArray[np.float64]
    radius_ratio: NDArray[np.float64]
    angles: NDArray[np.float64]
    volume: float

    @property
    def worst(self) -> int:
        """Tetrahedron of the smallest shape."""
        return int(self.shape.argmin())

    @property
    def histogram(self) -> NDArray[np.int64]:
        """Tetrahedra whose shape is in [0, 0.1), [0.1, 0.2), ..., [0.9, 1], (10,); inverted ones count as 0."""
        return np.histogram(np.clip(self.shape, 0.0, 1.0), BINS, (0.0, 1.0))[0]

    def __str__(self) -> str:
        low, high = self.angles[:, 0].min(), self.angles[:, 1].max()
        return (
            f"{len(self.shape)} tetrahedra, {self.volume:.4g} m^3, shape at least {self.shape.min():.2f}, "
            f"mean {self.shape.mean():.2f}, angles {low:.1f} to {high:.1f} degrees"
        )


def shapes(x: NDArray[np.float64], tetrahedra: NDArray[np.integer]) -> NDArray[np.float64]:
    """Shape of each tetrahedron, 6 sqrt(2) V / l_rms^3, (T,), of vertices (V, 3) [m]; see `Quality`."""
    return _shapes(volumes(x, tetrahedra), _squared_edges(x, tetrahedra))


def _squared_edges(x: NDArray[np.float64], tetrahedra: NDArray[np.integer]) -> NDArray[np.float64]:
    corners = x[tetrahedra]
    spans = corners[:, EDGES[:, 1]] - corners[:, EDGES[:, 0]]
    return np.einsum("tek,tek->te", spans, spans)


def _shapes(volume: NDArray[np.float64], squares: NDArray[np.float64]) -> NDArray[np.float64]:
    return 6.0 * np.sqrt(2.0) * _over(volume, squares.mean(axis=1) ** 1.5)


def measure_quality(vertices: NDArray[np.floating], tetrahedra: NDArray[np.integer]) -> Quality:
    """Measure each tetrahedron.

    Args:
        vertices: Positions [m], (V, 3).
        tetrahedra: Vertex indices, (T, 4).
    """
    x = np.asarray(vertices, np.float64)
    corners, squares, volume = x[tetrahedra], _squared_edges(x, tetrahedra), volumes(x, tetrahedra)
    shape = _shapes(volume, squares)
    # outward normals as long as twice the area; r = 3 V / A, and R from the products of opposite edges (Crelle)
    a, b, c = (corners[:, FACES[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    lengths = np.linalg.norm(normals, axis=2)
    inner = 6.0 * _over(volume, lengths.sum(axis=1))
    p, q, r = (np.sqrt(squares[:, i] * squares[:, 5 - i]) for i in range(3))
    # the sum of three is written so that rounding makes no negative number of it
    heron = (p + q + r) * np.maximum(p + q - r, 0.0) * np.maximum(p - q + r, 0.0) * np.maximum(q + r - p, 0.0)
    ratio = 3.0 * inner * _over(24.0 * np.abs(volume), np.sqrt(heron))
    unit = normals / np.where(lengths > 0.0, lengths, 1.0)[:, :, None]
    # the angle by its half: exact for flat ones too
    i, j = EDGES.T
    angle = 2.0 * np.arctan2(
        np.linalg.norm(unit[:, i] + unit[:, j], axis=2), np.linalg.norm(unit[:, i] - unit[:, j], axis=2)
    )
    angles = np.degrees(np.stack([angle.min(axis=1), angle.max(axis=1)], axis=1))
    return Quality(shape, ratio, angles, float(volume.sum()))


def drop_worst(
    vertices: NDArray[np.floating], tetrahedra: NDArray[np.integer], least: float
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Leave out the tetrahedra of a poor shape, and the vertices that only they have.

    For meshes from files with a few slivers, which carry next to no mass. Their place stays empty, so this is no cure
    for a mesh with many, or with large ones.

    Args:
        vertices: Positions [m], (V, 3).
        tetrahedra: Vertex indices, (T, 4), positively oriented.
        least: Smallest shape that stays: see `Quality`.

    Returns:
        Vertices, tetrahedra, and the numbers of those that were left out, for a message.
    """
    shape = measure_quality(vertices, tetrahedra).shape
    used, numbered = np.unique(tetrahedra[shape >= least], return_inverse=True)
    return (
        np.asarray(vertices, np.float64)[used],
        numbered.reshape(-1, 4).astype(np.int64),
        np.flatnonzero(~(shape >= least)),
    )


def _over(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quotient, 0 where the denominator is."""
    return numerator / np.where(denominator > 0.0, denominator, np.inf)
