r"""Soft body on a hinge: a block of jelly is welded to a plate that a servo tilts.

               .------.
               | soft |        the particles of the block's underside are attached to the plate, each at its place; what
    (o)========+======+===     they pull the plate pulls back, and the servo feels the weight of both
    servo       plate

Checked: the moment of the servo at rest is that of the plate and of every particle of the block where it is now, level
and tilted; the weld holds; the block sways for a while and then leans downhill.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.geometry.motion import rotation_matrix
from shinari.output.recorder import Recorder

GRAVITY = 9.81  # [m/s^2]
LENGTH, THICKNESS, WIDTH, MASS = 0.6, 0.04, 0.3, 2.0  # of the plate [m], [kg]
CELLS, CELL, GAP = (4, 4, 4), 0.05, 0.001  # of the block, its cubes [m], above the plate [m]
TILT = 0.5  # [rad]
LEVEL_FRAMES, FRAMES = 90, 300


def build() -> sn.Scene:
    """The plate, level, with the block on its far end; the hinge is in the origin."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    plate = scene.add_rigid_body(
        sn.Box((LENGTH, THICKNESS, WIDTH)), mass=MASS, position=(0.5 * LENGTH, 0.0, 0.0), name="plate"
    )
    servo = sn.Servo(0.0, stiffness=2000.0, damping=100.0, max_force=100.0)
    scene.add_joint("hinge", plate, anchor=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0), motor=servo, name="servo")
    x, tetrahedra = sn.lattice(CELLS, CELL)
    x = x + np.array([LENGTH - 0.05 - CELLS[0] * CELL, 0.5 * THICKNESS + GAP, -0.5 * CELLS[2] * CELL])
    soft = scene.add_soft_body(
        (x, tetrahedra),
        material=sn.SoftMaterial(density=500.0, youngs_modulus=4e4, poissons_ratio=0.4, damping=0.02),
        name="jelly",
    )
    scene.attach((soft, welded(x)), plate)
    return scene


def welded(x: np.ndarray) -> np.ndarray:
    """The particles of the underside."""
    return np.flatnonzero(x[:, 1] < x[:, 1].min() + 1e-6)


def moment(simulation: sn.Simulation) -> float:
    """Moment of all weights about the hinge [N m], with everything where it is now."""
    group = simulation.scene.particle_objects[0]
    soft = (group.masses * simulation.positions("jelly")[:, 0]).sum()
    return GRAVITY * float(MASS * simulation.pose("plate")[0][0] + soft)


def on_plate(simulation: sn.Simulation) -> np.ndarray:
    """The block in the axes of the plate [m]."""
    position, rotation = simulation.pose("plate")
    return (simulation.positions("jelly").astype(float) - position) @ rotation_matrix(rotation)


def shown() -> tuple[sn.Simulation, Callable[[sn.Simulation], None]]:
    """What `shinari view` shows."""

    def before_step(simulation: sn.Simulation) -> None:
        if simulation.state.frame == LEVEL_FRAMES:
            simulation.drive("servo", TILT)

    return sn.Simulation(build()), before_step


def main(arguments: list[str] | None = None) -> None:
    """Hold level, tilt, check, write results."""
    parser = argparse.ArgumentParser(description="a soft body on a plate on a hinge")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene = build()
    simulation = sn.Simulation(scene)
    outputs = [options.out / "soft_body_on_hinge.html", options.out / "soft_body_on_hinge.npz"]
    start = on_plate(simulation)
    weld = welded(start)
    off, top = 0.0, []  # of the weld [m]; shift of the block's top along the plate [m]
    with Recorder(simulation, outputs, frames_per_second=60.0, title="a soft body on a hinge") as recorder:
        recorder.record()
        for frame in range(FRAMES):
            if frame == LEVEL_FRAMES:
                check_moment(simulation, "level")
                simulation.drive("servo", TILT)
            simulation.step()
            recorder.record()
            now = on_plate(simulation)
            off = max(off, float(np.linalg.norm((now - start)[weld], axis=1).max()))
            top.append(float((now - start)[start[:, 1] > start[:, 1].max() - 1e-6, 0].mean()))
    check_moment(simulation, "tilted")
    print(f"the weld is off by {1e3 * off:.3f} mm at most")
    low, high = 1e3 * min(top), 1e3 * max(top)
    print(f"the top sways from {low:.1f} to {high:.1f} mm along the plate, and rests at {1e3 * top[-1]:.1f} mm")
    assert off < 1e-3, "the weld gives way"
    assert min(top) < top[-1] - 1e-3, "the block does not sway"
    assert -0.1 < top[-1] < -1e-3, "the block does not lean downhill"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


def check_moment(simulation: sn.Simulation, pose: str) -> None:
    """The servo at rest carries the weight of everything."""
    carried, weight = -simulation.forces(simulation.scene["servo"]).torque[2], moment(simulation)
    print(f"{pose}: the servo carries {carried:.4f} N m for {weight:.4f} N m")
    assert abs(carried / weight - 1.0) < 0.01, f"{pose}: {carried:.4f} N m for {weight:.4f} N m"


if __name__ == "__main__":
    main()
