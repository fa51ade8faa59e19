"""Puts a robot from a URDF or MJCF file into a scene."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from shinari import check
from shinari.api.scene import Scene
from shinari.errors import RobotWarning, warn
from shinari.geometry.motion import quaternion_product, rotation_matrix
from shinari.io.robots.additions import all_or_nothing
from shinari.io.robots.closures import ATTACHED, closing_joints
from shinari.io.robots.drives import Actuator, actuators_of, motor_of
from shinari.io.robots.flex_objects import FlexAdder, attach
from shinari.io.robots.geometry import Geom, color_of, meet, relative, surface_of
from shinari.io.robots.inertia import repaired
from shinari.io.robots.laws import AT_JOINT, extras_of
from shinari.io.robots.left_out import not_read, weight_part
from shinari.io.robots.mechanism import BALL, HINGE, SLIDE, Mechanism, first_of
from shinari.io.robots.read import read_source
from shinari.io.robots.robot import Robot
from shinari.io.robots.self_contact import filter_contacts
from shinari.io.robots.sensor_reader import SensorReader
from shinari.io.robots.tendons import Found, tendons_of
from shinari.io.robots.transmissions import LeverReader
from shinari.scene.handle import BodyHandle, ColliderHandle, Handle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.medium import Medium
from shinari.scene.tendon import Pulley, TendonHandle, Wrap
from shinari.shapes.compound import Compound

Z_TO_Y = np.array([np.sqrt(0.5), -np.sqrt(0.5), 0.0, 0.0])
"""Turns the world of the file, Z up, into that of the scene, Y up: x stays, y goes to -z."""
BETWEEN = 1.0e-3
"""Part of the mass of a body that goes to each of the bodies between its joints, where it has several."""
MOST_TOLD = 12
"""What a warning names of a list; the rest is counted."""
KINDS = {BALL: "ball", SLIDE: "slider", HINGE: "hinge"}


def load_robot(
    path: str | os.PathLike,
    scene: Scene,
    *,
    position: Any = (0.0, 0.0, 0.0),
    rotation: Any = (1.0, 0.0, 0.0, 0.0),
    fixed_base: bool | None = None,
    angles: Mapping[str, float] | None = None,
    density: float | None = None,
    package: str | os.PathLike | None = None,
    name: str | None = None,
) -> Robot:
    """Add the robot of a URDF or MJCF file to a scene; needs the extra [robot].

    The page "Robots" lists what is read. Of a mesh the convex hull touches and the mesh is shown. Bodies that are
    joined pass through each other, and so do links of a URDF that lie in each other at the start. All else that the
    file has is listed in `skipped`, and in a warning.

    Such files are Z up: their world is turned about x by -90 degrees, so that z becomes y and y becomes -z, and is then
    turned and moved as asked. The axes of bodies and joints stay those of the file. Angles and travels of joints count
    from where they are at the start. Where a body has several joints of its own, small bodies of a thousandth of its
    mass stand between them; the mass of all is that of the file.

    Args:
        path: The file.
        scene: The scene.
        position: Where the origin of the file's world is [m].
        rotation: Its rotation after it was turned upright, a unit quaternion w x y z.
        fixed_base: True: bodies that nothing carries stand still; False: they are free; None: as the file says, in a
            URDF fixed unless a floating joint carries it.
        angles: Angles [rad] and travels [m] at the start by the name of the joint, as the file counts them; 0 (in
            MJCF `ref`) for the others.
        density: Density of all bodies that have shapes [kg/m^3], in place of mass and inertia in the file.
        package: Folder for which `package://name` stands in a URDF; None: that of the file.
        name: Name in messages and results; None: that of the file.

    Returns:
        What was added.

    Raises:
        MissingExtraError: MuJoCo is not installed.
        FileError: The file cannot be read, has an unknown tag, or names a file that is missing or outside its folder.
        SceneError: What it describes cannot be simulated; the scene is as it was.

    Warns:
        RobotWarning: Something in the file was skipped.
    """
    check.kind("robot", "scene", scene, Scene)
    check.kind("robot", "angles", {} if angles is None else angles, Mapping)
    at = check.vector("robot", "position", position)
    turn = quaternion_product(check.unit_quaternion("robot", "rotation", rotation), Z_TO_Y)
    check.choice("robot", "fixed_base", fixed_base, (True, False, None))
    if name is not None:
        check.text("robot", "name", name)
    if density is not None:
        density = check.number("robot", "density", density, above=0.0)
    source = read_source(path, package)
    mechanism = Mechanism(source, angles or {}, fixed_base, density is not None)
    wanted = name or mechanism.name
    number, chosen = 1, wanted
    while any(other.startswith(f"{chosen}/") for other in scene.handles):
        number += 1
        chosen = f"{wanted}_{number}"
    with all_or_nothing(scene):
        robot = _Adder(scene, mechanism, chosen, (at, turn), density).robot()
    told = [_listed("skipped", robot.skipped), _listed("repaired", robot.repaired)]
    told = [text for text in told if text]
    if told:
        warn(f"{path}: {'. '.join(told)}", RobotWarning)
    return robot


def _listed(what: str, found: list[str]) -> str:
    """The first of a list in words, and where the others are."""
    more = f"; and {len(found) - MOST_TOLD} more, see robot.{what}" if len(found) > MOST_TOLD else ""
    return f"{what}: {'; '.join(found[:MOST_TOLD])}{more}" if found else ""


class _Adder:
    """Adds the bodies, joints and colliders of a mechanism."""

    def __init__(
        self, scene: Scene, mechanism: Mechanism, name: str, base: tuple[np.ndarray, np.ndarray], density: float | None
    ) -> None:
        self._scene, self._mechanism, self._name, self._density = scene, mechanism, name, density
        self._place, self._turn = base
        self._matrix = rotation_matrix(self._turn)
        self._skipped = mechanism.skipped
        self._handles: dict[int, BodyHandle] = {}
        self._solid: dict[int, list[Geom]] = {}
        self._between: dict[int, list[BodyHandle]] = {}
        self._joints: dict[str, JointHandle] = {}
        self._actuators: list[Actuator] = []
        self._tendons: dict[str, TendonHandle] = {}
        self._keys: dict[str, str] = {}
        self._carriers: dict[int, JointHandle] = {}
        self._flexes: dict[str, Handle] = {}

    def robot(self) -> Robot:
        """Add everything."""
        m = self._mechanism
        for body in m.bodies:
            self._add_body(body)
        # has been read; that of others is told
        m.model.body_gravcomp[[body for body in m.solid if weight_part(m.model, body) is not None]] = 0.0
        names = {j: m.joint_name(j) for joints in m.joints for j in joints}
        self._actuators = actuators_of(m.model, names, self._skipped)
        for body in m.solid:
            self._add_joints(body)
        colliders = self._add_world()
        self._add_flexes(colliders)
        self._add_closures()
        filter_contacts(self._scene, m, self._handles, self._solid, colliders)
        followers = self._couple()
        self._add_tendons()
        self._list_others()
        tendons = {name: self._tendons[key] for name, key in self._keys.items()}
        found = m, self._handles, self._joints, tendons, self._actuators, self._carriers
        sensors = SensorReader(*found, self._between, colliders, self._put).sensors()
        for actuator in self._actuators:
            if actuator.on_tendon:
                actuator.target = self._keys[actuator.target]
        bodies = {m.body_name(body): handle for body, handle in self._handles.items()}
        actuators = {actuator.name: actuator for actuator in self._actuators}
        told = self._skipped, m.source.repaired
        parts = bodies, self._joints, colliders
        others = followers, sensors, self._tendons, self._flexes
        return Robot(self._name, *parts, *told, actuators, self._poses(), *others)

    def _poses(self) -> dict[str, dict[str, float]]:
        """Keyframes as named targets."""
        m, model = self._mechanism, self._mechanism.model
        moving = {m.joint_name(j): j for joints in m.joints for j in joints if model.jnt_type[j] in (SLIDE, HINGE)}
        return {
            model.key(key).name or f"key_{key + 1}": {
                name: float(model.key_qpos[key, model.jnt_qposadr[j]])
                for name, j in moving.items()
                if name in self._joints
            }
            for key in range(int(model.nkey))
        }

    def _couple(self) -> dict[str, str]:
        """Couple joints that follow others; their leaders by name."""
        m, found = self._mechanism, {}
        for coupling in m.couplings:
            follower = m.joint_name(coupling.joint)
            leader = None if coupling.leader is None else m.joint_name(coupling.leader)
            if follower not in self._joints or not (leader is None or leader in self._joints):
                self._skipped.append(f"coupling {coupling.name!r}: one of its joints is of a body that stands still")
                continue
            handles = self._joints[follower], None if leader is None else self._joints[leader]
            law = {"joint": handles[0], "leader": handles[1], "coefficients": coupling.coefficients}
            self._add_tendon(coupling.name, "coupling", add=self._scene.couple_joints, **law)
            if leader is not None:
                found[follower] = leader
        return found

    def _add_tendons(self) -> None:
        """Tendons over joints, through sites and around geoms, and their actuators.

        An actuator with a law is that of its tendon, or of another one along the same path.
        """
        m, keys = self._mechanism, self._keys
        for found in tendons_of(m, self._anchor, self._matrix):
            if not self._moves_something(found):
                self._skipped.append(f"tendon {found.name!r}: nothing that it goes over can move")
                continue
            path = [self._carried(item) for item in found.path]
            joints = {self._joints[m.joint_name(j)]: weight for j, weight in found.joints.items()}
            motor = motor_of(self._actuators, found.name, on_tendon=True)
            own = [a for a in self._actuators if a.law is not None and a.on_tendon and a.target == found.name]
            first = own.pop(0) if own and motor is None else None
            law = None if first is None else first.law
            keys[found.name] = self._add_tendon(
                found.name, "tendon", path=path, joints=joints, motor=motor, actuator=law, **found.options
            )
            if first is not None:
                first.handle = self._tendons[keys[found.name]]
            for actuator in own:
                key = self._add_tendon(actuator.name, "actuator", path=path, joints=joints, actuator=actuator.law)
                actuator.handle = self._tendons[key]
        reader = LeverReader(m, self._handles, self._anchor, self._turn)
        for actuator in self._actuators:
            if actuator.levers:
                levers = reader.levers(actuator.number)
                if levers:
                    key = self._add_tendon(actuator.name, "actuator", levers=levers, actuator=actuator.law)
                    actuator.handle = self._tendons[key]
            elif actuator.law is not None and not actuator.on_tendon and actuator.target in self._joints:
                joints = {self._joints[actuator.target]: 1.0}
                key = self._add_tendon(actuator.name, "actuator", joints=joints, actuator=actuator.law)
                actuator.handle = self._tendons[key]
        gone = [a.name for a in self._actuators if a.on_tendon and a.target not in keys]
        gone += [a.name for a in self._actuators if a.law is not None and a.handle is None and a.name not in gone]
        self._skipped += [f"actuator {name!r}: what it acts on is not there" for name in gone]
        self._actuators = [a for a in self._actuators if a.name not in gone]

    def _add_tendon(self, name: str, kind: str, **options: Any) -> str:
        """Add a tendon or a coupling; its name among those of the robot, which no other has."""
        key = f"{name}_{kind}" if name in self._tendons else name
        added = options.pop("add", self._scene.add_tendon)
        self._tendons[key] = added(name=self._free_name(key, kind), **options)
        return key

    def _moves_something(self, found: Found) -> bool:
        """Whether a tendon has joints that are there, or a body that can move."""
        m = self._mechanism
        if found.joints:
            return all(m.joint_name(j) in self._joints for j in found.joints)
        bodies = [m.carrier(item.body) for item in found.path if not isinstance(item, Pulley)]
        return any(body and not m.static[body] for body in bodies)

    def _carried(self, item: Any) -> Any:
        """A part of a path on the body of the scene that carries it."""
        if isinstance(item, Pulley):
            return item
        if isinstance(item, Wrap) and item.side is not None:
            item = replace(item, side=self._carried(item.side))
        return replace(item, body=self._handles.get(self._mechanism.carrier(item.body)))

    def _free_name(self, label: str, kind: str) -> str:
        """A name for something of the robot that no other part of it has."""
        name = f"{self._name}/{label}"
        return f"{name}_{kind}" if name in self._scene.handles else name

    def _put(self, position: np.ndarray, rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A pose of the file in the scene."""
        return self._place + self._matrix @ position, quaternion_product(self._turn, rotation)

    def _add_body(self, body: int) -> None:
        m = self._mechanism
        model, label = m.model, f"{self._name}/{m.body_name(body)}"
        pose = np.array(m.data.xpos[body]), np.array(m.data.xquat[body])
        solid = [geom for geom in m.geoms[body] if geom.touches]
        self._solid[body] = solid
        shape = Compound([(g.shape, *relative(pose, g.position, g.rotation)) for g in solid]) if solid else None
        position, rotation = self._put(*pose)
        visual = surface_of(m.geoms[body], pose)
        options: dict[str, Any] = {"position": position, "rotation": rotation, "visual": visual}
        options["color"] = self._color(body)
        options |= self._friction(body, solid)
        if m.static[body]:
            self._handles[body] = self._scene.add_rigid_body(shape, kinematic=True, name=label, **options)
            return
        inner = m.joints_above(body)[:-1]
        rest = 1.0 - BETWEEN * len(inner)
        if self._density is not None and shape is not None:
            heft: dict[str, Any] = {"density": rest * self._density}
        else:
            axes = rotation_matrix(np.array(model.body_iquat[body]))
            tensor = axes @ np.diag(model.body_inertia[body]) @ axes.T
            # MuJoCo wants none of bodies that are fixed to others
            better = repaired(tensor, float(model.body_mass[body])) if min(model.body_inertia[body]) <= 0.0 else None
            if better is not None:
                tensor = better[0]
                m.source.repair(f"inertia of body {m.body_name(body)!r}: {better[1]}")
            heft = {"mass": rest * float(model.body_mass[body]), "inertia": rest * tensor}
            heft["centre"] = np.array(model.body_ipos[body])
        options["medium"], part = self._medium(), weight_part(model, body)
        options["gravity_scale"] = 1.0 if part is None else part
        self._handles[body] = self._scene.add_rigid_body(shape, name=label, **heft, **options)
        self._between[body] = []
        added = self._scene.bodies[-1]
        axes = rotation_matrix(added.axes)
        for joint in inner:
            small: dict[str, Any] = {"mass": added.mass * BETWEEN / rest, "centre": added.centre}
            small["gravity_scale"] = added.gravity_scale
            small["inertia"] = axes @ np.diag(added.moments) @ axes.T * BETWEEN / rest
            label = f"{self._name}/{m.joint_name(joint)}_carrier"
            handle = self._scene.add_rigid_body(None, position=position, rotation=rotation, name=label, **small)
            self._between[body].append(handle)

    def _medium(self) -> Medium | None:
        """The medium of the file around its bodies."""
        opt = self._mechanism.model.opt
        if not (opt.density > 0.0 or opt.viscosity > 0.0):
            return None
        return Medium(float(opt.density), float(opt.viscosity), self._matrix @ np.array(opt.wind))

    def _color(self, body: int) -> tuple[float, float, float] | None:
        """Colour of a body in the file."""
        m = self._mechanism
        found = m.source.colours.get(m.body_name(body), [])
        told = next((color for color in found if color is not None), None)
        return color_of(m.geoms[body]) if told is None else (told[0], told[1], told[2])

    def _add_joints(self, body: int) -> None:
        """The joints between a body and its parent."""
        m, model = self._mechanism, self._mechanism.model
        first, parent = m.carrier(body), m.carrier(int(model.body_parentid[body]))
        if first == parent or m.static[body] or first == 0:
            return
        below = self._handles[parent] if parent else None
        if not m.joints[body]:
            if body in self._handles and parent:
                label = m.source.fixed.get(m.body_name(body)) or f"{m.body_name(body)}_fixed"
                self._add_joint("fixed", label, self._handles[body], below, anchor=self._anchor(m.data.xpos[body]))
                self._carriers[body] = self._joints[label]
            return
        chain = [*self._between[first], self._handles[first]]
        for joint, above in zip(m.joints[body], chain, strict=True):
            kind, label = int(model.jnt_type[joint]), m.joint_name(joint)
            options: dict[str, Any] = {"anchor": self._anchor(m.data.xanchor[joint])}
            dof = int(model.jnt_dofadr[joint])
            more, rotor = extras_of(model, AT_JOINT, joint)
            options["damping"] = first_of(model.dof_damping[dof]) + more
            if kind == BALL:
                self._skip_of_ball(joint, dof, label)
            else:
                options["axis"] = self._matrix @ m.data.xaxis[joint]
                options |= self._along(joint, dof, label)
                options["rotor_inertia"] += rotor
            self._add_joint(KINDS[kind], label, above, below, **options)
            below = above
        self._carriers[body] = self._joints[m.joint_name(m.joints[body][0])]

    def _along(self, joint: int, dof: int, label: str) -> dict[str, Any]:
        """What acts along the free direction of a hinge or slider."""
        m, model = self._mechanism, self._mechanism.model
        at = int(model.jnt_qposadr[joint])
        result: dict[str, Any] = {
            "start": float(m.qpos[at]),
            "motor": motor_of(self._actuators, label),
            "rotor_inertia": first_of(model.dof_armature[dof]),
            "dry_friction": first_of(model.dof_frictionloss[dof]),
            "stiffness": first_of(model.jnt_stiffness[joint]),
        }
        if result["stiffness"] > 0.0:
            result["rest"] = float(model.qpos_spring[at])
        if model.jnt_limited[joint]:
            result["limits"] = tuple(model.jnt_range[joint].tolist())
        if model.jnt_actfrclimited[joint]:
            low, high = (float(bound) for bound in model.jnt_actfrcrange[joint])
            most = min(abs(low), abs(high))
            result["max_force"] = most if most > 0.0 else None
            if low != -high:
                self._skipped.append(f"joint {label!r}: the larger of the limits {low:g} and {high:g} of its force")
        result["max_speed"] = m.source.fastest.get(label)
        return result

    def _skip_of_ball(self, joint: int, dof: int, label: str) -> None:
        """List what a ball joint of the file has and one here has not."""
        model = self._mechanism.model
        for value, what in (
            (model.jnt_limited[joint], "limit of its whole angle"),
            (model.dof_frictionloss[dof], "dry friction"),
            (model.dof_armature[dof], "inertia of the rotor"),
            (model.jnt_stiffness[joint], "spring"),
        ):
            if np.any(value):
                self._skipped.append(f"{what} of ball joint {label!r}")

    def _anchor(self, point: Any) -> np.ndarray:
        return self._place + self._matrix @ np.array(point)

    def _add_joint(self, kind: str, label: str, a: BodyHandle, b: BodyHandle | None, **options: Any) -> None:
        self._joints[label] = self._scene.add_joint(kind, a, b, name=self._free_name(label, "joint"), **options)

    def _add_closures(self) -> None:
        """Joints that close loops."""
        m = self._mechanism
        for label, options in closing_joints(m, self._anchor):
            if options["kind"] == ATTACHED:
                attach(self._scene, label, self._held_ends(options), self._skipped)
                continue
            kind, bodies = options.pop("kind"), [m.carrier(options.pop(side)) for side in "ab"]
            moving = [body for body in bodies if body and not m.static[body]]
            if bodies[0] == bodies[1] or not moving:
                self._skipped.append(f"{label!r}: both of its ends are of one body, or stand still")
                continue
            if not bodies[0]:
                # the world is the second body
                bodies.reverse()
            a, b = self._handles[bodies[0]], self._handles.get(bodies[1])
            self._add_joint(kind, label, a, b, collide=True, **options)

    def _add_flexes(self, colliders: Mapping[str, ColliderHandle]) -> None:
        """Flexible parts, and what they do not touch."""
        m, parts = self._mechanism, self._mechanism.flexes.parts
        fixed = {int(body) for part in parts for body in part.fixed if body >= 0}
        carriers = {body: self._handles[m.carrier(body)] for body in fixed if m.carrier(body) in self._handles}
        adder = FlexAdder(self._scene, self._anchor, carriers, self._skipped)
        for part in parts:
            handle = adder.add(part, self._free_name(part.name, "flex"))
            if handle is None:
                continue
            self._flexes[part.name] = handle
            for body, carrier in self._handles.items():
                if self._solid[body] and not any(meet(part.masks, geom.masks) for geom in self._solid[body]):
                    self._scene.ignore_contact(handle, carrier)
            for geom in m.geoms[0]:
                if geom.touches and not meet(part.masks, geom.masks):
                    self._scene.ignore_contact(handle, colliders[geom.name])

    def _add_world(self) -> dict[str, ColliderHandle]:
        """What is touched of the world itself."""
        result = {}
        for geom in self._mechanism.geoms[0]:
            if not geom.touches:
                self._skipped.append(f"geom {geom.name!r} of the world: it is only to be seen")
                continue
            model = self._mechanism.model
            position, rotation = self._put(geom.position, geom.rotation)
            friction = float(model.geom_friction[geom.index, 0]) if model.geom_condim[geom.index] >= 3 else 0.0
            assert geom.shape is not None  # it touches
            result[geom.name] = self._scene.add_collider(
                geom.shape, position=position, rotation=rotation, friction=friction, name=f"{self._name}/{geom.name}"
            )
        return result

    def _friction(self, body: int, solid: list[Geom]) -> dict[str, float]:
        """Coefficients of friction of a body: one for all of its geoms, the largest of them."""
        model = self._mechanism.model
        if not solid:
            return {}
        rows = np.array([np.array(model.geom_friction[geom.index]) for geom in solid])
        axes = np.array([int(model.geom_condim[geom.index]) for geom in solid])
        rows *= axes[:, None] >= np.array([3, 4, 6])
        if len(np.unique(rows, axis=0)) > 1:
            self._skipped.append(f"friction of body {self._mechanism.body_name(body)!r}: only the largest of its geoms")
        names = ("friction", "torsional_friction", "rolling_friction")
        return dict(zip(names, rows.max(axis=0).tolist(), strict=True))

    def _held_ends(self, options: dict[str, Any]) -> list[Any]:
        """Both ends of what holds points of flexible parts: points, bodies, or None for what stands still."""
        m, ends = self._mechanism, []
        for body in (options["a"], options["b"]):
            part, index = m.flexes.point_of.get(body, (-1, -1))
            if part < 0:
                ends.append(self._handles.get(m.carrier(body)))
            else:
                ends.append((self._flexes.get(m.flexes.parts[part].name), index))
        return ends

    def _list_others(self) -> None:
        """What else there is in the file and not here."""
        model = self._mechanism.model
        if model.opt.density > 0.0 or model.opt.viscosity > 0.0:
            found = sorted({int(model.geom_bodyid[g]) for g in np.flatnonzero(np.asarray(model.geom_fluid)[:, 0])})
            if found:
                self._skipped.append(
                    f"fluidshape of {len(found)} bodies, {self._mechanism.body_name(found[0])!r} first: they are "
                    f"dragged as boxes with their inertia, without lift"
                )
        for index in range(int(model.npair)):
            name = model.pair(index).name
            self._skipped.append(f"pair {name!r}" if name else f"pair {index}")
        gravity = self._matrix.T @ np.asarray(self._scene.gravity)
        self._skipped += not_read(model, self._mechanism.body_name, gravity)
