"""Limits and motors of joints: where they stop, what they push with, several turns, saturation."""

import numpy as np
import pytest
from joint_reference import World, two_bodies

import shinari as sn
from shinari.geometry.motion import quaternion_product


def bar(**joint):
    """A bar of 2 kg and 1 m on a hinge about z at its end, hanging along -y, and its inertia about the hinge."""
    scene = sn.Scene(gravity=joint.pop("gravity", (0.0, -9.81, 0.0)))
    body = scene.add_rigid_body(sn.Box((0.1, 1.0, 0.1)), mass=2.0, position=(0, -0.5, 0))
    scene.add_joint("hinge", body, anchor=(0, 0, 0), axis=(0, 0, 1), **joint)
    return World(scene), 2.0 * (1.0 + 0.01) / 12.0 + 2.0 * 0.25


def wheel(**joint):
    """A wheel of 2 kg on a hinge along its axle, and its inertia: no prediction leaves its circle."""
    scene = sn.Scene(gravity=(0, 0, 0))
    body = scene.add_rigid_body(sn.Cylinder(0.5, 0.1), mass=2.0)
    scene.add_joint("hinge", body, anchor=(0, 0, 0), axis=(0, 1, 0), **joint)
    return World(scene), 0.5 * 2.0 * 0.25


def block(**joint):
    """A block of 3 kg that slides up and down."""
    scene = sn.Scene(gravity=joint.pop("gravity", (0.0, -9.81, 0.0)))
    body = scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), mass=3.0)
    scene.add_joint("slider", body, anchor=(0.3, 0, 0), axis=(0, 1, 0), **joint)
    return World(scene)


def set_spin(world, spin):
    """Turn the bar about its hinge."""
    world.frames.w[0], world.frames.v[0] = (0, 0, spin), np.cross((0, 0, spin), world.frames.x[0])


@pytest.mark.parametrize("limits", [(-0.4, 0.3), (-0.1, np.inf), (0.0, 0.0)])
def test_hinge_stops_at_its_limits(limits):
    world, _ = bar(limits=limits)
    for spin in (6.0, -6.0):
        set_spin(world, spin)
        for _ in range(120):
            world.step()
            angle = world.joints.state(0, world.frames).angle
            assert limits[0] - 1e-6 <= angle <= limits[1] + 1e-6


@pytest.mark.parametrize("compliance", [0.0, 1e-5, 1e-3])
def test_slider_rests_on_its_limit(compliance):
    """The block sinks by alpha m g into a soft stop, which carries its weight."""
    world = block(limits=(-0.02, 1.0), limit_compliance=compliance, damping=100.0)
    world.step(900)
    state, load = world.joints.state(0, world.frames), world.joints.load(0)
    np.testing.assert_allclose(state.travel, -0.02 - compliance * 3.0 * 9.81, atol=1e-8 + 2e-4 * compliance)
    np.testing.assert_allclose(load.force, (0, -3.0 * 9.81, 0), atol=1e-2)


def test_limits_beyond_a_turn():
    """A limit at more than a turn is met after more than a turn, both ways round."""
    for sign in (1.0, -1.0):
        world, _ = bar(gravity=(0, 0, 0), limits=(-10.0, 10.0))
        set_spin(world, sign * 20.0)
        angles = []
        for _ in range(360):
            world.step()
            angles.append(world.joints.state(0, world.frames).angle)
        assert abs(max(np.abs(angles)) - 10.0) < 0.04  # within 20 rad/s h of it when it stops
        assert max(np.abs(angles)) < 10.0 + 1e-6


@pytest.mark.parametrize("swing", [0.3, 1.2, 2.5])
def test_swing_stays_in_its_cone(swing):
    rng = np.random.default_rng(3)
    scene, a, b = two_bodies(rng)
    scene.add_joint("ball", a, b, anchor=(0, 0, 0), axis=(1, 2, 0), swing_limit=swing)
    world = World(scene, steps=6)
    reached = 0.0
    for k in range(400):
        if k % 80 == 0:
            # about an axis across, so that the axes part
            across = rng.normal(size=3)
            world.frames.w[:2] = np.outer((10.0, -10.0), across / np.linalg.norm(across))
            world.frames.v[:2] = 0.0
        world.step()
        p = relative(world)
        angle = 2.0 * np.arctan2(np.hypot(p[2], p[3]), np.hypot(p[0], p[1]))
        reached = max(reached, angle)
    # one step ends straight on from where it was: of second order in the way of a substep, 0.03 rad
    assert 0.95 * swing < reached < swing + 1e-3


@pytest.mark.parametrize("kind", ["ball", "cylindrical"])
def test_twist_stays_within(kind):
    rng = np.random.default_rng(5)
    scene, a, b = two_bodies(rng)
    scene.add_joint(kind, a, b, anchor=(0, 0, 0), axis=(0, 1, 1), twist_limits=(-0.5, 0.8))
    world = World(scene, steps=6)
    seen = []
    for k in range(300):
        if k % 60 == 0:
            # about the axis, and where the axis may swing a little across it
            world.frames.w[:2] = np.array([[0, 1, 1], [0, -1, -1]]) * (14.0 if k % 120 else -14.0) + rng.normal(size=3)
            world.frames.v[:2] = 0.0
        world.step()
        p = relative(world)
        seen.append(2.0 * np.arctan2(p[1], p[0]))
    assert max(seen) < 0.8 + 1e-3
    assert min(seen) > -0.5 - 1e-3
    assert max(seen) > 0.75
    assert min(seen) < -0.45


def relative(world):
    """Joint frame of a from that of b, on the short way."""
    numbers, q = world.joints.table.numbers[0], world.frames.q
    a, b = quaternion_product(q[0], numbers[6:10]), quaternion_product(q[1], numbers[10:14])
    p = quaternion_product(b * [1, -1, -1, -1], a)
    return p if p[0] >= 0.0 else -p


def test_rope_of_a_distance():
    """A distance with limits alone is a rope: free below its length, a weight on it at its length."""
    scene = sn.Scene()
    body = scene.add_rigid_body(sn.Sphere(0.1), mass=2.0)
    scene.add_joint("distance", body, anchor=(0, 0, 0), second_anchor=(0, 0.5, 0), limits=(0.0, 0.75), damping=1.0)
    world = World(scene)
    world.step(60)
    assert abs(world.frames.x[0, 1] + 0.5 * 9.81 * 0.1**2) < 0.01
    assert np.abs(world.joints.load(0).force).max() < 3.0
    world.step(600)
    assert abs(world.frames.x[0, 1] + 0.25) < 1e-7
    np.testing.assert_allclose(world.joints.load(0).force, (0, -2.0 * 9.81, 0), atol=1e-5)


@pytest.mark.parametrize("most", [2.0, 8.0])
def test_velocity_motor_accelerates_with_its_largest_moment(most):
    """Omega = T t / I until the speed is reached, which then stays; the moment is read at the joint."""
    world, inertia = wheel(motor=sn.VelocityMotor(9.0, max_force=most))
    before = int(0.8 * 9.0 * inertia / most / world.h)
    world.step(before)
    state = world.joints.state(0, world.frames)
    np.testing.assert_allclose(state.speed, most * before * world.h / inertia, rtol=1e-6)
    np.testing.assert_allclose(world.joints.load(0).torque, (0, -most, 0), rtol=1e-9, atol=1e-9)
    world.step(before)
    state = world.joints.state(0, world.frames)
    np.testing.assert_allclose(state.speed, 9.0, rtol=1e-6)
    assert abs(world.joints.load(0).torque[1]) < 1e-3
    # a quarter of a turn was lost to nobody: the angle is the integral of the speed
    time, rise = 2 * before * world.h, 9.0 * inertia / most
    np.testing.assert_allclose(state.angle, 9.0 * (time - 0.5 * rise), rtol=1e-2)


@pytest.mark.parametrize("target", [0.7, -1.5, 2.5])
def test_servo_holds_its_load(target):
    """The torque of a hard servo is m g r sin(angle), and it stands at its target."""
    world, _ = bar(motor=sn.Servo(target, max_force=60.0))
    world.step(900)
    state = world.joints.state(0, world.frames)
    assert abs(state.angle - target) < 1e-6
    assert abs(state.speed) < 1e-6
    np.testing.assert_allclose(world.joints.load(0).torque[2], -2.0 * 9.81 * 0.5 * np.sin(target), rtol=1e-5)


def test_weak_servo_gives_way():
    """A servo too weak for its load ends where m g r sin(angle) is its moment, pushing with all of it."""
    world, inertia = bar(motor=sn.Servo(1.5, max_force=5.0), damping=3.0)
    assert inertia > 0.0
    world.step(3000)
    state = world.joints.state(0, world.frames)
    np.testing.assert_allclose(np.sin(state.angle), 5.0 / (2.0 * 9.81 * 0.5), rtol=1e-4)


@pytest.mark.parametrize("stiffness", [50.0, 2000.0])
def test_springy_servo_deflects(stiffness):
    """Stiffness (target - angle) balances the weight; the period of small swings is 2 pi sqrt(I / (k + m g r))."""
    world, inertia = bar(motor=sn.Servo(1.0, stiffness=stiffness, damping=2.0 * np.sqrt(stiffness * 0.7)))
    world.step(2400)
    state = world.joints.state(0, world.frames)
    weight = 2.0 * 9.81 * 0.5 * np.sin(state.angle)
    np.testing.assert_allclose(stiffness * (1.0 - state.angle), weight, rtol=1e-4)
    world, inertia = bar(motor=sn.Servo(0.0, stiffness=stiffness))
    set_spin(world, 0.2)
    world.step(50)
    angles = []
    for _ in range(1200):
        world.step()
        angles.append(world.joints.state(0, world.frames).angle)
    crossing = np.flatnonzero((np.array(angles[:-1]) < 0.0) & (np.array(angles[1:]) >= 0.0))
    times = [k + angles[k] / (angles[k] - angles[k + 1]) for k in crossing]
    period = 2.0 * np.pi * np.sqrt(inertia / (stiffness + 2.0 * 9.81 * 0.5))
    # implicit Euler lengthens the period by (omega h)^2 / 2 or so
    np.testing.assert_allclose(
        np.diff(times).mean() * world.h, period, rtol=(2.0 * np.pi / period * world.h) ** 2 + 1e-3
    )


def test_motor_of_a_slider_and_a_new_target():
    world = block(motor=sn.VelocityMotor(0.5, max_force=100.0))
    world.step(300)
    state = world.joints.state(0, world.frames)
    np.testing.assert_allclose((state.travel_speed, state.travel), (0.5, 0.25), rtol=2e-2)
    np.testing.assert_allclose(world.joints.load(0).force, (0, -3 * 9.81, 0), atol=1e-4)
    world.joints.drive(0, sn.VelocityMotor(-0.25, max_force=100.0).drive("j"), 0.0)
    world.step(200)
    np.testing.assert_allclose(world.joints.state(0, world.frames).travel_speed, -0.25, rtol=1e-6)


def test_damping_of_free_directions():
    """Omega decays at c / I about a hinge, v at c / m along a slider."""
    world, inertia = wheel(damping=0.5)
    world.frames.w[0, 1] = 2.0
    world.step(600)
    ratio = world.joints.state(0, world.frames).speed / 2.0
    # implicit: (1 + c h / I)^-n
    np.testing.assert_allclose(ratio, (1.0 + 0.5 * world.h / inertia) ** -600, rtol=1e-4)
    world = block(gravity=(0, 0, 0), damping=4.0)
    world.frames.v[0, 1] = 1.0
    world.step(300)
    np.testing.assert_allclose(world.frames.v[0, 1], (1.0 + 4.0 * world.h / 3.0) ** -300, rtol=1e-9)


BAD = [
    ({"kind": "weld", "anchor": (0, 0, 0)}, "kind: expected one of fixed, ball"),
    ({"kind": "ball"}, "anchor: has to be given"),
    ({"kind": "ball", "anchor": (0, 0)}, "anchor: expected shape"),
    ({"kind": "hinge", "anchor": (0, 0, 0)}, "axis: has to be given"),
    ({"kind": "hinge", "anchor": (0, 0, 0), "axis": (0, 0, 0)}, "axis: a vector of length zero"),
    ({"kind": "hinge", "anchor": (0, 0, 0), "axis": (0, 0, np.nan)}, "axis: not a finite"),
    ({"kind": "hinge", "anchor": (0, 0, 0), "axis": (0, 0, 1), "second_anchor": (0, 0.03, 0)}, "0.03 m apart"),
    ({"kind": "hinge", "anchor": (0, 0, 0), "axis": (0, 0, 1), "second_axis": (0, 1, 1)}, "axes differ by 0.785"),
    (
        {"kind": "hinge", "anchor": (0, 0, 0), "axis": (0, 0, 1), "limits": (0.2, -0.2)},
        "limits: the lower, 0.2, is above",
    ),
    (
        {"kind": "hinge", "anchor": (0, 0, 0), "axis": (0, 0, 1), "limits": (0.2, 0.4)},
        "limits: it starts at 0, outside",
    ),
    ({"kind": "hinge", "anchor": (0, 0, 0), "axis": (0, 0, 1), "limits": 0.4}, r"limits: expected \(least, largest\)"),
    ({"kind": "hinge", "anchor": (0, 0, 0), "axis": (0, 0, 1), "twist_limits": (-1, 1)}, "bounded by limits"),
    ({"kind": "ball", "anchor": (0, 0, 0), "limits": (-1, 1)}, "limits: not a field of this kind.*see swing_limit"),
    ({"kind": "ball", "anchor": (0, 0, 0), "swing_limit": 0.5}, "axis: has to be given with limits"),
    ({"kind": "ball", "anchor": (0, 0, 0), "axis": (1, 0, 0), "swing_limit": 3.5}, "swing_limit: must be at most"),
    ({"kind": "ball", "anchor": (0, 0, 0), "motor": sn.Servo(0.0)}, "motor: not a field of this kind"),
    ({"kind": "fixed", "anchor": (0, 0, 0), "damping": 1.0}, "damping: not a field of this kind.*nothing free"),
    ({"kind": "fixed", "anchor": (0, 0, 0), "axis": (1, 0, 0)}, "axis: not a field of this kind"),
    (
        {"kind": "universal", "anchor": (0, 0, 0), "axis": (1, 0, 0)},
        "second_axis: a universal joint has an axis in each",
    ),
    ({"kind": "universal", "anchor": (0, 0, 0), "axis": (1, 0, 0), "second_axis": (-2, 0, 0)}, "parallel to axis"),
    ({"kind": "distance", "anchor": (0, 0, 0)}, "second_anchor: a distance has two ends"),
    ({"kind": "distance", "anchor": (0, 0, 0), "second_anchor": (0, 0, 0)}, "rest_length: without any"),
    (
        {"kind": "distance", "anchor": (0, 0, 0), "second_anchor": (0, 1, 0), "limits": (0, 2), "rest_length": 1},
        "limits: a length",
    ),
    ({"kind": "gear", "axis": (1, 0, 0)}, "ratio: has to be given"),
    ({"kind": "gear", "axis": (1, 0, 0), "ratio": 0.0}, "ratio: 0 would fix"),
    ({"kind": "gear", "axis": (1, 0, 0), "ratio": 1.0, "anchor": (0, 0, 0)}, "anchor: not a field of this kind"),
    ({"kind": "hinge", "anchor": (0, 0, 0), "axis": (0, 0, 1), "ratio": 1.0}, "ratio: not a field of this kind"),
    ({"kind": "hinge", "anchor": (0, 0, 0), "axis": (0, 0, 1), "motor": 3.0}, "motor: expected a VelocityMotor"),
    (
        {"kind": "hinge", "anchor": (0, 0, 0), "axis": (0, 0, 1), "motor": sn.Servo(0.0, stiffness=-1.0)},
        "motor: stiffness",
    ),
    ({"kind": "hinge", "anchor": (0, 0, 0), "axis": (0, 0, 1), "motor": sn.VelocityMotor(np.inf)}, "motor: speed"),
    ({"kind": "ball", "anchor": (0, 0, 0), "compliance": -1.0}, "compliance: must be at least"),
    ({"kind": "ball", "anchor": (0, 0, 0), "break_force": 0.0}, "break_force: must be above"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_refuses(given, message):
    scene, a, b = two_bodies(np.random.default_rng(0))
    with pytest.raises(sn.SceneError, match=message):
        scene.add_joint(given["kind"], a, b, **{name: value for name, value in given.items() if name != "kind"})
    assert not scene.joints


def test_refuses_what_cannot_be_joined():
    scene, a, b = two_bodies(np.random.default_rng(0))
    still = scene.add_rigid_body(sn.Sphere(1.0), kinematic=True)
    other = sn.Scene().add_rigid_body(sn.Sphere(1.0))
    for pair, message in (
        ((a, a), "cannot be joined to itself"),
        ((still,), "neither 'body_3' nor the world"),
        ((a, other), "belongs to another scene"),
        ((a, "nobody"), "b: unknown name 'nobody'; expected a rigid body"),
    ):
        with pytest.raises(sn.SceneError, match=message):
            scene.add_joint("ball", *pair, anchor=(0, 0, 0))
    with pytest.raises(sn.SceneError, match="a gear couples two bodies"):
        scene.add_joint("gear", a, axis=(1, 0, 0), ratio=1.0)
    handle = scene.add_joint("prismatic", "body", b, anchor=(0, 0, 0), axis=(0, 2, 0), name="rail")
    assert scene["rail"] is handle
    assert scene.joints[handle.index].kind == "slider"
