"""Sensors of a compiled robot, read from the simulation that runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shinari.geometry.motion import quaternion_product, rotation_matrix
from shinari.io.robots.drives import Actuator
from shinari.scene.handle import BodyHandle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.running import running
from shinari.scene.tendon import TendonHandle
from shinari.shapes.base import Shape
from shinari.shapes.kernels.encode import signed_distance

OF_JOINTS = ("jointpos", "jointvel", "jointactuatorfrc")
OF_TENDONS = ("tendonpos", "tendonvel", "tendonactuatorfrc")
OF_ACTUATORS = ("actuatorpos", "actuatorvel", "actuatorfrc")
OF_FRAMES = ("framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis", "framelinvel", "frameangvel", "gyro",
             "velocimeter", "accelerometer", "magnetometer", "framelinacc", "frameangacc")  # fmt: skip
OF_BALLS = ("ballquat", "ballangvel")
OF_SUBTREES = ("subtreecom", "subtreelinvel", "subtreeangmom")
OF_LOADS = ("force", "torque")
OF_LIMITS = ("jointlimitpos", "jointlimitvel")
OF_TENDON_LIMITS = ("tendonlimitpos", "tendonlimitvel")
OF_ENERGY = ("e_potential", "e_kinetic")
AXES = ("framexaxis", "frameyaxis", "framezaxis")
IN_OWN_AXES = ("gyro", "velocimeter", "ballangvel")
OF_SPINS = ("frameangvel", "gyro", "ballangvel")
ROUNDING = 1e-6
"""What is so near to a limit is at it [rad or m]."""


@dataclass(frozen=True)
class Frame:
    """A place and axes on a body.

    Attributes:
        body: The body; None: the world.
        position: In the axes of the body [m], (3,).
        rotation: How its axes are turned in those, a unit quaternion w x y z, (4,).
    """

    body: BodyHandle | None
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))

    def pose(self, simulation: Any) -> tuple[np.ndarray, np.ndarray]:
        """Where it is in the world [m], (3,), and its rotation, (4,)."""
        if self.body is None:
            return self.position, self.rotation
        pose = simulation.pose(self.body)
        return pose.position + pose.matrix @ self.position, quaternion_product(pose.rotation, self.rotation)

    def motion(self, simulation: Any, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Velocity of a place of its body [m/s], (3,), and the angular velocity [rad/s], (3,)."""
        if self.body is None:
            return np.zeros(3), np.zeros(3)
        state, index = simulation.state, self.body.index
        spin = state.body_angular_velocities[index]
        return state.body_velocities[index] + np.cross(spin, self.arm(simulation, place)), spin.copy()

    def arm(self, simulation: Any, place: np.ndarray) -> np.ndarray:
        """From the centre of mass of its body to a place, (3,)."""
        assert self.body is not None
        pose = simulation.pose(self.body)
        return place - pose.position - pose.matrix @ self.body._scene.bodies[self.body.index].centre


@dataclass(frozen=True)
class Sensor:
    """A sensor of an MJCF.

    Attributes:
        name: Its name.
        kind: Its kind as in the file, `"gyro"`; see `read`.
        of: The joint, tendon or body that it measures, or that its actuators act on.
        position: Where it is in the axes of the body [m], (3,).
        rotation: How its axes are turned in those of the body, a unit quaternion w x y z, (4,).
        actuators: Actuators whose force it measures.
        joint: Of a force or torque the joint that carries its body.
        area: Of a touch its shape, in its own axes; of an `insidesite` that of the site.
        reference: A frame relative to which and in whose axes it measures; None: the world.
        magnetic: Of a magnetometer the magnetic field in the world, (3,).
        subtree: Bodies that it measures together.
        parts: Of an energy the joints and tendons.
        cutoff: Largest size of its numbers; 0: none.
    """

    name: str
    kind: str
    of: JointHandle | BodyHandle | TendonHandle
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    actuators: Sequence[Actuator] = ()
    joint: JointHandle | None = None
    area: Shape | None = None
    reference: Frame | None = None
    magnetic: np.ndarray = field(default_factory=lambda: np.zeros(3))
    subtree: Sequence[BodyHandle] = ()
    parts: Sequence[JointHandle | TendonHandle] = ()
    cutoff: float = 0.0

    def read(self) -> np.ndarray:
        """What it measures now, in the world of the scene, (n,): one number of joints, tendons, actuators and touch.

        `jointpos`, `tendonpos`, `actuatorpos` [rad or m] and their rates `jointvel`, `tendonvel`, `actuatorvel`; forces
        of actuators `actuatorfrc` and `tendonactuatorfrc`, without their gear, and `jointactuatorfrc` on the joint [N m
        or N]. Of a frame `framepos` its place [m], `framequat` its rotation w x y z, `framexaxis` and so on its axes,
        `framelinvel` and `frameangvel` its velocity [m/s] and angular velocity [rad/s], all of them from and in the
        axes of the reference where there is one; in its own axes `gyro` the angular velocity, `velocimeter` the
        velocity, `magnetometer` the field of the file, `force` [N] and `torque` about it [N m] what the joints that
        carry its body exerted on that in the last substep. Means of the last substep are `accelerometer`, in its own
        axes, and `framelinacc`, both with what gravity takes, 9.81 upwards at rest [m/s^2], and `frameangacc`
        [rad/s^2]. `ballquat` is the rotation of a ball joint and `ballangvel` its rate in the axes of the body.
        `subtreecom` is the centre of mass of several bodies [m], `subtreelinvel` its velocity, `subtreeangmom` their
        angular momentum about it [kg m^2/s]. `touch`: normal forces of contacts of its body within its shape [N].
        `clock`: the time [s]. `jointlimitpos` and `tendonlimitpos`: how far the nearer limit is exceeded, as a negative
        number, else 0; `jointlimitvel` and `tendonlimitvel` its rate at the limit. `insidesite`: 1 within the shape of
        its site, else 0. `e_kinetic` and `e_potential`: energy of the robot [J], with rotors, and with springs and
        gravity from the origin of the scene on.

        Numbers are at most as large as the cutoff in the file. Sensors of contacts, ranges and distances tell what
        `_measure` of theirs says.

        Raises:
            SceneError: There is no simulation.
        """
        found = self._measure(running(self.of._scene, f"sensor {self.name!r}"))
        return np.clip(found, -self.cutoff, self.cutoff) if self.cutoff > 0.0 else found

    def _measure(self, simulation: Any) -> np.ndarray:
        """What it measures, before the cutoff."""
        if self.kind == "clock":
            return np.array([simulation.time])
        if self.kind in OF_LIMITS or self.kind in OF_TENDON_LIMITS:
            return np.array([self._limit()])
        if not isinstance(self.of, BodyHandle):
            return np.array([self._coordinate()])
        if self.kind in OF_ENERGY:
            return np.array([self._energy(simulation)])
        if self.kind in OF_SUBTREES:
            return self._of_subtree(simulation)
        frame = Frame(self.of, self.position, self.rotation)
        place, turn = frame.pose(simulation)
        axes = rotation_matrix(turn)
        if self.kind == "touch":
            return np.array([self._touch(simulation.contacts(), place, axes)])
        if self.kind == "insidesite":
            assert self.area is not None
            assert self.reference is not None
            origin, other = self.reference.pose(simulation)
            local = (place - origin) @ rotation_matrix(other)
            return np.array([float(signed_distance(self.area, local[None])[0] <= 0.0)])
        if self.kind == "magnetometer":
            return axes.T @ self.magnetic
        if self.kind in ("accelerometer", "framelinacc", "frameangacc"):
            return self._acceleration(simulation, frame, place, axes)
        if self.joint is not None and self.kind in OF_LOADS:
            load = simulation.forces(self.joint)
            moment = load.torque + np.cross(self.joint.anchor - place, load.force)
            return -axes.T @ (load.force if self.kind == "force" else moment)
        return self._of_frame(simulation, frame, place, turn)

    def _of_frame(self, simulation: Any, frame: Frame, place: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """Place, axes or velocities, from those of its reference."""
        reference = Frame(None) if self.reference is None else self.reference
        origin, other = reference.pose(simulation)
        axes, own = rotation_matrix(other), rotation_matrix(turn)
        if self.kind == "framepos":
            return axes.T @ (place - origin)
        if self.kind in ("framequat", "ballquat"):
            return quaternion_product(other * np.array([1.0, -1.0, -1.0, -1.0]), turn)
        if self.kind in AXES:
            return axes.T @ own[:, AXES.index(self.kind)]
        velocity, spin = frame.motion(simulation, place)
        carried, turning = reference.motion(simulation, place)
        found = spin - turning if self.kind in OF_SPINS else velocity - carried
        return own.T @ found if self.kind in IN_OWN_AXES else axes.T @ found

    def _acceleration(self, simulation: Any, frame: Frame, place: np.ndarray, axes: np.ndarray) -> np.ndarray:
        """Angular acceleration, or that of a place less gravity."""
        linear, angular = simulation.bodies.acceleration(self.of)
        if self.kind == "frameangacc":
            return angular
        arm, (_, spin) = frame.arm(simulation, place), frame.motion(simulation, place)
        found = linear + np.cross(angular, arm) + np.cross(spin, np.cross(spin, arm))
        found = found - np.asarray(simulation.described.gravity, np.float64)
        return axes.T @ found if self.kind == "accelerometer" else found

    def _of_subtree(self, simulation: Any) -> np.ndarray:
        """Centre of mass of several bodies, its velocity, or their angular momentum about it."""
        state, bodies = simulation.state, self.of._scene.bodies
        poses = [simulation.pose(handle) for handle in self.subtree]
        own = [bodies[handle.index] for handle in self.subtree]
        masses = np.array([body.mass for body in own])
        centres = np.array([pose.position + pose.matrix @ body.centre for pose, body in zip(poses, own, strict=True)])
        speeds = np.array([state.body_velocities[handle.index] for handle in self.subtree])
        centre, velocity = masses @ centres / masses.sum(), masses @ speeds / masses.sum()
        if self.kind != "subtreeangmom":
            return centre if self.kind == "subtreecom" else velocity
        total = (masses[:, None] * np.cross(centres - centre, speeds - velocity)).sum(axis=0)
        for handle, pose, body in zip(self.subtree, poses, own, strict=True):
            axes = pose.matrix @ rotation_matrix(body.axes)
            total = total + axes @ (body.moments * (axes.T @ state.body_angular_velocities[handle.index]))
        return total

    def _limit(self) -> float:
        """How far the nearer limit is exceeded, or the rate of that at the limit."""
        of = self.of
        assert not isinstance(of, BodyHandle)
        length = of.angle if isinstance(of, JointHandle) else of.length
        limits = of.limits if isinstance(of, JointHandle) else of._scene.tendons[of.index].limits
        low, high = limits or (-np.inf, np.inf)
        gap = min(length - low, high - length)
        if self.kind.endswith("pos"):
            return min(gap, 0.0)
        way = 1.0 if length - low < high - length else -1.0
        return way * of.velocity if gap < ROUNDING else 0.0

    def _energy(self, simulation: Any) -> float:
        """Energy of bodies, rotors and masses of tendons that move; or of springs, and by gravity."""
        scene, gravity = self.of._scene, np.asarray(simulation.described.gravity, np.float64)
        total = 0.0
        for handle in self.subtree:
            body, pose = scene.bodies[handle.index], simulation.pose(handle)
            if self.kind == "e_potential":
                total -= body.mass * float(gravity @ (pose.position + pose.matrix @ body.centre))
                continue
            velocity = simulation.state.body_velocities[handle.index]
            spin = (pose.matrix @ rotation_matrix(body.axes)).T @ simulation.state.body_angular_velocities[handle.index]
            total += 0.5 * (body.mass * float(velocity @ velocity) + float(body.moments @ spin**2))
        for part in self.parts:
            if isinstance(part, JointHandle):
                own, length = scene.joints[part.index], part.angle
                mass, away = own.rotor_inertia, length - own.rest
            else:
                own, length = scene.tendons[part.index], part.length
                mass, away = own.mass, length - min(max(length, own.slack[0]), own.slack[1])
            rate = part.velocity if mass > 0.0 else 0.0
            total += 0.5 * (mass * rate**2 if self.kind == "e_kinetic" else own.stiffness * away**2)
        return total

    def _coordinate(self) -> float:
        """A length or angle, its rate, or the force of actuators."""
        of, gear = self.of, self.actuators[0].gear if self.kind in OF_ACTUATORS else 1.0
        assert not isinstance(of, BodyHandle)
        length = of.angle if isinstance(of, JointHandle) else of.length
        if self.kind.endswith("pos"):
            return gear * length
        if self.kind.endswith("vel"):
            return gear * of.velocity
        forces = [actuator.force(length, of.velocity) for actuator in self.actuators]
        if self.kind != "jointactuatorfrc":
            return sum(forces)
        return sum(actuator.gear * force for actuator, force in zip(self.actuators, forces, strict=True))

    def _touch(self, contacts: Any, place: np.ndarray, axes: np.ndarray) -> float:
        """Sum of the normal forces within its shape [N]."""
        assert self.area is not None
        own = (contacts.first == self.of.name) | (contacts.second == self.of.name)
        if not own.any():
            return 0.0
        within = signed_distance(self.area, (contacts.positions[own] - place) @ axes) <= 0.0
        return float(np.abs((contacts.forces[own] * contacts.normals[own]).sum(axis=1))[within].sum())
