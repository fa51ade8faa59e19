"""Time of a step of soft beams, beside pyPBD: `python benchmarks/beams.py`.

A beam of 0.1 m cubes, five tetrahedra each, held at x = 0; density 1000 kg/m^3, Poisson's ratio 0.3; a step is 1/60 s
with 10 substeps of one iteration. Each engine runs in a process of its own. pyPBD solves its XPBD finite elements
(St. Venant-Kirchhoff) in double precision; its own kind of corotated elements is not in its Python package.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np

from shinari.geometry.tetrahedra.check import volumes
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.systems.rows.soft_rows import vertex_masses

BEAMS = {"1k": (8, 5, 5), "10k": (20, 10, 10), "50k": (25, 20, 20)}
DENSITY, POISSON, STEPS = 1000.0, 0.3, 60
PYPBD_FEM_XPBD = 3


def ours(cells: tuple[int, int, int], modulus: float, threads: int):
    """A step, and the positions after it."""
    import shinari as sn

    scene = sn.Scene()
    material = sn.SoftMaterial(density=DENSITY, youngs_modulus=modulus, poissons_ratio=POISSON)
    beam = scene.add_soft_body(lattice(cells, 0.1), material=material)
    beam.pin(beam.where(lambda x: x[:, 0] < 1e-6))
    simulation = sn.Simulation(scene, substeps=10, threads=threads)
    return simulation.step, lambda: simulation.state.positions


def pypbd(cells: tuple[int, int, int], modulus: float, threads: int):
    """The same of pyPBD, which takes its threads from OMP_NUM_THREADS."""
    import pypbd as engine

    simulation = engine.Simulation.getCurrent()
    simulation.initDefault()
    model, stepper = simulation.getModel(), simulation.getTimeStep()
    options = type(stepper)
    stepper.setValueUInt(options.NUM_SUB_STEPS, 10)
    stepper.setValueUInt(options.MAX_ITERATIONS, 1)
    stepper.setValueUInt(options.MAX_ITERATIONS_V, 0)
    engine.TimeManager.getCurrent().setTimeStepSize(1.0 / 60.0)
    points, tetrahedra = lattice(cells, 0.1)
    mesh = model.addTetModel(list(points), tetrahedra.ravel().tolist(), False, False, np.array([2, 2, 2], np.uint32))
    particles = model.getParticles()
    for i, mass in enumerate(vertex_masses(points, tetrahedra, DENSITY).tolist()):
        particles.setMass(i, 0.0 if points[i, 0] < 1e-6 else mass)
    model.addSolidConstraints(mesh, PYPBD_FEM_XPBD, modulus, POISSON, modulus, False, False)
    return lambda: stepper.step(model), lambda: np.array(particles.getVertices()).reshape(-1, 3)


def serve(engine: str, beam: str, modulus: float, threads: int) -> None:
    """Measure in this process and print the result as JSON."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    cells = BEAMS[beam]
    step, positions = {"shinari": ours, "pypbd": pypbd}[engine](cells, modulus, threads)
    times = []
    for _ in range(STEPS):
        begun = time.perf_counter()
        step()
        times.append((time.perf_counter() - begun) * 1e3)
    points, tetrahedra = lattice(cells, 0.1)
    ratio = volumes(np.asarray(positions(), np.float64), tetrahedra).sum() / volumes(points, tetrahedra).sum()
    print(json.dumps([float(np.median(times[5:])), float(ratio)]), file=answers, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modulus", type=float, default=1e6, help="Young's modulus [Pa]")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        serve(*arguments.worker, arguments.modulus, arguments.threads)
        return
    environment = os.environ | {"OMP_NUM_THREADS": str(arguments.threads)}
    for beam in BEAMS:
        for engine in ("shinari", "pypbd"):
            command = [sys.executable, __file__, "--modulus", str(arguments.modulus)]
            command += ["--threads", str(arguments.threads), "--worker", engine, beam]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{beam:4s} {engine:8s} failed: {done.stderr.strip().splitlines()[-1:]}")
                continue
            milliseconds, ratio = json.loads(done.stdout)
            print(
                f"{beam:4s} {engine:8s} {milliseconds:7.2f} ms a step, volume {100.0 * (ratio - 1.0):+.2f} % after 1 s"
            )


if __name__ == "__main__":
    main()
