"""Queries about rigid bodies and joints."""

from typing import TYPE_CHECKING

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.geometry.motion import rotation_matrix
from shinari.scene.handle import BodyHandle, JointHandle
from shinari.systems.rigid.model import RigidModel
from shinari.systems.rigid.surface import body_surface

if TYPE_CHECKING:
    from shinari.model.simulation_view import Running
    from shinari.systems.rigid.joints.joints import JointLoad, JointState
    from shinari.systems.rigid.system import RigidBodySystem


class BodyQueries:
    """Poses of bodies, and states, loads and motors of joints."""

    def __init__(self, run: "Running") -> None:
        self._run = run

    def pose(self, body: BodyHandle | str) -> tuple[np.ndarray, np.ndarray]:
        """Where a rigid body is: the position of its origin [m], (3,), and its rotation w x y z, (4,). Copies.

        Raises:
            SceneError: It is no rigid body of this scene.
        """
        index = self._body(body).index
        return self._run.state.body_positions[index].copy(), self._run.state.body_rotations[index].copy()

    def joint(self, joint: JointHandle | str) -> "JointState":
        """Angle and travel of a joint, and how fast they change.

        Raises:
            SceneError: It is no joint of this scene.
        """
        found = self._joint(joint)
        return self._bodies.equations.joints.state(found.index, self._bodies.frames)

    def drive(self, joint: JointHandle | str, target: float) -> None:
        """Give the motor of a joint another target: a speed [rad/s or m/s], or an angle or travel [rad or m].

        Raises:
            SceneError: It is no joint of this scene, or has no motor.
        """
        found = self._joint(joint)
        goal = check.number(f"joint {found.name!r}", "target", target)
        rigid, h = self._run.model.find(RigidModel), self._run.settings.substep
        assert rigid is not None  # there is a joint
        before = rigid.elastic(self._run.state, h)
        try:
            self._bodies.equations.joints.drive(found.index, goal)
        except ValueError as error:
            raise SceneError(f"joint {found.name!r}: {error}") from None
        # a servo is a spring from its target on
        self._run.state.external_work += rigid.elastic(self._run.state, h) - before

    def load(self, joint: JointHandle | str) -> "JointLoad":
        """Force [N] and moment about the anchor [N m] of a joint on its second body in the last substep, world axes.

        Raises:
            SceneError: It is no joint of this scene.
        """
        found = self._joint(joint)
        return self._bodies.equations.joints.load(found.index)

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
