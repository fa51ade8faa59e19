"""Model of shape-matched lumps."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Program
from shinari.geometry.motion import rotation_matrix
from shinari.maths.strain import stretch_strain
from shinari.model.particles import Particles
from shinari.model.system_model import BoundSystems, SystemModel

if TYPE_CHECKING:
    from shinari.model.model import Model
    from shinari.model.state import State
    from shinari.scene.contents import Contents
    from shinari.systems.shape_matching.system import ShapeMatchingSystem, Tables


ROTATIONS, PLASTIC = "lumps/rotations", "lumps/plastic"


@dataclass(frozen=True, eq=False)
class ShapeMatchingModel(SystemModel):
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

    def bind(self, bound: BoundSystems) -> "list[ShapeMatchingSystem]":
        """The clusters of a simulation."""
        from shinari.systems.shape_matching.system import ShapeMatchingSystem

        return [ShapeMatchingSystem(self, bound.model, bound.state, bound.settings, bound.particles)]

    def with_materials(self, scene: "Contents") -> "ShapeMatchingModel":
        """The same clusters of other materials."""
        from shinari.systems.shape_matching.build import stiffened

        return stiffened(self, scene)

    def with_pins(self, scene: "Contents", model: "Model") -> "ShapeMatchingModel":
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
        rotations = np.array([rotation_matrix(q) for q in state.system_arrays[ROTATIONS]]).reshape(-1, 3, 3)
        shapes = state.system_arrays[PLASTIC].reshape(-1, 3, 3)
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
        from shinari.systems.shape_matching.system import Tables

        real = state.x.dtype.type
        tables = Tables(self, real, state.system_arrays[ROTATIONS].copy(), state.system_arrays[PLASTIC].copy())
        particles = Particles.zeros(len(state.x), real)
        particles.bind(x=state.x)
        p = Program()
        tables.record_match(p, particles, 0.0)
        p.run(threads)
        return tables
