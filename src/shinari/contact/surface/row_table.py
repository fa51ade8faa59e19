"""The contact rows of a step: their arrays, which grow when pairs are found in the middle of it."""

import numba
import numpy as np

from shinari.contact.buffers import grown
from shinari.contact.family import Touches
from shinari.contact.surface.blocks import colour_blocks
from shinari.contact.surface.candidates import Pairs
from shinari.maths.function import STEADY

BLOCK = 64
REALS = {"gaps": (), "weights": (4,), "normals": (3,), "shifts": (), "starts": (), "distances": (), "approach": (),
         "multipliers": (), "bases": (), "impulses": (3,), "times": ()}  # fmt: skip


class RowTable:
    """Arrays of rows, by name; see `shinari.contact.surface.rows` for what they hold.

    Attributes:
        count: Rows.
        order: Blocks of rows by colour, (B,).
        offsets: Where each colour starts, (C + 1,).
    """

    def __init__(self, real: type, free: np.ndarray) -> None:
        self._types: dict[str, tuple] = {name: (real, *columns) for name, columns in REALS.items()}
        self._types |= {"indices": (np.uint32, 4), "edges": (np.bool_,), "active": (np.bool_,)}
        self._buffers = {name: np.zeros((0, *columns), kind) for name, (kind, *columns) in self._types.items()}
        self._free = free
        self._unused = np.zeros(0, np.int64)
        self._kept: list[Touches] = []
        self.count = 0
        self.order, self.offsets = np.zeros(0, np.int64), np.zeros(1, np.int64)

    def __len__(self) -> int:
        return self.count

    def get(self, *names: str) -> list[np.ndarray]:
        """Arrays of all rows."""
        return [self._buffers[name][: self.count] for name in names]

    def clear(self) -> None:
        """Forget all rows, and what they have pushed."""
        self.count = 0
        self._unused = np.zeros(0, np.int64)
        self._kept = []

    def fill(self, pairs: Pairs) -> None:
        """Take these rows instead of all others; none is active yet, and their distances are not known."""
        self._keep(np.arange(self.count))
        self.count = 0
        self._unused = np.zeros(0, np.int64)
        self._write(pairs)

    def exchange(self, particles: np.ndarray, pairs: Pairs) -> np.ndarray:
        """Take these rows instead of those of some particles, (N,) bool; the places of the new rows, (K,)."""
        indices, gaps, active = self.get("indices", "gaps", "active")
        retired = _retire(indices, particles, gaps, active)
        self._keep(retired)
        self._unused = np.concatenate([self._unused, retired])
        return self._write(pairs)

    def touches(self) -> Touches:
        """The rows that have pushed."""
        self._keep(np.arange(self.count))
        self._kept = [Touches.joined(self._kept)]
        return self._kept[0]

    def _write(self, pairs: Pairs) -> np.ndarray:
        reused = self._unused[: len(pairs.rows)]
        self._unused = self._unused[len(pairs.rows) :]
        begin, extra = self.count, len(pairs.rows) - len(reused)
        self.count += extra
        for name, (kind, *columns) in self._types.items():
            old = self._buffers[name]
            new = grown(old, self.count, kind, *columns)
            if new is not old:
                new[:begin] = old[:begin]
                self._buffers[name] = new
        places = np.concatenate([reused, np.arange(begin, self.count)])
        given = {"indices": pairs.rows, "edges": pairs.edges, "gaps": pairs.gaps, "active": False, "impulses": 0.0,
                 "bases": -np.inf, "multipliers": 0.0}  # fmt: skip
        for name, values in given.items():
            if len(reused):
                self._buffers[name][places] = values
            else:
                self._buffers[name][begin : self.count] = values
        self.order, self.offsets = colour_blocks(self.get("indices")[0], self._free, BLOCK)
        return places

    def _keep(self, places: np.ndarray) -> None:
        """Put away what these rows have pushed, before they are forgotten."""
        indices, weights, normals, impulses = self.get("indices", "weights", "normals", "impulses")
        pushed = places[_nonzero(impulses, places)]
        if len(pushed):
            self._kept.append(
                Touches(
                    indices[pushed],
                    weights[pushed].astype(np.float64),
                    np.full(len(pushed), -1),
                    normals[pushed].astype(np.float64),
                    impulses[pushed].astype(np.float64),
                )
            )
            impulses[pushed] = 0.0


@numba.njit(cache=True, **STEADY)
def _retire(indices, particles, gaps, active):
    """Let the rows of some particles push no more; their places."""
    places = np.empty(len(indices), np.int64)
    count = 0
    for r in range(len(indices)):
        own = (particles[indices[r, 0]] or particles[indices[r, 1]] or particles[indices[r, 2]]
               or particles[indices[r, 3]])  # fmt: skip
        if own and gaps[r] >= 0:
            gaps[r] = -1
            active[r] = False
            places[count] = r
            count += 1
    return places[:count].copy()


@numba.njit(cache=True, **STEADY)
def _nonzero(impulses, places):
    """Which of these rows have pushed, (K,) bool."""
    result = np.empty(len(places), np.bool_)
    for k in range(len(places)):
        r = places[k]
        result[k] = impulses[r, 0] != 0 or impulses[r, 1] != 0 or impulses[r, 2] != 0
    return result
