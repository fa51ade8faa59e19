"""Stacks and chains of bodies, as every engine gets them, and what is measured on them."""

import os
import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from rigid_worlds import DT, GRAVITY, Body, Link, World

import shinari as sn

SUBSTEPS = 10

__all__ = ["DT", "GRAVITY", "SUBSTEPS", "Bodies", "Case", "Chain", "Stacks", "timed", "timed_step"]


class Case(Protocol):
    """What engines run."""

    @property
    def world(self) -> World:
        """Its bodies and joints."""
        ...


class Bodies(Protocol):
    """An engine with a case in it."""

    def step(self) -> float | None:
        """Advance by DT; the time that it took [s], where only the engine knows."""
        ...

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Centres [m], (B, 3), and rotations w x y z, (B, 4), of the bodies in the order of the case; Y up."""
        ...


@dataclass(frozen=True)
class Stacks:
    """Columns of cubes on the ground.

    Attributes:
        columns: Columns along X and Z.
        levels: Cubes in each column.
        edge: Edge of a cube [m].
        pitch: Distance between the columns [m].
        gap: Gap below each cube at the start [m].
        density: Density [kg/m^3].
        friction: Coulomb coefficient.
    """

    columns: tuple[int, int]
    levels: int
    edge: float = 0.5
    pitch: float = 0.6
    gap: float = 0.005
    density: float = 1000.0
    friction: float = 0.5

    @property
    def world(self) -> World:
        """Its bodies."""
        cube = sn.Box((self.edge, self.edge, self.edge))
        return World(self.friction, SUBSTEPS, bodies=[Body(cube, x, density=self.density) for x in self.positions])

    @property
    def positions(self) -> np.ndarray:
        """Centres [m], (B, 3), column by column from below."""
        i, k, level = np.meshgrid(*(np.arange(n) for n in (*self.columns, self.levels)), indexing="ij")
        height = 0.5 * self.edge + self.gap + level * (self.edge + self.gap)
        return np.stack([self.pitch * i, height, self.pitch * k], axis=-1).reshape(-1, 3)

    def moved(self, x: np.ndarray) -> int:
        """Cubes that are more than 1 cm from their column, or more than 1 cm off their height."""
        start = self.positions
        rest = start - np.stack([0 * start[:, 0], self.gap * (1 + self._levels()), 0 * start[:, 0]], axis=1)
        aside = np.linalg.norm((x - rest)[:, [0, 2]], axis=1)
        return int(((aside > 0.01) | (np.abs((x - rest)[:, 1]) > 0.01 * (1 + self._levels()))).sum())

    def depth(self, x: np.ndarray) -> float:
        """How deep a cube is in what is below it at most [m]."""
        y = x[:, 1].reshape(-1, self.levels)
        return float((self.edge - np.diff(y, axis=1, prepend=-0.5 * self.edge)).max())

    def _levels(self) -> np.ndarray:
        return np.tile(np.arange(self.levels), self.columns[0] * self.columns[1])


@dataclass(frozen=True)
class Chain:
    """Links on each other by joints, the first on the world, laid out along X and let go.

    Attributes:
        kind: `"ball"` or `"hinge"` (about Z).
        links: Links, each with a joint at its upper end.
        length: Length of a link [m].
        thick: Its other edges [m].
        density: Density [kg/m^3].
    """

    kind: str
    links: int = 100
    length: float = 0.1
    thick: float = 0.03
    density: float = 1000.0

    @property
    def world(self) -> World:
        """Its links, which do not touch each other, and joints."""
        shape = sn.Box((self.length, self.thick, self.thick))
        bodies = [Body(shape, x, density=self.density) for x in self.positions]
        links = [Link(self.kind, i, i - 1, anchor) for i, anchor in enumerate(self.anchors)]
        return World(0.0, SUBSTEPS, ground=False, collide=False, bodies=bodies, links=links)

    @property
    def positions(self) -> np.ndarray:
        """Centres [m], (B, 3)."""
        return np.outer(np.arange(self.links) + 0.5, [self.length, 0.0, 0.0])

    @property
    def anchors(self) -> np.ndarray:
        """Joints [m], (B, 3)."""
        return np.outer(np.arange(self.links), [self.length, 0.0, 0.0])

    def gap(self, x: np.ndarray, q: np.ndarray) -> float:
        """Largest distance between two ends that a joint holds together [m]."""
        w, a, b, c = q.T
        along = np.stack([1 - 2 * (b * b + c * c), 2 * (a * b + w * c), 2 * (a * c - w * b)], axis=1)
        first, last = x - 0.5 * self.length * along, x + 0.5 * self.length * along
        return float(np.linalg.norm(first - np.concatenate([np.zeros((1, 3)), last[:-1]]), axis=1).max())


def timed(engine: Bodies, steps: int) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Times of that many steps [s], after one that compiles, and the poses after each."""
    engine.step()
    times, poses = np.zeros(steps), []
    for k in range(steps):
        times[k] = timed_step(engine)
        poses.append(engine.poses())
    return times, poses


def timed_step(engine: Bodies) -> float:
    """Take a step; its time [s], of the processor where PROCESSOR_TIME is set."""
    clock = time.process_time if os.environ.get("PROCESSOR_TIME") else time.perf_counter
    begun = clock()
    took = engine.step()
    return clock() - begun if took is None else took
