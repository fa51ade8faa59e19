"""Meshes that move, from files: a file for each frame, a USD stage with points at several times, or glTF."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shinari import check
from shinari.errors import FileError, SceneError, require
from shinari.geometry.files.gltf_meshes import read_gltf_animation
from shinari.geometry.files.meshes import read_mesh
from shinari.geometry.files.usd_crate import check_crate
from shinari.geometry.mesh_sequence import MeshSequence
from shinari.geometry.triangulate import fan_out
from shinari.input_files import read_bytes
from shinari.partial_files import reason

USD = (".usd", ".usda", ".usdc")
GLTF = (".gltf", ".glb")
FILES_PER_SECOND, POSES_PER_SECOND = 24.0, 60.0


def read_animation(
    source: str | os.PathLike | Sequence[str | os.PathLike],
    *,
    frames_per_second: float | None = None,
    mesh: str | None = None,
    clip: str | None = None,
) -> MeshSequence:
    """Read a mesh that moves.

    Args:
        source: Mesh files, one for each frame, all with the same vertices and faces; a USD file (extra [usd]) in which
            a mesh has points at several times; or a glTF file with an animation of nodes, skins or morph targets.
        frames_per_second: Of mesh files, by default 24; of glTF how many poses are computed, by default 60, between
            which vertices move on straight lines; a USD file has its own [1/s].
        mesh: Path of the mesh in a USD file, `"/World/body"`; None: the first one with points at several times. Of glTF
            the name of a mesh or of its node; None: all meshes of the scene, merged.
        clip: Name of the animation in a glTF file; None: the first.

    Returns:
        The mesh in time; the first frame of the file is at 0 s.

    Raises:
        FileError: A file cannot be read, has another topology than the first, or holds no mesh that moves.
        SceneError: An argument is wrong, or the mesh cannot collide.
        MissingExtraError: usd-core is not installed.
    """
    for field, name in (("mesh", mesh), ("clip", clip)):
        if name is not None:
            check.text("animation", field, name)
    rate = frames_per_second
    if rate is not None:
        rate = check.number("animation", "frames_per_second", rate, above=0.0)
    if isinstance(source, (str, os.PathLike)):
        path = check.path("animation", "source", source)
        if path.suffix.lower() in USD:
            return _checked(path, *_read_usd(path, mesh))
        if path.suffix.lower() in GLTF:
            with np.errstate(all="ignore"):  # damaged numbers are refused when all is together
                found = read_gltf_animation(path, _bytes(path), clip, mesh, rate or POSES_PER_SECOND)
            return _checked(path, *found)
        raise FileError(
            f"{path}: animation: expected one of {', '.join((*USD, *GLTF))} or a list of mesh files, one for each frame"
        )
    paths = [check.path("animation", "source", each) for each in check.sequence("animation", "source", source)]
    if not paths:
        raise SceneError("animation: source: no files were given")
    vertices, faces = read_mesh(paths[0])
    frames = [vertices]
    for path in paths[1:]:
        vertices, found = read_mesh(path)
        if len(vertices) != len(frames[0]) or not np.array_equal(found, faces):
            raise FileError(
                f"{path}: has {len(vertices)} vertices and {len(found)} faces, {paths[0].name} {len(frames[0])} and "
                f"{len(faces)}{'' if len(found) != len(faces) else _first_other(found, faces)}; all frames of an "
                f"animation need the same vertices and faces in the same order"
            )
        frames.append(vertices)
    return _checked(paths[0], np.arange(len(frames)) / (rate or FILES_PER_SECOND), np.array(frames), faces)


def _bytes(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: cannot be read: {reason(error)}") from error


def _first_other(found: np.ndarray, faces: np.ndarray) -> str:
    other = np.flatnonzero((found != faces).any(axis=1))
    return f", and face {other[0]} is another" if other.size else ""


def _checked(path: Path, times: np.ndarray, positions: np.ndarray, faces: np.ndarray) -> MeshSequence:
    """The sequence; messages name the file."""
    try:
        return MeshSequence(times, positions, faces)
    except SceneError as error:
        raise FileError(f"{path}: {error}") from error


def _read_usd(path: Path, wanted: str | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times (K,), vertices (K, V, 3) in the world [m] and triangles of the mesh that moves."""
    Tf = require("pxr.Tf", "usd")
    try:
        check_crate(path)
        return _moving_mesh(path, wanted)
    except FileError:
        raise
    # values are read where they are asked for
    except (OSError, UnicodeDecodeError, Tf.ErrorException) as error:
        raise FileError(f"{path}: cannot be read: {_told(error)}") from error


def _told(error: Exception) -> str:
    """The first error in words; those of USD quote a damaged file, which need not be text."""
    try:
        said = getattr(error.args[0], "commentary", None) if error.args else None
        return reason(error) if said is None else str(said).strip()
    except UnicodeDecodeError:
        return "it holds bytes that are no text"


def _moving_mesh(path: Path, wanted: str | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """See `_read_usd`."""
    Usd, UsdGeom = (require(f"pxr.{name}", "usd") for name in ("Usd", "UsdGeom"))
    stage: Any = Usd.Stage.Open(str(path))
    meshes = [UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    moving = [each for each in meshes if each.GetPointsAttr().GetNumTimeSamples() > 1]
    names = [str(each.GetPath()) for each in moving]
    if wanted is not None:
        moving = [each for each in moving if str(each.GetPath()) == wanted]
    if not moving:
        known = check.names(names, near=wanted)
        what = f"no mesh {check.short(wanted)} that moves" if wanted is not None else "no mesh that moves"
        raise FileError(f"{path}: holds {what}; meshes with points at several times: {known}")
    mesh = moving[0]
    sides = mesh.GetFaceVertexCountsAttr()
    counts = {code: tuple(_array(path, sides, code, (-1,)).tolist()) for code in _codes(sides)}
    if len(set(counts.values())) > 1:
        raise FileError(f"{path}: {mesh.GetPath()} has other faces at other times; its topology must stay")
    rate, metres = stage.GetTimeCodesPerSecond(), UsdGeom.GetStageMetersPerUnit(stage)
    codes = mesh.GetPointsAttr().GetTimeSamples()
    frames = []
    for code in codes:
        points = _array(path, mesh.GetPointsAttr(), code, (-1, 3)).astype(np.float64)
        if frames and len(points) != len(frames[0]):
            raise FileError(
                f"{path}: {mesh.GetPath()} has {len(points)} vertices at time code {code:g} and {len(frames[0])} at "
                f"{codes[0]:g}; its topology must stay"
            )
        matrix = np.array(UsdGeom.Xformable(mesh).ComputeLocalToWorldTransform(code), np.float64)
        frames.append((points @ matrix[:3, :3] + matrix[3, :3]) * metres)
    corners = _array(path, mesh.GetFaceVertexIndicesAttr(), codes[0], (-1,)).astype(np.int64)
    sizes = _array(path, sides, codes[0], (-1,)).astype(np.int64)
    if (sizes < 3).any() or sizes.sum() != len(corners):
        raise FileError(
            f"{path}: {mesh.GetPath()}: faceVertexCounts: expected 3 or more corners of each face and {len(corners)} "
            f"in all, as there are faceVertexIndices, got {sizes.sum()} in all"
        )
    polygons = [corners[end - size : end].tolist() for end, size in zip(np.cumsum(sizes), sizes, strict=True)]
    if UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z:
        frames = [frame[:, [0, 2, 1]] * [1.0, 1.0, -1.0] for frame in frames]
    faces = fan_out(polygons)
    if mesh.GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded:
        faces = faces[:, ::-1]
    return (np.array(codes) - codes[0]) / rate, np.array(frames), faces


def _codes(attribute: Any) -> list[Any]:
    """Time codes at which an attribute is given, or the one for all times."""
    return attribute.GetTimeSamples() or [require("pxr.Usd", "usd").TimeCode.Default()]


def _array(path: Path, attribute: Any, code: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of an attribute at a time code; none where it has none."""
    found = attribute.Get(code)
    array = np.zeros((0, *shape[1:])) if found is None else np.array(found)
    if array.dtype.kind not in "iuf" or array.shape[1:] != shape[1:]:
        raise FileError(f"{path}: {attribute.GetPath()}: expected numbers of the shape {shape}, got {array.shape}")
    return array
