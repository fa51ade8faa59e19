"""Steps per second of a sheet that collides with itself while it falls on a ball: `python benchmarks/contact.py`.

A step is 1/60 s with 10 substeps. The numbers are means over the fall (2 s), and over the last half second.
"""

import argparse
import time

import numpy as np

import shinari as sn

EDGE, SECONDS = 0.016, 2.0


def fall(mode: str, points: int, threads: int) -> tuple[float, float]:
    """Steps a second over the fall and at its end."""
    scene = sn.Scene()
    thickness = 0.25 * EDGE if mode == "triangles" else 0.9 * EDGE
    scene.add_cloth(
        sn.grid(shape=(points, points), size=(EDGE * (points - 1), EDGE * (points - 1))),
        material=sn.ClothMaterial(thickness=thickness, density=0.2),
        self_collision=mode,
        position=(0.03, 0.45, 0.02),
    )
    scene.add_collider(sn.Sphere(0.35), friction=0.4)
    scene.add_collider(sn.Plane(offset=-0.36), friction=0.5)
    simulation = sn.Simulation(scene, substeps=10, threads=threads)
    times = []
    for _ in range(round(60 * SECONDS)):
        begun = time.perf_counter()
        simulation.step()
        times.append(time.perf_counter() - begun)
    return 1.0 / float(np.mean(times)), 1.0 / float(np.mean(times[-30:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=100, help="vertices along a side")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    for mode in ("triangles", "particles"):
        fall(mode, 16, arguments.threads)  # compile
        overall, late = fall(mode, arguments.points, arguments.threads)
        print(f"{mode:10s} {arguments.points} x {arguments.points}: {overall:6.1f} steps/s, {late:6.1f} at the end")


if __name__ == "__main__":
    main()
