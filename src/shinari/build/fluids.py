"""The fluids of a scene as a part of the model."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.build.emitters import check_emitters
from shinari.errors import SceneError
from shinari.scene.fluid_material import KERNELS
from shinari.scene.scene import Scene

if TYPE_CHECKING:
    from shinari.fluid.model import FluidModel


def build_fluid(scene: Scene, slots: np.ndarray) -> "FluidModel | None":
    """All fluids of a scene; None when there are none.

    Raises:
        SceneError: Two fluids are sampled differently.
    """
    groups = [(k, group) for k, group in enumerate(scene.groups) if group.sampling is not None]
    if not groups:
        return None
    # loaded only for a scene with fluids
    from shinari.fluid.kernels import Smoothing
    from shinari.fluid.model import FluidModel

    check_emitters(scene)
    starts = np.cumsum([0] + [len(group.positions) for group in scene.groups])
    first = groups[0][1]
    sampling = first.sampling
    assert sampling is not None
    for _, group in groups[1:]:
        for field in ("spacing", "support", "kernel", "dimensions", "boundary"):
            one, other = getattr(sampling, field), getattr(group.sampling, field)
            if one != other:
                raise SceneError(
                    f"fluid {group.name!r}: {field}: {other!r} is not that of {first.name!r}, {one!r}; "
                    "all fluids of a scene are sampled alike"
                )
    return FluidModel(
        particles=np.concatenate([slots[starts[k] : starts[k + 1]] for k, _ in groups]).astype(np.int64),
        phases=np.repeat(np.arange(len(groups)), [len(group.positions) for _, group in groups]).astype(np.uint8),
        things=tuple(k for k, _ in groups),
        materials=tuple(group.material for _, group in groups),  # type: ignore[misc]
        smoothing=Smoothing(
            KERNELS.index(sampling.kernel), sampling.dimensions, sampling.spacing, sampling.support * sampling.spacing
        ),
        boundary=sampling.boundary,
        emitters=tuple(group.emitter for _, group in groups),
        sinks=tuple(scene.sinks),
    )
