"""Tetrahedra that have collapsed are compressible until they are back; see `shinari.solver.collapse`."""

import numpy as np
import pytest
from small_scenes import precisions

import shinari as sn
from shinari.solver.collapse import BACK, CRUSHED
from shinari.state import COLLAPSED
from shinari.verify.solid_recovery import SIDE, off_shape, squeezed

CORNER = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]])


def held(ratio: float, precision: str = "float64", **options) -> sn.Simulation:
    """A tetrahedron whose vertices all are pinned."""
    scene = sn.Scene(gravity=(0, 0, 0))
    material = sn.SoftMaterial(density=1000.0, youngs_modulus=1e5, poissons_ratio=ratio, thickness=0.0)
    scene.add_soft_body((CORNER, [[0, 1, 2, 3]]), material=material, name="solid").pin([0, 1, 2, 3])
    return sn.Simulation(scene, precision=precision, threads=1, substeps=2, **options)


def collapsed_at(sim: sn.Simulation, *volumes: float) -> list[bool]:
    """Whether the tetrahedron has collapsed after a step that begins with so much of its height, one after another."""
    found = []
    for volume in volumes:
        sim.state.positions = CORNER * [1.0, volume, 1.0]
        sim.step(2)
        found.append(bool(sim.state.parts[COLLAPSED][0]))
    return found


@pytest.mark.bounds
@precisions
def test_a_tetrahedron_collapses_below_a_volume_and_is_back_near_its_shape(precision):
    sim = held(0.45, precision)
    # by its own law a height of 1 - e has the energy e^2 (1 + 10) of mu V / 2
    near = 1.0 - 0.9 * (BACK / 11.0) ** 0.5
    volumes = 1.0, 1.1 * CRUSHED, 0.9 * CRUSHED, 0.7, -0.5, 0.95, near, 1.1 * CRUSHED
    assert collapsed_at(sim, *volumes) == [False, False, True, True, True, True, False, False]


@precisions
@pytest.mark.parametrize("ratio", [-0.3, 0.0, 0.3])
def test_a_tetrahedron_that_recovers_by_itself_keeps_its_law(ratio, precision):
    assert collapsed_at(held(ratio, precision), 0.2, -1.0) == [False, False]


def test_the_elastic_energy_is_that_of_the_law_in_use():
    """At 0.8 of its height: 0.2^2 (1 + s^2) mu V / 2, with s^2 = 1.25 once it has collapsed."""
    mu, volume = 1e5 / 2.9, 1e-3 / 6.0
    sim = held(0.45)
    collapsed_at(sim, 0.8)
    assert sim.energy().elastic == pytest.approx(0.5 * mu * volume * 0.04 * 11.0, rel=1e-9)
    collapsed_at(sim, 0.2, 0.8)
    assert sim.energy().elastic == pytest.approx(0.5 * mu * volume * 0.04 * 2.25, rel=1e-9)


def test_a_collapsed_tetrahedron_follows_a_changed_ratio():
    """Bodies of nu <= 0.3 have no other law: at 0.8 of its height 0.2^2 (1 + s^2) mu V / 2 with s^2 = 5/3."""
    sim = held(0.45)
    collapsed_at(sim, 0.2)
    sim.change_material("solid", poissons_ratio=0.2)
    collapsed_at(sim, 0.8)
    assert sim.energy().elastic == pytest.approx(0.5 * 1e5 / 2.4 * 1e-3 / 6.0 * 0.04 * 8.0 / 3.0, rel=1e-9)


@pytest.mark.parametrize("sweep", ["gauss-seidel", "jacobi"])
def test_a_collapsed_tetrahedron_goes_on_bit_by_bit(tmp_path, sweep):
    pytest.importorskip("h5py")
    scene = sn.Scene(gravity=(0, 0, 0))
    material = sn.SoftMaterial(density=1000.0, youngs_modulus=1e4, poissons_ratio=0.49, thickness=0.0)
    scene.add_soft_body(sn.lattice((2, 2, 2), 0.1), material=material, name="solid")
    sim = sn.Simulation(scene, threads=1, substeps=4, sweep=sweep)
    sim.state.positions *= np.array([1.0, 0.1, 1.0], np.float32)
    sim.step(1)
    assert sim.state.parts[COLLAPSED].any()
    sim.save(tmp_path / "half.vtkhdf")
    again = sn.Simulation.load(tmp_path / "half.vtkhdf")
    sim.step(20)
    again.step(20)
    np.testing.assert_array_equal(sim.state.positions, again.state.positions)
    np.testing.assert_array_equal(sim.state.parts[COLLAPSED], again.state.parts[COLLAPSED])


@precisions
@pytest.mark.parametrize(("ratio", "height", "friction"), [(0.495, 0.02, 0.5), (0.49, 0.05, 0.0)])
def test_a_body_is_not_released_into_a_tangle(ratio, height, friction, precision):
    """Without memory they ended with all volumes positive, 0.8 and 1.0 of an edge from their shape."""
    sim, rest, _ = squeezed(precision, 1e4, ratio, height, friction)
    assert off_shape(sim.state.positions, rest) < 0.01 * SIDE
    assert not sim.state.parts[COLLAPSED].any()
