"""Changes of settings and materials of a simulation that runs.

A change is exact: the simulation goes on, bit by bit, as a new one of the scene with the new values would that was
given the state of this one by `Simulation.restore`. Nothing that does not depend on the values is built anew.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from shinari import check
from shinari.errors import SceneError
from shinari.scene.contact_material import ContactMaterial
from shinari.scene.contents import sharing
from shinari.scene.fluid_material import FluidMaterial
from shinari.scene.grain_material import GrainMaterial
from shinari.scene.handle import Handle
from shinari.scene.lump_material import LumpMaterial
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.scene.objects import Material
from shinari.scene.rod_material import RodMaterial
from shinari.scene.soft_material import SoftMaterial
from shinari.scene.wind import checked_wind
from shinari.solver.rebuild import with_materials, with_settings, with_world
from shinari.solver.run import Run

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
        "grain_drag", "ambient_density", "cohesive", "tensile_correction", "tensile_power", "tensile_distance",
        "friction", "restitution",
    ),
}  # fmt: skip
"""Fields of a material that can change while it moves, by its class: those that are values and nothing else."""

# Fields of a scene that act on everything and can change.
_WORLD = ("gravity", "wind", "damping")


def checked_world(label: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Checked values of gravity, wind and damping, some of them.

    Raises:
        SceneError: One has another shape or is outside its bounds.
    """
    checks: dict[str, Callable[[Any], Any]] = {
        "gravity": lambda value: check.vector(label, "gravity", value),
        "wind": lambda value: checked_wind(label, value),
        "damping": lambda value: check.number(label, "damping", value, least=0.0),
    }
    return {name: checks[name](value) for name, value in values.items()}


class Changes:
    """Settings and materials that change while a simulation runs."""

    def __init__(self, run: Run) -> None:
        self._run = run

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
        settings = replace(self._run.settings, **{name: value for name, value in given.items() if value is not None})
        scene = sharing(self._run.described)
        world = {"gravity": gravity, "wind": wind, "damping": damping}
        checked = checked_world("simulation", {name: value for name, value in world.items() if value is not None})
        for name, value in checked.items():
            setattr(scene, name, value)
        model, orders = with_settings(self._run.model, scene, self._run.settings, settings, self._run.rows)
        if checked:
            model = with_world(model, scene)
        self._run.go_on(scene, model, settings, orders)

    def change_material(self, targets: Handle | str | Sequence[Handle | str], **changes: Any) -> None:
        """Change fields of the material of an object, or of several.

        Fields that are values of existing rows can change: compliances, moduli, stiffnesses, damping, friction, drag,
        viscosity. Fields that add or remove constraint rows, or decide about masses and sizes, need a new
        `Simulation`. The simulation goes on as a new one with this material would from the same state, bit by bit.

        Args:
            targets: Handle or name of an object, or several.
            **changes: Fields of its material and their new values.

        Raises:
            SceneError: An object has no material, a field is unknown or cannot change, or a value is outside its
                bounds. Nothing has changed then.
        """
        self._check_unchanged("change_material")
        several = [targets] if isinstance(targets, (Handle, str)) else targets
        chosen = [
            self._run.object_index(target, "targets")
            for target in check.sequence("change_material", "targets", several)
        ]
        scene = sharing(self._run.described)
        scene.particle_objects = list(scene.particle_objects)
        for k in chosen:
            obj = scene.particle_objects[k]
            material = changed_material(f"{obj.kind} {obj.name!r}", obj.material, changes)
            scene.particle_objects[k] = replace(obj, material=material, surface=contact_material_of(material))
        table = self._run.rows().with_materials(scene, chosen)
        self._run.go_on(
            scene, with_materials(self._run.model, scene, chosen, self._run.settings, table), self._run.settings, {}
        )
        self._run.take_rows(table)

    def material(self, target: Handle | str) -> Material:
        """Material of an object as it is now.

        Raises:
            SceneError: It is no object of this scene, or has no material.
        """
        obj = self._run.described.particle_objects[self._run.object_index(target, "target")]
        if obj.material is None:
            raise SceneError(f"{obj.kind} {obj.name!r}: material: has none")
        return obj.material

    def changes(self) -> dict[str, Any]:
        """Differences of `described` and `scene`: gravity, wind, damping, and materials by the name of the object."""
        was, now = self._run.scene, self._run.described
        world = {name: getattr(now, name) for name in _WORLD}
        found = {name: value for name, value in world.items() if value is not getattr(was, name)}
        materials = {
            a.name: a.material
            for a, b in zip(now.particle_objects, was.particle_objects, strict=True)
            if a.material is not b.material
        }
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

    def _check_unchanged(self, what: str) -> None:
        if self._run.changed():
            raise SceneError(f"{what}: the scene was changed after the simulation was built; build a new Simulation")


def changed_material(target: str, material: Material | None, changes: dict[str, Any]) -> Any:
    """A material with fields changed, checked as a new one is.

    Raises:
        SceneError: There is no material, a field is unknown or cannot change, or a value is outside its bounds.
    """
    if material is None:
        raise SceneError(f"{target}: material: has none")
    known, can = [field.name for field in fields(material)], CHANGEABLE[type(material)]
    for name in changes:
        if name not in known:
            raise SceneError(f"{target}: {name}: unknown field; those that can change are {', '.join(can)}")
        if name not in can:
            raise SceneError(
                f"{target}: {name}: cannot change while it moves; build a new Simulation. {', '.join(can)} can"
            )
    try:
        return replace(material, **changes)
    except SceneError as error:
        raise SceneError(f"{target}: {error}") from None


def contact_material_of(material: Material) -> ContactMaterial:
    """How a material behaves in contact; a fluid sticks no better than it slides."""
    static = getattr(material, "static_friction", None)
    return ContactMaterial(
        material.friction, static, material.restitution, getattr(material, "contact_compliance", 0.0)
    )
