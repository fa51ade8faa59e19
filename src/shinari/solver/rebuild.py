"""A model with other values: what a new build would give, without building anew what stays the same.

Materials and settings enter a model as values of rows and parts. Where the particles stand, which of them share a row,
how rows are coloured, the clusters of lumps and the shapes of bodies do not depend on them, but for the colours, which
only a Gauss-Seidel sweep has. Each function here takes over from the model what stays and computes the rest by the
functions that build a model, in the same order of operations, so that the values are the same to the last bit.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from shinari.errors import SceneError
from shinari.model.model import Model
from shinari.model.settings import Settings
from shinari.scene.contents import Contents
from shinari.scene.materials import ClothMaterial
from shinari.scene.objects import Rows
from shinari.solver.build import surface_numbers
from shinari.solver.recolour import recoloured
from shinari.systems.air.build import air_surface
from shinari.systems.rods.build import check_rods
from shinari.systems.rows.build import revalued
from shinari.systems.rows.scene_rows import object_rows, rows_by_object
from shinari.systems.rows.sheet import Sheet


class RowTable:
    """All rows of a scene, so that those of one object can be made of another material without the others.

    Args:
        scene: The scene.
    """

    def __init__(self, scene: Contents) -> None:
        objects = enumerate(scene.particle_objects)
        self._sheets = {k: Sheet(obj) for k, obj in objects if isinstance(obj.material, ClothMaterial)}
        self._added, self._made = list(scene.rows), rows_by_object(scene, self._sheets)

    def of_type(self, name: str) -> list[Rows]:
        """All rows of a type in the order in which they were added."""
        return [rows for rows in (*self._added, *(r for made in self._made for r in made)) if rows.type == name]

    def types_of(self, number: int) -> set[str]:
        """Types of the rows of an object."""
        return {rows.type for rows in self._made[number]}

    def with_materials(self, scene: Contents, changed: Sequence[int]) -> "RowTable":
        """The table for a scene in which some objects have other materials.

        Args:
            scene: That scene.
            changed: Indices of these objects among its particle objects.

        Raises:
            SceneError: A material asks for other rows, not only for other values.
        """
        starts = np.cumsum([0] + [len(obj.positions) for obj in scene.particle_objects])
        table = copy(self)
        table._made = list(self._made)
        for number in changed:
            obj, before = scene.particle_objects[number], self._made[number]
            made = object_rows(obj, int(starts[number]), self._sheets.get(number))
            made += [rows for rows in before if rows.type == "tether"]
            if _shapes(made) != _shapes(before):
                raise SceneError(
                    f"{obj.kind} {obj.name!r}: this material makes other constraint rows, {_told(made)} in place "
                    f"of {_told(before)}; build a new Simulation"
                )
            table._made[number] = made
        return table


def _shapes(rows: list[Rows]) -> list[tuple[str, int]]:
    return [(row.type, len(row.indices)) for row in rows]


def _told(rows: list[Rows]) -> str:
    return " and ".join(f"{count} of type {name!r}" for name, count in _shapes(rows)) or "none"


def with_settings(
    model: Model, scene: Contents, before: Settings, after: Settings, table: Callable[[], RowTable]
) -> tuple[Model, dict[str, np.ndarray]]:
    """The model for other settings of the same precision, and where its rows have moved; see `recoloured`.

    Args:
        model: The model.
        scene: The scene as it is now.
        before: Settings that the model was built with.
        after: The others.
        table: Gives the rows of the scene, if they are needed.

    Raises:
        SceneError: An object of the scene cannot be simulated with these settings.
    """
    check_rods(scene, after)
    if _stiffness_of(before) != _stiffness_of(after):
        rows = table()
        blocks = {name: revalued(block, rows.of_type(name), after, model.real) for name, block in model.blocks.items()}
        model = replace(model, blocks=blocks)
    if (before.sweep == "gauss-seidel") == (after.sweep == "gauss-seidel"):
        return model, {}
    return recoloured(model, scene, model.masses, after.sweep)


def _stiffness_of(settings: Settings) -> tuple[str, int]:
    """What of the settings the coefficient of rows depends on."""
    shared = settings.method == "pbd" and settings.stiffness_mode != "raw"
    return settings.method, settings.iterations if shared else 0


def with_world(model: Model, scene: Contents) -> Model:
    """The model in the gravity, wind and damping of a scene that differs in these alone."""
    air = model.air
    if (model.wind is None) != (scene.wind is None):
        air = air_surface(scene, model.slots, model.real)
    return replace(model, gravity=scene.gravity, wind=scene.wind, damping=scene.damping, air=air)


def with_materials(model: Model, scene: Contents, changed: Sequence[int], settings: Settings, table: RowTable) -> Model:
    """The model for a scene in which some objects have other materials.

    Args:
        model: The model.
        scene: That scene.
        changed: Indices of these objects among its particle objects.
        settings: Settings of the simulation.
        table: The rows of that scene.
    """
    blocks, air = dict(model.blocks), model.air
    for name in {name for number in changed for name in table.types_of(number)}:
        blocks[name] = revalued(blocks[name], table.of_type(name), settings, model.real)
    if air is not None and any(
        isinstance(scene.particle_objects[number].material, ClothMaterial) for number in changed
    ):
        air = air_surface(scene, model.slots, model.real)
    return replace(
        model,
        blocks=blocks,
        surfaces=surface_numbers(scene, model.real),
        air=air,
        systems=tuple(system.with_materials(scene) for system in model.systems),
    )
