"""Whether an order costs too much, by lists of neighbours, against an elimination with sets in Python."""

import numpy as np
import pytest

from shinari.compute import Program
from shinari.systems.rigid.components import Components, Edges, Ends, Links, Nodes, RestSpeeds
from shinari.systems.rigid.elimination import BITS, list_ends
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.graph import find_roots, number_nodes
from shinari.systems.rigid.order_cost import MOST_ENDS, SPARE, Lists, count_words, number_words
from shinari.systems.rigid.progress import Counts


def cost_of_least_degree(n, edges):
    """Products of blocks of a factor in the order of least degree."""
    around = {i: set() for i in range(n)}
    for i, j in edges:
        around[i].add(j)
        around[j].add(i)
    total = 0.0
    while around:
        i = min(around, key=lambda k: len(around[k]))
        near = around.pop(i)
        total += 1.0 + len(near) + 0.5 * len(near) * (len(near) + 1)
        for j in near:
            around[j] = (around[j] | near) - {i, j}
    return total


def tree(n, rng):
    return [(i, int(rng.integers(max(i - 5, 0), i))) for i in range(1, n)]


def grid(rows, columns):
    cells = np.arange(rows * columns).reshape(rows, columns)
    along, across = (cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:])
    return [(int(i), int(j)) for a, b in (along, across) for i, j in zip(a.ravel(), b.ravel(), strict=True)]


def is_sought(n, edges, simple, speed=1.0, swept=True):
    """Whether an order is sought for a component of equal bodies; `speed` [m/s] with g dt = 1."""
    frames, solver_frames = Frames.zeros(n), SolverFrames.zeros(n)
    frames.inverse_mass[...] = 1.0
    solver_frames.start_v[:, 0], solver_frames.swept[...] = speed, swept
    counts, nodes, components = Counts.zeros(1), Nodes.zeros(n + 1), Components.zeros(n + 1)
    records = Edges(frames=np.array(edges, np.int32)), Links.zeros(len(edges)), Ends.zeros(2 * len(edges))
    counts.edges[0] = len(edges)
    lists = Lists.zeros(2 * len(edges) + SPARE * n)
    p = Program()
    p.serial(find_roots, records[0], frames, solver_frames, counts)
    p.serial(number_nodes, solver_frames, nodes, components, counts)
    p.serial(list_ends, *records, solver_frames, nodes, counts)
    speeds = RestSpeeds.of(1.0, 1.0, 1.0)
    p.launch(count_words, components, nodes, records[2], lists, frames, solver_frames, speeds, simple, count=1)
    p.serial(number_words, components, counts, 1000.0)
    p.run(threads=1)
    assert counts.components[0] == 1
    assert counts.places[0] <= len(lists)
    assert counts.words[0] in (0, n * ((n + BITS - 1) // BITS))
    return counts.words[0] > 0


@pytest.mark.parametrize("seed", range(4))
def test_a_component_that_costs_too_much_has_no_sets(seed):
    rng = np.random.default_rng(seed)
    for edges in (grid(14, 15), grid(30, 30), [*tree(300, rng), *rng.integers(0, 300, (120, 2)).tolist()]):
        edges = [(i, j) for i, j in edges if i != j]
        n = 1 + max(max(pair) for pair in edges)
        cost = cost_of_least_degree(n, edges) / n
        # each pair counts once, and nodes of more than a few neighbours are not looked at
        assert not is_sought(n, edges + edges[::-1], min(0.6 * cost, 6.0))
        assert is_sought(n, edges, 1.2 * cost)


def test_a_tree_and_a_loop_are_ordered():
    edges = tree(400, np.random.default_rng(0))
    assert is_sought(400, edges, 3.0)
    assert is_sought(400, [*edges, (0, 399)], 6.0)
    assert not is_sought(400, edges, 2.9)


@pytest.mark.parametrize("leaves", [MOST_ENDS - 1, MOST_ENDS, 4 * MOST_ENDS])
def test_a_node_of_many_links_costs_as_much_as_without_it(leaves):
    n = 200 + leaves
    edges = [(0, i) for i in range(1, leaves + 1)] + [(i, i + 1) for i in range(n - 1)]
    edges = [(i, j) for i, j in dict.fromkeys((min(e), max(e)) for e in edges)]
    assert is_sought(n, edges, 1.01 * cost_of_least_degree(n, edges) / n)


@pytest.mark.parametrize(("speed", "swept"), [(0.01, True), (1.0, False)])
def test_what_rests_or_was_not_swept_is_ordered_at_any_cost(speed, swept):
    assert is_sought(900, grid(30, 30), 6.0, speed, swept)
    assert not is_sought(900, grid(30, 30), 6.0)


def test_few_bodies_have_sets_without_a_look():
    assert is_sought(2 * BITS, grid(9, 14), 6.0)
