"""From rows of one type to their block: coloured, in the order of the solver, with the values of the method.

What a block is made of falls in three parts that can change apart from each other: which particles its rows join, in
what order they are solved (the colours), and the values of each row (coefficients, damping, parameters).
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from shinari import check
from shinari.compute.colouring import colour
from shinari.constraints.registry import ConstraintType
from shinari.errors import SceneError
from shinari.model.model import ConstraintBlock
from shinari.model.settings import Settings
from shinari.scene.contents import Contents
from shinari.scene.objects import Rows


def build_block(
    constraint_type: ConstraintType,
    added: list[Rows],
    scene: Contents,
    slots: np.ndarray,
    free: np.ndarray,
    origins_of_particles: np.ndarray,
    settings: Settings,
    real: type,
) -> ConstraintBlock:
    """The block of all rows of a type.

    Args:
        constraint_type: The type.
        added: Its rows in the order in which they were added.
        scene: The scene.
        slots: Place of each particle in solver order, (N,).
        free: Which particles can move, in solver order, (N,).
        origins_of_particles: Origin of each particle as added [m], (N, 3).
        settings: Settings of the simulation.
        real: Floating point type of the solver.

    Raises:
        SceneError: Rest values are not finite, or not what the type says.
    """
    indices = np.concatenate([row.indices for row in added])
    internal = slots[indices]
    permutation, offsets = _order(internal, free, settings)
    parameters = np.concatenate([_parameters(constraint_type, row, scene) for row in added])
    for columns in constraint_type.place_columns:
        parameters[:, columns] -= origins_of_particles[indices[:, 0]]
    return ConstraintBlock(
        type=constraint_type,
        indices=np.ascontiguousarray(internal[permutation]),
        parameters=np.ascontiguousarray(parameters[permutation], real),
        offsets=offsets.astype(np.int64),
        added_index=permutation.astype(np.uint32),
        **_values(added, permutation, settings, real),
    )


def revalued(block: ConstraintBlock, added: list[Rows], settings: Settings, real: type) -> ConstraintBlock:
    """The block with the coefficients, damping and given parameters of other rows between the same particles.

    Args:
        block: The block.
        added: All of its rows, with other values.
        settings: Settings of the simulation.
        real: Floating point type of the solver.
    """
    parameters, start = block.parameters, 0
    if any(row.parameters for row in added):
        parameters, where = parameters.copy(), np.argsort(block.added_index)
    for row in added:
        rows, column = slice(start, start + len(row.indices)), 0
        start = rows.stop
        for name, width in block.type.parameters:
            columns = slice(column, column + width)
            column += width
            # places were moved to their origin, and never change
            if name in row.parameters and columns not in block.type.place_columns:
                parameters[where[rows], columns] = row.parameters[name].reshape(-1, width)
    return replace(block, parameters=parameters, **_values(added, block.added_index, settings, real))


def _order(internal: np.ndarray, free: np.ndarray, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """The rows colour after colour, (M,), and where each colour starts; Jacobi sweeps take them as they come."""
    if settings.sweep == "gauss-seidel":
        return colour(internal, len(free), free=free)
    return np.arange(len(internal)), np.array([0, len(internal)])


def _values(added: list[Rows], permutation: np.ndarray, settings: Settings, real: type) -> dict[str, np.ndarray]:
    """Coefficient, compliance and damping of a block, its rows in the order of `permutation`."""
    damping = np.zeros(0)
    if settings.method == "xpbd" and any(row.damping is not None for row in added):
        damping = np.concatenate([np.zeros(len(r.indices)) if r.damping is None else r.damping for r in added])[
            permutation
        ]
    compliance = np.ascontiguousarray(_coefficient(added, "xpbd", settings)[permutation], real)
    coefficient = compliance
    if settings.method == "pbd":
        coefficient = np.ascontiguousarray(_coefficient(added, "pbd", settings)[permutation], real)
    return {"coefficient": coefficient, "compliance": compliance, "damping": damping.astype(real)}


def _coefficient(rows: list[Rows], method: str, settings: Settings) -> np.ndarray:
    """Coefficient of rows of one type in the order in which they were added, (M, 1) or (M, 2) float64.

    `"xpbd"` takes the compliance. `"pbd"` takes the stiffness k, by default as k' = 1 - (1 - k)^(1/n) for n
    iterations, so that n projections leave (1 - k) of the error (Mueller et al. 2006, section 3.3); raw: k itself.
    """
    if method == "xpbd":
        sides = [(row.compliance, row.compression_compliance) for row in rows]
    else:
        sides = [(row.stiffness, row.compression_stiffness) for row in rows]
    columns = [np.concatenate([above for above, _ in sides])]
    if any(below is not None for _, below in sides):
        columns.append(np.concatenate([above if below is None else below for above, below in sides]))
    coefficient = np.stack(columns, axis=1)
    if method == "pbd" and settings.stiffness_mode != "raw":
        coefficient = 1.0 - (1.0 - coefficient) ** (1.0 / settings.iterations)
    return coefficient


def _rest_values(constraint_type: str, name: str, value: Any, shape: tuple[int, int]) -> np.ndarray:
    """Rest values of a parameter as the type's function returned them."""
    found = check.shaped(f"constraint {constraint_type!r}", f"rest: {name}", value)
    if found.dtype.kind not in "iuf":
        raise SceneError(f"constraint {constraint_type!r}: rest: {name}: expected numbers, got {check.short(value)}")
    if found.size != math.prod(shape):
        raise SceneError(f"constraint {constraint_type!r}: rest: {name} has shape {found.shape}, expected {shape}")
    return found


def _parameters(constraint_type: ConstraintType, row: Rows, scene: Contents) -> np.ndarray:
    """Parameter table of the rows, (M, width) float64: those given, and the rest values of the others."""
    missing = [name for name, _ in constraint_type.parameters if name not in row.parameters]
    rest: dict[str, np.ndarray] = {}
    if missing and constraint_type.rest is not None:
        values = constraint_type.rest(scene.positions[row.indices])
        if not isinstance(values, tuple):
            values = (values,)
        if len(values) != len(constraint_type.parameters):
            raise SceneError(
                f"constraint {constraint_type.name!r}: rest: {len(values)} arrays for "
                f"{len(constraint_type.parameters)} parameters"
            )
        for (name, width), value in zip(constraint_type.parameters, values, strict=True):
            rest[name] = _rest_values(constraint_type.name, name, value, (len(row.indices), width))
    columns = [
        np.asarray(row.parameters.get(name, rest.get(name)), np.float64).reshape(len(row.indices), width)
        for name, width in constraint_type.parameters
    ]
    table = np.concatenate(columns, axis=1) if columns else np.zeros((len(row.indices), 0))
    if not np.isfinite(table).all():
        bad = int(np.argmin(np.isfinite(table).all(axis=1)))
        raise SceneError(f"constraint {constraint_type.name!r}: row {bad}: its rest values are not finite")
    return table
