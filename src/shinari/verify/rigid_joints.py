"""Joints: what each kind leaves free and what it holds, drift under load, and the forces that it reports."""

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.errors import OverconstrainedWarning
from shinari.scene.handle import BodyHandle
from shinari.scene.joint_handle import JointHandle
from shinari.shapes.box import Box
from shinari.shapes.capsule import Capsule
from shinari.shapes.plane import Plane
from shinari.shapes.sphere import Sphere
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal
from shinari.verify.rigid_scenes import ONE, Anchor, place, single, spin, turn, weightless

FREE = {
    "fixed": 0, "ball": 3, "hinge": 1, "slider": 1, "cylindrical": 2, "universal": 2, "planar": 3, "distance": 5,
}  # fmt: skip
"""Kinds of joints, and how many of six motions each leaves free."""

_G = 9.81
_ANCHOR = np.array([0.1, -0.05, 0.2])
_AXIS = np.array([2.0, 1.0, -1.0]) / math.sqrt(6.0)
_ACROSS = np.cross(_AXIS, [0.0, 0.0, 1.0]) / np.linalg.norm(np.cross(_AXIS, [0.0, 0.0, 1.0]))
_AWAY = _ANCHOR + 0.4 * _AXIS


def _join(scene: Scene, kind: str, a: BodyHandle, b: BodyHandle | None) -> JointHandle:
    """A joint of that kind at the anchor, along the axis."""
    options: dict[str, Any] = {"anchor": _ANCHOR}
    if kind not in ("fixed", "ball", "distance"):
        options["axis"] = _AXIS
    if kind == "universal":
        options["second_axis"] = _ACROSS
    if kind == "distance":
        options |= {"second_anchor": _AWAY, "rest_length": 0.4}
    return scene.add_joint(kind, a, b, **options)


def _kinematic(kind: str) -> np.ndarray:
    """Motions that the kind leaves free: rows of velocity at the anchor and angular velocity of a against b, (n, 6)."""
    z = np.zeros(3)
    third = np.cross(_AXIS, _ACROSS)
    moves = {
        "fixed": [],
        "ball": [(z, e) for e in np.eye(3)],
        "hinge": [(z, _AXIS)],
        "slider": [(_AXIS, z)],
        "cylindrical": [(z, _AXIS), (_AXIS, z)],
        "universal": [(z, _AXIS), (z, _ACROSS)],
        "planar": [(_ACROSS, z), (third, z), (z, _AXIS)],
        "distance": [(_ACROSS, z), (third, z), *((z, e) for e in np.eye(3))],
    }[kind]
    return np.array([np.concatenate(m) for m in moves]).reshape(-1, 6)


def _kick(kind: str, column: int, both: bool) -> np.ndarray:
    """Velocities of the bodies, scaled by the roots of their inertia, after a kick of one of them."""
    scene = weightless()
    size = 1e-4
    v, w = np.zeros((2, 3)), np.zeros((2, 3))
    (v if column % 6 < 3 else w)[column // 6, column % 3] = size
    moments = np.array([0.3, 0.2, 0.4])
    masses = (2.0, 5.0)
    a = scene.add_rigid_body(None, mass=2.0, inertia=moments, velocity=v[0], angular_velocity=w[0])
    b = None
    if both:
        b = scene.add_rigid_body(
            None, mass=5.0, inertia=2.0 * moments, position=(0.4, 0.1, 0.3), velocity=v[1], angular_velocity=w[1]
        )  # fmt: skip
    _join(scene, kind, a, b)
    sim = single(scene, dt=1e-3, substeps=1)
    sim.step(3)
    out = []
    for i, body in enumerate((a, b) if both else (a,)):
        assert body is not None
        out += [math.sqrt(masses[i]) * sim.state.body_velocities[i]]
        out += [np.sqrt((1 + i) * moments) * sim.state.body_angular_velocities[i]]
    weight = np.sqrt(masses[column // 6]) if column % 6 < 3 else math.sqrt((1 + column // 6) * moments[column % 3])
    return np.concatenate(out) / (size * weight)


@check("degrees of freedom of joints", "a hard joint projects velocities, orthogonally in the metric of the masses",
       precisions=ONE)  # fmt: skip
def freedom(_: str) -> Iterator[Measurement]:
    """A body on the world and a free pair are kicked along each of their directions; the rank of what is left."""
    for kind, free in FREE.items():
        for both in (False, True):
            size = 12 if both else 6
            response = np.stack([_kick(kind, column, both) for column in range(size)], axis=1)
            values = np.linalg.svd(response)[1]
            case = f"{kind}, {'two free bodies' if both else 'a body on the world'}"
            expected = free + (6 if both else 0)
            yield equal(f"motions that are left free, {case}", expected, int((values > 0.5).sum()), absolute=0.0,
                        theory="rank of the response to kicks")  # fmt: skip
            yield at_most(
                f"distance of the singular values from 0 and 1, {case}", 0.0,
                float(np.minimum(np.abs(values), np.abs(values - 1.0)).max()), absolute=1e-3,
                theory="hard rows yield by 1e-5; arms turn by 1e-7"
            )  # fmt: skip
            yield at_most(f"asymmetry of the response, {case}", 0.0, float(np.abs(response - response.T).max()),
                          absolute=1e-3, theory="as above")  # fmt: skip
            if both:
                continue
            scale = np.sqrt([2.0] * 3 + [0.3, 0.2, 0.4])
            moves = _kinematic(kind)
            # velocity of the centre, which is at the origin, from that at the anchor
            moves = np.concatenate([moves[:, :3] + np.cross(_ANCHOR, moves[:, 3:]), moves[:, 3:]], axis=1) * scale
            lost = moves - moves @ response.T
            worst = float(np.abs(lost).max()) if len(moves) else 0.0
            yield at_most(f"what is lost of a motion that is free, {case}", 0.0, worst, absolute=1e-3,
                          theory="as above")  # fmt: skip


def _hang(scene: Scene, kind: str, origin: np.ndarray) -> tuple[BodyHandle, BodyHandle, np.ndarray, np.ndarray]:
    """A post that stands still and an arm that hangs from it and is heavily loaded: arm, post, anchor, axis."""
    post = scene.add_rigid_body(Box((0.1, 0.1, 0.1)), position=origin, kinematic=True)
    # where the arm's centre is from the anchor, and the axis: what is free does not fall
    out, axis = {
        "fixed": ((0.5, 0.0, 0.0), (1, 0, 0)),
        "ball": ((0.1, -0.5, 0.05), (1, 0, 0)),
        "hinge": ((0.5, 0.0, 0.0), (0, 1, 0)),
        "slider": ((0.5, 0.0, 0.2), (1, 0, 0)),
        "cylindrical": ((0.5, -0.2, 0.0), (1, 0, 0)),
        "universal": ((0.05, -0.5, 0.1), (0, 0, 1)),
        "planar": ((0.5, 0.2, 0.0), (0, 1, 0)),
        "distance": ((0.0, -0.3, 0.0), (0, 1, 0)),
    }[kind]
    arm = scene.add_rigid_body(Box((0.4, 0.1, 0.1)), position=origin + np.array(out), density=8000.0)
    options: dict[str, Any] = {"anchor": origin, "axis": axis}
    if kind in ("fixed", "ball", "distance"):
        del options["axis"]
    if kind == "universal":
        options["second_axis"] = (1, 0, 0)
    if kind == "distance":
        options = {"anchor": origin + np.array(out), "second_anchor": origin, "rest_length": 0.3}
    scene.add_joint(kind, arm, post, **options)
    return arm, post, origin, np.array(axis, float)


def _apart(kind: str, anchor: Anchor, sim: Simulation, axis: np.ndarray) -> tuple[float, float]:
    """How far the joint is apart [m], and how far what it holds has turned [rad]."""
    gap, r = anchor.gap(sim), anchor.turned(sim)
    whole = math.acos(float(np.clip(0.5 * (np.trace(r) - 1.0), -1.0, 1.0)))
    tilt = math.atan2(float(np.linalg.norm(np.cross(r @ axis, axis))), float(r @ axis @ axis))
    along = float(gap @ axis)
    across = float(np.linalg.norm(gap - along * axis))
    if kind == "distance":  # the anchor is the centre of the arm, which was 0.3 m below that of the post
        first, second = anchor.bodies
        assert second is not None
        return abs(float(np.linalg.norm(place(sim, first) - place(sim, second))) - 0.3), 0.0
    if kind == "ball":
        return float(np.linalg.norm(gap)), 0.0
    if kind == "universal":
        # the axis of the arm and that of the post, which is X, stay square
        return float(np.linalg.norm(gap)), abs(math.asin(float(np.clip((r @ axis)[0], -1.0, 1.0))))
    turned = tilt if kind in ("hinge", "cylindrical", "planar") else whole
    apart = {"slider": across, "cylindrical": across, "planar": abs(along)}.get(kind, float(np.linalg.norm(gap)))
    return apart, turned


@check("joints do not drift under load", "a joint holds: below 0.1 mm and 0.1 degree in 60 s", precisions=ONE)
def drift(_: str) -> Iterator[Measurement]:
    """Every kind holds an arm of 32 kg for a minute; the worst of 60 looks, one a second."""
    scene = Scene()
    arms = {kind: _hang(scene, kind, np.array([3.0 * i, 0.0, 0.0])) for i, kind in enumerate(FREE)}
    sim = single(scene, substeps=10)
    anchors = {}
    for kind, (arm, post, at, _axis) in arms.items():
        anchors[kind] = Anchor(sim, arm, post, place(sim, arm) if kind == "distance" else at)
    worst = {kind: np.zeros(2) for kind in arms}
    for _second in range(60):
        sim.step(60)
        for kind, (_arm, _post, _at, axis) in arms.items():
            worst[kind] = np.maximum(worst[kind], _apart(kind, anchors[kind], sim, axis))
    for kind, (apart, turned) in worst.items():
        yield at_most(f"apart, {kind} [m]", 1e-4, float(apart), theory="the requirement")
        if kind not in ("ball", "distance"):
            yield at_most(f"turned, {kind} [deg]", 0.1, math.degrees(float(turned)), theory="the requirement")


@check("forces of joints at rest", "statics: the weights below, and their moments about the anchor", precisions=ONE)
def statics(_: str) -> Iterator[Measurement]:
    """Force and moment on the second body: a bracket that holds an arm, and links of chains of three kinds."""
    for q, out in (((1, 0, 0, 0), (0.5, 0.0, 0.0)), (turn((1, 2, 3), 0.8), (0.2, -0.1, 0.4))):
        scene = Scene()
        arm = scene.add_rigid_body(Box((0.4, 0.1, 0.1)), mass=3.0, position=out, rotation=q)
        joint = scene.add_joint("fixed", arm, anchor=(0, 0, 0))
        sim = single(scene)
        sim.step(30)
        load = sim.forces(joint)
        weight = np.array([0.0, -3.0 * 9.81, 0.0])
        for name, expected, measured in (("force", weight, load.force), ("moment", np.cross(out, weight), load.torque)):
            yield equal(
                f"error of the {name} over m g, an arm at {out}", 0.0,
                float(np.linalg.norm(measured - expected)) / 29.43, absolute=1e-4,
                theory="at rest: multipliers have settled"
            )  # fmt: skip
    for kind in ("ball", "hinge", "fixed"):
        scene = Scene()
        above, joints, masses = None, [], (1.0, 0.2, 5.0, 0.01, 2.0)
        for i, mass in enumerate(masses):
            link = scene.add_rigid_body(Box((0.1, 0.2, 0.1)), mass=mass, position=(0, -0.2 * i - 0.1, 0))
            axis: dict[str, Any] = {"axis": (0, 0, 1)} if kind == "hinge" else {}
            joints.append(scene.add_joint(kind, link, above, anchor=(0, -0.2 * i, 0), **axis))
            above = link
        sim = single(scene)
        sim.step(60)
        for i, joint in enumerate(joints):
            weight = 9.81 * sum(masses[i:])
            yield equal(f"force of link {i}, {kind} [N]", -weight, float(sim.forces(joint).force[1]), relative=1e-4,
                        theory="at rest: multipliers have settled")  # fmt: skip


# Rows and columns of a net, whether it hangs by two corners only, how far its masses differ, kind, substeps.
_NETS = (
    (10, 10, False, 1.0, "ball", 4), (10, 10, False, 100.0, "ball", 1), (20, 19, False, 10.0, "ball", 10),
    (6, 6, True, 1.0, "ball", 4), (6, 6, True, 100.0, "ball", 10), (8, 12, False, 10.0, "fixed", 4),
)  # fmt: skip


@check("a grid of joints at rest", "statics: forces of the joints of each body sum to its weight; gaps below 0.1 mm")
def grids(precision: str) -> Iterator[Measurement]:
    """Nets of balls that hang by their upper edge, or settle while they hang by its two corners."""
    for rows, columns, corners, ratio, kind, substeps in _NETS:
        random, scene = np.random.default_rng(rows), Scene(damping=2.0 if corners else 0.0)
        balls = [
            scene.add_rigid_body(Sphere(0.4), mass=float(ratio ** random.uniform(-0.5, 0.5)), position=(k, -i, 0))
            for i, k in np.ndindex(rows, columns)
        ]
        ends: list[tuple[int, int, tuple[float, float, float]]] = []  # a body, the other or -1, where they meet
        for n, (i, k) in enumerate(np.ndindex(rows, columns)):
            if i > 0 or not corners or k in (0, columns - 1):
                ends.append((n, n - columns if i > 0 else -1, (k, 0.5 - i, 0)))
            if k > 0:
                ends.append((n, n - 1, (k - 0.5, -i, 0)))
        pairs = [(balls[a], balls[b] if b >= 0 else None, at) for a, b, at in ends]
        joints = [scene.add_joint(kind, a, b, anchor=at) for a, b, at in pairs]
        with warnings.catch_warnings():
            # how fixed joints of a loop share the load is not determined; their sums are
            warnings.simplefilter("ignore", OverconstrainedWarning)
            sim = Simulation(scene, precision=precision, threads=1, sleep=False, substeps=substeps)
        anchors = [Anchor(sim, *pair) for pair in pairs]
        sim.step(720 if corners else 120)
        masses = np.array([body.mass for body in scene.bodies])
        held, rest = np.zeros(3), masses[:, None] * (0.0, -_G, 0.0)
        for (a, b, _), joint in zip(ends, joints, strict=True):
            force = sim.forces(joint).force
            rest[a] -= force
            if b >= 0:
                rest[b] += force
            else:
                held -= force
        weight, case = _G * float(masses.sum()), f"{rows} x {columns} {kind}, masses 1:{ratio:g}, {substeps} substeps"
        case += ", by its corners" if corners else ""
        gap = max(float(np.linalg.norm(anchor.gap(sim))) for anchor in anchors)
        yield at_most(f"largest gap [m], {case}", 1e-4, gap, theory="goal")
        yield equal(f"force that holds it over its weight, {case}", 1.0, float(held[1]) / weight, relative=1e-6,
                    theory="statics")  # fmt: skip
        yield at_most(f"forces on a body that is out of balance over the weight, {case}", 1e-6,
                      float(np.abs(rest).max()) / weight, theory="at rest")  # fmt: skip


def _pair(kind: str, first: np.ndarray, second: np.ndarray, substeps: int) -> Simulation:
    """Two bodies with a joint off their centres, that turn at two angular velocities without parting there."""
    scene, where = weightless(), np.array([0.1, 0.05, 0.02])
    at, other = np.array([0.5, 0.0, 0.0]), np.array([-0.2, 0.0, 0.0])
    speed = np.cross(first, where)
    options: dict[str, Any] = {} if kind in ("fixed", "ball") else {"axis": (0, 1, 0)}
    a = scene.add_rigid_body(None, mass=2.0, inertia=(0.015, 0.01, 0.02), position=at, angular_velocity=first,
                             velocity=np.cross(first, at))  # fmt: skip
    b = scene.add_rigid_body(None, mass=5.0, inertia=(0.03, 0.025, 0.01), position=other, angular_velocity=second,
                             velocity=speed - np.cross(second, where - other))  # fmt: skip
    scene.add_joint(kind, a, b, anchor=where, **options)
    return single(scene, substeps=substeps)


@check("jointed bodies keep their angular momentum", "forces of a joint are opposite and act at one point",
       precisions=ONE)  # fmt: skip
def pairs(_: str) -> Iterator[Measurement]:
    """Pairs of free bodies that turn for ten seconds, as one or about each other.

    What a joint returns in the next substep is missing as a substep ends: h (v_a - v_b) x f, (w h)^2 of L, for ever.
    """
    for kind, first, second in (
        ("fixed", (0.0, 2.0, 0.0), (0.0, 2.0, 0.0)),
        ("hinge", (0.0, 3.0, 0.0), (0.0, -1.0, 0.0)),
        ("ball", (0.3, 2.0, 0.5), (1.0, -1.0, 2.0)),
        ("ball", (0.3, 0.2, 0.5), (3.0, 0.0, -3.0)),
    ):
        for substeps in (2, 4, 8):
            sim = _pair(kind, np.array(first), np.array(second), substeps)
            before, energy, worst, fastest = sim.angular_momentum(), sim.energy().kinetic, 0.0, 0.0
            for _step in range(600):
                sim.step()
                lost = float(np.linalg.norm(sim.angular_momentum() - before) / np.linalg.norm(before))
                worst = max(worst, lost)
                fastest = max(fastest, float(np.linalg.norm(sim.state.body_angular_velocities, axis=1).max()))
            wh, case = fastest * sim.settings.substep, f"{kind}, {first} and {second} rad/s, {substeps} substeps"
            yield at_most(f"largest change of L in 10 s over L, {case}", 2.0 * wh * wh, worst,
                          theory="of a substep: (w h)^2 with a factor of two")  # fmt: skip
            yield at_most(f"change of the energy in 10 s over E, {case}", 2.0 * wh * wh,
                          abs(sim.energy().kinetic / energy - 1.0),
                          theory="second order: (w h)^2 with a factor of two")  # fmt: skip


def _head(w: float, radius: float, neck: float, height: float, **settings: Any) -> tuple[Simulation, BodyHandle]:
    """A head on the floor whose neck ends at a height, that rolls about it at an angular velocity [rad/s]."""
    scene, length = Scene(), 0.02
    scene.add_collider(Plane(), friction=0.6)
    slope = math.asin((height - radius) / (neck + 0.5 * length))
    axis, end = np.array([math.cos(slope), -math.sin(slope), 0.0]), np.array([0.0, height, 0.0])
    touching = (neck + 0.5 * length) * axis - (0.0, radius, 0.0)
    rotation = w * touching / np.linalg.norm(touching)
    head = scene.add_rigid_body(
        Capsule(radius, length), density=1000.0, position=end + neck * axis, velocity=np.cross(rotation, neck * axis),
        angular_velocity=rotation, rotation=turn(np.cross((0.0, 1.0, 0.0), axis), math.acos(axis[1])), friction=0.6,
    )  # fmt: skip
    scene.add_joint("ball", head, anchor=end)
    return single(scene, **settings), head


@check("a head rolls about its neck", "a cone that rolls on a level floor keeps its speed", precisions=ONE)
def heads(_: str) -> Iterator[Measurement]:
    """A capsule that rolls on the floor about a ball joint, which it presses: its speed from 1 s to 11 s."""
    for solver in ("direct", "sweeps"):
        for w, radius, neck, height, substeps in (
            (0.5, 0.11, 0.16, 0.16, 4), (0.5, 0.11, 0.16, 0.16, 8), (0.25, 0.11, 0.16, 0.14, 4),
            (1.0, 0.05, 0.1, 0.09, 8),
        ):  # fmt: skip
            sim, head = _head(w, radius, neck, height, substeps=substeps, rigid_solver=solver)
            sim.step(60)
            before = float(np.linalg.norm(spin(sim, head)))
            sim.step(600)
            after = float(np.linalg.norm(spin(sim, head)))
            case = f"{w:g} rad/s, radius {radius:g} m, {substeps} substeps, {solver}"
            yield at_most(f"change of the speed in 10 s, {case}", 10.0 * w * w * sim.settings.substep + 1e-3,
                          abs(after / before - 1.0), theory="w h of w a second; settling of soft contacts")  # fmt: skip
            yield at_least(f"speed over that at the start, {case}", 0.9, before / w, theory="it rolls from the start")
