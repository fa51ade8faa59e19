r"""Grabs: hold a particle, or a place on a rigid body, at a target that moves while the simulation runs.

      x . . . . . target      C = x - target (three rows), compliance alpha [m/N]: a spring of zero length

A row of XPBD (Macklin et al. 2016, eq. 18) with the gradient 1 in each of the three directions and the inverse mass w
changes its multiplier and the particle, in a substep h, by

    d lambda = -(C + a lambda) / (w + a),      d x = w d lambda,      a = alpha / h^2

so in the first iteration x goes the part w / (w + a) of the displacement to the target. The force on the particle is
lambda / h^2; at rest it is -C / alpha, which carries all that hangs on the particle. Each grab is solved once an
iteration, after everything else that pulls and before the contacts, which have the last word: an object that is dragged
at a collider is stopped.

Damping, a force -c v, is row by row that of Macklin et al. 2016, eq. 26, with gamma = alpha c / h; divided by 1 + gamma
it is the row above for

    target' = (target + gamma x_start) / (1 + gamma),     a' = a / (1 + gamma),     x_start: x as the substep began

It acts against the world, not against the target, so that a target that jumps causes no overshoot.

A largest force F is kept by drawing to no target farther from x_start than F alpha.

The work of a grab is the sum over the substeps of its force times the displacement of the held point:

    W = sum lambda / h^2 . (x_end - x_start)        x_end: x after the contacts, as the substep ends

which is work done on the scene from outside (`Energy.external_work`): the spring of the grab and its damping are on the
side of whoever holds it. A force f that changes the velocity of a mass m by f h / m does the work f . h v_end >= the
change of m v^2 / 2, so that the energy of the scene less this work does not grow by a grab.

Between two steps a target may jump, as a mouse does; it goes there evenly, substep by substep, in the next step or in
the time that the grab is given for it. A released object keeps its velocity: a grab acts on positions alone.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from shinari import check
from shinari.attributes import OwnAttributes
from shinari.errors import SceneError
from shinari.geometry.motion import rotation_matrix
from shinari.model.simulation_view import Running
from shinari.scene.handle import BodyHandle, Handle
from shinari.systems.grabs.system import NOTHING

if TYPE_CHECKING:
    from shinari.model.particles import Origins, Particles
    from shinari.systems.rigid.frames import Frames


@dataclass(frozen=True)
class Spring:
    """How something is held; see `Simulation.grab`.

    Attributes:
        compliance: Compliance [m/N].
        damping: Damping [N s/m].
        max_force: Largest force of the spring [N], the damping aside.
        glide: Time in which a target that was moved gets there [s].
    """

    compliance: float
    damping: float
    max_force: float
    glide: float

    @staticmethod
    def checked(label: str, compliance: float, damping: float, max_force: float, glide: float) -> "Spring":
        """The spring with checked values.

        Raises:
            SceneError: A value is out of bounds; or a rigid grab has a largest force.
        """
        soft = check.number(label, "compliance", compliance, least=0.0)
        most = check.number(label, "max_force", max_force, least=0.0, infinite=True)
        if soft == 0.0 and most < np.inf:
            raise SceneError(f"{label}: max_force: a grab of compliance 0 is as strong as it has to be")
        return Spring(
            soft,
            check.number(label, "damping", damping, least=0.0),
            most,
            check.number(label, "glide", glide, least=0.0),
        )


class Grab(OwnAttributes):
    """Something that is held; `Simulation.grab` returns it.

    A grab belongs to whoever holds, not to the scene or its state: copies of the state and checkpoints are without it,
    and going on from them (`Simulation.restore`) does not end it.

    Attributes:
        object_name: Name of the object.
        index: Particle within the object, or None of a body.
        spring: How it is held.
        work: Work done on the object in the last step [J].
        slot: The particle in solver order, or -1.
        body: The body, or -1.
        local: The place on the body in the axes of its frame [m], (3,).
    """

    _label = "grab"
    object_name: str
    index: int | None
    spring: Spring
    work: float
    slot: int
    body: int
    local: np.ndarray

    def __init__(
        self,
        object_name: str,
        index: int | None,
        spring: Spring,
        place: np.ndarray,
        grabs: "list[Grab]",
        *,
        slot: int = NOTHING,
        body: int = NOTHING,
        local: np.ndarray | None = None,
    ) -> None:
        self.object_name, self.index, self.spring, self._grabs = object_name, index, spring, grabs
        self.slot, self.body, self.local = slot, body, np.zeros(3) if local is None else local
        self._left = self.work = 0.0
        self._target = self._goal = self._end = np.array(place, np.float64)
        self._force = np.zeros(3)
        grabs.append(self)

    def __repr__(self) -> str:
        where = "" if self.index is None else f" at particle {self.index}"
        return f"<grab of {self.object_name}{where}{'' if self.active else ', released'}>"

    @property
    def target(self) -> np.ndarray:
        """Where it is drawn to [m], (3,), a copy; assign it to drag. The next step goes there evenly.

        Assigning is safe from another thread than the one that steps.
        """
        return self._target.copy()

    @target.setter
    def target(self, value: Any) -> None:
        self._target = np.array(check.vector(f"grab of {self.object_name!r}", "target", value), np.float64)

    @property
    def force(self) -> np.ndarray:
        """Force on the held point in the last substep [N], (3,), a copy."""
        return self._force.copy()

    @property
    def active(self) -> bool:
        """Whether it still holds."""
        return self in self._grabs

    def release(self) -> None:
        """Release the grab; the held object keeps its velocity. A second call does nothing."""
        if self in self._grabs:
            self._grabs.remove(self)
        self._force = np.zeros(3)

    def _advance(self, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """A step of length dt [s] begins: where the target is at its start and at its end [m], (3,) each."""
        if self._goal is not self._target:
            self._goal, self._left = self._target, self.spring.glide
        part = 1.0 if self._left <= dt else dt / self._left
        self._left -= dt
        begin, self._end = self._end, self._end + part * (self._goal - self._end)
        return begin, self._end

    def _place(self, particles: "Particles", origins: "Origins", frames: "Frames | None") -> np.ndarray:
        """Position of the held point now, in the world [m], (3,)."""
        if self.slot != NOTHING:
            return origins.position[particles.origin_index[self.slot]] + particles.x[self.slot, :3]
        assert frames is not None
        return frames.x[self.body] + rotation_matrix(frames.q[self.body]) @ self.local

    def _tell(self, force: np.ndarray, work: float) -> None:
        """A step is over, with this force [N] in its last substep and this work [J]."""
        self._force, self.work = (force if self.active else np.zeros(3)), work


class Grabbing(Running, Protocol):
    """A simulation that has grabs."""

    @property
    def grabs(self) -> list[Grab]:
        """What is held now."""
        ...


class Grabs:
    """Grabs of particles and bodies."""

    def __init__(self, run: "Grabbing") -> None:
        self._run = run

    def grab(
        self,
        handle: Handle | BodyHandle | str,
        index: int | None = None,
        *,
        point: Any = None,
        compliance: float = 1e-4,
        damping: float = 0.0,
        max_force: float = np.inf,
        glide: float = 0.0,
    ) -> Grab:
        """Hold a particle, or a place on a rigid body, from now on: a spring to a target that starts where it is.

        Nothing is built anew, and the grab is no part of the state: a checkpoint does not hold it.

        Args:
            handle: The object or body.
            index: Particle within an object, 0 to N - 1.
            point: Place on a body, in the world as it is now [m], (3,).
            compliance: Compliance of the spring [m/N]: a load F hangs `compliance * F` below the target; 0: rigid.
            damping: Damping of the held object [N s/m]; a rigid grab needs none. 2 sqrt(m / compliance) brings a mass m
                to rest without swinging.
            max_force: Largest force of the spring [N], the damping aside.
            glide: Time in which a target that was moved gets there, evenly [s]; one step at least. With the time
                between two moves of a mouse it goes smoothly.

        Returns:
            The grab: set its `target` [m], read its `force` [N], and `release` it.

        Raises:
            SceneError: It is no object or body of this scene, the index is out of range, the particle is fixed or not
                there, the body cannot be pushed, or a value is negative.
        """
        found = self._run.scene.find("grab", "handle", handle, Handle, BodyHandle)
        if isinstance(found, BodyHandle):
            return self._grab_body(
                found, index, point, Spring.checked(found.name, compliance, damping, max_force, glide)
            )
        members = found.particles
        if point is not None:
            raise SceneError(f"{found.name}: point: is of rigid bodies; give the index of a particle")
        if index is None:
            raise SceneError(f"{found.name}: grab: index: is missing; which of its particles?")
        chosen = check.indices(f"{found.name}: grab", "index", index, len(found.particles))
        if len(chosen) != 1:
            raise SceneError(f"{found.name}: grab: index: expected one particle, got {len(chosen)}")
        spring = Spring.checked(found.name, compliance, damping, max_force, glide)
        particle = members.start + int(chosen[0])
        slot = int(self._run.model.slots[particle])
        if self._run.state.x[slot, 3] == 0.0:
            raise SceneError(f"{found.name}: grab: particle {int(chosen[0])} is pinned, fixed or inactive")
        place = self._run.state.positions[particle]
        return Grab(found.name, int(chosen[0]), spring, place, self._run.grabs, slot=slot)

    def _grab_body(self, handle: BodyHandle, index: int | None, point: Any, spring: Spring) -> Grab:
        body = handle.index
        name = handle.name
        if index is not None:
            raise SceneError(f"{name}: index: a body is grabbed at a point")
        if point is None:
            raise SceneError(f"{name}: grab: point: is missing; where in the world?")
        place = check.vector(name, "point", point)
        if self._run.scene.bodies[body].mass == 0.0:
            raise SceneError(f"{name}: grab: the body is fixed or has a motion; grab a free body")
        state, described = self._run.state, self._run.scene.bodies[body]
        local = (place - state.body_positions[body]) @ rotation_matrix(state.body_rotations[body])
        # in the axes of the frame that the solver moves
        local = (local - described.centre) @ rotation_matrix(described.axes)
        return Grab(name, None, spring, place, self._run.grabs, body=body, local=local)
