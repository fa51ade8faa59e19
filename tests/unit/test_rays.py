"""Ray casts against closed forms, and against all triangles one by one."""

from dataclasses import dataclass

import numpy as np
import pytest

import shinari as sn
from shinari.geometry.motion import rotation_matrix

CLOSE = 1e-10
"""Part of the size by which a hit may be off: rounding, over the least sine of an angle to the surface that is tried."""
STEEP = 0.02
"""Least sine of that angle."""
TIGHT = 1e-12
"""How far the roots of closed forms are from the surface that they belong to [m]."""


def near(a: np.ndarray, b: float | np.ndarray) -> np.ndarray:
    return np.abs(a - b) <= TIGHT


def quadratic(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> list[np.ndarray]:
    """Both roots of a t^2 + 2 b t + c = 0, nan where there are none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(b * b - a * c)
        return [(-b - root) / a, (-b + root) / a]


def sphere_roots(o: np.ndarray, u: np.ndarray, radius: float, y: float = 0.0) -> list[np.ndarray]:
    o = o - (0.0, y, 0.0)
    return quadratic((u * u).sum(1), (o * u).sum(1), (o * o).sum(1) - radius**2)


def tube_roots(o: np.ndarray, u: np.ndarray, radius: float) -> list[np.ndarray]:
    o, u = o * (1, 0, 1), u * (1, 0, 1)
    return quadratic((u * u).sum(1), (o * u).sum(1), (o * o).sum(1) - radius**2)


def level_roots(o: np.ndarray, u: np.ndarray, axis: int, *levels: float) -> list[np.ndarray]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return [(level - o[:, axis]) / u[:, axis] for level in levels]


def box_case(o, u, half=(0.5, 0.3, 0.8)):
    roots = [t for k in range(3) for t in level_roots(o, u, k, -half[k], half[k])]

    def on(p):
        ratio = np.abs(p) / half
        sharp = near(ratio, 1.0)
        return (ratio <= 1 + TIGHT).all(1) & sharp.any(1), np.sign(p) * sharp

    return roots, on


def sphere_case(o, u):
    return sphere_roots(o, u, 0.7), lambda p: (np.full(len(p), True), p / 0.7)


def capsule_case(o, u):
    roots = [*tube_roots(o, u, 0.3), *sphere_roots(o, u, 0.3, 0.6), *sphere_roots(o, u, 0.3, -0.6)]

    def on(p):
        away = p - np.stack([0 * p[:, 1], np.clip(p[:, 1], -0.6, 0.6), 0 * p[:, 1]], axis=1)
        return near(np.linalg.norm(away, axis=1), 0.3), away / 0.3

    return roots, on


def cylinder_case(o, u):
    roots = [*tube_roots(o, u, 0.4), *level_roots(o, u, 1, -0.6, 0.6)]

    def on(p):
        rho = np.hypot(p[:, 0], p[:, 2])
        side, end = near(rho, 0.4), near(np.abs(p[:, 1]), 0.6)
        n = np.where(end[:, None], np.sign(p) * (0, 1, 0), p * (1, 0, 1) / 0.4)
        return (side | end) & (rho <= 0.4 + TIGHT) & (np.abs(p[:, 1]) <= 0.6 + TIGHT), n

    return roots, on


def cone_case(o, u):
    """Base of radius 0.5 at y = -0.4, tip at y = 0.4: rho = k (0.4 - y)."""
    k, up = 0.5 / 0.8, 0.4 - o[:, 1]
    flat_o, flat_u = o * (1, 0, 1), u * (1, 0, 1)
    a = (flat_u**2).sum(1) - k * k * u[:, 1] ** 2
    b = (flat_o * flat_u).sum(1) + k * k * up * u[:, 1]
    roots = [*quadratic(a, b, (flat_o**2).sum(1) - k * k * up**2), *level_roots(o, u, 1, -0.4)]

    def on(p):
        rho, base = np.hypot(p[:, 0], p[:, 2]), near(p[:, 1], -0.4)
        slant = near(rho, k * (0.4 - p[:, 1])) & (p[:, 1] >= -0.4)
        with np.errstate(invalid="ignore", divide="ignore"):
            across = p * (1, 0, 1) / rho[:, None]
        n = np.where(base[:, None], (0.0, -1.0, 0.0), (across + (0, k, 0)) / np.hypot(1, k))
        return slant | (base & (rho <= 0.5)), n

    return roots, on


def ellipsoid_case(o, u, half=(0.3, 0.2, 0.5)):
    roots = quadratic(((u / half) ** 2).sum(1), (o * u / np.square(half)).sum(1), ((o / half) ** 2).sum(1) - 1.0)

    def on(p):
        n = p / np.square(half)
        return np.full(len(p), True), n / np.linalg.norm(n, axis=1)[:, None]

    return roots, on


def plane_case(o, u):
    n = np.array([0.6, 0.8, 0.0])
    with np.errstate(divide="ignore"):
        return [(0.2 - o @ n) / (u @ n)], lambda p: (np.full(len(p), True), np.tile(n, (len(p), 1)))


def container_case(o, u):
    roots, on = box_case(o, u)
    return roots, lambda p: (on(p)[0], -on(p)[1])


def torus_case(o, u, radius=0.5, thickness=0.12):
    """(|p|^2 + R^2 - r^2)^2 = 4 R^2 (x^2 + z^2), a polynomial of the fourth degree along the ray."""
    k = (o * o).sum(1) + radius**2 - thickness**2
    b, flat = (o * u).sum(1), np.array([1.0, 0.0, 1.0])
    quartic = np.stack(
        [
            np.ones(len(o)),
            4 * b,
            4 * b * b + 2 * k - 4 * radius**2 * (u * u * flat).sum(1),
            4 * b * k - 8 * radius**2 * (o * u * flat).sum(1),
            k * k - 4 * radius**2 * (o * o * flat).sum(1),
        ],
        axis=1,
    )
    roots = np.array([[r.real if abs(r.imag) < 1e-6 else np.nan for r in np.roots(row)] for row in quartic])
    powers = np.arange(4, -1, -1)
    for _ in range(3):  # polished
        value = (quartic[:, None] * roots[..., None] ** powers).sum(2)
        roots -= value / (quartic[:, None, :4] * powers[:4] * roots[..., None] ** powers[1:]).sum(2)

    def on(p):
        rho = np.hypot(p[:, 0], p[:, 2])
        ring = p * flat * (radius / rho)[:, None]
        return np.full(len(p), True), (p - ring) / thickness

    return list(roots.T), on


@dataclass(frozen=True)
class Pebble(sn.Shape):
    """Ellipsoid by its support function alone, from outside of the package."""

    radii: tuple[float, float, float]

    def numbers(self):
        return self.radii


@sn.function
def pebble_support(d, s):
    x, y, z = s[0] * d[0], s[1] * d[1], s[2] * d[2]
    length = np.sqrt(x * x + y * y + z * z)
    return s[0] * x / length, s[1] * y / length, s[2] * z / length


@dataclass(frozen=True)
class Ring(sn.Shape):
    """Torus by its distance alone."""

    radius: float
    thickness: float

    def numbers(self):
        return self.radius, self.thickness

    def surface(self, segments=32):
        return sn.Box((1.3, 0.3, 1.3)).surface()


@sn.function
def ring_distance(q, s):
    rho = np.sqrt(q[0] * q[0] + q[2] * q[2])
    across = rho - s[0]
    length = np.sqrt(across * across + q[1] * q[1])
    return length - s[1], (q[0] / rho * across / length, q[1] / length, q[2] / rho * across / length)


sn.register_shape(Pebble, support=pebble_support)
sn.register_shape(Ring, distance=ring_distance)

CASES = {
    "sphere": (sn.Sphere(0.7), sphere_case),
    "box": (sn.Box((1.0, 0.6, 1.6)), box_case),
    "capsule": (sn.Capsule(0.3, 1.2), capsule_case),
    "cylinder": (sn.Cylinder(0.4, 1.2), cylinder_case),
    "cone": (sn.Cone(0.5, 0.8), cone_case),
    "ellipsoid": (sn.Ellipsoid((0.3, 0.2, 0.5)), ellipsoid_case),
    "plane": (sn.Plane((0.6, 0.8, 0.0), 0.2), plane_case),
    "container": (sn.Box((1.0, 0.6, 1.6), inside=True), container_case),
    "own convex": (Pebble((0.3, 0.2, 0.5)), ellipsoid_case),
    "own hollow": (Ring(0.5, 0.12), torus_case),
}


def expected(case, o: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least root at 0 or more whose point is on the surface, and the normal there; counted from nearby."""
    start = np.maximum(-(o * u).sum(1) - 3.0, 0.0) * (case is not plane_case)
    o = o + start[:, None] * u
    roots, on = case(o, u)
    best, normal = np.full(len(o), np.inf), np.zeros((len(o), 3))
    for t in roots:
        good = np.isfinite(t) & (t >= 0.0)
        found, n = on(o + np.where(good, t, 0.0)[:, None] * u)
        good &= found & (t < best)
        best[good], normal[good] = t[good], n[good]
    return start + best, normal


def random_rays(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """A third from inside or near, the others from around towards the middle or past it."""
    origins = rng.normal(size=(count, 3))
    origins *= np.where(np.arange(count) % 3 == 0, 0.3, rng.uniform(1.0, 30.0, count))[:, None]
    aims = rng.uniform(-0.7, 0.7, (count, 3))
    return origins, aims - origins


@pytest.fixture(scope="module")
def museum() -> tuple[sn.Simulation, dict]:
    """All shapes, turned, as colliders and as bodies where they can be, with the pose of each."""
    rng, scene, poses = np.random.default_rng(5), sn.Scene(), {}
    for k, (name, (shape, _)) in enumerate(CASES.items()):
        for kind, add in (("collider", scene.add_collider), ("body", scene.add_rigid_body)):
            if kind == "body" and name in ("plane", "container"):
                continue
            turn, place = rng.normal(size=4), np.array([40.0 * k, 5.0, 20.0 * (kind == "body")])
            turn /= np.linalg.norm(turn)
            poses[f"{name} {kind}"] = place, rotation_matrix(turn)
            add(shape, position=place, rotation=turn, name=f"{name} {kind}")
    for endless in ("plane", "container"):
        for name in (name for name in poses if name.endswith("body")):
            scene.ignore_contact(f"{endless} collider", name)
    return sn.Simulation(scene), poses


@pytest.mark.parametrize("kind", ["collider", "body"])
@pytest.mark.parametrize("name", CASES)
def test_rays_meet_shapes_where_closed_forms_say(museum: tuple, name: str, kind: str) -> None:
    """Turned and moved; from outside and from inside; hits, normals and misses."""
    sim, poses = museum
    label = f"{name} {kind}"
    if label not in poses:
        pytest.skip("it cannot be a body")
    place, axes = poses[label]
    o, d = random_rays(np.random.default_rng(len(name)), 3000)
    others = [other for other in poses if other != label]
    hits = sim.cast_rays(o @ axes.T + place, 3.7 * d @ axes.T, ignore=others)
    u = d / np.linalg.norm(d, axis=1)[:, None]
    distances, normals = expected(CASES[name][1], o, u)
    hit, found = np.isfinite(distances), np.isfinite(hits.distances)
    assert 0.2 * len(o) < hit.sum()
    assert hit.sum() < len(o) or name == "container"
    sine = np.abs((normals * u).sum(1))
    clear = ~hit | (sine > STEEP)
    assert clear.mean() > 0.9
    assert (found == hit)[clear].all()
    both = clear & hit
    far = np.linalg.norm(o, axis=1) + 50.0
    assert (np.abs(hits.distances - distances)[both] <= CLOSE * far[both]).all()
    assert np.allclose(hits.positions[both], (o + distances[:, None] * u)[both] @ axes.T + place, rtol=0, atol=1e-8)
    assert np.allclose(hits.normals[both], normals[both] @ axes.T, rtol=0, atol=1e-6)
    assert (hits.names == np.where(found, label, "")).all()
    assert np.isnan(hits.positions[~found]).all()
    assert not hits.normals[~found].any()
