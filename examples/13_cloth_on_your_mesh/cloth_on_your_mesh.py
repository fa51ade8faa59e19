r"""Cloth on your mesh: a sheet falls over a solid that comes from a mesh file.

    python examples/13_cloth_on_your_mesh/cloth_on_your_mesh.py --mesh yours.obj

Without a file the script first makes a lump with bumps, writes it as an .obj and reads that. The mesh should be in
metres, Y up; it is put on the floor, and the sheet is cut to its size. OBJ, PLY, STL and glTF can be read. A closed
mesh is a solid: its distance field is computed once and kept on disk. A mesh with holes pushes from both sides.

The sheet keeps half its thickness from the mesh, and the whole of it from itself. Whether a vertex is inside is asked
once more at the end: by the solid angle under which it sees the mesh, which takes no part in the simulation.

Look at the player: the sheet caps the lump, hangs in folds from its bumps and lies on the floor.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.geometry.files.meshes import write_mesh
from shinari.output.recorder import Recorder

FRICTION = 0.4
GRAVITY = 9.81  # [m/s^2]
SUBSTEPS = 20


def make_lump(path: Path, around: int = 64, rings: int = 40) -> None:
    """Write a closed mesh about 0.5 m tall: a sphere with bumps around a waist."""
    theta = np.linspace(0.0, np.pi, rings + 1)[1:-1, None]
    phi = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)[None]
    radius = 0.2 * (1.0 + 0.25 * np.cos(4.0 * theta) + 0.2 * np.sin(theta) ** 3 * np.sin(5.0 * phi))
    x = radius * np.stack([np.sin(theta) * np.cos(phi), np.cos(theta) + 0.0 * phi, np.sin(theta) * np.sin(phi)])
    vertices = np.concatenate([x.reshape(3, -1).T, [[0.0, 0.25, 0.0], [0.0, -0.25, 0.0]]])
    here = np.arange((rings - 1) * around).reshape(rings - 1, around)
    beside = np.roll(here, -1, axis=1)
    a, b, c, d = here[:-1], beside[:-1], here[1:], beside[1:]
    top, bottom = here.size, here.size + 1
    faces = [
        np.stack([a, b, d], axis=-1).reshape(-1, 3),
        np.stack([a, d, c], axis=-1).reshape(-1, 3),
        np.stack([np.full(around, top), beside[0], here[0]], axis=-1),
        np.stack([np.full(around, bottom), here[-1], beside[-1]], axis=-1),
    ]
    write_mesh(path, vertices, np.concatenate(faces))


def build(path: Path, points: int) -> tuple[sn.Scene, sn.Mesh, np.ndarray, float]:
    """The scene, the mesh, where it stands (3,) [m], and the weight of the sheet [N]."""
    mesh = sn.Mesh(path)
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    at = -np.array([0.5 * (low[0] + high[0]), low[1], 0.5 * (low[2] + high[2])])
    height, width = high[1] - low[1], max(high[0] - low[0], high[2] - low[2])
    size = 1.5 * height + width
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0), wind=(0.0, 0.0, 0.0))
    scene.add_collider(sn.Plane((0.0, 1.0, 0.0), 0.0), friction=FRICTION, name="floor")
    scene.add_collider(mesh, position=at, friction=FRICTION, name="mesh")
    thickness = 0.25 * size / (points - 1)
    material = sn.ClothMaterial.preset("cotton", thickness=thickness, friction=FRICTION, damping=2e-3)
    sheet = sn.grid(shape=(points, points), size=(size, size), diagonal="alternating")
    top = (0.0, height + 2.0 * thickness, 0.0)
    scene.add_cloth(sheet, material=material, self_collision="triangles", position=top, name="sheet")
    return scene, mesh, at, material.density * size**2 * GRAVITY


def winding_number(points: np.ndarray, vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """How often a closed mesh encloses points (N, 3): 1 inside, 0 outside, (N,).

    Sum of the solid angles of its faces, van Oosterom and Strackee 1983, eq. 8, over 4 pi.
    """
    total = np.zeros(len(points))
    for face in faces:
        a, b, c = vertices[face][:, None] - points
        la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
        volume = (a * np.cross(b, c)).sum(axis=1)
        below = la * lb * lc + (a * b).sum(axis=1) * lc + (b * c).sum(axis=1) * la + (c * a).sum(axis=1) * lb
        total += 2.0 * np.arctan2(volume, below)
    return total / (4.0 * np.pi)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lump.obj"
        make_lump(path)
        return sn.Simulation(build(path, 61)[0], substeps=SUBSTEPS)


def main(arguments: list[str] | None = None) -> None:
    """Read the mesh, let the sheet fall on it, check, write results."""
    parser = argparse.ArgumentParser(description="a sheet falls over a mesh file")
    parser.add_argument("--mesh", type=Path, help="mesh file; without it a lump is made")
    parser.add_argument("--points", type=int, default=61, help="vertices of the sheet along each side")
    parser.add_argument("--frames", type=int, default=240, help="frames of 1/60 s; at rest after 180")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.mesh or options.out / "lump.obj"
    if options.mesh is None:
        make_lump(path)

    scene, mesh, at, weight = build(path, options.points)
    simulation = sn.Simulation(scene, substeps=SUBSTEPS)
    outputs = [options.out / "cloth_on_your_mesh.html", options.out / "cloth_on_your_mesh.npz"]
    carried, folded = [], 0
    with Recorder(simulation, outputs, title="cloth on your mesh") as recorder:
        recorder.record()
        for _ in range(options.frames):
            simulation.step()
            recorder.record()
            contacts = simulation.contacts()
            carried.append([contacts.forces[contacts.second == thing, 1].sum() for thing in ("mesh", "floor")])
            folded = max(folded, int((contacts.second == "sheet").sum()))
    x = simulation.positions("sheet").astype(float)
    rest = np.mean(carried[-30:], axis=0)
    print(f"the mesh has {len(mesh.faces)} faces and is {'a solid' if mesh.solid else 'a sheet'}")
    print(f"it carries {rest[0]:.3f} N and the floor {rest[1]:.3f} N of {weight:.3f} N; {folded} contacts of the sheet")
    assert x[:, 1].min() > 0.0, "a vertex is below the floor"
    if mesh.solid:
        inside = np.abs(winding_number(x, mesh.vertices + at, mesh.faces)) > 0.5
        assert not inside.any(), f"{inside.sum()} vertices are inside the mesh"
    if options.mesh is None:  # what other meshes do is not known beforehand
        assert abs(rest.sum() / weight - 1.0) < 0.01, f"mesh and floor carry {rest.sum():.3f} N of {weight:.3f} N"
        assert folded > 0, "no fold touches another"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
