"""Bodies that fall on ropes and rods which lie on the ground: light particles between two that do not give way."""

import numpy as np
import pytest

import shinari as sn

DROP = 0.75
LYING = 0.0101
# A quarter of a turn about X, then 0.3 rad about Y.
ACROSS = tuple(np.sqrt(0.5) * np.array([np.cos(0.15), np.cos(0.15), np.sin(0.15), -np.sin(0.15)]))
SHAPES = {"box": sn.Box((0.1, 0.1, 0.3)), "capsule": sn.Capsule(0.04, 0.2), "sphere": sn.Sphere(0.05)}


def dropped(kind: str, shape: str, mass: float, **settings) -> tuple[float, np.ndarray]:
    """Largest gain of energy in a step, over the energy at the start, and heights of the body [m] in 1.5 s."""
    scene = sn.Scene()
    scene.add_collider(sn.Plane(), friction=0.3)
    points = np.linspace((-0.3, LYING, 0.0), (0.3, LYING, 0.0), 12)
    if kind == "rope":
        scene.add_rope(points, material=sn.RopeMaterial(radius=0.01))
    else:
        material = sn.RodMaterial(radius=0.01, youngs_modulus=1e7, density=300.0, poissons_ratio=0.3)
        scene.add_rod(points, material=material)
    scene.add_rigid_body(SHAPES[shape], mass=mass, position=(0.02, 0.11 + DROP, 0.01), rotation=ACROSS)
    sim = sn.Simulation(scene, **settings)
    energies, heights = [sim.energy().total], []
    for _ in range(90):
        sim.step()
        energies.append(sim.energy().total)
        heights.append(float(sim.state.body_positions[0, 1]))
    return float(np.diff(energies).max()) / energies[0], np.array(heights)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("substeps", [4, 10, 20])
@pytest.mark.parametrize(("kind", "shape", "mass"), [("rope", "box", 1.0), ("rope", "box", 5.0), ("rod", "box", 1.0),
                                                     ("rope", "sphere", 5.0), ("rod", "capsule", 1.0)])  # fmt: skip
def test_a_body_that_falls_on_a_rope_on_the_ground_gains_no_energy(kind, shape, mass, substeps, precision):
    """The body is not thrown: once it has landed it stays below a tenth of its fall."""
    gain, heights = dropped(kind, shape, mass, substeps=substeps, precision=precision)
    assert gain < 0.1
    assert heights[30:].max() < 0.11 + 0.1 * DROP


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("substeps", [10, 20, 40])
@pytest.mark.parametrize("shape", ["box", "capsule", "sphere"])
@pytest.mark.parametrize("kind", ["rope", "rod"])
def test_a_body_of_four_thousand_times_a_particle_gains_no_energy(kind, shape, substeps, precision):
    gain, heights = dropped(kind, shape, 20.0, substeps=substeps, precision=precision)
    assert gain < 0.05
    assert heights[30:].max() < 0.11 + 0.1 * DROP


@pytest.mark.parametrize("substeps", [1, 4, 20])
@pytest.mark.parametrize("mass", [0.5, 5.0, 50.0])
@pytest.mark.parametrize("aside", [0.004, 0.008, 0.015])
def test_what_overlaps_at_the_start_comes_out_without_a_push(aside, mass, substeps):
    """A ball too deep in a particle on the ground along a slanted line: it is lifted by as much, nothing is thrown."""
    scene, deep, keeps = sn.Scene(), 0.0005, 0.05 + 0.01
    scene.add_collider(sn.Plane(), friction=0.6)
    scene.add_particles([(0.0, 0.01, 0.0)], mass=0.005, radius=0.01, friction=0.6)
    place = (aside, 0.01 + np.sqrt((keeps - deep) ** 2 - aside**2), 0.0)
    scene.add_rigid_body(sn.Sphere(0.05), mass=mass, position=place, friction=0.6)
    sim = sn.Simulation(scene, substeps=substeps, precision="float64")
    energies = [sim.energy().total]
    for _ in range(6):
        sim.step()
        energies.append(sim.energy().total)
        assert np.linalg.norm(sim.state.velocities[0]) < 0.1
    assert max(energies) - energies[0] < 1.05 * mass * 9.81 * deep
