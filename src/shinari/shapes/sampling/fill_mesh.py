"""A closed mesh filled with particles that have its mass, its centre of mass and its inertia."""

import numpy as np
from numpy.typing import NDArray

from shinari.compute import Field, Program, Record, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.threads import team
from shinari.errors import SceneError
from shinari.geometry.ordering import hilbert_order
from shinari.shapes.kernels.all_distances import mesh_distance
from shinari.shapes.kernels.encode import encode_shapes
from shinari.shapes.kernels.mesh_distance import MeshFields, mesh_fields
from shinari.shapes.mesh import Mesh

# Spacings a particle near the surface may be moved to lie just inside of it.
PULLS = 4
# A particle keeps at least this part of the mean mass when masses are made to fit.
LEAST_MASS = 0.1
# Points of a lattice that are looked at, at most: what is more is a slip in the unit of the spacing.
MOST_POINTS = 200_000_000


def closed_mesh(label: str, vertices: NDArray[np.float64], faces: NDArray[np.integer]) -> Mesh:
    """The mesh as a solid.

    Raises:
        SceneError: It is open, inside out, or has faces without area; the message says where.
    """
    try:
        return Mesh(vertices, faces, solid=True)
    except SceneError as error:
        text = str(error).replace("; give solid=False for a sheet", "").replace(", or give solid=False for a sheet", "")
        raise SceneError(f"{label}: mesh: {text.removeprefix('Mesh: ')}; only a closed mesh can be filled") from None


def fill(label: str, mesh: Mesh, spacing: float) -> NDArray[np.float64]:
    """Points of a cubic lattice in a closed mesh, as centres of balls that fill it, (N, 3) [m].

    The lattice spans the box around the mesh, its steps a little more or less than the spacing, so that balls of that
    width touch the box. Points less than half a spacing below the surface move inwards until they are, so that balls
    touch it from inside.

    Raises:
        SceneError: No point lies inside, the spacing is too large; the message offers one. Or it is far too small.
    """
    used = mesh.vertices[np.unique(mesh.faces)]
    low, high = used.min(axis=0), used.max(axis=0)
    size = high - low
    _, volume, _, _ = moments_of(mesh)
    if spacing > size.min() * (1.0 + 1e-9):
        raise SceneError(
            f"{label}: spacing: {spacing:g} m is larger than the body, which is {size.min():.3g} m thin; "
            f"{_offer(size.min() / 4.0)} m would be a quarter of that"
        )
    counts = np.maximum(np.round(size / spacing), 1.0)
    if counts.prod() > MOST_POINTS:
        raise SceneError(
            f"{label}: spacing: {spacing:g} m makes {volume / spacing**3:.3g} particles; "
            f"{_offer(float(np.cbrt(volume / 1e5)))} m would make 100,000"
        )
    inner = np.maximum(size - spacing, 0.0)
    axes = [
        0.5 * (low[k] + high[k]) + inner[k] * (np.arange(int(counts[k])) / max(counts[k] - 1.0, 1.0) - 0.5)
        if counts[k] > 1.0
        else np.array([0.5 * (low[k] + high[k])])
        for k in range(3)
    ]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    _, _, fields = encode_shapes([mesh], np.float64)
    found = np.empty((len(points), 4))
    distances_and_normals(found, fields, points)
    points, found = points[found[:, 0] < 0.0], found[found[:, 0] < 0.0]
    if len(points) == 0:
        raise SceneError(
            f"{label}: spacing: {spacing:g} m is too large, no particle lies inside the mesh; "
            f"{_offer(float(np.cbrt(volume)) / 6.0)} m would fit"
        )
    for _ in range(PULLS):
        shallow = np.flatnonzero(found[:, 0] > -0.5 * spacing * (1.0 - 1e-6))
        if len(shallow) == 0:
            break
        moved = points[shallow] - (found[shallow, :1] + 0.5 * spacing) * found[shallow, 1:]
        looked = np.empty((len(shallow), 4))
        distances_and_normals(looked, fields, moved)
        deeper = looked[:, 0] < found[shallow, 0]  # not across a thin place
        points[shallow[deeper]], found[shallow[deeper]] = moved[deeper], looked[deeper]
    return points[hilbert_order(points)]


def fitted_masses(
    points: NDArray[np.float64], mass: float, centre: NDArray[np.float64], second: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Masses, as equal as can be, with a mass, a centre of mass and second moments.

    m = m0 (1 + a polynomial of second degree of the place) meets all ten numbers. Where that would leave a particle
    with hardly any mass the second moments are given up, and after them the centre.

    Args:
        points: Places [m], (N, 3).
        mass: Mass [kg].
        centre: Centre of mass [m], (3,).
        second: Integral of r r^T over the mass, r counted from the centre of mass [kg m^2], (3, 3).

    Returns:
        Masses [kg], (N,).
    """
    r = points - centre
    scale = float(np.abs(r).max()) or 1.0
    r = r / scale
    pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0)]
    columns = np.stack([np.ones(len(r)), *r.T, *(r[:, i] * r[:, j] for i, j in pairs)], axis=1)
    wanted = np.array([1.0, 0.0, 0.0, 0.0, *(second[i, j] / (mass * scale**2) for i, j in pairs)])
    for used in (10, 4):
        basis, target = columns[:, :used] / len(r), wanted[:used]
        factors, *_ = np.linalg.lstsq(basis.T @ columns[:, :used], target - basis.sum(axis=0), rcond=1e-12)
        relative = 1.0 + columns[:, :used] @ factors
        if relative.min() >= LEAST_MASS and np.allclose(basis.T @ relative, target, rtol=0.0, atol=1e-9):
            return mass / len(r) * relative
    return np.full(len(r), mass / len(r))


def moments_of(mesh: Mesh) -> tuple[float, float, NDArray[np.float64], NDArray[np.float64]]:
    """Area [m^2], volume [m^3], centre [m] (3,), and integral of r r^T about the centre [m^5] (3, 3) of a solid."""
    origin = mesh.vertices.mean(axis=0)
    a, b, c = (mesh.vertices[mesh.faces[:, k]] - origin for k in range(3))
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    volume = volumes.sum()
    s = a + b + c
    centre = volumes @ s / (4.0 * volume)
    second = sum(np.einsum("f,fi,fj->ij", volumes, p, p) for p in (a, b, c, s)) / 20.0
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()
    return float(area), float(volume), centre + origin, second - volume * np.outer(centre, centre)


def _offer(value: float) -> str:
    """A length in a message, of two digits."""
    return f"{float(f'{value:.2g}'):g}"


class Samples(Record):
    """Points and the distance field at them."""

    point = Field(real, 3, unit="m")
    distance = Field(real, unit="m")
    normal = Field(real, 3)


def distances_and_normals(found: np.ndarray, fields: tuple[np.ndarray, ...], points: NDArray[np.float64]) -> None:
    """Fill signed distance from the first mesh and its gradient, (N, 4), at points (N, 3)."""
    samples = Samples.zeros(len(points), np.float64)
    samples.point[...] = points
    p = Program()
    p.launch(look, samples, mesh_fields(fields, np.float64), count=len(points), grain=64)
    p.run(team().size)
    found[:, 0], found[:, 1:] = samples.distance, samples.normal


@kernel(fastmath=STEADY)
def look(i, samples: Samples, fields: MeshFields):
    """Distance and gradient at one point."""
    value, normal = mesh_distance(samples.point[i], 0, fields)
    samples.distance[i], samples.normal[i] = value, normal
