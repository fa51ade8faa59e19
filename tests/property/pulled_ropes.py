"""A rope that is held at both ends is pulled far beyond its length: the rows lose, only the certificate of paths holds.

A thin bar of any shape moves against the middle of the rope and takes it along. The rope has passed when it does not go
once around the front of the bar, signs counted.
"""

import numpy as np
import trimesh
from shots import Numbers, Shot, settings

import shinari as sn

SHAPES = ("capsule", "cylinder", "box", "hull", "mesh")
LENGTH = 1.0


def bar(kind: str, radius: float) -> sn.Shape:
    """A bar along y."""
    if kind == "capsule":
        return sn.Capsule(radius, LENGTH)
    if kind == "cylinder":
        return sn.Cylinder(radius, LENGTH)
    edges = (2.0 * radius, LENGTH, 2.0 * radius)
    if kind == "box":
        return sn.Box(edges)
    if kind == "mesh":
        mesh = trimesh.creation.box(edges).subdivide()
        return sn.Mesh(mesh.vertices, mesh.faces)
    angle = np.linspace(0.0, 2.0 * np.pi, 7, endpoint=False)
    ring = radius * np.stack([np.cos(angle), 0.0 * angle, np.sin(angle)], axis=1)
    end = np.array([0.0, 0.5 * LENGTH, 0.0])
    return sn.ConvexHull(np.concatenate([ring + end, ring - end]))


def rope_at_bar(seed: int, speeds: tuple[float, float], frames: int) -> Shot:
    """A bar at a random speed [m/s] between two bounds, as a body or as a collider."""
    rng = np.random.default_rng([seed, 5])
    log = lambda low, high: float(np.exp(rng.uniform(np.log(low), np.log(high))))  # noqa: E731
    n = Numbers(log(*speeds), 2.0 * log(0.001, 0.02), log(0.001, 0.02), 1000.0)
    kind, as_body = str(rng.choice(SHAPES)), bool(rng.random() < 0.5)
    scene, start = sn.Scene(gravity=(0, 0, 0)), -(0.5 * n.size + n.thickness)
    motion = sn.Keyframes(np.array([0.0, 1000.0]), np.array([[start, 0, 0], [start + 1000.0 * n.speed, 0, 0]]))
    shape = bar(kind, 0.5 * n.size)
    if as_body:
        scene.add_rigid_body(shape, kinematic=True, motion=motion)
    else:
        scene.add_collider(shape, motion=motion)
    half, count = 3.0 * (0.05 + 0.3 * rng.random()), int(rng.integers(20, 60))
    z = np.linspace(-half, half, count)
    rope = scene.add_rope(np.stack([0 * z, 0 * z, z], axis=1), material=sn.RopeMaterial(radius=0.5 * n.thickness))
    rope.pin([0, count - 1])
    chosen = settings(rng)

    def check(sim: sn.Simulation) -> str:
        x = np.asarray(sim.positions(rope), np.float64)
        if not np.isfinite(x).all():
            return "not finite"
        if np.abs(x[:, 1]).max() > 0.4 * LENGTH:
            return ""  # it may come off over the end of the bar
        a, b = x[:-1], x[1:]
        cross = (a[:, 2] < 0) != (b[:, 2] < 0)
        a, b = a[cross], b[cross]
        front = a[:, 0] - a[:, 2] / (b[:, 2] - a[:, 2]) * (b[:, 0] - a[:, 0]) > start + n.speed * sim.time
        times = int(np.where(b[front, 2] >= 0, 1, -1).sum())
        return "" if times == 1 else f"the rope goes {times} times around the bar"

    name = f"{kind} ({'a body' if as_body else 'a collider'}) pulls a rope of {count} and {half:.3g} m, {n}, {chosen}"
    return Shot(scene, chosen, frames, check, name)
