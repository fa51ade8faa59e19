"""Neighbours on the grid, against comparing every point with every other one."""

import numpy as np
import pytest

from shinari.collision.broad import grid as grid_module
from shinari.collision.broad.grid import ImmediateGrid, table_sides
from shinari.collision.broad.neighbours import NeighbourLists
from shinari.collision.broad.pairs import PairFinder
from shinari.errors import ShinariError

PRECISIONS = (np.float32, np.float64)


@pytest.fixture(autouse=True)
def wake_threads_early(monkeypatch):
    """Few points suffice for a second thread, so that small clouds test it."""
    monkeypatch.setattr("shinari.collision.broad.grid.FEWEST_COUNTED", 2048)


def all_pairs(points, radii, margin):
    """Every pair i < j closer than its radii and the margin, by definition, in the arithmetic of the points."""
    d = points[:, None, :3] - points[None, :, :3]
    squared = d[..., 0] * d[..., 0] + d[..., 1] * d[..., 1] + d[..., 2] * d[..., 2]
    radii = radii.astype(points.dtype)
    reach = radii[:, None] + radii[None] + points.dtype.type(margin)
    return np.argwhere(np.triu(squared < reach * reach, 1))


def clouds():
    """Points (N, 3) and a reach, by name."""
    rng = np.random.default_rng(7)
    lattice = np.stack(np.meshgrid(*[np.arange(9.0)] * 3), -1).reshape(-1, 3)
    clusters = rng.normal(size=(12, 1, 3)) * 50.0 + rng.normal(size=(12, 50, 3)) * 0.1
    line = np.linspace(-3.0, 3.0, 500)[:, None] * [[1.0, 0.5, -0.25]]
    ball = rng.random((400, 3))
    return {
        "random": (rng.random((900, 3)) * 5.0, 0.6),
        "negative": (rng.random((900, 3)) * 5.0 - 7.0, 0.6),
        "clusters": (clusters.reshape(-1, 3), 0.1),
        "scattered": (rng.normal(size=(600, 3)) * 1e3, 60.0),
        "sparse": (np.concatenate([ball, ball + 1e4, ball - [3e4, 0.0, 1e3]]), 0.2),
        "lattice": (lattice, 1.0),
        "lattice diagonal": (lattice, 1.5),
        "one cell": (rng.random((700, 3)) * 0.01, 1.0),
        "crowd in one cell": (rng.random((1500, 3)) * 0.01, 0.05),
        "crowd, few in reach": (rng.random((1500, 3)) * 0.01, 0.002),
        "few in reach": (rng.random((700, 3)) * 0.01, 0.002),
        "line": (line, 0.05),
        "diagonal": (np.arange(800.0)[:, None] * [[1.0, 1.0, 1.0]], 2.0),
        "sheet": (np.concatenate([rng.random((900, 2)) * 4.0, np.zeros((900, 1))], 1), 0.3),
        "far away": (rng.random((500, 3)) * 4.0 + [1e6, -1e6, 1e6], 0.8),
        "duplicates": (np.repeat(rng.random((80, 3)), 5, axis=0), 0.1),
        "same place": (np.zeros((200, 3)), 0.1),
        "one point": (np.ones((1, 3)), 0.1),
        "no point": (np.zeros((0, 3)), 0.1),
        "two ends": (np.array([[0.0, 0, 0], [1e6, 1e6, 1e6], [1e6, 1e6, 1e6 + 0.5]]), 1.0),
    }


CLOUDS = clouds()


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("entries", [None, 27, 343])
def test_pairs_and_lists_are_those_of_brute_force(name, dtype, entries, monkeypatch):
    """A table of few entries makes distant cells share them: nothing wrong and nothing twice may come of it."""
    if entries is not None:
        monkeypatch.setattr(grid_module, "FEWEST_ENTRIES", entries)
        monkeypatch.setattr(grid_module, "ENTRIES", 0)
    points, reach = CLOUDS[name]
    points = points.astype(dtype)
    radii = np.full(len(points), 0.5 * reach)
    expected = all_pairs(points, radii, 0.0)
    finder, lists = PairFinder(radii), NeighbourLists()
    for threads in (1, 2, 5):
        np.testing.assert_array_equal(finder.find(points, 0.0, threads), expected)
        offsets, indices = lists.find(points, reach, threads)
        order = lists.grid.order.astype(np.int64)
        assert sorted(order) == list(range(len(points)))
        owners = np.repeat(np.arange(len(points)), np.diff(offsets))
        steps = np.diff(indices.astype(np.int64))[np.diff(owners) == 0]
        assert (steps > 0).all(), "a list is not ascending"
        found = np.stack([order[owners], order[indices]], 1)
        both = np.concatenate([expected, expected[:, ::-1]])
        np.testing.assert_array_equal(found[np.lexsort(found.T[::-1])], both[np.lexsort(both.T[::-1])])


def test_reach_is_strict():
    """On a lattice of spacing 1 a reach of 1 finds nothing; the next larger number finds the six neighbours."""
    points, _ = CLOUDS["lattice"]
    for dtype in PRECISIONS:
        lists = NeighbourLists()
        assert lists.find(points.astype(dtype), 1.0, 1)[1].size == 0
        offsets, _ = lists.find(points.astype(dtype), np.nextafter(dtype(1.0), dtype(2.0)), 1)
        assert offsets[-1] == 2 * 3 * 8 * 9 * 9


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("spread", [1.0, 4.0])
def test_radii_that_differ_by_hundreds(dtype, spread):
    rng = np.random.default_rng(3)
    points = (rng.random((1500, 3)) * spread).astype(dtype)
    radii = np.concatenate([10.0 ** rng.uniform(-3.5, -1.0, 1480), np.full(10, 0.4), np.zeros(10)])
    rng.shuffle(radii)
    finder = PairFinder(radii)
    for margin in (0.0, 0.02):
        expected = all_pairs(points, radii, margin)
        assert len(expected) > 50
        for threads in (1, 2, 3):
            np.testing.assert_array_equal(finder.find(points, margin, threads), expected)


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("count", [1, 3, 4, 7, 255, 256, 257, 258, 700])
def test_cells_with_few_and_with_many_balls(count, dtype):
    """Balls around a cell are copied where they are few; a cell of its own for each of two crowds."""
    rng = np.random.default_rng(count)
    points = np.concatenate([rng.random((count, 3)), rng.random((count, 3)) + 1.9]).astype(dtype)
    radii = np.full(2 * count, 0.5)
    radii[rng.random(2 * count) < 0.7] = 0.3
    expected = all_pairs(points, radii, 0.01)
    np.testing.assert_array_equal(PairFinder(radii).find(points, 0.01, 2), expected)


def test_a_ball_with_thousands_of_partners_keeps_the_order():
    rng = np.random.default_rng(4)
    points = rng.random((3000, 3)).astype(np.float32)
    radii = np.full(3000, 1e-3)
    radii[[1700, 5]] = 0.5
    np.testing.assert_array_equal(PairFinder(radii).find(points, 0.0, 2), all_pairs(points, radii, 0.0))


def test_balls_without_size_are_never_close():
    assert len(PairFinder(np.zeros(5)).find(np.zeros((5, 3)), 0.0, 1)) == 0


def test_grid_sorts_by_cell_and_keeps_the_order_of_indices_inside():
    rng = np.random.default_rng(5)
    points = rng.random((5000, 4)).astype(np.float32)
    orders = []
    for threads in (1, 2, 7):
        grid = ImmediateGrid()
        grid.build(points, 0.1, threads)
        orders.append(grid.order.copy())
        cells = np.floor((points[:, :3].astype(np.float64) - grid.low) * grid.inverse).astype(np.int64)
        entries = (cells[:, 2] * grid.sides[1] + cells[:, 1]) * grid.sides[0] + cells[:, 0]
        np.testing.assert_array_equal(grid.order, np.argsort(entries, kind="stable"))
        np.testing.assert_array_equal(grid.entries, np.sort(entries))
        np.testing.assert_array_equal(grid.columns[:3].T, points[grid.order, :3])
        np.testing.assert_array_equal(grid.starts, np.searchsorted(grid.entries, np.arange(len(grid.starts))))
    assert all((order == orders[0]).all() for order in orders)


def test_members_and_the_number_they_carry():
    rng = np.random.default_rng(6)
    points, fourth = rng.random((1000, 3)), rng.random(1000)
    members = np.arange(0, 1000, 3, dtype=np.uint32)
    grid = ImmediateGrid()
    grid.build(points, 0.2, 2, members, fourth)
    assert sorted(grid.order) == list(members)
    np.testing.assert_array_equal(grid.columns[3], fourth[grid.order])


@pytest.mark.parametrize("wanted", [[5, 9, 1000], [10**6] * 3, [3, 10**9, 10**9], [3, 3, 2**31], [40, 40, 40]])
def test_sides_of_the_table(wanted):
    """Never shorter than the three cells of a neighbourhood, and about as many entries as asked, unless that fits."""
    sides = table_sides(wanted, 100_000)
    assert all(3 <= side <= most for side, most in zip(sides, wanted, strict=True))
    assert np.prod(sides) < 1.5 * 100_000
    assert np.prod(sides) > 50_000 or list(sides) == wanted


def test_memory_is_kept_and_grows():
    rng = np.random.default_rng(8)
    points = rng.random((2000, 3)).astype(np.float32)
    lists, finder = NeighbourLists(), PairFinder(np.full(2000, 0.05))

    def addresses():
        offsets, indices = lists.find(points, 0.1, 2)
        finder.find(points, 0.0, 2)
        assert finder._search is not None
        arrays = (offsets, indices, finder._search.pairs.balls, lists.grid.order, lists.grid.columns, lists.grid.starts)
        return [array.ctypes.data for array in arrays]

    first = addresses()
    points[:] = rng.random((2000, 3))
    assert addresses() == first
    points *= np.float32(0.3)
    np.testing.assert_array_equal(finder.find(points, 0.0, 2), all_pairs(points, finder.radii, 0.0))


def test_refusals_name_what_is_wrong():
    points = np.zeros((2, 3), np.float32)
    with pytest.raises(ShinariError, match="radii"):
        PairFinder([0.1, -0.1])
    with pytest.raises(ShinariError, match="radii"):
        PairFinder([0.1, np.nan])
    with pytest.raises(ShinariError, match="margin"):
        PairFinder([0.1, 0.1]).find(points, -1.0, 1)
    with pytest.raises(ShinariError, match="3 radii but 2 points"):
        PairFinder([0.1] * 3).find(points, 0.0, 1)
    points[1] = 1e30
    with pytest.raises(ShinariError, match="flown away"):
        NeighbourLists().find(points, 0.1, 1)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_points_without_a_place_have_no_neighbours(kind):
    """A point may be lost in the middle of a step; the lists of the others stay, and none begins before the first."""
    points = np.random.default_rng(3).random((200, 3)).astype(kind)
    whole, lost = NeighbourLists(), NeighbourLists()
    gone = np.array([20, 21, 150])
    offsets, indices = whole.find(np.delete(points, gone, axis=0), 0.2, 1)
    points[gone] = np.nan
    starts, places = lost.find(points, 0.2, 1)
    assert starts[0] == 0
    assert (np.diff(starts) >= 0).all()
    assert starts[-1] == offsets[-1] == len(places) == len(indices)
    alone = np.isin(lost.grid.order, gone)
    assert not np.diff(starts)[alone].any()
    assert not alone[places].any()
