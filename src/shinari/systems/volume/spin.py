r"""The spin of closed meshes, which rows that are solved one after the other would change.

Of corrections d the change of the angular momentum is sum m s x d / h, s: where points were as the substep began. A row
pulls along the line of its points as they are now; while the pressure pushes these outwards, that line turns, and the
order of the rows makes its moment the same in each substep: a ball began to turn by itself. So the mesh is turned back
as a whole, by theta about its centre c, with the moment that all of it has had:

    sum m (s - c_s) x (theta x (x - c)) = -sum m (s - c_s) x d          A theta = -L

    A = tr(C) 1 - C^T,  C = sum m (s - c_s) (x - c)^T

Meshes that something holds take moments from outside, and are left alone.
"""

import numpy as np

from shinari.compute import Field, Program, Record, convert, kernel, real
from shinari.compute.kernels import STEADY
from shinari.maths.vec3 import ZERO, add, cross, dot, scale, sub
from shinari.model.particles import Particles
from shinari.model.system import System
from shinari.model.system_model import BoundSystems
from shinari.systems.colliders.collide import place, previous_position
from shinari.systems.volume.model import VolumesModel
from shinari.systems.volume.records import Chunks, Meshes, Vertices


class Noted(Record):
    """Vertices of all meshes."""

    x = Field(real, 3, unit="m", doc="place before rows and pressure were solved")


class Moments(Record):
    """Chunks of vertices: sums over them, of places relative to a vertex of the mesh."""

    mass = Field(np.float64, unit="kg")
    place = Field(np.float64, 3, unit="kg m", doc="of m x")
    start = Field(np.float64, 3, unit="kg m", doc="of m s")
    product = Field(np.float64, 9, unit="kg m^2", doc="of m s x^T, by rows")
    moved = Field(np.float64, 3, unit="kg m", doc="of m d")
    moment = Field(np.float64, 3, unit="kg m^2", doc="of m s x d")
    held = Field(np.bool_, doc="whether one of them is fixed")


class Turns(Record):
    """Closed meshes."""

    free = Field(np.bool_, doc="whether nothing of the scene holds it")
    turn = Field(np.float64, 3, unit="rad", doc="theta")
    centre = Field(np.float64, 3, unit="m", doc="c")


@kernel
def note_places(i, vertices: Vertices, noted: Noted, particles: Particles):
    """Note where a vertex is."""
    noted.x[i] = place(particles.x, vertices.particle[i])


@kernel(fastmath=STEADY, mixed=True)
def sum_moments(
    k, chunks: Chunks, turns: Turns, vertices: Vertices, noted: Noted, moments: Moments, particles: Particles, h: real
):
    """Sums over the vertices of a chunk."""
    begin, end, mesh, corner = chunks.bounds[k]
    if not turns.free[mesh]:
        return
    mass, places, starts, moved, moment = 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    a, b, c, o, held = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), place(particles.x, corner), False
    for i in range(begin, end):
        p = vertices.particle[i]
        w = np.float64(particles.x[p, 3])
        if not w > 0.0:
            held = True
            continue
        m, x = 1.0 / w, sub(place(particles.x, p), o)
        s = scale(sub(previous_position(particles.x, particles.predicted, particles.v, h, p), o), m)
        d = sub(place(particles.x, p), (noted.x[i, 0], noted.x[i, 1], noted.x[i, 2]))
        mass, places, starts = mass + m, add(places, scale(x, m)), add(starts, s)
        moved, moment = add(moved, scale(d, m)), add(moment, cross(s, d))
        a, b, c = add(a, scale(x, s[0])), add(b, scale(x, s[1])), add(c, scale(x, s[2]))
    moments.mass[k], moments.place[k], moments.start[k], moments.held[k] = mass, places, starts, held
    moments.product[k] = a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2]
    moments.moved[k], moments.moment[k] = moved, moment


@kernel(mixed=True)
def find_turn(r, meshes: Meshes, chunks: Chunks, turns: Turns, moments: Moments, particles: Particles):
    """How far a mesh is turned back, and about which centre."""
    turns.turn[r] = 0.0, 0.0, 0.0
    held, mass = not (turns.free[r] and meshes.closed[r]), 0.0
    if held:
        return
    x, s, d, moment = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    a, b, c = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for k in range(meshes.vertices[r, 0], meshes.vertices[r, 1]):
        held, mass = held or moments.held[k], mass + moments.mass[k]
        x, s, d = add(x, place(moments.place, k)), add(s, place(moments.start, k)), add(d, place(moments.moved, k))
        moment, q = add(moment, place(moments.moment, k)), moments.product[k]
        a, b, c = add(a, (q[0], q[1], q[2])), add(b, (q[3], q[4], q[5])), add(c, (q[6], q[7], q[8]))
    if held or not mass > 0.0:
        return
    x, start = scale(x, 1.0 / mass), scale(s, 1.0 / mass)
    turns.centre[r] = add(place(particles.x, chunks.bounds[meshes.vertices[r, 0], 3]), x)
    moment = sub(moment, cross(start, d))
    a, b, c = sub(a, scale(x, s[0])), sub(b, scale(x, s[1])), sub(c, scale(x, s[2]))
    # columns of tr(C) 1 - C^T
    trace = a[0] + b[1] + c[2]
    a, b, c = (trace - a[0], -a[1], -a[2]), (-b[0], trace - b[1], -b[2]), (-c[0], -c[1], trace - c[2])
    bc, determinant = cross(b, c), dot(a, cross(b, c))
    if abs(determinant) > 1e-12 * abs(trace) ** 3:
        by = -1.0 / determinant
        turns.turn[r] = (
            by * dot(moment, bc), by * dot(moment, cross(c, a)), by * dot(moment, cross(a, b)),
        )  # fmt: skip


@kernel(fastmath=STEADY, mixed=True)
def turn_vertices(k, chunks: Chunks, turns: Turns, vertices: Vertices, particles: Particles):
    """Turn the vertices of a chunk."""
    begin, end, mesh, _ = chunks.bounds[k]
    turn, o = place(turns.turn, mesh), place(turns.centre, mesh)
    if not dot(turn, turn) > 0.0:
        return
    for i in range(begin, end):
        p = vertices.particle[i]
        x = particles.x[p]
        if x[3] > ZERO:
            by = cross(turn, sub(place(particles.x, p), o))
            particles.x[p] = x[0] + convert(by[0], x[3]), x[1] + convert(by[1], x[3]), x[2] + convert(by[2], x[3]), x[3]


class MeshSpins:
    """Takes back what rows and pressure change of the spin of the meshes of one simulation."""

    def __init__(
        self, meshes: Meshes, chunks: Chunks, vertices: Vertices, particles: Particles, substep: float
    ) -> None:
        self._meshes, self._chunks, self._vertices, self._particles, self._h = (
            meshes, chunks, vertices, particles, substep,
        )  # fmt: skip
        self._noted, self._moments = Noted.zeros(len(vertices), particles.precision), Moments.zeros(len(chunks))
        self._turns = Turns.zeros(len(meshes))

    def follow(self, model: VolumesModel, bound: BoundSystems) -> None:
        """Find which meshes nothing of the scene holds: no pin, and no row to anything else."""
        of_mesh = np.full(bound.model.particle_count, -1)
        sizes = model.vertex_chunks[:, 1] - model.vertex_chunks[:, 0]
        of_mesh[model.vertices] = np.repeat(model.vertex_chunks[:, 2], sizes)
        held = [of_mesh[bound.model.inverse_masses == 0.0]]
        held += [of_mesh[bound.model.slots[rows.particles]] for rows in bound.scene.body_rows]
        for block in bound.model.blocks.values():
            meshes = of_mesh[block.indices]
            alone = block.type.translation_invariant and not block.type.places
            held.append(meshes[(meshes != meshes[:, :1]).any(axis=1)] if alone else meshes)
        self._turns.free[...] = True
        numbers = np.concatenate([each.ravel() for each in held])
        self._turns.free[numbers[numbers >= 0]] = False

    def record_note(self, p: Program) -> None:
        """Record that places are noted before rows and pressure are solved."""
        p.launch(note_places, self._vertices, self._noted, self._particles, count=len(self._vertices) - 1, grain=4096)

    def record_turn(self, p: Program) -> None:
        """Record that meshes are turned back."""
        chunks, turns, vertices = self._chunks, self._turns, self._vertices
        records = chunks, turns, vertices, self._noted, self._moments, self._particles
        p.launch(sum_moments, *records, self._h, count=len(chunks), grain=4)
        p.launch(find_turn, self._meshes, chunks, turns, self._moments, self._particles, count=len(self._meshes))
        p.launch(turn_vertices, chunks, turns, vertices, self._particles, count=len(chunks), grain=4)


class SpinStart(System):
    """Notes where meshes are before rows are solved."""

    order = 39
    on_device = True

    def __init__(self, spins: MeshSpins) -> None:
        self._spins = spins

    def record_project(self, p: Program, first: bool) -> None:
        """Note all places."""
        self._spins.record_note(p)
