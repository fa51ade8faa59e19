"""PLY in: ASCII and binary, of either byte order, triangles and polygons mixed.

trimesh (5.2) refuses a binary file whose faces have different numbers of corners, which is what modellers write.
"""

from collections.abc import Callable, Iterator

import numpy as np

from shinari.check import short

SCALARS = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2",
    "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4",
    "double": "f8", "float64": "f8",
}  # fmt: skip
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
TEXTURE_NAMES = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"))
LIST_NAMES = ("vertex_indices", "vertex_index")

Property = tuple[str, str, str | None]
"""Name, type of its values, type of the count in front of a list (None: a single value)."""


def parse_ply(data: bytes) -> tuple[np.ndarray, list[list[int]]]:
    """Vertices and polygons of a PLY file.

    Args:
        data: The content of the file.

    Returns:
        Vertices, shape (V, 3), float64, and for each face its corners.

    Raises:
        ValueError: The file is no PLY file, is cut short, or has strips or other geometry in place of faces.
    """
    order, elements, body = _parse_header(data)
    vertices, polygons = np.zeros((0, 3)), []
    take = _words(body) if order == "" else _binary(body, order)
    for name, count, properties in elements:
        if name == "tristrips" and count:
            raise ValueError("triangle strips are not supported")
        if name == "vertex":
            columns = take(count, properties)
            if any(axis not in columns for axis in "xyz"):
                raise ValueError("the vertices have no x, y, z")
            vertices = np.array([columns[axis] for axis in "xyz"], np.float64).reshape(3, count).T
        elif name == "face":
            columns = take(count, properties)
            lists = [key for key in LIST_NAMES if key in columns]
            if count and not lists:
                raise ValueError("the faces have no vertex_indices")
            polygons = [[_whole(corner) for corner in face] for face in columns[lists[0]]] if lists else []
        else:
            take(count, properties)
    return vertices, polygons


def parse_ply_attributes(data: bytes, faces: np.ndarray) -> dict[str, np.ndarray]:
    """Attributes of a PLY file that `parse_ply` reads.

    Args:
        data: The content of the file.
        faces: Its triangles, (F, 3).

    Returns:
        Numbers at the vertices by the names in the file, but for the coordinates, (V,) float64; `uv`, (F, 3, 2), from
        one of the pairs of names under which programs write texture coordinates.

    Raises:
        ValueError: As `parse_ply`.
    """
    order, elements, body = _parse_header(data)
    take = _words(body) if order == "" else _binary(body, order)
    found: dict[str, np.ndarray] = {}
    for name, count, properties in elements:
        columns = take(count, properties)
        if name == "vertex":
            single = [key for key, _, counter in properties if counter is None and key not in ("x", "y", "z")]
            found |= {key: np.array(columns[key], np.float64) for key in single}
    for u, v in TEXTURE_NAMES:
        if u in found and v in found:
            found["uv"] = np.stack([found[u], found[v]], axis=1)[faces]
    return found


Take = Callable[[int, list[Property]], dict]


def _parse_header(data: bytes) -> tuple[str, list[tuple[str, int, list[Property]]], bytes]:
    if not data.startswith((b"ply\n", b"ply\r")):
        raise ValueError("does not begin with 'ply'")
    end = data.find(b"end_header")
    newline = data.find(b"\n", end)
    if end < 0 or newline < 0:
        raise ValueError("the header has no end")
    order, elements = None, []
    for line in data[:end].decode("latin-1").splitlines()[1:]:
        words = line.split()
        if not words or words[0] in ("comment", "obj_info"):
            continue
        if words[0] == "format" and len(words) == 3 and words[1] in ORDERS:
            order = ORDERS[words[1]]
        elif words[0] == "element" and len(words) == 3 and words[2].isdecimal():
            elements.append((words[1], int(words[2]), []))
        elif words[0] == "property" and elements and len(words) == 3 and words[1] in SCALARS:
            elements[-1][2].append((words[2], SCALARS[words[1]], None))
        elif words[:2] == ["property", "list"] and elements and len(words) == 5 and {*words[2:4]} <= SCALARS.keys():
            elements[-1][2].append((words[4], SCALARS[words[3]], SCALARS[words[2]]))
        else:
            raise ValueError(f"the header has a line that cannot be read: {line[:60]!r}")
    if order is None:
        raise ValueError("the header names no format")
    for name, count, properties in elements:
        if count and not properties:
            raise ValueError(f"the element {short(name)} has no properties")
    return order, elements, data[newline + 1 :]


def _words(body: bytes) -> Take:
    words: Iterator[bytes] = iter(body.split())

    def one() -> float:
        try:
            return float(next(words))
        except StopIteration:
            raise ValueError("the file is cut short") from None

    def take(count: int, properties: list[Property]) -> dict:
        columns: dict[str, list] = {name: [] for name, _, _ in properties}
        for _ in range(count):
            for name, _, counter in properties:
                columns[name].append(one() if counter is None else [one() for _ in range(_length(one()))])
        return columns

    return take


def _binary(body: bytes, order: str) -> Take:
    position = 0

    def values(kind: np.dtype, count: int) -> np.ndarray:
        nonlocal position
        if count * kind.itemsize > len(body) - position:
            raise ValueError("the file is cut short")
        result = np.frombuffer(body, kind, count, position)
        position += count * kind.itemsize
        return result

    def take(count: int, properties: list[Property]) -> dict:
        nonlocal position
        if all(counter is None for _, _, counter in properties):
            fields = [(f"{index}", order + kind) for index, (_, kind, _) in enumerate(properties)]
            rows = values(np.dtype(fields), count)
            return {name: rows[f"{index}"] for index, (name, _, _) in enumerate(properties)}
        if len(properties) == 1:  # the usual case, all triangles: read them at once, else one by one
            name, kind, counter = properties[0]
            row = np.dtype([("count", order + str(counter)), ("corners", order + kind, 3)])
            if count * row.itemsize <= len(body) - position:
                rows = np.frombuffer(body, row, count, position)
                if (rows["count"] == 3).all():
                    position += rows.nbytes
                    return {name: rows["corners"].tolist()}
        columns: dict[str, list] = {name: [] for name, _, _ in properties}
        for _ in range(count):
            for name, kind, counter in properties:
                length = 1 if counter is None else _length(values(np.dtype(order + counter), 1)[0])
                found = values(np.dtype(order + kind), length).tolist()
                columns[name].append(found[0] if counter is None else found)
        return columns

    return take


def _length(value: float) -> int:
    if not 0 <= value < 2**31:
        raise ValueError(f"a list has the length {value}")
    return _whole(value)


def _whole(value: float) -> int:
    if int(value) != value:
        raise ValueError(f"found {value} where a whole number belongs")
    return int(value)


def face_bytes(faces: np.ndarray) -> bytes:
    """Faces, shape (F, 3), as PLY lists: a count byte and three int32 each."""
    rows = np.empty(len(faces), np.dtype([("count", "u1"), ("corners", "<i4", 3)]))
    rows["count"] = 3
    rows["corners"] = faces
    return rows.tobytes()
