"""Sweeps on this machine: `python benchmarks/sweeps.py [--members 64] [--seconds 2] [--on local] [--many 10000]`.

- how much of the time of the cores, and of the CPU time that the sweep takes in all, is spent in steps, for members of
  so many seconds each;
- from the call to the first member at work, with the kernels compiled;
- many members that take no time: members a second, and the memory of the process that hands them out.

On a machine that others use as well only the CPU times tell something.
"""

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.compute.threads import processors


def cloth(density: float = 0.2, side: int = 64) -> sn.Scene:
    """A cloth that hangs by two corners."""
    scene = sn.Scene()
    sheet = scene.add_cloth(sn.grid(shape=(side, side)), material=sn.ClothMaterial(density=density))
    sheet.pin([0, side - 1])
    return scene


def point(height: float = 0.0) -> sn.Scene:
    """A particle."""
    scene = sn.Scene()
    scene.add_particles([[0.0, height, 0.0]])
    return scene


class Steps:
    """CPU time of the steps of a run [s], and when it ended on the clock of the machine [s]."""

    def __init__(self) -> None:
        self.begun = time.process_time()

    def step(self, sim: sn.Simulation) -> None:
        """Steps are measured from the first to the last."""

    def result(self, sim: sn.Simulation) -> dict[str, float]:
        return {"cpu": time.process_time() - self.begun, "end": time.time()}


def cpu() -> float:
    """CPU time of this process and of those that it has ended [s]."""
    usages = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def duration_of(seconds: float) -> float:
    """Simulated time that takes so many seconds of CPU time on one thread."""
    simulation = sn.Simulation(cloth(), threads=1)
    simulation.step(20)
    start = time.process_time()
    simulation.step(60)
    return round(60.0 * seconds / (time.process_time() - start)) / 60.0


def share_in_the_solver(members: int, seconds: float, on: str) -> None:
    """Members of some seconds each."""
    duration, workers = duration_of(seconds), processors()
    with tempfile.TemporaryDirectory() as folder:
        start, used = time.time(), cpu()
        study = sn.sweep(
            cloth, {"density": f"lin:0.1:0.4:{members}"}, Steps, Path(folder) / "study", duration=duration, on=on
        )
        wall, used = time.time() - start, cpu() - used
        rows = study.rows()
    solver, own = (np.array([row[name] for row in rows]) for name in ("solver_seconds", "seconds"))
    first = min(row["measures"]["Steps.end"] - row["seconds"] for row in rows) - start
    last = max(row["measures"]["Steps.end"] for row in rows) - start
    print(f"{members} members of {np.median(own):.2f} s on {workers} workers, {on}: {wall:.1f} s")
    print(f"  in the solver, of the time of the cores: {100.0 * solver.sum() / (workers * wall):.1f} %; "
          f"from the first member to the last: {100.0 * solver.sum() / (workers * (last - first)):.1f} %")  # fmt: skip
    steps = sum(row["measures"]["Steps.cpu"] for row in rows)
    print(f"  CPU time: {used:.1f} s in all, {100.0 * steps / used:.1f} % in steps, {steps / members:.2f} s a member")
    print(f"  from the call to the first member: {first:.2f} s; from the last member to the table: {wall - last:.2f} s")


def many(members: int, on: str) -> None:
    """Members that take no time."""
    with tempfile.TemporaryDirectory() as folder:
        sizes = []
        for count in (members // 10, members):
            start = time.time()
            study = sn.sweep(
                point, {"height": f"lin:0:1:{count}"}, "energy", Path(folder) / str(count), duration=1.0 / 60.0, on=on
            )
            wall = time.time() - start
            sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0)
            own = sum(row["seconds"] for row in study.rows())
            print(f"{count} members of one step, {on}: {wall:.1f} s, {count / wall:.0f} a second, "
                  f"{1e3 * own / count:.1f} ms each in its process; most memory {sizes[-1]:.0f} MiB")  # fmt: skip
        print(f"  {1024.0 * (sizes[1] - sizes[0]) / (0.9 * members):.1f} KiB for each further member")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--members", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--on", default="local")
    parser.add_argument("--many", type=int, default=0)
    options = parser.parse_args()
    share_in_the_solver(options.members, options.seconds, options.on)
    if options.many:
        many(options.many, options.on)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
