"""The graph of elements and the direct solver against a dense solution, with loops, fill-in and a graph that grows."""

import itertools

import numpy as np
import pytest

import shinari as sn
from shinari.compute import Program
from shinari.solver.step import record_step
from shinari.systems.rigid.components import RestSpeeds
from shinari.systems.rigid.direct import write_displacement
from shinari.systems.rigid.direct_solver import DirectSolver
from shinari.systems.rigid.elements import Elements, JacobianRows
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.graph import Graph
from shinari.systems.rigid.joints.values import JointValues
from shinari.systems.rigid.newton import LIMITS, choose_solver
from shinari.systems.rigid.progress import Counts, Flags
from shinari.systems.rigid.sleep import Islands

H = 1 / 600
FRAMES = 40
SPEEDS = RestSpeeds.of(1.0, 0.1, 0.1)


def cross_matrix(r):
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


def full(s):
    xx, yy, zz, yz, zx, xy = s
    return np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])


class System:
    """Random elements between frames, of which every seventh cannot move."""

    def __init__(self, seed, solver="direct", **limits):
        rng = self.rng = np.random.default_rng(seed)
        self.frames, self.solver_frames = Frames.zeros(FRAMES), SolverFrames.zeros(FRAMES)
        self.free = np.arange(FRAMES) % 7 != 0
        self.frames.inverse_mass[self.free] = rng.uniform(0.5, 2.0, self.free.sum())
        self.frames.moments[...] = rng.uniform(0.1, 1.0, (FRAMES, 1))
        self.solver_frames.displacement[...] = 1e-3 * rng.normal(size=(FRAMES, 6))
        self.counts, self.flags = Counts.zeros(1), Flags.zeros(1)
        self.elements, self.jacobian_rows, self.values = Elements.zeros(0), JacobianRows.zeros(0), JointValues.zeros(0)
        self.graph = Graph(
            self.frames, self.solver_frames, self.counts, self.flags, LIMITS[solver]._replace(**limits), SPEEDS
        )
        self.flags.first_of_step[0] = 1
        self.arrange = Program()
        self.graph.record_arrange(self.arrange, self.elements)
        self.arrange.copy(0, (self.flags.first_of_step, 0))
        self.solve = Program()
        records = (
            self.graph,
            self.elements,
            self.jacobian_rows,
            self.frames,
            self.solver_frames,
            self.counts,
            self.flags,
        )
        DirectSolver(*records, 0).record_displacements(self.solve, self.values, H)
        records = self.elements, self.graph.components, self.graph.nodes, self.jacobian_rows
        self.solve.launch(write_displacement, *records, 0, count=(self.counts.elements, 0))

    def set_elements(self, pairs):
        el, count = self.elements, len(pairs)
        el.grow(count)
        self.counts.elements[0] = count
        el.frames[...] = pairs
        el.arms[...] = self.rng.normal(size=(count, 6))
        el.force[...] = self.rng.normal(size=(count, 6))
        for part in (0, 6):
            a = self.rng.normal(size=(count, 3, 3))
            k = 1e5 * a @ a.transpose(0, 2, 1)
            el.stiffness[:, part : part + 6] = np.stack(
                [k[:, 0, 0], k[:, 1, 1], k[:, 2, 2], k[:, 1, 2], k[:, 2, 0], k[:, 0, 1]], axis=1
            )

    def run(self, threads=1):
        self.arrange.run(threads)
        components = self.graph.components
        components.solution[...] = components.ordered
        self.solve.run(threads)

    def dense(self):
        """Motions of all frames by one dense system, and d and phi of the elements."""
        f, el, size = self.frames, self.elements, 6 * FRAMES
        matrix, force, rows = np.zeros((size, size)), np.zeros(size), []
        for i in np.flatnonzero(self.free):
            mass = np.diag(np.append(np.full(3, 1.0 / f.inverse_mass[i]), f.moments[i])) / H**2
            at = slice(6 * i, 6 * i + 6)
            matrix[at, at] += mass
            force[at] -= mass @ self.solver_frames.displacement[i]
        for e, (a, b) in enumerate(el.frames):
            row = np.zeros((6, size))
            for i, r, sign in ((a, el.arms[e, :3], 1.0), (b, el.arms[e, 3:], -1.0)):
                row[:3, 6 * i : 6 * i + 3] += sign * np.eye(3)
                row[:3, 6 * i + 3 : 6 * i + 6] -= sign * cross_matrix(r)
                row[3:, 6 * i + 3 : 6 * i + 6] += sign * np.eye(3)
            k = np.zeros((6, 6))
            k[:3, :3], k[3:, 3:] = full(el.stiffness[e, :6]), full(el.stiffness[e, 6:])
            matrix += row.T @ k @ row
            force += row.T @ el.force[e]
            rows.append(row)
        free = np.repeat(self.free, 6)
        motion = np.zeros(size)
        motion[free] = np.linalg.solve(matrix[np.ix_(free, free)], force[free])
        return motion.reshape(FRAMES, 6), np.array([row @ motion for row in rows])

    def check(self):
        motion, relative = self.dense()
        node = self.solver_frames.node
        used = np.unique(self.elements.frames)
        used = used[self.free[used]]
        assert (np.flatnonzero(node >= 0) == used).all()
        scale = np.abs(motion).max()
        np.testing.assert_allclose(self.graph.nodes.vector[node[used]], motion[used], rtol=0, atol=1e-8 * scale)
        np.testing.assert_allclose(self.elements.displacement, relative, rtol=0, atol=1e-8 * scale)


def random_pairs(rng, count):
    pairs = rng.integers(0, FRAMES, (4 * count, 2))
    return pairs[pairs[:, 0] != pairs[:, 1]][:count]


@pytest.mark.parametrize("count", [1, 12, 40, 90])
@pytest.mark.parametrize("seed", range(3))
def test_the_direct_solution_is_that_of_a_dense_system(count, seed):
    system = System(seed)
    system.set_elements(random_pairs(system.rng, count))
    system.run()
    assert system.graph.components.ordered[: system.counts.components[0]].all()
    system.check()


@pytest.mark.parametrize("seed", range(3))
def test_a_graph_that_grows_in_a_step_serves_all_elements(seed):
    system = System(seed)
    pairs = random_pairs(system.rng, 60)
    for part in (pairs[:20], pairs[10:30], pairs[20:25], pairs[:60], pairs[40:50]):
        system.set_elements(part)
        system.run()
        node = system.solver_frames.node
        motion, relative = system.dense()
        used = np.unique(part)
        used = used[system.free[used]]
        scale = np.abs(motion).max()
        np.testing.assert_allclose(system.graph.nodes.vector[node[used]], motion[used], rtol=0, atol=1e-8 * scale)
        np.testing.assert_allclose(system.elements.displacement, relative, rtol=0, atol=1e-8 * scale)
    edges = system.counts.edges[0]
    # a new step forgets what it has no element for
    system.flags.first_of_step[0] = 1
    system.set_elements(pairs[40:50])
    system.run()
    assert system.counts.edges[0] == 10 < edges
    system.check()


def test_bits_do_not_depend_on_threads_nor_on_the_steps_before():
    first, second = System(5), System(5)
    pairs = random_pairs(first.rng, 80)
    second.rng.bit_generator.state = first.rng.bit_generator.state
    state = first.rng.bit_generator.state
    second.set_elements(pairs[30:60])
    second.run(2)
    second.flags.first_of_step[0], second.rng.bit_generator.state = 1, state
    for system, threads in ((first, 1), (second, 2)):
        system.set_elements(pairs)
        system.run(threads)
    for name in ("frame", "component", "matrix", "vector"):
        count = first.counts.nodes[0]
        np.testing.assert_array_equal(
            getattr(first.graph.nodes, name)[:count], getattr(second.graph.nodes, name)[:count]
        )
    np.testing.assert_array_equal(first.elements.displacement, second.elements.displacement)


def test_components_are_numbered_by_their_least_frames():
    free = np.ones(9, bool)
    free[4] = False
    frames = Frames.zeros(9)
    frames.inverse_mass[...] = free
    roots = Islands(frames, SolverFrames.zeros(9)).roots(np.array([[7, 2], [2, 8], [4, 1], [3, 4], [5, 6]]))
    assert roots.tolist() == [-1, 1, 2, 3, -1, 5, 5, 2, 2]


@pytest.mark.parametrize("change", [0.0, 1e-8, 1e-6])
@pytest.mark.parametrize("seed", range(3))
def test_a_factor_serves_for_a_matrix_that_has_changed_a_little(seed, change):
    system = System(seed)
    system.set_elements(random_pairs(system.rng, 90))
    system.run()
    part = system.graph.components
    assert (part.factorings[0], part.iterations[0]) == (1, 0)
    el = system.elements
    el.stiffness[...] *= 1.0 + change * system.rng.uniform(-1.0, 1.0, (len(el), 1))
    el.arms[...] += change * system.rng.normal(size=el.arms.shape)
    el.force[...] = system.rng.normal(size=el.force.shape)
    system.run()
    assert part.factorings[0] == 1
    assert 1 <= part.iterations[0] <= (1 if change == 0.0 else 40)
    system.check()


def test_a_component_is_factored_again_when_the_matrix_is_another():
    system = System(0)
    system.set_elements(random_pairs(system.rng, 90))
    system.run()
    el = system.elements
    el.stiffness[...] *= 10.0 ** system.rng.uniform(-4.0, 4.0, (len(el), 1))
    system.run()
    part = system.graph.components
    assert (part.factorings[0], part.failures[0]) == (2, 1)
    system.check()


def test_elements_of_a_costly_component_have_blocks_once_it_gets_an_order():
    # seven neighbours of all are too costly while they move; with a chain beside them the mean cost is low enough
    system = System(1, "auto", small=0.0)
    bodies = np.flatnonzero(system.free)
    system.solver_frames.swept[...], system.solver_frames.start_v[...] = True, 10.0 * SPEEDS.slow[0]
    clique, chain = bodies[:7], bodies[7:32]
    pairs = [(a, b) for a in clique for b in clique if a < b]
    links = list(itertools.pairwise(chain))
    for elements, ordered in (
        (pairs[1:] + links, [0, 1]),
        (pairs + links, [0, 1]),
        ([*pairs, *links, (clique[-1], chain[0])], [1]),
    ):
        system.set_elements(np.array(elements))
        system.arrange.run()
        count = system.counts.components[0]
        assert system.graph.components.ordered[:count].tolist() == ordered
        assert (system.elements.component >= 0).all()
    assert (system.elements.nodes[:, 2] >= 0).all()


def test_a_component_that_costs_too_much_is_left_to_sweeps():
    everybody = np.array([(i, j) for i in range(1, 30) for j in range(i)])
    for solver, ordered in (("auto", 1), ("direct", 1), ("sweeps", 0)):
        system = System(0, solver)
        system.set_elements(everybody)
        system.run()
        assert system.counts.components[0] == 1
        assert system.graph.components.ordered[0] == ordered


@pytest.mark.parametrize(("first_point", "lightest", "direct"), [(0, 0.1, 1), (0, 1.0, 0), (100, 0.1, 0)])
def test_few_bodies_of_different_masses_are_tried_directly_though_they_were_swept(first_point, lightest, direct):
    system = System(0, "auto")
    bodies = np.flatnonzero(system.free)[:7]
    system.frames.inverse_mass[bodies] = [1.0 / lightest, *[1.0] * 6]
    system.set_elements(np.array([(a, b) for a in bodies for b in bodies if a < b]))
    system.solver_frames.swept[...], system.solver_frames.start_v[...] = True, 10.0 * SPEEDS.slow[0]
    system.arrange.run()
    p = Program()
    records = system.graph.components, system.graph.nodes, system.elements, system.frames, system.solver_frames
    p.launch(choose_solver, *records, system.flags, SPEEDS, first_point, *LIMITS["auto"][:3], count=1)
    p.run()
    assert system.graph.components.direct[0] == direct
    assert system.graph.components.trial[0] == direct


@pytest.mark.parametrize(("solver", "speed", "direct"), [
    ("auto", 0.0, 1), ("auto", 0.5, 0), ("direct", 0.5, 1), ("sweeps", 0.0, 0),
])  # fmt: skip
def test_a_large_component_is_solved_directly_while_it_rests(solver, speed, direct):
    system = System(0, solver)
    system.set_elements(np.array([(i, j) for i in range(1, 30) for j in range(i)]))
    system.arrange.run()
    system.solver_frames.start_v[9, 0] = speed
    p = Program()
    records = system.graph.components, system.graph.nodes, system.elements, system.frames, system.solver_frames
    p.launch(choose_solver, *records, system.flags, SPEEDS, 0, *LIMITS[solver][:3], count=1)
    p.run()
    assert system.graph.components.direct[0] == direct
    assert system.flags.sweeping[0] == 1 - direct


def kernels_of(simulation):
    return {native.source.name for _, native in simulation._bound.prepare(record_step)._natives}


def stack(count, restitution=0.0, **settings):
    scene = sn.Scene()
    scene.add_collider(sn.Plane((0, 1, 0), 0))
    for k in range(count):
        scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0, 0.1 + 0.2 * k, 0), restitution=restitution)
    return sn.Simulation(scene, **settings)


def test_kernels_are_those_that_a_scene_can_need():
    """Sweeps where a component can be too costly, bounces where a surface has a restitution."""
    rare = {"sweep_side_by_side", "apply_friction", "check_gain", "drop_bounce_offset"}
    assert not rare & kernels_of(stack(5))
    assert "sweep_side_by_side" in kernels_of(stack(5, rigid_solver="sweeps"))
    assert "sweep_side_by_side" in kernels_of(stack(30))
    assert "sweep_side_by_side" not in kernels_of(stack(30, rigid_solver="direct"))
    assert rare - {"sweep_side_by_side"} <= kernels_of(stack(5, restitution=0.1))


@pytest.mark.parametrize("n", [1, 2, 5, 16, 17, 18, 19, 40])
def test_no_graph_costs_more_than_that_of_neighbours_of_all(n):
    cost = sum(1.0 + m + 0.5 * m * (m + 1) for m in range(n))
    graph = Graph(Frames.zeros(n), SolverFrames.zeros(n), Counts.zeros(1), Flags.zeros(1), LIMITS["auto"], SPEEDS)
    assert graph.may_sweep == (cost > 500.0)
