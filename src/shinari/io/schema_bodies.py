"""Tables of a scene file: rigid bodies, and the joints between them."""

from typing import TYPE_CHECKING, Annotated, Literal, Union

from msgspec import Meta

from shinari.api.add_joints import KINDS
from shinari.io.schema_solids import MotionTable
from shinari.schema_types import Name, NonNegative, Positive, Quaternion, Ratio, Table, Vector
from shinari.shapes.registry import shape_types

JOINT_KINDS = (*KINDS, "prismatic")

if TYPE_CHECKING:
    PartShapeTable = Table
else:
    _TABLES = (each.table for each in shape_types() if each.table is not None and not each.shape.endless)
    PartShapeTable = Union[tuple(dict.fromkeys(_TABLES))]  # noqa: UP007
"""A shape that has an end."""


class PartTable(Table):
    """A shape of a compound.

    Attributes:
        shape: The shape.
        position: Where its origin is in the axes of the body [m].
        rotation: Its rotation, w x y z.
    """

    shape: PartShapeTable
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Quaternion = (1.0, 0.0, 0.0, 0.0)


class CompoundTable(Table, tag_field="type", tag="compound"):
    """Shapes that are one body; where they overlap both count for the mass.

    Attributes:
        parts: The shapes.
    """

    parts: Annotated[list[PartTable], Meta(min_length=1)]


class RigidBodyTable(Table):
    """A rigid body.

    Attributes:
        name: Unique name.
        shape: Its shape, which has to be closed; left out: it touches nothing, and needs mass and inertia.
        density: Mass per volume [kg/m^3]; of a compound one for all parts, or one each.
        mass: Mass [kg], in place of the density.
        inertia: With a mass: moments about the centre of mass along the axes of the body, or a tensor of three rows
            [kg m^2].
        centre: With an inertia: centre of mass in the axes of the body [m]; left out: that of the shape.
        position: Where the origin of the shape is [m].
        rotation: Its rotation, w x y z.
        velocity: Velocity of the centre of mass [m/s].
        angular_velocity: Angular velocity in world axes [rad/s].
        friction: Coulomb coefficient.
        static_friction: Coulomb coefficient of sticking; left out: as `friction`.
        restitution: Ratio of the speeds after and before an impact.
        compliance: Inverse stiffness of a contact [m/N].
        rolling_friction: Moment against rolling over the normal force [m].
        torsional_friction: Moment about the normal over the normal force [m].
        gravity_scale: Part of gravity that acts on it; 0: none, below 0: upwards.
        kinematic: True: it pushes and is not pushed.
        motion: How it moves; the body is kinematic, and it replaces `position` and `rotation`.
        visual: Mesh file that is shown in place of the shape, relative to the folder of the scene file and inside it.
        color: Red, green and blue of 0 to 1.
    """

    shape: PartShapeTable | CompoundTable | None = None
    name: Name | None = None
    density: Positive | Annotated[list[Positive], Meta(min_length=1)] = 1000.0
    mass: Positive | None = None
    inertia: Annotated[list[float | Vector], Meta(min_length=3, max_length=3)] | None = None
    centre: Vector | None = None
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Quaternion = (1.0, 0.0, 0.0, 0.0)
    velocity: Vector = (0.0, 0.0, 0.0)
    angular_velocity: Vector = (0.0, 0.0, 0.0)
    friction: NonNegative = 0.3
    static_friction: NonNegative | None = None
    restitution: Ratio = 0.0
    compliance: NonNegative = 0.0
    rolling_friction: NonNegative = 0.0
    torsional_friction: NonNegative = 0.0
    gravity_scale: Annotated[float, Meta(ge=-1, le=1)] = 1.0
    kinematic: bool = False
    motion: MotionTable | None = None
    visual: Name | None = None
    color: tuple[Ratio, Ratio, Ratio] | None = None


class VelocityMotorTable(Table, tag_field="type", tag="velocity"):
    """Turns a hinge, or moves a slider, with a speed.

    Attributes:
        speed: Speed of the first body against the second [rad/s or m/s].
        max_force: Largest moment [N m] or force [N]; left out: any.
    """

    speed: float
    max_force: NonNegative | None = None


class ServoTable(Table, tag_field="type", tag="servo"):
    """Holds a hinge at an angle, or a slider at a travel.

    Attributes:
        target: Angle [rad] or travel [m] of the first body against the second, 0 as described.
        stiffness: Stiffness [N m/rad or N/m]; left out: as stiff as the largest force allows.
        damping: Damping of the motion [N m s/rad or N s/m].
        max_force: Largest moment [N m] or force [N]; left out: any.
        speed: Speed that the damping aims at [rad/s or m/s].
        force: Moment [N m] or force [N] that is added.
        max_speed: Largest speed at which it comes to the target [rad/s or m/s]; left out: any.
    """

    target: float
    stiffness: NonNegative | None = None
    damping: NonNegative = 0.0
    max_force: NonNegative | None = None
    speed: float = 0.0
    force: float = 0.0
    max_speed: Positive | None = None


class ForceMotorTable(Table, tag_field="type", tag="force"):
    """Turns a hinge with a moment, or moves a slider with a force.

    Attributes:
        force: Moment [N m] or force [N] on the first body, the opposite on the second.
        max_force: Largest moment [N m] or force [N]; left out: any.
    """

    force: float = 0.0
    max_force: NonNegative | None = None


class JointTable(Table):
    """A joint between two rigid bodies, or a body and the world.

    Attributes:
        kind: What it holds and what it leaves free.
        first: Name of the first body.
        second: Name of the second body; left out: the world.
        name: Unique name.
        anchor: Where the joint is [m].
        axis: Its axis.
        second_anchor: Anchor of the second body [m], of a distance.
        second_axis: Axis of the second body, of a universal joint, a gear or the cone of a ball.
        limits: Least and largest angle [rad], travel or length [m].
        swing_limit: Largest angle between the axes of both bodies [rad].
        twist_limits: Least and largest angle about the axis [rad].
        compliance: Inverse stiffness of what holds places [m/N].
        angular_compliance: Inverse stiffness of what holds turns [rad/(N m)].
        limit_compliance: Inverse stiffness of the limits [m/N or rad/(N m)].
        damping: Against motion along and about what the joint leaves free [N s/m or N m s/rad].
        motor: Drives what the joint leaves free.
        break_force: Force above which it lets go [N].
        break_torque: Moment above which it lets go [N m].
        ratio: Of a gear.
        rest_length: Of a distance [m].
        start: Angle [rad] or travel [m] as described, of a hinge or slider.
        rotor_inertia: Inertia [kg m^2] or mass [kg] that a hinge or slider moves beside the bodies.
        dry_friction: Largest moment [N m] or force [N] of friction in a hinge or slider.
        stiffness: Of a spring in a hinge or slider [N m/rad or N/m].
        rest: Where that spring is at rest [rad or m].
        max_force: Largest moment [N m] or force [N] of its motors; left out: any.
        max_speed: Largest speed that its motors aim at [rad/s or m/s]; left out: any.
        collide: Whether the two bodies touch each other.
    """

    kind: Literal[JOINT_KINDS]  # type: ignore[valid-type]
    first: Name
    second: Name | None = None
    name: Name | None = None
    anchor: Vector | None = None
    axis: Vector | None = None
    second_anchor: Vector | None = None
    second_axis: Vector | None = None
    limits: tuple[float, float] | None = None
    swing_limit: Positive | None = None
    twist_limits: tuple[float, float] | None = None
    compliance: NonNegative = 0.0
    angular_compliance: NonNegative = 0.0
    limit_compliance: NonNegative = 0.0
    damping: NonNegative = 0.0
    motor: VelocityMotorTable | ServoTable | ForceMotorTable | None = None
    break_force: Positive | None = None
    break_torque: Positive | None = None
    ratio: float | None = None
    rest_length: NonNegative | None = None
    start: float = 0.0
    rotor_inertia: NonNegative = 0.0
    dry_friction: NonNegative = 0.0
    stiffness: NonNegative = 0.0
    rest: float = 0.0
    max_force: Positive | None = None
    max_speed: Positive | None = None
    collide: bool = False
