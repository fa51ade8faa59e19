"""Triangle meshes in and out: OBJ, PLY, STL, glTF.

The vertices are those of the file, in their order: a vertex index means the same here and in the program that made the
mesh. Only STL, which has no indices, is different: there corners with exactly equal coordinates become one vertex, in
the order in which they first appear. Polygons are cut into triangles that fan out from their first corner. A file of
several meshes is merged into one, each in its place; those of a skin or with morph targets are in the pose in which the
file has them. Nothing outside the folder of the mesh is read, and no network.
"""

import io
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from shinari import check
from shinari.errors import FileError
from shinari.geometry.files.gltf_meshes import read_gltf
from shinari.geometry.files.obj import format_obj, parse_obj
from shinari.geometry.files.ply_reader import face_bytes, parse_ply
from shinari.geometry.triangulate import fan_out
from shinari.input_files import read_bytes
from shinari.partial_files import reason, writing

EXTENSIONS = (".obj", ".ply", ".stl", ".gltf", ".glb")


def read_mesh(path: str | os.PathLike) -> tuple[np.ndarray, np.ndarray]:
    """Read a triangle mesh.

    Args:
        path: File; the extension tells the format: .obj, .ply, .stl, .gltf, .glb.

    Returns:
        Vertices in the units of the file, shape (V, 3), float64, and faces, shape (F, 3), int32.

    Raises:
        FileError: The file is missing, of no known format, damaged, or holds no valid mesh; the message has
            the path and the reason.
    """
    path = check.path("mesh", "path", path)
    suffix = _check_extension(path)
    try:
        data = read_bytes(path)
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: cannot be read: {reason(error)}") from error
    return parse_mesh(path, suffix, data)


def parse_mesh(path: Path, suffix: str, data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Vertices, (V, 3), float64, and faces, (F, 3), int32, of the bytes of a mesh file; see `read_mesh`.

    Args:
        path: The file, which messages name.
        suffix: One of `EXTENSIONS`.
        data: Its contents.

    Raises:
        FileError: It is damaged, or holds no valid mesh.
    """
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), _quiet("trimesh", "trimesh.util"):
            warnings.simplefilter("ignore")
            vertices, faces = _parse(path, suffix, data)
    except FileError:  # it names the file and its element
        raise
    except (Exception, MemoryError) as error:  # the boundary to parsers, which fail in as many ways as files do
        raise FileError(f"{path}: cannot be read as a mesh: {reason(error)}") from error
    _check_mesh(str(path), vertices, faces)
    return np.ascontiguousarray(vertices, np.float64), np.ascontiguousarray(faces, np.int32)


def write_mesh(path: str | os.PathLike, vertices: np.ndarray, faces: np.ndarray) -> None:
    """Write a triangle mesh; a file of that name is replaced only by a whole one.

    OBJ and PLY keep double precision, STL and glTF are single precision by definition; STL forgets the indices.

    Args:
        path: File to write; the extension tells the format: .obj, .ply, .stl, .gltf, .glb. A .gltf is one file too, its
            numbers are inside.
        vertices: Vertices, shape (V, 3).
        faces: Triangles, shape (F, 3).

    Raises:
        FileError: The format is unknown, the mesh is not valid, or the file cannot be written.
    """
    path = check.path("mesh", "path", path)
    suffix = _check_extension(path)
    vertices, faces = check.array("mesh", "vertices", vertices, (None, 3)), check.shaped("mesh", "faces", faces)
    _check_mesh(str(path), vertices, faces)
    data = _format(suffix, vertices, faces.astype(np.int64))
    with writing(path) as partial:
        partial.write_bytes(data)


@contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """While it lasts, loggers say nothing: trimesh tells with a traceback of normals that nobody has asked for."""
    logs = [logging.getLogger(name) for name in names]
    before = [log.disabled for log in logs]
    try:
        for log in logs:
            log.disabled = True
        yield
    finally:
        for log, disabled in zip(logs, before, strict=True):
            log.disabled = disabled


def _check_extension(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in EXTENSIONS:
        raise FileError(
            f"{path}: unknown extension {check.short(suffix)} for a mesh, expected one of {', '.join(EXTENSIONS)}"
        )
    return suffix


def _check_mesh(name: str, vertices: np.ndarray, faces: np.ndarray) -> None:
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise FileError(f"{name}: the vertices have shape {vertices.shape}, expected (V, 3)")
    if faces.ndim != 2 or faces.shape[1] != 3 or not np.issubdtype(faces.dtype, np.integer):
        raise FileError(f"{name}: the faces have shape {faces.shape}, expected whole numbers (F, 3)")
    if len(vertices) == 0:
        raise FileError(f"{name}: the mesh is empty")
    if len(faces) == 0:
        raise FileError(f"{name}: has {len(vertices)} points but no faces")
    bad = np.flatnonzero(~np.isfinite(vertices).all(axis=1))
    if len(bad):
        raise FileError(f"{name}: vertex {bad[0]} is not finite: {vertices[bad[0]].tolist()}")
    out = np.flatnonzero(((faces < 0) | (faces >= len(vertices))).any(axis=1))
    if len(out):
        raise FileError(f"{name}: face {out[0]} uses {faces[out[0]].tolist()}, there are {len(vertices)} vertices")


def _parse(path: Path, suffix: str, data: bytes) -> tuple[np.ndarray, np.ndarray]:
    if suffix == ".obj":
        vertices, polygons = parse_obj(data.decode("utf-8-sig", "replace"))
        return vertices, fan_out(polygons)
    if suffix == ".ply":
        vertices, polygons = parse_ply(data)
        return vertices, fan_out(polygons)
    return _parse_stl(data) if suffix == ".stl" else read_gltf(path, data)


def _parse_stl(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    import trimesh

    loaded: Any = trimesh.load(io.BytesIO(data), file_type="stl", process=False)
    meshes = loaded.geometry.values() if isinstance(loaded, trimesh.Scene) else [loaded]
    corners = np.concatenate([np.zeros((0, 3)), *(mesh.vertices[mesh.faces].reshape(-1, 3) for mesh in meshes)])
    _, first, inverse = np.unique(corners, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    order = np.argsort(first)
    rank[order] = np.arange(len(first))
    return corners[first[order]], rank[inverse.reshape(-1)].reshape(-1, 3)


def _format(suffix: str, vertices: np.ndarray, faces: np.ndarray) -> bytes:
    if suffix == ".obj":
        return format_obj(vertices, faces).encode("ascii")
    if suffix == ".ply":
        head = ["ply", "format binary_little_endian 1.0", f"element vertex {len(vertices)}"]
        head += [*(f"property double {axis}" for axis in "xyz"), f"element face {len(faces)}"]
        head += ["property list uchar int vertex_indices", "end_header", ""]
        return "\n".join(head).encode("ascii") + vertices.astype("<f8").tobytes() + face_bytes(faces)
    import trimesh

    mesh = trimesh.Trimesh(vertices, faces, process=False)
    if suffix == ".gltf":
        from trimesh.exchange.gltf import export_gltf

        return export_gltf(mesh.scene(), embed_buffers=True)["model.gltf"]
    return mesh.export(file_type=suffix[1:])  # type: ignore[return-value]
