"""Makes the meshes that the package ships: `python scripts/make_meshes.py`. Needs scipy.

The kerchief is a round cloth of irregular triangles with a scalloped rim and a round hole, flat in the XZ plane, its
normals along +Y.
"""

from pathlib import Path

import numpy as np
from scipy.spatial import Delaunay

from shinari.geometry.files.meshes import write_mesh

SCENES = Path(__file__).parent.parent / "src" / "shinari" / "scenes"

RADIUS, SCALLOP, SCALLOPS = 0.5, 0.02, 18
HOLE = 0.06
SPACING = 0.0205
RELAXATIONS = 12


def rim(angle: np.ndarray) -> np.ndarray:
    """Radius of the rim [m] at an angle."""
    return RADIUS - SCALLOP * (1.0 - np.abs(np.cos(0.5 * SCALLOPS * angle)))


def ring(radius_at: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Points (N, 2) at those angles and radii."""
    return np.stack([radius_at * np.cos(angles), radius_at * np.sin(angles)], axis=1)


def kerchief() -> tuple[np.ndarray, np.ndarray]:
    """Vertices (V, 3) [m] and faces (F, 3)."""
    count = SCALLOPS * round(2.0 * np.pi * RADIUS / SPACING / SCALLOPS)
    angles = 2.0 * np.pi * np.arange(count) / count
    outer = ring(rim(angles), angles)
    holes = round(2.0 * np.pi * HOLE / SPACING)
    inner = ring(np.full(holes, HOLE), 2.0 * np.pi * np.arange(holes) / holes)
    edge = np.concatenate([outer, inner])

    random = np.random.default_rng(7)
    half = int(RADIUS / SPACING * 1.2)
    i, j = np.meshgrid(np.arange(-half, half + 1), np.arange(-half, half + 1))
    lattice = SPACING * np.stack([i + 0.5 * (j % 2), j * np.sqrt(0.75)], axis=-1).reshape(-1, 2)
    lattice += random.uniform(-0.35, 0.35, lattice.shape) * SPACING
    free = lattice[_depth(lattice) > 0.6 * SPACING]
    for _ in range(RELAXATIONS):
        points = np.concatenate([edge, free])
        faces = _inside(points, Delaunay(points).simplices)
        free = _relaxed(points, faces)[len(edge) :]
    points = np.concatenate([edge, free])
    faces = _inside(points, Delaunay(points).simplices)
    a, b, c = (points[faces[:, k]] for k in range(3))
    area = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    # x, y of the plane become x, z of the world: a triangle that turns left there looks down
    faces[area > 0] = faces[area > 0][:, ::-1]
    vertices = np.zeros((len(points), 3))
    vertices[:, [0, 2]] = points
    return np.round(vertices, 5), faces


def _depth(points: np.ndarray) -> np.ndarray:
    """Distance to the rim or the hole [m], about, positive inside the cloth."""
    radius = np.linalg.norm(points, axis=1)
    return np.minimum(rim(np.arctan2(points[:, 1], points[:, 0])) - radius, radius - HOLE)


def _inside(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Triangles that are cloth: not in the hole, not across a notch of the rim."""
    middle = points[faces].mean(axis=1)
    corners = points[faces]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    (u, v) = (corners[:, 1] - corners[:, 0]).T, (corners[:, 2] - corners[:, 0]).T
    height = np.abs(u[0] * v[1] - u[1] * v[0]) / longest
    return faces[(_depth(middle) > 0.0) & (height > 0.15 * SPACING)]


def _relaxed(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Every point halfway to the mean of its neighbours."""
    pairs = np.unique(np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1), axis=0)
    total, degree = np.zeros_like(points), np.zeros(len(points))
    for a, b in (pairs.T, pairs.T[::-1]):
        np.add.at(total, a, points[b])
        np.add.at(degree, a, 1.0)
    mean = total / np.maximum(degree, 1.0)[:, None]
    return points + 0.5 * np.where(degree[:, None] > 0, mean - points, 0.0)


if __name__ == "__main__":
    vertices, faces = kerchief()
    write_mesh(SCENES / "kerchief.obj", vertices, faces)
    print(f"kerchief.obj: {len(vertices)} vertices, {len(faces)} triangles")
