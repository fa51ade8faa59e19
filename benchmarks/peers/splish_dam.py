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
    """The scene file: the particles of the tank lie half a spacing outside of it.

    A block begins and ends with a whole spacing; the hundredth is for rounding.
    """
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
        "FluidBlocks": [{"denseMode": 0, "start": [-0.5 * spacing] * 3, "end": (block + 0.51 * spacing).tolist()}],
    }  # fmt: skip


def main() -> None:
    case = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(tempfile.mkdtemp())
    (folder / "tank.obj").write_text(CUBE)
    (folder / "scene.json").write_text(json.dumps(scene_of(case)))
    base = sph.Exec.SimulatorBase()
    base.init(sceneFile=str(folder / "scene.json"), useGui=False, useCache=False, initialPause=False,
              outputDir=str(folder))  # fmt: skip
    base.setValueFloat(base.STOP_AT, (case["steps"] + 0.5) * case["dt"])
    base.initSimulation()
    times, positions = [], []
    begun = [time.perf_counter()]

    def after_step() -> None:
        times.append(time.perf_counter() - begun[0])
        if len(times) % case["every"] == 0:
            fluid = sph.Simulation.getCurrent().getFluidModel(0)
            positions.append([fluid.getPosition(i) for i in range(fluid.numActiveParticles())])
        begun[0] = time.perf_counter()

    base.setTimeStepCB(after_step)
    base.runSimulation()
    np.savez(sys.argv[2], times=np.array(times), positions=np.array(positions),
             support=sph.Simulation.getCurrent().getSupportRadius(),
             dt=sph.TimeManager.getCurrent().getTimeStepSize())  # fmt: skip


if __name__ == "__main__":
    main()
