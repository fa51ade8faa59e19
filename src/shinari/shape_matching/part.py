"""Shape matching as a part of a model: the tables of all clusters, and their kernels bound to a simulation."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shinari.maths.strain import stretch_strain
from shinari.scene.motion import rotation_matrix
from shinari.shape_matching.kernels import cluster_poses, cluster_sums, move_to_goals
from shinari.shape_matching.spin import lump_spins, spin_sums, spin_up

if TYPE_CHECKING:
    from shinari.model import Model
    from shinari.settings import Settings
    from shinari.solver.workspace import Workspace
    from shinari.state import State

ROTATIONS, PLASTIC = "lumps/rotations", "lumps/plastic"
# Particles for which it is worth waking one more thread.
SHARE = 4000
# Exponents of e beyond this leave single precision.
_MOST_DAMPING = 80.0


@dataclass(frozen=True, eq=False)
class ShapeMatching:
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
        pieces: Cluster, first and end of the members of each piece, (K, 3).
        piece_starts: First piece of each cluster, (C + 1,).
        lump_pieces: Lump, first and end of the particles of each piece, (K', 3).
        lump_piece_starts: First piece of each lump, (L + 1,).
        name: What it is called in messages.
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
    pieces: np.ndarray
    piece_starts: np.ndarray
    lump_pieces: np.ndarray
    lump_piece_starts: np.ndarray
    name: str = "shape matching"

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

    def bind(self, model: "Model", state: "State", settings: "Settings", work: "Workspace") -> "Matching":
        """The clusters of a simulation."""
        return Matching(self, model, state, settings)

    def energy(self, model: "Model", state: "State") -> tuple[float, float]:
        """None beyond that of the particles; 1/2 m w^2 |x - g|^2 of each particle that is not rigid [J]."""
        soft = np.isfinite(self.frequencies)[self.lumps] & (state.x[self.particles, 3] > 0.0)
        if not soft.any():
            return 0.0, 0.0
        way = self.ways_to_goals(state)[soft]
        stiffness = self.frequencies[self.lumps[soft]] / state.x[self.particles[soft], 3].astype(np.float64)
        return 0.0, 0.5 * float(stiffness @ (way * way).sum(axis=1))

    def angular_momentum(self, model: "Model", state: "State") -> np.ndarray:
        """None beyond that of the particles."""
        return np.zeros(3)

    def point_strains(self, model: "Model", state: "State", x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Members of clusters, (E,), and the strains of their clusters; see `shinari.solver.part.Strained`.

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

    def point_forces(self, state: "State", h: float) -> tuple[np.ndarray, np.ndarray]:
        """None: goals are no rows."""
        return np.zeros(0, np.int64), np.zeros(0)

    def poses(self, state: "State") -> np.ndarray:
        """Centre and map of each cluster as the particles are now, (C, 12 or 30); see `cluster_poses`."""
        return self.matched(1, state.x, state.parts[ROTATIONS].copy(), state.parts[PLASTIC].copy(), 0.0)

    def ways_to_goals(self, state: "State") -> np.ndarray:
        """From each particle to the mean of its goals [m], (P, 3) float64."""
        x, shares = state.x.astype(np.float64), np.tile([1.0, 0.0], (len(self.held), 1))
        x[:, 3] = 1.0
        moves = np.zeros((len(self.particles), 3))
        self.move(1, True, self.poses(state), shares, x, moves)
        return moves

    def matched(self, parts: int, x: np.ndarray, rotations: np.ndarray, plastic: np.ndarray, flow: float) -> np.ndarray:
        """Poses of the clusters at positions x, (C, 12 or 30); follows `rotations`, and `plastic` for a time [s]."""
        width = 30 if len(self.means) else 12
        sums, poses = np.empty((len(self.pieces), width)), np.empty((len(self.masses), width))
        cluster_sums(
            parts, self.pieces, self.starts, self.members, self.rest, self.weights, self.quadratic, self.lengths, x,
            sums,
        )  # fmt: skip
        cluster_poses(
            min(parts, len(self.masses)), self.piece_starts, sums, self.starts, self.members, x, self.masses,
            self.inverse, self.open_part, self.laws, self.quadratic, self.lengths, self.inverse_nine, self.means,
            rotations, plastic, flow, poses,
        )  # fmt: skip
        return poses

    def move(
        self, parts: int, first: bool, poses: np.ndarray, shares: np.ndarray, x: np.ndarray, moves: np.ndarray
    ) -> None:
        """Move the particles of x, (N, 4), towards their goals; see `move_to_goals`."""
        move_to_goals(
            parts, first, self.particles, self.lumps, self.entry_starts, self.entries, self.clusters, self.rest,
            self.quadratic, self.lengths, self.means, poses, shares, x, moves,
        )  # fmt: skip


class Matching:
    """The clusters of one simulation."""

    def __init__(self, lumps: ShapeMatching, model: "Model", state: "State", settings: "Settings") -> None:
        self._model, self._state, self._h = lumps, state, settings.substep
        self._moves = np.zeros((len(lumps.particles), 3), state.x.dtype)
        self._before = np.zeros_like(self._moves)
        # so much damping leaves nothing; more would be no number
        self._growth = math.exp(min(model.damping * settings.substep, _MOST_DAMPING))
        self._shares = shares(lumps, settings)
        self._sums, self._spins = np.empty((len(lumps.lump_pieces), 13)), np.empty((len(lumps.held), 6))

    def predict(self, h: float) -> None:
        """Keep the velocities of the prediction."""
        np.take(self._state.v, self._model.particles, axis=0, out=self._before, mode="clip")

    def project(self, threads: int, first: bool) -> None:
        """Find the pose of every cluster and move its particles towards their goals."""
        parts, model, state = self._parts(threads), self._model, self._state
        flow = self._h if first else 0.0
        poses = model.matched(parts, state.x, state.parts[ROTATIONS], state.parts[PLASTIC], flow)
        model.move(parts, first, poses, self._shares, state.x, self._moves)

    def finish(self, threads: int) -> None:
        """Give free lumps the spin back that velocities from positions lose."""
        parts, model, state = self._parts(threads), self._model, self._state
        spin_sums(
            parts, model.lump_pieces, model.firsts, model.particles, state.x, state.v, self._before, self._moves,
            self._h, self._growth, self._sums,
        )  # fmt: skip
        lump_spins(
            model.lump_piece_starts, model.firsts, model.particles, state.x, self._sums, model.held, self._spins
        )  # fmt: skip
        spin_up(parts, model.particles, model.lumps, state.x, state.v, self._spins)

    def _parts(self, threads: int) -> int:
        return max(1, min(threads, len(self._model.particles) // SHARE))


def shares(model: ShapeMatching, settings: "Settings") -> np.ndarray:
    """What `move_to_goals` needs of the stiffness of each lump, (L, 2)."""
    if settings.method == "pbd":
        power = 1.0 if settings.stiffness_mode == "raw" else 1.0 / settings.iterations
        return np.stack([1.0 - (1.0 - model.stiffness) ** power, np.zeros(len(model.stiffness))], axis=1)
    square = model.frequencies * settings.substep**2
    with np.errstate(divide="ignore"):
        ratio = np.where(square > 0.0, 1.0 / square, 0.0)
    return np.stack([np.where(square > 0.0, 1.0 / (1.0 + ratio), 0.0), ratio], axis=1)
