"""Attributes of meshes from files: numbers at each vertex, and texture coordinates at each corner.

The vertices and triangles are those of `read_mesh`, in the same order.
"""

import os

import numpy as np

from shinari import check
from shinari.errors import FileError
from shinari.geometry.files.meshes import parse_mesh
from shinari.geometry.files.obj import parse_obj_attributes
from shinari.geometry.files.ply_reader import parse_ply_attributes
from shinari.input_files import read_bytes
from shinari.partial_files import reason

EXTENSIONS = (".obj", ".ply")
UV = "uv"
"""Name of the texture coordinates."""


def read_attributes(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """Read what a mesh file holds besides vertices and faces: weights, colours and texture coordinates.

    Args:
        path: An .obj or .ply file. PLY: every number at the vertices but x, y, z, by its name. OBJ: colours behind
            the coordinates, as `red`, `green` and `blue`.

    Returns:
        Values at the vertices, (V,) float64 each, by name; and under `"uv"` texture coordinates at the corners of the
        triangles, (F, 3, 2), where the file has them for all.

    Raises:
        FileError: The file is missing, of another format or damaged.
    """
    path = check.path("attributes", "path", path)
    suffix = path.suffix.lower()
    if suffix not in EXTENSIONS:
        raise FileError(
            f"{path}: attributes: expected one of {', '.join(EXTENSIONS)}, got {check.short(suffix)}; export the mesh "
            f"as PLY, or give arrays"
        )
    try:
        data = read_bytes(path)
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: cannot be read: {reason(error)}") from error
    vertices, faces = parse_mesh(path, suffix, data)
    try:
        if suffix == ".ply":
            found = parse_ply_attributes(data, faces)
        else:
            found = parse_obj_attributes(data.decode("utf-8-sig", "replace"))
    except (ValueError, IndexError) as error:
        raise FileError(f"{path}: attributes cannot be read: {reason(error)}") from error
    for name, values in found.items():
        shape = (len(faces), 3, 2) if name == UV else (len(vertices),)
        if values.shape != shape:
            raise FileError(f"{path}: attribute {check.short(name)} has shape {values.shape}, expected {shape}")
        if not np.isfinite(values).all():
            where = np.argwhere(~np.isfinite(values))[0].tolist()
            raise FileError(f"{path}: attribute {check.short(name)} is not finite at {where}")
    return found
