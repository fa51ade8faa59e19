"""Sheets of strain rows: plane stress whatever the mesh."""

import math
from collections.abc import Iterator

import numpy as np

import shinari.verify.solid_scenes  # noqa: F401  registers "roller"
from shinari.api.scene import Scene
from shinari.geometry.topology import grid
from shinari.scene.materials import ClothMaterial
from shinari.verify.ledger import Measurement, check, equal, roundoff
from shinari.verify.scenes import small

_WIDTH, _CELLS, _DENSITY = 1.0, 4, 0.5


def _sheet() -> tuple[np.ndarray, np.ndarray]:
    """A square of 4 x 4 cells in the XZ plane, its inner vertices moved by up to a third of a cell."""
    vertices, faces = grid(shape=(_CELLS + 1, _CELLS + 1), size=(_WIDTH, _WIDTH))
    vertices = vertices - vertices.min(axis=0)
    inner = ((vertices[:, [0, 2]] > 0.01) & (vertices[:, [0, 2]] < _WIDTH - 0.01)).all(axis=1)
    moved = np.random.default_rng(2).uniform(-0.33, 0.33, vertices.shape) * _WIDTH / _CELLS * [1.0, 0.0, 1.0]
    return vertices + np.where(inner[:, None], moved, 0.0), faces


def _pulled(precision: str, material: ClothMaterial, strain: float, wave: float) -> tuple[float, float]:
    """Force per width [N/m] and change of width [m] of a sheet between rollers, longer by a strain along x."""
    vertices, faces = _sheet()
    speed = 1.0 / math.sqrt(material.stretch_compliance * material.density)
    scene = Scene(gravity=(0.0, 0.0, 0.0), damping=2.0 * speed / _WIDTH)
    scene.add_cloth((vertices, faces), material=material)

    def roll(axis: int, at: float, to: float) -> range:
        index = np.flatnonzero(np.abs(vertices[:, axis] - at) < 1e-9)
        return scene.add_constraint("roller", index[:, None], normal=np.eye(3)[axis], place=to * np.eye(3)[axis]).rows

    roll(0, 0.0, 0.0)
    roll(2, 0.0, 0.0)
    end = roll(0, _WIDTH, (1.0 + strain) * _WIDTH)
    h = wave * _WIDTH / _CELLS / speed
    sim = small(scene, precision, dt=100 * h, substeps=100, iterations=10)
    sim.state.positions = vertices * [1.0 + strain, 1.0, 1.0]
    sim.step(math.ceil(60.0 * _WIDTH / speed / (100 * h)))
    force = -float(sim.forces("roller")[end.start : end.stop].sum())
    wide = np.abs(vertices[:, 2] - _WIDTH) < 1e-9
    return force / _WIDTH, float(sim.state.positions[wide, 2].astype(np.float64).mean()) - _WIDTH


@check("plane stress of strain rows", "Mueller et al. 2014, Strain Based Dynamics; plane stress: E t e, sideways -nu e")
def plane_stress(precision: str) -> Iterator[Measurement]:
    """An irregular mesh pulled and pushed along its triangles' odd axes: half the differences of force and width."""
    wave, strain = (0.02, 1e-3) if precision == "float64" else (0.1, 0.02)
    blur = 4.0 * roundoff(precision) * _CELLS**2 / wave**2 / (2.0 * strain)
    theory = "the square of the strain; rows turn by a part of (E/rho) (h/cell)^2 in a substep; rounding"
    for compliance, nu in ((1e-3, 0.0), (1e-3, 0.3), (1e-4, None), (1e-3, 0.45)):
        material = ClothMaterial(
            density=_DENSITY, thickness=0.0, stretch_compliance=compliance, bend_stiffness=0.0,
            stretch_model="strain", poissons_ratio=nu)  # fmt: skip
        (pull, narrow), (push, wide) = (_pulled(precision, material, sign * strain, wave) for sign in (1, -1))
        case = f"1/c {1 / compliance:g} N/m, nu {'1/3' if nu is None else f'{nu:g}'}"
        yield equal(
            f"Young's modulus x thickness over 1 / c, {case}", 1.0, (pull - push) / (2.0 * strain) * compliance,
            absolute=wave**2 + strain**2 + blur, theory=theory)  # fmt: skip
        yield equal(
            f"Poisson's ratio, {case}", 1.0 / 3.0 if nu is None else nu, (wide - narrow) / (2.0 * strain * _WIDTH),
            absolute=wave**2 + strain**2 + blur, theory=theory)  # fmt: skip
