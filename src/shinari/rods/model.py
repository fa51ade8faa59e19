"""Rods as a part of the model: their table, their state, and what a step does with them."""

from dataclasses import dataclass

import numpy as np

from shinari.model import Model
from shinari.rods import direct, iterative, motion
from shinari.settings import Settings
from shinari.state import State


@dataclass(frozen=True)
class RodLoads:
    """What the part of a rod behind a cut exerts on the part before it, in world axes.

    Attributes:
        forces: In each segment [N], (S, 3): along the rod where it is under tension.
        moments: In each joint [N m], (J, 3).
    """

    forces: np.ndarray
    moments: np.ndarray


@dataclass(frozen=True)
class RodModel:
    """All rods of a scene, segment after segment; the joint of a segment is that to the next one.

    Attributes:
        bounds: First segment of each rod and the one after its last, (R, 2).
        closed: Which rods are rings, (R,).
        direct: Which rods are solved directly, (R,).
        points: Particles of each segment in solver order, (S, 2) uint32.
        after: Segment at the other side of each joint; the segment itself where there is no joint, (S,).
        lengths: Lengths at rest [m], (S,).
        rest: Rotation at rest to the frame of the next segment, (S, 4).
        softness: Compliances of segments [m/N] and joints [rad/(N m)], (S, 6).
        weights: Inverse inertia of frames across and along their third axis [1/(kg m^2)], (S, 2); zero where clamped.
        damping: Damping times [s], (S,).
        frames: Frames at the start, (S, 4).
        spins: Angular velocities at the start, in world axes [rad/s], (S, 3).
        clamped: Which frames are clamped, (S,).
    """

    bounds: np.ndarray
    closed: np.ndarray
    direct: np.ndarray
    points: np.ndarray
    after: np.ndarray
    lengths: np.ndarray
    rest: np.ndarray
    softness: np.ndarray
    weights: np.ndarray
    damping: np.ndarray
    frames: np.ndarray
    spins: np.ndarray
    clamped: np.ndarray
    name: str = "rods"

    @property
    def jointed(self) -> np.ndarray:
        """Segments that have a joint to the next one, (S,) bool."""
        return self.after != np.arange(len(self.after))

    def start(self, model: Model) -> dict[str, np.ndarray]:
        """Frames, spins and multipliers; and the frames that the user was last shown."""
        frames = self.frames.astype(model.real)
        return {
            "rods/frames": frames,
            "rods/shown": frames.copy(),
            "rods/spins": self.spins.astype(model.real),
            "rods/multipliers": np.zeros((len(frames), 6), model.real),
        }

    def bind(self, model: Model, state: State, settings: Settings, predicted: np.ndarray) -> "RodPart":
        """The rods of a simulation."""
        return RodPart(self, model, state, settings)

    def energy(self, model: Model, state: State) -> tuple[float, float]:
        """Kinetic energy of the spins, and elastic energy [J]."""
        free = ~self.clamped
        momenta, spins = self._momenta(state), state.parts["rods/spins"].astype(np.float64)
        kinetic = 0.5 * float((momenta[free] * spins[free]).sum())
        values = self.strains(model, state)
        return kinetic, 0.5 * float((values**2 / self.softness).sum())

    def angular_momentum(self, model: Model, state: State) -> np.ndarray:
        """Angular momentum of the spins of free frames [kg m^2/s], (3,)."""
        return self._momenta(state)[~self.clamped].sum(axis=0)

    def strains(self, model: Model, state: State) -> np.ndarray:
        """C of all rows [m] and [rad], (S, 6); zero where there is no joint."""
        values = np.zeros((len(self.points), 6))
        x = state.x.astype(np.float64)
        solver = state.origins[model.groups][model.slots] + x[model.slots, :3]
        seen = state.positions
        world = np.where(solver.astype(seen.dtype) == seen, solver, seen)
        x[model.slots, :3] = world - state.origins[model.groups][model.slots]
        frames = state.parts["rods/frames"].astype(np.float64)
        frames /= np.linalg.norm(frames, axis=1, keepdims=True)
        motion.begin(
            self.points, self.after, self.lengths, self.rest, x, np.zeros((len(x), 3)), frames, values, np.float64(0.0)
        )
        values[~self.jointed, 3:] = 0.0
        return values

    def point_strains(self, model: Model, state: State, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points of rods, (K,), and their strains; see `shinari.solver.part.Strained`.

        The mean of the stretch and shear of the segments at a point, |C| / l, and the strain that bend and twist of the
        joint there add in the outermost fibre: r |C| / l with the radius r and the mean length l of its two segments.
        """
        values, count = self.strains(model, state), model.particle_count
        segments = np.linalg.norm(values[:, :3], axis=1) / self.lengths
        ends = self.points.astype(np.int64)
        total = np.bincount(ends.ravel(), np.repeat(segments, 2), count)
        number = np.bincount(ends.ravel(), minlength=count)
        shared = ends[:, 1]
        turns = np.linalg.norm(values[:, 3:], axis=1) * model.radii[shared]
        bends = np.bincount(shared, 2.0 * turns / (self.lengths + self.lengths[self.after]), count)
        slots = np.flatnonzero(number)
        return slots, total[slots] / number[slots] + bends[slots]

    def point_forces(self, state: State, h: float) -> tuple[np.ndarray, np.ndarray]:
        """Points of segments, (2 S,), and the force in each segment [N]."""
        forces = np.linalg.norm(state.parts["rods/multipliers"][:, :3].astype(np.float64), axis=1) / (h * h)
        return self.points.astype(np.int64).ravel(), np.repeat(forces, 2)

    def loads(self, state: State, h: float, segments: range) -> RodLoads:
        """Internal forces and moments of a rod after the last substep."""
        chosen = slice(segments.start, segments.stop)
        frames = state.parts["rods/frames"].astype(np.float64)
        q, after = frames[chosen], frames[self.after[chosen]]
        inner = state.parts["rods/multipliers"][chosen].astype(np.float64) / -(h * h)
        p = _quaternion_product(_conjugated(q), after)
        p *= np.where((p * self.rest[chosen]).sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0)
        # what the rows of a joint exert on the frame after it, (w + [v])^T
        moments = p[:, :1] * inner[:, 3:] + np.cross(inner[:, 3:], p[:, 1:])
        return RodLoads(_rotated(q, inner[:, :3]), _rotated(after, moments)[self.jointed[chosen]])

    def _momenta(self, state: State) -> np.ndarray:
        """Angular momentum of each frame, (S, 3)."""
        spins = state.parts["rods/spins"].astype(np.float64)
        q = state.parts["rods/frames"].astype(np.float64)
        up = _rotated(q / np.linalg.norm(q, axis=1, keepdims=True), np.array([0.0, 0.0, 1.0]))
        inertia = np.divide(1.0, self.weights, out=np.zeros_like(self.weights), where=self.weights > 0.0)
        own = (spins * up).sum(axis=1, keepdims=True)
        return inertia[:, :1] * (spins - own * up) + inertia[:, 1:] * own * up


class RodPart:
    """Rods bound to the arrays of one simulation."""

    def __init__(self, rods: RodModel, model: Model, state: State, settings: Settings) -> None:
        real, h = model.real, settings.substep
        count = len(rods.points)
        self._rods, self._x, self._v = rods, state.x, state.v
        self._frames, self._shown = state.parts["rods/frames"], state.parts["rods/shown"]
        self._spins, self._multipliers = state.parts["rods/spins"], state.parts["rods/multipliers"]
        self._targets = self._frames.copy()
        self._predicted = np.empty_like(self._frames)
        self._begun = np.zeros((count, 6))
        self._rates = rods.damping / h
        self._clamped = np.flatnonzero(rods.clamped)
        self._dt, self._substeps, self._substep = settings.dt, settings.substeps, 0
        self._scale = np.float64(1.0 / h**2)
        self._decay, self._inverse_h = real(np.exp(-model.damping * h)), real(1.0 / h)
        self._real = real
        self._direct = self._bind_direct()
        self._iterative = self._bind_iterative()

    def predict(self, h: float) -> None:
        """Turn the frames by their spins, clamped ones towards where the user put them."""
        rods = self._rods
        if self._substep == 0:
            self._take_in()
        if self._rates.any():
            motion.begin(
                rods.points, rods.after, rods.lengths, rods.rest, self._x, self._v, self._frames, self._begun,
                self._real(h),
            )  # fmt: skip
        arrive = self._substep == self._substeps - 1
        motion.predict(
            self._frames, self._spins, self._targets, arrive, rods.weights, self._predicted, self._real(h)
        )  # fmt: skip

    def project(self, threads: int, first: bool) -> None:
        """Solve every rod once, those for the iterative solver segment by segment and joint by joint."""
        if self._direct is not None:
            direct.project(threads, first, *self._direct)
        for arguments in self._iterative:
            iterative.sweep(threads, first, *arguments)

    def finish(self, threads: int) -> None:
        """Derive the spins from the turns."""
        motion.finish(self._frames, self._spins, self._rods.weights, self._predicted, self._decay, self._inverse_h)
        self._substep += 1
        if self._substep == self._substeps:
            self._substep = 0
            self._shown[...] = self._frames

    def _take_in(self) -> None:
        """Give clamped frames that the user turned the spin that takes them there in dt."""
        c = self._clamped
        if len(c) == 0:
            return
        goal, here = self._frames[c].astype(np.float64), self._shown[c].astype(np.float64)
        moved = (goal != here).any(axis=1)
        size = np.linalg.norm(goal, axis=1, keepdims=True)
        goal = np.where(size > 0.0, goal / np.where(size > 0.0, size, 1.0), here)
        turn = _quaternion_product(goal, _conjugated(here))
        turn *= np.where(turn[:, :1] < 0.0, -1.0, 1.0)
        sine = np.linalg.norm(turn[:, 1:], axis=1, keepdims=True)
        angle = 2.0 * np.arctan2(sine, turn[:, :1])
        spin = turn[:, 1:] / np.where(sine > 0.0, sine, 1.0) * angle / self._dt
        self._spins[c] = np.where(moved[:, None], spin, 0.0)
        self._targets[c] = np.where(moved[:, None], goal, here)
        self._frames[c] = here

    def _bind_direct(self) -> tuple | None:
        rods, count = self._rods, len(self._rods.points)
        chosen = rods.direct
        if not chosen.any():
            return None
        rings = (chosen & rods.closed).any()
        return (
            rods.bounds[chosen], rods.closed[chosen], rods.points, rods.lengths, rods.rest, rods.softness, rods.weights,
            self._rates, self._begun, self._x, self._frames, self._multipliers, self._scale, np.zeros((count, 7)),
            np.zeros((2 * count, 24)), np.zeros((7 if rings else 1, 2 * count, 3)),
        )  # fmt: skip

    def _bind_iterative(self) -> list[tuple]:
        rods = self._rods
        members = np.zeros(len(rods.points), bool)
        for begin, end in rods.bounds[~rods.direct]:
            members[begin:end] = True
        if not members.any():
            return []
        shared = (rods.after, rods.points, rods.lengths, rods.rest, rods.softness, rods.weights, self._rates,
                  self._begun, self._x, self._frames, self._multipliers, self._scale)  # fmt: skip
        colours = _colours(rods.bounds, rods.closed)
        sweeps = []
        for joints, rows in ((False, members), (True, members & rods.jointed)):
            chosen = np.flatnonzero(rows)
            order = chosen[np.argsort(colours[chosen], kind="stable")]
            offsets = np.searchsorted(colours[order], np.arange(4))
            sweeps.append((offsets, order, joints, *shared))
        return sweeps


def _colours(bounds: np.ndarray, closed: np.ndarray) -> np.ndarray:
    """Even segments 0, odd ones 1, and 2 for the last one of a ring with an odd number of them, (S,)."""
    colours = np.zeros(bounds[-1, 1], np.int64)
    for (begin, end), ring in zip(bounds, closed, strict=True):
        colours[begin:end] = np.arange(end - begin) % 2
        if ring and (end - begin) % 2:
            colours[end - 1] = 2
    return colours


def _quaternion_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    w = a[:, 0] * b[:, 0] - (a[:, 1:] * b[:, 1:]).sum(axis=1)
    v = a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])
    return np.concatenate([w[:, None], v], axis=1)


def _conjugated(q: np.ndarray) -> np.ndarray:
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def _rotated(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vectors (S, 3) in the axes of frames (S, 4), in the world."""
    twice = 2.0 * np.cross(q[:, 1:], v)
    return v + q[:, :1] * twice + np.cross(q[:, 1:], twice)
