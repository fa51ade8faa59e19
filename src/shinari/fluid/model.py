"""What of the fluids of a scene never changes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shinari.fluid.kernels import Smoothing
from shinari.scene.fluid_material import FluidMaterial

if TYPE_CHECKING:
    from shinari.fluid.part import Fluid
    from shinari.model import Model
    from shinari.settings import Settings
    from shinari.state import State

PRESSURES, DENSITIES, ACTIVE = "fluid/pressures", "fluid/densities", "fluid/active"


@dataclass(frozen=True, eq=False)
class FluidModel:
    """All fluids of a scene; P particles.

    Attributes:
        particles: Particles of the fluids in solver order, (P,) int64, one fluid after the other.
        phases: Fluid of each, (P,) uint8.
        things: Thing of each fluid.
        materials: Material of each fluid.
        smoothing: Kernel, support and spacing of all.
        boundary: How solids enter the density, see `Sampling`.
        name: What it is called in messages.
    """

    particles: np.ndarray
    phases: np.ndarray
    things: tuple[int, ...]
    materials: tuple[FluidMaterial, ...]
    smoothing: Smoothing
    boundary: str
    name: str = "fluid"

    def start(self, model: "Model") -> dict[str, np.ndarray]:
        """Pressure [Pa], relative density, and whether each particle is there (not waiting in an emitter)."""
        count = len(self.particles)
        return {
            PRESSURES: np.zeros(count, model.real),
            DENSITIES: np.zeros(count, model.real),
            ACTIVE: np.ones(count, bool),
        }

    def bind(self, model: "Model", state: "State", settings: "Settings", predicted: np.ndarray) -> "Fluid":
        """The fluids of a simulation."""
        from shinari.fluid.part import Fluid

        return Fluid(self, model, state, settings, predicted)

    def energy(self, model: "Model", state: "State") -> tuple[float, float]:
        """None beyond that of the particles; what is compressed holds p^2 V / 2 times the compressibility [J]."""
        elastic = 0.0
        volume = self.smoothing.spacing**3
        pressures = state.parts[PRESSURES].astype(np.float64)
        for phase, material in enumerate(self.materials):
            if material.compressibility > 0.0:
                squares = float((pressures[self.phases == phase] ** 2).sum())
                elastic += 0.5 * material.compressibility * volume * squares
        return 0.0, elastic

    def angular_momentum(self, model: "Model", state: "State") -> np.ndarray:
        """None beyond that of the particles."""
        return np.zeros(3)
