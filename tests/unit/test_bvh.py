"""The tree of boxes, against comparing every box with every other one."""

import itertools

import numpy as np
import pytest

from shinari.compute import Program
from shinari.compute.scan import Offsets
from shinari.geometry.bvh import Bvh, Tree

PRECISIONS = (np.float32, np.float64)


@pytest.fixture(autouse=True)
def wake_threads_early(monkeypatch):
    """Few boxes suffice for a second thread, so that small sets test it."""
    monkeypatch.setattr("shinari.geometry.overlaps.SHARE", 2)
    monkeypatch.setattr("shinari.geometry.bvh.SHARE_OF_REFIT", 2)


def touching(low_a, high_a, low_b, high_b):
    """Every (a, b) that share a point, by definition."""
    return np.argwhere((low_a[:, None] <= high_b).all(-1) & (low_b <= high_a[:, None]).all(-1))


def by_name(pairs):
    return pairs[np.lexsort(pairs.T[::-1])]


def boxes(kind, count, dtype):
    """Low and high corners, (N, 3) each."""
    rng = np.random.default_rng(11)
    centre, half = rng.normal(size=(count, 3)), 0.15 * rng.random((count, 3))
    if kind == "clusters":
        centre = np.round(centre) + 0.05 * rng.normal(size=(count, 3))
    elif kind == "far away":
        centre += 1e6
    elif kind == "same place":
        centre[:] = 1.0
    elif kind == "line":
        centre *= [1.0, 0.0, 0.0]
    elif kind == "points":
        centre, half = np.round(4.0 * centre), 0.0 * half
    elif kind == "one huge":
        half[: count // 20] = 10.0
    return (centre - half).astype(dtype), (centre + half).astype(dtype)


KINDS = ["random", "clusters", "far away", "same place", "line", "points", "one huge"]


@pytest.mark.parametrize("dtype", PRECISIONS)
# of the last a packet meets more boxes than it has room for
@pytest.mark.parametrize(
    ("kind", "count"), [*itertools.product(KINDS, [0, 1, 2, 9, 100, 777]), ("same place", 1500), ("one huge", 1500)]
)
def test_overlaps_are_those_of_brute_force(kind, count, dtype):
    low, high = boxes(kind, count, dtype)
    query_low, query_high = boxes(kind, 300, dtype)
    tree = Tree(0.5 * (low + high), dtype)
    expected = touching(query_low, query_high, low, high)
    own = touching(low, high, low, high)
    own = own[own[:, 0] < own[:, 1]]
    results = []
    for threads in (1, 2, 5):
        tree.refit(low, high, threads)
        pairs, own_pairs = tree.overlaps(query_low, query_high, threads).copy(), tree.self_overlaps(threads).copy()
        np.testing.assert_array_equal(by_name(pairs), expected)
        np.testing.assert_array_equal(by_name(own_pairs), own)
        results.append((pairs, own_pairs))
    for pairs, own_pairs in results[1:]:
        np.testing.assert_array_equal(pairs, results[0][0])
        np.testing.assert_array_equal(own_pairs, results[0][1])


def test_order_is_by_query_and_place():
    low, high = boxes("clusters", 500, np.float32)
    tree = Tree(0.5 * (low + high))
    tree.refit(low, high, 2)
    place = np.empty(500, np.int64)
    place[tree.order] = np.arange(500)
    pairs = tree.overlaps(low[::-1].copy(), high[::-1].copy(), 2)
    keys = pairs[:, 0].astype(np.int64) * 500 + place[pairs[:, 1]]
    assert (np.diff(keys) > 0).all()
    places = place[tree.self_overlaps(2)]
    keys = places.min(axis=1) * 500 + places.max(axis=1)
    assert (np.diff(keys) > 0).all()


def test_a_refit_follows_the_boxes_and_finds_as_much():
    """Boxes that left their place at rest are found all the same: topology decides about speed only."""
    low, high = boxes("random", 400, np.float32)
    tree = Tree(0.5 * (low + high))
    moved = np.random.default_rng(2).permutation(400)
    tree.refit(low[moved], high[moved], 1)
    expected = touching(low[moved], high[moved], low[moved], high[moved])
    np.testing.assert_array_equal(by_name(tree.self_overlaps(2)), expected[expected[:, 0] < expected[:, 1]])


def test_boxes_of_nothing_touch_nothing():
    low, high = boxes("clusters", 300, np.float32)
    centroids = 0.5 * (low + high)
    low[::3], high[::3] = np.inf, -np.inf
    tree = Tree(centroids)
    tree.refit(low, high, 2)
    expected = touching(low, high, low, high)
    assert len(expected) > 200
    np.testing.assert_array_equal(
        by_name(tree.overlaps(*boxes("clusters", 300, np.float32), 2)),
        touching(*boxes("clusters", 300, np.float32), low, high),
    )
    np.testing.assert_array_equal(by_name(tree.self_overlaps(2)), expected[expected[:, 0] < expected[:, 1]])


def test_nodes_hold_their_children():
    low, high = boxes("random", 333, np.float64)
    for threads in (1, 2, 7):
        tree = Tree(0.5 * (low + high), np.float64)
        tree.refit(low, high, threads)
        leaves = len(tree.firsts) - 1
        for leaf in range(leaves):
            inside = tree.order[tree.firsts[leaf] : tree.firsts[leaf + 1]]
            np.testing.assert_array_equal(tree.nodes[leaves + leaf, :3], low[inside].min(axis=0))
            np.testing.assert_array_equal(tree.nodes[leaves + leaf, 3:], high[inside].max(axis=0))
        for node in range(1, leaves):
            children = tree.nodes[2 * node : 2 * node + 2]
            np.testing.assert_array_equal(tree.nodes[node, :3], children[:, :3].min(axis=0))
            np.testing.assert_array_equal(tree.nodes[node, 3:], children[:, 3:].max(axis=0))


def test_memory_is_kept_and_grows():
    low, high = boxes("random", 600, np.float32)
    tree = Tree(0.5 * (low + high))
    tree.refit(low, high, 2)

    def addresses():
        tree.overlaps(low, high, 2)
        assert tree._others is not None
        return [tree._others[0].pairs.boxes.ctypes.data, tree.self_overlaps(2).ctypes.data]

    first = addresses()
    tree.refit(low + np.float32(0.1), high + np.float32(0.1), 2)
    assert addresses() == first
    low, high = low - np.float32(2.0), high + np.float32(2.0)
    tree.refit(low, high, 2)
    expected = touching(low, high, low, high)
    np.testing.assert_array_equal(by_name(tree.overlaps(low, high, 2)), expected)


def test_a_refit_of_what_changed_is_that_of_all():
    low, high = boxes("clusters", 777, np.float32)
    part, whole = (Bvh(0.5 * (low + high), np.float32) for _ in range(2))
    changed, programs = Offsets.zeros(len(low) + 1), [Program() for _ in range(3)]
    part.record_refit(programs[0])
    part.record_refit(programs[1], changed)
    whole.record_refit(programs[2])
    part.boxes.low[...], part.boxes.high[...] = low, high
    programs[0].run(2)
    rows = np.random.default_rng(3).choice(len(low), 40, replace=False)
    low[rows], high[rows] = low[rows] - np.float32(0.5), high[rows] + np.float32(0.25)
    changed.start[rows] = 1
    for tree, program in ((part, programs[1]), (whole, programs[2])):
        tree.boxes.low[...], tree.boxes.high[...] = low, high
        program.run(2)
    np.testing.assert_array_equal(part.nodes.box, whole.nodes.box)
    for name in ("x0", "y0", "z0", "x1", "y1", "z1"):
        np.testing.assert_array_equal(getattr(part.places, name), getattr(whole.places, name))
