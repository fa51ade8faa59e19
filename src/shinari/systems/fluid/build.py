"""The fluids of a scene as a part of the model."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.scene.contents import Contents
from shinari.scene.fluid_material import SMOOTHING_KERNELS
from shinari.systems.fluid.checks import check_fluids
from shinari.systems.fluid.emitter_checks import check_emitters

if TYPE_CHECKING:
    from shinari.systems.fluid.model import FluidModel


def build_fluid(scene: Contents, slots: np.ndarray, real: type) -> "FluidModel | None":
    """All fluids of a scene; None when there are none.

    Args:
        scene: The scene.
        slots: Place of each particle in solver order, (N,).
        real: Floating point type of the solver.

    Raises:
        SceneError: They cannot be simulated together, see `shinari.systems.fluid.checks`; or an emitter is in a solid.
    """
    if not check_fluids(scene, real):
        return None
    # loaded only for a scene with fluids
    from shinari.systems.fluid.model import FluidModel
    from shinari.systems.fluid.smoothing import Smoothing

    check_emitters(scene)
    objects = [(k, obj) for k, obj in enumerate(scene.particle_objects) if obj.sampling is not None]
    starts = np.cumsum([0] + [len(obj.positions) for obj in scene.particle_objects])
    sampling = objects[0][1].sampling
    assert sampling is not None
    return FluidModel(
        particles=np.concatenate([slots[starts[k] : starts[k + 1]] for k, _ in objects]).astype(np.uint32),
        phases=np.repeat(np.arange(len(objects)), [len(obj.positions) for _, obj in objects]).astype(np.uint8),
        objects=tuple(k for k, _ in objects),
        materials=tuple(obj.material for _, obj in objects),  # type: ignore[misc]
        smoothing=Smoothing(
            SMOOTHING_KERNELS.index(sampling.kernel),
            sampling.dimensions,
            sampling.spacing,
            sampling.support * sampling.spacing,
        ),
        boundary=sampling.boundary,
        air_density=scene.air_density,
        grains=any(obj.kind == "grains" for obj in scene.particle_objects),
        emitters=tuple(obj.emitter for _, obj in objects),
        sinks=tuple(scene.sinks),
    )
