"""Round bodies that spin and roll far in a substep, see `round_sides.py`."""

import numpy as np
import pytest

import shinari as sn
from shinari.geometry.motion import rotation_matrix

G = 9.81


def spinning(shape, tilt, spin, substeps, friction=0.0, frames=60):
    """How deep a body is in the ground in each frame [m], and its energy at the end [J].

    It starts above the ground with its axis at an angle `tilt` to the vertical [rad] and turns about the vertical.
    """
    scene = sn.Scene()
    scene.add_collider(sn.Plane((0, 1, 0), 0), friction=friction)
    rotation = np.cos(tilt / 2), 0.0, 0.0, -np.sin(tilt / 2)
    scene.add_rigid_body(
        shape, density=1000, position=(0, 0.5, 0), rotation=rotation, angular_velocity=(0, spin, 0), friction=friction
    )
    sim = sn.Simulation(scene, substeps=substeps, threads=1, sleep=False)
    vertices, depths = shape.surface(400)[0], []
    for _ in range(frames):
        sim.step()
        turned = vertices @ rotation_matrix(np.asarray(sim.state.body_rotations[0])).T
        depths.append(-(turned + np.asarray(sim.state.body_positions[0]))[:, 1].min())
    energy = sim.energy()
    return np.array(depths), energy.kinetic + energy.gravitational


# Shape, tilt [rad], and how deep it may be in what gravity moves a body in a substep, g h^2. It was up to
# 61, 3, 134, 30 and 146 to first order. The flatter a rim lies, the faster it goes round.
SHAPES = {
    "cylinder": (sn.Cylinder(0.4, 0.5), 0.5, 4.0),
    "cone on its side": (sn.Cone(0.25, 1.0), np.pi / 2 + 0.245, 4.0),
    "cone on its rim": (sn.Cone(0.4, 0.3), 0.6, 25.0),
    "ellipsoid": (sn.Ellipsoid((0.5, 0.2, 0.3)), 0.5, 4.0),
    "disk": (sn.Cylinder(0.5, 0.05), 0.5, 35.0),
}


@pytest.mark.parametrize("spin", [20.0, 30.0, 45.0])
@pytest.mark.parametrize("substeps", [4, 10])
@pytest.mark.parametrize("name", SHAPES)
def test_a_round_body_that_spins_stays_on_the_ground(name, substeps, spin):
    shape, tilt, most = SHAPES[name]
    depths, _ = spinning(shape, tilt, spin, substeps)
    assert depths.max() < most * G / (60 * substeps) ** 2


def test_a_disk_that_rolls_on_its_rim_keeps_its_energy_at_few_substeps():
    shape, tilt, _ = SHAPES["disk"]
    few, some, many = (spinning(shape, tilt, 5.0, substeps, friction=1.0)[1] for substeps in (40, 100, 200))
    assert some == pytest.approx(many, rel=0.01)
    # 14 % were lost to first order
    assert few == pytest.approx(many, rel=0.05)


ROLLERS = sn.Sphere(0.1), sn.Cylinder(0.1, 0.2), sn.Capsule(0.1, 0.2), sn.Ellipsoid((0.1, 0.1, 0.1))
LYING = (np.cos(np.pi / 4), np.sin(np.pi / 4), 0.0, 0.0)


@pytest.mark.parametrize("substeps", [2, 4, 20])
@pytest.mark.parametrize(
    "shape", [sn.Sphere(0.1), sn.Cylinder(0.1, 0.2), sn.Capsule(0.1, 0.2), sn.Ellipsoid((0.1,) * 3)]
)
def test_what_slides_rolls_at_last_whatever_it_turns_in_a_substep(shape, substeps):
    """Up to 0.6 rad; by the sine of the rotation it was 2 % too slow and turned 5 % too fast."""
    scene, start = sn.Scene(), 10.0
    scene.add_collider(sn.Plane((0, 1, 0), 0), friction=0.5)
    scene.add_rigid_body(
        shape, density=1000, position=(0, 0.1, 0), rotation=LYING, velocity=(start, 0, 0), friction=0.5
    )
    sim = sn.Simulation(scene, substeps=substeps, threads=1, sleep=False)
    sim.step(300)
    whole = shape.mass_properties()
    # the moment about its contact line stays: m v R + I v / R = m v0 R
    rolling = start / (1.0 + whole.tensor[1, 1] / (whole.mass * 0.1**2))
    assert sim.state.body_velocities[0][0] == pytest.approx(rolling, rel=1e-4)
    assert -0.1 * sim.state.body_angular_velocities[0][2] == pytest.approx(rolling, rel=1e-4)
