r"""Cloth bag with water: a bag hangs by its rim, water falls into it and fills it out.

    *           *     the rim is held at points of the world, which feel the weight of bag and water
    |           |
     \ o o o o /      water touches the cloth as balls touch triangles; in its density the cloth stands for the water
       \ _ _ /        that would be behind it, so that the layer next to it is as dense as those inside

Checked: no drop goes through the cloth or over its rim, the rim carries the weight of bag and water and the water
pushes on the cloth with its own, the water is not squeezed, and takes up as much of the bag as its volume is.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.geometry.topology import face_normals_areas
from shinari.output.recorder import Recorder
from shinari.scene.handle import RowsHandle

GRAVITY = 9.81  # [m/s^2]
RADIUS, CELLS = 0.2, 16  # of the bag [m], cells of its mesh across
SPACING = 0.02  # of the water [m]
FILLED = -0.09  # height up to which water is at the start, the rim is at 0 [m]
CLOTH = sn.ClothMaterial(density=1.0, thickness=0.004, stretch_compliance=1e-6, damping=1e-3)
WATER = sn.FluidMaterial(rest_density=1000.0, viscosity=0.5)


def bowl() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Half a sphere from a square grid: vertices [m], faces, and the vertices of the rim.

    Squares around the middle become circles (Shirley and Chiu 1997), and circles parallels at the height that keeps
    the areas in proportion.
    """
    flat, faces = sn.grid(size=(2.0, 2.0), shape=(CELLS + 1, CELLS + 1))
    x, z = flat[:, 0], flat[:, 2]
    out = np.maximum(np.abs(x), np.abs(z))
    part = np.where(np.abs(x) >= np.abs(z), z / np.where(x == 0.0, 1.0, x), x / np.where(z == 0.0, 1.0, z))
    angle = np.where(np.abs(x) >= np.abs(z), 0.25 * np.pi * part, 0.5 * np.pi - 0.25 * np.pi * part)
    side = np.where(np.where(np.abs(x) >= np.abs(z), x, z) < 0.0, -1.0, 1.0)
    wide = side * out * np.sqrt(2.0 - out**2)
    vertices = RADIUS * np.stack([wide * np.cos(angle), out**2 - 1.0, wide * np.sin(angle)], axis=1)
    return vertices, faces, np.flatnonzero(out > 1.0 - 1e-9)


def build() -> tuple[sn.Scene, RowsHandle]:
    """The scene, and the attachment of the rim."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    vertices, faces, rim = bowl()
    bag = scene.add_cloth((vertices, faces), material=CLOTH, name="bag")
    held = scene.attach((bag, rim), vertices[rim])
    ball = sn.Sphere(RADIUS - 0.5 * SPACING - 0.5 * CLOTH.thickness)
    scene.add_fluid(ball, spacing=SPACING, fill_to=FILLED, material=WATER, name="water")
    return scene, held


def room(vertices: np.ndarray, faces: np.ndarray, level: float) -> float:
    """Volume of the bag below a level, in front of the surface of the cloth [m^3]."""
    for _ in range(3):
        middles = 0.5 * (vertices[faces] + vertices[faces[:, [1, 2, 0]]])  # four triangles for each
        at = len(vertices) + np.arange(middles[..., 0].size).reshape(-1, 3)
        parts = [(faces[:, k], at[:, k], at[:, k - 1]) for k in range(3)]
        faces = np.concatenate([np.stack(part, axis=1) for part in [*parts, tuple(at.T)]])
        vertices = np.concatenate([vertices, middles.reshape(-1, 3)])
    depths = level - vertices[faces][:, :, 1].mean(axis=1)
    normals, areas = face_normals_areas(vertices, faces)
    wet = depths > 0.0
    columns = (np.abs(normals[:, 1]) * areas * depths)[wet].sum()
    return float(columns - 0.5 * CLOTH.thickness * areas[wet].sum())


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build()[0], substeps=30)


def main(arguments: list[str] | None = None) -> None:
    """Let the water fall into the bag, wait, check, write results."""
    parser = argparse.ArgumentParser(description="a bag of cloth holds water")
    parser.add_argument("--frames", type=int, default=120, help="frames of 1/60 s; at rest after 100")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene, held = build()
    simulation = sn.Simulation(scene, substeps=30)
    outputs = [options.out / "cloth_bag_with_water.html", options.out / "cloth_bag_with_water.npz"]
    pulls, pushes, levels, rooms = [], [], [], []
    _, faces = simulation.surface("bag")
    with Recorder(simulation, outputs, frames_per_second=60.0, title="a bag of water") as recorder:
        recorder.record()
        for frame in range(options.frames):
            simulation.step()
            recorder.record()
            if frame >= options.frames - 30:
                x, bag = simulation.positions("water").astype(float), simulation.positions("bag").astype(float)
                pulls.append(float(simulation.forces(held)[:, 1].sum()))
                pushes.append(float(simulation.forces(scene["bag"])[1]))
                # the particles of the uppermost layer are a twelfth of all
                levels.append(float(np.median(np.sort(x[:, 1])[-len(x) // 12 :])) + 0.5 * SPACING)
                rooms.append(room(bag, faces, levels[-1]))
    masses = {group.name: float(group.masses.sum()) for group in scene.particle_objects}
    weight, all_weight = GRAVITY * masses["water"], GRAVITY * sum(masses.values())
    volume = masses["water"] / WATER.rest_density
    density = simulation.densities("water")
    squeezed = np.maximum(density / WATER.rest_density - 1.0, 0.0).mean()
    speed = np.sqrt((simulation.state.velocities.astype(float) ** 2).sum(axis=1).mean())
    print(f"the rim carries {abs(np.mean(pulls)):.3f} N, bag and water weigh {all_weight:.3f} N")
    print(f"the water pushes on the bag with {abs(np.mean(pushes)):.3f} N, and weighs {weight:.3f} N")
    print(f"{1e3 * volume:.3f} l of water fill {1e3 * np.mean(rooms):.3f} l of the bag")
    print(f"the water is squeezed by {100.0 * squeezed:.2f} % in the mean")
    print(f"speed {speed:.3f} m/s; lowest drop {x[:, 1].min():.4f} m, bottom of the bag {bag[:, 1].min():.4f} m")
    assert x[:, 1].min() > bag[:, 1].min(), "water goes through"
    assert np.hypot(x[:, 0], x[:, 2]).max() < RADIUS, "water goes through"
    assert x[:, 1].max() < 0.0, "water goes over the rim"
    assert squeezed < 0.01, "the water is squeezed"
    assert abs(abs(np.mean(pulls)) / all_weight - 1.0) < 0.01, "the rim does not carry the weight"
    assert abs(abs(np.mean(pushes)) / weight - 1.0) < 0.01, "the bag does not carry the water"
    assert abs(np.mean(rooms) / volume - 1.0) < 0.05, "the water takes up more or less than its volume"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
