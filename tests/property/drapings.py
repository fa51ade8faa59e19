"""Random sheets that fall over random meshes, and a test of each frame that shares nothing with the engine."""

from dataclasses import dataclass

import numpy as np
import trimesh

import shinari as sn
from intersections import intersecting
from shinari.geometry.topology import grid

MESHES = ("bumps", "torus", "hull", "spikes", "box", "cylinders")


def random_mesh(rng: np.random.Generator, kind: str) -> trimesh.Trimesh:
    """A closed mesh about 0.4 m across, in a random position."""
    if kind == "torus":
        mesh = trimesh.creation.torus(0.16, rng.uniform(0.02, 0.07), major_sections=32, minor_sections=12)
    elif kind == "hull":
        mesh = trimesh.convex.convex_hull(rng.normal(size=(int(rng.integers(8, 30)), 3)))
    elif kind == "box":
        mesh = trimesh.creation.box(rng.uniform(0.1, 0.4, 3))
    elif kind == "cylinders":
        mesh = trimesh.creation.annulus(rng.uniform(0.05, 0.1), 0.16, rng.uniform(0.1, 0.4), sections=24)
    else:
        mesh = trimesh.creation.icosphere(3, 0.2)
        normals, far = mesh.vertices / 0.2, np.zeros(len(mesh.vertices))
        for wave in rng.normal(size=(6, 3)) * (8.0 if kind == "bumps" else 3.0):
            far += np.cos(normals @ wave + rng.uniform(0, 6))
        if kind == "spikes":
            far = 6.0 * np.maximum(far / np.abs(far).max(), 0.0) ** 6
        mesh.vertices = mesh.vertices + normals * (0.008 if kind == "bumps" else 0.02) * far[:, None]
    mesh.apply_transform(trimesh.transformations.random_rotation_matrix(rng.uniform(size=3)))
    mesh.apply_scale(0.4 / mesh.extents.max())
    mesh.apply_translation(-mesh.bounds.mean(axis=0))
    return mesh


@dataclass
class Draping:
    """A sheet over a mesh, the settings of its simulation, and what it is.

    Attributes:
        scene: The scene.
        mesh: Triangles of the mesh (F, 3, 3).
        settings: Arguments of `Simulation`.
        name: What it is, with its numbers.
    """

    scene: sn.Scene
    mesh: np.ndarray
    settings: dict
    name: str

    def run(self, frames: int) -> str:
        """What goes through what, in which frame; an empty string: nothing."""
        sim = sn.Simulation(self.scene, threads=1, **self.settings)
        count = len(sim.state.positions) // len(self.scene.particle_objects)
        faces = np.concatenate([k * count + each.faces for k, each in enumerate(self.scene.particle_objects)])
        for frame in range(frames):
            sim.step()
            x = np.asarray(sim.state.positions, np.float64)
            own, other = intersecting(x[faces], names=faces), intersecting(x[faces], self.mesh)
            if len(own) or len(other):
                return f"frame {frame}: {len(own)} pairs of the sheets, {len(other)} of sheet and mesh"
        return ""


def draping(seed: int) -> Draping:
    """The random draping of a number."""
    rng = np.random.default_rng([seed, 77])
    kind = MESHES[seed % len(MESHES)]
    mesh, scene = random_mesh(rng, kind), sn.Scene()
    scene.add_collider(sn.Mesh(mesh.vertices, mesh.faces), friction=float(rng.uniform(0.0, 0.8)))
    scene.add_collider(sn.Plane(offset=-0.4), friction=0.5)
    count, sheets = int(rng.integers(14, 27)), int(rng.integers(1, 3))
    size = float(rng.uniform(0.5, 1.0))
    edge = size / (count - 1)
    thickness = edge * float(rng.uniform(0.1, 0.5))
    for k in range(sheets):
        scene.add_cloth(
            grid(shape=(count, count), size=(size, size)),
            material=sn.ClothMaterial(thickness=thickness, density=float(rng.uniform(0.1, 0.6))),
            self_collision="triangles",
            position=(*rng.uniform(-0.1, 0.1, 1), 0.3 + 0.08 * k, *rng.uniform(-0.1, 0.1, 1)),
            velocity=(0.0, -float(rng.choice([0.0, 1.0, 4.0])), 0.0),
        )
    settings = {"substeps": int(rng.integers(8, 21)), "precision": str(rng.choice(["float32", "float64"]))}
    name = f"{sheets} sheets of {count} x {count}, {size:.3g} m, {thickness * 1e3:.3g} mm, over {kind}, {settings}"
    return Draping(scene, np.asarray(mesh.triangles), settings, name)
