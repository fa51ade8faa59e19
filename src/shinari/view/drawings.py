"""How one object of a run is drawn with viser: made once, then shown frame after frame."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from shinari.io.fluid_mesh import fluid_mesh
from shinari.io.results import DrawnPart, Frame, Layout
from shinari.view.geometry import SIDES, coloured_mesh, icosphere, tube_faces, tube_vertices

MOST_SPHERES = 4000
"""More particles than this are drawn as discs."""
FINE_SPHERES = 300
"""Up to so many are drawn as fine spheres."""
FLAT_FACES = 64
"""Up to so many faces a body is drawn with its edges: a box is no cushion."""

_SHARES = np.arange(256) / 255.0
LINEAR = np.round(255.0 * np.where(_SHARES <= 0.04045, _SHARES / 12.92, ((_SHARES + 0.055) / 1.055) ** 2.4)).astype(
    np.uint8
)
"""Light for each number of a colour (sRGB, IEC 61966-2-1): viser wants it of instances, and of nothing else."""

Color = tuple[int, int, int]
Register = Callable[[Any], None]
"""Told of every node that is added to the scene, now or later."""


def add_balls(
    scene: Any, name: str, radius: float, places: np.ndarray, colors: Any, *, level: int = 1, **properties: Any
) -> Any:
    """Add spheres of one radius [m] at some places (n, 3), of one colour or (n, 3), as one node; see `icosphere`."""
    vertices, faces = icosphere(level)
    turns = np.tile(np.array([1.0, 0.0, 0.0, 0.0], np.float32), (len(places), 1))
    vertices = (radius * vertices).astype(np.float32)
    return scene.add_batched_meshes_simple(
        name, vertices, faces, turns, places, batched_colors=LINEAR[np.asarray(colors)], lod="off", **properties
    )


class Surface:
    """A surface of one colour, or with a colour for each vertex.

    viser's meshes have one colour. A coloured surface is a glTF asset; a browser shows nothing while it loads one, so
    there are two, and one is shown while the other loads. The mesh stays there, transparent: it is what the mouse takes
    hold of, since a browser ends the drag of what is hidden.
    """

    def __init__(
        self, scene: Any, name: str, vertices: np.ndarray, faces: np.ndarray, color: Color, register: Register
    ) -> None:
        self._scene, self._name, self._register = scene, name, register
        self._faces = faces
        self._mesh = scene.add_mesh_simple(name, vertices, faces.astype(np.uint32), color=color, side="double")
        self._assets: list[Any] = []
        self._loading: Any = None
        register(self._mesh)

    def show(self, vertices: np.ndarray, faces: np.ndarray | None, colors: np.ndarray | None) -> None:
        """Move it; faces None leaves them as they are."""
        if faces is not None:
            self._faces = faces
            self._mesh.faces = faces.astype(np.uint32)
        self._mesh.vertices = vertices
        if colors is None:
            self._look_at(self._mesh)
            self._loading = None
            return
        self.settle()
        data = coloured_mesh(vertices, self._faces, colors)
        hidden = next((asset for asset in self._assets if not asset.visible), None)
        if hidden is None:
            hidden = self._scene.add_glb(f"{self._name} colours {len(self._assets)}", data, visible=False)
            self._assets.append(hidden)
            self._register(hidden)
        else:
            hidden.glb_data = data
        self._loading = hidden

    @property
    def lags(self) -> bool:
        """Whether the last frame is loaded, but not shown yet."""
        return self._loading is not None

    def settle(self) -> None:
        """Show what was loaded with the last frame."""
        if self._loading is not None:
            self._look_at(self._loading)
            self._loading = None

    def _look_at(self, node: Any) -> None:
        opacity = None if node is self._mesh else 0.0
        if self._mesh.opacity != opacity:
            self._mesh.opacity = opacity
        for asset in self._assets:
            if asset.visible != (asset is node):
                asset.visible = asset is node


class Skin(ABC):
    """A part that is drawn by a surface, which loses what tears."""

    def __init__(
        self, scene: Any, name: str, part: DrawnPart, layout: Layout, first: Frame, color: Color, add: Register
    ):
        self._part, self._varying = part, layout.varying.get(part.name)
        self._drawn = self._left(first)
        self.surface = Surface(scene, name, self._vertices(first), self._faces(self._drawn), color, add)

    def show(self, frame: Frame, colors: np.ndarray | None) -> None:
        """Move it, without what has torn."""
        drawn, faces = self._left(frame), None
        if drawn is not None and not np.array_equal(drawn, self._drawn):  # type: ignore[arg-type]
            self._drawn, faces = drawn, self._faces(drawn)
        self.surface.show(self._vertices(frame), faces, colors)

    def _left(self, frame: Frame) -> np.ndarray | None:
        """Which of its triangles or segments are there; None where nothing can tear."""
        return None if self._varying is None else np.array(frame.drawn[self._varying])

    @abstractmethod
    def _vertices(self, frame: Frame) -> np.ndarray:
        """The vertices of its surface in a frame [m], (V, 3) float32."""

    @abstractmethod
    def _faces(self, drawn: np.ndarray | None) -> np.ndarray:
        """The faces of its surface where this is left, (F, 3)."""


class Sheet(Skin):
    """A part of triangles: cloth, the surface of a soft body."""

    def _vertices(self, frame: Frame) -> np.ndarray:
        return np.ascontiguousarray(frame.positions[self._part.start : self._part.stop], np.float32)

    def _faces(self, drawn: np.ndarray | None) -> np.ndarray:
        faces = np.asarray(self._part.faces, np.int32)
        return faces if drawn is None else faces[drawn]


class Tube(Skin):
    """A part that is a line: rope, rod."""

    def __init__(self, *given: Any, radius: float) -> None:
        self._radius = radius
        super().__init__(*given)

    def show(self, frame: Frame, colors: np.ndarray | None) -> None:
        """Move it, without what has torn."""
        own = self._part.line - self._part.start
        super().show(frame, None if colors is None else np.repeat(colors[own], SIDES, axis=0))

    def _vertices(self, frame: Frame) -> np.ndarray:
        return tube_vertices(frame.positions[self._part.line], self._radius)

    def _faces(self, drawn: np.ndarray | None) -> np.ndarray:
        return tube_faces(len(self._part.line), None if drawn is None else ~drawn)


class Balls:
    """A part of points: spheres, or discs when there are very many. Those that are not there hide behind one that is.

    Fluids are coloured by their speed, from their colour at rest to white.
    """

    surface = None

    def __init__(
        self,
        scene: Any,
        name: str,
        part: DrawnPart,
        layout: Layout,
        first: Frame,
        color: Color,
        add: Register,
        *,
        radius: float,
        fastest: float | None,
    ) -> None:
        self._part, self._varying = part, layout.varying.get(part.name)
        self._color = np.array(color, np.uint8)
        self._fastest, self._grows = fastest or 1e-3, fastest is None
        points, visible = self._places(first)
        colors = self._colors(first, None)
        self._spheres = part.point_count <= MOST_SPHERES
        if self._spheres:
            level = 2 if part.point_count <= FINE_SPHERES else 1
            self._node = add_balls(scene, name, radius, points, colors, level=level, visible=visible)
        else:
            self._node = scene.add_point_cloud(
                name,
                points,
                colors,
                point_size=2.0 * radius,
                point_shape="circle",
                precision="float32",
                visible=visible,
                point_shading="gradient",
            )
        add(self._node)

    def show(self, frame: Frame, colors: np.ndarray | None) -> None:
        """Move and colour them."""
        points, visible = self._places(frame)
        colors = self._colors(frame, colors)
        if self._spheres:
            self._node.batched_positions, self._node.batched_colors = points, LINEAR[colors]
        else:
            self._node.points, self._node.colors = points, colors
        if self._node.visible != visible:
            self._node.visible = visible

    def _places(self, frame: Frame) -> tuple[np.ndarray, bool]:
        places = np.ascontiguousarray(frame.positions[self._part.start : self._part.stop], np.float32)
        if self._varying is None:
            return places, True
        there = frame.drawn[self._varying]
        return np.where(there[:, None], places, places[int(np.argmax(there))]), bool(there.any())

    def _colors(self, frame: Frame, colors: np.ndarray | None) -> np.ndarray:
        if colors is not None:
            return colors
        if not self._part.fluid:
            return np.tile(self._color, (self._part.point_count, 1))
        speeds = np.linalg.norm(frame.velocities[self._part.start : self._part.stop], axis=1)
        if self._grows:
            self._fastest = max(self._fastest, float(speeds.max(initial=0.0)))
        whiter = np.minimum(speeds / self._fastest, 1.0)[:, None] * (255.0 - self._color)
        return np.round(self._color + whiter).astype(np.uint8)


class FluidSurface:
    """A fluid as a mesh around its particles; a triangle without area where there are none."""

    surface = None

    def __init__(
        self, scene: Any, name: str, part: DrawnPart, layout: Layout, first: Frame, color: Color, add: Register
    ):
        self._part, self._layout = part, layout
        vertices, faces = self._mesh_of(first)
        self._node = scene.add_mesh_simple(name, vertices, faces, color=color, side="double")
        add(self._node)

    def show(self, frame: Frame, colors: np.ndarray | None) -> None:
        """Make the mesh anew, in one colour."""
        self._node.vertices, self._node.faces = self._mesh_of(frame)

    def _mesh_of(self, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
        vertices, faces = fluid_mesh(self._part, self._layout, frame)
        if len(faces):
            return vertices, faces.astype(np.uint32)
        start = self._part.start
        return np.repeat(frame.positions[start : start + 1], 3, axis=0), np.array([[0, 1, 2]], np.uint32)


class RigidMeshes:
    """Bodies and colliders with the same mesh, one or many: one message a frame for all of them.

    A single one could be a node with a pose. Poses reach the picture of a busy browser sooner than vertices do, and a
    ball would be seen inside the cloth that it pushes; the places of instances go the way of the vertices.
    """

    def __init__(
        self,
        scene: Any,
        name: str,
        layout: Layout,
        members: list[int],
        first: Frame,
        colors: np.ndarray,
        add: Register,
    ) -> None:
        body = layout.bodies[members[0]]
        self._members = members
        self._node = scene.add_batched_meshes_simple(
            name,
            np.asarray(body.vertices, np.float32),
            np.asarray(body.faces, np.uint32),
            batched_wxyzs=first.body_rotations[members],
            batched_positions=first.body_positions[members],
            batched_colors=LINEAR[colors],
            lod="off",
            # the walls of a container that are between it and the camera are left out
            side="front" if body.hollow else "double",
            flat_shading=len(body.faces) <= FLAT_FACES,
        )
        add(self._node)

    def show(self, frame: Frame) -> None:
        """Move them."""
        self._node.batched_wxyzs = frame.body_rotations[self._members]
        self._node.batched_positions = frame.body_positions[self._members]
