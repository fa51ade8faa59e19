"""The bending stiffness of a sheet against that of a plate."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.scene.materials import ClothMaterial
from shinari.scene.scene import Scene
from shinari.verify.ledger import Measurement, check, equal
from shinari.verify.scenes import small

STIFFNESS = 1e-3


def equilateral_sheet(columns: int, rows: int, side: float) -> tuple[np.ndarray, np.ndarray]:
    """Equilateral triangles in the XZ plane: vertices [m] and faces."""
    k = np.arange(columns * rows)
    x, z = k % columns, k // columns
    vertices = np.stack([side * (x + 0.5 * (z % 2)), np.zeros(len(k)), side * math.sqrt(0.75) * z], axis=1)
    faces = []
    for row in range(rows - 1):
        for column in range(columns - 1):
            a = row * columns + column
            b, c, d = a + 1, a + columns, a + columns + 1
            faces += [(a, c, b), (b, c, d)] if row % 2 == 0 else [(a, d, b), (a, c, d)]
    return vertices, np.array(faces)


@check(
    "bending stiffness of a sheet",
    "plate with Poisson's ratio 0 rolled to a cylinder, k_b A / (2 R^2); Seung and Nelson 1988 for the lattice",
)
def bending_stiffness(precision: str) -> Iterator[Measurement]:
    """Roll an equilateral sheet along several directions; its rows store what the plate stores."""
    columns, rows, side, radius = 40, 46, 0.025, 2.0
    vertices, faces = equilateral_sheet(columns, rows, side)
    area = len(faces) * math.sqrt(3.0) / 4.0 * side**2
    plate = 0.5 * STIFFNESS * area / radius**2
    for model in ("isometric", "dihedral"):
        scene = Scene(gravity=(0.0, 0.0, 0.0))
        material = ClothMaterial(stretch_compliance=0.0, bend_stiffness=STIFFNESS, bend_model=model)
        scene.add_cloth((vertices, faces), material=material)
        sim = small(scene, precision)
        for degrees in (0.0, 15.0, 30.0, 50.0, 90.0):
            along = np.array([math.cos(math.radians(degrees)), 0.0, math.sin(math.radians(degrees))])
            across = np.array([-along[2], 0.0, along[0]])
            s = vertices @ along
            up = np.array([0.0, 1.0, 0.0])
            sim.state.positions = (
                np.outer(radius * np.sin(s / radius), along)
                + np.outer(radius * (np.cos(s / radius) - 1.0), up)
                + np.outer(vertices @ across, across)
            )
            yield equal(f"energy over that of the plate, {model}, rolled along {degrees:g} degrees", 1.0,
                        sim.energy().elastic / plate, relative=2.0 * (1.0 / columns + 1.0 / rows),
                        theory="the rim, 2 / columns + 2 / rows of the sheet, has hinges on one side")  # fmt: skip
