"""Changes of settings and materials of a simulation that runs.

A change is exact: the simulation goes on, bit by bit, as a new one of the scene with the new values would that was
given the state of this one by `Simulation.restore`. Nothing that does not depend on the values is built anew.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shinari.build.recolour import move_rows, recoloured
from shinari.diagnostics import Diagnostics
from shinari.errors import SceneError
from shinari.live.remodel import RowTable, with_materials, with_settings, with_world
from shinari.scene import check
from shinari.scene.fluid_material import FluidMaterial
from shinari.scene.grain_material import GrainMaterial
from shinari.scene.handle import Handle
from shinari.scene.lump_material import LumpMaterial
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.scene.rod_material import RodMaterial
from shinari.scene.scene import Scene
from shinari.scene.soft_material import SoftMaterial
from shinari.scene.surface import Surface
from shinari.scene.things import Material
from shinari.scene.wind import checked_wind
from shinari.settings import Settings

if TYPE_CHECKING:
    from shinari.model import Model
    from shinari.state import State

_CONTACT = ("friction", "static_friction", "restitution", "contact_compliance")
_ROWS = (
    "stretch_compliance", "compression_compliance", "stretch_stiffness", "compression_stiffness", "bend_compliance",
    "bending_stiffness_ratio", "damping",
)  # fmt: skip
CHANGEABLE: dict[type, tuple[str, ...]] = {
    ClothMaterial: (
        *_ROWS, "shear_compliance", "shear_stiffness", "poissons_ratio", "bend_stiffness", "drag_normal",
        "drag_tangential", *_CONTACT,
    ),
    RopeMaterial: (*_ROWS, *_CONTACT),
    RodMaterial: ("youngs_modulus", "shear_modulus", "poissons_ratio", "damping", *_CONTACT),
    SoftMaterial: ("youngs_modulus", "poissons_ratio", "damping", *_CONTACT),
    LumpMaterial: ("stiffness", "beta", "creep", "most_strain", *_CONTACT),
    GrainMaterial: _CONTACT,
    FluidMaterial: (
        "compressibility", "viscosity", "xsph", "vorticity", "surface_tension", "adhesion", "air_drag",
        "ambient_density", "cohesive", "tensile_correction", "tensile_power", "tensile_distance", "friction",
        "restitution",
    ),
}  # fmt: skip
"""Fields of a material that can change while it moves, by its class: those that are values and nothing else."""

# Fields of a scene that act on everything and can change.
_WORLD = ("gravity", "wind", "damping")

# What a state keeps of forces, as force times the square of a substep. Each solve begins from zero.
_PART_MULTIPLIERS = ("rods/multipliers", "volumes/multipliers", "attachments/multipliers")


class Changes:
    """Settings and materials that change while a simulation runs.

    Attributes:
        described: The scene with the materials, gravity, wind and damping that hold now; `scene` as long as none of
            them was changed. Its handles are those of `scene`.
    """

    scene: Scene
    described: Scene
    settings: Settings
    model: "Model"
    state: "State"
    _revision: int
    _bind: Callable[[], None]
    _group_index: Callable[..., int]
    _diagnostics: Diagnostics
    _table: RowTable | None

    def change(
        self,
        *,
        substeps: int | None = None,
        iterations: int | None = None,
        method: str | None = None,
        sweep: str | None = None,
        gravity: Any = None,
        wind: Any = None,
        damping: float | None = None,
    ) -> None:
        """Change settings, gravity, wind and damping; None leaves a value as it is.

        The simulation goes on as a new one with these values would from the same state, bit by bit. The forces of the
        last substep read as before.

        Args:
            substeps: Substeps of a step.
            iterations: Iterations of the solver in each substep.
            method: `"xpbd"` or `"pbd"`.
            sweep: As in `Simulation`.
            gravity: Acceleration [m/s^2].
            wind: Velocity of the air [m/s], constant or a function of time [s]. A scene without air gets some.
            damping: Rate at which all velocities decay [1/s].

        Raises:
            SceneError: A value is outside its bounds, or an object of the scene cannot be simulated with it. Nothing
                has changed then.
        """
        self._check_unchanged("change")
        given = {"substeps": substeps, "iterations": iterations, "method": method, "sweep": sweep}
        settings = replace(self.settings, **{name: value for name, value in given.items() if value is not None})
        scene = copy(self.described)
        if gravity is not None:
            scene.gravity = check.vector("simulation", "gravity", gravity)
        if wind is not None:
            scene.wind = checked_wind("simulation", wind)
        if damping is not None:
            scene.damping = check.number("simulation", "damping", damping, least=0.0)
        model, orders = with_settings(self.model, scene, self.settings, settings, self._rows)
        if gravity is not None or wind is not None or damping is not None:
            model = with_world(model, scene)
        self._go_on(scene, model, settings, orders)

    def change_material(self, things: Handle | str | Sequence[Handle | str], **changes: Any) -> None:
        """Change fields of the material of an object, or of several.

        Fields that are values of existing rows can change: compliances, moduli, stiffnesses, damping, friction, drag,
        viscosity. Fields that add or remove constraint rows, or decide about masses and sizes, need a new
        `Simulation`. The simulation goes on as a new one with this material would from the same state, bit by bit.

        Args:
            things: Handle or name of an object, or several.
            **changes: Fields of its material and their new values.

        Raises:
            SceneError: An object has no material, a field is unknown or cannot change, or a value is outside its
                bounds. Nothing has changed then.
        """
        self._check_unchanged("change_material")
        several = [things] if isinstance(things, (Handle, str)) else things
        chosen = [self._group_index(thing, "things") for thing in check.sequence("change_material", "things", several)]
        scene = copy(self.described)
        scene.groups = list(scene.groups)
        for k in chosen:
            group = scene.groups[k]
            material = changed_material(f"{group.kind} {group.name!r}", group.material, changes)
            scene.groups[k] = replace(group, material=material, surface=_surface(material))
        table = self._rows().with_materials(scene, chosen)
        self._go_on(scene, with_materials(self.model, scene, chosen, self.settings, table), self.settings, {})
        self._table = table

    def material(self, thing: Handle | str) -> Material:
        """Material of an object as it is now.

        Raises:
            SceneError: It is no object of this scene, or has no material.
        """
        group = self.described.groups[self._group_index(thing, "thing")]
        if group.material is None:
            raise SceneError(f"{group.kind} {group.name!r}: material: has none")
        return group.material

    def changes(self) -> dict[str, Any]:
        """Differences of `described` and `scene`: gravity, wind, damping, and materials by the name of the object."""
        was, now = self.scene, self.described
        world = {name: getattr(now, name) for name in _WORLD}
        found = {name: value for name, value in world.items() if value is not getattr(was, name)}
        materials = {a.name: a.material for a, b in zip(now.groups, was.groups, strict=True) if a is not b}
        return found | ({"materials": materials} if materials else {})

    def take_changes(self, changes: dict[str, Any]) -> None:
        """Make changes that `changes` told of another simulation of the same scene.

        Raises:
            SceneError: An object or a field is not known, or a value is outside its bounds.
        """
        check.kind("take_changes", "changes", changes, dict)
        materials = check.kind("take_changes", "changes: materials", changes.get("materials", {}), dict)
        world = {name: value for name, value in changes.items() if name != "materials"}
        for name in world:
            check.choice("take_changes", "changes: name", name, _WORLD)
        for name, material in materials.items():
            if type(material) not in CHANGEABLE:
                raise SceneError(
                    f"take_changes: changes: {check.short(name)}: expected a material, got {check.short(material)}"
                )
            self.change_material(name, **{field: getattr(material, field) for field in CHANGEABLE[type(material)]})
        self.change(**world)

    def _rows(self) -> RowTable:
        """The rows as they are now; made when they are first asked for."""
        if self._table is None:
            self._table = RowTable(self.described)
        return self._table

    def _check_unchanged(self, what: str) -> None:
        if self.scene.revision != self._revision:
            raise SceneError(f"{what}: the scene was changed after the simulation was built; build a new Simulation")

    def _go_on(self, scene: Scene, model: "Model", settings: Settings, orders: dict[str, np.ndarray]) -> None:
        """Bind another model of the same particles to the state, in place of the one so far; all of it or nothing."""
        before = self.described, self.model, self.settings
        move_rows(self.state, orders)
        self.described, self.model, self.settings = scene, model, settings
        try:
            self._bind()
        except BaseException:
            self.described, self.model, self.settings = before
            move_rows(self.state, {name: np.argsort(order) for name, order in orders.items()})
            raise
        self.state.coloured = settings.sweep == "gauss-seidel"
        scale = (settings.substep / before[2].substep) ** 2
        if scale != 1.0:
            held = [*self.state.multipliers.values(), *map(self.state.parts.get, _PART_MULTIPLIERS)]
            for values in (array for array in held if array is not None):
                values *= values.dtype.type(scale)
        self._diagnostics = Diagnostics(model, settings)

    def _follow_order(self, state: "State") -> None:
        """Bring what was taken over from a state, of which rows stood in the order of another sweep, to the own one."""
        if state.coloured == self.state.coloured:
            return
        other = "gauss-seidel" if state.coloured else "jacobi"
        _, orders = recoloured(self.model, self.described, self.model.masses, other)
        move_rows(self.state, {name: np.argsort(order) for name, order in orders.items()})


def changed_material(thing: str, material: Material | None, changes: dict[str, Any]) -> Any:
    """A material with fields changed, checked as a new one is.

    Raises:
        SceneError: There is no material, a field is unknown or cannot change, or a value is outside its bounds.
    """
    if material is None:
        raise SceneError(f"{thing}: material: has none")
    known, can = [field.name for field in fields(material)], CHANGEABLE[type(material)]
    for name in changes:
        if name not in known:
            raise SceneError(f"{thing}: {name}: unknown field; those that can change are {', '.join(can)}")
        if name not in can:
            raise SceneError(
                f"{thing}: {name}: cannot change while it moves; build a new Simulation. {', '.join(can)} can"
            )
    try:
        return replace(material, **changes)
    except SceneError as error:
        raise SceneError(f"{thing}: {error}") from None


def _surface(material: Material) -> Surface:
    """How a material behaves in contact; a fluid sticks no better than it slides."""
    static = getattr(material, "static_friction", None)
    return Surface(material.friction, static, material.restitution, getattr(material, "contact_compliance", 0.0))
