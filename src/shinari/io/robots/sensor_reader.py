"""Makes the sensors of a robot from its description."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from shinari.errors import require
from shinari.geometry.motion import quaternion_product, rotation_matrix
from shinari.io.robots.contact_sensors import READ, ContactSensor, SideReader
from shinari.io.robots.distance_sensors import OF_PAIRS, PairSensor, RangeFinder, Solid
from shinari.io.robots.drives import Actuator
from shinari.io.robots.geometry import Geom, primitive, relative
from shinari.io.robots.mechanism import Mechanism
from shinari.io.robots.sensors import (
    OF_ACTUATORS,
    OF_BALLS,
    OF_ENERGY,
    OF_FRAMES,
    OF_JOINTS,
    OF_LIMITS,
    OF_LOADS,
    OF_SUBTREES,
    OF_TENDON_LIMITS,
    OF_TENDONS,
    Frame,
    Sensor,
)
from shinari.io.robots.tendons import tendon_name
from shinari.scene.handle import BodyHandle, ColliderHandle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.tendon import TendonHandle
from shinari.shapes.base import Shape

AS_IN_FILES = {
    "jointactfrc": "jointactuatorfrc",
    "tendonactfrc": "tendonactuatorfrc",
    "geomdist": "distance",
    "geomnormal": "normal",
    "geomfromto": "fromto",
}


class SensorReader:
    """Makes the sensors of a robot from its description.

    Args:
        m: The robot.
        bodies: Its bodies by number.
        joints: Its joints by name.
        tendons: Its tendons by their names in the file.
        actuators: Its actuators.
        carriers: The joint that carries each body, by number.
        between: Small bodies between the joints of one, by number.
        colliders: Colliders by the names of their geoms.
        put: Where a pose of the file is in the scene.
    """

    def __init__(
        self,
        m: Mechanism,
        bodies: Mapping[int, BodyHandle],
        joints: Mapping[str, JointHandle],
        tendons: Mapping[str, TendonHandle],
        actuators: Sequence[Actuator],
        carriers: Mapping[int, JointHandle],
        between: Mapping[int, Sequence[BodyHandle]],
        colliders: Mapping[str, ColliderHandle],
        put: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
    ) -> None:
        self._m, self._bodies, self._joints, self._tendons = m, bodies, joints, tendons
        self._actuators, self._carriers, self._between, self._put = actuators, carriers, between, put
        self._colliders = colliders
        self._kinds = require("mujoco", "robot").mjtSensor

    def sensors(self) -> dict[str, Sensor]:
        """Sensors by name; those of other kinds are listed as skipped."""
        model, result = self._m.model, {}
        for index in range(int(model.nsensor)):
            kind = self._kinds(int(model.sensor_type[index])).name.removeprefix("mjSENS_").lower()
            kind = AS_IN_FILES.get(kind) or kind
            name = model.sensor(index).name or f"sensor_{index + 1}"
            found = self._sensor(name, kind, index)
            if found is None:
                self._m.skipped.append(f"sensor {name!r}: {kind} of this object is not read")
            else:
                bounded = kind not in (*OF_PAIRS, "contact")
                result[name] = replace(found, cutoff=float(model.sensor_cutoff[index])) if bounded else found
                if model.sensor_delay[index] > 0.0 or np.any(model.sensor_interval[index] > 0.0):
                    self._m.skipped.append(f"sensor {name!r}: its delay and interval")
        return result

    def _sensor(self, name: str, kind: str, index: int) -> Sensor | None:
        target = int(self._m.model.sensor_objid[index])
        any_body = next(iter(self._bodies.values()), None)
        if kind == "clock":
            return None if any_body is None else Sensor(name, kind, any_body)
        of_objects = {
            OF_JOINTS: self._of_joint,
            OF_TENDONS: self._of_tendon,
            OF_ACTUATORS: self._of_actuator,
            OF_LIMITS: self._of_joint_limit,
            OF_TENDON_LIMITS: self._of_tendon_limit,
            OF_BALLS: self._of_ball,
            OF_SUBTREES: self._of_subtree,
            OF_ENERGY: self._of_energy,
        }
        of_others = {
            ("rangefinder",): self._range_finder,
            OF_PAIRS: self._of_pair,
            ("contact",): self._of_contacts,
        }
        for kinds, make in of_objects.items():
            if kind in kinds:
                return make(name, kind, target)
        make = next((make for kinds, make in of_others.items() if kind in kinds), self._of_frame)
        return make(name, kind, index)

    def _of_joint(self, name: str, kind: str, target: int) -> Sensor | None:
        label = self._m.joint_name(target)
        own = [a for a in self._actuators if not a.on_tendon and a.target == label]
        # tendons would add their forces by their moment arms
        by_tendons = kind == "jointactuatorfrc" and any(a.on_tendon for a in self._actuators)
        known = label in self._joints and not by_tendons
        return Sensor(name, kind, self._joints[label], actuators=own) if known else None

    def _of_tendon(self, name: str, kind: str, target: int) -> Sensor | None:
        label = tendon_name(self._m.model, target)
        own = [a for a in self._actuators if a.on_tendon and a.target == label]
        return Sensor(name, kind, self._tendons[label], actuators=own) if label in self._tendons else None

    def _of_joint_limit(self, name: str, kind: str, target: int) -> Sensor | None:
        joint = self._joints.get(self._m.joint_name(target))
        if joint is None or not np.isfinite(joint.limits).any():
            return None
        return Sensor(name, kind, joint)

    def _of_tendon_limit(self, name: str, kind: str, target: int) -> Sensor | None:
        tendon = self._tendons.get(tendon_name(self._m.model, target))
        if tendon is None or tendon._scene.tendons[tendon.index].limits is None:
            return None
        return Sensor(name, kind, tendon)

    def _of_subtree(self, name: str, kind: str, root: int) -> Sensor | None:
        """Bodies below one that move; the others of MuJoCo stand still and would only shift the centre."""
        m, model, found = self._m, self._m.model, []
        for body in m.solid:
            above = body
            while above not in (0, root):
                above = int(model.body_parentid[above])
            if above == root and body in self._bodies:
                if m.static[body]:
                    return None
                found += [self._bodies[body], *self._between.get(body, ())]
        whole = sum(float(model.body_mass[b]) for b in range(len(model.body_mass)) if b not in m.solid) == 0.0
        return Sensor(name, kind, found[0], subtree=found) if found and whole else None

    def _of_ball(self, name: str, kind: str, joint: int) -> Sensor | None:
        """The rotation of a body from that of its parent at the zero of its ball joint."""
        m, model = self._m, self._m.model
        body = int(model.jnt_bodyid[joint])
        parent = int(model.body_parentid[body])
        if m.joint_name(joint) not in self._joints or len(m.joints[body]) > 1:
            return None
        zero = quaternion_product(np.array(m.data.xquat[parent]), np.array(model.body_quat[body]))
        frame = self._frame(body, np.array(m.data.xpos[body]), np.array(m.data.xquat[body]))
        if frame.body is None:
            return None
        reference = self._frame(parent, np.array(m.data.xpos[parent]), zero)
        return Sensor(name, kind, frame.body, frame.position, frame.rotation, reference=reference)

    def _frame(self, body: int, place: np.ndarray, turn: np.ndarray) -> Frame:
        """A frame of the file on the body that carries another, or in the world."""
        m = self._m
        carrier = m.carrier(body)
        if carrier not in self._bodies:
            return Frame(None, *self._put(place, turn))
        pose = np.array(m.data.xpos[carrier]), np.array(m.data.xquat[carrier])
        return Frame(self._bodies[carrier], *relative(pose, place, turn))

    def _of_actuator(self, name: str, kind: str, target: int) -> Sensor | None:
        label = self._m.model.actuator(target).name or f"actuator_{target + 1}"
        actuator = next((a for a in self._actuators if a.name == label), None)
        if actuator is None:
            return None
        of = (self._tendons if actuator.on_tendon else self._joints).get(actuator.target)
        return None if of is None else Sensor(name, kind, of, actuators=[actuator])

    def _placed(self, of: int, target: int) -> tuple[int, np.ndarray, np.ndarray] | None:
        """Body, place and axes of a site, a geom or a body of the file; None: of another object."""
        m, model, objects = self._m, self._m.model, require("mujoco", "robot").mjtObj
        owned = {int(objects.mjOBJ_SITE): (model.site_bodyid, m.data.site_xpos, m.data.site_xmat),
                 int(objects.mjOBJ_GEOM): (model.geom_bodyid, m.data.geom_xpos, m.data.geom_xmat)}  # fmt: skip
        bodies = {int(objects.mjOBJ_XBODY): (m.data.xpos, m.data.xmat),
                  int(objects.mjOBJ_BODY): (m.data.xipos, m.data.ximat)}  # fmt: skip
        if of in owned:
            owners, places, axes = owned[of]
            body = int(owners[target])
        elif of in bodies:
            (places, axes), body = bodies[of], target
        else:
            return None
        turn = np.zeros(4)
        require("mujoco", "robot").mju_mat2Quat(turn, np.array(axes[target]).ravel())
        return None if body in m.flexes.points else (body, np.array(places[target]), turn)

    def _of_frame(self, name: str, kind: str, index: int) -> Sensor | None:
        m, model = self._m, self._m.model
        target = int(model.sensor_objid[index])
        known = kind in OF_FRAMES or kind in OF_LOADS or kind in ("touch", "insidesite")
        found = self._placed(int(model.sensor_objtype[index]), target) if known else None
        if found is None:
            return None
        body, place, turn = found
        reference = None
        if int(model.sensor_refid[index]) >= 0:
            other = self._placed(int(model.sensor_reftype[index]), int(model.sensor_refid[index]))
            if other is None:
                return None
            reference = self._frame(*other)
        area = None
        if kind == "touch":
            area, turn = self._volume(target, turn)
        elif kind == "insidesite":
            site = int(model.sensor_refid[index])
            area, axes = self._volume(site, other[2])
            reference = self._frame(other[0], other[1], axes)
        frame = self._frame(body, place, turn)
        if frame.body is None or (kind in OF_LOADS and body not in self._carriers):
            return None
        joint = self._carriers[body] if kind in OF_LOADS else None
        magnetic = rotation_matrix(self._put(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))[1]) @ m.model.opt.magnetic
        parts = {"joint": joint, "area": area, "reference": reference, "magnetic": magnetic}
        return Sensor(name, kind, frame.body, frame.position, frame.rotation, **parts)

    def _volume(self, site: int, turn: np.ndarray) -> tuple[Shape, np.ndarray]:
        """The shape of a site, and its axes, of those of the site."""
        model = self._m.model
        area, inner = primitive(int(model.site_type[site]), np.array(model.site_size[site], np.float64))
        return area, turn if inner is None else quaternion_product(turn, inner)

    def _of_energy(self, name: str, kind: str, target: int) -> Sensor | None:
        """Energy of all bodies that move; of flexible parts none is had."""
        del target  # it is that of all
        m = self._m
        moving = [b for b in self._bodies if not m.static[b]]
        if not moving or m.flexes.parts:
            return None
        subtree = [part for b in moving for part in (self._bodies[b], *self._between.get(b, ()))]
        parts = [joint for joint in self._joints.values() if joint.kind in ("hinge", "slider")]
        return Sensor(name, kind, subtree[0], subtree=subtree, parts=[*parts, *self._tendons.values()])

    def _of_contacts(self, name: str, kind: str, index: int) -> Sensor | None:
        """Contacts between geoms, bodies, bodies with all beyond them, or within a site."""
        m, model, any_body = self._m, self._m.model, next(iter(self._bodies.values()), None)
        told, reduced, count = (int(value) for value in model.sensor_intprm[index])
        if any_body is None or told & ~READ:
            return None
        reader, sides = SideReader(m, self._bodies, self._colliders, self._frame), []
        objects = require("mujoco", "robot").mjtObj
        within = area = None
        for of, target in (
            (int(model.sensor_objtype[index]), int(model.sensor_objid[index])),
            (int(model.sensor_reftype[index]), int(model.sensor_refid[index])),
        ):
            if of == int(objects.mjOBJ_SITE):
                found = self._placed(of, target)
                if found is None:
                    return None
                area, turn = self._volume(target, found[2])
                within = self._frame(found[0], found[1], turn)
            chosen = reader.chosen(of, target, objects) if target >= 0 else None
            sides.append(None if chosen is None else reader.side(chosen))
        axes = rotation_matrix(self._put(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))[1])
        return ContactSensor(
            name, kind, any_body, area=area, first=sides[0], second=sides[1], within=within, told=told,
            reduced=reduced, count=count, axes=axes,
        )  # fmt: skip

    def _range_finder(self, name: str, kind: str, index: int) -> Sensor | None:
        """A ray along the z axis of a site; that of a camera, one for each pixel, is not read."""
        m, model, any_body = self._m, self._m.model, next(iter(self._bodies.values()), None)
        objects = require("mujoco", "robot").mjtObj
        if int(model.sensor_objtype[index]) != int(objects.mjOBJ_SITE) or any_body is None:
            return None
        found = self._placed(int(objects.mjOBJ_SITE), int(model.sensor_objid[index]))
        if found is None:
            return None
        frame = self._frame(*found)
        passed: list[BodyHandle | ColliderHandle] = [
            self._colliders[geom.name]
            for geom in m.geoms[0]
            if geom.touches and (model.geom_bodyid[geom.index] == found[0] or self._is_invisible(geom))
        ]
        for body, handle in self._bodies.items():
            solid = [geom for geom in m.geoms[body] if geom.touches]
            if handle is frame.body or (solid and all(map(self._is_invisible, solid))):
                passed.append(handle)
        told = int(model.sensor_intprm[index, 0])
        return RangeFinder(name, kind, any_body, frame=frame, told=told, passed=passed)

    def _is_invisible(self, geom: Geom) -> bool:
        """Whether a geom has no opacity at all."""
        model = self._m.model
        material = int(model.geom_matid[geom.index])
        return float((model.geom_rgba[geom.index] if material < 0 else model.mat_rgba[material])[3]) == 0.0

    def _of_pair(self, name: str, kind: str, index: int) -> Sensor | None:
        """A distance between geoms or bodies."""
        model, any_body = self._m.model, next(iter(self._bodies.values()), None)
        ends = (
            (model.sensor_objtype[index], model.sensor_objid[index]),
            (model.sensor_reftype[index], model.sensor_refid[index]),
        )
        first, second = (self._solids(int(of), int(target)) for of, target in ends)
        if first is None or second is None or any_body is None:
            return None
        return PairSensor(name, kind, any_body, first=first, second=second, reach=float(model.sensor_cutoff[index]))

    def _solids(self, of: int, target: int) -> list[Solid] | None:
        """The geoms of a body of the file, or one, with the bodies that carry them; None: one has no shape for that."""
        m, model, objects = self._m, self._m.model, require("mujoco", "robot").mjtObj
        by_geom = of == int(objects.mjOBJ_GEOM)
        wanted = [g for g in range(int(model.ngeom)) if (g if by_geom else int(model.geom_bodyid[g])) == target]
        known = {geom.index: geom for geoms in m.geoms.values() for geom in geoms}
        solids = []
        for geom in (known.get(g) for g in wanted):
            if geom is None or geom.shape is None or not Solid.is_known(geom.shape):
                return None
            body = int(model.geom_bodyid[geom.index])
            # planes stand still whatever carries them
            frame = (
                Frame(None, *self._put(geom.position, geom.rotation))
                if geom.shape.endless
                else self._frame(body, geom.position, geom.rotation)
            )
            solids.append(Solid(geom.shape, frame))
        return solids or None
