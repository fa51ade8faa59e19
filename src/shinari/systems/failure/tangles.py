r"""Recovery of Neo-Hookean bodies from tangles: tetrahedra at an edge that is wound twice become compressible.

            c1              c0, c1, ... are the other vertices of the tetrahedra around an inner edge a-b, along it:
           /  \             a closed polygon. Its winding number about a is 1 at rest, and as long as no tetrahedron
         c2    c0           turns inside out. In a tangle it is 2, with all volumes positive.
          | a  /
         c3--c4

A body that is pressed until tetrahedra turn inside out can be released into a tangle. To come out of it some tetrahedra
have to pass through no volume, against

    s^2 (1 - J) mu,    s^2 = 1 / (1 - 2 nu)

while the shear of the others pulls with a pressure of about mu. For nu <= 0.1 they get through; above, the tangle may
be a minimum of the energy of the body (measured in `docs/decisions/solids.md`). No function of F can tell a tangle
from a body under pressure, whose tetrahedra may be flat as well; the winding number does. So the tetrahedra at the
ends of an edge that is wound twice have the s of nu = 0.1, until their energy by their own law is below `BACK`. So have
those at the ends of a quiet edge beside them that is wound no more or backwards: held by others of their own law they
would stay inside out. All others keep their law, however they are pressed: an edge may be wound no more under a load.

A tetrahedron loses energy where it becomes compressible, and gains less than BACK / 2 of mu V when it has its own law
again. A tangle costs more: where an edge is wound twice, a dihedral angle has doubled at least.

**Search.** Edges are looked at before each step, but few of them. The angles around an edge are 2 pi in sum at rest and
4 pi where it is wound twice, so one of its tetrahedra has an angle t of at least twice the angle r at rest. F maps the
plane across the edge by a matrix whose ratio of singular values is at most that of F, k, and such a matrix opens an
angle to tan(t/2) <= k tan(r/2). So k >= tan r / tan(r/2) = 1 + 1 / cos r. For singular values a >= b >= c, a / c = k,
the least (a^2 + b^2 + c^2)^3 / (a b c)^2 is at b^2 = (a^2 + c^2) / 2:

    |F|^6 >= 27/4 (k + 1/k)^2 J^2

Only edges with both ends at a tetrahedron for which that holds (with its smallest angle at rest as r) are looked at. It
follows from the positions alone, so it misses no tangle, however it arose: in a substep, by a user, in a file.
"""

import numpy as np

from shinari.compute import Field, Program, Record, convert, kernel, real, scratch
from shinari.compute.kernels import STEADY
from shinari.constraints.neo_hookean import NEO_HOOKEAN, hydrostatic_scale
from shinari.maths.mat3 import cofactors, inner
from shinari.maths.simplex import tetrahedron_deformation
from shinari.maths.vec3 import ZERO, cross, direction_and_length, dot, sub
from shinari.model.model import ConstraintBlock, Model
from shinari.model.particles import Particles
from shinari.model.state import State
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.systems.failure.tearing import Tetrahedra, deformation_gradient
from shinari.systems.rows.batches import WIDTH, Batches
from shinari.systems.rows.row_access import Broken, Cells, Layout, Parameters, set_parameter
from shinari.systems.rows.system import GRAIN, BlockSolver, block_solvers

TANGLED = "solids/tangled"
"""Name of the array of the state that says which tetrahedra are tangled."""

# Energy over mu V / 2 below which a tetrahedron has its own law again: a shear of 0.14.
BACK = 0.02
# s of tangled tetrahedra: that of nu = 0.1; with 1 two of 36,000 random tetrahedra were thrown far away.
SOFT = hydrostatic_scale(0.1)
# Up to this s bodies recover by themselves: that of tangled tetrahedra, rounded up.
RECOVERS = 1.00001 * SOFT
# Lengths in a second by which the ends of a quiet edge move past each other at most. Where all of a beam that began ten
# times as large was compressible, it was thrown far away.
QUIET = np.float32(10.0)
# Part of the smallest |F|^6 / J^2 of a tangled tetrahedron from which on its edges are looked at, for rounding.
MARGIN = 0.9
SCALE = 9
"""Column of s among the parameters."""
# The edges of a tetrahedron, each with the other two vertices so that all four are an even permutation.
EDGES = np.array([[0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2], [1, 2, 0, 3], [1, 3, 2, 0], [2, 3, 0, 1]])


class InnerEdges(Record):
    """Edges inside of a body, E rows."""

    points = Field(np.uint32, 2)
    start = Field(np.int64, doc="first row of `Around`")
    stop = Field(np.int64)
    tangled = Field(np.bool_, doc="whether it is wound twice, or no more, quiet and beside a tangled tetrahedron")


class Around(Record):
    """The particles around each edge, in order."""

    point = Field(np.uint32)
    row = Field(np.uint32, doc="tetrahedron between it and the next")
    place = Field(np.uint32, doc="row of `Tangled` of that")


class Shapes(Record):
    """Tetrahedra that do not recover by themselves in SIMD batches, B rows."""

    points = Field(np.uint32, (4, WIDTH))
    inverse_rest = Field(real, (9, WIDTH), unit="1/m")
    limit = Field(real, WIDTH, doc="|F|^6 / J^2 from which on its edges are looked at")


class Stretched(Record):
    """Particles of tetrahedra beyond their limit, N rows."""

    flag = Field(np.bool_)


class Ends(Record):
    """Particles at the ends of tangled edges, N rows."""

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
    """One row."""

    stretched = Field(np.int64, doc="whether edges have to be looked at")
    tangled = Field(np.int64, doc="whether an edge is wound twice or a tetrahedron is compressible")


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
        tangled = state.system_arrays[TANGLED][block.added_index] & (values[:, SCALE] > RECOVERS)
        values[tangled, SCALE] = SOFT

    def bind(self, bound: BoundSystems) -> "list[Tangles]":
        """The tetrahedra of a simulation."""
        solver = block_solvers(bound).get(NEO_HOOKEAN.name)
        return [] if solver is None else [Tangles(bound.state, solver, bound.particles)]


@kernel(vector=True)
def find_stretched(batch, shapes: Shapes, particles: Particles, stretched: Stretched, found: Found):
    """Mark the particles of tetrahedra of a batch that are beyond their limit."""
    x = scratch((12, WIDTH), shapes.limit[batch, 0])
    beyond = scratch(WIDTH, np.int32(0))
    for lane in range(WIDTH):
        for i in range(4):
            q = particles.x[shapes.points[batch, i, lane]]
            x[3 * i, lane], x[3 * i + 1, lane], x[3 * i + 2, lane] = q[0], q[1], q[2]
    count = 0
    for lane in range(WIDTH):
        corners = (
            (x[0, lane], x[1, lane], x[2, lane]),
            (x[3, lane], x[4, lane], x[5, lane]),
            (x[6, lane], x[7, lane], x[8, lane]),
            (x[9, lane], x[10, lane], x[11, lane]),
        )
        b = shapes.inverse_rest
        rest = (
            b[batch, 0, lane], b[batch, 1, lane], b[batch, 2, lane], b[batch, 3, lane], b[batch, 4, lane],
            b[batch, 5, lane], b[batch, 6, lane], b[batch, 7, lane], b[batch, 8, lane],
        )  # fmt: skip
        f = tetrahedron_deformation(corners, rest)
        size, volume = inner(f, f), dot(f[0], cofactors(f)[0])
        # not <: numbers that are not finite are looked at
        over = 0 if size * size * size < shapes.limit[batch, lane] * volume * volume else 1
        beyond[lane] = over
        count += over
    if count > 0:
        found.stretched[0] = 1
        for lane in range(WIDTH):
            if beyond[lane] != 0:
                for i in range(4):
                    stretched.flag[shapes.points[batch, i, lane]] = True


@kernel
def find_tangles(
    e, edges: InnerEdges, around: Around, particles: Particles, stretched: Stretched, tangled: Tangled, found: Found
):  # fmt: skip
    """Wind the polygon around an edge: count how often it crosses a half plane that ends on the edge."""
    edges.tangled[e] = False
    if not (stretched.flag[edges.points[e, 0]] and stretched.flag[edges.points[e, 1]]):
        return
    start, stop = edges.start[e], edges.stop[e]
    a = particles.x[edges.points[e, 0]]
    axis, size = direction_and_length(sub(particles.x[edges.points[e, 1]], a))
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
    beside = False
    if turns <= 0:
        rate, length = sub(particles.v[edges.points[e, 1]], particles.v[edges.points[e, 0]]), QUIET * size
        if dot(rate, rate) < length * length:
            for k in range(start, stop):
                beside = beside or tangled.flag[around.place[k]]
    if turns >= 2 or beside:
        edges.tangled[e] = True
        found.tangled[0] = 1


@kernel
def clear_marks(i, stretched: Stretched, ends: Ends):
    """Forget the marks of a step."""
    stretched.flag[i] = ends.flag[i] = False


@kernel
def mark_ends(e, edges: InnerEdges, around: Around, broken: Broken, ends: Ends):
    """Mark the ends of a tangled edge, unless one of its tetrahedra has torn."""
    if edges.tangled[e]:
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
        found.tangled[0] = 1
    if now != was:
        tangled.flag[place] = now
        set_parameter(r, SCALE, convert(SOFT, own) if now else own, cells, parameters, layout)


class Tangles(System):
    """The tetrahedra of one simulation that may be tangled."""

    order = 81
    can_rest = True
    on_device = True

    def __init__(self, state: State, solver: BlockSolver, particles: Particles) -> None:
        block, precision = solver.block, particles.precision
        own, flag = block.parameters[:, SCALE], state.system_arrays[TANGLED]
        rows = np.argsort(block.added_index)
        rows = rows[own[rows] > RECOVERS]
        points, count, point, row = inner_edges(block.indices[rows], block.parameters[rows, :9])
        stop = np.cumsum(count)
        self._edges = InnerEdges(points=points, start=stop - count, stop=stop, tangled=np.zeros(len(points), np.bool_))
        place = block.added_index[rows[row]].astype(np.uint32)
        self._around = Around(point=point, row=rows[row].astype(np.uint32), place=place)
        self._stiff = StiffTetrahedra(
            precision, row=rows.astype(np.uint32), place=block.added_index[rows], scale=own[rows]
        )
        self._shapes = _shapes(block.indices[rows], block.parameters[rows, :9])
        self._tangled, self._found = Tangled(flag=flag), Found.zeros(1)
        self._stretched, self._ends = Stretched.zeros(len(particles)), Ends.zeros(len(particles))
        self._found.stretched[0] = self._found.tangled[0] = flag.any()
        self._broken = solver.broken if block.type.name in state.broken else Broken.zeros(block.row_count)
        self._solver, self._particles = solver, particles

    def record_begin(self, p: Program) -> None:
        """Find tangles, and what is out of them."""
        if not len(self._edges):
            return
        access, edges, marks = self._solver.access, (self._edges, self._around), (self._stretched, self._ends)
        particles, found, count = self._particles, self._found, len(self._edges)
        search, tangled = (found.stretched, 0), (found.tangled, 0)
        tetrahedra = Tetrahedra(points=self._solver.block.indices)
        p.launch(find_stretched, self._shapes, particles, self._stretched, found, count=len(self._shapes), grain=GRAIN)
        with p.when(search):
            p.launch(find_tangles, *edges, particles, self._stretched, self._tangled, found, count=count)
            p.copy(0, search)
            with p.when(tangled):
                p.copy(0, tangled)
                p.launch(mark_ends, *edges, self._broken, self._ends, count=count)
                stiff = self._stiff, self._tangled, self._ends, found, tetrahedra
                records = particles, access.cells, access.parameters, access.layout
                p.launch(update_tangled, *stiff, *records, count=len(self._stiff))
                # as long as tetrahedra are compressible they are looked at in each step
                p.copy(tangled, search)
            p.launch(clear_marks, *marks, count=len(self._ends))


def _shapes(tetrahedra: np.ndarray, inverse_rest: np.ndarray) -> Shapes:
    """Tetrahedra (T, 4) with the inverses of their rest edges (T, 9) in batches, with their limits."""
    batches = Batches(tetrahedra, np.array([0, len(tetrahedra)]))
    arranged = batches.arranged(inverse_rest), batches.arranged(search_limits(inverse_rest).astype(inverse_rest.dtype))
    return Shapes(inverse_rest.dtype.type, points=batches.indices, inverse_rest=arranged[0], limit=arranged[1])


def search_limits(inverse_rest: np.ndarray) -> np.ndarray:
    """|F|^6 / J^2 that tetrahedra have at least where one of their dihedral angles has doubled, times `MARGIN`, (T,).

    Args:
        inverse_rest: Inverses of their rest edges, (T, 9); zero for one that is flat, which has the limit 0.
    """
    normals = inverse_rest.astype(np.float64).reshape(-1, 3, 3)
    normals = np.concatenate([normals, -normals.sum(axis=1, keepdims=True)], axis=1)
    length = np.linalg.norm(normals, axis=2, keepdims=True)
    normals = np.divide(normals, length, out=np.zeros_like(normals), where=length > 0.0)
    # largest cosine of a dihedral angle: the normals point inwards
    cosine = -(normals @ np.swapaxes(normals, 1, 2)).min(axis=(1, 2))
    ratio = 1.0 + 1.0 / np.maximum(cosine, 1e-6)
    return np.where(cosine > 0.0, MARGIN * 27.0 / 4.0 * (ratio + 1.0 / ratio) ** 2, 0.0)


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
