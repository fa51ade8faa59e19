"""What starts inside a collider: a scene that was probably not meant so."""

import warnings

import numpy as np

from shinari.errors import ContactWarning
from shinari.scene.motion import rotation_matrix
from shinari.scene.scene import Scene
from shinari.scene.shapes import Plane
from shinari.scene.things import Collider, Particles

# Part of its radius that a particle may start inside, and part of a coordinate that is rounding in single precision.
ALLOWED, ROUNDING = 0.05, 1e-6


def warn_of_starts_inside(scene: Scene, pinned: np.ndarray) -> None:
    """Warn of particles that start inside a collider; they are pushed out at the depenetration speed.

    Args:
        scene: The scene.
        pinned: Which particles cannot move, as added, (N,) bool.

    Warns:
        ContactWarning: A particle is deeper than 5 % of its radius: once for each thing and collider.
    """
    start = 0
    for group in scene.groups:
        end = start + len(group.positions)
        free = ~pinned[start:end]
        for collider in scene.colliders:
            if (min(group.name, collider.name), max(group.name, collider.name)) not in scene.ignored:
                _warn_of_pair(group, collider, free)
        start = end


def _warn_of_pair(group: Particles, collider: Collider, free: np.ndarray) -> None:
    from shinari.contact.solid.encode import bounds, signed_distance

    low, high = bounds(collider.shape)
    local = (group.positions - collider.position) @ rotation_matrix(collider.rotation)
    reach = group.radii[:, None]
    near = np.flatnonzero(free & ((local > low - reach) & (local < high + reach)).all(axis=1))
    if len(near) == 0:
        return
    shape = collider.shape
    if isinstance(shape, Plane):  # most scenes have one: nothing to compile
        gaps = local[near] @ np.array(shape.normal) - shape.offset
    else:
        gaps = signed_distance(shape, local[near])
    depth = group.radii[near] - gaps
    size = np.abs(group.positions[near]).max(axis=1) + np.abs(local[near]).max(axis=1)
    deep = depth > np.maximum(ALLOWED * group.radii[near], ROUNDING * size)
    if deep.any():
        worst = int(np.argmax(np.where(deep, depth, -np.inf)))
        warnings.warn(
            f"{group.name!r} starts inside collider {collider.name!r}: {int(deep.sum())} particles, the deepest is "
            f"particle {int(near[worst])} with {depth[worst]:.3g} m; they are pushed out at the depenetration speed",
            ContactWarning,
            stacklevel=4,
        )
