"""Joints by themselves: what each kind holds and leaves free, derivatives, balance of forces, drift, gears, loops."""

import itertools

import numpy as np
import pytest
from joint_reference import World, exponential, two_bodies

import shinari as sn
from shinari.geometry.motion import quaternion_product, rotation_matrix
from shinari.systems.rigid.joints.loops import warn_of_loops
from shinari.systems.rigid.joints.measures import place_of
from shinari.systems.rigid.joints.rows import hold_ball, hold_joint
from shinari.systems.rigid.joints.table import JOINT_STIFFNESS
from shinari.systems.rigid.joints.values import FORCE, STIFFNESS
from shinari.systems.rigid.system import RigidBodySystem

KINDS = {
    "fixed": 6,
    "ball": 3,
    "hinge": 5,
    "slider": 5,
    "cylindrical": 4,
    "universal": 4,
    "planar": 3,
    "distance": 1,
    "gear": 1,
}


def arguments(kind, rng, at=(0.0, 0.0, 0.0), skew=True):
    """What `add_joint` needs for a kind, at random."""
    axis = rng.normal(size=3)
    given = {} if kind == "gear" else {"anchor": np.asarray(at) + rng.normal(size=3) * 0.4}
    if kind == "distance":
        given["second_anchor"] = given["anchor"] + rng.normal(size=3)
    if kind not in ("fixed", "ball", "distance"):
        given["axis"] = axis
    if kind in ("universal", "gear"):
        given["second_axis"] = np.cross(axis, rng.normal(size=3)) + (0.3 * axis if skew else 0.0)
    if kind == "gear":
        given["ratio"] = rng.uniform(0.5, 3.0) * rng.choice([-1.0, 1.0])
    return given


def set_free(world, kind, rng):
    """Move body a by what a joint leaves free, so that C stays zero."""
    f, joint = world.frames, world.scene.joints[0]
    numbers = world.joints.table.numbers[0]
    arms = [rotation_matrix(f.q[i]) @ numbers[3 * i : 3 * i + 3] for i in (0, 1)]
    axis = rotation_matrix(quaternion_product(f.q[1], numbers[10:14]))[:, 0]
    across = np.linalg.svd(axis[None])[2][1:]
    turn, shift = np.zeros(3), np.zeros(3)
    if kind in ("hinge", "cylindrical", "planar"):
        turn = axis * rng.uniform(-3.0, 3.0)
    if kind == "ball":
        turn = rng.normal(size=3)
    if kind in ("slider", "cylindrical"):
        shift = axis * rng.normal()
    if kind == "planar":
        shift = rng.normal(size=2) @ across
    if kind == "universal":
        own = rotation_matrix(quaternion_product(f.q[0], numbers[6:10]))[:, 0]
        first, second = exponential(own * rng.uniform(-1.0, 1.0)), exponential(axis * rng.uniform(-1.0, 1.0))
        move_about(f, arms, quaternion_product(second, first), shift)
        return
    if kind == "distance":
        between = f.x[0] + arms[0] - f.x[1] - arms[1]
        shift = rotation_matrix(exponential(rng.normal(size=3))) @ between - between
        turn = rng.normal(size=3)
    if kind == "gear":
        return
    assert joint.kind == kind
    move_about(f, arms, exponential(turn), shift)


def move_about(f, arms, turn, shift):
    """Turn body a about its anchor and shift it."""
    anchor = f.x[0] + arms[0]
    f.x[0] = anchor + shift - rotation_matrix(turn) @ arms[0]
    f.q[0] = quaternion_product(turn, f.q[0])
    f.q[0] /= np.linalg.norm(f.q[0])
    f.x0[...], f.q0[...] = f.x, f.q


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_directions_held_and_their_change(kind, seed):
    """The rank of the stiffness is the number of directions held, and the force changes by -K d."""
    rng = np.random.default_rng(seed)
    scene, a, b = two_bodies(rng, at=rng.normal(size=3) * 10.0)
    scene.add_joint(kind, a, b, **arguments(kind, rng, at=scene.bodies[0].position))
    world = World(scene, h=1 / 600)
    set_free(world, kind, rng)
    world.evaluate()
    k, force = world.system()
    k = k[:12, :12]
    values = np.sort(np.linalg.eigvalsh(k))[::-1]
    assert (values > 1e-9 * values[0]).sum() == KINDS[kind]
    # held at the start, but for rounding of 1e-15 m and rad
    assert np.abs(force).max() < 1e-13 * 10.0 * values[0]
    size = 1e-6
    for _ in range(6):
        motion = rng.normal(size=12) * size
        kept = [array.copy() for array in (world.frames.x, world.frames.q)]
        for i in (0, 1):
            world.move(i, motion[6 * i : 6 * i + 6])
        world.start_substep()
        world.evaluate()
        _, there = world.system()
        change = there[:12] - force[:12]
        world.frames.x[...], world.frames.q[...] = kept
        # arms turn and rows curve, by a radius of a tenth of a metre at least: second order in motions of 3 size
        assert np.abs(change + k @ motion).max() < 100.0 * size**2 * np.abs(k).max()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_forces_balance(kind, seed):
    """Off its place by centimetres, a joint pushes both bodies equally, without a moment of its own."""
    rng = np.random.default_rng(seed)
    far = np.array([1e3, -2e3, 3e3])
    scene, a, b = two_bodies(rng, at=far)
    scene.add_joint(kind, a, b, **arguments(kind, rng, at=far))
    world = World(scene)
    for i in (0, 1):
        world.move(i, rng.normal(size=6) * 0.05)
    world.evaluate()
    k, force = world.system()
    x = world.frames.x[:2] - far
    size = np.abs(force).max()
    assert size > 0.0
    assert np.abs(force[:3] + force[6:9]).max() < 1e-12 * size
    moment = force[3:6] + force[9:12] + np.cross(x[0], force[:3]) + np.cross(x[1], force[6:9])
    # arms are differences of places 4 km away, in 1e-12 m
    if kind != "gear":  # its shafts need bearings, which take the moment
        assert np.abs(moment).max() < 1e-10 * size
    # a rigid motion of both does not load it
    rigid = np.concatenate([rng.normal(size=3), np.zeros(3)] * 2)
    rigid[6:9] = rigid[:3]
    assert np.abs(k[:12, :12] @ rigid).max() < 1e-9 * np.abs(k).max()


@pytest.mark.parametrize("kind", ["fixed", "ball", "hinge", "slider", "cylindrical", "universal", "planar", "distance"])
def test_stays_together(kind):
    """Two tumbling bodies on a joint to the world: no drift, and momentum goes through the joint alone."""
    rng = np.random.default_rng(7)
    scene, a, b = two_bodies(rng, gravity=(0.0, -9.81, 0.0))
    given = arguments(kind, rng)
    scene.add_joint(kind, a, b, **given)
    scene.add_joint("ball", b, anchor=scene.bodies[1].position + np.array((0.3, 0.2, 0.0)))
    world = World(scene, h=1 / 1200, steps=3)
    world.frames.w[:2] = rng.normal(size=(2, 3))
    worst = 0.0
    for _ in range(150):
        world.step(4)
        world.start_substep()
        world.evaluate()
        world.start_substep()
        rows = world.joints.values.rows[0]
        # f = -k C of the rows held
        force, stiff = rows[15:21], rows[25:31]
        error = np.abs(np.where(stiff > 0.0, force / np.where(stiff > 0.0, stiff, 1.0), 0.0))
        worst = max(worst, error.max())
    # C = t / k: moments up to the weight of 2.7 kg at 2 m, twice that in motion, and k = STIFF I / (2 h^2), I = 0.09
    acceleration = 2.0 * 2.7 * 9.81 * 2.0 / (0.5 * 0.09)
    assert worst < acceleration * world.h**2 / JOINT_STIFFNESS


def test_weight_is_read():
    """A resting body loads the world with its weight, at its arm."""
    for kind, extra in (("fixed", {}), ("slider", {"axis": (1, 0, 0)}), ("universal", None)):
        scene = sn.Scene()
        body = scene.add_rigid_body(sn.Box((0.4, 0.2, 0.2)), mass=3.0, position=(0.5, 0.0, 0.0))
        extra = {"axis": (1, 0, 0), "second_axis": (0, 0, 1)} if extra is None else extra
        scene.add_joint(kind, body, anchor=(0.0, 0.0, 0.0), **extra)
        world = World(scene)
        # the universal joint leaves the turn about z free: the other end hangs on a string
        if kind == "universal":
            scene.add_joint("distance", body, anchor=(1.0, 0.0, 0.0), second_anchor=(1.0, 2.0, 0.0))
            world = World(scene)
        world.step(300)
        load = world.joints.load(0)
        share = 0.5 if kind == "universal" else 1.0
        np.testing.assert_allclose(load.force, [0.0, -share * 3.0 * 9.81, 0.0], atol=1e-5)
        torque = 0.0 if kind == "universal" else -3.0 * 9.81 * 0.5
        np.testing.assert_allclose(load.torque, [0.0, 0.0, torque], atol=1e-5)


@pytest.mark.parametrize("compliance", [1e-6, 1e-4, 1e-2])
def test_compliance_gives_way(compliance):
    """A weight m g sinks by alpha m g, on a spring and on a soft ball joint; a moment turns by alpha t."""
    scene = sn.Scene()
    a = scene.add_rigid_body(sn.Sphere(0.1), mass=2.0)
    b = scene.add_rigid_body(sn.Sphere(0.1), mass=2.0, position=(5, 0, 0))
    c = scene.add_rigid_body(sn.Sphere(0.1), mass=2.0, position=(9, 0, 0))
    damping = 2.0 * np.sqrt(2.0 / compliance)
    scene.add_joint("distance", a, anchor=(0, 0, 0), second_anchor=(0, 2, 0), compliance=compliance, damping=damping)
    scene.add_joint("ball", b, anchor=(5, 0, 0), compliance=compliance)
    scene.add_joint("fixed", c, anchor=(9, 0, 0), angular_compliance=compliance)
    world = World(scene, steps=2)
    world.torques[2] = (0.0, 0.0, 0.5)
    # as good as critical damping, for the time that takes
    rates = 1.0 / np.sqrt(compliance * np.array([2.0, 0.4 * 2.0 * 0.1**2]))
    for _ in range(100 + int(8.0 / rates[0] / world.h)):
        world.step(1)
        world.frames.v[1] *= np.exp(-2.0 * rates[0] * world.h)
        world.frames.w[2] *= np.exp(-2.0 * rates[1] * world.h)
    sunk = compliance * 2.0 * 9.81
    np.testing.assert_allclose([world.frames.x[0, 1], world.frames.x[1, 1]], -sunk, rtol=2e-3)
    turn = 2.0 * np.arcsin(world.frames.q[2, 3])
    np.testing.assert_allclose(turn, compliance * 0.5, rtol=2e-3)


@pytest.mark.parametrize("ratio", [2.0, -0.75])
def test_gear_turns(ratio):
    """Wheels on shafts: a turns `ratio` times as far as b over many turns, and inertia adds as ratio^2 I_a + I_b."""
    scene = sn.Scene(gravity=(0, 0, 0))
    a = scene.add_rigid_body(sn.Cylinder(0.2, 0.1), mass=1.0)
    b = scene.add_rigid_body(sn.Cylinder(0.4, 0.1), mass=2.0, position=(1, 0, 0))
    scene.add_joint("hinge", a, anchor=(0, 0, 0), axis=(0, 1, 0))
    scene.add_joint("hinge", b, anchor=(1, 0, 0), axis=(0, 1, 0))
    gear = scene.add_joint("gear", a, b, axis=(0, 1, 0), ratio=ratio)
    world = World(scene, h=1 / 300, steps=2)
    world.torques[1] = (0.0, 12.0, 0.0)
    world.step(300)
    angles = world.joints.values.angles
    inertia = ratio**2 * 0.5 * 1.0 * 0.2**2 + 0.5 * 2.0 * 0.4**2
    assert abs(world.joints.state(1, world.frames).speed * inertia / 12.0 - 1.0) < 1e-6
    assert abs(angles[0] - ratio * angles[1]) < 1e-7
    assert abs(angles[1]) > 4.0 * np.pi
    # the moment on b is what wheel a takes: -ratio I_a (ratio alpha)
    taken = -(ratio**2) * 0.5 * 0.2**2 * 12.0 / inertia
    np.testing.assert_allclose(world.joints.load(gear.index).torque, [0.0, taken, 0.0], rtol=1e-5, atol=1e-9)


def test_breaks_over_its_strength():
    """A joint that carries a weight lets go when its strength is below it, and then pushes no more."""
    for strength, holds in ((19.0, False), (20.2, True)):
        scene = sn.Scene()
        body = scene.add_rigid_body(sn.Sphere(0.1), mass=2.0)
        scene.add_joint("ball", body, anchor=(0, 0, 0), break_force=strength)
        world = World(scene)
        world.step(60)
        assert bool(world.joints.values.broken[0]) is not holds
        fall = 0.0 if holds else -0.5 * 9.81 * (60 / 600) ** 2
        assert abs(world.frames.x[0, 1] - fall) < 0.05 * 0.05
    scene = sn.Scene()
    body = scene.add_rigid_body(sn.Box((1, 0.1, 0.1)), mass=2.0, position=(0.5, 0, 0))
    scene.add_joint("fixed", body, anchor=(0, 0, 0), break_torque=9.0)
    world = World(scene)
    world.step(30)
    assert world.joints.values.broken[0]  # 9.81 N m


def chain(count, closed_with, axis=(0, 0, 1)):
    """A four-bar kind of loop: links around a polygon, the last bar is the world."""
    scene = sn.Scene()
    corners = np.array([[np.cos(t), np.sin(t), 0.0] for t in np.linspace(0.0, 4.5, count + 1)])
    links = [scene.add_rigid_body(sn.Sphere(0.05), position=0.5 * (p + q)) for p, q in itertools.pairwise(corners)]
    for k, corner in enumerate(corners):
        first, second = (links[k], None) if k == 0 else (links[k - 1], links[k] if k < count else None)
        kind = closed_with if k == count else "hinge"
        scene.add_joint(kind, first, second, anchor=corner, **({"axis": axis} if kind == "hinge" else {}))
    return scene


def test_loops_that_overconstrain_are_named():
    """A plane loop of hinges holds three directions twice; with a ball joint one, with two none; a tree nothing."""
    scene = chain(3, "hinge")
    with pytest.warns(sn.OverconstrainedWarning, match="3 directions twice") as caught:
        warn_of_loops(scene.bodies, scene.joints)
    assert all(repr(joint.name) in str(caught[0].message) for joint in scene.joints)
    scene = chain(3, "ball")
    with pytest.warns(sn.OverconstrainedWarning, match="1 direction twice"):
        warn_of_loops(scene.bodies, scene.joints)
    quiet = chain(3, "hinge")
    quiet.joints.pop()
    warn_of_loops(quiet.bodies, quiet.joints)
    two = sn.Scene()
    door = two.add_rigid_body(sn.Box((1, 2, 0.1)), position=(0.5, 0, 0))
    for y in (-0.8, 0.8):
        two.add_joint("hinge", door, anchor=(0, y, 0), axis=(0, 1, 0))
    arm = two.add_rigid_body(sn.Sphere(0.1), position=(3, 0, 0))
    two.add_joint("fixed", arm, door, anchor=(2, 0, 0))
    with pytest.warns(sn.OverconstrainedWarning, match=r"'joint', 'joint_2' close.* 5 directions") as caught:
        warn_of_loops(two.bodies, two.joints)
    soft = sn.Scene()
    door = soft.add_rigid_body(sn.Box((1, 2, 0.1)), position=(0.5, 0, 0))
    soft.add_joint("hinge", door, anchor=(0, 0, 0), axis=(0, 1, 0))
    soft.add_joint("hinge", door, anchor=(0, 1, 0), axis=(0, 1, 0), compliance=1e-6, angular_compliance=1e-6)
    warn_of_loops(soft.bodies, soft.joints)


def test_loop_that_is_held_twice_still_holds():
    """A door on two hinges, which share its weight somehow, hangs still."""
    scene = sn.Scene()
    door = scene.add_rigid_body(sn.Box((1, 2, 0.1)), mass=20.0, position=(0.5, 0, 0))
    for y in (-0.8, 0.8):
        scene.add_joint("hinge", door, anchor=(0, y, 0), axis=(0, 1, 0))
    world = World(scene)
    world.step(200)
    loads = [world.joints.load(j) for j in (0, 1)]
    np.testing.assert_allclose(loads[0].force + loads[1].force, [0, -20 * 9.81, 0], atol=1e-4)
    assert np.abs(world.frames.x[0] - [0.5, 0, 0]).max() < 1e-8


@pytest.mark.parametrize("compliance", [0.0, 1e-3])
def test_a_ball_without_limits_is_held_along_any_axes(compliance):
    """Its element is that which the axes of the joint give, and so is the energy that it stores."""
    scene = sn.Scene(gravity=(0, 0, 0))
    bodies = [scene.add_rigid_body(sn.Box((0.2, 0.1, 0.3)), position=(0.2 * k, 0, 0)) for k in range(2)]
    scene.add_joint("ball", *bodies, anchor=(0.1, 0.02, 0), compliance=compliance)
    system = sn.Simulation(scene)._bound.get(RigidBodySystem)
    equations, frames, h = system.equations, system.frames, 1.0 / 600.0
    data, values, elements = equations.joints.data, equations.joints.values, equations.elements
    rng = np.random.default_rng(3)
    frames.x[:2] += 0.01 * rng.standard_normal((2, 3))
    q = rng.standard_normal((2, 4))
    frames.q[:2] = q / np.linalg.norm(q, axis=1)[:, None]
    found = []
    for ball in (True, False):
        if ball:
            hold_ball(0, data, values, elements, frames, h)
        else:
            hold_joint(0, data, values, elements, place_of(data.codes, data.numbers, 0, frames.x, frames.q), h)
        stiff = values.rows[0, STIFFNESS : STIFFNESS + 3]
        energy = (values.rows[0, FORCE : FORCE + 3] ** 2 / stiff).sum()
        found.append(np.concatenate([elements.arms[0], elements.force[0], elements.stiffness[0], stiff, [energy]]))
    assert np.abs(found[0][6:9]).max() > 1.0
    assert found[0] == pytest.approx(found[1], rel=1e-9, abs=1e-9 * np.abs(found[1]).max())
