r"""Meshes piled: lumps with ears and noses, closed triangle meshes, dropped into a bin, come to rest on each other.

       n n         they are not convex: an ear fits into the hollow between two others. Mass, centre and moments of
      ( . .)       inertia are those of the volume inside the triangles; contacts take the distance to a surface from a
     (     )o      field that is made of the triangles once

Checked: the mass of a lump is its volume times its density, the pile comes to rest in the bin, the bin
carries its weight, and no vertex of a lump is inside another one by more than a part of the size of its triangles.
"""

import argparse
from pathlib import Path

import numpy as np
import trimesh

import shinari as sn
from shinari.geometry.motion import rotation_matrix
from shinari.output.recorder import Recorder
from shinari.shapes.kernels.encode import signed_distance

GRAVITY = 9.81  # [m/s^2]
RADIUS, DENSITY = 0.1, 600.0  # of the belly of a lump [m], [kg/m^3]
BIN = (0.5, 2.0, 0.5)  # [m]
# what sticks out: direction, height as part of the radius, how narrow it is
BUMPS = (
    ((0.3, 1.0, 0.4), 0.9, 14.0),
    ((0.3, 1.0, -0.4), 0.9, 14.0),
    ((1.0, 0.25, 0.0), 0.5, 6.0),
    ((-1.0, -0.3, 0.0), 0.35, 20.0),
    ((0.6, -1.0, 0.5), 0.35, 12.0),
    ((0.6, -1.0, -0.5), 0.35, 12.0),
)


def lump() -> tuple[np.ndarray, np.ndarray]:
    """A ball with two ears, a head, a tail and two feet: vertices [m] and faces."""
    ball = trimesh.creation.icosphere(subdivisions=3)
    directions = np.asarray(ball.vertices)
    radius = np.ones(len(directions))
    for towards, height, narrow in BUMPS:
        middle = np.array(towards) / np.linalg.norm(towards)
        radius += height * np.exp(narrow * (directions @ middle - 1.0))
    return RADIUS * radius[:, None] * directions, np.asarray(ball.faces)


def build(count: int) -> sn.Scene:
    """Lumps above each other in two columns, each turned in another way."""
    generator = np.random.default_rng(3)
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    scene.add_collider(sn.Box(BIN, inside=True), position=(0.0, 0.5 * BIN[1], 0.0), friction=0.5, name="bin")
    mesh = sn.Mesh(*lump())
    for k in range(count):
        rotation = generator.normal(size=4)
        place = (0.06 * (-1) ** k, 0.22 + 0.33 * k, generator.uniform(-0.05, 0.05))
        scene.add_rigid_body(
            mesh,
            density=DENSITY,
            position=place,
            rotation=rotation / np.linalg.norm(rotation),
            friction=0.5,
            name=f"lump_{k}",
        )
    return scene


def deepest(simulation: sn.Simulation, mesh: sn.Mesh) -> float:
    """How deep a vertex of one lump is inside of another one [m], 0 if none is."""
    surfaces = [simulation.surface(body.name)[0] for body in simulation.scene.bodies]
    depth = 0.0
    for k, body in enumerate(simulation.scene.bodies):
        position, rotation = simulation.pose(body.name)
        others = np.concatenate([surface for j, surface in enumerate(surfaces) if j != k])
        depth = max(depth, -float(signed_distance(mesh, (others - position) @ rotation_matrix(rotation)).min()))
    return depth


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build(5), substeps=10)


def main(arguments: list[str] | None = None) -> None:
    """Drop the lumps, wait until they rest, check, write results."""
    parser = argparse.ArgumentParser(description="closed meshes are piled up in a bin")
    parser.add_argument("--count", type=int, default=5, help="lumps")
    parser.add_argument("--frames", type=int, default=180, help="frames of 1/60 s; at rest after 150")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    vertices, faces = lump()
    scene = build(options.count)
    simulation = sn.Simulation(scene, substeps=10)
    outputs = [options.out / "meshes_piled.html", options.out / "meshes_piled.npz"]
    carried, depth = [], 0.0
    with Recorder(simulation, outputs, frames_per_second=60.0, title="meshes in a bin") as recorder:
        recorder.record()
        for frame in range(options.frames):
            simulation.step()
            recorder.record()
            carried.append(abs(simulation.forces(scene["bin"])[1]))
            if frame % 30 == 29:
                depth = max(depth, deepest(simulation, sn.Mesh(vertices, faces)))
    volume = float((vertices[faces[:, 0]] * np.cross(vertices[faces[:, 1]], vertices[faces[:, 2]])).sum() / 6.0)
    mass = scene.bodies[0].mass
    weight = GRAVITY * mass * options.count
    speed = np.linalg.norm(simulation.state.body_velocities, axis=1).max()
    edge = np.linalg.norm(vertices[faces[:, 0]] - vertices[faces[:, 1]], axis=1).mean()
    print(f"a lump weighs {mass:.4f} kg, its volume times its density is {volume * DENSITY:.4f} kg")
    print(f"the bin carries {np.mean(carried[-20:]):.2f} of {weight:.2f} N; speed at the end {1e3 * speed:.2f} mm/s")
    print(f"vertices are inside of others by at most {1e3 * depth:.2f} mm; edges are {1e3 * edge:.1f} mm long")
    assert abs(mass / (volume * DENSITY) - 1.0) < 1e-9
    lowest = min(simulation.surface(body.name)[0][:, 1].min() for body in scene.bodies)
    assert lowest > -0.2 * edge, f"a lump is {-lowest:.2g} m below the bottom"
    assert depth < 0.2 * edge, "a lump is inside of another one"
    assert speed < 0.02, "the pile does not come to rest"
    assert abs(np.mean(carried[-20:]) / weight - 1.0) < 0.02, "the bin does not carry the pile"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
