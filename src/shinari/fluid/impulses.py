"""Impulses of a step on particles of fluids, kept when the lists that they belong to are made anew."""

from typing import Any

import numpy as np

from shinari.compute import Field, Record


class Log(Record):
    """One row."""

    count = Field(np.int64, doc="impulses so far")
    room = Field(np.int64, doc="rows that are needed")


class Impulses(Record):
    """Impulses of a step, as many rows as `Log.count` says."""

    particle = Field(np.uint32, doc="particle in solver order")
    other = Field(np.int64, doc="solid, or particle")
    normal = Field(np.float64, 3, doc="from the other to the particle")
    impulse = Field(np.float64, 3, unit="N s")


def logged(log: Log, impulses: Impulses) -> tuple[Any, ...]:
    """The columns of the impulses so far."""
    count = int(log.count[0])
    return tuple(impulses.arrays[name][:count] for name in Impulses.fields)
