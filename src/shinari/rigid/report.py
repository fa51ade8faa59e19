"""Contacts between bodies as the user sees them: the impulses of a step, point by point."""

from dataclasses import dataclass

import numpy as np

from shinari.contact.report import Contacts
from shinari.rigid.contact.table import Points
from shinari.rigid.frames import Frames


@dataclass
class _Entry:
    """The points of some substeps in a row that had the same points."""

    keys: np.ndarray
    frames: np.ndarray
    positions: np.ndarray
    normals: np.ndarray
    impulses: np.ndarray

    def pushing(self) -> "_Entry":
        """Those of its points that pushed."""
        on = self.impulses.any(axis=1)
        return _Entry(self.keys[on], self.frames[on], self.positions[on], self.normals[on], self.impulses[on])


class PointLog:
    """What pushed at the points of contact in a step."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []

    def begin(self) -> None:
        """A step begins."""
        self._entries = []

    def add(self, points: Points, arms: np.ndarray, push: np.ndarray, frames: Frames, h: float) -> None:
        """Add the forces (P, 3) of a substep at arms (P, 6) of the frames."""
        count = points.count
        keys = points.key[:count]
        if not self._entries or not np.array_equal(self._entries[-1].keys, keys):
            # other points in each substep fill the memory: of those that are gone only the ones that pushed matter
            self._entries[-1:] = [entry.pushing() for entry in self._entries[-1:]]
            none = np.zeros((count, 3))
            self._entries.append(_Entry(keys.copy(), points.frames[:count].copy(), none, none, none.copy()))
            self.place(points, arms, frames)
        self._entries[-1].impulses += h * push[:count]

    def place(self, points: Points, arms: np.ndarray, frames: Frames) -> None:
        """Write down where the points of the last substep are."""
        if self._entries:
            last, count = self._entries[-1], points.count
            last.positions = frames.x[last.frames[:, 0]] + arms[:count, :3]
            last.normals = points.normal[:count].copy()

    def contacts(self, names: np.ndarray, dt: float) -> Contacts:
        """The contacts that pushed, with the mean force over the step; `names` are those of the frames, (F,)."""
        none = np.zeros((0, 3))
        frames = np.concatenate([np.zeros((0, 2), np.int64), *(e.frames for e in self._entries)])
        positions = np.concatenate([none, *(e.positions for e in self._entries)])
        normals = np.concatenate([none, *(e.normals for e in self._entries)])
        impulses = np.concatenate([none, *(e.impulses for e in self._entries)])
        keys = np.concatenate([np.zeros(0, np.int64), *(e.keys for e in self._entries)])
        # a point that came and went is where it was last
        found, back = np.unique(keys, return_inverse=True)
        total, place = np.zeros((len(found), 3)), np.zeros(len(found), np.int64)
        np.add.at(total, back, impulses)
        place[back] = np.arange(len(keys))
        on = (total != 0.0).any(axis=1)
        chosen = place[on]
        one, other = names[frames[chosen, 0]], names[frames[chosen, 1]]
        return Contacts(positions[chosen], normals[chosen], total[on] / dt, one, other, np.zeros((0, 3)))


def joined(first: Contacts, second: Contacts) -> Contacts:
    """Contacts of particles, and of bodies among each other."""
    return Contacts(
        positions=np.concatenate([first.positions, second.positions]),
        normals=np.concatenate([first.normals, second.normals]),
        forces=np.concatenate([first.forces, second.forces]),
        first=np.concatenate([first.first, second.first]),
        second=np.concatenate([first.second, second.second]),
        particle_forces=first.particle_forces,
    )
