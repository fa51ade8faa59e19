"""Web page `.html`: a player for any browser, in one file, without a network. Needs the extra [view].

The page is viser's client with the motion inside: play, pause, time slider, orbit with the mouse. Fluids are coloured
by speed, from their colour at rest to white at the largest speed of the run. viser records the
messages that it would send to a browser; for that it opens a port on this machine alone while the page is being made.
`docs/decisions/html_player.md` has the measurements.
"""

import contextlib
import html
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from shinari.errors import require
from shinari.files.fluid_mesh import fluid_mesh
from shinari.files.results import COLORS, Layout, Part, body_color

VIEW_ANGLE = 75.0
"""Vertical opening angle of viser's camera [degrees]."""
VIEW_DIRECTION = (0.55, 0.35, 0.76)
"""From what is looked at to the camera."""
MANY = 10
"""So many bodies with the same mesh are drawn as one thing."""
FLAT_FACES = 64
"""Up to so many faces a body is drawn with its edges: a box is no cushion."""


def write_html(path: Path, layout: Layout, frames: np.ndarray, title: str = "") -> None:
    """Write a run as one web page.

    Args:
        path: File to write.
        layout: What the frames hold.
        frames: Structured array as `shinari.files.spool.frame_dtype` says, shape (T,).
        title: Title of the page.

    Raises:
        MissingExtraError: viser is not installed.
    """
    viser = require("viser", "view")
    with contextlib.redirect_stdout(io.StringIO()):  # viser announces its server, which nobody is meant to visit
        server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
        try:
            page = _record(server, layout, frames)
        finally:
            server.stop()
    heading = html.escape(title or "shinari")
    page = page.replace("<title>Viser</title>", f"<title>{heading}</title>", 1)
    path.write_text(page, encoding="utf-8")


def frame_camera(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Camera that sees a box from the front, the right and above.

    Args:
        low: Lower corner of the box [m], shape (3,).
        high: Upper corner [m], shape (3,).

    Returns:
        Position of the camera and the point it looks at [m], each (3,).
    """
    center = 0.5 * (low + high)
    radius = max(0.5 * float(np.linalg.norm(high - low)), 1e-3)
    direction = np.array(VIEW_DIRECTION) / np.linalg.norm(VIEW_DIRECTION)
    return center + direction * radius / np.sin(np.radians(0.5 * VIEW_ANGLE)), center


def moving_box(layout: Layout, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Box around all drawn points and rigid bodies in all frames [m]; around the colliders when there are none."""
    drawn = np.zeros(layout.point_count, bool)
    for part in layout.parts:
        drawn[part.start : part.stop] = True
    bodies = np.flatnonzero([body.rigid for body in layout.bodies])
    if not drawn.any() and not len(bodies):
        bodies = np.arange(len(layout.bodies))
    reach = [float(np.linalg.norm(layout.bodies[k].vertices, axis=1).max(initial=0.0)) for k in bodies]
    around = np.reshape(reach, (-1, 1))
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for frame in frames:
        places = frame["body_positions"][bodies]
        points = np.concatenate([frame["positions"][drawn], places - around, places + around])
        points = points[np.isfinite(points).all(axis=1)]
        if len(points):
            low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
    if not np.isfinite(low).all():
        return np.full(3, -1.0), np.full(3, 1.0)
    return low, high


def _record(server: Any, layout: Layout, frames: np.ndarray) -> str:
    scene = server.scene
    low, high = moving_box(layout, frames)
    scene.set_up_direction("+y")
    server.initial_camera.position, server.initial_camera.look_at = frame_camera(low, high)
    server.initial_camera.up = (0.0, 1.0, 0.0)
    server.initial_camera.fov = np.radians(VIEW_ANGLE)
    size = float(np.max(high - low)) or 1.0
    cell = 10.0 ** np.floor(np.log10(size))
    center = 0.5 * (low + high)
    middle = (float(np.round(center[0] / cell) * cell), 0.0, float(np.round(center[2] / cell) * cell))
    wide = float(np.ceil(3 * size / cell) * cell)
    scene.add_grid("/ground", wide, wide, plane="xz", cell_size=cell / 5, section_size=cell, position=middle)

    first = frames[0]
    setters = [
        _add_part(scene, index, layout, first, size, _fastest(part, frames)) for index, part in enumerate(layout.parts)
    ]
    setters += [
        _add_body(scene, layout, members[0], first)
        if len(members) < MANY
        else _add_bodies(scene, layout, members, first)
        for members in _alike(layout)
    ]
    recorder = server.get_scene_serializer()
    for index in range(1, len(frames)):
        recorder.insert_sleep(max(0.0, float(frames["time"][index] - frames["time"][index - 1])))
        for put in setters:
            put(frames[index])
    recorder.insert_sleep(1.0 / layout.frames_per_second)
    return recorder.as_html()


def _add_part(scene: Any, index: int, layout: Layout, first: Any, size: float, fastest: float) -> Callable[[Any], None]:
    part = layout.parts[index]
    varying = layout.varying.get(part.name)
    name, color = f"/{index} {part.name.replace('/', '_')}", COLORS[index % len(COLORS)]
    color = tuple(round(255 * channel) for channel in color)
    radius = part.radius or 0.004 * size

    def points(frame: Any) -> np.ndarray:
        return np.ascontiguousarray(frame["positions"][part.start : part.stop])

    def segments(frame: Any) -> np.ndarray:
        chain = points(frame)
        pieces = np.stack([chain[:-1], chain[1:]], axis=1)
        if varying is not None:  # what has torn shrinks to a point: the number of segments stays
            torn = ~frame["drawn"][varying]
            pieces[torn, 1] = pieces[torn, 0]
        return pieces

    if part.kind == "mesh":
        faces = np.asarray(part.faces, np.int32)
        there = faces if varying is None else faces[first["drawn"][varying]]
        mesh = scene.add_mesh_simple(name, points(first), there, color=color, side="double")
        return _mesh_setter(mesh, points, faces, varying, first)
    if part.kind == "curve":
        lines = scene.add_line_segments(name, segments(first), color, thickness=2 * radius)
        return lambda frame: setattr(lines, "points", segments(frame))
    if part.surface:
        return _add_surface(scene, name, part, layout, first, color)
    if part.fluid:
        return _add_fluid(scene, name, part, first, varying, np.array(color), fastest)
    cloud = scene.add_point_cloud(
        name, points(first), color, point_size=2 * radius, point_shape="circle", precision="float32"
    )
    return lambda frame: setattr(cloud, "points", points(frame))


def _add_surface(
    scene: Any, name: str, part: Part, layout: Layout, first: Any, color: tuple[int, ...]
) -> Callable[[Any], None]:
    """A fluid as a mesh around its particles; a hidden triangle where there are none."""

    def mesh_of(frame: Any) -> tuple[np.ndarray, np.ndarray]:
        vertices, faces = fluid_mesh(part, layout, frame)
        if len(faces):
            return vertices, faces.astype(np.uint32)
        return np.repeat(frame["positions"][part.start : part.start + 1], 3, axis=0), np.array([[0, 1, 2]], np.uint32)

    vertices, faces = mesh_of(first)
    mesh = scene.add_mesh_simple(name, vertices, faces, color=color, side="double")

    def put(frame: Any) -> None:
        mesh.vertices, mesh.faces = mesh_of(frame)

    return put


def _add_fluid(
    scene: Any, name: str, part: Part, first: Any, varying: slice | None, color: np.ndarray, fastest: float
) -> Callable[[Any], None]:
    """Particles of a fluid, coloured by speed; those that are not there hide behind one that is."""

    def points(frame: Any) -> tuple[np.ndarray, bool]:
        places = np.ascontiguousarray(frame["positions"][part.start : part.stop])
        if varying is None:
            return places, True
        there = frame["drawn"][varying]
        return np.where(there[:, None], places, places[int(np.argmax(there))]), bool(there.any())

    def colors(frame: Any) -> np.ndarray:
        speeds = np.linalg.norm(frame["velocities"][part.start : part.stop], axis=1) / fastest
        return np.round(color + np.minimum(speeds, 1.0)[:, None] * (255 - color)).astype(np.uint8)

    start, visible = points(first)
    cloud = scene.add_point_cloud(
        name,
        start,
        colors(first),
        point_size=2 * part.radius,
        point_shape="circle",
        precision="float32",
        visible=visible,
    )

    def put(frame: Any) -> None:
        cloud.points, shown = points(frame)
        cloud.colors = colors(frame)
        if cloud.visible != shown:
            cloud.visible = shown

    return put


def _fastest(part: Part, frames: np.ndarray) -> float:
    """Largest speed of a part in a run [m/s]; those of other parts than fluids nobody asks for."""
    if not part.fluid:
        return 1.0
    squares = [np.square(frame["velocities"][part.start : part.stop]).sum(axis=1).max(initial=0.0) for frame in frames]
    return max(float(np.sqrt(np.nanmax(squares))), 1e-9)


def _mesh_setter(
    mesh: Any, points: Callable[[Any], np.ndarray], faces: np.ndarray, varying: slice | None, first: Any
) -> Callable[[Any], None]:
    """Moves a mesh, and takes away what has torn in the frames in which something has."""
    last: list[Any] = [None if varying is None else first["drawn"][varying].copy()]

    def put(frame: Any) -> None:
        mesh.vertices = points(frame)
        if varying is not None and not np.array_equal(frame["drawn"][varying], last[0]):
            last[0] = frame["drawn"][varying].copy()
            mesh.faces = faces[last[0]].astype(np.uint32)

    return put


def _alike(layout: Layout) -> list[list[int]]:
    """The bodies, those together of which many have the same mesh, the others one by one."""
    groups: dict[tuple[bytes, bytes], list[int]] = {}
    for index, body in enumerate(layout.bodies):
        key = np.asarray(body.vertices, np.float32).tobytes(), np.asarray(body.faces, np.int32).tobytes()
        groups.setdefault(key, []).append(index)
    return [part for same in groups.values() for part in ([same] if len(same) >= MANY else [[k] for k in same])]


def _add_bodies(scene: Any, layout: Layout, members: list[int], first: Any) -> Callable[[Any], None]:
    """Bodies with the same mesh: one message a frame for all of them."""
    body = layout.bodies[members[0]]
    meshes = scene.add_batched_meshes_simple(
        f"/bodies {members[0]} {body.name.replace('/', '_')} and {len(members) - 1} more",
        np.asarray(body.vertices, np.float32),
        np.asarray(body.faces, np.int32),
        batched_wxyzs=first["body_rotations"][members],
        batched_positions=first["body_positions"][members],
        batched_colors=np.round(255 * np.array([body_color(layout, k) for k in members])).astype(np.uint8),
        lod="off",
        side="front" if body.hollow else "double",
        flat_shading=len(body.faces) <= FLAT_FACES,
    )

    def put(frame: Any) -> None:
        meshes.batched_wxyzs, meshes.batched_positions = (
            frame["body_rotations"][members],
            frame["body_positions"][members],
        )

    return put


def _add_body(scene: Any, layout: Layout, index: int, first: Any) -> Callable[[Any], None]:
    body = layout.bodies[index]
    mesh = scene.add_mesh_simple(
        f"/body {index} {body.name.replace('/', '_')}",
        np.asarray(body.vertices, np.float32),
        np.asarray(body.faces, np.int32),
        color=tuple(round(255 * channel) for channel in body_color(layout, index)),
        side="front" if body.hollow else "double",
        flat_shading=len(body.faces) <= FLAT_FACES,
        position=first["body_positions"][index],
        wxyz=first["body_rotations"][index],
    )
    last = [np.concatenate([first["body_positions"][index], first["body_rotations"][index]])]

    def put(frame: Any) -> None:
        place = np.concatenate([frame["body_positions"][index], frame["body_rotations"][index]])
        if not np.array_equal(place, last[0]):
            mesh.position, mesh.wxyz, last[0] = place[:3], place[3:], place

    return put
