"""Rods as a part of the model: their table, their state, and what a step does with them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Program
from shinari.model.model import Model
from shinari.model.particles import Clock, Particles
from shinari.model.settings import Settings
from shinari.model.state import State
from shinari.model.system import System
from shinari.model.system_model import Binding, SystemModel
from shinari.systems.rods.blocks import Blocks
from shinari.systems.rods.direct import Borders, Strains, solve_ring, solve_rod
from shinari.systems.rods.iterative import Order, solve_joint, solve_segment
from shinari.systems.rods.motion import measure_start, predict_frame, update_spin
from shinari.systems.rods.records import Frames, Rods, Segments

if TYPE_CHECKING:
    from shinari.scene.contents import Contents


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
class RodModel(SystemModel):
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
    multipliers = ("rods/multipliers",)

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

    def bind(self, work: Binding) -> "list[RodSystem]":
        """The rods of a simulation."""
        return [RodSystem(self, work.model, work.state, work.settings, work.particles, work.clock)]

    def with_materials(self, scene: "Contents") -> "RodModel":
        """The same rods of other materials."""
        from shinari.systems.rods.build import softened

        return softened(self, scene)

    def energy(self, model: Model, state: State, h: float) -> tuple[float, float, float]:
        """Kinetic energy of the spins, and elastic energy [J]."""
        free = ~self.clamped
        momenta, spins = self._momenta(state), state.parts["rods/spins"].astype(np.float64)
        kinetic = 0.5 * float((momenta[free] * spins[free]).sum())
        values = self.strains(model, state)
        return kinetic, 0.0, 0.5 * float((values**2 / self.softness).sum())

    def angular_momentum(self, model: Model, state: State, about: np.ndarray) -> np.ndarray:
        """Angular momentum of the spins of free frames [kg m^2/s], (3,)."""
        return self._momenta(state)[~self.clamped].sum(axis=0)

    def strains(self, model: Model, state: State) -> np.ndarray:
        """C of all rows [m] and [rad], (S, 6); zero where there is no joint."""
        x = state.x.astype(np.float64)
        solver = state.origins[model.groups][model.slots] + x[model.slots, :3]
        seen = state.positions
        world = np.where(solver.astype(seen.dtype) == seen, solver, seen)
        x[model.slots, :3] = world - state.origins[model.groups][model.slots]
        frames = state.parts["rods/frames"].astype(np.float64)
        frames /= np.linalg.norm(frames, axis=1, keepdims=True)
        first, second = self.points.T.astype(np.int64)
        spans = _rotated(conjugated(frames), x[second, :3] - x[first, :3])
        spans[:, 2] -= self.lengths
        p = product(conjugated(frames), frames[self.after])
        p *= np.where((p * self.rest).sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0)
        values = np.concatenate([spans, 2.0 * (p - self.rest)[:, 1:]], axis=1)
        values[~self.jointed, 3:] = 0.0
        return values

    def point_strains(self, model: Model, state: State, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points of rods, (K,), and their strains; see `shinari.model.system_model`.

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
        p = product(conjugated(q), after)
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


class RodSystem(System):
    """Rods of one simulation.

    Attributes:
        frames: Their frames.
    """

    order = 50

    def __init__(
        self, rods: RodModel, model: Model, state: State, settings: Settings, particles: Particles, clock: Clock
    ) -> None:
        h, count = settings.substep, len(rods.points)
        self._rods, self._settings, self._particles, self._clock = rods, settings, particles, clock
        self._segments = _segments(rods, h)
        parts = state.parts
        self.frames = Frames(
            model.real,
            q=parts["rods/frames"],
            spin=parts["rods/spins"],
            multiplier=parts["rods/multipliers"],
            shown=parts["rods/shown"],
            predicted=np.zeros((count, 4), model.real),
            target=parts["rods/frames"].copy(),
            start=np.zeros((count, 6)),
        )
        self._clamped = np.flatnonzero(rods.clamped)
        self._scale, self._decay = 1.0 / h**2, float(np.exp(-model.damping * h))
        self._strains, self._blocks = Strains.zeros(count), Blocks.zeros(2 * count)
        rings = rods.direct & rods.closed
        self._borders = Borders.zeros(12 * count if rings.any() else 0)
        self._open = _ranges(rods.bounds[rods.direct & ~rods.closed])
        self._rings = _ranges(rods.bounds[rings])
        self._colours = _colours(rods.bounds, rods.closed)

    def record_predict(self, p: Program) -> None:
        """Turn the frames by their spins, clamped ones towards where the user put them."""
        h, count = self._settings.substep, len(self._segments)
        if self._rods.damping.any():
            p.launch(measure_start, self._segments, self.frames, self._particles, h, count=count)
        p.launch(
            predict_frame, self._segments, self.frames, self._clock, self._settings.substeps - 1, h, count=count
        )  # fmt: skip

    def record_project(self, p: Program, first: bool) -> None:
        """Solve every rod once, those for the iterative solver segment by segment and joint by joint."""
        shared = self._segments, self.frames, self._particles
        if len(self._open):
            scratch = self._strains, self._blocks
            p.launch(
                solve_rod, self._open, *shared, *scratch, self._scale, first, count=len(self._open), grain=2
            )  # fmt: skip
        if len(self._rings):
            scratch = self._strains, self._blocks, self._borders
            p.launch(
                solve_ring, self._rings, *shared, *scratch, self._scale, first, count=len(self._rings), grain=2
            )  # fmt: skip
        swept = np.zeros(len(self._segments), bool)
        for begin, end in self._rods.bounds[~self._rods.direct]:
            swept[begin:end] = True
        if swept.any():
            order, colours = self._order(swept)
            p.launch(solve_segment, order, *shared, self._scale, first, colours=colours)
        if (swept & self._rods.jointed).any():
            order, colours = self._order(swept & self._rods.jointed)
            p.launch(solve_joint, order, *shared[:2], self._scale, first, colours=colours)

    def record_velocities(self, p: Program) -> None:
        """Derive the spins from the turns."""
        arguments = self._segments, self.frames, self._decay, 1.0 / self._settings.substep
        p.launch(update_spin, *arguments, count=len(self._segments))

    def begin(self, time: float, ends: np.ndarray) -> None:
        """Give clamped frames that the user turned the spin that takes them there in dt."""
        c, frames = self._clamped, self.frames
        if len(c) == 0:
            return
        goal, here = frames.q[c].astype(np.float64), frames.shown[c].astype(np.float64)
        moved = (goal != here).any(axis=1)
        size = np.linalg.norm(goal, axis=1, keepdims=True)
        goal = np.where(size > 0.0, goal / np.where(size > 0.0, size, 1.0), here)
        turn = product(goal, conjugated(here))
        turn *= np.where(turn[:, :1] < 0.0, -1.0, 1.0)
        sine = np.linalg.norm(turn[:, 1:], axis=1, keepdims=True)
        angle = 2.0 * np.arctan2(sine, turn[:, :1])
        spin = turn[:, 1:] / np.where(sine > 0.0, sine, 1.0) * angle / self._settings.dt
        frames.spin[c] = np.where(moved[:, None], spin, 0.0)
        frames.target[c] = np.where(moved[:, None], goal, here)
        frames.q[c] = here

    def _order(self, chosen: np.ndarray) -> tuple[Order, np.ndarray]:
        """Some of the segments colour after colour, and where each colour starts."""
        numbers = np.flatnonzero(chosen)
        order = numbers[np.argsort(self._colours[numbers], kind="stable")]
        return Order(segment=order), np.searchsorted(self._colours[order], np.arange(4))


def _segments(rods: RodModel, h: float) -> Segments:
    """The record of all segments for a substep [s]."""
    return Segments(
        points=rods.points,
        after=rods.after.astype(np.int64),
        length=rods.lengths,
        rest=rods.rest,
        compliance=rods.softness,
        inverse_inertia=rods.weights,
        rate=rods.damping / h,
    )


def _ranges(bounds: np.ndarray) -> Rods:
    """First segments of rods and those after their last ones, (R, 2), as a record."""
    return Rods(begin=bounds[:, 0].astype(np.int64), end=bounds[:, 1].astype(np.int64))


def _colours(bounds: np.ndarray, closed: np.ndarray) -> np.ndarray:
    """Even segments 0, odd ones 1, and 2 for the last one of a ring with an odd number of them, (S,)."""
    colours = np.zeros(bounds[-1, 1], np.int64)
    for (begin, end), ring in zip(bounds, closed, strict=True):
        colours[begin:end] = np.arange(end - begin) % 2
        if ring and (end - begin) % 2:
            colours[end - 1] = 2
    return colours


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Product of quaternions (..., 4)."""
    w = a[..., 0] * b[..., 0] - (a[..., 1:] * b[..., 1:]).sum(axis=-1)
    v = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate([w[..., None], v], axis=-1)


def conjugated(q: np.ndarray) -> np.ndarray:
    """Conjugates of quaternions (..., 4)."""
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def _rotated(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vectors (S, 3) in the axes of frames (S, 4), in the world."""
    twice = 2.0 * np.cross(q[:, 1:], v)
    return v + q[:, :1] * twice + np.cross(q[:, 1:], twice)
