r"""Your mesh: hang it, blow on it, swing a ball into it, take the result away.

The main job of the package from end to end, on a mesh file of your own:

    python examples/07_your_mesh/your_mesh.py --mesh curtain.obj

Without one the script first makes a banner with a scalloped hem and uneven triangles, writes it as an .obj and reads
that. The mesh should stand upright, Y up, in metres; two pegs hold its upper corners, wind comes along Z in gusts, and
a ball a third as wide as the cloth is tall swings through it along Z. OBJ, PLY, STL and glTF can be read.

What is written, and what for:

    your_mesh.npz      NumPy: positions (frames, vertices, 3), velocities, faces, poses of the ball
    your_mesh_*.ply    one mesh a frame, for Blender, MeshLab, ParaView
    your_mesh.html     a player for any browser               needs the extra [view]
    your_mesh.usdc     for Blender, Houdini, Omniverse        needs the extra [usd]
    your_mesh.png      strain and kinetic energy against time  needs the extra [plot]

The vertices come out in the number and order in which they went in, so UVs and materials of the original still fit.

Look at the player: folds run from the corners, the ball pushes a bulge through them and lets the cloth slide off.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.geometry.files.meshes import read_mesh, write_mesh
from shinari.output.recorder import Recorder


def make_banner(path: Path) -> None:
    """Write a banner 1.2 m wide and 1.6 m tall with a scalloped hem and uneven triangles."""
    nx, ny = 34, 44
    vertices, faces = sn.grid(shape=(nx, ny), size=(1.2, 1.6), diagonal="alternating")
    x, y = vertices[:, 0], -vertices[:, 2]
    inner = np.ones((ny, nx), dtype=bool)
    inner[[0, -1]], inner[:, [0, -1]] = False, False
    jitter = np.random.default_rng(7).uniform(-0.008, 0.008, (len(x), 2)) * inner.reshape(-1, 1)
    depth = (0.8 - y) / 1.6
    hem = 0.06 * depth**2 * np.cos(2.0 * np.pi * x / 0.4)
    banner = np.stack([x * (1.0 - 0.15 * depth), y + hem + 1.4, np.zeros_like(x)], axis=1)
    banner[:, :2] += jitter
    write_mesh(path, banner, faces)


def build(mesh: Path) -> tuple[sn.Scene, object, float]:
    """The scene, the cloth and the radius of the ball [m]."""
    scene = sn.Scene(wind=sn.Gusts(mean=(0.3, 0.0, 0.0), amplitude=(0.3, 0.0, 1.2), frequency=0.7), damping=0.1)
    material = sn.ClothMaterial.preset("cotton", friction=0.2)
    cloth = scene.add_cloth(mesh, material=material, name="cloth")
    low, high = cloth.positions.min(axis=0), cloth.positions.max(axis=0)
    height, middle = high[1] - low[1], 0.5 * (low + high)
    corners = [(low[0], high[1], middle[2]), (high[0], high[1], middle[2])]
    for corner in corners:  # a peg holds what lies within five per cent of the height
        cloth.pin(cloth.where(lambda x, corner=corner: np.linalg.norm(x - corner, axis=1) < 0.05 * height))
        cloth.pin(cloth.nearest(corner))

    radius = 0.15 * height
    ball = sn.Oscillation(
        centre=tuple(middle - (0.0, 0.2 * height, 0.0)),
        amplitude=(0.0, 0.0, 0.6 * height),
        frequency=0.3,
        phase=0.5 * np.pi,
    )
    scene.add_collider(sn.Sphere(radius), motion=ball, friction=0.2, name="ball")
    return scene, cloth, radius + 0.5 * material.thickness


def recorder_for(simulation: sn.Simulation, out: Path) -> Recorder:
    """A recorder of every format whose extra is installed."""
    paths = [out / "your_mesh.npz", out / "your_mesh.ply"]
    for path, module, extra in ((out / "your_mesh.html", "viser", "view"), (out / "your_mesh.usdc", "pxr", "usd")):
        try:
            __import__(module)
            paths.append(path)
        except ImportError:
            print(f"no {path.name}: pip install 'shinari[{extra}]'")
    return Recorder(simulation, paths, frames_per_second=30.0, title="your mesh")


def check_files(out: Path, mesh: Path, frames: int, last: np.ndarray) -> None:
    """What was written is what was simulated, on the vertices and faces of the file."""
    vertices, faces = read_mesh(mesh)
    with np.load(out / "your_mesh.npz") as result:
        assert result["positions"].shape == (frames, len(vertices), 3)
        assert np.array_equal(result["positions"][-1], last)
    written, written_faces = read_mesh(sorted(out.glob("your_mesh_*.ply"))[0])
    assert np.allclose(written[: len(vertices)], vertices, atol=1e-6), "the vertices changed their order"
    assert np.array_equal(written_faces[: len(faces)], faces)


def plot(path: Path, time: np.ndarray, stretch: np.ndarray, kinetic: np.ndarray) -> None:
    """Stretch and kinetic energy against time."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (above, below) = plt.subplots(2, 1, figsize=(8, 5), sharex=True, layout="constrained")
    above.plot(time, 100.0 * stretch[:, 0], label="largest")
    above.plot(time, 100.0 * stretch[:, 1], label="mean")
    above.set(ylabel="stretch of the rows [%]")
    above.legend()
    below.plot(time, kinetic, color="tab:green")
    below.set(xlabel="time [s]", ylabel="kinetic energy [J]")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "banner.obj"
        make_banner(path)
        return sn.Simulation(build(path)[0], substeps=20)


def main(arguments: list[str] | None = None) -> None:
    """Read the mesh, simulate, write every format, check, plot."""
    parser = argparse.ArgumentParser(description="hang a mesh, blow on it, swing a ball into it")
    parser.add_argument("--mesh", type=Path, help="mesh file; without it a banner is made")
    parser.add_argument("--frames", type=int, default=300, help="frames of 1/60 s")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    mesh = options.mesh or options.out / "banner.obj"
    if options.mesh is None:
        make_banner(mesh)

    scene, cloth, reach = build(mesh)
    pins = cloth.positions[sorted(scene.pinned)]
    simulation = sn.Simulation(scene, substeps=20, threads=1)
    time, stretch, kinetic, last = [], [], [], None
    with recorder_for(simulation, options.out) as recorder:
        recorder.record()
        for _ in range(options.frames):
            simulation.step()
            recorder.record()
            centre = simulation.collider_poses()[0][0]
            gap = np.linalg.norm(simulation.positions(cloth) - centre, axis=1).min() - reach
            assert gap > -1e-4, f"a vertex is {-gap:.1e} m inside the ball at {simulation.time:.2f} s"
            strains = simulation.strains("distance")
            time.append(simulation.time)
            stretch.append((strains.max(), np.maximum(strains, 0.0).mean()))
            kinetic.append(simulation.energy().kinetic)
            if options.frames - len(time) < recorder.stride and simulation.state.frame % recorder.stride == 0:
                last = simulation.positions(cloth).copy()
    time, stretch, kinetic = np.array(time), np.array(stretch), np.array(kinetic)
    check_files(options.out, mesh, recorder.frames, last)
    assert np.allclose(simulation.state.positions[sorted(scene.pinned)], pins, atol=1e-6), "a pin moved"
    # hanging still a sheet stretches by a sigma g L / 2 on average; the ball and the gusts may double that, twice
    height, material = np.ptp(cloth.positions[:, 1]), sn.ClothMaterial.preset("cotton")
    hanging = 0.5 * material.stretch_compliance * material.density * 9.81 * height
    assert stretch[:, 1].max() < 4.0 * hanging, f"mean stretch {stretch[:, 1].max():.3f}, hanging still {hanging:.3f}"
    plot(options.out / "your_mesh.png", time, stretch, kinetic)
    print(f"{len(cloth)} vertices, {recorder.frames} frames, wrote to {options.out}:")
    print("  " + ", ".join(sorted(path.name for path in options.out.glob("your_mesh.*"))), "and your_mesh_*.ply")
    print(
        f"stretch of the rows: {100 * stretch[:, 1].mean():.2f} % on average, {100 * stretch[:, 0].max():.1f} % at most"
    )


if __name__ == "__main__":
    main()
