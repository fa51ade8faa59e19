"""Milliseconds of a step of a dam break, and how well the density is kept: `python benchmarks/fluids.py [SIZE...]`.

Blocks of 10k, 50k and 100k particles 0.02 m apart fall over in a tank 2.5 times as long; a step is 1/240 s with one
substep of 5 iterations and a support of 2 spacings. `--linear` adds 200k, 500k and 1M, `--memory` the bytes of a
particle. SPlisHSPlasH (position based fluids, `pip install pysplishsplash`) solves the same scene where `--peer` names
an interpreter that has it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

COUNTS = {
    "10k": (25, 20, 20), "50k": (50, 40, 25), "100k": (50, 50, 40), "200k": (80, 50, 50), "500k": (100, 80, 62),
    "1M": (125, 100, 80),
}  # fmt: skip
PLAIN = ("10k", "50k", "100k")
SPACING, GRAVITY, DT, ITERATIONS = 0.02, 9.81, 1.0 / 240.0, 5


@dataclass(frozen=True)
class Dam:
    """A block in the corner of a tank.

    Attributes:
        counts: Particles along x, y and z.
        tank: Edges of the tank, one corner of which is the origin [m].
        steps: Steps of DT.
        every: Steps between two states that are looked at.
    """

    counts: tuple[int, int, int]
    tank: tuple[float, float, float]
    steps: int
    every: int
    spacing: float = SPACING
    gravity: float = GRAVITY
    dt: float = DT
    iterations: int = ITERATIONS


def dam(size: str, seconds: float) -> Dam:
    """The dam of a size."""
    nx, ny, nz = COUNTS[size]
    steps = round(seconds / DT)
    return Dam((nx, ny, nz), (2.5 * nx * SPACING, 2.0 * ny * SPACING, nz * SPACING), steps, max(steps // 12, 1))


@dataclass
class Run:
    """What a run gave.

    Attributes:
        times: Of each step [s].
        positions: At the states looked at [m], (S, N, 3).
    """

    times: np.ndarray
    positions: np.ndarray


def ours(case: Dam, threads: int):
    """This engine, with the case in it."""
    import shinari as sn

    scene = sn.Scene(gravity=(0, -case.gravity, 0))
    scene.add_collider(sn.Box(case.tank, inside=True), position=tuple(0.5 * edge for edge in case.tank))
    lattice = np.stack(np.meshgrid(*(np.arange(n) for n in case.counts), indexing="ij"), axis=-1)
    scene.add_fluid((lattice.reshape(-1, 3) + 0.5) * case.spacing, spacing=case.spacing)
    return sn.Simulation(scene, dt=case.dt, substeps=1, iterations=case.iterations, threads=threads)


def run_ours(case: Dam, threads: int) -> Run:
    """Run the case; a first simulation of one step compiles what has not been compiled."""
    ours(Dam((8, 8, 8), (0.4, 0.4, 0.16), 1, 1), threads).step()
    simulation = ours(case, threads)
    times, positions = np.zeros(case.steps), []
    for k in range(case.steps):
        begun = time.perf_counter()
        simulation.step()
        times[k] = time.perf_counter() - begun
        if (k + 1) % case.every == 0:
            positions.append(np.array(simulation.state.positions))
    return Run(times, np.array(positions))


def run_peer(python: str, case: Dam, threads: int) -> Run:
    """Run the case in SPlisHSPlasH with another interpreter.

    Raises:
        RuntimeError: It does not run there.
    """
    with tempfile.TemporaryDirectory() as folder:
        given, result = Path(folder, "case.json"), Path(folder, "result.npz")
        given.write_text(json.dumps(asdict(case)))
        script = Path(__file__).resolve().parent / "peers" / "splish_dam.py"
        environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        done = subprocess.run([python, str(script), str(given), str(result)], env=environment, capture_output=True,
                              text=True, cwd=folder)  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(
                f"exit code {done.returncode}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"
            )
        found = np.load(result)
        if not np.isclose(found["dt"], case.dt) or not np.isclose(found["support"], 2.0 * case.spacing):
            raise RuntimeError(f"it ran with dt {found['dt']} and support {found['support']}")
        if len(found["times"]) < case.steps or found["positions"].shape[1] != np.prod(case.counts):
            raise RuntimeError(f"it made {len(found['times'])} steps of {found['positions'].shape[1]} particles")
        return Run(found["times"][: case.steps], found["positions"])


def compression(x: np.ndarray, tank: tuple[float, float, float], spacing: float) -> tuple[float, float]:
    """Mean density over that at rest, and mean of what is above it, inside of the fluid.

    By the same sum for every engine: the cubic spline of a support of 2 spacings, over that on a lattice. Left out are
    particles nearer than a support to the tank, whose neighbours lie in the wall, and those with a density below 0.95,
    which are at the free surface or drops.
    """
    from scipy.spatial import cKDTree

    support = 2.0 * spacing
    inner = ((x > support) & (x < np.array(tank) - support)).all(axis=1)
    tree = cKDTree(x)
    pairs = cKDTree(x[inner]).sparse_distance_matrix(tree, support, output_type="coo_matrix")
    sums = np.bincount(pairs.row, _spline(pairs.data / support), minlength=int(inner.sum()))
    steps = np.stack(np.meshgrid(*[np.arange(-2, 3)] * 3), axis=-1).reshape(-1, 3)
    density = sums / _spline(np.linalg.norm(steps, axis=1) / 2.0).sum()
    density = density[density > 0.95]
    return float(density.mean()), float(np.maximum(density - 1.0, 0.0).mean())


def _spline(q: np.ndarray) -> np.ndarray:
    near, far = 6.0 * (q**3 - q**2) + 1.0, 2.0 * np.maximum(1.0 - q, 0.0) ** 3
    return np.where(q < 0.5, near, far)


def report(name: str, size: str, case: Dam, run: Run) -> None:
    """One line: times, densities, how far the front has come."""
    times = 1e3 * run.times
    found = np.array([compression(x.astype(float), case.tank, case.spacing) for x in run.positions])
    front = float(np.sort(run.positions[len(run.positions) // 4][:, 0])[-20])
    count = int(np.prod(case.counts))
    print(
        f"{name:22s} {size:>5s} {count:8d} particles: {np.median(times):8.2f} ms a step (least {times.min():.2f}, "
        f"{1e6 * np.median(times) / count:.0f} ns a particle); density {1e3 * found[:, 0].mean():.1f}, excess "
        f"{1e2 * found[:, 1].mean():.2f} % on average, {1e2 * found[:, 1].max():.2f} % at most; front after a quarter "
        f"{front:.3f} m",
        flush=True,
    )


def bytes_of(case: Dam) -> tuple[float, str]:
    """Bytes of all arrays of a simulation for each particle, and the largest of them, when it has moved for a while."""
    from memory import arrays_of

    simulation = ours(case, 1)
    simulation.step(40)
    held = {"model": simulation.model, "state": simulation.state, "workspace": simulation._bound}
    count = int(np.prod(case.counts))
    sizes = {path: array.nbytes / count for path, array in arrays_of(held).items()}
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:12]
    return sum(sizes.values()), ", ".join(f"{path.removeprefix('workspace.')} {size:.0f}" for path, size in largest)


def _size(text: str) -> str:
    if text not in COUNTS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(COUNTS)}")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=_size, default=list(PLAIN))
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=1.5, help="simulated time")
    parser.add_argument("--linear", action="store_true", help="add 200k, 500k and 1M for a tenth of the time")
    parser.add_argument("--memory", action="store_true", help="bytes of a particle instead of times")
    parser.add_argument("--peer", default=sys.executable, help="an interpreter that has pysplishsplash")
    parser.add_argument("--no-peer", action="store_true")
    arguments = parser.parse_args()
    if arguments.memory:
        for size in arguments.sizes:
            total, largest = bytes_of(dam(size, 1.0))
            print(f"{size:>5s}: {total:.0f} bytes for each particle with its neighbours: {largest}", flush=True)
        return
    for size in [*arguments.sizes, *(("200k", "500k", "1M") if arguments.linear else ())]:
        case = dam(size, arguments.seconds if size in PLAIN else 0.1 * arguments.seconds)
        for threads in arguments.threads:
            report(f"shinari, {threads} threads", size, case, run_ours(case, threads))
        if not arguments.no_peer and size in PLAIN:
            try:
                report(f"SPlisHSPlasH, {arguments.threads[-1]} threads", size, case,
                       run_peer(arguments.peer, case, arguments.threads[-1]))  # fmt: skip
            except (RuntimeError, OSError) as error:
                print(f"SPlisHSPlasH {size}: skipped: {error}", flush=True)


if __name__ == "__main__":
    main()
