"""Rigid bodies and joints of a scene: plain frozen records, checked when they were added."""

from dataclasses import dataclass, field

import numpy as np

from shinari.geometry.motion import Motion
from shinari.scene.contact_material import ContactMaterial
from shinari.scene.medium import Medium
from shinari.shapes.compound import Piece

WORLD = -1
"""Index of the world where a joint asks for a body."""


@dataclass(frozen=True)
class Body:
    """A rigid body.

    Attributes:
        name: Unique name.
        pieces: Its shapes; a body without any touches nothing.
        mass: Mass [kg]; 0 for a kinematic body.
        centre: Centre of mass in the axes of the body [m], (3,).
        moments: Principal moments of inertia [kg m^2], (3,); zeros for a kinematic body.
        axes: Unit quaternion that turns the principal axes into those of the body, (4,).
        position: Origin of the body at the start [m], (3,).
        rotation: Unit quaternion w x y z, (4,).
        velocity: Velocity of the centre of mass [m/s], (3,).
        angular_velocity: Angular velocity in world axes [rad/s], (3,).
        surface: How it behaves in contact.
        rolling_friction: Moment against rolling over the normal force [m].
        torsional_friction: Moment about the normal over the normal force [m].
        kinematic: Pushes and is not pushed.
        motion: Pose of a kinematic body as a function of time; None: it moves evenly with its velocities.
        visual: Vertices [m] in the axes of the body, (V, 3), and faces, (F, 3), that are shown in place of its shapes.
        color: Red, green and blue, 0 to 1; None: by its place among the bodies.
        medium: What drags it, or None.
        gravity_scale: Part of gravity that acts on it, -1 to 1: how far bodies come is bounded by what gravity adds.
        densities: Densities of the shapes of which its mass and inertia are [kg/m^3], or in whose ratios; None: these
            were given.
    """

    name: str
    pieces: tuple[Piece, ...]
    mass: float
    centre: np.ndarray
    moments: np.ndarray
    axes: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray
    surface: ContactMaterial
    rolling_friction: float = 0.0
    torsional_friction: float = 0.0
    kinematic: bool = False
    motion: Motion | None = None
    visual: tuple[np.ndarray, np.ndarray] | None = None
    color: tuple[float, float, float] | None = None
    medium: Medium | None = None
    gravity_scale: float = 1.0
    densities: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Drive:
    """A motor on the free direction of a joint.

    Attributes:
        kind: `"velocity"`, `"position"` or `"force"`.
        target: Speed [rad/s or m/s], angle or travel [rad or m], moment or force [N m or N].
        stiffness: Of a position servo [N m/rad or N/m]; infinity: as stiff as the force limit allows.
        damping: Of a position servo [N m s/rad or N s/m].
        most: Largest moment or force [N m or N].
        speed: Speed that the damping of a position servo aims at [rad/s or m/s].
        force: Moment or force that a position servo adds [N m or N].
        fastest: Largest speed at which a position servo comes to its target [rad/s or m/s].
    """

    kind: str
    target: float
    stiffness: float = np.inf
    damping: float = 0.0
    most: float = np.inf
    speed: float = 0.0
    force: float = 0.0
    fastest: float = np.inf


@dataclass(frozen=True)
class Joint:
    """A joint between two bodies, or between a body and the world.

    The axes of the joint frame: x is the joint's axis; y and z are across it.

    Attributes:
        name: Unique name.
        kind: One of the kinds in `shinari.api.add_joints`.
        first: Index of the first body.
        second: Index of the second body, or `WORLD`.
        places: Anchor in the axes of each body [m], (2, 3): as described, not about the centre of mass.
        frames: Joint frame in the axes of each body, unit quaternions, (2, 4).
        compliance: Of the places that the joint holds [m/N].
        angular_compliance: Of the turns that it holds [rad/(N m)].
        damping: Of motion along and about its free axes [N s/m or N m s/rad].
        travel: Least and largest travel along the axis [m], (2,), or None.
        twist: Least and largest angle about the axis [rad], (2,), or None.
        swing: Largest angle between the axes of the two bodies [rad], or None.
        limit_compliance: Of the limits [m/N or rad/(N m)].
        drive: Its motor, or None.
        break_force: Force above which it breaks [N].
        break_torque: Moment above which it breaks [N m].
        numbers: Values that only some kinds have, by name: `ratio` of a gear, `rest_length` of a distance,
            `cosine` of the angle between the axes of a universal joint.
        collide: Whether the two bodies touch each other.
        start: Angle [rad] or travel [m] of a hinge or slider as it was added; `frames` or `places` hold it.
        rotor_inertia: Inertia [kg m^2] or mass [kg] that a hinge or slider moves beside the bodies.
        dry_friction: Largest moment [N m] or force [N] of friction in a hinge or slider.
        stiffness: Of the spring of a hinge or slider [N m/rad or N/m].
        rest: Where that spring is at rest [rad or m].
        max_force: Largest moment [N m] or force [N] of whatever motor it has.
        max_speed: Largest speed that its motors aim at [rad/s or m/s].
    """

    name: str
    kind: str
    first: int
    second: int
    places: np.ndarray
    frames: np.ndarray
    compliance: float = 0.0
    angular_compliance: float = 0.0
    damping: float = 0.0
    travel: np.ndarray | None = None
    twist: np.ndarray | None = None
    swing: float | None = None
    limit_compliance: float = 0.0
    drive: Drive | None = None
    break_force: float = np.inf
    break_torque: float = np.inf
    numbers: dict[str, float] = field(default_factory=dict)
    collide: bool = False
    start: float = 0.0
    rotor_inertia: float = 0.0
    dry_friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    max_force: float = np.inf
    max_speed: float = np.inf
