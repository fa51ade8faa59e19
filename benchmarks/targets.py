"""Kernels for the target that is shipped, x86-64-v3, and for this processor: `python benchmarks/targets.py [CASE ...]`.

One process for each target, on one thread; they take turns of a few hundredths of a second. Printed are medians of CPU
times and of the ratios of neighbouring turns. Both compute the same bits unless the processor contracts differently.
"""

import os
import statistics
import subprocess
import sys
import time
import warnings

TURNS = 60
TURN = 0.05
"""CPU time of a turn [s]."""


def _rows(name: str, build: str):
    def case():
        from shinari.compute import Program

        simulation = _simulation(build)
        rows = next(s for s in simulation._bound.solvers if s.block.type.name == name)
        sweep = Program()
        rows.record_project(sweep, True)
        return lambda: sweep.run(1)

    return case


def _steps(build: str, steps: int):
    def case():
        simulation = _simulation(build)
        simulation.step(steps)
        return simulation.step

    return case


def _simulation(build: str):
    import numpy as np

    import shinari as sn

    scene = sn.Scene()
    exec(build, {"scene": scene, "sn": sn, "np": np})
    simulation = sn.Simulation(scene, threads=1)
    simulation.step(2)
    return simulation


CLOTH = "scene.add_cloth(sn.grid(shape=(128, 128)), material=sn.ClothMaterial(bend_stiffness=1e-4)).pin([0, 127])"
CASES = {
    "distance rows": _rows("distance", CLOTH),
    "bending rows": _rows("isometric_bend", CLOTH),
    "tetrahedra": _rows("neo_hookean", "scene.add_soft_body(sn.lattice((16, 16, 16), 0.05))"),
    "rod, direct": _steps("scene.add_rod([[0.01 * k, 0, 0] for k in range(1000)]).pin([0])", 2),
    "fluid": _steps(
        """
scene.add_fluid(sn.Box((0.2, 0.2, 0.2)), spacing=0.01, position=(0, 0.11, 0))
scene.add_collider(sn.Box((0.4, 0.5, 0.2), inside=True), position=(0.1, 0.25, 0))""",
        10,
    ),
    "grains": _steps(
        """
scene.add_grains(sn.Box((0.2, 0.2, 0.2)), radius=0.006, position=(0, 0.11, 0))
scene.add_collider(sn.Plane((0, 1, 0), 0))""",
        10,
    ),
    "boxes in contact": _steps(
        """
scene.add_collider(sn.Plane((0, 1, 0), 0))
for k in range(100):
    scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0.4 * (k // 5), 0.1 + 0.2 * (k % 5), 0))""",
        10,
    ),
    "cloth on itself": _steps(
        """
scene.add_cloth(sn.grid(shape=(31, 31)), position=(0, 0.25, 0), self_collision="triangles")
scene.add_collider(sn.Sphere(0.2))""",
        30,
    ),
}


def work(name: str) -> None:
    """Answer each line on standard input by the CPU time of a run of the case [s]."""
    warnings.simplefilter("ignore")
    run = CASES[name]()
    begun = time.process_time()
    run()
    runs = max(1, round(TURN / max(time.process_time() - begun, 1e-6)))
    print(runs, flush=True)
    for line in sys.stdin:
        begun = time.process_time()
        for _ in range(int(line)):
            run()
        print((time.process_time() - begun) / int(line), flush=True)


def compare(name: str) -> None:
    """Print a row of the table."""
    workers = []
    for target in ("", "native"):
        # two threads would hide what one of them loses
        environment = os.environ | {"SHINARI_CPU": target, "SHINARI_QUIET": "1", "SHINARI_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--work", name]
        workers.append(
            subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
    runs = min(int(worker.stdout.readline()) for worker in workers)
    times = []
    for turn in range(TURNS):
        pair = [0.0, 0.0]
        for k in (0, 1) if turn % 2 else (1, 0):
            workers[k].stdin.write(f"{runs}\n")
            workers[k].stdin.flush()
            pair[k] = float(workers[k].stdout.readline())
        times.append(pair)
    for worker in workers:
        worker.stdin.close()
        worker.wait()
    shipped, native = (1e6 * statistics.median(column) for column in zip(*times, strict=True))
    ratios = [a / b for a, b in times]
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"{name:20s}{shipped:12.1f}{native:12.1f}{middle:10.3f}   ({low:.3f} to {high:.3f})", flush=True)


def main() -> None:
    """Print the table."""
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2])
        return
    from shinari.compute import object_files

    print(
        f"{'':20s}{object_files.processor():>12s}{object_files.llvm.get_host_cpu_name():>12s}{'ratio':>10s}"
        "   (quartiles); us CPU"
    )
    for name in sys.argv[1:] or CASES:
        compare(name)


if __name__ == "__main__":
    main()
