"""Impacts: heights of bounces, momentum of two bodies that collide, and forces of objects at rest."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.motion import Keyframes
from shinari.geometry.topology import grid
from shinari.scene.handle import Handle
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.shapes.base import Shape
from shinari.shapes.box import Box
from shinari.shapes.plane import Plane
from shinari.shapes.sphere import Sphere
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal, roundoff
from shinari.verify.scenes import small

_NEWTON = "Newton's law of impact, v' = -e v; Mueller et al. 2020, Detailed Rigid Body Simulation, eq. 34"
# A drop of which the speed is 6 m/s, so that what gravity gives in a step of 1 ms is below 1 % of all speeds measured.
_HEIGHT = 2.0


def _targets() -> list[tuple[str, Shape, float]]:
    """Solids at the origin and how high their tops are."""
    return [("plane", Plane(), 0.0), ("box", Box((1.0, 0.2, 1.0)), 0.1), ("ball", Sphere(0.3), 0.3)]


def _apexes(sim: Simulation, ball: Handle, count: int, rest: float) -> list[float]:
    """Greatest heights [m] above where it rests after each of some bounces."""
    heights: list[float] = []
    best, rising = 0.0, False
    for _ in range(30000):
        sim.step()
        speed, y = float(sim.velocities(ball)[0, 1]), float(sim.positions(ball)[0, 1]) - rest
        if speed > 0.0:
            best, rising = y if not rising else max(best, y), True
        elif rising:
            heights.append(max(best, y))
            rising = False
            if len(heights) == count:
                return heights
    return [*heights, math.nan]


@check("restitution on solids", f"bounce n reaches e^(2 n) h0, 1 %; {_NEWTON}")
def bounces(precision: str) -> Iterator[Measurement]:
    """A ball of 1 cm is dropped on solids at rest, in steps of 1 ms."""
    for name, shape, top in _targets():
        for e, count in ((0.5, 2), (0.8, 4)):
            scene = Scene()
            scene.add_collider(shape, restitution=e, friction=0.0)
            ball = scene.add_particles([[0, top + 0.01 + _HEIGHT, 0]], mass=0.2, radius=0.01)
            sim = small(scene, precision, dt=1e-3, substeps=1)
            for n, height in enumerate(_apexes(sim, ball, count, top + 0.01), 1):
                yield equal(
                    f"height of bounce {n} over that of the drop, {name}, e {e:g}",
                    e ** (2 * n),
                    height / _HEIGHT,
                    relative=0.01,
                    theory="the requirement: 1 % at 1 ms",
                )


@check("a perfect bounce loses little", f"at most 1.5 % over ten bounces; {_NEWTON}")
def perfect(precision: str) -> Iterator[Measurement]:
    """A ball that bounces back with all of its speed, in steps of 1 ms."""
    for name, shape, top in _targets():
        scene = Scene()
        scene.add_collider(shape, restitution=1.0, friction=0.0)
        ball = scene.add_particles([[0, top + 0.01 + _HEIGHT, 0]], mass=0.2, radius=0.01)
        sim = small(scene, precision, dt=1e-3, substeps=1)
        last = _apexes(sim, ball, 10, top + 0.01)[-1] / _HEIGHT
        yield at_least(f"height of bounce 10 over that of the drop, {name}", 0.985, last, theory="the requirement")
        yield at_most(f"the same, nothing is gained, {name}", 1.0, last, absolute=0.015, theory="the requirement")


@check("restitution on a moving solid", f"v' = u + e (u - v); {_NEWTON}")
def racket(precision: str) -> Iterator[Measurement]:
    """A ball meets a plate that comes towards it or moves away."""
    for u, v, e in ((2.0, -1.0, 1.0), (1.0, -3.0, 0.5), (-1.0, -3.0, 0.7), (3.0, 0.0, 0.3)):
        scene = Scene(gravity=(0, 0, 0))
        path = Keyframes(np.array([0.0, 1.0]), np.array([[0.0, -0.05, 0.0], [0.0, u - 0.05, 0.0]]))
        scene.add_collider(Box((1.0, 0.1, 1.0)), motion=path, restitution=e)
        ball = scene.add_particles([[0, 0.2, 0]], velocity=(0, v, 0), radius=0.01)
        sim = small(scene, precision, dt=1e-3, substeps=1)
        sim.step(300)
        yield equal(
            f"speed after it met, plate {u:g}, ball {v:g} m/s, e {e:g} [m/s]",
            u + e * (u - v),
            float(sim.velocities(ball)[0, 1]),
            absolute=8.0 * roundoff(precision) * 1.5 / 1e-3,
            theory="exact but for roundings, u x / h each",
        )


@check("restitution of two balls", f"the textbook's velocities, and momentum; {_NEWTON}")
def two_balls(precision: str) -> Iterator[Measurement]:
    """Two loose particles meet head on."""
    for m, v, e in (((1.0, 1.0), (2.0, 0.0), 1.0), ((0.1, 3.0), (4.0, -1.0), 0.6), ((2.0, 0.5), (1.0, -2.0), 0.0)):
        scene = Scene(gravity=(0, 0, 0))
        balls = scene.add_particles(
            [[-0.1, 0, 0], [0.1, 0, 0]],
            mass=m,
            velocity=[[v[0], 0, 0], [v[1], 0, 0]],
            radius=0.02,
            restitution=e,
            self_collision=True,
        )
        sim = small(scene, precision, dt=1e-3, substeps=1)
        sim.step(200)
        mean = (m[0] * v[0] + m[1] * v[1]) / (m[0] + m[1])
        for k in (0, 1):
            expected = mean + e * m[1 - k] / (m[0] + m[1]) * (v[1 - k] - v[k])
            yield equal(
                f"speed of ball {k} of {m[k]:g} kg, from {v[k]:g} m/s, e {e:g} [m/s]",
                expected,
                float(sim.velocities(balls)[k, 0]),
                absolute=8.0 * roundoff(precision) * 1.0 / 1e-3,
                theory="exact but for roundings, u x / h each",
            )


@check("momentum of a collision", "Newton's third law: impulses are opposite")
def momentum(precision: str) -> Iterator[Measurement]:
    """Two sheets, two loose particles, a sheet and a rope, a sheet and a loose particle: nothing holds them."""
    for name, build in _COLLISIONS.items():
        scene = Scene(gravity=(0, 0, 0))
        build(scene)
        sim = small(scene, precision)
        before, met = sim.momentum(), 0
        size = float((sim.model.masses[:, None] * np.abs(sim.state.velocities)).sum())
        for _ in range(20):
            sim.step()
            met += len(sim.contacts())
        yield at_least(f"contacts, {name}", 1, met, theory="they meet")
        writes = 20 * sim.settings.substeps * (sum(b.indices.size for b in sim.model.blocks.values()) + 4 * met)
        reach = float(np.abs(sim.state.positions).max()) + 0.01
        error = math.sqrt(writes) * float(sim.model.masses.max()) * roundoff(precision) * reach / sim.settings.substep
        yield at_most(
            f"change over sum |m v|, {name}",
            0.0,
            float(np.linalg.norm(sim.momentum() - before)) / size,
            absolute=4.0 * error / size,
            theory="four deviations of a random walk, m u x / h for each write",
        )


def _fly(scene: Scene, position: tuple[float, float, float], speed: float, count: int = 9) -> Handle:
    material = ClothMaterial(density=0.3, thickness=0.004, friction=0.4, restitution=0.3)
    mesh = grid(shape=(count, count), size=(0.025 * (count - 1), 0.025 * (count - 1)))
    return scene.add_cloth(mesh, material=material, position=position, velocity=(0.1, speed, 0))


def _two_sheets(scene: Scene) -> None:
    _fly(scene, (0.02, 0.05, 0.01), -2.0)
    _fly(scene, (0.0, -0.05, 0.0), 2.0, count=7)


def _two_particles(scene: Scene) -> None:
    scene.add_particles(
        [[-0.1, 0, 0], [0.1, 0.01, 0]],
        mass=[0.3, 1.0],
        velocity=[[2.0, 0, 0], [-1.0, 0, 0]],
        radius=0.03,
        friction=0.4,
        self_collision=True,
    )


def _sheet_and_rope(scene: Scene) -> None:
    _fly(scene, (0.0, 0.05, 0.0), -2.0)
    points = np.linspace((-0.15, 0, 0.01), (0.15, 0, 0.03), 13)
    scene.add_rope(points, material=RopeMaterial(radius=0.006), velocity=(0, 1.0, 0))


def _sheet_and_particle(scene: Scene) -> None:
    _fly(scene, (0.0, 0.05, 0.0), -2.0)
    scene.add_particles([[0.013, 0, 0.004]], mass=0.05, radius=0.01, velocity=(0, 1.0, 0), friction=0.5)


_COLLISIONS: dict[str, Callable[[Scene], None]] = {
    "two sheets": _two_sheets,
    "two loose particles": _two_particles,
    "a sheet and a rope": _sheet_and_rope,
    "a sheet and a loose particle": _sheet_and_particle,
}
