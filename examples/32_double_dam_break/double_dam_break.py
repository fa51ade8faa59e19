r"""Double dam break: two columns of water run towards each other, meet, shoot up and come to rest as a pool.

    |##|        |##|                   |     |
    |##|  -> <- |##|       |      |    |    |||    |        |~~~~~~~~~~~~|
    |##|________|##|       |______|____|____|||____|        |############|

Checked: what is the same left and right stays so until it meets, the energy never rises though a jet does, no water is
lost, and in the end it lies flat, is as deep as its volume says, and the tank carries its weight.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

GRAVITY = 9.81  # [m/s^2]
SPACING = 0.025  # [m]
COLUMN = (12, 20, 8)  # particles of each column
TANK = np.array([48, 60, 8]) * SPACING  # [m]
DENSITY = 998.0  # [kg/m^3]


def build() -> sn.Scene:
    """The tank with a column at each end."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    scene.add_collider(sn.Box(tuple(TANK), inside=True), position=(0.0, 0.5 * TANK[1], 0.0), name="tank")
    size = np.array(COLUMN) * SPACING
    for name, side in (("left", -1.0), ("right", 1.0)):
        scene.add_fluid(
            sn.Box(tuple(size)),
            spacing=SPACING,
            material=sn.FluidMaterial.preset("water", viscosity=1.0),  # thick as syrup: it comes to rest sooner
            position=(side * 0.5 * (TANK[0] - size[0]), 0.5 * size[1], 0.0),
            name=name,
        )
    return scene


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build(), substeps=4)


def main(arguments: list[str] | None = None) -> None:
    """Let both go, wait until they rest, check, write results."""
    parser = argparse.ArgumentParser(description="two columns of water collapse towards each other")
    parser.add_argument("--frames", type=int, default=240, help="frames of 1/60 s; at rest after 240")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    simulation = sn.Simulation(build(), substeps=4)
    outputs = [options.out / "double_dam_break.html", options.out / "double_dam_break.npz"]
    energies, top, aside, carried = [simulation.energy().total], 0.0, 0.0, []
    with Recorder(simulation, outputs, frames_per_second=60.0, title="double dam break") as recorder:
        recorder.record()
        for frame in range(options.frames):
            simulation.step()
            recorder.record()
            x = simulation.state.positions.astype(float)
            middle = np.abs(x[:, 0]) < 0.25 * TANK[0]
            top = max(top, float(x[middle, 1].max(initial=0.0)))
            if np.abs(x[:, 0]).min() > SPACING:  # what meets is turbulent, and no side of it is like the other
                aside = max(aside, abs(float(x[:, 0].mean())))
            energies.append(simulation.energy().total)
            if frame >= options.frames - 20:
                carried.append(-simulation.forces(simulation.scene["tank"])[1])
    count = 2 * int(np.prod(COLUMN))
    weight = count * DENSITY * SPACING**3 * GRAVITY
    depth = count * SPACING**3 / (TANK[0] * TANK[2])
    level = 2.0 * float(x[:, 1].mean())
    slices = np.histogram(x[:, 0], bins=6, range=(-0.5 * TANK[0], 0.5 * TANK[0]))[0] * 6.0 / count
    print(f"the jet rises to {top:.3f} m, the columns were {COLUMN[1] * SPACING:.3f} m high")
    print(f"until they meet the centre of mass is aside by {1e3 * aside:.3f} mm at most")
    print(f"in the end {level:.4f} m deep for {depth:.4f} m; by sixths of the tank {np.round(slices * depth, 3)} m")
    print(f"the tank carries {np.mean(carried):.2f} of {weight:.2f} N")
    assert len(x) == count
    assert (np.abs(x[:, [0, 2]]) < 0.5 * TANK[[0, 2]]).all(), "water is outside"
    assert (x[:, 1] > 0.0).all(), "water is below the floor"
    assert np.max(energies) < energies[0] + 1e-3 * abs(energies[0]), "energy comes out of nothing"
    assert aside < 0.1 * SPACING, "one side is not like the other"
    if options.frames >= 240:
        assert abs(level / depth - 1.0) < 0.03, "the water is not as deep as its volume says"
        assert np.ptp(slices) < 0.15, "the water does not lie flat"
        assert abs(np.mean(carried) / weight - 1.0) < 0.01, "the tank does not carry the water"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
