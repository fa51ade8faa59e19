r"""The scene of the benchmark: a square sheet that hangs by two corners.

pin o---o---o---o pin       1 x 1 m, 1 kg, N x N particles, horizontal at the start
| \ | \ | \ |           rows along both axes and one diagonal of each cell, k = 1e4 N/m each
o---o---o---o           dt 1/60 s, 10 substeps of one iteration
| \ | \ | \ |
o---o---o---o
"""

from dataclasses import dataclass, field

import numpy as np

from shinari.api.scene import Scene
from shinari.compute.once import cached_property

STIFFNESS = 1e4
BEND_STIFFNESS = 1e-4
GRAVITY = 9.81
DT = 1.0 / 60.0


@dataclass(frozen=True)
class Case:
    """One measurement.

    Attributes:
        n: Particles along an edge of the sheet.
        bending: Whether each pair of triangles has a row of isometric bending.
        hierarchy: Whether coarse levels are solved first (ours only).
        threads: Threads.
        substeps: Substeps of a step.
        iterations: Iterations of a substep.
    """

    n: int
    bending: bool = False
    hierarchy: bool = False
    threads: int = 2
    substeps: int = 10
    iterations: int = 1

    @cached_property
    def sheet(self) -> "Sheet":
        """Its sheet."""
        return Sheet(self.n, self.bending)


@dataclass(frozen=True)
class Sheet:
    """The sheet as plain arrays, which every subject builds its scene from.

    Attributes:
        n: Particles along an edge.
        bending: Whether it has rows of bending.
        positions: Positions [m], (N * N, 3).
        rows: Particles of each distance row, (M, 2).
        hinges: Particles of each bending row, the shared edge first, (H, 4); empty without bending.
        pinned: The two particles that hold it.
    """

    n: int
    bending: bool = False
    positions: np.ndarray = field(init=False)
    rows: np.ndarray = field(init=False)
    hinges: np.ndarray = field(init=False)
    pinned: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        n, at = self.n, np.arange(self.n * self.n).reshape(self.n, self.n)
        along = np.linspace(0.0, 1.0, n)
        z, x = np.meshgrid(along, along, indexing="ij")
        positions = np.stack([x.ravel(), np.zeros(n * n), z.ravel()], axis=1)
        a, b, c, d = at[:-1, :-1], at[:-1, 1:], at[1:, :-1], at[1:, 1:]
        rows = np.concatenate([_table(at[:, :-1], at[:, 1:]), _table(at[:-1], at[1:]), _table(a, d)])
        hinges = np.zeros((0, 4), np.int64)
        if self.bending:
            across = _table(a, d, b, c)
            upright = _table(at[:-1, 1:-1], at[1:, 1:-1], at[:-1, :-2], at[1:, 2:])
            level = _table(at[1:-1, :-1], at[1:-1, 1:], at[:-2, :-1], at[2:, 1:])
            hinges = np.concatenate([across, upright, level])
        object.__setattr__(self, "positions", positions)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "hinges", hinges)
        object.__setattr__(self, "pinned", (0, n - 1))

    @property
    def mass(self) -> float:
        """Mass of a particle [kg]."""
        return 1.0 / len(self.positions)

    @property
    def row_count(self) -> int:
        """Rows of all types."""
        return len(self.rows) + len(self.hinges)

    def faces(self) -> np.ndarray:
        """Triangles that have the distance rows as their edges, (F, 3)."""
        at = np.arange(self.n * self.n).reshape(self.n, self.n)
        a, b, c, d = at[:-1, :-1], at[:-1, 1:], at[1:, :-1], at[1:, 1:]
        return np.concatenate([_table(a, d, b), _table(a, c, d)], axis=1).reshape(-1, 3)

    def strains(self, positions: np.ndarray) -> tuple[float, float]:
        """Mean and largest |strain| of the distance rows at positions (N * N, 3)."""
        strains = np.abs(self._lengths(positions) / self._lengths(self.positions) - 1.0)
        return float(strains.mean()), float(strains.max())

    def _lengths(self, positions: np.ndarray) -> np.ndarray:
        first, second = positions[self.rows.T].astype(np.float64)
        return np.linalg.norm(first - second, axis=1)

    def scene(self) -> Scene:
        """The sheet as a scene."""
        from shinari.constraints.isometric_bend import compliance_factor

        scene = Scene(gravity=(0.0, -GRAVITY, 0.0))
        particles = scene.add_particles(self.positions, mass=self.mass, name="sheet")
        scene.add_constraint("distance", self.rows, compliance=1.0 / STIFFNESS)
        if self.bending:
            factor = compliance_factor(self.positions[self.hinges])
            scene.add_constraint("isometric_bend", self.hinges, compliance=factor / BEND_STIFFNESS)
        particles.pin(self.pinned)
        return scene


def _table(*columns: np.ndarray) -> np.ndarray:
    return np.stack([column.ravel() for column in columns], axis=1)
