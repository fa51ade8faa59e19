"""Stacks and chains in MuJoCo."""

import mujoco
import numpy as np
from rigid_cases import DT, GRAVITY, SUBSTEPS, Chain, Stacks


class MuJoCo:
    """MuJoCo with its default solver; it runs on one thread. Chains are in reduced coordinates and cannot gape."""

    def __init__(self, case: Stacks | Chain, threads: int) -> None:
        head = (
            f'<mujoco><option timestep="{DT / SUBSTEPS}" gravity="0 {-GRAVITY} 0"/>'
            '<size memory="1G"/><worldbody>'
        )  # fmt: skip
        if isinstance(case, Stacks):
            half = 0.5 * case.edge
            text = f'<geom type="plane" size="100 100 1" zaxis="0 1 0" friction="{case.friction}"/>'
            for x, y, z in case.positions:
                text += (
                    f'<body pos="{x} {y} {z}"><freejoint/><geom type="box" size="{half} {half} {half}" '
                    f'density="{case.density}" friction="{case.friction}"/></body>'
                )
        else:
            joint = 'type="ball"' if case.kind == "ball" else 'type="hinge" axis="0 0 1"'
            half = f"{0.5 * case.length} {0.5 * case.thick} {0.5 * case.thick}"
            text = ""
            for i in range(case.links):
                text += (
                    f'<body pos="{case.length if i else 0.5 * case.length} 0 0">'
                    f'<joint {joint} pos="{-0.5 * case.length} 0 0"/>'
                    f'<geom type="box" size="{half}" density="{case.density}" contype="0" conaffinity="0"/>'
                )
            text += "</body>" * case.links
        self._model = mujoco.MjModel.from_xml_string(head + text + "</worldbody></mujoco>")
        self._data = mujoco.MjData(self._model)

    def step(self) -> None:
        """Advance by DT."""
        mujoco.mj_step(self._model, self._data, SUBSTEPS)

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Centres and rotations."""
        mujoco.mj_kinematics(self._model, self._data)
        return self._data.xpos[1:].copy(), self._data.xquat[1:].copy()
