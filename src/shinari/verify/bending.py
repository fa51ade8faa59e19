"""The stiffness of a sheet, in its plane and against bending, against that of a plate."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.geometry.topology import face_normals_areas, grid
from shinari.scene.materials import ClothMaterial
from shinari.verify.ledger import Measurement, check, equal, roundoff
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


@check(
    "stiffness of a sheet in its plane",
    "plane stress, E t e^2 A / 2 at strain e with Poisson's ratio 1/3; Ostoja-Starzewski 2002 for the lattices",
)
def membrane_stiffness(precision: str) -> Iterator[Measurement]:
    """Stretch sheets uniformly along several directions, narrowed by a third across; their rows store E t e^2 A / 2."""
    strain, stiffness, size = 1e-3, 50.0, 0.5
    sheets = {
        "equilateral": equilateral_sheet(12, 14, size / 12),
        "squares": grid(shape=(13, 13), size=(size, size)),
        "squares, alternating": grid(shape=(13, 13), size=(size, size), diagonal="alternating"),
    }
    for name, (vertices, faces) in sheets.items():
        scene = Scene(gravity=(0.0, 0.0, 0.0))
        material = ClothMaterial(stretch_compliance=1.0 / stiffness, bend_stiffness=0.0)
        scene.add_cloth((vertices, faces), material=material)
        sim = small(scene, precision)
        area = face_normals_areas(vertices, faces)[1].sum()
        for degrees in (0.0, 25.0, 45.0, 90.0):
            along = np.array([math.cos(math.radians(degrees)), 0.0, math.sin(math.radians(degrees))])
            across = np.array([-along[2], 0.0, along[0]])
            sim.state.positions = (
                vertices
                + strain * np.outer(vertices @ along, along)
                - strain / 3.0 * np.outer(vertices @ across, across)
            )
            expected = 0.5 * stiffness * strain**2 * area
            # a row of 0.04 m is 4e-5 m longer; positions of 0.35 m are rounded
            rounding = 4.0 * roundoff(precision) * 0.35 / (strain * size / 12)
            yield equal(f"energy over that of the plate, {name}, along {degrees:g} degrees", 1.0,
                        sim.energy().elastic / expected, relative=2.0 * strain + rounding,
                        theory="length of a row to second order in the strain, and rounding")  # fmt: skip
