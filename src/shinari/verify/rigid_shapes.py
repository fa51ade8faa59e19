"""A body of a shape registered from outside of the package: its contacts, its mass and its rolling, by one period."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.maths.function import function
from shinari.shapes.base import Shape
from shinari.shapes.plane import Plane
from shinari.shapes.registry import register_shape
from shinari.verify.ledger import Measurement, check, equal


@dataclass(frozen=True)
class Pebble(Shape):
    """Ellipsoid with given half axes [m]."""

    axes: tuple[float, float, float]

    def numbers(self) -> tuple[float, ...]:
        """The half axes."""
        return self.axes


@function
def _support(d, s):
    x, y, z = s[0] * d[0], s[1] * d[1], s[2] * d[2]
    length = np.sqrt(x * x + y * y + z * z)
    return s[0] * x / length, s[1] * y / length, s[2] * z / length


register_shape(Pebble, support=_support)


@check("a registered ellipsoid rocks with its period", "energy of an ellipse that rolls; T by quadrature")
def rocks(precision: str) -> Iterator[Measurement]:
    """Half axes a along x and b upright, let go at an angle on a plane without sliding.

    With h(t)^2 = a^2 sin^2 t + b^2 cos^2 t the centre is at the height h, the foot h' beside it, and
    (I / m + h^2 + h'^2) t'^2 / 2 + g h is constant.
    """
    for axes, angle, g, substeps in (
        ((0.12, 0.08, 0.1), 0.1, 9.81, 20),
        ((0.15, 0.08, 0.1), 0.3, 9.81, 20),
        ((0.2, 0.1, 0.12), 0.2, 1.62, 10),
    ):
        a, b, c = axes
        height = math.hypot(a * math.sin(angle), b * math.cos(angle))
        scene = Scene(gravity=(0.0, -g, 0.0))
        scene.add_collider(Plane(), friction=2.0)
        mass = 4000.0 / 3.0 * math.pi * a * b * c
        tensor = np.diag([b * b + c * c, c * c + a * a, a * a + b * b]) * mass / 5.0
        turn = (math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle))
        scene.add_rigid_body(
            Pebble(axes), mass=mass, inertia=tensor, position=(0, height, 0), rotation=turn, friction=2.0
        )
        expected = _period(a, b, angle, g)
        dt = expected / 60.0
        sim = Simulation(scene, precision=precision, threads=1, dt=dt, substeps=substeps)
        angles = [angle]
        for _step in range(200):
            sim.step()
            angles.append(2.0 * math.asin(sim.state.body_rotations[0, 3]))
        yield equal(f"half axes {a:g} and {b:g} m, from {angle:g} rad, g = {g:g} m/s^2, {substeps} substeps",
                    expected, _measured(np.array(angles), dt), relative=(2.0 * math.pi / 60.0 / substeps) ** 2,
                    theory="second order in the substep, (omega h)^2")  # fmt: skip


def _period(a: float, b: float, angle: float, g: float) -> float:
    """Period of the swing [s], with t = angle sin(phi)."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    t = angle * np.sin(0.25 * math.pi * (1.0 + nodes))
    h, most = np.hypot(a * np.sin(t), b * np.cos(t)), math.hypot(a * math.sin(angle), b * math.cos(angle))
    slope = (a * a - b * b) * np.sin(t) * np.cos(t) / h
    inertia = (a * a + b * b) / 5.0 + h * h + slope * slope
    rate = angle * np.cos(0.25 * math.pi * (1.0 + nodes)) * np.sqrt(inertia / (2.0 * g * (most - h)))
    return float(4.0 * 0.25 * math.pi * (weights @ rate))


def _measured(angles: np.ndarray, dt: float) -> float:
    """Period by the first and the last fall through zero [s]."""
    falls = np.flatnonzero((angles[:-1] > 0.0) & (angles[1:] <= 0.0))
    crossings = dt * (falls + angles[falls] / (angles[falls] - angles[falls + 1]))
    return float((crossings[-1] - crossings[0]) / (len(crossings) - 1))
