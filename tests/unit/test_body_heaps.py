"""Heaps: what rests stays where it is without a factor, and sweeps obey the law of contact."""

import gc
import warnings

import numpy as np
import pytest

import shinari as sn
from shinari.systems.rigid.components import KEPT, LARGE
from shinari.systems.rigid.newton import RETRY
from shinari.systems.rigid.points import SLACK
from shinari.systems.rigid.system import RigidBodySystem

G = 9.81


def pyramid(rows, size=1.0, height=0.0, **settings):
    scene = sn.Scene()
    scene.add_collider(sn.Plane((0, 1, 0), 0), friction=0.6)
    for row in range(rows):
        for k in range(rows - row):
            place = (size * (k - 0.5 * (rows - row - 1)), size * (row + 0.5) + height, 0)
            scene.add_rigid_body(sn.Box((size, size, size)), position=place, friction=0.6)
    return sn.Simulation(scene, **{"sleep": False} | settings)


def bodies_of(simulation):
    return next(b for b in gc.get_objects() if isinstance(b, RigidBodySystem) and b._state is simulation.state)


@pytest.mark.parametrize(("rows", "size", "substeps"), [(12, 1.0, 4), (20, 1.0, 4), (20, 0.05, 10)])
def test_a_pyramid_stands_and_needs_no_factor(rows, size, substeps):
    sim = pyramid(rows, size, substeps=substeps)
    start = sim.state.body_positions.copy()
    sim.step(60)
    moved = sim.state.body_positions - start
    # the rows give by 1e-5 of g h^2 under the weight of one body, and carry those above
    h = 1 / 60 / substeps
    sunk = 1e-5 * G * h * h * rows * rows * rows
    assert -moved[:, 1].min() <= sunk
    assert np.abs(moved[:, [0, 2]]).max() <= sunk
    parts = bodies_of(sim).equations._graph.components
    assert parts.direct[0] == 1
    assert (parts.factorings[0], parts.iterations[0]) == (0, 0)


@pytest.mark.parametrize(("substeps", "steps"), [(4, 30), (2, 50), (1, 90)])
def test_a_large_pyramid_is_solved_directly_from_the_start(substeps, steps):
    sim = pyramid(65, substeps=substeps)
    assert len(sim.state.body_positions) > LARGE
    start = sim.state.body_positions.copy()
    sim.step(steps)
    moved = sim.state.body_positions - start
    h = 1 / 60 / substeps
    assert -moved[:, 1].min() <= 1e-5 * G * h * h * 65**3
    assert np.abs(sim.state.body_velocities).max() < 1e-9
    parts = bodies_of(sim).equations._graph.components
    assert (parts.direct[0], parts.factorings[0]) == (1, 0)


@pytest.mark.parametrize("rows", [20, 40])
def test_a_heap_that_rests_from_the_start_takes_few_newton_steps(rows):
    # one more layer with each step would take as many as there are rows
    sim = pyramid(rows, substeps=1, dt=1 / 240)
    sim.step()
    assert bodies_of(sim).equations.counts.steps[0] <= 16


def block(side, spread=0.0, size=1.0, **settings):
    """Cubes that touch on all sides, but for places that differ at random by a part of their size."""
    rng = np.random.default_rng(1)
    scene = sn.Scene()
    scene.add_collider(sn.Plane((0, 1, 0), 0), friction=0.6)
    for i, j, k in np.ndindex(side, side, side):
        x, z = size * (np.array([i, k]) + spread * rng.normal(size=2))
        scene.add_rigid_body(sn.Box((size, size, size)), position=(x, size * (j + 0.5), z), friction=0.6)
    return sn.Simulation(scene, **{"sleep": False} | settings)


@pytest.mark.parametrize(("side", "size", "substeps"), [(5, 1.0, 4), (5, 100.0, 4), (4, 1.0, 10), (6, 1.0, 4)])
def test_a_block_of_touching_cubes_stands(side, size, substeps):
    """What carries no load takes no Newton steps, and the columns sink as they would alone."""
    sim = block(side, size=size, substeps=substeps)
    start = sim.state.body_positions.copy()
    sim.step()
    parts = bodies_of(sim).equations._graph.components
    assert (parts.direct[0], parts.factorings[0]) == (1, 1)
    sim.step(3)
    moved, fall = sim.state.body_positions - start, G * (1 / 60 / substeps) ** 2
    # four corners of m / 8 bear 1e5 m / 2 in units of 1 / h^2; an overlap is five times what leaves in a substep
    assert -moved[:, 1].min() <= 5 * 2e-5 * fall * side * (side + 1) / 2
    assert np.abs(moved[:, [0, 2]]).max() <= SLACK * fall
    assert np.abs(sim.state.body_velocities).max() <= 1e-5 * size**0.5


@pytest.mark.parametrize("friction", [0.0, 1e-30, 1e30])
def test_a_heap_stands_from_the_start_with_any_friction(friction):
    """Without friction the first Newton step took nothing times infinity for its limit, and diverged."""
    scene = sn.Scene()
    scene.add_collider(sn.Plane((0, 1, 0), 0), friction=friction)
    for i, j, k in np.ndindex(3, 3, 3):
        scene.add_rigid_body(sn.Box((1, 1, 1)), position=(i, j + 0.5, k), friction=friction)
    sim = sn.Simulation(scene, substeps=4, sleep=False)
    sim.step(30)
    assert np.abs(sim.state.body_velocities).max() < 1e-6


def test_sides_of_resting_boxes_carry_what_leans_on_them():
    """A block on a smooth slope leans on a wall: the sides bear the load above them, and overlap by the slack."""
    slope = np.radians(5.0)
    scene = sn.Scene(gravity=(G * np.sin(slope), -G * np.cos(slope), 0))
    scene.add_collider(sn.Plane((0, 1, 0), 0), friction=0.0)
    scene.add_collider(sn.Box((1, 8, 8)), position=(3.0, 2.0, 1.0), friction=0.0)
    for i, j, k in np.ndindex(3, 3, 3):
        scene.add_rigid_body(sn.Box((1, 1, 1)), position=(i, j + 0.5, k), friction=0.0, density=1000)
    sim = sn.Simulation(scene, substeps=4, sleep=False)
    sim.step(60)
    found = sim.contacts()
    on_wall = (np.abs(found.normals[:, 0]) > 0.5) & (found.second == "collider_2")
    np.testing.assert_allclose(np.abs(found.forces[on_wall, 0]).sum(), 27 * 1000 * G * np.sin(slope), rtol=1e-6)
    places = sim.state.body_positions.reshape(3, 9, 3)[..., 0]
    overlaps, slack = 1.0 - np.diff(np.vstack([places, np.full(9, 3.0)]), axis=0), SLACK * G * (1 / 240) ** 2
    assert (overlaps > 0.9 * slack).all()
    assert (overlaps < 1.1 * slack).all()
    assert np.abs(sim.state.body_velocities).max() < 1e-7


@pytest.mark.parametrize("side", [4, 5])
def test_a_heap_that_finds_its_states_over_several_substeps_keeps_momentum(side):
    """The forces that are told in each step balance the weight and the change of the momentum, to rounding."""
    sim = block(side, spread=1e-4, substeps=4)
    parts, mass, momentum, early = bodies_of(sim).equations._graph.components, 1000.0, np.zeros(3), False
    weight = G * mass * len(sim.state.body_positions)
    for _ in range(4):
        sim.step()
        found, after = sim.contacts(), mass * sim.state.body_velocities.sum(axis=0)
        ground = found.forces[found.second == "collider"].sum(axis=0)
        expected = 60.0 * (after - momentum) + (0.0, weight, 0.0)
        np.testing.assert_allclose(ground, expected, atol=1e-9 * weight)
        momentum, early = after, early or parts.early[0] != 0
    assert early


def test_a_pyramid_that_falls_as_one_is_not_searched_for_states_that_rounding_changes():
    sim = pyramid(20, substeps=4, height=0.1)
    bodies = bodies_of(sim)
    for _ in range(3):
        sim.step()
        assert bodies.equations.counts.steps[0] == 1
    # nor does what rounding pushes move anybody
    assert np.ptp(sim.state.body_velocities, axis=0).max() < 1e-9


def test_what_stands_has_no_velocity_and_is_not_evaluated_again():
    sim = pyramid(12, substeps=4)
    sim.step(30)
    before = sim.state.body_positions.copy(), sim.state.body_rotations.copy()
    sim.step(10)
    assert bodies_of(sim).equations._graph.components.stands[0] == KEPT
    assert not sim.state.body_velocities.any()
    assert not sim.state.body_angular_velocities.any()
    assert np.array_equal(sim.state.body_positions, before[0])
    assert np.array_equal(sim.state.body_rotations, before[1])
    weight = 78 * 1000.0 * G
    contacts = sim.contacts()
    ground = contacts.forces[np.array(contacts.positions)[:, 1] < 1e-3]
    assert ground[:, 1].sum() == pytest.approx(weight, rel=1e-6)


@pytest.mark.parametrize("after", [0, 1, 3])
def test_what_stands_is_hit_as_it_is_after_a_load(after, tmp_path):
    sim = pyramid(8, substeps=4)
    sim.step(30)
    sim.save(tmp_path / "stands.npz")
    other = sn.Simulation.load(tmp_path / "stands.npz")
    for each in (sim, other):
        each.step(after)
        each.state.body_velocities[20] = (0.0, 0.0, 1.0)
        each.step(20)
    for name in ("body_positions", "body_rotations", "body_velocities", "body_angular_velocities"):
        assert np.array_equal(getattr(sim.state, name), getattr(other.state, name)), name
    assert sim.state.body_positions[20, 2] > 1e-3


def test_what_stands_feels_a_collider_that_comes_beside_it():
    # it moves within the step in which the heap still stands, and in each substep of it
    sims = []
    for sleep in (False, True):
        scene = sn.Scene()
        scene.add_collider(sn.Plane((0, 1, 0), 0), friction=0.6)
        for k in range(2):
            scene.add_rigid_body(sn.Box((1, 1, 1)), position=(0, 0.5 + k, 0), friction=0.6)
        pusher = sn.Box((0.2, 0.5, 1.0))

        def motion(time):
            return (-0.65 + max(time - 1.0, 0.0) * 0.5, 0.5, 0.0), (1.0, 0.0, 0.0, 0.0)

        scene.add_collider(pusher, motion=motion)
        sims.append(sn.Simulation(scene, substeps=4, sleep=sleep))
        sims[-1].step(60)
        assert np.abs(sims[-1].state.body_positions[:, 0]).max() < 1e-6
        sims[-1].step(60)
    for sim in sims:
        assert sim.state.body_positions[0, 0] == pytest.approx(0.5 - 0.05, abs=0.01)
        assert sim.state.body_positions[1, 0] == pytest.approx(0.5 - 0.05, abs=0.05)


def test_what_is_moved_while_it_rests_falls_and_rests_again():
    sim = pyramid(12, substeps=4)
    sim.step(30)
    sim.state.body_positions[-1] += (0.0, 0.5, 0.0)
    before = sim.state.body_positions.copy()
    sim.step(60)
    moved = sim.state.body_positions - before
    assert -0.5 - 1e-3 <= moved[-1, 1] <= -0.5 + 1e-3
    assert np.abs(moved[:-1]).max() < 1e-3


@pytest.mark.parametrize("restitution", [0.3, 0.8, 1.0])
@pytest.mark.parametrize("substeps", [5, 20])
def test_sweeps_bounce_as_the_direct_solver_does(restitution, substeps):
    tops = []
    for solver in ("direct", "sweeps"):
        scene = sn.Scene()
        scene.add_collider(sn.Plane((0, 1, 0), 0), restitution=restitution, friction=0.3)
        scene.add_rigid_body(sn.Sphere(0.1), position=(0, 1.1, 0), restitution=restitution, friction=0.3)
        sim = sn.Simulation(scene, substeps=substeps, rigid_solver=solver)
        heights = []
        for _ in range(60):
            sim.step()
            heights.append(sim.state.body_positions[0, 1] - 0.1)
        low = int(np.argmin(heights[:35]))
        tops.append(max(heights[low:]))
    # the height between two frames is missed by at most g dt^2 / 8
    assert tops[0] == pytest.approx(restitution**2, abs=0.02)
    assert tops[1] == pytest.approx(tops[0], rel=1e-3, abs=G / 3600 / 8)


@pytest.mark.parametrize("solver", ["direct", "sweeps"])
def test_rolling_friction_stops_a_ball(solver):
    """The moment is a m g about the contact, 7/5 m r^2 the inertia: the ball stops after 7 v^2 r / (10 a g)."""
    radius, arm, speed = 0.1, 0.01, 0.5
    scene = sn.Scene()
    scene.add_collider(sn.Plane((0, 1, 0), 0), friction=0.8)
    scene.add_rigid_body(
        sn.Sphere(radius), position=(0, radius, 0), friction=0.8, rolling_friction=arm, velocity=(speed, 0, 0),
        angular_velocity=(0, 0, -speed / radius),
    )  # fmt: skip
    sim = sn.Simulation(scene, substeps=10, rigid_solver=solver)
    sim.step(60)
    assert sim.state.body_positions[0, 0] == pytest.approx(0.7 * speed**2 * radius / (arm * G), rel=0.02)
    assert np.abs(sim.state.body_velocities).max() < 1e-4


@pytest.mark.parametrize("solver", ["direct", "sweeps"])
def test_torsional_friction_stops_a_spinning_ball(solver):
    """The moment is a m g, the inertia 2/5 m r^2: the spin ends after 2 r^2 w / (5 a g)."""
    radius, arm, spin = 0.1, 0.004, 5.0
    scene = sn.Scene()
    scene.add_collider(sn.Plane((0, 1, 0), 0), friction=0.8)
    scene.add_rigid_body(
        sn.Sphere(radius), position=(0, radius, 0), friction=0.8, torsional_friction=arm, angular_velocity=(0, spin, 0)
    )
    sim = sn.Simulation(scene, substeps=10, rigid_solver=solver)
    time = 0.4 * radius**2 * spin / (arm * G)
    sim.step(15)
    assert sim.state.body_angular_velocities[0, 1] == pytest.approx(spin * (1 - 0.25 / time), rel=0.02)
    sim.step(45)
    assert np.abs(sim.state.body_angular_velocities).max() < 1e-4


@pytest.mark.parametrize("links", [3, 5, 8])
@pytest.mark.parametrize("substeps", [2, 4, 10])
def test_a_hanging_chain_that_is_swept_stays(links, substeps):
    """Forces of joints that were carried from substep to substep made it gain energy without end."""
    scene, above = sn.Scene(), None
    for k in range(links):
        ball = scene.add_rigid_body(sn.Sphere(0.4), position=(0, -k, 0))
        scene.add_joint("ball", ball, above, anchor=(0, 0.5 - k, 0))
        above = ball
    sim = sn.Simulation(scene, substeps=substeps, rigid_solver="sweeps", sleep=False)
    highest = 0.0
    for _ in range(60):
        sim.step()
        highest = max(highest, sim.energy().kinetic)
    mass = scene.bodies[0].mass
    # never more than its fall while the joints take up the load
    assert highest < links * mass * 9.81 * links * links * 9.81 / (60 * substeps) ** 2
    assert np.abs(sim.state.body_positions[-1] + (0, links - 1, 0)).max() < links**2 * 9.81 / (60 * substeps) ** 2


@pytest.mark.parametrize(("size", "enough"), [(1e-4, 17), (1e-3, 6), (1e-2, None)])
def test_bodies_that_are_too_thin_for_the_substep_are_told(size, enough) -> None:
    scene = sn.Scene()
    scene.add_collider(sn.Plane())
    scene.add_rigid_body(sn.Box((size, 2.0 * size, size)), position=(0, 2.0 * size, 0))
    scene.add_rigid_body(sn.Box((1.0, 1.0, 1.0)), position=(3.0, 0.5, 0))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        sn.Simulation(scene, substeps=4)
    told = [str(each.message) for each in found if issubclass(each.category, sn.ContactWarning)]
    assert len(told) == (enough is not None)
    if enough is not None:
        assert told[0].startswith("'body': ")
        assert told[0].endswith(f"take {enough} substeps")


def test_a_step_knows_nothing_of_the_factors_of_others():
    """Also of components that there are not as it begins: one that formed within the step took the failures of another.

    So a resumed run differed from the uninterrupted one by 1e-12.
    """
    scene = sn.Scene()
    scene.add_rigid_body(sn.Sphere(0.1))
    sim = sn.Simulation(scene)
    components = sim._bound.get(RigidBodySystem).equations._graph.components
    components.failures[...] = components.factorings[...] = 3
    sim.step()
    assert not components.failures.any()
    assert not components.factorings.any()


def pen(bodies, seed, **settings):
    """Boxes of all sizes that fall into a pen of four walls."""
    rng, side = np.random.default_rng(seed), round(0.6 * bodies ** (1 / 3))
    scene, wide = sn.Scene(), 1.6 * side
    scene.add_collider(sn.Plane(), friction=0.6)
    for x, z in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        edges = (1.0 if x else wide + 2.0, 40.0, 1.0 if z else wide + 2.0)
        place = (x * (0.5 * wide + 0.5), 20.0, z * (0.5 * wide + 0.5))
        scene.add_collider(sn.Box(edges), position=place, friction=0.6)
    for n in range(bodies):
        size, turn = rng.uniform(0.4, 0.9, 3), rng.normal(size=4)
        layer, i, k = n // side**2, (n // side) % side, n % side
        place = 1.6 * (i - 0.5 * (side - 1)), 0.8 + 1.6 * layer, 1.6 * (k - 0.5 * (side - 1))
        turn /= np.linalg.norm(turn)
        scene.add_rigid_body(sn.Box(tuple(size)), density=500, friction=0.6, position=place, rotation=tuple(turn))
    return sn.Simulation(scene, **{"sleep": False, "substeps": 4} | settings)


def test_boxes_in_a_pen_come_to_rest():
    """Their contact points flickered, and sweeps did not find the forces: none of six such pens rested after 8 s."""
    at_rest = 0
    for seed in range(5):
        sim = pen(80, seed, rigid_solver="sweeps")
        sim.step(480)
        at_rest += np.linalg.norm(sim.state.body_velocities, axis=1).max() < 1e-4
    assert at_rest >= 3


@pytest.mark.parametrize(
    ("tall", "wide", "turn"), [(0.9, 0.4, 0.05), (0.6, 0.8, -0.1), (0.55, 0.65, 0.2), (0.7, 0.45, 0)]
)
def test_a_swept_tower_does_not_rock_on(tall, wide, turn):
    """With sweeps forward and backward in turn the lower pair was found twice as often, and towers swayed for ever."""
    scene, top = sn.Scene(), 0.0
    scene.add_collider(sn.Plane(), friction=0.6)
    for size in ((wide, tall, wide), (tall, wide, tall)):
        pose = {
            "position": (0.02, top + 0.5 * size[1] + 0.05, -0.01),
            "rotation": (np.cos(turn), 0.0, np.sin(turn), 0.0),
        }
        scene.add_rigid_body(sn.Box(size), density=1000, friction=0.6, **pose)
        top += size[1] + 0.05
    sim = sn.Simulation(scene, substeps=4, sleep=False, rigid_solver="sweeps")
    sim.step(240)
    assert np.abs(sim.state.body_velocities).max() < 1e-6


def test_a_heap_that_was_swept_is_rarely_tried_directly():
    sim = pen(150, 0)
    sim.step(360)
    parts, tried = bodies_of(sim).equations._graph.components, 0
    for _ in range(2 * RETRY):
        sim.step()
        largest = np.argmax(np.diff(parts.node[: bodies_of(sim).equations.counts.components[0] + 1]))
        tried += parts.direct[largest] == 0 and parts.factorings[largest] > 0
    assert tried <= 2
