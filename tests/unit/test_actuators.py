"""Actuators of all kinds against MuJoCo and closed forms: controllers, DC motors, sites, cranks, ball joints."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import shinari as sn

mujoco = pytest.importorskip("mujoco", reason="the extra [robot] is not installed")

ARM = """<mujoco><option integrator="implicitfast"/><worldbody><site name="world" pos=".1 .2 .3" euler="20 10 30"/>
<site name="rail" pos="-.5 0 .4" euler="0 90 0"/>
<body><joint name="e" axis="0 1 0" damping=".05"/><geom type="capsule" size=".02" fromto="0 0 0 .3 0 0" mass="1"/>
<site name="pin" pos=".1 0 .05"/>
<body pos=".3 0 0"><joint name="f" axis="0 0 1" damping=".02"/>
<geom type="box" size=".1 .02 .04" pos=".1 0 0" mass=".4"/>
<site name="tip" pos=".2 .01 .02" euler="10 40 -20"/></body></body></worldbody><actuator>%s</actuator></mujoco>"""
BALL = """<mujoco><worldbody><body euler="30 20 0"><joint name="e" type="ball" damping=".05"/>
<geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" mass="1"/></body></worldbody><actuator>%s</actuator></mujoco>"""
CASES = {
    "pid": (
        ARM,
        '<pid name="a" joint="e" kp="20" kv="1"/>'
        '<pid name="b" joint="f" kp="3" kv=".1" ki="2" imax=".05" input="pos"/>',
        lambda t: [0.4 * np.sin(5 * t), 2.0 * np.cos(5 * t), 0.5],
    ),
    "pid with slew and feedforward": (
        ARM,
        '<pid name="a" joint="e" kp="30" kv="1" slewmax=".8" input="pos ff" forcerange="-8 8" gear="1.5"/>'
        '<pid name="b" joint="f" kv=".3" kp="0" input="vel"/>',
        lambda t: [1.0 if t < 0.5 else -0.5, 2.0, np.sin(6 * t)],
    ),
    "a motor by its voltage": (
        ARM,
        '<dcmotor name="a" joint="e" resistance="2" motorconst=".5" gear="4" armature=".005"/>'
        '<dcmotor name="b" joint="f" resistance="1" motorconst=".2" gear="2" damping=".01"/>',
        lambda t: [6.0 * np.sin(5 * t), 2.0],
    ),
    "a motor with inductance, heat and cogging": (
        ARM,
        '<dcmotor name="a" joint="e" resistance="2" motorconst=".5" inductance="0 .03" gear="4" '
        'saturation="2 0 60" thermal="2 .5 0 .004 25 25"/>'
        '<dcmotor name="b" joint="f" resistance="1" motorconst=".2" cogging=".05 8 .3" gear="2"/>',
        lambda t: [9.0 * np.sin(5 * t), 2.0],
    ),
    "a motor with a controller": (
        ARM,
        '<dcmotor name="a" joint="e" resistance="2" motorconst=".5" gear="3" input="pos vel" '
        'controller="8 4 .3 0 .5 12" inductance="0 .004"/>'
        '<dcmotor name="b" joint="f" resistance="1" motorconst=".2" input="pos ff voltage" '
        'controller="2 0 .1 1.5 0 0"/>',
        lambda t: [0.3 * np.sin(5 * t), 1.5 * np.cos(5 * t), 0.6, 0.05, 0.1],
    ),
    "bristles": (
        ARM,
        '<dcmotor name="a" joint="e" resistance="2" motorconst=".5" lugre="400 5 .3 .5 .05" gear="2"/>'
        '<dcmotor name="b" joint="f" resistance="1" motorconst="0" lugre="100 .5 .02 .03 .1" input="none"/>',
        lambda t: [7.0 * np.sin(5 * t)],
    ),
    "a site": (
        ARM,
        '<motor name="a" site="tip" gear="3 -1 4 .1 .2 -.3"/><velocity name="b" site="tip" kv=".4" gear="0 1 1 0 0 0"/>'
        '<damper name="c" site="pin" kv=".5" gear="0 0 1 0 0 0" ctrlrange="0 1"/>',
        lambda t: [np.sin(5 * t), 1.0, 0.5],
    ),
    "a site and another": (
        ARM,
        '<position name="a" site="tip" refsite="world" kp="30" kv="1" gear="1 0 0 0 0 0"/>'
        '<position name="b" site="tip" refsite="world" kp="30" kv="1" gear="0 0 1 0 0 0"/>'
        '<position name="c" site="tip" refsite="pin" kp="2" kv=".1" gear="0 0 0 0 0 1"/>',
        lambda t: [0.3 + 0.1 * np.sin(5 * t), -0.3, 0.4],
    ),
    "cranks": (
        ARM,
        '<motor name="a" cranksite="pin" slidersite="rail" cranklength=".7" gear="20"/>'
        '<position name="b" cranksite="pin" slidersite="rail" cranklength=".6" kp="50" kv="3"/>',
        lambda t: [np.sin(5 * t), 0.1],
    ),
    "a ball joint": (
        BALL,
        '<motor name="a" joint="e" gear=".5 1 2"/><position name="b" joint="e" kp="3" kv=".1" gear="0 1 0"/>'
        '<motor name="c" jointinparent="e" gear="0 2 1"/>',
        lambda t: [0.5 * np.sin(5 * t), 0.3, 0.4 * np.cos(3 * t)],
    ),
}


def trajectories(path: Path, commands, substeps: int, precision: str = "float64") -> tuple:
    """Places of the last geom, ours and MuJoCo's, and both models after a second."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    model.opt.timestep = 1.0 / 60.0 / substeps
    scene = sn.Scene(air_density=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", sn.RobotWarning)
        robot = sn.load_robot(path, scene)
    sim = sn.Simulation(scene, substeps=substeps, precision=precision)
    last = list(robot.bodies.values())[-1]
    expected, found = [], []
    for step in range(60):
        data.ctrl[:] = commands(step / 60.0)
        robot.command(commands(step / 60.0))
        mujoco.mj_step(model, data, substeps)
        sim.step()
        mujoco.mj_kinematics(model, data)
        pose = sim.pose(last)
        x, z, y = pose.position + pose.matrix @ (0.2, 0.05, 0.1)
        expected.append(data.xpos[-1] + data.xmat[-1].reshape(3, 3) @ (0.2, 0.05, 0.1))
        found.append((x, -y, z))
    return np.array(found), np.array(expected), robot, (model, data)


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("case", CASES)
def test_robots_move_as_in_mujoco(tmp_path: Path, case: str, precision: str) -> None:
    """A point of the last body goes the same way to 1 % of its range."""
    text, elements, commands = CASES[case]
    path = tmp_path / "arm.xml"
    path.write_text(text % elements)
    found, expected, _, _ = trajectories(path, commands, 60, precision)
    rms = np.sqrt(((found - expected) ** 2).sum(axis=1).mean())
    assert np.ptp(expected, axis=0).max() > 0.05
    assert rms < 0.01 * np.ptp(expected, axis=0).max()


def lever(mass: float = 1.0, gravity: tuple = (0, 0, 0)) -> tuple:
    scene = sn.Scene(gravity=gravity, air_density=0.0)
    body = scene.add_rigid_body(sn.Box((0.4, 0.1, 0.1)), mass=mass)
    joint = scene.add_joint("hinge", body, anchor=(0, 0, 0), axis=(0, 0, 1))
    return scene, body, joint


@pytest.mark.parametrize(("resistance", "constant", "time"), [(2.0, 0.5, 0.0), (1.0, 0.2, 0.02), (5.0, 1.0, 0.05)])
def test_a_motor_spins_up_to_its_speed_without_load(resistance: float, constant: float, time: float) -> None:
    """I w' = K i, and U = R i + L i' + K w: two exponentials that end at w = U / K; held, i = U (1 - exp(-t/T)) / R."""
    scene, _, joint = lever()
    inertia = 1.0 / 12.0 * (0.4**2 + 0.1**2)
    motor = scene.add_tendon(joints={joint: 1.0}, actuator=sn.DCMotor(resistance, constant, time))
    sim = sn.Simulation(scene, substeps=100, precision="float64")
    motor.command(6.0)
    sim.run(0.5, progress=False)
    rate = constant**2 / (resistance * inertia)
    if time == 0.0:
        speed = 6.0 / constant * (1.0 - np.exp(-rate * 0.5))
    else:
        roots = np.roots([time, 1.0, rate])
        a, b = roots
        speed = (6.0 / constant * (1.0 + (b * np.exp(a * 0.5) - a * np.exp(b * 0.5)) / (a - b))).real
    assert joint.velocity == pytest.approx(speed, rel=2e-3)
    scene, _, joint = lever()
    motor = scene.add_tendon(joints={joint: 1.0}, actuator=sn.DCMotor(resistance, constant, time))
    sim = sn.Simulation(scene, substeps=100, precision="float64")
    joint.drive(sn.Servo(0.0))
    motor.command(6.0)
    sim.run(0.05, progress=False)
    current = 6.0 / resistance * (1.0 if time == 0.0 else 1.0 - np.exp(-sim.time / time))
    assert motor.activation == pytest.approx(current, rel=1e-9)
    assert motor.tension == pytest.approx(-constant * current, rel=1e-5)


@pytest.mark.parametrize("torque", [0.05, 0.15, 0.35])
def test_bristles_hold_up_to_the_static_force_and_slide_beyond(torque: float) -> None:
    """Slowly loaded, z = F / s0, and with dz = dx (1 - z / z1), z1 = Fs / s0, it yields by -z1 log(1 - z / z1).

    Beyond Fs it accelerates with (F - Fc) / I where it is fast.
    """
    scene, _, joint = lever()
    bristles = (200.0, 2.0, 0.1, 0.2, 0.05)
    scene.add_tendon(joints={joint: 1.0}, actuator=sn.DCMotor(1.0, 0.0, inputs=(), bristles=bristles))
    sim = sn.Simulation(scene, substeps=20, precision="float64")
    for step in range(60):
        joint.drive(sn.ForceMotor(torque * step / 60.0))
        sim.step()
    joint.drive(sn.ForceMotor(torque))
    sim.run(1.0, progress=False)
    if torque < 0.2:
        assert joint.angle == pytest.approx(-1e-3 * np.log(1.0 - torque / 0.2), rel=0.02)
        assert abs(joint.velocity) < 1e-4
    else:
        first = joint.velocity
        sim.run(0.5, progress=False)
        assert joint.velocity - first == pytest.approx(0.5 * (torque - 0.1) * 12.0 / 0.17, rel=0.01)


def test_the_integral_holds_a_load_without_an_error() -> None:
    """Then it alone bears the load: ki z = moment; PD alone hangs by moment / kp."""
    load = 1.0 * 9.81 * 0.2
    for integral, expected in ((0.0, -load / 60.0), (200.0, 0.0)):
        scene = sn.Scene(air_density=0.0)
        body = scene.add_rigid_body(sn.Box((0.4, 0.1, 0.1)), mass=1.0, position=(0.2, 0, 0))
        joint = scene.add_joint("hinge", body, anchor=(0, 0, 0), axis=(0, 0, 1))
        control = scene.add_tendon(joints={joint: 1.0}, actuator=sn.PIDControl(60.0, 8.0, integral))
        sim = sn.Simulation(scene, substeps=10)
        control.command((0.0, 0.0))
        sim.run(4.0, progress=False)
        assert joint.angle == pytest.approx(expected, abs=2e-4)
        if integral:
            assert integral * control.activation == pytest.approx(load, rel=1e-3)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_levers_between_bodies_keep_momentum_and_are_their_gradient(seed: int) -> None:
    """Forces and moments sum to zero; a crank is as long as its formula says; a jet pushes with its force."""
    rng = np.random.default_rng(seed)
    scene = sn.Scene(gravity=(0, 0, 0), air_density=0.0)
    places = rng.normal(size=(2, 3))
    spins = rng.normal(size=(2, 3))
    a, b = (
        scene.add_rigid_body(sn.Box((0.2, 0.3, 0.1)), mass=1.0 + k, position=p, angular_velocity=w)
        for k, (p, w) in enumerate(zip(places, spins, strict=True))
    )
    thrust = sn.Thrust(a, places[0] + 0.1, rng.normal(size=3), rng.normal(size=3), sn.Via(b, places[1] - 0.2))
    pushed = scene.add_tendon(levers=[thrust], actuator=sn.ActuatorLaw(3.0))
    crank = sn.Crank(a, places[0] + 0.1, sn.Via(b, places[1]), (1.0, 2.0, 0.5), 6.0)
    pulled = scene.add_tendon(levers=[crank], actuator=sn.ActuatorLaw(5.0, (0.0, -2.0, -0.3)))
    sim = sn.Simulation(scene, substeps=40)
    v, axis = places[0] + 0.1 - places[1], np.array((1.0, 2.0, 0.5)) / np.linalg.norm((1.0, 2.0, 0.5))
    assert pulled.length == pytest.approx(v @ axis - np.sqrt((v @ axis) ** 2 + 36.0 - v @ v), rel=1e-12)
    about = np.zeros(3)
    start, spin = sim.momentum(), sim.angular_momentum(about)
    pushed.command(1.0)
    pulled.command(1.0)
    short = sn.Simulation(scene, dt=1e-6, substeps=1)
    lengths = np.array([pulled.length, pushed.length])
    short.step()
    # a substep moves by the velocities at its end
    rates = np.array([pulled.velocity, pushed.velocity])
    assert np.array([pulled.length, pushed.length]) - lengths == pytest.approx(rates * 1e-6, rel=1e-4, abs=1e-10)
    sim = sn.Simulation(scene, substeps=40)
    pushed.command(1.0)
    pulled.command(1.0)
    sim.run(0.3, progress=False)
    assert np.abs(sim.momentum() - start).max() < 1e-9
    assert np.abs(sim.angular_momentum(about) - spin).max() < 0.02 * max(1.0, float(np.abs(spin).max()))
    scene = sn.Scene(gravity=(0, 0, 0), air_density=0.0)
    body = scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), mass=2.0)
    jet = scene.add_tendon(levers=[sn.Thrust(body, (0, 0, 0), (1, 2, -2))], actuator=sn.ActuatorLaw(1.0))
    sim = sn.Simulation(scene, substeps=4)
    jet.command(3.0)
    sim.run(1.0, progress=False)
    assert sim.state.body_velocities[0] == pytest.approx(np.array((1.5, 3.0, -3.0)), rel=1e-6)
    # 9 J kinetic per 2 m/s^2 and body; half a substep more way than at constant acceleration
    assert sim.energy().external_work == pytest.approx(sim.energy().kinetic, rel=1.0 / 240.0 + 1e-3)


def test_commands_of_several_inputs(tmp_path: Path) -> None:
    """A number for each input, in rows for all or by name; ranges of the file bound them; a checkpoint keeps states."""
    text, elements, commands = CASES["a motor with a controller"]
    path = tmp_path / "arm.xml"
    path.write_text(text % elements.replace('name="a"', 'name="a" ctrllimited="true" ctrlrange="-.2 .2"', 1))
    scene = sn.Scene()
    robot = sn.load_robot(path, scene)
    sim = sn.Simulation(scene)
    robot.command({"a": (0.9, 2.0)})
    assert robot.actuators["a"].command == (0.2, 0.2)  # MuJoCo bounds all of its inputs by it
    with pytest.raises(sn.SceneError, match="commands: b"):
        robot.command({"b": 1.0})
    with pytest.raises(sn.SceneError, match=r"expected shape \(5,\)"):
        robot.command([1.0, 2.0])
    robot.command(commands(0.2))
    sim.run(0.2, progress=False)
    saved = tmp_path / "state.shinari"
    sim.save(saved)
    other = sn.Simulation.load(saved)
    for each in (sim, other):
        for _ in range(5):
            each.step()
    assert np.array_equal(sim.state.body_positions, other.state.body_positions)
    assert sim.state.frame == other.state.frame


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sn.PIDControl(-1.0), "stiffness"),
        (lambda: sn.PIDControl(1.0, inputs=("velocity", "position")), "in the order"),
        (lambda: sn.PIDControl(1.0, inputs=("voltage",)), "inputs"),
        (lambda: sn.DCMotor(0.0, 1.0), "resistance"),
        (lambda: sn.DCMotor(1.0, 0.0, controller=sn.PIDControl(1.0)), "constant"),
        (lambda: sn.DCMotor(1.0, 1.0, inputs=("position",)), "without a controller"),
        (lambda: sn.DCMotor(1.0, 1.0, bristles=(1.0, 0.0, 0.0, 0.0, 0.0)), "bristles"),
        (lambda: sn.DCMotor(1.0, 1.0, thermal=(1.0, 0.0, 0.0, 0.0, 0.0)), "thermal"),
        (lambda: sn.ActuatorLaw(controller="a motor"), "PIDControl"),  # type: ignore[arg-type]
    ],
)
def test_bad_controllers_are_refused(make, message: str) -> None:
    with pytest.raises(sn.SceneError, match=message):
        make()


def test_bad_levers_are_refused() -> None:
    scene, body, _ = lever()
    via = sn.Via(None, (0, 0, 0))
    for levers, message in (
        ([sn.Thrust(body, (0, 0, 0))], "neither a force nor a moment"),
        ([sn.Thrust(None, (0, 0, 0), (1, 0, 0))], "nothing of it can move"),
        ([sn.Crank(body, (0, 0, 0), via, (0, 0, 0), 1.0)], "axis"),
        ([sn.Crank(body, (0, 0, 0), via, (0, 0, 1), 0.0)], "rod"),
        ([sn.Crank(body, (0, 0, 0), None, (0, 0, 1), 1.0)], "slider"),
        ([1.0], "expected a Thrust or a Crank"),
    ):
        with pytest.raises(sn.SceneError, match=message):
            scene.add_tendon(levers=levers)


MUSCLES = (
    '<muscle name="m" joint="e" force="20" lengthrange="-1.5 1.5"/>'
    '<general name="n" joint="e" dyntype="filter" dynprm=".1" gainprm="5"/>'
    '<pid name="p" joint="f" kp="3" kv=".1" ki="2" imax=".05"/>'
    '<dcmotor name="d" joint="e" resistance="2" motorconst=".5" inductance="0 .03" lugre="400 5 .3 .5 .05"/>'
    '<motor name="s" site="tip" gear="0 0 1 0 0 0"/><motor name="t" joint="f"/><position name="u" joint="e" kp="2"/>'
)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_commands_of_worlds_give_the_bits_of_a_simulation(tmp_path: Path, precision: str) -> None:
    """All laws, each world with commands of its own, some masked, and worlds that go back to their start."""
    path = tmp_path / "arm.xml"
    path.write_text(ARM % MUSCLES)
    scene = sn.Scene()
    robot = sn.load_robot(path, scene)
    rng = np.random.default_rng(5)
    rows = rng.uniform(0.0, 1.0, (6, 8))
    worlds = sn.Worlds(scene, 6, substeps=6, precision=precision, threads=2)
    robot.command(rows, worlds)
    worlds.step(7)
    robot.command(rows[:2], worlds, mask=[1, 4])
    worlds.step(5)
    for k in range(6):
        alone = sn.Simulation(scene, substeps=6, precision=precision, threads=1)
        robot.command(rows[k])
        alone.step(7)
        if k in (1, 4):
            robot.command(rows[[1, 4].index(k)])
        alone.step(5)
        assert np.array_equal(worlds.state.body_positions[k], alone.state.body_positions)
        assert np.array_equal(worlds.state.body_rotations[k], alone.state.body_rotations)
        ours, theirs = ([sim.bodies.tendon(t) for t in robot.tendons.values()] for sim in (worlds.world(k), alone))
        assert [(t.activation, t.inputs, t.command) for t in ours] == [
            (t.activation, t.inputs, t.command) for t in theirs
        ]
        assert ours == theirs
    assert len(np.unique(worlds.state.body_positions[:, -1, 0])) == 6
    worlds.reset([0, 1])
    robot.command(rows[:1], worlds, mask=[1])
    first = sn.Simulation(scene, substeps=6, precision=precision, threads=1)
    robot.command(rows[0])
    first.step(3)
    worlds.step(3)
    assert np.array_equal(worlds.state.body_positions[1], first.state.body_positions)


def test_tendons_of_worlds_are_commanded_together() -> None:
    """A number for all, one for each, rows for several inputs; what is refused changes nothing."""
    scene, _, joint = lever()
    muscle = scene.add_tendon(joints={joint: 1.0}, actuator=sn.Muscle(20.0, (-1.0, 1.0)), name="muscle")
    control = scene.add_tendon(joints={joint: 1.0}, actuator=sn.PIDControl(5.0, 1.0), name="control")
    plain = scene.add_tendon(joints={joint: 1.0}, name="plain")
    worlds = sn.Worlds(scene, 3)
    worlds.command(muscle, 0.5)
    worlds.command("muscle", [0.1, 0.2], mask=[0, 2])
    worlds.command(control, np.array([[0.1, 0.0], [0.2, 1.0], [0.3, 2.0]]))
    state = [(worlds.world(k).bodies.tendon(muscle).command, worlds.world(k).bodies.tendon(control).inputs[:2])
             for k in range(3)]  # fmt: skip
    assert state == [(0.1, (0.1, 0.0)), (0.5, (0.2, 1.0)), (0.2, (0.3, 2.0))]
    for given, message in (([0.1, 0.2, 1.7], "outside its limits"), ([0.1, 0.2], "expected shape"), ("x", "command")):
        with pytest.raises(sn.SceneError, match=message):
            worlds.command(muscle, given)
    with pytest.raises(sn.SceneError, match="no actuator"):
        worlds.command(plain, 1.0)
    assert worlds.world(0).bodies.tendon(muscle).command == 0.1
    worlds.command(control, (0.7, 0.5))
    assert worlds.world(2).bodies.tendon(control).inputs[:2] == (0.7, 0.5)
