r"""Sand castle: the same castle of wet and of dry sand, as the moulds are taken away.

     _   _                 Liquid between grains pulls them together. A heap has a tensile strength then, and walls
    | |_| |                stand up to h = 4 c tan(45 deg + phi/2) / (rho g) with the cohesion c = strength x tan(phi).
    |     |     _.:::._    The castle of wet sand is lower than that; the dry one slumps to a heap at its angle of
    |_____|  .:::::::::.   repose.
      wet        dry

Checked: the wall that theory promises is higher than the castle, the wet castle keeps its height and its width, the dry
one loses half of its height.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

GRAVITY, PHI = 9.81, np.radians(32.0)  # [m/s^2], angle of repose of dry sand
SIDE, TOP = 0.28, 0.2  # of the block that castles are cut from [m]
YARD, WALL = 0.1, 0.1  # half of the side of the castle and height of its walls [m]
TOWER, MERLON = 0.042, 0.02  # radius of a tower and height of what stands on it [m]
APART = 0.42  # between the two castles [m]


def settled(radius: float) -> np.ndarray:
    """Centres of grains that have been poured into a box [m], (N, 3)."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    loose = sn.Box((SIDE, 1.5 * TOP, SIDE))
    sand = scene.add_grains(
        loose, radius=radius, position=(0.0, 0.75 * TOP, 0.0), material=sn.GrainMaterial(friction=0.1)
    )
    box = sn.Box((SIDE, 3.0 * TOP, SIDE), inside=True)
    scene.add_collider(box, position=(0.0, 1.5 * TOP, 0.0), friction=0.0)
    simulation = sn.Simulation(scene, substeps=8)
    simulation.step(60)
    return simulation.positions(sand).astype(float)


def castle(x: np.ndarray) -> np.ndarray:
    """Which grains belong to a castle: a block, and four towers with merlons on their rims."""
    place = np.abs(x[:, [0, 2]])
    corner = place - YARD
    away = np.hypot(corner[:, 0], corner[:, 1])
    angle = np.arctan2(corner[:, 1], corner[:, 0])
    block = (place < YARD).all(axis=1) & (x[:, 1] < WALL)
    merlon = (np.cos(4.0 * angle) > 0.0) & (away > 0.5 * TOWER)
    tower = (away < TOWER) & (x[:, 1] < WALL + np.where(merlon, 3, 2) * MERLON)
    return block | tower


def build(radius: float) -> tuple[sn.Scene, np.ndarray]:
    """Two castles on a plane, and the grains of one about its middle [m], (N, 3)."""
    points = settled(radius)
    points = points[castle(points)]
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    for name, preset, side in (("wet", "wet sand", -0.5), ("dry", "sand", 0.5)):
        where = points + np.array((side * APART, 0.0, 0.0))
        scene.add_grains(where, radius=radius, material=sn.GrainMaterial.preset(preset), name=name)
    scene.add_collider(sn.Plane(), friction=0.6, name="ground")
    return scene, points


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build(0.006)[0], substeps=8)


def main(arguments: list[str] | None = None) -> None:
    """Pour, cut, let go, check."""
    parser = argparse.ArgumentParser(description="castles of wet and of dry sand")
    parser.add_argument("--radius", type=float, default=0.005, help="radius of a grain [m]")
    parser.add_argument("--frames", type=int, default=90, help="frames of 1/60 s")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene, points = build(options.radius)
    height, width = points[:, 1].mean(), np.abs(points[:, [0, 2]]).max()
    density = 0.6 * 2650.0
    strength = sn.GrainMaterial.preset("wet sand").cohesion
    promised = 4.0 * strength * np.tan(PHI) * np.tan(0.25 * np.pi + 0.5 * PHI) / (density * GRAVITY)
    simulation = sn.Simulation(scene, substeps=8)
    outputs = [options.out / "sand_castle.html", options.out / "sand_castle.npz"]
    with Recorder(simulation, outputs, frames_per_second=60.0, title="castles of wet and of dry sand") as recorder:
        recorder.record()
        for _ in range(options.frames):
            simulation.step()
            recorder.record()
    left, spread = {}, {}
    for name, side in (("wet", -0.5), ("dry", 0.5)):
        x = simulation.positions(name) - (side * APART, 0.0, 0.0)
        left[name] = float(x[:, 1].mean() / height)
        spread[name] = float(np.percentile(np.abs(x[:, [0, 2]]), 99.0) / width)
        print(f"{name}: {len(x)} grains, height {left[name]:.2f} and width {spread[name]:.2f} of those at the start")
    top = float(points[:, 1].max())
    print(f"walls of wet sand stand up to {100 * promised:.0f} cm; the castle is {100 * top:.0f} cm high")
    assert promised > top, "theory promises no wall of this height"
    assert left["wet"] > 0.88, "the wet castle sinks"
    assert spread["wet"] < 1.1, "the wet castle spreads"
    assert left["dry"] < 0.6, "the dry castle stands"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
