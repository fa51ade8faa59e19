r"""Joints: every kind of joint with what limits and drives it, each on a stand of its own.

    [fixed] [ball] [hinge] [motor] [servo] [slider] [lift] [cylindrical] [universal] [planar] [spring] [gear]

What a joint holds stays where it is; what it leaves free moves as a body does that nothing else touches, up to a limit;
what a motor drives does as it is told, as long as its force lasts. Each stand is checked for what is known of it in
closed form: the angle at which it stops, the moment of a bracket, the travel of a lift, the stretch of a spring.

Angles and travels are those of the first body against the second, here mostly the world.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.geometry.motion import rotation_matrix
from shinari.output.recorder import Recorder
from shinari.scene.handle import BodyHandle

GRAVITY = 9.81  # [m/s^2]
LENGTH, WIDTH, MASS = 0.6, 0.1, 2.0  # of the bars [m], [kg]
ARM = MASS * GRAVITY * 0.5 * LENGTH  # moment of a bar that is held level by its end [N m]
HEIGHT, PITCH = 2.0, 0.8  # of the stands, from one to the next [m]
CONE, STOP = 0.5, 0.8  # limits of the ball and of the hinge [rad]
SPEED, TARGET = 2.0, 0.4  # of the motor [rad/s], of servos [rad or m]
STIFFNESS = 500.0  # of the spring [N/m]
SLOPE, DRAG = np.radians(30.0), 20.0  # of the plane, on it [N s/m]
SECONDS = 4.0


def bar(scene: sn.Scene, stand: int, direction: str, **more) -> tuple[BodyHandle, np.ndarray]:
    """Add a bar that goes from the top of a stand `out` (along x), `down` or `up`; the bar and the top."""
    top = np.array([0.0, HEIGHT, PITCH * stand])
    way = {"out": (1.0, 0.0, 0.0), "down": (0.0, -1.0, 0.0), "up": (0.0, 1.0, 0.0)}[direction]
    size = np.where(np.abs(way) > 0.5, LENGTH, WIDTH)
    return scene.add_rigid_body(
        sn.Box(tuple(size)), mass=MASS, position=top + 0.5 * LENGTH * np.array(way), **more
    ), top


def build() -> sn.Scene:
    """One stand for each kind."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    x, y, z = np.eye(3)

    body, top = bar(scene, 0, "out", name="bracket")
    scene.add_joint("fixed", body, anchor=top, name="fixed")

    spin = np.array([0.0, 1.0, 5.0])
    body, top = bar(scene, 1, "down", angular_velocity=spin, velocity=np.cross(spin, -0.5 * LENGTH * y), name="swing")
    scene.add_joint(
        "ball", body, anchor=top, axis=-y, swing_limit=CONE, twist_limits=(-0.5, 0.5), damping=0.2, name="ball"
    )

    body, top = bar(scene, 2, "out", name="flap")
    scene.add_joint("hinge", body, anchor=top, axis=z, limits=(-STOP, STOP), damping=0.5, name="hinge")

    body, top = bar(scene, 3, "out", name="hand")
    scene.add_joint("hinge", body, anchor=top, axis=z, motor=sn.VelocityMotor(SPEED, max_force=100.0), name="motor")

    body, top = bar(scene, 4, "out", name="arm")
    scene.add_joint("hinge", body, anchor=top, axis=z, motor=sn.Servo(0.0, max_force=1.1 * ARM), name="servo")

    body, top = bar(scene, 5, "up", name="bolt")
    scene.add_joint("slider", body, anchor=top, axis=y, limits=(-0.3, 0.3), name="slider")

    body, top = bar(scene, 6, "up", name="stage")
    motor = sn.Servo(TARGET, stiffness=2000.0, damping=120.0)
    scene.add_joint("slider", body, anchor=top, axis=y, limits=(-0.5, 0.5), motor=motor, name="lift")

    body, top = bar(scene, 7, "up", angular_velocity=3.0 * y, name="piston")
    scene.add_joint("cylindrical", body, anchor=top, axis=y, limits=(-0.2, 0.2), name="cylindrical")

    spin = np.array([2.0, 0.0, 1.0])
    body, top = bar(scene, 8, "down", angular_velocity=spin, velocity=np.cross(spin, -0.5 * LENGTH * y), name="crank")
    scene.add_joint("universal", body, anchor=top, axis=x, second_axis=z, name="universal")

    top = np.array([0.0, HEIGHT, PITCH * 9])
    body = scene.add_rigid_body(sn.Box((0.3, 0.05, 0.3)), mass=MASS, position=top, name="sledge")
    scene.add_joint("planar", body, anchor=top, axis=(np.sin(SLOPE), np.cos(SLOPE), 0.0), damping=DRAG, name="planar")

    top = np.array([0.0, HEIGHT, PITCH * 10])
    body = scene.add_rigid_body(sn.Sphere(WIDTH), mass=MASS, position=top - 0.5 * y, name="weight")
    scene.add_joint(
        "distance",
        body,
        anchor=top - 0.5 * y,
        second_anchor=top,
        compliance=1.0 / STIFFNESS,
        damping=20.0,
        name="spring",
    )

    wheels = []
    for k, radius in enumerate((0.2, 0.4)):
        place = np.array([0.6 * k, HEIGHT, PITCH * 11])
        turned = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)  # the cylinder along z
        wheel = scene.add_rigid_body(
            sn.Cylinder(0.99 * radius, 0.1), mass=MASS, position=place, rotation=turned, name=f"wheel_{k}"
        )
        motor = None if k else sn.VelocityMotor(SPEED)
        scene.add_joint("hinge", wheel, anchor=place, axis=z, motor=motor, name=f"axle_{k}")
        wheels.append(wheel)
    scene.add_joint("gear", *wheels, axis=z, second_axis=z, ratio=-2.0, name="gear")
    return scene


def check(simulation: sn.Simulation, most: dict[str, float]) -> None:
    """What is known of each stand at the end, and of the largest angles on the way."""
    weight = MASS * GRAVITY
    state = {joint.name: simulation.joint(joint.name) for joint in simulation.scene.joints}
    load = {joint.name: simulation.forces(simulation.scene[joint.name]) for joint in simulation.scene.joints}
    turn = SPEED * simulation.time
    # on the world acts the weight, and its moment about the anchor
    rows = {
        "fixed: its force [N]": (load["fixed"].force[1], -weight),
        "fixed: its moment [N m]": (load["fixed"].torque[2], -ARM),
        "ball: largest swing [rad]": (most["swing"], CONE),
        "hinge: angle at its stop [rad]": (state["hinge"].angle, -STOP),
        "hinge: moment of its stop [N m]": (load["hinge"].torque[2], -ARM * np.cos(STOP)),
        "motor: angle [rad]": (state["motor"].angle, turn),
        "servo: angle [rad]": (state["servo"].angle, TARGET),
        "servo: its moment [N m]": (load["servo"].torque[2], -ARM * np.cos(TARGET)),
        "slider: travel to its stop [m]": (state["slider"].travel, -0.3),
        "slider: force of its stop [N]": (load["slider"].force[1], -weight),
        "lift: travel [m]": (state["lift"].travel, TARGET - weight / 2000.0),
        "cylindrical: travel to its stop [m]": (state["cylindrical"].travel, -0.2),
        "cylindrical: speed of turn [rad/s]": (state["cylindrical"].speed, 3.0),
        "planar: way down the slope [m]": (most["way"], way_with_drag(simulation.time)),
        "spring: its length [m]": (state["spring"].travel, 0.5 + weight / STIFFNESS),
        "gear: angle of the large wheel [rad]": (state["axle_1"].angle, -0.5 * turn),
    }
    for name, (found, exact) in rows.items():
        print(f"{name:40} {found:9.4f} for {exact:9.4f}")
    for name, (found, exact) in rows.items():
        assert abs(found - exact) < 0.01 * max(abs(exact), 0.1), f"{name}: {found:.5f} for {exact:.5f}"
    assert most["twist"] < 1e-6, "the universal joint lets its bar turn about itself"


def way_with_drag(time: float) -> float:
    """How far the sledge gets in a time [m], from rest: m x'' = m g sin(slope) - drag x'."""
    fade = MASS / DRAG
    return float(GRAVITY * np.sin(SLOPE) * fade * (time - fade * (1.0 - np.exp(-time / fade))))


def shown() -> tuple[sn.Simulation, Callable[[sn.Simulation], None]]:
    """What `shinari view` shows."""

    def before_step(simulation: sn.Simulation) -> None:
        if simulation.state.frame == 60:
            simulation.drive("servo", TARGET)

    return sn.Simulation(build()), before_step


def main(arguments: list[str] | None = None) -> None:
    """Run all stands, check, write results."""
    parser = argparse.ArgumentParser(description="every kind of joint")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene = build()
    simulation = sn.Simulation(scene)
    outputs = [options.out / "joints.html", options.out / "joints.npz"]
    most = {"swing": 0.0, "twist": 0.0, "way": 0.0}
    with Recorder(simulation, outputs, frames_per_second=60.0, title="every kind of joint") as recorder:
        recorder.record()
        for frame in range(round(SECONDS * 60.0)):
            if frame == 60:
                simulation.drive("servo", TARGET)  # from level to its target, with little moment to spare
            simulation.step()
            recorder.record()
            most["swing"] = max(most["swing"], swing(simulation, "swing"))
            most["twist"] = max(most["twist"], abs(float(axis(simulation, "crank", 0)[2])))
    start = np.array([0.0, HEIGHT, PITCH * 9])
    most["way"] = float(np.linalg.norm(simulation.pose("sledge")[0] - start))
    check(simulation, most)
    print(f"wrote {', '.join(str(path) for path in outputs)}")


def axis(simulation: sn.Simulation, body: str, which: int) -> np.ndarray:
    """An axis of a body, in the world."""
    return rotation_matrix(simulation.pose(body)[1])[:, which]


def swing(simulation: sn.Simulation, body: str) -> float:
    """Angle of a hanging bar to the vertical [rad]."""
    return float(np.arccos(min(axis(simulation, body, 1)[1], 1.0)))


if __name__ == "__main__":
    main()
