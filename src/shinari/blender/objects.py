"""Objects of Blender to plain arrays, and the result of a run back onto them."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .import_run import add_cache, read_run, z_up, z_up_rotations
from .scene_folder import MAPS, Item, chain

Matrix: Any = None
Quaternion: Any = None
with suppress(ImportError):  # the tests read this file without Blender
    from mathutils import Matrix, Quaternion  # type: ignore[import-not-found, no-redef]

MODIFIER = "shinari"
"""Name of the modifier that shows the result."""
REST = "shinari_rest"
"""Custom property of a body that was baked: its matrix before."""


def y_up(points: np.ndarray) -> np.ndarray:
    """Points (..., 3) of Blender as shinari has them: (x, z, -y)."""
    return np.stack([points[..., 0], points[..., 2], -points[..., 1]], axis=-1)


def items_of(context: Any) -> list[Item]:
    """The objects of the scene that have a role, at its first frame.

    Raises:
        ValueError: An object cannot have its role; the message names both.
    """
    scene = context.scene
    chosen = [obj for obj in scene.objects if obj.shinari_settings.role != "none"]
    for obj in chosen:
        clear(obj)
    before = scene.frame_current
    scene.frame_set(scene.frame_start)
    try:
        items = [_item(obj) for obj in chosen]
        moving = [k for k, obj in enumerate(chosen) if obj.shinari_settings.role == "collider" and _moves(obj)]
        if moving:
            _add_motions(scene, chosen, items, moving)
    finally:
        scene.frame_set(before)
    return items


def _item(obj: Any) -> Item:
    """An object as it stands now."""
    settings = obj.shinari_settings
    try:
        points, faces, order = _geometry(obj, settings.role)
    except ValueError as error:
        raise ValueError(f"{obj.name}: {settings.role}: {error}") from None
    matrix = np.array(obj.matrix_world)
    vertices = y_up(points @ matrix[:3, :3].T + matrix[:3, 3])
    if faces is not None and np.linalg.det(matrix[:3, :3]) < 0.0:
        faces = faces[:, ::-1]
    if settings.role != "collider" and _moves(obj):
        raise ValueError(f"{obj.name}: {settings.role}: its location is animated; only colliders may move by keys")
    material, options = settings.fields()
    x, y, z = y_up(matrix[:3, 3]).tolist()
    maps = _maps(obj, settings) if settings.role == "cloth" else {}
    return Item(
        obj.name, settings.role, vertices, faces, (x, y, z), _pins(obj, settings, order), material, options,
        order=order, maps=maps,
    )  # fmt: skip


def _geometry(obj: Any, role: str) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Points in the axes of the object (n, 3), triangles, and for a rope the vertex of each point."""
    if obj.type == "CURVE" and role == "rope":
        if len(obj.data.splines) != 1 or obj.data.splines[0].type != "POLY":
            raise ValueError("expected a curve of one poly spline; use Set Spline Type > Poly")
        points = np.array([tuple(point.co)[:3] for point in obj.data.splines[0].points])
        return points, None, np.arange(len(points))
    if obj.type != "MESH":
        raise ValueError(f"expected a mesh, got an object of type {obj.type}; convert it")
    mesh = obj.data
    points = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", points)
    points = points.reshape(-1, 3).astype(float)
    if role == "rope":
        edges = np.empty(2 * len(mesh.edges), np.int32)
        mesh.edges.foreach_get("vertices", edges)
        order = chain(edges.reshape(-1, 2), len(points))
        return points[order], None, order
    mesh.calc_loop_triangles()
    faces = np.empty(3 * len(mesh.loop_triangles), np.int32)
    mesh.loop_triangles.foreach_get("vertices", faces)
    faces = faces.reshape(-1, 3)
    if len(faces) == 0:
        raise ValueError("the mesh has no faces")
    loose = np.setdiff1d(np.arange(len(points)), faces)
    if len(loose):
        raise ValueError(f"vertex {loose[0]} is in no face; use Delete Loose")
    return points, faces, None


def _pins(obj: Any, settings: Any, order: np.ndarray | None) -> list[int]:
    """Points whose weight in the group for pins is above a half."""
    weights = weights_of(obj, settings.pin_group)
    if weights is None:
        return []
    if order is not None:
        weights = weights[order]
    return np.flatnonzero(weights > 0.5).tolist()


def _maps(obj: Any, settings: Any) -> dict[str, np.ndarray]:
    """Factors of the material at the vertices: 1 at weight 0, that of the panel at weight 1."""
    found = {}
    for name in MAPS:
        weights = weights_of(obj, getattr(settings, f"{name}_group"))
        if weights is not None:
            found[name] = 1.0 + weights * (getattr(settings, f"{name}_factor") - 1.0)
    return found


def weights_of(obj: Any, name: str) -> np.ndarray | None:
    """Weights of the vertices in a group, (n,); None: no group was chosen.

    Raises:
        ValueError: The object has no group of that name.
    """
    if not name:
        return None
    group = obj.vertex_groups.get(name)
    if group is None:
        raise ValueError(f"{obj.name}: there is no vertex group {name}")
    weights = np.zeros(len(obj.data.vertices))
    for vertex in obj.data.vertices:
        for entry in vertex.groups:
            if entry.group == group.index:
                weights[vertex.index] = entry.weight
    return weights


def _moves(obj: Any) -> bool:
    """Whether the object, or one that it is parented to, is animated or constrained."""
    while obj is not None:
        data = obj.animation_data
        if len(obj.constraints) or (data is not None and (data.action is not None or len(data.drivers))):
            return True
        obj = obj.parent
    return False


def _add_motions(scene: Any, objects: list[Any], items: list[Item], moving: list[int]) -> None:
    """Read the poses of moving colliders in all frames."""
    first = {k: objects[k].matrix_world.to_quaternion().inverted() for k in moving}
    poses: dict[int, list[tuple[Any, Any]]] = {k: [] for k in moving}
    frames = range(scene.frame_start, scene.frame_end + 1)
    for frame in frames:
        scene.frame_set(frame)
        for k in moving:
            matrix = objects[k].matrix_world
            poses[k].append((tuple(matrix.translation), tuple(matrix.to_quaternion() @ first[k])))
    times = np.arange(len(frames)) * scene.render.fps_base / scene.render.fps
    for k in moving:
        positions, turns = (np.array(column) for column in zip(*poses[k], strict=True))
        rotations = np.concatenate([turns[:, :1], y_up(turns[:, 1:])], axis=1)
        rotations /= np.linalg.norm(rotations, axis=1, keepdims=True)
        items[k] = replace(items[k], motion=(times, y_up(positions), rotations))


def apply_result(context: Any, path: Path, items: list[Item]) -> list[str]:
    """Show a run on the objects that were baked.

    Args:
        context: Context of Blender.
        path: The `.npz` file of the run; point caches are written next to it.
        items: What was baked.

    Returns:
        Names of objects whose result cannot be shown, with the reason.

    Raises:
        ValueError: The file is no run of shinari, or has no frames.
    """
    run = read_run(path)
    scene = context.scene
    parts, bodies = list(map(str, run["part_names"])), list(map(str, run["body_names"]))
    left_out = []
    for index, item in enumerate(items):
        obj = scene.objects.get(item.name)
        if obj is None:
            left_out.append(f"{item.name}: is not in the scene any more")
        elif item.role == "rigid":
            _key_body(obj, run, bodies.index(item.name), scene.frame_start)
        elif item.role != "collider":
            start, stop = run[f"range_{item.name}"] if item.name in parts else (0, 0)
            if stop - start != len(item.vertices) or f"drawn_{item.name}" in run:
                left_out.append(f"{item.name}: has other vertices than its object; import the run instead")
                continue
            positions = run["positions"][:, start:stop]
            if item.order is not None:
                positions = positions[:, np.argsort(item.order)]
            _cache_mesh(obj, positions, path.with_name(f"{index}.pc2"), scene.frame_start)
    return left_out


def _cache_mesh(obj: Any, positions: np.ndarray, cache: Path, first: int) -> None:
    """Put points (T, n, 3) with Y up on an object, by a modifier that comes before all others."""
    matrix = np.linalg.inv(np.array(obj.matrix_world))
    turned = z_up(positions.astype(float)) @ matrix[:3, :3].T + matrix[:3, 3]
    add_cache(obj, MODIFIER, cache, y_up(turned), first)
    obj.modifiers.move(len(obj.modifiers) - 1, 0)


def _key_body(obj: Any, run: dict[str, np.ndarray], index: int, first: int) -> None:
    """Give a rigid body a key of its place and rotation in each frame."""
    places, turns = z_up(run["body_positions"][:, index]), z_up_rotations(run["body_rotations"][:, index])
    obj[REST] = [value for row in obj.matrix_basis for value in row]
    obj[REST + "_mode"] = obj.rotation_mode
    world, parent = obj.matrix_world.copy(), obj.matrix_world @ obj.matrix_basis.inverted()
    start = _pose(places[0], turns[0]).inverted()
    obj.rotation_mode = "QUATERNION"
    before = None
    for frame, (place, turn) in enumerate(zip(places, turns, strict=True)):
        obj.matrix_basis = parent.inverted() @ _pose(place, turn) @ start @ world
        if before is not None and obj.rotation_quaternion.dot(before) < 0.0:
            obj.rotation_quaternion.negate()
        before = obj.rotation_quaternion.copy()
        obj.keyframe_insert("location", frame=first + frame)
        obj.keyframe_insert("rotation_quaternion", frame=first + frame)


def _pose(place: np.ndarray, turn: np.ndarray) -> Any:
    return Matrix.Translation(place.tolist()) @ Quaternion(turn.tolist()).to_matrix().to_4x4()


def clear(obj: Any) -> None:
    """Take the result off an object, which is then as it was before."""
    modifier = obj.modifiers.get(MODIFIER)
    if modifier is not None:
        obj.modifiers.remove(modifier)
    if REST in obj:
        obj.animation_data_clear()
        values = list(obj[REST])
        obj.rotation_mode = obj[REST + "_mode"]
        obj.matrix_basis = Matrix([values[4 * row : 4 * row + 4] for row in range(4)])
        del obj[REST], obj[REST + "_mode"]


def world_of(scene: Any) -> dict[str, Any]:
    """Gravity, wind and settings of a scene, as a scene file has them."""
    gravity = np.array(scene.gravity) if scene.use_gravity else np.zeros(3)
    wind = y_up(np.array(scene.shinari_settings.wind)) if scene.shinari_settings.use_air else None
    return {"gravity": y_up(gravity), "wind": wind, "substeps": scene.shinari_settings.substeps}


def rate_of(scene: Any) -> float:
    """Frames per second of a scene [1/s]."""
    return scene.render.fps / scene.render.fps_base
