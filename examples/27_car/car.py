r"""Car: four wheels on springs and dampers, driven at the back and steered in front, on rough ground.

      ________________              chassis
       |            |               slider, up and down: a servo whose stiffness is the spring and whose damping is the
      (hub)        (hub)            damper, between stops
       |            |-(knuckle)     hinge, upright: a servo steers it
      (wheel)      (wheel)          hinge, across: a motor turns the wheels at the back

The hubs and knuckles have a mass and no shape. All of it is one system of equations in each substep, so that neither
the chain of three joints nor 600 kg on knuckles of 5 kg makes it soft.

Checked: at rest the springs carry the chassis with the sag m g / 4 k; driving straight the car is as fast as its wheels
turn; springs work between their stops on the rough ground; steered, it turns as one with two wheels on one track does:
with the wheelbase L and the angle d on a circle of the radius L / tan(d).
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
CHASSIS, HUB, KNUCKLE, WHEEL = 600.0, 10.0, 5.0, 15.0  # [kg]
BASE, TRACK, RADIUS, BREADTH = 1.8, 1.5, 0.35, 0.2  # wheelbase, track, of the wheels [m]
SPRING, DAMPER, STOP = 25e3, 2500.0, 0.15  # [N/m], [N s/m], [m]
TORQUE = 350.0  # of each motor [N m]
SPEED, STEER = 4.0, 0.25  # [m/s], [rad]
ROUGH, GROUND, CELL = 0.02, (36.0, 28.0), 0.25  # height of the waves, size of the ground, of its cells [m]
ALONG = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)  # turns the axis of a cylinder, y, to z
REST, STRAIGHT, TURN = 1.0, 3.5, 3.0  # [s]


def ground() -> sn.Heightfield:
    """Waves of several lengths, as of a field road."""
    generator = np.random.default_rng(1)
    x, z = np.meshgrid(*(np.linspace(-0.5, 0.5, round(size / CELL) + 1) * size for size in GROUND))
    heights = np.zeros(x.shape)
    for length in (1.5, 2.0, 2.7, 3.5):
        angle, phase = generator.uniform(-1.2, 1.2), generator.uniform(0.0, 2.0 * np.pi)
        heights += 0.5 * ROUGH * np.sin(2.0 * np.pi / length * (np.cos(angle) * x + np.sin(angle) * z) + phase)
    return sn.Heightfield(heights, GROUND)


def build() -> sn.Scene:
    """The car at the start of the road; x is ahead, z to the right."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    scene.add_collider(ground(), friction=0.9, name="road")
    start = np.array([-12.0, RADIUS + 2.0 * ROUGH, 3.0])
    chassis = scene.add_rigid_body(
        sn.Box((2.6, 0.4, 0.9)), mass=CHASSIS, position=start + np.array([0.0, 0.25, 0.0]), name="chassis"
    )
    for end, ahead in (("front", 1.0), ("rear", -1.0)):
        for side, right in (("left", -1.0), ("right", 1.0)):
            place = start + np.array([0.5 * ahead * BASE, 0.0, 0.5 * right * TRACK])
            hub = axle(scene, HUB, place, f"hub_{end}_{side}")
            scene.add_joint(
                "slider",
                hub,
                chassis,
                anchor=place,
                axis=(0.0, 1.0, 0.0),
                limits=(-STOP, STOP),
                motor=sn.Servo(0.0, stiffness=SPRING, damping=DAMPER),
                name=f"spring_{end}_{side}",
            )
            if end == "front":
                knuckle = axle(scene, KNUCKLE, place, f"knuckle_{side}")
                servo = sn.Servo(0.0, max_force=500.0)
                scene.add_joint(
                    "hinge", knuckle, hub, anchor=place, axis=(0.0, 1.0, 0.0), motor=servo, name=f"steer_{side}"
                )
                hub = knuckle
            wheel = scene.add_rigid_body(
                sn.Cylinder(RADIUS, BREADTH),
                mass=WHEEL,
                position=place,
                rotation=ALONG,
                friction=0.9,
                name=f"wheel_{end}_{side}",
            )
            motor = sn.VelocityMotor(0.0, max_force=TORQUE) if end == "rear" else None
            scene.add_joint(
                "hinge", wheel, hub, anchor=place, axis=(0.0, 0.0, -1.0), motor=motor, name=f"axle_{end}_{side}"
            )
    return scene


def axle(scene: sn.Scene, mass: float, place: np.ndarray, name: str) -> BodyHandle:
    """A body that touches nothing."""
    return scene.add_rigid_body(None, mass=mass, inertia=(0.02 * mass,) * 3, position=place, name=name)


class Log:
    """What is measured after every step."""

    def __init__(self, simulation: sn.Simulation) -> None:
        self.simulation = simulation
        self.springs: list[list[float]] = []  # travels [m]
        self.yaws: list[float] = []  # [rad/s]
        self.speeds: list[float] = []  # of the chassis over the ground [m/s]
        self.tilts: list[float] = []  # of the chassis [rad]

    def __call__(self) -> None:
        """Measure."""
        state, names = self.simulation.state, [joint.name for joint in self.simulation.scene.joints]
        springs = [name for name in names if name.startswith("spring")]
        self.springs.append([self.simulation.joint(name).travel for name in springs])
        self.yaws.append(state.body_angular_velocities[0, 1])
        self.speeds.append(float(np.hypot(*state.body_velocities[0, [0, 2]])))
        up = rotation_matrix(state.body_rotations[0])[1, 1]
        self.tilts.append(float(np.arccos(min(up, 1.0))))


def shown() -> tuple[sn.Simulation, Callable[[sn.Simulation], None]]:
    """What `shinari view` shows."""
    return sn.Simulation(build(), substeps=10), before_step


def main(arguments: list[str] | None = None) -> None:
    """Rest, drive ahead, turn, check, write results."""
    parser = argparse.ArgumentParser(description="a car on rough ground")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    simulation = sn.Simulation(build(), substeps=10)
    log = Log(simulation)
    outputs = [options.out / "car.html", options.out / "car.npz"]
    with Recorder(simulation, outputs, frames_per_second=30.0, title="a car on a field road") as recorder:
        recorder.record()
        for frame in range(round(60.0 * (REST + STRAIGHT + TURN))):
            before_step(simulation)
            simulation.step()
            log()
            if frame % 2:
                recorder.record()
    check(simulation, log)
    print(f"wrote {', '.join(str(path) for path in outputs)}")


def before_step(simulation: sn.Simulation) -> None:
    """Drive ahead after a rest, and turn after that."""
    if simulation.state.frame == round(60.0 * REST):
        drive(simulation, 0.0)
    if simulation.state.frame == round(60.0 * (REST + STRAIGHT)):
        drive(simulation, STEER)


def drive(simulation: sn.Simulation, angle: float) -> None:
    """Steer to an angle to the left [rad], and turn each wheel at the back as fast as its own circle asks for."""
    for side, right in (("left", -1.0), ("right", 1.0)):
        simulation.drive(f"steer_{side}", angle)
        simulation.drive(f"axle_rear_{side}", SPEED / RADIUS * (1.0 + right * 0.5 * TRACK * np.tan(angle) / BASE))


def check(simulation: sn.Simulation, log: Log) -> None:
    """Sag, speed, springs and turn."""
    springs, yaws, speeds = np.array(log.springs), np.array(log.yaws), np.array(log.speeds)
    rest, straight = round(60.0 * REST), round(60.0 * (REST + STRAIGHT))
    sag, exact = springs[rest - 1].mean(), CHASSIS * GRAVITY / 4.0 / SPRING
    speed = speeds[straight - 60 : straight].mean()
    yaw, circle = yaws[-90:].mean(), SPEED * np.tan(STEER) / BASE
    moved = np.ptp(springs[rest:], axis=0)
    steered = [simulation.joint(f"steer_{side}").angle for side in ("left", "right")]
    print(f"springs give way {1e3 * sag:.2f} mm at rest, {1e3 * exact:.2f} mm by their stiffness")
    print(f"the car drives {speed:.3f} m/s for {SPEED} m/s; the springs move by {1e3 * moved.min():.0f} mm and more")
    print(f"it turns by {yaw:.3f} rad/s for {circle:.3f} rad/s; leans {np.degrees(max(log.tilts)):.1f} degrees at most")
    assert abs(sag / exact - 1.0) < 0.01
    assert abs(speed / SPEED - 1.0) < 0.03, "the wheels slip"
    assert moved.min() > 0.01, "the springs do not work"
    assert np.abs(springs).max() < STOP + 1e-4, "a spring went beyond its stop"
    assert np.abs(np.array(steered) - STEER).max() < 0.01, "the servos do not hold the wheels"
    assert abs(yaw / circle - 1.0) < 0.15, "it does not go where it is steered"
    assert np.degrees(max(log.tilts)) < 6.0, "it leans too much"


if __name__ == "__main__":
    main()
