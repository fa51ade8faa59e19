"""Time of the direct solver of rods against their length and number: `python benchmarks/rods.py`.

A level cantilever of so many segments, and hair: many rods of 20 segments. A step is 1/60 s with 10 substeps of one
iteration; the least of several steps, in milliseconds, and in nanoseconds for each segment and substep. The time of
many rods includes looking for contacts between them.
"""

import argparse
import time

import numpy as np

import shinari as sn

SUBSTEPS = 10


def scene_of(rods: int, segments: int, solver: str) -> sn.Scene:
    """So many cantilevers of 1 m beside each other."""
    scene = sn.Scene()
    material = sn.RodMaterial(radius=0.002, youngs_modulus=1e9, density=1000.0, solver=solver)
    points = np.linspace(0.0, 1.0, segments + 1)[:, None] * [1.0, 0.0, 0.0]
    for k in range(rods):
        rod = scene.add_rod(points + np.array([0.0, 0.0, 0.1 * k]), material=material)
        rod.pin(0)
        rod.clamp(0)
    return scene


def least_step(scene: sn.Scene, precision: str, threads: int, count: int) -> float:
    """Least time of a step [s]."""
    simulation = sn.Simulation(scene, substeps=SUBSTEPS, precision=precision, threads=threads)
    simulation.step(2)
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        simulation.step()
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description="time of rods")
    parser.add_argument("--steps", type=int, default=15, help="steps to measure")
    options = parser.parse_args()
    row = "{:>6} {:>9} {:>10} {:>9} {:>7} {:>10} {:>8}"
    print(row.format("rods", "segments", "solver", "precision", "threads", "step [ms]", "ns each"))
    for rods, segments in ((1, 100), (1, 1000), (1, 10000), (200, 20)):
        for solver in ("direct", "iterative"):
            scene = scene_of(rods, segments, solver)
            for precision in ("float32", "float64"):
                for threads in (1, 2) if rods > 1 else (1,):
                    best = least_step(scene, precision, threads, options.steps)
                    each = 1e9 * best / (SUBSTEPS * rods * segments)
                    print(row.format(rods, segments, solver, precision, threads, f"{1e3 * best:.3f}", f"{each:.0f}"))


if __name__ == "__main__":
    main()
