"""Roles and materials of objects, the panel in the sidebar, and the operators that bake, cancel and clear."""

from pathlib import Path
from typing import Any

from .baking import Bake, python_with_shinari
from .objects import apply_result, clear, items_of, rate_of, world_of
from .scene_folder import MAPS, write_scene

bpy: Any = None
AddonPreferences: Any = type("AddonPreferences", (), {})
Operator: Any = type("Operator", (), {})
Panel: Any = type("Panel", (), {})
PropertyGroup: Any = type("PropertyGroup", (), {})


def _nothing(**options: Any) -> None:
    """In place of a property, where there is no Blender."""


BoolProperty = EnumProperty = FloatProperty = FloatVectorProperty = IntProperty = StringProperty = _nothing
try:
    import bpy  # type: ignore[import-not-found, no-redef]
    from bpy.props import (  # type: ignore[import-not-found, no-redef, assignment]
        BoolProperty,
        EnumProperty,
        FloatProperty,
        FloatVectorProperty,
        IntProperty,
        StringProperty,
    )
    from bpy.types import (  # type: ignore[import-not-found, no-redef]
        AddonPreferences,
        Operator,
        Panel,
        PropertyGroup,
    )
except ImportError:  # the documentation and the tests read this file without Blender
    pass

ROLES = (
    ("none", "None", "Takes no part"),
    ("cloth", "Cloth", "A sheet of triangles"),
    ("soft", "Soft Body", "A closed mesh, filled with tetrahedra"),
    ("rope", "Rope", "A chain of edges, or a curve of one poly spline"),
    ("rigid", "Rigid Body", "A closed mesh that keeps its shape"),
    ("collider", "Collider", "Pushes and is not pushed; may be animated"),
)
CLOTHS = ("cotton", "silk", "denim", "leather")
"""Presets of `ClothMaterial` that are offered."""
SECONDS = 0.2
"""Time between two looks at the process [s]."""
running: list[Bake] = []
"""The bake that goes on now, if any."""


_MAP = "Vertex group: 1 times the material at weight 0, At Weight 1 times at weight 1, linear between"
_FACTOR = "Factor of the material where the weight is 1"


class ShinariObject(PropertyGroup):
    """Role and material of an object."""

    role: EnumProperty(items=ROLES, name="Role", default="none")  # type: ignore[valid-type]
    pin_group: StringProperty(name="Pins", description="Vertices with a weight above 0.5 are fixed")  # type: ignore[valid-type]
    preset: EnumProperty(items=[(name, name.capitalize(), "") for name in CLOTHS], name="Fabric")  # type: ignore[valid-type]
    self_collision: BoolProperty(name="Self Collision", default=True)  # type: ignore[valid-type]
    density: FloatProperty(name="Density", description="kg/m³", default=1000.0, min=1e-3)  # type: ignore[valid-type]
    youngs_modulus: FloatProperty(name="Stiffness", description="Young's modulus [Pa]", default=1e5, min=1.0)  # type: ignore[valid-type]
    poissons_ratio: FloatProperty(name="Poisson's Ratio", default=0.4, min=0.0, max=0.49)  # type: ignore[valid-type]
    rope_density: FloatProperty(name="Mass per Length", description="kg/m", default=0.1, min=1e-6)  # type: ignore[valid-type]
    rope_radius: FloatProperty(name="Radius", default=0.01, min=1e-5, subtype="DISTANCE")  # type: ignore[valid-type]
    thickness: FloatProperty(name="Thickness", default=0.005, min=0.0, subtype="DISTANCE", precision=4)  # type: ignore[valid-type]
    friction: FloatProperty(name="Friction", default=0.4, min=0.0, soft_max=2.0)  # type: ignore[valid-type]
    thickness_group: StringProperty(name="Thickness Map", description=_MAP)  # type: ignore[valid-type]
    thickness_factor: FloatProperty(name="At Weight 1", description=_FACTOR, default=2.0, min=0.01, soft_max=10.0)  # type: ignore[valid-type]
    stiffness_group: StringProperty(name="Stiffness Map", description=_MAP)  # type: ignore[valid-type]
    stiffness_factor: FloatProperty(name="At Weight 1", description=_FACTOR, default=5.0, min=0.01, soft_max=100.0)  # type: ignore[valid-type]
    mass_group: StringProperty(name="Mass Map", description=_MAP)  # type: ignore[valid-type]
    mass_factor: FloatProperty(name="At Weight 1", description=_FACTOR, default=2.0, min=0.01, soft_max=10.0)  # type: ignore[valid-type]

    def fields(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Fields of the material, and of the table of the object in a scene file."""
        return fields_of(self)


SHOWN = {
    "cloth": ("preset", "thickness", "friction", "self_collision"),
    "soft": ("density", "youngs_modulus", "poissons_ratio", "friction"),
    "rope": ("rope_density", "rope_radius", "friction", "self_collision"),
    "rigid": ("density", "friction"),
    "collider": ("friction",),
}
"""Properties of each role."""
NAMES: dict[str, str] = {"rope_density": "density", "rope_radius": "radius"}


def fields_of(settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fields of the material, and of the table of the object in a scene file.

    Args:
        settings: An object with the properties of `ShinariObject`.
    """
    material: dict[str, Any] = {str(NAMES.get(name, name)): getattr(settings, name) for name in SHOWN[settings.role]}
    options: dict[str, Any] = {}
    if "self_collision" in material:
        on = bool(material.pop("self_collision"))
        options["self_collision"] = ("triangles" if on else False) if settings.role == "cloth" else on
    return material, options


class ShinariScene(PropertyGroup):
    """Settings of a scene."""

    substeps: IntProperty(name="Substeps", description="More: stiffer, slower", default=20, min=1, max=1000)  # type: ignore[valid-type]
    use_air: BoolProperty(name="Air", description="Drag and wind act on cloth", default=True)  # type: ignore[valid-type]
    wind: FloatVectorProperty(name="Wind", size=3, default=(0.0, 0.0, 0.0), subtype="VELOCITY", unit="VELOCITY")  # type: ignore[valid-type]
    folder: StringProperty(name="Folder", subtype="DIR_PATH", default="//shinari")  # type: ignore[valid-type]


class ShinariPreferences(AddonPreferences):
    """Where shinari is."""

    bl_idname = __package__ or "shinari"

    python: StringProperty(name="Python with shinari", subtype="FILE_PATH")  # type: ignore[valid-type]

    def draw(self, context: Any) -> None:
        """Draw the preferences."""
        self.layout.prop(self, "python")
        self.layout.label(text="Empty: the Python that made the extension, or shinari on the path")


def chosen_python(context: Any) -> str:
    """The Python of the preferences; empty: none."""
    found = context.preferences.addons.get(__package__)
    return found.preferences.python if found is not None and found.preferences is not None else ""


class BakeShinari(Operator):
    """Simulate all objects that have a role. Esc cancels, and the frames so far are kept."""

    bl_idname = "object.shinari_bake"
    bl_label = "Bake"
    bl_options = {"REGISTER"}  # noqa: RUF012

    def _begin(self, context: Any) -> bool:
        """Write the scene and start the process; whether that went well."""
        try:
            if running:
                raise ValueError("a bake is running")
            scene = context.scene
            folder = Path(bpy.path.abspath(scene.shinari_settings.folder)).resolve()
            if scene.shinari_settings.folder.startswith("//") and not bpy.data.filepath:
                folder = Path(bpy.app.tempdir) / "shinari"
            program = python_with_shinari(chosen_python(context))
            self.items = items_of(context)
            frames = scene.frame_end - scene.frame_start
            path = write_scene(folder, self.items, world_of(scene), frames, rate_of(scene))
            running.append(Bake(program, path, folder / "bake.npz"))
        except (OSError, ValueError) as error:
            self.report({"ERROR"}, str(error))
            return False
        return True

    def _end(self, context: Any) -> set[str]:
        """Show the result."""
        bake = running.pop()
        try:
            told = bake.result()
            left_out = apply_result(context, bake.output, self.items)
        except (OSError, ValueError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        for text in (*told.splitlines(), *left_out):
            self.report({"WARNING"}, text)
        context.scene.frame_set(context.scene.frame_current)
        return {"FINISHED"}

    def execute(self, context: Any) -> set[str]:
        """Bake and wait, as scripts and Blender without a window do."""
        return self._end(context) if self._begin(context) else {"CANCELLED"}

    def invoke(self, context: Any, event: Any) -> set[str]:
        """Bake while Blender stays alive."""
        if not self._begin(context):
            return {"CANCELLED"}
        manager = context.window_manager
        self._timer = manager.event_timer_add(SECONDS, window=context.window)
        manager.progress_begin(0.0, 1.0)
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context: Any, event: Any) -> set[str]:
        """Look at the process now and then."""
        bake = running[-1]
        if event.type == "ESC" and event.value == "PRESS" and not bake.cancelled:
            bake.cancel()
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        manager = context.window_manager
        manager.progress_update(bake.done)
        for area in context.screen.areas if context.screen else ():
            if area.type == "VIEW_3D":
                area.tag_redraw()
        if bake.running:
            return {"PASS_THROUGH"}
        manager.event_timer_remove(self._timer)
        manager.progress_end()
        return self._end(context)


class CancelShinari(Operator):
    """Stop the bake after its step; a second time at once."""

    bl_idname = "object.shinari_cancel"
    bl_label = "Cancel"

    def execute(self, context: Any) -> set[str]:
        """Stop it."""
        for bake in running:
            bake.cancel()
        return {"FINISHED"}


class ClearShinari(Operator):
    """Take the result off all objects."""

    bl_idname = "object.shinari_clear"
    bl_label = "Clear Result"
    bl_options = {"REGISTER", "UNDO"}  # noqa: RUF012

    def execute(self, context: Any) -> set[str]:
        """Clear them."""
        for obj in context.scene.objects:
            clear(obj)
        return {"FINISHED"}


def _draw_object(box: Any, obj: Any) -> None:
    """Role, material, pins and maps of an object."""
    settings = obj.shinari_settings
    box.label(text=obj.name, icon="OBJECT_DATA")
    column = box.column()
    column.prop(settings, "role")
    for name in SHOWN.get(settings.role, ()):
        column.prop(settings, name)
    if settings.role in ("cloth", "soft", "rope") and obj.type == "MESH":
        column.prop_search(settings, "pin_group", obj, "vertex_groups")
    if settings.role == "cloth" and obj.type == "MESH":
        for name in MAPS:
            column.prop_search(settings, f"{name}_group", obj, "vertex_groups")
            if getattr(settings, f"{name}_group"):
                column.prop(settings, f"{name}_factor")


class ShinariPanel(Panel):
    """The panel of shinari in the sidebar of the 3D view."""

    bl_idname = "SHINARI_PT_panel"
    bl_label = "shinari"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "shinari"

    def draw(self, context: Any) -> None:
        """Draw it."""
        layout, obj, scene = self.layout, context.object, context.scene
        layout.use_property_split = True
        layout.use_property_decorate = False  # no dots for keys: what is baked is read once
        if obj is not None:
            _draw_object(layout.box(), obj)
        column = layout.column()
        column.prop(scene.shinari_settings, "substeps")
        column.prop(scene.shinari_settings, "use_air")
        if scene.shinari_settings.use_air:
            column.prop(scene.shinari_settings, "wind")
        column.prop(scene.shinari_settings, "folder")
        if running:
            layout.progress(factor=running[-1].done, text=running[-1].text)
            layout.operator("object.shinari_cancel", icon="CANCEL")
        else:
            layout.operator("object.shinari_bake", icon="PHYSICS")
            layout.operator("object.shinari_clear")


CLASSES = (
    ShinariObject,
    ShinariScene,
    ShinariPreferences,
    BakeShinari,
    CancelShinari,
    ClearShinari,
    ShinariPanel,
)


def register() -> None:
    """Make the classes known to Blender."""
    for each in CLASSES:
        bpy.utils.register_class(each)
    bpy.types.Object.shinari_settings = bpy.props.PointerProperty(type=ShinariObject)
    bpy.types.Scene.shinari_settings = bpy.props.PointerProperty(type=ShinariScene)


def unregister() -> None:
    """Take them back; a bake that goes on is stopped."""
    for bake in running:
        bake.cancel()
    del bpy.types.Scene.shinari_settings, bpy.types.Object.shinari_settings
    for each in reversed(CLASSES):
        bpy.utils.unregister_class(each)
