r"""Jelly drop: a surface from a mesh file is filled with tetrahedra, falls and wobbles.

    python examples/15_jelly_drop/jelly_drop.py --mesh yours.obj

Without a file the script first makes a pudding with flutes, writes it as an .obj and reads that. The mesh should be
closed and in metres, Y up; it is dropped from half its height. OBJ, PLY, STL and glTF can be read.

The tetrahedra are much coarser than the surface. What is seen and written is the surface of the file, vertex by
vertex: each keeps its barycentric coordinates in the tetrahedron that holds it, or that is nearest to it.

                 surface of the file
       .-*--*-.  /
      *\ /\ /\ *        * = w0 x0 + w1 x1 + w2 x2 + w3 x3 of the corners x of its tetrahedron, with the weights w of
      |_\__\__\|            the shape at rest: what turns, bends or squashes the cells does the same to what is in them

Checked: the free fall, that the surface moves along exactly, that no tetrahedron turns inside out in the impact, that
the volume is kept as Poisson's ratio 0.48 says, and that the floor carries the weight in the end.

Look at the player: flutes sway against each other, and the pudding comes to rest wider at its foot.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.geometry.files.meshes import read_mesh, write_mesh
from shinari.geometry.tetrahedra.check import volumes
from shinari.geometry.tetrahedra.quality import measure_quality
from shinari.io.npz import read_npz
from shinari.output.recorder import Recorder

GRAVITY = 9.81  # [m/s^2]
ALONG = 8  # cells along the longest extent
SUBSTEPS = 60  # with 20 the weight above squashes the lowest cells to half of their volume


def make_pudding(path: Path, around: int = 96, rings: int = 40) -> None:
    """Write a closed surface 8 cm tall: wide below, rounded, with eight flutes."""
    theta = np.pi * (1.0 - np.linspace(0.0, 1.0, rings + 1)[1:-1, None])
    phi = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)[None]
    up, out = np.cos(theta), np.sin(theta)
    y = 0.04 * np.sign(up) * np.abs(up) ** 0.45
    radius = 0.055 * out**0.45 * (1.0 - 0.25 * y / 0.04) * (1.0 + 0.08 * np.cos(8.0 * phi) * out**2)
    x = np.stack([radius * np.cos(phi), y + 0.0 * phi, radius * np.sin(phi)])
    vertices = np.concatenate([x.reshape(3, -1).T, [[0.0, -0.04, 0.0], [0.0, 0.04, 0.0]]])
    here = np.arange((rings - 1) * around).reshape(rings - 1, around)
    beside = np.roll(here, -1, axis=1)
    a, b, c, d = here[:-1], beside[:-1], here[1:], beside[1:]
    bottom, top = here.size, here.size + 1
    faces = [
        np.stack([a, d, b], axis=-1).reshape(-1, 3),
        np.stack([a, c, d], axis=-1).reshape(-1, 3),
        np.stack([np.full(around, bottom), here[0], beside[0]], axis=-1),
        np.stack([np.full(around, top), beside[-1], here[-1]], axis=-1),
    ]
    write_mesh(path, vertices, np.concatenate(faces))


def build(path: Path) -> tuple[sn.Scene, float]:
    """The scene with the body half its height above the floor, and that height [m]."""
    vertices, _ = read_mesh(path)
    extents = np.ptp(vertices, axis=0)
    height = 0.5 * extents[1]
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    scene.add_collider(sn.Plane(), friction=0.5, name="floor")
    body = scene.add_soft_body(
        path,
        # the tetrahedra blunt the edges of the surface by a part of a cell; half of the thickness keeps these above
        # the floor
        material=sn.SoftMaterial.preset("jelly", damping=0.01, thickness=0.03 * extents[1]),
        cell=float(extents.max() / ALONG),
        position=(0.0, height - vertices[:, 1].min(), 0.0),
        name="jelly",
    )
    tetrahedra = scene.particle_objects[0].tetrahedra
    print(f"{path.name}: {len(vertices)} vertices, filled with {measure_quality(body.positions, tetrahedra)}")
    return scene, height


def enclosed(vertices: np.ndarray, faces: np.ndarray) -> float:
    """Volume inside a closed surface [m^3]."""
    a, b, c = (vertices[faces[:, k]].astype(float) for k in range(3))
    return float((a * np.cross(b, c)).sum() / 6.0)


def check_surface(path: Path, given: Path, shown: np.ndarray, frames: int) -> None:
    """What was written is the surface of the file, with its faces and its vertices in their order."""
    vertices, faces = read_mesh(given)
    run = read_npz(path)
    start, stop = run["range_jelly"]
    assert np.array_equal(run["faces_jelly"], faces)
    positions = run["positions"][:, start:stop]
    assert positions.shape == (frames, len(vertices), 3)
    drop = positions[0] - vertices
    assert np.ptp(drop, axis=0).max() < 1e-6, "the surface is not that of the file"
    assert np.array_equal(positions[-1], shown)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pudding.obj"
        make_pudding(path)
        return sn.Simulation(build(path)[0], substeps=SUBSTEPS)


def main(arguments: list[str] | None = None) -> None:
    """Read the surface, fill it, drop it, check, write results."""
    parser = argparse.ArgumentParser(description="a mesh file is filled with tetrahedra and dropped")
    parser.add_argument("--mesh", type=Path, help="mesh file; without it a pudding is made")
    parser.add_argument("--frames", type=int, default=180, help="frames of 1/60 s; at rest after 150")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.mesh or options.out / "pudding.obj"
    if options.mesh is None:
        make_pudding(path)

    scene, height = build(path)
    body = scene.particle_objects[0]
    weight = body.masses.sum() * GRAVITY
    simulation = sn.Simulation(scene, substeps=SUBSTEPS)
    _, faces = simulation.surface("jelly")
    at_rest = enclosed(simulation.surface("jelly")[0], faces)
    outputs = [options.out / "jelly_drop.html", options.out / "jelly_drop.npz"]
    carried, volume, least, lowest, start = [], [], [], [], (body.masses @ body.positions)[1] / body.masses.sum()
    h = simulation.settings.dt / simulation.settings.substeps
    with Recorder(simulation, outputs, frames_per_second=60.0, title="jelly drop") as recorder:
        recorder.record()
        for frame in range(1, options.frames + 1):
            simulation.step()
            recorder.record()
            x = simulation.positions("jelly").astype(float)
            time = frame * simulation.settings.dt
            fallen = 0.5 * GRAVITY * time * (time + h)  # symplectic Euler
            if fallen < 0.9 * height:
                middle = (body.masses @ x)[1] / body.masses.sum()
                assert abs(start - middle - fallen) < 1e-5, "it does not fall freely"
            least.append((volumes(x, body.tetrahedra) / volumes(body.positions, body.tetrahedra)).min())
            shown, _ = simulation.surface("jelly")
            volume.append(enclosed(shown, faces) / at_rest)
            carried.append(simulation.forces(scene["jelly"])[1])
            lowest.append(shown[:, 1].min())
    exact = (body.visual.weights[..., None] * x[body.visual.corners]).sum(axis=1)
    assert np.abs(shown - exact).max() < 1e-6, "the surface does not move along"
    assert min(least) > 0.0, f"a tetrahedron turned inside out: {min(least):.2f} of its volume"
    check_surface(outputs[1], path, shown, recorder.frames)
    rest = float(np.mean(carried[-30:]))
    print(
        f"volume of the surface {100 * min(volume):.1f} to {100 * max(volume):.1f} %, {100 * volume[-1]:.1f} % at rest"
    )
    print(f"no tetrahedron is squashed below {100 * min(least):.0f} % of its volume; lowest vertex {min(lowest):.2g} m")
    print(f"the floor carries {rest:.4f} N of {weight:.4f} N, {max(carried):.1f} N in the impact")
    if options.mesh is None:  # what other meshes do is not known beforehand
        assert min(lowest) > 0.0, f"the surface is {-min(lowest):.2g} m below the floor"
        # the pressure at the foot, rho g h, over the bulk modulus E / (3 (1 - 2 nu)) is 2 %, half of it on average
        assert abs(volume[-1] - 1.0) < 0.02, f"{100 * volume[-1]:.1f} % of the volume is left"
        assert abs(rest / weight - 1.0) < 0.02, f"the floor carries {rest:.4f} N of {weight:.4f} N"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
