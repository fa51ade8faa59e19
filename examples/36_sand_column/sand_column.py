r"""Sand column: sand in a tube; the tube is pulled up, the sand runs out to a flat heap.

      |  :::  |        |       |
      | ::::: |                                  How far it runs depends on one number, the height of the column over
      | ::::: |   ->     .:::.        ->  _.:::::._      its radius a: the front comes to rest at r0 (1 + 1.24 a) for
    __|_:::::_|__     __.:::::::.__       columns below a = 1.7 (Lube, Huppert, Sparks and Hallworth 2004)

Grains are balls that rub but do not turn. A friction of 0.12 stands for that of sand, whose grains roll.

Checked: the sand comes to rest, the front is where the experiments have it within 25 %, nothing is lost or sinks into
the ground, and the ground carries the weight.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

GRAVITY = 9.81  # [m/s^2]
RADIUS, TUBE = 0.005, 0.08  # of a grain and of the tube [m]
FRICTION = 0.12
STAVES, WALL = 16, 0.01  # boards that make the tube, and their thickness [m]
PULL, SPEED = 0.5, 2.5  # when the tube is pulled up [s], and how fast [m/s]


def build(filled: float) -> sn.Scene:
    """Sand in a tube of staves, loosely filled up to a height [m]."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    sand = sn.GrainMaterial(density=2650.0, friction=FRICTION)
    room = sn.Cylinder(TUBE * np.cos(np.pi / STAVES), filled)
    scene.add_grains(room, radius=RADIUS, spread=0.2, position=(0.0, 0.5 * filled, 0.0), material=sand, name="sand")
    scene.add_collider(sn.Plane(), friction=0.5, name="ground")
    width = 2.0 * (TUBE + WALL) * np.tan(np.pi / STAVES)
    for k in range(STAVES):
        angle = 2.0 * np.pi * k / STAVES
        place = (TUBE + 0.5 * WALL) * np.array([np.cos(angle), 0.0, -np.sin(angle)])
        turn = (np.cos(0.5 * angle), 0.0, np.sin(0.5 * angle), 0.0)

        def motion(time: float, place: np.ndarray = place, turn: tuple = turn) -> tuple:
            return place + np.array([0.0, 0.5 * filled + SPEED * max(time - PULL, 0.0), 0.0]), turn

        scene.add_collider(sn.Box((WALL, filled, width)), motion=motion, friction=0.0, name=f"stave {k}")
    return scene


def profile(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Radii and heights of the surface of the heap [m], by rings of two grains."""
    r = np.hypot(x[:, 0], x[:, 2])
    rings = np.arange(0.0, r.max() + 4 * RADIUS, 4 * RADIUS)
    number = np.digitize(r, rings) - 1
    heights = [x[number == k, 1].max(initial=-RADIUS) + RADIUS for k in range(len(rings))]
    return rings + 2 * RADIUS, np.array(heights)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build(0.24), substeps=4)


def main(arguments: list[str] | None = None) -> None:
    """Fill, pull, wait until it rests, check, draw."""
    parser = argparse.ArgumentParser(description="a column of sand collapses")
    parser.add_argument("--filled", type=float, default=0.24, help="height of the loose filling [m]")
    parser.add_argument("--frames", type=int, default=120, help="frames of 1/60 s")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene = build(options.filled)
    simulation = sn.Simulation(scene, substeps=4)
    outputs = [options.out / "sand_column.html", options.out / "sand_column.npz"]
    profiles, a, carried = [], 0.0, []
    with Recorder(simulation, outputs, frames_per_second=60.0, title="a column of sand") as recorder:
        recorder.record()
        for frame in range(options.frames):
            if frame == round(60 * PULL):
                a = (float(np.percentile(simulation.positions("sand")[:, 1], 99)) + RADIUS) / TUBE
            simulation.step()
            recorder.record()
            carried.append(-simulation.forces(scene["ground"])[1])
            if frame in [round(60 * (PULL + t)) for t in (-0.1, 0.1, 0.2)]:
                profiles.append((simulation.time, *profile(simulation.positions("sand"))))
    x = simulation.positions("sand")
    profiles.append((simulation.time, *profile(x)))
    front = float(np.percentile(np.hypot(x[:, 0], x[:, 2]), 98.0)) + RADIUS
    law = TUBE * (1.0 + (1.24 * a if a < 1.7 else 1.6 * np.sqrt(a)))
    speed = float(np.linalg.norm(simulation.velocities("sand"), axis=1).max())
    weight = GRAVITY * float(simulation.model.masses.sum())
    draw(profiles, law, options.out / "sand_column.png")
    print(f"{len(x)} grains, a = {a:.2f}: the front is at {100 * front:.1f} cm, in experiments at {100 * law:.1f} cm")
    print(f"speed at the end {1e3 * speed:.2f} mm/s; the ground carries {np.mean(carried[-10:]):.2f} of {weight:.2f} N")
    assert speed < 0.05, "the sand does not come to rest"
    assert abs((front - TUBE) / (law - TUBE) - 1.0) < 0.25, "the front is not where it is in experiments"
    assert x[:, 1].min() > 0.7 * RADIUS, "a grain is in the ground"
    assert abs(abs(np.mean(carried[-10:])) / weight - 1.0) < 0.02, "the ground does not carry the sand"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


def draw(profiles: list, law: float, path: Path) -> None:
    """The surface of the heap at several times, and the front of the experiments."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
    for time, radii, heights in profiles:
        axes.plot(100 * radii, 100 * heights, marker=".", label=f"{time:.2f} s")
    axes.axvline(100 * law, color="black", linestyle=":", label="front, Lube et al. 2004")
    axes.set(xlabel="radius [cm]", ylabel="height [cm]", ylim=(0.0, None), title="a column of sand collapses")
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
