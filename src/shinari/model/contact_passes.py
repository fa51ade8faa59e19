"""Passes over the contacts of an iteration.

What a collider gives to the lowest layer of a stack has to reach the others, so contacts are solved in passes. A few
passes take all contacts. Where something still overlaps by more than is tolerated there are more of them, and these are
local: they take only the contacts of particles that the pass before moved noticeably. Each pass has a number, and each
particle that of the pass in which a contact last moved it so.
"""

import numpy as np

from shinari.compute import Field, Record, kernel, real
from shinari.maths.function import steady
from shinari.maths.vec3 import ZERO
from shinari.model.particles import Clock

# A contact moves a particle noticeably by this part of the distance to keep: half of the overlap that is tolerated.
NOTICEABLE = np.float32(0.01)
LAST_BITS = 0xFFFFFFFF


class ContactPasses(Record):
    """One row: how often the contacts of an iteration were solved, and whether that is enough."""

    number = Field(np.int64, doc="passes so far")
    done = Field(np.int64)
    more = Field(np.int64, doc="whether there are passes after the first one")
    overlap = Field(real, doc="largest overlap of this pass, as a part of the distance to keep")
    wanted = Field(np.int64, doc="how many passes a system asks for, as long as it does")


@kernel
def begin_passes(_, passes: ContactPasses, clock: Clock):
    """An iteration begins."""
    passes.number[0] = 1
    passes.overlap[0] = ZERO
    passes.wanted[0] = 0
    clock.contact_pass[0] += 1
    clock.local[0] = 0


@kernel
def conclude_first(_, passes: ContactPasses, clock: Clock):
    """The first pass is over, and a single system does not need another."""
    passes.more[0] = clock.solvers[0] > 1


@kernel
def conclude_pass(
    _, passes: ContactPasses, clock: Clock, alone: int, several: int, most: int, tolerated: real, local: int
):  # fmt: skip
    """A pass is over: it was the last one where enough have been taken and nothing overlaps by more than a part.

    Enough are `alone` of a single system with contacts, `several` of more, and what a system asks for; overlaps take no
    more than `most`. `local`: whether further ones are local.
    """
    passes.number[0] += 1
    clock.contact_pass[0] += 1
    enough = passes.number[0] >= max(passes.wanted[0], several if clock.solvers[0] > 1 else alone)
    passes.done[0] = enough and not (passes.overlap[0] > tolerated and passes.number[0] < most)
    passes.overlap[0] = ZERO
    passes.wanted[0] = 0
    clock.local[0] = local != 0 and enough and passes.done[0] == 0 and passes.number[0] < most


@kernel
def count_pass(_, clock: Clock):
    """A pass is over."""
    clock.contact_pass[0] += 1


@steady
def was_moved(clock, moved_in, i):
    """Whether a contact moved a particle noticeably in this pass or the one before; their numbers have 32 bits."""
    return (clock.contact_pass[0] - np.int64(moved_in[i])) & LAST_BITS <= 1
