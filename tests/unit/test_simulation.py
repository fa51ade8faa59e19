"""What the public interface promises, against closed forms wherever there is one."""

import re

import numpy as np
import pytest
from small_scenes import G, pair, precisions, settled

import shinari as sn
from shinari.compute import Field, Program, Record, kernel, real
from shinari.model.particles import Clock, Particles
from shinari.model.system import System
from shinari.solver.bound_systems import BoundSystems

# --- the state -------------------------------------------------------------------------------------------------------


@precisions
def test_views_are_writable_and_act(precision):
    scene = sn.Scene(gravity=(0, 0, 0))
    a = scene.add_particles([[0, 0, 0], [5, 0, 0]])
    b = scene.add_particles([[0, 3, 0]], name="other")
    sim = sn.Simulation(scene, precision=precision, threads=1)
    assert np.shares_memory(sim.positions(a), sim.state.positions)
    assert np.shares_memory(sim.velocities("other"), sim.state.velocities)
    sim.velocities(b)[0] = (0.0, 0.0, 6.0)
    sim.positions(a)[1] = (1.5, 2.5, 3.5)
    sim.step(10)
    np.testing.assert_allclose(sim.positions(b), [[0, 3, 1]], rtol=1e-6)
    np.testing.assert_array_equal(sim.positions(a), [[0, 0, 0], [1.5, 2.5, 3.5]])
    view = sim.state.positions
    sim.state.positions = np.ones((3, 3))
    assert view is sim.state.positions
    assert (view == 1.0).all()


@pytest.mark.parametrize("field", ["positions", "velocities"])
@pytest.mark.parametrize(
    "value",
    [np.zeros((3, 3)), np.zeros((2, 2)), np.zeros(3), 0.0, [["a", "b", "c"]] * 2, np.zeros((2, 3), complex)],
    ids=["more", "flat", "row", "number", "text", "complex"],
)
def test_setters_refuse_what_is_no_whole_array(field, value):
    scene = sn.Scene()
    scene.add_particles([[0, 0, 0], [1, 0, 0]])
    sim = sn.Simulation(scene, threads=1)
    with pytest.raises(sn.SceneError, match=rf"state: {field}: .*\(2, 3\)"):
        setattr(sim.state, field, value)


class Seen(Record):
    x = Field(real, doc="of a particle at the end of each substep")


@kernel
def look(_, seen: Seen, particles: Particles, clock: Clock, slot: int):
    seen.x[clock.substep[0]] = particles.x[slot, 0]


class Watcher(System):
    """Writes down where a particle is at the end of each substep."""

    def __init__(self, bound: BoundSystems, seen: Seen, slot: int) -> None:
        self.bound, self.seen, self.slot = bound, seen, slot

    def record_finish(self, p: Program) -> None:
        p.serial(look, self.seen, self.bound.particles, self.bound.clock, self.slot)


@precisions
def test_pinned_particles_go_evenly_where_they_are_written(precision, monkeypatch):
    """The substeps see the pin on its way; the other end of a rigid row must follow a straight line evenly."""
    scene = sn.Scene(gravity=(0, 0, 0))
    h = scene.add_particles([[0, 0, 0], [1, 0, 0]])
    h.pin([0])
    seen, arrange = Seen.zeros(4, np.dtype(precision).type), BoundSystems.arrange

    def watched(bound: BoundSystems) -> None:
        arrange(bound)
        bound.systems.append(Watcher(bound, seen, int(bound.model.slots[0])))

    monkeypatch.setattr(BoundSystems, "arrange", watched)
    sim = sn.Simulation(scene, substeps=4, precision=precision, threads=1)
    target = np.array([0.6, 0.3, -0.9], sim.state.positions.dtype)
    sim.positions(h)[0] = target
    sim.step()
    np.testing.assert_allclose(seen.x + sim.state.origins[0, 0], 0.6 * np.arange(1, 5) / 4, rtol=1e-6)
    np.testing.assert_array_equal(sim.positions(h)[0], target)
    np.testing.assert_allclose(sim.velocities(h)[0], target * 60.0, rtol=1e-5)
    sim.step()
    np.testing.assert_array_equal(sim.positions(h)[0], target)
    np.testing.assert_array_equal(sim.velocities(h)[0], 0.0)


@precisions
def test_a_resting_pin_reports_no_velocity(precision):
    """Far from its origin a written place is not a number of the solver, and rests all the same."""
    scene = sn.Scene()
    h = scene.add_particles(np.array([[-7.3, 0.1, 0.7], [19.0, 3.3, 30.1]]))
    h.pin([0, 1])
    sim = sn.Simulation(scene, precision=precision, threads=1)
    for written in ([[-7.3, 0.1, 0.7], [19.0, 3.3, 30.1]], np.random.default_rng(1).uniform(-20, 20, (2, 3))):
        sim.state.positions = written
        sim.step(2)
        for _ in range(3):
            sim.step()
            np.testing.assert_array_equal(sim.velocities(h), 0.0)
            np.testing.assert_array_equal(sim.positions(h), np.array(written, precision))


def shuffled_grid(count: int = 24) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    vertices, faces = sn.grid(shape=(count, count))
    order = np.random.default_rng(0).permutation(len(vertices))
    where = np.argsort(order)
    return vertices[order], where[faces], order


@precisions
def test_vertices_keep_their_order_when_particles_are_renumbered(precision):
    vertices, faces, _ = shuffled_grid()
    scene = sn.Scene(gravity=(0, -G, 0))
    cloth = scene.add_cloth((vertices, faces))
    corner = int(np.argmin(vertices.sum(axis=1)))
    cloth.pin([corner])
    sim = sn.Simulation(scene, substeps=2, precision=precision, threads=1)
    assert (sim.model.slots != np.arange(len(vertices))).any()
    np.testing.assert_allclose(sim.positions(cloth), vertices, atol=4 * np.finfo(precision).eps)
    sim.step()
    np.testing.assert_array_equal(sim.positions(cloth)[corner], vertices[corner].astype(precision))
    far = np.linalg.norm(vertices - vertices[corner], axis=1) > 0.3
    expected = vertices - [0.0, G * 3 / 120**2, 0.0]
    np.testing.assert_allclose(sim.positions(cloth)[far], expected[far], atol=1e-6)


def test_forces_and_strains_are_in_the_order_in_which_rows_were_added():
    vertices, _, _ = shuffled_grid(16)
    n = len(vertices)
    rng = np.random.default_rng(2)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(500)])
    length = np.linalg.norm(vertices[pairs[:, 0]] - vertices[pairs[:, 1]], axis=1)
    rest = length * rng.uniform(0.5, 1.5, len(pairs))
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_particles(vertices, mass=1e12)  # nothing moves, so that each force is C / (compliance + w h^2)
    first = scene.add_constraint("distance", pairs[:200], rest_length=rest[:200], compliance=1e-3)
    second = scene.add_constraint("distance", pairs[200:], rest_length=rest[200:], compliance=1e-3)
    rope_ = scene.add_rope([[0, 9, 0], [0, 8, 0]], material=sn.RopeMaterial(stretch_compliance=1.0))
    sim = sn.Simulation(scene, precision="float64", threads=1)
    assert (sim.model.blocks["distance"].added_index != np.arange(501)).any()
    np.testing.assert_allclose(sim.strains()[:500], length / rest - 1.0, atol=1e-12)
    sim.step()
    np.testing.assert_allclose(sim.forces("distance")[:500], (length - rest) / 1e-3, rtol=1e-6)
    np.testing.assert_array_equal(sim.forces(second), sim.forces("distance")[200:500])
    np.testing.assert_array_equal(sim.forces(first), sim.forces("distance")[:200])
    assert len(sim.forces("distance")) == 501
    assert len(rope_) == 2


# --- rows ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("iterations", [1, 5])
@pytest.mark.parametrize(
    ("above", "options", "expected"),
    [
        (False, {"compliance": 2e-3}, -1.0 - G * 2e-3),
        (True, {"compliance": 2e-3}, 1.0 - G * 2e-3),
        (False, {"compliance": 2e-3, "compression_compliance": 5e-3}, -1.0 - G * 2e-3),
        (True, {"compliance": 2e-3, "compression_compliance": 5e-3}, 1.0 - G * 5e-3),
        (False, {"compliance": 1e-3, "compression_compliance": np.inf}, -1.0 - G * 1e-3),
        (True, {"compliance": np.inf, "compression_compliance": 1e-3}, 1.0 - G * 1e-3),
        (False, {"compliance": 0.0}, -1.0),
        (True, {"compliance": 0.0}, 1.0),
        (False, {"compliance": 2e-3, "damping": 40.0}, -1.0 - G * 2e-3),
    ],
)
def test_static_extension(above, options, expected, iterations):
    sim = settled(pair(above=above, **options), iterations=iterations)
    assert sim.state.positions[1, 1] == pytest.approx(expected, abs=1e-9)
    assert abs(sim.forces("distance")[0]) == pytest.approx(G, rel=1e-6)
    assert float(sim.residual()) < 1e-9


@pytest.mark.parametrize(
    ("above", "options"),
    [
        (True, {"compliance": 0.0, "compression_compliance": np.inf}),
        (False, {"compliance": np.inf, "compression_compliance": 0.0}),
        (False, {"compliance": np.inf}),
    ],
)
def test_a_row_that_does_not_act_on_a_side_lets_fall(above, options):
    scene = pair(above=above, **options)
    scene.damping = 0.0
    sim = sn.Simulation(scene, precision="float64", substeps=5, threads=1)
    sim.step(6)
    n, h = 30, 1 / 300
    start = 1.0 if above else -1.0
    assert sim.state.positions[1, 1] == pytest.approx(start - G * h * h * n * (n + 1) / 2, abs=1e-12)
    assert sim.forces("distance")[0] == 0.0


@pytest.mark.parametrize("apart", [0.0, 0.5])
def test_attach_two_particles(apart):
    scene = sn.Scene(damping=8.0)
    top = scene.add_particles([[0, 0, 0]], mass=0.0)
    low = scene.add_particles([[9, 9, 9], [0, -apart, 0]], mass=2.0)
    rows = scene.attach((top, 0), (low, 1), compliance=1e-3)
    sim = settled(scene)
    assert np.linalg.norm(sim.forces(rows)) == pytest.approx(2.0 * G, rel=1e-6)
    np.testing.assert_allclose(sim.positions(low)[1], [0, -apart - 2.0 * G * 1e-3, 0], atol=1e-9)


def test_attach_pulls_both_ends():
    scene = sn.Scene(gravity=(0, 0, 0))
    a = scene.add_particles([[0, 0, 0]], mass=1.0, velocity=(1.0, 0, 0))
    b = scene.add_particles([[0, 0, 0]], mass=3.0)
    scene.attach((a, 0), (b, 0))
    sim = sn.Simulation(scene, precision="float64", threads=1)
    sim.step(60)
    np.testing.assert_allclose(sim.state.velocities, [[0.25, 0, 0]] * 2, atol=1e-12)
    np.testing.assert_allclose(sim.positions(a), sim.positions(b), atol=1e-12)


@precisions
def test_attach_to_a_point(precision):
    scene = sn.Scene(damping=8.0)
    p = scene.add_particles([[0.3, 0.0, 0.0]], mass=0.5)
    rows = scene.attach((p, 0), (0.0, 1.0, 0.0), compliance=1e-2)
    sim = settled(scene, precision=precision)
    # a position of one metre is rounded by half a digit, which is that acceleration over a substep of 1/600 s
    stray = 0.5 * float(np.finfo(precision).eps) * 600**2
    slack = max(0.5 * stray * 1e-2, 1e-9)
    np.testing.assert_allclose(sim.positions(p)[0], [0.0, 1.0 - 0.5 * G * 1e-2, 0.0], atol=slack)
    np.testing.assert_allclose(sim.forces(rows)[0], [0, -0.5 * G, 0], atol=max(slack / 1e-2, 1e-6))


@pytest.mark.parametrize("kind", [tuple, list, np.array, "pose"])
def test_attach_to_a_moving_target(kind):
    def motion(t: float) -> object:
        point = (0.5 * t, 1.0 + t * t, -t)
        return (np.array(point), np.array([1.0, 0, 0, 0])) if kind == "pose" else kind(point)

    scene = sn.Scene()
    p = scene.add_particles([[0.0, 1.0, 0.0]])
    scene.attach((p, 0), motion)
    sim = sn.Simulation(scene, precision="float64", threads=1)
    sim.step(30)
    np.testing.assert_allclose(sim.positions(p)[0], [0.25, 1.25, -0.5], atol=1e-12)
    np.testing.assert_allclose(sim.velocities(p)[0], [0.5, 1.0, -1.0], atol=1.5 / 1200)
    assert float(sim.residual()) < 1e-12  # measured from where the target is now


@pytest.mark.parametrize(("limit", "holds"), [(1.001, True), (0.999, False)])
@pytest.mark.parametrize("target", ["point", "particle", "apart"])
def test_attachment_breaks_above_its_force(target, limit, holds):
    scene = sn.Scene()
    p = scene.add_particles([[0.0, 0.0, 0.0]], mass=2.0)
    top = scene.add_particles([[0, 0, 0] if target != "apart" else [0, 1, 0]], mass=0.0)
    second = (0.0, 0.0, 0.0) if target == "point" else (top, 0)
    scene.attach((p, 0), second, break_force=2.0 * G * limit)
    sim = sn.Simulation(scene, substeps=5, precision="float64", threads=1)
    sim.step(12)
    assert [bool(b.all()) for b in sim.state.broken.values()] == [not holds]
    # it lets go at the end of the first substep, and falls from the next on
    n, h = 59, 1 / 300
    fallen = 0.0 if holds else G * h * h * n * (n + 1) / 2
    assert sim.positions(p)[0, 1] == pytest.approx(-fallen, abs=1e-9)


# --- forces ----------------------------------------------------------------------------------------------------------


@sn.function
def _push(x, v, m, t):
    """Two newtons along X, and m t along Z."""
    return np.float32(2.0), x[0] * np.float32(0.0), m * t


@precisions
def test_force_field(precision):
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_particles([[0, 0, 0], [1, 0, 0], [2, 0, 0]], mass=[4.0, 0.5, 0.0])
    scene.add_force_field(_push)
    sim = sn.Simulation(scene, substeps=2, precision=precision, threads=1)
    sim.step(30)
    n, h = 60, 1 / 120
    rounding = n * np.finfo(precision).eps
    np.testing.assert_allclose(sim.state.velocities[:, 0], [n * h / 2, n * h * 4, 0.0], rtol=rounding)
    # the field is asked at the end of each substep
    np.testing.assert_allclose(sim.state.velocities[:, 2], np.array([1, 1, 0]) * h * h * n * (n + 1) / 2, rtol=rounding)
    np.testing.assert_array_equal(sim.state.positions[2], [2, 0, 0])


@sn.function
def _mixed(x, v, m, t):
    """Numbers as one writes them, whose types differ from those of the simulation."""
    return 2.0 * m, np.float32(0.0), 0


@precisions
def test_force_field_of_mixed_numbers(precision):
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_particles([[0, 0, 0]], mass=3.0)
    scene.add_force_field(_mixed)
    sim = sn.Simulation(scene, precision=precision, threads=1)
    sim.step(60)
    np.testing.assert_allclose(sim.state.velocities, [[2.0, 0, 0]], rtol=1200 * np.finfo(precision).eps)


@precisions
def test_wind_on_one_triangle(precision):
    """Head on, u' = -k u^2 with k = rho A C / (2 m): the implicit step gives 1 / u = 1 / u0 + k t exactly."""
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0.5, np.sqrt(0.75), 0]])
    scene = sn.Scene(gravity=(0, 0, 0), wind=(0, 0, 5.0), air_density=1.2)
    material = sn.ClothMaterial(density=0.4, drag_normal=1.5, drag_tangential=0.0)
    cloth = scene.add_cloth((vertices, [[0, 1, 2]]), material=material)
    sim = sn.Simulation(scene, precision=precision, threads=1)
    sim.step(60)
    k = 1.2 * 1.5 / (2 * 0.4)
    expected = 5.0 - 1.0 / (1.0 / 5.0 + k)
    rounding = 1200 * np.finfo(precision).eps
    np.testing.assert_allclose(sim.velocities(cloth), [[0, 0, expected]] * 3, rtol=rounding, atol=rounding)


def test_wind_never_carries_a_light_cloth_beyond_its_speed():
    scene = sn.Scene(gravity=(0, 0, 0), wind=(0, 0, 30.0))
    cloth = scene.add_cloth(sn.grid(shape=(6, 6)), material=sn.ClothMaterial(density=0.001))
    sim = sn.Simulation(scene, substeps=1, threads=1)
    for _ in range(60):
        sim.step()
        assert sim.velocities(cloth)[:, 2].mean() <= 30.0 * (1 + 1e-5)
    assert sim.velocities(cloth)[:, 2].mean() > 29.0


@precisions
def test_global_damping_is_an_exponential(precision):
    scene = sn.Scene(gravity=(0, 0, 0), damping=1.7)
    scene.add_particles([[0, 0, 0]], velocity=(3.0, -2.0, 1.0))
    sim = sn.Simulation(scene, precision=precision, threads=1)
    sim.step(30)
    expected = np.array([[3.0, -2.0, 1.0]]) * np.exp(-1.7 * 0.5)
    np.testing.assert_allclose(sim.state.velocities, expected, rtol=600 * np.finfo(precision).eps)


# --- time ------------------------------------------------------------------------------------------------------------


def falling(**options) -> sn.Simulation:
    scene = sn.Scene()
    scene.add_particles([[0, 0, 0]])
    return sn.Simulation(scene, **{"dt": 0.01, "substeps": 1, "threads": 1, **options})


def test_advance_carries_what_is_left_over():
    sim = falling()
    assert [sim.advance(0.004) for _ in range(10)] == [0, 0, 1, 0, 1, 0, 0, 1, 0, 1]
    assert sim.time == pytest.approx(0.04)
    assert sim.left_over == pytest.approx(0.0, abs=1e-12)
    assert sim.advance(0.035) == 3
    assert sim.left_over == pytest.approx(0.005)
    assert sim.advance(0.0) == 0


def test_advance_gives_up_what_is_too_much():
    sim = falling()
    assert sim.advance(10.003) == 4
    assert sim.left_over == pytest.approx(0.003, abs=1e-9)
    assert sim.advance(10.0, most_steps=7) == 7
    assert sim.time == pytest.approx(0.11)


def test_advance_by_tiny_steps_loses_no_time():
    sim = falling()
    assert sum(sim.advance(0.0001) for _ in range(1000)) == 10
    with pytest.raises(sn.SceneError, match="elapsed"):
        sim.advance(-0.1)
    with pytest.raises(sn.SceneError, match="elapsed"):
        sim.advance(float("nan"))


def test_run_records_after_every_step():
    sim, seen = falling(), []
    sim.run(0.05, progress=False, record=lambda s: seen.append((s.time, float(s.state.positions[0, 1]))))
    assert [t for t, _ in seen] == pytest.approx([0.01, 0.02, 0.03, 0.04, 0.05])
    assert [y for _, y in seen] == pytest.approx([-G * 1e-4 * n * (n + 1) / 2 for n in range(1, 6)], rel=1e-5)
    sim.run(0.0, progress=False, record=seen.append)
    assert len(seen) == 5


# --- trouble ---------------------------------------------------------------------------------------------------------


@sn.function
def _explode(x, v, m, t):
    """Nothing, until 0.04 s, and then only on what is above one metre: no number."""
    zero = x[0] - x[0]
    root = np.sqrt(np.float32(1.0) - x[1])
    return zero, root - root if t > 0.04 else zero, zero


@precisions
def test_divergence_keeps_the_last_good_state_and_says_where(precision):
    scene = sn.Scene(gravity=(0, 0, 0))
    calm = scene.add_rope([[0, 0, 0], [1, 0, 0]], name="calm")
    far = scene.add_particles([[9, 0, 0], [9.5, 0, 0]], name="held")
    scene.attach((far, 0), (4.0, 0.0, 0.0), compliance=1e6)  # a large C that is a number
    vertices, faces = sn.grid(shape=(4, 4))
    scene.add_cloth((vertices, faces), name="flag", position=(0, 3.0, 0))
    scene.add_force_field(_explode)
    sim = sn.Simulation(scene, precision=precision, substeps=2, threads=1)
    sim.step(2)
    before = sim.state.copy()
    with pytest.raises(sn.DivergenceError) as caught:
        sim.step(5)
    message = str(caught.value)
    assert "frame 3" in message
    assert "'flag'" in message
    assert re.search(r"block: '(distance|isometric_bend)'", message), message
    np.testing.assert_array_equal(sim.state.positions, before.positions)
    np.testing.assert_array_equal(sim.state.velocities, before.velocities)
    assert sim.state.frame == 2
    assert np.isfinite(sim.state.x).all()
    assert sim.positions(calm).shape == (2, 3)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"wind": (1e25, 0, 0)}, r"The wind alone gives 1e\+25 m/s"),
        ({"wind": lambda t: (1e25, 0, 0)}, r"The wind alone gives 1e\+25 m/s"),
        ({"gravity": (0, -6e25, 0)}, r"The gravity alone gives 1e\+24 m/s"),
    ],
)
def test_what_is_given_too_large_is_told_where_numbers_end(given, told):
    scene = sn.Scene(**given)
    scene.add_cloth(sn.grid(shape=(5, 5)), name="flag").pin([0])
    with pytest.raises(sn.DivergenceError, match=told) as caught:
        sn.Simulation(scene).step()
    assert "substeps" not in str(caught.value)


def test_an_empty_scene_is_refused():
    with pytest.raises(sn.SceneError, match="scene: is empty"):
        sn.Simulation(sn.Scene())


def test_more_threads_than_the_machine_has():
    results = []
    for threads in (1, 1000):
        scene = sn.Scene()
        cloth = scene.add_cloth(sn.grid(shape=(12, 12)))
        cloth.pin([0])
        sim = sn.Simulation(scene, threads=threads)
        sim.step(3)
        results.append(sim.state.positions.copy())
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(("name", "message"), [("positions", "needs a simulation with device='cuda'"), (3, "name")])
def test_arrays_on_a_device_need_one(name, message):
    scene = sn.Scene()
    scene.add_particles([[0.0, 0.0, 0.0]])
    with pytest.raises(sn.SceneError, match=message):
        sn.Simulation(scene).state.on_device(name)


def test_gravity_of_a_scene_is_given_as_a_whole() -> None:
    scene = sn.Scene()
    with pytest.raises(ValueError, match="read-only"):
        scene.gravity[1] = -1.6
    scene.gravity = (0, -1.6, 0)
    assert scene.gravity.tolist() == [0, -1.6, 0]


def test_simulations_and_states_say_what_they_are():
    """A state shows no arrays: they would fill the screen."""
    scene = sn.Scene()
    scene.add_rope([(0, 0, 0), (0.1, 0, 0)], name="line")
    scene.add_rigid_body(sn.Sphere(0.1), position=(0, 1, 0), name="ball")
    sim = sn.Simulation(scene, dt=0.25)
    sim.step(2)
    assert repr(sim.state) == "<State: frame 2, 2 particles, 1 bodies>"
    assert repr(sim) == "<Simulation: 0.5 s of <Scene: 2 particles, line, ball>>"
