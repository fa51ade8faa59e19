r"""Twisted rod: a straight rod is turned at one end until it buckles, and given slack until it winds about itself.

    turned      straight                    the hands approach
    =====>  =================   ->          ____        ____
                                                \      /            a loop stands off, and its two strands wind about
            first: a helix                       >----<             each other, as in a telephone cord
                                                /      \
                                                \______/

Both ends are clamped. Twist is spread evenly along a straight rod, until its moment M reaches the value of Greenhill
1883: M L / (E I) = 2 x 4.4934 (tan x = x) for clamped ends. From there on the rod leaves its line. When the ends move
together it jumps: bending is cheaper than twist. What is kept is the linking number, the turns that the hand has made,

    turns = twist / (2 pi) + writhe        (Calugareanu 1961, White 1969)

where the writhe of the curve alone says how much it winds about itself. Both are measured, from the frames and from
the points, and their sum stays at what the hand did.

Look at the player: straight, a shallow helix, then the loop that snaps. In the plot: twist goes over into writhe, and
the moment in the rod falls when it does.
"""

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder
from shinari.scene.rod import RodHandle

LENGTH, SEGMENTS, SLACK = 0.6, 96, 0.35  # [m], count, share of the length by which the hands approach
# the hand turns, rests below the twist at which the rod buckles, rests above it, goes on; then the hands approach
TIMES, TURNS = (0.0, 2.0, 3.0, 3.5, 6.0, 8.5), (0.0, 1.6, 1.6, 2.3, 2.3, 4.0)  # [s]
CLOSING, HOLDING = 4.0, 2.0  # [s]
RUBBER = sn.RodMaterial(radius=0.004, youngs_modulus=2e6, poissons_ratio=0.3, density=1000.0, damping=0.002)


def build() -> tuple[sn.Scene, RodHandle]:
    """A rod along X, bent by a ten thousandth of its length, clamped at both ends."""
    s = np.linspace(0.0, 1.0, SEGMENTS + 1)
    points = LENGTH * np.stack([s - 0.5, 1e-4 * np.sin(np.pi * s) ** 2, 0.0 * s], axis=1)
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0), damping=3.0)
    rod = scene.add_rod(points, material=RUBBER, rest_curvature=(0.0, 0.0, 0.0), self_collision=True, name="rod")
    rod.pin([0, 1, SEGMENTS - 1, SEGMENTS])
    rod.clamp([0, SEGMENTS - 1])
    return scene, rod


def turned(frame: np.ndarray, angle: float) -> np.ndarray:
    """A frame w x y z turned about its own third axis."""
    w, x, y, z = frame
    c, s = math.cos(0.5 * angle), math.sin(0.5 * angle)
    return np.array([c * w - s * z, c * x + s * y, c * y - s * x, c * z + s * w])


def turn(simulation: sn.Simulation, rod: RodHandle) -> float:
    """Write the end in the hand to where it is after the next step; gives how often it has been turned."""
    time = simulation.time + 1.0 / 60.0
    turns = float(np.interp(time, TIMES, TURNS))
    way = SLACK * LENGTH * min(max(time - TIMES[-1], 0.0) / CLOSING, 1.0)
    simulation.frames(rod)[-1] = turned(rod.frames[-1], 2.0 * math.pi * turns)
    simulation.positions(rod)[-2:] = rod.positions[-2:] - [way, 0.0, 0.0]
    return turns


def twist(frames: np.ndarray) -> float:
    """Turns by which frames (S, 4) twist about the axis along the rod, joint by joint."""
    w, x, y, z = frames[:-1].T
    a, b, c, d = frames[1:].T
    scalar = w * a + x * b + y * c + z * d
    along = w * d - z * a + y * b - x * c
    angle = 2.0 * np.arctan2(along, scalar)
    return float((angle - 2.0 * np.pi * np.round(angle / (2.0 * np.pi))).sum()) / (2.0 * np.pi)


def writhe(points: np.ndarray) -> float:
    """Writhe of a curve (N, 3) that goes on straight along X at both ends, by the solid angles of its segments.

    Each two segments add the area, on the sphere of all directions, from which they are seen to cross, with the sign
    of the crossing (Klenin and Langowski 2000, method 1a).
    """
    far = 100.0 * LENGTH * np.array([[1.0, 0.0, 0.0]])
    x = np.concatenate([points[:1] - far, points, points[-1:] + far])
    i, j = np.triu_indices(len(x) - 1, 2)
    a, b, c, d = x[i], x[i + 1], x[j], x[j + 1]
    corners = [np.cross(c - a, d - a), np.cross(d - a, d - b), np.cross(d - b, c - b), np.cross(c - b, c - a)]
    size = [np.linalg.norm(n, axis=1, keepdims=True) for n in corners]
    normals = [n / np.where(s > 0.0, s, 1.0) for n, s in zip(corners, size, strict=True)]
    dots = [(normals[k] * normals[(k + 1) % 4]).sum(axis=1) for k in range(4)]
    area = sum(np.arcsin(np.clip(dot, -1.0, 1.0)) for dot in dots)
    sign = np.sign((np.cross(d - c, b - a) * (c - a)).sum(axis=1))
    return float((area * sign).sum()) / (2.0 * np.pi)


def nearest(points: np.ndarray, apart: int) -> float:
    """Smallest distance of two points that are so many segments apart [m]."""
    i, j = np.triu_indices(len(points), apart)
    return float(np.linalg.norm(points[i] - points[j], axis=1).min())


def plot(path: Path, run: np.ndarray, critical: float, points: np.ndarray) -> None:
    """Turns, twist, writhe and moment against time, and the rod at the end."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    time, turns, twists, writhes, moments, _ = run.T
    figure = plt.figure(figsize=(12, 5), layout="constrained")
    left = figure.add_subplot(1, 2, 1)
    left.plot(time, turns, "k--", label="turns of the hand")
    left.plot(time, twists, label="twist")
    left.plot(time, writhes, label="writhe")
    left.plot(time, twists + writhes, ":", label="twist + writhe")
    left.axhline(critical, color="gray", linewidth=0.8, label="Greenhill 1883")
    left.set(xlabel="time [s]", ylabel="turns")
    moment = left.twinx()
    moment.plot(time, 1000.0 * moments, color="tab:red", linewidth=0.8)
    moment.set_ylabel("moment along the rod at its end [mN m]", color="tab:red")
    left.legend(loc="upper left")
    right = figure.add_subplot(1, 2, 2, projection="3d")
    right.plot(*points[:, [0, 2, 1]].T, linewidth=4, solid_capstyle="round")
    right.set_aspect("equal")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def shown() -> tuple[sn.Simulation, Callable[[sn.Simulation], None]]:
    """What `shinari view` shows."""
    scene, rod = build()
    return sn.Simulation(scene, substeps=60), lambda simulation: turn(simulation, rod)


def main(arguments: list[str] | None = None) -> None:
    """Turn, give slack, hold; measure twist and writhe, check them, write a player and a plot."""
    parser = argparse.ArgumentParser(description="a rod that is twisted until it buckles and winds about itself")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene, rod = build()
    simulation = sn.Simulation(scene, substeps=60)
    run = []
    outputs = [options.out / "twisted_rod.html", options.out / "twisted_rod.npz"]
    with Recorder(simulation, outputs, title="a twisted rod buckles and winds about itself") as recorder:
        recorder.record()
        for step in range(round(60.0 * (TIMES[-1] + CLOSING + HOLDING))):
            time = (step + 1) / 60.0
            turns = turn(simulation, rod)
            simulation.step()
            recorder.record()
            x = simulation.positions(rod).astype(float)
            moment = simulation.rod_loads(rod).moments[0, 0]
            aside = np.abs(x[:, 1:]).max()
            run.append([time, turns, twist(simulation.frames(rod).astype(float)), writhe(x), moment, aside])
    run = np.array(run)

    _, _, bend, torsion = RUBBER.stiffness
    critical = 2.0 * 4.4934 * bend / torsion / (2.0 * math.pi)
    below, above = (np.interp(time, run[:, 0], run[:, 5]) for time in (TIMES[2], TIMES[4]))
    lost = np.abs(run[:, 2] + run[:, 3] - run[:, 1]).max()
    peak, end = run[:, 4].max(), run[-1, 4]
    gap = nearest(x, 6)
    plot(options.out / "twisted_rod.png", run, critical, x)
    print(f"it buckles at {critical:.2f} turns (Greenhill); off its line by {1000 * below:.2f} mm after a rest at "
          f"{TURNS[2]} turns, {1000 * above:.2f} mm at {TURNS[4]}")  # fmt: skip
    print(f"at the end {run[-1, 2]:.2f} turns of twist, {run[-1, 3]:.2f} of writhe; their sum is off by {lost:.3f}")
    print(f"moment {1000 * peak:.1f} mN m at most, {1000 * end:.1f} at the end")
    print(f"strands {1000 * gap:.2f} mm apart, the rod is {2000 * RUBBER.radius:.1f} mm thick")
    assert TURNS[2] < critical < TURNS[4]
    assert below < 1e-4 * LENGTH < 1e-3 * LENGTH < above, "it buckles at another twist"
    assert lost < 0.05, "turns get lost: the rod has passed through itself, or its frames do not follow"
    assert run[-1, 3] > 1.5, "it has not wound about itself"
    assert end < 0.6 * peak, "the loop does not relieve the twist"
    assert gap > 1.9 * RUBBER.radius, "its strands are inside each other"
    print(f"wrote {', '.join(str(path) for path in outputs)} and {options.out / 'twisted_rod.png'}")


if __name__ == "__main__":
    main()
