"""Parts in Universal Scene Description: meshes, curves and points with samples for each frame.

A mesh has smooth normals of its vertices. Everything has velocities [m/s], from which renderers take motion blur.
Cloth is marked as a surface deformable that is moved by its samples (kinematic), with the applied schemas of the
proposal "Deformable Body Physics in USD", https://github.com/PixarAnimationStudios/OpenUSD-proposals/pull/111
(June 2026). No released USD registers them yet (usd-core 26.11 has rigid bodies only); a reader that does not know
them passes them over. A volume deformable asks for a TetMesh, a curve deformable for the turning of its segments:
the frames of a run have neither, and nothing is marked there.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from shinari.errors import require
from shinari.io.fluid_mesh import fluid_mesh
from shinari.io.results import DrawnPart, Layout

DEFAULT_RADIUS = 0.005
"""Radius [m] of curves and points that give none."""

SURFACE_DEFORMABLE = ("PhysicsBodyAPI", "PhysicsDeformableBodyAPI", "PhysicsSurfaceDeformableSimAPI")
"""Applied schemas of a surface deformable whose own mesh is simulated."""

MEASURED = {"strain": "strains", "force": "forces"}
"""Primvars of the points, and the fields of a frame that they hold."""

Color = tuple[float, float, float]
Put = Callable[[float, Any], None]
"""Sets the samples of a frame: time code, frame."""
Select = Callable[[float, Any], Any]
"""Which points of a part a frame has, as an index; sets the samples of its cells. Time code, frame."""


def pxr(*names: str) -> list[Any]:
    """Modules of USD; by this way their attributes, made at run time, need no type stubs."""
    return [require(f"pxr.{name}", "usd") for name in names]


def define_part(stage: Any, path: str, part: DrawnPart, layout: Layout, color: Color) -> Put:
    """Define the prim of a part.

    Args:
        stage: The stage.
        path: Path of the prim.
        part: The part.
        layout: What the frames hold.
        color: Its display colour.

    Returns:
        What sets its samples.
    """
    if part.surface:
        return _define_surface(stage, path, part, layout, color)
    if part.faces is not None:
        return _define_mesh(stage, path, part, layout, color)
    if part.kind == "curve":
        return _define_curve(stage, path, part, layout, color)
    return _define_points(stage, path, part, layout, color)


def set_faces(shape: Any, faces: np.ndarray, code: float | None = None) -> None:
    """Set the triangles of a mesh, at a time or for all times."""
    Usd, Vt = pxr("Usd", "Vt")

    when = Usd.TimeCode.Default() if code is None else code
    shape.GetFaceVertexCountsAttr().Set(Vt.IntArray.FromNumpy(np.full(len(faces), 3, np.int32)), when)
    shape.GetFaceVertexIndicesAttr().Set(Vt.IntArray.FromNumpy(np.ascontiguousarray(faces, np.int32).ravel()), when)


def describe(shape: Any, name: str, color: Color) -> None:
    """Set the display colour and name."""
    shape.CreateDisplayColorAttr([color])
    shape.GetPrim().SetDisplayName(name)


def vectors(values: np.ndarray) -> Any:
    """Vectors (n, 3) as USD takes them."""
    (Vt,) = pxr("Vt")
    return Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(values, np.float32))


def extent_of(points: np.ndarray, margin: float) -> Any:
    """Box around points, with a margin [m]."""
    if len(points) == 0:
        return vectors(np.zeros((2, 3)))
    axes = np.ascontiguousarray(points.T)  # NumPy takes ten times as long along the short axis
    return vectors(np.stack([axes.min(axis=1) - margin, axes.max(axis=1) + margin]))


def _samples(shape: Any, part: DrawnPart, margin: float, select: Select, measured: bool) -> Put:
    """Samples of points, velocities and extent, and of strains and forces where frames hold them."""
    UsdGeom, Sdf, Vt = pxr("UsdGeom", "Sdf", "Vt")

    points, velocities, extent = shape.CreatePointsAttr(), shape.CreateVelocitiesAttr(), shape.CreateExtentAttr()
    api, primvars = UsdGeom.PrimvarsAPI(shape), {}
    for name, field in MEASURED.items() if measured else ():
        primvars[field] = api.CreatePrimvar(name, Sdf.ValueTypeNames.FloatArray, UsdGeom.Tokens.vertex)

    def put(code: float, frame: Any) -> None:
        rows = select(code, frame)
        for field, primvar in primvars.items():
            found = np.ascontiguousarray(frame[field][part.start : part.stop][rows], np.float32)
            primvar.Set(Vt.FloatArray.FromNumpy(found), code)
        values = np.asarray(frame["positions"][part.start : part.stop])[rows]
        points.Set(vectors(values), code)
        velocities.Set(vectors(np.asarray(frame["velocities"][part.start : part.stop])[rows]), code)
        extent.Set(extent_of(values, margin), code)

    return put


def _all(code: float, frame: Any) -> slice:
    return slice(None)


def _define_mesh(stage: Any, path: str, part: DrawnPart, layout: Layout, color: Color) -> Put:
    from shinari.geometry.vertex_normals import vertex_normals

    (UsdGeom,) = pxr("UsdGeom")
    shape = _empty_mesh(stage, path, part, color)
    set_faces(shape, np.asarray(part.faces))
    if part.cloth:
        _mark_deformable(shape.GetPrim())
    normals = shape.CreateNormalsAttr()
    where, faces = layout.varying.get(part.name), np.ascontiguousarray(part.faces, np.int32)
    select = _all if where is None else _torn_faces(shape, faces, where)
    move = _samples(shape, part, 0.0, select, layout.measured)
    shape.SetNormalsInterpolation(UsdGeom.Tokens.vertex)

    def put(code: float, frame: Any) -> None:
        move(code, frame)
        drawn = None if where is None else frame["drawn"][where]
        normals.Set(vectors(vertex_normals(frame["positions"][part.start : part.stop], faces, drawn)), code)

    return put


def _mark_deformable(prim: Any) -> None:
    (Sdf,) = pxr("Sdf")

    for name in SURFACE_DEFORMABLE:
        prim.AddAppliedSchema(name)
    prim.CreateAttribute("physics:kinematicEnabled", Sdf.ValueTypeNames.Bool, custom=False).Set(True)


def _empty_mesh(stage: Any, path: str, part: DrawnPart, color: Color) -> Any:
    (UsdGeom,) = pxr("UsdGeom")

    shape = UsdGeom.Mesh.Define(stage, path)
    shape.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    shape.CreateDoubleSidedAttr(True)
    describe(shape, part.name, color)
    return shape


def _torn_faces(shape: Any, faces: np.ndarray, where: slice) -> Select:
    """Samples of the faces at the times at which some tear; the points stay as they are."""
    last: list[np.ndarray | None] = [None]

    def select(code: float, frame: Any) -> slice:
        there = np.array(frame["drawn"][where])
        if last[0] is None or not np.array_equal(there, last[0]):
            last[0] = there
            set_faces(shape, faces[there], code)
        return slice(None)

    return select


def _define_curve(stage: Any, path: str, part: DrawnPart, layout: Layout, color: Color) -> Put:
    UsdGeom, Vt = pxr("UsdGeom", "Vt")

    shape = UsdGeom.BasisCurves.Define(stage, path)
    shape.CreateTypeAttr(UsdGeom.Tokens.linear)
    shape.CreateWrapAttr(UsdGeom.Tokens.periodic if part.closed else UsdGeom.Tokens.nonperiodic)
    counts = shape.CreateCurveVertexCountsAttr([part.point_count])
    width = _set_width(shape, part)
    describe(shape, part.name, color)
    where = layout.varying.get(part.name)
    ends = np.arange(part.element_count)[:, None] + np.arange(2)

    def pieces(code: float, frame: Any) -> np.ndarray:
        # each segment becomes a curve of its own, so that it can be left out when it has torn
        there = frame["drawn"][where]
        counts.Set(Vt.IntArray.FromNumpy(np.full(int(there.sum()), 2, np.int32)), code)
        return ends[there].ravel()

    return _samples(shape, part, 0.5 * width, _all if where is None else pieces, layout.measured)


def _define_points(stage: Any, path: str, part: DrawnPart, layout: Layout, color: Color) -> Put:
    Sdf, UsdGeom, Vt = pxr("Sdf", "UsdGeom", "Vt")

    shape = UsdGeom.Points.Define(stage, path)
    width = _set_width(shape, part)
    describe(shape, part.name, color)
    where, dense = layout.varying.get(part.name), layout.fluids.get(part.name)

    def there(code: float, frame: Any) -> Any:
        return slice(None) if where is None else np.asarray(frame["drawn"][where])

    move = _samples(shape, part, 0.5 * width, there, layout.measured)
    if dense is None:
        return move
    density = UsdGeom.PrimvarsAPI(shape).CreatePrimvar("density", Sdf.ValueTypeNames.FloatArray)
    density.SetInterpolation(UsdGeom.Tokens.vertex)

    def put(code: float, frame: Any) -> None:
        move(code, frame)
        values = np.ascontiguousarray(frame["densities"][dense][there(code, frame)], np.float32)
        density.Set(Vt.FloatArray.FromNumpy(values), code)

    return put


def _set_width(shape: Any, part: DrawnPart) -> float:
    (UsdGeom,) = pxr("UsdGeom")

    width = 2 * (part.radius or DEFAULT_RADIUS)
    shape.CreateWidthsAttr([width])
    shape.SetWidthsInterpolation(UsdGeom.Tokens.constant)
    return width


def _define_surface(stage: Any, path: str, part: DrawnPart, layout: Layout, color: Color) -> Put:
    """A fluid as a mesh around its particles, with other vertices in each frame."""
    from shinari.geometry.vertex_normals import vertex_normals

    (UsdGeom,) = pxr("UsdGeom")
    shape = _empty_mesh(stage, path, part, color)
    points, normals, extent = shape.CreatePointsAttr(), shape.CreateNormalsAttr(), shape.CreateExtentAttr()
    shape.SetNormalsInterpolation(UsdGeom.Tokens.vertex)

    def put(code: float, frame: Any) -> None:
        vertices, faces = fluid_mesh(part, layout, frame)
        points.Set(vectors(vertices), code)
        normals.Set(vectors(vertex_normals(vertices, faces)), code)
        set_faces(shape, faces, code)
        extent.Set(extent_of(vertices, 0.0), code)

    return put
