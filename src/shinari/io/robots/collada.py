"""Triangles of COLLADA files (.dae), with the transforms of their scene.

Lengths become metres by the file's unit. The axis that it calls up is not turned: programs that read URDF take the
coordinates as they are.
"""

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from shinari.errors import FileError
from shinari.io.robots.xml import parse

PRIMITIVES = ("triangles", "polylist", "polygons", "tristrips", "trifans")
DEEPEST = 50


def read_collada(path: Path, data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Vertices [m], (V, 3), and triangles, (F, 3), of all geometry in the scene of a file.

    Raises:
        FileError: It is damaged, or has no triangles.
    """
    root = parse(path, data)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    named = {element.get("id", ""): element for element in root.iter() if element.get("id")}
    unit = root.find("asset/unit")
    scale = 1.0 if unit is None else float(unit.get("meter", 1.0))
    vertices, faces, count = [], [], 0
    try:
        for geometry, matrix in _placed(root, named):
            for points, triangles in _meshes(geometry, named):
                vertices.append(points @ matrix[:3, :3].T + matrix[:3, 3])
                faces.append(triangles + count)
                count += len(points)
    except (ValueError, IndexError, KeyError, AttributeError) as error:
        raise FileError(f"{path}: is no COLLADA that can be read: {error}") from error
    if not faces:
        raise FileError(f"{path}: has no triangles")
    return scale * np.concatenate(vertices), np.concatenate(faces)


def _placed(root: Element, named: dict[str, Element]) -> Iterator[tuple[Element, np.ndarray]]:
    """Each geometry of the scene with its transform; all as they are where there is no scene."""
    instance = root.find("scene/instance_visual_scene")
    scene = None if instance is None else named.get(instance.get("url", "").removeprefix("#"))
    if scene is None:
        for geometry in root.iter("geometry"):
            yield geometry, np.eye(4)
        return
    for node in scene.findall("node"):
        yield from _of_node(node, np.eye(4), named, 0)


def _of_node(node: Element, matrix: np.ndarray, named: dict[str, Element], depth: int) -> Iterator:
    if depth > DEEPEST:
        raise ValueError("its nodes are nested too deep")
    for child in node:
        numbers = np.array((child.text or "").split(), np.float64) if child.tag in TRANSFORMS else None
        if numbers is not None:
            matrix = matrix @ TRANSFORMS[child.tag](numbers)
    for instance in node.findall("instance_geometry"):
        geometry = named.get(instance.get("url", "").removeprefix("#"))
        if geometry is not None:
            yield geometry, matrix
    inner = [named.get(i.get("url", "").removeprefix("#")) for i in node.findall("instance_node")]
    for child in (*node.findall("node"), *(n for n in inner if n is not None)):
        yield from _of_node(child, matrix, named, depth + 1)


def _matrix(n: np.ndarray) -> np.ndarray:
    return n.reshape(4, 4)


def _translate(n: np.ndarray) -> np.ndarray:
    result = np.eye(4)
    result[:3, 3] = n
    return result


def _scale(n: np.ndarray) -> np.ndarray:
    return np.diag([*n, 1.0])


def _rotate(n: np.ndarray) -> np.ndarray:
    axis, angle = n[:3] / max(float(np.linalg.norm(n[:3])), 1e-300), np.radians(n[3])
    cross = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    result = np.eye(4)
    result[:3, :3] += np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
    return result


TRANSFORMS = {"matrix": _matrix, "translate": _translate, "scale": _scale, "rotate": _rotate}


def _meshes(geometry: Element, named: dict[str, Element]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    mesh = geometry.find("mesh")
    if mesh is None:
        return
    for primitive in mesh:
        if primitive.tag not in PRIMITIVES:
            continue
        inputs = primitive.findall("input")
        place = next((i for i in inputs if i.get("semantic") == "VERTEX"), None)
        if place is None:
            continue
        offset, stride = int(place.get("offset", 0)), 1 + max(int(i.get("offset", 0)) for i in inputs)
        points = _points(named[place.get("source", "")[1:]], named)
        lists = [np.array((p.text or "").split(), np.int64)[offset::stride] for p in primitive.findall("p")]
        counts = primitive.find("vcount")
        sizes = None if counts is None else np.array((counts.text or "").split(), np.int64)
        triangles = _triangles(primitive.tag, lists, sizes)
        if len(triangles):
            if triangles.min() < 0 or triangles.max() >= len(points):
                raise ValueError("a triangle names a vertex that is not there")
            yield points, triangles


def _points(vertices: Element, named: dict[str, Element]) -> np.ndarray:
    """Positions behind a <vertices>, (V, 3)."""
    place = next(i for i in vertices.findall("input") if i.get("semantic") == "POSITION")
    source = named[place.get("source", "")[1:]]
    numbers = np.array((source.findtext("float_array") or "").split(), np.float64)
    accessor = source.find("technique_common/accessor")
    stride = 3 if accessor is None else int(accessor.get("stride", 3))
    return numbers[: len(numbers) // stride * stride].reshape(-1, stride)[:, :3]


def _triangles(tag: str, lists: list[np.ndarray], sizes: np.ndarray | None) -> np.ndarray:
    """Triangles of a primitive, (F, 3); polygons fan out from their first corner."""
    if not lists:
        return np.zeros((0, 3), np.int64)
    if tag == "triangles":
        return np.concatenate([p[: len(p) // 3 * 3].reshape(-1, 3) for p in lists])
    if tag == "tristrips":
        return np.array(
            [(p[i], p[i + 1 + i % 2], p[i + 2 - i % 2]) for p in lists for i in range(len(p) - 2)], np.int64
        ).reshape(-1, 3)
    rings = np.split(lists[0], np.cumsum(sizes)[:-1]) if tag == "polylist" and sizes is not None else lists
    return np.array([(r[0], r[i], r[i + 1]) for r in rings for i in range(1, len(r) - 1)], np.int64).reshape(-1, 3)
