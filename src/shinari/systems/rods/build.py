"""Frames of rods from their points, and the table of all rods of a scene."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from shinari.errors import SceneError
from shinari.model.settings import Settings
from shinari.scene.rod_material import RodMaterial
from shinari.systems.rods.model import RodModel, conjugated, product


def quaternion_of(turn: np.ndarray) -> np.ndarray:
    """Quaternions of rotation vectors (..., 3) [rad]."""
    angle = np.linalg.norm(turn, axis=-1, keepdims=True)
    return np.concatenate([np.cos(0.5 * angle), 0.5 * np.sinc(0.5 * angle / np.pi) * turn], axis=-1)


def start_frames(tangents: np.ndarray, closed: bool) -> np.ndarray:
    """Frames without twist along a curve: each is the one before, turned the short way.

    Args:
        tangents: Unit vectors along the segments, (S, 3); none opposite to the one before.
        closed: Whether the last leads to the first; what is then missing to close the frames is spread as twist.

    Returns:
        Unit quaternions, third axis along the tangents, (S, 4).
    """
    first = _shortest(np.array([0.0, 0.0, 1.0]), tangents[0])
    frames = np.empty((len(tangents), 4))
    frames[0] = first
    steps = _shortest(tangents[:-1], tangents[1:])
    for i, step in enumerate(steps):
        q = product(step, frames[i])
        frames[i + 1] = q / math.sqrt(float(q @ q))
    if closed:
        around = product(_shortest(tangents[-1], tangents[0]), frames[-1])
        missing = product(conjugated(around), first)
        angle = 2.0 * math.atan2(missing[3], missing[0])
        angle -= 2.0 * math.pi * round(angle / (2.0 * math.pi))
        share = angle * np.arange(len(frames)) / len(frames)
        frames = product(frames, quaternion_of(share[:, None] * np.array([0.0, 0.0, 1.0])))
    return frames


def rest_between(frames: np.ndarray, closed: bool) -> np.ndarray:
    """Rotation from each frame to the next one, (J, 4), with a positive scalar part."""
    after = np.roll(frames, -1, axis=0) if closed else frames[1:]
    p = product(conjugated(frames[: len(after)]), after)
    return np.where(p[:, :1] < 0.0, -p, p)


def _shortest(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The short rotation from unit vectors a to b (..., 3) as quaternions; half a turn about x where they oppose."""
    v = np.cross(a, b)
    w = 1.0 + (a * b).sum(axis=-1, keepdims=True)
    q = np.concatenate([w, np.broadcast_to(v, (*w.shape[:-1], 3))], axis=-1)
    size = np.linalg.norm(q, axis=-1, keepdims=True)
    half_turn = np.array([0.0, 1.0, 0.0, 0.0])
    return np.where(size < 1e-7, half_turn, q / np.maximum(size, 1e-7))


def build_rods(scene: Any, slots: np.ndarray, settings: Settings) -> RodModel | None:
    """The table of all rods; None when there are none.

    Args:
        scene: The scene.
        slots: Place of each particle in solver order, (N,).
        settings: Settings of the simulation.

    Raises:
        SceneError: Settings with which rods cannot be solved.
    """
    rods = [(obj, start) for obj, start in _with_starts(scene) if obj.rod is not None]
    if not rods:
        return None
    check_rods(scene, settings)
    parts: dict[str, list[np.ndarray]] = {key: [] for key in _COLUMNS}
    first = 0
    for obj, start in rods:
        for key, values in _columns(obj, start, first).items():
            parts[key].append(values)
        first += len(obj.rod.frames)
    table: dict[str, Any] = {key: np.concatenate(values) for key, values in parts.items()}
    clamped = np.zeros(first, bool)
    clamped[list(scene.clamped)] = True
    table["weights"][clamped] = 0.0
    table["points"] = slots[table["points"]].astype(np.uint32)
    return RodModel(clamped=clamped, **table)


def check_rods(scene: Any, settings: Settings) -> None:
    """Refuse settings with which rods cannot be solved.

    Raises:
        SceneError: The scene has a rod and these are such settings.
    """
    for name in (obj.name for obj in scene.particle_objects if obj.rod is not None):
        if settings.method == "pbd":
            raise SceneError(f"rod {name!r}: method: 'pbd' knows no moduli; rods need 'xpbd'")
        if settings.sweep == "chebyshev":
            raise SceneError(
                f"rod {name!r}: sweep: 'chebyshev' extrapolates positions without their frames; take another"
            )


_COLUMNS = (
    "bounds", "closed", "direct", "points", "after", "lengths", "rest", "softness", "weights", "damping", "frames",
    "spins",
)  # fmt: skip


def _with_starts(scene: Any) -> list[tuple[Any, int]]:
    """Things of the scene, each with the index of its first particle."""
    starts = np.cumsum([0] + [len(obj.positions) for obj in scene.particle_objects])
    return list(zip(scene.particle_objects, starts.tolist(), strict=False))


def _columns(obj: Any, start: int, first: int) -> dict[str, np.ndarray]:
    """Columns of one rod, whose particles begin at `start` and whose segments begin at `first`."""
    rod, material, x = obj.rod, obj.material, obj.positions
    assert isinstance(material, RodMaterial)
    n, joints = len(rod.frames), len(rod.rest)
    index = np.arange(n)
    ends = (index + 1) % len(x)
    spans = x[ends] - x[index]
    lengths = np.linalg.norm(spans, axis=1)
    after = (index + 1) % n
    rest = np.tile([1.0, 0.0, 0.0, 0.0], (n, 1))
    rest[:joints] = rod.rest
    section = material.density * material.second_moment * lengths
    # Frames that weigh next to nothing beside their points let a sweep of single rows gain energy without bound. With
    # the inertia of the points of their segment as well, m l^2 / 4, which refinement takes away, they do not.
    extra = 0.25 * material.density * material.area * lengths**3 if material.solver == "iterative" else 0.0
    apart = obj.velocities[ends] - obj.velocities[index]
    return {
        "bounds": np.array([[first, first + n]]),
        "closed": np.array([rod.closed]),
        "direct": np.array([material.solver == "direct"]),
        "points": np.stack([start + index, start + ends], axis=1),
        "after": first + np.where(index < joints, after, index),
        "lengths": lengths,
        "rest": rest,
        "softness": _softness(material, lengths, joints),
        "weights": np.stack([1.0 / (section + extra), 1.0 / (2.0 * section + extra)], axis=1),
        "damping": np.full(n, material.damping),
        "frames": rod.frames,
        "spins": np.cross(spans, apart) / (lengths**2)[:, None],
    }


def _softness(material: RodMaterial, lengths: np.ndarray, joints: int) -> np.ndarray:
    """Compliances of segments of these lengths (S,) and of the joints between them, (S, 6)."""
    shear, stretch, bend, twist = material.stiffness
    softness = np.ones((len(lengths), 6))
    softness[:, 0] = softness[:, 1] = lengths / shear
    softness[:, 2] = lengths / stretch
    between = 0.5 * (lengths + np.roll(lengths, -1))[:joints]
    softness[:joints, 3] = softness[:joints, 4] = between / bend
    softness[:joints, 5] = between / twist
    return softness


def softened(rods: RodModel, scene: Any) -> RodModel:
    """The rods with the compliances and damping times of the materials of a scene that differs in these alone."""
    softness, damping = [], []
    objects = [obj for obj in scene.particle_objects if obj.rod is not None]
    for obj, (begin, end) in zip(objects, rods.bounds, strict=True):
        softness.append(_softness(obj.material, rods.lengths[begin:end], len(obj.rod.rest)))
        damping.append(np.full(end - begin, obj.material.damping))
    return replace(rods, softness=np.concatenate(softness), damping=np.concatenate(damping))
