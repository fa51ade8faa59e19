r"""Plastic flow: beyond a yield strain the rest shape follows, so that the strain goes back to the yield.

A distance row of length l and rest length L has the strain e = l / L - 1. Where |e| > y the rest length goes towards
l / (1 +- y), at which the strain is y, by the part 1 - exp(-creep h) in a substep h. It stops where |L / L0 - 1| has
reached the plastic limit. The compliance stays.

A tetrahedron: B is the inverse of its rest shape, F = Ds B. With F^T F = V diag(s_i^2) V^T and
the stretches without their volume, s*_i = s_i / (s_1 s_2 s_3)^(1/3), the strain is e = sqrt(2/3) |log s*|. Where e > y

    B <- B V diag(s*_i ^ -g) V^T,    g = (1 - exp(-creep h)) (e - y) / e

which multiplies the plastic deformation by V diag(s*^g) V^T of determinant one (Irving, Teran and Fedkiw 2004,
Invertible Finite Elements; Bargteil et al. 2007, A Finite Element Method for Animating Large Viscoplastic Flow). With
g at its full size the strain is y afterwards. It stops where the same measure of B0^-1 B has reached the plastic limit,
or `MOST`: a tetrahedron that is pressed flat as it lands has a strain without bound, and nothing can be computed with a
rest shape like that.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Field, Program, Record, convert, function, kernel, real, scratch
from shinari.compute.kernels import STEADY
from shinari.maths.eigen import eigen
from shinari.model.model import ConstraintBlock, Model, PlasticRows
from shinari.model.particles import Particles
from shinari.model.state import State
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.systems.failure.early_failure import warn_of_early_failure
from shinari.systems.failure.tearing import Edges, Tetrahedra, right_cauchy_green
from shinari.systems.rows.row_access import Cells, Layout, Parameters, set_parameter

if TYPE_CHECKING:
    from shinari.systems.rows.system import BlockSolver

TWO_THIRDS = 2.0 / 3.0
# Largest plastic strain of a tetrahedron: stretched to the ratio exp(1.5 MOST) of 20 to 1.
MOST = 2.0


class Law(Record):
    """One row: when and how fast rest shapes follow."""

    yield_strain = Field(np.float64)
    part = Field(np.float64, doc="part of the way in a substep")
    limit = Field(np.float64, doc="largest plastic strain")


class RestLengths(Record):
    """Distance rows that flow."""

    row = Field(np.uint32)
    rest = Field(real, 1, unit="m", doc="rest length", saved=True)
    start = Field(np.float64, 1, unit="m", doc="rest length at the start")


class RestShapes(Record):
    """Tetrahedra that flow."""

    row = Field(np.uint32)
    rest = Field(real, 9, unit="1/m", doc="inverse rest shape", saved=True)
    start = Field(np.float64, 9, unit="m", doc="rest shape at the start")


@kernel(fastmath=STEADY, mixed=True)
def flow_length(
    k, lengths: RestLengths, edges: Edges, particles: Particles, cells: Cells, parameters: Parameters, layout: Layout,
    law: Law,
):  # fmt: skip
    """Let the rest length of a distance row follow."""
    r = np.int64(lengths.row[k])
    i, j = edges.points[r]
    p, q = particles.x[i], particles.x[j]
    a, b, c = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    length = np.sqrt(np.float64(a * a + b * b + c * c))
    rest, start = np.float64(lengths.rest[k, 0]), lengths.start[k, 0]
    yields, limit = law.yield_strain[0], law.limit[0]
    strain = length / rest - 1.0
    if abs(strain) > yields:
        # a row crushed beyond all strain has no such rest length: it goes to the limit
        wanted = length / (1.0 + yields) if strain > 0.0 else length / max(1.0 - yields, 1e-3)
        new = rest + law.part[0] * (wanted - rest)
        new = min(max(new, (1.0 - min(limit, 0.999)) * start), (1.0 + limit) * start)
        if new != rest:
            lengths.rest[k, 0] = new
            set_parameter(r, 0, convert(new, layout.released_coefficient[0]), cells, parameters, layout)


@function(fastmath=STEADY)
def isochoric_strain(c, logs):
    """sqrt(2/3) |log s*| of squared stretches on the diagonal of c; log s* into `logs`."""
    mean = 0.0
    for i in range(3):
        logs[i] = 0.5 * np.log(max(c[i, i], 1e-30))
        mean += logs[i] / 3.0
    logs[0], logs[1] = logs[0] - mean, logs[1] - mean
    # the volume is to stay to the last digit
    logs[2] = -(logs[0] + logs[1])
    return np.sqrt(TWO_THIRDS * (logs[0] * logs[0] + logs[1] * logs[1] + logs[2] * logs[2]))


@function(fastmath=STEADY)
def plastic_strain(k, shapes, new, c, v, logs):
    """The same measure of the plastic deformation B0^-1 B, as rows of nine."""
    p = scratch((3, 3), np.float64(0.0))
    for i in range(3):
        a, b, d = shapes.start[k, 3 * i], shapes.start[k, 3 * i + 1], shapes.start[k, 3 * i + 2]
        for j in range(3):
            p[i, j] = a * new[j] + b * new[3 + j] + d * new[6 + j]
    for i in range(3):
        for j in range(3):
            c[i, j] = p[0, i] * p[0, j] + p[1, i] * p[1, j] + p[2, i] * p[2, j]
    eigen(c, v)
    return isochoric_strain(c, logs)


@function(fastmath=STEADY)
def flowed_shape(k, shapes, g, v, logs, new):
    """B V diag(s*^-g) V^T into `new`."""
    # V V^T is one up to rounding, which would add up: only what differs from one is turned
    turn = scratch((3, 3), np.float64(0.0))
    for i in range(3):
        for j in range(3):
            total = 0.0
            for n in range(3):
                total += v[i, n] * (np.exp(-g * logs[n]) - 1.0) * v[j, n]
            turn[i, j] = total
    for i in range(3):
        for j in range(3):
            total = np.float64(shapes.rest[k, 3 * i + j])
            for n in range(3):
                total += np.float64(shapes.rest[k, 3 * i + n]) * turn[n, j]
            new[3 * i + j] = total


@kernel(fastmath=STEADY, mixed=True)
def flow_tetrahedron(
    k, shapes: RestShapes, tetrahedra: Tetrahedra, particles: Particles, cells: Cells, parameters: Parameters,
    layout: Layout, law: Law,
):  # fmt: skip
    """Let the rest shape of a tetrahedron follow."""
    r = np.int64(shapes.row[k])
    c, v = scratch((3, 3), np.float64(0.0)), scratch((3, 3), np.float64(0.0))
    logs, new = scratch(3, np.float64(0.0)), scratch(9, np.float64(0.0))
    right_cauchy_green(r, tetrahedra, particles, cells, parameters, layout, c)
    # half the norm of the strain is close to e while it is small; far below the yield nothing has to be solved
    square = 0.0
    for i in range(3):
        for j in range(3):
            away = c[i, j] - (1.0 if i == j else 0.0)
            square += away * away
    size, yields = np.sqrt(square), law.yield_strain[0]
    if size < 0.5 and 0.5 * size / (1.0 - size) <= yields:
        return
    eigen(c, v)
    strain = isochoric_strain(c, logs)
    if strain <= yields:
        return
    flowed_shape(k, shapes, law.part[0] * (strain - yields) / strain, v, logs, new)
    if plastic_strain(k, shapes, new, c, v, logs) > law.limit[0]:
        return
    for i in range(9):
        shapes.rest[k, i] = new[i]
        set_parameter(r, i, convert(new[i], layout.released_coefficient[0]), cells, parameters, layout)


class FlowModel(SystemModel):
    """Rows whose rest shapes follow; they stand in the model."""

    def start(self, model: Model) -> dict[str, np.ndarray]:
        """Rest lengths (K, 1) or inverse rest shapes (K, 9) of the rows."""
        return {f.name: model.blocks[f.block].parameters[f.rows, f.columns].copy() for f in model.plastic_rows}

    def changes_parameters(self, model: Model, block: ConstraintBlock) -> bool:
        """Whether rows of the block flow."""
        return any(flow.block == block.type.name for flow in model.plastic_rows)

    def update_parameters(self, model: Model, state: State, block: ConstraintBlock, values: np.ndarray) -> None:
        """Write the rest shapes as they are now."""
        for flow in model.plastic_rows:
            if flow.block == block.type.name:
                values[flow.rows, flow.columns] = state.system_arrays[flow.name]

    def bind(self, bound: BoundSystems) -> "list[PlasticFlow]":
        """The rows of a simulation."""
        from shinari.systems.rows.system import block_solvers

        model, h = bound.model, bound.settings.substep
        warn_of_early_failure(bound, ((each.block, each.rows) for each in model.plastic_rows), "yield_strain")
        return [PlasticFlow(model, bound.state, block_solvers(bound), bound.particles, h)] if model.plastic_rows else []


class PlasticFlow(System):
    """Rows of one simulation whose rest shapes follow."""

    order = 81
    on_device = True

    def __init__(
        self, model: Model, state: State, solvers: "dict[str, BlockSolver]", particles: Particles, h: float
    ) -> None:
        self._particles = particles
        self._flows = [
            (solvers[flow.block], *_records(flow, state, solvers[flow.block], h)) for flow in model.plastic_rows
        ]

    def record_finish(self, p: Program) -> None:
        """Let all rest shapes follow for a substep."""
        for solver, rows, law in self._flows:
            lengths = isinstance(rows, RestLengths)
            points = (Edges if lengths else Tetrahedra)(points=solver.block.indices)
            access = solver.access
            records = rows, points, self._particles, access.cells, access.parameters, access.layout, law
            p.launch(flow_length if lengths else flow_tetrahedron, *records, count=len(rows))


def _records(flow: PlasticRows, state: State, solver: "BlockSolver", h: float) -> tuple[RestLengths | RestShapes, Law]:
    """Rows that flow, and their law."""
    failure = flow.failure
    # rest lengths, or the edges B0^-1 of the rest shapes
    start = solver.block.parameters[flow.rows, flow.columns].astype(np.float64)
    if start.shape[1] == 9:
        start = np.linalg.inv(start.reshape(-1, 3, 3)).reshape(-1, 9)
    kind = RestLengths if start.shape[1] == 1 else RestShapes
    law = Law.zeros(1)
    law.part[0] = 1.0 if math.isinf(failure.creep) else -math.expm1(-failure.creep * h)
    law.yield_strain[0] = failure.yield_strain
    law.limit[0] = failure.plastic_limit if kind is RestLengths else min(failure.plastic_limit, MOST)
    rest = state.system_arrays[flow.name]
    return kind(rest.dtype.type, row=flow.rows.astype(np.uint32), rest=rest, start=start), law
