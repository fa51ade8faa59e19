"""Steps on a GPU: `python benchmarks/gpu.py [CASE ...]` prints one row for each case, or says that there is no GPU.

Medians of steps without copies, which end with the device at rest. Beside each stand the bytes that its launches read
and write, counted, and which share of the bandwidth that is: a copy on the device in the same run measures it. Bytes
are counted by running the bodies of kernels in plain Python for a few items of each launch; a launch whose condition
did not hold in the last step, or that has a single item, counts nothing. `--list` names the cases, `--small` takes a
hundredth of the sizes, to try it in the simulator.
"""

import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import shinari as sn

STEPS, SAMPLES = 30, 8
COPY = 1 << 28
"""Bytes of the copy that measures the bandwidth."""


def cloth(side: int, **options: Any) -> Callable[[sn.Scene], None]:
    """A cloth with stretch, shear and bending, pinned at two corners."""

    def build(scene: sn.Scene) -> None:
        material = sn.ClothMaterial(bend_stiffness=1e-4)
        scene.add_cloth(sn.grid(shape=(side, side)), material=material, **options).pin([0, side - 1])

    return build


def tetrahedra(count: int) -> Callable[[sn.Scene], None]:
    """A block of tetrahedra, five or six to a cell."""

    def build(scene: sn.Scene) -> None:
        side = round((count / 5) ** (1 / 3))
        scene.add_soft_body(sn.lattice((side, side, side), 0.05))

    return build


def fluid(count: int) -> Callable[[sn.Scene], None]:
    """A cube of fluid in a box."""

    def build(scene: sn.Scene) -> None:
        edge = 0.02 * round(count ** (1 / 3))
        scene.add_fluid(sn.Box((edge, edge, edge)), spacing=0.02)
        scene.add_collider(sn.Box((2 * edge, 2 * edge, edge), inside=True), position=(edge / 2, edge / 2, 0))

    return build


def grains(count: int) -> Callable[[sn.Scene], None]:
    """A lattice of grains on a plane."""

    def build(scene: sn.Scene) -> None:
        side = round(count ** (1 / 3))
        edge = 0.02 * side
        scene.add_grains(sn.Box((edge, edge, edge)), radius=0.01, packing="lattice", position=(0, edge / 2, 0))
        scene.add_collider(sn.Plane((0, 1, 0), 0.0))

    return build


def pyramid(base: int) -> Callable[[sn.Scene], None]:
    """A flat pyramid of boxes; `base` of them in the lowest row."""

    def build(scene: sn.Scene) -> None:
        scene.add_collider(sn.Plane((0, 1, 0), 0.0))
        for row in range(base):
            for k in range(base - row):
                scene.add_rigid_body(sn.Box((1, 1, 1)), position=(1.01 * (k + 0.5 * row), row + 0.5, 0))

    return build


def cases(scale: float) -> dict[str, tuple[Callable[[sn.Scene], None], dict[str, Any], float]]:
    """Scene, settings and goal on an H200 [ms] by name."""

    def size(count: int, dimensions: int = 1) -> int:
        return max(round(count * scale ** (1.0 / dimensions)), 3)

    ten = {"substeps": 10}
    return {
        "cloth of 1,000,000": (cloth(size(1000, 2)), ten, 5.0),
        "cloth 256": (cloth(size(256, 2)), ten, 0.5),
        "cloth 128": (cloth(size(128, 2)), ten, 0.35),
        "1,000,000 tetrahedra": (tetrahedra(size(1_000_000)), ten, 8.0),
        "cloth 300 on itself": (cloth(size(300, 2), self_collision="triangles"), ten, 5.0),
        "fluid of 1,000,000": (fluid(size(1_000_000)), {"substeps": 1, "iterations": 5}, 6.0),
        "grains, 1,000,000": (grains(size(1_000_000)), ten, 10.0),
        "pyramid of 5,050": (pyramid(size(100, 2)), {**ten, "rigid_solver": "sweeps", "sleep": False}, 2.0),
        "pyramid of 100,000": (pyramid(size(446, 2)), {**ten, "rigid_solver": "sweeps", "sleep": False}, 20.0),
    }


# ---- bytes, counted ----


class Counted:
    """A field that counts the bytes of what is read and written; what is written stays here.

    Args:
        array: The rows.
        counter: The total, one element.
    """

    def __init__(self, array: np.ndarray, counter: list[int]) -> None:
        self._array, self._counter, self._written = array, counter, {}

    def __getitem__(self, index: Any) -> Any:
        if index in self._written:
            return self._written[index]
        value = self._array[index]
        if isinstance(value, np.ndarray) and value.ndim > 1:
            return Counted(value, self._counter)
        self._counter[0] += value.nbytes
        return tuple(value) if isinstance(value, np.ndarray) else value

    def __setitem__(self, index: Any, value: Any) -> None:
        self._counter[0] += self._array[index].nbytes
        self._written[index] = value


class CountedRecord:
    """A record whose fields count."""

    def __init__(self, record: Any, counter: list[int]) -> None:
        self._rows = len(record)
        for name in record.fields:
            setattr(self, name, Counted(record.arrays[name], counter))

    def __len__(self) -> int:
        return self._rows


def bytes_of_item(kernel: Any, arguments: tuple, items: range) -> float:
    """Mean bytes that an item reads and writes, from a few of them."""
    from shinari.compute import Record

    counter = [0]
    chosen = items[:: max(len(items) // SAMPLES, 1)][:SAMPLES]
    for item in chosen:
        plain = [CountedRecord(each, counter) if isinstance(each, Record) else each for each in arguments]
        with np.errstate(all="ignore"):
            kernel.python_function(item, *plain)
    return counter[0] / max(len(chosen), 1)


def launches(program: Any) -> Iterator[tuple[Any, tuple, range, int]]:
    """Kernel, arguments, items and number of each launch of the last step, without parts whose condition is false."""
    from shinari.compute.program import LAUNCH, LOOP, WHEN

    def value(cell: Any) -> int:
        return int(program.device_memory.fetch(cell[0])[cell[1]]) if isinstance(cell, tuple) else int(cell)

    at, ends = 0, []
    while at < len(program.recorded):
        operation, first, second, begin, end, _ = program.recorded[at]
        while ends and at >= ends[-1][0]:
            ends.pop()
        passes = ends[-1][1] if ends else 1
        if operation == WHEN and not value(program.operands[first]):
            at = second
            continue
        if operation == LOOP:
            ends.append((second, passes * value(program.operands[first])))
        elif operation == LAUNCH:
            kernel, _, arguments, _ = program.calls[first]
            yield kernel, arguments, range(value(program.operands[begin]), value(program.operands[end])), passes
        at += 1


def count_bytes(simulation: sn.Simulation) -> float:
    """Bytes that the launches of a step read and write."""
    total, known = 0.0, {}
    for kernel, arguments, items, passes in launches(simulation._bound.program):
        key = kernel, tuple(map(id, arguments)), len(items)
        if key not in known:
            known[key] = bytes_of_item(kernel, arguments, items) if len(items) > 1 else 0.0
        total += passes * len(items) * known[key]
    return total


# ---- time ----


def bandwidth(device: Any) -> float:
    """Bytes in a second that a copy on the device reads and writes."""
    first, second = device.allocate(COPY), device.allocate(COPY)
    times = []
    for _ in range(10):
        device.synchronise()
        begun = time.perf_counter()
        device.copy(second, first, COPY)
        device.synchronise()
        times.append(time.perf_counter() - begun)
    device.free(first)
    device.free(second)
    return 2 * COPY / statistics.median(times[2:])


def measure(build: Callable[[sn.Scene], None], settings: dict[str, Any], device: Any) -> tuple[float, float, float]:
    """Seconds until the first step is over, seconds of a step, and bytes of one."""
    scene = sn.Scene()
    build(scene)
    begun = time.perf_counter()
    simulation = sn.Simulation(scene, device="cuda", **settings)
    simulation.step()
    device.synchronise()
    first = time.perf_counter() - begun
    simulation.step(3)
    times = []
    for _ in range(STEPS):
        begun = time.perf_counter()
        simulation.step()
        device.synchronise()
        times.append(time.perf_counter() - begun)
    return first, statistics.median(times), count_bytes(simulation)


def main(arguments: list[str]) -> int:
    """Print the table; 1 without a GPU."""
    from shinari.compute.cuda.api import device, is_simulated

    warnings.simplefilter("ignore")
    found = cases(0.01 if "--small" in arguments else 1.0)
    names = [name for name in arguments if not name.startswith("--")] or list(found)
    if "--list" in arguments:
        print(*found, sep="\n")
        return 0
    if unknown := [name for name in names if name not in found]:
        print(f"gpu: {unknown[0]!r}: no such case; expected one of {', '.join(found)}", file=sys.stderr)
        return 2
    try:
        there = device()
    except sn.ShinariError as error:
        print(f"gpu: nothing to measure: {error}", file=sys.stderr)
        return 1
    if is_simulated() and "--small" not in arguments:
        print("gpu: nothing to measure: the simulator has no speed; --small tries the counting", file=sys.stderr)
        return 1
    rate = np.nan if is_simulated() else bandwidth(there)
    print(f"{there.name}: a copy on the device moves {rate / 1e9:.0f} GB/s\n")
    print("| case | first step [s] | step [ms] | goal [ms] | bytes [MB] | of the bandwidth |")
    print("|---|---|---|---|---|---|")
    for name in names:
        build, settings, goal = found[name]
        first, step, moved = measure(build, settings, there)
        share = moved / step / rate
        print(f"| {name} | {first:.1f} | {1e3 * step:.3g} | {goal} | {moved / 1e6:.1f} | {share:.0%} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
