"""Meshes of robots as binary STL or OBJ, which MuJoCo reads, from whatever format they are in."""

import struct
from pathlib import Path

import numpy as np

from shinari.errors import FileError
from shinari.geometry.files.meshes import EXTENSIONS, parse_mesh
from shinari.io.robots.collada import read_collada

FORMATS = (*EXTENSIONS, ".dae", ".msh")
"""Formats of meshes that are read."""
NATIVE = (".msh", ".obj")
"""Those that MuJoCo reads itself, as it does binary STL."""
THICKNESS = 1e-3
"""What a flat mesh gets that is to touch something [m]."""
HEADER, TRIANGLE = 84, 50
"""Bytes of a binary STL."""
MOST_TRIANGLES = 200000
"""MuJoCo takes no more in an STL."""


def readable(path: Path, suffix: str, data: bytes) -> tuple[str, bytes]:
    """Suffix and bytes of a mesh as MuJoCo reads it.

    Args:
        path: The file, which messages name.
        suffix: Its extension in small letters, one of `FORMATS`.
        data: Its contents.

    Raises:
        FileError: It is of another format or damaged.
    """
    if suffix in NATIVE or (suffix == ".stl" and _is_binary(data)):
        return suffix, data
    if suffix == ".dae":
        vertices, faces = read_collada(path, data)
    elif suffix in EXTENSIONS:
        vertices, faces = parse_mesh(path, suffix, data)
    else:
        raise FileError(f"{path}: its format is not read; expected one of {', '.join(FORMATS)}")
    return ".obj", _obj(vertices, faces)


def rewritten(path: Path, name: str, data: bytes, flat: bool) -> bytes:
    """A mesh with its triangles alone, in the same format.

    Args:
        path: The file, which messages name.
        name: Name of the asset, by whose extension its format is known.
        data: Its contents.
        flat: Whether it gets a thickness: a second layer of its vertices across its plane.
    """
    suffix = name[name.rindex(".") :]
    vertices, faces = parse_mesh(path, suffix, data)
    if flat:
        across = np.linalg.svd(vertices - vertices.mean(axis=0))[2][2] if len(vertices) < 5000 else np.eye(3)[2]
        faces = np.concatenate([faces, faces[:, ::-1] + len(vertices)])
        vertices = np.concatenate([vertices + 0.5 * THICKNESS * across, vertices - 0.5 * THICKNESS * across])
    if suffix == ".stl":
        import trimesh

        return trimesh.Trimesh(vertices, faces, process=False).export(file_type="stl")  # type: ignore[return-value]
    return _obj(vertices, faces)


def _is_binary(data: bytes) -> bool:
    if len(data) < HEADER:
        return False
    count = struct.unpack_from("<I", data, HEADER - 4)[0]
    return count <= MOST_TRIANGLES and len(data) == HEADER + TRIANGLE * count


def _obj(vertices: np.ndarray, faces: np.ndarray) -> bytes:
    """An OBJ with nothing but vertices and triangles."""
    used, index = np.unique(faces, return_inverse=True)
    points = "v %.9g %.9g %.9g\n" * len(used) % tuple(vertices[used].ravel().tolist())
    corners = index.reshape(-1, 3) + 1
    return (points + "f %d %d %d\n" * len(corners) % tuple(corners.ravel().tolist())).encode()
