"""shinari: position based dynamics, every method checked, compiled for all cores."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shinari.api.scene import Scene
from shinari.api.storage import connect as _connect
from shinari.errors import (
    CacheWarning,
    ContactWarning,
    DeviceError,
    DivergenceError,
    EmbeddingWarning,
    FailureWarning,
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
    SweepError,
    TetrahedraWarning,
)
from shinari.geometry.mesh_sequence import MeshSequence
from shinari.geometry.motion import Keyframes, Oscillation
from shinari.geometry.rotations import rotation
from shinari.scene.actuator import ActuatorLaw, Muscle
from shinari.scene.controllers import DCMotor, PIDControl
from shinari.scene.fluid_material import FluidMaterial
from shinari.scene.grain_material import GrainMaterial
from shinari.scene.lump_material import LumpMaterial
from shinari.scene.materials import MATERIAL_COMPLIANCE, ClothMaterial, RopeMaterial
from shinari.scene.medium import Medium
from shinari.scene.motors import ForceMotor, Servo, VelocityMotor
from shinari.scene.rod_material import RodMaterial
from shinari.scene.sewing import ElasticBand, Fold, Seam
from shinari.scene.soft_material import SoftMaterial
from shinari.scene.tendon import Crank, Pulley, Thrust, Via, Wrap
from shinari.scene.wind import Gusts
from shinari.shapes.base import Shape
from shinari.shapes.box import Box
from shinari.shapes.capsule import Capsule
from shinari.shapes.compound import Compound
from shinari.shapes.cone import Cone
from shinari.shapes.cylinder import Cylinder
from shinari.shapes.ellipsoid import Ellipsoid
from shinari.shapes.heightfield import Heightfield
from shinari.shapes.hull import ConvexHull
from shinari.shapes.mesh import Mesh
from shinari.shapes.plane import Plane
from shinari.shapes.registry import register_shape
from shinari.shapes.sphere import Sphere
from shinari.version import __version__ as __version__

if TYPE_CHECKING:
    from shinari.api.pattern import Pattern
    from shinari.api.simulation import Simulation
    from shinari.api.worlds import Worlds
    from shinari.constraints.registry import register
    from shinari.geometry.files.animations import read_animation
    from shinari.geometry.files.attributes import read_attributes
    from shinari.geometry.tetrahedra.fill import tetrahedralize
    from shinari.geometry.tetrahedra.lattice import lattice
    from shinari.geometry.topology import grid
    from shinari.io.robots.load import load_robot
    from shinari.io.robots.robot import Robot
    from shinari.io.run_reader import open_cache
    from shinari.io.scene_file import load_scene
    from shinari.maths.function import function
    from shinari.sweeps.run import sweep
    from shinari.sweeps.study import Study
    from shinari.view.notebook import show

# Names that need the compiler or a file format are imported when they are first used: `import shinari` stays light.
_LAZY = {
    "Pattern": "shinari.api.pattern",
    "Robot": "shinari.io.robots.robot",
    "Simulation": "shinari.api.simulation",
    "Study": "shinari.sweeps.study",
    "Worlds": "shinari.api.worlds",
    "function": "shinari.maths.function",
    "grid": "shinari.geometry.topology",
    "lattice": "shinari.geometry.tetrahedra.lattice",
    "load_robot": "shinari.io.robots.load",
    "load_scene": "shinari.io.scene_file",
    "open_cache": "shinari.io.run_reader",
    "read_animation": "shinari.geometry.files.animations",
    "read_attributes": "shinari.geometry.files.attributes",
    "register": "shinari.constraints.registry",
    "show": "shinari.view.notebook",
    "sweep": "shinari.sweeps.run",
    "tetrahedralize": "shinari.geometry.tetrahedra.fill",
}

__all__ = [
    "MATERIAL_COMPLIANCE",
    "ActuatorLaw",
    "Box",
    "CacheWarning",
    "Capsule",
    "ClothMaterial",
    "Compound",
    "Cone",
    "ContactWarning",
    "ConvexHull",
    "Crank",
    "Cylinder",
    "DCMotor",
    "DeviceError",
    "DivergenceError",
    "ElasticBand",
    "Ellipsoid",
    "EmbeddingWarning",
    "FailureWarning",
    "FileError",
    "FluidMaterial",
    "FluidWarning",
    "Fold",
    "ForceMotor",
    "FrameError",
    "FrameRateWarning",
    "GrainMaterial",
    "Gusts",
    "Heightfield",
    "Keyframes",
    "LumpMaterial",
    "Medium",
    "MemoryLimitError",
    "Mesh",
    "MeshSequence",
    "MissingExtraError",
    "Muscle",
    "Oscillation",
    "OverconstrainedWarning",
    "PIDControl",
    "Pattern",
    "Plane",
    "Pulley",
    "Robot",
    "RobotWarning",
    "RodMaterial",
    "RopeMaterial",
    "Scene",
    "SceneError",
    "Seam",
    "SeamWarning",
    "Servo",
    "Shape",
    "ShinariError",
    "Simulation",
    "SoftMaterial",
    "Sphere",
    "Study",
    "SweepError",
    "TetrahedraWarning",
    "Thrust",
    "VelocityMotor",
    "Via",
    "Worlds",
    "Wrap",
    "function",
    "grid",
    "lattice",
    "load_robot",
    "load_scene",
    "open_cache",
    "read_animation",
    "read_attributes",
    "register",
    "register_shape",
    "rotation",
    "show",
    "sweep",
    "tetrahedralize",
]


# The simulation stands below the files; see `shinari.api.storage`.
_connect(lambda: import_module("shinari.output.file_storage").FileStorage())


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'shinari' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
