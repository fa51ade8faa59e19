"""A robot that was loaded moves as its file says: modes of a double pendulum, a servo that holds its load."""

from pathlib import Path

import numpy as np
import pytest

import shinari as sn

pytest.importorskip("mujoco", reason="the extra [robot] is not installed")

G = 9.81


def pendulum(mass: float, length: float, height: float) -> str:
    """Two slender rods that hang from the world, each with its inertia about its middle, about an axis across."""
    inertia = f'<inertia ixx="{mass * length**2 / 12}" iyy="{mass * length**2 / 12}" izz="{1e-3 * mass * length**2}"'
    inertial = f'<inertial><origin xyz="0 0 {-length / 2}"/><mass value="{mass}"/>{inertia} ixy="0" ixz="0" iyz="0"/>'
    links = "".join(f'<link name="{name}">{inertial}</inertial></link>' for name in ("upper", "lower"))
    joints = "".join(
        f"""<joint name="{name}" type="continuous"><parent link="{above}"/><child link="{below}"/>
        <origin xyz="0 0 {z}"/><axis xyz="0 1 0"/></joint>"""
        for name, above, below, z in (("first", "world", "upper", height), ("second", "upper", "lower", -length))
    )
    return f'<robot name="pendulum"><link name="world"/>{links}{joints}</robot>'


def modes(mass: float, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Angular frequencies [rad/s] and shapes (absolute angles of both rods, in columns) of small swings.

    Two rods in a row: T = m l^2 (2/3 a'^2 + 1/6 b'^2 + 1/2 a' b'), V = m g l (3/4 a^2 + 1/4 b^2).
    """
    inertia = mass * length**2 * np.array([[4 / 3, 1 / 2], [1 / 2, 1 / 3]])
    stiffness = mass * G * length * np.array([[3 / 2, 0.0], [0.0, 1 / 2]])
    squares, shapes = np.linalg.eig(np.linalg.solve(inertia, stiffness))
    order = np.argsort(squares)
    return np.sqrt(squares[order]), shapes[:, order]


@pytest.mark.parametrize(("mass", "length"), [(1.0, 1.0), (3.0, 0.25)])
@pytest.mark.parametrize("mode", [0, 1])
def test_a_double_pendulum_swings_in_its_modes(tmp_path: Path, mass: float, length: float, mode: int) -> None:
    """The period is that of the mode up to (w h)^2 / 3 of the integrator, 3e-6, and what grows as amplitude squared.

    That is a^2 / 16 for one rod; in the second mode the rods swing against each other, and it is 0.9 a^2, 8e-6.
    """
    path = tmp_path / "pendulum.urdf"
    path.write_text(pendulum(mass, length, 2.0))
    frequencies, shapes = modes(mass, length)
    frequency, shape = frequencies[mode], shapes[:, mode] / np.abs(shapes[:, mode]).max()
    start = 0.003 * shape
    scene = sn.Scene(gravity=(0.0, -G, 0.0))
    robot = sn.load_robot(path, scene, angles={"first": start[0], "second": start[1] - start[0]})
    h = 2.0 * np.pi / frequency / 2000
    sim = sn.Simulation(scene, dt=10 * h, substeps=10, threads=1)
    lower = robot.bodies["lower"].index
    places = []
    for _ in range(330):
        sim.step()
        places.append(sim.state.body_positions[lower, 0])
    x = np.array(places)
    # the lower rod's origin moves as the angle of the upper one; it starts at its largest
    crossings = np.flatnonzero(x[:-1] * x[1:] < 0.0)
    times = crossings + x[crossings] / (x[crossings] - x[crossings + 1])
    assert len(times) == 3
    period = (times[2] - times[0]) * sim.settings.dt
    assert period == pytest.approx(2.0 * np.pi / frequency, rel=2e-5)


@pytest.mark.parametrize("target", [0.3, -0.8])
def test_a_servo_of_an_mjcf_holds_its_load_with_the_right_moment(tmp_path: Path, target: float) -> None:
    """It settles where kp (target - a) = m g l sin(a): the arm stands up, and leans out under its own weight."""
    text = """<mujoco><worldbody><body name="arm" pos="0 0 1">
      <joint name="j" axis="0 1 0" damping="2"/><geom type="capsule" fromto="0 0 0 0 0 0.5" size="0.03"/></body>
      </worldbody><actuator><position name="s" joint="j" kp="60" kv="4"/></actuator></mujoco>"""
    path = tmp_path / "arm.xml"
    path.write_text(text)
    scene = sn.Scene(gravity=(0.0, -G, 0.0))
    robot = sn.load_robot(path, scene)
    sim = sn.Simulation(scene, substeps=10, threads=1)
    sim.drive(robot.joints["j"], target)
    sim.run(4.0, progress=False)
    body = scene.bodies[0]
    weight = body.mass * G * np.linalg.norm(body.centre)
    angle = target
    for _ in range(100):
        angle = target + weight * np.sin(angle) / 60.0
    state = sim.joint(robot.joints["j"])
    assert state.angle == pytest.approx(angle, abs=1e-6)
    # a positive angle turns the arm from y to x, about -z: the moment on the world is that of the weight
    assert sim.forces(robot.joints["j"]).torque[2] == pytest.approx(weight * np.sin(angle) * -1.0, abs=1e-6 * weight)
