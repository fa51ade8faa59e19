"""Time of neighbour search, pairs of balls and box trees: `python benchmarks/neighbours.py [THREADS ...]`.

The least of several runs [ms], for each number of threads (1 and 2 by default).
"""

import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shinari.collision.broad.grid import ImmediateGrid
from shinari.collision.broad.neighbours import NeighbourLists
from shinari.collision.broad.pairs import PairFinder
from shinari.geometry.bvh import Tree

RUNS = 7
# Points in a cube of the reach that give 30 neighbours: the ball of the reach has 4/3 pi of its volume.
DENSITY = 30.0 / (4.0 / 3.0 * np.pi)


def report(label: str, threads: list[int], call: Callable[[int], object]) -> None:
    """Print the least time of a call for each number of threads."""
    times = []
    for count in threads:
        call(count)
        laps = []
        for _ in range(RUNS):
            start = time.perf_counter()
            call(count)
            laps.append(time.perf_counter() - start)
        times.append(f"{1e3 * min(laps):10.3f}")
    print(f"{label:56s}" + "".join(times), flush=True)


def cloud(count: int) -> NDArray[np.float32]:
    """Random points with 30 others within 1 m on average, (N, 3)."""
    rng = np.random.default_rng(1)
    return (rng.random((count, 3)) * (count / DENSITY) ** (1 / 3)).astype(np.float32)


def packed(count: int) -> NDArray[np.float32]:
    """Jittered lattice of spacing 1 m, (N, 3)."""
    rng = np.random.default_rng(2)
    side = round(count ** (1 / 3))
    lattice = np.stack(np.meshgrid(*[np.arange(side)] * 3), -1).reshape(-1, 3)
    return (lattice + 0.1 * rng.random(lattice.shape)).astype(np.float32)


def sheet(side: int) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]:
    """Wavy sheet of 1 cm edges: vertices (V, 3), triangles (T, 3), edges (E, 2)."""
    i, j = np.meshgrid(np.arange(side), np.arange(side), indexing="ij")
    x, z = 0.01 * i.ravel(), 0.01 * j.ravel()
    vertices = np.stack([x, 0.05 * np.sin(9.0 * x) * np.cos(7.0 * z), z], 1).astype(np.float32)
    a = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).ravel()
    faces = np.concatenate(
        [np.stack([a, a + 1, a + side], 1), np.stack([a + 1, a + side + 1, a + side], 1)],
    )
    edges = np.unique(np.sort(np.concatenate([faces[:, :2], faces[:, 1:], faces[:, ::2]]), axis=1), axis=0)
    return vertices, faces, edges


def trees(threads: list[int], thickness: float) -> None:
    """Vertices against triangles and edges against edges of a 100 x 100 sheet."""
    vertices, faces, edges = sheet(100)
    half = np.float32(0.5 * thickness)
    boxes = {}
    for name, rows in (("triangles", faces), ("edges", edges)):
        corners = vertices[rows]
        boxes[name] = Tree(corners.mean(axis=1)), corners.min(axis=1) - half, corners.max(axis=1) + half
        tree, low, high = boxes[name]
        report(f"refit {len(rows)} {name}", threads, lambda t, tree=tree, low=low, high=high: tree.refit(low, high, t))
    low, high = vertices - half, vertices + half
    tree, other = boxes["triangles"][0], boxes["edges"][0]
    touched = len(tree.overlaps(low, high, 1)) / len(vertices)
    report(f"{len(vertices)} vertices, {touched:.1f} triangles each", threads, lambda t: tree.overlaps(low, high, t))
    touched = 2 * len(other.self_overlaps(1)) / len(edges)
    report(f"{len(edges)} edges, {touched:.1f} edges each", threads, other.self_overlaps)


def main(threads: list[int]) -> None:
    """Print one line for each task."""
    print(f"{'[ms]':56s}" + "".join(f"{f'{t} threads':>10s}" for t in threads))
    for count in (10_000, 100_000, 1_000_000, 4_000_000):
        points, lists, grid = cloud(count), NeighbourLists(), ImmediateGrid()
        report(f"sort {count} random points", threads, lambda t, p=points, g=grid: g.build(p, 1.0, t))
        each = lists.find(points, 1.0, 2)[0][-1] / count
        report(
            f"lists of {count} random points, {each:.1f} each", threads, lambda t, p=points, s=lists: s.find(p, 1.0, t)
        )
        assert lists.grid.grid is not None
        sorted_points = lists.grid.grid.ordered
        ordered = np.stack([sorted_points.x, sorted_points.y, sorted_points.z], axis=1)
        report(f"lists of {count} points in order", threads, lambda t, p=ordered, s=lists: s.find(p, 1.0, t))
    for count in (10_000, 100_000):
        points = packed(count)
        balls = PairFinder(np.full(len(points), 0.5))
        each = len(balls.find(points, 0.1, 1)) / len(points)
        report(
            f"{len(points)} packed balls, {each:.1f} pairs each",
            threads,
            lambda t, p=points, b=balls: b.find(p, 0.1, t),
        )
        radii = 0.5 * 10.0 ** np.random.default_rng(3).uniform(-2.0, 0.0, len(points))
        closer, mixed = np.float32(0.5) * points, PairFinder(radii)
        each = len(mixed.find(closer, 0.1, 1)) / len(points)
        label = f"{len(points)} balls, radii 1 to 100, {each:.1f} pairs each"
        report(label, threads, lambda t, p=closer, b=mixed: b.find(p, 0.1, t))
    for thickness in (0.004, 0.02):
        print(f"sheet 100 x 100, edges 10 mm, thickness {1e3 * thickness:.0f} mm")
        trees(threads, thickness)


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [1, 2])
