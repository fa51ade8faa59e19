"""Wavefront OBJ: a reader and a writer of its own.

trimesh groups faces by material and splits a vertex that has two texture coordinates, so that neither the number nor
the order of the vertices is that of the file. Pins, weights and the frames that go back into a modeller count vertices
as the file does, hence this reader: the vertices are the `v` lines, in their order.
"""

from collections.abc import Iterator

import numpy as np

from shinari.geometry.triangulate import fan_out

IGNORED = frozenset(("vn", "vt", "vp", "g", "o", "s", "mg", "usemtl", "mtllib", "usemap", "maplib", "bevel", "lod"))
"""Statements that describe looks and names, not the shape."""


def parse_obj(text: str) -> tuple[np.ndarray, list[list[int]]]:
    """Vertices and polygons of an OBJ file.

    Args:
        text: The content of the file.

    Returns:
        Vertices, shape (V, 3), float64, and for each face its corners, counted from 0.

    Raises:
        ValueError: A line cannot be read, or holds geometry that is no polygon; the message names the line.
    """
    vertices: list[list[float]] = []
    polygons: list[list[int]] = []
    for number, words in _statements(text):
        if words[0] in IGNORED:
            continue
        try:
            if words[0] == "v":
                if len(words) < 4:
                    raise ValueError("a vertex needs three coordinates")
                vertices.append([float(word) for word in words[1:4]])
            elif words[0] == "f":
                polygons.append([_corner(word, len(vertices)) for word in words[1:]])
                if len(words) < 4:
                    raise ValueError("a face needs three corners")
            else:
                raise ValueError(f"unknown or unsupported statement {words[0][:20]!r}")
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
    return np.array(vertices, np.float64).reshape(-1, 3), polygons


def parse_obj_attributes(text: str) -> dict[str, np.ndarray]:
    """Attributes of an OBJ file that `parse_obj` reads: colours at the vertices and texture coordinates at the corners.

    Args:
        text: The content of the file.

    Returns:
        `red`, `green` and `blue`, (V,), where every vertex has them; `uv`, (F, 3, 2), where every corner has one.

    Raises:
        ValueError: A line cannot be read; the message names it.
    """
    colours: list[list[float]] = []
    places: list[list[float]] = []
    polygons: list[list[int]] = []
    for number, words in _statements(text):
        try:
            if words[0] == "v":
                colours.append([float(word) for word in words[4:7]])
            elif words[0] == "vt":
                places.append([float(word) for word in (*words[1:3], "0")[:2]])
            elif words[0] == "f":
                polygons.append([_texture(word, len(places)) for word in words[1:]])
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
    found: dict[str, np.ndarray] = {}
    if colours and all(len(colour) == 3 for colour in colours):
        found.update(zip(("red", "green", "blue"), np.array(colours, np.float64).T.copy(), strict=True))
    table = fan_out(polygons)
    if places and len(table) and table.min() >= 0:
        if table.max() >= len(places):
            raise ValueError(f"a corner uses texture coordinate {table.max() + 1}, there are {len(places)}")
        found["uv"] = np.array(places, np.float64)[table]
    return found


def _statements(text: str) -> Iterator[tuple[int, list[str]]]:
    """Number and words of each line that has any; a line that ends in a backslash goes on in the next."""
    for number, line in enumerate(text.replace("\\\r\n", "  ").replace("\\\n", " ").splitlines(), start=1):
        words = line.split("#", 1)[0].split()
        if words:
            yield number, words


def _texture(word: str, count: int) -> int:
    """Index, from 0, of the texture coordinate of a corner; -1: it has none."""
    parts = word.split("/")
    if len(parts) < 2 or not parts[1]:
        return -1
    index = int(parts[1])
    return index - 1 if index > 0 else count + index


def format_obj(vertices: np.ndarray, faces: np.ndarray) -> str:
    """Text of an OBJ file; every coordinate reads back as the same double."""
    lines = ["v " + " ".join(map(repr, vertex)) for vertex in vertices.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (faces + 1).tolist()]
    return "\n".join([*lines, ""])


def _corner(word: str, vertex_count: int) -> int:
    """Index, from 0, of a corner `v`, `v/vt` or `v/vt/vn`; negative ones count back from the last vertex so far."""
    index = int(word.split("/", 1)[0])
    if index == 0:
        raise ValueError("vertices are counted from 1, found 0")
    result = index - 1 if index > 0 else vertex_count + index
    if result < 0:
        raise ValueError(f"vertex {index} lies before the first")
    return result
