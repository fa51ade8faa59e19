"""Chains in pyPBD. Its stacks are left out: they fall apart and sink by 12 cm."""

import tempfile
from pathlib import Path

import numpy as np
import pypbd
from rigid_cases import DT, SUBSTEPS, Case, Chain

_CUBE = """v -0.5 -0.5 -0.5
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


class PyPBD:
    """pyPBD with one iteration a substep; it runs on OMP_NUM_THREADS threads."""

    def __init__(self, case: Case, threads: int, **settings: object) -> None:
        if not isinstance(case, Chain):
            raise NotImplementedError("chains only: its stacks fall apart")
        simulation = pypbd.Simulation.getCurrent()
        simulation.initDefault()
        self._model, self._stepper = simulation.getModel(), simulation.getTimeStep()
        self._model.cleanup()
        options = type(self._stepper)
        self._stepper.setValueUInt(options.NUM_SUB_STEPS, SUBSTEPS)
        self._stepper.setValueUInt(options.MAX_ITERATIONS, 1)
        self._stepper.setValueUInt(options.MAX_ITERATIONS_V, 0)
        pypbd.TimeManager.getCurrent().setTimeStepSize(DT)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cube.obj"
            path.write_text(_CUBE)
            vertices, mesh = pypbd.OBJLoader.loadObjToMesh(str(path), [1.0, 1.0, 1.0])
        size = [case.length, case.thick, case.thick]
        # a hook that does not move, then the links
        at = np.concatenate([[[-0.5 * case.length, 0.0, 0.0]], case.positions])
        self._bodies = [
            self._model.addRigidBody(case.density, vertices, mesh, x, np.eye(3), size, False, False) for x in at
        ]
        self._bodies[0].setMass(0.0)
        for i, anchor in enumerate(case.anchors):
            if case.kind == "ball":
                self._model.addBallJoint(i, i + 1, anchor)
            else:
                self._model.addHingeJoint(i, i + 1, anchor, [0.0, 0.0, 1.0])

    def step(self) -> None:
        """Advance by DT."""
        self._stepper.step(self._model)

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Centres and rotations."""
        turns = np.array([body.getRotationMatrix() for body in self._bodies[1:]])
        return np.array([body.getPosition() for body in self._bodies[1:]]), _quaternions(turns)


def _quaternions(r: np.ndarray) -> np.ndarray:
    """Unit quaternions w x y z of rotation matrices, (B, 4)."""
    out = np.empty((len(r), 4))
    for i, m in enumerate(r):
        values, vectors = np.linalg.eigh(
            np.array([
                [m[0, 0] - m[1, 1] - m[2, 2], m[1, 0] + m[0, 1], m[2, 0] + m[0, 2], m[2, 1] - m[1, 2]],
                [m[1, 0] + m[0, 1], m[1, 1] - m[0, 0] - m[2, 2], m[2, 1] + m[1, 2], m[0, 2] - m[2, 0]],
                [m[2, 0] + m[0, 2], m[2, 1] + m[1, 2], m[2, 2] - m[0, 0] - m[1, 1], m[1, 0] - m[0, 1]],
                [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], np.trace(m)],
            ])
        )  # fmt: skip
        x, y, z, w = vectors[:, np.argmax(values)]
        out[i] = w, x, y, z
    return out
