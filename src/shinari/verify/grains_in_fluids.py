"""Grains in fluids: what they feel, how fast they sink, and what the fluid gets in return."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.compute.program import run_recorded
from shinari.scene.fluid_material import FluidMaterial
from shinari.scene.grain_material import GrainMaterial
from shinari.scene.handle import Handle
from shinari.shapes.box import Box
from shinari.systems.fluid.effects.grain_drag import GrainDrag
from shinari.systems.fluid.system import Fluid
from shinari.verify.fluid_scenes import block
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal
from shinari.verify.scenes import small

_S, _RHO, _G = 0.02, 1000.0, 9.81
_LAW = "Dallavalle 1948: C = (0.63 + 4.8 / sqrt Re)^2, times a power of the voidage (Di Felice 1994)"
_FLUID = (10, 20, 10)


def drag_force(speed: float, diameter: float, viscosity: float, voidage: float = 1.0) -> float:
    """Drag of a grain among others, all of which go so fast through the fluid [N]."""
    flow = voidage * speed
    reynolds = _RHO * diameter * flow / viscosity
    coefficient = (0.63 + 4.8 / math.sqrt(reynolds)) ** 2
    power = 3.7 - 0.65 * math.exp(-0.5 * (1.5 - math.log10(reynolds)) ** 2)
    return 0.125 * math.pi * coefficient * _RHO * diameter**2 * flow**2 * voidage**-power


def terminal_speed(density: float, diameter: float, viscosity: float) -> float:
    """Speed at which drag carries what buoyancy does not [m/s], by bisection."""
    weight = abs(density - _RHO) * _G * math.pi * diameter**3 / 6.0
    low, high = 1e-9, 100.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if drag_force(middle, diameter, viscosity) > weight else (middle, high)
    return low


@check("drag on grains", f"the impulse of a substep; {_LAW}")
def law(precision: str) -> Iterator[Measurement]:
    """Grains that go through a block of fluid: the law, and what is kept when they are too light for it."""
    spacing, exact, h = 0.01, precision == "float64", 1e-4
    for name, diameter, count, viscosity, density in (
        ("creeping, Re 2", 1e-3, 1, 1.0, 2650.0),
        ("Re 700", 2e-3, 1, 6e-3, 2650.0),
        ("Re 20000", 8e-3, 1, 1e-3, 2650.0),
        ("dust, K w of 700", 1e-4, 2000, 1.0, 1.0),
    ):
        scene = Scene(gravity=(0, 0, 0))
        points = block((7, 7, 7), spacing, (-3.5 * spacing,) * 3)
        scene.add_fluid(points, spacing=spacing, material=FluidMaterial(viscosity=viscosity, xsph=0.0))
        # dust in layers, so that no two grains overlap
        where = np.full((1, 3), 1e-4) if count == 1 else block((10, 10, 20), 0.15 * spacing, (-0.75 * spacing,) * 3)
        grains = scene.add_grains(where, radius=0.5 * diameter, material=GrainMaterial(density=density))
        sim = small(scene, precision, dt=h, substeps=1)
        fluid = sim._bound.get(Fluid)
        fluid.measured(1)
        velocity = np.array((2.0, -1.0, 0.5))
        slots = sim.model.slots[grains.particles.start : grains.particles.stop]
        masses = 1.0 / sim.model.inverse_masses[slots].astype(float)
        fluid.rows.v[:], fluid.particles.v[slots] = 0.0, velocity
        own = fluid.particles.v[slots].astype(float)
        run_recorded(GrainDrag(fluid.model, h, fluid.scene_model.real).record, fluid)
        change, gained = fluid.rows.v.astype(float), fluid.particles.v[slots] - own
        inertia = 1.0 / fluid.rows.inverse_mass.astype(float)
        got, lost, given = inertia @ change, masses @ gained, np.linalg.norm(masses @ own)
        if count == 1:
            speed = float(np.linalg.norm(velocity))
            yield equal(f"{name}: impulse over that of the law", 1.0,
                        float(got @ velocity) / speed / (h * drag_force(speed, diameter, viscosity)),
                        absolute=1e-6, theory="constants in single precision")  # fmt: skip
        yield equal(f"{name}: change of the momentum of both over that of the grains", 0.0,
                    float(np.linalg.norm(got + lost) / given), absolute=1e-13 if exact else 2e-6,
                    theory="rounding of sums")  # fmt: skip
        energy = float(inertia @ (change**2).sum(axis=1) + masses @ ((own + gained) ** 2).sum(axis=1))
        yield at_most(f"{name}: kinetic energy after over before", 1.0, energy / float(masses @ (own**2).sum(axis=1)),
                      theory="no eigenvalue of the exchange is beyond one")  # fmt: skip


def _held(
    density: float, ratio: float, viscosity: float, precision: str, height: float, count: int = 6, spread: float = 0.5
) -> tuple[Simulation, Handle]:
    """A tank with grains that are held at a part of its depth until the fluid has come to rest."""
    scene, size = Scene(), np.array(_FLUID) * _S
    scene.add_collider(Box((size[0], 2.0 * size[1], size[2]), inside=True), position=(0.0, size[1], 0.0))
    water = FluidMaterial(viscosity=viscosity)
    scene.add_fluid(Box(tuple(size)), spacing=_S, position=(0.0, 0.5 * size[1], 0.0), material=water)
    where = np.random.default_rng(5).uniform(-1.0, 1.0, (count, 3)) * (3.0 * _S, spread * _S, 3.0 * _S)
    where[:, 1] += height * size[1]
    grains = scene.add_grains(where, radius=0.5 * ratio * _S, material=GrainMaterial(density=density))
    scene.pin(np.arange(grains.particles.start, grains.particles.stop))
    sim = small(scene, precision, substeps=10)
    sim.change(damping=3.0)
    sim.step(45)
    sim.change(damping=0.0)
    return sim, grains


def _height(sim: Simulation, grains: Handle) -> float:
    return float(np.array(sim.positions(grains), float)[:, 1].mean())


@check("grains sink at their terminal speed", _LAW)
def settling(precision: str) -> Iterator[Measurement]:
    """Grains that are let go in a fluid at rest: mean speed over half of the depth."""
    cases = ((2650.0, 0.1, 1e-3), (2650.0, 0.25, 1e-3), (2650.0, 0.5, 1e-3), (250.0, 0.25, 1e-3), (2650.0, 0.25, 0.05),
             (7800.0, 0.25, 0.5))  # fmt: skip
    for density, ratio, viscosity in cases if precision == "float32" else cases[1:2]:
        rises = density < _RHO
        sim, grains = _held(density, ratio, viscosity, precision, 0.25 if rises else 0.75)
        sim.unpin(grains, np.arange(6))
        expected = terminal_speed(density, ratio * _S, viscosity)
        sim.step(max(3, round(60.0 * 5.0 * expected / _G)))
        start, steps = _height(sim, grains), max(4, round(60.0 * 0.4 * _FLUID[1] * _S / expected))
        sim.step(steps)
        yield equal(
            f"density {density:g}, {ratio:g} spacings, {viscosity:g} Pa s: speed [m/s]", expected,
            abs(_height(sim, grains) - start) * 60.0 / steps, relative=0.1 + 0.25 * math.pi * ratio**2,
            theory="a tenth, as for a fluid at rest, and the area of a grain over that of a particle",
        )  # fmt: skip


@check("grains float, hover and sink", "Archimedes: weight of what is displaced")
def buoyancy(precision: str) -> Iterator[Measurement]:
    """Grains of densities about that of the fluid; the force on those that are held."""
    size = _FLUID[1] * _S
    for ratio in (0.25, 0.5) if precision == "float32" else (0.5,):
        sim, grains = _held(_RHO, ratio, 1e-3, precision, 0.5, 40, 6.0)
        forces = []
        for _ in range(30):
            sim.step()
            forces.append(float(sim.forces(grains)[1]))
        weight = 40.0 * _RHO * _G * math.pi / 6.0 * (ratio * _S) ** 3
        yield equal(f"{ratio:g} spacings: force over the weight of what they displace", 1.0,
                    float(np.mean(forces)) / weight, absolute=0.1,
                    theory="pressure of a fluid at rest: 10 %")  # fmt: skip
    for density in (250.0, 1000.0, 4000.0) if precision == "float32" else ():
        sim, grains = _held(density, 0.5, 1e-3, precision, 0.5)
        sim.unpin(grains, np.arange(6))
        sim.step(90)
        height = _height(sim, grains) / size
        if density == _RHO:
            yield equal("same density: height over the depth, from 0.5", 0.5, height, absolute=0.15,
                        theory="what is left of the motion of the fluid, 0.05 m/s for a second")  # fmt: skip
        elif density < _RHO:
            yield at_least(f"density {density:g}: height over the depth", 0.9, height, theory="at the surface")
        else:
            yield at_most(f"density {density:g}: height over the depth", 0.05, height, theory="on the bottom")


@check("grains and fluid keep their momentum", "all forces are forces of pairs")
def momentum(precision: str) -> Iterator[Measurement]:
    """A cloud of grains flies into a block of fluid without gravity."""
    scene, spacing = Scene(gravity=(0, 0, 0)), 0.02
    scene.add_fluid(block((10, 8, 8), spacing), spacing=spacing, material=FluidMaterial(viscosity=0.01))
    x = block((5, 5, 5), 0.012, (-0.08, 0.05, 0.05))
    grains = scene.add_grains(x, radius=0.005, material=GrainMaterial())
    sim = small(scene, precision, substeps=10)
    sim.state.velocities[sim.model.slots[grains.particles.start : grains.particles.stop]] = (3.0, 0.5, 0.0)
    before, energy = sim.momentum(), sim.energy().kinetic
    given = np.linalg.norm(before)
    sim.step(6)
    left = np.array(sim.velocities(grains), float)[:, 0].mean()
    yield equal("momentum, over that of the grains", 0.0, float(np.linalg.norm(sim.momentum() - before) / given),
                absolute=1e-12 if precision == "float64" else 2e-5, theory="rounding of 60 substeps")  # fmt: skip
    yield at_most("mean speed of the grains over that at the start", 0.7, float(left) / 3.0, theory="they are braked")
    yield at_most("kinetic energy over that at the start", 1.0, sim.energy().kinetic / energy, theory="only friction")
