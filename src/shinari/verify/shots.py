"""Shots: nothing passes through, and what stops them is told.

A body is shot at a sheet that is held or free, and at a thin wall; contacts of shots sum to the change of momentum.
"""

from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.motion import Keyframes, rotation_matrix
from shinari.geometry.topology import grid
from shinari.scene.materials import ClothMaterial
from shinari.shapes.base import Shape
from shinari.shapes.box import Box
from shinari.shapes.hull import ConvexHull
from shinari.shapes.sphere import Sphere
from shinari.systems.paths.system import PathCertificates
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


def fly(
    scene: Scene, faces: np.ndarray, name: str, speed: float, substeps: int, precision: str
) -> tuple[Simulation, float, int]:
    """Run a shot for the time of its first four metres, 0.1 s at least.

    Returns:
        The simulation, the least distance of sheet and body in thicknesses, and frames in which the body is above.

    It is above where a ray down from its centre crosses the sheet, and the plane around that, an odd number of times.
    """
    sim = Simulation(scene, substeps=substeps, precision=precision)
    near, above = np.inf, 0
    for _ in range(max(6, round(60.0 * 4.0 / speed))):
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
            _, near, above = fly(scene, faces, name, speed, substeps, precision)
            case = f"{name} at {speed:g} m/s, {substeps} substeps"
            yield at_least(
                f"{case}: distance of the middle surface over thickness", 0.0, near, theory="it stays outside"
            )
            yield at_most(f"{case}: frames in which the body is above the sheet", 0.0, above, theory="the same side")


@check("a body is shot at a free sheet", _NO_WAY)
def free_sheet(precision: str) -> Iterator[Measurement]:
    """Momentum is kept, and energy only falls."""
    # at most 240 substeps of 1/1200 s round positions of up to 60 m: eps x / h each
    rounding = 240 * 1200 * 60.0 / 300.0 * float(np.finfo(precision).eps)
    for name, (shape, _) in BODIES.items():
        for speed, substeps in SPEEDS:
            scene, faces = sheet_scene(shape, speed, held=False)
            mass = scene.bodies[0].mass
            sim, near, _ = fly(scene, faces, name, speed, substeps, precision)
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


# ---- what stops a path is told ----

_CASES = ((80.0, 20), (300.0, 1))
# What lies flat on a collider is pushed at thirds of single precision, which sum to 1 + 3e-8.
_THIRD = abs(3.0 * float(np.float32(1.0 / 3.0)) - 1.0)
# A row rounds its force by 1e-16 of its stiffness, 1e6 m / h^2, times a displacement; ten times that for sums.
_STIFF = 1e-9


def _hull() -> ConvexHull:
    """Twelve points in a ball of `SIZE`."""
    corners = np.random.default_rng(1).normal(size=(12, 3))
    return ConvexHull(corners / np.linalg.norm(corners, axis=1).max() * 0.5 * SIZE)


def _at_held_sheet(speed: float) -> Scene:
    return sheet_scene(BODIES["cube"][0], speed, held=True)[0]


def _at_free_sheet(speed: float) -> Scene:
    return sheet_scene(BODIES["ball"][0], speed, held=False)[0]


def _at_wall(speed: float) -> Scene:
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_collider(Box((2.0, 0.01, 2.0)), position=(0.0, 0.005, 0.0))
    scene.add_rigid_body(_hull(), position=(0.0, -0.1, 0.0), velocity=(0.05 * speed, speed, 0.0))
    return scene


def _moving(speed: float) -> Keyframes:
    return Keyframes(np.array([0.0, 1.0]), np.array([[0.0, 0.0, 0.0], [0.0, speed, 0.0]]))


def _at_moving_wall(speed: float) -> Scene:
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_collider(Box((2.0, 0.01, 2.0)), motion=_moving(-0.5 * speed))
    scene.add_rigid_body(_hull(), position=(0.0, -0.1, 0.0), velocity=(0.05 * speed, 0.5 * speed, 0.0))
    return scene


def _at_each_other(speed: float) -> Scene:
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_rigid_body(BODIES["cube"][0], position=(0.0, -0.1, 0.0), velocity=(0.0, speed, 0.0))
    scene.add_rigid_body(_hull(), position=(0.004, 0.1, 0.0), velocity=(0.0, -0.5 * speed, 0.0))
    scene.add_rigid_body(Box((0.3, 0.005, 0.3)), position=(0.0, 0.16, 0.0))
    return scene


def _sheet(scene: Scene, at: tuple[float, float, float], speed: float) -> None:
    """A sheet that is not quite flat and flies down."""
    vertices, faces = grid(shape=(13, 13), size=(2.0 * HALF, 2.0 * HALF))
    bumps = 0.002 * np.random.default_rng(2).normal(size=vertices.shape)
    scene.add_cloth(
        (vertices + at + bumps, faces), material=ClothMaterial(thickness=THICKNESS, density=0.3),
        velocity=(0.0, -speed, 0.0),
    )  # fmt: skip


def _through_a_sheet(speed: float) -> Scene:
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    _sheet(scene, (0.0, 0.0, 0.0), 0.0)
    scene.add_rigid_body(BODIES["cube"][0], position=(0.0, -0.1, 0.0), velocity=(0.0, speed, 0.0))
    scene.add_rigid_body(BODIES["ball"][0], position=(0.005, 0.1, 0.0), velocity=(0.0, -speed, 0.0))
    return scene


def _two_sheets(speed: float) -> Scene:
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    _sheet(scene, (0.0, 0.0, 0.0), 0.0)
    _sheet(scene, (0.011, 0.05, 0.007), speed)
    return scene


def _sheet_at_moving_wall(speed: float) -> Scene:
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_collider(Box((0.1, 0.01, 0.1)), motion=_moving(0.5 * speed))
    _sheet(scene, (0.0, 0.1, 0.0), 0.5 * speed)
    return scene


_SCENES = {
    "cube at a held sheet": _at_held_sheet, "ball at a free sheet": _at_free_sheet, "hull at a wall": _at_wall,
    "hull at a moving wall": _at_moving_wall, "bodies at each other": _at_each_other,
    "bodies at a sheet between them": _through_a_sheet, "two sheets": _two_sheets,
    "sheet at a moving wall": _sheet_at_moving_wall,
}  # fmt: skip


def _momenta(sim: Simulation) -> dict[str, np.ndarray]:
    """Momenta [N s] of the bodies, and of the objects of which nothing is held."""
    found = {
        body.name: body.mass * velocity
        for body, velocity in zip(sim.scene.bodies, sim.state.body_velocities.astype(np.float64), strict=True)
    }
    for name, own in sim.model.object_ranges:
        masses = sim.model.masses[own.start : own.stop]
        if (masses > 0.0).all():
            found[name] = masses @ sim.state.velocities[own.start : own.stop].astype(np.float64)
    return found


def _rounding(sim: Simulation, pushed: float) -> float:
    """By how much a momentum may be wrong after a step in which so much was pushed [N s]."""
    settings, masses = sim.settings, sim.model.masses
    farthest = float(np.abs(sim.state.positions).max(initial=0.0))
    eps = float(np.finfo(sim.state.positions.dtype if len(masses) else np.float64).eps)
    thirds = _THIRD if len(masses) and sim.model.colliders else 0.0
    # each substep rounds the ends of the paths of the particles, and impulses are sums of numbers of that precision
    ends = settings.substeps * masses.sum() * farthest / settings.substep
    return eps * (ends + pushed) + (thirds + _STIFF) * pushed


@check("forces of what is stopped", "momentum: contacts of an object sum to the change of its momentum in every step")
def forces(precision: str) -> Iterator[Measurement]:
    """Shots whose paths are pushed apart, or that go on as one with what they meet, for four steps."""
    for name, build in _SCENES.items():
        for speed, substeps in _CASES:
            scene = build(speed)
            sim = Simulation(scene, substeps=substeps, precision=precision)
            certificates, impacts, error, allowed = sim._run.bound.get(PathCertificates), 0, 0.0, 0.0
            before = _momenta(sim)
            whole = max(float(np.linalg.norm(momentum)) for momentum in before.values())
            for _ in range(4):
                sim.step()
                impacts += certificates.impacts
                contacts, now = sim.contacts(), _momenta(sim)
                allowed = max(allowed, _rounding(sim, np.abs(contacts.forces).sum() * sim.settings.dt))
                for each, momentum in now.items():
                    told = contacts.forces[contacts.first == each].sum(axis=0)
                    told = (told - contacts.forces[contacts.second == each].sum(axis=0)) * sim.settings.dt
                    error = max(error, float(np.abs(momentum - before[each] - told).max()))
                before = now
            case = f"{name} at {speed:g} m/s, {substeps} substeps"
            yield at_most(f"{case}: error of the told impulse of a step over the momentum", 0.0, error / whole,
                          absolute=allowed / whole, theory="rounding of positions, impulses and weights")  # fmt: skip
            yield at_least(f"{case}: paths that were stopped", 1.0, impacts, theory="they do meet")
