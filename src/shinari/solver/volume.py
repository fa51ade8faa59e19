r"""The volume of closed meshes: one multiplier for each mesh, which is the pressure inside.

                 n_f          V = sum over faces of a . A_f / 3,   A_f = (b - a) x (c - a) / 2, the area as a vector
            c    |            C = V - r V0
           / \   |            grad_i = 1/3 sum over the faces at i of A_f
          /   \               dx_i = w_i grad_i d lambda,   d lambda as of any row, Macklin et al. 2016, eq. 18
         a-----b
                              compliance alpha [m^3/Pa];   lambda / h^2 = (r V0 - V) / alpha: pressure inside above that
                              outside [Pa]

Mueller et al. 2006, Position Based Dynamics, section 4.4 (cloth balloons). Constraint and gradients reach over the
whole mesh, so it is no row: one pass over the faces, one over the vertices, which gather, one that moves them. The
gradients sum to zero and, taken at one moment, have no torque. Sums run in chunks of fixed size, in float64, so that
the bits do not depend on the number of threads.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numba
import numpy as np

from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import ZERO, add, cross, dot, sub
from shinari.model import Model
from shinari.settings import Settings
from shinari.state import State

if TYPE_CHECKING:
    from shinari.solver.workspace import Workspace

# Faces or vertices of one partial sum.
CHUNK = 256
# Fewer chunks than this are not worth waking the other threads for.
SERIAL = 8
SIX = np.float32(6.0)
MULTIPLIERS = "volumes/multipliers"


@dataclass(frozen=True)
class VolumesModel:
    """Closed meshes that keep their volume.

    Attributes:
        name: What it is called in messages.
        things: Which of the things each mesh is the surface of, (K,) int64.
        triangles: Particles of the faces of all meshes, outward, mesh after mesh, (F, 3) uint32.
        face_chunks: First face, last face (exclusive), mesh, and a particle of the mesh, by chunk, (C, 4) int64.
        vertices: Particles of all meshes, mesh after mesh, (V,) uint32.
        vertex_chunks: The same for vertices, (D, 4) int64.
        offsets: Where the faces of each vertex start, (V + 1,) int64.
        faces: Faces of each vertex, one vertex after another, (3 F,) uint32.
        volumes: Volumes that the meshes are to have [m^3], (K,) float64.
        compliance: Compliance [m^3/Pa], (K,) float64.
    """

    things: np.ndarray
    triangles: np.ndarray
    face_chunks: np.ndarray
    vertices: np.ndarray
    vertex_chunks: np.ndarray
    offsets: np.ndarray
    faces: np.ndarray
    volumes: np.ndarray
    compliance: np.ndarray
    name: str = "volumes"

    def start(self, model: Model) -> dict[str, np.ndarray]:
        """The multipliers of the last substep, (K,) float64."""
        return {MULTIPLIERS: np.zeros(len(self.volumes))}

    def bind(self, model: Model, state: State, settings: Settings, work: "Workspace") -> "Volumes":
        """The meshes of one simulation."""
        return Volumes(self, model, state, settings)

    def measured(self, model: Model, state: State) -> np.ndarray:
        """Volumes now [m^3], (K,)."""
        areas, sums = np.zeros((len(self.triangles), 3)), np.zeros(len(self.face_chunks))
        measure(1, self.triangles, self.face_chunks, state.x.astype(np.float64), areas, sums)
        return np.bincount(self.face_chunks[:, 2], weights=sums, minlength=len(self.things))

    def torn(self, model: Model, state: State) -> np.ndarray:
        """Which meshes have lost a face, so that nothing is kept in them, (K,)."""
        open_things = [f.thing for f in model.fabrics if not f.present(state.broken[f.block]).all()]
        return np.isin(self.things, open_things)

    def energy(self, model: Model, state: State) -> tuple[float, float]:
        """No kinetic energy of its own, and 1/2 C^2 / compliance [J]."""
        soft = (self.compliance > 0.0) & ~self.torn(model, state)
        error = (self.measured(model, state) - self.volumes)[soft]
        return 0.0, 0.5 * float((error**2 / self.compliance[soft]).sum())

    def angular_momentum(self, model: Model, state: State) -> np.ndarray:
        """None of its own."""
        return np.zeros(3)


class Volumes:
    """The volume rows of one simulation."""

    def __init__(self, meshes: VolumesModel, model: Model, state: State, settings: Settings) -> None:
        self._meshes, self._x = meshes, state.x
        self._multipliers = state.parts[MULTIPLIERS]
        # stiffnesses of "pbd" are for rows: a volume is then kept exactly
        self._softness = meshes.compliance * (0.0 if settings.method == "pbd" else settings.substep**-2)
        self.follow_tears(model, state)
        self._areas = np.zeros((len(meshes.triangles), 3), model.real)
        self._gradients = np.zeros((len(meshes.vertices), 3), model.real)
        self._sums = np.zeros(len(meshes.face_chunks))
        self._squares = np.zeros(len(meshes.vertex_chunks))

    def follow_tears(self, model: Model, state: State) -> None:
        """Let go of meshes that have torn open."""
        self._closed = ~self._meshes.torn(model, state)

    def predict(self, h: float) -> None:
        """Nothing of its own moves."""

    def project(self, threads: int, first: bool) -> None:
        """Solve the row of each mesh once."""
        meshes, count = self._meshes, len(self._multipliers)
        threads = threads if len(meshes.face_chunks) >= SERIAL else 1
        measure(threads, meshes.triangles, meshes.face_chunks, self._x, self._areas, self._sums)
        gather(threads, meshes.vertices, meshes.vertex_chunks, meshes.offsets, meshes.faces, self._areas, self._x,
               self._gradients, self._squares)  # fmt: skip
        volumes = np.bincount(meshes.face_chunks[:, 2], weights=self._sums, minlength=count)
        weights = np.bincount(meshes.vertex_chunks[:, 2], weights=self._squares, minlength=count)
        old = np.zeros(count) if first else self._multipliers.copy()
        error = volumes - meshes.volumes + self._softness * old
        whole = weights + self._softness
        # a mesh without a free vertex stays as it is
        change = np.divide(-error, whole, out=np.zeros(count), where=(whole > 0.0) & self._closed)
        self._multipliers[...] = np.where(self._closed, old + change, 0.0)
        move(threads, meshes.vertices, meshes.vertex_chunks, self._gradients, change, self._x)

    def finish(self, threads: int) -> None:
        """Nothing is left to do."""


@steady
def _load(x, i):
    return x[i, 0], x[i, 1], x[i, 2]


@steady
def measure_chunks(begin, end, triangles, chunks, x, areas, sums):
    """See `measure`."""
    for k in range(begin, end):
        # relative to a corner of the mesh: far from the origin single precision keeps the digits
        origin = _load(x, chunks[k, 3])
        total = np.float64(0.0)
        for f in range(chunks[k, 0], chunks[k, 1]):
            a, b, c = _load(x, triangles[f, 0]), _load(x, triangles[f, 1]), _load(x, triangles[f, 2])
            n = cross(sub(b, a), sub(c, a))
            areas[f, 0], areas[f, 1], areas[f, 2] = n[0], n[1], n[2]
            total += np.float64(dot(sub(a, origin), n)) / 6.0
        sums[k] = total


@numba.njit(parallel=True, cache=True, **STEADY)
def measure(threads, triangles, chunks, x, areas, sums):
    """Twice the area vector of each face (F, 3), and the part of the volume that belongs to each chunk."""
    count = len(chunks)
    for t in numba.prange(threads):
        measure_chunks(count * t // threads, count * (t + 1) // threads, triangles, chunks, x, areas, sums)


@steady
def gather_chunks(begin, end, vertices, chunks, offsets, faces, areas, x, gradients, squares):
    """See `gather`."""
    for k in range(begin, end):
        total = np.float64(0.0)
        for i in range(chunks[k, 0], chunks[k, 1]):
            g = (areas[0, 0] * ZERO, areas[0, 0] * ZERO, areas[0, 0] * ZERO)
            for e in range(offsets[i], offsets[i + 1]):
                g = add(g, _load(areas, faces[e]))
            g = (g[0] / SIX, g[1] / SIX, g[2] / SIX)
            gradients[i, 0], gradients[i, 1], gradients[i, 2] = g[0], g[1], g[2]
            total += np.float64(x[vertices[i], 3] * dot(g, g))
        squares[k] = total


@numba.njit(parallel=True, cache=True, **STEADY)
def gather(threads, vertices, chunks, offsets, faces, areas, x, gradients, squares):
    """Gradient of the volume at each vertex (V, 3), and the sum of w |grad|^2 over each chunk."""
    count = len(chunks)
    for t in numba.prange(threads):
        gather_chunks(
            count * t // threads,
            count * (t + 1) // threads,
            vertices,
            chunks,
            offsets,
            faces,
            areas,
            x,
            gradients,
            squares,
        )


@steady
def move_chunks(begin, end, vertices, chunks, gradients, change, x):
    """See `move`."""
    for k in range(begin, end):
        by = change[chunks[k, 2]]
        for i in range(chunks[k, 0], chunks[k, 1]):
            p = vertices[i]
            s = by * x[p, 3]
            # a fixed one is not written
            if x[p, 3] > ZERO:
                x[p, 0] += s * gradients[i, 0]
                x[p, 1] += s * gradients[i, 1]
                x[p, 2] += s * gradients[i, 2]


@numba.njit(parallel=True, cache=True, **STEADY)
def move(threads, vertices, chunks, gradients, change, x):
    """Move all vertices by w grad d lambda."""
    count = len(chunks)
    for t in numba.prange(threads):
        move_chunks(count * t // threads, count * (t + 1) // threads, vertices, chunks, gradients, change, x)
