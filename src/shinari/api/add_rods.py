"""Adds Cosserat rods to a scene."""

from typing import Any

import numpy as np

from shinari import check
from shinari.api.arguments import given_material, self_collision_mode, surface_of
from shinari.errors import SceneError
from shinari.scene.contents import Contents
from shinari.scene.objects import ParticleObject
from shinari.scene.rod import Rod, RodHandle
from shinari.scene.rod_material import RodMaterial


def add_rod(
    scene: Contents,
    points: Any,
    *,
    material: RodMaterial | None = None,
    closed: bool = False,
    rest_curvature: Any = None,
    point_masses: Any = 0.0,
    self_collision: bool = False,
    velocity: Any = None,
    name: str | None = None,
) -> RodHandle:
    """Add a rod that resists stretch, shear, bending and twist.

    Each segment has a frame; the frames start without twist along the rod, and those of a closed curve out of
    plane with the twist that closes it, spread evenly.

    Args:
        points: Points along the rod [m], (N, 3), N at least 2, or 3 for a ring.
        material: Its material; None: `RodMaterial()`.
        closed: Whether a last segment leads from the last point back to the first.
        rest_curvature: Curvature of the rod at rest in the axes of its frames [1/m], about the first and second
            axis the bending, about the third the twist, (3,) or one for each joint (J, 3); zeros: at rest it is
            straight. None: as it is given, a coil stays a coil.
        point_masses: Mass that the points carry beside that of the rod [kg], one or (N,). A weight that is given
            here is solved together with the rod; attached to it, one far heavier than a segment takes many
            iterations.
        self_collision: Whether its segments, as capsules, keep off each other.
        velocity: Velocity [m/s], (3,) or (N, 3); None: at rest.
        name: Name in messages and results.

    Raises:
        SceneError: Too few points, neighbours that coincide, a rod that doubles back on itself, or a bad value.
    """
    from shinari.systems.rods.build import quaternion_of, rest_between, start_frames

    name = scene._name("rod", name)
    label = f"rod {name!r}"
    rod = given_material(label, material, RodMaterial)
    check.choice(label, "closed", closed, (True, False))
    x = check.array(label, "points", points, (None, 3))
    spans, lengths = _segments(label, x, closed)
    frames = start_frames(spans / lengths[:, None], closed)
    after = np.roll(lengths, -1) if closed else lengths[1:]
    between = 0.5 * (lengths[: len(after)] + after)
    if rest_curvature is None:
        rest = rest_between(frames, closed)
    else:
        turns = _turns(label, rest_curvature, between)
        rest = np.array([quaternion_of(turn) for turn in turns]).reshape(-1, 4)
    masses = check.per_row(label, "point_masses", point_masses, len(x), least=0.0)
    np.add.at(masses, np.arange(len(spans)), 0.5 * rod.density * rod.area * lengths)
    np.add.at(masses, (np.arange(len(spans)) + 1) % len(x), 0.5 * rod.density * rod.area * lengths)
    velocities = scene._velocities(label, velocity, masses)
    among = self_collision_mode(label, self_collision, {True: "segments"})
    start = sum(len(obj.rod.frames) for obj in scene.particle_objects if obj.rod is not None)
    handle = scene._add_particle_object(
        ParticleObject(
            name, "rod", x, masses, velocities, np.full(len(x), rod.radius), surface_of(rod), among,
            material=rod, rod=Rod(frames, rest, closed),
        )
    )  # fmt: skip
    result = RodHandle(scene, name, handle.particles, range(start, start + len(frames)))
    scene.handles[name] = result
    return result


def _segments(label: str, x: np.ndarray, closed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Vectors along the segments (S, 3) and their lengths (S,) [m]."""
    least = 3 if closed else 2
    if len(x) < least:
        raise SceneError(f"{label}: points: a {'ring' if closed else 'rod'} needs at least {least}, got {len(x)}")
    spans = np.diff(x, axis=0, append=x[:1]) if closed else np.diff(x, axis=0)
    lengths = np.linalg.norm(spans, axis=1)
    if (lengths == 0.0).any():
        at = int(np.argmin(lengths))
        raise SceneError(f"{label}: points: {at} and {(at + 1) % len(x)} are the same point")
    tangents = spans / lengths[:, None]
    ahead = np.roll(tangents, -1, axis=0) if closed else tangents[1:]
    back = (tangents[: len(ahead)] * ahead).sum(axis=1) < -1.0 + 1e-6
    if back.any():
        at = (int(np.argmax(back)) + 1) % len(x)
        raise SceneError(f"{label}: points: at {at} the rod doubles back on itself, its frames cannot follow")
    return spans, lengths


def _turns(label: str, curvature: Any, between: np.ndarray) -> np.ndarray:
    """Rotation vectors at rest of the joints [rad], (J, 3), from a curvature [1/m]."""
    single = check.dimensions(label, "rest_curvature", curvature) == 1
    given = check.array(label, "rest_curvature", curvature, (3,) if single else (len(between), 3))
    turns = np.broadcast_to(given, (len(between), 3)) * between[:, None]
    angles = np.linalg.norm(turns, axis=1)
    if (angles >= np.pi).any():
        at = int(np.argmax(angles))
        raise SceneError(
            f"{label}: rest_curvature: joint {at} would turn by {np.degrees(angles[at]):.0f} degrees between two "
            f"segments, half a turn is too much; take shorter segments"
        )
    return turns
