r"""Rain of ragdolls: figures of eleven parts and ten joints tumble onto each other and come to rest as a heap.

      ( )        the head and the chest swing in cones
     /[ ]\       shoulders and hips swing in wide cones; elbows and knees are hinges with stops
    / [ ] \
      / \
     /   \

Checked: where they hit the floor and each other no joint gapes by more than a twentieth of a leg. In the end none gapes
by more than a tenth of a millimetre or is beyond its limit by more than a thousandth of a radian, all lie still, and
the floor carries their weight.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.geometry.motion import rotation_matrix
from shinari.output.recorder import Recorder

GRAVITY = 9.81  # [m/s^2]
LEG = 0.75  # of a figure [m]
DAMPING = 0.5  # of the joints [N m s]
X, Y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
# part: its shape, where its middle is in the figure [m]
PARTS = {
    "pelvis": (sn.Box((0.32, 0.18, 0.20)), (0.0, 0.0, 0.0)),
    "chest": (sn.Box((0.38, 0.34, 0.22)), (0.0, 0.30, 0.0)),
    "head": (sn.Sphere(0.12), (0.0, 0.64, 0.0)),
    "arm": (sn.Capsule(0.05, 0.20), (0.26, 0.27, 0.0)),
    "forearm": (sn.Capsule(0.045, 0.22), (0.26, -0.04, 0.0)),
    "thigh": (sn.Capsule(0.075, 0.26), (0.09, -0.31, 0.0)),
    "shin": (sn.Capsule(0.06, 0.30), (0.09, -0.72, 0.0)),
}
# child, parent, where; the cone of a ball, or the least and largest angle of a hinge about x [rad]
JOINTS = [
    ("chest", "pelvis", (0.0, 0.11, 0.0), 0.5),
    ("head", "chest", (0.0, 0.50, 0.0), 0.7),
    ("arm", "chest", (0.26, 0.42, 0.0), 1.5),
    ("forearm", "arm", (0.26, 0.12, 0.0), (-2.4, 0.0)),
    ("thigh", "pelvis", (0.09, -0.11, 0.0), 1.0),
    ("shin", "thigh", (0.09, -0.52, 0.0), (0.0, 2.4)),
]
LIMBS = ("arm", "forearm", "thigh", "shin")


def ragdoll(scene: sn.Scene, place: np.ndarray, spin: np.ndarray) -> None:
    """Add a figure that stands upright at a place and turns about it with an angular velocity [rad/s]."""
    found = {}
    for part, (shape, middle) in PARTS.items():
        for side in (-1.0, 1.0) if part in LIMBS else (1.0,):
            at = np.multiply(middle, (side, 1.0, 1.0))
            found[part, side] = scene.add_rigid_body(
                shape, position=place + at, velocity=np.cross(spin, at), angular_velocity=spin, friction=0.6,
                rolling_friction=0.01,
            )  # fmt: skip
    for child, parent, where, most in JOINTS:
        for side in (-1.0, 1.0) if child in LIMBS else (1.0,):
            bodies = found[child, side], found[parent, side if parent in LIMBS else 1.0]
            at = place + np.multiply(where, (side, 1.0, 1.0))
            if isinstance(most, tuple):
                scene.add_joint("hinge", *bodies, anchor=at, axis=X, limits=most, damping=DAMPING)
            else:
                scene.add_joint(
                    "ball", *bodies, anchor=at, axis=Y, swing_limit=most, twist_limits=(-0.8, 0.8), damping=DAMPING
                )


def build(figures: int) -> sn.Scene:
    """Figures above each other that tumble at random."""
    scene, random = sn.Scene(gravity=(0.0, -GRAVITY, 0.0)), np.random.default_rng(3)
    scene.add_collider(sn.Plane(), friction=0.6, name="floor")
    for k in range(figures):
        ragdoll(scene, np.array([0.4 * (-1.0) ** k, 1.4 + 1.9 * (k // 2), 0.3 * (k % 3)]), random.uniform(-3.0, 3.0, 3))
    return scene


def violations(simulation: sn.Simulation) -> tuple[float, float]:
    """Largest gap of a joint [m], and how far one is beyond its limit at most [rad]; all began upright."""
    x, turns = simulation.state.body_positions, rotation_matrix(simulation.state.body_rotations)
    gap = beyond = 0.0
    for joint in simulation.scene.joints:
        a, b = joint.first, joint.second
        ends = [x[k] + turns[k] @ place for k, place in zip((a, b), joint.places, strict=True)]
        gap = max(gap, float(np.linalg.norm(ends[0] - ends[1])))
        if joint.swing is not None:
            beyond = max(beyond, float(np.arccos(min(turns[a][:, 1] @ turns[b][:, 1], 1.0))) - joint.swing)
        else:
            angle = simulation.joint(joint.name).angle
            beyond = max(beyond, joint.twist[0] - angle, angle - joint.twist[1])
    return gap, beyond


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build(6), substeps=16)


def main(arguments: list[str] | None = None) -> None:
    """Let it rain, check, write results."""
    parser = argparse.ArgumentParser(description="ragdolls fall into a heap")
    parser.add_argument("--figures", type=int, default=6, help="ragdolls")
    parser.add_argument("--frames", type=int, default=390, help="frames of 1/60 s; all lie after 360")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene = build(options.figures)
    simulation = sn.Simulation(scene, substeps=16)
    outputs = [options.out / "rain_of_ragdolls.html", options.out / "rain_of_ragdolls.npz"]
    largest, carried = 0.0, []
    with Recorder(simulation, outputs, frames_per_second=30.0, title="a rain of ragdolls") as recorder:
        recorder.record()
        for frame in range(options.frames):
            simulation.step()
            if frame % 2:
                recorder.record()
            gap, beyond = violations(simulation)
            largest = max(largest, gap)
            carried.append(-simulation.forces(scene["floor"])[1])
    share = np.mean(carried[-60:]) / (GRAVITY * sum(body.mass for body in scene.bodies))
    speed = np.linalg.norm(simulation.state.body_velocities, axis=1).max()
    print(f"joints gaped by {1e3 * largest:.2f} mm at most")
    print(f"in the end they gape by {1e3 * gap:.5f} mm and are beyond their limits by {beyond:.2g} rad")
    print(f"the fastest part has {1e3 * speed:.1f} mm/s; the floor carries {share:.4f} of the weight")
    assert largest < 0.05 * LEG, "a joint comes apart"
    assert gap < 1e-4, "a joint gapes at rest"
    assert beyond < 1e-3, "a joint is beyond its limit at rest"
    assert speed < 0.1, "the heap does not come to rest"
    assert abs(share - 1.0) < 0.02, "the floor does not carry the heap"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
