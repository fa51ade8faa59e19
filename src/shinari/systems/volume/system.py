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

import numpy as np

from shinari.compute import Program, convert, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.vec3 import ZERO, add, cross, dot, sub
from shinari.model.model import Model
from shinari.model.particles import Particles
from shinari.model.settings import Settings
from shinari.model.state import State
from shinari.model.system import System
from shinari.systems.volume.model import MULTIPLIERS, VolumesModel
from shinari.systems.volume.records import Chunks, Faces, Meshes, VertexFaces, Vertices

# Faces or vertices of one partial sum.
CHUNK = 256
SIX = np.float32(6.0)


@kernel(fastmath=STEADY, mixed=True)
def measure_faces(k, chunks: Chunks, faces: Faces, particles: Particles):
    """Area vectors of the faces of a chunk, and its part of the volume."""
    begin, end, _, corner = chunks.bounds[k]
    # relative to a corner of the mesh: far from the origin single precision keeps the digits
    o = particles.x[corner]
    total = 0.0
    for f in range(begin, end):
        i, j, k_ = faces.points[f]
        a, b, c = particles.x[i], particles.x[j], particles.x[k_]
        n = cross(sub(b, a), sub(c, a))
        faces.area[f] = n
        total += np.float64(dot(sub(a, o), n)) / 6.0
    chunks.sum[k] = total


@kernel(fastmath=STEADY, mixed=True)
def gather_gradients(
    k, chunks: Chunks, vertices: Vertices, vertex_faces: VertexFaces, faces: Faces, particles: Particles
):
    """Gradient at the vertices of a chunk, and its sum of w |grad|^2."""
    begin, end, _, _ = chunks.bounds[k]
    total = 0.0
    for i in range(begin, end):
        g = faces.area[vertex_faces.face[vertices.start[i]]]
        for e in range(vertices.start[i] + 1, vertices.start[i + 1]):
            g = add(g, faces.area[vertex_faces.face[e]])
        g = g[0] / SIX, g[1] / SIX, g[2] / SIX
        vertices.gradient[i] = g
        total += np.float64(particles.x[vertices.particle[i], 3] * dot(g, g))
    chunks.sum[k] = total


@kernel
def solve_mesh(m, meshes: Meshes, face_chunks: Chunks, vertex_chunks: Chunks, first: int):
    """Multiplier of a mesh; one that is open or without a free vertex stays as it is."""
    volume, weight = 0.0, meshes.scaled_compliance[m]
    for k in range(meshes.faces[m, 0], meshes.faces[m, 1]):
        volume += face_chunks.sum[k]
    for k in range(meshes.vertices[m, 0], meshes.vertices[m, 1]):
        weight += vertex_chunks.sum[k]
    old = 0.0 if first else meshes.multiplier[m]
    error = volume - meshes.volume[m] + meshes.scaled_compliance[m] * old
    moves = weight > 0.0 and meshes.closed[m]
    change = -error / weight if moves else 0.0
    meshes.change[m] = change
    meshes.multiplier[m] = old + change if meshes.closed[m] else 0.0


@kernel(fastmath=STEADY, mixed=True)
def move_vertices(k, chunks: Chunks, meshes: Meshes, vertices: Vertices, particles: Particles):
    """Move the vertices of a chunk by w grad d lambda; a fixed one is not written."""
    begin, end, mesh, _ = chunks.bounds[k]
    for i in range(begin, end):
        p = vertices.particle[i]
        x = particles.x[p]
        if x[3] > ZERO:
            s = convert(meshes.change[mesh] * np.float64(x[3]), x[3])
            g = vertices.gradient[i]
            particles.x[p] = x[0] + s * g[0], x[1] + s * g[1], x[2] + s * g[2], x[3]


class Volumes(System):
    """The volume rows of one simulation."""

    order = 50
    can_rest = True
    on_device = True
    repeated = True

    def __init__(
        self, meshes: VolumesModel, model: Model, state: State, settings: Settings, particles: Particles
    ) -> None:
        precision = model.real
        self._meshes_model, self._particles = meshes, particles
        self._model, self._state = model, state
        self._faces = Faces(precision, points=meshes.triangles, area=np.zeros((len(meshes.triangles), 3), precision))
        count = len(meshes.vertices)
        self._vertices = Vertices.zeros(count + 1, precision)
        self._vertices.particle[:count], self._vertices.start[...] = meshes.vertices, meshes.offsets
        self._vertex_faces = VertexFaces(precision, face=meshes.faces)
        self._face_chunks, faces = _chunks(meshes.face_chunks, len(meshes.volumes))
        self._vertex_chunks, vertices = _chunks(meshes.vertex_chunks, len(meshes.volumes))
        self._meshes = Meshes.zeros(len(meshes.volumes), precision)
        self._meshes.bind(
            multiplier=state.system_arrays[MULTIPLIERS], volume=meshes.volumes, faces=faces, vertices=vertices
        )
        # stiffnesses of "pbd" are for rows: a volume is then kept exactly
        self._meshes.scaled_compliance[...] = meshes.compliance * (
            0.0 if settings.method == "pbd" else settings.substep**-2
        )
        self.follow_release()

    def follow_release(self) -> None:
        """Release meshes that have torn open."""
        self._meshes.closed[...] = ~self._meshes_model.torn(self._model, self._state)

    def record_project(self, p: Program, first: bool) -> None:
        """Solve the row of each mesh once."""
        faces, vertices, points = self._face_chunks, self._vertex_chunks, self._particles
        p.launch(measure_faces, faces, self._faces, points, count=len(faces), grain=4)
        records = vertices, self._vertices, self._vertex_faces, self._faces, points
        p.launch(gather_gradients, *records, count=len(vertices), grain=4)
        p.launch(solve_mesh, self._meshes, faces, vertices, int(first), count=len(self._meshes))
        p.launch(move_vertices, vertices, self._meshes, self._vertices, points, count=len(vertices), grain=4)

    def record_between(self, p: Program) -> None:
        """What a contact takes from a closed mesh has to come out elsewhere."""
        self.record_project(p, False)


def _chunks(bounds: np.ndarray, meshes: int) -> tuple[Chunks, np.ndarray]:
    """Record of chunks, and the first and last of each mesh, (K, 2)."""
    ends = np.searchsorted(bounds[:, 2], np.arange(meshes + 1))
    chunks = Chunks(bounds=bounds, sum=np.zeros(len(bounds)))
    return chunks, np.ascontiguousarray(np.stack([ends[:-1], ends[1:]], axis=1))
