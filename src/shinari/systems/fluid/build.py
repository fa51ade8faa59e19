"""The fluids of a scene as a part of the model."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.scene.contents import Contents
from shinari.scene.fluid_material import KERNELS
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
    from shinari.systems.fluid.kernels import Smoothing
    from shinari.systems.fluid.model import FluidModel

    check_emitters(scene)
    groups = [(k, group) for k, group in enumerate(scene.groups) if group.sampling is not None]
    starts = np.cumsum([0] + [len(group.positions) for group in scene.groups])
    sampling = groups[0][1].sampling
    assert sampling is not None
    return FluidModel(
        particles=np.concatenate([slots[starts[k] : starts[k + 1]] for k, _ in groups]).astype(np.int64),
        phases=np.repeat(np.arange(len(groups)), [len(group.positions) for _, group in groups]).astype(np.uint8),
        objects=tuple(k for k, _ in groups),
        materials=tuple(group.material for _, group in groups),  # type: ignore[misc]
        smoothing=Smoothing(
            KERNELS.index(sampling.kernel), sampling.dimensions, sampling.spacing, sampling.support * sampling.spacing
        ),
        boundary=sampling.boundary,
        air_density=scene.air_density,
        emitters=tuple(group.emitter for _, group in groups),
        sinks=tuple(scene.sinks),
    )
