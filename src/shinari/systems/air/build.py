"""The triangles of a scene that feel the air."""

import numpy as np

from shinari.compute.colouring import incidence
from shinari.model.model import AirSurface
from shinari.scene.contents import Contents
from shinari.scene.materials import ClothMaterial


def air_surface(scene: Contents, slots: np.ndarray, real: type) -> AirSurface | None:
    """Triangles of all cloths; None when there is no air, or no cloth.

    Args:
        scene: The scene.
        slots: Place of each particle in solver order, (N,).
        real: Floating point type of the solver.
    """
    if scene.wind is None:
        return None
    triangles, drag, start = [], [], 0
    for obj in scene.particle_objects:
        if isinstance(obj.material, ClothMaterial) and obj.faces is not None:
            triangles.append(slots[obj.faces + start])
            coefficients = [obj.material.drag_normal, obj.material.drag_tangential]
            drag.append(np.tile(0.5 * scene.air_density * np.array(coefficients), (len(obj.faces), 1)))
        start += len(obj.positions)
    if not triangles:
        return None
    corners = np.concatenate(triangles)
    offsets, entries = incidence(corners, len(slots))
    return AirSurface(
        triangles=corners,
        drag=np.concatenate(drag).astype(real),
        corners=entries.astype(np.uint32),
        corner_offsets=offsets.astype(np.int32),
    )
