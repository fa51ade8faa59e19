r"""Helix spring: coils of steel wire with weights, against the formula of spring makers.

          ___ hook          A wire of diameter d, coiled with diameter D in n turns, is a spring of
         (___)
         (___)                  k = G d^4 / (8 D^3 n)           (closely coiled springs; Wahl 1944)
         (___)
           |                It bends a little and twists nearly everywhere: pull at a coil, and it is the torsion of
          [m]               the wire that gives way. No spring is put into the scene, only a rod of steel.

Three equal coils carry 100, 200 and 300 g, are let go and bounce: about m g / k, with the period 2 pi sqrt(m / k), m
with a third of the wire. The moment in the wire is m g D / 2 in every coil, nearly all of it torsion.

Look at the player: three springs that bounce in different time. In the plot: length against time with the lines of the
formula, and the spring as it was drawn.
"""

import argparse
import math
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

TURNS, SEGMENTS, HOOK = 8, 24, 0.01  # turns, segments of each, length of the hook [m]
COIL, PITCH = 0.01, 0.004  # radius of the coil and rise of a turn [m]
WEIGHTS = (0.1, 0.2, 0.3)  # [kg]
WIRE = sn.RodMaterial.preset("steel wire")  # 1 mm


def coil(at: np.ndarray) -> np.ndarray:
    """Points of a coil (N, 3) that hangs at a place [m]: from its axis out, down in turns, in again, and a hook."""
    t = np.linspace(0.0, 2.0 * np.pi * TURNS, TURNS * SEGMENTS + 1)
    turns = np.stack([COIL * np.cos(t), -PITCH * t / (2.0 * np.pi), COIL * np.sin(t)], axis=1)
    inwards = np.linspace(1.0, 0.0, 5)[1:, None]
    above = inwards[::-1] * turns[0]
    below = inwards * turns[-1] * [1.0, 0.0, 1.0] + turns[-1] * [0.0, 1.0, 0.0]
    hook = below[-1] - np.linspace(0.0, HOOK, 5)[1:, None] * [0.0, 1.0, 0.0]
    return np.concatenate([above, turns, below, hook]) + at


def build() -> tuple[sn.Scene, list]:
    """Three springs beside each other, each clamped at its upper end."""
    scene = sn.Scene()
    springs = []
    for k, weight in enumerate(WEIGHTS):
        points = coil(np.array([0.05 * k, 0.0, 0.0]))
        masses = np.zeros(len(points))
        masses[-1] = weight  # the last point of the wire carries it: solved together with the wire
        spring = scene.add_rod(points, material=WIRE, point_masses=masses, name=f"{1000 * weight:.0f} g")
        spring.pin(0)
        spring.clamp(0)
        springs.append(spring)
    return scene, springs


def period_of(time: np.ndarray, y: np.ndarray) -> float:
    """Period of an oscillation from where it crosses its mean upwards [s]."""
    y = y - y.mean()
    up = np.flatnonzero((y[:-1] < 0.0) & (y[1:] >= 0.0))
    crossings = time[up] - y[up] * (time[up + 1] - time[up]) / (y[up + 1] - y[up])
    return float(np.diff(crossings).mean())


def plot(path: Path, time: np.ndarray, lengths: np.ndarray, rest: np.ndarray, points: list[np.ndarray]) -> None:
    """Extension against time, and the springs as they hang at the end."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(11, 5), layout="constrained")
    left = figure.add_subplot(1, 2, 1)
    for k, weight in enumerate(WEIGHTS):
        (line,) = left.plot(time, 1000.0 * lengths[:, k], label=f"{1000 * weight:.0f} g")
        left.axhline(1000.0 * rest[k], color=line.get_color(), linestyle="--", linewidth=0.8)
    left.set(xlabel="time [s]", ylabel="extension [mm], dashed: m g / k")
    left.legend()
    right = figure.add_subplot(1, 2, 2, projection="3d")
    for x in points:
        right.plot(1000.0 * x[:, 0], 1000.0 * x[:, 2], 1000.0 * x[:, 1], linewidth=1.5)
        right.scatter(*(1000.0 * x[-1, [0, 2, 1]])[:, None], s=60)
    right.set_aspect("equal")
    right.set(xlabel="x [mm]", zlabel="y [mm]")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build()[0], dt=1 / 120, substeps=20)


def main(arguments: list[str] | None = None) -> None:
    """Let the weights go, measure extension, period and moment, check them, write a player and a plot."""
    parser = argparse.ArgumentParser(description="springs coiled from steel wire, with weights")
    parser.add_argument("--frames", type=int, default=240, help="frames of 1/120 s")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene, springs = build()
    simulation = sn.Simulation(scene, dt=1 / 120, substeps=20)
    start = np.array([spring.positions[-1, 1] for spring in springs])
    lengths, moments = [], []
    outputs = [options.out / "helix_spring.html", options.out / "helix_spring.npz"]
    with Recorder(simulation, outputs, title="springs coiled from steel wire") as recorder:
        recorder.record()
        for _ in range(options.frames):
            simulation.step()
            recorder.record()
            lengths.append(start - [simulation.positions(spring)[-1, 1] for spring in springs])
            middle = [simulation.rod_loads(spring).moments[4 + TURNS * SEGMENTS // 2] for spring in springs]
            moments.append(np.linalg.norm(middle, axis=1))
    time = np.arange(1, options.frames + 1) / 120.0
    lengths, moments = np.array(lengths), np.array(moments)

    stiffness = WIRE.rigidity * (2.0 * WIRE.radius) ** 4 / (8.0 * (2.0 * COIL) ** 3 * TURNS)
    wire = WIRE.density * WIRE.area * 2.0 * np.pi * COIL * TURNS
    hangs = np.array(WEIGHTS) * 9.81 / stiffness
    print(f"k = {stiffness:.1f} N/m for {TURNS} turns of wire, {1000 * wire:.1f} g")
    for k, weight in enumerate(WEIGHTS):
        period = period_of(time, lengths[:, k])
        expected = 2.0 * math.pi * math.sqrt((weight + wire / 3.0) / stiffness)
        whole = time <= time[-1] // period * period  # whole periods, over which the mean is where it comes to rest
        mean, moment = lengths[whole, k].mean(), moments[whole, k].mean()
        print(
            f"{1000 * weight:.0f} g: extension {1000 * mean:.2f} mm, m g / k {1000 * hangs[k]:.2f} mm; period "
            f"{1000 * period:.1f} ms, formula {1000 * expected:.1f} ms; moment {1000 * moment:.2f} mN m, "
            f"m g D / 2 {1000 * weight * 9.81 * COIL:.2f} mN m"
        )
        # the wire's own weight, its two ends to the axis and the hook add about 2 %
        assert abs(mean / hangs[k] - 1.0) < 0.04, "the extension is not that of the formula"
        assert abs(period / expected - 1.0) < 0.03, "the period is not that of the formula"
        assert abs(moment / (weight * 9.81 * COIL) - 1.0) < 0.05, "the moment is not that of the weight"
        assert lengths[:, k].max() < 2.1 * hangs[k], "it falls further than twice its rest"
    points = [simulation.positions(spring).astype(float) for spring in springs]
    plot(options.out / "helix_spring.png", time, lengths, hangs, points)
    print(f"wrote {', '.join(str(path) for path in outputs)} and {options.out / 'helix_spring.png'}")


if __name__ == "__main__":
    main()
