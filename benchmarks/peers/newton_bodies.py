"""Stacks and chains in Newton, with its XPBD solver on the processor."""

import numpy as np
import warp as wp

wp.config.quiet = True
import newton  # noqa: E402
from rigid_cases import DT, GRAVITY, SUBSTEPS, Case, Chain, Stacks  # noqa: E402


class NewtonXPBD:
    """Newton's SolverXPBD with two iterations a substep; contacts are found in every substep."""

    def __init__(self, case: Case, threads: int, **settings: object) -> None:
        if not isinstance(case, (Stacks, Chain)):
            raise NotImplementedError("stacks and chains only")
        builder = newton.ModelBuilder(up_axis=newton.Axis.Y, gravity=(0.0, -GRAVITY, 0.0))
        upright = wp.quat_identity()
        links = []
        for x in case.positions:
            body = builder.add_link(xform=wp.transform(x.tolist(), upright))
            links.append(body)
            if isinstance(case, Stacks):
                half = (0.5 * case.edge,) * 3
                surface = builder.ShapeConfig(density=case.density, mu=case.friction)
            else:
                half = (0.5 * case.length, 0.5 * case.thick, 0.5 * case.thick)
                surface = builder.ShapeConfig(density=case.density, has_shape_collision=False)
            builder.add_shape_box(body, hx=half[0], hy=half[1], hz=half[2], cfg=surface)
        if isinstance(case, Stacks):
            for body in links:
                builder.add_articulation([builder.add_joint_free(child=body)])
            builder.add_ground_plane(cfg=builder.ShapeConfig(mu=case.friction))
        else:
            joints = []
            for i, body in enumerate(links):
                places = {
                    "parent": links[i - 1] if i else -1,
                    "child": body,
                    "parent_xform": wp.transform((0.5 * case.length if i else 0.0, 0.0, 0.0), upright),
                    "child_xform": wp.transform((-0.5 * case.length, 0.0, 0.0), upright),
                }
                if case.kind == "ball":
                    joints.append(builder.add_joint_ball(**places))
                else:
                    joints.append(builder.add_joint_revolute(axis=(0.0, 0.0, 1.0), **places))
            builder.add_articulation(joints)
        self._model = builder.finalize(device="cpu")
        self._solver = newton.solvers.SolverXPBD(self._model, iterations=2)
        self._states = [self._model.state(), self._model.state()]
        self._control = self._model.control()
        self._collides = isinstance(case, Stacks)
        self._contacts = self._model.contacts() if self._collides else None

    def step(self) -> None:
        """Advance by DT."""
        for _ in range(SUBSTEPS):
            first, second = self._states
            first.clear_forces()
            if self._collides:
                self._model.collide(first, self._contacts)
            self._solver.step(first, second, self._control, self._contacts, DT / SUBSTEPS)
            self._states.reverse()

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Centres and rotations."""
        poses = self._states[0].body_q.numpy()
        return poses[:, :3].astype(float), poses[:, [6, 3, 4, 5]].astype(float)
