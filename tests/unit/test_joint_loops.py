"""Loops of joints that hold some directions twice: energy, and the motion of the same loop that holds each once."""

import math
import warnings

import numpy as np
import pytest

import shinari as sn
from shinari.errors import OverconstrainedWarning

Y = (0, 1, 0)
HEIGHT, WIDTH = 0.4, 0.6


def bar(scene, start, end, **motion):
    """A square bar between two points of the plane x z."""
    along = np.subtract(end, start)
    turn = -0.5 * math.atan2(along[2], along[0])
    shape = sn.Box((float(np.linalg.norm(along)), 0.04, 0.04))
    return scene.add_rigid_body(shape, density=1000.0, position=0.5 * np.add(start, end),
                                rotation=(math.cos(turn), 0.0, math.sin(turn), 0.0), **motion)  # fmt: skip


def parallelogram(twice, speed=0.0):
    """Two cranks on the world, the first with its hinge, and a coupler; hinges alone hold three directions twice."""
    scene = sn.Scene(gravity=(0, 0, 0))
    turning = {"angular_velocity": (0, speed, 0), "velocity": (0.5 * HEIGHT * speed, 0, 0)}
    first = bar(scene, (0, 0, 0), (0, 0, HEIGHT), **turning)
    coupler = bar(scene, (0, 0, HEIGHT), (WIDTH, 0, HEIGHT), velocity=(HEIGHT * speed, 0, 0))
    second = bar(scene, (WIDTH, 0, HEIGHT), (WIDTH, 0, 0), **turning)
    for one, other in ((first, coupler), (coupler, second), (first, second)):
        scene.ignore_contact(one, other)
    crank = scene.add_joint("hinge", first, anchor=(0, 0, 0), axis=Y)
    scene.add_joint("hinge", coupler, first, anchor=(0, 0, HEIGHT), axis=Y)
    if twice:
        scene.add_joint("hinge", second, coupler, anchor=(WIDTH, 0, HEIGHT), axis=Y)
        scene.add_joint("hinge", second, anchor=(WIDTH, 0, 0), axis=Y)
    else:
        scene.add_joint("universal", second, coupler, anchor=(WIDTH, 0, HEIGHT), axis=(1, 0, 0), second_axis=Y)
        scene.add_joint("ball", second, anchor=(WIDTH, 0, 0))
    return scene, crank


def simulation(scene, substeps):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverconstrainedWarning)
        return sn.Simulation(scene, substeps=substeps, threads=1)


@pytest.mark.parametrize(("substeps", "speed"), [(5, 6.0), (6, 6.0), (8, 9.0), (20, 15.0)])
def test_a_loop_of_hinges_keeps_its_energy(substeps, speed):
    """To the second order of the turn in a substep, as an open bar does; the forces grew, and took or gave a fifth."""
    scene, _ = parallelogram(twice=True, speed=speed)
    sim = simulation(scene, substeps)
    before, turn = sim.energy().total, speed / 60.0 / substeps
    for _ in range(60):
        sim.step()
        assert sim.energy().total == pytest.approx(before, rel=4.0 * turn * turn)


@pytest.mark.parametrize("substeps", [5, 6])
def test_a_loop_that_holds_twice_moves_as_one_that_holds_once(substeps):
    """A motor turns both; what is held once more has no part in the motion, which is in the plane."""
    angles = []
    for twice in (False, True):
        scene, crank = parallelogram(twice)
        sim = simulation(scene, substeps)
        crank.drive(sn.ForceMotor(3.0))
        sim.run(0.3, progress=False)
        angles.append(crank.angle)
        assert np.abs(np.asarray(sim.state.body_positions)[:, 1]).max() < 1e-12
    assert angles[1] == pytest.approx(angles[0], abs=1e-5)
