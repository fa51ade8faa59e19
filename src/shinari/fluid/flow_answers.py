"""Queries of fluids that flow in and out, and of their surface."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.errors import SceneError
from shinari.fluid.surface import RESOLUTION, SMOOTHING, reconstruct
from shinari.fluid.waiting import there
from shinari.scene.emitter import SinkHandle
from shinari.scene.handle import Handle

if TYPE_CHECKING:
    from shinari.model import Model
    from shinari.scene.scene import Scene
    from shinari.state import State


class FlowAnswers:
    """Particles that are there, particles that are gone, and the surface of a fluid."""

    scene: "Scene"
    state: "State"
    model: "Model"

    def active(self, handle: Handle | str) -> np.ndarray:
        """Active particles of an object, (N,) bool: not those still in an emitter or removed by a sink.

        Raises:
            SceneError: It is no object with particles of this scene.
        """
        return there(self.model, self.state, self._particles(handle))

    def sunk(self, sink: SinkHandle | str) -> int:
        """Number of particles that a sink has taken since the start.

        Raises:
            SceneError: It is no sink of this scene.
        """
        found = self.scene.find("sunk", "sink", sink, SinkHandle)
        taken = self.state.parts.get("fluid/sunk")
        return 0 if taken is None else int(taken[found.index])

    def fluid_surface(
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
        name = self.scene.find("fluid_surface", "handle", handle, Handle).name
        group = next(group for group in self.scene.groups if group.name == name)
        if group.sampling is None:
            raise SceneError(f"fluid_surface: {name!r}: is a {group.kind}; expected a fluid")
        points = self.state.positions[particles.start : particles.stop][self.active(handle)]
        return reconstruct(points, group.sampling.spacing, resolution=resolution, smoothing=smoothing)

    def _particles(self, handle: Handle | str) -> range:
        return self.scene.find("simulation", "handle", handle, Handle).particles
