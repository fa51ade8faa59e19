"""Adds grains to a scene: sand, gravel, beads."""

from typing import Any

import numpy as np

from shinari import check
from shinari.api.arguments import given_material, surface_of
from shinari.errors import SceneError
from shinari.geometry.motion import NO_ROTATION
from shinari.scene.contents import Contents
from shinari.scene.grain_material import GrainMaterial
from shinari.scene.handle import Handle
from shinari.scene.objects import ParticleObject

_NO_ROTATION = tuple(NO_ROTATION.tolist())
# The same random numbers on every machine and in every version of NumPy.
SEED = 20140721
# Cells of a random filling are this much wider than the largest grain.
LOOSE = 1.15


def add_grains(
    scene: Contents,
    shape_or_points: Any,
    *,
    radius: float,
    material: GrainMaterial | None = None,
    spread: float = 0.0,
    packing: str = "random",
    position: Any = (0.0, 0.0, 0.0),
    rotation: Any = _NO_ROTATION,
    velocity: Any = None,
    angular_velocity: Any = None,
    name: str | None = None,
) -> Handle:
    """Add grains: balls that keep off each other and rub.

    Their masses are those of balls of their radii. A filling is looser than a heap, and settles; `"lattice"` is a
    cubic lattice of balls that touch, which stands as it is until something disturbs it.

    Args:
        shape_or_points: The centres of the grains, (N, 3) [m]; or the shape to fill such as `Box`, a closed
            mesh as a tuple `(vertices, faces)`, an object with both, or the path of a mesh file.
        radius: Radius of the grains [m].
        material: Its material; None: `GrainMaterial()`.
        spread: Radii differ from `radius` by up to this part of it, evenly distributed; 0 to 0.9.
        packing: How a shape is filled: `"random"` or `"lattice"`.
        position: Where the origin of the shape or of the points goes [m].
        rotation: Rotation about that origin, a unit quaternion w x y z.
        velocity: Velocity [m/s], (3,) or (N, 3) for the grains; None: at rest.
        angular_velocity: Angular velocity [rad/s], (3,) or (N, 3), of grains whose material has a `rolling_friction`;
            None: at rest.
        name: Name in messages and results.

    Raises:
        SceneError: No grain fits into the shape, the mesh is open, or a value is out of bounds; the message says
            which.
        FileError: The mesh file cannot be read.
    """
    name = scene._name("grains", name)
    label = f"grains {name!r}"
    grain = given_material(label, material, GrainMaterial)
    radius = check.number(label, "radius", radius, above=0.0)
    spread = check.number(label, "spread", spread, least=0.0, most=0.9)
    check.choice(label, "packing", packing, ("random", "lattice"))
    random = np.random.RandomState(SEED)
    points, radii = _places(label, shape_or_points, radius, spread, packing, random)
    points = scene._placed(label, points, position, rotation)
    masses = grain.density * 4.0 / 3.0 * np.pi * radii**3
    spins = _spins(label, angular_velocity, grain, len(points))
    return scene._add_particle_object(
        ParticleObject(
            name,
            "grains",
            points,
            masses,
            scene._velocities(label, velocity, masses),
            radii,
            surface_of(grain),
            self_collision="particles",
            material=grain,
            angular_velocities=spins,
        )
    )


def _spins(label: str, given: Any, grain: GrainMaterial, count: int) -> np.ndarray | None:
    """Angular velocities of grains [rad/s], (N, 3); None where none are given."""
    if given is None:
        return None
    if grain.rolling_friction is None:
        raise SceneError(f"{label}: angular_velocity: these grains do not turn; give their material a rolling_friction")
    shape = (3,) if check.dimensions(label, "angular_velocity", given) == 1 else (count, 3)
    values = check.array(label, "angular_velocity", given, shape, most=check.FINITE)
    return np.array(np.broadcast_to(values, (count, 3)))


def _places(
    label: str, given: Any, radius: float, spread: float, packing: str, random: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Centres (N, 3) and radii (N,) of the grains [m]."""
    from shinari.shapes.sampling.fill_volume import fill_points, is_solid

    largest = radius * (1.0 + spread)
    spacing = 2.0 * largest * (LOOSE if packing == "random" else 1.0)
    try:
        points = fill_points(label, given, spacing, balls=True)
    except SceneError as error:
        text = str(error).replace(f"spacing: {spacing:g} m", f"radius: a distance of {spacing:g} m between grains", 1)
        raise SceneError(text) from None
    radii = radius * (1.0 + spread * random.uniform(-1.0, 1.0, len(points)))
    if packing == "random" and is_solid(given):
        # anywhere in the ball that it has to itself
        way = random.uniform(-1.0, 1.0, points.shape)
        way /= np.maximum(np.linalg.norm(way, axis=1), 1.0)[:, None]
        points = points + (0.5 * spacing - radii)[:, None] * way
    return points, radii
