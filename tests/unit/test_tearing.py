"""Tearing and plastic flow: limits, what goes with a row, rest shapes, energy, momentum, bits, bad input."""

import numpy as np
import pytest

import shinari as sn
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.geometry.topology import edges, grid, hinges
from shinari.maths.eigen import eigen
from shinari.systems.air.system import Air
from shinari.systems.failure.tearing import elements_left

# what tears here is pulled to a length
pytestmark = pytest.mark.filterwarnings("ignore::shinari.FailureWarning")

BOTH = pytest.mark.parametrize("precision", ["float32", "float64"])
SHEET = sn.ClothMaterial(density=0.3, stretch_compliance=1e-3, bend_stiffness=1e-6, thickness=0.004, tear_strain=0.25)


def pulled_sheet(scene, material=SHEET, shape=(13, 7), **options):
    """A sheet that is held at both ends; which particles are pulled."""
    cloth = scene.add_cloth(grid(shape=shape, size=(0.36, 0.18), diagonal="alternating"), material=material, **options)
    ends = cloth.where(lambda x: x[:, 0] < -0.179), cloth.where(lambda x: x[:, 0] > 0.179)
    for end in ends:
        cloth.pin(end)
    return cloth, ends[1]


def pull(sim, cloth, end, steps, by=0.004):
    for _ in range(steps):
        sim.positions(cloth)[end, 0] += by
        sim.step()


def test_eigenvalues_and_vectors_are_those_of_lapack():
    rng = np.random.default_rng(1)
    for scale in (1e-6, 1.0, 1e6):
        for _ in range(200):
            m = rng.normal(size=(3, 3)) * scale
            m = m + m.T
            a, v = m.copy(), np.empty((3, 3))
            eigen(a, v)
            np.testing.assert_allclose(np.sort(np.diag(a)), np.linalg.eigvalsh(m), atol=1e-14 * np.abs(m).max() * 10)
            np.testing.assert_allclose(v @ np.diag(np.diag(a)) @ v.T, m, atol=1e-13 * np.abs(m).max())
    a, v = np.diag([3.0, 3.0, 1.0]), np.empty((3, 3))
    eigen(a, v)
    np.testing.assert_array_equal(v, np.eye(3))


@BOTH
@pytest.mark.parametrize("bend_model", ["isometric", "dihedral", "cross"])
def test_what_has_lost_its_triangles_lets_go(bend_model, precision):
    """Against the definition: a triangle is gone when one of its edges has torn."""
    scene = sn.Scene(gravity=(0, 0, 0))
    material = sn.ClothMaterial(**{**vars(SHEET), "bend_model": bend_model})
    cloth, end = pulled_sheet(scene, material)
    sim = sn.Simulation(scene, precision=precision)
    pull(sim, cloth, end, 30)
    faces = scene.particle_objects[0].faces
    torn = set()
    for name, broken in sim.state.broken.items():
        block = sim.model.blocks[name]
        added = np.empty(len(cloth), int)
        added[sim.model.slots] = np.arange(len(cloth))
        for row in added[block.indices[broken]]:
            torn.add((name, tuple(sorted(row.tolist()))))
    assert len(torn) > 5
    gone = np.array(
        [any(("distance", tuple(sorted((f[i], f[i - 1])))) in torn for i in range(3)) for f in faces.tolist()]
    )
    left = elements_left(sim.model, sim.state, 0)
    np.testing.assert_array_equal(left, ~gone)
    np.testing.assert_array_equal(sim.surface(cloth)[1], faces[left])
    kept = {tuple(e) for e in edges(faces[left]).tolist()}
    for edge in edges(faces).tolist():
        assert (("distance", tuple(edge)) in torn) == (tuple(edge) not in kept)
    names = {"isometric": "isometric_bend", "dihedral": "dihedral"}
    for a, b, c, d in hinges(faces).tolist():
        alone = not all(
            left[[sorted(f) == sorted(t) for f in faces.tolist()].index(True)] for t in ((a, b, c), (a, b, d))
        )
        if bend_model in names:
            assert ((names[bend_model], tuple(sorted((a, b, c, d)))) in torn) == alone
        elif alone:
            assert ("distance", tuple(sorted((c, d)))) in torn


@BOTH
@pytest.mark.parametrize("bend", [np.inf, 1e-2])
def test_a_rope_tears_at_its_strain_and_bending_rows_with_it(bend, precision):
    scene = sn.Scene(gravity=(0, 0, 0), damping=20.0)
    points = np.stack([np.linspace(0, 1, 11), np.zeros(11), np.zeros(11)], axis=1)
    material = sn.RopeMaterial(density=1.0, stretch_compliance=1e-2, bend_compliance=bend, tear_strain=0.1)
    rope = scene.add_rope(points, material=material)
    rope.pin([0, 10])
    # one iteration leaves neighbouring rows strained differently, by the part w / alpha~ of 1.4 %
    sim = sn.Simulation(scene, precision=precision, iterations=6)
    forces = []
    while not sim.state.broken["distance"].any() and sim.time < 5.0:
        forces.append(sim.forces("distance")[:10].mean())
        # slowly at the end: the force of a pull at a speed v runs ahead of the rest by density x wave speed x v
        sim.positions(rope)[10, 0] += 0.001 if sim.time < 1.5 else 0.0001
        sim.step()
    if bend == np.inf:
        # the force at break is the stiffness times the strain, but for the steps of the pull
        assert forces[-1] == pytest.approx(0.1 / 1e-2, rel=0.02)
        assert sim.positions(rope)[10, 0] - 1.0 == pytest.approx(0.1, rel=0.02)
    first = np.flatnonzero(sim.state.broken["distance"][np.argsort(sim.model.blocks["distance"].added_index)])
    segments = first[first < 10]
    assert len(segments) >= 1
    if bend < np.inf:
        assert {10 + s + k for s in segments for k in (-1, 0) if 0 <= s + k < 9} <= set(first.tolist())


@BOTH
@pytest.mark.parametrize("yields", [0.05, 0.2])
def test_a_rope_pulled_to_twice_its_yield_strain_keeps_the_closed_form(yields, precision):
    """Length (1 + 2 y) L0 at the strain y: L = (1 + 2 y) / (1 + y) L0, so y / (1 + y) stays."""
    scene = sn.Scene(gravity=(0, 0, 0))
    rope = scene.add_rope(
        [[0, 0, 0], [1, 0, 0]], material=sn.RopeMaterial(stretch_compliance=1e-3, yield_strain=yields)
    )
    rope.pin([0, 1])
    sim = sn.Simulation(scene, precision=precision)
    for k in range(20):
        sim.positions(rope)[1, 0] = 1.0 + 2.0 * yields * (k + 1) / 20
        sim.step()
    assert sim.strains("distance")[0] == pytest.approx(yields, rel=1e-5)
    sim.positions(rope)[1, 0] = 1.0 + yields / (1.0 + yields)
    sim.step()
    assert sim.strains("distance")[0] == pytest.approx(0.0, abs=1e-6)
    assert sim.energy().elastic == pytest.approx(0.0, abs=1e-8)


@BOTH
def test_creep_is_exponential_and_stops_at_the_limit(precision):
    for creep, limit in ((3.0, np.inf), (50.0, 0.1)):
        material = sn.RopeMaterial(stretch_compliance=1e-3, yield_strain=0.1, creep=creep, plastic_limit=limit)
        scene = sn.Scene(gravity=(0, 0, 0))
        rope = scene.add_rope([[0, 0, 0], [1, 0, 0]], material=material)
        rope.pin([0, 1])
        sim = sn.Simulation(scene, precision=precision)
        sim.positions(rope)[1, 0] = 1.5
        # where it goes in the first step is on the way; from then on it is held
        sim.step()
        start = 1.5 / (1.0 + sim.strains("distance")[0])
        sim.step(30)
        wanted = 1.5 / 1.1 + (start - 1.5 / 1.1) * np.exp(-creep * 0.5)
        assert 1.5 / (1.0 + sim.strains("distance")[0]) == pytest.approx(min(wanted, 1.0 + limit), rel=2e-5)


@BOTH
@pytest.mark.parametrize("model", ["neo_hookean", "stvk", "corotated", "strain"])
def test_a_block_stretched_to_twice_its_yield_keeps_the_closed_form(model, precision):
    """Stretch exp(2 y) at constant volume: the measure is 2 y, so exp(y) stays in the rest shape."""
    y = 0.1
    scene = sn.Scene(gravity=(0, 0, 0))
    material = sn.SoftMaterial(youngs_modulus=1e4, poissons_ratio=0.3, model=model, yield_strain=y, thickness=0.0)
    body = scene.add_soft_body(lattice((2, 1, 1), 0.1), material=material)
    body.pin(np.arange(len(body)))
    sim = sn.Simulation(scene, precision=precision)
    given = body.positions.copy()
    for k in range(10):
        stretch = np.exp(2.0 * y * (k + 1) / 10)
        sim.positions(body)[:] = given * [stretch, stretch**-0.5, stretch**-0.5]
        sim.step()
    flow = sim.model.plastic_rows[0]
    rest = sim.state.system_arrays[flow.name]
    start = sim.model.blocks[flow.block].parameters[flow.rows, :9].reshape(-1, 3, 3).astype(float)
    plastic = np.linalg.inv(np.linalg.inv(start) @ rest.reshape(-1, 3, 3))
    expected = np.diag(np.exp([y, -0.5 * y, -0.5 * y]))
    tolerance = 1e-3
    np.testing.assert_allclose(plastic, np.broadcast_to(expected, plastic.shape), atol=tolerance)
    np.testing.assert_allclose(np.linalg.det(plastic), 1.0, atol=1e-12 if precision == "float64" else 1e-4)


def test_plastic_flow_of_a_block_stops_at_the_limit():
    scene = sn.Scene(gravity=(0, 0, 0))
    material = sn.SoftMaterial(youngs_modulus=1e4, yield_strain=0.05, plastic_limit=0.1, creep=5.0, thickness=0.0)
    body = scene.add_soft_body(lattice((1, 1, 1), 0.1), material=material)
    body.pin(np.arange(len(body)))
    sim = sn.Simulation(scene, precision="float64")
    sim.positions(body)[:] = body.positions * [1.5, 1.5**-0.5, 1.5**-0.5]
    sim.step(60)
    flow = sim.model.plastic_rows[0]
    rest = sim.state.system_arrays[flow.name]
    start = sim.model.blocks[flow.block].parameters[flow.rows, :9].reshape(-1, 3, 3)
    stretches = np.linalg.svd(np.linalg.inv(start) @ rest.reshape(-1, 3, 3), compute_uv=False)
    measure = np.sqrt(2 / 3) * np.linalg.norm(np.log(stretches), axis=1)
    assert measure.max() <= 0.1
    assert measure.min() > 0.09


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(("yields", "creep"), [(0.01, np.inf), (0.3, np.inf), (0.01, 1000.0)])
def test_a_soft_body_that_flows_at_once_lands(precision, yields, creep):
    """Tetrahedra that are pressed flat as it hits the ground get no rest shape without a thickness."""
    scene = sn.Scene()
    scene.add_collider(sn.Plane())
    material = sn.SoftMaterial(youngs_modulus=2e4, yield_strain=yields, creep=creep)
    place = {"position": (0, 0.1, 0), "rotation": (0.95, 0.2, 0.2, np.sqrt(0.0175)), "velocity": (0.5, -3, 0)}
    body = scene.add_soft_body(sn.lattice((4, 4, 4), 0.05), material=material, **place)
    sim = sn.Simulation(scene, substeps=20, precision=precision)
    speeds = []
    for _ in range(60):
        sim.step()
        speeds.append(float(np.linalg.norm(sim.velocities(body), axis=1).max()))
    assert max(speeds) < 6.0
    assert np.ptp(sim.positions(body), axis=0).max() < 1.0


@pytest.mark.parametrize("failure", [{"tear_strain": 0.2}, {"yield_strain": 0.1}, {"yield_strain": 0.1, "creep": 20.0}])
@pytest.mark.parametrize("thing", ["cloth", "soft"])
def test_energy_only_falls_and_momentum_is_kept(thing, failure):
    """Thrown apart, without gravity."""
    scene = sn.Scene(gravity=(0, 0, 0))
    if thing == "cloth":
        mesh = grid(shape=(7, 7), size=(0.3, 0.3), diagonal="alternating")
        material = sn.ClothMaterial(density=0.5, stretch_compliance=1e-2, bend_stiffness=0.0, thickness=0.0, **failure)
        x = mesh[0]
        body = scene.add_cloth(mesh, material=material, velocity=80.0 * x)
    else:
        mesh = lattice((4, 2, 2), 0.1)
        x = mesh[0] - mesh[0].mean(axis=0)
        material = sn.SoftMaterial(youngs_modulus=2e4, poissons_ratio=0.3, thickness=0.0, **failure)
        body = scene.add_soft_body(mesh, material=material, velocity=x * [12.0, 0.0, 0.0])
    sim = sn.Simulation(scene, precision="float64", substeps=40)
    total = [sim.energy().total]
    for _ in range(20):
        sim.step()
        total.append(sim.energy().total)
    assert np.all(np.diff(total) <= 1e-9 * total[0])
    assert np.abs(sim.momentum()).max() < 1e-10
    if "tear_strain" in failure:
        assert any(broken.any() for broken in sim.state.broken.values())
    else:
        flow = sim.model.plastic_rows[0]
        rest = sim.state.system_arrays[flow.name]
        assert np.abs(rest - sim.model.blocks[flow.block].parameters[flow.rows, flow.columns]).max() > 1e-3
    assert len(body) == len(sim.positions(body))


def soft_strip(scene, **changes):
    material = sn.SoftMaterial(
        **({"youngs_modulus": 1e5, "poissons_ratio": 0.3, "tear_strain": 0.3, "thickness": 0.01} | changes)
    )
    body = scene.add_soft_body(lattice((8, 2, 2), 0.05), material=material, self_collision="triangles")
    ends = body.where(lambda x: x[:, 0] < 1e-6), body.where(lambda x: x[:, 0] > 0.4 - 1e-6)
    for end in ends:
        body.pin(end)
    return body, ends[1]


@BOTH
def test_a_soft_body_tears_and_its_new_surface_is_closed(precision):
    scene = sn.Scene(gravity=(0, 0, 0))
    body, end = soft_strip(scene)
    sim = sn.Simulation(scene, precision=precision)
    before = {tuple(sorted(face)) for face in sim.surface(body)[1].tolist()}
    pull(sim, body, end, 60)
    left = elements_left(sim.model, sim.state, 0)
    assert not left.all()
    _, faces = sim.surface(body)
    assert {tuple(sorted(face)) for face in faces.tolist()} != before
    sides = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    assert np.all(np.unique(sides, axis=0, return_counts=True)[1] % 2 == 0)
    used = np.unique(scene.particle_objects[0].tetrahedra[left])
    assert set(np.unique(faces)) <= set(used)


@pytest.mark.parametrize("thing", ["cloth", "soft"])
@BOTH
def test_bits_survive_threads_a_checkpoint_and_an_undone_step(thing, tmp_path, precision):
    def build(threads):
        scene = sn.Scene(wind=(0, 1, 0))
        if thing == "cloth":
            material = sn.ClothMaterial(**{**vars(SHEET), "yield_strain": 0.05, "creep": 20.0})
            body, end = pulled_sheet(scene, material, shape=(60, 40))
        else:
            body, end = soft_strip(scene, yield_strain=0.05, creep=5.0)
        return body, end, sn.Simulation(scene, precision=precision, threads=threads)

    body, end, one = build(1)
    _, _, two = build(2)
    for sim in (one, two):
        pull(sim, body.name, end, 12, by=0.012)
    assert one.state == two.state
    assert any(broken.any() for broken in one.state.broken.values())
    one.save(tmp_path / "a.h5")
    three = sn.Simulation.load(tmp_path / "a.h5")
    for sim in (one, three):
        pull(sim, body.name, end, 5, by=0.012)
    assert one.state == three.state
    # a step that fails is undone: broken rows and rest shapes are those of the last good one
    kept = one.state.copy()
    one.velocities(body.name)[3 if thing == "cloth" else 20] = np.nan
    free = one.state.copy()
    with pytest.raises(sn.DivergenceError):
        one.step()
    for name, values in kept.lasting().items():
        np.testing.assert_array_equal(one.state.lasting()[name], values)
    assert free.frame == one.state.frame


def test_a_ball_falls_through_the_tear():
    """It rests on the sheet, and falls once the triangles under it are gone."""
    heights = {}
    for strain in (np.inf, 0.25):
        scene = sn.Scene()
        material = sn.ClothMaterial(**{**vars(SHEET), "tear_strain": strain})
        cloth = scene.add_cloth(grid(shape=(15, 15), size=(0.3, 0.3), diagonal="alternating"), material=material)
        cloth.pin(cloth.where(lambda x: np.abs(x).max(axis=1) > 0.149))
        scene.add_particles([0.01, 0.02, 0.013], mass=1.0, radius=0.01, velocity=(0, -1.0, 0))
        sim = sn.Simulation(scene)
        sim.step(60)
        heights[strain] = sim.positions("particles")[0, 1]
    assert heights[np.inf] > -0.3
    assert heights[0.25] < -2.0


def test_a_balloon_that_tears_loses_its_pressure():
    """The pressure is gone with the first triangle, and stays gone after a checkpoint's restore."""
    trimesh = pytest.importorskip("trimesh")
    scene = sn.Scene(gravity=(0, 0, 0))
    material = sn.ClothMaterial(
        density=1.0, stretch_compliance=1e-2, bend_stiffness=0.0, thickness=0.0, tear_strain=0.3
    )
    balloon = scene.add_cloth(trimesh.creation.icosphere(subdivisions=2, radius=0.2), material=material)
    scene.add_volume(balloon, ratio=1.4)
    balloon.pin([0])
    sim = sn.Simulation(scene, precision="float64")
    pressures = []
    for k in range(60):
        if k > 20:
            # pulled at one vertex, with a hook as it were
            sim.positions(balloon)[0] *= 1.02
        sim.step()
        pressures.append(sim.pressure(balloon))
    assert max(pressures) > 10.0
    assert pressures[-1] == 0.0
    sim.restore(sim.state.copy())
    sim.step()
    assert sim.pressure(balloon) == 0.0


def test_torn_triangles_feel_no_wind():
    scene = sn.Scene(gravity=(0, 0, 0), wind=(0, 5, 0))
    cloth, end = pulled_sheet(scene)
    sim = sn.Simulation(scene)
    pull(sim, cloth, end, 30)
    left = elements_left(sim.model, sim.state, 0)
    sim.step()
    np.testing.assert_array_equal(sim._bound.get(Air).triangles.drag.any(axis=1), left)


@pytest.mark.parametrize("kind", [sn.ClothMaterial, sn.RopeMaterial, sn.SoftMaterial])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"tear_strain": 0.0}, "tear_strain: must be above 0"),
        ({"yield_strain": -1.0}, "yield_strain: must be above 0"),
        ({"creep": "fast"}, "creep: expected a number"),
        ({"plastic_limit": np.nan}, "plastic_limit: expected a number"),
        ({"tear_strain": 0.1, "yield_strain": 0.2}, "yield_strain: 0.2 is not below the tear_strain 0.1"),
    ],
)
def test_bad_values_are_refused(kind, values, message):
    with pytest.raises(sn.SceneError, match=f"{kind.__name__}: {message}"):
        kind(**values)


def test_tethers_do_not_go_with_tearing():
    scene = sn.Scene()
    scene.add_rope([[0, 0, 0], [1, 0, 0]], material=sn.RopeMaterial(tethers=True, tear_strain=0.1))
    with pytest.raises(sn.SceneError, match="rope 'rope': tethers: would hold what tears off"):
        sn.Simulation(scene)
