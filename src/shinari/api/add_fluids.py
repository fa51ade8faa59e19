"""Adds fluids to a scene."""

from typing import Any

import numpy as np

from shinari import check
from shinari.api.arguments import given_material
from shinari.errors import SceneError
from shinari.geometry.motion import NO_ROTATION, rotation_matrix
from shinari.scene.contact_material import ContactMaterial
from shinari.scene.contents import Contents
from shinari.scene.fluid_material import FluidMaterial, Sampling, checked_sampling
from shinari.scene.handle import BodyHandle, ColliderHandle, Handle
from shinari.scene.objects import ParticleObject
from shinari.shapes.box import Box

_NO_ROTATION = tuple(NO_ROTATION.tolist())


def add_fluid(
    scene: Contents,
    shape_or_points: Any,
    *,
    spacing: float,
    material: FluidMaterial | None = None,
    fill_to: float | None = None,
    position: Any = (0.0, 0.0, 0.0),
    rotation: Any = _NO_ROTATION,
    velocity: Any = None,
    support: float = 2.0,
    kernel: str = "spiky",
    dimensions: int = 3,
    boundary: str = "walls",
    name: str | None = None,
) -> Handle:
    """Add a fluid made of particles.

    A shape is filled with a lattice of the spacing, centred in it: a `Box` of 10 x 5 x 4 spacings takes exactly 200
    particles, the first half a spacing from its sides. To a box of other sizes the lattice is stretched, with as
    many particles as cubes of the spacing have its volume, if need be fewer of them in the highest layer; the mass
    is exactly that of the box, and the volume at rest that of the box within 0.5 %, of fewer than 100 particles
    within 3 %. (A box less than two spacings thick, which may be one layer, keeps its mass only.)
    Of a curved shape those points are taken that lie inside, so that its volume is kept within the part spacing /
    width; their balls reach out of it by up to half a spacing. A container is filled from its bottom up to a
    level: one whose inside is a box as that box, also where it is turned about the vertical; else with particles half
    a spacing or more from its walls, which leaves out up to half a spacing along them. So do colliders and rigid
    bodies in any container. Each particle
    has the mass of a cube of the spacing, of a box an equal part of its mass, and is a ball as wide as the spacing
    for whatever it touches.

    Walls of a mesh hold a fluid when they are three spacings thick; it seeps through those of one.

    All fluids of a scene have the same spacing, support, kernel, dimensions and boundary.

    Args:
        shape_or_points: The shape to fill: a `Shape` with an end, such as `Box`, or the inside of a container; a
            closed mesh, as `Mesh`, as a tuple `(vertices (V, 3) [m], faces (F, 3))`, an object with both such as a
            trimesh, or the path of a mesh file; or a container that is already in the scene, the handle of a
            collider or a rigid body, or a list of those that are its walls. Or the particles themselves, points
            (N, 3) [m].
        spacing: Distance of the particles at rest [m].
        material: Its material; None: `FluidMaterial()`.
        fill_to: Height in the world [m] to which a shape or container is filled; None: all of it, an open
            container to its brim.
        position: Where the origin of the shape, mesh or points goes [m]; a container has a place of its own.
        rotation: Rotation about that origin, a unit quaternion w x y z.
        velocity: Velocity [m/s], (3,) or (N, 3) for the particles; None: at rest.
        support: Distance at which the kernels end, in spacings, 1.2 to 4. With 2 a particle has about 33
            neighbours; more make pressures smoother and cost more.
        kernel: `"spiky"` (Desbrun and Gascuel 1996), `"cubic-spline"` (Monaghan 1992), or `"poly6"` with the
            gradient of the spiky kernel (Mueller, Charypar, Gross 2003; Macklin and Mueller 2013), which is not
            the gradient of its density: without viscosity such a fluid gains energy.
        dimensions: 3; or 2 for one layer of particles, one spacing thick, in a plane of constant z: that of the
            position, or of the points.
        boundary: How solids enter the density: `"walls"`, by their distance, or `"particles"`, by particles on
            their surface (Akinci et al. 2012).
        name: Name in messages and results.

    Returns:
        Handle of its particles.

    Raises:
        SceneError: There is nothing to fill, the spacing does not fit, a container runs out below the level, or a
            value is out of bounds; the message says which.
        FileError: The mesh file cannot be read.
    """
    name = scene._name("fluid", name)
    label = f"fluid {name!r}"
    material = given_material(label, material, FluidMaterial)
    sampling = checked_sampling(label, spacing, support, kernel, dimensions, boundary)
    level = None if fill_to is None else check.number(label, "fill_to", fill_to)
    containers = _containers(shape_or_points)
    if containers:
        points, volume = _filled_container(scene, label, containers, sampling, level, position, rotation)
    else:
        points, volume = _filled_shape(scene, label, shape_or_points, sampling, level, position, rotation)
    cube = sampling.volume if volume is None else volume / len(points)
    if abs(cube - sampling.volume) <= 1e-9 * sampling.volume:
        cube = sampling.volume  # rounding
    masses = np.full(len(points), material.rest_density * cube)
    velocities = scene._velocities(label, velocity, masses)
    if dimensions == 2:
        from shinari.shapes.sampling.fill_volume import in_plane

        in_plane(label, points, sampling.spacing)
        if velocities[:, 2].any():
            raise SceneError(f"{label}: velocity: has a z component, but dimensions=2; expected z = 0")
    return scene._add_particle_object(
        ParticleObject(
            name,
            "fluid",
            points,
            masses,
            velocities,
            np.full(len(points), 0.5 * sampling.spacing),
            ContactMaterial(material.friction, None, material.restitution, 0.0),
            material=material,
            sampling=sampling,
        )
    )


def _filled_shape(
    scene: Contents, label: str, given: Any, sampling: Sampling, level: float | None, position: Any, rotation: Any
) -> tuple[np.ndarray, float | None]:
    """Particles as given or that fill a shape, (N, 3) [m], and the volume of a box [m^3]."""
    from shinari.shapes.sampling.fill_volume import ROUNDING, fill_volume, is_solid

    if level is not None and not is_solid(given):
        raise SceneError(f"{label}: fill_to: points are not filled; leave it out, or give a shape")
    place = check.vector(label, "position", position)
    turn = rotation_matrix(check.unit_quaternion(label, "rotation", rotation))
    if level is not None and isinstance(given, Box) and abs(turn[1, 1] - 1.0) < 1e-12:
        # upright: a box that ends at the level
        bottom, top = place[1] - 0.5 * given.size[1], min(level, place[1] + 0.5 * given.size[1])
        if top - bottom >= sampling.spacing * (1.0 - ROUNDING):
            given = Box((given.size[0], top - bottom, given.size[2]))
            place, level = np.array((place[0], 0.5 * (bottom + top), place[2])), None
    points, volume = fill_volume(label, given, sampling.spacing, sampling.dimensions)
    points = scene._placed(label, points, place, rotation)
    if level is None:
        return points, volume
    below = points[:, 1] + 0.5 * sampling.spacing <= level + ROUNDING * max(sampling.spacing, abs(level))
    if not below.any():
        lowest = points[:, 1].min() - 0.5 * sampling.spacing
        raise SceneError(
            f"{label}: fill_to: {level:g} m is less than a spacing above the bottom of the shape, {lowest:.4g} m"
        )
    return points[below], None


def _filled_container(
    scene: Contents, label: str, handles: list, sampling: Sampling, level: float | None, position: Any, rotation: Any
) -> tuple[np.ndarray, float | None]:
    """Particles in containers of the scene, (N, 3) [m], and the volume that they fill where it is a box [m^3]."""
    from shinari.api.fill_containers import fill_containers, solids_of

    for handle in handles:
        scene.find(label, "container", handle, ColliderHandle, BodyHandle)
    place = check.vector(label, "position", position)
    flat = sampling.dimensions == 2
    if place[: 2 if flat else 3].any():
        raise SceneError(f"{label}: position: a container has a place of its own; leave the position out")
    if np.abs(check.unit_quaternion(label, "rotation", rotation)[1:]).max() > 0.0:
        raise SceneError(f"{label}: rotation: a container has one of its own; leave the rotation out")
    names = [handle.name for handle in handles]
    return fill_containers(label, solids_of(scene), names, sampling.spacing, level, float(place[2]) if flat else None)


def _containers(given: Any) -> list:
    """Handles, if colliders or bodies were given; else none."""
    handles = list(given) if isinstance(given, (list, tuple)) else [given]
    solid = [isinstance(handle, (ColliderHandle, BodyHandle)) for handle in handles]
    return handles if solid and all(solid) else []
