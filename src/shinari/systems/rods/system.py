"""The rods of a simulation."""

import numpy as np

from shinari.compute import Program
from shinari.model.model import Model
from shinari.model.particles import Clock, Particles
from shinari.model.settings import Settings
from shinari.model.state import State
from shinari.model.system import System
from shinari.systems.rods.blocks import Blocks
from shinari.systems.rods.direct import Borders, Strains, solve_ring, solve_rod
from shinari.systems.rods.iterative import Order, solve_joint, solve_segment
from shinari.systems.rods.model import RodModel, conjugated, half_turns, product
from shinari.systems.rods.motion import find_turning, measure_start, predict_frame, update_spin
from shinari.systems.rods.records import Frames, Rods, Segments


class RodSystem(System):
    """Rods of one simulation.

    Attributes:
        frames: Their frames.
    """

    order = 50
    can_rest = True
    on_device = True

    def __init__(
        self, rods: RodModel, model: Model, state: State, settings: Settings, particles: Particles, clock: Clock
    ) -> None:
        h, count = settings.substep, len(rods.points)
        self._rods, self._settings, self._particles, self._clock = rods, settings, particles, clock
        self._segments = _segments(rods, h)
        parts = state.system_arrays
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

    def tell_moving(self, p: Program) -> None:
        """Tell the clock whether a frame turns."""
        p.launch(find_turning, self.frames, self._clock, count=len(self._segments))

    def disturbed(self, time: float, ends: np.ndarray) -> bool:
        """Whether the user has turned a clamped frame."""
        c, frames = self._clamped, self.frames
        return bool((frames.q[c] != frames.shown[c]).any())

    @property
    def needs_python(self) -> bool:
        """Whether frames are clamped, which the user may turn."""
        return len(self._clamped) > 0

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
        turn=half_turns(rods.rest)[:, 1:].copy(),
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
