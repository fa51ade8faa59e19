"""Adds loose particles, cloth and rope to a scene."""

from typing import Any

import numpy as np

from shinari import check
from shinari.api.arguments import check_thickness, given_material, self_collision_mode, surface_of
from shinari.errors import SceneError
from shinari.geometry.motion import NO_ROTATION
from shinari.geometry.topology import mesh_arrays
from shinari.scene.contact_material import checked_contact_material
from shinari.scene.contents import Contents
from shinari.scene.handle import Handle
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.scene.objects import ParticleObject

_NO_ROTATION = tuple(NO_ROTATION.tolist())


def add_particles(
    scene: Contents,
    positions: Any,
    *,
    mass: Any = 1.0,
    velocity: Any = None,
    radius: Any = 0.0,
    friction: float | None = None,
    static_friction: float | None = None,
    restitution: float = 0.0,
    contact_compliance: float = 0.0,
    self_collision: bool = False,
    name: str | None = None,
) -> Handle:
    """Add loose particles.

    Args:
        positions: Positions [m], (N, 3) or one (3,).
        mass: Mass [kg], one or (N,); 0 fixes the particle.
        velocity: Velocity [m/s], (3,) or (N, 3); None: at rest.
        radius: Distance kept from colliders and other objects [m], one or (N,); particles without one pass through
            other objects.
        friction: Coulomb coefficient; None: that of the other object.
        static_friction: Coulomb coefficient of sticking; None: as `friction`.
        restitution: Ratio of the speeds after and before an impact, 0 to 1.
        contact_compliance: Inverse stiffness of a contact [m/N].
        self_collision: Whether they collide with each other.
        name: Name in messages and results.

    Raises:
        SceneError: A value has the wrong shape or lies outside its bounds.
    """
    name = scene._name("particles", name)
    label = f"particles {name!r}"
    single = check.dimensions(label, "positions", positions) == 1
    x = np.atleast_2d(np.asarray(positions, dtype=object)) if single else positions
    x = check.array(label, "positions", x, (None, 3))
    if len(x) == 0:
        raise SceneError(f"{label}: positions: no particles were given")
    masses = check.per_row(label, "mass", mass, len(x), least=0.0)
    velocities = scene._velocities(label, velocity, masses)
    radii = check.per_row(label, "radius", radius, len(x), least=0.0)
    surface = checked_contact_material(label, friction, static_friction, restitution, contact_compliance)
    among = self_collision_mode(label, self_collision, {True: "particles"})
    return scene._add_particle_object(ParticleObject(name, "particles", x, masses, velocities, radii, surface, among))


def add_cloth(
    scene: Contents,
    mesh: Any,
    *,
    material: ClothMaterial | None = None,
    self_collision: bool | str = False,
    rest: Any = None,
    maps: Any = None,
    sewing: Any = (),
    position: Any = (0.0, 0.0, 0.0),
    rotation: Any = _NO_ROTATION,
    velocity: Any = None,
    name: str | None = None,
) -> Handle:
    """Add a sheet; its vertices keep their count and order.

    Args:
        mesh: `(vertices (V, 3) [m], faces (F, 3))`, an object with `vertices` and `faces` such as a trimesh or a
            `Pattern`, a shape, or the path of a mesh file.
        material: Its material; None: `ClothMaterial()`.
        self_collision: `"triangles"`: vertices keep off triangles and edges off edges, with continuous detection;
            `"particles"`: vertices keep off each other, which is cheaper and has no holes only when the thickness
            is about the length of an edge; False: it passes through itself.
        rest: Shape without strain; None: that of the mesh. Another mesh with the same faces, as `mesh` or as vertices
            (V, 3) [m]; or a plane, into which triangles are laid: texture coordinates in metres, (V, 2), or (F, 3, 2)
            for the corners of all faces, or `"uv"` for those of the mesh file.
        maps: Values at the vertices by name, each (V,) or the name of an attribute of the mesh file: `"pin"`, 1 fixes,
            0 leaves free, w between holds with the stiffness w / (1 - w) / stretch_compliance [N/m]; `"thickness"`,
            `"stiffness"` and `"mass"`, factors of those of the material. Between vertices they are linear.
        sewing: Seams, fold lines and elastic bands: a list of `Seam`, `Fold` and `ElasticBand`.
        position: Where the origin of the mesh goes [m].
        rotation: Rotation of the mesh about its origin, a unit quaternion w x y z.
        velocity: Velocity [m/s], (3,) or (V, 3); None: at rest.
        name: Name in messages and results.

    Raises:
        SceneError: The mesh cannot be a cloth; the message says which vertex, face or edge. Or its rest shape, a map
            or a seam does not fit it.
        FileError: The mesh file cannot be read.

    Warns:
        SeamWarning: Vertices are there twice, so that the sheet comes apart.
    """
    from shinari.api.tailoring import tailored
    from shinari.geometry.seams import warn_of_seams
    from shinari.geometry.topology import check_mesh, hinges

    name = scene._name("cloth", name)
    label = f"cloth {name!r}"
    cloth = given_material(label, material, ClothMaterial)
    modes = {"particles": "particles", "triangles": "triangles"}
    among = self_collision_mode(label, self_collision, modes)
    vertices, faces = check_mesh(*mesh_arrays(label, mesh), label)
    if cloth.bend_stiffness > 0.0 or cloth.bend_model == "cross":
        hinges(faces, label)
    made = tailored(label, mesh, vertices, faces, cloth, (rest, maps, sewing))
    if made.tailoring is None or not len(made.tailoring.seams):
        warn_of_seams(label, vertices, faces)
    if among is not None:
        check_thickness(label, vertices, faces, cloth.thickness * float(made.thickness.max()))
    vertices = scene._placed(label, vertices, position, rotation)
    velocities = scene._velocities(label, velocity, made.masses)
    handle = scene._add_particle_object(
        ParticleObject(
            name,
            "cloth",
            vertices,
            made.masses,
            velocities,
            0.5 * cloth.thickness * made.thickness,
            surface_of(cloth),
            among,
            faces,
            cloth,
            tailoring=made.tailoring,
        )
    )
    handle.pin(made.pinned)
    return handle


def add_rope(
    scene: Contents,
    points: Any,
    *,
    material: RopeMaterial | None = None,
    self_collision: bool = False,
    velocity: Any = None,
    name: str | None = None,
) -> Handle:
    """Add a rope of distance rows between consecutive points, each segment's mass halved between its ends.

    Args:
        points: Points along the rope [m], (N, 3) with N at least 2.
        material: Its material; None: `RopeMaterial()`.
        self_collision: Whether its segments, as capsules, keep off each other, so that a knot holds.
        velocity: Velocity [m/s], (3,) or (N, 3); None: at rest.
        name: Name in messages and results.

    Raises:
        SceneError: Fewer than two points, consecutive points that coincide, or a bad value.
    """
    name = scene._name("rope", name)
    label = f"rope {name!r}"
    rope = given_material(label, material, RopeMaterial)
    x = check.array(label, "points", points, (None, 3))
    if len(x) < 2:
        raise SceneError(f"{label}: points: a rope needs at least two points, got {len(x)}")
    lengths = np.linalg.norm(np.diff(x, axis=0), axis=1)
    if (lengths == 0.0).any():
        at = int(np.argmin(lengths))
        raise SceneError(f"{label}: points: {at} and {at + 1} are the same point")
    masses = np.zeros(len(x))
    masses[:-1] += 0.5 * rope.density * lengths
    masses[1:] += 0.5 * rope.density * lengths
    velocities = scene._velocities(label, velocity, masses)
    among = self_collision_mode(label, self_collision, {True: "segments"})
    if among is not None and rope.radius == 0.0:
        raise SceneError(f"{label}: self_collision: a rope of radius 0 has no contacts; give the radius")
    radii = np.full(len(x), rope.radius)
    return scene._add_particle_object(
        ParticleObject(name, "rope", x, masses, velocities, radii, surface_of(rope), among, None, rope)
    )
