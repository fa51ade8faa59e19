"""Bodies in a medium: terminal velocities, and how a speed decays."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.scene.medium import Medium
from shinari.shapes.box import Box
from shinari.shapes.sphere import Sphere
from shinari.verify.ledger import Measurement, check, equal
from shinari.verify.rigid_scenes import ONE, single

_G = 9.81


@check("terminal velocity in a medium", "m g = 2 rho a b v^2; m g = 6 pi beta r v", precisions=ONE)
def terminal(_: str) -> Iterator[Measurement]:
    """A plate that falls flat in air, and a ball that sinks in honey."""
    size, mass, density = (0.2, 0.004, 0.3), 0.05, 1.2
    scene = Scene()
    scene.add_rigid_body(Box(size), mass=mass, medium=Medium(density))
    sim = single(scene)
    sim.step(240)
    speed = math.sqrt(mass * _G / (0.5 * density * size[0] * size[2]))
    lost = 0.5 * sim.settings.substep * _G / speed
    yield equal("plate in air [m/s]", -speed, float(sim.state.body_velocities[0, 1]), relative=2.0 * lost,
                theory="g h / (2 v) of the splitting")  # fmt: skip
    radius, viscosity = 0.02, 10.0
    scene = Scene()
    scene.add_rigid_body(Sphere(radius), mass=mass, medium=Medium(0.0, viscosity))
    sim = single(scene)
    sim.step(120)
    # the box of the inertia of a ball has half sizes sqrt(3/5) r
    drag = 6.0 * math.pi * viscosity * math.sqrt(0.6) * radius
    speed = mass * _G / drag
    yield equal("ball in honey [m/s]", -speed, float(sim.state.body_velocities[0, 1]),
                relative=2.0 * sim.settings.substep * drag / mass, theory="h c / m of the splitting")  # fmt: skip


@check("drag slows a body down", "v = v0 / (1 + c v0 t / m); v = wind + (v0 - wind) exp(-c t / m)", precisions=ONE)
def decay(_: str) -> Iterator[Measurement]:
    """Without gravity: by pressure, by viscosity in a wind, and a spin by viscosity."""
    size, mass = (0.2, 0.1, 0.3), 0.5
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_rigid_body(Box(size), mass=mass, velocity=(5.0, 0.0, 0.0), medium=Medium(1000.0))
    sim = single(scene)
    sim.step(12)
    rate = 0.5 * 1000.0 * size[1] * size[2] / mass * 5.0
    yield equal("pressure [m/s]", 5.0 / (1.0 + rate * sim.time), float(sim.state.body_velocities[0, 0]),
                relative=sim.settings.substep * rate, theory="first order in h")  # fmt: skip
    wind, viscosity = np.array([1.0, 0.0, 2.0]), 2.0
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_rigid_body(
        Box(size),
        mass=mass,
        velocity=(5.0, 0.0, 0.0),
        angular_velocity=(0.0, 3.0, 0.0),
        medium=Medium(0, viscosity, wind),
    )
    sim = single(scene)
    sim.step(12)
    mean = float(np.mean(size)) / 2.0
    rate = 6.0 * math.pi * viscosity * mean / mass
    expected = wind + (np.array([5.0, 0.0, 0.0]) - wind) * math.exp(-rate * sim.time)
    for k in (0, 2):
        found = float(sim.state.body_velocities[0, k])
        yield equal(f"viscosity in a wind, {'xyz'[k]} [m/s]", float(expected[k]), found,
                    relative=2.0 * sim.settings.substep * rate, theory="first order in h")  # fmt: skip
    inertia = mass * (size[0] ** 2 + size[2] ** 2) / 12.0
    rate = 8.0 * math.pi * viscosity * mean**3 / inertia
    yield equal("spin [rad/s]", 3.0 * math.exp(-rate * sim.time), float(sim.state.body_angular_velocities[0, 1]),
                relative=2.0 * sim.settings.substep * rate, theory="first order in h")  # fmt: skip
