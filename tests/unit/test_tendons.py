"""Tendons and couplings of joints: paths, laws, motors, many bodies, files, bad input."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import shinari as sn


def wheels(count: int, **options) -> tuple[sn.Scene, list]:
    """Wheels in a row on hinges about y."""
    scene = sn.Scene(gravity=(0, 0, 0))
    joints = []
    for k in range(count):
        wheel = scene.add_rigid_body(sn.Cylinder(0.1, 0.05), mass=1.0 + k, position=(k, 0, 0))
        joints.append(scene.add_joint("hinge", wheel, anchor=(k, 0, 0), axis=(0, 1, 0), name=f"j{k}", **options))
    return scene, joints


def test_a_chain_of_couplings_turns_as_one() -> None:
    scene, joints = wheels(4)
    for a, b in itertools.pairwise(joints):
        scene.couple_joints(b, a, (0, -2.0))
    sim = sn.Simulation(scene, substeps=10)
    joints[3].drive(sn.ForceMotor(0.1))
    sim.run(0.5, progress=False)
    angles = np.array([joint.angle for joint in joints])
    assert abs(angles[0]) > 1e-3
    assert np.allclose(angles[1:], -2.0 * angles[:-1], rtol=1e-6)


@pytest.mark.parametrize("solver", ["direct", "sweeps"])
def test_a_sum_over_many_joints_is_bounded(solver: str) -> None:
    """Three wheels are driven until the weighted sum of their angles is at its limit; their torques then balance."""
    scene, joints = wheels(3, damping=0.05)
    weights = (1.0, 2.0, -1.5)
    rope = scene.add_tendon(joints=dict(zip(joints, weights, strict=True)), limits=(-1.0, 1.0))
    sim = sn.Simulation(scene, substeps=20, rigid_solver=solver)
    for joint, weight in zip(joints, weights, strict=True):
        joint.drive(sn.ForceMotor(0.3 * weight))
    sim.run(2.0, progress=False)
    assert rope.length == pytest.approx(1.0, abs=1e-4 if solver == "direct" else 2e-2)
    if solver == "direct":
        assert rope.tension == pytest.approx(0.3, rel=1e-3)
        assert all(abs(joint.velocity) < 1e-2 for joint in joints)


def test_a_tendon_over_five_bodies_keeps_momentum() -> None:
    """Its forces sum to zero, and so do their moments."""
    rng = np.random.default_rng(4)
    scene = sn.Scene(gravity=(0, 0, 0))
    places = rng.normal(size=(5, 3))
    bodies = [scene.add_rigid_body(sn.Box((0.2, 0.3, 0.1)), mass=1.0 + k, position=p) for k, p in enumerate(places)]
    path: list = [sn.Via(bodies[0], places[0] + 0.1)]
    path += [
        sn.Via(body, place + np.array([0.05, 0, -0.1])) for body, place in zip(bodies[1:4], places[1:4], strict=True)
    ]
    path += [sn.Wrap(bodies[2], 0.02, places[2] + 0.3, axis=(1, 2, 0)), sn.Via(bodies[4], places[4] - 0.1)]
    rope = scene.add_tendon(path, stiffness=30.0, rest_length=0.5, damping=1.0)
    sim = sn.Simulation(scene, substeps=10)
    start = rope.length
    about = np.zeros(3)
    spin = sim.angular_momentum(about)
    sim.run(0.3, progress=False)
    assert rope.length < 0.9 * start
    assert np.abs(sim.momentum()).max() < 1e-9
    # to first order in the substep: forces act where the bodies are at its end
    size = rope.tension * 0.3 * float(np.linalg.norm(places, axis=1).max())
    assert np.abs(sim.angular_momentum(about) - spin).max() < 0.02 * size


@pytest.mark.parametrize("axis", [None, (0.3, 1.0, 0.2)])
@pytest.mark.parametrize("sided", [False, True])
def test_the_path_touches_its_shape_and_is_shortest(axis, sided: bool) -> None:
    """Lines touch at right angles to the radius, and no point of the straight lines lies within the shape."""
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(40):
        p, q, side = rng.normal(size=(3, 3)) * 0.5
        axes = None if axis is None else np.array(axis) / np.linalg.norm(axis)
        away = [v if axes is None else v - (v @ axes) * axes for v in (p, q, side)]
        if min(np.linalg.norm(v) for v in away) < 0.25:
            continue
        scene = sn.Scene()
        ball = scene.add_rigid_body(sn.Sphere(0.05), position=q)
        wrap = sn.Wrap(None, 0.2, (0, 0, 0), axis=axis, side=side if sided else None)
        rope = scene.add_tendon([sn.Via(None, p), wrap, sn.Via(ball, q)], limits=(0, np.inf))
        sim = sn.Simulation(scene)
        lines = rope.path
        assert rope.length >= np.linalg.norm(p - q) - 1e-12
        if len(lines) == 1:
            assert np.allclose(lines[0], [p, q])
            continue
        found += 1
        for at, line in ((lines[0][1], lines[0]), (lines[1][0], lines[1])):
            radial = at if axes is None else at - (at @ axes) * axes
            assert np.linalg.norm(radial) == pytest.approx(0.2, rel=1e-9)
            assert abs(radial @ (line[1] - line[0])) < 1e-9
        assert sim.time == 0.0
    assert found >= 3


@pytest.mark.parametrize("axis", [None, (0.3, 1.0, 0.2)])
def test_a_path_through_a_shape_meets_it_with_equal_angles(axis) -> None:
    rng = np.random.default_rng(8)
    found = 0
    for _ in range(40):
        p, q = rng.normal(size=(2, 3)) * 0.5
        axes = None if axis is None else np.array(axis) / np.linalg.norm(axis)
        away = [v if axes is None else v - (v @ axes) * axes for v in (p, q)]
        if min(np.linalg.norm(v) for v in away) < 0.25:
            continue
        scene = sn.Scene()
        ball = scene.add_rigid_body(sn.Sphere(0.05), position=q)
        wrap = sn.Wrap(None, 0.2, (0, 0, 0), axis=axis, through=True)
        rope = scene.add_tendon([sn.Via(None, p), wrap, sn.Via(ball, q)], limits=(0, np.inf))
        sim = sn.Simulation(scene)
        lines = rope.path
        if len(lines) == 1:
            assert rope.length == pytest.approx(np.linalg.norm(p - q))
            continue
        found += 1
        at = lines[0][1]
        assert np.allclose(lines[1][0], at, atol=1e-12)
        radial = at if axes is None else at - (at @ axes) * axes
        assert np.linalg.norm(radial) == pytest.approx(0.2, rel=1e-9)
        ends = [(end - at) / np.linalg.norm(end - at) for end in (p, q)]
        # what both lines pull on the point is along its radius
        pull = ends[0] + ends[1]
        assert np.linalg.norm(pull - (pull @ radial) * radial / 0.04) < 1e-7
        assert sim.time == 0.0
    assert found >= 10


def test_motors_pull_hold_and_wind() -> None:
    scene = sn.Scene(gravity=(0, -9.81, 0))
    ball = scene.add_rigid_body(sn.Sphere(0.1), mass=2.0, position=(0, -1, 0))
    rope = scene.add_tendon([sn.Via(None, (0, 0, 0)), sn.Via(ball, (0, -1, 0))], max_force=100.0, name="rope")
    with pytest.raises(sn.SceneError, match="there is no simulation"):
        assert rope.length
    sim = sn.Simulation(scene, substeps=10)
    assert rope.motor is None
    with pytest.raises(sn.SceneError, match=r"tendon 'rope': it has no motor"):
        rope.drive(1.0)
    rope.drive(sn.Servo(0.8, 2000.0, 200.0))
    sim.run(2.0, progress=False)
    assert rope.length == pytest.approx(0.8 + 2.0 * 9.81 / 2000.0, rel=1e-3)
    assert rope.tension == pytest.approx(2.0 * 9.81, rel=1e-3)
    rope.drive(0.6)
    assert rope.motor == sn.Servo(0.6, 2000.0, 200.0, 100.0)
    rope.drive(sn.VelocityMotor(-0.2))
    sim.run(0.5, progress=False)
    assert rope.velocity == pytest.approx(-0.2, abs=1e-4)
    rope.drive(sn.ForceMotor(-500.0))
    sim.run(0.1, progress=False)
    assert rope.tension == pytest.approx(100.0)
    rope.drive(None)
    sim.run(0.1, progress=False)
    assert rope.tension == 0.0


def test_a_tendon_keeps_bodies_awake_with_their_leader() -> None:
    """A sleeping wheel wakes when the wheel that it follows is driven."""
    scene, joints = wheels(2, dry_friction=0.01)
    scene.couple_joints(joints[1], joints[0])
    sim = sn.Simulation(scene, substeps=5)
    sim.run(1.5, progress=False)
    joints[0].drive(sn.ForceMotor(0.5))
    sim.run(0.2, progress=False)
    assert joints[1].angle == pytest.approx(joints[0].angle, rel=1e-6)
    assert joints[1].angle > 0.01


@pytest.mark.parametrize("first", [True, False])
def test_a_rope_over_an_immovable_body_wakes_both_ends(first: bool) -> None:
    """Wherever the immovable body stands in the list of bodies."""
    scene = sn.Scene(gravity=(0, 0, 0))
    options = {"position": (0, 0, 0), "kinematic": True}
    post = scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), **options) if first else None
    balls = [scene.add_rigid_body(sn.Sphere(0.1), mass=1.0, position=(x, 0, 0)) for x in (-1, 1)]
    post = post or scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), **options)
    path = [sn.Via(balls[0], (-1, 0, 0)), sn.Via(post, (0, 0, 0)), sn.Via(balls[1], (1, 0, 0))]
    rope = scene.add_tendon(path, limits=(0, 2))
    sim = sn.Simulation(scene, substeps=5)
    sim.run(2.0, progress=False)
    sim.state.body_velocities[balls[0].index] = (-1, 0, 0)
    sim.run(0.3, progress=False)
    # equal masses on one rope share the speed
    assert rope.length == pytest.approx(2.0, abs=1e-6)
    assert sim.state.body_velocities[[ball.index for ball in balls], 0] == pytest.approx([-0.5, -0.5], rel=1e-3)


def test_checkpoints_keep_tendons_and_media(tmp_path: Path) -> None:
    def build() -> tuple[sn.Scene, sn.Simulation]:
        scene = sn.Scene()
        ball = scene.add_rigid_body(
            sn.Sphere(0.1), mass=2.0, position=(0.5, -1, 0), name="ball", medium=sn.Medium(1.2, 0.1, (1, 0, 0))
        )
        arm = scene.add_rigid_body(sn.Box((1, 0.1, 0.1)), position=(0, 1, 0))
        joint = scene.add_joint("hinge", arm, anchor=(0, 1, 0), axis=(0, 0, 1), name="j")
        wrap = sn.Wrap(arm, 0.1, (0.2, 0.5, 0), axis=(0, 0, 1), side=sn.Via(None, (3, 0, 0)))
        path = [sn.Via(None, (0, 2, 0)), wrap, sn.Via(ball, (0.5, -1, 0)), sn.Pulley(2.0), sn.Via(arm, (0.5, 1, 0)),
                sn.Via(ball, (0.5, -1, 0))]  # fmt: skip
        scene.add_tendon(path, joints={joint: 0.3}, stiffness=50.0, damping=2.0, dry_friction=0.5, mass=0.2,
                         motor=sn.ForceMotor(-3.0), name="rope")  # fmt: skip
        muscle = sn.Muscle(30.0, (-1.0, 1.0))
        scene.add_tendon(joints={joint: 1.0}, actuator=muscle, name="muscle")
        law = sn.ActuatorLaw(2.0, (0.0, -1.0, -0.1), dynamics="integrator", activation_limits=(-2.0, 3.0))
        scene.add_tendon(joints={joint: -1.0}, actuator=law, name="piston")
        return scene, sn.Simulation(scene, substeps=5)

    _, sim = build()
    sim.scene["muscle"].command(0.7)
    sim.scene["piston"].command(-0.3)
    sim.run(0.2, progress=False)
    sim.save(tmp_path / "a.ckpt")
    again = sn.Simulation.load(tmp_path / "a.ckpt")
    sim.run(0.2, progress=False)
    again.run(0.2, progress=False)
    assert np.array_equal(sim.state.body_positions, again.state.body_positions)
    assert again.scene["rope"].length == sim.scene["rope"].length
    for name in ("muscle", "piston"):
        assert again.scene[name].activation == sim.scene[name].activation != 0.0


BAD = [
    (lambda s, j: s.couple_joints("j0", "j0"), "cannot follow itself"),
    (lambda s, j: s.couple_joints("j0", "nobody"), "leader: unknown name 'nobody'"),
    (lambda s, j: s.couple_joints("j0", "j1", (0.5, 1.0)), "starts at 0, and its law gives 0.5"),
    (lambda s, j: s.couple_joints("j0", "j1", np.zeros(6)), "expected 1 to 5 numbers, got 6"),
    (lambda s, j: s.couple_joints("j0", "j1", (0, float("nan"))), "coefficients"),
    (lambda s, j: s.couple_joints("ball", "j1"), "'ball' is a ball joint; expected a hinge or a slider"),
    (lambda s, j: s.add_tendon(), "a tendon needs points or joints"),
    (lambda s, j: s.add_tendon([sn.Via(None, (0, 0, 0)), sn.Via(None, (1, 0, 0))]), "nothing of it can move"),
    (lambda s, j: s.add_tendon([sn.Wrap(None, 0.1, (0, 0, 0))]), "a Wrap stands between two Via"),
    (lambda s, j: s.add_tendon([sn.Via("body", (0, 0, 0)), sn.Wrap(None, 0.1, (1, 0, 0))]), "ends with a Wrap"),
    (
        lambda s, j: s.add_tendon([sn.Via("body", (0, 0, 0)), sn.Via(None, (1, 0, 0)), sn.Pulley(2.0)]),
        "ends with a Pulley",
    ),
    (
        lambda s, j: s.add_tendon([sn.Via("body", (0, 0, 0)), sn.Pulley(2.0), sn.Via(None, (1, 0, 0))]),
        r"path\[0\]: a Via alone makes no piece",
    ),
    (lambda s, j: s.add_tendon([1]), r"path\[0\]: expected a Via, a Wrap or a Pulley, got 1"),
    (lambda s, j: s.add_tendon([sn.Pulley(0.0)]), "divisor"),
    (
        lambda s, j: s.add_tendon([sn.Via("body", (0, 0, 0)), sn.Wrap(None, 2, (0, 0, 0)), sn.Via(None, (5, 0, 0))]),
        "lies within the shape",
    ),
    (
        lambda s, j: s.add_tendon(
            [
                sn.Via("body", (0, 0, 0)),
                sn.Wrap(None, 0.1, (2, 0, 0), side=(2, 1, 0), through=True),
                sn.Via(None, (5, 0, 0)),
            ]
        ),
        "a tendon through a shape has none",
    ),
    (lambda s, j: s.add_tendon(joints={"j0": 1.0}, limits=(1.0, 2.0)), "it starts at a length of 0, outside 1 to 2"),
    (lambda s, j: s.add_tendon(joints={"j0": 1.0}, rest_length=(2.0, 1.0)), "the lower, 2, is above the upper, 1"),
    (lambda s, j: s.add_tendon(joints={"j0": 1.0}, stiffness=-1.0), "stiffness"),
    (lambda s, j: s.add_tendon(joints={"j0": 1.0}, motor=3.0), "expected a VelocityMotor, a Servo or a ForceMotor"),
    (
        lambda s, j: s.add_tendon(joints={"j0": 1.0}, actuator=3.0),
        "expected an ActuatorLaw, a Muscle, a PIDControl or a DCMotor, got 3",
    ),
    (
        lambda s, j: s.add_tendon(joints={"j0": 1.0}, actuator=sn.Muscle(1.0, (0, 1)), motor=sn.ForceMotor(1.0)),
        "it has an actuator already",
    ),
    (lambda s, j: sn.Muscle(1.0, (1.0, 1.0)), "the lower, 1, is not below the upper, 1"),
    (lambda s, j: sn.Muscle(-1.0, (0.0, 1.0)), "peak_force"),
    (lambda s, j: sn.ActuatorLaw(gear=0.0), "0 leaves no force"),
    (lambda s, j: sn.ActuatorLaw(times=(0.0, 1.0)), "times"),
    (lambda s, j: sn.ActuatorLaw(dynamics="magic"), "dynamics"),
    (lambda s, j: sn.ActuatorLaw(force_limits=(1.0, float("nan"))), "force_limits"),
    (lambda s, j: s.add_rigid_body(sn.Sphere(1.0), medium=3.0), "medium"),
    (lambda s, j: s.add_rigid_body(sn.Sphere(1.0), medium=sn.Medium(-1.0)), "medium: density"),
]


@pytest.mark.parametrize(("call", "told"), BAD, ids=[told[:30] for _, told in BAD])
def test_bad_input_is_refused(call, told: str) -> None:
    scene, joints = wheels(2)
    scene.add_joint("ball", "body", anchor=(0, 0, 0), name="ball")
    before = len(scene.tendons), len(scene.bodies), dict(scene.handles)
    with pytest.raises(sn.SceneError, match=told):
        call(scene, joints)
    assert (len(scene.tendons), len(scene.bodies), dict(scene.handles)) == before


def bars(**options) -> tuple[sn.Scene, list]:
    """Two bars on hinges at their ends, the first of which may break."""
    scene = sn.Scene(gravity=(0, 0, 0))
    joints = []
    for k, more in enumerate((options, {})):
        bar = scene.add_rigid_body(sn.Box((0.4, 0.1, 0.1)), mass=1.0 + k, position=(0.2, 0, 9 * k))
        joints.append(scene.add_joint("hinge", bar, anchor=(0, 0, 9 * k), axis=(0, 0, 1), **more))
    return scene, joints


@pytest.mark.parametrize("solver", ["direct", "sweeps"])
@pytest.mark.parametrize(
    ("substeps", "speed", "precision"), [(5, 1.7, "float32"), (10, 1.7, "float64"), (20, 4.0, "float32")]
)
@pytest.mark.parametrize("over", ["coupling", "tendon"])
def test_bars_that_are_coupled_keep_their_energy(
    over: str, substeps: int, speed: float, precision: str, solver: str
) -> None:
    """What turns hinges has no arms: the bars turn as they do alone, once their hinges have a force."""
    scene, (first, second) = bars()
    if over == "coupling":
        scene.couple_joints(second, first, (0.0, 0.5))
    else:
        scene.add_tendon(joints={first: 0.5, second: -1.0}, stiffness=1e-6, rest_length=0.0)
    sim = sn.Simulation(scene, substeps=substeps, rigid_solver=solver, precision=precision)
    for body, rate in ((0, 2.0 * speed), (1, speed)):
        sim.state.body_velocities[body] = 0.0, 0.2 * rate, 0.0
        sim.state.body_angular_velocities[body] = 0.0, 0.0, rate
    sim.step(2)
    start = sim.energy().kinetic
    sim.run(1.0, progress=False)
    assert sim.energy().kinetic == pytest.approx(start, rel=1e-5)


@pytest.mark.parametrize("solver", ["direct", "sweeps"])
@pytest.mark.parametrize("kind", ["coupling", "spring", "motor", "mass", "muscle", "limit"])
def test_a_tendon_ends_with_a_joint_that_breaks(kind: str, solver: str, tmp_path: Path) -> None:
    """What counts the angle of a joint that is no more acts on neither body, has no energy and does no work."""
    scene, joints = bars(break_force=30.0)
    first, second = joints
    if kind == "coupling":
        rope = scene.couple_joints(second, first, (0.0, 0.5))
    else:
        options = {
            "spring": {"stiffness": 5.0, "rest_length": 0.5},
            "motor": {"motor": sn.ForceMotor(1.0)},
            "mass": {"mass": 0.5},
            "muscle": {"actuator": sn.Muscle(20.0, lengths=(-2.0, 2.0))},
            "limit": {"limits": (-0.5, 0.5)},
        }[kind]
        rope = scene.add_tendon(joints={first: 1.0, second: 0.3}, **options)
    sim = sn.Simulation(scene, substeps=10, rigid_solver=solver, precision="float64")
    if kind == "muscle":
        rope.command(0.5)
    sim.step(3)
    sim.state.body_velocities[0] = 200.0, 1.0, 0.0
    sim.step(2)
    assert sim.joint(first).broken
    velocities, spins = sim.state.body_velocities.copy(), sim.state.body_angular_velocities.copy()
    energy = sim.energy()
    if kind == "spring":
        sim.save(tmp_path / "broken.h5")
        sim = sn.Simulation.load(tmp_path / "broken.h5")
    sim.step(60)
    assert np.allclose(sim.state.body_velocities[0], velocities[0], rtol=1e-9)
    assert np.allclose(sim.state.body_angular_velocities, spins, rtol=1e-4, atol=1e-9)
    assert sim.energy().elastic == energy.elastic == 0.0
    assert sim.energy().external_work == energy.external_work
    assert sim.energy().total == pytest.approx(energy.total, rel=1e-6)
    assert kind == "spring" or rope.tension == 0.0
