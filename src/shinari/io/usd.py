"""Universal Scene Description `.usdc`, `.usda`: for Blender, Houdini, Maya, Omniverse. Needs the extra [usd].

    /World                   Xform, the default prim; Y up, metres
      <part>                 Mesh, BasisCurves or Points with time-sampled points, velocities and extent, a mesh with
                             normals of its vertices; fluids have primvars:density [kg/m^3], and as many points as
                             there are; a fluid that is drawn by its surface is a Mesh with other faces in each frame
      <body>                 Xform with time-sampled translation and rotation
        mesh                 its Mesh

A time code is a frame number, time [s] times frames per second. Names become valid prim names; the name as it was given
is kept as the display name.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from shinari.errors import FileError
from shinari.io.mapped_frames import each_frame
from shinari.io.results import Body, Layout, body_color, part_color
from shinari.io.usd_parts import Color, Put, define_part, describe, extent_of, pxr, set_faces, vectors

SAVE_BYTES = 64 * 2**20
"""Bytes of new samples after which a binary file is saved, so that memory does not grow with the number of frames."""


def prim_names(names: Iterable[str]) -> list[str]:
    """Valid prim names, all different, for any names."""
    valid = [re.sub(r"[^A-Za-z0-9_]", "_", name) for name in names]
    return different(f"_{name}" if name[:1].isdigit() or not name else name for name in valid)


def different(names: Iterable[str]) -> list[str]:
    """Names with a number behind those that are taken, capitals or not: `Cloth` and `cloth` may be one file."""
    taken: set[str] = set()
    result = []
    for name in names:
        free, number = name, 1
        while free.casefold() in taken:
            number += 1
            free = f"{name}_{number}"
        taken.add(free.casefold())
        result.append(free)
    return result


def write_usd(path: Path, layout: Layout, frames: np.ndarray, title: str = "") -> None:
    """Write a run as one stage.

    Args:
        path: File to write, `.usdc` or `.usda`.
        layout: What the frames hold.
        frames: Structured array as `shinari.io.frame_queue.frame_dtype` says, shape (T,).
        title: One line about the run, kept as the comment of the layer.

    Raises:
        MissingExtraError: usd-core is not installed.
        FileError: The stage cannot be saved.
    """
    Sdf, Usd, UsdGeom = pxr("Sdf", "Usd", "UsdGeom")

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
    setters = [
        define_part(stage, f"/World/{name}", part, layout, part_color(index))
        for index, (name, part) in enumerate(zip(names, layout.parts, strict=False))
    ]
    setters += [
        _define_body(stage, f"/World/{name}", body, index, body_color(layout, index))
        for index, (name, body) in enumerate(zip(names[len(layout.parts) :], layout.bodies, strict=True))
    ]
    # of faces the last sample before a frame is shown: one a hair after it would come a frame too late
    codes = np.round(frames["time"] * layout.frames_per_second, 9)
    if len(codes):
        stage.SetStartTimeCode(float(codes[0]))
        stage.SetEndTimeCode(float(codes[-1]))
    unsaved = 0
    for code, frame in zip(codes, each_frame(frames), strict=True):
        for put in setters:
            put(float(code), frame)
        unsaved += frames.dtype.itemsize
        if unsaved > SAVE_BYTES and path.suffix != ".usda":
            _save(layer, path)
            unsaved = 0
    _save(layer, path)


def _save(layer: Any, path: Path) -> None:
    (Tf,) = pxr("Tf")

    try:
        saved = layer.Save()
    except Tf.ErrorException as error:
        raise OSError("USD cannot save the stage, perhaps the disk is full") from error
    if not saved:
        raise FileError(f"{path}: USD cannot save the stage")


def _define_body(stage: Any, path: str, body: Body, index: int, color: Color) -> Put:
    Gf, UsdGeom = pxr("Gf", "UsdGeom")

    frame_prim = UsdGeom.Xform.Define(stage, path)
    frame_prim.GetPrim().SetDisplayName(body.name)
    translate, orient = frame_prim.AddTranslateOp(), frame_prim.AddOrientOp()
    shape = UsdGeom.Mesh.Define(stage, f"{path}/mesh")
    vertices = np.asarray(body.vertices, np.float32)
    shape.CreatePointsAttr(vectors(vertices))
    shape.CreateExtentAttr(extent_of(vertices, 0.0))
    shape.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    set_faces(shape, body.faces)
    shape.CreateDoubleSidedAttr(not body.hollow)
    describe(shape, body.name, color)

    def put(code: float, frame: Any) -> None:
        translate.Set(Gf.Vec3d(*map(float, frame["body_positions"][index])), code)
        orient.Set(Gf.Quatf(*map(float, frame["body_rotations"][index])), code)

    return put
