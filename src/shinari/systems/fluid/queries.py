"""Queries about fluids."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.errors import SceneError
from shinari.scene.emitter import SinkHandle
from shinari.scene.handle import Handle
from shinari.systems.fluid.surface_mesh import RESOLUTION, SMOOTHING, reconstruct

if TYPE_CHECKING:
    from shinari.model.simulation_view import Running
    from shinari.systems.fluid.model import FluidModel


class FluidQueries:
    """Densities and pressures of fluids, their particles that flow in and out, and their surface."""

    def __init__(self, run: "Running") -> None:
        self._run = run

    def densities(self, fluid: Handle | str) -> np.ndarray:
        """Density at each particle of a fluid at the end of the last step [kg/m^3], (N,); a copy.

        At a free surface, where the kernels reach into the air, it is below that of the fluid. Particles that wait in
        an emitter have none, 0.

        Raises:
            SceneError: It is no fluid of this scene.
        """
        from shinari.systems.fluid.model import ACTIVE, DENSITIES

        model, phase = self._phase(fluid)
        values = self._run.state.system_arrays[DENSITIES] if self._run.state.frame else self._start_densities()
        there = self._run.state.system_arrays[ACTIVE] & (model.phases == phase)
        result = np.where(there, values, 0.0)[model.phases == phase].astype(self._run.model.real)
        return result * self._run.model.real(model.materials[phase].rest_density)

    def pressures(self, fluid: Handle | str) -> np.ndarray:
        """Pressure at each particle of a fluid in the last substep [Pa], (N,), a copy; 0 before the first step.

        Raises:
            SceneError: It is no fluid of this scene.
        """
        from shinari.systems.fluid.model import PRESSURES

        model, phase = self._phase(fluid)
        return self._run.state.system_arrays[PRESSURES][model.phases == phase]

    def active(self, handle: Handle | str) -> np.ndarray:
        """Active particles of an object, (N,) bool: not those still in an emitter, nor those that a sink has removed.

        Raises:
            SceneError: It is no object with particles of this scene.
        """
        return self._run.model.present(self._run.state, self._particles(handle))

    def sunk(self, sink: SinkHandle | str) -> int:
        """Number of particles that a sink has taken since the start.

        Raises:
            SceneError: It is no sink of this scene.
        """
        found = self._run.scene.find("sunk", "sink", sink, SinkHandle)
        taken = self._run.state.system_arrays.get("fluid/sunk")
        return 0 if taken is None else int(taken[found.index])

    def surface(
        self, handle: Handle | str, *, resolution: float = RESOLUTION, smoothing: int = SMOOTHING
    ) -> tuple[np.ndarray, np.ndarray]:
        """The surface of a fluid as closed triangles; needs the extra [surface].

        Args:
            handle: The fluid.
            resolution: Edge of a cube of the grid through which the surface is drawn, in spacings, 0.05 to 1.
            smoothing: Rounds of smoothing.

        Returns:
            Vertices [m], (V, 3), and faces, (F, 3).

        Raises:
            MissingExtraError: pysplashsurf is not installed.
            SceneError: It is no fluid of this scene, or a value is outside its bounds.
        """
        particles = self._particles(handle)
        name = self._run.scene.find("fluid_surface", "handle", handle, Handle).name
        obj = next(obj for obj in self._run.scene.particle_objects if obj.name == name)
        if obj.sampling is None:
            raise SceneError(f"fluid_surface: {name!r}: is a {obj.kind}; expected a fluid")
        points = self._run.state.positions[particles.start : particles.stop][self.active(handle)]
        return reconstruct(points, obj.sampling.spacing, resolution=resolution, smoothing=smoothing)

    def _phase(self, fluid: Handle | str) -> tuple["FluidModel", int]:
        """The model of the fluids, and the number of a fluid among them."""
        name = self._run.scene.find("simulation", "fluid", fluid, Handle).name
        number = [obj.name for obj in self._run.scene.particle_objects].index(name)
        if self._run.scene.particle_objects[number].sampling is None:
            raise SceneError(f"simulation: fluid: {name!r} is no fluid")
        from shinari.systems.fluid.model import FluidModel

        model = self._run.model.find(FluidModel)
        assert model is not None  # there is a fluid
        return model, model.objects.index(number)

    def _start_densities(self) -> np.ndarray:
        """Relative densities before the first step, (P,)."""
        from shinari.systems.fluid.system import Fluid

        return self._run.system(Fluid).measured(self._run.threads)

    def _particles(self, handle: Handle | str) -> range:
        return self._run.scene.find("simulation", "handle", handle, Handle).particles
