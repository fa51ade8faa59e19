r"""Cup under a tap: an arm of three joints holds a cup while water is poured into it.

                      |  tap
    shoulder  elbow   |  wrist
       o--------o---------o-\   |
       |                    |~~~|     load of a joint = moment of what hangs on it
       |                    \___/     sag of a joint  = load / stiffness

The arm is built from bodies and joints, and is a robot like one that was loaded. PD control holds each joint. The
joints tell what is in the cup: more water, more moment, and the arm gives way by that over its stiffness.

Checked: the water that has left the tap is in the cup, each joint gives way by what it carries over its stiffness, and
the shoulder tells how much was poured.
"""

import argparse
from pathlib import Path

import numpy as np
import trimesh

import shinari as sn
from shinari.output.recorder import Recorder

GRAVITY = 9.81  # [m/s^2]
SPACING = 0.01  # [m]
PIPE, SPEED, POURED = 0.02, 0.8, 0.5  # radius [m], speed [m/s] and time [s] of the water in the tap
WATER = sn.FluidMaterial(rest_density=1000.0, viscosity=0.3)
INSIDE, WALL, TALL = 0.06, 0.03, 0.16  # radius of the inside of the cup, its walls, its height [m]
HEIGHT, LINK, GRIP = 0.5, 0.35, 0.1  # of the arm, of its links, from the wrist to the middle of the cup [m]
STIFFNESS, DAMPING = 3000.0, 150.0  # of the joints [N m/rad], [N m s/rad]


def cup() -> trimesh.Trimesh:
    """A closed mesh about the middle of its height: the outline of the walls, turned about the axis."""
    outside = INSIDE + WALL
    outline = np.array([(0, 0), (outside, 0), (outside, TALL), (INSIDE, TALL), (INSIDE, WALL), (0, WALL)], float)
    mesh = trimesh.creation.revolve(outline - (0.0, 0.5 * TALL), sections=32)  # about Z
    return trimesh.Trimesh(np.asarray(mesh.vertices)[:, [1, 2, 0]], mesh.faces, process=False)


def build() -> tuple[sn.Simulation, sn.Robot]:
    """A post, two links, the cup, and a tap above it."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    scene.add_collider(sn.Plane(), name="ground")
    left = -(2.0 * LINK + GRIP)
    post = scene.add_rigid_body(
        sn.Box((0.08, HEIGHT, 0.08)), position=(left, 0.5 * HEIGHT, 0), kinematic=True, color=(0.35, 0.38, 0.42)
    )
    bodies, joints, below = {}, {}, post
    for k, (name, color) in enumerate([("upper", (0.93, 0.47, 0.13)), ("lower", (0.92, 0.92, 0.9))]):
        place = (left + (k + 0.5) * LINK, HEIGHT, 0.0)
        bodies[name] = scene.add_rigid_body(
            sn.Box((LINK, 0.05, 0.05)), mass=1.0, position=place, color=color, name=name
        )
        anchor = (left + k * LINK, HEIGHT, 0.0)
        joint = ("shoulder", "elbow")[k]
        joints[joint] = scene.add_joint("hinge", bodies[name], below, anchor=anchor, axis=(0, 0, 1), name=joint)
        below = bodies[name]
    mesh = cup()
    bodies["cup"] = scene.add_rigid_body(
        sn.Mesh(mesh.vertices, mesh.faces), mass=0.4, position=(0.0, HEIGHT, 0.0), name="cup"
    )
    joints["wrist"] = scene.add_joint(
        "hinge", bodies["cup"], below, anchor=(-GRIP, HEIGHT, 0), axis=(0, 0, 1), name="wrist"
    )
    tap = (0.0, HEIGHT + 0.5 * TALL + 0.08, 0.0)
    scene.add_emitter(
        limit=1200,
        radius=PIPE,
        position=tap,
        direction=(0.0, -1.0, 0.0),
        speed=SPEED,
        stop=POURED,
        spacing=SPACING,
        material=WATER,
        name="water",
    )
    robot = sn.Robot("arm", bodies, joints)
    simulation = sn.Simulation(scene, substeps=6)
    robot.drive(np.zeros(3), sn.Servo(0.0, STIFFNESS, DAMPING))
    return simulation, robot


def moments(simulation: sn.Simulation, robot: sn.Robot) -> np.ndarray:
    """Moments of the weight of arm, cup and water about each joint [N m]."""
    water = simulation.positions("water").astype(float)[simulation.active("water")]
    drop = WATER.rest_density * SPACING**3
    found = []
    for k, joint in enumerate(robot.joints.values()):
        total = GRAVITY * drop * float((water[:, 0] - joint.anchor[0]).sum())
        for body in list(robot.bodies.values())[k:]:
            described = simulation.scene.bodies[body.index]
            pose = simulation.pose(body)
            total += (
                GRAVITY * described.mass * float((pose.position + pose.matrix @ described.centre - joint.anchor)[0])
            )
        found.append(total)
    return np.array(found)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return build()[0]


def main(arguments: list[str] | None = None) -> None:
    """Pour, wait until the water rests, check, write results."""
    parser = argparse.ArgumentParser(description="a cup under a tap")
    parser.add_argument("--frames", type=int, default=150, help="frames of 1/60 s; the water rests after 130")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    simulation, robot = build()
    outputs = [options.out / "cup_under_tap.html", options.out / "cup_under_tap.npz", options.out / "cup_under_tap.png"]
    loads, sags, needed = [], [], []
    empty = moments(simulation, robot)
    with Recorder(simulation, outputs, frames_per_second=60.0, title="a cup under a tap") as recorder:
        recorder.record()
        for frame in range(options.frames):
            simulation.step()
            recorder.record()
            if frame >= options.frames - 20:
                loads.append(robot.loads)
                sags.append(-robot.angles)
                needed.append(moments(simulation, robot))
    load, sag, need = (np.mean(rows, axis=0) for rows in (loads, sags, needed))
    water = simulation.positions("water").astype(float)[simulation.active("water")]
    pose = simulation.pose("cup")
    inside = (water - pose.position) @ pose.matrix
    held = (np.hypot(inside[:, 0], inside[:, 2]) < INSIDE + 0.5 * SPACING) & (inside[:, 1] > 0.5 * SPACING - 0.5 * TALL)
    print(f"{1e3 * len(water) * SPACING**3:.3f} l have left the tap; {held.mean():.1%} are in the cup")
    for name, a, b, c in zip(robot.joints, load, need, sag, strict=True):
        print(f"{name:8} gives way by {1e3 * c:.3f} mrad: {STIFFNESS * c:7.3f} N m for {b:7.3f}, load {a:7.3f} N m")
    assert held.all(), "water is outside of the cup"
    assert np.abs(sag * STIFFNESS / need - 1.0).max() < 0.01, "a joint does not give way by what it carries"
    # the load of the last substep has the damping in it: the water pushes in pulses, a few in a step
    assert np.abs(load / need - 1.0).max() < 0.1, "the joints do not carry what hangs on them"
    told = float((sag * STIFFNESS - empty)[0] / (GRAVITY * (2.0 * LINK + GRIP)))
    poured = len(water) * WATER.rest_density * SPACING**3
    print(f"the shoulder tells of {told:.4f} kg in the cup; {poured:.4f} kg were poured")
    assert abs(told / poured - 1.0) < 0.01, "the arm does not feel the water"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
