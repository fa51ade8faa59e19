"""Sheets on sheets on a collider: a stack stands, and layers rub at each other by Coulomb's law."""

import numpy as np
import pytest

import shinari as sn

THICKNESS, G = 0.01, 9.81
LOWER = (40, 12)


def two_sheets(ground, between, slope=0.0):
    """A sheet of 2 x 0.6 m on a large box, and one of 0.4 x 0.36 m on it; the lower one has the first particles."""
    scene = sn.Scene(gravity=(G * np.sin(slope), -G * np.cos(slope), 0.0))
    scene.add_collider(sn.Box((20.0, 1.0, 20.0)), position=(0.0, -0.5, 0.0), friction=ground)
    material = sn.ClothMaterial(density=0.3, thickness=THICKNESS, friction=between)
    scene.add_cloth(sn.grid(shape=LOWER, size=(2.0, 0.6)), material=material, position=(0.0, 0.5 * THICKNESS, 0.0))
    place = (-0.5, 1.5 * THICKNESS + 1e-5, 0.01)
    scene.add_cloth(sn.grid(shape=(10, 9), size=(0.4, 0.36)), material=material, position=place)
    return scene


def upper(values):
    """Values of the upper sheet."""
    return np.asarray(values)[LOWER[0] * LOWER[1] :].astype(np.float64)


def lower(values):
    """Values of the lower sheet."""
    return np.asarray(values)[: LOWER[0] * LOWER[1]].astype(np.float64)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("substeps", [10, 20])
def test_a_stack_of_sheets_stands(substeps, precision):
    """Six sheets, each 8 mm farther out along both axes: nothing drives them sideways, and no sheet sinks."""
    layers, thickness, points = 6, 0.004, 144
    scene = sn.Scene()
    scene.add_collider(sn.Plane(), friction=0.5)
    material = sn.ClothMaterial(thickness=thickness, density=0.2)
    for k in range(layers):
        place = (0.008 * k, 0.5 * thickness + 1.05 * thickness * k, 0.008 * k)
        sheet = sn.grid(shape=(12, 12), size=(0.176, 0.176))
        scene.add_cloth(sheet, material=material, self_collision="triangles", position=place)
    simulation = sn.Simulation(scene, sleep=False, substeps=substeps, precision=precision)
    simulation.run(1.0, progress=False)
    before = simulation.state.positions.astype(np.float64).reshape(layers, points, 3)
    simulation.run(1.0, progress=False)
    after = simulation.state.positions.astype(np.float64).reshape(layers, points, 3)
    assert np.abs((after - before)[:, :, [0, 2]].mean(axis=1)).max() < 2e-3
    middle = after.reshape(layers, 12, 12, 3)[:, 2:7, 2:7, 1]
    assert middle.mean(axis=(1, 2)) == pytest.approx(thickness * (np.arange(layers) + 0.5), abs=0.02 * thickness)


@pytest.mark.parametrize("substeps", [4, 10, 20])
@pytest.mark.parametrize(("ground", "between"), [(0.5, 0.3), (0.8, 0.1), (0.1, 0.5), (0.3, 0.6)])
def test_a_sheet_slides_on_a_sheet(ground, between, substeps):
    """The upper one slows down by mu g; the lower one stays, which the ground holds with the weight of both."""
    simulation = sn.Simulation(two_sheets(ground, between), sleep=False, substeps=substeps)
    simulation.run(0.3, progress=False)
    velocities = np.array(simulation.state.velocities)
    velocities[LOWER[0] * LOWER[1] :, 0] += 1.0
    simulation.state.velocities = velocities
    place, speeds = lower(simulation.state.positions)[:, 0].mean(), []
    for _ in range(9):
        simulation.step()
        speeds.append(upper(simulation.state.velocities)[:, 0].mean())
    slower = -np.polyfit(np.arange(1, 10) / 60, speeds, 1)[0]
    assert slower == pytest.approx(between * G, rel=0.02)
    assert abs(lower(simulation.state.positions)[:, 0].mean() - place) < 1e-4


@pytest.mark.parametrize("substeps", [4, 10, 20])
def test_a_sheet_on_ice_goes_along(substeps):
    """Nothing holds the lower one: momentum of both together stays."""
    simulation = sn.Simulation(two_sheets(0.0, 0.3), sleep=False, substeps=substeps)
    simulation.run(0.3, progress=False)
    velocities = np.array(simulation.state.velocities)
    velocities[LOWER[0] * LOWER[1] :, 0] += 1.0
    simulation.state.velocities = velocities
    begin = simulation.momentum()[0]
    simulation.run(0.2, progress=False)
    assert simulation.momentum()[0] == pytest.approx(begin, rel=1e-3)
    assert lower(simulation.state.velocities)[:, 0].mean() > 0.05


@pytest.mark.parametrize("substeps", [4, 10, 20])
def test_a_sheet_holds_on_a_sheet_on_a_slope(substeps):
    """tan 15 degrees is below both coefficients: neither slides."""
    simulation = sn.Simulation(two_sheets(0.5, 0.4, slope=np.radians(15.0)), sleep=False, substeps=substeps)
    simulation.run(0.5, progress=False)
    before = simulation.state.positions[:, 0].astype(np.float64)
    simulation.run(1.0, progress=False)
    assert np.abs(simulation.state.positions[:, 0] - before).max() < 1e-4


def test_the_ground_carries_both_sheets():
    """Forces of contacts with the collider add up to the weights of both."""
    simulation = sn.Simulation(two_sheets(0.5, 0.4), sleep=False, substeps=10)
    simulation.run(1.0, progress=False)
    forces = []
    for _ in range(10):
        simulation.step()
        contacts = simulation.contacts()
        ground = np.array([name == "collider" for name in contacts.second])
        forces.append(contacts.forces[ground].sum(axis=0))
    weight = 0.3 * (2.0 * 0.6 + 0.4 * 0.36) * G
    assert np.mean(forces, axis=0)[1] == pytest.approx(weight, rel=0.01)


def test_a_resumed_stack_and_one_on_two_threads_have_the_same_bits(tmp_path):
    """What lies on what is found anew in each step: it is no state."""
    runs = [sn.Simulation(two_sheets(0.5, 0.3), sleep=False, substeps=10, threads=threads) for threads in (1, 2)]
    for run in runs:
        run.step(20)
    runs[0].save(tmp_path / "stack.zarr")
    runs.append(sn.Simulation.load(tmp_path / "stack.zarr"))
    for run in runs:
        run.step(10)
    assert runs[0].state == runs[1].state
    assert runs[0].state == runs[2].state


def shifted_stack(layers, precision):
    """Sheets of 16 x 16 with edges of 1 cm and 2 mm of thickness on a plane, each shifted at random."""
    scene, rng = sn.Scene(), np.random.default_rng(3)
    scene.add_collider(sn.Plane(), friction=0.5)
    material = sn.ClothMaterial(thickness=0.002, density=0.2)
    for k in range(layers):
        x, z = rng.uniform(-0.005, 0.005, 2)
        sheet = sn.grid(shape=(16, 16), size=(0.15, 0.15))
        scene.add_cloth(
            sheet, material=material, self_collision="triangles", position=(x, 0.0011 + 0.0021 * k, z)
        )  # fmt: skip
    return sn.Simulation(scene, sleep=False, substeps=10, precision=precision)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(("layers", "least"), [(3, 0.1), (6, 1.0)])
def test_a_stack_of_shifted_sheets_does_not_shiver(layers, least, precision):
    """Gravity moves a free particle by 16 mm/s in a substep; half of the stack is slower than `least` mm/s."""
    simulation = shifted_stack(layers, precision)
    simulation.run(0.6, progress=False)
    fastest = np.zeros((layers, 256))
    for _ in range(6):
        simulation.step()
        speeds = np.linalg.norm(simulation.state.velocities.astype(np.float64), axis=1)
        fastest = np.maximum(fastest, 1e3 * speeds.reshape(layers, 256))
    assert np.median(fastest, axis=1).max() < least


RAISED = np.array([[-0.05, 0.0, -0.05], [0.05, 0.0, -0.05], [0.05, 0.0, 0.05], [-0.05, 0.0, 0.05], [0.0, 0.02, 0.0]])
AROUND = np.array([[1, 0, 4], [2, 1, 4], [3, 2, 4], [0, 3, 4]])


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["edge of a sheet", "edge of a sheet across", "rope"])
def test_a_tip_holds_an_edge(kind, precision):
    """What begins to fall with an edge on the tip of a pinned sheet stays; free it would be 1.4 mm lower in a step.

    Edges meet at the tip. It keeps off the triangles of the other sheet; the rope has none, and is held by its edge.
    """
    scene, material = sn.Scene(), sn.ClothMaterial(thickness=0.01, density=0.2)
    scene.add_collider(sn.Plane(offset=-1.0))
    tip = scene.add_cloth((RAISED, AROUND), material=material)
    tip.pin(np.arange(5))
    # only scenes in which several objects can move have calm stacks
    scene.add_cloth(
        (RAISED[:3] * (1.0, 0.0, 1.0), np.array([[0, 2, 1]])), material=material, position=(0.5, -0.995, 0.0)
    )
    height = 0.03 + 1e-6
    points = np.array([[-0.04, height, 0.001], [0.04, height, 0.001], [0.0, height, -0.04], [0.0, height, 0.04]])
    if kind == "rope":
        falls = scene.add_rope(points[:2], material=sn.RopeMaterial(density=0.01, radius=0.005))
    else:
        faces = np.array([[0, 1, 2], [1, 0, 3]]) if kind == "edge of a sheet" else np.array([[0, 2, 3], [1, 3, 2]])
        falls = scene.add_cloth((points, faces), material=material)
    simulation = sn.Simulation(scene, substeps=10, precision=precision, sleep=False)
    simulation.step()
    first = 2 if kind == "edge of a sheet across" else 0
    edge = np.asarray(simulation.positions(falls), np.float64)[first : first + 2]
    assert edge[:, 1].mean() - 0.02 == pytest.approx(0.01, abs=2e-4)
