r"""Faucet: water runs out of a pipe into a vase that is given as a triangle mesh, and fills it.

      =|  pipe         q: volume that leaves the pipe in a second
       |
    \  |  /            the mesh is a shell: its inside is as wide as its outside less its walls, and open above; its
     | | |             distance comes from a field, so that any closed mesh can hold a fluid
    /~~~~~\
    \_____/            level: volume that has left / room below it in the vase

Checked: as much leaves the pipe as it says, what has left is in the vase and stays there, and the vase carries its
weight in the end.
"""

import argparse
from pathlib import Path

import numpy as np
import trimesh

import shinari as sn
from shinari.output.recorder import Recorder
from shinari.shapes.kernels.encode import signed_distance

GRAVITY = 9.81  # [m/s^2]
SPACING = 0.01  # [m]
PIPE, SPEED = 0.02, 0.8  # radius of the pipe [m], speed of the water in it [m/s]
TAP = 0.26  # height of the pipe [m]
SECONDS = 1.0  # that it runs
WATER = sn.FluidMaterial(rest_density=1000.0, viscosity=0.2)
# the outline of the vase: height and radius of its outside from the bottom up, then of its inside down again [m]
OUTSIDE = ((0.0, 0.08), (0.03, 0.105), (0.07, 0.115), (0.11, 0.1), (0.14, 0.09), (0.17, 0.1), (0.19, 0.1))
# three spacings, also where walls slant: what is thinner a fast drop can pass
FLOOR, WALL = 0.03, 0.033


def vase() -> trimesh.Trimesh:
    """A closed mesh: the outline turned about its axis."""
    outside = np.array(OUTSIDE)
    inside = outside[::-1] - (0.0, WALL)
    inside = inside[inside[:, 0] >= FLOOR]
    outline = np.concatenate([[(0.0, 0.0)], outside, inside, [(FLOOR, inside[-1, 1]), (FLOOR, 0.0)]])
    mesh = trimesh.creation.revolve(outline[:, ::-1], sections=48)  # about Z
    turned = np.asarray(mesh.vertices)[:, [1, 2, 0]]
    return trimesh.Trimesh(turned, mesh.faces, process=False)


def build() -> sn.Scene:
    """The vase, and the pipe above it."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    mesh = vase()
    scene.add_collider(sn.Mesh(mesh.vertices, mesh.faces), name="vase")
    scene.add_emitter(
        limit=2500,
        radius=PIPE,
        position=(0.0, TAP, 0.0),
        direction=(0.0, -1.0, 0.0),
        speed=SPEED,
        stop=SECONDS,
        spacing=SPACING,
        material=WATER,
        name="water",
    )
    return scene


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build(), substeps=6)


def main(arguments: list[str] | None = None) -> None:
    """Run the faucet, wait until the water rests, check, write results."""
    parser = argparse.ArgumentParser(description="a faucet fills a vase")
    parser.add_argument("--frames", type=int, default=120, help="frames of 1/60 s; it runs for 60 and rests after 120")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene = build()
    simulation = sn.Simulation(scene, substeps=6)
    outputs = [options.out / "faucet.html", options.out / "faucet.npz"]
    counts, carried = [], []
    with Recorder(simulation, outputs, frames_per_second=60.0, title="a faucet fills a vase") as recorder:
        recorder.record()
        for frame in range(options.frames):
            simulation.step()
            recorder.record()
            counts.append((simulation.time, int(simulation.active("water").sum())))
            if frame >= options.frames - 20:
                carried.append(-simulation.forces(scene["vase"])[1])
    x = simulation.positions("water").astype(float)[simulation.active("water")]
    drop = SPACING**3  # [m^3]
    times, volumes = np.array(counts).T * [[1.0], [1e3 * drop]]
    running = times < SECONDS
    rate = np.polyfit(times[running], volumes[running], 1)[0]
    # layers of the places that fit into the pipe leave as fast as the water flows
    layer = round(volumes[0] / (1e3 * drop) / max(1, round(SPEED * times[0] / SPACING)))
    mesh = sn.Mesh(vase().vertices, vase().faces)
    depth = -float(signed_distance(mesh, x).min())
    weight = len(x) * WATER.rest_density * drop * GRAVITY
    print(f"{rate:.4f} l leave in a second for {1e3 * SPEED * layer * SPACING**2:.4f} l; {volumes[-1]:.3f} l in all")
    print(f"the highest drop is at {x[:, 1].max():.3f} m, the lowest at {x[:, 1].min():.3f} m")
    print(f"drops are in the wall by at most {1e3 * max(depth, 0.0):.2f} mm")
    print(f"the vase carries {np.mean(carried):.3f} N of {weight:.3f} N")
    assert abs(rate / (1e3 * SPEED * layer * SPACING**2) - 1.0) < 0.01, "the faucet does not give what it says"
    assert depth < 0.1 * SPACING, "water is in the wall"
    assert x[:, 1].min() > FLOOR, "water goes through the bottom"
    assert np.hypot(x[:, 0], x[:, 2]).max() < max(radius for _, radius in OUTSIDE) - WALL, "water is outside"
    assert x[:, 1].max() < OUTSIDE[-1][0], "water runs over"
    assert abs(np.mean(carried) / weight - 1.0) < 0.01, "the vase does not carry the water"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
