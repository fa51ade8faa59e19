"""Colourings are valid, complete, balanced and repeatable; the incidence list is the transpose of the rows."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shinari.compute.colouring import colour, incidence
from shinari.geometry.topology import cross_edges, edges, grid, hinges


def check(indices, count, order, offsets, free=None):
    """Every row once, no free particle twice in a colour, rows of a colour by their smallest particle."""
    indices = np.asarray(indices)
    free = np.ones(count, bool) if free is None else free
    assert order.dtype == np.int64
    assert offsets.dtype == np.int64
    np.testing.assert_array_equal(np.sort(order), np.arange(len(indices)))
    assert offsets[0] == 0
    assert offsets[-1] == len(indices)
    assert (np.diff(offsets) > 0).all()
    for first, last in pairwise(offsets):
        rows = indices[order[first:last]]
        touched = np.concatenate([np.unique(row) for row in rows]) if rows.shape[1] else np.zeros(0, int)
        assert np.bincount(touched[free[touched]], minlength=1).max(initial=0) <= 1
        if rows.shape[1]:
            key = rows.min(axis=1) * len(indices) + order[first:last]
            assert (np.diff(key) > 0).all()


@st.composite
def hypergraphs(draw):
    count = draw(st.integers(1, 40))
    points = draw(st.integers(1, 4))
    rows = draw(st.integers(0, 150))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from([np.int32, np.uint32, np.int64]))
    crowd = draw(st.floats(1.0, 4.0))  # above 1: some particles are in far more rows than others
    indices = np.minimum((count * rng.random((rows, points)) ** crowd).astype(dtype), count - 1).astype(dtype)
    return indices, count, rng.random(count) < draw(st.floats(0.0, 1.0))


@given(hypergraphs())
@settings(deadline=None, max_examples=200)
def test_random_hypergraphs_are_coloured_validly_and_repeatably(case):
    indices, count, free = case
    for mask in (None, free):
        order, offsets = colour(indices, count, free=mask)
        check(indices, count, order, offsets, mask)
        again = colour(indices.copy(), count, free=mask)
        np.testing.assert_array_equal(order, again[0])
        np.testing.assert_array_equal(offsets, again[1])
        movable = np.ones(count, bool) if mask is None else mask
        degree = np.bincount(
            np.concatenate([[0], *[np.unique(row) for row in indices]])[1:].astype(int), minlength=count
        )
        worst = degree[movable].max(initial=0)
        assert len(offsets) - 1 >= worst
        assert len(offsets) - 1 <= max(indices.shape[1] * max(worst - 1, 0) + 1, 0 if not len(indices) else 1)


@given(hypergraphs())
@settings(deadline=None, max_examples=100)
def test_incidence_lists_every_place_of_every_particle(case):
    indices, count, _ = case
    offsets, entries = incidence(indices, count)
    assert offsets.shape == (count + 1,)
    flat = indices.ravel()
    for particle in range(count):
        np.testing.assert_array_equal(
            entries[offsets[particle] : offsets[particle + 1]], np.flatnonzero(flat == particle)
        )
    assert offsets[-1] == flat.size


@pytest.mark.parametrize(
    ("rows", "diagonal", "most"),
    [
        (edges, "same", 6),
        (edges, "alternating", 8),
        (lambda faces: cross_edges(hinges(faces)), "same", 6),
        (lambda faces: hinges(faces), "same", 14),
        (lambda faces: faces, "same", 8),
    ],
)
def test_sheet_takes_few_colours(rows, diagonal, most):
    indices = rows(grid(shape=(128, 128), diagonal=diagonal)[1])
    order, offsets = colour(indices, 128 * 128)
    assert len(offsets) - 1 <= most
    check(indices, 128 * 128, order, offsets)
    sizes = np.diff(offsets)
    if diagonal == "same":
        assert sizes.max() <= 1.1 * sizes.min()


def test_colours_of_a_shuffled_sheet_stay_few_and_even():
    rng = np.random.default_rng(3)
    indices = edges(grid(shape=(100, 100))[1])
    indices = rng.permutation(10000)[indices[rng.permutation(len(indices))]]
    order, offsets = colour(indices, 10000)
    check(indices, 10000, order, offsets)
    sizes = np.diff(offsets)
    assert len(sizes) <= 10
    assert sizes[sizes >= 64].max() <= 1.1 * sizes[sizes >= 64].min()


@pytest.mark.parametrize("tips", [63, 64, 65, 1000])
def test_star_takes_a_colour_per_row_unless_its_hub_is_fixed(tips):
    indices = np.stack([np.full(tips, tips), np.arange(tips)], axis=1)
    order, offsets = colour(indices, tips + 1)
    check(indices, tips + 1, order, offsets)
    assert len(offsets) - 1 == tips
    assert len(colour(indices, tips + 1, free=np.arange(tips + 1) < tips)[1]) == 2


def test_a_crowded_particle_does_not_scatter_the_rest():
    sheet = edges(grid(shape=(64, 64))[1])
    star = np.stack([np.full(300, 2000), np.delete(np.arange(0, 4096, 13), 0)[:300]], axis=1).astype(np.int32)
    indices = np.concatenate([sheet, star])
    order, offsets = colour(indices, 4096)
    check(indices, 4096, order, offsets)
    sizes = np.diff(offsets)
    assert (sizes >= 64).sum() <= 9  # the bulk; the others hold the rest of the star
    assert sizes[sizes < 64].sum() <= 300 + 64


def test_rope_takes_two_colours():
    indices = np.stack([np.arange(999), np.arange(1, 1000)], axis=1)
    assert np.diff(colour(indices, 1000)[1]).tolist() in ([499, 500], [500, 499])


@pytest.mark.parametrize("indices", [np.zeros((0, 2), int), np.zeros((0, 3), np.uint32)])
def test_no_rows_no_colours(indices):
    order, offsets = colour(indices, 5)
    assert order.size == 0
    assert offsets.tolist() == [0]
    assert incidence(indices, 5)[0].tolist() == [0] * 6


@pytest.mark.parametrize(
    ("indices", "words"),
    [
        (np.array([[0, 5]]), r"\[0, 5\)"),
        (np.array([[-1, 2]]), "-1"),
        (np.array([[0.0, 1.0]]), "integers"),
        (np.array([0, 1]), "shape"),
    ],
)
def test_bad_rows_are_refused(indices, words):
    for function in (colour, incidence):
        with pytest.raises(ValueError, match=words):
            function(indices, 5)
    with pytest.raises(ValueError, match="free"):
        colour(np.array([[0, 1]]), 5, free=np.ones(4, bool))
