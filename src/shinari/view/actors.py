"""How the objects of a run are drawn with VTK: made once, then moved frame after frame.

Everything but spheres is a surface of triangles with a normal at each vertex. Surfaces and spheres are known outside of
VTK too: `shinari.view.shadows` casts shadows with them.
"""

from typing import Any

import numpy as np

from shinari.errors import require
from shinari.geometry.topology import boundary_edges
from shinari.geometry.vertex_normals import vertex_normals
from shinari.io.fluid_mesh import fluid_mesh
from shinari.io.results import DrawnPart, Frame, Layout, body_color, part_color
from shinari.view.camera import body_matrix
from shinari.view.geometry import SIDES, tube_faces, tube_vertices

SHARP_ANGLE = 35.0
"""Faces of closed surfaces that meet at more than this keep their edge [degrees]."""
SHARP_COSINE = float(np.cos(np.radians(SHARP_ANGLE)))
THIN, THINNEST = 0.004, 0.0014
"""Radius of a line or point that has none of its own, and the least that is seen, in sizes of the motion."""
BACK = 0.35
"""How much lighter the back of cloth is than its front."""
CONTAINER_COLOR = (0.84, 0.87, 0.91)


class Surface:
    """Triangles in VTK with normals at the vertices.

    Args:
        plotter: Where it is drawn.
        faces: Triangles, shape (F, 3).
        color: Its colour, 0..1.
        back: Colour of the side that its faces look away from; None: the same.
        hollow: Whether the side that looks away is left out.
    """

    def __init__(
        self,
        plotter: Any,
        faces: np.ndarray,
        color: tuple[float, float, float],
        *,
        back: tuple[float, float, float] | None = None,
        hollow: bool = False,
    ) -> None:
        pyvista = require("pyvista", "render")
        self._mesh = pyvista.PolyData()
        self._vertices, self._faces = np.zeros((0, 3), np.float32), np.zeros((0, 3), np.int32)
        self._next = np.asarray(faces, np.int32)
        self._mapper = pyvista.DataSetMapper(self._mesh)
        self._mapper.ScalarVisibilityOff()
        actor = pyvista.Actor(mapper=self._mapper)
        shine(actor.prop, color)
        if back is not None:
            actor.backface_prop = pyvista.Property()
            shine(actor.backface_prop, back)
        if hollow:
            actor.prop.culling, actor.prop.lighting = "back", False
        plotter.add_actor(actor, reset_camera=False, render=False)
        self.actor = actor

    def show(self, vertices: np.ndarray, colors: np.ndarray | None = None, faces: np.ndarray | None = None) -> None:
        """Move it.

        Args:
            vertices: Shape (V, 3) [m].
            colors: Colour of each vertex, shape (V, 3) uint8; None: the one colour of the object.
            faces: Other triangles from now on.
        """
        self._next = self._next if faces is None else np.asarray(faces, np.int32)
        self._vertices = np.ascontiguousarray(vertices, np.float32)
        self._mesh.points = self._vertices
        if self._next is not self._faces:
            self._faces = self._next
            self._mesh.faces = np.insert(self._faces, 0, 3, axis=1).ravel()
        self._mesh.point_data.active_normals = vertex_normals(self._vertices, self._faces)
        paint(self._mesh, self._mapper, colors)

    def triangles(self) -> np.ndarray:
        """Corners of its triangles [m], shape (F, 3, 3)."""
        return self._vertices[self._faces]


class Sheet:
    """A part of triangles: cloth, the surface of a soft body."""

    def __init__(self, plotter: Any, part: DrawnPart, layout: Layout, first: Frame, color: Any) -> None:
        self._part, self._varying = part, layout.varying.get(part.name)
        faces = np.asarray(part.faces, np.int64)
        closed = len(boundary_edges(faces)) == 0
        self._source, self._all = np.arange(part.point_count), faces
        if closed:
            self._source, self._all = split_edges(np.asarray(first.positions)[part.start : part.stop], faces)
        back = None if closed else tuple(BACK + (1.0 - BACK) * channel for channel in color)
        self._surface = Surface(plotter, self._all, color, back=back)
        self._drawn: np.ndarray | None = None

    def show(self, frame: Frame, colors: np.ndarray | None) -> None:
        """Move it, without what has torn."""
        faces = None
        if self._varying is not None:
            drawn = np.asarray(frame.drawn)[self._varying]
            if self._drawn is None or not np.array_equal(drawn, self._drawn):
                self._drawn, faces = drawn.copy(), self._all[drawn]
        points = np.asarray(frame.positions)[self._part.start : self._part.stop]
        self._surface.show(points[self._source], None if colors is None else colors[self._source], faces)

    def triangles(self) -> np.ndarray:
        """Corners of its triangles [m], shape (F, 3, 3)."""
        return self._surface.triangles()


class Tube:
    """A part that is a line: rope, rod."""

    def __init__(self, plotter: Any, part: DrawnPart, layout: Layout, first: Frame, color: Any, radius: float) -> None:
        self._part, self._varying, self._radius = part, layout.varying.get(part.name), radius
        self._surface = Surface(plotter, tube_faces(len(part.line)), color)

    def show(self, frame: Frame, colors: np.ndarray | None) -> None:
        """Move it, without what has torn."""
        points = np.asarray(frame.positions)[self._part.line]
        faces = None
        if self._varying is not None:
            faces = tube_faces(len(points), ~np.asarray(frame.drawn)[self._varying])
        colors = None if colors is None else np.repeat(colors[self._part.line - self._part.start], SIDES, axis=0)
        self._surface.show(tube_vertices(points, self._radius), colors, faces)

    def triangles(self) -> np.ndarray:
        """Corners of its triangles [m], shape (F, 3, 3)."""
        return self._surface.triangles()


class Balls:
    """A part of points: particles, grains, a fluid. Each is a sphere, drawn by its outline and its depth."""

    def __init__(
        self, plotter: Any, part: DrawnPart, layout: Layout, color: Any, radius: float, fastest: float
    ) -> None:
        pyvista = require("pyvista", "render")
        from vtkmodules.vtkRenderingOpenGL2 import vtkOpenGLSphereMapper

        self._part, self._varying, self._radius = part, layout.varying.get(part.name), radius
        self._color, self._fastest = 255.0 * np.array(color), fastest
        self._mesh = pyvista.PolyData()
        self._mapper = vtkOpenGLSphereMapper()
        self._mapper.SetInputData(self._mesh)
        self._mapper.SetRadius(radius)
        self._mapper.ScalarVisibilityOff()
        self._points = np.zeros((0, 3), np.float32)
        actor = pyvista.Actor()
        actor.SetMapper(self._mapper)
        shine(actor.prop, color)
        plotter.add_actor(actor, reset_camera=False, render=False)
        self.actor = actor

    def show(self, frame: Frame, colors: np.ndarray | None) -> None:
        """Move them; those that are not there are left out. A fluid is the whiter the faster it is."""
        where = slice(self._part.start, self._part.stop)
        points = np.asarray(frame.positions, np.float32)[where]
        if colors is None and self._part.fluid:
            speeds = np.linalg.norm(np.asarray(frame.velocities)[where], axis=1, keepdims=True) / self._fastest
            whiter = 0.8 * np.minimum(speeds, 1.0)
            colors = np.round(self._color + whiter * (255.0 - self._color)).astype(np.uint8)
        if self._varying is not None:
            there = np.asarray(frame.drawn)[self._varying]
            points, colors = points[there], None if colors is None else colors[there]
        self._points = points
        self.actor.visibility = len(points) > 0
        if len(points):
            self._mesh.points = points
            if self._mesh.n_verts != len(points):
                self._mesh.verts = np.stack([np.ones(len(points), int), np.arange(len(points))], axis=1).ravel()
            paint(self._mesh, self._mapper, colors)

    def spheres(self) -> np.ndarray:
        """Middles and radii [m], shape (S, 4)."""
        return np.concatenate([self._points, np.full((len(self._points), 1), self._radius, np.float32)], axis=1)


class FluidSurface:
    """A fluid drawn by the surface around its particles, another mesh in each frame."""

    def __init__(self, plotter: Any, part: DrawnPart, layout: Layout, color: Any) -> None:
        self._part, self._layout = part, layout
        self._surface = Surface(plotter, np.zeros((0, 3), np.int64), color)
        self._surface.actor.prop.specular = 0.6
        self._surface.actor.prop.specular_power = 60.0

    def show(self, frame: Frame, colors: np.ndarray | None) -> None:
        """Make the mesh anew, in one colour."""
        vertices, faces = fluid_mesh(self._part, self._layout, frame)
        self._surface.actor.visibility = len(faces) > 0
        if len(faces):
            self._surface.show(vertices, None, faces)

    def triangles(self) -> np.ndarray:
        """Corners of its triangles [m], shape (F, 3, 3)."""
        return self._surface.triangles() if self._surface.actor.visibility else np.zeros((0, 3, 3), np.float32)


class Solid:
    """A rigid body or a collider. A container is seen into: its near walls are left out, its edges drawn."""

    def __init__(self, plotter: Any, layout: Layout, index: int) -> None:
        body = layout.bodies[index]
        self._index, self._hollow = index, body.hollow
        source, faces = split_edges(np.asarray(body.vertices, np.float64), np.asarray(body.faces, np.int64))
        self._corners = np.asarray(body.vertices, np.float64)[source][faces]
        color = CONTAINER_COLOR if body.hollow else body_color(layout, index)
        self._surface = Surface(plotter, faces, color, hollow=body.hollow)
        self._surface.show(np.asarray(body.vertices)[source])
        self._moving = [self._surface.actor]
        self._matrix = np.eye(4)
        if body.hollow:
            self._moving.append(_outline(plotter, body.vertices, body.faces))

    def show(self, frame: Frame) -> None:
        """Move it."""
        matrix = body_matrix(frame, self._index)
        if np.isfinite(matrix).all():  # one that is nowhere stays where it was
            self._matrix = matrix
        for actor in self._moving:
            actor.user_matrix = self._matrix

    def triangles(self) -> np.ndarray:
        """Corners of its triangles [m], shape (F, 3, 3); none of a container, which lets the light in."""
        if self._hollow:
            return np.zeros((0, 3, 3), np.float32)
        return (self._corners @ self._matrix[:3, :3].T + self._matrix[:3, 3]).astype(np.float32)


def part_actor(plotter: Any, layout: Layout, index: int, first: Frame, size: float, fastest: float) -> Any:
    """What draws a part.

    Args:
        plotter: Where it is drawn.
        layout: What the frames hold.
        index: The part.
        first: A frame; edges that are sharp in it stay sharp.
        size: Size of the motion [m], for objects without a radius.
        fastest: Speed at which a fluid is whitest [m/s].
    """
    part, color = layout.parts[index], part_color(index)
    radius = max(part.radius, THINNEST * size) if part.radius else THIN * size
    if part.kind == "mesh":
        return Sheet(plotter, part, layout, first, color)
    if part.kind == "curve":
        return Tube(plotter, part, layout, first, color, radius)
    if part.surface:
        return FluidSurface(plotter, part, layout, color)
    return Balls(plotter, part, layout, color, radius, fastest)


def shine(prop: Any, color: tuple[float, float, float]) -> None:
    """What all objects are made of, in a colour: matt, with a soft highlight."""
    prop.color = color
    prop.interpolation = "Phong"
    prop.ambient, prop.diffuse = 0.0, 1.0
    prop.specular, prop.specular_power = 0.12, 18.0
    prop.specular_color = (1.0, 1.0, 1.0)


def paint(mesh: Any, mapper: Any, colors: np.ndarray | None) -> None:
    """Give each vertex of a mesh a colour, (V, 3) uint8, or all the colour of the object."""
    if colors is None:
        mapper.ScalarVisibilityOff()
        return
    mesh.point_data["colours"] = np.ascontiguousarray(colors, np.uint8)
    mapper.ScalarVisibilityOn()
    mapper.SetScalarModeToUsePointFieldData()
    mapper.SetColorModeToDirectScalars()
    mapper.SelectColorArray("colours")


def split_edges(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Double the vertices at sharp edges, so that each side has normals of its own.

    Around a vertex those faces share a copy that are connected by edges at which they meet at less than `SHARP_ANGLE`.

    Returns:
        The vertex that each new one comes from, (W,), and the faces, (F, 3), that use the new ones.
    """
    if len(faces) == 0:
        return np.arange(len(vertices)), faces
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    ends = np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2)
    corners = np.arange(3 * len(faces)).reshape(-1, 3)
    places = np.stack([corners, np.roll(corners, -1, axis=1)], axis=2).reshape(-1, 2)
    turned = ends[:, 0] > ends[:, 1]
    ends[turned], places[turned] = ends[turned][:, ::-1], places[turned][:, ::-1]
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    first, second = order[:-1], order[1:]
    same = (ends[first] == ends[second]).all(axis=1)
    smooth = (normals[first // 3] * normals[second // 3]).sum(axis=1) > SHARP_COSINE
    first, second = first[same & smooth], second[same & smooth]
    links = np.concatenate([places[first], places[second]], axis=1)[:, [0, 2, 1, 3]].reshape(-1, 2)
    return _grouped(links, faces)


def _grouped(links: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners that are linked become one vertex: each takes the smallest number in reach until none changes."""
    label = np.arange(faces.size)
    while True:
        before = label.copy()
        least = np.minimum(label[links[:, 0]], label[links[:, 1]])
        np.minimum.at(label, links[:, 0], least)
        np.minimum.at(label, links[:, 1], least)
        label = label[label]
        if np.array_equal(label, before):
            break
    kept, renumbered = np.unique(label, return_inverse=True)
    return faces.ravel()[kept], renumbered.reshape(faces.shape)


def _outline(plotter: Any, vertices: np.ndarray, faces: np.ndarray) -> Any:
    """The sharp edges of a container as thin lines."""
    pyvista = require("pyvista", "render")
    cells = np.insert(np.asarray(faces, np.int64), 0, 3, axis=1).ravel()
    mesh = pyvista.PolyData(np.asarray(vertices, np.float32), cells)
    edges = mesh.extract_feature_edges(SHARP_ANGLE, boundary_edges=False, manifold_edges=False)
    actor = pyvista.Actor(mapper=pyvista.DataSetMapper(edges))
    actor.prop.color, actor.prop.line_width, actor.prop.lighting = (0.45, 0.48, 0.52), 3.0, False
    plotter.add_actor(actor, reset_camera=False, render=False)
    return actor
