"""Fluids, emitters, sinks and grains of a scene file; the tables are in `schema_fluids`."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from shinari.api.scene import Scene
from shinari.check import short
from shinari.errors import SceneError
from shinari.io import schema_fluids as fluids
from shinari.io.scene_fields import material_of, pin
from shinari.io.scene_solids import inside, motion_of, shape_of
from shinari.scene.fluid_material import FluidMaterial
from shinari.scene.grain_material import GrainMaterial
from shinari.scene.handle import BodyHandle, ColliderHandle

_SAMPLING = ("support", "kernel", "dimensions", "boundary")


def add_fluid(scene: Scene, table: fluids.FluidTable, folder: Path) -> None:
    """Add the fluid of a table; the meshes that it names are in the folder of the scene file."""
    label = f"fluid {short(table.name)}" if table.name else "fluid"
    given = _one_of(label, table, ("shape", "mesh", "container", "points"))
    what = _containers(scene, label, table.container) if given == "container" else _filled(table, given, folder)
    sampling = {field: getattr(table, field) for field in _SAMPLING if getattr(table, field) is not None}
    handle = scene.add_fluid(
        what,
        spacing=table.spacing,
        material=material_of(FluidMaterial, table.material),
        fill_to=table.fill_to,
        position=table.position,
        rotation=table.rotation,
        velocity=table.velocity,
        name=table.name,
        **sampling,
    )
    pin(handle, table)


def add_emitter(scene: Scene, table: fluids.EmitterTable) -> None:
    """Add the emitter of a table."""
    given = msgspec.structs.asdict(table)
    given["material"] = material_of(FluidMaterial, table.material)
    given["motion"] = None if table.motion is None else motion_of(table.motion)
    scene.add_emitter(given.pop("fluid"), **given)


def add_sink(scene: Scene, table: fluids.SinkTable, folder: Path) -> None:
    """Add the sink of a table; the meshes that it names are in the folder of the scene file."""
    shape = shape_of(table.shape, folder)
    scene.add_sink(shape, position=table.position, rotation=table.rotation, name=table.name)


def add_grains(scene: Scene, table: fluids.GrainsTable, folder: Path) -> None:
    """Add the grains of a table; the meshes that it names are in the folder of the scene file."""
    label = f"grains {short(table.name)}" if table.name else "grains"
    handle = scene.add_grains(
        _filled(table, _one_of(label, table, ("shape", "mesh", "points")), folder),
        radius=table.radius,
        spread=table.spread,
        packing=table.packing,
        material=material_of(GrainMaterial, table.material),
        position=table.position,
        rotation=table.rotation,
        velocity=table.velocity,
        angular_velocity=table.angular_velocity,
        name=table.name,
    )
    pin(handle, table)


def _one_of(label: str, table: Any, fields: tuple[str, ...]) -> str:
    """The one of some fields that is given."""
    given = [field for field in fields if getattr(table, field) is not None]
    if len(given) != 1:
        raise SceneError(f"{label}: {', '.join(fields)}: exactly one of them must be given")
    return given[0]


def _filled(table: Any, given: str, folder: Path) -> Any:
    """What particles fill, or the particles."""
    if given == "shape":
        return shape_of(table.shape, folder)
    return inside(folder, table.mesh) if given == "mesh" else np.array(table.points, np.float64)


def _containers(scene: Scene, label: str, names: Any) -> list[ColliderHandle | BodyHandle]:
    """The solids that are a container."""
    found = []
    for name in [names] if isinstance(names, str) else names:
        handle = scene[name]
        if not isinstance(handle, (ColliderHandle, BodyHandle)):
            raise SceneError(f"{label}: container: {short(name)} is no collider or rigid body")
        found.append(handle)
    return found
