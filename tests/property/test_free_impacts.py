"""Bodies that meet in free flight: no impact gives energy, and momentum and angular momentum stay."""

import numpy as np
import pytest

import shinari as sn


def measures(simulation):
    """Kinetic energy [J], momentum [kg m/s] and angular momentum [kg m^2/s] of all bodies."""
    return simulation.energy().kinetic, simulation.momentum(), simulation.angular_momentum()


def pair(rng: np.random.Generator, speed: float, restitution: float, turned: bool = False) -> sn.Scene:
    """Two bars or angles that fly at each other and spin, with friction; turned: added in the other order."""
    bodies = []
    for side in (-1.0, 1.0):
        size = rng.uniform(0.3, 1.0, 3)
        arm = sn.Box((1.0, *size[1:])), sn.Box((size[0], 1.0, size[2]))
        shape = sn.Compound(list(arm)) if rng.random() < 0.5 else arm[0]
        q = rng.normal(size=4)
        given = {
            "density": float(10.0 ** rng.uniform(2.0, 3.0)),
            "rotation": q / np.linalg.norm(q),
            "position": (1.3 * side, *rng.uniform(-0.3, 0.3, 2)),
            "velocity": (-side * speed * rng.uniform(0.3, 1.0), 0.0, 0.0),
            "angular_velocity": rng.normal(0.0, 10.0, 3),
        }
        bodies.append((shape, given))
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    for shape, given in bodies[::-1] if turned else bodies:
        scene.add_rigid_body(shape, friction=0.6, restitution=restitution, **given)
    return scene


@pytest.mark.parametrize("restitution", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("substeps", [2, 4, 8, 20])
def test_impacts_in_free_flight_give_no_energy(substeps, restitution):
    """Bars, plates and angles with friction; they move by up to 17 mm in a substep and turn by up to half a radian."""
    rng = np.random.default_rng(substeps)
    for _ in range(5):
        scene = pair(rng, substeps, restitution)
        simulation = sn.Simulation(scene, substeps=substeps, threads=1)
        before = measures(simulation)
        scale = np.abs(before[2]).max() + np.sqrt(before[0] * sum(body.mass for body in scene.bodies))
        for _ in range(20):
            simulation.step()
            after = measures(simulation)
            # a free rotation keeps its energy to 1e-5 at the turn of 0.1 rad in a substep
            assert after[0] <= before[0] * (1.0 + 1e-4)
            np.testing.assert_allclose(after[1], before[1], rtol=0.0, atol=1e-11 * scale)
            np.testing.assert_allclose(after[2], before[2], rtol=0.0, atol=1e-10 * scale)
            before = after


@pytest.mark.parametrize("seed", range(4))
def test_impacts_do_not_know_the_order_of_bodies(seed):
    """A light body meets a heavy one, added first or last."""
    ends = []
    for turned in (False, True):
        simulation = sn.Simulation(pair(np.random.default_rng(seed), 8.0, 0.3, turned), substeps=8, threads=1)
        simulation.step(12)
        ends.append(
            np.concatenate([simulation.state.body_velocities, simulation.state.body_angular_velocities], axis=1)
        )
    np.testing.assert_allclose(ends[1][::-1], ends[0], rtol=0.0, atol=1e-6 * np.abs(ends[0]).max())
