"""Adds tendons to a scene, and couplings of joints: lengths that are held, bounded, sprung or pulled."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shinari import check
from shinari.api.add_joints import _OPPOSITE, _drive, _limits, _pose, _short_turn, _strength
from shinari.errors import SceneError
from shinari.geometry.motion import quaternion_product
from shinari.scene.actuator import ActuatorLaw, Muscle, law_of
from shinari.scene.body import WORLD, Drive
from shinari.scene.contents import Contents
from shinari.scene.controllers import DCMotor, PIDControl
from shinari.scene.handle import BodyHandle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.motors import Motor
from shinari.scene.tendon import Crank, JointTerm, Lever, Pulley, Segment, Tendon, TendonHandle, Thrust, Via, Wrap

MOVES = ("hinge", "slider")
COEFFICIENTS = 5
"""Coefficients of the largest polynomial of a coupling."""
MET = 1e-6
"""Angle [rad] or travel [m] by which a coupling may be off at the start."""


def couple_joints(
    scene: Contents,
    joint: JointHandle | str,
    leader: JointHandle | str | None,
    coefficients: Any = (0.0, 1.0),
    *,
    compliance: float = 0.0,
    name: str | None = None,
) -> TendonHandle:
    """Let a hinge or slider follow another one by a polynomial: q = c0 + c1 p + c2 p^2 + c3 p^3 + c4 p^4.

    Forces act in both directions: a moment on the follower turns the leader, as in a gear. A belt has (0, 1), a
    pair of wheels (0, -ratio), fingers that close alike (0, 1).

    Args:
        joint: The joint that follows.
        leader: The joint that it follows; None: it is held at c0.
        coefficients: c0 to c4, of which the last ones may be left out.
        compliance: Inverse stiffness of the coupling [rad/(N m) or m/N of the follower].
        name: Name in messages and results.

    Raises:
        SceneError: One is no hinge or slider of the scene, both are one, the law is not met where the joints start, or
            a number is not finite.
    """
    name = scene._name("coupling", name)
    label = f"coupling {name!r}"
    follower = _moving(scene, label, "joint", joint)
    values = check.array(label, "coefficients", coefficients, (None,)).tolist()
    if not 1 <= len(values) <= COEFFICIENTS:
        raise SceneError(f"{label}: coefficients: expected 1 to {COEFFICIENTS} numbers, got {len(values)}")
    law = tuple(values + [0.0] * (COEFFICIENTS - len(values)))
    terms = [JointTerm(follower.index, (0.0, 1.0, 0.0, 0.0, 0.0))]
    meant = law[0]
    if leader is not None:
        followed = _moving(scene, label, "leader", leader)
        if followed.index == follower.index:
            raise SceneError(f"{label}: leader: {followed.name!r} cannot follow itself")
        at = scene.joints[followed.index].start
        meant = float(np.polyval(law[::-1], at))
        terms.append(JointTerm(followed.index, tuple(-c for c in law)))
    start = scene.joints[follower.index].start
    if abs(start - meant) > MET * max(1.0, abs(meant)):
        raise SceneError(
            f"{label}: joint: {follower.name!r} starts at {start:.6g}, and its law gives {meant:.6g}; add the joint "
            f"with start={meant:.6g}, or change the first coefficient"
        )
    held = 0.0 if leader is not None else law[0]
    yields = check.number(label, "compliance", compliance, least=0.0)
    return _add(scene, Tendon(name, tuple(terms), held=held, compliance=yields))


def add_tendon(
    scene: Contents,
    path: Sequence[Via | Wrap | Pulley] = (),
    *,
    joints: Mapping[Any, float] | None = None,
    levers: Sequence[Thrust | Crank] = (),
    stiffness: float = 0.0,
    rest_length: Any = None,
    damping: float = 0.0,
    limits: Any = None,
    limit_compliance: float = 0.0,
    dry_friction: float = 0.0,
    mass: float = 0.0,
    motor: Motor | None = None,
    max_force: float | None = None,
    actuator: ActuatorLaw | Muscle | PIDControl | DCMotor | None = None,
    name: str | None = None,
) -> TendonHandle:
    """Add a tendon: a rope without mass over points of bodies and around shapes, or a weighted sum of joint angles.

    Its length is that of the path and the sum together. It pulls with one force along all of its length, without
    friction at points and shapes: the force at each body and joint is the tension times how the length changes with it.
    A tendon only pulls where it has a `limits` or a slack `rest_length`; a spring or motor may also push.

    Args:
        path: Where it goes: `Via` points, with a `Wrap` or none between two of them, and `Pulley` blocks.
        joints: Hinges and sliders by handle or name, and what their angle [rad] or travel [m] counts in the length.
            If one of them breaks, the tendon acts no more.
        levers: Forces on bodies and sliders with cranks, `Thrust` and `Crank`, and what they count in the length.
        stiffness: Of its spring [N/m].
        rest_length: Length at which its spring has no force [m]; a pair: it is slack between both; None: that of the
            start.
        damping: Of changes of its length [N s/m].
        limits: Least and largest length [m], (2,); either may be infinite. (0, L) is a rope of length L.
        limit_compliance: Inverse stiffness of these [m/N].
        dry_friction: Largest force of friction along it [N].
        mass: Mass that moves as fast as its length changes [kg].
        motor: `ForceMotor`, whose force lengthens it (a negative one pulls), `Servo` or `VelocityMotor`;
            `handle.drive` gives it another.
        max_force: Largest force of any motor that it is given [N]; None or infinity: any.
        actuator: A `Muscle`, a `PIDControl`, a `DCMotor` or another `ActuatorLaw`, in place of a motor;
            `handle.command` gives it a command.
        name: Name in messages and results.

    Raises:
        SceneError: The path does not begin and end with a `Via`, a shape does not lie between two, an end lies within
            it, nothing of it can move, its start is out of its limits, or a number is out of its bounds.
    """
    name = scene._name("tendon", name)
    label = f"tendon {name!r}"
    terms = _terms(scene, label, joints)
    segments, held = _segments(scene, label, path), _levers(scene, label, levers)
    if not terms and not segments and not held:
        raise SceneError(f"{label}: path: a tendon needs points or joints; give two Via, or joints={{...}}")
    tendon = Tendon(
        name,
        terms,
        segments,
        stiffness=check.number(label, "stiffness", stiffness, least=0.0),
        damping=check.number(label, "damping", damping, least=0.0),
        limit_compliance=check.number(label, "limit_compliance", limit_compliance, least=0.0),
        dry_friction=check.number(label, "dry_friction", dry_friction, least=0.0),
        mass=check.number(label, "mass", mass, least=0.0),
        max_force=_strength(label, "max_force", max_force),
        actuator=law_of(label, actuator),
        levers=held,
    )
    if tendon.actuator is not None and motor is not None:
        raise SceneError(f"{label}: motor: it has an actuator already; leave out one of the two")
    length = _start_length(scene, tendon)
    slack = _slack(label, rest_length, length)
    found = _limits(label, "limits", limits, length, "a length of ")
    bounds = None if found is None else (float(found[0]), float(found[1]))
    drive = _drive(label, motor, tendon.max_force)
    if tendon.actuator is not None:
        # its force and its damping are written in each substep
        drive = Drive("position", 0.0, stiffness=0.0)
    return _add(scene, replace(tendon, slack=slack, limits=bounds, drive=drive))


def _add(scene: Contents, tendon: Tendon) -> TendonHandle:
    moved = {scene.joints[term.joint].first for term in tendon.terms}
    moved |= {scene.joints[term.joint].second for term in tendon.terms}
    for segment in tendon.segments:
        moved |= {*segment.bodies, *(() if segment.wrapped is None else (segment.wrapped,))}
    for lever in tendon.levers:
        moved |= set(lever.bodies)
    if all(index == WORLD or scene.bodies[index].kinematic for index in moved):
        raise SceneError(f"tendon {tendon.name!r}: path: nothing of it can move; at least one body has to be free")
    handle = TendonHandle(scene, tendon.name, len(scene.tendons))
    scene.tendons.append(tendon)
    scene.handles[tendon.name] = handle
    scene.revision += 1
    return handle


def _moving(scene: Contents, label: str, field: str, value: Any) -> JointHandle:
    handle = scene.find(label, field, value, JointHandle)
    kind = scene.joints[handle.index].kind
    if kind not in MOVES:
        raise SceneError(f"{label}: {field}: {handle.name!r} is a {kind} joint; expected a hinge or a slider")
    return handle


def _terms(scene: Contents, label: str, joints: Any) -> tuple[JointTerm, ...]:
    given = check.kind(label, "joints", {} if joints is None else joints, Mapping)
    terms = []
    for key, value in given.items():
        handle = _moving(scene, label, "joints", key)
        weight = check.number(label, f"joints: {handle.name}", value)
        terms.append(JointTerm(handle.index, (0.0, weight, 0.0, 0.0, 0.0)))
    return tuple(terms)


def _segments(scene: Contents, label: str, path: Any) -> tuple[Segment, ...]:
    """The pieces of a path."""
    result: list[Segment] = []
    part, before, around = 1.0, None, None
    # number of a point to which no piece leads yet
    alone: int | None = None
    for number, item in enumerate(check.sequence(label, "path", path)):
        field = f"path[{number}]"
        if isinstance(item, Pulley):
            if around is not None:
                raise SceneError(f"{label}: {field}: a Wrap stands between two Via, not before a Pulley")
            _check_joined(label, alone)
            part, before = 1.0 / check.number(label, f"{field}: divisor", item.divisor, above=0.0), None
        elif isinstance(item, Wrap):
            if before is None or around is not None:
                raise SceneError(f"{label}: {field}: a Wrap stands between two Via; put a Via before it")
            around = _shape(scene, label, field, item)
        elif isinstance(item, Via):
            body = _body(scene, label, field, item.body)
            place = check.vector(label, f"{field}: place", item.place)
            if before is not None:
                result.append(_piece(scene, (before, (body, place)), around, part, f"{label}: {field}"))
            alone = number if before is None else None
            before, around = (body, place), None
        else:
            raise SceneError(f"{label}: {field}: expected a Via, a Wrap or a Pulley, got {check.short(item)}")
    if around is not None:
        raise SceneError(f"{label}: path: ends with a Wrap; a Via has to follow it")
    if result and before is None:
        raise SceneError(f"{label}: path: ends with a Pulley; two Via have to follow it")
    _check_joined(label, alone)
    return tuple(result)


def _levers(scene: Contents, label: str, levers: Any) -> tuple[Lever, ...]:
    """Forces and cranks."""
    result = []
    for number, item in enumerate(check.sequence(label, "levers", levers)):
        field = f"levers[{number}]"
        if isinstance(item, Thrust):
            result.append(_thrust(scene, label, field, item))
        elif isinstance(item, Crank):
            result.append(_crank(scene, label, field, item))
        else:
            raise SceneError(f"{label}: {field}: expected a Thrust or a Crank, got {check.short(item)}")
    return tuple(result)


def _end(scene: Contents, label: str, field: str, via: Any) -> tuple[int, np.ndarray]:
    """The body of a place and the place in its axes."""
    body = _body(scene, label, field, check.kind(label, field, via, Via).body)
    return body, _local(scene, body, check.vector(label, f"{field}: place", via.place))


def _thrust(scene: Contents, label: str, field: str, item: Thrust) -> Lever:
    body, place = _end(scene, label, field, Via(item.body, item.place))
    base, origin = (body, place) if item.base is None else _end(scene, label, f"{field}: base", item.base)
    force, moment = (check.vector(label, f"{field}: {what}", getattr(item, what)) for what in ("force", "moment"))
    if not (force.any() or moment.any()):
        raise SceneError(f"{label}: {field}: force: neither a force nor a moment; give one of the two")
    _, rotation, _ = _pose(scene, body)
    _, other, carried = _pose(scene, base)
    turned = check.unit_quaternion(label, f"{field}: turned", item.turned)
    turn = quaternion_product(quaternion_product(rotation * _OPPOSITE, turned), other)
    kind = "thrust" if item.base is None else "relative"
    return Lever(kind, (body, base), np.stack([place, origin]), carried.T @ force, carried.T @ moment, turn)


def _crank(scene: Contents, label: str, field: str, item: Crank) -> Lever:
    body, place = _end(scene, label, field, Via(item.body, item.place))
    base, origin = _end(scene, label, f"{field}: slider", item.slider)
    axis = check.vector(label, f"{field}: axis", item.axis)
    size = float(np.linalg.norm(axis))
    if size == 0.0:
        raise SceneError(f"{label}: {field}: axis: a vector of length zero has no direction")
    _, _, carried = _pose(scene, base)
    rod = check.number(label, f"{field}: rod", item.rod, above=0.0)
    identity = np.array([1.0, 0.0, 0.0, 0.0])
    return Lever(
        "crank", (body, base), np.stack([place, origin]), carried.T @ (axis / size), np.zeros(3), identity, rod
    )


def _check_joined(label: str, alone: int | None) -> None:
    """Refuse a point of a path from which no piece goes anywhere."""
    if alone is not None:
        raise SceneError(f"{label}: path[{alone}]: a Via alone makes no piece of a tendon; put another one next to it")


def _body(scene: Contents, label: str, field: str, value: Any) -> int:
    return WORLD if value is None else scene.find(label, f"{field}: body", value, BodyHandle).index


def _local(scene: Contents, body: int, place: np.ndarray) -> np.ndarray:
    position, _, matrix = _pose(scene, body)
    return matrix.T @ (place - position)


def _shape(scene: Contents, label: str, field: str, wrap: Wrap) -> dict[str, Any]:
    """What a shape adds to a piece, and where it is in the world."""
    body = _body(scene, label, field, wrap.body)
    radius = check.number(label, f"{field}: radius", wrap.radius, above=0.0)
    centre = check.vector(label, f"{field}: position", wrap.position)
    result: dict[str, Any] = {"wrapped": body, "radius": radius, "centre": _local(scene, body, centre), "at": centre}
    if wrap.axis is not None:
        axis = check.vector(label, f"{field}: axis", wrap.axis)
        size = float(np.linalg.norm(axis))
        if size == 0.0:
            raise SceneError(f"{label}: {field}: axis: a vector of length zero has no direction")
        _, rotation, _ = _pose(scene, body)
        result["turn"] = quaternion_product(rotation * _OPPOSITE, _short_turn(np.array([0.0, 0.0, 1.0]), axis / size))
        result["along"] = axis / size
    if check.choice(label, f"{field}: through", wrap.through, (True, False)):
        result["through"] = True
        if wrap.side is not None:
            raise SceneError(f"{label}: {field}: side: a tendon through a shape has none; leave out one of the two")
    if wrap.side is not None:
        on, place = (wrap.side.body, wrap.side.place) if isinstance(wrap.side, Via) else (wrap.body, wrap.side)
        side, carrier = check.vector(label, f"{field}: side", place), _body(scene, label, f"{field}: side", on)
        if _inside(side, result):
            raise SceneError(
                f"{label}: {field}: side: lies within the shape; give a point outside of it, or through=True"
            )
        result["side"], result["side_body"] = _local(scene, carrier, side), carrier
    return result


def _inside(place: np.ndarray, shape: dict[str, Any]) -> bool:
    away = place - shape["at"]
    along = shape.get("along")
    return bool(np.linalg.norm(away if along is None else away - (away @ along) * along) < shape["radius"])


def _piece(scene: Contents, ends: tuple, around: dict[str, Any] | None, part: float, label: str) -> Segment:
    places = np.stack([_local(scene, body, place) for body, place in ends])
    bodies = ends[0][0], ends[1][0]
    if around is None:
        return Segment(bodies, places, part)
    for _, place in ends:
        if _inside(place, around):
            raise SceneError(f"{label}: place: lies within the shape around which the tendon goes; move it outside")
    return Segment(bodies, places, part, **{key: value for key, value in around.items() if key not in ("at", "along")})


def _start_length(scene: Contents, tendon: Tendon) -> float:
    # imported here: a scene without tendons does not wait for their kernels
    from shinari.systems.rigid.tendons.start import start_length

    return start_length(scene.bodies, scene.joints, tendon)


def _slack(label: str, value: Any, length: float) -> tuple[float, float]:
    """Least and largest length without a force [m]."""
    if value is None:
        return length, length
    if check.dimensions(label, "rest_length", value) == 0:
        rest = check.number(label, "rest_length", value)
        return rest, rest
    low, high = check.array(label, "rest_length", value, (2,)).tolist()
    if low > high:
        raise SceneError(f"{label}: rest_length: the lower, {low:g}, is above the upper, {high:g}")
    return low, high
