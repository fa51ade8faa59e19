"""Muscles and actuators with an activation: forces by the closed equations, motion and activations of MuJoCo."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.systems.rigid.tendons.actuation import activation_after, force_of, law_row

mujoco = pytest.importorskip("mujoco", reason="the extra [robot] is not installed")


def test_force_and_rate_of_activation_are_those_of_mujoco() -> None:
    """Also their slopes, against differences of the force."""
    rng = np.random.default_rng(4)
    for trial in range(300):
        low = rng.uniform(0.1, 0.5)
        lengths, scaled = (low, low + rng.uniform(0.1, 0.5)), (rng.uniform(0.5, 0.9), rng.uniform(1.0, 1.4))
        least, most, speed, passive = rng.uniform((0.3, 1.2, 0.5, 0.0), (0.8, 2.0, 3.0, 2.0))
        lengthening, peak = 1.0 if trial % 9 == 0 else rng.uniform(1.0, 1.8), rng.uniform(1.0, 500.0)
        muscle = sn.Muscle(peak, lengths, scaled, least, most, speed, passive, lengthening)
        law = sn.ActuatorLaw(muscle=muscle, dynamics="muscle", smoothing=0.3 * (trial % 3))
        n = law_row(law)[None]
        length, rate, a, u = rng.uniform((low - 0.2, -2.0, 0.0, -0.2), (low + 0.8, 2.0, 1.0, 1.2))
        numbers = np.array([*scaled, peak, 200.0, least, most, speed, passive, lengthening])
        gain = mujoco.mju_muscleGain(length, rate, np.array(lengths), 1.0, numbers)
        bias = mujoco.mju_muscleBias(length, np.array(lengths), 1.0, numbers)
        force, by_length, by_speed = force_of(0, n, length, rate, a)
        assert force == pytest.approx(gain * a + bias, abs=1e-12 * peak)
        e = 1e-6
        ends = [force_of(0, n, length + s, rate, a)[0] for s in (e, -e)]
        assert by_length == pytest.approx((ends[0] - ends[1]) / (2.0 * e), abs=1e-4 * peak)
        ends = [force_of(0, n, length, rate + s, a)[0] for s in (e, -e)]
        assert by_speed == pytest.approx((ends[0] - ends[1]) / (2.0 * e), abs=1e-4 * peak)
        change = mujoco.mju_muscleDynamics(u, a, np.array([0.01, 0.04, law.smoothing]))
        assert (activation_after(0, n, u, a, 1e-3) - a) / 1e-3 == pytest.approx(change, abs=1e-9)


def lever() -> tuple:
    scene = sn.Scene(gravity=(0, 0, 0), air_density=0.0)
    body = scene.add_rigid_body(sn.Box((0.4, 0.1, 0.1)), mass=1.0)
    return scene, scene.add_joint("hinge", body, anchor=(0, 0, 0), axis=(0, 0, 1))


@pytest.mark.parametrize("dynamics", ["none", "integrator", "filter", "filterexact", "muscle"])
def test_activation_follows_a_step_of_the_command(dynamics: str) -> None:
    """a = u; u t; u (1 - exp(-t / T)); of a muscle a' = (u - a) / (T (1/2 + 3/2 a)) implicitly as t(a)."""
    scene, joint = lever()
    law = sn.ActuatorLaw(0.01, dynamics=dynamics, times=(0.1, 0.2), activation_limits=(0.0, 0.9))
    tendon = scene.add_tendon(joints={joint: 1.0}, actuator=law)
    sim = sn.Simulation(scene, substeps=50, precision="float64")
    tendon.command(0.8)
    sim.run(0.25, progress=False)
    t, h = sim.time, sim.settings.substep
    a = tendon.activation
    if dynamics == "muscle":
        # t / T = -(1/2 + 3/2 u) log(1 - a / u) - 3/2 a
        time = 0.1 * (-(0.5 + 1.5 * 0.8) * np.log(1.0 - a / 0.8) - 1.5 * a)
        assert time == pytest.approx(t, rel=0.01)
    else:
        exact = 0.8 * (1.0 - np.exp(-t / 0.1))
        expected = {"none": 0.8, "integrator": 0.8 * t, "filter": exact, "filterexact": exact}[dynamics]
        assert a == pytest.approx(expected, abs=h / 0.1 if dynamics == "filter" else 1e-12)
    sim.run(2.0, progress=False)
    assert tendon.activation == pytest.approx(0.9 if dynamics == "integrator" else 0.8, abs=1e-3)


@pytest.mark.parametrize("gear", [1.0, -0.5])
def test_a_muscle_that_is_held_pulls_with_its_force(gear: float) -> None:
    """The force that a servo needs to hold the joint is the muscle's, active and passive."""
    for angle in (-0.6, 0.0, 0.5, 0.9):
        scene, joint = lever()
        muscle = sn.Muscle(40.0, (-1.0, 1.0), (0.6, 1.5))
        law = sn.ActuatorLaw(muscle=muscle, dynamics="muscle", gear=gear)
        tendon = scene.add_tendon(joints={joint: 1.0}, actuator=law)
        sim = sn.Simulation(scene, substeps=10, precision="float64")
        joint.drive(sn.Servo(angle))
        tendon.command(0.4)
        sim.run(2.5, progress=False)
        x = 0.6 + (gear * joint.angle + 1.0) * 0.9 / 2.0
        y, b = abs(x - 1.0) / (0.25 if x < 1.0 else 0.3), (x - 1.0) / 0.3
        active = 1.0 - 0.5 * y**2 if y <= 1.0 else 0.5 * (2.0 - y) ** 2
        passive = 1.3 * (0.0 if x <= 1.0 else (0.5 * b * b if b <= 1.0 else b - 0.5))
        assert joint.angle == pytest.approx(angle, abs=1e-3)
        assert tendon.tension == pytest.approx(gear * 40.0 * (0.4 * active + passive), rel=1e-5)


def test_commands_and_motors_of_tendons_are_told_apart() -> None:
    scene, joint = lever()
    plain = scene.add_tendon(joints={joint: 1.0}, max_force=np.inf)
    muscle = scene.add_tendon(joints={joint: 1.0}, actuator=sn.Muscle(1.0, (-1.0, 1.0)))
    sim = sn.Simulation(scene)
    with pytest.raises(sn.SceneError, match="it has no actuator"):
        plain.command(0.5)
    with pytest.raises(sn.SceneError, match="its actuator moves it"):
        muscle.drive(sn.ForceMotor(1.0))
    with pytest.raises(sn.SceneError, match=r"command: 1\.5 is outside its limits 0 to 1"):
        muscle.command(1.5)
    with pytest.raises(sn.SceneError, match="command"):
        muscle.command(float("nan"))
    sim.step()
    assert plain.activation == muscle.activation == 0.0


ARM = """<mujoco><worldbody><site name="s0" pos="0 0 .1"/><site name="t0" pos="0 0 -.1"/>
<body><joint name="e" axis="0 1 0" damping=".05"/><geom type="capsule" size=".02" fromto="0 0 0 .3 0 0" mass="1"/>
<site name="s1" pos=".1 0 .03"/><site name="t1" pos=".1 0 -.03"/></body></worldbody>
<tendon><spatial name="flexor"><site site="s0"/><site site="s1"/></spatial>
<spatial name="extensor"><site site="t0"/><site site="t1"/></spatial></tendon><actuator>%s</actuator></mujoco>"""
CASES = {
    "a pair of muscles": (
        '<muscle name="a" tendon="flexor" force="200" lengthrange=".05 .2"/>'
        '<muscle name="b" tendon="extensor" force="200" lengthrange=".05 .2"/>'
        '<muscle name="c" tendon="extensor" force="20" lengthrange=".05 .2" tausmooth=".2"/>',
        lambda t: [0.5 + 0.4 * np.sin(6 * t), 0.3, 0.6],
    ),
    "muscles of a joint": (
        '<muscle name="a" joint="e" gear="-1" scale="100" lengthrange="-1.5 1.5"/>'
        '<muscle name="b" joint="e" force="20" lengthrange="-1.5 1.5"/>',
        lambda t: [0.5 + 0.4 * np.sin(6 * t), 0.3],
    ),
    "lengths that MuJoCo finds": (
        '<muscle name="a" tendon="flexor"/><muscle name="b" tendon="extensor"/>',
        lambda t: [0.5 + 0.4 * np.sin(6 * t), 0.1],
    ),
    "filters": (
        '<general name="a" joint="e" dyntype="filter" dynprm=".1" gainprm="5"/>'
        '<general name="b" joint="e" dyntype="filterexact" dynprm=".05" gainprm="3" biastype="affine" '
        'biasprm="0 -3 -.2"/>'
        '<general name="c" joint="e" dyntype="integrator" gainprm="2" actlimited="true" actrange="-.3 .4"/>'
        '<intvelocity name="d" joint="e" kp="10" actrange="-1 1"/>'
        '<damper name="x" joint="e" kv=".3" ctrlrange="0 1"/><motor name="y" joint="e"/>',
        lambda t: [np.sin(5 * t), 0.5, np.cos(3 * t), 1.0, 0.5, -1.0],
    ),
    "a cylinder and a servo": (
        '<cylinder name="a" tendon="flexor" area="40" timeconst=".1" bias="-2 0 0"/>'
        '<position name="p" joint="e" kp="20" timeconst=".05" forcerange="-4 4" forcelimited="true"/>',
        lambda t: [np.sin(5 * t) - 0.5, 0.3 * np.sin(4 * t)],
    ),
}


def test_lengths_that_mujoco_does_not_find_are_sought_among_postures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A joint within limits: from one to the other."""

    def refuse(spec: object) -> None:
        if spec.compiler.LRopt.mode != mujoco.mjtLRMode.mjLRMODE_NONE:  # type: ignore[attr-defined]
            raise ValueError("Error: Lengthrange computation did not converge in actuator 0")
        return compiled(spec)

    compiled = mujoco.MjSpec.compile
    monkeypatch.setattr(mujoco.MjSpec, "compile", refuse)
    path, scene = tmp_path / "arm.xml", sn.Scene()
    text = ARM.replace('damping=".05"', 'damping=".05" limited="true" range="-40 70"')
    path.write_text(text % '<muscle name="a" joint="e" gear="-1"/><muscle name="b" tendon="flexor"/>')
    with pytest.warns(sn.RobotWarning, match="lengths of muscles a, b: MuJoCo finds none"):
        robot = sn.load_robot(path, scene)
    laws = [robot.actuators[name].law for name in "ab"]
    muscles = [law.muscle for law in laws if law is not None and law.muscle is not None]
    assert muscles[0].lengths == pytest.approx(np.radians((-70.0, 40.0)), abs=1e-9)
    ends = []
    for angle in np.radians((-40.0, 70.0)):
        x, z = 0.1 * np.cos(angle) + 0.03 * np.sin(angle), -0.1 * np.sin(angle) + 0.03 * np.cos(angle)
        ends.append(np.hypot(x, z - 0.1))
    assert muscles[1].lengths == pytest.approx(sorted(ends), abs=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_robots_move_as_in_mujoco(tmp_path: Path, case: str) -> None:
    """Both are of first order in the substep; activations follow the same equations."""
    elements, commands = CASES[case]
    path = tmp_path / "arm.xml"
    path.write_text(ARM % elements)
    model = mujoco.MjModel.from_xml_path(str(path))
    data, substeps = mujoco.MjData(model), 40
    model.opt.timestep = 1.0 / 60.0 / substeps
    scene = sn.Scene(air_density=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", sn.RobotWarning)
        robot = sn.load_robot(path, scene)
    sim = sn.Simulation(scene, substeps=substeps, precision="float64")
    lawful = [a for a in robot.actuators.values() if a.law is not None and a.law.dynamics != "none"]
    own = [a.handle for a in lawful if a.handle is not None]
    expected, found = [], []
    for step in range(60):
        data.ctrl[:] = commands(step / 60.0)
        robot.command(commands(step / 60.0))
        mujoco.mj_step(model, data, substeps)
        sim.step()
        expected.append(float(data.qpos[0]))
        found.append(float(robot.angles[0]))
        assert [handle.activation for handle in own] == pytest.approx(data.act, abs=1e-12)
    difference = np.sqrt(np.mean((np.array(expected) - found) ** 2))
    assert difference < 0.004 * np.ptp(expected)
