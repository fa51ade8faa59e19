"""Time of binding and of moving embedded surfaces: `python benchmarks/skinning.py [THREADS ...]`.

The least of several runs [ms], for each number of threads (1 and 2 by default). Vertices lie at random in a cube of
tetrahedra, next to each other in memory when they are next to each other in space, as in a mesh.
"""

import sys
import time

import numpy as np

from shinari.geometry.embedding import bind
from shinari.geometry.ordering import hilbert_order
from shinari.geometry.skinning import blend
from shinari.geometry.tetrahedra.lattice import lattice

RUNS = 30


def least(call, runs: int) -> float:
    """Least time of a call [ms]."""
    call()
    laps = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        laps.append(time.perf_counter() - start)
    return 1e3 * min(laps)


def main() -> None:
    """Print the table."""
    threads = [int(word) for word in sys.argv[1:]] or [1, 2]
    print(f"{'':56s}" + "".join(f"{count:>10d}" for count in threads))
    for count, cells in ((10_000, 10), (100_000, 12), (100_000, 28)):
        vertices, tetrahedra = lattice((cells, cells, cells), 1.0 / cells)
        points = np.random.default_rng(1).uniform(0.0, 1.0, (count, 3))
        points = points[hilbert_order(points)]
        faces = np.arange(count // 3 * 3).reshape(-1, 3)
        label = f"{count} vertices, {len(tetrahedra)} tetrahedra"
        milliseconds = least(lambda: bind("it", points, faces, vertices, tetrahedra), 3)  # noqa: B023
        print(f"bind {label:51s}{milliseconds:10.3f}", flush=True)
        bound = bind("it", points, faces, vertices, tetrahedra)
        slots = np.arange(len(vertices), dtype=np.uint32)
        for real in (np.float32, np.float64):
            values = np.zeros((len(vertices), 4), real)
            values[:, :3] = vertices
            arguments = bound.corners, bound.weights, slots, values, np.zeros(3)
            times = []
            for number in threads:
                times.append(least(lambda: blend(*arguments, number), RUNS))  # noqa: B023
            print(f"move {label}, {real.__name__:9s}".ljust(56) + "".join(f"{t:10.3f}" for t in times), flush=True)


if __name__ == "__main__":
    main()
