"""Adds shape matched bodies and rigid lumps of particles to a scene."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shinari import check
from shinari.api.arguments import given_material, surface_of
from shinari.errors import SceneError
from shinari.geometry.motion import NO_ROTATION
from shinari.geometry.topology import is_shape, mesh_arrays
from shinari.scene.contents import Contents
from shinari.scene.handle import Handle
from shinari.scene.lump_material import Clusters, LumpMaterial
from shinari.scene.objects import ParticleObject

_NO_ROTATION = tuple(NO_ROTATION.tolist())
# A mesh is filled with so many particles along its longest extent when no spacing is given.
ALONG = 12
# Fourth powers of coordinates are summed up when clusters are made [m].
FARTHEST = 1e15


def add_shape_matched(
    scene: Contents,
    mesh_or_points: Any,
    *,
    density: float | None = None,
    stiffness: float | None = None,
    material: LumpMaterial | None = None,
    spacing: float | None = None,
    radius: float | None = None,
    mass: Any = None,
    clusters: Sequence[Any] | None = None,
    position: Any = (0.0, 0.0, 0.0),
    rotation: Any = _NO_ROTATION,
    velocity: Any = None,
    name: str | None = None,
) -> Handle:
    """Add a lump of particles that keeps its shape: rigid, deformable or plastic.

    A closed mesh is filled with particles; their mass, their centre of mass and their inertia are those of the
    solid, and the mesh moves along as the visible surface. Particles of one lump never collide with each other;
    with everything else they do, by their radius.

    Args:
        mesh_or_points: A closed surface, as a tuple `(vertices (V, 3) [m], faces (F, 3))`, an object with both such
            as a trimesh, a shape, or the path of a mesh file; or the particles themselves, points (N, 3) [m].
        density: Mass per volume [kg/m^3]; None: that of the material.
        stiffness: Stiffness 0 to 1, see `LumpMaterial`; None: that of the material.
        material: Its material; None: `LumpMaterial()`, which is rigid.
        spacing: Distance of the particles [m]; None: a twelfth of the longest extent of a mesh, or the median
            distance of points from their nearest neighbours. A point fills a cube of this edge.
        radius: Distance kept in contact [m]; None: half of the spacing.
        mass: Masses of points [kg], one or (N,), in place of the density; 0 fixes a particle.
        clusters: Clusters of local particle indices; None: as the material says, see `cluster_size`.
        position: Where the origin of the mesh or of the points goes [m].
        rotation: Rotation about that origin, a unit quaternion w x y z.
        velocity: Velocity [m/s], (3,) or (N, 3) for the particles; None: at rest.
        name: Name in messages and results.

    Raises:
        SceneError: The mesh is open or the spacing does not fit it, a cluster cannot be matched, or a value is out
            of bounds; the message says which.
        FileError: The mesh file cannot be read.
    """
    name = scene._name("lump", name)
    label = f"shape matched {name!r}"
    given = {k: v for k, v in (("density", density), ("stiffness", stiffness)) if v is not None}
    lump = given_material(label, material, LumpMaterial)
    try:
        lump = replace(lump, **given)
    except SceneError as error:
        raise SceneError(str(error).replace("LumpMaterial", label, 1)) from None
    if spacing is not None:
        spacing = check.number(label, "spacing", spacing, above=0.0)
    scene._pose(label, position, rotation)  # before a mesh is filled, which takes long
    points, masses, spacing, surface = _particles(label, mesh_or_points, spacing, mass, lump.density)
    _check_range(label, points, scene._placed(label, points, position, rotation))
    reach = 0.5 * spacing if radius is None else check.number(label, "radius", radius, least=0.0)
    chosen = _clusters(label, points, lump, clusters, spacing)
    if surface is not None:
        from shinari.systems.shape_matching.surface import bind

        vertices = scene._placed(label, surface[0], position, rotation)
        surface = bind(vertices, surface[1], scene._placed(label, points, position, rotation))
    points = scene._placed(label, points, position, rotation)
    return scene._add_particle_object(
        ParticleObject(
            name,
            "lump",
            points,
            masses,
            scene._velocities(label, velocity, masses),
            np.full(len(points), reach),
            surface_of(lump),
            material=lump,
            clusters=chosen,
            visual=surface,
        )
    )


def _particles(
    label: str, given: Any, spacing: float | None, mass: Any, density: float
) -> tuple[np.ndarray, np.ndarray, float, Any]:
    """Positions, masses and spacing of the particles, and the surface that they fill, or None."""
    if isinstance(given, (tuple, str)) or hasattr(given, "vertices") or hasattr(given, "__fspath__") or is_shape(given):
        from shinari.geometry.topology import check_mesh
        from shinari.shapes.sampling.fill_mesh import closed_mesh, fill, fitted_masses, moments_of

        if mass is not None:
            raise SceneError(f"{label}: mass: that of a mesh is its volume times the density; give the density")
        mesh = closed_mesh(label, *check_mesh(*mesh_arrays(label, given), label))
        longest = float(np.ptp(mesh.vertices, axis=0).max())
        spacing = longest / ALONG if spacing is None else spacing
        points = fill(label, mesh, spacing)
        _, volume, centre, second = moments_of(mesh)
        masses = fitted_masses(points, density * volume, centre, density * second)
        return points, masses, spacing, (mesh.vertices, mesh.faces)
    points = check.array(label, "points", given, (None, 3))
    if len(points) == 0:
        raise SceneError(f"{label}: points: no particles were given")
    if mass is not None:
        masses = check.per_row(label, "mass", mass, len(points), least=0.0)
        return points, masses, _spacing(points) if spacing is None else spacing, None
    spacing = _spacing(points) if spacing is None else spacing
    if spacing == 0.0:
        raise SceneError(f"{label}: spacing: cannot be told from {len(points)} points; give it, or the mass")
    return points, np.full(len(points), density * spacing**3), spacing, None


def _check_range(label: str, *places: np.ndarray) -> None:
    """Refuse points so far away that their moments are no numbers."""
    for points in places:
        far = np.abs(points).max(axis=1)
        if not far.max() <= FARTHEST:
            raise SceneError(f"{label}: points: {int(far.argmax())} is {far.max():.3g} m away, more than {FARTHEST:g}")


def _spacing(points: np.ndarray) -> float:
    """Median distance of points from their nearest neighbours [m]; 0 for a single point."""
    from shinari.geometry.k_nearest import nearest

    if len(points) < 2:
        return 0.0
    two = nearest(points, points, 2)[0]
    return float(np.median(np.linalg.norm(points[two[:, 1]] - points[two[:, 0]], axis=1)))


def _clusters(label: str, points: np.ndarray, lump: LumpMaterial, given: Any, spacing: float) -> Clusters:
    from shinari.systems.shape_matching.build import check_quadratic, given_clusters, lattice_clusters, whole

    if given is not None:
        if lump.cluster_size is not None:
            raise SceneError(f"{label}: clusters: give them, or a cluster_size in the material, not both")
        chosen = given_clusters(label, given, len(points))
    elif lump.cluster_size is None:
        chosen = whole(len(points))
    else:
        if lump.cluster_size < 2.0 * spacing * (1.0 - 1e-6):
            raise SceneError(
                f"{label}: cluster_size: {lump.cluster_size:g} m is less than two spacings of {spacing:g} m, so that "
                f"clusters could not overlap; {3.0 * spacing:.3g} m would be three"
            )
        chosen = lattice_clusters(points, lump.cluster_size)
    if lump.mode == "quadratic":
        check_quadratic(label, points, chosen)
    return chosen
