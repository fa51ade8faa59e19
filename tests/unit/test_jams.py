"""Layers in a jam: what is asked to go through for many substeps, and may not lose its last distance."""

import numpy as np
import pytest
from small_scenes import precisions

import shinari as sn
from intersections import intersecting
from shinari.systems.paths.system import PathCertificates

THICKNESS = 0.004


def jam(precision, substeps, ratio):
    """Patches whose contacts hold nothing, each `ratio` times as heavy as the one below it, on a sheet that is held."""
    scene = sn.Scene()
    contacts = {"self_collision": "triangles"}
    material = sn.ClothMaterial(thickness=THICKNESS, contact_compliance=1.0)
    scene.add_cloth(
        sn.grid(shape=(2, 2), size=(0.3, 0.3)), position=(2.0, 1.0, 2.0), material=material, name="held", **contacts
    ).pin(range(4))
    for k in range(4):
        material = sn.ClothMaterial(thickness=THICKNESS, density=0.2 * ratio**k, contact_compliance=1.0)
        place = 2.1 + 0.007 * k, 1.005 + 0.0045 * k, 2.12 - 0.004 * k
        patch = sn.grid(shape=(3, 3), size=(0.1, 0.1))
        scene.add_cloth(patch, position=place, material=material, name=f"patch {k}", **contacts)
    return sn.Simulation(scene, precision=precision, substeps=substeps)


@pytest.mark.filterwarnings("ignore::shinari.ContactWarning")
@precisions
@pytest.mark.parametrize("ratio", [3.0, 30.0])
@pytest.mark.parametrize("substeps", [8, 20])
def test_layers_in_a_jam_stay_apart(substeps, ratio, precision):
    """If a pair lost a tenth of its distance in each substep, it would be turned inside out after eighty of them."""
    simulation = jam(precision, substeps, ratio)
    names = ["held", *(f"patch {k}" for k in range(4))]
    counts = [len(simulation.positions(name)) for name in names]
    faces = np.concatenate([simulation.surface(name)[1] + sum(counts[:k]) for k, name in enumerate(names)])
    for step in range(60):
        simulation.step()
        x = np.concatenate([simulation.positions(name) for name in names]).astype(np.float64)
        assert len(intersecting(x[faces], names=faces)) == 0, step


@pytest.mark.parametrize(("seed", "substeps"), [(16, 20), (25, 8), (31, 8)])
def test_paths_of_a_sheet_between_bodies_are_settled(seed, substeps):
    scene, rng = sn.Scene(), np.random.default_rng(seed)
    scene.add_collider(sn.Plane())
    for k in range(8):
        rotation, x, z = rng.normal(size=4), 0.16 * (2 * (k % 2) - 1), 0.16 * (2 * (k // 2) - 1)
        place = (x, 0.14, z) if k < 4 else (rng.uniform(-0.12, 0.12), 0.5 + 0.24 * (k - 4), rng.uniform(-0.12, 0.12))
        rotation /= np.linalg.norm(rotation)
        scene.add_rigid_body(sn.Box((0.2, 0.15, 0.1)), position=place, rotation=rotation, friction=0.6, density=3000.0)
    sheet = sn.grid(shape=(12, 12), size=(0.8, 0.8))
    scene.add_cloth(sheet, position=(-0.4, 0.3, -0.4), self_collision="triangles")
    simulation = sn.Simulation(scene, substeps=substeps)
    for _ in range(70):
        simulation.step()
        assert simulation._bound.get(PathCertificates).unresolved == 0
