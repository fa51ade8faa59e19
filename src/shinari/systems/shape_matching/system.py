"""Shape matching as a part of a model: the tables of all clusters, and their kernels bound to a simulation."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shinari.compute import Program
from shinari.geometry.motion import rotation_matrix
from shinari.maths.strain import stretch_strain
from shinari.model.particles import Particles
from shinari.model.system import System
from shinari.model.system_model import Binding, SystemModel
from shinari.systems.shape_matching.kernels import (
    match_cluster,
    match_plastic_cluster,
    match_quadratic_cluster,
    move_to_curved_goal,
    move_to_goal,
    sum_chunk,
    sum_quadratic_chunk,
)
from shinari.systems.shape_matching.records import (
    Chosen,
    Chunks,
    Clusters,
    Entries,
    LumpChunks,
    Lumps,
    Matched,
    Members,
    Plastic,
    Quadratic,
    QuadraticChunks,
)
from shinari.systems.shape_matching.spin import apply_spin, find_spin, keep_velocity, sum_spin

if TYPE_CHECKING:
    from shinari.model.model import Model
    from shinari.model.settings import Settings
    from shinari.model.state import State
    from shinari.scene.contents import Contents

ROTATIONS, PLASTIC = "lumps/rotations", "lumps/plastic"
# Particles below which a part is not worth sharing; and pieces or clusters.
GRAIN, PIECES = 1024, 4
# Exponents of e beyond this leave single precision.
_MOST_DAMPING = 80.0


@dataclass(frozen=True, eq=False)
class ShapeMatching(SystemModel):
    """All clusters of a scene. Lumps, their clusters and their particles follow each other in the order of the scene.

    Attributes:
        particles: Particles of the lumps in solver order, (P,) uint32.
        lumps: Lump of each, (P,) int64.
        firsts: First particle of each lump among them, (L + 1,).
        numbers: Number of each lump's first particle as added, (L,).
        held: Lumps of which a particle is fixed, (L,) bool.
        frequencies: Square of the angular frequency with which particles swing about their goals, (L,) [1/s^2];
            infinite for rigid ones.
        stiffness: The same as a stiffness 0 to 1, for `method="pbd"`, (L,).
        owners: Lump of each cluster, (C,).
        starts: First member of each cluster, (C + 1,).
        members: Particle of each member in solver order, (E,) uint32.
        clusters: Cluster of each member, (E,).
        rest: Place of each member at rest from the centre of its cluster [m], (E, 3).
        weights: Its mass in the cluster [kg], (E,) float64: an equal share for each cluster it is in.
        entry_starts: First entry of each particle, (P + 1,).
        entries: Members of clusters that each particle is, (E,).
        masses: Mass of each cluster [kg], (C,).
        centres: Centre of each cluster at rest in the world [m], (C, 3).
        inverse: Inverse of sum m q q^T on what each cluster spans, (C, 9).
        open_part: Projection on what it does not span, (C, 9).
        laws: beta, yield, creep [1/s], largest plastic strain of each cluster, (C, 4).
        quadratic: Number of each cluster among the quadratic ones, or -1, (C,).
        lengths: Length that makes products of coordinates lengths [m], (C,).
        inverse_nine: Inverse of the moments of all nine columns of the quadratic clusters, (Q, 9, 9).
        means: Means of the products of coordinates, (Q, 6) [m].
        chunks: Cluster, first and end of the members of each piece, (K, 3).
        chunk_starts: First piece of each cluster, (C + 1,).
        lump_chunks: Lump, first and end of the particles of each piece, (K', 3).
        lump_chunk_starts: First piece of each lump, (L + 1,).
    """

    particles: np.ndarray
    lumps: np.ndarray
    firsts: np.ndarray
    numbers: np.ndarray
    held: np.ndarray
    frequencies: np.ndarray
    stiffness: np.ndarray
    owners: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    clusters: np.ndarray
    rest: np.ndarray
    weights: np.ndarray
    entry_starts: np.ndarray
    entries: np.ndarray
    masses: np.ndarray
    centres: np.ndarray
    inverse: np.ndarray
    open_part: np.ndarray
    laws: np.ndarray
    quadratic: np.ndarray
    lengths: np.ndarray
    inverse_nine: np.ndarray
    means: np.ndarray
    chunks: np.ndarray
    chunk_starts: np.ndarray
    lump_chunks: np.ndarray
    lump_chunk_starts: np.ndarray

    @property
    def firm(self) -> np.ndarray:
        """Lumps that are free rigid bodies: one cluster of stiffness 1 that does not stretch or flow, (L,) bool."""
        counts = np.bincount(self.owners, minlength=len(self.held))
        shaped = (self.laws[:, 0] == 0.0) & np.isinf(self.laws[:, 1])
        plain = np.bincount(self.owners, ~shaped, len(self.held)) == 0
        return (counts == 1) & plain & ~self.held & np.isinf(self.frequencies)

    def start(self, model: "Model") -> dict[str, np.ndarray]:
        """Rotation of each cluster, (C, 4), and plastic deformation by rows, (C, 9), or (0, 9) where nothing yields."""
        count = len(self.masses)
        flowing = count if np.isfinite(self.laws[:, 1]).any() else 0
        rotations = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
        return {ROTATIONS: rotations, PLASTIC: np.tile(np.eye(3).ravel(), (flowing, 1))}

    def bind(self, work: Binding) -> "list[ShapeMatchingSystem]":
        """The clusters of a simulation."""
        return [ShapeMatchingSystem(self, work.model, work.state, work.settings, work.particles)]

    def with_materials(self, scene: "Contents") -> "ShapeMatching":
        """The same clusters of other materials."""
        from shinari.systems.shape_matching.build import stiffened

        return stiffened(self, scene)

    def with_pins(self, scene: "Contents", model: "Model") -> "ShapeMatching":
        """The clusters with other fixed particles."""
        from shinari.systems.shape_matching.build import build_lumps

        lumps = build_lumps(scene, model.slots, model.real)
        assert lumps is not None  # pins do not take lumps away
        return lumps

    def energy(self, model: "Model", state: "State", h: float) -> tuple[float, float, float]:
        """None beyond that of the particles; 1/2 m w^2 |x - g|^2 of each particle that is not rigid [J]."""
        soft = np.isfinite(self.frequencies)[self.lumps] & (state.x[self.particles, 3] > 0.0)
        if not soft.any():
            return 0.0, 0.0, 0.0
        to_goal = self.displacements_to_goals(state)[soft]
        stiffness = self.frequencies[self.lumps[soft]] / state.x[self.particles[soft], 3].astype(np.float64)
        return 0.0, 0.0, 0.5 * float(stiffness @ (to_goal * to_goal).sum(axis=1))

    def point_strains(self, model: "Model", state: "State", x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Members of clusters, (E,), and the strains of their clusters; see `shinari.model.system_model`.

        That of a cluster is |S - 1| with the stretches S of the linear map nearest to where its members are; what has
        flowed does not count, nor do directions in which a cluster has no extent.
        """
        away = x[self.members, :3]
        away = away - np.repeat(away[self.starts[:-1]], np.diff(self.starts), axis=0)
        products = (self.weights[:, None, None] * away[:, :, None] * self.rest[:, None, :]).reshape(-1, 9)
        moments = np.add.reduceat(products, self.starts[:-1]).reshape(-1, 3, 3)
        rotations = np.array([rotation_matrix(q) for q in state.parts[ROTATIONS]]).reshape(-1, 3, 3)
        shapes = state.parts[PLASTIC].reshape(-1, 3, 3)
        shapes = shapes if len(shapes) else np.eye(3)
        maps = moments @ self.inverse.reshape(-1, 3, 3) + rotations @ shapes @ self.open_part.reshape(-1, 3, 3)
        strains = stretch_strain(maps @ np.linalg.inv(shapes))
        return self.members.astype(np.int64), strains[self.clusters]

    def displacements_to_goals(self, state: "State") -> np.ndarray:
        """From each particle to the mean of its goals [m], (P, 3) float64."""
        tables = self.poses(state, 1)
        q, c = self.rest.astype(np.float64), self.clusters
        goals = tables.clusters.centre[c] + np.einsum("eij,ej->ei", tables.clusters.map.reshape(-1, 3, 3)[c], q)
        curved = np.flatnonzero(self.quadratic[c] >= 0)
        if len(curved):
            q, g = q[curved], self.quadratic[c[curved]]
            length = self.lengths[c[curved], None]
            parts = np.concatenate([q * q, q * np.roll(q, -1, axis=1)], axis=1) / length - self.means[g]
            goals[curved] += np.einsum("eij,ej->ei", tables.quadratic.map[g][:, :, 3:], parts)
        counts = np.diff(self.entry_starts)
        means = np.add.reduceat(goals[self.entries], self.entry_starts[:-1]) / counts[:, None]
        return means - state.x[self.particles, :3]

    def poses(self, state: "State", threads: int) -> "Tables":
        """Centre and map of each cluster as the particles are now, in tables of their own."""
        real = state.x.dtype.type
        tables = Tables(self, real, state.parts[ROTATIONS].copy(), state.parts[PLASTIC].copy())
        particles = Particles.zeros(len(state.x), real)
        particles.bind(x=state.x)
        p = Program()
        tables.record_match(p, particles, 0.0)
        p.run(threads)
        return tables


class Tables:
    """Records of clusters, of their members and of the pieces that sums run over.

    Attributes:
        members: Members of clusters.
        clusters: Clusters.
        quadratic: Those of them that are quadratic.
        entries: Members that each particle is.
    """

    def __init__(self, lumps: ShapeMatching, real: type, rotations: np.ndarray, plastic: np.ndarray) -> None:
        count = len(lumps.masses)
        curved = lumps.quadratic >= 0
        self.members = Members(
            real, particle=lumps.members, cluster=lumps.clusters, rest=lumps.rest, weight=lumps.weights
        )
        self.clusters = Clusters(
            origin=lumps.members[lumps.starts[:-1]],
            chunks=np.zeros((count, 2), np.int64),
            mass=lumps.masses,
            inverse=lumps.inverse,
            open_part=lumps.open_part,
            law=lumps.laws,
            rotation=rotations,
            centre=np.zeros((count, 3)),
            map=np.zeros((count, 9)),
            quadratic=lumps.quadratic,
        )
        self.quadratic = Quadratic(
            cluster=np.flatnonzero(curved),
            length=lumps.lengths[curved],
            inverse=lumps.inverse_nine,
            mean=lumps.means,
            map=np.zeros((len(lumps.means), 3, 9)),
        )
        self.entries = Entries(member=lumps.entries)
        self._linear = Chosen(cluster=np.flatnonzero(~curved))
        self._plastic = Plastic(shape=plastic)
        of_quadratic = curved[lumps.chunks[:, 0]]
        self._chunks = self._bind_chunks(Chunks, lumps.chunks[~of_quadratic])
        self._quadratic_chunks = self._bind_chunks(QuadraticChunks, lumps.chunks[of_quadratic])

    def _bind_chunks(self, kind: type, chunks: np.ndarray) -> Any:
        """The record of pieces, (K, 3), of one kind; clusters learn which are theirs."""
        record = kind.zeros(len(chunks))
        record.cluster[...], record.begin[...], record.end[...] = chunks.T
        clusters = np.unique(record.cluster)
        self.clusters.chunks[clusters, 0] = np.searchsorted(record.cluster, clusters)
        self.clusters.chunks[clusters, 1] = np.searchsorted(record.cluster, clusters, side="right")
        return record

    def record_match(self, p: Program, particles: Particles, flow: float) -> None:
        """Find the pose of every cluster; what is beyond the yield flows for a time [s]."""
        if len(self._linear):
            sums = self._chunks, self.clusters
            p.launch(sum_chunk, *sums, self.members, particles, count=len(self._chunks), grain=PIECES)
            count = len(self._linear)
            if len(self._plastic):
                records = self._linear, *sums, self._plastic, particles
                p.launch(match_plastic_cluster, *records, flow, count=count, grain=PIECES)
            else:
                p.launch(match_cluster, self._linear, *sums, particles, count=count, grain=PIECES)
        if len(self.quadratic):
            sums = self._quadratic_chunks, self.clusters
            p.launch(
                sum_quadratic_chunk, *sums, self.quadratic, self.members, particles, count=len(sums[0]), grain=PIECES
            )  # fmt: skip
            p.launch(
                match_quadratic_cluster, self.quadratic, *sums, particles, count=len(self.quadratic), grain=PIECES
            )  # fmt: skip


class ShapeMatchingSystem(System):
    """The clusters of one simulation.

    Attributes:
        matched: Their particles.
        lumps: The lumps.
    """

    order = 50

    def __init__(
        self, lumps: ShapeMatching, model: "Model", state: "State", settings: "Settings", particles: Particles
    ) -> None:
        self._h, self._particles = settings.substep, particles
        # so much damping leaves nothing; more would be no number
        self._growth = math.exp(min(model.damping * settings.substep, _MOST_DAMPING))
        self._tables = Tables(lumps, model.real, state.parts[ROTATIONS], state.parts[PLASTIC])
        count = len(lumps.particles)
        self.matched = Matched(
            model.real,
            particle=lumps.particles,
            lump=lumps.lumps,
            entries=_ranges(lumps.entry_starts),
            displacement=np.zeros((count, 3), model.real),
            velocity=np.zeros((count, 3), model.real),
        )
        number = len(lumps.held)
        self.lumps = Lumps(
            origin=lumps.particles[lumps.firsts[:-1]],
            chunks=_ranges(lumps.lump_chunk_starts),
            share=shares(lumps, settings),
            held=lumps.held,
            rigid=lumps.firm,
            centre=np.zeros((number, 3)),
            spin=np.zeros((number, 3)),
        )
        self.chunks = lump_chunks(lumps)

    def record_predict(self, p: Program) -> None:
        """Keep the velocities of the prediction."""
        p.launch(keep_velocity, self.matched, self._particles, count=len(self.matched), grain=GRAIN)

    def record_project(self, p: Program, first: bool) -> None:
        """Find the pose of every cluster and move its particles towards their goals."""
        tables, particles = self._tables, self._particles
        tables.record_match(p, particles, self._h if first else 0.0)
        records = self.matched, self.lumps, tables.entries, tables.members, tables.clusters
        count = len(self.matched)
        if len(tables.quadratic):
            p.launch(move_to_curved_goal, *records, tables.quadratic, particles, first, count=count, grain=GRAIN)
        else:
            p.launch(move_to_goal, *records, particles, first, count=count, grain=GRAIN)

    def record_velocities(self, p: Program) -> None:
        """Give free lumps the spin back that velocities from positions lose."""
        records = self.lumps, self.matched, self._particles
        p.launch(sum_spin, self.chunks, *records, self._h, self._growth, count=len(self.chunks), grain=PIECES)
        p.launch(find_spin, self.chunks, self.lumps, self._particles, count=len(self.lumps), grain=GRAIN)
        p.launch(apply_spin, self.matched, self.lumps, self._particles, count=len(self.matched), grain=GRAIN)


def lump_chunks(lumps: ShapeMatching) -> LumpChunks:
    """The record of the pieces of lumps."""
    chunks = LumpChunks.zeros(len(lumps.lump_chunks))
    chunks.lump[...], chunks.begin[...], chunks.end[...] = lumps.lump_chunks.T
    return chunks


def _ranges(starts: np.ndarray) -> np.ndarray:
    """Begin and end of each range, (K, 2), from where they start, (K + 1,)."""
    return np.stack([starts[:-1], starts[1:]], axis=1)


def shares(model: ShapeMatching, settings: "Settings") -> np.ndarray:
    """What `move_to_goal` needs of the stiffness of each lump, (L, 2)."""
    if settings.method == "pbd":
        power = 1.0 if settings.stiffness_mode == "raw" else 1.0 / settings.iterations
        return np.stack([1.0 - (1.0 - model.stiffness) ** power, np.zeros(len(model.stiffness))], axis=1)
    square = model.frequencies * settings.substep**2
    with np.errstate(divide="ignore"):
        ratio = np.where(square > 0.0, 1.0 / square, 0.0)
    return np.stack([np.where(square > 0.0, 1.0 / (1.0 + ratio), 0.0), ratio], axis=1)
