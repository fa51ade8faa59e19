"""Milliseconds a step of a heap of grains, while it falls and at rest: `python benchmarks/grains.py`.

A block of loosely filled grains falls apart on a floor; a step is 1/60 s with 4 substeps. Each number is the least of
ten steps in a row.
"""

import argparse
import time

import numpy as np

import shinari as sn

RADIUS = 0.005


def heap(count: int, threads: int) -> tuple[int, list[float]]:
    """How many grains there are, and milliseconds a step after 0.3 and 2 seconds."""
    side = np.cbrt(count) * 2.0 * RADIUS * 1.2 * 1.15
    scene = sn.Scene()
    sand = scene.add_grains(sn.Box((side, side, side)), radius=RADIUS, spread=0.2, position=(0.0, 0.5 * side, 0.0))
    scene.add_collider(sn.Plane(), friction=0.5)
    simulation = sn.Simulation(scene, substeps=4, threads=threads, sleep=False)
    results = []
    for steps in (18, 102):
        simulation.step(steps - 10)
        times = []
        for _ in range(10):
            begun = time.perf_counter()
            simulation.step()
            times.append(1e3 * (time.perf_counter() - begun))
        results.append(min(times))
    return len(sand.particles), results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", type=int, nargs="+", default=[10_000, 50_000])
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    heap(1000, arguments.threads)  # compile
    for wanted in arguments.counts:
        count, (falling, resting) = heap(wanted, arguments.threads)
        print(f"{count:7d} grains: {falling:7.1f} ms a step falling, {resting:7.1f} at rest, "
              f"{1e3 * resting / count:.2f} us a grain")  # fmt: skip


if __name__ == "__main__":
    main()
