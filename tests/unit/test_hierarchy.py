"""Coarse levels of the distance rows: they help, keep momentum and never hold back what is satisfied."""

import itertools

import numpy as np
import pytest

import shinari as sn
from shinari.compute import Program
from shinari.geometry.topology import edges
from shinari.model.settings import Settings
from shinari.model.state import start
from shinari.solver.build import build_model
from shinari.solver.hierarchy import Hierarchy
from shinari.solver.levels import Level, build_levels
from shinari.systems.rows.closing import Threads


def sheet(count: int, density: float = 1.0, **material) -> tuple[sn.Scene, sn.scene.handle.Handle]:
    scene = sn.Scene()
    material = {"density": density, "bend_stiffness": 0.0, "stretch_compliance": 1e-4, **material}
    cloth = scene.add_cloth(sn.grid(shape=(count, count)), material=sn.ClothMaterial(**material))
    return scene, cloth


def tube(around: int = 40, along: int = 30) -> tuple[np.ndarray, np.ndarray]:
    turn, height = np.meshgrid(2 * np.pi * np.arange(around) / around, np.linspace(0, 2, along))
    vertices = np.stack([np.cos(turn).ravel(), height.ravel(), np.sin(turn).ravel()], axis=1)
    faces = []
    for j, i in itertools.product(range(along - 1), range(around)):
        a, b = j * around + i, j * around + (i + 1) % around
        faces += [[a, b, a + around], [b, b + around, a + around]]
    return vertices, np.array(faces)


def levels_of(vertices: np.ndarray, faces: np.ndarray, fixed: np.ndarray | None = None) -> list[Level]:
    pairs = edges(faces)
    inverse = np.ones(len(vertices))
    inverse[[] if fixed is None else fixed] = 0.0
    lengths = np.linalg.norm(vertices[pairs[:, 0]] - vertices[pairs[:, 1]], axis=1)
    return build_levels(vertices, inverse, pairs, lengths, np.zeros(len(pairs)))


SURFACES = {"flat": sn.grid(shape=(40, 40)), "tube": tube()}


@pytest.mark.parametrize("fixed", [[], [0, 39]], ids=["free", "pinned"])
@pytest.mark.parametrize("name", SURFACES)
def test_weights_sum_to_one(name, fixed):
    vertices, faces = SURFACES[name]
    levels = levels_of(vertices, faces, np.array(fixed, int))
    assert len(levels) >= 2
    held = np.zeros(len(vertices), bool)
    held[fixed] = True
    for level in levels:
        total = level.weights.sum(axis=1)
        np.testing.assert_allclose(total[~held], 1.0, atol=1e-14)
        assert not level.weights[held].any()
        assert (level.weights >= 0.0).all()
        held = held[level.members]
        np.testing.assert_array_equal(level.inverse_masses == 0.0, held)


@pytest.mark.parametrize("name", SURFACES)
def test_coarse_masses_sum_to_all_of_it(name):
    vertices, faces = SURFACES[name]
    for level in levels_of(vertices, faces):
        assert (1.0 / level.inverse_masses).sum() == pytest.approx(len(vertices), rel=1e-12)


@pytest.mark.parametrize("name", SURFACES)
def test_coarse_rows_do_not_hold_back_a_taut_surface(name):
    """No rest length is below the distance of its ends: at rest, rolled out flat, nothing pulls."""
    vertices, faces = SURFACES[name]
    if name == "tube":  # cut open and rolled out, its own edges keep their lengths to order 1 / around^2
        assert levels_of(vertices, faces)
    x = vertices
    for level in levels_of(vertices, faces):
        x = x[level.members]
        apart = np.linalg.norm(x[level.indices[:, 0]] - x[level.indices[:, 1]], axis=1)
        assert (level.rest_lengths[:, 0] >= apart * (1 - 1e-12)).all()


def test_coarse_rows_of_a_tube_are_as_long_as_its_surface():
    """Opened along the axis a tube lies flat: a chord through the inside would hold it back."""
    around, along = 40, 30
    vertices, faces = tube(around, along)
    side = 2 * np.sin(np.pi / around)  # of the polygon: the rows of the tube know no other length
    k = np.arange(len(vertices))
    column, height = k % around, vertices[:, 1]
    for level in levels_of(vertices, faces):
        column, height = column[level.members], height[level.members]
        a, b = level.indices.T
        turn = np.abs(column[a] - column[b])
        turn = np.minimum(turn, around - turn)
        rolled = np.hypot(side * turn, height[a] - height[b])
        assert (level.rest_lengths[:, 0] >= rolled * (1 - 1e-9)).all()


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("method", ["xpbd", "pbd"])
def test_a_coarse_correction_keeps_momentum(method, precision):
    scene, cloth = sheet(30)
    sim = sn.Simulation(scene, precision=precision, method=method, hierarchy=True, threads=1)
    settings = Settings(precision=precision, method=method, hierarchy=True)
    coarse = Hierarchy(scene, sim.model, sim._bound.particles, settings, sim._bound.clock, Threads.zeros(0, precision))
    x = sim.state.x
    rng = np.random.default_rng(1)
    x[:, :3] *= 1.3
    x[:, :3] += rng.normal(scale=0.01, size=(len(x), 3)).astype(x.dtype)
    before, mass = x[:, :3].astype(float), 1.0 / x[:, 3].astype(float)
    p = Program()
    coarse.record_predict(p)
    p.run()
    moved = x[:, :3].astype(float) - before
    assert np.abs(moved).max() > 1e-3
    # each of 900 particles rounds its position of half a metre, and its weights
    assert np.abs(mass @ moved).max() < 4 * mass.sum() * np.finfo(precision).eps
    assert len(cloth) == 900


def strain(scene: sn.Scene, hierarchy: bool, steps: int, **options) -> float:
    sim = sn.Simulation(scene, substeps=10, hierarchy=hierarchy, threads=1, **options)
    sim.step(steps)
    return float(np.abs(sim.strains()).mean())


def hanging(count: int) -> sn.Scene:
    scene, cloth = sheet(count)
    cloth.pin([0, count - 1])
    return scene


def test_a_hanging_sheet_stretches_far_less():
    plain, coarse = (strain(hanging(64), on, 150) for on in (False, True))
    assert coarse < plain / 3.0


def test_a_satisfied_sheet_is_left_alone():
    """Falling freely nothing is stretched, and the levels must do nothing, flat or folded."""
    for fold in (0.0, 1.0):
        vertices, faces = sn.grid(shape=(41, 40))  # with a column of vertices on the fold
        results = []
        for on in (False, True):
            scene = sn.Scene()
            cloth = scene.add_cloth((vertices, faces), material=sn.ClothMaterial(bend_stiffness=0.0))
            sim = sn.Simulation(scene, precision="float64", hierarchy=on, threads=1)
            bent = vertices.copy()
            half = vertices[:, 0] > 1e-9
            bent[half, 1] = np.sin(fold) * bent[half, 0]
            bent[half, 0] *= np.cos(fold)
            sim.positions(cloth)[:] = bent
            sim.step(2)
            results.append(sim.positions(cloth).copy())
        np.testing.assert_allclose(results[1], results[0], atol=1e-12)


def test_a_tube_can_be_pressed_flat_and_hangs_at_its_own_length():
    """Taut is not stretched: an inextensible tube, held by its upper rim, keeps its shape with and without levels."""
    lengths = []
    for on in (False, True):
        vertices, faces = tube()
        scene = sn.Scene(damping=2.0)
        cloth = scene.add_cloth((vertices, faces), material=sn.ClothMaterial(stretch_compliance=1e-3))
        cloth.pin(cloth.where(lambda x: x[:, 1] > 1.99))
        sim = sn.Simulation(scene, hierarchy=on, threads=1, precision="float64")
        sim.step(120)
        lengths.append(sim.strains().mean())
    assert lengths[1] == pytest.approx(lengths[0], abs=2e-4)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_moving_pins_take_the_sheet_along(precision):
    scene, cloth = sheet(40)
    cloth.pin([0, 39])
    sim = sn.Simulation(scene, precision=precision, substeps=10, hierarchy=True, threads=1)
    home = sim.positions(cloth)[[0, 39]].copy()
    for frame in range(90):
        sim.positions(cloth)[[0, 39]] = home + np.array([0.02 * frame, 0, 0.5 * np.sin(0.1 * frame)], home.dtype)
        sim.step()
    np.testing.assert_array_equal(
        sim.positions(cloth)[[0, 39]], home + np.array([0.02 * 89, 0, 0.5 * np.sin(8.9)], home.dtype)
    )
    assert np.abs(sim.strains()).mean() < 0.05
    assert np.abs(sim.positions(cloth)[:, 0].mean() - 1.78) < 1.0


def test_rope():
    results = []
    for on in (False, True):
        scene = sn.Scene(damping=2.0)
        points = np.stack([np.zeros(200), -0.01 * np.arange(200), np.zeros(200)], axis=1)
        rope = scene.add_rope(points)
        rope.pin([0])
        results.append(strain(scene, on, 60))
    assert results[1] < results[0] / 3.0


def test_soft_and_stiff_cloths_in_one_scene_behave_as_alone():
    """Levels of one object know nothing of the other: each hangs as it would by itself."""

    def build(kinds: tuple[str, ...]) -> dict[str, float]:
        scene = sn.Scene(damping=4.0)
        handles = {}
        for kind in kinds:
            compliance = {"soft": 0.1, "stiff": 1e-6}[kind]
            material = sn.ClothMaterial(density=1.0, bend_stiffness=0.0, stretch_compliance=compliance)
            at = (3.0 if kind == "soft" else 0.0, 0.0, 0.0)
            turn = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)
            handles[kind] = scene.add_cloth(sn.grid(shape=(20, 20)), material=material, position=at, rotation=turn)
            handles[kind].pin(handles[kind].where(lambda x: x[:, 1] > 0.499))
        sim = sn.Simulation(scene, precision="float64", substeps=20, hierarchy=True, threads=1)
        sim.step(150)
        return {kind: float(np.ptp(sim.positions(handle)[:, 1])) for kind, handle in handles.items()}

    both = build(("soft", "stiff"))
    for kind in ("soft", "stiff"):
        assert both[kind] == pytest.approx(build((kind,))[kind], rel=5e-3), kind


def test_a_soft_cloth_stretches_as_much_as_without_levels():
    lengths = []
    for on in (False, True):
        scene = sn.Scene(damping=4.0)
        material = sn.ClothMaterial(density=1.0, bend_stiffness=0.0, stretch_compliance=0.02)
        turn = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)
        cloth = scene.add_cloth(sn.grid(shape=(20, 20)), material=material, rotation=turn)
        cloth.pin(cloth.where(lambda x: x[:, 1] > 0.499))
        sim = sn.Simulation(scene, precision="float64", substeps=40, hierarchy=on, threads=1)
        sim.step(200)
        lengths.append(float(np.ptp(sim.positions(cloth)[:, 1])))
    assert lengths[1] - 1.0 == pytest.approx(lengths[0] - 1.0, rel=0.05)


def test_what_has_torn_off_is_not_held_by_coarse_rows():
    """A cloth hangs from another by attachments that break: it must fall freely, levels or not."""
    scene = sn.Scene()
    material = sn.ClothMaterial(density=1.0, bend_stiffness=0.0)
    upper = scene.add_cloth(sn.grid(shape=(12, 12)), material=material)
    lower = scene.add_cloth(sn.grid(shape=(12, 12)), material=material, position=(0, -0.02, 0))
    upper.pin(range(144))
    for k in range(12):
        scene.attach((upper, k), (lower, k), break_force=1e-4)
    sim = sn.Simulation(scene, precision="float64", substeps=10, hierarchy=True, threads=1)
    sim.step(30)
    fallen = -0.02 - sim.positions(lower)[:, 1].mean()
    assert fallen == pytest.approx(0.5 * 9.81 * 0.25, rel=0.02)


def test_rows_without_stiffness_have_no_levels():
    """With `"pbd"` a row of stiffness zero does nothing, and its coarse rows must not either."""
    scene, cloth = sheet(30, stretch_stiffness=0.0)
    cloth.pin([0])
    sim = sn.Simulation(scene, method="pbd", precision="float64", hierarchy=True, threads=1)
    sim.step(30)
    n, h = 600, 1 / 1200
    np.testing.assert_allclose(sim.positions(cloth)[1:, 1], -9.81 * h * h * n * (n + 1) / 2, atol=1e-9)


def test_scenes_without_anything_to_do():
    particles = sn.Scene()
    particles.add_particles(np.random.default_rng(0).normal(size=(50, 3)))
    everything_pinned, cloth = sheet(20)
    cloth.pin(range(400))
    lonely, _ = sheet(20)
    lonely.add_particles(np.random.default_rng(0).normal(size=(50, 3)))
    only_push = sn.Scene()
    only_push.add_particles(np.random.default_rng(0).normal(size=(50, 3)))
    pairs = np.stack([np.arange(49), np.arange(1, 50)], axis=1)
    only_push.add_constraint("distance", pairs, compliance=np.inf, compression_compliance=0.0)
    for scene in (particles, everything_pinned, lonely, only_push):
        sim = sn.Simulation(scene, hierarchy=True, threads=1)
        sim.step(3)
        assert np.isfinite(sim.state.positions).all()
    fixed = sn.Simulation(everything_pinned, hierarchy=True, threads=1)
    fixed.step(3)
    assert not fixed.state.velocities.any()


@pytest.mark.parametrize("substeps", [1, 20])
@pytest.mark.parametrize("density", [1e-3, 1e3])
@pytest.mark.parametrize("compliance", [1.0, 1e-3, 1e-9])
def test_energy_stays_bounded(compliance, density, substeps):
    """A sheet that falls into its pins: the kinetic energy never exceeds what gravity gave by far."""
    scene, cloth = sheet(24, density=density, stretch_compliance=compliance)
    cloth.pin([0, 23])
    sim = sn.Simulation(scene, substeps=substeps, hierarchy=True, threads=1)
    most = 0.0
    for _ in range(120):
        sim.step()
        energy = sim.energy()
        most = max(most, energy.kinetic + energy.gravitational)
    # it starts at zero; symplectic Euler may lead by g h times the speed
    speed = 9.81 * 2.0
    assert most < density * 9.81 / 60 / substeps * speed + 1e-3 * density


def test_levels_follow_the_order_of_the_solver():
    """On a shuffled mesh the particles are renumbered, and the levels with them."""
    vertices, faces = sn.grid(shape=(40, 40))
    order = np.random.default_rng(0).permutation(len(vertices))
    results = []
    for shuffled in (False, True):
        mesh = (vertices[order], np.argsort(order)[faces]) if shuffled else (vertices, faces)
        scene = sn.Scene()
        cloth = scene.add_cloth(mesh, material=sn.ClothMaterial(density=1.0, stretch_compliance=1e-4))
        cloth.pin([int(np.argmin(np.linalg.norm(mesh[0] - v, axis=1))) for v in (vertices[0], vertices[39])])
        results.append(strain(scene, True, 60))
        assert start(build_model(scene, Settings()), scene).x.shape == (1600, 4)
    assert results[1] == pytest.approx(results[0], rel=0.5)


def test_levels_rest_until_seams_are_closed():
    """Two panels are sewn around a capsule that is too thick for them; they fought with the levels meanwhile."""
    radius, height, ease, count = 0.15, 0.2, 0.85, 10
    across = 0.5 * np.pi * radius * ease
    lower, upper = [[-across, -height], [across, -height]], [[across, height], [-across, height]]
    outline = {"bottom": lower, "right": [lower[1], upper[0]], "top": upper, "left": [upper[1], lower[0]]}
    panel = {name: np.array(line) for name, line in outline.items()}
    runs = []
    for on in (False, True):
        pattern = sn.Pattern(2.0 * across / count)
        pattern.add_panel("front", panel, position=(0, 0, radius + 0.05))
        pattern.add_panel("back", panel, position=(0, 0, -radius - 0.05), rotation=(0, 0, 1, 0))
        for one, other in (("right", "left"), ("left", "right")):
            pattern.add_seam(f"front.{one}", f"back.{other}", closing_time=0.25)
        scene = sn.Scene(gravity=(0, 0, 0), damping=4.0)
        scene.add_collider(sn.Capsule(radius, 0.8), friction=0.3)
        material = sn.ClothMaterial.preset("cotton", thickness=0.004)
        cloth = scene.add_cloth(pattern, material=material, sewing=pattern.seams)
        sim = sn.Simulation(scene, substeps=10, hierarchy=on, threads=1)
        sim.step(14)
        runs.append(sim.positions(cloth).copy())
        sim.step(31)
        x = sim.positions(cloth)
        apart = max(np.linalg.norm(x[seam.first] - x[seam.second], axis=1).max() for seam in pattern.seams)
        assert apart < 1.5e-3
    np.testing.assert_array_equal(*runs)


def test_levels_reach_across_a_closed_seam():
    """Two sheets, one sewn to the other, hang by the upper edge of the first."""
    strains = []
    for on in (False, True):
        pattern = sn.Pattern(1 / 40)
        corners = {
            "bottom": [[0, 0], [1, 0]],
            "right": [[1, 0], [1, 1]],
            "top": [[1, 1], [0, 1]],
            "left": [[0, 1], [0, 0]],
        }
        panel = {name: np.array(line, float) for name, line in corners.items()}
        pattern.add_panel("upper", panel, position=(0, 1.0, 0))
        pattern.add_panel("lower", panel, position=(0, 0, 0))
        pattern.add_seam("upper.bottom", "lower.top", closing_time=0.0)
        scene = sn.Scene()
        material = sn.ClothMaterial(density=1.0, bend_stiffness=0.0, stretch_compliance=1e-4)
        cloth = scene.add_cloth(pattern, material=material, sewing=pattern.seams)
        cloth.pin(cloth.where(lambda x: x[:, 1] > 1.99))
        sim = sn.Simulation(scene, substeps=10, hierarchy=on, threads=1)
        sim.step(120)
        strains.append(float(np.abs(sim.strains()).mean()))
    assert strains[1] < strains[0] / 3.0
