"""What acts on fluids, in whole scenes; and that the checks of `shinari verify` fail for a wrong engine."""

import numpy as np
import pytest

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.compute import Field, Record, kernel, real
from shinari.model.particles import Particles
from shinari.scene.fluid_material import FluidMaterial
from shinari.shapes.box import Box
from shinari.systems.fluid.effects import Forces, tension, viscosity
from shinari.systems.fluid.effects.tension import Tension
from shinari.systems.fluid.records import FluidParticles
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.system import RigidBodySystem
from shinari.verify.ledger import run_checks


def block(n: int, spacing: float) -> np.ndarray:
    axis = spacing * (np.arange(n) - 0.5 * (n - 1))
    return np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)


def test_a_wrong_viscosity_fails(monkeypatch):
    right = viscosity.lattice_viscosity
    monkeypatch.setattr(viscosity, "lattice_viscosity", lambda s: (1.1 * right(s)[0], right(s)[1]))
    assert not all(m.passed for m in run_checks(["a shear wave decays by its viscosity"], ["float64"]))


@kernel
def quicken(i, fluid: FluidParticles, factor: real):
    """Make every second velocity larger."""
    if i % 2 == 0:
        v = fluid.v[i]
        fluid.v[i] = factor * v[0], factor * v[1], factor * v[2]


def test_forces_without_reaction_fail(monkeypatch):
    right = Tension.record

    def wrong(self, p, fluid):
        right(self, p, fluid)
        p.launch(quicken, fluid.rows, 1.001, count=fluid.count)

    monkeypatch.setattr(Tension, "record", wrong)
    assert not all(m.passed for m in run_checks(["effects on fluids keep momentum"], ["float32"]))


def test_a_tension_of_half_the_strength_fails(monkeypatch):
    monkeypatch.setattr(tension, "DRAWN", 2.0 * tension.DRAWN)
    assert not all(m.passed for m in run_checks(["a drop oscillates"], ["float32"]))


def test_the_same_bits_on_any_number_of_threads():
    ends = []
    for threads in (1, 2):
        scene, spacing = Scene(gravity=(0, -9.81, 0), wind=(2, 0, 0)), 0.01
        material = FluidMaterial(
            viscosity=20.0, vorticity=0.2, surface_tension=0.5, air_drag=1.0, cohesive=True, tensile_correction=0.1
        )
        scene.add_fluid(block(13, spacing), spacing=spacing, material=material)
        sim = Simulation(scene, substeps=2, threads=threads)
        sim.step(5)
        ends.append(sim.state.positions.copy())
    assert (ends[0] == ends[1]).all()


@pytest.mark.parametrize("direction", [1, -1])
def test_a_gas_fills_the_top_of_a_box_and_stays_calm(direction):
    """Lighter than what is around it, it lies under the lid as a heavier one lies on the floor."""
    scene, spacing = Scene(gravity=(0, -9.81 * direction, 0)), 0.05
    material = FluidMaterial(rest_density=0.6, ambient_density=1.2, xsph=0.05)
    scene.add_fluid(block(8, spacing), spacing=spacing, material=material)
    scene.add_collider(Box((0.4, 1.2, 0.8), inside=True))
    sim = Simulation(scene, substeps=10)
    sim.step(150)
    height = direction * np.array(sim.state.positions)[:, 1]
    # half as deep as it was high: twice the area
    assert height.mean() == pytest.approx(0.6 - 0.1, abs=0.3 * spacing)
    assert np.sqrt((np.array(sim.state.velocities) ** 2).sum(axis=1).mean()) < 0.25


class Watch(Record):
    """Momentum times the substep that forces give, one row for each substep."""

    drop = Field(np.float64)
    box = Field(np.float64)


class Row(Record):
    """One row."""

    number = Field(np.int64)


@kernel(mixed=True)
def watch(_, particles: Particles, frames: Frames, log: Watch, row: Row, sign: np.float64):
    """Add the first moments of the masses, with a sign."""
    k = row.number[0]
    for i in range(len(particles)):
        log.drop[k] += sign * 1e-6 * particles.x[i, 1]
    for b in range(len(frames)):
        if frames.inverse_mass[b] > 0.0:
            log.box[k] += sign * frames.x[b, 1] / frames.inverse_mass[b]
    row.number[0] = k + 1 if sign > 0.0 else k


def test_adhesion_gives_bodies_the_opposite_push(monkeypatch):
    """What forces add to the momentum of a drop on a free box they take from the box."""
    scene, spacing = Scene(gravity=(0, 0, 0)), 1e-3
    material = FluidMaterial(surface_tension=0.07, adhesion=0.7, xsph=0.0)
    scene.add_fluid(block(5, spacing), spacing=spacing, material=material)
    scene.add_rigid_body(Box((12e-3, 4e-3, 12e-3)), density=2000.0, position=(0, -5.2e-3, 0))
    sim = Simulation(scene, dt=1 / 240, substeps=5, precision="float64", threads=1)
    right, log, row = Forces.record, Watch.zeros(20), Row.zeros(1)

    def watched(self, p, fluid):
        records = fluid.particles, sim._bound.get(RigidBodySystem).frames, log, row
        p.serial(watch, *records, -1.0)
        right(self, p, fluid)
        p.serial(watch, *records, 1.0)

    monkeypatch.setattr(Forces, "record", watched)
    sim._bound.arrange()  # the step is recorded anew
    sim.step(4)
    assert row.number[0] == 20
    drop, box = log.drop, log.box
    assert np.abs(drop).max() > 1e-10
    # positions of a few millimetres are rounded at 1e-18 m
    assert np.abs(drop + box).max() < 1e-6 * np.abs(drop).max()
    assert sim.state.body_velocities[0, 1] > 0.0
