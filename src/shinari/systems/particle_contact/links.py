"""The rows of a ball: those of the detection stand together, those that were appended since are a chain."""

import numpy as np

from shinari.compute import function

# Stands before the first link of a ball.
FIRST = -2


@function
def next_link(link, b, row_offsets, appended, balls):
    """Link of a ball after a given one, -1 after the last; the first one after FIRST."""
    begin, end, found = row_offsets.start[b], row_offsets.start[b + 1], row_offsets.start[len(balls)]
    after = begin if link == FIRST else link + 1
    if link < found and after < end:
        return after
    return appended.before[link - found] if link >= found else balls.latest[b]


@function
def has_link(b, other, row_offsets, links, appended, balls):
    """Whether a ball has a row with another one as its second."""
    found, link = False, next_link(FIRST, b, row_offsets, appended, balls)
    while link >= 0:
        found = found or np.int64(links.points[link, 1]) == other
        link = next_link(link, b, row_offsets, appended, balls)
    return found
