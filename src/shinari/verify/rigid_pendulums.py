"""Pendulums of rigid bodies on joints: periods against the elliptic integral, normal modes, energy."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.shapes.base import Shape
from shinari.shapes.box import Box
from shinari.shapes.capsule import Capsule
from shinari.shapes.sphere import Sphere
from shinari.verify.ledger import Measurement, at_most, check, equal
from shinari.verify.pendulum import elliptic_k
from shinari.verify.rigid_scenes import ONE, single, turn

_PERIOD = "T = 2 pi sqrt(I / (m g d)) (2 / pi) K(sin(t0 / 2)), I about the pivot"


def _bodies() -> list[tuple[str, Shape, str, float, float]]:
    """Name, shape, joint, distance of the pivot above the centre [m], and I / m about the pivot [m^2]."""
    rod, plate, ball = Box((0.04, 1.0, 0.04)), Box((0.4, 0.3, 0.02)), Sphere(0.15)
    return [
        ("a rod on a hinge at its end", rod, "hinge", 0.5, _square(rod) + 0.25),
        ("a rod on a hinge near its middle", rod, "hinge", 0.1, _square(rod) + 0.01),
        ("a plate on a universal joint at its edge", plate, "universal", 0.15, _square(plate) + 0.15**2),
        ("a ball on a ball joint outside of it", ball, "ball", 0.4, 0.4 * 0.15**2 + 0.4**2),
        ("a ball on a rod of constant length", ball, "distance", 0.5, 0.5**2),
    ]


def _square(box: Box) -> float:
    """Square of the radius of gyration of a box about its z [m^2]."""
    return (box.size[0] ** 2 + box.size[1] ** 2) / 12.0


def _pendulum(shape: Shape, joint: str, d: float, g: float, angle: float, **settings: float) -> Simulation:
    """A body let go at an angle from straight down [rad], about Z at the origin."""
    scene = Scene(gravity=(0, -g, 0))
    down = np.array([math.sin(angle), -math.cos(angle), 0.0])
    q = turn((0, 0, 1), angle)
    body = scene.add_rigid_body(shape, mass=1.0, position=d * down, rotation=q)
    if joint == "distance":
        scene.add_joint("distance", body, anchor=d * down, second_anchor=(0, 0, 0), rest_length=d)
    elif joint == "ball":
        scene.add_joint("ball", body, anchor=(0, 0, 0))
    elif joint == "universal":
        scene.add_joint("universal", body, anchor=(0, 0, 0), axis=-down, second_axis=(0, 0, 1))
    else:
        scene.add_joint("hinge", body, anchor=(0, 0, 0), axis=(0, 0, 1))
    return single(scene, **settings)


def _quarter(sim: Simulation) -> float:
    """Time from release to the lowest point [s], linear between steps."""
    before = float(sim.state.body_positions[0, 0])
    while sim.time < 100.0:
        sim.step()
        after = float(sim.state.body_positions[0, 0])
        if after <= 0.0:
            return sim.time - sim.settings.dt * after / (after - before)
        before = after
    return math.nan


@check("period of a compound pendulum", _PERIOD, precisions=ONE)
def period(_: str) -> Iterator[Measurement]:
    """Four times the time from release to the lowest point, at two substeps, extrapolated to none."""
    for name, shape, joint, d, square in _bodies():
        for g, degrees in ((9.81, 5), (9.81, 60), (1.62, 120)):
            small = 2.0 * math.pi * math.sqrt(square / (g * d))
            angle, h = math.radians(degrees), small / 4 / 400
            coarse, fine = (
                _quarter(_pendulum(shape, joint, d, g, angle, dt=4 * size, substeps=4)) for size in (h, 0.5 * h)
            )
            wh = 2.0 * math.pi * h / small
            yield equal(
                f"T / T0 from {degrees} deg, {name}, g {g:g}",
                elliptic_k(math.sin(0.5 * angle)) * 2.0 / math.pi,
                4.0 * (2.0 * fine - coarse) / small,
                absolute=10.0 * wh**2,
                theory="(w h)^2 with a factor of ten after extrapolation",
            )


@check("normal modes of rods on hinges", "M a + K = 0 of uniform rods end to end; two: w^2 = 3 (1 -+ 2 / sqrt 7) g / L",
       precisions=ONE)  # fmt: skip
def modes(_: str) -> Iterator[Measurement]:
    """Rods let go in the shape of a mode: four times the time until all hang straight."""
    for count, length in ((2, 1.0), (3, 0.4)):
        i, j = np.indices((count, count))
        inertia = count - 1 - np.maximum(i, j) + np.where(i == j, 1 / 3, 1 / 2)
        squares, shapes = np.linalg.eig(np.linalg.solve(inertia, np.diag(count - np.arange(count) - 0.5)))
        for k in np.argsort(squares):
            rate = math.sqrt(9.81 / length * float(squares[k]))
            angles = 0.005 * shapes[:, k] / np.abs(shapes[:, k]).max()
            h = 2.0 * math.pi / rate / 4 / 400
            coarse, fine = (_crossing(angles, length, size) for size in (h, 0.5 * h))
            yield equal(
                f"frequency, {count} rods of {length:g} m, mode at {rate / (2 * math.pi):.3g} Hz [rad/s]",
                rate,
                0.5 * math.pi / (2.0 * fine - coarse),
                relative=10.0 * (rate * h) ** 2 + 0.005**2,
                theory="(w h)^2 with a factor of ten after extrapolation, and the square of the amplitude",
            )


def _crossing(angles: np.ndarray, length: float, h: float) -> float:
    """Time until the first rod of a chain let go at small angles hangs straight [s]."""
    scene = Scene()
    above, top = None, np.zeros(3)
    for angle in angles:
        along = np.array([math.sin(angle), -math.cos(angle), 0.0])
        rod = scene.add_rigid_body(
            None, mass=1.0, inertia=(length**2 / 12, 0.01, length**2 / 12), position=top + 0.5 * length * along,
            rotation=turn((0, 0, 1), angle)
        )  # fmt: skip
        scene.add_joint("hinge", rod, above, anchor=top, axis=(0, 0, 1))
        above, top = rod, top + length * along
    sim = single(scene, dt=4 * h, substeps=4)
    sign = math.copysign(1.0, angles[0])
    before = sign * float(sim.state.body_positions[0, 0])
    while sim.time < 100.0:
        sim.step()
        after = sign * float(sim.state.body_positions[0, 0])
        if after <= 0.0:
            return sim.time - sim.settings.dt * after / (after - before)
        before = after
    return math.nan


@check("energy of a compound pendulum is kept", "a symplectic step: E swings by w h / 2, in proportion to h, for ever",
       precisions=ONE)  # fmt: skip
def energy(_: str) -> Iterator[Measurement]:
    """How far the energy swings in each half of ten seconds, and that against the length of the substep."""
    for name, shape, joint, d, degrees in (
        ("a rod on a hinge", Box((0.04, 1.0, 0.04)), "hinge", 0.5, 90),
        ("a capsule on a ball joint", Capsule(0.05, 0.4), "ball", 0.3, 150),
    ):
        swings = []
        for substeps in (10, 20, 40):
            sim = _pendulum(shape, joint, d, 9.81, math.radians(degrees), substeps=substeps)
            scale = 9.81 * d * (1.0 - math.cos(math.radians(degrees)))
            first, fastest, energies = sim.energy().total, 0.0, []
            for _step in range(600):
                sim.step()
                energies.append((sim.energy().total - first) / scale)
                fastest = max(fastest, float(np.linalg.norm(sim.state.body_angular_velocities[0])))
            wh, halves = fastest * sim.settings.substep, np.array(energies).reshape(2, 300)
            swings.append(float(np.abs(halves).max()))
            case = f"{name}, {degrees} deg, {substeps} substeps"
            yield at_most(f"largest change of the energy over E0, {case}", 0.5 * wh, swings[-1],
                          theory="E - h theta' dV / 2 is kept: w h / 2")  # fmt: skip
            for side, bound in (("largest", halves.max(axis=1)), ("least", halves.min(axis=1))):
                yield equal(f"change of the {side} energy from 5 s to 10 s over E0, {case}", 0.0,
                            float(bound[1] - bound[0]), absolute=wh * wh, theory="(w h)^2")  # fmt: skip
        yield equal(
            f"swing at 40 substeps over that at 20, {name}, {degrees} deg", 0.5, swings[2] / swings[1],
            absolute=10.0 * wh, theory="in proportion to h: next order w h with a factor of ten"
        )  # fmt: skip
