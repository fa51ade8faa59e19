"""What of the fluids of a scene never changes."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shinari.model.system_model import BoundSystems, SystemModel
from shinari.scene.emitter import Emitter, Sink
from shinari.scene.fluid_material import FluidMaterial
from shinari.systems.fluid.smoothing import Smoothing

if TYPE_CHECKING:
    from shinari.model.model import Model
    from shinari.model.state import State
    from shinari.model.system import System
    from shinari.scene.contents import Contents

ACTIVE = "fluid/active"
PRESSURES, DENSITIES = "fluid/pressures", "fluid/densities"
LAYERS, BIRTHS, SUNK = "fluid/layers", "fluid/births", "fluid/sunk"


@dataclass(frozen=True, eq=False)
class FluidModel(SystemModel):
    """All fluids of a scene; P particles.

    Attributes:
        particles: Particles of the fluids in solver order, (P,) uint32, one fluid after the other.
        phases: Fluid of each, (P,) uint8.
        objects: Number of the object of each fluid.
        materials: Material of each fluid.
        smoothing: Kernel, support and spacing of all.
        boundary: How solids enter the density, see `Sampling`.
        air_density: [kg/m^3].
        grains: Whether the scene has grains.
        emitters: Emitter of each fluid, or None.
        sinks: What takes particles away.
    """

    particles: np.ndarray
    phases: np.ndarray
    objects: tuple[int, ...]
    materials: tuple[FluidMaterial, ...]
    smoothing: Smoothing
    boundary: str
    air_density: float
    grains: bool = False
    emitters: tuple[Emitter | None, ...] = ()
    sinks: tuple[Sink, ...] = ()

    @property
    def emitting(self) -> list[tuple[int, int, Emitter]]:
        """Fluid, object and emitter of each fluid that has one."""
        rows = enumerate(zip(self.objects, self.emitters, strict=False))
        return [(phase, object_number, emitter) for phase, (object_number, emitter) in rows if emitter is not None]

    @property
    def come_and_go(self) -> bool:
        """Whether particles wait in an emitter, or may be taken by a sink."""
        return bool(self.emitting or self.sinks)

    def start(self, model: "Model") -> dict[str, np.ndarray]:
        """Pressure [Pa], relative density, and whether each particle is there (not waiting in an emitter).

        And, where there are emitters or sinks: layers that have left each emitter, the turn in which each particle left
        (counted by emitter, from 1), and the particles that each sink has taken.
        """
        count = len(self.particles)
        arrays: dict[str, np.ndarray] = {
            PRESSURES: np.zeros(count, model.real),
            DENSITIES: np.zeros(count, model.real),
            ACTIVE: np.ones(count, bool),
        }
        if self.emitting:
            arrays[ACTIVE] = ~np.isin(self.phases, [phase for phase, _, _ in self.emitting])
            arrays[LAYERS], arrays[BIRTHS] = np.zeros(len(self.emitting), np.int64), np.zeros(count, np.int64)
        if self.sinks:
            arrays[SUNK] = np.zeros(len(self.sinks), np.int64)
        return arrays

    def bind(self, bound: BoundSystems) -> "list[System]":
        """The fluids of a simulation, and their emitters and sinks; loaded only for a scene that has them."""
        from shinari.systems.fluid.light_solids import warn_of_light_solids
        from shinari.systems.fluid.system import Fluid

        if bound.state.frame == 0:
            warn_of_light_solids(bound)
        model, state = bound.model, bound.state
        systems: list[System] = [Fluid(self, model, state, bound.settings, bound.particles, bound.origins, bound.clock)]
        if self.come_and_go:
            from shinari.systems.fluid.emission import Emission

            systems.append(Emission(bound.scene, self, model, state))
        return systems

    def with_materials(self, scene: "Contents") -> "FluidModel":
        """The same fluids of other materials."""
        fluids = [obj.material for obj in scene.particle_objects if obj.sampling is not None]
        return replace(self, materials=tuple(fluids))  # type: ignore[arg-type]

    def inactive(self, state: "State") -> np.ndarray:
        """Particles that wait in an emitter, or that a sink has taken, in solver order, (K,) uint32."""
        active = state.system_arrays[ACTIVE]
        return self.particles[:0] if active.all() else self.particles[~active]

    def energy(self, model: "Model", state: "State", h: float) -> tuple[float, float, float]:
        """None beyond that of the particles; what is compressed holds p^2 V / 2 times the compressibility [J]."""
        elastic = 0.0
        volume = self.smoothing.spacing**3
        pressures = state.system_arrays[PRESSURES].astype(np.float64)
        for phase, material in enumerate(self.materials):
            if material.compressibility > 0.0:
                squares = float((pressures[self.phases == phase] ** 2).sum())
                elastic += 0.5 * material.compressibility * volume * squares
        return 0.0, 0.0, elastic
