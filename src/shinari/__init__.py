"""shinari: position based dynamics, every method checked, compiled for all cores."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shinari.errors import (
    CacheWarning,
    ContactWarning,
    DivergenceError,
    EmbeddingWarning,
    FileError,
    FluidWarning,
    FrameError,
    FrameRateWarning,
    MemoryLimitError,
    MissingExtraError,
    OverconstrainedWarning,
    RobotWarning,
    SceneError,
    SeamWarning,
    ShinariError,
    TetrahedraWarning,
)
from shinari.scene.fluid_material import FluidMaterial
from shinari.scene.grain_material import GrainMaterial
from shinari.scene.lump_material import LumpMaterial
from shinari.scene.materials import MATERIAL_COMPLIANCE, ClothMaterial, RopeMaterial
from shinari.scene.motion import Keyframes, Oscillation
from shinari.scene.motors import Servo, VelocityMotor
from shinari.scene.rod_material import RodMaterial
from shinari.scene.scene import Scene
from shinari.scene.soft_material import SoftMaterial
from shinari.scene.wind import Gusts
from shinari.shapes.base import Shape
from shinari.shapes.box import Box
from shinari.shapes.capsule import Capsule
from shinari.shapes.compound import Compound
from shinari.shapes.cone import Cone
from shinari.shapes.cylinder import Cylinder
from shinari.shapes.heightfield import Heightfield
from shinari.shapes.hull import ConvexHull
from shinari.shapes.mesh import Mesh
from shinari.shapes.plane import Plane
from shinari.shapes.registry import register_shape
from shinari.shapes.sphere import Sphere
from shinari.storage import connect as _connect
from shinari.version import __version__ as __version__

if TYPE_CHECKING:
    from shinari.build.tetrahedra.fill import tetrahedralize
    from shinari.build.tetrahedra.lattice import lattice
    from shinari.build.topology import grid
    from shinari.constraints.registry import register
    from shinari.files.cache import open_cache
    from shinari.files.robots.load import Robot, load_robot
    from shinari.files.scene_file import load_scene
    from shinari.maths.function import function
    from shinari.simulation import Simulation
    from shinari.view.notebook import show

# Names that need the compiler or a file format are imported when they are first used: `import shinari` stays light.
_LAZY = {
    "Robot": "shinari.files.robots.load",
    "Simulation": "shinari.simulation",
    "function": "shinari.maths.function",
    "grid": "shinari.build.topology",
    "lattice": "shinari.build.tetrahedra.lattice",
    "load_robot": "shinari.files.robots.load",
    "load_scene": "shinari.files.scene_file",
    "open_cache": "shinari.files.cache",
    "register": "shinari.constraints.registry",
    "show": "shinari.view.notebook",
    "tetrahedralize": "shinari.build.tetrahedra.fill",
}

__all__ = [
    "MATERIAL_COMPLIANCE",
    "Box",
    "CacheWarning",
    "Capsule",
    "ClothMaterial",
    "Compound",
    "Cone",
    "ContactWarning",
    "ConvexHull",
    "Cylinder",
    "DivergenceError",
    "EmbeddingWarning",
    "FileError",
    "FluidMaterial",
    "FluidWarning",
    "FrameError",
    "FrameRateWarning",
    "GrainMaterial",
    "Gusts",
    "Heightfield",
    "Keyframes",
    "LumpMaterial",
    "MemoryLimitError",
    "Mesh",
    "MissingExtraError",
    "Oscillation",
    "OverconstrainedWarning",
    "Plane",
    "Robot",
    "RobotWarning",
    "RodMaterial",
    "RopeMaterial",
    "Scene",
    "SceneError",
    "SeamWarning",
    "Servo",
    "Shape",
    "ShinariError",
    "Simulation",
    "SoftMaterial",
    "Sphere",
    "TetrahedraWarning",
    "VelocityMotor",
    "function",
    "grid",
    "lattice",
    "load_robot",
    "load_scene",
    "open_cache",
    "register",
    "register_shape",
    "show",
    "tetrahedralize",
]


# The simulation stands below the files; see `shinari.storage`.
_connect(lambda: import_module("shinari.files.file_storage").FileStorage())


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'shinari' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
