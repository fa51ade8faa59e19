"""Adds soft bodies of tetrahedra to a scene."""

from dataclasses import replace
from typing import Any

import numpy as np

from shinari.api.arguments import check_thickness, given_material, self_collision_mode, surface_of
from shinari.geometry.motion import NO_ROTATION
from shinari.scene.contents import Contents
from shinari.scene.handle import Handle
from shinari.scene.objects import ParticleObject
from shinari.scene.soft_material import SoftMaterial

_NO_ROTATION = tuple(NO_ROTATION.tolist())


def add_soft_body(
    scene: Contents,
    mesh: Any,
    *,
    material: SoftMaterial | None = None,
    cell: float | None = None,
    visual: Any = None,
    self_collision: bool | str = False,
    position: Any = (0.0, 0.0, 0.0),
    rotation: Any = _NO_ROTATION,
    velocity: Any = None,
    name: str | None = None,
) -> Handle:
    """Add a soft body.

    Args:
        mesh: Tetrahedra, as `(vertices (V, 3) [m], tetrahedra (T, 4))` or the path of a file with tetrahedra; or a
            closed surface, as `(vertices, faces (F, 3))`, an object with both such as a trimesh, a shape, or the path
            of a mesh file: it is covered with tetrahedra and then moves along as the visible surface. Parts thinner
            than a cell are thickened to one; the mass is that of the surface.
        material: Its material; None: `SoftMaterial()`.
        cell: Edge length of the lattice that fills a surface [m]; None: for about 10,000 tetrahedra.
        visual: Surface that is shown in place of the tetrahedra and moves with them, in the coordinates of the
            mesh: `(vertices, faces)`, an object with both or the path of a mesh file; it need not be closed. None:
            the surface that was filled, or that of the tetrahedra.
        self_collision: Whether its surface keeps off itself: `"triangles"` or False.
        position: Where the origin of the mesh goes [m].
        rotation: Rotation of the mesh about its origin, a unit quaternion w x y z.
        velocity: Velocity [m/s], (3,) or (V, 3) for the tetrahedra's vertices; None: at rest.
        name: Name in messages and results.

    Raises:
        SceneError: The mesh cannot be a solid: it is open, or a tetrahedron is flat or inside out; the message
            says which. Or the visual surface lies outside of it.
        FileError: A mesh file cannot be read.

    Warns:
        EmbeddingWarning: The visual surface reaches far out of the tetrahedra.
    """
    from shinari.api.solid_mesh import solid_mesh, visual_of
    from shinari.geometry.tetrahedra.check import boundary_faces
    from shinari.systems.rows.soft_rows import vertex_masses

    name = scene._name("soft", name)
    label = f"soft body {name!r}"
    soft = given_material(label, material, SoftMaterial)
    among = self_collision_mode(label, self_collision, {"triangles": "triangles"})
    scene._pose(label, position, rotation)  # before the mesh is filled, which takes long
    vertices, tetrahedra, filled, volume = solid_mesh(label, mesh, cell)
    seen = visual_of(label, visual, filled, vertices, tetrahedra)
    masses = vertex_masses(vertices, tetrahedra, volume * soft.density)
    faces = boundary_faces(tetrahedra)
    if among is not None:
        check_thickness(label, vertices, faces, soft.thickness)
    radii = np.zeros(len(vertices))
    # tearing exposes interior faces
    radii[... if soft.tear_strain < np.inf else np.unique(faces)] = 0.5 * soft.thickness
    vertices = scene._placed(label, vertices, position, rotation)
    if seen is not None:
        seen = replace(seen, vertices=scene._placed(label, seen.vertices, position, rotation))
    velocities = scene._velocities(label, velocity, masses)
    return scene._add_particle_object(
        ParticleObject(
            name,
            "soft",
            vertices,
            masses,
            velocities,
            radii,
            surface_of(soft),
            among,
            faces,
            soft,
            tetrahedra,
            visual=seen,
        )
    )
