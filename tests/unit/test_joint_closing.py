"""Joints of figures whose paths are stopped stay closed, and what closes them is told."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.systems.paths.system import PathCertificates
from shinari.systems.rigid.model import bodies_of

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from heap_cases import add_ragdoll
from heap_measures import Measures
from rigid_engines import our_scene
from rigid_worlds import World

pytestmark = pytest.mark.filterwarnings("ignore::shinari.ContactWarning")


def figures_that_meet(speed: float) -> World:
    """Three figures without gravity and ground: two fly at the one between them."""
    world = World()
    world.ground = False
    for k in range(3):
        add_ragdoll(world, np.array([0.35, 0.13, 0.11]) * k)
    each = len(world.bodies) // 3
    for i, body in enumerate(world.bodies):
        world.bodies[i] = replace(body, velocity=((1 - i // each) * speed, 0, 0))
    return world


def test_forces_that_close_joints_are_told():
    """On each body contacts and joints sum to the change of its momentum, where paths are stopped, too."""
    world = figures_that_meet(8.0)
    scene, masses = our_scene(world), world.masses()[0][:, None]
    scene.gravity = np.zeros(3)
    sim = sn.Simulation(scene, substeps=1, sleep=False, threads=1)
    index = {body.name: i for i, body in enumerate(scene.bodies)}
    bodies, certificates = bodies_of(sim._bound), sim._bound.get(PathCertificates)
    assert bodies is not None
    joints = bodies.equations.joints
    stopped = 0
    for _ in range(6):
        before = np.array(sim.state.body_velocities)
        sim.step()
        stopped += certificates.zones
        change = masses * (np.array(sim.state.body_velocities) - before) * 60.0
        contacts = sim.contacts()
        for first, second, force in zip(contacts.first, contacts.second, contacts.forces, strict=True):
            change[index[first]] -= force
            change[index[second]] += force
        for (a, b), load in zip(joints.table.codes[:, :2], joints.values.loads[:, :3], strict=True):
            change[a] += load
            change[b] -= load
        assert np.abs(change).max() < 1e-5
    assert stopped > 0


def test_no_limb_stays_wedged_in_a_heap_of_figures():
    """A limb that its joints could not follow stayed 20 mm deep, with a gap of 34 mm, for as long as the heap lay."""
    world, rng = World(), np.random.default_rng(7)
    for n in range(48):
        shift = rng.uniform(-0.15, 0.15, 2)
        add_ragdoll(world, np.array([n % 4 + shift[0], 1.0 + 2.0 * (n // 16), 0.8 * (n // 4 % 4) + shift[1]]))
    sim, measures = sn.Simulation(our_scene(world), substeps=4, sleep=False, threads=1), Measures(world)
    sim.step(150)
    for _ in range(30):
        sim.step()
        assert measures.gap(np.array(sim.state.body_positions), np.array(sim.state.body_rotations)) < 1e-4
