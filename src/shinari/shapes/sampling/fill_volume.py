"""Particles on a lattice that fill a shape or a mesh.

A fluid at rest takes the volume of a cube of its spacing for each particle, whatever the lattice that it began on. So
that it fills a box at rest, there are as many particles in the box as cubes fit into its volume: along each axis about
as many as fit, and what the product has too much is left out of the highest layer. The lattice is stretched to the box
and begins half a spacing from its sides. The part of one particle that whole numbers leave over is in the mass of all,
so that the mass is that of the box.

Of other shapes the points inside are taken, of that one of eight lattices, centred on a point or between two along each
axis, whose cubes come nearest to the volume.
"""

import itertools
import math
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shinari import check
from shinari.errors import SceneError
from shinari.geometry.topology import mesh_arrays
from shinari.shapes.base import Shape
from shinari.shapes.box import Box
from shinari.shapes.mesh import Mesh

Points = NDArray[np.float64]

# Points of a lattice, at most: what is more is a slip in the unit of the spacing.
MOST_POINTS = 20_000_000
# Part of a spacing that is rounding.
ROUNDING = 1e-6
# Least and largest distance of the particles of a stretched lattice, in spacings: closer, they would be thrown apart.
CLOSEST, FARTHEST = 0.75, 1.5
# What an uneven lattice, and particles that are left out, cost against a volume that is missed: 10 % of stretch along
# an edge as much as 0.08 % of volume.
EVENNESS, SPARE = 0.08, 0.025
# Part by which the volume of a shape may be missed before other lattices are tried.
MISSED = 2e-3


def fill_points(label: str, given: Any, spacing: float, dimensions: int = 3, balls: bool = False) -> Points:
    """Particles as given, or on a lattice that fills what is given.

    Args:
        label: What they belong to, for messages.
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
        return _fill_shape(label, given, spacing, dimensions, balls)
    if _is_mesh(given):
        from shinari.geometry.topology import check_mesh
        from shinari.shapes.sampling.fill_mesh import closed_mesh

        mesh = closed_mesh(label, *check_mesh(*mesh_arrays(label, given), label))
        return _fill_shape(label, mesh, spacing, dimensions, balls)
    points = check.array(label, "points", given, (None, 3))
    if len(points) == 0:
        raise SceneError(f"{label}: points: no particles were given")
    order = np.lexsort(points.T)
    same = np.flatnonzero((points[order[1:]] == points[order[:-1]]).all(axis=1))
    if len(same):
        i, j = sorted(order[same[0] : same[0] + 2].tolist())
        raise SceneError(f"{label}: points: {i} and {j} are in the same place, {points[i].tolist()}")
    return points


def fill_volume(label: str, given: Any, spacing: float, dimensions: int = 3) -> tuple[Points, float | None]:
    """Particles of a fluid that fill what is given, and the volume of a box.

    Args:
        label: What they belong to, for messages.
        given: As for `fill_points`.
        spacing: Distance of the particles at rest [m].
        dimensions: 2: one layer at z = 0 of a shape, and points of one z.

    Returns:
        Points [m], (N, 3), in the axes of what was given; and the volume of a box [m^3], that of a layer one spacing
        thick in two dimensions; None where the particles have the volume of their cubes.

    Raises:
        SceneError: As `fill_points`.
        FileError: A mesh file cannot be read.
    """
    if not isinstance(given, Box):
        return fill_points(label, given, spacing, dimensions), None
    low, high = extent(given)
    _check_spacing(label, given, high - low, spacing, dimensions)
    return fill_box(low, high, spacing, dimensions)


def fill_box(low: Points, high: Points, spacing: float, dimensions: int = 3) -> tuple[Points, float]:
    """Particles of a lattice that is stretched to a box, (N, 3) [m], and the volume of the box [m^3].

    In two dimensions there is one layer, one spacing thick, in the middle of the box along z.
    """
    sizes, middle = high - low, 0.5 * (low + high)
    counts = fitting_counts(sizes[:dimensions], spacing)
    axes = []
    for k, count in enumerate([*counts, 1][:3]):
        if count == 1 or abs(sizes[k] - count * spacing) <= 2.0 * ROUNDING * spacing:
            axes.append(middle[k] - 0.5 * spacing * (count - 1) + spacing * np.arange(count))
        else:
            axes.append(np.linspace(low[k] + 0.5 * spacing, high[k] - 0.5 * spacing, count))
    points = product(axes)
    # what is too much is left out of the highest layer, here and there
    wanted = round(float(np.prod(sizes[:dimensions] / spacing)))
    layer, surplus = np.flatnonzero(points[:, 1] == axes[1][-1]), len(points) - wanted
    if 0 < surplus < len(layer):
        out = ((np.arange(surplus) + 0.5) * (len(layer) / surplus)).astype(np.int64)
        points = np.delete(points, layer[out], axis=0)
    thickness = spacing if dimensions == 2 else 1.0
    return points, float(np.prod(sizes[:dimensions])) * thickness


def fitting_counts(sizes: Points, spacing: float) -> list[int]:
    """How many particles of a spacing to put along each edge of a box, so that their cubes have its volume.

    Of the numbers along the edges those are taken that stretch the lattice least and have the volume, or up to one
    layer more; where there are none, as in a box of one and a half spacings, those that miss it least.
    """
    wanted, options = float(np.prod(sizes / spacing)), []
    for size in sizes:
        least = cells_along(size, spacing)
        some = range(max(least - 1, 2), least + 3)
        near = [n for n in some if CLOSEST <= (size / spacing - 1.0) / (n - 1) <= FARTHEST]
        options.append(([1] if least == 1 else []) + near)

    def cost(counts: tuple[int, ...]) -> float:
        stretches, total = np.log(np.array(counts) * spacing / sizes), math.prod(counts)
        spare = total - round(wanted)
        missed = spare / wanted * SPARE if 0 <= spare < total / counts[1] else abs(total / wanted - 1.0)
        return missed + EVENNESS * float(stretches @ stretches)

    return list(min(itertools.product(*options), key=cost))


def in_plane(label: str, points: Points, spacing: float) -> float:
    """The z of points of a fluid of two dimensions [m].

    Raises:
        SceneError: They do not lie in one plane of constant z.
    """
    z = points[:, 2]
    off = np.abs(z - z[0]) > ROUNDING * np.maximum(spacing, np.abs(z))
    if off.any():
        worst = int(np.argmax(off))
        raise SceneError(
            f"{label}: points: with dimensions=2 all lie in a plane of constant z; particle 0 has z = {z[0]:g} m, "
            f"particle {worst} z = {z[worst]:g} m"
        )
    return float(z[0])


def cells_along(length: float, spacing: float) -> int:
    """How many particles of a spacing fit into a length."""
    return int(np.floor(length / spacing + ROUNDING))


def lattice(low: Points, counts: NDArray[np.int64], spacing: float) -> Points:
    """Points of a lattice, one after the other along z, then y, then x, (counts.prod(), 3) [m]."""
    return product([low[k] + spacing * np.arange(counts[k]) for k in range(3)])


def product(axes: list[Points]) -> Points:
    """Points with coordinates from three lists, one after the other along z, then y, then x, (N, 3) [m]."""
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def check_size(label: str, counts: NDArray[np.floating], spacing: float) -> None:
    """Refuse a lattice of more points than anybody wants.

    Raises:
        SceneError: It has; the message offers a spacing.
    """
    total = float(np.prod(counts))
    if not total <= MOST_POINTS:
        fitting = spacing * np.cbrt(total / 1e5)
        raise SceneError(
            f"{label}: spacing: {spacing:g} m makes a lattice of {total:.3g} particles; {offer(fitting)} m would make "
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


def _fill_shape(label: str, shape: Shape, spacing: float, dimensions: int, balls: bool) -> Points:
    """Particles of a centred lattice in a shape; in the inside of a container."""
    if shape.endless:
        raise SceneError(f"{label}: shape: a {type(shape).__name__} has no inside that could be filled")
    if isinstance(shape, Mesh) and not shape.solid:
        raise SceneError(f"{label}: mesh: {shape.openness()}; only a closed mesh can be filled")
    low, high = extent(shape)
    sizes = high - low
    _check_spacing(label, shape, sizes, spacing, dimensions)
    counts = np.array([cells_along(size, spacing) for size in sizes])
    middle = 0.5 * (low + high)
    if dimensions == 2:
        counts[2], middle[2] = 1, 0.0
    if isinstance(shape, Box):
        return lattice(middle - 0.5 * spacing * (counts - 1), counts, spacing)
    from shinari.shapes.kernels.encode import signed_distance

    def inside(counts: NDArray[np.int64]) -> Points:
        points = lattice(middle - 0.5 * spacing * (counts - 1), counts, spacing)
        return points[-signed_distance(shape, points) >= spacing * ((0.5 if balls else 0.0) - ROUNDING)]

    points = inside(counts)
    if dimensions == 3 and not balls:
        points = _nearest_volume(points, shape, counts, spacing, inside)
    if len(points) == 0:
        raise SceneError(
            f"{label}: spacing: {spacing:g} m is too large, no particle lies inside the {_kind(shape)}; "
            f"{offer(sizes.min() / 4.0)} m would be a quarter of its least extent"
        )
    return points


def _nearest_volume(
    points: Points, shape: Shape, counts: NDArray[np.int64], spacing: float,
    inside: Callable[[NDArray[np.int64]], Points],
) -> Points:  # fmt: skip
    """Of eight centred lattices that which has as many points inside a shape as its volume has cubes."""
    wanted = shape.mass_properties().mass / spacing**3
    for more in itertools.product((0, 1), repeat=3):
        if abs(len(points) - wanted) <= MISSED * wanted:
            break
        other = inside(counts + more)
        if abs(len(other) - wanted) < abs(len(points) - wanted):
            points = other
    return points


def _check_spacing(label: str, shape: Shape, sizes: Points, spacing: float, dimensions: int) -> None:
    """Refuse a spacing larger than the shape, or far too small.

    Raises:
        SceneError: It is.
    """
    if not spacing <= sizes.min() * (1.0 + ROUNDING):
        thin = f"is {sizes.min():.3g} m thin; {offer(sizes.min() / 4.0)} m would be a quarter of that"
        flat = ", and with dimensions=2 a layer is one spacing thick" if dimensions == 2 else ""
        raise SceneError(f"{label}: spacing: {spacing:g} m is larger than the {_kind(shape)}, which {thin}{flat}")
    check_size(label, sizes[:dimensions] / spacing, spacing)


def extent(shape: Shape) -> tuple[Points, Points]:
    """Lowest and highest corner (3,) [m] of a shape in its own axes; of a container, of its inside."""
    if isinstance(shape, Box):
        half = 0.5 * np.array(shape.size)
        return -half, half
    return shape.bounds()


def _kind(shape: Shape) -> str:
    if isinstance(shape, Box):
        return "container" if shape.inside else "box"
    return "mesh" if isinstance(shape, Mesh) else type(shape).__name__.lower()
