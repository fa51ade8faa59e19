"""Tables of numbers in the memory of an item: a column for each pair, so that loops over the columns vectorise."""

from shinari.maths.function import steady


@steady
def store_vector(lanes, row, k, v):
    """Write a vector to three rows of a table, column k."""
    lanes[row, k], lanes[row + 1, k], lanes[row + 2, k] = v[0], v[1], v[2]


@steady
def vector_at(lanes, row, k):
    """Read a vector from three rows of a table, column k."""
    return lanes[row, k], lanes[row + 1, k], lanes[row + 2, k]
