r"""Tearing sheet: a ball falls through a sheet that tears, and stays on one that does not.

    python examples/21_tearing_sheet/tearing_sheet.py

            ( )  5 kg                                   an edge tears when it is strained beyond `tear_strain`; the
             v                                          triangles at it are gone, and with them what they kept off,
       ------------------  held at its rim              held and caught of the wind

Checked: no edge that holds is strained further than asked, nothing that has torn comes back, and the ball comes
through the one sheet while the other holds it.

Look at the player: the tear begins under the ball and runs on along its rim.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.geometry.topology import edges, grid
from shinari.output.recorder import Recorder
from shinari.scene.handle import Handle

POINTS = 25
SIDE = 0.6
TEAR = 0.25
MASS, RADIUS = 5.0, 0.06


def sheet(scene: sn.Scene, tear: float, x: float, name: str) -> Handle:
    """A square sheet held at its rim."""
    material = sn.ClothMaterial(
        density=1.0, thickness=0.006, stretch_compliance=2e-3, bend_stiffness=1e-4, tear_strain=tear
    )
    mesh = grid(shape=(POINTS, POINTS), size=(SIDE, SIDE), diagonal="alternating")
    cloth = scene.add_cloth(mesh, material=material, position=(x, 0.0, 0.0), self_collision="triangles", name=name)
    cloth.pin(cloth.where(lambda p: np.abs(p[:, [0, 2]] - [x, 0.0]).max(axis=1) > 0.5 * SIDE - 1e-6))
    return cloth


def build() -> sn.Scene:
    """Two sheets side by side, a ball above each."""
    scene = sn.Scene(damping=0.3)
    for tear, x, name in ((TEAR, -0.4, "weak"), (np.inf, 0.4, "strong")):
        sheet(scene, tear, x, name)
        scene.add_particles([x + 0.01, 0.15, 0.013], mass=MASS, radius=RADIUS, name=f"{name} ball")
    return scene


def check_rows(simulation: sn.Simulation) -> int:
    """No edge that holds is strained beyond its limit; how many have let go."""
    vertices, left = simulation.surface("weak")
    vertices = vertices.astype(float)
    given = simulation.scene["weak"].positions
    kept = edges(left)
    every = edges(simulation.scene.particle_objects[0].faces)
    lengths = np.linalg.norm(vertices[kept[:, 0]] - vertices[kept[:, 1]], axis=1)
    rest = np.linalg.norm(given[kept[:, 0]] - given[kept[:, 1]], axis=1)
    strain = (lengths / rest - 1.0).max()
    assert strain <= TEAR + 1e-6, f"an edge holds at a strain of {strain:.3f}"
    return len(every) - len(kept)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build(), substeps=30)


def main(arguments: list[str] | None = None) -> None:
    """Drop the balls, check, write results."""
    parser = argparse.ArgumentParser(description="a ball falls through a sheet that tears")
    parser.add_argument("--frames", type=int, default=120, help="frames of 1/60 s")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene = build()
    simulation = sn.Simulation(scene, substeps=30)
    outputs = [options.out / "tearing_sheet.html", options.out / "tearing_sheet.npz"]
    gone = []
    with Recorder(simulation, outputs, frames_per_second=30.0, title="tearing sheet") as recorder:
        recorder.record()
        for _ in range(options.frames):
            simulation.step()
            recorder.record()
            gone.append(check_rows(simulation))
    first = int(np.argmax(np.array(gone) > 0))
    _, left = simulation.surface("weak")
    heights = {name: float(simulation.positions(f"{name} ball")[0, 1]) for name in ("weak", "strong")}
    print(f"it begins to tear at {first / 60:.2f} s; {gone[-1]} edges and {2 * (POINTS - 1) ** 2 - len(left)} faces go")
    print(f"balls at {heights['weak']:.2f} m and {heights['strong']:.2f} m")
    assert gone[-1] > 10
    assert all(np.diff(gone) >= 0), "an edge came back"
    assert heights["weak"] < -SIDE, "the ball did not come through"
    assert heights["strong"] > -0.5 * SIDE, "the sheet that does not tear did not hold"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
