"""Colours again, for other particles that can move or another sweep: the rows of a model in another order.

Rows may share a particle inside a colour as long as it is fixed. Once it moves they may not; and a scene with other
pins is swept in another order. Nothing of a row changes but its place, so this costs a small part of a build.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from shinari.compute.colouring import colour
from shinari.model.model import ConstraintBlock, Model
from shinari.model.state import State
from shinari.scene.contents import Contents
from shinari.systems.failure.build import build_tearable_meshes


def recoloured(model: Model, scene: Contents, masses: np.ndarray, sweep: str) -> tuple[Model, dict[str, np.ndarray]]:
    """A model with its rows as a sweep needs them, as if built with these masses.

    Args:
        model: The model.
        scene: Its scene.
        masses: Masses of the particles as added [kg], (N,); 0 where fixed.
        sweep: The sweep, see `shinari.model.settings.Settings`.

    Returns:
        The model, and for each block whose rows have moved the old row at each new place, (M,).
    """
    free = np.zeros(model.particle_count, bool)
    free[model.slots] = masses > 0.0
    blocks, orders, moved = {}, {}, {}
    for name, block in model.blocks.items():
        places, offsets = _places(block, free, sweep)
        if np.array_equal(places, block.added_index) and np.array_equal(offsets, block.offsets):
            blocks[name], moved[name] = block, np.arange(block.row_count)
            continue
        orders[name] = np.argsort(block.added_index)[places]
        moved[name] = np.argsort(orders[name])
        blocks[name] = _reordered(block, orders[name], places, offsets)
    tearable_rows = _followed(model.tearable_rows, moved)
    changed = replace(
        model,
        masses=masses,
        blocks=blocks,
        moving_targets=_followed(model.moving_targets, moved),
        breakables=_followed(model.breakables, moved),
        tearable_rows=tearable_rows,
        plastic_rows=_followed(model.plastic_rows, moved),
        tearable_meshes=build_tearable_meshes(scene, model.slots, blocks, list(tearable_rows)),
    )
    return changed, orders


def move_rows(state: State, orders: Mapping[str, np.ndarray]) -> None:
    """Bring what a state keeps for each row to the new places of the rows; see `recoloured`."""
    for name, order in orders.items():
        for table in (state.multipliers, state.broken):
            if name in table:
                table[name][...] = table[name][order]


def _places(block: ConstraintBlock, free: np.ndarray, sweep: str) -> tuple[np.ndarray, np.ndarray]:
    """Place of each row in the order in which rows were added, (M,), and where each colour starts."""
    if sweep != "gauss-seidel":
        return np.arange(block.row_count), np.array([0, block.row_count])
    return colour(block.indices[np.argsort(block.added_index)], len(free), free=free)


def _reordered(block: ConstraintBlock, order: np.ndarray, places: np.ndarray, offsets: np.ndarray) -> ConstraintBlock:
    compliance = np.ascontiguousarray(block.compliance[order])
    shared = block.coefficient is block.compliance
    return ConstraintBlock(
        type=block.type,
        indices=np.ascontiguousarray(block.indices[order]),
        parameters=np.ascontiguousarray(block.parameters[order]),
        coefficient=compliance if shared else np.ascontiguousarray(block.coefficient[order]),
        compliance=compliance,
        damping=block.damping[order] if len(block.damping) else block.damping,
        offsets=offsets.astype(np.int64),
        added_index=places.astype(np.uint32),
    )


def _followed(items: tuple, moved: Mapping[str, np.ndarray]) -> tuple:
    """Records of rows, with the rows where they are now."""
    return tuple(replace(item, rows=moved[item.block][item.rows]) for item in items)
