"""Meshes that the viewer makes: spheres for particles, hulls around many, tubes for ropes and rods, coloured meshes."""

import json
import struct

import numpy as np

SIDES = 8
"""Corners of the section of a tube."""
TINY = 1e-12
_FAR = 1e6
_SQUARE = np.array([(0, 0), (1, 0), (1, 1), (0, 1)])

# Binary glTF 2.0 (Khronos Group, specification 4.4): header, chunks, types of components, kinds of buffers.
_MAGIC, _VERSION, _JSON, _BINARY = 0x46546C67, 2, 0x4E4F534A, 0x004E4942
_UNSIGNED, _SHORT, _FLOAT = 5125, 5123, 5126
_VERTICES, _INDICES = 34962, 34963


def icosphere(level: int) -> tuple[np.ndarray, np.ndarray]:
    """A sphere of radius 1 made of triangles: an icosahedron, its edges halved `level` times.

    Returns:
        Vertices, (V, 3), and faces, (F, 3) int32, that look outwards; V = 10 4^level + 2.
    """
    golden = (1.0 + np.sqrt(5.0)) / 2.0
    signs = [(-1.0, golden), (1.0, golden), (-1.0, -golden), (1.0, -golden)]
    corners = np.array([(a, b, 0.0) for a, b in signs])
    points = np.concatenate([corners, np.roll(corners, 1, axis=1), np.roll(corners, 2, axis=1)])
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    near = np.abs(apart - 2.0) < 1e-6
    faces = [
        (i, j, k)
        for i in range(12)
        for j in range(i + 1, 12)
        for k in range(j + 1, 12)
        if near[i, j] and near[j, k] and near[i, k]
    ]
    triangles = np.array(faces)
    a, b, c = np.moveaxis(points[triangles], 1, 0)
    inwards = (a * np.cross(b, c)).sum(axis=1) < 0.0
    triangles[inwards] = triangles[inwards][:, ::-1]
    for _ in range(level):
        points, triangles = _halved(points, triangles)
    return points / np.linalg.norm(points, axis=1, keepdims=True), triangles.astype(np.int32)


def _halved(points: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Four triangles for each, the new vertices in the middle of the edges and on the sphere of the old ones."""
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    edges, which = np.unique(np.sort(sides, axis=1), axis=0, return_inverse=True)
    middles = points[edges].sum(axis=1)
    middles *= np.linalg.norm(points[0]) / np.linalg.norm(middles, axis=1, keepdims=True)
    ab, bc, ca = len(points) + which.reshape(3, -1)
    a, b, c = faces.T
    corners = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    return np.concatenate([points, middles]), np.concatenate([np.stack(corner, axis=1) for corner in corners])


def tube_faces(count: int, torn: np.ndarray | None = None) -> np.ndarray:
    """Triangles of the tube through `count` points, see `tube_vertices`.

    Args:
        count: Points of the line.
        torn: Segments that are left open, shape (count - 1,) bool.

    Returns:
        Shape (F, 3) int32: 2 SIDES for each segment, and a fan on each end of the line.
    """
    ring = np.arange(SIDES)
    following = (ring + 1) % SIDES
    lower = SIDES * np.arange(max(count - 1, 0))[:, None]
    a, b = lower + ring, lower + following
    walls = np.stack([np.stack([a, b, a + SIDES], -1), np.stack([b, b + SIDES, a + SIDES], -1)], axis=1)
    if torn is not None:
        walls = walls[~torn]
    fan = np.stack([np.zeros(SIDES - 2, int), following[1:-1], ring[1:-1]], axis=1)
    last = SIDES * (count - 1) + fan[:, ::-1]
    return np.concatenate([walls.reshape(-1, 3), fan, last]).astype(np.int32)


def tube_vertices(points: np.ndarray, radius: float) -> np.ndarray:
    """Rings of vertices around a line, that turn about it as little as possible (parallel transport).

    The frame of a ring is that of the one before, reflected twice (Wang et al. 2008, Computation of rotation
    minimizing frames).

    Args:
        points: The line [m], shape (N, 3), N >= 2.
        radius: Radius of the tube [m].

    Returns:
        Shape (N * SIDES, 3), ring after ring.
    """
    points = np.asarray(points, np.float64)
    directions = np.diff(points, axis=0)
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    directions = np.divide(directions, lengths, out=np.zeros_like(directions), where=lengths > TINY)
    tangents = np.concatenate([directions[:1], directions[:-1] + directions[1:], directions[-1:]])
    sizes = np.linalg.norm(tangents, axis=1, keepdims=True)
    tangents = np.divide(tangents, sizes, out=np.tile([1.0, 0.0, 0.0], (len(points), 1)), where=sizes > TINY)
    across = _transported(points.tolist(), tangents.tolist())
    up = np.cross(tangents, across)
    angles = 2.0 * np.pi / SIDES * np.arange(SIDES)
    ring = across[:, None] * np.cos(angles)[:, None] + up[:, None] * np.sin(angles)[:, None]
    return (points[:, None] + radius * ring).reshape(-1, 3).astype(np.float32)


def _transported(points: list[list[float]], tangents: list[list[float]]) -> np.ndarray:
    """A normal for each tangent, (N, 3); plain Python: each depends on the one before."""
    tx, ty, tz = tangents[0]
    least = min(range(3), key=lambda axis: abs(tangents[0][axis]))
    nx, ny, nz = np.cross(tangents[0], np.eye(3)[least]).tolist()
    size = (nx * nx + ny * ny + nz * nz) ** 0.5
    nx, ny, nz = nx / size, ny / size, nz / size
    normals = [(nx, ny, nz)]
    for k in range(1, len(points)):
        (ax, ay, az), (bx, by, bz) = points[k - 1], points[k]
        vx, vy, vz = bx - ax, by - ay, bz - az
        c = vx * vx + vy * vy + vz * vz
        if c > TINY * TINY:
            d = 2.0 / c * (vx * nx + vy * ny + vz * nz)
            nx, ny, nz = nx - d * vx, ny - d * vy, nz - d * vz
            d = 2.0 / c * (vx * tx + vy * ty + vz * tz)
            tx, ty, tz = tx - d * vx, ty - d * vy, tz - d * vz
        px, py, pz = tangents[k]
        vx, vy, vz = px - tx, py - ty, pz - tz
        c = vx * vx + vy * vy + vz * vz
        if c > TINY * TINY:
            d = 2.0 / c * (vx * nx + vy * ny + vz * nz)
            nx, ny, nz = nx - d * vx, ny - d * vy, nz - d * vz
        tx, ty, tz = px, py, pz
        normals.append((nx, ny, nz))
    return np.array(normals)


def hull(points: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """A coarse surface around balls: the sides of cubes with some in them, where the next cube has none.

    Args:
        points: Centres of the balls [m], shape (N, 3). What is no number or a million cubes away is left out.
        radius: Their radius [m]; the cubes are four times as wide, and as far outwards as a ball can look out.

    Returns:
        Vertices, (4 S, 3) float32, and faces, (2 S, 3) uint32, of S sides; a triangle without area when there are none.
    """
    width = 4.0 * radius
    points = points[(np.abs(points) < _FAR * width).all(axis=1)]
    if not len(points):
        return np.zeros((3, 3), np.float32), np.array([[0, 1, 2]], np.uint32)
    cubes = np.floor(points / width).astype(np.int64)
    cubes -= cubes.min(axis=0) - 1
    low = np.floor(points.min(axis=0) / width) - 1.0
    spans = cubes.max(axis=0) + 2
    strides = np.array([1, spans[0], spans[0] * spans[1]])
    numbers, one_each = np.unique(cubes @ strides, return_index=True)
    cubes = cubes[one_each]
    sides = []
    for axis in range(3):
        for way in (0, 1):
            bare = ~np.isin(numbers + (2 * way - 1) * strides[axis], numbers, assume_unique=True)
            corners = np.insert(_SQUARE, axis, way, axis=1)
            sides.append((low + cubes[bare])[:, None] * width + corners * width + (2 * corners - 1) * radius)
    vertices = np.concatenate(sides).reshape(-1, 3).astype(np.float32)
    first = np.arange(0, len(vertices), 4, dtype=np.uint32)[:, None]
    return vertices, np.concatenate([first + np.array([0, 1, 2]), first + np.array([0, 2, 3])]).astype(np.uint32)


def coloured_mesh(vertices: np.ndarray, faces: np.ndarray, colors: np.ndarray) -> bytes:
    """A mesh with a colour for each vertex, as binary glTF, seen from both sides.

    Args:
        vertices: Shape (V, 3) [m].
        faces: Shape (F, 3).
        colors: sRGB, shape (V, 3) uint8; glTF wants them linear (specification 3.7.2.1).
    """
    linear = np.full((len(colors), 4), 65535, np.uint16)
    linear[:, :3] = _LINEAR[colors]
    blocks = [
        np.ascontiguousarray(faces, np.uint32).tobytes(),
        np.ascontiguousarray(vertices, np.float32).tobytes(),
        linear.tobytes(),
    ]
    starts = np.cumsum([0, *map(len, blocks)]).tolist()
    views = [
        {"buffer": 0, "byteOffset": start, "byteLength": len(block), "target": target}
        for start, block, target in zip(starts, blocks, (_INDICES, _VERTICES, _VERTICES), strict=False)
    ]
    low, high = np.min(vertices, axis=0, initial=0.0), np.max(vertices, axis=0, initial=0.0)
    bounds = {"min": [float(v) for v in low], "max": [float(v) for v in high]}
    accessors = [
        {"bufferView": 0, "componentType": _UNSIGNED, "count": int(np.size(faces)), "type": "SCALAR"},
        {"bufferView": 1, "componentType": _FLOAT, "count": len(vertices), "type": "VEC3", **bounds},
        {"bufferView": 2, "componentType": _SHORT, "count": len(vertices), "type": "VEC4", "normalized": True},
    ]
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 1, "COLOR_0": 2}, "indices": 0, "material": 0}]}],
        "materials": [{"doubleSided": True, "pbrMetallicRoughness": {"metallicFactor": 0.0, "roughnessFactor": 1.0}}],
        "buffers": [{"byteLength": starts[-1]}],
        "bufferViews": views,
        "accessors": accessors,
    }
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    body = b"".join(blocks)
    header = struct.pack("<3I", _MAGIC, _VERSION, 28 + len(text) + len(body))
    return header + struct.pack("<2I", len(text), _JSON) + text + struct.pack("<2I", len(body), _BINARY) + body


def _linear_of_srgb() -> np.ndarray:
    """Linear intensity in 0..65535 of each value of sRGB (IEC 61966-2-1)."""
    s = np.arange(256) / 255.0
    return np.round(65535 * np.where(s <= 0.04045, s / 12.92, ((s + 0.055) / 1.055) ** 2.4)).astype(np.uint16)


_LINEAR = _linear_of_srgb()
