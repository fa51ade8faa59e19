"""Steps per second of a sheet that collides with itself while it falls on a ball: `python benchmarks/contact.py`.

A step is 1/60 s with 10 substeps. The numbers are means over the fall (2 s), and over the last half second. The
processor time tells more than the clock where the machine is busy; it is best taken on one thread (`--threads 1`).
"""

import argparse
import time

import numpy as np

import shinari as sn

EDGE, SECONDS = 0.016, 2.0


def fall(mode: str, points: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Time on the clock and processor time of each step [s], (S,) each."""
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
    clock, processor = [], []
    for _ in range(round(60 * SECONDS)):
        begun, used = time.perf_counter(), time.process_time()
        simulation.step()
        clock.append(time.perf_counter() - begun)
        processor.append(time.process_time() - used)
    return np.array(clock), np.array(processor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=100, help="vertices along a side")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    for mode in ("triangles", "particles"):
        fall(mode, 16, arguments.threads)  # compile
        clock, processor = fall(mode, arguments.points, arguments.threads)
        print(
            f"{mode:10s} {arguments.points} x {arguments.points}: {1 / clock.mean():6.1f} steps/s,"
            f" {1 / clock[-30:].mean():6.1f} at the end; processor time of a step {1e3 * processor.mean():6.1f} ms,"
            f" {1e3 * processor[-30:].mean():6.1f} at the end"
        )


if __name__ == "__main__":
    main()
