r"""Crane: pulls a box out of the bottom of a heap, carries it away and sets it down.

     ====[trolley]=======>    slider along x, a servo drives it
            |                 slider along y, a servo hoists
         [ hook ]
          / || \              four ropes: distances that are bounded from above only
     [ ][ box  ][ ]           a heap of thirteen boxes; four of them lean on the one that is hoisted

Servos, ropes and the heap are one system. Checked by what the motor of the hoist feels: more than hook and box while
others lie on them, their weight while they hang, the hook alone when the ropes are slack; and by what the floor carries
meanwhile. Ropes are not drawn.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

GRAVITY = 9.81  # [m/s^2]
EDGE, PITCH, DENSITY, HOOK = 0.4, 0.42, 500.0, 10.0  # of the boxes [m], [m], [kg/m^3]; mass of the hook [kg]
LEVEL, RAIL, AWAY = 1.3, 3.0, 2.4  # of the hook and of the trolley above the floor, how far it goes [m]
LIFT, CARRY, LOWER, END = 1.0, 4.0, 9.0, 12.0  # when it begins to do so [s]


def build() -> sn.Scene:
    """The heap with the crane above it; its ropes are at the box already, and just slack."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    scene.add_collider(sn.Plane(), friction=0.6, name="floor")
    for level, side in ((0, 3), (1, 2)):
        for i, k in np.ndindex(side, side):
            at = (PITCH * (i - 0.5 * (side - 1)), EDGE * (level + 0.5), PITCH * (k - 0.5 * (side - 1)))
            name = "box" if (level, i, k) == (0, 1, 1) else None
            scene.add_rigid_body(sn.Box((EDGE,) * 3), density=DENSITY, position=at, friction=0.4, name=name)
    for z in (-0.35, 0.35):
        scene.add_collider(sn.Box((4.0, 0.15, 0.1)), position=(0.5 * AWAY, RAIL, z), name=f"rail_{z:+}")
    trolley = scene.add_rigid_body(sn.Box((0.5, 0.2, 0.56)), mass=50.0, position=(0.0, RAIL, 0.0), name="trolley")
    mast = sn.Compound([sn.Box((0.2, 0.15, 0.2)), (sn.Box((0.06, 2.0, 0.06)), (0.0, 1.0, 0.0))])
    hook = scene.add_rigid_body(mast, mass=HOOK, position=(0.0, LEVEL, 0.0), name="hook")
    scene.add_joint("slider", trolley, anchor=(0, RAIL, 0), axis=(1, 0, 0), motor=sn.Servo(0.0), name="travel")
    scene.add_joint("slider", hook, trolley, anchor=(0, LEVEL, 0), axis=(0, 1, 0), motor=sn.Servo(0.0), name="hoist")
    for x, z in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
        ends = np.array([0.0, LEVEL - 0.07, 0.0]), np.array([0.5 * x, 1.0, 0.5 * z]) * EDGE
        length = float(np.linalg.norm(ends[0] - ends[1]))
        scene.add_joint(
            "distance", hook, "box", anchor=ends[0], second_anchor=ends[1], limits=(0.0, 1.001 * length), damping=50.0
        )
    return scene


def steer(simulation: sn.Simulation) -> None:
    """Give the servos their targets: smooth ways from one place to the next."""

    def way(begin: float, end: float) -> float:
        part = np.clip((simulation.time - begin) / (end - begin), 0.0, 1.0)
        return float(part**2 * (3.0 - 2.0 * part))

    simulation.drive("hoist", 1.2 * way(LIFT, CARRY) - 1.4 * way(LOWER, END - 1.0))
    simulation.drive("travel", AWAY * way(CARRY, LOWER - 2.0))


def shown() -> tuple[sn.Simulation, Callable[[sn.Simulation], None]]:
    """What `shinari view` shows."""
    return sn.Simulation(build(), substeps=10), steer


def main(arguments: list[str] | None = None) -> None:
    """Hoist, carry, set down, check, write results."""
    parser = argparse.ArgumentParser(description="a crane lifts a box from a heap")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene = build()
    simulation = sn.Simulation(scene, substeps=10)
    outputs = [options.out / "crane.html", options.out / "crane.npz"]
    times, felt, carried = [], [], []
    with Recorder(simulation, outputs, frames_per_second=30.0, title="a crane and a heap") as recorder:
        recorder.record()
        for frame in range(round(END * 60)):
            steer(simulation)
            simulation.step()
            if frame % 2:
                recorder.record()
            times.append(simulation.time)
            felt.append(-simulation.forces(scene["hoist"]).force[1] / GRAVITY)
            carried.append(-simulation.forces(scene["floor"])[1] / GRAVITY)
    box, time = DENSITY * EDGE**3, np.array(times)

    def mean(values: list[float], begin: float, end: float) -> float:
        return float(np.array(values)[(time > begin) & (time <= end)].mean())

    rows = {
        "the hoist feels before it pulls": (mean(felt, 0.5, LIFT), HOOK),
        "and while the box hangs": (mean(felt, LOWER - 1.0, LOWER), HOOK + box),
        "and with slack ropes": (mean(felt, END - 0.5, END), HOOK),
        "the floor carries before": (mean(carried, 0.5, LIFT), 13 * box),
        "and while the box is away": (mean(carried, LOWER - 1.0, LOWER), 12 * box),
        "and in the end": (mean(carried, END - 0.5, END), 13 * box),
    }
    for name, (found, exact) in rows.items():
        print(f"{name:32} {found:9.3f} for {exact:9.3f} kg")
    for name, (found, exact) in rows.items():
        assert abs(found - exact) < 0.01 * HOOK, f"{name}: {found:.4f} for {exact:.4f} kg"
    assert max(felt) > 1.5 * (HOOK + box), "the others do not weigh on the box"
    place = simulation.pose("box")[0]
    print(f"while it pulls the hoist feels up to {max(felt):.0f} kg; the box ends {place[0]:.2f} m away")
    assert place[0] > AWAY - 0.5, "the box is not where it was carried"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
