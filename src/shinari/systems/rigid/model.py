"""Constant data of the rigid bodies of a scene; their energy and momentum."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shinari.compute.once import cached_property
from shinari.maths import quaternion
from shinari.model.state import State
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.scene.body import Body, Joint
from shinari.scene.contents import Contents
from shinari.scene.objects import Collider
from shinari.scene.tendon import Tendon
from shinari.systems.rigid.contact.collision_shapes import CollisionShapes
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import as_frame
from shinari.systems.rigid.joints.energy import elastic_energy, rotor_energy
from shinari.systems.rigid.joints.joints import Joints, start_joints
from shinari.systems.rigid.joints.table import JointTable
from shinari.systems.rigid.tendons.table import TendonTable
from shinari.systems.rigid.tendons.tendons import Tendons, start_tendons

if TYPE_CHECKING:
    from shinari.model.model import Model
    from shinari.systems.rigid.system import RigidBodySystem

POSITIONS, ROTATIONS = "bodies/positions", "bodies/rotations"
CONTACTS = "bodies/contacts"
VELOCITIES, SPINS = "bodies/velocities", "bodies/angular_velocities"
# A body with its contacts takes about as long as so many constraint rows.
WORTH_OF_A_BODY = 50
# Here they take arrays: compiled, they would be so anew in each process.
conjugate, multiply, rotate = (
    function.py_func for function in (quaternion.conjugate, quaternion.multiply, quaternion.rotate)
)


@dataclass(frozen=True)
class RigidModel(SystemModel):
    """The rigid bodies, joints and colliders of a scene, as constant data of the system.

    Attributes:
        bodies: The bodies.
        joints: The joints.
        colliders: The colliders.
        masses: Masses [kg], (B,); 0 for immovable ones.
        collision_shapes: Shapes of bodies and colliders.
        table: The joints as the kernels read them.
        tendons: The tendons.
        tendon_table: The tendons as the kernels read them.
    """

    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    colliders: tuple[Collider, ...]
    masses: np.ndarray
    collision_shapes: CollisionShapes
    table: JointTable
    tendons: tuple[Tendon, ...]
    tendon_table: TendonTable
    growing = (CONTACTS,)

    # read in each step: gathered from thousands of bodies they would take as long as a substep

    @cached_property
    def _axes(self) -> np.ndarray:
        """Rotations of the principal axes in the bodies, (B, 4)."""
        return np.array([body.axes for body in self.bodies]).reshape(len(self.bodies), 4)

    @cached_property
    def _local_centres(self) -> np.ndarray:
        """Centres of mass in the bodies [m], (B, 3)."""
        return np.array([body.centre for body in self.bodies]).reshape(len(self.bodies), 3)

    @property
    def world(self) -> int:
        """Frame of the world."""
        return len(self.bodies)

    @property
    def frame_count(self) -> int:
        """Bodies, the world, and colliders."""
        return len(self.bodies) + 1 + len(self.colliders)

    @property
    def workload(self) -> int:
        """A body with its contacts takes about as long as so many rows."""
        return WORTH_OF_A_BODY * len(self.bodies)

    @property
    def solid_names(self) -> list[str]:
        """Names of the bodies."""
        return [body.name for body in self.bodies]

    def warn(self, scene: Contents, model: "Model") -> None:
        """Warn of bodies that overlap where they were put."""
        # imported here: a scene without bodies does not wait for their kernels
        from shinari.systems.rigid.contact.overlaps import warn_of_body_overlaps

        warn_of_body_overlaps(self)

    def bind(self, bound: BoundSystems) -> "list[RigidBodySystem]":
        """The bodies of a simulation."""
        from shinari.systems.rigid.contact.thin_bodies import warn_of_thin_bodies
        from shinari.systems.rigid.system import RigidBodySystem

        warn_of_thin_bodies(self, bound.model.gravity, bound.settings)
        return [RigidBodySystem(bound.model, self, bound.state, bound.settings, bound.clock)]

    def start(self, model: "Model") -> dict[str, np.ndarray]:
        """The arrays of the state in which the bodies begin."""
        count = len(self.bodies)
        frames = [as_frame(b.position, b.rotation, b.centre, b.axes) for b in self.bodies]
        return {
            POSITIONS: np.array([b.position for b in self.bodies]).reshape(count, 3),
            ROTATIONS: np.array([b.rotation for b in self.bodies]).reshape(count, 4),
            VELOCITIES: np.array([b.velocity for b in self.bodies]).reshape(count, 3),
            SPINS: np.array([b.angular_velocity for b in self.bodies]).reshape(count, 3),
            "bodies/x": np.array([x for x, _ in frames]).reshape(count, 3),
            "bodies/q": np.array([q for _, q in frames]).reshape(count, 4),
            "bodies/idle": np.zeros(count),
            "bodies/swept": np.zeros(count, bool),
            "bodies/returned": np.zeros((count, 3)),
            # warm start of the contact points
            CONTACTS: np.zeros((0, 8)),
            **start_joints(self.joints),
            **start_tendons(self.tendons),
        }

    def frames(self) -> Frames:
        """Frames with the masses and moments of the bodies, at the origin."""
        frames = Frames.zeros(self.frame_count)
        for i, body in enumerate(self.bodies):
            if body.mass > 0.0:
                frames.inverse_mass[i] = 1.0 / body.mass
                frames.moments[i], frames.gravity_scale[i] = body.moments, body.gravity_scale
        return frames

    @cached_property
    def _shifted(self) -> np.ndarray:
        """Bodies whose frames are not those in which they were described."""
        return np.flatnonzero((self._axes != (1.0, 0.0, 0.0, 0.0)).any(axis=1) | self._local_centres.any(axis=1))

    def published(self, x: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Poses of the bodies as described, from those of their frames, (B, 3) and (B, 4)."""
        x, q, i = x.copy(), q.copy(), self._shifted
        if len(i):
            rotations = multiply(tuple(q[i].T), conjugate(tuple(self._axes[i].T)))
            q[i] = np.stack(rotations, axis=1)
            x[i] -= np.stack(rotate(rotations, tuple(self._local_centres[i].T)), axis=1)
        return x, q

    def centres(self, state: State) -> np.ndarray:
        """Centres of mass [m], (B, 3)."""
        turned = np.stack(rotate(tuple(state.system_arrays[ROTATIONS].T), tuple(self._local_centres.T)), axis=1)
        return state.system_arrays[POSITIONS] + turned

    def spin_momenta(self, state: State) -> np.ndarray:
        """Angular momentum of each body about its centre of mass [kg m^2/s], (B, 3)."""
        q = multiply(tuple(state.system_arrays[ROTATIONS].T), tuple(self._axes.T))
        local = np.stack(rotate(conjugate(q), tuple(state.system_arrays[SPINS].T)), axis=1)
        return np.stack(rotate(q, tuple((local * np.array([b.moments for b in self.bodies])).T)), axis=1)

    def energy(self, model: "Model", state: State, h: float) -> tuple[float, float, float]:
        """Kinetic energy, potential energy in gravity (zero at the world's origin), elastic energy of joints [J]."""
        weights = self.masses * np.array([body.gravity_scale for body in self.bodies])
        gravitational = -float(weights @ (self.centres(state) @ model.gravity))
        moving, sprung = self._of_tendons(state)
        return self.kinetic(state) + moving, gravitational, self.elastic(state, h) + sprung

    def _of_tendons(self, state: State) -> tuple[float, float]:
        """Kinetic and elastic energy of tendons [J]."""
        if not self.tendons:
            return 0.0, 0.0
        joints = Joints(self.table, state.system_arrays)
        return Tendons(self.tendon_table, state.system_arrays, joints, self.world).energies(self._frames_at(state))

    def kinetic(self, state: State) -> float:
        """Kinetic energy of the bodies and of the rotors of joints [J]."""
        v, w = state.system_arrays[VELOCITIES], state.system_arrays[SPINS]
        bodies = 0.5 * float(self.masses @ (v * v).sum(axis=1)) + 0.5 * float((w * self.spin_momenta(state)).sum())
        return bodies + (rotor_energy(self.table, state.system_arrays, self._frames_at(state)) if self.joints else 0.0)

    def elastic(self, state: State, h: float) -> float:
        """Elastic energy of the joints [J]; `h` is the substep [s]."""
        if len(self.joints) == 0:
            return 0.0
        frames = self._frames_at(state)
        return elastic_energy(self.table, state.system_arrays, frames.x, frames.q, h)

    def _frames_at(self, state: State) -> Frames:
        """Frames with the poses and velocities of the bodies in a state."""
        frames, count = Frames.zeros(self.frame_count), len(self.bodies)
        frames.q[:, 0] = 1.0
        for i, body in enumerate(self.bodies):
            rotation = state.system_arrays[ROTATIONS][i] / np.linalg.norm(state.system_arrays[ROTATIONS][i])
            frames.x[i], frames.q[i] = as_frame(state.system_arrays[POSITIONS][i], rotation, body.centre, body.axes)
        frames.v[:count], frames.w[:count] = state.system_arrays[VELOCITIES], state.system_arrays[SPINS]
        return frames

    def momentum(self, state: State) -> np.ndarray:
        """Linear momentum [kg m/s], (3,)."""
        return self.masses @ state.system_arrays[VELOCITIES]

    def angular_momentum(self, model: "Model", state: State, about: np.ndarray) -> np.ndarray:
        """Angular momentum about a point [kg m^2/s], (3,)."""
        orbital = self.masses @ np.cross(self.centres(state) - about, state.system_arrays[VELOCITIES])
        return orbital + self.spin_momenta(state).sum(axis=0)


def frames_of(bound: BoundSystems) -> Frames | None:
    """The frames of the bodies of a simulation; None where it has none."""
    bodies = bodies_of(bound)
    return None if bodies is None else bodies.frames


def bodies_of(bound: BoundSystems) -> "RigidBodySystem | None":
    """The system of the bodies of a simulation; None where it has none."""
    if bound.model.find(RigidModel) is None:
        return None
    from shinari.systems.rigid.system import RigidBodySystem

    return bound.get(RigidBodySystem)
