r"""Floating boxes: three cubes a quarter, a half and three quarters as dense as water are put onto it.

      /\      /\     ____      part of a cube under water = its density / that of the water (Archimedes)
    ~/  \~~~~/  \~~~|    |~~
     \  /    \  /   |____|      those between 0.21 and 0.79 do not lie flat: on their edges they have the centre of
      \/      \/                mass lower against that of the water that they push aside

Checked: each cube floats as deep as its density says, to half a particle, the water lifts each with its weight and
rises by the volume that they push aside, and the tank carries everything.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.geometry.motion import rotation_matrix
from shinari.output.recorder import Recorder

GRAVITY = 9.81  # [m/s^2]
SPACING, EDGE = 0.02, 0.1  # of the water, of the cubes [m]
TANK = np.array([0.6, 0.4, 0.24])  # [m]
FILLED = 0.16  # [m]
WATER = sn.FluidMaterial(rest_density=1000.0, viscosity=1.0)
DENSITIES = {"cork": 250.0, "pine": 500.0, "oak": 750.0}  # [kg/m^3]


def build() -> sn.Scene:
    """The tank, the water, and the cubes just above it."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    scene.add_collider(sn.Box(tuple(TANK), inside=True), position=(0.0, 0.5 * TANK[1], 0.0), name="tank")
    scene.add_fluid(
        sn.Box((TANK[0], FILLED, TANK[2])),
        spacing=SPACING,
        material=WATER,
        position=(0.0, 0.5 * FILLED, 0.0),
        name="water",
    )
    for k, (name, density) in enumerate(DENSITIES.items()):
        scene.add_rigid_body(
            sn.Box((EDGE, EDGE, EDGE)), density=density, position=(0.18 * (k - 1), FILLED + 0.52 * EDGE, 0.0), name=name
        )
    return scene


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build(), substeps=10)


def main(arguments: list[str] | None = None) -> None:
    """Let the cubes sink in, wait until they float, check, write results."""
    parser = argparse.ArgumentParser(description="three cubes float")
    parser.add_argument("--frames", type=int, default=240, help="frames of 1/60 s; at rest after 200")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene = build()
    simulation = sn.Simulation(scene, substeps=10)
    outputs = [options.out / "floating_boxes.html", options.out / "floating_boxes.npz"]
    shares, lifts, levels, carried = [], [], [], []
    with Recorder(simulation, outputs, frames_per_second=60.0, title="floating boxes") as recorder:
        recorder.record()
        for frame in range(options.frames):
            simulation.step()
            recorder.record()
            if frame >= options.frames - 60:
                x = simulation.positions("water").astype(float)
                shares.append([wet(simulation, name, level(x)) for name in DENSITIES])
                lifts.append([simulation.forces(scene[name])[1] for name in DENSITIES])
                carried.append(-simulation.forces(scene["tank"])[1])
                levels.append(level(x))
    surface = float(np.mean(levels))
    mass = float(scene.particle_objects[0].masses.sum())
    cubes = np.array(list(DENSITIES.values())) * EDGE**3
    expected = (mass + cubes.sum()) / (WATER.rest_density * TANK[0] * TANK[2])
    print(f"the water stands at {surface:.4f} m; with what the cubes push aside {expected:.4f} m")
    assert abs(surface - expected) < 0.5 * SPACING, "the water does not rise by what is in it"
    for name, part, lift, weight in zip(
        DENSITIES, np.mean(shares, axis=0), np.mean(lifts, axis=0), GRAVITY * cubes, strict=True
    ):
        share = DENSITIES[name] / WATER.rest_density
        print(f"{name}: {part:.3f} of it is under water for {share:.3f}; lifted with {lift:.3f} N for {weight:.3f} N")
        assert abs(part - share) < 0.5 * SPACING / EDGE, f"{name} floats at another depth"
        assert abs(lift / weight - 1.0) < 0.01, f"{name} is not carried by the water"
    weight = GRAVITY * (mass + cubes.sum())
    print(f"the tank carries {np.mean(carried):.2f} N of {weight:.2f} N")
    assert abs(np.mean(carried) / weight - 1.0) < 0.01, "the tank does not carry everything"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


def wet(simulation: sn.Simulation, name: str, surface: float) -> float:
    """Part of a cube that is below a height [m]."""
    steps = EDGE * ((np.arange(20) + 0.5) / 20.0 - 0.5)
    points = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    position, rotation = simulation.pose(name)
    return float(((points @ rotation_matrix(rotation).T + position)[:, 1] < surface).mean())


def level(x: np.ndarray) -> float:
    """Height of the surface [m]: half a spacing above the upper particles away from walls and cubes."""
    columns = np.floor(x[:, [0, 2]] / (2.0 * SPACING)).astype(int)
    _, column = np.unique(columns, axis=0, return_inverse=True)
    tops = np.full(column.max() + 1, -np.inf)
    np.maximum.at(tops, column.ravel(), x[:, 1])
    return float(np.median(tops)) + 0.5 * SPACING


if __name__ == "__main__":
    main()
