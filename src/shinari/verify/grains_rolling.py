"""Grains that turn: sliding, rolling and resting balls against closed forms, impacts of spinning ones, and heaps."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.scene.grain_material import GrainMaterial
from shinari.scene.handle import Handle
from shinari.shapes.box import Box
from shinari.shapes.plane import Plane
from shinari.verify.grains import RADIUS, SUBSTEPS, settled
from shinari.verify.ledger import Measurement, at_most, check, equal, roundoff
from shinari.verify.scenes import small

_G = 9.81
_SOLID = "a solid ball, I = 2/5 m r^2"
_HEAP = (
    "friction 0.5, rolling friction 0.08, on rough ground: the angle of repose of glass beads, 24 degrees (Lajeunesse "
    "et al. 2004), and the run-out of Lube et al. 2004, eq. 4.1"
)
# Rounding of a position of up to 32 mm, as a speed over a substep, is this many roundings times 32 mm / h.
_ROUNDINGS = 4


def _ball(
    precision: str, radius: float, mu: float, rolling: float, slope: float = 0.0, motion: Any = None, **start: Any
) -> tuple[Simulation, Handle]:
    """A ball on a plane; gravity is that of a slope down along x."""
    scene = Scene(gravity=(_G * math.sin(slope), -_G * math.cos(slope), 0.0))
    scene.add_collider(Plane(), friction=mu, motion=motion)
    material = GrainMaterial(friction=mu, rolling_friction=rolling)
    ball = scene.add_grains([[0.0, radius, 0.0]], radius=radius, material=material, **start)
    return small(scene, precision), ball


@check("a ball slides, then rolls", f"slides for 2 v / (7 mu g), then rolls at 5/7 v; {_SOLID}")
def slide_and_roll(precision: str) -> Iterator[Measurement]:
    """Balls that start to slide without spin."""
    for mu, v, radius in ((0.3, 1.0, 0.01), (0.1, 0.5, 0.05), (0.6, 2.0, 0.002)):
        sim, ball = _ball(precision, radius, mu, 0.0, velocity=(v, 0, 0))
        case, end, half = f"mu {mu:g}, {v:g} m/s, r {radius:g} m", 2.0 * v / (7.0 * mu * _G), 0
        while sim.time + sim.settings.dt < end:
            sim.step()
            half += 1
        sliding, spin = sim.velocities(ball)[0].astype(float), sim.angular_velocities(ball)[0]
        allowed = 200 * roundoff(precision)
        yield equal(f"speed while it slides, {case} [m/s]", v - mu * _G * sim.time, sliding[0], absolute=allowed,
                    theory="rounding of a hundred substeps")  # fmt: skip
        yield equal(f"spin while it slides times r, {case} [m/s]", -2.5 * mu * _G * sim.time, spin[2] * radius,
                    absolute=allowed, theory="rounding of a hundred substeps")  # fmt: skip
        sim.step(30)
        rolling = float(sim.velocities(ball)[0, 0])
        yield equal(f"speed as it rolls, {case} [m/s]", 5.0 / 7.0 * v, rolling, absolute=10 * allowed,
                    theory="rounding of a thousand substeps; angular momentum about the ground stays")  # fmt: skip


@check("a ball on a slope", f"5/7 g (sin a - mu_r cos a), at rest below tan a = mu_r; {_SOLID}")
def slope(precision: str) -> Iterator[Measurement]:
    """Balls on slopes that are too flat to slide."""
    for tangent, rolling in ((0.3, 0.0), (0.5, 0.2), (0.12, 0.1), (0.08, 0.1), (0.39, 0.4)):
        angle = math.atan(tangent)
        sim, ball = _ball(precision, 0.01, 1.0, rolling, slope=angle)
        sim.step(60)
        speed = max(5.0 / 7.0 * _G * (math.sin(angle) - rolling * math.cos(angle)), 0.0)
        yield equal(
            f"speed after 1 s, slope {tangent:g}, rolling friction {rolling:g} [m/s]",
            speed,
            float(sim.velocities(ball)[0, 0]),
            absolute=1200 * roundoff(precision) * max(speed, 0.01),
            theory="a rounding in each of 1200 substeps",
        )


@check("a ball on a moving plate", f"2/7 of the acceleration of the plate; {_SOLID}")
def plate(precision: str) -> Iterator[Measurement]:
    """A plate that is accelerated carries a ball along only in part."""
    for acceleration in (1.0, 3.0):

        def motion(time: float, a: float = acceleration) -> tuple:
            return (0.5 * a * time**2, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)

        sim, ball = _ball(precision, 0.01, 1.0, 0.0, motion=motion)
        sim.step(60)
        yield equal(
            f"speed after 1 s at {acceleration:g} m/s^2 [m/s]",
            2.0 / 7.0 * acceleration,
            float(sim.velocities(ball)[0, 0]),
            relative=2e-3,
            theory="the mean speed of a plate in a substep of 1/1200 s is that of half a substep before, 4e-4",
        )


@check("spinning balls meet", f"they stick with m r w / 7 along the surface, or slip with mu m v / 2; {_SOLID}")
def impact(precision: str) -> Iterator[Measurement]:
    """A ball with a spin hits one at rest without a bounce; their speeds along the surface."""
    radius, speed = 0.01, 1.0
    for mu, spin in ((0.6, 50.0), (0.1, 200.0), (0.3, 400.0)):
        scene = Scene(gravity=(0, 0, 0))
        material = GrainMaterial(friction=mu, rolling_friction=0.0)
        scene.add_grains([[-0.03, 0, 0]], radius=radius, material=material, velocity=(speed, 0, 0),
                         angular_velocity=(0, 0, spin))  # fmt: skip
        second = scene.add_grains([[0, 0, 0]], radius=radius, material=material)
        sim = small(scene, precision, substeps=100)
        start, h = sim.angular_momentum()[2], sim.settings.substep
        yield equal(f"angular momentum over I w, {spin:g} rad/s", 1.0,
                    start / (0.4 * scene.particle_objects[0].masses[0] * radius**2 * spin),
                    absolute=10 * roundoff(precision), theory="rounding")  # fmt: skip
        sim.step(6)
        case = f"mu {mu:g}, {spin:g} rad/s"
        # the masses are equal: the push gives each half of the approach, and the slip is that of one surface
        push = min(0.5 * mu * speed, spin * radius / 7.0)
        turned = "as they slide by, the normal turns by v h / r in two substeps"
        part = speed * h / radius
        rounding = _ROUNDINGS * roundoff(precision) * 0.032 / h
        for name, expected, measured, unit in (
            ("speed of the second along the surface", push, sim.velocities(second)[0, 1], 1.0),
            ("spin of the second times r", -2.5 * push, radius * sim.angular_velocities(second)[0, 2], 2.5),
        ):
            yield equal(f"{name}, {case} [m/s]", expected, float(measured), theory=turned,
                        absolute=part * abs(expected) + unit * rounding)  # fmt: skip
        yield equal(f"change of the angular momentum over that of the spin, {case}", 0.0,
                    (sim.angular_momentum()[2] - start) / start, theory=turned,
                    absolute=2.0 * speed * push * h / (0.4 * radius**2 * spin))  # fmt: skip


@check("clouds of grains that turn", "momentum stays, angular momentum with spin, too; energy never grows")
def clouds(precision: str) -> Iterator[Measurement]:
    """Two clouds of grains with spins meet beside each other without gravity."""
    for substeps in (10, 40):
        scene = Scene(gravity=(0, 0, 0))
        for k in range(2):
            material = GrainMaterial(friction=0.4, rolling_friction=0.1)
            scene.add_grains(Box((0.06, 0.06, 0.06)), radius=0.005, spread=0.2, position=(0.07 * k, 0.02 * k, 0),
                             material=material, velocity=(1.0 - 2.0 * k, 0, 0),
                             angular_velocity=(0, 0, 20.0))  # fmt: skip
        sim = small(scene, precision, substeps=substeps)
        momentum, angular, kinetic = sim.momentum(), sim.angular_momentum(), [sim.energy().kinetic]
        for _ in range(20):
            sim.step()
            kinetic.append(sim.energy().kinetic)
        lost = float(np.linalg.norm(sim.angular_momentum() - angular) / np.linalg.norm(angular))
        size = float(sim.model.masses.sum())
        yield at_most(f"change of momentum over m v, {substeps} substeps", 0.0,
                      float(np.linalg.norm(sim.momentum() - momentum)) / size, absolute=1000 * roundoff(precision),
                      theory="a thousand roundings of a speed, all to one side")  # fmt: skip
        yield at_most(f"change of the angular momentum, {substeps} substeps", 0.05 / substeps, lost,
                      theory="of first order: normals turn by v h / 2 r = 3 / substeps in a substep")  # fmt: skip
        yield at_most(f"largest rise of the kinetic energy in a step over all, {substeps} substeps", 0.0,
                      float(np.diff(kinetic).max()) / kinetic[0], absolute=1e-6 + 1000 * roundoff(precision),
                      theory="contacts without bounce only take")  # fmt: skip


def _law(a: float) -> float:
    """Run-out of a column over its radius."""
    return 1.24 * a if a < 1.7 else 1.6 * math.sqrt(a)


def _rough(scene: Scene, extent: int, material: GrainMaterial) -> None:
    """A layer of grains that are held, so many radii wide to each side, with their centres just beneath y = 0."""
    number = np.arange(-extent, extent + 1)
    i, j = (each.ravel() for each in np.meshgrid(number, number))
    x, z = (2 * i + j % 2) * RADIUS, math.sqrt(3.0) * j * RADIUS
    near = np.hypot(x, z) < extent * RADIUS
    points = np.stack([x, np.full(len(x), -0.2 * RADIUS), z], axis=1)[near]
    scene.add_grains(points, radius=RADIUS, material=material).pin(np.arange(len(points)))


def _repose(material: GrainMaterial, precision: str) -> tuple[float, float]:
    """Angle [degrees] of the heap that a square tube leaves as it is lifted slowly, and the mean speed in it [m/s].

    The angle is that of a cone of the same height of the centre of mass and the same mean radius.
    """
    half, height, thick = 10 * RADIUS, 24 * RADIUS, 4 * RADIUS
    points = settled(2 * half, height, 0.1)
    scene = Scene()
    sand = scene.add_grains(points[points[:, 1] < height - RADIUS], radius=RADIUS, material=material)
    _rough(scene, 50, material)
    side, along = (thick, 2 * height, 2 * (half + thick)), (2 * half, 2 * height, thick)
    middle = half + 0.5 * thick
    for x, z, size in ((middle, 0, side), (-middle, 0, side), (0, middle, along), (0, -middle, along)):

        def motion(time: float, x: float = x, z: float = z) -> tuple:
            return (x, height + 12 * RADIUS * time, z), (1.0, 0.0, 0.0, 0.0)

        scene.add_collider(Box(size), position=(x, height, z), motion=motion, friction=0.0)
    sim = small(scene, precision, substeps=SUBSTEPS)
    sim.step(240)
    x = sim.positions(sand).astype(float)
    angle = math.degrees(math.atan(2.0 * (x[:, 1].mean() - RADIUS) / np.hypot(x[:, 0], x[:, 2]).mean()))
    return angle, float(np.linalg.norm(sim.velocities(sand), axis=1).mean())


def _run_out(material: GrainMaterial, wanted: float, grains: int, precision: str) -> tuple[float, float, int]:
    """Aspect ratio of a column, its run-out over its radius, and how many grains it has."""
    radius = grains * RADIUS
    x = settled(2.0 * radius, wanted * radius, 0.1)
    x = x[(np.hypot(x[:, 0], x[:, 2]) < radius - RADIUS) & (x[:, 1] < wanted * radius - RADIUS)]
    scene = Scene()
    sand = scene.add_grains(x, radius=RADIUS, material=material)
    _rough(scene, round(grains * (1.5 + 1.4 * _law(wanted))), material)
    sim = small(scene, precision, substeps=SUBSTEPS)
    # it has come to rest after 3.3 sqrt(height / g), eq. 4.3 of the same
    sim.step(math.ceil(60.0 * 6.0 * math.sqrt(wanted * radius / _G)))
    end = sim.positions(sand)
    front = float(np.percentile(np.hypot(end[:, 0], end[:, 2]), 98.0)) + RADIUS
    return (float(x[:, 1].max()) + RADIUS) / radius, front / radius - 1.0, len(x)


@check("repose and run-out of one material", _HEAP, precisions=("float32",))
def heaps(precision: str) -> Iterator[Measurement]:
    """A heap that a tube leaves as it is lifted, and columns that collapse, on grains that are held."""
    material = GrainMaterial(friction=0.5, rolling_friction=0.08)
    angle, speed = _repose(material, precision)
    yield equal("angle of repose [deg]", 24.0, angle, absolute=3.0, theory="that of glass beads is 22 to 26")
    yield at_most("mean speed of a grain of the heap [m/s]", 1e-3, speed, theory="it rests")
    # a flat one runs out by few grains: it is wider
    for wanted, grains in ((0.5, 42), (1.2, 20), (3.0, 15), (10.0, 10)):
        a, front, count = _run_out(material, wanted, grains, precision)
        yield equal(
            f"(front - r0) / r0 of {count} grains, a = {a:.2f}; the front holds 98 % of them",
            _law(a),
            front,
            relative=0.25,
            theory="the requirement; the experiments scatter by 10 %",
        )
