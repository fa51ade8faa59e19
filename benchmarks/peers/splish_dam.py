"""A dam break in SPlisHSPlasH: `python splish_dam.py CASE.json OUT.npz`, run by `fluids.py` in a process of its own.

Position based fluids with its own defaults but for the number of iterations: cubic spline for densities and gradients,
boundary particles sampled on the tank (Akinci et al. 2012). It runs on OMP_NUM_THREADS threads.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pysplishsplash as sph

CUBE = """v -0.5 -0.5 -0.5
v 0.5 -0.5 -0.5
v 0.5 0.5 -0.5
v -0.5 0.5 -0.5
v -0.5 -0.5 0.5
v 0.5 -0.5 0.5
v 0.5 0.5 0.5
v -0.5 0.5 0.5
f 1 3 2
f 1 4 3
f 5 6 7
f 5 7 8
f 1 2 6
f 1 6 5
f 4 7 3
f 4 8 7
f 1 8 4
f 1 5 8
f 2 3 7
f 2 7 6
"""


def scene_of(case: dict) -> dict:
    """The scene file: the particles of the tank lie half a spacing outside of it."""
    spacing, size, block = case["spacing"], np.array(case["tank"]), np.array(case["counts"]) * case["spacing"]
    return {
        "Configuration": {
            "particleRadius": 0.5 * spacing, "simulationMethod": 2, "gravitation": [0, -case["gravity"], 0],
            "timeStepSize": case["dt"], "cflMethod": 0, "boundaryHandlingMethod": 0,
            "PBF": {"minIterations": case["iterations"], "maxIterations": case["iterations"]},
        },
        "Materials": [{"id": "Fluid", "density0": 1000, "viscosityMethod": 0}],
        "RigidBodies": [{
            "geometryFile": "tank.obj", "translation": (0.5 * size).tolist(), "rotationAxis": [1, 0, 0],
            "rotationAngle": 0, "scale": (size + spacing).tolist(), "isDynamic": False, "isWall": True,
        }],
        "FluidBlocks": [{"denseMode": 0, "start": [0, 0, 0], "end": block.tolist()}],
    }  # fmt: skip


def main() -> None:
    case = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(tempfile.mkdtemp())
    (folder / "tank.obj").write_text(CUBE)
    (folder / "scene.json").write_text(json.dumps(scene_of(case)))
    base = sph.Exec.SimulatorBase()
    base.init(sceneFile=str(folder / "scene.json"), useGui=False, useCache=False, initialPause=False,
              outputDir=str(folder))  # fmt: skip
    base.initSimulation()
    simulation = sph.Simulation.getCurrent()
    fluid, stepper = simulation.getFluidModel(0), simulation.getTimeStep()
    count = fluid.numActiveParticles()
    times, positions, densities = np.zeros(case["steps"]), [], []
    for k in range(case["steps"]):
        begun = time.perf_counter()
        stepper.step()
        times[k] = time.perf_counter() - begun
        if (k + 1) % case["every"] == 0:
            positions.append([fluid.getPosition(i) for i in range(count)])
            densities.append([fluid.getDensity(i) for i in range(count)])
    support = simulation.getSupportRadius()
    np.savez(sys.argv[2], times=times, positions=np.array(positions), densities=np.array(densities), support=support,
             dt=sph.TimeManager.getCurrent().getTimeStepSize())  # fmt: skip


if __name__ == "__main__":
    main()
