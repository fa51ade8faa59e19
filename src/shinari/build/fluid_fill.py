"""Particles on a lattice that fill a shape or a mesh."""

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shinari.errors import SceneError
from shinari.scene import check
from shinari.scene.arguments import mesh_arrays
from shinari.scene.shapes import Box, Heightfield, Mesh, Plane, Shape

Points = NDArray[np.float64]

# Points of a lattice, at most: what is more is a slip in the unit of the spacing.
MOST_POINTS = 20_000_000
# Part of a spacing that is rounding.
ROUNDING = 1e-6


def fill_points(thing: str, given: Any, spacing: float, dimensions: int = 3, balls: bool = False) -> Points:
    """Particles as given, or on a lattice that fills what is given.

    Args:
        thing: What they belong to, for messages.
        given: Points (N, 3); or a shape, or a closed mesh, to be filled.
        spacing: Distance of the particles [m].
        dimensions: 2: one layer at z = 0 of a shape, and points of one z.
        balls: Whether balls as wide as the spacing have to lie inside; else only their centres, so that cubes of the
            spacing have the volume of the shape. For a box that is the same.

    Returns:
        Points [m], (N, 3), in the axes of what was given.

    Raises:
        SceneError: It is neither, cannot be filled, or is thinner than the spacing; or the lattice is too large.
        FileError: A mesh file cannot be read.
    """
    if isinstance(given, Shape):
        return _fill_shape(thing, given, spacing, dimensions, balls)
    if _is_mesh(given):
        from shinari.build.fill import closed_mesh
        from shinari.build.topology import check_mesh

        mesh = closed_mesh(thing, *check_mesh(*mesh_arrays(thing, given), thing))
        return _fill_shape(thing, mesh, spacing, dimensions, balls)
    points = check.array(thing, "points", given, (None, 3))
    if len(points) == 0:
        raise SceneError(f"{thing}: points: no particles were given")
    order = np.lexsort(points.T)
    same = np.flatnonzero((points[order[1:]] == points[order[:-1]]).all(axis=1))
    if len(same):
        i, j = sorted(order[same[0] : same[0] + 2].tolist())
        raise SceneError(f"{thing}: points: {i} and {j} are in the same place, {points[i].tolist()}")
    return points


def in_plane(thing: str, points: Points, spacing: float) -> float:
    """The z of points of a fluid of two dimensions [m].

    Raises:
        SceneError: They do not lie in one plane of constant z.
    """
    z = points[:, 2]
    off = np.abs(z - z[0]) > ROUNDING * np.maximum(spacing, np.abs(z))
    if off.any():
        worst = int(np.argmax(off))
        raise SceneError(
            f"{thing}: points: with dimensions=2 all lie in a plane of constant z; particle 0 has z = {z[0]:g} m, "
            f"particle {worst} z = {z[worst]:g} m"
        )
    return float(z[0])


def cells_along(length: float, spacing: float) -> int:
    """How many particles of a spacing fit into a length."""
    return int(np.floor(length / spacing + ROUNDING))


def lattice(low: Points, counts: NDArray[np.int64], spacing: float) -> Points:
    """Points of a lattice, one after the other along z, then y, then x, (counts.prod(), 3) [m]."""
    axes = [low[k] + spacing * np.arange(counts[k]) for k in range(3)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def check_size(thing: str, counts: NDArray[np.floating], spacing: float) -> None:
    """Refuse a lattice of more points than anybody wants.

    Raises:
        SceneError: It has; the message offers a spacing.
    """
    total = float(np.prod(counts))
    if not total <= MOST_POINTS:
        fitting = spacing * np.cbrt(total / 1e5)
        raise SceneError(
            f"{thing}: spacing: {spacing:g} m makes a lattice of {total:.3g} particles; {offer(fitting)} m would make "
            f"100,000"
        )


def offer(value: float) -> str:
    """A length in a message, of two digits."""
    return f"{float(f'{value:.2g}'):g}"


def is_solid(given: Any) -> bool:
    """Whether something is a shape or a mesh, and not points."""
    return isinstance(given, Shape) or _is_mesh(given)


def _is_mesh(given: Any) -> bool:
    """Whether something is a mesh and not points: a path, an object, or a pair of two tables."""
    if isinstance(given, (str, PathLike)) or hasattr(given, "vertices"):
        return True
    return isinstance(given, tuple) and len(given) == 2 and all(np.ndim(table) == 2 for table in given)


def _fill_shape(thing: str, shape: Shape, spacing: float, dimensions: int, balls: bool) -> Points:
    """Particles of a centred lattice in a shape; in the inside of a container."""
    if isinstance(shape, (Plane, Heightfield)):
        raise SceneError(f"{thing}: shape: a {type(shape).__name__} has no inside that could be filled")
    if isinstance(shape, Mesh) and not shape.solid:
        raise SceneError(f"{thing}: mesh: {shape.openness()}; only a closed mesh can be filled")
    low, high = extent(shape)
    sizes = high - low
    if not spacing <= sizes.min() * (1.0 + ROUNDING):
        thin = f"is {sizes.min():.3g} m thin; {offer(sizes.min() / 4.0)} m would be a quarter of that"
        flat = ", and with dimensions=2 a layer is one spacing thick" if dimensions == 2 else ""
        raise SceneError(f"{thing}: spacing: {spacing:g} m is larger than the {_kind(shape)}, which {thin}{flat}")
    check_size(thing, sizes[:dimensions] / spacing, spacing)
    counts = np.array([cells_along(size, spacing) for size in sizes])
    middle = 0.5 * (low + high)
    if dimensions == 2:
        counts[2], middle[2] = 1, 0.0
    points = lattice(middle - 0.5 * spacing * (counts - 1), counts, spacing)
    if isinstance(shape, Box):
        return points
    from shinari.contact.solid.encode import signed_distance

    inside = -signed_distance(shape, points) >= spacing * ((0.5 if balls else 0.0) - ROUNDING)
    if not inside.any():
        raise SceneError(
            f"{thing}: spacing: {spacing:g} m is too large, no particle lies inside the {_kind(shape)}; "
            f"{offer(sizes.min() / 4.0)} m would be a quarter of its least extent"
        )
    return points[inside]


def extent(shape: Shape) -> tuple[Points, Points]:
    """Lowest and highest corner (3,) [m] of a shape in its own axes; of a container, of its inside."""
    if isinstance(shape, Box):
        half = 0.5 * np.array(shape.size)
        return -half, half
    from shinari.contact.solid.encode import bounds

    return bounds(shape)


def _kind(shape: Shape) -> str:
    if isinstance(shape, Box):
        return "container" if shape.inside else "box"
    return "mesh" if isinstance(shape, Mesh) else type(shape).__name__.lower()
