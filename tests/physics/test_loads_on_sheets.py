"""Heavy objects of all kinds on a light sheet that is held: they come to rest on it, and nothing is thrown."""

import numpy as np
import pytest

import shinari as sn

SIDE, CELLS = 0.5, 20


def soft_body(scene: sn.Scene, density: float) -> None:
    """A cube of 12 cm."""
    vertices, tetrahedra = sn.lattice((4, 4, 4), 0.03)
    material = sn.SoftMaterial(density=density, youngs_modulus=2e5, thickness=0.002)
    scene.add_soft_body((vertices - vertices.mean(axis=0), tetrahedra), material=material, position=(0, 0.083, 0))


def lump(scene: sn.Scene, density: float) -> None:
    """A ball of 12 cm."""
    scene.add_shape_matched(
        sn.Sphere(0.06), spacing=0.02, material=sn.LumpMaterial(density=density), position=(0, 0.082, 0)
    )


def particles(scene: sn.Scene, density: float) -> None:
    """Four layers of balls of 2 cm."""
    across, up = 0.022 * (np.arange(6) - 2.5), 0.033 + 0.022 * np.arange(4)
    points = np.stack(np.meshgrid(across, up, across, indexing="ij"), axis=-1).reshape(-1, 3)
    scene.add_particles(points, radius=0.01, mass=density * 4 / 3 * np.pi * 1e-6, self_collision=True)


def lines(k: int) -> np.ndarray:
    """Points along the line of number k of a stack."""
    x = np.linspace(-0.15, 0.15, 20)
    return np.stack([x, np.full(20, 0.032 + 0.021 * k), np.full(20, 0.01 * (k % 2))], axis=1)


def ropes(scene: sn.Scene, density: float) -> None:
    """Eight ropes of 2 cm."""
    for k in range(8):
        scene.add_rope(lines(k), material=sn.RopeMaterial(radius=0.01, density=density * np.pi * 1e-4))


def rods(scene: sn.Scene, density: float) -> None:
    """Eight rods of 2 cm."""
    for k in range(8):
        scene.add_rod(lines(k), material=sn.RodMaterial(radius=0.01, density=density, youngs_modulus=1e6))


def body(scene: sn.Scene, density: float) -> None:
    """A box of 12 cm."""
    scene.add_rigid_body(sn.Box((0.12, 0.12, 0.12)), density=density, position=(0, 0.082, 0))


@pytest.mark.filterwarnings("ignore:bodies of:shinari.errors.ContactWarning")
@pytest.mark.parametrize("held", ["edges", "corners"])
@pytest.mark.parametrize(("substeps", "density", "precision"), [(5, 3000.0, "float32"), (20, 3000.0, "float64")])
@pytest.mark.parametrize("load", [soft_body, lump, particles, ropes, rods, body])
def test_a_heavy_load_is_not_thrown(load, substeps, density, precision, held):
    scene = sn.Scene()
    vertices, faces = sn.grid(size=(SIDE, SIDE), shape=(CELLS + 1, CELLS + 1))
    sheet = scene.add_cloth((vertices, faces), material=sn.ClothMaterial(density=0.2, thickness=0.004), name="sheet")
    out = np.sort(np.abs(vertices[:, [0, 2]]), axis=1) > 0.4999 * SIDE
    sheet.pin(np.flatnonzero(out[:, 1] if held == "edges" else out[:, 0]))
    load(scene, density)
    sim = sn.Simulation(scene, substeps=substeps, precision=precision, threads=1)
    kinetic, fastest = [], 0.0
    for _ in range(100):
        sim.step()
        kinetic.append(sim.energy().kinetic)
        fastest = max(fastest, float(np.linalg.norm(sim.state.velocities, axis=1).max()))
    heights = np.append(sim.state.positions[len(vertices) :, 1], sim.state.body_positions[:, 1])
    assert fastest < 7.0, (
        "a fall by what corners give is at 2 m/s; without further sweeps and inertia it is 13 to 250 m/s"
    )
    assert np.max(kinetic[-20:]) < 0.1 * np.max(kinetic), "it swings on"
    assert heights.min() > sim.positions(sheet)[:, 1].min()
