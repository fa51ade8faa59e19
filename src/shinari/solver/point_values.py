"""How far the rows at each particle are strained, and how hard they pull: what a picture is coloured by.

The strain of a row is that of its type:

    with a rest length or volume      |C| / rest value
    with a deformation gradient F     |S - 1|, S the stretches of F: for a pull along one axis the engineering strain

The strain at a particle is the mean over the rows at it that hold: not those that have torn, nor those that resist one
side only and are on the other, such as a slack tether. Rods and lumps add what `SystemModel.point_strains` says.
Rows of other types (bending, attachments) have no strain. It is 0 where nothing is strained: fluids and grains, which
have no rest shape, and loose particles.

The force at a particle is the largest that a row at it, or a segment of a rod, exerts on it: |sum_a lambda_a grad C_a|
over h^2, with the multipliers of the last substep. Contacts, pressures of fluids and goals of lumps are no rows: 0.
"""

from dataclasses import dataclass

import numpy as np

from shinari.compute.once import cached_property
from shinari.constraints.registry import ConstraintType
from shinari.maths.strain import stretch_strain
from shinari.model.model import ConstraintBlock, Model
from shinari.model.state import State


@dataclass(eq=False)
class RowValues:
    """What the rows of a block say of a state, in solver order.

    Attributes:
        block: The block.
        parameters: Parameters of the rows as they are now, (M, width) float64.
        x: Positions of the particles in solver order [m], (N, 4) float64.
        values: C, (M, rows).
        pulls: |sum_a lambda_a grad_i C_a| at each point, h^2 times a force, (M, points).
        compliance: Compliance on the side on which the row is, (M,); infinite where it does not hold.
    """

    block: ConstraintBlock
    parameters: np.ndarray
    x: np.ndarray
    values: np.ndarray
    pulls: np.ndarray
    compliance: np.ndarray

    @cached_property
    def strains(self) -> np.ndarray | None:
        """Strain of each row, (M,); None for types without one."""
        return row_strains(self.block.type, self.parameters, self.x, self.block.indices, self.values)

    @cached_property
    def strained(self) -> np.ndarray:
        """Which rows hold and have a strain, (M,)."""
        if self.strains is None:
            return np.zeros(len(self.values), bool)
        return np.isfinite(self.compliance) & ~np.isnan(self.strains)


def row_strains(
    kind: ConstraintType, parameters: np.ndarray, x: np.ndarray, indices: np.ndarray, values: np.ndarray
) -> np.ndarray | None:
    """Strain of each row of a type, (M,): nan where a row has nothing to be compared with, None for types without one.

    Args:
        kind: The type.
        parameters: Parameters of each row, (M, width).
        x: Positions [m], (N, 3 or more).
        indices: Points of each row, (M, points).
        values: C of each row, (M, rows).
    """
    column = rest_column(kind)
    if column is not None:
        rest = np.abs(parameters[:, column])
        return np.divide(np.abs(values[:, 0]), rest, out=np.full(len(rest), np.nan), where=rest > 0.0)
    side = kind.points - 1
    if kind.parameters[:1] == (("inverse_rest", side * side),) and side in (2, 3):
        inverse = parameters[:, : side * side].reshape(-1, side, side)
        # columns: the axes of the material where they are now
        corners = x[indices, :3]
        gradient = np.einsum("mic,mij->mcj", corners[:, 1:] - corners[:, :1], inverse)
        return np.where(inverse.any(axis=(1, 2)), stretch_strain(gradient), np.nan)
    return None


def rest_column(kind: ConstraintType) -> int | None:
    """Column of the parameter that a value of C is compared with, if there is one."""
    column = 0
    for name, width in kind.parameters:
        if name in ("rest_length", "rest_volume"):
            return column
        column += width
    return None


class PointValues:
    """Gathers the values of rows at the particles of one model."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._blocks = list(model.blocks.values())
        points = [block.indices.astype(np.int64).ravel() for block in self._blocks]
        joined = np.concatenate([np.zeros(0, np.int64), *points])
        # the points of all rows sorted: those of one particle follow each other
        self._order = np.argsort(joined, kind="stable")
        self._pulled, self._firsts = np.unique(joined[self._order], return_index=True)

    def strains(self, state: State, rows: dict[str, RowValues], x: np.ndarray) -> np.ndarray:
        """Strain at each particle as added, (N,); x are the positions in solver order, (N, 4) float64."""
        count = self._model.particle_count
        total, number = np.zeros(count), np.zeros(count)
        for block in self._blocks:
            found = rows[block.type.name]
            if found.strains is not None:
                there = found.strained
                self._add(total, number, block, found.strains, None if there.all() else there)
        for system in self._model.systems:
            slots, strains = system.point_strains(self._model, state, x)
            if len(slots):
                total += np.bincount(slots, strains, count)
                number += np.bincount(slots, minlength=count)
        mean = np.divide(total, number, out=np.zeros(count), where=number > 0.0)
        return mean[self._model.slots]

    def forces(self, state: State, rows: dict[str, RowValues], h: float) -> np.ndarray:
        """Force at each particle as added [N], (N,), for a substep of length h [s]."""
        largest = np.zeros(self._model.particle_count)
        if len(self._order):
            pulls = np.concatenate([rows[block.type.name].pulls.ravel() for block in self._blocks])
            largest[self._pulled] = np.maximum.reduceat(pulls[self._order], self._firsts) / h**2
        for system in self._model.systems:
            slots, forces = system.point_forces(state, h)
            np.maximum.at(largest, slots, forces)
        return largest[self._model.slots]

    def _add(
        self,
        total: np.ndarray,
        number: np.ndarray,
        block: ConstraintBlock,
        strains: np.ndarray,
        there: np.ndarray | None,
    ) -> None:
        """Add the strains of the rows of a block that are there to the sums and numbers at their points."""
        indices = block.indices if there is None else block.indices[there]
        strains = strains if there is None else strains[there]
        for column in range(block.type.points):
            total += np.bincount(indices[:, column], strains, len(total))
            number += np.bincount(indices[:, column], minlength=len(total))
