"""Scenes of the benchmarks: the hanging sheet (it ships with the package, for `shinari bench`), and a flag in wind."""

import numpy as np

import shinari as sn
from shinari.bench.sheet import BEND_STIFFNESS, DT, STIFFNESS, Case, Sheet

__all__ = ["BEND_STIFFNESS", "DT", "STIFFNESS", "Case", "Sheet", "flag"]


def flag(columns: int = 40, rows: int = 30) -> sn.Scene:
    """A flag of 1.2 x 0.9 m in a breeze, with separate stretch, shear and bending, held along its pole."""
    scene = sn.Scene(wind=(4.0, 0.0, 1.0))
    x, y = np.meshgrid(np.linspace(0.0, 1.2, columns), np.linspace(1.0, 1.9, rows))
    vertices = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
    at = np.arange(x.size).reshape(rows, columns)
    a, b, c, d = (corner.ravel() for corner in (at[:-1, :-1], at[:-1, 1:], at[1:, :-1], at[1:, 1:]))
    faces = np.concatenate([np.stack([a, b, d], axis=1), np.stack([a, d, c], axis=1)])
    material = sn.ClothMaterial(stretch_compliance=1e-5, shear_compliance=1e-4, bend_stiffness=1e-5)
    cloth = scene.add_cloth((vertices, faces), material=material, name="flag")
    cloth.pin(at[:, 0])
    return scene
