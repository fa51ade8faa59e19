"""Carriers of points that a fluid lies against: colliders that stand still or move, and particles of other objects.

Rigid bodies are in `shinari.systems.fluid.boundary_frames`.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shinari.collision.broad.neighbours import NeighbourLists, Neighbours
from shinari.compute import Field, Program, Record, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets
from shinari.errors import SceneError
from shinari.geometry.motion import rotation_matrix
from shinari.maths.poses import to_world
from shinari.model.model import Model
from shinari.model.particles import Origins, Particles
from shinari.shapes.base import Shape
from shinari.shapes.sampling.surface_points import surface_points
from shinari.systems.colliders.records import Poses
from shinari.systems.colliders.system import ColliderContacts
from shinari.systems.fluid.boundary_lists import BoundaryPoints, Entries, Pairs, PointLists, Transposed
from shinari.systems.fluid.pressure import densities
from shinari.systems.fluid.records import FluidParticles, Solve
from shinari.systems.fluid.smoothing import Smoothing, weight

if TYPE_CHECKING:
    from shinari.systems.fluid.system import Fluid

# Points lie so deep below the surface, in spacings of the fluid: its first layer then rests half a spacing above it.
DEPTH = 0.5


class Carrier:
    """M points and what carries them. This one stands still for ever and gives no way.

    Attributes:
        volumes: Volume of each point, as a multiple of that of a particle of the fluid, (M,).
        owners: Carrier of each, (M,) uint32, ascending.
        kinds: What it is for `PointLists`, (M,).
        others: Index of each carrier in `ContactImpulses.colliders`, or particle in solver order, (O,).
        diameters: Diameter of each point that is a grain [m], else 0, (M,); no rows where none is.
        moves: Whether points move during a step.
        gives_way: Whether the carriers move by what pushes them.
        single: Whether each point is a particle that carries itself.
    """

    volumes: np.ndarray
    owners: np.ndarray
    kinds: np.ndarray
    others: np.ndarray
    diameters = np.zeros(0)
    moves = gives_way = single = False

    def begin(self, fluid: "Fluid", points: BoundaryPoints) -> bool:
        """A step begins; whether points that do not move during a step have other positions than before."""
        return False

    def record_place(self, p: Program, fluid: "Fluid", points: BoundaryPoints) -> None:
        """Write the positions of the points now."""

    def record_responses(self, p: Program, fluid: "Fluid", lists: PointLists) -> None:
        """Write how far the carrier gives way to each pair."""

    def record_total(self, p: Program, fluid: "Fluid", lists: PointLists) -> None:
        """Add up the pushes on the particles of pairs for each carrier."""

    def record_response(self, p: Program, fluid: "Fluid") -> None:
        """Add the sum of total w total over the carriers to `Solve.response` [kg m^2]."""

    def record_follow(self, p: Program, fluid: "Fluid", searched: bool) -> None:
        """Push the carriers the opposite of the totals, at once."""


def has_points(shape: Shape) -> bool:
    """Whether a solid can be covered with points; the others are left to walls."""
    return not shape.endless


def points_of(label: str, shape: Shape, spacing: float) -> np.ndarray:
    """Points of a solid in its axes [m], (M, 3).

    Raises:
        SceneError: There would be too many; the message names the object.
    """
    try:
        return surface_points(shape, spacing, DEPTH * spacing)
    except SceneError as error:
        raise SceneError(f'{label}: {error}; give the fluid boundary="walls", or a smaller solid') from None


def layer_volumes(points: np.ndarray, smoothing: Smoothing) -> np.ndarray:
    """Volumes of the points of one layer, (M,): 1 / sum W, as a multiple of that of a particle.

    Akinci et al. 2012, equation 4, made right for one layer: on a plane lattice at the distance of a spacing it
    contributes what the whole half space beyond would contribute.
    """
    lists, count = NeighbourLists(), len(points)
    x = np.zeros((count, 4))
    x[:, :3] = points
    offsets, places = lists.find(x, smoothing.support, 1)
    rows = FluidParticles.zeros(count, np.float64)
    rows.x[...] = x[lists.grid.order]
    records = rows, Neighbours(np.float64, place=np.ascontiguousarray(places)), Offsets(np.float64, start=offsets)
    p = Program()
    p.launch(densities(smoothing.kernel_id), *records, 1.0 / smoothing.support**2, 1.0, count=count)
    p.run()
    volumes = np.empty(count)
    volumes[lists.grid.order] = 1.0 / rows.density
    layers = [plane_sum(smoothing, k) for k in range(math.ceil(smoothing.support / smoothing.spacing) + 1)]
    return volumes * layers[0] * sum(layers[1:]) / layers[1]


def plane_sum(smoothing: Smoothing, layer: int) -> float:
    """Sum of the kernel over a plane of the lattice, so many spacings away."""
    points = smoothing.lattice()
    q2 = (points**2).sum(axis=1) / smoothing.support**2
    there = np.abs(points[:, 1] - layer * smoothing.spacing) < 0.5 * smoothing.spacing
    return sum(float(weight.py_func(smoothing.kernel_id, q)) for q in q2[there])


class Turning(Record):
    """Points of colliders that move, M rows."""

    local = Field(real, 3, unit="m", doc="position in the axes of the collider")


@kernel(fastmath=STEADY)
def place_on_collider(b, points: BoundaryPoints, turning: Turning, poses: Poses, first: np.int64):
    """Take a point along with its collider; poses relative to the origin of the fluids begin at the row `first`."""
    points.at[b] = to_world(poses.after[first + points.owner[b]], turning.local[b])


class ColliderCarriers(Carrier):
    """Points of colliders; of those that all stand still, or of those that move."""

    def __init__(self, which: Sequence[int], model: Model, solids: ColliderContacts, smoothing: Smoothing) -> None:
        """Take the colliders with some numbers; none of them may be without end."""
        colliders = [model.colliders[k] for k in which]
        local = [points_of(f"collider {c.name!r}", c.shape, smoothing.spacing) for c in colliders]
        sizes = [len(points) for points in local]
        self.moves = any(c.motion is not None for c in colliders)
        self.owners = self.kinds = np.repeat(np.array(which, np.uint32), sizes)
        self.others = np.arange(len(model.colliders))
        self._poses, self._count = solids.pose_table, len(model.colliders)
        self._origin: np.ndarray | None = None
        if self.moves:
            self._turning = Turning(model.real, local=np.concatenate(local).astype(model.real))
            self.volumes = np.concatenate([layer_volumes(points, smoothing) for points in local])
        else:
            poses = [(c.position, c.rotation) for c in colliders]
            self._world = np.concatenate(
                [points @ rotation_matrix(q).T + x for points, (x, q) in zip(local, poses, strict=True)]
            )
            self.volumes = layer_volumes(self._world, smoothing)

    def begin(self, fluid: "Fluid", points: BoundaryPoints) -> bool:
        """Points that stand still follow the origin of the fluids."""
        if self.moves or (self._origin is not None and np.array_equal(self._origin, fluid.origin)):
            return False
        self._origin = fluid.origin.copy()
        points.at[...] = self._world - self._origin
        return True

    def record_place(self, p: Program, fluid: "Fluid", points: BoundaryPoints) -> None:
        """Points of the moving ones go along with the pose at the end of the substep."""
        if self.moves:
            first = fluid.origin_index * self._count
            p.launch(place_on_collider, points, self._turning, self._poses, first, count=len(points))


class Carriers(Record):
    """Particles that carry themselves, M rows."""

    particle = Field(np.uint32, doc="particle in solver order")
    total = Field(real, 3, unit="kg m", doc="sum of the pushes on particles of the fluid")


@kernel(fastmath=STEADY, mixed=True)
def place_particle(
    b, points: BoundaryPoints, carriers: Carriers, particles: Particles, origins: Origins, origin_index: np.int64
):
    """Take the position of a particle, relative to the origin of the fluids."""
    s = carriers.particle[b]
    x, from_, to = particles.x[s], origins.position[particles.origin_index[s]], origins.position[origin_index]
    points.at[b] = x[0] + (from_[0] - to[0]), x[1] + (from_[1] - to[1]), x[2] + (from_[2] - to[2])


@kernel
def respond(m, pairs: Pairs, carriers: Carriers, particles: Particles):
    """How far a particle gives way to a pair."""
    w, g = particles.x[carriers.particle[pairs.owner[m]], 3], pairs.gradient[m]
    pairs.response[m] = np.sqrt(w * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]))


@kernel(fastmath=STEADY)
def add_up(b, carriers: Carriers, theirs: Offsets, transposed: Transposed, entries: Entries, pairs: Pairs, zero: real):
    """Sum of the pushes at a point."""
    x, y, z = zero, zero, zero
    for k in range(theirs.start[b], theirs.start[b + 1]):
        push = pairs.push[entries.pair[transposed.entry[k]]]
        x, y, z = x + push[0], y + push[1], z + push[2]
    carriers.total[b] = x, y, z


@kernel(fastmath=STEADY, mixed=True)
def add_response(_, carriers: Carriers, particles: Particles, solve: Solve):
    """Add total w total of all particles."""
    total = 0.0
    for b in range(len(carriers)):
        t = carriers.total[b]
        x, y, z = np.float64(t[0]), np.float64(t[1]), np.float64(t[2])
        total += np.float64(particles.x[carriers.particle[b], 3]) * (x * x + y * y + z * z)
    solve.response[0] += total


@kernel(fastmath=STEADY, mixed=True)
def follow(b, carriers: Carriers, particles: Particles, solve: Solve, searched: np.int64):
    """Move a particle by the opposite of its total, times the length of the step if it is that of the direction."""
    length = solve.length[0] if searched != 0 else 1.0
    s, t = carriers.particle[b], carriers.total[b]
    x = particles.x[s]
    by = length * x[3]
    particles.x[s] = x[0] - by * t[0], x[1] - by * t[1], x[2] - by * t[2], x[3]


class ParticleCarriers(Carrier):
    """Particles that are no fluid: each is a point that carries itself."""

    moves = gives_way = single = True

    def __init__(
        self, particles: np.ndarray, kinds: np.ndarray, volumes: np.ndarray, diameters: np.ndarray, model: Model
    ) -> None:
        """Take particles in solver order, (M,), their objects, volumes in those of a particle, and diameters [m]."""
        self.diameters = diameters
        self.kinds, self.volumes, self.others = kinds, volumes, particles.astype(np.int64)
        self.owners = np.arange(len(particles), dtype=np.uint32)
        self._carriers: Carriers = Carriers.zeros(len(particles), model.real)
        self._carriers.particle[...] = particles

    def record_place(self, p: Program, fluid: "Fluid", points: BoundaryPoints) -> None:
        """The positions of the particles now."""
        records = points, self._carriers, fluid.particles, fluid.origins
        p.launch(place_particle, *records, fluid.origin_index, count=len(points))

    def record_responses(self, p: Program, fluid: "Fluid", lists: PointLists) -> None:
        """Particles move by their inverse mass."""
        p.launch(respond, lists.pairs, self._carriers, fluid.particles, count=(lists.state.pairs, 0))

    def record_total(self, p: Program, fluid: "Fluid", lists: PointLists) -> None:
        """Pushes at each point."""
        records = self._carriers, lists.theirs, lists.transposed, lists.entries, lists.pairs
        p.launch(add_up, *records, 0.0, count=len(self._carriers))

    def record_response(self, p: Program, fluid: "Fluid") -> None:
        """Each particle moves by its inverse mass."""
        p.serial(add_response, self._carriers, fluid.particles, fluid.solve)

    def record_follow(self, p: Program, fluid: "Fluid", searched: bool) -> None:
        """Push each particle."""
        p.launch(follow, self._carriers, fluid.particles, fluid.solve, searched, count=len(self._carriers))
