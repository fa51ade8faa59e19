"""Nothing passes through: a body shot at a sheet that is held or free, and at a thin wall."""

from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.motion import rotation_matrix
from shinari.geometry.topology import grid
from shinari.scene.materials import ClothMaterial
from shinari.shapes.base import Shape
from shinari.shapes.box import Box
from shinari.shapes.hull import ConvexHull
from shinari.shapes.sphere import Sphere
from shinari.verify.clearance import least_signed_distance
from shinari.verify.ledger import Measurement, at_least, at_most, check

_NO_WAY = "conservative advancement: Li, Kaufman and Jiang 2021, algorithm 1; rigid zones: Provot 1997"
SIZE, THICKNESS, HALF = 0.04, 0.004, 0.15
SPEEDS = ((20.0, 5), (80.0, 20), (300.0, 1), (300.0, 20))


def box_distance(points: np.ndarray) -> np.ndarray:
    """Signed distance [m] of points (N, 3) from a cube of edge `SIZE`."""
    q = np.abs(points) - 0.5 * SIZE
    return np.linalg.norm(np.maximum(q, 0.0), axis=1) + np.minimum(q.max(axis=1), 0.0)


def sphere_distance(points: np.ndarray) -> np.ndarray:
    """Signed distance [m] of points (N, 3) from a ball of diameter `SIZE`."""
    return np.linalg.norm(points, axis=1) - 0.5 * SIZE


BODIES = {"cube": (Box((SIZE, SIZE, SIZE)), box_distance), "ball": (Sphere(0.5 * SIZE), sphere_distance)}


def sheet_scene(shape: Shape, speed: float, held: bool) -> tuple[Scene, np.ndarray]:
    """A body below a level sheet of 0.3 m that it flies at; and the triangles."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    vertices, faces = grid(shape=(15, 15), size=(2.0 * HALF, 2.0 * HALF))
    sheet = scene.add_cloth((vertices, faces), material=ClothMaterial(thickness=THICKNESS, density=0.3))
    if held:
        x = vertices - vertices.mean(axis=0)
        sheet.pin(np.flatnonzero(np.abs(x[:, [0, 2]]).max(axis=1) > HALF * (1.0 - 1e-9)))
    scene.add_rigid_body(shape, position=(0.013, -0.1, 0.007), velocity=(0.0, speed, 0.0))
    return scene, np.asarray(faces)


def crossings_below(sheet: np.ndarray, point: np.ndarray) -> int:
    """How often a ray straight down from a point (3,) crosses triangles (F, 3, 3)."""
    x, z = sheet[:, :, 0] - point[0], sheet[:, :, 2] - point[2]
    areas = np.stack([x[:, k] * z[:, (k + 1) % 3] - z[:, k] * x[:, (k + 1) % 3] for k in range(3)], axis=1)
    over = (areas > 0.0).all(axis=1) | (areas < 0.0).all(axis=1)
    weights = areas[over][:, [1, 2, 0]] / areas[over].sum(axis=1, keepdims=True)
    return int(((weights * sheet[over, :, 1]).sum(axis=1) < point[1]).sum())


def fly(scene: Scene, faces: np.ndarray, name: str, substeps: int, precision: str) -> tuple[Simulation, float, int]:
    """Run 0.2 s: the simulation, least distance of sheet and body in thicknesses, frames in which the body is above.

    It is above where a ray down from its centre crosses the sheet, and the plane around that, an odd number of times.
    """
    sim = Simulation(scene, substeps=substeps, precision=precision)
    near, above = np.inf, 0
    for _ in range(12):
        sim.step()
        x, at = sim.state.positions.astype(np.float64), sim.state.body_positions[0].astype(np.float64)
        turn = rotation_matrix(sim.state.body_rotations[0])
        near = min(near, least_signed_distance((x - at) @ turn, faces, BODIES[name][1]) / THICKNESS)
        outside = max(abs(at[0]), abs(at[2])) > HALF and at[1] > 0.0
        above += (crossings_below(x[faces], at) + outside) % 2
    return sim, near, above


@check("a body is shot at a sheet that is held at its edges", _NO_WAY)
def held_sheet(precision: str) -> Iterator[Measurement]:
    """A cube and a ball of 40 mm, 64 g and 33 g, at a sheet of 0.3 m and 4 mm."""
    for name, (shape, _) in BODIES.items():
        for speed, substeps in SPEEDS:
            scene, faces = sheet_scene(shape, speed, held=True)
            _, near, above = fly(scene, faces, name, substeps, precision)
            case = f"{name} at {speed:g} m/s, {substeps} substeps"
            yield at_least(
                f"{case}: distance of the middle surface over thickness", 0.0, near, theory="it stays outside"
            )
            yield at_least(
                f"{case}: height of the sheet above the body over its size", 0.0, above, theory="the same side"
            )


@check("a body is shot at a free sheet", _NO_WAY)
def free_sheet(precision: str) -> Iterator[Measurement]:
    """Momentum is kept, and energy only falls."""
    # 240 substeps of 1/1200 s round positions of up to 60 m: eps x / h each
    rounding = 240 * 1200 * 60.0 / 300.0 * float(np.finfo(precision).eps)
    for name, (shape, _) in BODIES.items():
        for speed, substeps in SPEEDS:
            scene, faces = sheet_scene(shape, speed, held=False)
            mass = scene.bodies[0].mass
            sim, near, _ = fly(scene, faces, name, substeps, precision)
            case = f"{name} at {speed:g} m/s, {substeps} substeps"
            change = float(np.linalg.norm(sim.momentum() - [0.0, mass * speed, 0.0])) / (mass * speed)
            yield at_most(f"{case}: change of momentum", rounding, change, theory="rounding of positions and poses")
            energy = sim.energy().total / (0.5 * mass * speed**2)
            yield at_most(
                f"{case}: energy over that of the shot", 1.0 + rounding, energy, theory="impacts only take it"
            )
            yield at_least(
                f"{case}: distance of the middle surface over thickness", 0.0, near, theory="it stays outside"
            )


@check("a body is shot at a thin wall", _NO_WAY)
def thin_wall(precision: str) -> Iterator[Measurement]:
    """A hull and a cube of 40 mm at a wall of 10 mm."""
    corners = np.random.default_rng(1).normal(size=(12, 3))
    hull = ConvexHull(corners / np.linalg.norm(corners, axis=1).max() * 0.5 * SIZE)
    for name, shape in (("hull", hull), ("cube", Box((SIZE, SIZE, SIZE)))):
        for speed, substeps in SPEEDS:
            scene = Scene(gravity=(0.0, 0.0, 0.0))
            scene.add_collider(Box((2.0, 0.01, 2.0)), position=(0.0, 0.005, 0.0))
            scene.add_rigid_body(shape, position=(0.0, -0.1, 0.0), velocity=(0.05 * speed, speed, 0.0))
            sim, highest = Simulation(scene, substeps=substeps, precision=precision), -np.inf
            for _ in range(6):
                sim.step()
                highest = max(highest, float(sim.state.body_positions[0][1]))
            yield at_most(f"{name} at {speed:g} m/s, {substeps} substeps: height of its centre [m]", 0.0, highest,
                          theory="it stays before the wall")  # fmt: skip
