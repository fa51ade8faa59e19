"""Soft bodies, lumps and grains on a sheet on a collider: it carries them at its thickness, rubs, and stays."""

import numpy as np
import pytest

import shinari as sn

THICKNESS, G = 0.01, 9.81
SHEET = 0.5 * THICKNESS
SIZE = (48, 12)


def scene_with(kind, density=1000.0, friction=(0.5, 0.4), slope=0.0, belt=0.0):
    """A sheet of 2.4 x 0.6 m on a large box, and a block of 18 cm on it; the sheet has the first particles."""
    scene = sn.Scene(gravity=(G * np.sin(slope), -G * np.cos(slope), 0.0))
    motion = sn.Keyframes(np.array([0.0, 9.0]), np.array([[0.0, -0.5, 0.0], [9.0 * belt, -0.5, 0.0]])) if belt else None
    scene.add_collider(sn.Box((20.0, 1.0, 20.0)), position=(0.0, -0.5, 0.0), friction=friction[0], motion=motion)
    material = sn.ClothMaterial(density=0.3, thickness=THICKNESS, friction=friction[1])
    scene.add_cloth(sn.grid(shape=SIZE, size=(2.4, 0.6)), material=material, position=(0.0, SHEET + 1e-5, 0.0))
    rubs, place = friction[1], (-0.4, THICKNESS + 0.0012, 0.01)
    if kind == "soft":
        soft = sn.SoftMaterial(youngs_modulus=1e5, poissons_ratio=0.3, density=density, friction=rubs)
        scene.add_soft_body(sn.lattice((3, 3, 3), 0.06), material=soft, position=place)
    else:
        lump = sn.LumpMaterial(density=density, friction=rubs)
        place = (place[0], place[1] + 0.1, place[2])
        scene.add_shape_matched(sn.Box((0.15, 0.15, 0.15)), spacing=0.05, material=lump, position=place)
    return scene


def parts(simulation):
    """Positions and velocities of the sheet, and those of the block."""
    x, v, sheet = simulation.state.positions, simulation.state.velocities, SIZE[0] * SIZE[1]
    return (x[:sheet], v[:sheet]), (x[sheet:], v[sheet:])


def push(simulation, speed):
    """Let the block slide."""
    velocities = np.array(simulation.state.velocities)
    velocities[SIZE[0] * SIZE[1] :, 0] += speed
    simulation.state.velocities = velocities


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("substeps", [4, 10, 20])
@pytest.mark.parametrize(("kind", "density"), [("soft", 300.0), ("soft", 5000.0), ("lump", 300.0), ("lump", 5000.0)])
def test_a_block_rests_on_a_sheet(kind, density, substeps, precision):
    """The sheet stays where it lies, and is still; the block is one thickness above the ground."""
    simulation = sn.Simulation(scene_with(kind, density), sleep=False, substeps=substeps, precision=precision)
    low, fast = [], []
    for step in range(60):
        simulation.step()
        (x, v), (block, _) = parts(simulation)
        low.append((x[:, 1].min(), block[:, 1].min()))
        if step >= 30:
            fast.append(np.linalg.norm(v, axis=1).max())
    assert np.min(low, axis=0)[0] > SHEET - 0.02 * THICKNESS
    # the lowest particles of the soft body keep half of its own margin, those of a lump their radius
    assert np.min(low, axis=0)[1] > THICKNESS * 0.97
    assert np.median(fast) < 0.05


@pytest.mark.parametrize("kind", ["soft", "lump"])
def test_a_block_holds_on_a_slope(kind):
    """tan 15 degrees is below both coefficients: it stays, but for what it slips while it lands."""
    simulation = sn.Simulation(scene_with(kind, slope=np.radians(15.0)), sleep=False, substeps=10)
    simulation.run(0.5, progress=False)
    before = parts(simulation)[1][0][:, 0].mean()
    simulation.run(1.0, progress=False)
    assert abs(parts(simulation)[1][0][:, 0].mean() - before) < 2e-3


@pytest.mark.parametrize("kind", ["soft", "lump"])
@pytest.mark.parametrize("friction", [(0.5, 0.3), (0.8, 0.1)])
def test_a_block_slides_on_a_sheet(kind, friction):
    """The ground holds the sheet better than the block rubs at it: the block slows down by mu g, the sheet stays."""
    simulation = sn.Simulation(scene_with(kind, friction=friction), sleep=False, substeps=10)
    simulation.run(0.2, progress=False)
    push(simulation, 1.0)
    begin, place = parts(simulation)[1][1][:, 0].mean(), parts(simulation)[0][0][:, 0].mean()
    time = 0.5 / (friction[1] * G)
    simulation.run(round(60 * time) / 60, progress=False)
    slower = begin - parts(simulation)[1][1][:, 0].mean()
    # rows of a block that rocks a little carry more and less than its weight
    assert slower == pytest.approx(friction[1] * G * round(60 * time) / 60, rel=0.05)
    assert abs(parts(simulation)[0][0][:, 0].mean() - place) < 2e-3


def test_a_block_takes_a_sheet_along_over_ice():
    """The ground is smoother than what touches the sheet: block and sheet slide on it together."""
    simulation = sn.Simulation(scene_with("lump", friction=(0.01, 0.9)), sleep=False, substeps=10)
    sheet, lump = 0.3 * 2.4 * 0.6, 1000.0 * 0.15**3
    simulation.run(0.2, progress=False)
    push(simulation, 1.0)
    place, common = parts(simulation)[0][0][:, 0].mean(), []
    for _ in range(30):
        simulation.step()
        (x, v), (_, block) = parts(simulation)
        common.append((sheet * v[:, 0].mean() + lump * block[:, 0].mean()) / (sheet + lump))
    # waves run through the sheet, so that each of both has a speed of its own
    begin, slower = lump / (sheet + lump), np.sqrt(0.01 * 0.9) * G
    assert common[-1] == pytest.approx(begin - 0.5 * slower, abs=0.02)
    assert x[:, 0].mean() - place == pytest.approx(0.5 * begin - 0.125 * slower, abs=0.08)


def test_a_block_goes_with_a_belt():
    """A collider that moves takes the sheet and the block along."""
    simulation = sn.Simulation(scene_with("lump", friction=(0.8, 0.5), belt=0.5), sleep=False, substeps=10)
    simulation.run(1.0, progress=False)
    assert parts(simulation)[1][1][:, 0].mean() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("kind", ["soft", "lump"])
def test_the_ground_carries_both(kind):
    """Forces of contacts with the collider add up to the weights of the sheet and the block."""
    simulation = sn.Simulation(scene_with(kind), sleep=False, substeps=10)
    simulation.run(1.5, progress=False)
    forces = []
    for _ in range(20):
        simulation.step()
        contacts = simulation.contacts()
        ground = np.array([name == "collider" for name in contacts.second])
        assert ground.any()
        forces.append(contacts.forces[ground].sum(axis=0))
    block = 0.18**3 if kind == "soft" else 0.15**3
    weight = (0.3 * 2.4 * 0.6 + 1000.0 * block) * G
    assert np.mean(forces, axis=0)[1] == pytest.approx(weight, rel=0.01)


def test_a_ball_bounces_on_a_sheet_as_on_the_ground():
    """A grain of restitution 0.8 comes up as high from a thin sheet as from the collider below it."""
    highest = []
    for sheet in (False, True):
        scene = sn.Scene()
        scene.add_collider(sn.Plane(), restitution=0.8)
        base = THICKNESS if sheet else 0.0
        if sheet:
            material = sn.ClothMaterial(density=0.3, thickness=THICKNESS)
            scene.add_cloth(sn.grid(shape=(12, 12), size=(0.6, 0.6)), material=material, position=(0, SHEET + 1e-5, 0))
        ball = sn.GrainMaterial(density=3000.0, restitution=0.8)
        scene.add_grains(np.array([[0.02, 0.3 + base, 0.01]]), radius=0.015, material=ball)
        simulation = sn.Simulation(scene, sleep=False, substeps=20)
        heights = []
        for _ in range(50):
            simulation.step()
            heights.append(simulation.state.positions[-1, 1] - base)
        low = int(np.argmin(heights[:25]))
        highest.append(max(heights[low:]))
    assert highest[1] == pytest.approx(highest[0], rel=0.02)


@pytest.mark.parametrize("kind", ["soft", "lump"])
def test_a_sheet_that_is_drawn_takes_a_block_along(kind):
    """A sheet that is drawn over the ground speeds a block on it up by mu g: the ground does not hold the block."""
    simulation = sn.Simulation(scene_with(kind, friction=(0.8, 0.2)), sleep=False, substeps=10)
    simulation.run(0.3, progress=False)
    for _ in range(24):
        velocities = np.array(simulation.state.velocities)
        velocities[: SIZE[0] * SIZE[1]] = 1.0, 0.0, 0.0
        simulation.state.velocities = velocities
        simulation.step()
    # where the sheet lifts off the ground for a moment it is pressed down before it rubs
    assert 0.8 < parts(simulation)[1][1][:, 0].mean() / (0.2 * G * 24 / 60) < 1.02


@pytest.mark.parametrize("substeps", [10, 20])
@pytest.mark.parametrize("density", [300.0, 3000.0])
def test_a_lump_rests_on_two_sheets(density, substeps):
    """Both sheets stay where they lie, and are still; the lump is two thicknesses above the ground."""
    scene, material = sn.Scene(), sn.ClothMaterial(density=0.3, thickness=THICKNESS, friction=0.4)
    scene.add_collider(sn.Plane(), friction=0.5)
    for k in range(2):
        place = (0.003 * k, THICKNESS * (k + 0.5) + 1e-5, 0.002 * k)
        scene.add_cloth(sn.grid(shape=(12, 12), size=(0.6, 0.6)), material=material, position=place)
    lump = sn.LumpMaterial(density=density)
    place = (0.02, 2 * THICKNESS + 0.102, 0.01)
    scene.add_shape_matched(sn.Box((0.15, 0.15, 0.15)), spacing=0.05, material=lump, position=place)
    simulation = sn.Simulation(scene, sleep=False, substeps=substeps)
    simulation.run(0.75, progress=False)
    for _ in range(30):
        simulation.step()
        x, v = simulation.state.positions, simulation.state.velocities
        assert x[:144, 1].min() > 0.5 * THICKNESS - 1e-4
        assert x[144:288, 1].min() > 1.5 * THICKNESS - 1e-4
        assert np.linalg.norm(v[:288], axis=1).max() < 0.05
    # its particles have a radius of half of the spacing
    assert x[288:, 1].min() == pytest.approx(2 * THICKNESS + 0.025, abs=1e-4)


@pytest.mark.parametrize("kind", ["soft", "lump"])
def test_a_resumed_run_and_one_on_two_threads_have_the_same_bits(kind, tmp_path):
    """What a particle lies on is not part of the state: a step finds it by itself."""
    scene = scene_with(kind, slope=0.2)
    one, two = (
        sn.Simulation(scene, sleep=False, substeps=5, threads=1),
        sn.Simulation(scene, sleep=False, substeps=5, threads=2),
    )
    for each in (one, two):
        each.step(20)
    one.save(tmp_path / "checkpoint.npz")
    states = []
    for each in (one, two, sn.Simulation.load(tmp_path / "checkpoint.npz")):
        each.step(15)
        states.append(each.state.positions.tobytes())
    assert states[0] == states[1] == states[2]
