"""Tearing: rows that are strained beyond their limit let go for good, and what they held goes with them.

Distance rows are judged by (|x0 - x1| - L) / L, tetrahedra by their largest principal strain s - 1, where s^2 is the
largest eigenvalue of F^T F: what they are strained by at the end of a substep. Of what tears too early at its substeps
`early_failure` warns.

A triangle that has lost an edge, and a tetrahedron that has let go, is removed: it is no longer drawn, feels no air and
keeps nothing off; no particle is removed. Edges without a triangle left and rows that bend two triangles go with them.
"""

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from shinari.compute import Field, Kernel, Program, Record, function, kernel, real, scratch
from shinari.compute.kernels import STEADY
from shinari.compute.once import once
from shinari.geometry.tetrahedra.check import boundary_faces
from shinari.maths.eigen import eigen
from shinari.model.model import DependentRows, Model, TearableMesh, TearableRows
from shinari.model.particles import Particles
from shinari.model.state import State
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.scene.contents import Contents
from shinari.scene.materials import ClothMaterial
from shinari.scene.objects import ParticleObject
from shinari.systems.failure.early_failure import warn_of_early_failure
from shinari.systems.rows.row_access import Broken, Cells, Coefficients, Layout, Parameters, parameter, release_row

if TYPE_CHECKING:
    from shinari.systems.rows.system import BlockSolver


def elements_left(model: Model, state: State, owner: int) -> np.ndarray | None:
    """Which triangles, segments or tetrahedra of an object are still there, (E,); None: it cannot tear."""
    for tearable_mesh in model.tearable_meshes:
        if tearable_mesh.object_number == owner:
            return tearable_mesh.present(state.broken[tearable_mesh.block])
    return None


def faces_left(obj: ParticleObject, left: np.ndarray | None) -> np.ndarray:
    """Active triangles of an object, (F, 3), local indices; of a soft body its boundary now."""
    assert obj.faces is not None
    if left is None or left.all():
        return obj.faces
    if obj.tetrahedra is not None:
        return boundary_faces(np.asarray(obj.tetrahedra)[left])
    return obj.faces[left]


def shown_left(obj: ParticleObject, left: np.ndarray | None) -> np.ndarray:
    """Triangles of a visual surface that are still there, (F, 3): no vertex is in a tetrahedron that is gone."""
    visual, tetrahedra = obj.visual, obj.tetrahedra
    assert visual is not None
    corners = getattr(visual, "corners", None)
    if left is None or left.all() or corners is None or tetrahedra is None:
        return np.array(visual.faces)
    gone = {tuple(row) for row in np.sort(tetrahedra[~left], axis=1).tolist()}
    lost = np.array([tuple(row) in gone for row in np.sort(corners, axis=1).tolist()])
    return visual.faces[~lost[visual.faces].any(axis=1)]


def air_left(scene: Contents, model: Model, state: State) -> np.ndarray:
    """Which triangles in the air are still there, (F,)."""
    found = []
    for owner, obj in enumerate(scene.particle_objects):
        if isinstance(obj.material, ClothMaterial) and obj.faces is not None:
            left = elements_left(model, state, owner)
            found.append(np.ones(len(obj.faces), np.bool_) if left is None else left)
    return np.concatenate(found)


class Edges(Record):
    """Particles of the distance rows of a block, M rows."""

    points = Field(np.uint32, 2)


class Tetrahedra(Record):
    """Particles of the tetrahedra of a block, M rows."""

    points = Field(np.uint32, 4)


class Tearable(Record):
    """Rows of a block that can tear."""

    row = Field(np.uint32)


class Torn(Record):
    """One row for each object that can tear, and one for all of them at the end."""

    flag = Field(np.int64, doc="whether rows have been released since it was last reset")


class Elements(Record):
    """Elements of an object, and one at the end that never goes."""

    removed = Field(np.bool_)


class DependentRowsRecord(Record):
    """Rows that go with elements."""

    row = Field(np.uint32)
    elements = Field(np.int64, 2, doc="elements that it follows")
    needed = Field(np.int64, doc="how many of them have to be gone")


@kernel(fastmath=STEADY)
def tear_edge(
    k, tearable: Tearable, edges: Edges, particles: Particles, broken: Broken, cells: Cells, coefficients: Coefficients,
    parameters: Parameters, layout: Layout, torn: Torn, owner: int, limit: real,
):  # fmt: skip
    """Release a distance row that is longer than `limit` times its rest length."""
    r = np.int64(tearable.row[k])
    if broken.flag[r]:
        return
    i, j = edges.points[r]
    p, q = particles.x[i], particles.x[j]
    a, b, c = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    most = limit * parameter(r, 0, cells, parameters, layout)
    if a * a + b * b + c * c > most * most:
        release_row(r, broken, cells, coefficients, layout)
        torn.flag[owner] = 1


@function(fastmath=STEADY)
def deformation_gradient(r, tetrahedra, particles, cells, parameters, layout, f):
    """F of a tetrahedron into f, float64, with the inverse rest shape as the first nine parameters."""
    corner = particles.x[tetrahedra.points[r, 0]]
    for j in range(3):
        f[0, j] = f[1, j] = f[2, j] = 0.0
    for k in range(3):
        other = particles.x[tetrahedra.points[r, k + 1]]
        a, b, d = other[0] - corner[0], other[1] - corner[1], other[2] - corner[2]
        for j in range(3):
            inverse = np.float64(parameter(r, 3 * k + j, cells, parameters, layout))
            f[0, j] += np.float64(a) * inverse
            f[1, j] += np.float64(b) * inverse
            f[2, j] += np.float64(d) * inverse


@function(fastmath=STEADY)
def right_cauchy_green(r, tetrahedra, particles, cells, parameters, layout, c):
    """F^T F of a tetrahedron into c, float64."""
    f = scratch((3, 3), c[0, 0])
    deformation_gradient(r, tetrahedra, particles, cells, parameters, layout, f)
    for i in range(3):
        for j in range(i, 3):
            c[i, j] = f[0, i] * f[0, j] + f[1, i] * f[1, j] + f[2, i] * f[2, j]
            c[j, i] = c[i, j]


@kernel(fastmath=STEADY, mixed=True)
def tear_tetrahedron(
    k, tearable: Tearable, tetrahedra: Tetrahedra, particles: Particles, broken: Broken, cells: Cells,
    coefficients: Coefficients, parameters: Parameters, layout: Layout, torn: Torn, owner: int, limit: real,
):  # fmt: skip
    """Release a tetrahedron that is stretched beyond `limit`."""
    r = np.int64(tearable.row[k])
    if broken.flag[r]:
        return
    c, v = scratch((3, 3), np.float64(0.0)), scratch((3, 3), np.float64(0.0))
    right_cauchy_green(r, tetrahedra, particles, cells, parameters, layout, c)
    most = np.float64(limit) * np.float64(limit)
    # no eigenvalue is larger than the largest sum over a row (Gershgorin)
    bound = 0.0
    for i in range(3):
        bound = max(bound, abs(c[i, 0]) + abs(c[i, 1]) + abs(c[i, 2]))
    if bound > most:
        eigen(c, v)
        if max(c[0, 0], max(c[1, 1], c[2, 2])) > most:
            release_row(r, broken, cells, coefficients, layout)
            torn.flag[owner] = 1


@once
def holders_record(rows: int) -> type[Record]:
    """Record of the rows that hold each element, E rows."""
    return type("Holders", (Record,), {"row": Field(np.uint32, rows)})


@once
def mark_elements(rows: int) -> Kernel:
    """Kernel that marks the elements that have lost one of so many rows."""

    @kernel
    def mark_element(e, holders: Annotated[Any, holders_record(rows)], broken: Broken, elements: Elements):
        for k in range(rows):
            if broken.flag[holders.row[e, k]]:
                elements.removed[e] = True

    return mark_element


@kernel
def release_dependent_rows(
    k,
    dependent_rows: DependentRowsRecord,
    elements: Elements,
    broken: Broken,
    cells: Cells,
    coefficients: Coefficients,
    layout: Layout,
):
    """Release a row whose elements are gone."""
    i, j = dependent_rows.elements[k]
    r = np.int64(dependent_rows.row[k])
    if np.int64(elements.removed[i]) + np.int64(elements.removed[j]) >= dependent_rows.needed[k] and not broken.flag[r]:
        release_row(r, broken, cells, coefficients, layout)


@kernel
def note(_, torn: Torn, owner: int):
    """Tell all that an object has torn, and reset its own mark."""
    torn.flag[owner] = 0
    torn.flag[len(torn) - 1] = 1


class TearingModel(SystemModel):
    """Rows that tear; they stand in the model."""

    def bind(self, bound: BoundSystems) -> "list[TearingSystem]":
        """The rows of a simulation."""
        from shinari.systems.rows.system import block_solvers

        rows = bound.model.tearable_rows
        warn_of_early_failure(bound, ((each.block, each.rows) for each in rows), "tear_strain")
        return [TearingSystem(bound.model, block_solvers(bound), bound.particles)] if rows else []


class TearingSystem(System):
    """Rows of one simulation that tear."""

    order = 82
    can_rest = True
    on_device = True

    def __init__(self, model: Model, solvers: "dict[str, BlockSolver]", particles: Particles) -> None:
        self._model, self._solvers, self._particles = model, solvers, particles
        self._objects = sorted({self._object_of(tearing) for tearing in model.tearable_rows})
        self._torn = Torn.zeros(len(self._objects) + 1)
        self._tearable = [Tearable(row=tearing.rows.astype(np.uint32)) for tearing in model.tearable_rows]
        self._tearable_meshes = [
            tearable_mesh for tearable_mesh in model.tearable_meshes if tearable_mesh.object_number in self._objects
        ]
        self._elements = [Elements.zeros(len(tearable_mesh.rows) + 1) for tearable_mesh in self._tearable_meshes]

    def take_released(self) -> bool:
        """Whether an element has been released since this was last asked."""
        released = bool(self._torn.flag[-1])
        self._torn.flag[-1] = 0
        return released

    def record_finish(self, p: Program) -> None:
        """Release all rows that are strained beyond their limit, and what goes with their elements."""
        for tearing, tearable in zip(self._model.tearable_rows, self._tearable, strict=True):
            solver = self._solvers[tearing.block]
            tear, kind = (tear_edge, Edges) if solver.block.type.points == 2 else (tear_tetrahedron, Tetrahedra)
            access, points = solver.access, kind(points=solver.block.indices)
            records = solver.broken, access.cells, access.coefficients, access.parameters, access.layout, self._torn
            owner, limit = self._objects.index(self._object_of(tearing)), 1.0 + tearing.strain
            p.launch(tear, tearable, points, self._particles, *records, owner, limit, count=len(tearable))
        for tearable_mesh, elements in zip(self._tearable_meshes, self._elements, strict=True):
            owner = self._objects.index(tearable_mesh.object_number)
            with p.when((self._torn.flag, owner)):
                self._record_tearable_mesh(p, tearable_mesh, elements)
        for owner in range(len(self._objects)):
            with p.when((self._torn.flag, owner)):
                p.serial(note, self._torn, owner)

    def _record_tearable_mesh(self, p: Program, tearable_mesh: TearableMesh, elements: Elements) -> None:
        held = tearable_mesh.rows.shape[1]
        holders = holders_record(held)(row=np.ascontiguousarray(tearable_mesh.rows, np.uint32))
        p.launch(mark_elements(held), holders, self._solvers[tearable_mesh.block].broken, elements, count=len(holders))
        for dependent in tearable_mesh.dependent_rows:
            solver, rows = self._solvers[dependent.block], _dependent_rows_records(dependent, len(elements))
            access = solver.access
            records = solver.broken, access.cells, access.coefficients, access.layout
            p.launch(release_dependent_rows, rows, elements, *records, count=len(rows))

    def _object_of(self, tearing: TearableRows) -> int:
        """The object that rows belong to; those of one record are of one object."""
        first = self._solvers[tearing.block].block.indices[tearing.rows[0], 0]
        return int(self._model.owners[first])


def _dependent_rows_records(dependent: DependentRows, elements: int) -> DependentRowsRecord:
    """Records of rows that go with elements; the element -1 is the last, which never goes."""
    which = np.where(dependent.elements < 0, elements - 1, dependent.elements)
    needed = np.broadcast_to(dependent.needed, len(dependent.rows))
    return DependentRowsRecord(row=dependent.rows.astype(np.uint32), elements=which, needed=needed.astype(np.int64))
