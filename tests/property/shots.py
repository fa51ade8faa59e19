"""Random shots: fast objects at thin ones, and a test of each frame that shares nothing with the contact solver.

A shot is at most 300 m/s fast; the bodies measure 5 mm to 1 m, the sheets and walls 1 to 20 mm; there are 1 to 20
substeps. An object has passed when it is on the far side of the sheet or wall, or when triangles of both intersect.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import trimesh
from passing import Passed, beyond
from substep_positions import Trace

import shinari as sn
from intersections import intersecting
from shinari.geometry.topology import grid

Check = Callable[[sn.Simulation], str]
SHAPES = ("sphere", "box", "capsule", "cylinder", "hull", "mesh", "compound")
HALF = 0.5


@dataclass
class Shot:
    """A scene to run, its settings and what says whether something has passed.

    Attributes:
        scene: The scene.
        settings: Arguments of `Simulation`.
        frames: Frames to run.
        check: Says what has passed after a frame; an empty string: nothing.
        name: What it is, with its numbers.
        follow: Called with the simulation before its first step.
    """

    scene: sn.Scene
    settings: dict
    frames: int
    check: Check
    name: str
    follow: Callable[[sn.Simulation], None] = lambda simulation: None

    def run(self) -> str:
        """What has passed, in which frame; an empty string: nothing."""
        sim = sn.Simulation(self.scene, threads=1, **self.settings)
        self.follow(sim)
        for frame in range(self.frames):
            try:
                sim.step()
            except sn.DivergenceError as error:
                return f"frame {frame}: {error}"
            found = self.check(sim)
            if found:
                return f"frame {frame}: {found}"
        return ""


def _rotation(rng: np.random.Generator) -> np.ndarray:
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def turned(q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Points (..., 3) turned by a quaternion w x y z."""
    w, v = q[0], q[1:]
    return x + 2.0 * np.cross(v, np.cross(v, x) + w * x)


def projectile(rng: np.random.Generator, kind: str, size: float) -> tuple[object, np.ndarray, np.ndarray]:
    """A shape of a size [m], triangles (F, 3, 3) inside or on it, and points (N, 3) in its middle, in its axes."""
    middle = np.zeros((1, 3))
    if kind == "sphere":
        mesh = trimesh.creation.icosphere(2, 0.5 * size)
        shape = sn.Sphere(0.5 * size)
    elif kind == "box":
        edges = size * rng.uniform(0.3, 1.0, 3)
        mesh, shape = trimesh.creation.box(edges), sn.Box(edges)
    elif kind in ("capsule", "cylinder"):
        radius, length = 0.15 * size, 0.7 * size
        shape = sn.Capsule(radius, length) if kind == "capsule" else sn.Cylinder(radius, length)
        mesh = trimesh.creation.capsule(length, radius, count=[12, 12]) if kind == "capsule" else \
            trimesh.creation.cylinder(radius, length, sections=16)  # fmt: skip
        v = np.asarray(mesh.vertices)
        if kind == "capsule":
            v = v - [0, 0, 0.5 * (v[:, 2].max() + v[:, 2].min())]
        mesh = trimesh.Trimesh(v[:, [1, 2, 0]], mesh.faces, process=False)
    elif kind == "hull":
        mesh = trimesh.convex.convex_hull(rng.normal(size=(12, 3)))
        mesh.apply_translation(-mesh.center_mass)
        mesh.apply_scale(size / mesh.extents.max())
        shape = sn.ConvexHull(mesh.vertices)
    elif kind == "mesh":
        mesh = trimesh.creation.torus(0.35 * size, 0.13 * size, major_sections=16, minor_sections=8)
        shape = sn.Mesh(mesh.vertices, mesh.faces)
        # a sheet may stay behind in the hole
        angle = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
        middle = 0.35 * size * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    else:
        long, short = (size, 0.3 * size, 0.3 * size), (0.3 * size, 0.9 * size, 0.3 * size)
        shape = sn.Compound([sn.Box(long), sn.Box(short)])
        mesh = trimesh.util.concatenate([trimesh.creation.box(long), trimesh.creation.box(short)])
    return shape, np.asarray(mesh.triangles), middle


def body_triangles(sim: sn.Simulation, triangles: np.ndarray, index: int = 0) -> np.ndarray:
    """Triangles of a body in the world."""
    x, q = sim.state.body_positions[index], sim.state.body_rotations[index]
    return turned(np.asarray(q), triangles) + x


def settings(rng: np.random.Generator, **fixed) -> dict:
    """Random settings of a simulation."""
    chosen = {"substeps": int(rng.integers(1, 21)), "precision": str(rng.choice(["float32", "float64"]))}
    return chosen | fixed


def _middle_beyond(sim: sn.Simulation, middle: np.ndarray, sheet: np.ndarray, half: float) -> bool:
    """Whether a point in the middle of the first body is beyond a sheet."""
    x, v = body_triangles(sim, middle), np.asarray(sim.state.body_velocities[:1], np.float64)
    return bool(beyond(sheet, x, half, np.repeat(v, len(x), axis=0)).any())


@dataclass
class Numbers:
    """Numbers of a shot."""

    speed: float
    size: float
    thickness: float
    density: float

    @classmethod
    def random(cls, rng: np.random.Generator, least: float = 0.005) -> "Numbers":
        """Evenly distributed in their logarithms."""
        log = lambda low, high: float(np.exp(rng.uniform(np.log(low), np.log(high))))  # noqa: E731
        return cls(log(3.0, 300.0), log(least, 1.0), log(0.001, 0.02), log(100.0, 8000.0))

    def __str__(self) -> str:
        return (f"{self.speed:.3g} m/s, size {self.size * 1e3:.3g} mm, thickness {self.thickness * 1e3:.3g} mm, "
                f"{self.density:.3g} kg/m^3")  # fmt: skip


def sheet_mesh(n: Numbers, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """A square sheet in z = 0 for a projectile, and half of its edge."""
    half = max(1.2 * n.size, 8.0 * n.thickness)
    count = int(rng.integers(6, 22))
    vertices, faces = grid(shape=(count, count), size=(2.0 * half, 2.0 * half))
    vertices = np.asarray(vertices)
    flat = np.argsort(np.ptp(vertices, axis=0))
    vertices = vertices[:, [flat[1], flat[2], flat[0]]]
    vertices = vertices - 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    return vertices, faces, half


def add_sheet(scene: sn.Scene, n: Numbers, rng: np.random.Generator, held: bool):
    vertices, faces, half = sheet_mesh(n, rng)
    edge = float(np.linalg.norm(vertices[faces[:, 0]] - vertices[faces[:, 1]], axis=1).min())
    material = sn.ClothMaterial(thickness=min(n.thickness, 0.9 * edge), density=float(rng.uniform(0.1, 1.0)))
    among = "triangles" if rng.random() < HALF else False
    cloth = scene.add_cloth((vertices, faces), material=material, self_collision=among)
    if held:
        cloth.pin(np.flatnonzero(np.abs(vertices[:, :2]).max(axis=1) > half * (1 - 1e-9)))
    return cloth, faces, half


def add_projectile(scene: sn.Scene, n: Numbers, rng: np.random.Generator, kind: str, start: float, spread: float):
    """Add a body that flies along z from z = -start; its triangles, and points in its middle."""
    shape, triangles, middle = projectile(rng, kind, n.size)
    spin = rng.normal(size=3) * rng.choice([0.0, 1.0]) * 0.3 * n.speed / n.size
    x, y = rng.uniform(-spread, spread, 2)
    velocity = np.array([*rng.uniform(-0.3, 0.3, 2) * rng.choice([0, 1]), 1.0])
    velocity *= n.speed / np.linalg.norm(velocity)
    reach = float(np.linalg.norm(triangles, axis=2).max())
    scene.add_rigid_body(shape, density=n.density, position=(x, y, -start - reach), rotation=_rotation(rng),
                         velocity=velocity, angular_velocity=spin)  # fmt: skip
    return triangles, middle


def body_at_sheet(rng: np.random.Generator, held: bool = True) -> Shot:
    """A body at a sheet."""
    scene, n, kind = sn.Scene(gravity=(0, 0, 0)), Numbers.random(rng), str(rng.choice(SHAPES))
    cloth, faces, half = add_sheet(scene, n, rng, held)
    triangles, middle = add_projectile(scene, n, rng, kind, n.thickness + rng.uniform(0, n.speed / 60), 0.5 * half)
    chosen = settings(rng)

    def check(sim: sn.Simulation) -> str:
        x = np.asarray(sim.positions(cloth), np.float64)
        if not np.isfinite(x).all():
            return "not finite"
        solid = body_triangles(sim, triangles)
        if held and _middle_beyond(sim, middle, x[faces], half):
            return "the middle is beyond"
        pairs = intersecting(x[faces], solid)
        return f"{len(pairs)} pairs of triangles intersect" if len(pairs) else ""

    return Shot(
        scene, chosen, 6, check, f"{kind} at a {'held' if held else 'free'} sheet of {len(faces)}, {n}, {chosen}"
    )


def body_at_free_sheet(rng: np.random.Generator) -> Shot:
    """A body at a free sheet: the particles on its path are carried along."""
    return body_at_sheet(rng, held=False)


def wall(rng: np.random.Generator, n: Numbers, half: float):
    """A thin wall in z = 0."""
    if rng.random() < HALF:
        return sn.Box((2 * half, 2 * half, n.thickness)), "box"
    mesh = trimesh.creation.box((2 * half, 2 * half, n.thickness)).subdivide().subdivide()
    return sn.Mesh(mesh.vertices, mesh.faces), "mesh"


def body_at_wall(rng: np.random.Generator) -> Shot:
    """A body at a thin wall."""
    scene, n, kind = sn.Scene(gravity=(0, 0, 0)), Numbers.random(rng), str(rng.choice(SHAPES))
    half = 8.0 * n.size + 0.2
    shape, what = wall(rng, n, half)
    scene.add_collider(shape)
    triangles, _ = add_projectile(scene, n, rng, kind, n.thickness + rng.uniform(0, n.speed / 60), 0.0)
    chosen = settings(rng)

    def check(sim: sn.Simulation) -> str:
        x, solid = np.asarray(sim.state.body_positions[0]), body_triangles(sim, triangles)
        if np.abs(x[:2]).max() < 4.0 * n.size and x[2] > 0.0:
            return "the centre is beyond"
        corners = solid.reshape(-1, 3)
        there = np.abs(corners[:, :2]).max(axis=1) < 0.9 * half
        deepest = float((corners[there, 2] + 0.5 * n.thickness).max(initial=-1.0))
        return f"{deepest * 1e3:.3g} mm deep" if deepest > 0.5 * n.thickness else ""

    return Shot(scene, chosen, 6, check, f"{kind} at a {what} wall, {n}, {chosen}")


def moving_wall(rng: np.random.Generator) -> Shot:
    """A thin wall that is moved at a body at rest, or at a sheet that is free."""
    scene, n, kind = sn.Scene(gravity=(0, 0, 0)), Numbers.random(rng), str(rng.choice(SHAPES))
    half = 8.0 * n.size + 0.2
    shape, what = wall(rng, n, half)
    speed, start = n.speed, 0.2 + n.thickness
    motion = sn.Keyframes(np.array([0.0, 1.0]), np.array([[0, 0, start], [0, 0, start - speed]]))
    as_body = rng.random() < HALF
    if as_body:
        scene.add_rigid_body(shape, kinematic=True, motion=motion)
    else:
        scene.add_collider(shape, motion=motion)
    index = 1 if as_body else 0
    projectile_shape, triangles, _ = projectile(rng, kind, n.size)
    reach = float(np.linalg.norm(triangles, axis=2).max())
    scene.add_rigid_body(projectile_shape, density=n.density, position=(0, 0, -reach), rotation=_rotation(rng))
    chosen = settings(rng)

    def check(sim: sn.Simulation) -> str:
        at = start - speed * sim.time
        x, solid = np.asarray(sim.state.body_positions[index]), body_triangles(sim, triangles, index)
        if np.abs(x[:2]).max() > 6.0 * n.size:
            return ""
        deepest = float((solid[..., 2] - at + 0.5 * n.thickness).max())
        if x[2] > at:
            return "the centre is beyond"
        return f"{deepest * 1e3:.3g} mm deep" if deepest > 0.5 * n.thickness else ""

    name = f"{what} wall {'(a body)' if as_body else ''} moves at a {kind}, {n}, {chosen}"
    return Shot(scene, chosen, 6, check, name)


def particles_at_sheet(rng: np.random.Generator) -> Shot:
    """A lump, grains or loose particles at a held sheet."""
    scene, n = sn.Scene(gravity=(0, 0, 0)), Numbers.random(rng, 0.02)
    cloth, faces, half = add_sheet(scene, n, rng, True)
    start = 1.5 * n.size + n.thickness + rng.uniform(0, n.speed / 60)
    kind, at, velocity = str(rng.choice(["lump", "grains", "particles"])), (0, 0, -start), (0, 0, n.speed)
    mesh = trimesh.creation.icosphere(2, 0.5 * n.size)
    if kind == "lump":
        thrown = scene.add_shape_matched(
            (mesh.vertices, mesh.faces), density=n.density, spacing=n.size / 5, position=at, velocity=velocity
        )
    elif kind == "grains":
        points = 0.35 * n.size * rng.uniform(-1, 1, (4, 3))
        points[:, 2] = n.size * np.linspace(-1, 1, 4)
        thrown = scene.add_grains(
            points, radius=0.15 * n.size, material=sn.GrainMaterial(density=n.density), position=at, velocity=velocity
        )
    else:
        points = 0.5 * half * rng.uniform(-1, 1, (20, 3)) * [1, 1, 0] + at
        mass = n.density * (0.1 * n.size) ** 3
        thrown = scene.add_particles(points, mass=mass, radius=0.05 * n.size, velocity=velocity)
    chosen = settings(rng)
    starts = scene.particle_objects
    passed = Passed(starts[0].positions[faces], np.array(starts[1].positions), half)
    traces = []

    def check(sim: sn.Simulation) -> str:
        x, p = traces[0].of_step(cloth.particles), traces[0].of_step(thrown.particles)
        if not (np.isfinite(x).all() and np.isfinite(p).all()):
            return "not finite"
        for sheet, points in zip(x, p, strict=True):
            count = np.count_nonzero(passed.after(sheet[faces], points))
            if count:
                return f"{count} of {len(points)} particles are beyond"
        return ""

    name = f"{kind} at a held sheet of {len(faces)}, {n}, {chosen}"
    return Shot(scene, chosen, 6, check, name, lambda sim: traces.append(Trace(sim)))


def object_at_wall(rng: np.random.Generator) -> Shot:
    """A sheet, a rope, a soft body, a lump or particles at a thin wall that stands or moves."""
    scene, n = sn.Scene(gravity=(0, 0, 0)), Numbers.random(rng, 0.02)
    half = 10.0 * n.size + 0.2
    shape, what = wall(rng, n, half)
    moves = rng.random() < HALF
    kind = str(rng.choice(["sheet", "rope", "soft body", "lump", "particles"]))
    start = 0.9 * n.size + n.thickness + rng.uniform(0, n.speed / 60)
    at, velocity = np.array([0, 0, 0.0 if moves else -start]), (0, 0, 0.0 if moves else n.speed)
    how = int(rng.integers(3))
    if moves:
        motion = sn.Keyframes(np.array([0.0, 1.0]), np.array([[0, 0, start], [0, 0, start - n.speed]]))
        scene.add_collider(shape, motion=motion) if how else scene.add_rigid_body(shape, kinematic=True, motion=motion)
    else:
        scene.add_collider(shape) if how else scene.add_rigid_body(shape, kinematic=True)
    mesh = trimesh.creation.icosphere(1, 0.5 * n.size)
    thin = min(n.thickness, 0.05 * n.size)
    if kind == "sheet":
        vertices, faces = grid(shape=(9, 9), size=(n.size, n.size))
        thrown = scene.add_cloth((vertices, faces), material=sn.ClothMaterial(thickness=thin), position=at,
                                 rotation=_rotation(rng), velocity=velocity)  # fmt: skip
    elif kind == "rope":
        points = at + turned(_rotation(rng), np.linspace(-0.5, 0.5, 20)[:, None] * [n.size, 0, 0])
        thrown = scene.add_rope(points, material=sn.RopeMaterial(radius=0.5 * thin), velocity=velocity)
    elif kind == "soft body":
        thrown = scene.add_soft_body((mesh.vertices, mesh.faces), cell=n.size / 4, position=at, velocity=velocity)
    elif kind == "lump":
        thrown = scene.add_shape_matched(
            (mesh.vertices, mesh.faces), density=n.density, spacing=n.size / 5, position=at, velocity=velocity
        )
    else:
        thrown = scene.add_particles(
            at + 0.4 * n.size * rng.uniform(-1, 1, (10, 3)), radius=0.05 * n.size, velocity=velocity
        )
    chosen = settings(rng)

    def check(sim: sn.Simulation) -> str:
        at = start - n.speed * sim.time if moves else 0.0
        x = np.asarray(sim.positions(thrown), np.float64)
        if not np.isfinite(x).all():
            return "not finite"
        there = np.abs(x[:, :2]).max(axis=1) < 0.9 * half
        passed = there & (x[:, 2] > at)
        return f"{passed.sum()} of {len(x)} particles are beyond" if passed.any() else ""

    how_it = ("a body", "a collider", "a collider")[how]
    name = f"{kind} at a {what} wall ({how_it}) that {'moves' if moves else 'stands'}, {n}, {chosen}"
    return Shot(scene, chosen, 6, check, name)


def rope_in_ring(rng: np.random.Generator) -> Shot:
    """A ring is moved away from the middle of a rope through it that is held at both ends."""
    scene, n = sn.Scene(gravity=(0, 0, 0)), Numbers.random(rng)
    size, thin = 0.05 + 0.3 * rng.random(), n.thickness
    tube = 0.5 * max(thin, 0.004)
    ring = trimesh.creation.torus(0.3 * size + tube + thin, tube, major_sections=24, minor_sections=8)
    ring_shape = sn.Mesh(ring.vertices, ring.faces)
    motion = sn.Keyframes(np.array([0.0, 1.0]), np.array([[0, 0, 0.0], [n.speed, 0, 0]]))
    as_body = rng.random() < HALF
    scene.add_rigid_body(ring_shape, kinematic=True, motion=motion) if as_body else scene.add_collider(
        ring_shape, motion=motion
    )
    z = np.linspace(-3 * size, 3 * size, int(rng.integers(20, 60)))
    points = np.stack([0 * z, 0 * z, z], axis=1)
    rope = scene.add_rope(points, material=sn.RopeMaterial(radius=0.5 * thin))
    rope.pin([0, len(z) - 1])
    chosen = settings(rng)

    def check(sim: sn.Simulation) -> str:
        x = np.asarray(sim.positions(rope), np.float64)
        if not np.isfinite(x).all():
            return "not finite"
        a, b = x[:-1], x[1:]
        cross = (a[:, 2] < 0) != (b[:, 2] < 0)
        t = -a[cross, 2] / (b[cross, 2] - a[cross, 2])
        p = a[cross] + t[:, None] * (b[cross] - a[cross]) - [n.speed * sim.time, 0, 0]
        inside = np.linalg.norm(p[:, :2], axis=1) < 0.3 * size + tube + thin
        signs = np.where(b[cross, 2] >= 0, 1, -1)[inside].sum()
        return "" if signs == 1 else f"the rope goes {signs} times through the ring"

    return Shot(scene, chosen, 4, check, f"ring ({'body' if as_body else 'collider'}) of {size:.3g} m pulls a rope of "
                f"{len(z)}, {n}, {chosen}")  # fmt: skip


def body_at_soft(rng: np.random.Generator) -> Shot:
    """A body at a soft block that is held at its far face."""
    scene, n, kind = sn.Scene(gravity=(0, 0, 0)), Numbers.random(rng, 0.02), str(rng.choice(SHAPES))
    half = 1.0 * n.size
    vertices, tetrahedra = _block(half)
    soft = scene.add_soft_body((vertices, tetrahedra), material=sn.SoftMaterial(youngs_modulus=1e5))
    soft.pin(np.flatnonzero(vertices[:, 2] > half - 1e-9))
    triangles, middle = add_projectile(scene, n, rng, kind, 0.01 + rng.uniform(0, n.speed / 60), 0.3 * half)
    chosen = settings(rng)
    surface = scene.particle_objects[0].faces

    def check(sim: sn.Simulation) -> str:
        x = np.asarray(sim.positions(soft), np.float64)
        if not np.isfinite(x).all():
            return "not finite"
        solid = body_triangles(sim, triangles)
        pairs = intersecting(x[surface], solid)
        if len(pairs):
            return f"{len(pairs)} pairs of triangles intersect"
        # count crossings of a ray towards -z: odd inside
        return "inside" if beyond(x[surface], body_triangles(sim, middle), np.inf).any() else ""

    return Shot(scene, chosen, 6, check, f"{kind} at a soft block, {n}, {chosen}")


def _block(half: float) -> tuple[np.ndarray, np.ndarray]:
    """Cubes of five tetrahedra that fill |x|, |y| < half, 0 < z < half."""
    k = np.stack(np.meshgrid(np.arange(7), np.arange(7), np.arange(4), indexing="ij"), axis=-1)
    vertices = (k.reshape(-1, 3) / [6, 6, 3] - [0.5, 0.5, 0]) * [2 * half, 2 * half, half]
    at = np.arange(7 * 7 * 4).reshape(7, 7, 4)
    tetrahedra = []
    for i in range(6):
        for j in range(6):
            for m in range(3):
                c = at[i : i + 2, j : j + 2, m : m + 2].ravel()
                even = [(0, 1, 2, 4), (3, 2, 1, 7), (5, 4, 7, 1), (6, 7, 4, 2), (1, 2, 4, 7)]
                odd = [(1, 0, 5, 3), (2, 3, 6, 0), (4, 6, 5, 0), (7, 5, 6, 3), (0, 3, 5, 6)]
                tetrahedra += [[c[q] for q in t] for t in (even if (i + j + m) % 2 == 0 else odd)]
    t = np.array(tetrahedra)
    x = vertices[t]
    volume = np.einsum("ij,ij->i", np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), x[:, 3] - x[:, 0])
    t[volume < 0] = t[volume < 0][:, [1, 0, 2, 3]]
    return vertices, t


KINDS = {
    "body at sheet": body_at_sheet,
    "body at free sheet": body_at_free_sheet,
    "body at wall": body_at_wall,
    "moving wall": moving_wall,
    "particles at sheet": particles_at_sheet,
    "object at wall": object_at_wall,
    "rope in ring": rope_in_ring,
    "body at soft": body_at_soft,
}


def shot(seed: int, kind: str | None = None) -> Shot:
    """The random shot of a number."""
    names = list(KINDS)
    name = names[seed % len(names)] if kind is None else kind
    return KINDS[name](np.random.default_rng([seed, names.index(name)]))
