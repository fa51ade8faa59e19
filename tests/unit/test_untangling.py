"""Surfaces that start in each other come apart, slowly, and with the same bits on any number of threads."""

import warnings

import numpy as np
import pytest

import shinari as sn
from intersections import intersecting
from shinari.errors import ContactWarning
from shinari.systems.untangling.system import Untangling
from shinari.verify import contact_scenes
from shinari.verify.untangling import CASES, FASTEST, crossed, in_ball, lay_out, loop, tee

SMALL = {
    "crossed": crossed,
    "slotted": lambda: crossed(shift=0.1),
    "tee": tee,
    "loop": loop,
    "ball": in_ball,
    "middle of a ball": lambda: in_ball(20, 0.34, -0.025),
}


def simulation(build, **settings) -> tuple[sn.Simulation, np.ndarray]:
    """A case as it starts, and its triangles."""
    case = build()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContactWarning)
        sim = sn.Simulation(case.scene, **{"substeps": 20, "threads": 1, **settings})
    if build is loop:
        lay_out(sim)
    return sim, case.triangles()


def hits(sim: sn.Simulation, triangles: np.ndarray) -> int:
    """Pairs of triangles that intersect."""
    return len(intersecting(sim.state.positions.astype(float)[triangles], names=triangles))


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("substeps", [10, 20])
@pytest.mark.parametrize("name", SMALL)
def test_nothing_intersects_after_a_second(name, substeps, precision):
    sim, triangles = simulation(SMALL[name], substeps=substeps, precision=precision)
    assert hits(sim, triangles) > 20
    for _ in range(60):
        sim.step()
        assert np.linalg.norm(sim.state.velocities, axis=1).max() < FASTEST
    assert hits(sim, triangles) == 0
    assert not sim._bound.find(Untangling).active


def test_one_thread_and_two_give_the_same_bits():
    both = []
    for threads in (1, 2):
        sim, _ = simulation(CASES["sheets of 40 cm that cross at 35 degrees"], threads=threads)
        sim.step(12)
        both.append(sim.state.positions.tobytes() + sim.state.velocities.tobytes())
    assert both[0] == both[1]


def test_momentum_stays():
    sim, _ = simulation(crossed, precision="float64")
    sim.step(30)
    assert np.abs(sim.momentum()).max() < 1e-12


def test_what_does_not_intersect_has_no_further_system():
    sim = contact_scenes.stack(2).simulation("float32")
    sim.step(2)
    assert not sim._bound.find(Untangling).active
    assert all(type(system) is not Untangling for system in sim._bound.systems)


def test_what_the_user_moves_is_looked_at():
    sim, triangles = simulation(lambda: crossed(shift=1.0))
    sim.step()
    assert hits(sim, triangles) == 0
    sim.state.positions[len(sim.state.positions) // 2 :, 2] -= 1.0
    sim.step()
    assert sim._bound.find(Untangling).active
    sim.step(40)
    assert hits(sim, triangles) == 0


def test_links_that_cannot_come_apart_stay_calm():
    """A sheet whose four edges are held goes through another one, which is held, too."""
    scene = sn.Scene(gravity=(0, 0, 0))
    material = sn.ClothMaterial(density=0.2, thickness=0.004)
    for turn in ((1, 0, 0, 0), (0.7071067811865476, 0, 0, 0.7071067811865476)):
        sheet = scene.add_cloth(
            sn.grid(shape=(9, 9), size=(0.2, 0.2)), material=material, position=(0.003, 0.002, 0.001),
            rotation=turn, self_collision="triangles",
        )  # fmt: skip
        x = sheet.positions
        sheet.pin(np.flatnonzero((np.abs(x - x.mean(axis=0)) > 0.099).any(axis=1)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContactWarning)
        sim = sn.Simulation(scene, threads=1)
    for _ in range(60):
        sim.step()
        assert np.linalg.norm(sim.state.velocities, axis=1).max() < 2 * FASTEST
    assert np.isfinite(sim.state.positions).all()


@pytest.mark.parametrize("seed", [2, 3, 22, 51, 55])
def test_a_sheet_that_pokes_through_another_one_comes_out_wherever_it_starts(seed):
    """Its last corner may sit in a fold of the other one; of 60 such starts six were there after a second."""
    sim, triangles = simulation(CASES["a sheet pokes through another one by 8 cm"])
    noise = np.random.default_rng(seed).normal(size=sim.state.positions.shape)
    sim.state.positions[...] += (1e-6 * noise).astype(np.float32)
    sim.step(180)
    assert hits(sim, triangles) == 0
