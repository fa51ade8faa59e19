"""Parameters that differ from world to world: paths, and the scenes and models with their values.

A path is `gravity`, `damping` or `wind`, or the name of an object and a field of it, `"flag.stretch_compliance"`:
values of a material that can change, `mass`, or of a collider its `position`, `rotation`, `motion`, `friction` and
`restitution`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shinari import check
from shinari.api.add_bodies import heft_of
from shinari.api.changes import CHANGEABLE, changed_material, contact_material_of
from shinari.api.scene import Scene
from shinari.errors import SceneError
from shinari.model.model import Model
from shinari.model.settings import Settings
from shinari.scene.contents import sharing
from shinari.scene.handle import BodyHandle, ColliderHandle
from shinari.solver.build import build_model
from shinari.solver.rebuild import RowTable, with_materials, with_world
from shinari.systems.fluid.model import FluidModel
from shinari.systems.rigid.model import RigidModel

WORLD = ("gravity", "damping", "wind")
COLLIDER = ("position", "rotation", "motion", "friction", "restitution")
MASS = "mass"
WIDTHS = {"gravity": 3, "wind": 3, "position": 3, "rotation": 4}


def paths(scene: Scene) -> list[str]:
    """All paths of a scene, `gravity` and the like first."""
    found = list(WORLD)
    for obj in scene.particle_objects:
        fields = CHANGEABLE.get(type(obj.material), ())
        # the inertia of rods, and the mass of fluids and grains, follow from their densities
        found += [f"{obj.name}.{MASS}"] * (obj.kind not in ("rod", "fluid", "grains"))
        found += [f"{obj.name}.{field}" for field in fields]
    found += [f"{collider.name}.{field}" for collider in scene.colliders for field in COLLIDER]
    return found + [f"{body.name}.{MASS}" for body in scene.bodies if body.mass > 0.0]


class Variation:
    """What differs from world to world.

    Args:
        scene: The scene of which they are copies.
        count: Worlds.
        vary: Values by their paths; `(count, ...)` each.

    Raises:
        SceneError: A path is unknown, there are not as many values as worlds, or a value is outside its bounds.
    """

    def __init__(self, scene: Scene, count: int, vary: Mapping[str, Any] | None) -> None:
        self._scene = scene
        given = {} if vary is None else check.kind("worlds", "vary", vary, dict)
        known = paths(scene) if given else []
        self._values: dict[str, Sequence[Any] | np.ndarray] = {}
        for path, values in given.items():
            if path not in known:
                raise SceneError(
                    f"worlds: vary: unknown parameter {check.short(path)}; known are {check.names(known, near=path)}"
                )
            self._values[path] = _per_world(path, values, count)

    def __bool__(self) -> bool:
        return bool(self._values)

    def model(self, world: int, model: Model, settings: Settings, rows: RowTable) -> tuple[Scene, Model]:
        """The scene of a world and its model.

        Args:
            world: Number of the world.
            model: Model of the scene of which it is a copy.
            settings: Settings of the simulation.
            rows: The rows of that scene.

        Raises:
            SceneError: A value is outside its bounds; the message names the world.
        """
        if not self._values:
            return self._scene, model
        try:
            return self._model(world, model, settings, rows)
        except SceneError as error:
            raise SceneError(f"worlds: vary: world {world}: {error}") from None

    def _model(self, world: int, model: Model, settings: Settings, rows: RowTable) -> tuple[Scene, Model]:
        scene = sharing(self._scene)
        scene.particle_objects, scene.colliders = list(scene.particle_objects), list(scene.colliders)
        scene.bodies = list(scene.bodies)
        materials: dict[str, dict[str, Any]] = {}
        for path, values in self._values.items():
            name, _, field = path.rpartition(".")
            value = values[world]
            if not name:
                setattr(scene, field, _plain(value))
            elif isinstance(handle := scene.handles[name], ColliderHandle):
                _set_collider(scene, handle, field, value)
            elif field == MASS:
                _set_mass(scene, handle, check.number(name, field, value, above=0.0))
            else:
                materials.setdefault(name, {})[field] = _plain(value)
        changed = _set_materials(scene, materials)
        if self._needs_build(model):
            return scene, build_model(scene, settings)
        if changed:
            model = with_materials(model, scene, changed, settings, rows.with_materials(scene, changed))
        return scene, replace(with_world(model, scene), colliders=tuple(scene.colliders))

    def _needs_build(self, model: Model) -> bool:
        """Whether values decide about more than values of the model."""
        fields = {path.rpartition(".")[2] for path in self._values if "." in path}
        solid = model.find(RigidModel) is not None or model.find(FluidModel) is not None
        return MASS in fields or (solid and any(self._of_collider(path) for path in self._values))

    def _of_collider(self, path: str) -> bool:
        return isinstance(self._scene.handles.get(path.rpartition(".")[0]), ColliderHandle)


def _per_world(path: str, values: Any, count: int) -> Sequence[Any] | np.ndarray:
    """Values of all worlds, checked for their number and shape."""
    field = path.rpartition(".")[2]
    if field == "motion" or (field == "wind" and isinstance(values, Sequence) and any(map(callable, values))):
        given = check.sequence("worlds: vary", path, values)
        if len(given) != count:
            raise SceneError(f"worlds: vary: {path}: expected {count} functions, one for each world, got {len(given)}")
        return [check.function("worlds: vary", path, each) for each in given]
    if (width := WIDTHS.get(field)) is not None:
        return check.array("worlds: vary", path, values, (count, width))
    shape = check.shaped("worlds: vary", path, values).shape
    if shape != (count,):
        raise SceneError(f"worlds: vary: {path}: expected shape ({count},), got {shape}")
    # each is checked as the value of its field: some are True or False, some may be infinite
    return check.sequence("worlds: vary", path, values)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0 else value


def _set_collider(scene: Scene, handle: ColliderHandle, field: str, value: Any) -> None:
    name, index = handle.name, handle.index
    collider = scene.colliders[index]
    if field in ("friction", "restitution"):
        most = 1.0 if field == "restitution" else np.inf
        number = check.number(name, field, value, least=0.0, most=most)
        scene.colliders[index] = replace(collider, surface=replace(collider.surface, **{field: number}))
        return
    if field == "rotation":
        value = check.unit_quaternion(name, field, value)
    scene.colliders[index] = replace(collider, **{field: value})


def _set_mass(scene: Scene, handle: Any, mass: float) -> None:
    """Give an object another mass [kg]; it is distributed as before."""
    if isinstance(handle, BodyHandle):
        body = scene.bodies[handle.index]
        if body.densities is None:
            scene.bodies[handle.index] = replace(body, mass=mass, moments=body.moments * (mass / body.mass))
            return
        # as `add_rigid_body` does it, to the bit
        mass, _, moments, axes = heft_of(f"body {body.name!r}", body.pieces, body.densities, mass)
        scene.bodies[handle.index] = replace(body, mass=mass, moments=moments, axes=axes)
        return
    index = next(k for k, obj in enumerate(scene.particle_objects) if obj.name == handle.name)
    obj = scene.particle_objects[index]
    total = float(obj.masses.sum())
    if total == 0.0:
        raise SceneError(f"{obj.name}: mass: all of its particles are fixed by mass 0")
    scene.particle_objects[index] = replace(obj, masses=obj.masses * (mass / total))


def _set_materials(scene: Scene, materials: Mapping[str, dict[str, Any]]) -> list[int]:
    """Change materials; returns the indices of their objects."""
    changed = []
    for index, obj in enumerate(scene.particle_objects):
        if obj.name in materials:
            material = changed_material(f"{obj.kind} {obj.name!r}", obj.material, materials[obj.name])
            scene.particle_objects[index] = replace(obj, material=material, surface=contact_material_of(material))
            changed.append(index)
    return changed
