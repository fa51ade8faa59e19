"""Rays and shapes, against closed forms and against all triangles one by one."""

from dataclasses import dataclass

import numpy as np
import pytest

import shinari as sn
from shinari.collision.rays import Rays, cast
from shinari.geometry.motion import rotation_matrix
from shinari.scene.contact_material import ContactMaterial
from shinari.scene.objects import Collider
from shinari.solver.ray_targets import RayTargets

CLOSE = 1e-10
"""How far a hit may be off [m]: rounding of origins 100 m away, over the least sine of the angle to the surface."""
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
        n = np.where(base[:, None], (0.0, -1.0, 0.0), np.add(across, (0, k, 0)) / np.hypot(1, k))
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
    "flat ellipsoid": (sn.Ellipsoid((0.05, 0.9, 0.7)), lambda o, u: ellipsoid_case(o, u, (0.05, 0.9, 0.7))),
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
    """A third from inside or near, the others from around; towards the middle or past it, unit directions."""
    origins = rng.normal(size=(count, 3))
    origins *= np.where(np.arange(count) % 3 == 0, 0.3, rng.uniform(1.0, 30.0, count))[:, None]
    aims = rng.uniform(-0.7, 0.7, (count, 3))
    along = aims - origins
    return origins, along / np.linalg.norm(along, axis=1)[:, None]


def cast_at(shape: sn.Shape, o: np.ndarray, u: np.ndarray, place: np.ndarray, turn: np.ndarray) -> Rays:
    """Rays at a collider of that pose; directions are unit vectors."""
    collider = Collider("it", shape, place, turn, ContactMaterial())
    targets = RayTargets([collider], [], []).now((place[None], turn[None]), {}, (), 1)
    rays = Rays.zeros(len(o), np.float64)
    rays.origin[...], rays.along[...], rays.distance[...] = o, u, np.inf
    cast(rays, targets.solids, targets.boxes, targets.parts, 1)
    return rays


def random_pose(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, rotation, and its matrix."""
    turn = rng.normal(size=4)
    turn /= np.linalg.norm(turn)
    return rng.uniform(-5.0, 5.0, 3), turn, rotation_matrix(turn)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_rays_meet_shapes_where_closed_forms_say(name: str, seed: int) -> None:
    """Turned and moved; from outside and from inside; hits, normals and misses."""
    shape, case = CASES[name]
    rng = np.random.default_rng(seed)
    place, turn, axes = random_pose(rng)
    o, u = random_rays(rng, 3000)
    rays = cast_at(shape, o @ axes.T + place, u @ axes.T, place, turn)
    distances, normals = expected(case, o, u)
    hit, found = np.isfinite(distances), rays.solid >= 0
    assert 0.2 * len(o) < hit.sum()
    assert hit.sum() < len(o) or name == "container"
    sine = np.abs((normals * u).sum(1))
    clear = ~hit | (sine > STEEP)
    assert clear.mean() > 0.9
    assert np.array_equal(found[clear], hit[clear])
    assert np.array_equal(found, np.isfinite(rays.distance))
    both = clear & hit
    assert np.allclose(rays.distance[both], distances[both], rtol=0, atol=CLOSE)
    assert np.allclose(rays.normal[both], normals[both] @ axes.T, rtol=0, atol=1e-6)
    assert not rays.normal[~found].any()


def all_triangles(corners: np.ndarray, o: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance and triangle of the first hit of each ray, by Cramer's rule for all triangles (F, 3, 3)."""
    a, e, f = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    n = np.cross(e, f)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = ((a[None] - o[:, None]) * n).sum(2) / (u @ n.T)
        p = o[:, None] + t[..., None] * u[:, None] - a
        area = (n * n).sum(1)
        v = (np.cross(p, f) * n).sum(2) / area
        w = (np.cross(e, p) * n).sum(2) / area
        inside = (v >= -TIGHT) & (w >= -TIGHT) & (v + w <= 1.0 + TIGHT) & (t >= 0.0)
    t = np.where(inside, t, np.inf)
    first = t.argmin(axis=1)
    return t[np.arange(len(o)), first], first


def bumpy(count: int = 40) -> sn.Mesh:
    """A closed mesh with dents, of 2 count (count - 1) triangles."""
    vertices, faces = sn.Sphere(0.7).surface(count)
    return sn.Mesh(vertices * (1.0 + 0.3 * np.sin(5.0 * vertices[:, :1]) * np.cos(6.0 * vertices[:, 1:2])), faces)


def heights() -> sn.Heightfield:
    x, z = np.meshgrid(np.linspace(0, 4, 18), np.linspace(0, 4, 12))
    return sn.Heightfield(0.2 * np.sin(2.0 * x) * np.cos(z), (2.0, 1.5), depth=0.4)


def open_sheet() -> sn.Mesh:
    vertices, faces = sn.grid(shape=(9, 7))
    return sn.Mesh(np.asarray(vertices) - 0.5 + 0.1 * np.sin(7.0 * np.asarray(vertices)[:, [2, 0, 1]]), faces)


MESHES = {
    "closed": bumpy,
    "large": lambda: bumpy(120),
    "hull": lambda: sn.ConvexHull(np.random.default_rng(4).normal(size=(40, 3)) * 0.4),
    "height field": heights,
    "sheet": open_sheet,
    "one triangle": lambda: sn.Mesh(np.eye(3), [[0, 1, 2]]),
}


@pytest.mark.parametrize("name", MESHES)
def test_rays_meet_meshes_where_all_triangles_say(name: str) -> None:
    """The normal is out of solids, and towards the origin of the ray on sheets."""
    shape = MESHES[name]()
    rng = np.random.default_rng(len(name))
    place, turn, axes = random_pose(rng)
    o, u = random_rays(rng, 1500)
    rays = cast_at(shape, o @ axes.T + place, u @ axes.T, place, turn)
    vertices, faces = shape.surface()
    corners = np.asarray(vertices)[np.asarray(faces)]
    distances, first = all_triangles(corners, o, u)
    assert np.isfinite(distances).sum() > 100
    assert np.array_equal(np.isfinite(rays.distance), np.isfinite(distances))
    hit = np.isfinite(distances)
    n = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[first]
    n /= np.linalg.norm(n, axis=1)[:, None]
    slant = np.abs((n * u).sum(1))
    if not shape.as_mesh.solid:
        n *= -np.sign((n * u).sum(1))[:, None]
    clear = hit & (slant > 1e-3)
    assert np.allclose(rays.distance[clear], distances[clear], rtol=0, atol=CLOSE)
    # of the two at an edge either may be told
    assert (np.abs(rays.normal - n @ axes.T).max(axis=1)[clear] < 1e-6).mean() > 0.999


def test_no_ray_slips_through_between_triangles() -> None:
    """From within a closed mesh exactly at its vertices, and at points of its edges; also along the axes."""
    mesh = bumpy(24)
    corners = np.asarray(mesh.vertices)[mesh.faces]
    aims = np.concatenate([corners[:, 0], *(corners[:, 0] + s * (corners[:, 1] - corners[:, 0]) for s in (0.5, 0.3))])
    aims = np.concatenate([aims, np.eye(3), -np.eye(3)])
    for seed in range(4):
        place, turn, axes = random_pose(np.random.default_rng(seed))
        origin = np.array([0.013, 0.02, -0.031]) * seed
        u = aims - origin
        u /= np.linalg.norm(u, axis=1)[:, None]
        o = np.tile(origin @ axes.T + place, (len(u), 1))
        rays = cast_at(mesh, o, u @ axes.T, place, turn)
        assert np.isfinite(rays.distance).all()
        # nothing is farther than the point aimed at
        assert (rays.distance <= np.maximum(np.linalg.norm(aims - origin, axis=1), 1.4) + CLOSE).all()


def test_far_origins_cost_no_digits_but_their_own() -> None:
    """A sphere seen from 1e6 m: the distance is right to the rounding of the origin."""
    for far in (1e3, 1e6):
        o, u = np.array([[far, 0.3, 0.0]]), np.array([[-1.0, 0.0, 0.0]])
        rays = cast_at(sn.Sphere(0.5), o, u, np.zeros(3), np.array([1.0, 0, 0, 0]))
        assert rays.distance[0] == pytest.approx(far - 0.4, rel=4e-16, abs=0)


def test_a_tangent_ray_hits_within_and_misses_beyond() -> None:
    for radius, hits in ((0.5 - 1e-9, True), (0.5 + 1e-9, False)):
        o, u = np.array([[-3.0, radius, 0.0]]), np.array([[1.0, 0.0, 0.0]])
        for shape in (sn.Sphere(0.5), sn.Capsule(0.5, 0.0), sn.Ellipsoid((0.5, 0.5, 0.5))):
            rays = cast_at(shape, o, u, np.zeros(3), np.array([1.0, 0, 0, 0]))
            assert (rays.solid[0] >= 0) == hits, shape
