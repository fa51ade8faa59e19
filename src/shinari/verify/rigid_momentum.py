"""What joints keep: the angular momentum of bodies that hang together, and the energy of what rolls about a joint."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.scene.handle import BodyHandle
from shinari.shapes.capsule import Capsule
from shinari.shapes.plane import Plane
from shinari.verify.ledger import Measurement, at_least, at_most, check
from shinari.verify.rigid_scenes import ONE, single, spin, turn, weightless


def _pair(kind: str, first: np.ndarray, second: np.ndarray, substeps: int) -> Simulation:
    """Two bodies with a joint off their centres, that turn at two angular velocities without parting there."""
    scene, where = weightless(), np.array([0.1, 0.05, 0.02])
    at, other = np.array([0.5, 0.0, 0.0]), np.array([-0.2, 0.0, 0.0])
    speed = np.cross(first, where)
    options: dict[str, Any] = {} if kind in ("fixed", "ball") else {"axis": (0, 1, 0)}
    a = scene.add_rigid_body(None, mass=2.0, inertia=(0.015, 0.01, 0.02), position=at, angular_velocity=first,
                             velocity=np.cross(first, at))  # fmt: skip
    b = scene.add_rigid_body(None, mass=5.0, inertia=(0.03, 0.025, 0.01), position=other, angular_velocity=second,
                             velocity=speed - np.cross(second, where - other))  # fmt: skip
    scene.add_joint(kind, a, b, anchor=where, **options)
    return single(scene, substeps=substeps)


@check("jointed bodies keep their angular momentum", "forces of a joint are opposite and act at one point",
       precisions=ONE)  # fmt: skip
def pairs(_: str) -> Iterator[Measurement]:
    """Pairs of free bodies that turn for ten seconds, as one or about each other.

    What a joint returns in the next substep is missing as a substep ends: h (v_a - v_b) x f, (w h)^2 of L, for ever.
    """
    for kind, first, second in (
        ("fixed", (0.0, 2.0, 0.0), (0.0, 2.0, 0.0)),
        ("hinge", (0.0, 3.0, 0.0), (0.0, -1.0, 0.0)),
        ("ball", (0.3, 2.0, 0.5), (1.0, -1.0, 2.0)),
        ("ball", (0.3, 0.2, 0.5), (3.0, 0.0, -3.0)),
    ):
        for substeps in (2, 4, 8):
            sim = _pair(kind, np.array(first), np.array(second), substeps)
            before, energy, worst, fastest = sim.angular_momentum(), sim.energy().kinetic, 0.0, 0.0
            for _step in range(600):
                sim.step()
                lost = float(np.linalg.norm(sim.angular_momentum() - before) / np.linalg.norm(before))
                worst = max(worst, lost)
                fastest = max(fastest, float(np.linalg.norm(sim.state.body_angular_velocities, axis=1).max()))
            wh, case = fastest * sim.settings.substep, f"{kind}, {first} and {second} rad/s, {substeps} substeps"
            yield at_most(f"largest change of L in 10 s over L, {case}", 2.0 * wh * wh, worst,
                          theory="of a substep: (w h)^2 with a factor of two")  # fmt: skip
            yield at_most(f"change of the energy in 10 s over E, {case}", 2.0 * wh * wh,
                          abs(sim.energy().kinetic / energy - 1.0),
                          theory="second order: (w h)^2 with a factor of two")  # fmt: skip


def _head(w: float, radius: float, neck: float, height: float, **settings: Any) -> tuple[Simulation, BodyHandle]:
    """A head on the floor whose neck ends at a height, that rolls about it at an angular velocity [rad/s]."""
    scene, length = Scene(), 0.02
    scene.add_collider(Plane(), friction=0.6)
    slope = math.asin((height - radius) / (neck + 0.5 * length))
    axis, end = np.array([math.cos(slope), -math.sin(slope), 0.0]), np.array([0.0, height, 0.0])
    touching = (neck + 0.5 * length) * axis - (0.0, radius, 0.0)
    rotation = w * touching / np.linalg.norm(touching)
    head = scene.add_rigid_body(
        Capsule(radius, length), density=1000.0, position=end + neck * axis, velocity=np.cross(rotation, neck * axis),
        angular_velocity=rotation, rotation=turn(np.cross((0.0, 1.0, 0.0), axis), math.acos(axis[1])), friction=0.6,
    )  # fmt: skip
    scene.add_joint("ball", head, anchor=end)
    return single(scene, **settings), head


@check("a head rolls about its neck", "a cone that rolls on a level floor keeps its speed", precisions=ONE)
def heads(_: str) -> Iterator[Measurement]:
    """A capsule that rolls on the floor about a ball joint, which it presses: its speed from 1 s to 11 s."""
    for solver in ("direct", "sweeps"):
        for w, radius, neck, height, substeps in (
            (0.5, 0.11, 0.16, 0.16, 4), (0.5, 0.11, 0.16, 0.16, 8), (0.25, 0.11, 0.16, 0.14, 4),
            (1.0, 0.05, 0.1, 0.09, 8),
        ):  # fmt: skip
            sim, head = _head(w, radius, neck, height, substeps=substeps, rigid_solver=solver)
            sim.step(60)
            before = float(np.linalg.norm(spin(sim, head)))
            sim.step(600)
            after = float(np.linalg.norm(spin(sim, head)))
            case = f"{w:g} rad/s, radius {radius:g} m, {substeps} substeps, {solver}"
            yield at_most(f"change of the speed in 10 s, {case}", 10.0 * w * w * sim.settings.substep + 1e-3,
                          abs(after / before - 1.0), theory="w h of w a second; settling of soft contacts")  # fmt: skip
            yield at_least(f"speed over that at the start, {case}", 0.9, before / w, theory="it rolls from the start")
