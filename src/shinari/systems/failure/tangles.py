r"""Recovery of Neo-Hookean bodies from tangles: tetrahedra at an edge that is wound twice become compressible.

            c1              c0, c1, ... are the other vertices of the tetrahedra around an inner edge a-b, along it:
           /  \             a closed polygon. Its winding number about a is 1 at rest, and as long as no tetrahedron
         c2    c0           turns inside out. In a tangle it is 2, with all volumes positive.
          | a  /
         c3--c4

A body that is pressed until tetrahedra turn inside out can be released into a tangle. To come out of it some tetrahedra
have to pass through no volume, against

    s^2 (1 - J) mu,    s^2 = 1 / (1 - 2 nu)

while the shear of the others pulls with a pressure of about mu. For nu <= 0.3 they get through; above, the tangle is a
minimum of the energy of the body (measured in `docs/decisions/solids.md`). No function of F can tell a tangle from a
body under pressure, whose tetrahedra may be flat as well; the winding number does. So the tetrahedra at the ends of an
edge that is wound twice have the s of nu = 0.1, until their energy by their own law is below `BACK`. All others keep
their law, however they are pressed.

Edges are looked at before each step. A tetrahedron loses energy where it becomes compressible, and gains less than
BACK / 2 of mu V when it has its own law again. A tangle costs more: where an edge is wound twice, a dihedral angle has
doubled at least.
"""

import numpy as np

from shinari.compute import Field, Program, Record, convert, kernel, real, scratch
from shinari.compute.kernels import STEADY
from shinari.constraints.neo_hookean import NEO_HOOKEAN, hydrostatic_scale
from shinari.maths.vec3 import ZERO, cross, direction_and_length, dot, sub
from shinari.model.model import ConstraintBlock, Model
from shinari.model.particles import Particles
from shinari.model.state import State
from shinari.model.system import System
from shinari.model.system_model import Binding, SystemModel
from shinari.systems.failure.tearing import Tetrahedra, deformation_gradient
from shinari.systems.rows.row_access import Broken, Cells, Layout, Parameters, set_parameter
from shinari.systems.rows.system import BlockSolver, block_solvers

TANGLED = "solids/tangled"
"""Name of the array of the state that says which tetrahedra are tangled."""

# Energy over mu V / 2 below which a tetrahedron has its own law again: a shear of 0.14.
BACK = 0.02
# s of tangled tetrahedra: that of nu = 0.1; with 1 two of 36,000 random tetrahedra were thrown far away.
SOFT = hydrostatic_scale(0.1)
# Up to this s bodies recover by themselves: that of nu = 0.3, rounded up.
RECOVERS = 1.00001 * hydrostatic_scale(0.3)
SCALE = 9
"""Column of s among the parameters."""
# The edges of a tetrahedron, each with the other two vertices so that all four are an even permutation.
EDGES = np.array([[0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2], [1, 2, 0, 3], [1, 3, 2, 0], [2, 3, 0, 1]])


class InnerEdges(Record):
    """Edges inside of a body, E rows."""

    points = Field(np.uint32, 2)
    start = Field(np.int64, doc="first row of `Around`")
    stop = Field(np.int64)
    twice = Field(np.bool_, doc="whether it is wound twice or more")


class Around(Record):
    """The particles around each edge, in order."""

    point = Field(np.uint32)
    row = Field(np.uint32, doc="tetrahedron between it and the next")


class Ends(Record):
    """Particles at the ends of edges that are wound twice, N rows."""

    flag = Field(np.bool_)


class StiffTetrahedra(Record):
    """Rows of tetrahedra that do not recover by themselves."""

    row = Field(np.uint32)
    place = Field(np.uint32, doc="row of `Tangled`")
    scale = Field(real, doc="s by its own law")


class Tangled(Record):
    """Which tetrahedra are compressible, in the order in which they were added, M rows."""

    flag = Field(np.bool_, saved=True)


class Found(Record):
    """One row: whether an edge is wound twice or a tetrahedron is compressible."""

    flag = Field(np.int64)


class TangleModel(SystemModel):
    """Neo-Hookean tetrahedra; they stand in the model."""

    def start(self, model: Model) -> dict[str, np.ndarray]:
        """Which tetrahedra are tangled, in the order in which rows were added, (M,)."""
        block = model.blocks.get(NEO_HOOKEAN.name)
        return {} if block is None else {TANGLED: np.zeros(block.row_count, np.bool_)}

    def changes_parameters(self, model: Model, block: ConstraintBlock) -> bool:
        """Whether these are Neo-Hookean tetrahedra."""
        return block.type.name == NEO_HOOKEAN.name

    def update_parameters(self, model: Model, state: State, block: ConstraintBlock, values: np.ndarray) -> None:
        """Write the hydrostatic scale of tangled tetrahedra."""
        tangled = state.parts[TANGLED][block.places] & (values[:, SCALE] > RECOVERS)
        values[tangled, SCALE] = SOFT

    def bind(self, work: Binding) -> "list[Tangles]":
        """The tetrahedra of a simulation."""
        solver = block_solvers(work).get(NEO_HOOKEAN.name)
        return [] if solver is None else [Tangles(work.state, solver, work.particles)]


@kernel
def find_tangles(e, edges: InnerEdges, around: Around, particles: Particles, found: Found):
    """Wind the polygon around an edge: count how often it crosses a half plane that ends on the edge."""
    start, stop = edges.start[e], edges.stop[e]
    a = particles.x[edges.points[e, 0]]
    axis, _ = direction_and_length(sub(particles.x[edges.points[e, 1]], a))
    up = cross(axis, sub(particles.x[around.point[start]], a))
    right = cross(up, axis)
    last = sub(particles.x[around.point[stop - 1]], a)
    x0, y0 = dot(last, right), dot(last, up)
    turns = 0
    for k in range(start, stop):
        d = sub(particles.x[around.point[k]], a)
        x1, y1 = dot(d, right), dot(d, up)
        side = x1 * y0 - x0 * y1
        if y0 >= ZERO:
            turns += 1 if y1 < ZERO and side < ZERO else 0
        else:
            turns -= 1 if y1 >= ZERO and side > ZERO else 0
        x0, y0 = x1, y1
    edges.twice[e] = turns >= 2
    if turns >= 2:
        found.flag[0] = 1


@kernel
def clear_ends(i, ends: Ends):
    """Forget the ends of a step ago."""
    ends.flag[i] = False


@kernel
def mark_ends(e, edges: InnerEdges, around: Around, broken: Broken, ends: Ends):
    """Mark the ends of an edge that is wound twice, unless one of its tetrahedra has torn."""
    if edges.twice[e]:
        whole = True
        for k in range(edges.start[e], edges.stop[e]):
            whole = whole and not broken.flag[around.row[k]]
        if whole:
            ends.flag[edges.points[e, 0]] = True
            ends.flag[edges.points[e, 1]] = True


@kernel(fastmath=STEADY, mixed=True)
def update_tangled(
    k,
    stiff: StiffTetrahedra,
    tangled: Tangled,
    ends: Ends,
    found: Found,
    tetrahedra: Tetrahedra,
    particles: Particles,
    cells: Cells,
    parameters: Parameters,
    layout: Layout,
):
    """Choose the law of a tetrahedron."""
    r, place, own = np.int64(stiff.row[k]), np.int64(stiff.place[k]), stiff.scale[k]
    was, now = tangled.flag[place], False
    for j in range(4):
        now = now or ends.flag[tetrahedra.points[r, j]]
    if was and not now:
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
        now = energy > BACK
    if now:
        found.flag[0] = 1
    if now != was:
        tangled.flag[place] = now
        set_parameter(r, SCALE, convert(SOFT, own) if now else own, cells, parameters, layout)


class Tangles(System):
    """The tetrahedra of one simulation that may be tangled."""

    order = 81

    def __init__(self, state: State, solver: BlockSolver, particles: Particles) -> None:
        block, precision = solver.block, particles.precision
        own, flag = block.parameters[:, SCALE], state.parts[TANGLED]
        rows = np.argsort(block.places)
        rows = rows[own[rows] > RECOVERS]
        points, count, point, row = inner_edges(block.indices[rows], block.parameters[rows, :9])
        stop = np.cumsum(count)
        self._edges = InnerEdges(points=points, start=stop - count, stop=stop, twice=np.zeros(len(points), np.bool_))
        self._around = Around(point=point, row=rows[row].astype(np.uint32))
        self._stiff = StiffTetrahedra(precision, row=rows.astype(np.uint32), place=block.places[rows], scale=own[rows])
        self._tangled, self._ends, self._found = Tangled(flag=flag), Ends.zeros(len(particles)), Found.zeros(1)
        self._found.flag[0] = flag.any()
        self._broken = solver.broken if block.type.name in state.broken else Broken.zeros(block.row_count)
        self._solver, self._particles = solver, particles

    def record_begin(self, p: Program) -> None:
        """Find tangles, and what is out of them."""
        if not len(self._edges):
            return
        access, cell, edges = self._solver.access, (self._found.flag, 0), (self._edges, self._around)
        tetrahedra = Tetrahedra(points=self._solver.block.indices)
        p.launch(find_tangles, *edges, self._particles, self._found, count=len(self._edges))
        with p.when(cell):
            p.copy(0, cell)
            p.launch(clear_ends, self._ends, count=len(self._ends))
            p.launch(mark_ends, *edges, self._broken, self._ends, count=len(self._edges))
            records = self._particles, access.cells, access.parameters, access.layout
            tangled = self._stiff, self._tangled, self._ends, self._found, tetrahedra
            p.launch(update_tangled, *tangled, *records, count=len(self._stiff))


def inner_edges(
    tetrahedra: np.ndarray, inverse_rest: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Edges with one closed ring of tetrahedra around them.

    Args:
        tetrahedra: Particles of each, (T, 4).
        inverse_rest: Inverse of the rest edges of each, (T, 9).

    Returns:
        Particles of the edges, (E, 2); how many particles are around each, (E,); these, edge by edge, in the order in
        which a polygon around them is wound once at rest; the tetrahedron between each and the next.
    """
    corners = tetrahedra.astype(np.int64)[:, EDGES].reshape(-1, 4)
    mirrored = np.repeat(np.linalg.det(inverse_rest.astype(np.float64).reshape(-1, 3, 3)) < 0.0, len(EDGES))
    corners[mirrored] = corners[mirrored][:, [0, 1, 3, 2]]
    backward = corners[:, 0] > corners[:, 1]
    corners[backward] = corners[backward][:, [1, 0, 3, 2]]
    size = int(tetrahedra.max(initial=0)) + 1
    edge = np.unique(corners[:, 0] * size + corners[:, 1], return_inverse=True)[1]
    # the next tetrahedron around an edge begins where this one ends
    begins, ends = edge * size + corners[:, 2], edge * size + corners[:, 3]
    order = np.argsort(begins, kind="stable")
    following = order[np.minimum(np.searchsorted(begins, ends, sorter=order), max(len(order) - 1, 0))]
    degree = np.bincount(edge)
    first = order[np.cumsum(degree) - degree]
    closed = np.bincount(edge, begins[following] != ends) == 0
    ring, now, live = np.zeros_like(order), first.copy(), np.arange(len(degree))
    for k in range(int(degree.max(initial=0))):
        live = live[degree[live] > k]
        # back at the first before the last: several rings
        closed[live] &= (k == 0) | (now[live] != first[live])
        ring[(np.cumsum(degree) - degree)[live] + k] = now[live]
        now[live] = following[now[live]]
    closed &= now == first
    ring = ring[np.repeat(closed, degree)]
    return (
        corners[first[closed], :2].astype(np.uint32),
        degree[closed],
        corners[ring, 2].astype(np.uint32),
        ring // len(EDGES),
    )
