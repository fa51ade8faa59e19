"""Tendons: a length over joints, or along a path over bodies, that is held, bounded, sprung or pulled."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shinari.scene.actuator import ActuatorLaw
from shinari.scene.body import WORLD, Drive
from shinari.scene.motors import Motor
from shinari.scene.running import running

if TYPE_CHECKING:
    from shinari.scene.contents import Contents


@dataclass(frozen=True)
class Via:
    """A point that a tendon goes through.

    Attributes:
        body: The body that carries the point; None: the world.
        place: Where it is as described, in the world [m], (3,).
    """

    body: Any
    place: Any


@dataclass(frozen=True)
class Wrap:
    """A sphere or cylinder around which a tendon goes, where it would pass through it.

    A cylinder is endless for the tendon, and so is the tendon thin. The shortest path is taken. A `side` counts where
    both ends lie on different sides of the line from the centre to it: the path is that over the side, whether the
    straight line passes through the shape or on the other side of it. With `through` the tendon is held within the
    shape: where the straight line would miss it, the shortest path that meets it is taken. Nothing touches a `Wrap`: it
    may lie within a shape of the body, or have none.

    Attributes:
        body: The body that carries it; None: the world.
        radius: Its radius [m].
        position: Its centre as described, in the world [m], (3,).
        axis: Axis of a cylinder, in the world, of any length but zero; None: a sphere.
        side: A point outside of the shape, on the side on which the tendon lies [m], in the world, (3,), which moves
            along with the body of the shape; or a `Via`, which moves along with a body of its own; None: either side.
        through: Whether it goes through the shape in place of around it.
    """

    body: Any
    radius: float
    position: Any
    axis: Any = None
    side: Any = None
    through: bool = False


@dataclass(frozen=True)
class Pulley:
    """From here on a tendon counts a part of its length, as one that goes over a block of several ropes.

    The path begins anew after it: the next element is a `Via`.

    Attributes:
        divisor: The lengths that follow are divided by it.
    """

    divisor: float


@dataclass(frozen=True)
class Thrust:
    """A force and a moment on a body for each newton of the force of a tendon.

    They act at a place and in directions that the body carries along. Alone this is a jet or a propeller: it counts
    nothing in the length, and nothing takes up the reaction. With a `base` it acts against another body, and counts
    force . d + moment . phi in the length: how far its place is from that of the base, d, and the rotation vector phi
    by which the body is turned from the base; both directions are then carried along by the base. The reaction acts on
    the base at the same place.

    Attributes:
        body: The body that it acts on.
        place: Where, as described, in the world [m], (3,).
        force: Direction and factor of the force, in the world as described, (3,).
        moment: Direction and factor of the moment [m], (3,).
        base: The place of another body, or of the world, against which it acts; None: nothing.
        turned: With a base: by how much the body counts as turned from that as described, a unit quaternion w x y z.
    """

    body: Any
    place: Any
    force: Any = (0.0, 0.0, 0.0)
    moment: Any = (0.0, 0.0, 0.0)
    base: Via | None = None
    turned: Any = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Crank:
    """A slider that is joined to a body by a rod: the tendon is as long as the slider is out along its axis.

    With the vector v from the slider's origin to the place on the body, and the axis a, the length is
    a . v - sqrt((a . v)^2 + rod^2 - v . v); where the rod does not reach the axis, a . v.

    Attributes:
        body: The body that the rod turns; None: the world.
        place: Where the rod meets it as described, in the world [m], (3,).
        slider: The body along which the slider moves, and the origin of its travel.
        axis: Its axis, in the world as described, of any length but zero.
        rod: Length of the rod [m].
    """

    body: Any
    place: Any
    slider: Any
    axis: Any
    rod: float


@dataclass(frozen=True)
class JointTerm:
    """What a joint adds to the length of a tendon: a polynomial of its angle or travel.

    Attributes:
        joint: Index of the joint.
        coefficients: c0 to c4 of c0 + c1 u + ... + c4 u^4, (5,).
        offset: Angle [rad] or travel [m] at which u is zero.
    """

    joint: int
    coefficients: tuple[float, ...]
    offset: float = 0.0


@dataclass(frozen=True)
class Segment:
    """A straight piece of a tendon, or one around a sphere or cylinder.

    Attributes:
        bodies: Indices of the bodies at both ends, or `WORLD`.
        places: Ends in the axes of these bodies [m], (2, 3).
        part: Part of its length that counts.
        wrapped: Index of the body of the shape that it goes around, or `WORLD`; None: it is straight.
        radius: Radius of that shape [m].
        centre: Its centre in the axes of the body [m], (3,).
        turn: Unit quaternion that turns z to the axis of a cylinder, in the axes of the body, (4,); None: a sphere.
        side: A point on the side of the tendon in the axes of its body [m], (3,), or None.
        side_body: Index of the body that carries this point, or `WORLD`.
        through: Whether it meets the shape in place of going around it.
    """

    bodies: tuple[int, int]
    places: np.ndarray
    part: float = 1.0
    wrapped: int | None = None
    radius: float = 0.0
    centre: np.ndarray | None = None
    turn: np.ndarray | None = None
    side: np.ndarray | None = None
    side_body: int = WORLD
    through: bool = False


LEVERS = ("thrust", "relative", "crank")
"""What a `Lever` can be."""


@dataclass(frozen=True)
class Lever:
    """What a `Thrust` or a `Crank` adds to a tendon.

    Attributes:
        kind: One of `LEVERS`: a `Thrust` alone, one with a base, a `Crank`.
        bodies: Indices of the body and of that against which it acts, or `WORLD`.
        places: Places in the axes of these bodies [m], (2, 3).
        force: Direction of the force in the axes of the second body, of a thrust alone in those of its body; the axis
            of a slider, (3,).
        moment: Likewise, (3,).
        turn: Unit quaternion X for which q X q'^-1 is how far the body q is turned from the other q', (4,).
        rod: Of a crank [m].
    """

    kind: str
    bodies: tuple[int, int]
    places: np.ndarray
    force: np.ndarray
    moment: np.ndarray
    turn: np.ndarray
    rod: float = 0.0


@dataclass(frozen=True)
class Tendon:
    """A tendon.

    Attributes:
        name: Unique name.
        terms: What joints add to its length.
        segments: Pieces of its path.
        held: Length that is held [m], or None.
        compliance: Of a length that is held, inverse stiffness [m/N].
        stiffness: Of its spring [N/m].
        slack: Least and largest length at which its spring has no force [m].
        damping: Of changes of its length [N s/m].
        limits: Least and largest length [m], or None.
        limit_compliance: Of these [m/N].
        dry_friction: Largest force of friction along it [N].
        mass: Mass that moves along with it [kg].
        drive: Its motor, or None.
        max_force: Largest force of its motors [N].
        actuator: Its actuator, or None.
        levers: Forces and cranks.
    """

    name: str
    terms: tuple[JointTerm, ...] = ()
    segments: tuple[Segment, ...] = ()
    held: float | None = None
    compliance: float = 0.0
    stiffness: float = 0.0
    slack: tuple[float, float] = (0.0, 0.0)
    damping: float = 0.0
    limits: tuple[float, float] | None = None
    limit_compliance: float = 0.0
    dry_friction: float = 0.0
    mass: float = 0.0
    drive: Drive | None = None
    max_force: float = np.inf
    actuator: ActuatorLaw | None = None
    levers: tuple[Lever, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class TendonHandle:
    """A tendon of a scene, or a coupling of joints.

    What changes while the scene runs is that of the last simulation that was built of it. In a tendon over joints
    lengths are sums of angles [rad] and travels [m], and forces are moments where it is only over hinges.

    Attributes:
        name: Name in messages and results.
        index: Its place among the tendons.
    """

    described: ClassVar[str] = "a tendon"
    _scene: "Contents"
    name: str
    index: int

    def __repr__(self) -> str:
        return f"<{self.name}: tendon {self.index}>"

    @property
    def length(self) -> float:
        """Its length now [m]; of a coupling how far it is from being met.

        Raises:
            SceneError: There is no simulation.
        """
        return self._state.length

    @property
    def velocity(self) -> float:
        """Rate of change of its length [m/s].

        Raises:
            SceneError: There is no simulation.
        """
        return self._state.velocity

    @property
    def tension(self) -> float:
        """Force by which it pulls its ends together in the last substep [N]; negative where it pushes them apart.

        Raises:
            SceneError: There is no simulation.
        """
        return self._state.tension

    @property
    def path(self) -> np.ndarray:
        """Ends of its straight pieces now [m], (P, 2, 3): along it, without what lies on the shapes that it wraps.

        Raises:
            SceneError: There is no simulation.
        """
        return running(self._scene, self._label).bodies.tendon_path(self)

    @property
    def motor(self) -> Motor | None:
        """What pulls it now, or None.

        Raises:
            SceneError: There is no simulation.
        """
        return running(self._scene, self._label).bodies.tendon_motor(self)

    @property
    def activation(self) -> float:
        """Activation of its actuator now; 0 without one.

        Raises:
            SceneError: There is no simulation.
        """
        return self._state.activation

    def command(self, value: Any) -> None:
        """Give its actuator a command, which holds until the next one.

        Args:
            value: Of a muscle its excitation, 0 to 1; of a controller or motor with several inputs one for each.

        Raises:
            SceneError: There is no simulation or no actuator, or the value is outside the limits.
        """
        running(self._scene, self._label).bodies.command_tendons([self], [value])

    def drive(self, motor: Motor | float | None) -> None:
        """Drive its length: `ForceMotor(-20)` pulls with 20 N, a `Servo` holds a length, a `VelocityMotor` winds.

        Args:
            motor: A motor, in place of the one that it has; a number: another target for that one; None: no motor.

        Raises:
            SceneError: There is no simulation, or a value is refused.
        """
        running(self._scene, self._label).bodies.drive_tendons([self], [motor])

    @property
    def _state(self) -> Any:
        return running(self._scene, self._label).bodies.tendon(self)

    @property
    def _label(self) -> str:
        return f"tendon {self.name!r}"
