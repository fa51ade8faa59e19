r"""Folding stack: a strip is laid down in eight folds, one on the other, and comes to rest.

         ->  gripper  <-       the gripper holds one end and swings slowly from side to side; it sinks by as much as is
                |              laid down: so the plaiting machine of a weaving mill folds its cloth
            .___|
            (______ )          the layers lie on each other in the order in which they were laid
             ______)

Every layer is pressed by those above it and rubs on both of its neighbours. The strip keeps its layers in order, apart
by its thickness, and the floor carries what it weighs, but for the last row, which stays in the gripper.

Look at the player: the strip hangs, lays a fold at each turn, and the next layers press the folds flatter. The lowest
fold is the untidiest, because the strip that hangs above it is the longest and swings most.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

LAYERS, FOLD, WIDTH, EDGE = 8, 0.15, 0.075, 0.015  # [-], length of a layer, width, edge of a cell [m]
LENGTH, THICKNESS = LAYERS * FOLD, 0.004  # [m]
SWING, REST = 0.9, 2.0  # time for a layer, time to come to rest [s]
GRAVITY = 9.81  # [m/s^2]
SUBSTEPS = 20
COLUMNS, ROWS = round(WIDTH / EDGE) + 1, round(LENGTH / EDGE) + 1


def gripper(time: float) -> tuple[float, float]:
    """Where the gripper is: to the side and above the floor [m]."""
    laid = min(time / SWING, LAYERS) * FOLD
    phase = laid / FOLD % 2.0
    side = FOLD * (0.5 - abs(1.0 - phase))
    layer = laid / FOLD * THICKNESS
    return side, max(LENGTH - laid, 0.0) + layer + 0.5 * THICKNESS


def build() -> tuple[sn.Scene, sn.ClothMaterial, np.ndarray]:
    """The strip hanging from its gripper; the indices of the row that is held."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0), wind=(0.0, 0.0, 0.0))
    scene.add_collider(sn.Plane((0.0, 1.0, 0.0), 0.0), friction=0.5, name="floor")
    material = sn.ClothMaterial.preset("cotton", thickness=THICKNESS, stretch_compliance=1e-4, damping=2e-3)
    vertices, faces = sn.grid(shape=(COLUMNS, ROWS), size=(WIDTH, LENGTH), diagonal="alternating")
    side, height = gripper(0.0)
    # rows from bottom to top; the width along Z
    x = np.stack([np.full(len(vertices), side), vertices[:, 2] - 0.5 * LENGTH + height, vertices[:, 0]], axis=1)
    strip = scene.add_cloth((x, faces), material=material, self_collision="triangles", name="strip")
    held = np.arange((ROWS - 1) * COLUMNS, ROWS * COLUMNS)
    strip.pin(held)
    return scene, material, held


def lay(simulation: sn.Simulation, held: np.ndarray) -> None:
    """Write the row that is held to where the gripper is after the next step."""
    side, height = gripper(simulation.time + 1.0 / 60.0)
    simulation.state.positions[held, 0] = side
    simulation.state.positions[held, 1] = height


def between_layers(x: np.ndarray) -> np.ndarray:
    """Ways from points of earlier layers to points of later ones that they lie under (K, 3); x (ROWS, COLUMNS, 3) [m].

    The middle half of each layer counts; near the folds a layer may hang over the edge of those below it.
    """
    per = (ROWS - 1) // LAYERS
    middles = [x[k * per + per // 4 : (k + 1) * per - per // 4 + 1].reshape(-1, 3) for k in range(LAYERS)]
    found = []
    for k, upper in enumerate(middles):
        for lower in middles[:k]:
            ways = upper[:, None] - lower[None]
            found.append(ways[np.hypot(ways[..., 0], ways[..., 2]) < 0.25 * EDGE])
    return np.concatenate(found)


def shown() -> tuple[sn.Simulation, Callable[[sn.Simulation], None]]:
    """What `shinari view` shows."""
    scene, _, held = build()
    return sn.Simulation(scene, substeps=SUBSTEPS), lambda simulation: lay(simulation, held)


def main(arguments: list[str] | None = None) -> None:
    """Lay the strip down, let it rest, check the order of its layers, write results and a plot."""
    parser = argparse.ArgumentParser(description="a strip laid down in eight folds")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene, material, held = build()
    simulation = sn.Simulation(scene, substeps=SUBSTEPS)
    outputs = [options.out / "folding_stack.html", options.out / "folding_stack.npz"]
    squares = []
    with Recorder(simulation, outputs, title="a strip laid down in eight folds") as recorder:
        recorder.record()
        for _ in range(round((LAYERS * SWING + REST) * 60.0)):
            lay(simulation, held)
            simulation.step()
            recorder.record()
            squares.append((simulation.velocities("strip") ** 2).sum(axis=1).mean())
    x = simulation.positions("strip").reshape(ROWS, COLUMNS, 3).astype(float)
    ways = between_layers(x)
    nearest = np.linalg.norm(ways, axis=1).min()
    assert (ways[:, 1] > 0.0).all(), "layers have changed their order"
    assert nearest > 0.9 * THICKNESS, f"two layers are only {1e3 * nearest:.2f} mm apart"
    # it shivers: the last second tells more than the last frame
    speed = float(np.sqrt(np.mean(squares[-60:])))
    assert speed < 0.005, f"the stack moves at {speed:.4f} m/s"
    weight = material.density * WIDTH * LENGTH * GRAVITY
    floor = -simulation.forces(scene["floor"])[1]
    # the gripper holds what hangs between it and where the strip lies: at most half a layer
    assert weight * (1.0 - 0.5 / LAYERS) < floor < 1.01 * weight, f"the floor carries {floor:.4f} N of {weight:.4f} N"
    between = simulation.contacts().second == "strip"
    print(f"{LAYERS} layers, {1e3 * np.ptp(x[..., 1]):.1f} mm high, {between.sum()} contacts between them")
    print(f"the floor carries {floor:.4f} N of {weight:.4f} N; speed {1e3 * speed:.2f} mm/s (root mean square)")
    print(f"points of two layers are {1e3 * nearest:.2f} mm apart at least, thickness {1e3 * THICKNESS:.1f} mm")
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
