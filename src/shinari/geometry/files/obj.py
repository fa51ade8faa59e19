"""Wavefront OBJ: a reader and a writer of its own.

trimesh groups faces by material and splits a vertex that has two texture coordinates, so that neither the number nor
the order of the vertices is that of the file. Pins, weights and the frames that go back into a modeller count vertices
as the file does, hence this reader: the vertices are the `v` lines, in their order.
"""

import numpy as np

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
    for number, line in enumerate(text.replace("\\\r\n", "  ").replace("\\\n", " ").splitlines(), start=1):
        words = line.split("#", 1)[0].split()
        if not words or words[0] in IGNORED:
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
