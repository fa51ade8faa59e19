"""Universal Scene Description `.usdc`, `.usda`: for Blender, Houdini, Maya, Omniverse. Needs the extra [usd].

    /World                   Xform, the default prim; Y up, metres
      <part>                 Mesh, BasisCurves or Points with time-sampled points and extent; those of fluids have
                             velocities and primvars:density [kg/m^3], and as many points as there are; a
                             fluid that is drawn by its surface is a Mesh with other faces in each frame
      <body>                 Xform with time-sampled translation and rotation
        mesh                 its Mesh

A time code is a frame number, time [s] times frames per second. Names become valid prim names; the name as it was given
is kept as the display name.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from shinari.errors import FileError, require
from shinari.files.fluid_mesh import fluid_mesh
from shinari.files.results import COLORS, Body, Layout, Part, body_color

SAVE_BYTES = 64 * 2**20
"""Bytes of new samples after which a binary file is saved, so that memory does not grow with the number of frames."""
DEFAULT_RADIUS = 0.005
"""Radius [m] of curves and points that give none."""


def prim_names(names: Iterable[str]) -> list[str]:
    """Valid prim names, all different, for any names."""
    taken: set[str] = set()
    result = []
    for name in names:
        base = re.sub(r"[^A-Za-z0-9_]", "_", name)
        base = f"_{base}" if base[:1].isdigit() or not base else base
        valid, number = base, 1
        while valid in taken:
            number += 1
            valid = f"{base}_{number}"
        taken.add(valid)
        result.append(valid)
    return result


def write_usd(path: Path, layout: Layout, frames: np.ndarray, title: str = "") -> None:
    """Write a run as one stage.

    Args:
        path: File to write, `.usdc` or `.usda`.
        layout: What the frames hold.
        frames: Structured array as `shinari.files.spool.frame_dtype` says, shape (T,).
        title: One line about the run, kept as the comment of the layer.

    Raises:
        MissingExtraError: usd-core is not installed.
        FileError: The stage cannot be saved.
    """
    Sdf, Usd, UsdGeom = _pxr("Sdf", "Usd", "UsdGeom")

    layer = Sdf.Layer.CreateNew(str(path))
    stage = Usd.Stage.Open(layer)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetTimeCodesPerSecond(layout.frames_per_second)
    stage.SetFramesPerSecond(layout.frames_per_second)
    layer.comment = title
    root = UsdGeom.Xform.Define(stage, "/World").GetPrim()
    stage.SetDefaultPrim(root)

    names = prim_names([*(part.name for part in layout.parts), *(body.name for body in layout.bodies)])
    varying = layout.varying
    setters = [
        _define_surface(stage, f"/World/{name}", part, layout, COLORS[index % len(COLORS)])
        if part.surface
        else _define_part(
            stage,
            f"/World/{name}",
            part,
            COLORS[index % len(COLORS)],
            varying.get(part.name),
            layout.fluids.get(part.name),
        )
        for index, (name, part) in enumerate(zip(names, layout.parts, strict=False))
    ]
    setters += [
        _define_body(stage, f"/World/{name}", body, index, body_color(layout, index))
        for index, (name, body) in enumerate(zip(names[len(layout.parts) :], layout.bodies, strict=True))
    ]
    codes = frames["time"] * layout.frames_per_second
    if len(codes):
        stage.SetStartTimeCode(float(codes[0]))
        stage.SetEndTimeCode(float(codes[-1]))
    unsaved = 0
    for code, frame in zip(codes, frames, strict=True):
        for put in setters:
            put(float(code), frame)
        unsaved += frames.dtype.itemsize
        if unsaved > SAVE_BYTES and path.suffix != ".usda":
            _save(layer, path)
            unsaved = 0
    _save(layer, path)


def _pxr(*names: str) -> list[Any]:
    """Modules of USD; by this way their attributes, made at run time, need no type stubs."""
    return [require(f"pxr.{name}", "usd") for name in names]


def _save(layer: Any, path: Path) -> None:
    (Tf,) = _pxr("Tf")

    try:
        saved = layer.Save()
    except Tf.ErrorException as error:
        raise OSError("USD cannot save the stage, perhaps the disk is full") from error
    if not saved:
        raise FileError(f"{path}: USD cannot save the stage")


def _define_part(
    stage: Any,
    path: str,
    part: Part,
    color: tuple[float, float, float],
    varying: slice | None,
    dense: slice | None,
) -> Callable[[float, Any], None]:
    UsdGeom, Vt = _pxr("UsdGeom", "Vt")

    count = part.stop - part.start
    width = 2 * (part.radius or DEFAULT_RADIUS)
    if part.faces is not None:
        shape = UsdGeom.Mesh.Define(stage, path)
        _set_faces(shape, part.faces)
    elif part.kind == "curve":
        shape = UsdGeom.BasisCurves.Define(stage, path)
        shape.CreateTypeAttr(UsdGeom.Tokens.linear)
        shape.CreateWrapAttr(UsdGeom.Tokens.nonperiodic)
        shape.CreateCurveVertexCountsAttr([count])
        shape.CreateWidthsAttr([width])
        shape.SetWidthsInterpolation(UsdGeom.Tokens.constant)
    else:
        shape = UsdGeom.Points.Define(stage, path)
        shape.CreateWidthsAttr([width])
        shape.SetWidthsInterpolation(UsdGeom.Tokens.constant)
    _describe(shape, part.name, color)
    points, extent = shape.CreatePointsAttr(), shape.CreateExtentAttr()
    margin = 0.0 if part.faces is not None else 0.5 * width
    tear = None
    if varying is not None and part.kind != "points":
        tear = _tearing_mesh(shape, part) if part.faces is not None else _tearing_curve(shape)
    flow = None if dense is None else _flowing_points(shape, part, dense)

    def put(code: float, frame: Any) -> None:
        values = np.ascontiguousarray(frame["positions"][part.start : part.stop])
        if tear is not None:
            values = tear(code, frame["drawn"][varying], values)
        if part.kind == "points":
            shown = slice(None) if varying is None else frame["drawn"][varying]
            values = np.ascontiguousarray(values[shown])
            if flow is not None:
                flow(code, frame, shown)
        points.Set(Vt.Vec3fArray.FromNumpy(values), code)
        extent.Set(_extent(values, margin), code)

    return put


def _tearing_mesh(shape: Any, part: Part) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
    """Samples of the faces at the times at which some tear; the points stay as they are."""
    (Vt,) = _pxr("Vt")

    faces = np.ascontiguousarray(part.faces, np.int32)
    counts, indices = shape.GetFaceVertexCountsAttr(), shape.GetFaceVertexIndicesAttr()
    last: list[np.ndarray | None] = [None]

    def put(code: float, there: np.ndarray, points: np.ndarray) -> np.ndarray:
        if last[0] is None or not np.array_equal(there, last[0]):
            last[0] = there.copy()
            counts.Set(Vt.IntArray.FromNumpy(np.full(int(there.sum()), 3, np.int32)), code)
            indices.Set(Vt.IntArray.FromNumpy(np.ascontiguousarray(faces[there]).ravel()), code)
        return points

    return put


def _define_surface(
    stage: Any, path: str, part: Part, layout: Layout, color: tuple[float, float, float]
) -> Callable[[float, Any], None]:
    """A fluid as a mesh around its particles."""
    UsdGeom, Vt = _pxr("UsdGeom", "Vt")

    shape = UsdGeom.Mesh.Define(stage, path)
    counts, indices = shape.CreateFaceVertexCountsAttr(), shape.CreateFaceVertexIndicesAttr()
    shape.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    points, extent = shape.CreatePointsAttr(), shape.CreateExtentAttr()
    _describe(shape, part.name, color)

    def put(code: float, frame: Any) -> None:
        vertices, faces = fluid_mesh(part, layout, frame)
        points.Set(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(vertices)), code)
        counts.Set(Vt.IntArray.FromNumpy(np.full(len(faces), 3, np.int32)), code)
        indices.Set(Vt.IntArray.FromNumpy(np.ascontiguousarray(faces).ravel()), code)
        extent.Set(_extent(vertices, 0.0), code)

    return put


def _flowing_points(shape: Any, part: Part, dense: slice) -> Callable[[float, Any, Any], None]:
    """Velocities and densities of the particles of a fluid that are shown."""
    Sdf, UsdGeom, Vt = _pxr("Sdf", "UsdGeom", "Vt")

    velocities = shape.CreateVelocitiesAttr()
    density = UsdGeom.PrimvarsAPI(shape).CreatePrimvar("density", Sdf.ValueTypeNames.FloatArray)
    density.SetInterpolation(UsdGeom.Tokens.vertex)

    def put(code: float, frame: Any, shown: Any) -> None:
        moving = frame["velocities"][part.start : part.stop][shown]
        velocities.Set(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(moving)), code)
        density.Set(Vt.FloatArray.FromNumpy(np.ascontiguousarray(frame["densities"][dense][shown])), code)

    return put


def _tearing_curve(shape: Any) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
    """Each segment becomes a curve of its own, so that it can be left out when it has torn."""
    (Vt,) = _pxr("Vt")

    counts = shape.GetCurveVertexCountsAttr()

    def put(code: float, there: np.ndarray, points: np.ndarray) -> np.ndarray:
        counts.Set(Vt.IntArray.FromNumpy(np.full(int(there.sum()), 2, np.int32)), code)
        return np.ascontiguousarray(np.stack([points[:-1], points[1:]], axis=1)[there].reshape(-1, 3))

    return put


def _define_body(
    stage: Any, path: str, body: Body, index: int, color: tuple[float, float, float]
) -> Callable[[float, Any], None]:
    Gf, UsdGeom, Vt = _pxr("Gf", "UsdGeom", "Vt")

    frame_prim = UsdGeom.Xform.Define(stage, path)
    frame_prim.GetPrim().SetDisplayName(body.name)
    translate, orient = frame_prim.AddTranslateOp(), frame_prim.AddOrientOp()
    shape = UsdGeom.Mesh.Define(stage, f"{path}/mesh")
    vertices = np.ascontiguousarray(body.vertices, np.float32)
    shape.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(vertices))
    shape.CreateExtentAttr(_extent(vertices, 0.0))
    _set_faces(shape, body.faces)
    shape.CreateDoubleSidedAttr(not body.hollow)
    _describe(shape, body.name, color)

    def put(code: float, frame: Any) -> None:
        translate.Set(Gf.Vec3d(*map(float, frame["body_positions"][index])), code)
        orient.Set(Gf.Quatf(*map(float, frame["body_rotations"][index])), code)

    return put


def _set_faces(shape: Any, faces: np.ndarray) -> None:
    UsdGeom, Vt = _pxr("UsdGeom", "Vt")

    shape.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(faces), 3, np.int32)))
    shape.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(np.ascontiguousarray(faces, np.int32).ravel()))
    shape.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    shape.CreateDoubleSidedAttr(True)


def _describe(shape: Any, name: str, color: tuple[float, float, float]) -> None:
    shape.CreateDisplayColorAttr([color])
    shape.GetPrim().SetDisplayName(name)


def _extent(points: np.ndarray, margin: float) -> Any:
    (Vt,) = _pxr("Vt")

    if len(points) == 0:
        return Vt.Vec3fArray.FromNumpy(np.zeros((2, 3), np.float32))
    corners = np.stack([points.min(axis=0) - margin, points.max(axis=0) + margin])
    return Vt.Vec3fArray.FromNumpy(corners.astype(np.float32))
