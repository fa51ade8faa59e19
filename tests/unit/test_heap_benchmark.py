"""The scenes of benchmarks/heaps.py run, and what it measures is so."""

import sys
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.geometry.motion import rotation_matrix

Hull = pytest.importorskip("scipy.spatial").ConvexHull
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from heap_cases import fall, grid, pile, pyramids, rain, wall, washer  # noqa: E402
from heap_measures import Measures  # noqa: E402
from rigid_engines import Ours  # noqa: E402
from rigid_worlds import Body, World  # noqa: E402

SMALL = {
    "pyramids": lambda: pyramids(3, 2, 2),
    "wall": lambda: wall(False, 4, 5),
    "hit": lambda: wall(True, 4, 5),
    "pile": lambda: pile(12),
    "grid": lambda: grid(5),
    "rain": lambda: rain(3),
    "washer": lambda: washer(3),
    "fall": lambda: fall(40),
}


# a plane net of rigid links holds itself twice in its plane
@pytest.mark.filterwarnings("ignore:.*close a loop:shinari.errors.OverconstrainedWarning")
@pytest.mark.parametrize("name", SMALL)
def test_small_scenes_run_as_they_are_described(name):
    heap = SMALL[name]()
    subject, measures = Ours(heap, 1), Measures(heap.world)
    positions, rotations = subject.poses()
    np.testing.assert_allclose(positions, heap.world.positions, atol=1e-6)
    assert measures.depth(positions, rotations) < 1e-6, "bodies overlap at the start"
    assert measures.gap(positions, rotations) < 1e-9
    energy = subject.simulation.energy().kinetic
    assert measures.kinetic(rotations, *subject.velocities()) == pytest.approx(energy, abs=1e-9)
    for _ in range(5):
        subject.step()
    positions, rotations = subject.poses()
    energy = subject.simulation.energy().kinetic
    assert measures.kinetic(rotations, *subject.velocities()) == pytest.approx(energy, rel=1e-6, abs=1e-9)
    assert measures.depth(positions, rotations) < 5e-3
    assert measures.gap(positions, rotations) < 1e-4
    if heap.stands:
        assert max(measures.sideways(positions), measures.sunk(positions)) < 1e-5


@pytest.mark.parametrize("seed", range(20))
def test_depth_is_the_distance_to_the_surface_of_the_difference_of_two_solids(seed):
    rng = np.random.default_rng(seed)
    hull = sn.ConvexHull(rng.normal(size=(20, 3)))
    hull = sn.ConvexHull(hull.vertices - hull.mass_properties().centre)
    other = hull if seed % 2 else sn.Box((1.0, 2.0, 0.7))
    turns = rng.normal(size=(2, 4))
    turns /= np.linalg.norm(turns, axis=1)[:, None]
    world = World(ground=False)
    for shape, turn in zip((hull, other), turns, strict=True):
        world.add(Body(shape, rng.normal(size=3) * 0.6, turn))
    points = [
        hull.vertices,
        hull.vertices if other is hull else (np.indices((2, 2, 2)).reshape(3, 8).T - 0.5) * (1, 2, 0.7),
    ]
    first, second = (
        x @ rotation_matrix(body.rotation).T + body.position for x, body in zip(points, world.bodies, strict=True)
    )
    difference = Hull((first[:, None] - second[None]).reshape(-1, 3))
    exact = max(0.0, float((-difference.equations[:, 3]).min()))
    assert Measures(world).depth(world.positions, world.rotations) == pytest.approx(exact, abs=1e-6)


def test_depth_of_balls_capsules_and_the_ground():
    world = World()
    world.add(Body(sn.Sphere(0.5), np.array([0.0, 0.48, 0.0])))
    world.add(Body(sn.Box((1.0, 1.0, 1.0)), np.array([0.97, 0.5, 0.0])))
    world.add(Body(sn.Capsule(0.2, 1.0), np.array([5.0, 0.7, 0.0])))
    world.add(Body(sn.Capsule(0.2, 1.0), np.array([5.35, 0.7, 0.0])))
    measures = Measures(world)
    assert measures.depth(world.positions, world.rotations) == pytest.approx(0.05, abs=1e-9), "the capsules"
    world.bodies[3] = Body(sn.Capsule(0.2, 1.0), np.array([6.0, 0.7, 0.0]))
    measures = Measures(world)
    assert measures.depth(world.positions, world.rotations) == pytest.approx(0.03, abs=1e-9), "ball and box"
    world.bodies[1] = Body(sn.Box((1.0, 1.0, 1.0)), np.array([2.0, 0.5, 0.0]))
    measures = Measures(world)
    assert measures.depth(world.positions, world.rotations) == pytest.approx(0.02, abs=1e-9), "the ground"


def test_swept_figures_lose_the_energy_of_their_fall():
    # joints that jam beyond their limits must not come back as a velocity
    heap = rain(24)
    subject, fell = Ours(heap, 1, rigid_solver="sweeps"), 0.0
    measures = Measures(heap.world)
    for _ in range(150):
        subject.step()
        (x, q), (v, w) = subject.poses(), subject.velocities()
        fell = max(fell, measures.kinetic(q, v, w))
    assert measures.kinetic(q, v, w) < 0.005 * fell
    assert measures.gap(x, q) < 0.05
