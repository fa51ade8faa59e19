r"""Recovery of Neo-Hookean bodies from tangles: a tetrahedron that has collapsed is compressible until it is back.

A body that is pressed until tetrahedra turn inside out can be released into a tangle: all volumes are positive, but
the tetrahedra around an edge go round it twice. To come out of it some of them have to pass through no volume, against

    s^2 (1 - J) mu,    s^2 = 1 / (1 - 2 nu)

while the shear of the others pulls with a pressure of about mu. For nu <= 0.3 they get through; above, the tangle is a
minimum of the energy of the body (measured in `docs/decisions/solids.md`). A law of J alone cannot tell a tangle from
a body that a pressure compresses, so a tetrahedron remembers: below `CRUSHED` of its volume at rest its s is that of
nu = 0.1, until its energy by its own law is below `BACK`. It loses (s^2 - 1.25) (1 - CRUSHED)^2 / 2 of mu V then, at
least 0.22, and gains less than BACK / 2 when it is back: a cycle never gains energy. What is compressed less keeps its
law.
"""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Field, Program, Record, convert, kernel, real, scratch
from shinari.compute.kernels import STEADY
from shinari.constraints.neo_hookean import hydrostatic_scale
from shinari.model import ConstraintBlock
from shinari.solver.particles import Particles
from shinari.solver.row_access import Cells, Layout, Parameters, set_parameter
from shinari.solver.system import System
from shinari.solver.tearing import Tetrahedra, deformation_gradient
from shinari.state import COLLAPSED, State

if TYPE_CHECKING:
    from shinari.solver.rows import BlockSolver

# J below which a tetrahedron collapses.
CRUSHED = 0.4
# Energy over mu V / 2 below which it is back: a shear of 0.14.
BACK = 0.02
# s of what has collapsed: that of nu = 0.1; with 1 two of 36,000 random tetrahedra were thrown far away.
SOFT = hydrostatic_scale(0.1)
# Up to this s bodies recover by themselves: that of nu = 0.3, rounded up.
RECOVERS = 1.00001 * hydrostatic_scale(0.3)
SCALE = 9
"""Column of s among the parameters."""


class Collapsible(Record):
    """Tetrahedra that may collapse."""

    row = Field(np.uint32)
    place = Field(np.uint32, doc="row of `Collapsed`")
    scale = Field(real, doc="s by its own law")


class Collapsed(Record):
    """Which tetrahedra have collapsed, in the order in which they were added, M rows."""

    flag = Field(np.bool_, saved=True)


def scales_now(state: State, block: ConstraintBlock) -> np.ndarray:
    """Hydrostatic scale of each row of a Neo-Hookean block as it is now, (M,)."""
    own = block.parameters[:, SCALE]
    return np.where(state.parts[COLLAPSED][block.places] & (own > RECOVERS), own.dtype.type(SOFT), own)


@kernel(fastmath=STEADY, mixed=True)
def update_collapsed(
    k, collapsible: Collapsible, collapsed: Collapsed, tetrahedra: Tetrahedra, particles: Particles, cells: Cells,
    parameters: Parameters, layout: Layout,
):  # fmt: skip
    """Mark a tetrahedron that has collapsed or is back, and choose its law."""
    r, place, own = np.int64(collapsible.row[k]), np.int64(collapsible.place[k]), collapsible.scale[k]
    f = scratch((3, 3), np.float64(0.0))
    deformation_gradient(r, tetrahedra, particles, cells, parameters, layout, f)
    volume = f[0, 0] * (f[1, 1] * f[2, 2] - f[1, 2] * f[2, 1])
    volume -= f[0, 1] * (f[1, 0] * f[2, 2] - f[1, 2] * f[2, 0])
    volume += f[0, 2] * (f[1, 0] * f[2, 1] - f[1, 1] * f[2, 0])
    strain = np.float64(own) * (volume - 1.0)
    energy = strain * strain - 2.0 * volume - 1.0
    for i in range(3):
        for j in range(3):
            energy += f[i, j] * f[i, j]
    was = collapsed.flag[place]
    now = volume < CRUSHED or (was and energy > BACK)
    if now != was:
        collapsed.flag[place] = now
        set_parameter(r, SCALE, convert(SOFT, own) if now else own, cells, parameters, layout)


class Collapse(System):
    """The tetrahedra of one simulation that may collapse."""

    def __init__(self, state: State, solver: "BlockSolver", particles: Particles) -> None:
        block = solver.block
        own = block.parameters[:, SCALE]
        rows = np.flatnonzero(own > RECOVERS)
        self._collapsible = Collapsible(
            own.dtype.type, row=rows.astype(np.uint32), place=block.places[rows], scale=own[rows]
        )
        self._collapsed = Collapsed(flag=state.parts[COLLAPSED])
        self._solver, self._particles = solver, particles

    def record_begin(self, p: Program) -> None:
        """See what has collapsed, and what is back."""
        rows, access = self._collapsible, self._solver.access
        if len(rows):
            records = self._particles, access.cells, access.parameters, access.layout
            tetrahedra = Tetrahedra(points=self._solver.block.indices)
            p.launch(update_collapsed, rows, self._collapsed, tetrahedra, *records, count=len(rows))
