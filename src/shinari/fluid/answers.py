"""Queries of fluids."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.errors import SceneError
from shinari.scene.handle import Handle

if TYPE_CHECKING:
    from shinari.fluid.model import FluidModel
    from shinari.model import Model
    from shinari.scene.scene import Scene
    from shinari.solver.workspace import Workspace
    from shinari.state import State


class FluidAnswers:
    """Densities and pressures of fluids."""

    scene: "Scene"
    state: "State"
    model: "Model"
    threads: int
    _work: "Workspace"

    def densities(self, fluid: Handle | str) -> np.ndarray:
        """Density at each particle of a fluid at the end of the last step [kg/m^3], (N,); a copy.

        At a free surface, where the kernels reach into the air, it is below that of the fluid. Particles that wait in
        an emitter have none, 0.

        Raises:
            SceneError: It is no fluid of this scene.
        """
        from shinari.fluid.model import ACTIVE, DENSITIES

        model, phase = self._phase(fluid)
        values = self.state.parts[DENSITIES] if self.state.frame else self._start_densities()
        there = self.state.parts[ACTIVE] & (model.phases == phase)
        result = np.where(there, values, 0.0)[model.phases == phase].astype(self.model.real)
        return result * self.model.real(model.materials[phase].rest_density)

    def pressures(self, fluid: Handle | str) -> np.ndarray:
        """Pressure at each particle of a fluid in the last substep [Pa], (N,), a copy; 0 before the first step.

        Raises:
            SceneError: It is no fluid of this scene.
        """
        from shinari.fluid.model import PRESSURES

        model, phase = self._phase(fluid)
        return self.state.parts[PRESSURES][model.phases == phase]

    def _phase(self, fluid: Handle | str) -> tuple["FluidModel", int]:
        """The model of the fluids, and the number of a fluid among them."""
        name = self.scene.find("simulation", "fluid", fluid, Handle).name
        number = [group.name for group in self.scene.groups].index(name)
        if self.scene.groups[number].sampling is None:
            raise SceneError(f"simulation: fluid: {name!r} is no fluid")
        from shinari.fluid.model import FluidModel

        model = next(part for part in self.model.parts if isinstance(part, FluidModel))
        return model, model.things.index(number)

    def _start_densities(self) -> np.ndarray:
        """Relative densities before the first step, (P,)."""
        from shinari.fluid.part import Fluid

        part = next(part for part in self._work.parts if isinstance(part, Fluid))
        return part.measured(self.threads)
