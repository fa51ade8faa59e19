"""Queries of rigid bodies and joints."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.build.body_mesh import body_surface
from shinari.errors import SceneError
from shinari.scene import check
from shinari.scene.body_handle import BodyHandle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.motion import rotation_matrix

if TYPE_CHECKING:
    from shinari.model import Model
    from shinari.rigid.joints.joints import JointLoad, Joints, JointState
    from shinari.scene.scene import Scene
    from shinari.settings import Settings
    from shinari.solver.workspace import Workspace
    from shinari.state import State


class BodyAnswers:
    """Poses of bodies, and states, loads and motors of joints."""

    scene: "Scene"
    state: "State"
    model: "Model"
    settings: "Settings"
    _work: "Workspace"

    def pose(self, body: BodyHandle | str) -> tuple[np.ndarray, np.ndarray]:
        """Where a rigid body is: the position of its origin [m], (3,), and its rotation w x y z, (4,). Copies.

        Raises:
            SceneError: It is no rigid body of this scene.
        """
        index = self._body(body).index
        return self.state.body_positions[index].copy(), self.state.body_rotations[index].copy()

    def joint(self, joint: JointHandle | str) -> "JointState":
        """Angle and travel of a joint, and how fast they change.

        Raises:
            SceneError: It is no joint of this scene.
        """
        found = self._joint(joint)
        assert self._work.bodies is not None
        return self._joints.state(found.index, self._work.bodies.frames)

    def drive(self, joint: JointHandle | str, target: float) -> None:
        """Give the motor of a joint another target: a speed [rad/s or m/s], or an angle or travel [rad or m].

        Raises:
            SceneError: It is no joint of this scene, or has no motor.
        """
        found = self._joint(joint)
        goal = check.number(f"joint {found.name!r}", "target", target)
        rigid, h = self.model.rigid, self.settings.substep
        assert rigid is not None  # there is a joint
        before = rigid.elastic(self.state, h)
        try:
            self._joints.drive(found.index, goal)
        except ValueError as error:
            raise SceneError(f"joint {found.name!r}: {error}") from None
        # a servo is a spring from its target on
        self.state.external_work += rigid.elastic(self.state, h) - before

    def joint_load(self, joint: JointHandle | str) -> "JointLoad":
        """Force [N] and moment about the anchor [N m] of a joint on its second body in the last substep, world axes.

        Raises:
            SceneError: It is no joint of this scene.
        """
        found = self._joint(joint)
        return self._joints.load(found.index)

    def body_surface(self, body: BodyHandle | str) -> tuple[np.ndarray, np.ndarray]:
        """Vertices [m], (V, 3), and faces, (F, 3), of a body where it is now.

        Raises:
            SceneError: It is no rigid body of this scene.
        """
        position, rotation = self.pose(body)
        vertices, faces = body_surface(self.scene.bodies[self._body(body).index])
        return vertices @ rotation_matrix(rotation).T + position, faces

    @property
    def _joints(self) -> "Joints":
        assert self._work.bodies is not None  # there is a joint, so there is a body
        return self._work.bodies.system.joints

    def _body(self, body: BodyHandle | str) -> BodyHandle:
        return self.scene.find("simulation", "body", body, BodyHandle)

    def _joint(self, joint: JointHandle | str) -> JointHandle:
        return self.scene.find("simulation", "joint", joint, JointHandle)
