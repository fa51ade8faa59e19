"""Geoms of a compiled robot as shapes, in the world of the file."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari.geometry.hull import coarse_corners
from shinari.geometry.motion import quaternion_product, rotation_matrix
from shinari.io.robots.meshes import THICKNESS
from shinari.shapes.base import Shape, shape_mesh
from shinari.shapes.box import Box
from shinari.shapes.capsule import Capsule
from shinari.shapes.cylinder import Cylinder
from shinari.shapes.ellipsoid import Ellipsoid
from shinari.shapes.heightfield import Heightfield
from shinari.shapes.hull import ConvexHull
from shinari.shapes.plane import Plane
from shinari.shapes.sphere import Sphere
from shinari.systems.rigid.surface import join_meshes

PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF = range(9)
PRIMITIVES = (SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX)
UNKNOWN = {SDF: "signed distance field"}
"""Kinds of geoms that have no shape here."""
Y_TO_Z = np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0])
"""Turns the axis of a capsule or cylinder from y, where it is here, to z, where it is there."""
HFIELD_TURN = Y_TO_Z
"""Turns the height of a height field from y to z, and its rows from z to -y."""
GREY = (0.5, 0.5, 0.5, 1.0)
"""Colour of geoms for which a file gives none."""
FLAT = 1e-5
"""Thickness of a mesh, as part of its length, below which it is flat."""
MANY_CORNERS = 256
"""Hulls of more corners are made coarser."""
COARSE = 1e-3
"""By how much of its size a corner may be outside of a coarse hull."""
NOT_SEEN = 3
"""Geoms of this group on are not shown: by custom they are what touches, where something else is to be seen."""


@dataclass(frozen=True)
class Geom:
    """A geom where it is at the start.

    Attributes:
        index: Its place in the compiled model.
        name: Its name, or one that says where it is.
        shape: Its shape; None of a mesh that is only to be seen.
        position: Where the origin of the shape is [m], (3,).
        rotation: Unit quaternion w x y z, (4,).
        mesh: Of a mesh, vertices [m] in the axes of the shape, (V, 3), and faces, (F, 3); the shape is its hull.
        touches: Whether it touches anything; else it is only to be seen.
        seen: Whether it is to be seen where its body has geoms that only are.
        masks: What it is, and what it touches: a bit for each kind.
        color: Red, green and blue, 0 to 1; None where the file tells none.
    """

    index: int
    name: str
    shape: Shape | None
    position: np.ndarray
    rotation: np.ndarray
    mesh: tuple[np.ndarray, np.ndarray] | None
    touches: bool
    seen: bool
    masks: tuple[int, int]
    color: tuple[float, float, float] | None = None


def geoms_of(model: Any, data: Any, body: int, hulls: dict[int, ConvexHull], skipped: list[str]) -> list[Geom]:
    """Geoms of a body; those of unknown kinds are listed as skipped, hulls of meshes are made once."""
    result = []
    first = int(model.body_geomadr[body])
    for index in range(first, first + int(model.body_geomnum[body])):
        kind = int(model.geom_type[index])
        name = model.geom(index).name or f"{model.body(body).name or body}_geom_{index - first + 1}"
        if kind in UNKNOWN:
            skipped.append(
                f"geom {name!r}: {UNKNOWN[kind]}, of which there is no shape; it is not touched and not seen"
            )
            continue
        rotation = quaternion_product(np.array(data.xquat[body]), np.array(model.geom_quat[index]))
        shape, turn = _shape(model, index, kind, hulls)
        masks = int(model.geom_contype[index]), int(model.geom_conaffinity[index])
        result.append(
            Geom(
                index=index,
                name=name,
                shape=shape,
                position=np.array(data.geom_xpos[index]),
                rotation=rotation if turn is None else quaternion_product(rotation, turn),
                mesh=_mesh(model, index) if kind == MESH else None,
                touches=any(masks),
                seen=int(model.geom_group[index]) < NOT_SEEN,
                masks=masks,
                color=_color(model, index),
            )
        )
    return result


def surface_of(geoms: list[Geom], pose: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray] | None:
    """What is to be seen of a body, in the axes of its pose: vertices [m] and faces; None where that are its shapes."""
    only_seen = [geom for geom in geoms if geom.seen and not geom.touches]
    if not only_seen and all(geom.mesh is None for geom in geoms):
        return None
    meshes = []
    for geom in only_seen or geoms:
        vertices, faces = geom.mesh or shape_mesh(geom.shape)  # type: ignore[arg-type]
        position, rotation = relative(pose, geom.position, geom.rotation)
        meshes.append((vertices @ rotation_matrix(rotation).T + position, faces))
    return join_meshes(meshes)


def color_of(geoms: list[Geom]) -> tuple[float, float, float] | None:
    """The colour of a body: that of the first of its geoms that is to be seen and has one."""
    shown = [geom for geom in geoms if geom.seen] or geoms
    return next((geom.color for geom in shown if geom.color is not None), None)


def _color(model: Any, index: int) -> tuple[float, float, float] | None:
    material = int(model.geom_matid[index])
    rgba = np.array(model.mat_rgba[material] if material >= 0 else model.geom_rgba[index], np.float64)
    if material < 0 and np.allclose(rgba, GREY):
        return None
    red, green, blue = np.clip(rgba[:3], 0.0, 1.0).tolist()
    return red, green, blue


def may_touch(first: list[Geom], second: list[Geom]) -> bool:
    """Whether any geom of one body touches any of another: one is of a kind that the other touches."""
    return any(meet(a.masks, b.masks) for a in first for b in second)


def meet(first: tuple[int, int], second: tuple[int, int]) -> bool:
    """Whether by their masks one is of a kind that the other touches."""
    return bool(first[0] & second[1] or second[0] & first[1])


def _shape(model: Any, index: int, kind: int, hulls: dict[int, ConvexHull]) -> tuple[Shape | None, np.ndarray | None]:
    """The shape, and how its axes are turned in those of the geom."""
    if kind == PLANE:
        return Plane((0.0, 0.0, 1.0)), None
    if kind in PRIMITIVES:
        return primitive(kind, np.array(model.geom_size[index], np.float64))
    if kind == HFIELD:
        return _ground(model, int(model.geom_dataid[index])), HFIELD_TURN
    if not (model.geom_contype[index] or model.geom_conaffinity[index]):
        return None, None
    mesh = int(model.geom_dataid[index])
    if mesh not in hulls:
        hulls[mesh] = _hull(_hull_points(model, mesh))
    return hulls[mesh], None


def primitive(kind: int, size: np.ndarray) -> tuple[Shape, np.ndarray | None]:
    """A shape by its kind and its sizes in the file (3,), and how its axes are turned in those of the file."""
    if kind == SPHERE:
        return Sphere(float(size[0])), None
    if kind == BOX:
        return Box(tuple((2.0 * size).tolist())), None
    if kind == ELLIPSOID:
        return Ellipsoid(tuple(size.tolist())), None
    return (Capsule if kind == CAPSULE else Cylinder)(float(size[0]), float(2.0 * size[1])), Y_TO_Z


def _ground(model: Any, field: int) -> Heightfield:
    """Ground of a height field, y up: its rows run along the y of the geom, which is -z here."""
    rows, columns = int(model.hfield_nrow[field]), int(model.hfield_ncol[field])
    at = int(model.hfield_adr[field])
    x, y, top, base = (float(size) for size in model.hfield_size[field])
    heights = top * np.array(model.hfield_data[at : at + rows * columns], np.float64).reshape(rows, columns)
    return Heightfield(heights[::-1], (2.0 * x, 2.0 * y), max(base, 1e-3))


def _hull(points: np.ndarray) -> ConvexHull:
    """Hull of points; of those in one plane with a thickness."""
    middle = points.mean(axis=0)
    axes = np.linalg.svd(points - middle, full_matrices=False)[2]
    extent = np.ptp((points - middle) @ axes.T, axis=0)
    if extent[2] > FLAT * extent[0]:
        if len(points) > MANY_CORNERS:
            points = points[coarse_corners(points, COARSE * float(np.linalg.norm(np.ptp(points, axis=0))))]
        return ConvexHull(points)
    return ConvexHull(np.concatenate([points + 0.5 * THICKNESS * axes[2], points - 0.5 * THICKNESS * axes[2]]))


def _mesh(model: Any, index: int) -> tuple[np.ndarray, np.ndarray]:
    mesh = int(model.geom_dataid[index])
    vertex, face = int(model.mesh_vertadr[mesh]), int(model.mesh_faceadr[mesh])
    vertices = np.array(model.mesh_vert[vertex : vertex + int(model.mesh_vertnum[mesh])], np.float64)
    faces = np.array(model.mesh_face[face : face + int(model.mesh_facenum[mesh])], np.int32)
    corners = np.sort(faces, axis=1)
    return vertices, faces[(corners[:, 1:] != corners[:, :-1]).all(axis=1)]


def _hull_points(model: Any, mesh: int) -> np.ndarray:
    """Corners of the hull of a mesh where they are known, else all of its vertices."""
    start = int(model.mesh_vertadr[mesh])
    vertices = np.array(model.mesh_vert[start : start + int(model.mesh_vertnum[mesh])], np.float64)
    graph = int(model.mesh_graphadr[mesh])
    if graph < 0:
        return vertices
    # number of corners, of faces, then where the edges of each corner start, then the vertex that each corner is
    corners = int(model.mesh_graph[graph])
    return vertices[model.mesh_graph[graph + 2 + corners : graph + 2 + 2 * corners]]


def is_coarse(model: Any, mesh: int) -> bool:
    """Whether the hull of a mesh has so many corners that it is made coarser."""
    return len(_hull_points(model, mesh)) > MANY_CORNERS


def relative(pose: tuple[np.ndarray, np.ndarray], position: np.ndarray, rotation: np.ndarray) -> tuple:
    """Position and rotation in the axes of a pose."""
    matrix, back = rotation_matrix(pose[1]), pose[1] * np.array([1.0, -1.0, -1.0, -1.0])
    return matrix.T @ (position - pose[0]), quaternion_product(back, rotation)
