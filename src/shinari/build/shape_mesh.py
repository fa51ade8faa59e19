"""Triangle meshes of the collider shapes, to draw them; the solver knows the shapes exactly and needs none of these."""

import math

import numpy as np

from shinari.scene.shapes import Box, Capsule, Cone, ConvexHull, Cylinder, Heightfield, Mesh, Plane, Shape, Sphere

SEGMENTS = 32
PLANE_SIZE = 6.0
"""Edge of the patch [m] that stands for a plane without end."""


def shape_mesh(shape: Shape, *, segments: int = SEGMENTS) -> tuple[np.ndarray, np.ndarray]:
    """Mesh of a shape in its own axes.

    Args:
        shape: The shape; a plane becomes a square patch around the point that is nearest to the origin.
        segments: Segments of a full circle, at least 4 and even.

    Returns:
        Vertices [m], (V, 3) float64, and faces, (F, 3) int32, counter-clockwise seen from outside the solid.
    """
    if isinstance(shape, Plane):
        return _patch(np.array(shape.normal), shape.offset)
    if isinstance(shape, Box):
        vertices, faces = _box(0.5 * np.array(shape.size))
        return vertices, faces[:, ::-1].copy() if shape.inside else faces
    if isinstance(shape, Capsule):
        return _capsule(shape.radius, shape.length, segments)
    if isinstance(shape, Cylinder):
        return _turned([(shape.radius, -0.5 * shape.length), (shape.radius, 0.5 * shape.length)], segments)
    if isinstance(shape, Cone):
        return _turned([(shape.radius, -0.5 * shape.height), (0.0, 0.5 * shape.height)], segments)
    if isinstance(shape, ConvexHull):
        return shape.vertices.copy(), shape.faces.astype(np.int32)
    if isinstance(shape, (Mesh, Heightfield)):
        mesh = shape.mesh if isinstance(shape, Heightfield) else shape
        return mesh.vertices.copy(), mesh.faces.astype(np.int32)
    assert isinstance(shape, Sphere)
    return _capsule(shape.radius, 0.0, segments)


def _patch(normal: np.ndarray, offset: float) -> tuple[np.ndarray, np.ndarray]:
    across = np.eye(3)[np.argmin(np.abs(normal))]
    u = np.cross(normal, across)
    u /= np.linalg.norm(u)
    v = np.cross(normal, u)
    half = 0.5 * PLANE_SIZE
    corners = [offset * normal + half * (a * u + b * v) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    return np.array(corners), np.array([[0, 1, 2], [0, 2, 3]], np.int32)


def _box(half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [triangle for a, b, c, d in quads for triangle in ((a, b, c), (a, c, d))]
    return signs * half, np.array(faces, np.int32)


def _turned(profile: list[tuple[float, float]], segments: int) -> tuple[np.ndarray, np.ndarray]:
    """A disc at the bottom of a profile (radius, y) of two points, and a disc or the tip at its top."""
    (radius, bottom), (upper, top) = profile
    angles = 2.0 * math.pi * np.arange(segments) / segments
    here = np.arange(segments)
    beside = (here + 1) % segments
    ring = np.stack([np.cos(angles), np.zeros(segments), np.sin(angles)], axis=1)
    points = [radius * ring + [0.0, bottom, 0.0], np.array([[0.0, bottom, 0.0], [0.0, top, 0.0]])]
    south, north = np.full(segments, segments), np.full(segments, segments + 1)
    faces = [np.stack([south, here, beside], axis=1)]
    if upper == 0.0:
        faces.append(np.stack([here, north, beside], axis=1))
    else:
        points.append(upper * ring + [0.0, top, 0.0])
        a, b = here + segments + 2, beside + segments + 2
        faces += [np.stack([here, a, beside], 1), np.stack([beside, a, b], 1), np.stack([a, north, b], 1)]
    return np.concatenate(points), np.concatenate(faces).astype(np.int32)


def _capsule(radius: float, length: float, segments: int) -> tuple[np.ndarray, np.ndarray]:
    """Two poles and rings of latitude between them; the halves of a capsule are pulled apart along Y."""
    stacks = segments // 2
    latitudes = [math.pi * (k / stacks - 0.5) for k in range(1, stacks)]
    if length > 0.0:
        middle = latitudes.index(0.0) if 0.0 in latitudes else len(latitudes) // 2
        latitudes.insert(middle, -0.0)  # the equator twice: once for each end of the segment
    rings, half = [], 0.5 * length
    angles = 2.0 * math.pi * np.arange(segments) / segments
    for number, latitude in enumerate(latitudes):
        lift = -half if number < len(latitudes) / 2 else half
        flat = radius * math.cos(latitude)
        y = np.full(segments, radius * math.sin(latitude) + lift)
        rings.append(np.stack([flat * np.cos(angles), y, flat * np.sin(angles)], axis=1))
    poles = np.array([[0.0, -radius - half, 0.0], [0.0, radius + half, 0.0]])
    vertices = np.concatenate([*rings, poles])
    south, north = len(vertices) - 2, len(vertices) - 1
    here = np.arange(segments)
    beside = (here + 1) % segments
    faces = [np.stack([np.full(segments, south), here, beside], axis=1)]
    for ring in range(len(rings) - 1):
        a, b = here + ring * segments, beside + ring * segments
        faces += [np.stack([a, a + segments, b], axis=1), np.stack([b, a + segments, b + segments], axis=1)]
    last = (len(rings) - 1) * segments
    faces.append(np.stack([here + last, np.full(segments, north), beside + last], axis=1))
    return vertices, np.concatenate(faces).astype(np.int32)
