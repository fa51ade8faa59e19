"""A robot file as MuJoCo understands it: which of its bodies are bodies here, where they are, and what carries what."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from shinari import check
from shinari.api.add_tendons import MET
from shinari.errors import FileError, SceneError, require
from shinari.io.robots.compile import compiled
from shinari.io.robots.couplings import Coupling, couplings_of, settled
from shinari.io.robots.flexes import flexes_of, point_bodies
from shinari.io.robots.geometry import COARSE, Geom, geoms_of, is_coarse
from shinari.io.robots.left_out import switch_off
from shinari.io.robots.source import Source
from shinari.shapes.hull import ConvexHull

FREE, BALL, SLIDE, HINGE = range(4)
UNNAMED = "MuJoCo Model"


def first_of(value: Any) -> float:
    """The first number of an array, or the number."""
    return float(np.asarray(value).ravel()[0])


class Mechanism:
    """The bodies of a robot, its joints at the angles of the start.

    Bodies without joints are rigidly part of their parent; all that are rigidly one are a group. A body without
    mass is merged into its group, with its shapes, unless it stands still and has some.

    Args:
        source: The file.
        angles: Angles [rad] and travels [m] at the start by the name of the joint; the others are those of the file.
        fixed_base: Whether what carries the robot stands still; None: as the file says.
        weighed: Whether bodies that touch something get their mass from that.

    Attributes:
        name: Name of the robot.
        model: The compiled model.
        data: Where everything is, Z up: `xpos`, `xquat`, `xanchor`, `xaxis`, and the lengths of tendons.
        qpos: Angles and travels at the start, by their addresses.
        joints: Joints of each body, outermost first, without free ones.
        static: Whether each body stands still.
        groups: First body of the group of each body; 0 for those that stand still on the world.
        solid: Bodies that are no points of flexible parts.
        bodies: Those of them that are bodies here.
        geoms: Geoms of each of them, and of those that are merged into it; by 0 those of the world, and planes.
        couplings: Joints that follow others.
        flexes: Flexible parts.
        skipped: What was left out, in words.

    Raises:
        MissingExtraError: MuJoCo is not installed.
        FileError: MuJoCo refuses the file.
        SceneError: An angle that was given belongs to no joint, or is out of its limits.
    """

    def __init__(self, source: Source, angles: Mapping[str, float], fixed_base: bool | None, weighed: bool) -> None:
        mujoco = require("mujoco", "robot")
        spec, model = compiled(source)
        switch_off(model)
        self.model = model
        self.data = mujoco.MjData(model)
        self.name = spec.modelname if spec.modelname not in ("", UNNAMED) else source.path.stem
        self.source, self.skipped = source, source.skipped
        count = int(model.nbody)
        points = point_bodies(model)
        self.joints: list[list[int]] = [[] for _ in range(count)]
        for j in range(int(model.njnt)):
            if model.jnt_type[j] != FREE and int(model.jnt_bodyid[j]) not in points:
                self.joints[int(model.jnt_bodyid[j])].append(j)
        self.qpos = np.array(model.qpos0)
        self._set_angles(angles)
        self.couplings = self._settle(angles)
        self.data.qpos[:] = self.qpos
        mujoco.mj_kinematics(model, self.data)
        if model.ntendon or model.nflex:
            mujoco.mj_comPos(model, self.data)
            mujoco.mj_flex(model, self.data)
            mujoco.mj_tendon(model, self.data)
        self.flexes = flexes_of(spec, model, self.data, self.skipped)
        self.solid = [b for b in range(1, count) if b not in points]
        self.static = [True] * count
        self.groups = [0] * count
        for body in self.solid:
            parent = int(model.body_parentid[body])
            self.static[body] = not self.joints[body] and self._stands(body, parent, fixed_base)
            carried = not self.joints[body] and (parent != 0 or self.static[body])
            self.groups[body] = self.groups[parent] if carried else body
        hulls: dict[int, ConvexHull] = {}
        found = [geoms_of(model, self.data, b, hulls, self.skipped) for b in range(count)]
        coarse = sum(is_coarse(model, mesh) for mesh in hulls)
        if coarse:
            self.source.repair(
                f"hulls of {coarse} meshes: corners that are outside of the others by less than {COARSE:g} of the size "
                f"are left out"
            )
        self.bodies = [
            b
            for b in self.solid
            if model.body_mass[b] > 0.0
            or (self.static[b] and found[b])
            or (weighed and any(geom.touches for geom in found[b]))
        ]
        self.geoms: dict[int, list[Geom]] = {body: [] for body in (0, *self.bodies)}
        for body, geoms in ((0, found[0]), *((b, found[b]) for b in self.solid)):
            carrier = self.carrier(body)
            for geom in geoms:
                endless = geom.shape is not None and geom.shape.endless
                self.geoms[0 if endless else carrier].append(geom)
            if body and carrier != body:
                to_local = self.body_name(carrier) if carrier else "the world"
                self.skipped.append(f"body {self.body_name(body)!r}: it has no mass; merged into {to_local!r}")

    def body_name(self, body: int) -> str:
        """Name of a body, or its number where it has none."""
        return self.model.body(body).name or f"body_{body}"

    def joint_name(self, joint: int) -> str:
        """Name of a joint, or one from its body where it has none."""
        body = int(self.model.jnt_bodyid[joint])
        several = self.joints[body].index(joint) + 1 if len(self.joints[body]) > 1 else ""
        return self.model.joint(joint).name or f"{self.body_name(body)}_joint{several}"

    def joints_above(self, body: int) -> list[int]:
        """Joints that carry a body, outermost first: its own, or those of what is merged into it."""
        group = self.groups[body]
        return self.joints[group] if group and self.carrier(group) == body else []

    def joined(self, first: int, second: int) -> bool:
        """Whether two bodies are rigidly one, or one is joined to the other."""
        model, groups = self.model, self.groups
        a, b = groups[first], groups[second]
        above = [int(model.body_parentid[g]) if g else 0 for g in (a, b)]
        one = a == b != 0 or (a and groups[above[1]] == a) or (b and groups[above[0]] == b)
        return bool(one or (a and self.carrier(above[0]) == second) or (b and self.carrier(above[1]) == first))

    def carrier(self, body: int) -> int:
        """The body that stands for one that is merged: the next of its group on the way to the world, else the first.

        Returns:
            The body; 0 is the world.

        Raises:
            FileError: Its whole group has no mass.
        """
        while body and body not in self.bodies:
            parent = int(self.model.body_parentid[body])
            if self.groups[body] != self.groups[parent] or (parent == 0 and not self.static[body]):
                members = [b for b in self.bodies if self.groups[b] == self.groups[body]]
                if not members:
                    raise FileError(f"{self.source.path}: body {self.body_name(body)!r}: it moves and has no mass")
                return members[0]
            body = parent
        return body

    def _stands(self, body: int, parent: int, fixed_base: bool | None) -> bool:
        """Whether a body without joints of its own stands still."""
        model = self.model
        if model.body_mocapid[body] >= 0:
            return True
        if parent != 0:
            return self.static[parent]
        free = bool(model.body_jntnum[body])
        if fixed_base is None or free:
            return fixed_base is True or not free
        # what carries no joints is scenery, unless it is all there is
        carries = any(self.joints[b] and model.body_rootid[b] == body for b in self.solid)
        roots = sum(int(model.body_parentid[b]) == 0 for b in self.solid)
        return fixed_base or not (carries or roots == 1)

    def _settle(self, angles: Mapping[str, float]) -> list[Coupling]:
        """Put joints that follow others where their laws want them."""
        wanted, names = self.qpos.copy(), {j: self.joint_name(j) for joints in self.joints for j in joints}
        found = settled(
            couplings_of(self.model, self.source.mimics, self.skipped), self.model, self.qpos, names, self.skipped
        )
        for coupling in found:
            name, at = names[coupling.joint], int(self.model.jnt_qposadr[coupling.joint])
            if name in angles and abs(self.qpos[at] - wanted[at]) > MET:
                leader = None if coupling.leader is None else repr(names[coupling.leader])
                law = f"is held by coupling {coupling.name!r}" if leader is None else f"follows {leader}"
                instead = "leave its angle out" if leader is None else f"give the angle of {leader} alone"
                raise SceneError(
                    f"robot {self.source.path}: angles: joint {check.short(name)} {law}, which puts it at "
                    f"{self.qpos[at]:g}, not {wanted[at]:g}; {instead}"
                )
        return found

    def _set_angles(self, angles: Mapping[str, float]) -> None:
        model, path = self.model, self.source.path
        movable = {
            self.joint_name(j): j for joints in self.joints for j in joints if model.jnt_type[j] in (SLIDE, HINGE)
        }
        for name, value in angles.items():
            if name not in movable:
                known = ", ".join(movable) or "none"
                raise SceneError(
                    f"robot {path}: angles: {check.short(name)} is no hinge or slide of it; known are {known}"
                )
            self.qpos[model.jnt_qposadr[movable[name]]] = check.number(f"robot {path}", f"angles: {name}", value)
        clamped = []
        for name, joint in movable.items():
            value = float(self.qpos[model.jnt_qposadr[joint]])
            low, high = (float(bound) for bound in model.jnt_range[joint])
            if not model.jnt_limited[joint] or low <= value <= high:
                continue
            if name in angles:
                raise SceneError(
                    f"robot {path}: angles: joint {check.short(name)} starts at {value:g}, outside its limits {low:g} "
                    f"to {high:g}; give angles={{{check.short(name)}: {0.5 * (low + high):.3g}}}"
                )
            self.qpos[model.jnt_qposadr[joint]] = min(max(value, low), high)
            clamped.append(f"{name} {value:g} to {self.qpos[model.jnt_qposadr[joint]]:g}")
        if clamped:
            self.source.repair(f"joints that started outside their limits: moved {', '.join(clamped)}")
