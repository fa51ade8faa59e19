"""Motors that joints are given, changed and taken while a scene runs, and what handles of joints tell."""

import numpy as np
import pytest

import shinari as sn
from shinari.scene.joint_handle import JointHandle

G = 9.81
ARM = 0.4


def arm(**joint) -> tuple[sn.Scene, JointHandle]:
    """A rod of 2 kg that hangs level from the world by a hinge about z; its weight turns it by a negative moment."""
    scene = sn.Scene(gravity=(0.0, -G, 0.0))
    rod = scene.add_rigid_body(sn.Box((ARM, 0.05, 0.05)), mass=2.0, position=(0.5 * ARM, 0.0, 0.0), name="rod")
    return scene, scene.add_joint("hinge", rod, anchor=(0, 0, 0), axis=(0, 0, 1), name="elbow", **joint)


def slider(**joint) -> tuple[sn.Scene, JointHandle]:
    """A block of 3 kg on a rail along y."""
    scene = sn.Scene(gravity=(0.0, -G, 0.0))
    block = scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), mass=3.0, name="block")
    return scene, scene.add_joint("slider", block, anchor=(0, 0, 0), axis=(0, 1, 0), name="rail", **joint)


def simulation(scene: sn.Scene, **options) -> sn.Simulation:
    return sn.Simulation(scene, substeps=10, threads=1, **options)


@pytest.mark.parametrize("stiffness", [20.0, 300.0, 5.0e4])
@pytest.mark.parametrize("given_first", [False, True])
def test_the_moment_of_a_pd_joint_at_rest_is_its_load(stiffness: float, given_first: bool) -> None:
    """It rests where stiffness (target - a) = m g l / 2 cos(a), whether it had the motor from the start or not."""
    servo = sn.Servo(0.3, stiffness, damping=0.3 * np.sqrt(stiffness))
    scene, elbow = arm(motor=servo if given_first else None)
    sim = simulation(scene)
    if not given_first:
        elbow.drive(servo)
    sim.run(6.0, progress=False)
    weight, angle = 2.0 * G * 0.5 * ARM, 0.3
    for _ in range(200):
        angle -= (stiffness * (angle - 0.3) + weight * np.cos(angle)) / (stiffness + weight)
    assert elbow.angle == pytest.approx(angle, abs=1e-7)
    assert elbow.load == pytest.approx(weight * np.cos(angle), rel=1e-6)
    assert elbow.load == pytest.approx(stiffness * (0.3 - elbow.angle), rel=1e-6)
    assert abs(elbow.velocity) < 1e-7


def test_the_load_as_a_force_holds_an_arm_still() -> None:
    """Gravity compensation: the moment that a servo needed, given as a moment."""
    scene, elbow = arm()
    sim = simulation(scene)
    elbow.drive(sn.Servo(0.4, max_force=50.0))
    sim.run(2.0, progress=False)
    held, load = elbow.angle, elbow.load
    elbow.drive(sn.ForceMotor(load))
    sim.run(1.0, progress=False)
    assert elbow.angle == pytest.approx(held, abs=1e-3)
    assert sim.scene.bodies[0].mass * G * 0.5 * ARM * np.cos(held) == pytest.approx(load, rel=1e-5)


@pytest.mark.parametrize("moment", [0.0, 0.5, -0.3])
def test_a_force_motor_turns_with_its_moment(moment: float) -> None:
    """About the end of a box I = m (l^2 / 3 + w^2 / 12); without gravity the speed is M t / I."""
    scene, elbow = arm()
    scene.gravity = (0, 0, 0)
    sim = simulation(scene)
    elbow.drive(sn.ForceMotor(moment))
    sim.run(0.2, progress=False)
    inertia = 2.0 * (ARM**2 / 3.0 + 0.05**2 / 12.0)
    # the swing of the axis costs (w h)^2 / 3 or so in each substep
    assert elbow.velocity == pytest.approx(moment * 0.2 / inertia, rel=3e-4, abs=1e-12)
    energy = sim.energy()
    # its 120 substeps end with the speed that they moved with: the angle is larger by 1 / 120
    assert energy.kinetic == pytest.approx(energy.external_work, rel=1e-2, abs=1e-9)
    elbow.drive(None)
    assert elbow.motor is None
    sim.run(0.1, progress=False)
    # the swing of the axis costs (w h)^2 / 3 or so in each substep
    assert elbow.velocity == pytest.approx(moment * 0.2 / inertia, rel=3e-4, abs=1e-12)


@pytest.mark.parametrize("target", [0.5, -0.7])
def test_a_servo_leads_its_joint_no_faster_than_its_largest_speed(target: float) -> None:
    scene, rail = slider()
    sim = simulation(scene)
    rail.drive(sn.Servo(target, 1.0e5, damping=1.0e3, max_speed=0.25))
    sim.run(1.0, progress=False)
    # it lags by damping / stiffness times the speed, and hangs by m g / stiffness
    lag = 0.25 * np.sign(target) * 1e-2 + 3.0 * G / 1e5
    assert rail.velocity == pytest.approx(0.25 * np.sign(target), rel=1e-4)
    assert rail.angle == pytest.approx(0.25 * np.sign(target) - lag, abs=1e-4)
    sim.run(3.0, progress=False)
    assert rail.angle == pytest.approx(target - 3.0 * G / 1e5, abs=1e-7)


def test_the_speed_that_a_damping_aims_at() -> None:
    """A servo without a stiffness is a motor of velocity with a gain: d (v - q') = m g at its end."""
    scene, rail = slider()
    sim = simulation(scene)
    rail.drive(sn.Servo(0.0, stiffness=0.0, damping=60.0, speed=1.5))
    sim.run(2.0, progress=False)
    assert rail.velocity == pytest.approx(1.5 - 3.0 * G / 60.0, rel=1e-6)
    assert rail.load == pytest.approx(3.0 * G, rel=1e-6)


@pytest.mark.parametrize("motor", [sn.ForceMotor(4.2), sn.Servo(1.0, 30.0, 1.0, force=4.0, speed=0.5, max_speed=2.0)])
def test_work_of_motors_is_what_the_bodies_gain(motor: sn.ForceMotor | sn.Servo) -> None:
    """Without a damping all of it; with one no more."""
    scene, elbow = arm()
    sim = simulation(scene, dt=1 / 240)
    start = sim.energy()
    elbow.drive(motor)
    sim.run(0.5, progress=False)
    now = sim.energy()
    gain = now.total - start.total
    if isinstance(motor, sn.ForceMotor):
        assert gain == pytest.approx(now.external_work, rel=1e-2)
    else:
        assert 0.0 < gain < now.external_work


@pytest.mark.parametrize("rotor", [0.05, 2.0])
def test_a_rotor_adds_its_inertia(rotor: float) -> None:
    """A moment turns bodies and rotor; the energy counts both, and a swing takes longer."""
    scene, elbow = arm(rotor_inertia=rotor)
    scene.gravity = (0, 0, 0)
    sim = simulation(scene)
    elbow.drive(sn.ForceMotor(0.5))
    sim.run(0.2, progress=False)
    inertia = 2.0 * (ARM**2 / 3.0 + 0.05**2 / 12.0) + rotor
    assert elbow.velocity == pytest.approx(0.5 * 0.2 / inertia, rel=1e-4)
    assert sim.energy().kinetic == pytest.approx(0.5 * inertia * elbow.velocity**2, rel=1e-6)


@pytest.mark.parametrize("rotor", [0.0, 0.1, 1.0])
def test_energy_of_a_pendulum_with_a_rotor(rotor: float) -> None:
    """The change of the energy in a part of a swing is proportional to the step, with a rotor as without."""
    changes = []
    for dt in (1 / 120, 1 / 240):
        scene, elbow = arm(rotor_inertia=rotor)
        sim = simulation(scene, dt=dt)
        start = sim.energy().total
        sim.run(0.5, progress=False)
        changes.append((start - sim.energy().total) / (2.0 * G * 0.5 * ARM))
        assert elbow.angle < -0.4
    assert 0.0 < abs(changes[0]) < 3e-3
    assert changes[1] == pytest.approx(0.5 * changes[0], rel=0.1)


def test_a_spring_and_its_rest() -> None:
    scene, rail = slider(stiffness=500.0, rest=0.1, damping=20.0)
    sim = simulation(scene)
    sim.run(6.0, progress=False)
    assert rail.angle == pytest.approx(0.1 - 3.0 * G / 500.0, abs=1e-7)
    assert sim.energy().elastic == pytest.approx(0.5 * 500.0 * (0.1 - rail.angle) ** 2, rel=1e-6)


def test_dry_friction_holds_up_to_its_force_and_brakes_with_it() -> None:
    """Below m g the block falls with the rest of its weight, above it hangs."""
    scene, rail = slider(dry_friction=10.0)
    sim = simulation(scene)
    sim.run(0.5, progress=False)
    assert rail.velocity == pytest.approx(-(G - 10.0 / 3.0) * 0.5, rel=1e-6)
    assert rail.load == pytest.approx(10.0, rel=1e-6)
    scene, rail = slider(dry_friction=40.0)
    sim = simulation(scene)
    sim.run(0.5, progress=False)
    assert abs(rail.angle) < 1e-4
    assert rail.load == pytest.approx(3.0 * G, rel=1e-3)


@pytest.mark.parametrize("start", [0.6, -2.5])
def test_angles_count_from_the_start_that_is_given(start: float) -> None:
    """The handle tells the given angle, limits and targets are in its terms, and the bodies stay where they were."""
    scene, elbow = arm(start=start, limits=(-3.0, 1.0))
    assert elbow.angle == start
    sim = simulation(scene)
    assert elbow.angle == pytest.approx(start, abs=1e-12)
    assert np.allclose(elbow.anchor, 0.0, atol=1e-12)
    assert np.allclose(elbow.axis, [0, 0, 1], atol=1e-12)
    elbow.drive(sn.Servo(0.5, 400.0, 40.0))
    sim.run(4.0, progress=False)
    assert elbow.angle == pytest.approx(0.5, abs=2e-2)
    turn = elbow.angle - start
    assert np.allclose(sim.pose("rod")[0], 0.5 * ARM * np.array([np.cos(turn), np.sin(turn), 0.0]), atol=1e-6)
    scene, rail = slider(start=start, limits=(-3.0, 1.0))
    sim = simulation(scene)
    assert rail.angle == pytest.approx(start, abs=1e-12)
    rail.drive(sn.Servo(0.9, 1e5, 1e3))
    sim.run(2.0, progress=False)
    assert sim.pose("block")[0][1] == pytest.approx(0.9 - 3.0 * G / 1e5 - start, abs=1e-7)


def test_a_joint_bounds_its_motors() -> None:
    scene, elbow = arm(max_force=3.0, max_speed=2.0, limits=(-1.0, 1.0))
    sim = simulation(scene)
    elbow.drive(0.5)
    assert elbow.motor == sn.Servo(0.5, max_force=3.0, max_speed=2.0)
    elbow.drive(sn.ForceMotor(8.0))
    sim.step()
    assert elbow.motor == sn.ForceMotor(3.0, 3.0)
    assert elbow.load == pytest.approx(3.0, rel=1e-6)
    assert (elbow.limits, elbow.max_force, elbow.max_speed) == ((-1.0, 1.0), 3.0, 2.0)


BAD = [
    (float("nan"), "motor: expected a finite number"),
    ("fast", "motor: expected a number"),
    (sn.ForceMotor(float("nan")), "motor: force: expected a finite number"),
    (sn.Servo(1.2), "target: 1.2 is outside its limits -1 to 1"),
    (1.2, "target: 1.2 is outside its limits -1 to 1"),
    (sn.VelocityMotor(3.0), "speed: 3 is beyond its largest, 2"),
    (sn.Servo(0.0, damping=-1.0), "motor: damping"),
    (sn.Servo(0.0, max_speed=0.0), "motor: max_speed"),
]


@pytest.mark.parametrize(("motor", "told"), BAD)
def test_bad_motors_are_refused_and_change_nothing(motor: object, told: str) -> None:
    scene, elbow = arm(max_speed=2.0, limits=(-1.0, 1.0))
    sim = simulation(scene)
    elbow.drive(sn.ForceMotor(1.0))
    elbow.drive(sn.Servo(0.2, 10.0))
    before = sim.state.system_arrays["joints/motors"].copy()
    with pytest.raises(sn.SceneError, match=rf"joint 'elbow': {told}"):
        elbow.drive(motor)  # type: ignore[arg-type]
    assert np.array_equal(sim.state.system_arrays["joints/motors"], before)


def test_a_handle_needs_a_simulation_and_takes_the_last() -> None:
    scene, elbow = arm()
    assert (elbow.angle, elbow.velocity, elbow.motor) == (0.0, 0.0, None)
    with pytest.raises(sn.SceneError, match=r"joint 'elbow': there is no simulation of its scene; build one first"):
        elbow.drive(1.0)
    first = simulation(scene)
    with pytest.raises(
        sn.SceneError, match=r"joint 'elbow': the joint has no motor; give it one, such as drive\(Servo"
    ):
        elbow.drive(1.0)
    second = simulation(scene)
    elbow.drive(sn.ForceMotor(1.0))
    assert first.bodies.motor(elbow) is None
    assert second.bodies.motor("elbow") == sn.ForceMotor(1.0)
    ball = sn.Scene()
    handle = ball.add_joint("ball", ball.add_rigid_body(sn.Sphere(0.1), name="b"), anchor=(0, 0, 0))
    kept = simulation(ball)
    assert kept.time == 0.0
    with pytest.raises(sn.SceneError, match="a motor drives a hinge or a slider, this is a ball joint"):
        handle.drive(sn.ForceMotor(1.0))


def test_a_motor_given_later_is_that_of_the_start_bit_by_bit(tmp_path) -> None:
    """The state after a step does not depend on when the motor was given, and a checkpoint goes on with it."""
    motor = sn.Servo(0.4, 50.0, 2.0, max_speed=0.5)
    runs = []
    for given in (motor, None):
        scene, elbow = arm(motor=given, limits=(-1.0, 1.0))
        sim = simulation(scene)
        elbow.drive(motor)
        sim.run(0.2, progress=False)
        runs.append(sim.state.body_positions.copy())
    assert np.array_equal(*runs)
    pytest.importorskip("h5py")
    sim.save(tmp_path / "arm.h5")
    other = sn.Simulation.load(tmp_path / "arm.h5")
    sim.run(0.1, progress=False)
    other.run(0.1, progress=False)
    assert np.array_equal(sim.state.body_positions, other.state.body_positions)


@pytest.mark.parametrize(("stiffness", "damping"), [(50.0, 5.0), (200.0, 2.0), (200.0, 40.0)])
def test_a_soft_servo_keeps_to_its_largest_force(stiffness: float, damping: float) -> None:
    """Against an integration in steps of a fortieth, also where the damping alone would be more than the force."""
    scene, elbow = arm()
    scene.gravity = (0, 0, 0)
    sim = sn.Simulation(scene, dt=1 / 2400, substeps=1, threads=1)
    elbow.drive(sn.Servo(1.0, stiffness, damping, max_force=3.0))
    inertia, q, v, h = 2.0 * (ARM**2 / 3.0 + 0.05**2 / 12.0), 0.0, 0.0, 1 / 96000
    for _ in range(2400):
        sim.step()
        for _ in range(40):
            v += h / inertia * min(max(stiffness * (1.0 - q) - damping * v, -3.0), 3.0)
            q += h * v
        # the integrator of the bodies is of the first order: half a percent of the speed at this step
        assert elbow.angle == pytest.approx(q, abs=2e-2)
        assert abs(elbow.load) <= 3.0 * (1.0 + 1e-6)
