"""Rays and bodies of several parts, which are one solid: the union of their parts."""

import numpy as np
import pytest

import shinari as sn

SPHERES = [((0.0, 0.0, 0.0), 0.5), ((0.6, 0.1, 0.0), 0.4), ((1.1, 0.3, 0.1), 0.35), ((0.3, 0.0, 0.0), 0.1)]
"""Centres and radii [m]; the last one is within the first two."""
TURN = sn.rotation(axis=(1, 2, 3), angle=0.7)


def leaving(origins: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Where rays enter the union of the spheres, or leave it where they start within; infinity for none."""
    found = np.full(len(origins), np.inf)
    spans = []
    for centre, radius in SPHERES:
        o = origins - centre
        half = np.einsum("ij,ij->i", o, along)
        square = half**2 - np.einsum("ij,ij->i", o, o) + radius**2
        root = np.sqrt(np.where(square > 0, square, np.nan))
        spans.append(np.stack([-half - root, -half + root], axis=1))
    for k, rows in enumerate(np.stack(spans, axis=1)):
        end = 0.0
        for low, high in sorted(map(tuple, rows[rows[:, 1] > 0])):
            if low <= end:
                end = max(end, high)
            elif end == 0.0:
                found[k] = min(found[k], low)
        found[k] = end if end > 0.0 else found[k]
    return found


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_rays_enter_and_leave_the_union(precision: str) -> None:
    scene = sn.Scene(gravity=(0, 0, 0))
    parts = [(sn.Sphere(radius), centre) for centre, radius in SPHERES]
    scene.add_rigid_body(sn.Compound(parts), position=(3, -1, 2), rotation=TURN, name="clump")
    sim = sn.Simulation(scene, precision=precision)
    pose = sim.pose("clump")
    rng = np.random.default_rng(2)
    origins, along = rng.uniform((-0.6, -0.6, -0.6), (1.5, 0.7, 0.6), (2000, 3)), rng.normal(size=(2000, 3))
    along /= np.linalg.norm(along, axis=1)[:, None]
    hits = sim.cast_rays(origins @ pose.matrix.T + pose.position, along @ pose.matrix.T)
    np.testing.assert_allclose(hits.distances, leaving(origins, along), rtol=0, atol=1e-9)
    within = (np.linalg.norm(origins[:, None] - [c for c, _ in SPHERES], axis=2) < [r for _, r in SPHERES]).any(axis=1)
    assert within.sum() > 300
    met = np.isfinite(hits.distances)
    ahead = np.einsum("ij,ij->i", hits.normals, along @ pose.matrix.T) > 0
    np.testing.assert_array_equal(ahead[met], within[met])


@pytest.mark.parametrize("kind", ["boxes", "hulls", "meshes"])
def test_parts_that_touch_have_no_surface_between_them(kind: str) -> None:
    """A cube of 4 x 4 x 4 small ones, as a decomposition gives it, and rays from its middle and from outside."""
    cube = sn.Box((0.1, 0.1, 0.1))
    mesh = cube.as_mesh
    part = {"boxes": cube, "hulls": sn.ConvexHull(np.asarray(mesh.vertices)), "meshes": mesh}[kind]
    places = 0.1 * np.stack(np.meshgrid(*[np.arange(4) - 1.5] * 3), axis=-1).reshape(-1, 3)
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_rigid_body(sn.Compound([(part, place) for place in places]), position=(0, 5, 0), rotation=TURN, name="c")
    sim = sn.Simulation(scene)
    pose = sim.pose("c")
    along = np.random.default_rng(3).normal(size=(300, 3))
    hits = sim.cast_rays(pose.position + 1e-3, along @ pose.matrix.T)
    corners = (hits.positions - pose.position) @ pose.matrix
    np.testing.assert_allclose(np.abs(corners).max(axis=1), 0.2, atol=1e-9)
    outside = sim.cast_rays(pose.position + along @ pose.matrix.T, -along @ pose.matrix.T)
    np.testing.assert_allclose(np.abs((outside.positions - pose.position) @ pose.matrix).max(axis=1), 0.2, atol=1e-9)


def test_the_largest_distance_counts_to_the_surface_of_the_union() -> None:
    scene = sn.Scene(gravity=(0, 0, 0))
    parts = [(sn.Box((1, 1, 1)), (0, 0, 0)), (sn.Box((1, 1, 1)), (0.8, 0, 0)), (sn.Sphere(0.2), (0.2, 0, 0))]
    body = scene.add_rigid_body(sn.Compound(parts))
    scene.ignore_contact(body, scene.add_collider(sn.Box((0.1, 0.1, 0.1)), name="in"))
    sim = sn.Simulation(scene)
    start, along = (-0.4, 0.0, 0.0), (1.0, 0.0, 0.0)
    assert sim.cast_rays(start, along).names.tolist() == ["in"]
    ends = [sim.cast_rays(start, along, ignore=["in"], max_distance=most).distances[0] for most in (1.69, 1.71)]
    assert ends == [np.inf, pytest.approx(1.7)]
