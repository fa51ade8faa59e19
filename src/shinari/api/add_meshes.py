"""Adds meshes that move as they were told to a scene: bodies on which garments hang."""

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.geometry.mesh_sequence import MeshSequence
from shinari.scene.contact_material import checked_contact_material
from shinari.scene.contents import Contents
from shinari.scene.handle import Handle
from shinari.scene.objects import ParticleObject


def add_moving_mesh(
    scene: Contents,
    sequence: MeshSequence,
    *,
    thickness: float = 0.002,
    friction: float = 0.3,
    static_friction: float | None = None,
    restitution: float = 0.0,
    contact_compliance: float = 0.0,
    name: str | None = None,
) -> Handle:
    """Add a mesh that moves as it was told, pushes cloth and is not pushed: a walking figure.

    Cloth keeps off its triangles on the side on which it begins, with continuous detection, and is carried along by
    friction. Rigid bodies, fluids and grains do not see it; a rigid `Mesh` with a motion is faster as `add_collider`.

    Args:
        sequence: The mesh and its places in time, as `read_animation` gives it.
        thickness: Distance that others keep, half of it on each side [m].
        friction: Coulomb coefficient. With an object that has one of its own, the geometric mean of both acts.
        static_friction: Coulomb coefficient of sticking; None: as `friction`.
        restitution: Ratio of the speeds after and before an impact, 0 to 1; the larger of both acts.
        contact_compliance: Inverse stiffness of a contact [m/N]; the sum of both acts.
        name: Name in messages and results.

    Raises:
        SceneError: A value has the wrong type, or lies outside its bounds.
    """
    name = scene._name("moving mesh", name)
    label = f"moving mesh {name!r}"
    check.kind(label, "sequence", sequence, MeshSequence)
    thick = check.number(label, "thickness", thickness, least=0.0)
    if thick == 0.0:
        raise SceneError(f"{label}: thickness: must be above 0; others keep half of it off its triangles")
    check.number(label, "friction", friction, least=0.0)
    surface = checked_contact_material(label, friction, static_friction, restitution, contact_compliance)
    vertices = sequence(0.0)
    count = len(vertices)
    return scene._add_particle_object(
        ParticleObject(
            name,
            "cloth",
            vertices,
            np.zeros(count),
            np.zeros((count, 3)),
            np.full(count, 0.5 * thick),
            surface,
            None,
            sequence.faces,
            motion=sequence,
        )
    )
