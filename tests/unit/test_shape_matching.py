"""Shape matching: momentum, stiffness, recovery, plasticity, state, pins, and what is refused."""

import math

import numpy as np
import pytest
from lumps import box, lattice, matching, simulation
from small_scenes import precisions

import shinari as sn
from shinari.compute.program import run_recorded

# --- momentum ---------------------------------------------------------------------------------------------------------


CASES = {
    "rigid": (sn.LumpMaterial(), 5),
    "rigid clusters": (sn.LumpMaterial(cluster_size=0.21), 5),
    "soft": (sn.LumpMaterial(stiffness=0.3), 4),
    "linear": (sn.LumpMaterial(mode="linear", beta=0.7), 4),
    "linear clusters": (sn.LumpMaterial(mode="linear", beta=0.9, cluster_size=0.31, stiffness=0.8), 6),
    "quadratic": (sn.LumpMaterial(mode="quadratic", beta=0.6), 4),
    "quadratic clusters": (sn.LumpMaterial(mode="quadratic", beta=0.6, cluster_size=0.41), 6),
    "plastic": (sn.LumpMaterial(yield_strain=0.01, creep=100.0), 4),
    "plastic linear clusters": (sn.LumpMaterial(mode="linear", yield_strain=0.01, creep=100.0, cluster_size=0.31), 6),
}


@pytest.mark.parametrize("spread", [0.01, 0.1, 10.0])
@pytest.mark.parametrize("case", CASES)
def test_matching_keeps_momentum_and_angular_momentum(case, spread):
    material, count = CASES[case]
    rng = np.random.default_rng(3)
    points = lattice(count, count, count - 1)
    sim, _ = simulation(
        lambda scene: scene.add_shape_matched(points, mass=10.0 ** rng.uniform(-1, 1, len(points)), material=material)
    )
    x, m = sim.state.x, 1.0 / sim.state.x[:, 3]
    for trial in range(5):
        x[:, :3] += spread * rng.normal(size=(len(m), 3))
        before = x[:, :3].copy()
        run_recorded(matching(sim).record_project, True)
        way = x[:, :3] - before
        about = before - m @ before / m.sum()
        size = (m[:, None] * np.abs(way)).sum()
        assert np.linalg.norm(m @ way) < 1e-12 * size, trial
        reach = np.linalg.norm(about, axis=1).max()
        assert np.linalg.norm(m @ np.cross(about, way)) < 1e-12 * size * reach, trial


@pytest.mark.parametrize("case", ["rigid", "rigid clusters", "linear clusters"])
@precisions
def test_a_lump_in_flight_keeps_its_momenta(case, precision):
    material, count = CASES[case]
    rng = np.random.default_rng(4)
    points = lattice(count, count, count - 1)
    sim, _ = simulation(
        lambda scene: scene.add_shape_matched(points, mass=rng.uniform(0.5, 2.0, len(points)), material=material),
        precision, substeps=10,
    )  # fmt: skip
    x = sim.state.positions
    sim.state.velocities = np.cross([1.0, 5.0, -2.0], x) + rng.normal(0, 0.1, x.shape) + [1.0, 0.0, 0.5]
    size = sim.model.masses @ np.linalg.norm(sim.state.velocities, axis=1)
    linear, angular = sim.momentum(), sim.angular_momentum()
    sim.step(60)
    # 600 substeps write 100 positions each, each rounded by u x, its velocity by that over h
    u = {"float64": 1.2e-16, "float32": 6e-8}[precision]
    noise = 4.0 * math.sqrt(600 * len(points)) * u * 2.0 * 2.0 * 600.0
    assert np.linalg.norm(sim.momentum() - linear) < noise + 1e-9 * size
    assert np.linalg.norm(sim.angular_momentum() - angular) < noise + 1e-8 * size


# --- stiffness --------------------------------------------------------------------------------------------------------


def stretched(stiffness, substeps, iterations, precision="float64", material=None):
    """A lump stretched along x by a tenth of a millimetre a metre: its stretch after each frame."""
    points = lattice(5, 4, 4)
    material = material or sn.LumpMaterial(stiffness=stiffness)
    sim, lump = simulation(
        lambda scene: scene.add_shape_matched(points, material=material),
        precision,
        substeps=substeps,
        iterations=iterations,
    )
    sim.state.positions[:, 0] *= 1.0 + 1e-4
    found = []
    for _ in range(30):
        found.append(
            float(sim.positions(lump)[:, 0].astype(float) @ points[:, 0] / (points[:, 0] @ points[:, 0])) - 1.0
        )
        sim.step()
    return np.array(found) / 1e-4


@pytest.mark.parametrize("substeps", [1, 4, 20])
@pytest.mark.parametrize("stiffness", [0.01, 0.3, 0.9])
def test_a_stretch_swings_with_the_frequency_of_the_stiffness(stiffness, substeps):
    square = 3600.0 * stiffness / (1.0 - stiffness) / (60.0 * substeps) ** 2
    u = [1.0, 1.0]
    for _ in range(29 * substeps):
        u.append((2.0 * u[-1] - u[-2]) / (1.0 + square))  # implicit Euler of u'' = -w^2 u
    np.testing.assert_allclose(stretched(stiffness, substeps, 1), u[1::substeps][:30], atol=1e-7)


@pytest.mark.parametrize("stiffness", [0.1, 0.7])
def test_stiffness_does_not_depend_on_iterations(stiffness):
    once = stretched(stiffness, 5, 1)
    for iterations in (2, 10):
        np.testing.assert_allclose(stretched(stiffness, 5, iterations), once, atol=1e-9)


def test_clusters_converge_to_one_stiffness_with_iterations():
    material = sn.LumpMaterial(stiffness=0.5, cluster_size=0.31)
    many, more = (stretched(0.5, 5, n, material=material) for n in (60, 120))
    np.testing.assert_allclose(many, more, atol=1e-6)


def test_a_rigid_lump_is_rigid():
    sim, lump = simulation(lambda scene: scene.add_shape_matched(lattice(4, 3, 5)))
    sim.state.positions += 0.05 * np.random.default_rng(5).normal(size=sim.state.positions.shape)
    run_recorded(matching(sim).record_project, True)
    x, rest = sim.state.x[:, :3], lump.positions
    distances = np.linalg.norm(x[:, None] - x[None], axis=2) - np.linalg.norm(rest[:, None] - rest[None], axis=2)
    assert np.abs(distances).max() < 1e-14


# --- recovery ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["flat", "line", "inverted", "random", "point"])
@pytest.mark.parametrize("case", ["rigid", "soft", "linear", "quadratic", "rigid clusters"])
def test_a_lump_recovers(case, start):
    material, count = CASES[case]
    points = lattice(count, count, count)
    sim, lump = simulation(lambda scene: scene.add_shape_matched(points, material=material))
    change = {"flat": [1, 0, 1], "line": [1, 0, 0], "inverted": [1, -1, 1], "point": [0, 0, 0]}
    rng = np.random.default_rng(6)
    sim.state.positions = rng.normal(0, 0.2, points.shape) if start == "random" else points * change[start]
    if start == "point":
        sim.state.positions += 1e-9 * rng.normal(size=points.shape)
    for _ in range(240):
        sim.step()
        sim.state.velocities *= 0.5
    x = sim.positions(lump)
    found = np.linalg.norm(x[:, None] - x[None], axis=2)
    wanted = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert np.abs(found - wanted).max() < 0.02 * wanted.max()
    assert np.linalg.det((x - x.mean(axis=0)).T @ points) > 0.0, "not mirrored"


# --- plasticity -------------------------------------------------------------------------------------------------------


def squeezed(material, frames=60, **settings):
    """Stretch of a lump along x long after it was held stretched by half of its length."""
    points = lattice(6, 4, 4)
    sim, lump = simulation(lambda scene: scene.add_shape_matched(points, material=material), **settings)
    for _ in range(frames):
        sim.state.positions = points * [1.5, 1.0, 1.0]
        sim.state.velocities = np.zeros_like(points)
        sim.step()
    for _ in range(240):
        sim.step()
        sim.state.velocities *= 0.8
    x = sim.positions(lump)
    return float(x[:, 0] @ points[:, 0] / (points[:, 0] @ points[:, 0])), sim


def test_an_elastic_lump_goes_back():
    stretch, _ = squeezed(sn.LumpMaterial(stiffness=0.9))
    assert stretch == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("substeps", [5, 20])
def test_what_is_beyond_the_yield_creeps_into_the_shape(substeps):
    yields = 0.05
    stretch, sim = squeezed(sn.LumpMaterial(stiffness=0.5, yield_strain=yields, creep=50.0), substeps=substeps)
    plastic = sim.state.system_arrays["lumps/plastic"].reshape(3, 3)
    assert np.linalg.det(plastic) == pytest.approx(1.0, abs=1e-12)
    assert stretch == pytest.approx(plastic[0, 0], abs=1e-3)
    assert 1.2 < stretch < 1.5


def test_the_plastic_strain_is_limited():
    points = lattice(6, 4, 4)
    clay = sn.LumpMaterial(stiffness=0.5, yield_strain=0.05, creep=100.0, most_strain=0.1)
    sim, _ = simulation(lambda scene: scene.add_shape_matched(points, material=clay))
    for _ in range(60):
        sim.state.positions = points * [1.5, 1.0, 1.0]
        sim.state.velocities = np.zeros_like(points)
        sim.step()
    plastic = sim.state.system_arrays["lumps/plastic"].reshape(3, 3)
    assert np.linalg.det(plastic) == pytest.approx(1.0, abs=1e-12)
    # limited to 0.1 before the volume is restored
    assert 1.05 < plastic[0, 0] < 1.1


@pytest.mark.parametrize(("mode", "stiffness"), [("rigid", 0.5), ("linear", 0.9)])
@pytest.mark.parametrize("size", [None, 0.12])
def test_clay_that_its_weight_presses_flat_gains_no_energy(mode, stiffness, size):
    """It falls, spreads and comes to rest; no particle is ever faster than a fall from the top of it to the ground."""
    scene = sn.Scene()
    scene.add_collider(sn.Plane())
    clay = sn.LumpMaterial(stiffness=stiffness, cluster_size=size, yield_strain=0.01, creep=100.0, mode=mode)
    place = {"position": (0, 0.2, 0), "rotation": (0.95, 0.2, 0.2, np.sqrt(0.0175)), "velocity": (0.5, -3, 0)}
    lump = scene.add_shape_matched(box(0.2, 0.2, 0.2), material=clay, spacing=0.05, **place)
    sim = sn.Simulation(scene)
    fall = np.sqrt(0.5**2 + 3.0**2 + 2.0 * 9.81 * sim.positions(lump)[:, 1].max())
    speeds = []
    for _ in range(150):
        sim.step()
        speeds.append(float(np.linalg.norm(sim.velocities(lump), axis=1).max()))
    assert max(speeds) < 1.2 * fall
    assert max(speeds[-10:]) < 0.15
    assert np.ptp(sim.positions(lump), axis=0).max() < 0.8


# --- state ------------------------------------------------------------------------------------------------------------


def busy_scene():
    scene = sn.Scene()
    scene.add_collider(sn.Plane())
    clay = sn.LumpMaterial(stiffness=0.5, cluster_size=0.2, yield_strain=0.01, mode="linear")
    scene.add_shape_matched(box(0.5, 0.3, 0.4), material=clay, spacing=0.08, position=(0, 0.4, 0), velocity=(0, -3, 0))
    scene.add_shape_matched(box(0.3, 0.3, 0.3), spacing=0.06, position=(0.1, 0.9, 0.05), rotation=(0.8, 0.6, 0, 0))
    return scene


@precisions
def test_a_checkpoint_goes_on_bit_by_bit(tmp_path, precision):
    pytest.importorskip("h5py")
    sim = sn.Simulation(busy_scene(), precision=precision, substeps=5)
    sim.step(20)
    assert not np.allclose(sim.state.system_arrays["lumps/plastic"], np.eye(3).ravel())
    sim.save(tmp_path / "lumps.h5")
    other = sn.Simulation.load(tmp_path / "lumps.h5")
    assert other.state == sim.state or np.array_equal(other.state.x, sim.state.x)
    sim.step(10)
    other.step(10)
    assert np.array_equal(sim.state.positions, other.state.positions)
    assert np.array_equal(sim.state.velocities, other.state.velocities)
    for name, values in sim.state.system_arrays.items():
        assert np.array_equal(values, other.state.system_arrays[name]), name


def test_the_same_bits_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr("shinari.systems.shape_matching.system.GRAIN", 16)
    monkeypatch.setattr("shinari.systems.shape_matching.system.PIECES", 1)
    results = []
    for threads in (1, 2):
        sim = sn.Simulation(busy_scene(), substeps=5, threads=threads)
        sim.step(30)
        results.append(sim.state.copy())
    assert results[0] == results[1]


# --- fixed particles --------------------------------------------------------------------------------------------------


@precisions
def test_a_lump_hangs_from_one_pin_as_a_pendulum(precision):
    def add(scene):
        lump = scene.add_shape_matched(lattice(9, 3, 3) + np.array([0.4, 0, 0]), density=1000)
        lump.pin(lump.nearest((0, 0, 0)))
        return lump

    sim, lump = simulation(add, precision, gravity=(0, -9.81, 0), substeps=40)
    pin = sim.positions(lump)[lump.nearest((0, 0, 0))].copy()
    points = lump.positions
    free = np.delete(points, lump.nearest((0, 0, 0)), axis=0)
    inertia, arm = (free[:, :2] ** 2).sum(), free[:, 0].sum()
    start = sim.energy().total
    for _ in range(30):
        sim.step()
        assert np.array_equal(sim.positions(lump)[lump.nearest((0, 0, 0))], pin)
    angle = math.atan2(*(sim.positions(lump).mean(axis=0)[[1, 0]]))
    speed = math.sqrt(2.0 * 9.81 * arm * math.sin(-angle) / inertia)
    turning = np.cross(sim.positions(lump), sim.velocities(lump))[:, 2].sum() / inertia
    assert angle < -0.5
    assert abs(turning) == pytest.approx(speed, rel=0.03)
    assert sim.energy().total < start + 1e-3 * abs(sim.energy().kinetic)


def test_two_pins_are_a_hinge_and_three_hold():
    points = lattice(4, 4, 4)
    for pins in ([0, 3], [0, 3, 12]):
        scene = sn.Scene()
        lump = scene.add_shape_matched(points)
        lump.pin(pins)
        sim = sn.Simulation(scene, precision="float64", threads=1)
        sim.step(30)
        x = sim.positions(lump)
        assert np.array_equal(x[pins], points[pins])
        moved = np.abs(x - points).max()
        assert moved < 1e-4 if len(pins) == 3 else moved > 0.05
        distances = np.linalg.norm(x[:, None] - x[None], axis=2) - np.linalg.norm(
            points[:, None] - points[None], axis=2
        )
        assert np.abs(distances).max() < 1e-3


# --- bad input --------------------------------------------------------------------------------------------------------


BAD = [
    (lambda s: s.add_shape_matched(np.zeros((0, 3))), "points: no particles"),
    (lambda s: s.add_shape_matched(box(1, 1, 1), spacing=2.0), "spacing: 2 m is larger than the body.* 0.25 m"),
    (lambda s: s.add_shape_matched((box(1, 1, 1)[0], box(1, 1, 1)[1][:-1])), "mesh: .*only one face"),
    (lambda s: s.add_shape_matched((box(1, 1, 1)[0], box(1, 1, 1)[1][:, ::-1])), "mesh: .*inside out"),
    (
        lambda s: s.add_shape_matched(lattice(3, 3, 3), stiffness=1.5),
        "shape matched 'lump': stiffness: must be at most 1",
    ),
    (lambda s: s.add_shape_matched(lattice(3, 3, 3), density=0.0), "shape matched 'lump': density: must be above 0"),
    (lambda s: s.add_shape_matched(lattice(3, 3, 3), spacing=-1.0), "spacing: must be above 0"),
    (lambda s: s.add_shape_matched(lattice(3, 3, 3), clusters=[[0, 1], []]), r"clusters\[1\]: has no particles"),
    (lambda s: s.add_shape_matched(lattice(3, 3, 3), clusters=[[0, 1, 1]]), r"clusters\[0\]: names particle 1 twice"),
    (lambda s: s.add_shape_matched(lattice(3, 3, 3), clusters=[range(26)]), "clusters: particle 26 is in none"),
    (lambda s: s.add_shape_matched(lattice(3, 3, 3), clusters=[]), "clusters: none were given"),
    (lambda s: s.add_shape_matched(lattice(3, 3, 3), clusters=[[99]]), "index 99 is out of range"),
    (
        lambda s: s.add_shape_matched(lattice(2, 2, 2), material=sn.LumpMaterial(mode="quadratic")),
        "quadratic' needs at least 10 particles.* has 8",
    ),
    (
        lambda s: s.add_shape_matched(lattice(5, 5, 2), material=sn.LumpMaterial(mode="quadratic")),
        "too flat",
    ),
    (
        lambda s: s.add_shape_matched(lattice(5, 5, 5), material=sn.LumpMaterial(cluster_size=0.15)),
        "cluster_size: 0.15 m is less than two spacings of 0.1 m",
    ),
    (lambda s: s.add_shape_matched(box(1, 1, 1), mass=2.0), "mass: that of a mesh"),
    (lambda s: s.add_shape_matched([[0.0, 0.0, 0.0]]), "spacing: cannot be told from 1 points"),
    (lambda s: s.add_shape_matched(lattice(3, 3, 3), material=sn.SoftMaterial()), "material: expected a LumpMaterial"),
    (lambda s: s.add_shape_matched(lattice(3, 3, 3) * np.nan), "points: not a finite number"),
]


@pytest.mark.parametrize(("add", "message"), BAD)
def test_bad_input_is_refused(add, message):
    with pytest.raises(sn.SceneError, match=message):
        add(sn.Scene())


@pytest.mark.parametrize(("fields", "message"), [
    ({"stiffness": -0.1}, "stiffness"), ({"beta": 2.0}, "beta"), ({"mode": "cubic"}, "mode"),
    ({"creep": -1.0}, "creep"), ({"mode": "quadratic", "yield_strain": 0.1}, "yield_strain"),
    ({"cluster_size": 0.0}, "cluster_size"), ({"friction": -1.0}, "friction"),
])  # fmt: skip
def test_bad_materials_are_refused(fields, message):
    with pytest.raises(sn.SceneError, match=f"LumpMaterial: {message}"):
        sn.LumpMaterial(**fields)


def test_presets():
    assert sn.LumpMaterial.preset("clay", creep=5.0).creep == 5.0
    with pytest.raises(sn.SceneError, match="known are clay, jelly, stone, wood"):
        sn.LumpMaterial.preset("cheese")
    with pytest.raises(sn.SceneError, match="unknown field"):
        sn.LumpMaterial.preset("clay", colour=1.0)
