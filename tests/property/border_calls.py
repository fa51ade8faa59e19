"""A valid call of every public function, method and setter: the tests of the public border replace its arguments."""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from border_scenes import (
    BLOCK,
    BODIES,
    CHAIN,
    CLOTH,
    CUBE,
    EMPTY,
    FLUIDS,
    POINTS,
    SOLIDS,
    TETRAHEDRON,
    bodies,
    chain,
    files,
    fluids,
    marbles,
    run_of,
    solids,
    study,
    tank,
)

import shinari as sn
from shinari.api.world_states import WorldStates
from shinari.geometry.files.meshes import read_mesh, write_mesh
from shinari.model.state import State
from shinari.output.recorder import Recorder
from shinari.scene.handle import Handle
from shinari.scene.rod import RodHandle
from shinari.systems.grabs.queries import Grab


@dataclass(frozen=True)
class Call:
    """A valid call.

    Attributes:
        name: `"Scene.add_rope"`, with a word behind it where there are several of a function.
        subject: Makes the object that has the method, or None.
        function: Takes the object and the arguments.
        valid: Makes valid arguments for an object.
        parameters: Arguments of the function.
        setter: Whether it assigns an attribute.
    """

    name: str
    subject: Callable[[], Any]
    function: Callable[..., Any]
    valid: Callable[[Any], dict[str, Any]]
    parameters: tuple[str, ...]
    setter: bool = False

    @property
    def target(self) -> str:
        """Name of what is called."""
        return self.name.split(" ")[0]


CALLS: dict[str, Call] = {}


def _parameters(function: Callable) -> tuple[str, ...]:
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return tuple(name for name, p in inspect.signature(function).parameters.items() if p.kind not in kinds)


def _add(name: str, subject: Callable[[], Any], function: Callable, valid: Any, parameters: tuple[str, ...]) -> None:
    make = valid if callable(valid) else lambda _: dict(valid)
    CALLS[name] = Call(name, subject, function, make, parameters)


def free(function: Callable, /, **valid: Any) -> None:
    """A function or class of the package, called with these arguments."""
    _add(function.__name__, lambda: None, lambda _, **given: function(**given), valid, _parameters(function))


def method(cls: type, name: str, subject: Callable[[], Any], variant: str = "", /, **valid: Any) -> None:
    """A method of an object; an argument that is a function of one `subject` is what it makes of the object."""
    called = getattr(cls, name)
    static = isinstance(inspect.getattr_static(cls, name), (staticmethod, classmethod))
    parameters = _parameters(called)[0 if static else 1 :]

    def arguments(owner: Any) -> dict[str, Any]:
        return {key: value.make(owner) if isinstance(value, Of) else value for key, value in valid.items()}

    def call(owner: Any, **given: Any) -> Any:
        return getattr(owner, name)(**given)

    title = f"{cls.__name__}.{name} {variant}".strip()
    _add(title, subject, call, arguments, parameters)


def setter(cls: type, name: str, subject: Callable[[], Any], valid: Any) -> None:
    """An attribute that can be assigned."""

    def arguments(owner: Any) -> dict[str, Any]:
        return {name: valid.make(owner) if isinstance(valid, Of) else valid}

    def call(owner: Any, **given: Any) -> None:
        setattr(owner, name, given[name])

    CALLS[f"{cls.__name__}.{name}="] = Call(f"{cls.__name__}.{name}=", subject, call, arguments, (name,), True)


@dataclass(frozen=True)
class Of:
    """An argument that belongs to the object that is called: a handle of its scene, its state."""

    make: Callable[[Any], Any]


def named(name: str) -> Of:
    """The handle of that name."""
    return Of(lambda owner: (owner.scene if isinstance(owner, (sn.Simulation, sn.Worlds)) else owner)[name])


# --- functions and records --------------------------------------------------------------------------------------------

_SHAPES = {
    "Box": {"size": (1.0, 1.0, 1.0), "inside": False},
    "Capsule": {"radius": 0.1, "length": 1.0},
    "Compound": {"parts": [(sn.Sphere(1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0, 0.0)), sn.Sphere(0.5)]},
    "Cone": {"radius": 0.1, "height": 1.0},
    "ConvexHull": {"points": TETRAHEDRON[0]},
    "Cylinder": {"radius": 0.1, "length": 1.0},
    "Ellipsoid": {"half_axes": (1.0, 0.5, 0.2)},
    "Heightfield": {"heights": np.zeros((3, 3)), "size": (1.0, 1.0), "depth": 1.0},
    "Mesh": {"vertices": TETRAHEDRON[0], "faces": TETRAHEDRON[1]},
    "Plane": {"normal": (0.0, 1.0, 0.0), "offset": 0.0},
    "Sphere": {"radius": 1.0},
}
_OTHERS = {
    "Scene": {"gravity": (0.0, -9.81, 0.0), "wind": (1.0, 0.0, 0.0)},
    "Gusts": {"mean": (1.0, 0.0, 0.0), "amplitude": (0.0, 0.0, 0.0), "frequency": 1.0},
    "Keyframes": {"times": [0.0, 1.0], "positions": np.zeros((2, 3)), "rotations": np.eye(4)[[0, 0]]},
    "Oscillation": {"centre": (0.0, 0.0, 0.0), "amplitude": (1.0, 0.0, 0.0), "frequency": 1.0},
    "ActuatorLaw": {"gain": 1.0, "dynamics": "filter"},
    "PIDControl": {"stiffness": 10.0, "inputs": ("position", "force")},
    "DCMotor": {"resistance": 2.0, "constant": 0.1, "cogging": (0.1, 8.0, 0.0)},
    "Muscle": {"peak_force": 10.0, "lengths": (0.1, 0.4)},
    "ForceMotor": {"force": 1.0},
    "Servo": {"target": 1.0},
    "rotation": {"euler": (0.0, 0.0, 1.0)},
    "VelocityMotor": {"speed": 1.0},
    "grid": {"shape": (2, 2), "size": (1.0, 1.0), "diagonal": "same"},
    "lattice": {"cells": (1, 1, 1), "size": 1.0},
    "tetrahedralize": {"vertices": TETRAHEDRON[0], "faces": TETRAHEDRON[1], "cell": 0.3},
}
_MATERIALS = {
    "ClothMaterial": "denim",
    "RopeMaterial": "",
    "RodMaterial": "steel wire",
    "SoftMaterial": "jelly",
    "LumpMaterial": "stone",
    "GrainMaterial": "sand",
    "FluidMaterial": "water",
}

for _name, _valid in (_SHAPES | _OTHERS).items():
    free(getattr(sn, _name), **_valid)
for _name, _preset in _MATERIALS.items():
    free(getattr(sn, _name), friction=0.2)
    if _preset:
        _preset_of = getattr(sn, _name).preset
        _add(f"{_name}.preset", lambda: None, lambda _, f=_preset_of, **given: f(**given),
             {"name": _preset, "friction": 0.3}, ("name", "friction", "unknown_field"))  # fmt: skip


@sn.function
def spring(x, p):
    return x[0][1] - p[0], ((0.0, 1.0, 0.0),)


@sn.function
def push(x, v, m, t):
    return (0.0, 1.0, 0.0)


@dataclass(frozen=True)
class Pebble(sn.Shape):
    """A ball."""

    def numbers(self):
        return (0.1,)


@sn.function
def support(d, s):
    length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) ** 0.5
    return s[0] * d[0] / length, s[0] * d[1] / length, s[0] * d[2] / length


free(sn.Seam, first=[0, 1], second=[2, 3])
free(sn.Via, body=None, place=(0.0, 0.0, 0.0))
free(sn.Wrap, body=None, radius=0.1, position=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
free(sn.Pulley, divisor=2.0)
free(sn.Thrust, body=None, place=(0.0, 0.0, 0.0), force=(1.0, 0.0, 0.0), moment=(0.0, 0.0, 1.0), base=None)
free(sn.Crank, body=None, place=(0.0, 0.0, 0.0), slider=sn.Via(None, (0.0, 0.0, 0.0)), axis=(0.0, 0.0, 1.0), rod=1.0)
free(sn.Medium, density=1.2, viscosity=1.8e-5)
free(sn.Fold, vertices=[0, 1], angle=0.1)
free(sn.ElasticBand, vertices=[0, 1])
free(sn.MeshSequence, times=[0.0], positions=[CLOTH[0]], faces=CLOTH[1])
free(sn.Pattern, spacing=0.1)
free(sn.register_shape, shape=Pebble, support=support, name="pebble")
free(sn.register, name="border_test", points=1, parameters=("height",), evaluate=spring, rest=lambda x: x[:, 0, 1])
free(sn.function, python_function=lambda x: x)
free(sn.Simulation, scene=chain(), dt=0.01, substeps=2, threads=1)
_paths = {
    "load_scene": "scene.toml",
    "open_cache": "run.npz",
}
for _name, _file in _paths.items():
    _function = getattr(sn, _name)
    _add(_name, lambda: None, lambda _, f=_function, **given: f(**given),
         lambda _, file=_file: {"path": str(files() / file)}, ("path",))  # fmt: skip
_add("read_attributes", lambda: None, lambda _, **given: sn.read_attributes(**given),
     lambda _: {"path": files() / "mesh.ply"}, _parameters(sn.read_attributes))  # fmt: skip
_add("read_animation", lambda: None, lambda _, **given: sn.read_animation(**given),
     lambda _: {"source": [files() / "mesh.ply"]}, _parameters(sn.read_animation))  # fmt: skip
_add("read_mesh", lambda: None, lambda _, **given: read_mesh(**given), lambda _: {"path": files() / "mesh.ply"},
     ("path",))  # fmt: skip
_add("write_mesh", lambda: None, lambda _, **given: write_mesh(**given),
     lambda _: {"path": files() / "new.obj", "vertices": TETRAHEDRON[0], "faces": TETRAHEDRON[1]},
     ("path", "vertices", "faces"))  # fmt: skip
_add("load_robot", sn.Scene, lambda it, **given: sn.load_robot(**{"scene": it, **given}),
     lambda _: {"path": files() / "robot.xml", "angles": {"elbow": 0.1}}, _parameters(sn.load_robot))  # fmt: skip
_add("sweep", lambda: None, lambda _, **given: sn.sweep(**given, folder="study"), lambda _: study(),
     tuple(name for name in _parameters(sn.sweep) if name != "folder"))  # fmt: skip
_add("Study", lambda: None, lambda _, **given: sn.Study(**given), lambda _: {"folder": study() and "study"},
     ("folder",))  # fmt: skip
_add("show", lambda: None, lambda _, **given: sn.show(**given), lambda _: {"what": files() / "run.npz"},
     _parameters(sn.show))  # fmt: skip
for _name, _made in (("Gusts", sn.Gusts((1, 0, 0))), ("Oscillation", sn.Oscillation((0, 0, 0), (1, 0, 0), 1.0)),
                     ("Keyframes", sn.Keyframes([0, 1], np.zeros((2, 3)), np.eye(4)[[0, 0]]))):  # type: ignore[arg-type] # fmt: skip
    _add(f"{_name}.__call__", lambda: None, lambda _, f=_made, **given: f(**given), {"time": 0.5}, ("time",))

# --- scenes -----------------------------------------------------------------------------------------------------------

for _field, _value in (
    ("gravity", (0.0, -1.0, 0.0)),
    ("wind", (1.0, 0.0, 0.0)),
    ("air_density", 1.0),
    ("damping", 0.1),
):
    setter(sn.Scene, _field, EMPTY, _value)
method(sn.Scene, "add_particles", EMPTY, positions=POINTS, mass=np.ones(4), velocity=(0.0, 0.0, 1.0), radius=0.1)
PANEL = {"a": [[0, 0], [1, 0]], "b": [[1, 0], [1, 1], [0, 1]], "c": [[0, 1], [0, 0]]}


def pattern() -> sn.Pattern:
    """A pattern with a panel."""
    made = sn.Pattern(0.5)
    made.add_panel("front", PANEL)
    return made


method(sn.Pattern, "add_panel", pattern, name="back", edges=PANEL)
method(sn.Pattern, "add_seam", pattern, first="front.a", second="front.c")
method(sn.Pattern, "edge", pattern, name="front.b")
method(sn.Scene, "add_cloth", EMPTY, mesh=CLOTH, velocity=(0.0, 0.0, 1.0), self_collision="particles")
method(
    sn.Scene, "add_cloth", EMPTY, "sewn", mesh=CLOTH, rest=CLOTH[0], maps={"mass": np.ones(9)},
    sewing=[sn.ElasticBand([0, 1])],
)  # fmt: skip
method(sn.Scene, "add_rope", EMPTY, points=POINTS, self_collision=True)
method(sn.Scene, "add_rod", EMPTY, points=POINTS, rest_curvature=(0.0, 0.0, 1.0), point_masses=0.1)
method(sn.Scene, "add_soft_body", EMPTY, mesh=CUBE, velocity=(0.0, 0.0, 1.0))
method(sn.Scene, "add_soft_body", EMPTY, "filled", mesh=sn.Box((1, 1, 1)).surface(), cell=0.5)
method(sn.Scene, "add_soft_body", EMPTY, "seen", mesh=CUBE, visual=(CUBE[0], np.array([[0, 1, 3]])))
method(sn.Scene, "add_shape_matched", EMPTY, mesh_or_points=BLOCK, radius=0.1, clusters=[[0, 1, 2, 3], [4, 5, 6, 7]])
method(sn.Scene, "add_shape_matched", EMPTY, "mesh", mesh_or_points=TETRAHEDRON, spacing=0.3)
method(sn.Scene, "add_grains", EMPTY, shape_or_points=POINTS, radius=0.03)
method(sn.Scene, "add_grains", EMPTY, "that turn", shape_or_points=POINTS, radius=0.03,
       angular_velocity=(1.0, 0.0, 0.0), material=sn.GrainMaterial(rolling_friction=0.1))  # fmt: skip
method(sn.Scene, "add_grains", EMPTY, "filled", shape_or_points=sn.Box((1, 1, 1)), radius=0.3, packing="lattice")
method(sn.Scene, "add_fluid", EMPTY, shape_or_points=BLOCK, spacing=0.1, velocity=(0.0, 0.0, 1.0))
method(sn.Scene, "add_fluid", EMPTY, "filled", shape_or_points=sn.Sphere(0.3), spacing=0.1, fill_to=0.1)
method(sn.Scene, "add_fluid", tank, "in a container", shape_or_points=named("tank"), spacing=0.2, fill_to=0.3)
method(sn.Scene, "add_emitter", fluids, fluid=named("water"), limit=9, radius=0.1, speed=1.0)
method(sn.Scene, "add_emitter", fluids, "of its own", limit=9, size=(0.1, 0.1), rate=0.01, spacing=0.1, stop=3.0,
       motion=sn.Oscillation((0, 0, 0), (1, 0, 0), 1.0))  # fmt: skip
method(sn.Scene, "add_sink", EMPTY, shape=sn.Sphere(1), position=(0.0, 1.0, 0.0))
method(sn.Scene, "add_constraint", chain, type="distance", indices=[[0, 1]], rest_length=1.0)
method(sn.Scene, "add_constraint", chain, "attachment", type="attachment", indices=[[0]], target=(0.0, 1.0, 0.0))
method(sn.Scene, "attach", solids, first=Of(lambda s: (s["rope"], 0)), second=(0.0, 2.0, 0.0), break_force=1.0)
method(sn.Scene, "attach", solids, "to an object", first=Of(lambda s: (s["rope"], [0, 1])), second=named("cloth"),
       reach=9.0)  # fmt: skip
method(sn.Scene, "attach", solids, "to a place", first=Of(lambda s: (s["rope"], 0)),
       second=Of(lambda s: (s["soft"], (0.0, 4.0, 0.0))), reach=9.0)  # fmt: skip
method(sn.Scene, "attach", solids, "to particles", first=Of(lambda s: (s["rope"], 0)),
       second=Of(lambda s: (s["cloth"], [3])))  # fmt: skip
method(sn.Scene, "attach", bodies, "to a body", first=Of(lambda s: (s["rope"], 0)),
       second=Of(lambda s: (s["a"], (0.1, 0.0, 0.0))), reach=9.0)  # fmt: skip
method(sn.Scene, "attach", bodies, "of a body", first=named("a"), second=Of(lambda s: (s["rope"], 0)))
method(sn.Scene, "add_volume", lambda: _closed(), handle=named("balloon"))
method(sn.Scene, "add_force_field", EMPTY, function=push)
method(sn.Scene, "add_moving_mesh", EMPTY, sequence=sn.MeshSequence([0.0], [CLOTH[0]], CLOTH[1]))
method(sn.Scene, "add_collider", EMPTY, shape=sn.Sphere(1))
method(sn.Scene, "add_collider", EMPTY, "moving", shape=sn.Sphere(1), motion=sn.Oscillation((0, 0, 0), (1, 0, 0), 1.0))
method(sn.Scene, "ignore_contact", bodies, first=named("a"), second=named("floor"))
method(sn.Scene, "add_rigid_body", EMPTY, shape=sn.Box((1, 1, 1)), velocity=(0.0, 0.0, 1.0))
method(sn.Scene, "add_rigid_body", EMPTY, "by mass", shape=TETRAHEDRON, mass=1.0, inertia=np.eye(3),
       centre=(0.0, 0.1, 0.0), visual=TETRAHEDRON)  # fmt: skip
method(sn.Scene, "add_rigid_body", EMPTY, "compound", shape=sn.Compound([sn.Sphere(1), sn.Sphere(2)]),
       density=[1.0, 2.0])  # fmt: skip
method(sn.Scene, "add_rigid_body", EMPTY, "moving", shape=sn.Sphere(1),
       motion=sn.Oscillation((0, 0, 0), (1, 0, 0), 1.0))  # fmt: skip
_JOINTS: dict[str, dict[str, Any]] = {
    "fixed": {},
    "ball": {"axis": (0.0, 1.0, 0.0), "swing_limit": 0.5, "twist_limits": (-1.0, 1.0)},
    "hinge": {"axis": (0.0, 1.0, 0.0), "limits": (-1.0, 1.0), "motor": sn.Servo(0.5, 1.0), "break_force": 9.0},
    "slider": {"axis": (0.0, 1.0, 0.0), "limits": (-math.inf, 1.0)},
    "cylindrical": {"axis": (0.0, 1.0, 0.0), "limits": (-1.0, 1.0), "twist_limits": (-1.0, 1.0)},
    "universal": {"axis": (0.0, 1.0, 0.0), "second_axis": (1.0, 0.0, 0.0)},
    "planar": {"axis": (0.0, 1.0, 0.0)},
    "distance": {"second_anchor": (0.5, 0.0, 0.0), "rest_length": 0.4},
    "gear": {"anchor": None, "axis": (0.0, 1.0, 0.0), "ratio": 2.0},
}
for _kind, _options in _JOINTS.items():
    method(sn.Scene, "add_joint", bodies, _kind, kind=_kind, a=named("a"), b=named("c"),
           **{"anchor": (0.0, 0.0, 0.0), **_options})  # fmt: skip


def hinged() -> sn.Scene:
    """Two bodies on hinges."""
    scene = bodies()
    for name, place in (("a", (0.0, 0.0, 0.0)), ("c", (3.0, 0.0, 0.0))):
        scene.add_joint("hinge", name, anchor=place, axis=(0, 1, 0), name=f"hinge_{name}")
    return scene


method(sn.Scene, "couple_joints", hinged, joint=named("hinge_a"), leader=named("hinge_c"), coefficients=(0.0, 2.0))
method(sn.Scene, "add_tendon", hinged, joints={"hinge_a": 1.0, "hinge_c": -2.0}, limits=(-1.0, 1.0), rest_length=(0, 1),
       motor=sn.Servo(0.5, 1.0))  # fmt: skip
method(sn.Scene, "add_tendon", hinged, "path", path=[sn.Via(None, (9.0, 9.0, 0.0)), sn.Via("c", (3.0, 0.0, 0.0))])
method(
    sn.Scene, "add_tendon", hinged, "actuator", joints={"hinge_a": 1.0}, actuator=sn.ActuatorLaw(2.0, dynamics="filter")
)
method(
    sn.Scene, "add_tendon", hinged, "levers", levers=[sn.Thrust("a", (0.0, 0.0, 0.0), moment=(0.0, 1.0, 0.0))],
    actuator=sn.DCMotor(1.0, 0.1)
)  # fmt: skip
method(sn.Scene, "pin", chain, particles=[0, 1])
method(sn.Scene, "__getitem__", chain, name="dust")

ROPE = lambda: chain()["dust"]  # noqa: E731
method(Handle, "pin", ROPE, indices=[0])
method(Handle, "nearest", ROPE, point=(0.0, 0.0, 0.0))
method(Handle, "where", ROPE, predicate=lambda x: x[:, 0] > 0.5)
method(RodHandle, "clamp", lambda: solids()["rod"], segments=[0])

# --- simulations ------------------------------------------------------------------------------------------------------

for _name in ("positions", "velocities", "pinned", "active", "material", "surface"):
    _given = "target" if _name == "material" else "handle"
    method(sn.Simulation, _name, SOLIDS, **{_given: named("cloth")})
method(sn.Simulation, "surface", BODIES, "of a body", handle=named("a"))
method(sn.Simulation, "pin", SOLIDS, handle=named("rope"), indices=[0])
method(sn.Simulation, "unpin", SOLIDS, handle=named("rope"), indices=[0])
method(sn.Simulation, "grab", SOLIDS, handle=named("rope"), index=0, compliance=1e-3, max_force=9.0)
method(sn.Simulation, "grab", BODIES, "a body", handle=named("a"), point=(0.0, 0.0, 0.0))
method(sn.Simulation, "frames", SOLIDS, rod=named("rod"))
method(sn.Simulation, "rod_loads", SOLIDS, rod=named("rod"))
method(sn.Simulation, "pressure", SOLIDS, of=named("soft"))
method(sn.Simulation, "volume", SOLIDS, of=named("soft"))
for _of in ("cloth", "knob"):
    method(sn.Simulation, "forces", SOLIDS, f"of {_of}", of=named(_of))
method(sn.Simulation, "forces", SOLIDS, "of rows", of="distance")
method(sn.Simulation, "forces", BODIES, "of a joint", of=named("hinge"))
method(
    sn.Simulation,
    "cast_rays",
    SOLIDS,
    origins=[[0.0, 9, 0]],
    directions=[[0.0, -1, 0]],
    max_distance=20.0,
    ignore=["rope"],
)
method(sn.Simulation, "strains", SOLIDS, of="distance")
method(sn.Simulation, "angular_momentum", SOLIDS, about=(0.0, 1.0, 0.0))
method(sn.Simulation, "change", SOLIDS, substeps=3, gravity=(0.0, -1.0, 0.0), wind=(1.0, 0.0, 0.0))
method(sn.Simulation, "change_material", SOLIDS, targets=named("rope"), stretch_compliance=1e-3)
method(sn.Simulation, "change_material", SOLIDS, "of several", targets=["cloth", "rope"], damping=0.1, friction=0.1)
method(sn.Simulation, "take_changes", SOLIDS,
       changes={"damping": 0.1, "materials": {"rope": sn.RopeMaterial(damping=0.1)}})  # fmt: skip
for _name in ("pose", "body_surface"):
    method(sn.Simulation, _name, BODIES, body=named("a"))
for _name in ("joint", "joint_load"):
    method(sn.Simulation, _name, BODIES, joint=named("hinge"))
method(sn.Simulation, "drive", BODIES, joint=named("hinge"), motor=1.0)
_add("JointHandle.drive", BODIES, lambda sim, **given: sim.scene["hinge"].drive(**given), {"motor": 1.0}, ("motor",))
for _name in ("densities", "pressures"):
    method(sn.Simulation, _name, FLUIDS, fluid=named("water"))
method(sn.Simulation, "angular_velocities", run_of(marbles), grains=named("marbles"))
method(sn.Simulation, "fluid_surface", FLUIDS, handle=named("water"), resolution=0.5, smoothing=1)
method(sn.Simulation, "sunk", FLUIDS, sink=named("drain"))
method(sn.Simulation, "step", CHAIN, count=1)
method(sn.Simulation, "advance", CHAIN, elapsed=0.1, most_steps=2)
method(sn.Simulation, "run", CHAIN, seconds=0.1, progress=False)
method(sn.Simulation, "run", CHAIN, "to files", seconds=0.1, progress=False, record=Of(lambda _: [files() / "new.npz"]))
method(sn.Simulation, "restore", CHAIN, state=Of(lambda sim: sim.state.copy()), left_over=0.0)
method(sn.Simulation, "save", CHAIN, path=Of(lambda _: files() / "new.vtkhdf"))
_add("Simulation.load", lambda: None, lambda _, **given: sn.Simulation.load(**given),
     lambda _: {"path": files() / "state.vtkhdf", "scene": chain()}, ("path", "scene"))  # fmt: skip
_add("Recorder", CHAIN, lambda sim, **given: Recorder(**{"simulation": sim, **given}).__exit__(None, None, None),
     lambda _: {"paths": [files() / "new.npz"]}, _parameters(Recorder))  # fmt: skip
_add("Recorder.plan", lambda: Recorder(CHAIN(), []), lambda it, **given: it.plan(**given), {"steps": 3}, ("steps",))
setter(Grab, "target", lambda: _grab(), (0.0, 0.0, 0.0))
_add("Cache.frame", lambda: sn.open_cache(files() / "run.npz"), lambda it, **given: it.frame(**given), {"index": 0},
     ("index",))  # fmt: skip
for _name in ("positions", "velocities"):
    setter(State, _name, lambda: SOLIDS().state, Of(lambda state, n=_name: getattr(state, n).copy()))
setter(State, "frame", lambda: CHAIN().state, 3)
for _name in ("body_positions", "body_rotations", "body_velocities", "body_angular_velocities"):
    setter(State, _name, lambda: BODIES().state, Of(lambda state, n=_name: getattr(state, n).copy()))
method(State, "restore", lambda: CHAIN().state, other=Of(lambda state: state.copy()))


# --- many worlds ------------------------------------------------------------------------------------------------------


def worlds_of(scene: Callable[[], sn.Scene]) -> Callable[[], sn.Worlds]:
    """Two worlds that have not run yet."""
    return lambda: sn.Worlds(scene(), 2, substeps=2, threads=1)


def muscled() -> sn.Scene:
    """A muscle on a hinge."""
    scene = hinged()
    scene.add_tendon(joints={"hinge_a": 1.0}, actuator=sn.Muscle(10.0, (-1.0, 1.0)), name="muscle")
    return scene


WORLDS, DRIVEN = worlds_of(solids), worlds_of(bodies)
_add("Worlds", lambda: None, lambda _, **given: sn.Worlds(**given),
     lambda _: {"scene": chain(), "count": 2, "vary": {"dust.mass": [1.0, 2.0]}, "threads": 1, "on_divergence": "hold",
                "substeps": 2}, ("scene", "count", "vary", "threads", "on_divergence", "substeps"))  # fmt: skip
method(sn.Worlds, "step", worlds_of(chain), count=1, mask=[True, False])
method(sn.Worlds, "reset", worlds_of(chain), mask=[0])
method(sn.Worlds, "keep", worlds_of(chain), mask=[0])
method(sn.Worlds, "restore", worlds_of(chain), state=Of(lambda worlds: worlds.world(0).state.copy()), mask=[1])
for _name in ("positions", "velocities"):
    method(sn.Worlds, _name, WORLDS, handle=named("cloth"))
method(sn.Worlds, "world", worlds_of(chain), index=1)
method(sn.Worlds, "drive", DRIVEN, joint=named("hinge"), motors=[1.0, 2.0], mask=[True, True])
method(sn.Worlds, "command", worlds_of(muscled), tendon=named("muscle"), commands=[0.1, 0.2], mask=[True, True])
method(sn.Worlds, "joint_coordinates", DRIVEN, joints=["hinge"])
method(sn.Worlds, "change", WORLDS, mask=[1], gravity=(0.0, -1.0, 0.0))
method(sn.Worlds, "change_material", WORLDS, target=named("rope"), mask=[0, 1], stretch_compliance=[1e-3, 1e-4])
for _name in ("positions", "velocities"):
    setter(WorldStates, _name, lambda: WORLDS().state, Of(lambda state, n=_name: getattr(state, n).copy()))
for _name in ("body_positions", "body_rotations", "body_velocities", "body_angular_velocities"):
    setter(WorldStates, _name, lambda: DRIVEN().state, Of(lambda state, n=_name: getattr(state, n).copy()))


def _closed() -> sn.Scene:
    scene = sn.Scene()
    scene.add_cloth(TETRAHEDRON, name="balloon")
    return scene


def _grab() -> Grab:
    return SOLIDS().grab("rope", 0)
