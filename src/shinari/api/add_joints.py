"""Adds joints between rigid bodies to a scene."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.geometry.motion import NO_ROTATION, quaternion_product, rotation_matrix
from shinari.scene.body import WORLD, Drive, Joint
from shinari.scene.contents import Contents
from shinari.scene.handle import BodyHandle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.motors import MOTORS, Motor, within

# Anchors farther apart than this part of their distance from the origin (at least of a metre) are not at one place.
TOGETHER = 1e-6
# Axes that differ by less than this angle are parallel [rad].
PARALLEL = 1e-6


@dataclass(frozen=True)
class Kind:
    """Properties of a kind of joint.

    Attributes:
        axis: `"no"`, `"may"` (limits need one) or `"must"` have an axis.
        limits: The quantity that `limits` bounds, or None.
        swing: Whether it takes `swing_limit`.
        twist: Whether it takes `twist_limits`.
        motor: Whether it takes a motor.
        constrains_rotation: Whether it holds turns, so that `angular_compliance` means something.
        constrains_position: Whether it holds places, so that `compliance` and `anchor` mean something.
        free: Whether it leaves a direction free that `damping` can act along.
    """

    axis: str = "must"
    limits: str | None = None
    swing: bool = False
    twist: bool = False
    motor: bool = False
    constrains_rotation: bool = True
    constrains_position: bool = True
    free: bool = True


KINDS = {
    "fixed": Kind(axis="no", free=False),
    "ball": Kind(axis="may", swing=True, twist=True, constrains_rotation=False),
    "hinge": Kind(limits="angle", motor=True),
    "slider": Kind(limits="travel", motor=True),
    "cylindrical": Kind(limits="travel", twist=True),
    "universal": Kind(),
    "planar": Kind(),
    "distance": Kind(axis="no", limits="distance", constrains_rotation=False),
    "gear": Kind(constrains_position=False, free=False),
}
"""Kinds of joints by name; `"prismatic"` is another name of a slider."""


def add_joint(
    scene: Contents,
    kind: str,
    a: BodyHandle | str,
    b: BodyHandle | str | None = None,
    *,
    anchor: Any = None,
    axis: Any = None,
    second_anchor: Any = None,
    second_axis: Any = None,
    limits: Any = None,
    swing_limit: float | None = None,
    twist_limits: Any = None,
    compliance: float = 0.0,
    angular_compliance: float = 0.0,
    limit_compliance: float = 0.0,
    damping: float = 0.0,
    motor: Motor | None = None,
    break_force: float | None = None,
    break_torque: float | None = None,
    ratio: float | None = None,
    rest_length: float | None = None,
    start: float = 0.0,
    rotor_inertia: float = 0.0,
    dry_friction: float = 0.0,
    stiffness: float = 0.0,
    rest: float = 0.0,
    max_force: float | None = None,
    max_speed: float | None = None,
    collide: bool = False,
    name: str | None = None,
) -> JointHandle:
    """Join two bodies, or a body and the world.

    | kind | holds | leaves free |
    |---|---|---|
    | `fixed` | everything | |
    | `ball` | the anchor | all turns, in a cone (`swing_limit`) and about the axis (`twist_limits`) |
    | `hinge` | the anchor, the axis | the turn about the axis (`limits`, `motor`) |
    | `slider`, `prismatic` | all but the travel along the axis | that (`limits`, `motor`) |
    | `cylindrical` | the axis | travel along it (`limits`), turn about it (`twist_limits`) |
    | `universal` | the anchor, the angle between `axis` of a and `second_axis` of b | turns about both |
    | `planar` | the plane across the axis | motion in it, turn about the axis |
    | `distance` | the length between `anchor` on a and `second_anchor` on b | everything else |
    | `gear` | turn of a about `axis` = `ratio` times turn of b about `second_axis` | everything else |

    Angles and travels are those of a against b, right-handed about and along the axis, and 0, or `start`, where the
    bodies are when the joint is added. Turns of a gear are counted against the world.

    Args:
        kind: Kind of joint, see above.
        a: First body.
        b: Second body; None: the world.
        anchor: Where the joint is, in the world as described [m].
        axis: Its axis in the world, of any length but zero.
        second_anchor: The anchor on b [m]; a `distance` needs it, for others it can only be the same place.
        second_axis: Axis of b, for `universal`, `gear` and the cone of a `ball`; None: as `axis`.
        limits: Least and largest angle [rad], travel or length [m], (2,); either may be infinite.
        swing_limit: Largest angle between the axes of both bodies [rad].
        twist_limits: Least and largest angle about the axis [rad], (2,).
        compliance: Inverse stiffness of the positional rows [m/N]; with one, `distance` is a spring.
        angular_compliance: Inverse stiffness of the angular rows [rad/(N m)].
        limit_compliance: Inverse stiffness of the limits [m/N or rad/(N m)].
        damping: Of motion along and about the free axes [N s/m or N m s/rad]; of a `distance`
            along its line.
        motor: `VelocityMotor`, `Servo` or `ForceMotor` of a hinge or slider; `Simulation.drive` gives it another.
        break_force: Force above which it breaks [N]; None: never.
        break_torque: Moment above which it breaks [N m]; None: never.
        ratio: Of a gear; negative where the wheels mesh from outside.
        rest_length: Of a `distance` [m]; None: as described, or, with `limits` and no compliance, any within them.
        start: Angle [rad] or travel [m] that a hinge or slider has as it is added.
        rotor_inertia: Inertia [kg m^2] or mass [kg] that the motion of a hinge or slider carries beside the bodies:
            that of a motor's rotor, times the square of its gear (the armature of MJCF). Bounces leave it out.
        dry_friction: Largest moment [N m] or force [N] of friction in a hinge or slider.
        stiffness: Of a spring in a hinge or slider [N m/rad or N/m].
        rest: Angle [rad] or travel [m] at which that spring is at rest.
        max_force: Largest moment [N m] or force [N] of any motor that the joint is given; None: any.
        max_speed: Largest speed that such a motor aims at [rad/s or m/s]; None: any.
        collide: Whether the two bodies touch each other.
        name: Name in messages and results.

    Raises:
        SceneError: A value has the wrong type or shape, lies outside its bounds or means nothing for this kind;
            anchors or axes that have to be the same differ; neither body can move; the joint starts outside its
            limits.
    """
    kind = "slider" if isinstance(kind, str) and kind == "prismatic" else kind
    if not (isinstance(kind, str) and kind in KINDS):
        raise SceneError(f"joint: kind: expected one of {', '.join(KINDS)} or prismatic, got {check.short(kind)}")
    name = scene._name("joint", name)
    label, traits = f"{kind} {name!r}", KINDS[kind]
    compliance = check.number(label, "compliance", compliance, least=0.0)
    angular_compliance = check.number(label, "angular_compliance", angular_compliance, least=0.0)
    limit_compliance = check.number(label, "limit_compliance", limit_compliance, least=0.0)
    damping = check.number(label, "damping", damping, least=0.0)
    start, rest = check.number(label, "start", start), check.number(label, "rest", rest)
    rotor_inertia = check.number(label, "rotor_inertia", rotor_inertia, least=0.0)
    dry_friction = check.number(label, "dry_friction", dry_friction, least=0.0)
    stiffness = check.number(label, "stiffness", stiffness, least=0.0)
    first, second = _pair(scene, label, kind, a, b)
    places = _places(label, kind, anchor, second_anchor)
    axes = _axes(label, kind, axis, second_axis, swing_limit is not None or twist_limits is not None)
    for field, given, meant in (
        ("limits", limits is not None, traits.limits),
        ("swing_limit", swing_limit is not None, traits.swing),
        ("twist_limits", twist_limits is not None, traits.twist),
        ("motor", motor is not None, traits.motor),
        ("damping", damping != 0.0, traits.free),
        ("compliance", compliance != 0.0, traits.constrains_position),
        ("angular_compliance", angular_compliance != 0.0, traits.constrains_rotation),
        ("limit_compliance", limit_compliance != 0.0, traits.limits or traits.swing or traits.twist),
        ("ratio", ratio is not None, kind == "gear"),
        ("rest_length", rest_length is not None, kind == "distance"),
        ("start", start != 0.0, traits.motor),
        ("rotor_inertia", rotor_inertia != 0.0, traits.motor),
        ("dry_friction", dry_friction != 0.0, traits.motor),
        ("stiffness", stiffness != 0.0, traits.motor),
        ("rest", rest != 0.0, traits.motor),
        ("max_force", max_force is not None, traits.motor),
        ("max_speed", max_speed is not None, traits.motor),
    ):
        if given and not meant:
            raise SceneError(f"{label}: {field}: not a field of this kind of joint{_hint(field, kind)}")
    numbers: dict[str, float] = {}
    if kind == "gear":
        numbers["ratio"] = _ratio(label, ratio)
    if kind == "universal":
        assert axes is not None
        numbers["cosine"] = float(axes[0] @ axes[1])
    if kind == "distance":
        start = float(np.linalg.norm(places[0] - places[1]))
        numbers = _rest_length(label, start, rest_length, compliance, limits is not None)
    bodies = [_pose(scene, first), _pose(scene, second)]
    turned = _joint_frames(axes)
    if start != 0.0 and axes is not None:
        places, turned = _started(kind, start, places, turned, axes)
    joint = Joint(
        name,
        kind,
        first,
        second,
        places=np.stack([r.T @ (p - x) for p, (x, _, r) in zip(places, bodies, strict=True)]),
        frames=np.stack([quaternion_product(q * _OPPOSITE, f) for f, (_, q, _) in zip(turned, bodies, strict=True)]),
        compliance=compliance,
        angular_compliance=angular_compliance,
        damping=damping,
        travel=None if kind == "hinge" else _limits(label, "limits", limits, start),
        twist=_limits(label, *(("limits", limits) if kind == "hinge" else ("twist_limits", twist_limits)), start),
        swing=_swing(label, swing_limit, axes),
        limit_compliance=limit_compliance,
        drive=None,
        break_force=_strength(label, "break_force", break_force),
        break_torque=_strength(label, "break_torque", break_torque),
        numbers=numbers,
        collide=check.choice(label, "collide", collide, (False, True)),
        start=start if traits.motor else 0.0,
        rotor_inertia=rotor_inertia,
        dry_friction=dry_friction,
        stiffness=stiffness,
        rest=rest,
        max_force=_strength(label, "max_force", max_force),
        max_speed=_strength(label, "max_speed", max_speed),
    )
    joint = replace(joint, drive=_drive(label, motor, joint.max_force, joint.max_speed))
    handle = JointHandle(scene, name, len(scene.joints))
    scene.joints.append(joint)
    scene.handles[name] = handle
    scene.revision += 1
    return handle


def _pair(scene: Contents, label: str, kind: str, a: Any, b: Any) -> tuple[int, int]:
    """Indices of both bodies, at least one of which can move."""
    first = scene.find(label, "a", a, BodyHandle).index
    second = WORLD if b is None else scene.find(label, "b", b, BodyHandle).index
    if first == second:
        raise SceneError(f"{label}: b: {scene.bodies[first].name!r} cannot be joined to itself")
    if kind == "gear" and second == WORLD:
        raise SceneError(f"{label}: b: a gear couples two bodies; the world does not turn")
    if scene.bodies[first].kinematic and (second == WORLD or scene.bodies[second].kinematic):
        other = "the world" if second == WORLD else repr(scene.bodies[second].name)
        raise SceneError(f"{label}: a: neither {scene.bodies[first].name!r} nor {other} can be moved by a joint")
    return first, second


def _pose(scene: Contents, body: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, rotation and matrix of a body or of the world."""
    if body == WORLD:
        return np.zeros(3), NO_ROTATION, np.eye(3)
    found = scene.bodies[body]
    return found.position, found.rotation, rotation_matrix(found.rotation)


_OPPOSITE = np.array([1.0, -1.0, -1.0, -1.0])


def _hint(field: str, kind: str) -> str:
    if field == "twist_limits" and kind == "hinge":
        return "; its angle is bounded by limits"
    if field == "limits" and kind == "ball":
        return "; see swing_limit and twist_limits"
    if field == "damping":
        return ": it leaves nothing free"
    if field == "motor":
        return ": a motor drives a hinge or a slider"
    return ""


def _places(label: str, kind: str, anchor: Any, second: Any) -> tuple[np.ndarray, np.ndarray]:
    """Anchors on both bodies in the world [m]."""
    if kind == "gear":
        for field, value in (("anchor", anchor), ("second_anchor", second)):
            if value is not None:
                raise SceneError(f"{label}: {field}: not a field of this kind of joint")
        return np.zeros(3), np.zeros(3)
    if anchor is None:
        raise SceneError(f"{label}: anchor: has to be given")
    place = check.vector(label, "anchor", anchor)
    if kind == "distance":
        if second is None:
            raise SceneError(f"{label}: second_anchor: a distance has two ends")
        return place, check.vector(label, "second_anchor", second)
    if second is not None:
        apart = float(np.linalg.norm(check.vector(label, "second_anchor", second) - place))
        if apart > TOGETHER * max(1.0, float(np.linalg.norm(place))):
            raise SceneError(f"{label}: second_anchor: the anchors are {apart:.6g} m apart and have to be one place")
    return place, place


def _axes(label: str, kind: str, axis: Any, second: Any, needed: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """Unit axes of both bodies in the world, or None."""
    traits = KINDS[kind]
    if traits.axis == "no":
        for field, value in (("axis", axis), ("second_axis", second)):
            if value is not None:
                raise SceneError(f"{label}: {field}: not a field of this kind of joint")
        return None
    if axis is None:
        if traits.axis == "must" or needed or second is not None:
            raise SceneError(f"{label}: axis: has to be given{' with limits' if needed else ''}")
        return None
    u = _direction(label, "axis", axis)
    if second is None:
        if kind == "universal":
            raise SceneError(f"{label}: second_axis: a universal joint has an axis in each body")
        return u, u
    v = _direction(label, "second_axis", second)
    between = float(np.arctan2(np.linalg.norm(np.cross(u, v)), u @ v))
    if kind == "universal" and min(between, np.pi - between) < PARALLEL:
        raise SceneError(f"{label}: second_axis: is parallel to axis; a universal joint needs two directions")
    if kind not in ("universal", "gear", "ball") and between > PARALLEL:
        raise SceneError(f"{label}: second_axis: the axes differ by {between:.6g} rad and have to be parallel")
    return u, v


def _direction(label: str, field: str, value: Any) -> np.ndarray:
    vector = check.vector(label, field, value)
    most = np.abs(vector).max()
    if most == 0.0:
        raise SceneError(f"{label}: {field}: a vector of length zero has no direction")
    return vector / most / np.linalg.norm(vector / most)


def _joint_frames(axes: tuple[np.ndarray, np.ndarray] | None) -> tuple[np.ndarray, np.ndarray]:
    """Joint frames in the world, their x along the axes, the second turned from the first on the short way."""
    if axes is None:
        return NO_ROTATION, NO_ROTATION
    first = _short_turn(np.array([1.0, 0.0, 0.0]), axes[0])
    return first, quaternion_product(_short_turn(*axes), first)


def _started(kind: str, start: float, places: Any, turned: Any, axes: Any) -> tuple[Any, Any]:
    """Anchors and joint frames where the joint has an angle or travel already: those of b lie back by it."""
    if kind == "hinge":
        back = np.array([np.cos(0.5 * start), -np.sin(0.5 * start), 0.0, 0.0])
        return places, (turned[0], quaternion_product(turned[1], back))
    return (places[0], places[1] - start * axes[1]), turned


def _short_turn(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The shortest rotation from a unit vector to another, a quaternion; half a turn about any axis across."""
    half = np.array([1.0 + u @ v, *np.cross(u, v)])
    if half[0] < 1e-12:
        half = np.array([0.0, *np.cross(u, np.eye(3)[int(np.argmin(np.abs(u)))])])
    return half / np.linalg.norm(half)


def _ratio(label: str, ratio: Any) -> float:
    if ratio is None:
        raise SceneError(f"{label}: ratio: has to be given")
    value = check.number(label, "ratio", ratio)
    if value == 0.0:
        raise SceneError(f"{label}: ratio: 0 would fix the first body; expected another value")
    return value


def _rest_length(label: str, start: float, given: Any, compliance: float, limited: bool) -> dict[str, float]:
    """The length that is held [m] by its name; none where only limits act."""
    if limited and compliance == 0.0:
        if given is not None:
            raise SceneError(f"{label}: limits: a length that is held has none; give a compliance, or no rest_length")
        return {}
    length = start if given is None else check.number(label, "rest_length", given, least=0.0)
    if length == 0.0 and compliance == 0.0:
        raise SceneError(f"{label}: rest_length: without any it is a ball joint; add that, or give a compliance")
    return {"rest_length": length}


def _limits(label: str, field: str, value: Any, start: float, quantity: str = "") -> np.ndarray | None:
    """Least and largest value, (2,), with the start between them; None as given. Messages name the quantity."""
    if value is None:
        return None
    try:
        low, high = value
    except Exception:  # the boundary to arrays of other libraries
        raise SceneError(f"{label}: {field}: expected (least, largest), got {check.short(value)}") from None
    low = check.number(label, field, low, infinite=True)
    high = check.number(label, field, high, infinite=True)
    if low > high:
        raise SceneError(f"{label}: {field}: the lower, {low:g}, is above the upper, {high:g}")
    slack = 1e-9 * max(1.0, abs(start))
    if not low - slack <= start <= high + slack:
        raise SceneError(f"{label}: {field}: it starts at {quantity}{start:g}, outside {low:g} to {high:g}")
    return np.array([low, high])


def _swing(label: str, value: Any, axes: tuple[np.ndarray, np.ndarray] | None) -> float | None:
    """Largest angle of swing [rad]; None as given."""
    if value is None:
        return None
    assert axes is not None
    most = check.number(label, "swing_limit", value, above=0.0, most=np.pi)
    start = float(np.arctan2(np.linalg.norm(np.cross(*axes)), axes[0] @ axes[1]))
    if start > most + 1e-9:
        raise SceneError(f"{label}: swing_limit: it starts at {start:g} rad, beyond {most:g}")
    return most


def _drive(label: str, motor: Any, max_force: float, max_speed: float = np.inf) -> Drive | None:
    if motor is not None and not isinstance(motor, MOTORS):
        raise SceneError(f"{label}: motor: expected a VelocityMotor, a Servo or a ForceMotor, got {check.short(motor)}")
    if motor is None:
        return None
    return within(motor.drive(label), max_force, max_speed)


def _strength(label: str, field: str, value: Any) -> float:
    return np.inf if value is None else check.number(label, field, value, above=0.0, infinite=True)
