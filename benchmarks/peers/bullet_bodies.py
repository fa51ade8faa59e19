"""Worlds of rigid bodies in PyBullet."""

import numpy as np
import pybullet as bullet
from rigid_cases import Case
from rigid_worlds import DT, GRAVITY, Body, World, within

import shinari as sn

ITERATIONS = 50  # of a step, over its substeps
MOST = 1000  # bodies


class Bullet:
    """PyBullet; it runs on one thread. Its default of 50 iterations in every substep takes several times as long."""

    def __init__(self, case: Case, threads: int, **settings: object) -> None:
        world = case.world
        if len(world.bodies) > MOST:
            raise NotImplementedError(f"a step of more than {MOST} bodies takes seconds")
        if any(link.kind == "hinge" or link.swing for link in world.links):
            raise NotImplementedError("no hinges and no limits between free bodies")
        if bullet.isConnected():
            bullet.disconnect()
        bullet.connect(bullet.DIRECT)
        bullet.setGravity(0, -GRAVITY, 0)
        bullet.setPhysicsEngineParameter(
            fixedTimeStep=DT, numSubSteps=world.substeps, numSolverIterations=round(ITERATIONS / world.substeps)
        )  # fmt: skip
        self._shapes: dict[int, int] = {}
        masses, _ = world.masses()
        self._bodies = [self._add(world, body, mass) for body, mass in zip(world.bodies, masses, strict=True)]
        if world.ground:
            ground = bullet.createMultiBody(0, bullet.createCollisionShape(bullet.GEOM_PLANE, planeNormal=(0, 1, 0)))
            bullet.changeDynamics(ground, -1, lateralFriction=world.friction**0.5)
        for link in world.links:
            child, parent = self._bodies[link.child], self._bodies[link.parent] if link.parent >= 0 else None
            turn = np.array([1.0, 0.0, 0.0, 0.0])
            here, there = (
                within(world.place(i), np.asarray(link.anchor), turn)[0].tolist() for i in (link.child, link.parent)
            )
            joint = bullet.JOINT_POINT2POINT
            if parent is None:
                bullet.createConstraint(child, -1, -1, -1, joint, (0, 0, 0), here, there)
            else:
                bullet.setCollisionFilterPair(parent, child, -1, -1, 0)
                bullet.createConstraint(parent, -1, child, -1, joint, (0, 0, 0), there, here)

    def _add(self, world: World, body: Body, mass: float) -> int:
        if body.kinematic and np.any(body.spin):
            raise NotImplementedError("no bodies that turn by themselves")
        if id(body.shape) not in self._shapes:
            self._shapes[id(body.shape)] = _shape(body.shape)
        w, *axis = np.asarray(body.rotation, float).tolist()
        made = bullet.createMultiBody(
            mass, self._shapes[id(body.shape)], basePosition=np.asarray(body.position).tolist(),
            baseOrientation=(*axis, w),
        )  # fmt: skip
        # it multiplies the coefficients of the two
        bullet.changeDynamics(made, -1, lateralFriction=world.friction**0.5)
        bullet.resetBaseVelocity(made, list(body.velocity), list(body.spin))
        if not world.collide:
            bullet.setCollisionFilterGroupMask(made, -1, 0, 0)
        return made

    def step(self) -> None:
        """Advance by DT."""
        bullet.stepSimulation()

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Centres and rotations."""
        found = [bullet.getBasePositionAndOrientation(body) for body in self._bodies]
        return np.array([x for x, _ in found]), np.array([(q[3], *q[:3]) for _, q in found])

    def velocities(self) -> tuple[np.ndarray, np.ndarray]:
        """Velocities of the centres and angular velocities."""
        found = [bullet.getBaseVelocity(body) for body in self._bodies]
        return np.array([v for v, _ in found]), np.array([w for _, w in found])


def _shape(shape: object) -> int:
    if isinstance(shape, sn.Box):
        return bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=[0.5 * edge for edge in shape.size])
    if isinstance(shape, sn.Sphere):
        return bullet.createCollisionShape(bullet.GEOM_SPHERE, radius=shape.radius)
    if isinstance(shape, sn.ConvexHull):
        return bullet.createCollisionShape(bullet.GEOM_MESH, vertices=shape.vertices.tolist())
    raise NotImplementedError(f"no {type(shape).__name__}")
