"""Renumbering: always a permutation, never worse than the given order, and none where the given one is good."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shinari.geometry.ordering import cuthill_mckee_order, hilbert_order, lines_touched, locality_order
from shinari.geometry.topology import edges, grid, hinges


@given(st.integers(1, 60), st.integers(2, 4), st.integers(0, 120), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=100)
def test_order_is_a_repeatable_permutation(count, points, rows, seed):
    rng = np.random.default_rng(seed)
    positions = rng.normal(size=(count, 3))
    tables = [rng.integers(0, count, (rows, points)), rng.integers(0, count, (rows // 2, 2), dtype=np.int32)]
    order = locality_order(positions, tables)
    assert order.dtype == np.int64
    np.testing.assert_array_equal(np.sort(order), np.arange(count))
    np.testing.assert_array_equal(order, locality_order(positions, tables))
    identity = np.arange(count)
    assert lines_touched(order, tables) <= lines_touched(identity, tables)
    np.testing.assert_array_equal(np.sort(hilbert_order(positions)), identity)
    np.testing.assert_array_equal(np.sort(cuthill_mckee_order([tables[1]], count)), identity)


@pytest.mark.parametrize("size", [2, 30, 128])
def test_regular_grid_and_rope_keep_their_order(size):
    vertices, faces = grid(shape=(size, size))
    np.testing.assert_array_equal(locality_order(vertices, [edges(faces), hinges(faces)]), np.arange(size**2))
    rope = np.stack([np.arange(size - 1), np.arange(1, size)], axis=1)
    np.testing.assert_array_equal(locality_order(vertices[:size], [rope]), np.arange(size))


def test_shuffled_sheet_becomes_as_good_as_the_regular_one():
    vertices, faces = grid(shape=(128, 128))
    given_rows = edges(faces)
    regular = lines_touched(np.arange(len(vertices)), [given_rows])
    shuffle = np.random.default_rng(5).permutation(len(vertices))
    shuffled = np.empty_like(vertices)
    shuffled[shuffle] = vertices
    rows = shuffle[given_rows]
    assert lines_touched(np.arange(len(vertices)), [rows]) > 5.0 * regular
    assert lines_touched(locality_order(shuffled, [rows]), [rows]) < 1.1 * regular


def test_hilbert_curve_steps_to_a_neighbour_every_time():
    cells = np.stack(np.meshgrid(*[np.arange(8.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    steps = np.diff(cells[hilbert_order(cells)], axis=0)
    np.testing.assert_array_equal(np.abs(steps).sum(axis=1), 1.0)


def test_cuthill_mckee_straightens_a_shuffled_rope():
    names = np.random.default_rng(1).permutation(500)
    rows = np.stack([names[:-1], names[1:]], axis=1)
    order = cuthill_mckee_order([rows], 500)
    assert order.tolist() in (names.tolist(), names[::-1].tolist())


def test_a_hub_with_many_tips_is_handled():
    rows = np.stack([np.zeros(50000, int), np.arange(1, 50001)], axis=1)
    order = locality_order(np.random.default_rng(0).normal(size=(50001, 3)), [rows])
    np.testing.assert_array_equal(np.sort(order), np.arange(50001))


def test_nothing_to_gain_is_the_identity():
    assert locality_order(np.zeros((0, 3)), []).tolist() == []
    assert locality_order(np.zeros((4, 3)), [np.zeros((0, 2), int)]).tolist() == [0, 1, 2, 3]


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="positions"):
        locality_order(np.zeros((4, 2)), [])
    with pytest.raises(ValueError, match=r"\[0, 4\)"):
        locality_order(np.zeros((4, 3)), [np.array([[0, 4]])])
    with pytest.raises(ValueError, match="integers"):
        locality_order(np.zeros((4, 3)), [np.array([[0.0, 1.0]])])
