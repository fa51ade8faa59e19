"""Liquid bridges between wet grains: an attraction that ends where a bridge breaks.

    F(S) = F_0 / (1 + 1.05 s + 2.5 s^2),      s = S sqrt(R / V) up to s_c = (V^(1/3) + 0.1 V^(2/3) / R) sqrt(R / V)

S is the gap, R = 2 r_i r_j / (r_i + r_j), V = 0.03 R^3 the volume of a bridge: Willett, Adams, Johnson and Seville
2000, Capillary bridges between two spherical bodies, the simple fit for a wetting liquid. That is 2 % of liquid by
the volume of the grains. F_0 is such that a heap has the tensile strength of its material (Rumpf 1962, The strength of
granules and agglomerates),

    sigma = p k F_0 / (pi d^2)                d = 2 R, grains fill p = 0.6 and touch k = 6 others each.

The attraction moves the balls as the substep begins, before contacts push as in the last one: a contact carries what
it would carry anyway and F more, friction and the resistance to rolling are bounded by that sum, and so a heap has
the cohesion sigma tan(phi). A bridge has no memory: it pulls as balls come near as it does when they part.
"""

import math
from typing import Any

import numpy as np

from shinari.collision.broad.blocks import CurrentColour
from shinari.collision.broad.row_batches import WIDTH, Batches, Links, batches_of_block
from shinari.compute import Field, Record, kernel, real, scratch
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets
from shinari.errors import ContactWarning, warn
from shinari.maths.vec3 import ONE, ZERO, norm, scale, sub
from shinari.model.model import Model
from shinari.model.settings import Settings
from shinari.systems.grains.rows import add_impulse, give_lane, store_lane, take_lanes
from shinari.systems.particle_contact.build import MemberTable
from shinari.systems.particle_contact.pair_rows import upright
from shinari.systems.particle_contact.records import Control, Members, RowBalls, Rows, Shifts, SortedBalls

VOLUME = 0.03
RUPTURE = VOLUME ** (1.0 / 3.0) + 0.1 * VOLUME ** (2.0 / 3.0)
"""Gap at which a bridge breaks, over the radius."""
PACKING, CONTACTS = 0.6, 6.0
# s of a gap over R, and s at the end
STRETCH, MOST = 1.0 / math.sqrt(VOLUME), np.float32(RUPTURE / math.sqrt(VOLUME))
LINEAR, SQUARE = np.float32(1.05), np.float32(2.5)
TWO = np.float32(2.0)


# Bridges that pull a grain farther than this in a substep, in its radii, throw it about: at a quarter walls stand, at
# a half they creep.
MOST_PULL = 0.25


class Cohesions(Record):
    """Objects of the scene, T rows."""

    strength = Field(real, unit="Pa", doc="tensile strength of a heap; 0: no bridges")


class Bridges(Record):
    """Bridges of the rows, M rows."""

    force = Field(real, unit="N", doc="attraction of balls that touch")
    stretch = Field(real, unit="1/m", doc="s over the gap")


def contact_force(strength: Any, radius: Any) -> Any:
    """Attraction of two grains of a radius [m] that touch [N], for a tensile strength [Pa]; numbers or arrays."""
    return strength * math.pi * (2.0 * radius) ** 2 / (PACKING * CONTACTS)


def warn_of_cohesion(model: Model, settings: Settings, table: MemberTable) -> None:
    """Warn of grains that their bridges would throw about.

    Warns:
        ContactWarning: A substep is too long; the message names how many are enough.
    """
    inverse = model.inverse_masses[table.particles].astype(float)
    strengths = table.cohesion[table.owners]
    pulls = contact_force(strengths, table.radii) * inverse * settings.substep**2 / table.radii
    for number in np.unique(table.owners[pulls > MOST_PULL]):
        most = float(pulls[table.owners == number].max())
        enough = math.ceil(settings.substeps * math.sqrt(most / MOST_PULL))
        warn(
            f"grains {model.object_ranges[number][0]!r}: cohesion: {table.cohesion[number]:g} Pa pulls a grain by "
            f"{most:.2g} of its radius in a substep, more than {MOST_PULL:g}, and throws it about: give at least "
            f"{enough} substeps, or larger grains",
            ContactWarning,
        )


@kernel(fastmath=STEADY)
def take_bridge(item, links: Links, bridges: Bridges, balls: SortedBalls, members: Members, cohesions: Cohesions,
                control: Control, unit: real, stretch: real):  # fmt: skip
    """Write the bridge of a row; `unit` is the force for a radius of 1 m and 1 Pa. The drier of the two decides."""
    link = item + control.rows_before[0]
    r = np.int64(links.row[link])
    i, j = links.points[link]
    one, other = members.radius[balls.member[i]], members.radius[balls.member[j]]
    radius = TWO * one * other / (one + other)
    strength = min(cohesions.strength[balls.object_index[i]], cohesions.strength[balls.object_index[j]])
    bridges.force[r], bridges.stretch[r] = unit * strength * radius * radius, stretch / radius


@kernel(fastmath=STEADY)
def pull_grains(k, starts: Offsets, batches: Batches, current: CurrentColour, row_balls: RowBalls, rows: Rows,
                bridges: Bridges, balls: SortedBalls, shifts: Shifts, h: real):  # fmt: skip
    """Let the bridges of a block of rows pull for a substep h."""
    taken, given, masses = scratch((WIDTH, 8), h), scratch((WIDTH, 8), h), scratch(WIDTH, h)
    first, last = batches_of_block(k, starts, current)
    for t in range(first, last):
        begin = np.int64(batches.first[t])
        count = np.int64(batches.first[t + 1]) - begin
        take_lanes(begin, count, row_balls, balls, shifts, taken, masses)
        for lane in range(WIDTH):
            r = begin + lane
            b = taken[lane, 0], taken[lane, 1], taken[lane, 2]
            # as the substep began: the push that is repeated has the same direction
            a = sub(b, (taken[lane, 4], taken[lane, 5], taken[lane, 6]))
            s = max(norm(a) - rows.keep[r], ZERO) * bridges.stretch[r]
            force = bridges.force[r] / (ONE + LINEAR * s + SQUARE * s * s)
            by = scale(upright(a, b), -h * h * (force if s < MOST else ZERO * force))
            store_lane(lane, by, by, given)
        for lane in range(count):
            i, j = row_balls.points[begin + lane]
            give_lane(lane, i, j, balls, given)
            r, by = begin + lane, (given[lane, 0], given[lane, 1], given[lane, 2])
            add_impulse(r, lane, rows, given, ONE / h)
            rows.normal[r] = scale(upright(by, rows.normal[r]), -ONE)
