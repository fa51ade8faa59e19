"""Scenes in which objects must not pass through each other, shared by the ledger and by the tests of intersections."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.motion import Keyframes, rotation_matrix
from shinari.geometry.topology import grid
from shinari.scene.handle import Handle
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.shapes.box import Box
from shinari.shapes.mesh import Mesh
from shinari.shapes.plane import Plane
from shinari.shapes.sphere import Sphere
from shinari.verify.clearance import SignedDistance
from shinari.verify.scenes import small

THICKNESS = 0.004


@dataclass
class Case:
    """A scene with what is needed to run and to judge it.

    Attributes:
        scene: The scene.
        seconds: How long to run it [s].
        gap: Distance that surfaces keep [m].
        solids: Signed distance [m] of points in the frame of a collider, by its index.
        mesh: Vertices and faces of a mesh collider, the first collider of the scene, or None.
        drive: Writes before each step where pinned particles are to be at its end; None: they stay.
        settings: Settings of the simulation.
    """

    scene: Scene
    seconds: float
    gap: float = THICKNESS
    solids: dict[int, SignedDistance] = field(default_factory=dict)
    mesh: tuple[np.ndarray, np.ndarray] | None = None
    drive: Callable[[Simulation], None] | None = None
    settings: dict[str, Any] = field(default_factory=lambda: {"substeps": 20})

    def simulation(self, precision: str) -> Simulation:
        """A simulation on one thread that never rests."""
        return small(self.scene, precision, **self.settings)

    def step(self, sim: Simulation) -> None:
        """One frame."""
        if self.drive is not None:
            self.drive(sim)
        sim.step()

    def triangles(self) -> np.ndarray:
        """Triangles of all sheets, by global particles, (F, 3)."""
        parts = [np.zeros((0, 3), np.int64)]
        start = 0
        for obj in self.scene.particle_objects:
            if obj.faces is not None:
                parts.append(obj.faces.astype(np.int64) + start)
            start += len(obj.positions)
        return np.concatenate(parts)

    def segments(self) -> np.ndarray:
        """Segments of all ropes, by global particles, (S, 2)."""
        parts = [np.zeros((0, 2), np.int64)]
        start = 0
        for obj in self.scene.particle_objects:
            if obj.kind == "rope":
                first = start + np.arange(len(obj.positions) - 1)
                parts.append(np.stack([first, first + 1], axis=1))
            start += len(obj.positions)
        return np.concatenate(parts)

    def in_solids(self, sim: Simulation) -> list[tuple[np.ndarray, SignedDistance]]:
        """Positions [m] of all particles in the frame of each solid, with its distance."""
        if not self.solids:
            return []
        places, turns = sim.collider_poses()
        x = sim.state.positions.astype(np.float64)
        return [((x - places[k]) @ rotation_matrix(turns[k]), distance) for k, distance in self.solids.items()]

    def in_mesh(self, sim: Simulation) -> np.ndarray:
        """Positions [m] of all particles in the frame of the mesh, in double precision."""
        places, turns = sim.collider_poses()
        return (sim.state.positions.astype(np.float64) - places[0]) @ rotation_matrix(turns[0])


def sphere_distance(radius: float) -> SignedDistance:
    """Signed distance of a ball."""
    return lambda x: np.linalg.norm(x, axis=-1) - radius


def box_distance(size: tuple[float, float, float]) -> SignedDistance:
    """Signed distance of a box."""

    def distance(x: np.ndarray) -> np.ndarray:
        q = np.abs(x) - 0.5 * np.array(size)
        return np.linalg.norm(np.maximum(q, 0.0), axis=-1) + np.minimum(q.max(axis=-1), 0.0)

    return distance


def plane_distance(x: np.ndarray) -> np.ndarray:
    """Signed distance of the half space below y = 0."""
    return x[..., 1]


def on_sphere() -> Case:
    """A sheet of 50 cm falls on a ball of 40 cm."""
    scene = Scene()
    _sheet(scene, 26, 0.5, (0.03, 0.25, 0.01), velocity=(0.0, -1.0, 0.0))
    ball = scene.add_collider(Sphere(0.2))
    return Case(scene, 1.0, solids={ball.index: sphere_distance(0.2)})


def on_cube_edge() -> Case:
    """A sheet of 50 cm falls on the edge of a cube that is turned by 45 degrees."""
    scene, size = Scene(), (0.3, 0.3, 0.3)
    _sheet(scene, 26, 0.5, (0.02, 0.27, 0.0), velocity=(0.0, -1.0, 0.0))
    half = math.radians(22.5)
    cube = scene.add_collider(Box(size), rotation=(math.cos(half), math.sin(half), 0.0, 0.0))
    return Case(scene, 1.0, solids={cube.index: box_distance(size)})


def bumpy_ball(radius: float, bumps: float, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces of a closed ball with smooth bumps, star shaped about its centre."""
    angle, around = np.linspace(0.0, math.pi, rows + 1)[1:-1], np.arange(2 * rows) * math.pi / rows
    a, b = np.meshgrid(angle, around, indexing="ij")
    r = radius * (1.0 + bumps * np.sin(5.0 * a) * np.sin(6.0 * b) * np.sin(a) ** 2)
    rings = np.stack([r * np.sin(a) * np.sin(b), r * np.cos(a), r * np.sin(a) * np.cos(b)], axis=-1)
    vertices = np.concatenate([rings.reshape(-1, 3), [[0.0, radius, 0.0], [0.0, -radius, 0.0]]])
    n, count = 2 * rows, rows - 1
    i, j = (k.ravel() for k in np.meshgrid(np.arange(count - 1), np.arange(n), indexing="ij"))
    p, q, s, t = i * n + j, i * n + (j + 1) % n, (i + 1) * n + j, (i + 1) * n + (j + 1) % n
    j = np.arange(n)
    top, last = len(vertices) - 2, (count - 1) * n
    caps = (np.full(n, top), j, (j + 1) % n), (np.full(n, top + 1), last + (j + 1) % n, last + j)
    return vertices, np.concatenate([np.stack(three, axis=1) for three in ((p, s, q), (q, s, t), *caps)])


def on_mesh() -> Case:
    """A sheet of 50 cm falls on a closed mesh with bumps, 2208 triangles, smaller than those of the sheet."""
    scene = Scene()
    mesh = bumpy_ball(0.2, 0.12, 24)
    _sheet(scene, 26, 0.5, (0.02, 0.27, 0.01), velocity=(0.0, -1.0, 0.0))
    scene.add_collider(Mesh(*mesh))
    return Case(scene, 1.0, mesh=mesh)


def crossing(offset: float, substeps: int) -> Case:
    """Two free sheets fly at each other at 10 m/s."""
    scene = Scene(gravity=(0, 0, 0))
    tilt = (math.cos(0.1), 0.0, math.sin(0.1), 0.0)
    _sheet(scene, 16, 0.3, (offset, 0.05, 0.4 * offset), velocity=(0, -5.0, 0))
    _sheet(scene, 16, 0.3, (0, -0.05, 0), velocity=(0, 5.0, 0), rotation=tilt)
    return Case(scene, 0.2, settings={"substeps": substeps})


def twisted(turns: float = 5.0) -> Case:
    """A strip of 60 x 4 cm is twisted about its length while its ends approach, so that it coils up."""
    scene = Scene(damping=1.0)
    material = ClothMaterial(density=0.2, thickness=0.002, friction=0.2)
    strip = scene.add_cloth(grid(shape=(61, 5), size=(0.6, 0.04)), material=material, self_collision="triangles")
    ends = [strip.where(lambda x, s=s: s * x[:, 0] > 0.295) for s in (-1.0, 1.0)]
    start = [strip.positions[end].copy() for end in ends]
    strip.pin(np.concatenate(ends))
    time = 3.0

    def drive(sim: Simulation) -> None:
        part = min((sim.time + sim.settings.dt) / time, 1.0)
        for side, end, at in zip((-1.0, 1.0), ends, start, strict=True):
            angle = side * part * turns * math.pi
            place = rotation_matrix(np.array([math.cos(0.5 * angle), math.sin(0.5 * angle), 0.0, 0.0])) @ at.T
            sim.positions(strip)[end] = place.T - [side * 0.15 * part, 0.0, 0.0]

    return Case(scene, time + 0.5, gap=0.002, drive=drive)


def stack(count: int = 8) -> Case:
    """Sheets of 16 cm fall on each other, each turned by another angle, and come to rest on the ground."""
    scene = Scene(damping=1.0)
    for k in range(count):
        half = 0.35 * k
        turn = (math.cos(half), 0.0, math.sin(half), 0.0)
        _sheet(scene, 9, 0.16, (0.004 * (k % 3), 0.01 + 0.012 * k, 0.003 * (k % 2)), rotation=turn)
    ground = scene.add_collider(Plane())
    return Case(scene, 3.0, solids={ground.index: plane_distance})


def overhand(radius: float, spacing: float) -> np.ndarray:
    """Points [m] of a loose overhand knot, (N, 3): x = t^3 - 3 t, y = t^4 - 4 t^2, z = t^5 - 10 t, with long ends.

    Shastri 1992, Polynomial representations of knots; z is flattened, which leaves the knot as it is.
    """
    t = np.linspace(-2.1, 2.1, 4001)
    curve = np.stack([t**3 - 3 * t, t**4 - 4 * t**2, 0.25 * (t**5 - 10 * t)], axis=1) * 3.0 * radius
    displacement = curve[-1] - curve[-2]
    tail = np.linspace(0.0, 0.25, 500)[1:, None] * (displacement / np.linalg.norm(displacement))
    back = tail * [1.0, -1.0, 1.0]
    curve = np.concatenate([(curve[0] - back)[::-1], curve, curve[-1] + tail])
    arc = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    at = np.linspace(0.0, arc[-1], round(arc[-1] / spacing) + 1)
    return np.stack([np.interp(at, arc, curve[:, k]) for k in range(3)], axis=1)


def knot() -> Case:
    """An overhand knot in a rope of 1 cm is pulled tight by its ends."""
    radius = 0.005
    scene = Scene(gravity=(0, 0, 0), damping=2.0)
    points = overhand(radius, 0.01)
    rope = scene.add_rope(points, material=RopeMaterial(radius=radius, density=0.05), self_collision=True)
    rope.pin([0, len(points) - 1])
    length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
    displacement = points[-1] - points[0]
    apart = float(np.linalg.norm(displacement))
    final, time = length - 11 * 2 * radius, 2.0

    def drive(sim: Simulation) -> None:
        part = min((sim.time + sim.settings.dt) / time, 1.0)
        grown = 0.5 * part * (final - apart) * displacement / apart
        sim.positions(rope)[0] = points[0] - grown
        sim.positions(rope)[-1] = points[-1] + grown

    return Case(scene, time + 0.5, gap=2 * radius, drive=drive)


def gripped() -> Case:
    """Two jaws push a sheet together on the ground and a plate presses what buckles up on the ground, then lifts."""
    scene = Scene(damping=0.5)
    material = ClothMaterial(density=0.2, thickness=THICKNESS, friction=0.3, bend_stiffness=5e-3)
    vertices, faces = grid(shape=(21, 11), size=(0.3, 0.15), diagonal="alternating")
    # an arch that is stiff enough to stand: pushed flat together, a sheet would not know to which side to buckle
    vertices[:, 1] = 0.02 * (1.0 + np.cos(vertices[:, 0] * math.pi / 0.15))
    scene.add_cloth((vertices, faces), material=material, position=(0, 0.003, 0), self_collision="triangles")
    solids: dict[int, SignedDistance] = {scene.add_collider(Plane()).index: plane_distance}
    jaw, plate = (0.04, 0.3, 0.4), (0.128, 0.04, 0.4)
    times = np.array([0.0, 0.1, 0.9, 2.0])
    for side in (-1.0, 1.0):
        x = side * np.array([0.18, 0.18, 0.09, 0.09])
        motion = Keyframes(times, np.stack([x, np.full(4, 0.1501), np.zeros(4)], axis=1))
        solids[scene.add_collider(Box(jaw), motion=motion, friction=0.5).index] = box_distance(jaw)
    times = np.array([0.0, 0.9, 1.6, 1.8, 2.2])
    y = np.array([0.25, 0.25, 0.05, 0.05, 0.2])
    motion = Keyframes(times, np.stack([np.zeros(5), y, np.zeros(5)], axis=1))
    solids[scene.add_collider(Box(plate), motion=motion, friction=0.5).index] = box_distance(plate)
    return Case(scene, 2.2, solids=solids)


def _sheet(
    scene: Scene, count: int, size: float, position: tuple[float, float, float], *, friction: float = 0.3, **more: Any
) -> Handle:
    """A sheet that collides with itself."""
    mesh = grid(shape=(count, count), size=(size, size), diagonal="alternating")
    material = ClothMaterial(density=0.2, thickness=THICKNESS, friction=friction)
    return scene.add_cloth(mesh, material=material, position=position, self_collision="triangles", **more)
