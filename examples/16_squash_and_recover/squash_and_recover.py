r"""Squash and recover: a soft body is pressed flat between two plates, held, and released.

    python examples/16_squash_and_recover/squash_and_recover.py

          plate             plate
        =========         =========            =========
         .-----.          (((((((((  pressed    .-----.   the plate goes up again: shape and volume are those
         |     |   -->    (((((((((   flat -->  |     |   that it had
         `-----'                                `-----'
        ---------         ---------            ---------

Stable Neo-Hookean tetrahedra have no force at rest and none that vanishes when they are flat, so they come back from
whatever they were pressed into. Checked: how flat it is pressed, what is left of its volume then by the closed form,
that both plates push alike, and that in the end every vertex is where it was, up to a motion of the whole body.

Look at the player: it swells to its sides, and rises again with the plate.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.geometry.tetrahedra.check import volumes
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.output.recorder import Recorder
from shinari.scene.handle import Handle

CELLS, CELL = (6, 6, 6), 0.025  # a cube of 15 cm
SIDE = CELLS[1] * CELL
FLAT = 0.25  # of its height, when it is pressed
THICKNESS = 0.004
BOARD = 0.03


def build() -> tuple[sn.Scene, Handle]:
    """The cube on the floor, the plate above it."""
    scene = sn.Scene()
    material = sn.SoftMaterial(
        density=1000.0, youngs_modulus=2e4, poissons_ratio=0.45, damping=0.01, thickness=THICKNESS, friction=0.0
    )
    position = (-0.5 * SIDE, 0.5 * THICKNESS, -0.5 * SIDE)
    body = scene.add_soft_body(lattice(CELLS, CELL), material=material, position=position, name="cube")
    scene.add_collider(sn.Plane(), friction=0.0, name="floor")
    high, low = SIDE + 0.02, FLAT * SIDE
    heights = np.array([high, low, low, high]) + THICKNESS + 0.5 * BOARD
    places = np.stack([np.zeros(4), heights, np.zeros(4)], axis=1)
    motion = sn.Keyframes(np.array([0.0, 1.0, 1.5, 2.5]), places)
    scene.add_collider(sn.Box((0.8, BOARD, 0.8)), motion=motion, friction=0.0, name="plate")
    return scene, body


def off_shape(now: np.ndarray, given: np.ndarray) -> float:
    """Largest distance of a vertex from where it was [m], after the best rotation and shift of the whole."""
    a, b = now - now.mean(axis=0), given - given.mean(axis=0)
    u, _, v = np.linalg.svd(a.T @ b)
    u[:, -1] *= np.sign(np.linalg.det(u @ v))
    return float(np.linalg.norm(a @ (u @ v) - b, axis=1).max())


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build()[0], substeps=30, iterations=5)


def main(arguments: list[str] | None = None) -> None:
    """Press, hold, release, check, write results."""
    parser = argparse.ArgumentParser(description="a soft cube is pressed flat and released")
    parser.add_argument("--frames", type=int, default=240, help="frames of 1/60 s; released after 150")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene, body = build()
    tetrahedra = scene.particle_objects[0].tetrahedra
    given = volumes(body.positions, tetrahedra)
    simulation = sn.Simulation(scene, substeps=30, iterations=5)
    outputs = [options.out / "squash_and_recover.html", options.out / "squash_and_recover.npz"]
    height, kept, least, forces = [], [], [], []
    with Recorder(simulation, outputs, frames_per_second=30.0, title="squash and recover") as recorder:
        recorder.record()
        for _ in range(options.frames):
            simulation.step()
            recorder.record()
            x = simulation.positions(body).astype(float)
            now = volumes(x, tetrahedra)
            height.append(np.ptp(x[:, 1]) / SIDE)
            kept.append(now.sum() / given.sum())
            least.append((now / given).min())
            forces.append([simulation.forces(scene[name])[1] for name in ("floor", "plate")])
    pressed = slice(80, 90)
    weight = float(scene.particle_objects[0].masses.sum()) * 9.81
    below, above = -np.mean(forces[pressed], axis=0) * [1.0, -1.0]
    print(f"pressed to {100 * min(height):.0f} % of its height with {above:.0f} N, and {below:.0f} N on the floor")
    print(f"volume then {100 * np.mean(kept[pressed]):.1f} %, smallest tetrahedron {100 * min(least):.0f} %")
    assert abs(min(height) - FLAT) < 0.01
    assert abs(below - above - weight) < 0.02 * above, "the plates do not balance"
    # free sides: J = 1 + (mu / la) (1 - 1 / s) at a stretch s, mu / la = 1 - 2 nu; cells at the edges are sheared too
    closed = 1.0 + 0.1 * (1.0 - 1.0 / FLAT)
    assert abs(np.mean(kept[pressed]) - closed) < 0.05, f"the closed form is {100 * closed:.0f} %"
    off = off_shape(simulation.positions(body).astype(float), body.positions)
    print(
        f"in the end: volume {100 * kept[-1]:.2f} %, height {100 * height[-1]:.2f} %, {1000 * off:.2f} mm off its shape"
    )
    # under its own weight it is lower by rho g h / (2 E), 3.7 per cent, while friction is off
    sag = 1000.0 * 9.81 * SIDE / (2.0 * 2e4)
    assert abs(height[-1] - (1.0 - sag)) < 0.01
    assert abs(kept[-1] - 1.0) < 0.01
    assert off < 1.5 * sag * SIDE
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
