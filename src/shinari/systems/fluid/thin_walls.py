"""Walls of closed meshes that are too thin for a fluid: a warning when a simulation is built.

A fluid feels a wall by the part of its kernels that the wall fills. Behind a wall thinner than three spacings a
particle feels what is on the other side, and it seeps through; through a wall of one spacing it flows.
"""

import numpy as np

from shinari.errors import FluidWarning, warn
from shinari.scene.contents import Contents
from shinari.scene.objects import ParticleObject
from shinari.shapes.mesh import Mesh

# Thickness, in spacings, of a wall that holds a fluid.
HOLDS = 3.0
# A round wall of flat faces is a little thinner.
NEARLY = 0.95
# Triangles from which the thickness is measured, and the part of them that may be thinner, such as at sharp edges.
SAMPLES, THINNER = 128, 0.1
# Cosine between opposite faces of a wall, at least.
OPPOSITE = 0.5


def warn_of_thin_walls(scene: Contents, fluids: list[ParticleObject]) -> None:
    """Warn of meshes that are thinner than three spacings of a fluid that may touch them.

    Warns:
        FluidWarning: The walls of a mesh are too thin.
    """
    spacing = fluids[0].sampling.spacing  # type: ignore[union-attr]
    walls = [(f"collider {each.name!r}", each.name, each.shape) for each in scene.colliders]
    walls += [(f"body {each.name!r}", each.name, piece.shape) for each in scene.bodies for piece in each.pieces]
    for label, name, shape in walls:
        meets = any({name, fluid.name} not in scene.ignored for fluid in fluids)
        if not meets or not isinstance(shape, Mesh) or not shape.solid:
            continue
        thickness = wall_thickness(np.asarray(shape.vertices, np.float64)[np.asarray(shape.faces)])
        if thickness < NEARLY * HOLDS * spacing:
            warn(
                f"{label}: its walls are {thickness:.3g} m thick, {thickness / spacing:.2g} spacings of fluid "
                f"{fluids[0].name!r}: it seeps through; take walls of {HOLDS * spacing:.3g} m, or a smaller spacing",
                FluidWarning,
            )


def wall_thickness(triangles: np.ndarray) -> float:
    """Thickness [m] of a closed mesh (F, 3, 3) behind most of its triangles.

    It is that along rays from the centroids to the inside (Moeller and Trumbore 1997), where they leave by a face
    that looks the other way: the rim of a wall is not thin.
    """
    edges, other = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    normals = np.cross(edges, other)
    units = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    picked = np.unique(np.linspace(0, len(triangles) - 1, SAMPLES).astype(int))
    found = []
    for k in picked:
        inward = -units[k]
        from_corner = triangles[k].mean(axis=0) - triangles[:, 0]
        across = np.cross(inward, other)
        volume = (edges * across).sum(axis=1)
        inverse = np.divide(1.0, volume, out=np.zeros_like(volume), where=volume != 0.0)
        turned = np.cross(from_corner, edges)
        u = (from_corner * across).sum(axis=1) * inverse
        v, t = (turned @ inward) * inverse, (other * turned).sum(axis=1) * inverse
        hit = (volume != 0.0) & (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t > 1e-9) & (units @ inward > OPPOSITE)
        if hit.any():
            found.append(t[hit].min())
    return float(np.quantile(found, THINNER)) if found else float("inf")
