"""Heaps on what moves: they stand on a platform that moves, turns or starts gently as they do on the ground."""

import math

import numpy as np
import pytest

import shinari as sn
from shinari.collision.law import GRIP

G = 9.81


class Ride:
    """A pyramid on a platform, and how far it has come from its place there.

    Args:
        rows: Rows of the pyramid.
        substeps: Substeps of a step.
        velocity: Velocity of the platform [m/s].
        turning: Its rate about the vertical [rad/s].
        sway: It swings along x by so much about its place, once in 2 s [m].
        apart: Gap between the boxes of a row [m].
    """

    RATE = math.pi

    def __init__(self, rows, substeps, velocity=(0, 0, 0), turning=0.0, sway=0.0, apart=0.0):
        self._velocity, self._turning, self._sway = np.array(velocity, float), turning, sway
        scene = sn.Scene()
        scene.add_collider(sn.Box((60, 1, 60)), friction=0.6, motion=lambda t: (self._origin(t), self._turn(t)))
        size = 1 + apart
        places = [(size * (k - 0.5 * (rows - r - 1)), r + 1.0, 0.0) for r in range(rows) for k in range(rows - r)]
        for place in places:
            speed = self._velocity + np.cross((0, turning, 0), place)
            scene.add_rigid_body(
                sn.Box((1, 1, 1)), position=place, velocity=speed, angular_velocity=(0, turning, 0), friction=0.6
            )
        self.simulation, self._places = sn.Simulation(scene, substeps=substeps, sleep=False), np.array(places)

    def _origin(self, t):
        return self._velocity * t + (self._sway * (1 - math.cos(self.RATE * t)), 0, 0)

    def _turn(self, t):
        return math.cos(0.5 * self._turning * t), 0.0, math.sin(0.5 * self._turning * t), 0.0

    def moved(self):
        """Largest way down, and across, from the places on the platform [m]."""
        t = self.simulation.time
        c, s = math.cos(self._turning * t), math.sin(self._turning * t)
        x, y, z = (self.simulation.state.body_positions - self._origin(t)).T
        moved = np.stack([c * x - s * z, y, s * x + c * z], axis=1) - self._places
        return -moved[:, 1].min(), np.abs(moved[:, [0, 2]]).max()


def sinking(rows, substeps):
    # the rows give by 1e-5 of g h^2 under the weight of one body, and carry those above
    h = 1 / 60 / substeps
    return 1e-5 * G * h * h * rows**3


@pytest.mark.parametrize(
    ("rows", "substeps", "velocity"),
    [(8, 4, (0.3, 0, 0)), (8, 10, (7, 0, 3)), (8, 2, (0, 2, 0)), (8, 4, (1, -3, 0)), (16, 4, (1, 0, 0))],
)
def test_a_pyramid_on_a_platform_that_moves_stands_as_on_the_ground(rows, substeps, velocity):
    ride = Ride(rows, substeps, velocity)
    ride.simulation.step(60)
    down, across = ride.moved()
    assert down <= sinking(rows, substeps)
    assert across <= sinking(rows, substeps)


@pytest.mark.parametrize(("substeps", "turning"), [(4, 0.3), (10, -0.5)])
def test_a_pyramid_on_a_platform_that_turns_stands(substeps, turning):
    ride = Ride(8, substeps, turning=turning, apart=0.01)
    ride.simulation.step(60)
    down, across = ride.moved()
    # friction that turns the outermost box, 4 m from the axis, is softer than what carries it
    assert down <= sinking(8, substeps)
    assert across <= sinking(8, substeps) * 4 * turning * turning / G / GRIP


@pytest.mark.parametrize(("substeps", "sway"), [(4, 0.1), (10, 0.1), (10, 0.05)])
def test_a_pyramid_on_a_platform_that_starts_gently_stands(substeps, sway):
    ride = Ride(8, substeps, sway=sway, apart=0.01)
    ride.simulation.step(120)
    down, across = ride.moved()
    assert down <= sinking(8, substeps)
    assert across <= sinking(8, substeps) * sway * Ride.RATE**2 / G / GRIP
