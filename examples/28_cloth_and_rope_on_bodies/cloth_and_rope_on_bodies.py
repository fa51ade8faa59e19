r"""Cloth and ropes on bodies: a curtain rail hangs on two ropes, a curtain and a lantern hang on it.

       |                |            the ropes, the curtain and the bodies pull on each other in both directions, and
    ===+================+=====       each attachment tells its force
       |:::: curtain :::|    |
       |::::::::::::::::|    o       lantern on a rope, outside of both ropes: it lifts the other end of the rail
       =====  hem  ======

Checked by the laws of the lever: with the rail, the curtain and the hem in the middle and the lantern at one end, both
ropes share the weight unequally; the curtain's upper edge carries the curtain and the hem, its lower edge the hem. Then
the lantern gets a push: everything sways, and the attachments hold.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.geometry.motion import rotation_matrix
from shinari.output.recorder import Recorder
from shinari.scene.handle import RowsHandle

GRAVITY = 9.81  # [m/s^2]
RAIL, HEM, LANTERN = 2.0, 0.5, 0.5  # [kg]
HALF, END = 0.4, 0.55  # where the ropes and the lantern are along the rail [m]
TOP, LEVEL, SIDE = 2.6, 2.0, 0.04  # heights of the ceiling and the rail, thickness of rail and hem [m]
COLUMNS, ROWS, EDGE, GAP = 15, 11, 0.05, 0.02  # of the curtain; from its edges to the bodies [m]
BALL = 0.06  # radius of the lantern [m]
PUSH = 1.0  # [m/s]
REST, FRAMES = 240, 360  # frames until the push, and all


def build() -> tuple[sn.Scene, dict[str, RowsHandle]]:
    """The scene and its attachments by name."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0), damping=2.0)
    rail = scene.add_rigid_body(sn.Box((1.2, SIDE, SIDE)), mass=RAIL, position=(0.0, LEVEL, 0.0), name="rail")
    high = LEVEL - 0.5 * SIDE - GAP
    low = high - (ROWS - 1) * EDGE
    hem = scene.add_rigid_body(
        sn.Box((0.7, SIDE, SIDE)), mass=HEM, position=(0.0, low - GAP - 0.5 * SIDE, 0.0), name="hem"
    )
    ball = (END, LEVEL - 0.6, 0.0)
    lantern = scene.add_rigid_body(sn.Sphere(BALL), mass=LANTERN, position=ball, name="lantern")

    x, faces = sn.grid(shape=(COLUMNS, ROWS), size=((COLUMNS - 1) * EDGE, (ROWS - 1) * EDGE))
    x = np.stack([x[:, 0], x[:, 2] + 0.5 * (high + low), 0.0 * x[:, 1]], axis=1)
    curtain = scene.add_cloth(
        (x, faces),
        material=sn.ClothMaterial(density=0.4, thickness=0.004, stretch_compliance=1e-5, damping=0.01),
        name="curtain",
    )
    rows = {
        "upper edge": scene.attach((curtain, np.flatnonzero(x[:, 1] > high - 1e-6)), rail),
        "lower edge": scene.attach((curtain, np.flatnonzero(x[:, 1] < low + 1e-6)), hem),
    }
    material = sn.RopeMaterial(density=0.6, damping=0.01)
    for name, along, top, bottom, body in (
        ("left", -HALF, TOP, LEVEL + 0.5 * SIDE, rail),
        ("right", HALF, TOP, LEVEL + 0.5 * SIDE, rail),
        ("lantern", END, LEVEL - 0.5 * SIDE, ball[1] + BALL, lantern),
    ):
        heights = np.linspace(top, bottom, 5)
        rope = scene.add_rope(
            np.stack([np.full(5, along), heights, np.zeros(5)], axis=1), material=material, name=f"rope_{name}"
        )
        rows[name] = scene.attach((rope, 0), rail if body is lantern else (along, TOP, 0.0))
        scene.attach((rope, 4), body)
    return scene, rows


def check_levers(simulation: sn.Simulation, pulls: dict[str, list[float]]) -> None:
    """Pulls of the attachments at rest [N] against the laws of the lever."""
    mass = {group.name: float(group.masses.sum()) for group in simulation.scene.particle_objects}
    middle = RAIL + HEM + mass["curtain"]
    end = LANTERN + mass["rope_lantern"]
    exact = {
        "upper edge": mass["curtain"] + HEM,
        "lower edge": HEM,
        "lantern": end,
        "left": 0.5 * middle + mass["rope_left"] - end * (END - HALF) / (2.0 * HALF),
        "right": 0.5 * middle + mass["rope_right"] + end * (END + HALF) / (2.0 * HALF),
    }
    for name, kilograms in exact.items():
        force = abs(np.mean(pulls[name]))  # over what is left of the bouncing
        print(f"{name:12} {force:8.4f} N for {kilograms * GRAVITY:8.4f} N")
        assert abs(force / (kilograms * GRAVITY) - 1.0) < 0.005, f"{name}: {force:.4f} N"


def apart(simulation: sn.Simulation) -> float:
    """How far the edges of the curtain are from where they were sewn on [m]."""
    scene, worst = simulation.scene, 0.0
    now, sewn = simulation.positions("curtain").astype(float), scene.particle_objects[0].positions
    for name, edge in (("rail", slice(-COLUMNS, None)), ("hem", slice(0, COLUMNS))):
        position, rotation = simulation.pose(name)
        start = next(body.position for body in scene.bodies if body.name == name)
        local = (now[edge] - position) @ rotation_matrix(rotation)
        worst = max(worst, float(np.linalg.norm(local - (sewn[edge] - start), axis=1).max()))
    return worst


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build()[0], substeps=40)


def main(arguments: list[str] | None = None) -> None:
    """Rest, push the lantern, check, write results."""
    parser = argparse.ArgumentParser(description="a curtain and a lantern on a rail on ropes")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene, rows = build()
    simulation = sn.Simulation(scene, substeps=40)
    outputs = [options.out / "cloth_and_rope_on_bodies.html", options.out / "cloth_and_rope_on_bodies.npz"]
    swayed, torn = 0.0, 0.0
    pulls: dict[str, list[float]] = {name: [] for name in rows}
    with Recorder(simulation, outputs, frames_per_second=30.0, title="a curtain on a rail on ropes") as recorder:
        recorder.record()
        for frame in range(FRAMES):
            if frame == REST:
                check_levers(simulation, pulls)
                still, _ = simulation.pose("rail")
                simulation.state.body_velocities[-1] = (0.0, 0.0, PUSH)  # the lantern was added last
            simulation.step()
            if frame % 2:
                recorder.record()
            torn = max(torn, apart(simulation))
            if REST - 60 <= frame < REST:
                for name, row in rows.items():
                    pulls[name].append(float(simulation.forces(row)[:, 1].sum()))
            if frame >= REST:
                swayed = max(swayed, float(np.linalg.norm(simulation.pose("rail")[0] - still)))
    print(f"the push sways the rail by {1e3 * swayed:.1f} mm; edges are at most {1e3 * torn:.3f} mm from their bodies")
    assert swayed > 5e-3, "the lantern does not pull at the rail"
    assert torn < 1e-3, "the curtain comes off"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
