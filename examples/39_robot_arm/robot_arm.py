r"""A robot arm: a URDF file that is loaded, driven to named targets, and held by the moments that it needs.

    gripper
       |  wrist
       |
       o  elbow          q: angles of the joints
        \                PD control: moment = stiffness (target - q) - damping q' + feed forward
         \
          o  shoulder
        [   ]  turn

First a PD controller in each joint takes the arm from pose to pose, no faster than the joints may turn; at rest each
moment is stiffness times the remaining angle, which is the load of the links beyond. Then the loads are given as
plain moments: without any controller the arm stays where it is. At last they are taken away, and it falls.
"""

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

FILE = Path(__file__).with_name("arm.urdf")
STIFF = sn.Servo(0.0, stiffness=2000.0, damping=60.0)
POSES = {
    "ready": {"turn": 0.0, "shoulder": 0.5, "elbow": 1.2, "wrist": 0.6, "finger": 0.04},
    "left": {"turn": 1.2, "shoulder": 0.9, "elbow": 0.9, "wrist": 1.0, "finger": 0.04},
    "right": {"turn": -1.0, "shoulder": 1.1, "elbow": 0.4, "wrist": 0.9, "finger": 0.0},
    "up": {"turn": -0.4, "shoulder": 0.3, "elbow": 0.8, "wrist": -0.4, "finger": 0.0},
}
SECONDS = 1.8  # for each pose
HELD = 1.0  # by plain moments [s]
FALLING = 0.4  # [s]


def build() -> tuple[sn.Simulation, sn.Robot]:
    """The arm on the ground."""
    scene = sn.Scene()
    scene.add_collider(sn.Plane(), friction=0.8, name="ground")
    with warnings.catch_warnings():
        # the second finger follows the first by its target only; the loader says so
        warnings.simplefilter("ignore", sn.RobotWarning)
        robot = sn.load_robot(FILE, scene)
    robot.poses.update(POSES)
    return sn.Simulation(scene, substeps=10), robot


def moments_of_weight(simulation: sn.Simulation, robot: sn.Robot) -> np.ndarray:
    """Moment or force that carries what hangs on each joint [N m or N]: statics of the bodies beyond it."""
    beyond = {"turn": 1, "shoulder": 2, "elbow": 3, "wrist": 4, "finger": 5, "other_finger": 6}
    names = list(robot.bodies)
    needed = []
    for name in robot.names:
        joint, total = robot.joints[name], 0.0
        carried = names[beyond[name] :] if "finger" not in name else [names[beyond[name]]]
        for body in carried:
            described = simulation.scene.bodies[robot.bodies[body].index]
            pose = simulation.pose(robot.bodies[body])
            centre = pose.position + pose.matrix @ described.centre
            weight = np.array([0.0, -9.81 * described.mass, 0.0])
            pull = weight if joint.kind == "slider" else np.cross(centre - joint.anchor, weight)
            total -= float(joint.axis @ pull)
        needed.append(total)
    return np.array(needed)


def shown() -> tuple[sn.Simulation, Callable[[sn.Simulation], None]]:
    """What `shinari view` shows: pose after pose, for ever."""
    simulation, robot = build()
    names, steps = list(POSES), round(SECONDS * 60)

    def before_step(running: sn.Simulation) -> None:
        if running.state.frame % steps == 0:
            robot.drive(names[running.state.frame // steps % len(names)], STIFF)

    return simulation, before_step


def main(arguments: list[str] | None = None) -> None:
    """Drive, hold, release; check each, write results."""
    parser = argparse.ArgumentParser(description="a robot arm")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    simulation, robot = build()
    outputs = [options.out / "robot_arm.html", options.out / "robot_arm.npz", options.out / "robot_arm.png"]
    with Recorder(simulation, outputs, frames_per_second=60.0, title="a robot arm") as recorder:

        def run(seconds: float) -> None:
            for _ in range(round(seconds * 60)):
                simulation.step()
                recorder.record()

        recorder.record()
        fastest = 0.0
        for pose, targets in POSES.items():
            robot.drive(pose, STIFF)
            for _ in range(round(SECONDS * 60)):
                simulation.step()
                recorder.record()
                fastest = max(fastest, float(np.abs(robot.velocities[:4]).max()))
            needed, wanted = moments_of_weight(simulation, robot), np.array([*targets.values(), targets["finger"]])
            off, loads = robot.angles - wanted, robot.loads
            print(f"{pose:6} off by at most {np.abs(off).max():.4f}, loads {np.round(loads[:4], 3)} N m")
            assert np.abs(loads[:4] - needed[:4]).max() < 0.02 * np.abs(needed[:4]).max(), (loads, needed)
            assert np.abs(off[:4] + loads[:4] / STIFF.stiffness).max() < 1e-3, "stiffness times the rest is the load"
        print(f"fastest joint {fastest:.2f} rad/s")
        assert fastest < 3.2, "a joint is faster than its largest speed"

        held = robot.angles
        robot.drive(moments_of_weight(simulation, robot), sn.ForceMotor())
        run(HELD)
        moved = np.abs(robot.angles - held)[:4].max()
        print(f"held by moments alone for {HELD:g} s, moved by {moved:.2e} rad")
        assert moved < 1e-3

        robot.drive(dict.fromkeys(robot.names))
        run(FALLING)
        assert np.abs(robot.angles - held)[:4].max() > 0.1, "it falls without motors"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
