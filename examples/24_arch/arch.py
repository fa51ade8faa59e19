r"""Arch: wedges of stone stand by their shape alone, if the arch is thick enough.

         .-'|'-.
       /' \ | / '\        no mortar: a joint between two wedges can only push. The line along which the push goes from
      |.__     __.|       stone to stone has to stay inside of the stones, else they hinge about their edges
      |___|   |___|

A half circle of thickness t and mean radius R can stand only with t / R of 0.1075 and more (Milankovitch 1907; see
Heyman, The Stone Skeleton, 1966). Two arches of eleven wedges show it: one with 0.2 stands and does not creep, one with
0.06 folds up between four hinges and falls.

Also checked: each foot of the one that stands carries half of its weight, and both push apart equally.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

GRAVITY = 9.81  # [m/s^2]
RADIUS, DEPTH, COUNT = 1.0, 0.4, 11  # mean radius, depth of a stone [m], wedges
THICK, THIN = 0.2, 0.06  # [m]
APART = 2.0  # of the two arches [m]


def wedge(k: int, thickness: float) -> tuple[sn.ConvexHull, np.ndarray]:
    """Stone number k about its middle, and where that is."""
    angles = np.pi * np.array([k, k + 1]) / COUNT
    radii = RADIUS + np.array([-0.5, 0.5]) * thickness
    corners = np.array(
        [
            [-r * np.cos(angle), r * np.sin(angle), z]
            for angle in angles
            for r in radii
            for z in (-0.5 * DEPTH, 0.5 * DEPTH)
        ]
    )
    middle = corners.mean(axis=0)
    return sn.ConvexHull(corners - middle), middle


def build() -> sn.Scene:
    """Both arches, one behind the other, on rough ground."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    scene.add_collider(sn.Plane(), friction=0.8, name="ground")
    for name, thickness, z in (("thick", THICK, 0.0), ("thin", THIN, -APART)):
        for k in range(COUNT):
            hull, middle = wedge(k, thickness)
            scene.add_rigid_body(
                hull, density=2400.0, position=middle + np.array([0.0, 0.0, z]), friction=0.8, name=f"{name}_{k}"
            )
    return scene


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build(), substeps=10)


def main(arguments: list[str] | None = None) -> None:
    """Let both stand for themselves, check, write results."""
    parser = argparse.ArgumentParser(description="an arch of wedges stands if it is thick enough")
    parser.add_argument("--frames", type=int, default=240, help="frames of 1/60 s; the thin one lies after 180")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene = build()
    simulation = sn.Simulation(scene, substeps=10)
    outputs = [options.out / "arch.html", options.out / "arch.npz"]
    before = simulation.state.body_positions.copy()
    feet = []
    with Recorder(simulation, outputs, frames_per_second=60.0, title="two arches") as recorder:
        recorder.record()
        for _ in range(options.frames):
            simulation.step()
            recorder.record()
            feet.append(push_on_ground(simulation, ["thick_0", f"thick_{COUNT - 1}"]))
    moved = np.linalg.norm(simulation.state.body_positions - before, axis=1)
    weight = GRAVITY * sum(body.mass for body in scene.bodies[:COUNT])
    left, right = np.mean(feet[-60:], axis=0)
    print(f"the thick arch moved {1e3 * moved[:COUNT].max():.3f} mm; the keystone of the thin one fell", end=" ")
    print(f"{before[COUNT + COUNT // 2, 1] - simulation.state.body_positions[COUNT + COUNT // 2, 1]:.2f} m")
    print(f"feet carry {left[1]:.1f} and {right[1]:.1f} N of {weight:.1f} N, and push {left[0]:.1f}, {right[0]:.1f} N")
    assert moved[:COUNT].max() < 1e-3, "the thick arch creeps"
    assert simulation.state.body_positions[COUNT:, 1].max() < 0.6 * RADIUS, "the thin arch stands, which none can"
    assert abs(left[1] / (0.5 * weight) - 1.0) < 0.01
    assert abs(right[1] / (0.5 * weight) - 1.0) < 0.01
    # the stones push sideways, less than they weigh
    assert abs(left[0] + right[0]) < 0.01 * weight
    assert 0.05 < abs(left[0]) / weight < 0.5, "the thrust is not that of an arch"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


def push_on_ground(simulation: sn.Simulation, stones: list[str]) -> np.ndarray:
    """Forces of stones on the ground [N], (stones, 3), up to their sign."""
    contacts = simulation.contacts()
    forces = np.zeros((len(stones), 3))
    for first, second, force in zip(contacts.first, contacts.second, contacts.forces, strict=True):
        for k, stone in enumerate(stones):
            if {first, second} == {stone, "ground"}:
                forces[k] += force
    return forces * np.sign(forces[:, 1:2])


if __name__ == "__main__":
    main()
