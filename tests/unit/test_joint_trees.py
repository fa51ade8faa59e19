"""Trees of joints: how joints are divided, and that sweeps solve a tree as the direct solver does."""

import numpy as np
import pytest

import shinari as sn
from shinari.systems.rigid.components import Nodes
from shinari.systems.rigid.joint_trees import MOST_BODIES, TreeBodies, find_trees
from shinari.systems.rigid.joints.moments import find_returned, held_joints, return_moments
from shinari.systems.rigid.joints.table import BALL, GEAR
from shinari.systems.rigid.sweep_rows import RATE, SWEEPS
from shinari.systems.rigid.sweep_trees import mobility_at, node_times, wrench
from shinari.systems.rigid.system import RigidBodySystem

WORLD = -1


def divided(count, pairs, kinds=None):
    """Trees of joints between frames; -1 is the world, which is the last frame."""
    codes = np.zeros((len(pairs), 4), np.int64)
    codes[:, :2] = np.array(pairs) % (count + 1)
    codes[:, 2] = BALL if kinds is None else kinds
    free = np.ones(count + 1, bool)
    free[count] = False
    return find_trees(codes, free)


def valid(found, pairs):
    """Whether each body comes before its parent, and the joints of each are those with it or the world."""
    bodies, joints = found.bodies, found.joints
    for r in range(len(bodies) - 1):
        parent = bodies.parent[r]
        assert parent == -1 or parent > r
        path = found.paths.body[bodies.path[r] : bodies.path[r + 1]]
        assert path[-1] == r
        assert [bodies.parent[c] for c in path] == [-1, *path[:-1]]
        for k in range(bodies.joint[r], bodies.joint[r + 1]):
            ends = pairs[joints.joint[k]]
            assert ends[joints.side[k]] == bodies.frame[r]
            assert ends[1 - joints.side[k]] in (WORLD, bodies.frame[parent] if parent >= 0 else WORLD)


def test_a_chain_hangs_on_its_middle():
    pairs = [(k + 1, k) for k in range(8)]
    found = divided(9, pairs)
    valid(found, pairs)
    assert found.members.chosen.all()
    assert len(found.trees) - 1 == 1
    assert max(np.diff(found.bodies.path)) == 5


def test_two_joints_of_the_same_bodies_and_one_with_the_world():
    pairs = [(0, 1), (1, 0), (1, WORLD), (WORLD, 0)]
    found = divided(2, pairs)
    valid(found, pairs)
    assert found.members.chosen.all()


def test_a_joint_that_closes_a_loop_belongs_to_no_tree():
    pairs = [(k + 1, k) for k in range(9)] + [(9, 0)]
    found = divided(10, pairs)
    valid(found, pairs)
    assert found.members.chosen.sum() == 9


def test_a_net_has_no_trees():
    side = 6
    pairs = [(side * i + k, side * i + k + 1) for i in range(side) for k in range(side - 1)]
    pairs += [(side * i + k, side * i + side + k) for i in range(side - 1) for k in range(side)]
    found = divided(side * side, pairs)
    assert len(found.trees) - 1 == 0
    assert not found.members.chosen.any()


def test_gears_are_no_joints_of_trees():
    found = divided(3, [(0, 1), (1, 2), (0, 2)], [BALL, BALL, GEAR])
    assert found.members.chosen.tolist() == [True, True, False]


def test_a_long_chain_is_cut():
    count = 3 * MOST_BODIES
    pairs = [(k + 1, k) for k in range(count - 1)]
    found = divided(count, pairs)
    valid(found, pairs)
    assert np.diff(found.trees.body).max() <= MOST_BODIES
    assert found.members.chosen.sum() == len(pairs) - (len(found.trees) - 2)


def figure(scene, at, spin=(0.0, 0.0, 0.0)):
    def part(shape, offset):
        return scene.add_rigid_body(
            shape, position=at + offset, velocity=np.cross(spin, offset), angular_velocity=spin, friction=0.6
        )  # fmt: skip

    trunk = part(sn.Box((0.3, 0.3, 0.2)), np.zeros(3))
    for x in (-0.12, 0.12):
        for end in (-1, 1):
            upper, lower = (part(sn.Capsule(0.05, 0.16), np.array([x, y * end, 0.0])) for y in (0.28, 0.54))
            scene.add_joint(
                "ball", upper, trunk, anchor=np.add(at, (x, 0.15 * end, 0.0)), axis=(0, 1, 0), swing_limit=0.8
            )
            scene.add_joint(
                "hinge", lower, upper, anchor=np.add(at, (x, 0.41 * end, 0.0)), axis=(1, 0, 0), limits=(-1.5, 0.0)
            )


@pytest.mark.parametrize(("rate", "spin"), [(240, 2.0), (240, 0.5), (600, 4.0)])
def test_a_free_figure_moves_as_the_direct_solver_lets_it(rate, spin):
    """Until a limit is reached: two evaluations in sweeps, one or two Newton steps; they differ at third order."""
    runs = []
    for solver in ("direct", "sweeps"):
        scene = sn.Scene(gravity=(0, 0, 0))
        figure(scene, np.zeros(3), spin * np.array([0.6, 0.3, 1.0]))
        sim = sn.Simulation(scene, dt=1 / rate, substeps=1, rigid_solver=solver)
        sim.step(rate // 4)
        assert np.abs(sim.momentum()).max() <= 1e-9
        runs.append(sim.state.body_positions.copy())
    turned = spin / rate
    assert np.abs(runs[0] - runs[1]).max() <= rate * turned**3


@pytest.mark.parametrize("loops", [0, 1])
@pytest.mark.parametrize("solver", ["sweeps", "auto"])
def test_the_same_bits_on_one_thread_and_on_two(solver, loops):
    ends = []
    for threads in (1, 2):
        scene, random = sn.Scene(), np.random.default_rng(0)
        scene.add_collider(sn.Plane((0, 1, 0), 0), friction=0.6)
        for k in range(24):
            figure(scene, np.array([0.8 * (k % 3), 0.8 + 1.4 * (k // 6), 0.8 * (k // 3 % 2)]), random.uniform(-3, 3, 3))
        places = np.array([(3.0 + 0.1 * (k % 2), 0.3 + 0.2 * k, 0.0) for k in range(8)])
        links = [scene.add_rigid_body(sn.Sphere(0.05), position=at) for at in places]
        for k in range(7):
            scene.add_joint("ball", links[k + 1], links[k], anchor=0.5 * (places[k] + places[k + 1]))
        if loops:
            scene.add_joint("distance", links[0], links[7], anchor=places[0], second_anchor=places[7],
                            rest_length=float(np.linalg.norm(places[7] - places[0])))  # fmt: skip
        sim = sn.Simulation(scene, threads=threads, substeps=4, rigid_solver=solver)
        sim.step(60)
        assert len(sim.contacts().positions) > 20
        ends.append((sim.state.body_positions.copy(), sim.state.body_velocities.copy()))
    for one, two in zip(*ends, strict=True):
        assert np.array_equal(one, two)


@pytest.mark.parametrize("load", [1.0, 30.0])
def test_a_leg_carries_what_stands_on_it(load):
    """A heavy body on a light foot: the contact is a spring for the mass that stands on it."""
    scene = sn.Scene()
    scene.add_collider(sn.Plane((0, 1, 0), 0), friction=0.6)
    foot = scene.add_rigid_body(sn.Box((0.4, 0.1, 0.4)), position=(0, 0.05, 0), mass=1.0)
    body = scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0, 0.2, 0), mass=load)
    scene.add_joint("fixed", body, foot, anchor=(0, 0.1, 0))
    sim = sn.Simulation(scene, substeps=4, rigid_solver="sweeps", sleep=False)
    sim.step(240)
    # both as one: inertia about a horizontal axis through the centre of mass, and what a corner 0.2 m out weighs
    mass, apart = 1.0 + load, 0.15
    inertia = (0.4**2 + 0.1**2) / 12 + load * 0.2**2 / 6 + load / mass * apart**2
    corner = 1 / (1 / mass + (0.2**2 + 0.2**2) / inertia)
    h = 1 / 240
    sinks = mass * 9.81 / (4 * corner * (RATE * SWEEPS / h) ** 2)
    assert 0.2 - sim.state.body_positions[body.index, 1] == pytest.approx(sinks, rel=0.02)
    assert np.abs(sim.state.body_velocities).max() < 1e-3


def test_the_moments_of_a_jam_are_not_returned():
    """A joint that was evaluated with a force far larger than its load says nothing about the error of the moment."""
    scene = sn.Scene(gravity=(0, 0, 0))
    bodies = [scene.add_rigid_body(sn.Box((0.2, 0.1, 0.1)), position=(0.2 * k, 0, 0), angular_velocity=(0, 3.0 * k, 0))
              for k in range(2)]  # fmt: skip
    scene.add_joint("ball", *bodies, anchor=(0.1, 0, 0))
    simulation = sn.Simulation(scene, substeps=8)
    simulation.step()
    system = simulation._bound.get(RigidBodySystem)
    equations, frames = system.equations, system.frames
    held, of_frames = held_joints(equations.joints.table.codes, len(frames), np.zeros(0, np.int64))
    records = equations.joints.data, equations.joints.values, equations.elements, equations._graph.components
    returned, h = equations.solver_frames.returned, 1.0 / 480.0
    equations.solver_frames.last_turn[...] = 0.0, 0.0, 0.3
    for pull, returns in ((1.0, True), (1e5, False)):
        equations.joints.values.pull[0] = pull, 0.0, 0.0
        find_returned(0, held, *records, frames, equations.solver_frames, h)
        return_moments(0, of_frames, held, frames, equations.solver_frames)
        assert (np.abs(returned[0]).max() > 0.0) == returns


def test_the_mobility_of_a_point_is_that_of_its_body():
    """In closed form, of a free body and of one in a tree: what unit forces at the point do, one after the other."""
    rng, one = np.random.default_rng(5), np.eye(3)
    nodes, bodies, half = Nodes.zeros(2), TreeBodies.zeros(1), rng.standard_normal((6, 6))
    nodes.mobility[0], nodes.tree[:] = (2.0, 3.0, 4.0, 0.3, -0.2, 0.5, 1.5), (-1, 0)
    bodies.mobility[0] = half @ half.T
    r = tuple(rng.standard_normal(3))
    for j in (-1, 0, 1):
        xx, yy, zz, yz, zx, xy = mobility_at(j, r, bodies, nodes)
        found = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
        moved = [np.array(node_times(j, wrench(r, tuple(n), (0.0, 0.0, 0.0), 1.0), bodies, nodes)) for n in one]
        wanted = np.stack([x[:3] + np.cross(x[3:], r) for x in moved])
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)
