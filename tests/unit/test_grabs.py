"""Grabs: what is held carries its weight, follows its target, is let go with its velocity, and passes no collider."""

from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.systems.grabs.queries import Grab

G = 9.81


def move(grab: Grab, way: tuple[float, float, float]) -> None:
    grab.target = np.add(grab.target, way)


def hanging(count: int, mass: float, **options: object) -> tuple[sn.Simulation, Grab]:
    """A rope of particles of equal mass, held at its first one, with damping."""
    scene = sn.Scene(gravity=(0, -G, 0), damping=20.0)
    points = np.array([(0.0, 1.0 - 0.1 * k, 0.0) for k in range(count)])
    chain = scene.add_particles(points, mass=mass, name="chain")
    if count > 1:
        links = np.stack([np.arange(count - 1), np.arange(1, count)], axis=1)
        scene.add_constraint("distance", links, compliance=0.0)
    compliance = options.pop("compliance")
    simulation = sn.Simulation(scene, **options)  # type: ignore[arg-type]
    return simulation, simulation.grab(chain, 0, compliance=compliance)  # type: ignore[arg-type]


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(
    ("count", "mass", "compliance", "substeps", "iterations"),
    [(1, 1.0, 1e-3, 5, 1), (1, 0.02, 1e-2, 3, 4), (5, 0.1, 1e-4, 10, 1), (5, 0.5, 0.0, 8, 3)],
)
def test_a_weight_at_rest(
    precision: str, count: int, mass: float, compliance: float, substeps: int, iterations: int
) -> None:
    """The force is m g and the place F alpha below the target, for all that hangs on what is held."""
    simulation, grab = hanging(
        count, mass, compliance=compliance, substeps=substeps, iterations=iterations, precision=precision
    )
    simulation.step(240)
    weight = count * mass * G
    # a place is rounded at 1 m from the origin; a push of a substep is the last digit of that
    eps = float(np.finfo(precision).eps)
    rounding = 4 * eps * count * mass / (simulation.settings.substep**2)
    assert grab.force == pytest.approx((0.0, weight, 0.0), abs=rounding + 1e-6 * weight)
    here = simulation.positions("chain")[0]
    assert here == pytest.approx((0.0, 1.0 - compliance * weight, 0.0), abs=4 * eps + 1e-6 * compliance * weight)


@pytest.mark.parametrize("options", [{"method": "pbd"}, {"sweep": "jacobi", "iterations": 8}, {"sweep": "chebyshev"}])
def test_other_solvers_hold_as_well(options: dict) -> None:
    simulation, grab = hanging(4, 0.2, compliance=1e-3, substeps=8, precision="float64", **options)
    simulation.step(240)
    assert grab.force == pytest.approx((0.0, 0.8 * G, 0.0), abs=1e-3)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("substeps", [1, 7])
def test_a_rigid_grab_goes_evenly_and_lets_go_with_its_velocity(precision: str, substeps: int) -> None:
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_particles([(0.2, 0.3, 0.4)], mass=0.7, name="ball")
    simulation = sn.Simulation(scene, substeps=substeps, precision=precision)
    grab = simulation.grab("ball", 0, compliance=0.0)
    eps = float(np.finfo(precision).eps)
    way = np.array((0.05, -0.02, 0.1))
    # evenly: in each substep of the first step the same way, so that the velocity is that of the whole step
    move(grab, tuple(way))
    simulation.step()
    assert simulation.positions("ball")[0] == pytest.approx(np.array((0.2, 0.3, 0.4)) + way, abs=2 * eps)
    velocity = way / simulation.settings.dt
    tolerance = 8 * eps / simulation.settings.substep
    assert simulation.momentum() == pytest.approx(0.7 * velocity, abs=tolerance)
    grab.release()
    assert not grab.active
    assert grab.force == pytest.approx((0.0, 0.0, 0.0))
    simulation.step(3)
    assert simulation.momentum() == pytest.approx(0.7 * velocity, abs=tolerance)
    assert simulation.positions("ball")[0] == pytest.approx(np.array((0.2, 0.3, 0.4)) + 4 * way, abs=10 * eps)


def test_a_target_that_stays_stops_what_is_held() -> None:
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_particles([(0, 0, 0)], name="ball")
    simulation = sn.Simulation(scene, substeps=4, precision="float64")
    grab = simulation.grab("ball", 0, compliance=0.0)
    grab.target = (0.1, 0.0, 0.0)
    simulation.step(2)
    assert np.abs(simulation.state.velocities).max() < 1e-12
    assert simulation.positions("ball")[0] == pytest.approx((0.1, 0.0, 0.0), abs=1e-15)


@pytest.mark.parametrize("body", [False, True])
def test_critical_damping_brings_it_to_rest_without_swinging(body: bool) -> None:
    """x(t) = d (1 + w t) exp(-w t), w = 1 / sqrt(m compliance); the error of a substep h is of the order w h."""
    scene, mass, frequency = sn.Scene(gravity=(0, 0, 0)), 2.0, 12.0
    spring: dict = {"compliance": 1.0 / (mass * frequency**2), "damping": 2.0 * mass * frequency}
    if body:
        handle = scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), density=1e3 * mass, name="box")
    else:
        handle = scene.add_particles([(0, 0, 0)], mass=mass, name="ball")
    simulation = sn.Simulation(scene, substeps=60, precision="float32" if body else "float64")
    where: dict = {"point": (0, 0, 0)} if body else {"index": 0}
    grab = simulation.grab(handle, **where, **spring)
    grab.target = (0.1, 0.0, 0.0)
    simulation.step()  # in which the target moves there
    places = []
    for _ in range(40):
        simulation.step()
        places.append(simulation.pose("box")[0][0] if body else float(simulation.positions("ball")[0, 0]))
    # as if it had jumped in the middle of that step
    t = frequency * (simulation.settings.dt * (np.arange(40) + 1.5))
    assert places == pytest.approx(0.1 - 0.1 * (1.0 + t) * np.exp(-t), abs=0.1 * 0.02)
    assert max(places) <= 0.1 + 1e-9
    assert places[-1] == pytest.approx(0.1, abs=0.1 * 0.005)


def test_a_largest_force_is_kept() -> None:
    """What is held back by a rigid row is drawn with that force, however far away the target is."""
    scene = sn.Scene(gravity=(0, 0, 0), damping=20.0)
    scene.add_particles([(0, 0, 0), (1, 0, 0)], mass=[0.0, 0.3], name="pair")
    scene.add_constraint("distance", [[0, 1]])
    simulation = sn.Simulation(scene, substeps=6, iterations=40, precision="float64")
    grab = simulation.grab("pair", 1, compliance=1e-4, max_force=7.0)
    for far in (1.5, 30.0):
        grab.target = (far, 0.0, 0.0)
        simulation.step(60)
        assert grab.force == pytest.approx((7.0, 0.0, 0.0), rel=1e-9)
        assert simulation.forces("distance") == pytest.approx([7.0], rel=1e-9)
    # below the limit it is the spring
    grab.target = (1.0 + 5e-4, 0.0, 0.0)
    simulation.step(60)
    assert grab.force == pytest.approx((5.0, 0.0, 0.0), rel=1e-6)


def test_a_target_glides() -> None:
    """In so much time, evenly, and from where it is when it is moved again."""
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_particles([(0, 0, 0)], name="ball")
    simulation = sn.Simulation(scene, dt=0.01, substeps=2, precision="float64")
    grab = simulation.grab("ball", 0, compliance=0.0, glide=0.04)
    places = []
    for step in range(8):
        if step in (0, 2):
            grab.target = (1.0 if step == 0 else 2.5, 0.0, 0.0)
        simulation.step()
        places.append(float(simulation.positions("ball")[0, 0]))
    assert places == pytest.approx([0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 2.5, 2.5], abs=1e-14)


def sheet(**options: object) -> sn.Simulation:
    scene = sn.Scene()
    cloth = scene.add_cloth(sn.grid(shape=(14, 14)), name="cloth", position=(0.0, 0.5, 0.0))
    cloth.pin([0, 13])
    scene.add_particles([(3.0, 1.0, 0.0)], name="ball")
    scene.add_collider(sn.Plane())
    return sn.Simulation(scene, substeps=5, **options)  # type: ignore[arg-type]


def test_without_a_grab_nothing_differs() -> None:
    one, other = sheet(), sheet()
    one.grab("cloth", 100).release()
    one.step(5)
    other.step(5)
    assert one.state == other.state
    # and a grab of one object is nothing to another
    one.grab("ball", 0).target = (3.0, 2.0, 0.0)
    one.step(5)
    other.step(5)
    assert np.array_equal(one.positions("cloth"), other.positions("cloth"))
    assert not np.array_equal(one.positions("ball"), other.positions("ball"))


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_any_number_of_threads_gives_the_same_bits(precision: str) -> None:
    simulations = [sheet(threads=threads, precision=precision) for threads in (1, 2)]
    for simulation in simulations:
        first, second = simulation.grab("cloth", 190), simulation.grab("cloth", 97, compliance=1e-2)
        move(first, (0.1, 0.4, 0.1))
        simulation.step(4)
        move(second, (0.0, 0.1, 0.3))
        simulation.step(4)
    assert simulations[0].state == simulations[1].state


def test_what_is_dragged_at_a_collider_stops_there() -> None:
    scene = sn.Scene()
    scene.add_cloth(
        sn.grid(shape=(10, 10)), material=sn.ClothMaterial(thickness=0.02), position=(0.0, 0.3, 0.0), name="c"
    )
    scene.add_collider(sn.Plane())
    simulation = sn.Simulation(scene, substeps=10)
    grab = simulation.grab("c", 44, compliance=1e-4)
    for drop in np.linspace(0.0, 0.6, 30):
        grab.target = (*grab.target[[0]], 0.3 - drop, *grab.target[[2]])
        simulation.step()
        assert simulation.positions("c")[:, 1].min() > 0.01 - 1e-3
    assert grab.force[1] < -100.0


def test_two_grabs_of_one_particle_share_the_load() -> None:
    """Springs with compliances 1 : 3 at the same target carry 3 : 1."""
    scene = sn.Scene(damping=20.0)
    scene.add_particles([(0, 0, 0)], mass=1.0, name="ball")
    simulation = sn.Simulation(scene, substeps=4, iterations=30, precision="float64")
    stiff, soft = simulation.grab("ball", 0, compliance=1e-3), simulation.grab("ball", 0, compliance=3e-3)
    simulation.step(200)
    assert stiff.force[1] == pytest.approx(0.75 * G, rel=1e-3)
    assert soft.force[1] == pytest.approx(0.25 * G, rel=1e-3)


def test_a_body_hangs_below_the_place_that_is_held() -> None:
    """The force is m g, the place lies F alpha below the target, the centre of mass below the place."""
    scene = sn.Scene(damping=8.0)
    body = scene.add_rigid_body(sn.Box((0.4, 0.2, 0.1)), density=1000.0, position=(1.0, 2.0, 3.0), name="box")
    simulation = sn.Simulation(scene, substeps=8, sleep=True)
    corner = np.array((1.2, 2.1, 3.05))
    grab = simulation.grab(body, point=corner, compliance=1e-4)
    simulation.step(240)
    weight = 8.0 * G
    assert grab.force == pytest.approx((0.0, weight, 0.0), abs=1e-4)
    arm = np.linalg.norm((0.2, 0.1, 0.05))
    assert simulation.pose(body)[0] == pytest.approx(corner - (0.0, 1e-4 * weight + arm, 0.0), abs=1e-6)
    # let go at a steady speed it keeps it, but for gravity
    for _ in range(120):
        move(grab, (0.01, 0.0, 0.0))
        simulation.step()
    speed = 0.01 / simulation.settings.dt
    grab.release()
    before = simulation.state.body_velocities[0].copy()
    assert before[0] == pytest.approx(speed, rel=0.02)
    simulation.step()
    drag = np.exp(-8.0 * simulation.settings.dt)
    assert simulation.state.body_velocities[0, 0] == pytest.approx(before[0] * drag, rel=1e-6)


def test_a_body_that_sleeps_wakes() -> None:
    scene = sn.Scene()
    scene.add_collider(sn.Plane())
    body = scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0.0, 0.1, 0.0), name="box")
    simulation = sn.Simulation(scene, substeps=8, sleep=True)
    simulation.step(60)
    assert simulation.state.system_arrays["bodies/idle"][0] > 0.5
    grab = simulation.grab(body, point=(0.0, 0.2, 0.0))
    # slower than what keeps a body awake
    for _ in range(60):
        move(grab, (0.0, 2e-4, 0.0))
        simulation.step()
    assert simulation.pose(body)[0][1] == pytest.approx(0.1 + 60 * 2e-4 - 8.0 * G * 1e-4, abs=2e-4)


def test_a_grab_is_no_part_of_the_state(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    simulation = sheet()
    grab = simulation.grab("cloth", 190)
    move(grab, (0.0, 0.5, 0.0))
    simulation.step(3)
    simulation.save(tmp_path / "held.vtkhdf")
    kept = simulation.state.copy()
    loaded = sn.Simulation.load(tmp_path / "held.vtkhdf")
    free = sheet()
    free.restore(kept)
    loaded.step(3)
    free.step(3)
    assert loaded.state == free.state
    simulation.restore(kept)
    simulation.step(3)
    assert grab.active
    assert not np.array_equal(simulation.state.positions, free.state.positions)


def test_pinned_meanwhile_it_is_not_pulled() -> None:
    simulation = sheet()
    grab = simulation.grab("cloth", 190)
    move(grab, (0.0, 0.5, 0.0))
    simulation.pin("cloth", 190)
    before = simulation.positions("cloth")[190].copy()
    simulation.step(3)
    assert np.array_equal(simulation.positions("cloth")[190], before)
    assert not grab.force.any()
    simulation.unpin("cloth", 190)
    simulation.step(3)
    assert grab.force[1] > 0.0


def test_bad_input() -> None:
    simulation = sheet()
    grab = simulation.grab("cloth", 5)
    for arguments, message in [
        ((("cloth", 196), {}), "cloth: grab"),
        ((("cloth", [1, 2]), {}), "cloth: grab: index: expected one"),
        ((("cloth",), {}), "cloth: grab: index: is missing"),
        ((("cloth", 0), {}), "cloth: grab: particle 0 is pinned"),
        ((("cloth", 5), {"compliance": -1.0}), "cloth: compliance"),
        ((("cloth", 5), {"damping": np.inf}), "cloth: damping"),
        ((("cloth", 5), {"max_force": -1.0}), "cloth: max_force"),
        ((("cloth", 5), {"max_force": 1.0, "compliance": 0.0}), "cloth: max_force: a grab of compliance 0"),
        ((("cloth", 5), {"glide": -0.1}), "cloth: glide"),
        ((("cloth", 5), {"point": (0, 0, 0)}), "cloth: point"),
        ((("nothing", 0), {}), "unknown name 'nothing'"),
        ((("collider", 0), {}), "grab: handle: expected an object with particles or a rigid body"),
    ]:
        with pytest.raises(sn.SceneError, match=message):
            simulation.grab(*arguments[0], **arguments[1])
    scene = sn.Scene()
    body = scene.add_rigid_body(sn.Sphere(0.1), name="stone")
    scene.add_rigid_body(
        sn.Sphere(0.1), position=(1, 0, 0), motion=lambda time: ((1, 0, 0), (1, 0, 0, 0)), name="driven"
    )
    simulation = sn.Simulation(scene)
    with pytest.raises(sn.SceneError, match="stone: index: a body is grabbed at a point"):
        simulation.grab(body, 3)
    with pytest.raises(sn.SceneError, match="stone: grab: point: is missing"):
        simulation.grab(body)
    with pytest.raises(sn.SceneError, match="driven: grab: the body is fixed or has a motion"):
        simulation.grab("driven", point=(1, 0, 0))
    with pytest.raises(sn.SceneError, match="grab of 'cloth': target"):
        grab.target = (0.0, np.nan, 0.0)
    with pytest.raises(sn.SceneError, match="grab of 'cloth': target"):
        grab.target = (0.0, 1.0)
