"""Queries about rigid bodies and joints."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shinari.errors import SceneError
from shinari.geometry.motion import rotation_matrix
from shinari.scene.handle import BodyHandle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.motors import Motor
from shinari.scene.tendon import TendonHandle
from shinari.systems.rigid.joints.driving import wanted_drive, wanted_pull
from shinari.systems.rigid.model import RigidModel
from shinari.systems.rigid.surface import body_surface

if TYPE_CHECKING:
    from shinari.model.simulation_view import Running
    from shinari.systems.rigid.joints.joints import JointLoad, JointState
    from shinari.systems.rigid.system import RigidBodySystem
    from shinari.systems.rigid.tendons.tendons import TendonState


class Pose(NamedTuple):
    """Where a rigid body is.

    Attributes:
        position: Position of its origin [m], (3,).
        rotation: Unit quaternion w x y z, (4,).
    """

    position: np.ndarray
    rotation: np.ndarray

    @property
    def matrix(self) -> np.ndarray:
        """The rotation as a matrix, (3, 3): its columns are the axes of the body in the world."""
        return rotation_matrix(self.rotation)


class BodyQueries:
    """Poses of bodies, and states, loads and motors of joints."""

    def __init__(self, run: "Running") -> None:
        self._run = run

    def pose(self, body: BodyHandle | str) -> "Pose":
        """Where a rigid body is: the position of its origin [m], (3,), and its rotation w x y z, (4,). Copies.

        They are fields, `pose.position` and `pose.rotation`, and can be unpacked: `place, turn = sim.pose(body)`.

        Raises:
            SceneError: It is no rigid body of this scene.
        """
        index = self._body(body).index
        return Pose(self._run.state.body_positions[index].copy(), self._run.state.body_rotations[index].copy())

    def joint(self, joint: JointHandle | str) -> "JointState":
        """Angle and travel of a joint, and how fast they change.

        Raises:
            SceneError: It is no joint of this scene.
        """
        found = self._joint(joint)
        return self._bodies.equations.joints.state(found.index, self._bodies.frames_now())

    def motor(self, joint: JointHandle | str) -> Motor | None:
        """The motor of a joint now, or None.

        Raises:
            SceneError: It is no joint of this scene.
        """
        return self._bodies.equations.joints.motor(self._joint(joint).index)

    def drive(self, joint: JointHandle | str, motor: Motor | float | None) -> None:
        """Drive a joint from now on.

        Args:
            joint: A hinge or slider.
            motor: `VelocityMotor`, `Servo` or `ForceMotor`, in place of the one that it has. A number: another target
                for that one, a speed [rad/s or m/s], an angle or travel [rad or m], or a moment or force [N m or N];
                without a motor a `Servo` within the `max_force` or `max_speed` of the joint. None: no motor.

        Raises:
            SceneError: It is no hinge or slider of this scene, a number is not finite, an angle or travel is out of the
                limits of the joint or a speed of its largest, or there is no motor that a number could be for.
        """
        self.drive_all([self._joint(joint)], [motor])

    def drive_all(
        self, joints: Sequence[JointHandle], motors: Sequence[Motor | float | None], *, bounded: bool = True
    ) -> None:
        """Drive several joints at once; either all or, where one is refused, none.

        Args:
            joints: The joints.
            motors: A motor, a number or None for each, as in `drive`.
            bounded: Whether targets have to be within the limits of the joints.

        Raises:
            SceneError: As `drive`.
        """
        rigid, h, system = self._run.model.find(RigidModel), self._run.settings.substep, self._bodies
        assert rigid is not None  # there is a joint
        own, frames = system.equations.joints, system.frames_now()
        drives = [
            wanted_drive(rigid.joints[j.index], m, own.motor(j.index), bounded)
            for j, m in zip(joints, motors, strict=True)
        ]
        places = [own.coordinate(j.index, frames) for j in joints]
        # a servo is a spring from its goal on, so that its energy changes
        before = own.motor_energy([j.index for j in joints], places, h)
        first = [own.drive(j.index, d, at) for j, d, at in zip(joints, drives, places, strict=True)]
        self._run.state.external_work += own.motor_energy([j.index for j in joints], places, h) - before
        if any(first):
            # the kernels of motors are recorded where there are motors
            self._run.bind()
        self._bodies.wake()

    def coordinates(self, joints: Sequence[JointHandle | str]) -> tuple[np.ndarray, np.ndarray]:
        """Angles [rad] of hinges and travels [m] of sliders, (J,), and their rates of change, (J,).

        Raises:
            SceneError: One is no joint of this scene.
        """
        return self._bodies.equations.joints.coordinates(self._indices(joints), self._bodies.frames_now())

    def axial_loads(self, joints: Sequence[JointHandle | str]) -> np.ndarray:
        """Moments about the axes of hinges [N m] and forces along those of sliders [N] on their first bodies, (J,).

        Raises:
            SceneError: One is no joint of this scene.
        """
        return self._bodies.equations.joints.axial_loads(self._indices(joints), self._bodies.frames_now())

    def tendon(self, tendon: TendonHandle | str) -> "TendonState":
        """Length of a tendon, its rate and its tension.

        Raises:
            SceneError: It is no tendon of this scene.
        """
        return self._bodies.equations.tendons.state(self._tendon(tendon).index, self._bodies.frames_now())

    def tendon_path(self, tendon: TendonHandle | str) -> np.ndarray:
        """Ends of the straight pieces of a tendon now [m], (P, 2, 3).

        Raises:
            SceneError: It is no tendon of this scene.
        """
        return self._bodies.equations.tendons.path(self._tendon(tendon).index, self._bodies.frames_now())

    def tendon_motor(self, tendon: TendonHandle | str) -> Motor | None:
        """The motor of a tendon now, or None.

        Raises:
            SceneError: It is no tendon of this scene.
        """
        return self._bodies.equations.tendons.motor(self._tendon(tendon).index)

    def drive_tendons(self, tendons: Sequence[TendonHandle], motors: Sequence[Motor | float | None]) -> None:
        """Drive several tendons at once; either all or, where one is refused, none.

        Args:
            tendons: The tendons.
            motors: A motor, another target for the present one, or None for each.

        Raises:
            SceneError: One is no tendon of this scene, a value is refused, or there is no motor that a number could be
                for.
        """
        rigid, system = self._run.model.find(RigidModel), self._bodies
        assert rigid is not None  # there is a tendon
        own, frames = system.equations.tendons, system.frames_now()
        found = [self._tendon(tendon).index for tendon in tendons]
        for tendon in (rigid.tendons[t] for t in found):
            if tendon.actuator is not None:
                raise SceneError(f"tendon {tendon.name!r}: its actuator moves it; give that a command(...)")
        drives = [
            wanted_pull(rigid.tendons[t].name, rigid.tendons[t].max_force, motor, own.motor(t))
            for t, motor in zip(found, motors, strict=True)
        ]
        lengths, _ = own.measure(frames)
        first = [own.drive(t, drive, float(lengths[t])) for t, drive in zip(found, drives, strict=True)]
        if any(first):
            # the kernels of motors are recorded where there are motors
            self._run.bind()
        self._bodies.wake()

    def command_tendons(self, tendons: Sequence[TendonHandle], values: Sequence[Any]) -> None:
        """Give the actuators of several tendons commands at once; either all or, where one is refused, none.

        Raises:
            SceneError: One is no tendon of this scene or has no actuator, or a value is outside its limits.
        """
        rigid, own = self._run.model.find(RigidModel), self._bodies.equations.tendons
        assert rigid is not None  # there is a tendon
        found = [self._tendon(tendon).index for tendon in tendons]
        wanted = []
        for t, value in zip(found, values, strict=True):
            label, law = f"tendon {rigid.tendons[t].name!r}", rigid.tendons[t].actuator
            if law is None:
                raise SceneError(f"{label}: command: it has no actuator; add it with actuator=, or drive(...) it")
            wanted.append((t, law, law.command(label, value)))
        for index, law, numbers in wanted:
            own.command(index, law, numbers)
        self._bodies.wake()

    def _indices(self, joints: Sequence[JointHandle | str]) -> np.ndarray:
        return np.array([self._joint(joint).index for joint in joints], np.int64)

    def load(self, joint: JointHandle | str) -> "JointLoad":
        """Force [N] and moment about the anchor [N m] of a joint on its second body in the last substep, world axes.

        Raises:
            SceneError: It is no joint of this scene.
        """
        found = self._joint(joint)
        return self._bodies.equations.joints.load(found.index)

    def acceleration(self, body: BodyHandle | str) -> tuple[np.ndarray, np.ndarray]:
        """Acceleration of the centre of mass of a body [m/s^2], (3,), and its angular acceleration [rad/s^2], (3,).

        They are the means of the last substep, by all that acts: gravity, joints, contacts. Zero before the first step.

        Raises:
            SceneError: It is no rigid body of this scene.
        """
        index, state, system = self._body(body).index, self._run.state, self._bodies
        if state.frame == 0 or system.frames_now().asleep[index]:
            return np.zeros(3), np.zeros(3)
        before, h = system.equations.solver_frames, self._run.settings.substep
        linear = (state.body_velocities[index] - before.start_v[index]) / h
        return linear, (state.body_angular_velocities[index] - before.start_w[index]) / h

    def surface(self, body: BodyHandle | str) -> tuple[np.ndarray, np.ndarray]:
        """Vertices [m], (V, 3), and faces, (F, 3), of a body where it is now.

        Raises:
            SceneError: It is no rigid body of this scene.
        """
        position, rotation = self.pose(body)
        vertices, faces = body_surface(self._run.scene.bodies[self._body(body).index])
        return vertices @ rotation_matrix(rotation).T + position, faces

    @property
    def _bodies(self) -> "RigidBodySystem":
        from shinari.systems.rigid.system import RigidBodySystem

        return self._run.system(RigidBodySystem)

    def _body(self, body: BodyHandle | str) -> BodyHandle:
        return self._run.scene.find("simulation", "body", body, BodyHandle)

    def _joint(self, joint: JointHandle | str) -> JointHandle:
        return self._run.scene.find("simulation", "joint", joint, JointHandle)

    def _tendon(self, tendon: TendonHandle | str) -> TendonHandle:
        return self._run.scene.find("simulation", "tendon", tendon, TendonHandle)
