"""Heaps, walls, nets and ragdolls: time of a step, and how true it is: `python benchmarks/heaps.py [CASE...]`.

A step is 1/60 s with 4 substeps. Every engine gets the same bodies and joints, one after the other; shinari and Box3D
once with everything awake and once as they are by default, so that what rests may sleep. Box3D has to be built from a
checkout that you have fetched: `python benchmarks/peers/build_box3d.py CHECKOUT`. Peers that are not there are skipped
with the reason.
"""

import argparse
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from heap_cases import CASES, Heap, fall
from heap_measures import Measures
from rigid_cases import Bodies, timed_step
from rigid_engines import engines

import shinari as sn

SLEEPERS = ("shinari", "Box3D")


@dataclass(frozen=True)
class Run:
    """One engine on one scene."""

    engine: str
    threads: int
    sleep: bool

    @property
    def name(self) -> str:
        """For the table."""
        state = (", may sleep" if self.sleep else ", awake") if self.engine in SLEEPERS else ""
        return f"{self.engine}, {self.threads} thread{'s' if self.threads > 1 else ''}{state}"


def runs(names: list[str], threads: list[int], sleeping: bool) -> Iterator[Run]:
    """The runs of a scene, engines in turn."""
    for sleep in (False, True) if sleeping else (False,):
        for count in threads:
            for name in names:
                if name in SLEEPERS:
                    yield Run(name, count, sleep)
    for name in names:
        if name not in SLEEPERS:
            yield Run(name, 1, False)


def measured(run: Run, make: Callable[..., Bodies], heap: Heap, measures: Measures) -> str:
    """A row of the table: the engine, its times and what it made of the scene."""
    try:
        subject = make(heap, run.threads, sleep=run.sleep)
    except NotImplementedError as error:
        return f"| {run.name} | skipped: {error} |"
    steps = round(60 * heap.seconds)
    try:
        subject.step()
        together = getattr(subject, "run", None)
        times = 1e3 * (together(steps) if together else np.array([timed_step(subject) for _ in range(steps)]))
    except (sn.DivergenceError, sn.MemoryLimitError) as error:
        return f"| {run.name} | failed: {error} |"
    x, q = subject.poses()
    v, w = subject.velocities()  # type: ignore[attr-defined]
    if close := getattr(subject, "close", None):
        close()
    spread = [np.median(times), times.min(), times.max(), np.median(times[-min(60, steps) :])]
    columns = [run.name, *(f"{value:.3g}" for value in spread)]
    columns += [f"{1e3 * way:.3f}" if heap.stands else "" for way in (measures.sideways(x), measures.sunk(x))]
    columns.append(f"{1e3 * measures.depth(x, q):.3f}" if heap.world.collide else "")
    columns.append(f"{1e3 * measures.gap(x, q):.3f}" if heap.world.links else "")
    return f"| {' | '.join(columns)} | {measures.kinetic(q, v, w):.3g} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "cases",
        nargs="*",
        help=f"{', '.join(CASES)}, fall; all but fall by default; numbers are those of cubes, bodies or figures",
    )
    parser.add_argument("--engines", nargs="*", help="shinari, Box3D, PyBullet, MuJoCo; all by default")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--seconds", type=float, help="simulated time, in place of that of each scene")
    parser.add_argument("--boxes", type=int, default=100_000, help="of fall")
    parser.add_argument(
        "--processor", action="store_true", help="time of the processor, on a machine that is not quiet"
    )
    parser.add_argument("--awake", action="store_true", help="only with everything awake")
    arguments = parser.parse_args()
    if arguments.processor:
        os.environ["PROCESSOR_TIME"] = "1"
    known = CASES | {"fall": lambda: fall(arguments.boxes)}
    if unknown := [name for name in arguments.cases if name not in known]:
        parser.error(f"unknown cases: {', '.join(unknown)}; expected some of {', '.join(known)}")
    found = engines(arguments.engines)
    for name in arguments.cases or CASES:
        heap = known[name]()
        if arguments.seconds is not None:
            heap = replace(heap, seconds=arguments.seconds)
        world, measures = heap.world, Measures(heap.world)
        print(f"\n{name}: {len(world.bodies)} bodies, {len(world.links)} joints, {heap.seconds:g} s\n")
        print("| | ms a step | least | most | last second | sideways mm | sunk mm | deep mm | gap mm | energy J |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|", flush=True)
        for run in runs(list(found), arguments.threads, not arguments.awake):
            print(measured(run, found[run.engine], heap, measures), flush=True)


if __name__ == "__main__":
    main()
