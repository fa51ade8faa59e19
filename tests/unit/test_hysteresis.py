"""Closed loops of load: what plastic and damped ropes lose is the area of the loop; strains relax at their rate."""

import math

import numpy as np
import pytest
from small_scenes import precisions

import shinari as sn

CYCLE = 4.0  # [s]
SUBSTEP = 1.0 / 1200.0


def pulled(material: sn.RopeMaterial, low: float, high: float, precision: str) -> tuple[np.ndarray, float]:
    """What a segment of 1 m has lost after each step [J] of three cycles between two lengths, and the mass of its end.

    The hand that holds the end moves as a cosine from the shorter length on.
    """
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    rope = scene.add_rope(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), material=material)
    rope.pin([0])
    sim = sn.Simulation(scene, precision=precision)
    hand = sim.grab(rope, 1, compliance=0.0)
    lost, steps = [], round(60 * CYCLE)
    for i in range(1, 3 * steps + 1):
        x = 0.5 * (low + high) - 0.5 * (high - low) * math.cos(2.0 * math.pi * i / steps)
        hand.target = (x, 0.0, 0.0)
        sim.step()
        energy = sim.energy()
        lost.append(energy.external_work - energy.total)
    return np.array(lost), 1.0 / float(sim.state.x[:, 3].max())


def jerks(mass: float, amplitude: float) -> float:
    """What a rigid hand loses in a cycle [J], as it changes the speed of the mass once a step: m (a dt)^2 / 2 each."""
    return 0.25 * mass * (amplitude * (2.0 * math.pi / CYCLE) ** 2) ** 2 * CYCLE / 60.0


@precisions
@pytest.mark.parametrize(("strain", "low", "high"), [(0.05, 0.8, 1.3), (0.1, 0.7, 1.5), (0.02, 0.9, 1.1)])
@pytest.mark.parametrize("compliance", [1e-3, 3e-3])
def test_a_plastic_rope_loses_the_area_of_its_loop(strain, low, high, compliance, precision):
    """Between a = low (1 + y) / (1 - y) and high it yields at k y l / (1 + y), on the way back at k y l / (1 - y).

    The rest length follows that of the last substep: the force is late by k h v, which adds pi k h w A^2 at most.
    """
    material = sn.RopeMaterial(radius=0.01, density=5.0, stretch_compliance=compliance, yield_strain=strain)
    lost, mass = pulled(material, low, high, precision)
    a, b = low * (1.0 + strain) / (1.0 - strain), high * (1.0 - strain) / (1.0 + strain)
    area = strain / (2.0 * compliance) * ((high**2 - a**2) / (1.0 + strain) + (b**2 - low**2) / (1.0 - strain))
    amplitude, rate = 0.5 * (high - low), 2.0 * math.pi / CYCLE
    late = math.pi * SUBSTEP * rate * amplitude**2 / compliance
    cycles = np.diff(lost[round(60 * CYCLE) - 1 :: round(60 * CYCLE)])
    # a thousandth for chords of the cosine and rounding
    assert np.all(cycles > area * (1.0 - 1e-3))
    assert np.all(cycles < (area + late + jerks(mass, amplitude)) * (1.0 + 1e-3))


@precisions
@pytest.mark.parametrize(("time", "amplitude"), [(0.05, 0.1), (0.2, 0.05)])
def test_a_damped_rope_loses_the_area_of_its_ellipse(time, amplitude, precision):
    """pi c w A^2 with c = k times the damping time.

    The damping of an implicit step is off by a substep at most. The row is solved before the hand moves its end: with
    one sweep it misses the part c h / m of its force.
    """
    material = sn.RopeMaterial(radius=0.01, density=5.0, stretch_compliance=1e-3, damping=time)
    lost, mass = pulled(material, 1.0 - amplitude, 1.0 + amplitude, precision)
    area = math.pi * (2.0 * math.pi / CYCLE) * amplitude**2 / 1e-3
    cycles = np.diff(lost[round(60 * CYCLE) - 1 :: round(60 * CYCLE)])
    missed = time / 1e-3 * SUBSTEP / mass
    assert np.all(cycles > area * (time - SUBSTEP) * (1.0 - missed - 1e-3))
    assert np.all(cycles < (area * (time + SUBSTEP) + jerks(mass, amplitude)) * (1.0 + 1e-3))


@precisions
@pytest.mark.parametrize(("strain", "rate", "length"), [(0.05, 2.0, 1.3), (0.1, 8.0, 1.25), (0.1, 3.0, 0.7)])
def test_a_rope_that_is_held_relaxes_at_the_rate_of_its_creep(strain, rate, length, precision):
    """L goes to l / (1 +- y) as exp(-creep t): exact in each substep, whatever its length."""
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    material = sn.RopeMaterial(radius=0.01, density=1.0, stretch_compliance=1e-3, yield_strain=strain, creep=rate)
    rope = scene.add_rope(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), material=material)
    rope.pin([0, 1])
    sim = sn.Simulation(scene, precision=precision)
    sim.positions(rope)[1, 0] = length
    side, rests = math.copysign(1.0, length - 1.0), []
    for _ in range(60):
        sim.step()
        rests.append(length - side * math.sqrt(2e-3 * sim.energy().elastic))
    end = length / (1.0 + side * strain)
    expected = end + (rests[0] - end) * np.exp(-rate / 60.0 * np.arange(60))
    # rounding of the rest length in each substep, each of which a later one takes back in part
    eps = float(np.finfo(precision).eps)
    np.testing.assert_allclose(rests, expected, rtol=0, atol=1200 * eps * length)
