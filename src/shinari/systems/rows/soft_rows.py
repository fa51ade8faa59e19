"""From a soft body to constraint rows."""

import numpy as np

from shinari.constraints.neo_hookean import hydrostatic_scale
from shinari.constraints.strain_tetrahedron import isotropic
from shinari.constraints.stvk import volume_weight
from shinari.geometry.tetrahedra.check import volumes
from shinari.scene.failure import failure_of
from shinari.scene.objects import ParticleObject, Rows
from shinari.scene.soft_material import SoftMaterial


def soft_rows(body: ParticleObject, start: int) -> list[Rows]:
    """Rows of the tetrahedra of a body whose particles begin at global index `start`."""
    material, tetrahedra = body.material, body.tetrahedra
    assert isinstance(material, SoftMaterial)
    assert tetrahedra is not None
    kind, law = _MODELS[material.model]
    compliance, parameters = law(material, volumes(body.positions, tetrahedra))
    damping = material.damping / compliance if material.damping > 0.0 else None
    ones = np.ones(len(tetrahedra))
    return [
        Rows(
            kind,
            tetrahedra + start,
            compliance,
            ones,
            damping=damping,
            parameters=parameters,
            failure=failure_of(material),
        )
    ]


def vertex_masses(x: np.ndarray, tetrahedra: np.ndarray, density: float) -> np.ndarray:
    """A quarter of the mass of each tetrahedron at each of its corners [kg], (N,)."""
    share = np.repeat(0.25 * density * volumes(x, tetrahedra), 4)
    return np.bincount(tetrahedra.ravel(), weights=share, minlength=len(x))


def _neo_hookean(material: SoftMaterial, volume: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    _, mu = material.lame
    scale = np.full((len(volume), 1), hydrostatic_scale(material.poissons_ratio))
    return 1.0 / (mu * volume), {"hydrostatic_scale": scale}


def _deviator_and_volume(material: SoftMaterial, volume: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    weight = np.full((len(volume), 1), volume_weight(material.poissons_ratio))
    return 0.5 / (material.lame[1] * volume), {"volume_weight": weight}


def _strain(material: SoftMaterial, volume: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    weights = np.tile(isotropic(material.poissons_ratio), (len(volume), 1))
    return 0.5 / (material.lame[1] * volume), {"weights": weights}


_MODELS = {
    "neo_hookean": ("neo_hookean", _neo_hookean),
    "stvk": ("stvk", _deviator_and_volume),
    "corotated": ("corotated", _deviator_and_volume),
    "strain": ("strain_tetrahedron", _strain),
}
"""Type of the rows, and compliance and parameters of a material, by model."""
