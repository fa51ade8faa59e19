"""Shape matching as a part of a model: the tables of all clusters, and their kernels bound to a simulation."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from shinari.compute import Program
from shinari.model.particles import Particles
from shinari.model.system import System
from shinari.systems.shape_matching.kernels import (
    match_cluster,
    match_plastic_cluster,
    match_quadratic_cluster,
    move_to_curved_goal,
    move_to_goal,
    sum_chunk,
    sum_quadratic_chunk,
)
from shinari.systems.shape_matching.model import PLASTIC, ROTATIONS, ShapeMatchingModel
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

# Particles below which a part is not worth sharing; and pieces or clusters.
GRAIN, PIECES = 1024, 4
# Exponents of e beyond this leave single precision.
_MOST_DAMPING = 80.0


class Tables:
    """Records of clusters, of their members and of the pieces that sums run over.

    Attributes:
        members: Members of clusters.
        clusters: Clusters.
        quadratic: Those of them that are quadratic.
        entries: Members that each particle is.
    """

    def __init__(self, lumps: ShapeMatchingModel, real: type, rotations: np.ndarray, plastic: np.ndarray) -> None:
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
    on_device = True

    def __init__(
        self, lumps: ShapeMatchingModel, model: "Model", state: "State", settings: "Settings", particles: Particles
    ) -> None:
        self._h, self._particles = settings.substep, particles
        # so much damping leaves nothing; more would be no number
        self._growth = math.exp(min(model.damping * settings.substep, _MOST_DAMPING))
        self._tables = Tables(lumps, model.real, state.system_arrays[ROTATIONS], state.system_arrays[PLASTIC])
        # what flows does so, too, while particles that are held at both sides stand still
        self.can_rest = len(state.system_arrays[PLASTIC]) == 0
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


def lump_chunks(lumps: ShapeMatchingModel) -> LumpChunks:
    """The record of the pieces of lumps."""
    chunks = LumpChunks.zeros(len(lumps.lump_chunks))
    chunks.lump[...], chunks.begin[...], chunks.end[...] = lumps.lump_chunks.T
    return chunks


def _ranges(starts: np.ndarray) -> np.ndarray:
    """Begin and end of each range, (K, 2), from where they start, (K + 1,)."""
    return np.stack([starts[:-1], starts[1:]], axis=1)


def shares(model: ShapeMatchingModel, settings: "Settings") -> np.ndarray:
    """What `move_to_goal` needs of the stiffness of each lump, (L, 2)."""
    if settings.method == "pbd":
        power = 1.0 if settings.stiffness_mode == "raw" else 1.0 / settings.iterations
        return np.stack([1.0 - (1.0 - model.stiffness) ** power, np.zeros(len(model.stiffness))], axis=1)
    square = model.frequencies * settings.substep**2
    with np.errstate(divide="ignore"):
        ratio = np.where(square > 0.0, 1.0 / square, 0.0)
    return np.stack([np.where(square > 0.0, 1.0 / (1.0 + ratio), 0.0), ratio], axis=1)
