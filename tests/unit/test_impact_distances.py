"""Distances of triangles from solids, by which paths are certified, against dense samples."""

import numpy as np
import pytest
import trimesh

import shinari as sn
from shinari.collision.narrow.fields import BodyFields, body_fields, distances, triangle_distances
from shinari.compute import Field, Program, Record, kernel
from shinari.shapes.kernels.mesh_distance import FAR
from shinari.systems.paths.impact import CLOSE, least_distance
from shinari.systems.rigid.body_shapes import body_shapes_of

ENOUGH = 1e3
any_distance, triangle_distance = distances(True), triangle_distances(True)


class Cases(Record):
    """Triangles, and what is found for them."""

    corners = Field(np.float64, 9)
    bound = Field(np.float64)
    weights = Field(np.float64, 3)
    sampled = Field(np.float64)


class Solid(Record):
    """One row."""

    kind = Field(np.int64)
    size = Field(np.float64, 4)
    convex = Field(np.float64)


@kernel
def measure(i, cases: Cases, one: Solid, fields: BodyFields, samples: np.int64):
    """The bound of a triangle, and the least of many points of it."""
    r = cases.corners[i]
    a, b, c = (r[0], r[1], r[2]), (r[3], r[4], r[5]), (r[6], r[7], r[8])
    solid = one.kind[0], one.size[0], one.convex[0]
    cases.bound[i], cases.weights[i] = least_distance(
        any_distance, triangle_distance, solid, fields, (a, b, c), ENOUGH, 0.0, 0.0
    )
    least = 1e30
    for j in range(samples + 1):
        for k in range(samples + 1 - j):
            u, v = j / samples, k / samples
            w = 1.0 - u - v
            x = u * a[0] + v * b[0] + w * c[0], u * a[1] + v * b[1] + w * c[1], u * a[2] + v * b[2] + w * c[2]
            least = min(least, any_distance(one.kind[0], x, one.size[0], fields)[0])
    cases.sampled[i] = least


def solid_of(shape):
    """The record of a shape of a body, and the fields."""
    scene = sn.Scene()
    scene.add_rigid_body(shape)
    table = body_shapes_of(scene.bodies)
    solid = Solid(np.float64, kind=table.kinds, size=table.sizes, convex=table.convex)
    return solid, body_fields(tuple(table.fields))


def hull():
    return sn.ConvexHull(np.random.default_rng(5).normal(size=(30, 3)) * (0.1, 0.2, 0.05))


def ring():
    mesh = trimesh.creation.torus(0.2, 0.07, major_sections=24, minor_sections=8)
    return sn.Mesh(mesh.vertices, mesh.faces)


SHAPES = {
    "sphere": lambda: sn.Sphere(0.2),
    "box": lambda: sn.Box((0.3, 0.1, 0.2)),
    "capsule": lambda: sn.Capsule(0.1, 0.3),
    "cylinder": lambda: sn.Cylinder(0.1, 0.3),
    "hull": hull,
    "mesh": lambda: sn.Mesh(hull().vertices, hull().faces),
    "ring": ring,
}


@pytest.mark.parametrize("size", [0.02, 0.3, 1.5])
@pytest.mark.parametrize("name", SHAPES)
def test_bounds_of_triangles(name, size):
    """A bound is never above the distance, and not more than it says below; its point is about as near."""
    solid, fields = solid_of(SHAPES[name]())
    rng, count, samples = np.random.default_rng(len(name)), 400, 120
    middle = rng.normal(size=(count, 1, 3)) * 0.25
    corners = (middle + rng.normal(size=(count, 3, 3)) * size).reshape(count, 9)
    cases = Cases.zeros(count)
    cases.corners[...] = corners
    p = Program()
    p.launch(measure, cases, solid, fields, samples, count=count)
    p.run()
    # farther away distances of points from meshes are estimates
    far = float(FAR) * fields.frames[0, 3] if len(fields.frames) else np.inf
    exact = cases.sampled < 0.99 * far
    bound, sampled, corners = cases.bound[exact], cases.sampled[exact], corners[exact]
    # the nearest sample is at most so much farther than the nearest point
    x = corners.reshape(-1, 3, 3)
    coarse = np.linalg.norm(x - x[:, [1, 2, 0]], axis=2).max(axis=1) / samples
    apart = sampled > coarse
    assert apart.sum() > 20
    # what enters needs no distance
    assert (bound <= np.maximum(sampled, 0.0) + 1e-9).all()
    assert (bound[apart] >= (1.0 - CLOSE) * (sampled - coarse)[apart] - 1e-9).all()
    np.testing.assert_allclose(cases.weights.sum(axis=1), 1.0)
    assert (cases.weights > -1e-9).all()


def test_meshes_that_are_convex_are_known():
    """A cube is, an L-shaped solid and two cubes are not."""
    cube = sn.ConvexHull(np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T * 1.0)
    vertices, faces = cube.vertices, cube.faces
    beside = vertices + np.array([3.0, 0.0, 0.0])
    two = sn.Mesh(np.concatenate([vertices, beside]), np.concatenate([faces, faces + len(vertices)]))
    dent = sn.ConvexHull(np.random.default_rng(1).normal(size=(40, 3)))
    pushed = dent.vertices.copy()
    pushed[0] *= 0.7
    found = [mesh.is_convex for mesh in (cube.mesh, sn.Mesh(vertices, faces), two)]
    assert found == [True, True, False]
    assert not sn.Mesh(pushed, dent.faces).is_convex
    scene = sn.Scene()
    for shape in (cube, two):
        scene.add_rigid_body(shape)
    hull, both = body_shapes_of(scene.bodies).convex
    assert hull > 0.0 > both
