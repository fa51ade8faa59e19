"""Scenes of cloth on meshes that are finer or sharper than its triangles."""

import math

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.motion import Keyframes, Motion
from shinari.geometry.topology import grid
from shinari.scene.materials import ClothMaterial
from shinari.shapes.mesh import Mesh
from shinari.verify.contact_scenes import Case, bumpy_ball

# The sheet: its size, its edges [m], and where its held side is [m].
SIZE, EDGE, SIDE = 0.24, 0.02, 0.12

Surface = tuple[np.ndarray, np.ndarray]


def plate(heights: np.ndarray, size: float, depth: float = 0.02) -> Surface:
    """Vertices and faces of a closed square plate with heights (n, n) [m] on a regular grid."""
    n = len(heights)
    x, z = (each.ravel() for each in np.meshgrid(*(np.linspace(-size / 2, size / 2, n),) * 2, indexing="ij"))
    top = np.stack([x, heights.ravel(), z], axis=1)
    bottom = np.stack([x, np.full(n * n, -depth), z], axis=1)
    i, j = (each.ravel() for each in np.meshgrid(np.arange(n - 1), np.arange(n - 1), indexing="ij"))
    a, b, c, d = i * n + j, i * n + j + 1, (i + 1) * n + j, (i + 1) * n + j + 1
    up = np.concatenate([np.stack([a, b, c], axis=1), np.stack([b, d, c], axis=1)])
    k = np.arange(n - 1)
    border = np.concatenate([k, k * n + n - 1, n * n - 1 - k, (n - 1 - k) * n])
    after = np.concatenate([k + 1, (k + 1) * n + n - 1, n * n - 2 - k, (n - 2 - k) * n])
    low = n * n
    walls = [np.stack([after, border, border + low], axis=1), np.stack([after, border + low, after + low], axis=1)]
    return np.concatenate([top, bottom]), np.concatenate([up, up[:, ::-1] + low, *walls])


def corrugated(wave: float, height: float = 0.004) -> Surface:
    """A plate of 12 cm with waves, askew to the edges of the sheet."""
    n = round(0.12 / wave * 6) + 1
    x, z = np.meshgrid(*(np.linspace(-0.06, 0.06, n),) * 2, indexing="ij")
    return plate(0.5 * height * np.sin(2 * math.pi * (x + 0.37 * z) / wave), 0.12)


def bumps(wave: float, height: float = 0.004) -> Surface:
    """A plate of 12 cm with small bumps."""
    n = round(0.12 / wave * 6) + 1
    x, z = np.meshgrid(*(np.linspace(-0.06, 0.06, n),) * 2, indexing="ij")
    return plate(0.5 * height * np.sin(2 * math.pi * x / wave) * np.sin(2 * math.pi * z / wave), 0.12)


def pyramid(sides: int, radius: float, height: float) -> Surface:
    """A closed pyramid, its foot at y = 0: a spike."""
    angle = 2 * math.pi * np.arange(sides) / sides
    foot = np.stack([radius * np.sin(angle), np.zeros(sides), radius * np.cos(angle)], axis=1)
    k, after = np.arange(sides), (np.arange(sides) + 1) % sides
    faces = [np.stack([k, after, np.full(sides, sides)], axis=1), np.stack([after, k, np.full(sides, sides + 1)], 1)]
    return np.concatenate([foot, [[0.0, height, 0.0], [0.0, -0.01, 0.0]]]), np.concatenate(faces)


def ridge(width: float, height: float) -> Surface:
    """A roof of 12 cm, askew to the edges of the sheet: a sharp edge."""
    x, z, turn = 0.5 * width, 0.06, 0.3
    points = np.array([[-x, 0, -z], [x, 0, -z], [0, height, -z], [-x, 0, z], [x, 0, z], [0, height, z]])
    c, s = math.cos(turn), math.sin(turn)
    points = points @ np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
    faces = [[0, 2, 1], [3, 4, 5], [0, 3, 5], [0, 5, 2], [1, 2, 5], [1, 5, 4], [0, 1, 4], [0, 4, 3]]
    return points, np.array(faces)


SURFACES = {
    "plate with waves of 8 mm": lambda: corrugated(0.008),
    "plate with waves of 20 mm": lambda: corrugated(0.02, 0.008),
    "plate with bumps of 8 mm": lambda: bumps(0.008),
    "plate with bumps of 14 mm": lambda: bumps(0.014, 0.007),
    "ball of 12 cm with edges of 5 mm": lambda: bumpy_ball(0.06, 0.0, 40),
    "spike": lambda: pyramid(6, 0.02, 0.05),
    "roof": lambda: ridge(0.06, 0.05),
}
"""Closed surfaces by name, with features finer or sharper than the triangles of the sheet."""


def dragged(surface: Surface, *, thickness: float = 0.004, motion: Motion | None = None, speed: float = 0.3) -> Case:
    """A sheet with triangles of 2 cm falls on a mesh and is then drawn over it by one of its sides."""
    scene = Scene()
    top = float(surface[0][:, 1].max())
    count = round(SIZE / EDGE) + 1
    material = ClothMaterial(density=0.2, thickness=thickness, friction=0.3)
    mesh = grid(shape=(count, count), size=(SIZE, SIZE), diagonal="alternating")
    sheet = scene.add_cloth(mesh, material=material, position=(0.0, top + thickness, 0.003), self_collision="triangles")
    side = sheet.where(lambda x: x[:, 0] > SIDE - 1e-6)
    sheet.pin(side)
    begin = sheet.positions[side].copy()
    scene.add_collider(Mesh(*surface), friction=0.3, motion=motion)

    def drive(sim: Simulation) -> None:
        gone = speed * max(sim.time + sim.settings.dt - 0.3, 0.0)
        sim.positions(sheet)[side] = begin + np.array([gone, 0.0, 0.0])

    return Case(scene, 0.7, gap=thickness, mesh=surface, drive=drive)


def turning() -> Motion:
    """It turns about the vertical by half a turn a second, and rises and falls."""
    times = np.linspace(0.0, 0.7, 15)
    half = 0.5 * math.pi * times
    heights = 0.02 * np.sin(2 * math.pi * times)
    zero = np.zeros(len(times))
    turns = np.stack([np.cos(half), zero, np.sin(half), zero], axis=1)
    return Keyframes(times, np.stack([zero, heights, zero], axis=1), turns)
