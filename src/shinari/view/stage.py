"""What a run looks like in viser: the ground, and every object of a layout where it is in a frame."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari.io.results import BodyPoints, Frame, Layout, body_color, part_color
from shinari.view.camera import SCENERY
from shinari.view.drawings import Balls, FluidSurface, RigidMeshes, Sheet, Tube

VIEW_ANGLE = 75.0
"""Vertical opening angle of viser's camera [degrees]."""
VIEW_DIRECTION = (0.55, 0.35, 0.76)
"""From what is looked at to the camera."""
LIFT = 0.002
"""Height of the lines of the ground, as a part of the size of the scene."""
NEAR, FAR = 0.002, 200.0
"""Nearest and farthest that is seen, as multiples of the size of the scene."""
THIN = 0.004
"""Radius of what has none, as a part of the size of the scene."""


@dataclass(frozen=True, eq=False)
class Node:
    """A node of viser that draws something.

    Attributes:
        handle: viser's handle.
        part: Index of the part of the layout that it draws, or None.
        bodies: Indices of the bodies that it draws, in the order of its instances.
    """

    handle: Any
    part: int | None = None
    bodies: tuple[int, ...] = ()


class Stage:
    """Draws frames.

    Args:
        scene: The scene of a viser server.
        layout: What is drawn.
        frame: The first frame.
        box: Lower and upper corner of what will be seen [m]; None: of the first frame.
        fastest: Largest speed of each fluid, by the name of its part [m/s]; by default the largest seen so far.

    Attributes:
        layout: What is drawn.
        box: Lower and upper corner of what will be seen [m].
        size: Its longest edge [m].
        nodes: The nodes so far, the ground aside.
    """

    def __init__(
        self,
        scene: Any,
        layout: Layout,
        frame: Frame,
        *,
        box: tuple[np.ndarray, np.ndarray] | None = None,
        fastest: dict[str, float] | None = None,
    ) -> None:
        self.layout = layout
        self.box = box or box_of(layout, [frame])
        self.size = float(np.max(self.box[1] - self.box[0])) or 1.0
        self.nodes: list[Node] = []
        self._scene = scene
        self._callbacks: list[Callable[[Node], None]] = []
        self._ground = self._add_ground()
        try:
            self._parts = [self._add_part(k, frame, (fastest or {}).get(p.name)) for k, p in enumerate(layout.parts)]
            self._bodies = [self._add_bodies(members, frame) for members in alike(layout)]
        except BaseException:
            self.remove()
            raise

    def show(self, frame: Frame, colouring: Any = None) -> None:
        """Show a frame.

        Args:
            frame: The frame.
            colouring: A `shinari.view.colours.Colouring` for a colour at each point; None: each object in its colour.
        """
        for index, drawing in enumerate(self._parts):
            drawing.show(frame, None if colouring is None else colouring.of(index, frame))
        for drawing in self._bodies:
            drawing.show(frame)

    @property
    def lags(self) -> bool:
        """Whether the last frame is not seen yet: coloured surfaces are one behind until `settle` or `show`."""
        return any(part.surface is not None and part.surface.lags for part in self._parts)

    def settle(self) -> None:
        """Show the last frame where it is not seen yet; a browser needs some time to load it before."""
        for part in self._parts:
            if part.surface is not None:
                part.surface.settle()

    def on_node(self, callback: Callable[[Node], None]) -> None:
        """Call a function with each node, those that are there and those that are added later."""
        self._callbacks.append(callback)
        for node in list(self.nodes):
            callback(node)

    def camera(self, aspect: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """Position of a camera that sees the box, and the point that it looks at [m]; see `frame_camera`."""
        return frame_camera(*self.box, aspect=aspect)

    @property
    def depths(self) -> tuple[float, float]:
        """Nearest and farthest that a camera sees [m]; by itself that of viser sees nothing within a centimetre."""
        return NEAR * self.size, FAR * self.size

    def remove(self) -> None:
        """Take everything away."""
        for node in self.nodes:
            node.handle.remove()
        self._ground.remove()

    def _register(self, part: int | None = None, bodies: tuple[int, ...] = ()) -> Callable[[Any], None]:
        def register(handle: Any) -> None:
            node = Node(handle, part, bodies)
            self.nodes.append(node)
            for callback in self._callbacks:
                callback(node)

        return register

    def _add_ground(self) -> Any:
        low, high = self.box
        cell = 10.0 ** np.floor(np.log10(self.size))
        center = 0.5 * (low + high)
        # above a plane that is the ground, with which its lines would flicker
        height = LIFT * self.size
        middle = (float(np.round(center[0] / cell) * cell), height, float(np.round(center[2] / cell) * cell))
        wide = float(np.ceil(3 * self.size / cell) * cell)
        return self._scene.add_grid(
            "/ground", wide, wide, plane="xz", cell_size=cell / 5, section_size=cell, position=middle
        )

    def _add_part(self, index: int, frame: Frame, fastest: float | None) -> Any:
        part = self.layout.parts[index]
        name, color = f"/{index} {part.name.replace('/', '_')}", bytes_of(part_color(index))
        given = (self._scene, name, part, self.layout, frame, color, self._register(part=index))
        radius = part.radius or THIN * self.size
        if part.kind == "mesh":
            return Sheet(*given)
        if part.kind == "curve" and part.point_count > 1:
            return Tube(*given, radius=radius)
        if part.surface:
            return FluidSurface(*given)
        return Balls(*given, radius=radius, fastest=fastest)

    def _add_bodies(self, members: list[int], frame: Frame) -> Any:
        first, others = members[0], len(members) - 1
        name = f"/body {first} {self.layout.bodies[first].name.replace('/', '_')}"
        name += f" and {others} more" if others else ""
        colors = np.array([bytes_of(body_color(self.layout, k)) for k in members], np.uint8)
        add = self._register(bodies=tuple(members))
        return RigidMeshes(self._scene, name, self.layout, members, frame, colors, add)


def bytes_of(color: tuple[float, float, float]) -> tuple[int, int, int]:
    """Red, green and blue of 0..1 in 0..255."""
    red, green, blue = (round(255 * channel) for channel in color)
    return red, green, blue


def alike(layout: Layout) -> list[list[int]]:
    """The bodies, those with the same mesh together."""
    groups: dict[tuple[bytes, bytes], list[int]] = {}
    for index, body in enumerate(layout.bodies):
        key = np.asarray(body.vertices, np.float32).tobytes(), np.asarray(body.faces, np.int32).tobytes()
        groups.setdefault(key, []).append(index)
    return list(groups.values())


def frame_camera(low: np.ndarray, high: np.ndarray, *, aspect: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Camera that sees a box from the front, the right and above.

    Args:
        low: Lower corner of the box [m], shape (3,).
        high: Upper corner [m], shape (3,).
        aspect: Width of the picture over its height; in a narrow one the camera is farther away.

    Returns:
        Position of the camera and the point it looks at [m], each (3,).
    """
    center = 0.5 * (low + high)
    radius = 0.5 * float(np.linalg.norm(high - low)) or 0.5  # around a single point a metre is seen
    direction = np.array(VIEW_DIRECTION) / np.linalg.norm(VIEW_DIRECTION)
    angle = np.arctan(np.tan(np.radians(0.5 * VIEW_ANGLE)) * min(aspect, 1.0))
    return center + direction * radius / np.sin(angle), center


def live_box(layout: Layout, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Box around what a simulation begins with [m], the containers in which it can spread, and what it meets.

    Colliders that are mere surroundings do not count: planes, and what is many times as large as all that moves, unless
    more is to flow in.
    """
    low, high = box_of(layout, [frame])
    flows = any(part.kind == "points" and part.varies for part in layout.parts)
    limit = np.inf if flows else SCENERY * float(np.linalg.norm(high - low))
    for index, body in enumerate(layout.bodies):
        corners = BodyPoints(layout, [index]).positions(frame)
        met = not body.rigid and len(body.faces) != 2 and np.linalg.norm(np.ptp(corners, axis=0)) <= limit
        if body.hollow or met:
            low, high = np.minimum(low, corners.min(axis=0)), np.maximum(high, corners.max(axis=0))
    return low, high


def box_of(layout: Layout, frames: Iterable[Frame]) -> tuple[np.ndarray, np.ndarray]:
    """Box around all drawn points and rigid bodies in all frames [m]; around the colliders when there are none."""
    drawn, radii = np.zeros(layout.point_count, bool), np.zeros((layout.point_count, 1))
    for part in layout.parts:
        drawn[part.start : part.stop] = True
        radii[part.start : part.stop] = part.radius if part.kind == "points" else 0.0
    bodies = np.flatnonzero([body.rigid for body in layout.bodies])
    if not drawn.any() and not len(bodies):
        bodies = np.arange(len(layout.bodies))
    reach = [float(np.linalg.norm(layout.bodies[k].vertices, axis=1).max(initial=0.0)) for k in bodies]
    around = np.concatenate([radii[drawn], np.reshape(reach, (-1, 1))])
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for frame in frames:
        places = np.concatenate([frame.positions[drawn], frame.body_positions[bodies]])
        points = np.concatenate([places - around, places + around])
        points = points[np.isfinite(points).all(axis=1)]
        if len(points):
            low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
    if not np.isfinite(low).all():
        return np.full(3, -1.0), np.full(3, 1.0)
    return low, high
