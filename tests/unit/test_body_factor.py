"""The factor of a heap of bodies: against dense matrices, with small and large supernodes."""

from dataclasses import dataclass

import numpy as np
import pytest

import shinari as sn
from shinari.compute import Program
from shinari.systems.rigid.components import Blocks, Components, Nodes, Targets
from shinari.systems.rigid.factor import factor_and_solve
from shinari.systems.rigid.panels import PanelFactor
from shinari.systems.rigid.progress import Counts
from shinari.systems.rigid.supernodes import COSTLY, LargeSupernodes, find_columns, list_large


def pyramid(rows):
    """A pyramid of cubes, after a step."""
    scene = sn.Scene()
    scene.add_collider(sn.Plane(), friction=0.6)
    for row in range(rows):
        for k in range(rows - row):
            scene.add_rigid_body(sn.Box((1.0, 1.0, 1.0)), position=(k + 0.5 * row, row + 0.5, 0.0), friction=0.6)
    simulation = sn.Simulation(scene, substeps=4, sleep=False)
    simulation.step()
    return simulation


@dataclass
class Graph:
    """Records of a simulation."""

    components: Components
    nodes: Nodes
    blocks: Blocks
    targets: Targets
    counts: Counts

    @classmethod
    def of(cls, simulation):
        """Those of a simulation."""
        found = {type(each): each for each in simulation._run.bound.program.records()}
        return cls(found[Components], found[Nodes], found[Blocks], found[Targets], found[Counts])


def fill(nodes, blocks, n, rng):
    """Random numbers for the blocks, positive definite; the dense matrix of them."""
    dense = np.zeros((6 * n, 6 * n))
    for j in range(n):
        own = slice(6 * j, 6 * j + 6)
        for p in range(nodes.column[j], nodes.column[j + 1]):
            blocks.value[p] = rng.normal(size=(6, 6))
            other = slice(6 * blocks.row[p], 6 * blocks.row[p] + 6)
            dense[own, other], dense[other, own] = blocks.value[p], blocks.value[p].T
    dense[np.diag_indices(6 * n)] = np.abs(dense).sum(axis=1) + rng.uniform(0.5, 2.0, 6 * n)
    for j in range(n):
        nodes.matrix[j] = dense[6 * j : 6 * j + 6, 6 * j : 6 * j + 6]
    return dense


def solve(graph, threads):
    """Factor and solve, in place."""
    large, counts = LargeSupernodes.zeros(0), graph.counts
    factor = PanelFactor(large, graph.components, graph.nodes, graph.blocks, graph.targets)
    p = Program()
    p.serial(find_columns, graph.nodes, graph.components, counts)
    p.require(large, (counts.large, 0))
    p.serial(list_large, large, graph.nodes, graph.components, counts)
    p.require(factor.rows, (counts.panel_rows, 0))
    factor.record(p, (counts.large, 0))
    p.launch(factor_and_solve, graph.components, graph.nodes, graph.blocks, graph.targets, 0.0, 2, count=1, grain=1)
    p.run(threads)


@pytest.mark.parametrize(("rows", "large"), [(3, False), (14, False), (14, True), (24, True)])
def test_solves_as_a_dense_matrix(rows, large):
    graph = Graph.of(pyramid(rows))
    nodes, blocks, n, rng = graph.nodes, graph.blocks, int(graph.counts.nodes[0]), np.random.default_rng(rows)
    assert n == rows * (rows + 1) // 2
    graph.components.cost[0] = 2.0 * COSTLY if large else 0.0
    graph.components.factoring[0] = 1
    dense = fill(nodes, blocks, n, rng)
    start = nodes.matrix[:n].copy(), blocks.value.copy()
    loads, found = rng.normal(size=(n, 6)), []
    for threads in (1, 2):
        nodes.matrix[:n], blocks.value[...] = start
        nodes.vector[:n] = loads
        solve(graph, threads)
        found.append(nodes.vector[:n].copy())
    exact = np.linalg.solve(dense, loads.ravel())
    np.testing.assert_allclose(found[0].ravel(), exact, rtol=0, atol=1e-13 * np.abs(exact).max())
    np.testing.assert_array_equal(found[0], found[1])
    assert (graph.counts.large[0] > 0) == large
