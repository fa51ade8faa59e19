r"""Balloon: air in a closed sheet is blown up, lies on the floor and carries a board that is pressed down on it.

    python examples/20_balloon/balloon.py

                  board, moves down and up
        ====================================
            ,-'''''''''''''''''''-.             p = (r V0 - V) / alpha    pressure of the air, one for the whole mesh
          /                         \            p = 2 sigma / r           free balloon of tension sigma (Laplace)
          \            p            /            F = p A                   on the board, A: where it touches
            `-...................-'
        ------------------------------------

Checked: the volume, by the compliance of the air; the pressure of the free balloon, by the tension of its own sheet;
the force on the board, by the pressure times the area that touches it; that it is as round as before in the end.

Look at the player: the balloon gives way at its sides, as wide as the air in it asks for.
"""

import argparse
from pathlib import Path

import numpy as np
import trimesh

import shinari as sn
from shinari.geometry.topology import face_normals_areas
from shinari.output.recorder import Recorder
from shinari.scene.handle import Handle

RADIUS = 0.2  # [m], before it is blown up
RATIO = 1.3  # volume of the air over that of the mesh
AIR = 5e-6  # change of the volume by the pressure [m^3/Pa]
THICKNESS = 0.004
FLOOR, HIGH, LOW = 0.0, 0.52, 0.26  # heights of the floor and of the lower side of the board [m]
BOARD = 0.05  # thickness of the board [m]
HELD = 60  # frames before the board comes


def build() -> tuple[sn.Scene, Handle]:
    """The balloon above the floor, the board above it."""
    ball = trimesh.creation.icosphere(subdivisions=3, radius=RADIUS)
    scene = sn.Scene(damping=1.5)
    material = sn.ClothMaterial(density=0.5, thickness=THICKNESS, stretch_compliance=5e-3, bend_stiffness=1e-4)
    balloon = scene.add_cloth(ball, material=material, position=(0.0, RADIUS + 0.02, 0.0), name="balloon")
    scene.add_volume(balloon, ratio=RATIO, compliance=AIR)
    scene.add_collider(sn.Plane(), name="floor")
    times = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    heights = np.array([HIGH, HIGH, LOW, LOW, HIGH]) + 0.5 * BOARD
    places = np.stack([np.zeros(5), heights, np.zeros(5)], axis=1)
    scene.add_collider(sn.Box((1.0, BOARD, 1.0)), motion=sn.Keyframes(times, places), name="board")
    return scene, balloon


def tension(simulation: sn.Simulation, balloon: Handle) -> tuple[float, float]:
    """Tension of the sheet [N/m] and radius of the balloon [m]: sum of force x length = 2 sigma A, and 3 V / A."""
    block = simulation.model.blocks["distance"]
    ends = simulation.positions(balloon).astype(float)[np.argsort(simulation.model.slots)][block.indices]
    lengths = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
    vertices, faces = simulation.surface(balloon)
    area = float(face_normals_areas(vertices, faces)[1].sum())
    pulls = float((simulation.forces("distance")[block.added_index] * lengths).sum())
    return pulls / (2.0 * area), 3.0 * simulation.volume(balloon) / area


def touching(simulation: sn.Simulation, balloon: Handle, height: float) -> tuple[float, float]:
    """Area that touches a plane from below [m^2]: triangles that touch with all corners, and with one at least."""
    vertices, faces = simulation.surface(balloon)
    areas = face_normals_areas(vertices, faces)[1]
    near = (vertices[:, 1] > height - 0.5 * THICKNESS - 1e-4)[faces]
    return float(areas[near.all(axis=1)].sum()), float(areas[near.any(axis=1)].sum())


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build()[0], substeps=40)


def main(arguments: list[str] | None = None) -> None:
    """Blow it up, press it, let it go, check, write results."""
    parser = argparse.ArgumentParser(description="a balloon is pressed flat by a board")
    parser.add_argument("--frames", type=int, default=300, help="frames of 1/60 s; the board is up again after 240")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene, balloon = build()
    simulation = sn.Simulation(scene, substeps=40)
    given = simulation.volume(balloon)
    outputs = [options.out / "balloon.html", options.out / "balloon.npz"]
    history, laplace, board = [], [], []
    with Recorder(simulation, outputs, frames_per_second=30.0, title="balloon") as recorder:
        recorder.record()
        for frame in range(1, options.frames + 1):
            simulation.step()
            recorder.record()
            volume, pressure = simulation.volume(balloon), simulation.pressure(balloon)
            force = simulation.forces(scene["board"])[1]
            history.append((simulation.time, volume / given, pressure, force))
            error = abs(RATIO * given - volume - AIR * pressure) / volume
            assert frame < 20 or error < 1e-3, f"frame {frame}: the volume is off by {error:.1e}"
            if frame == HELD:
                before = np.ptp(simulation.positions(balloon).astype(float), axis=0)
            if 40 <= frame < HELD:
                sigma, radius = tension(simulation, balloon)
                laplace.append((pressure, 2.0 * sigma / radius))
            if 140 <= frame < 180:
                least, most = touching(simulation, balloon, LOW)
                board.append((force, pressure * least, pressure * most))
    history_array = np.array(history)
    measured, expected = np.mean(laplace, axis=0)
    print(f"free balloon: pressure {measured:.1f} Pa, 2 sigma / r {expected:.1f} Pa")
    # it lies on the floor by its own weight, which costs a part of a per cent
    assert abs(measured / expected - 1.0) < 0.02
    force, least, most = np.mean(board, axis=0)
    print(
        f"pressed to {LOW} m: {history_array[150, 2]:.1f} Pa, {force:.2f} N on the board, p A {least:.1f} to {most:.1f}"
    )
    assert least < force < most
    if options.frames >= 300:
        x = simulation.positions(balloon).astype(float)
        size = np.ptp(x, axis=0)
        print(f"in the end {size[0]:.3f} x {size[1]:.3f} x {size[2]:.3f} m, before the board came {before[1]:.3f} high")
        assert np.abs(size / before - 1.0).max() < 0.02, "it is not as round as it was"
    plot(history_array, options.out / "balloon.png")
    print(f"wrote {', '.join(str(path) for path in outputs)} and {options.out / 'balloon.png'}")


def plot(history: np.ndarray, path: Path) -> None:
    """Pressure and force on the board over time."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(3, 1, sharex=True, figsize=(7, 7))
    labels = ("volume / that of the mesh", "pressure [Pa]", "force on the board [N]")
    for axis, values, label in zip(axes, history.T[1:], labels, strict=True):
        axis.plot(history[:, 0], values)
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[-1].set_xlabel("time [s]")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
