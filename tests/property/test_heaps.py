"""Random heaps of all shapes: nothing explodes, nothing sinks, see `heaps.py`. `SHINARI_HEAPS=1000` tries as many."""

import os

import heaps
import numpy as np
import pytest

import shinari as sn

COUNT = int(os.environ.get("SHINARI_HEAPS", "12"))
# A path is certified to a quarter of the thickness; at an edge that is at most so much of the least extent.
DEEP = 0.5
# At the end, what a swept heap gives by its springs, and what an impact in the last frames leaves.
AT_REST = 0.02


# of 1221 a body of 0.02 kg lay 4 to 20 % deep between the ground and bodies of some kilograms, in six of six runs; of
# 1269 and 1842 light bodies lay in the springs of sweeps; meshes of 1335, 1482 and 2044 overlapped without a point
@pytest.mark.parametrize("seed", [*range(COUNT), 1221, 1269, 1335, 1482, 1842, 2044])
def test_a_random_heap_neither_explodes_nor_sinks(seed):
    heap = heaps.heap(seed)
    sim = sn.Simulation(heap.scene, threads=1, **heap.settings)
    masses = np.array([body.mass for body in heap.scene.bodies])
    whole = float((masses * heaps.G * np.asarray(sim.state.body_positions)[:, 1]).sum())
    energies, deepest = [], 0.0
    for _ in range(heap.steps):
        sim.step()
        energy = sim.energy()
        energies.append(energy.kinetic + energy.gravitational)
        deepest = max(deepest, *heap.depths(sim))
    assert deepest < DEEP, heap.name
    assert max(heap.depths(sim)) < AT_REST, heap.name
    assert np.diff(energies).max() < 0.01 * whole, heap.name


@pytest.mark.filterwarnings("ignore::shinari.ContactWarning")
@pytest.mark.parametrize("seed", [1003, 1004, 1046, 1060])
def test_thin_bodies_at_few_substeps_do_not_go_through_the_ground(seed):
    """They went 2 to 22 times their thickness deep: paths into half spaces were not certified."""
    heap = heaps.heap(seed, resolved=False)
    sim = sn.Simulation(heap.scene, threads=1, **heap.settings)
    for _ in range(heap.steps):
        sim.step()
        assert heap.depths(sim)[0] < DEEP, heap.name


def test_a_body_that_is_thin_for_the_substep_is_told():
    scene = sn.Scene()
    scene.add_collider(sn.Plane((0, 1, 0), 0))
    scene.add_rigid_body(sn.Box((0.01, 0.01, 0.002)), position=(0, 0.1, 0), name="plate")
    with pytest.warns(sn.ContactWarning, match="'plate': gravity moves it by 1.4 of its thickness .* take 4 substeps"):
        sn.Simulation(scene, substeps=1)
    sn.Simulation(scene, substeps=4)
