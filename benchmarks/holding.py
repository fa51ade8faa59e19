"""What holding costs: to pin a particle against building the scene anew, and a step with objects in hand.

Processor time of one thread, the least of several runs, so that other work on the machine counts little.
"""

import time
from collections.abc import Callable

import numpy as np

import shinari as sn

RUNS = 9


def least(function: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    """Least processor time of a function [ms]."""
    times = []
    for _ in range(RUNS):
        before()
        begun = time.thread_time()
        function()
        times.append(time.thread_time() - begun)
    return 1e3 * min(times)


def sheet(side: int, contact: bool) -> sn.Scene:
    """A square sheet that hangs from two corners."""
    scene = sn.Scene()
    cloth = scene.add_cloth(sn.grid(shape=(side, side)), self_collision="triangles" if contact else False, name="cloth")
    cloth.pin([0, side - 1])
    return scene


def main() -> None:
    """Print both tables."""
    for side, contact in ((100, False), (100, True), (300, False)):
        simulation = sn.Simulation(sheet(side, contact), threads=1)
        free = iter(np.random.default_rng(1).permutation(np.arange(side, side * side)).tolist())
        build = least(lambda side=side, contact=contact: sn.Simulation(sheet(side, contact), threads=1))
        pin = least(lambda free=free, simulation=simulation: simulation.pin("cloth", next(free)))
        what = "with contact of its own" if contact else ""
        print(f"{side} x {side} {what}: build {build:.0f} ms, pin {pin:.1f} ms")
    simulation = sn.Simulation(sheet(100, contact=False), threads=1)
    simulation.step(3)
    kept = simulation.state.copy()
    for count in (0, 1, 5):
        grabs = [simulation.grab("cloth", 5000 + k) for k in range(count)]
        print(f"100 x 100, {count} grabs: a step {least(simulation.step, lambda: simulation.restore(kept)):.2f} ms")
        for grab in grabs:
            grab.release()


if __name__ == "__main__":
    main()
