"""Stacks and chains in PyBullet."""

import numpy as np
import pybullet as bullet
from rigid_cases import DT, GRAVITY, SUBSTEPS, Chain, Stacks

ITERATIONS = 5


class Bullet:
    """PyBullet; it runs on one thread. Its default of 50 iterations takes five times as long."""

    def __init__(self, case: Stacks | Chain, threads: int) -> None:
        if bullet.isConnected():
            bullet.disconnect()
        bullet.connect(bullet.DIRECT)
        bullet.setGravity(0, -GRAVITY, 0)
        bullet.setPhysicsEngineParameter(fixedTimeStep=DT, numSubSteps=SUBSTEPS, numSolverIterations=ITERATIONS)
        if isinstance(case, Stacks):
            ground = bullet.createMultiBody(0, bullet.createCollisionShape(bullet.GEOM_PLANE, planeNormal=(0, 1, 0)))
            bullet.changeDynamics(ground, -1, lateralFriction=1.0)
            shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=(0.5 * case.edge,) * 3)
            mass = case.density * case.edge**3
            self._bodies = [bullet.createMultiBody(mass, shape, basePosition=x.tolist()) for x in case.positions]
            for body in self._bodies:  # it multiplies the coefficients of the two
                bullet.changeDynamics(body, -1, lateralFriction=case.friction**0.5)
            bullet.changeDynamics(ground, -1, lateralFriction=case.friction**0.5)
            return
        half = (0.5 * case.length, 0.5 * case.thick, 0.5 * case.thick)
        shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=half)
        mass = case.density * case.length * case.thick**2
        self._bodies = [bullet.createMultiBody(mass, shape, basePosition=x.tolist()) for x in case.positions]
        joint = bullet.JOINT_POINT2POINT
        if case.kind == "hinge":
            raise NotImplementedError("no hinge between free bodies")
        for i, body in enumerate(self._bodies):
            parent = self._bodies[i - 1] if i else -1
            at = (half[0], 0, 0) if i else (0, 0, 0)
            if i:
                bullet.setCollisionFilterPair(parent, body, -1, -1, 0)
                bullet.createConstraint(parent, -1, body, -1, joint, (0, 0, 0), at, (-half[0], 0, 0))
            else:
                bullet.createConstraint(body, -1, -1, -1, joint, (0, 0, 0), (-half[0], 0, 0), (0, 0, 0))

    def step(self) -> None:
        """Advance by DT."""
        bullet.stepSimulation()

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Centres and rotations."""
        found = [bullet.getBasePositionAndOrientation(body) for body in self._bodies]
        return np.array([x for x, _ in found]), np.array([(q[3], *q[:3]) for _, q in found])
