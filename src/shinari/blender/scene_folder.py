"""Writes the objects to bake as a scene file and meshes: `shinari run` reads it, in Blender's add-on and by hand.

No `bpy` here. Everything has Y up and SI units.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

TABLES = {"cloth": "cloth", "soft": "soft_body", "rope": "rope", "rigid": "rigid_body", "collider": "collider"}
"""Table of a scene file for each role."""
ROLES = tuple(TABLES)
MAPS = {"thickness": "red", "stiffness": "green", "mass": "blue"}
"""Factors at the vertices of a cloth, and the colours of its mesh file that hold them."""
LEAST_STEPS = 60.0
"""Steps in a second of the scene, at least [1/s]."""


@dataclass(frozen=True)
class Item:
    """An object to bake.

    Attributes:
        name: Its name, unique.
        role: One of `ROLES`.
        vertices: Vertices in the world, or points of a rope in their order [m], (n, 3).
        faces: Triangles, (m, 3); none of a rope.
        origin: Origin of the object in the world [m], (3,): bodies and colliders turn about it.
        pins: Vertices that are fixed.
        material: Fields of the material of a cloth, a soft body or a rope, or of a body or collider itself.
        options: Further fields of the table, such as `self_collision`.
        motion: Of a collider: times [s], positions [m] and rotations w x y z from its pose at the start; None: at rest.
        order: Of a rope: vertex of the object for each point.
        maps: Of a cloth: factors of its material at the vertices, (n,), by names of `MAPS`.
    """

    name: str
    role: str
    vertices: np.ndarray
    faces: np.ndarray | None = None
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    pins: Sequence[int] = ()
    material: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    motion: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    order: np.ndarray | None = None
    maps: dict[str, np.ndarray] = field(default_factory=dict)


def write_scene(folder: Path, items: Sequence[Item], world: Mapping[str, Any], frames: int, rate: float) -> Path:
    """Write a scene file and its meshes.

    Args:
        folder: Folder for them.
        items: The objects.
        world: Fields of the tables `scene` (`gravity`, `wind`) and `simulation` (`substeps`).
        frames: Frames after the first.
        rate: Frames per second [1/s].

    Returns:
        The scene file.

    Raises:
        ValueError: There is nothing to bake, or no time.
    """
    if not any(item.role != "collider" for item in items):
        raise ValueError("nothing to bake: give an object the role Cloth, Soft Body, Rope or Rigid Body")
    if frames < 1:
        raise ValueError("nothing to bake: the scene ends at its first frame; set the end of the timeline")
    folder.mkdir(parents=True, exist_ok=True)
    dt = 1.0 / (rate * np.ceil(LEAST_STEPS / rate - 1e-9))
    simulation = {"duration": frames / rate, "frames_per_second": rate, "dt": dt, "substeps": world["substeps"]}
    scene = {key: world[key] for key in ("gravity", "wind") if world.get(key) is not None}
    lines = [_table("[scene]", scene), _table("[simulation]", simulation)]
    for index, item in enumerate(items):
        lines.append(_table(f"[[{TABLES[item.role]}]]", _fields(folder, index, item)))
    path = folder / "scene.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _fields(folder: Path, index: int, item: Item) -> dict[str, Any]:
    """Fields of the table of an object; its mesh is written."""
    fields: dict[str, Any] = {"name": item.name}
    if item.role == "rope":
        return fields | {"points": item.vertices, "pin": list(item.pins), "material": item.material} | item.options
    assert item.faces is not None
    solid = item.role in ("rigid", "collider")
    mesh = f"{index}.obj"
    write_obj(folder / mesh, item.vertices - (item.origin if solid else 0.0), item.faces, item.maps)
    if not solid:
        fields |= {"mesh": mesh, "pin": list(item.pins), "material": item.material} | item.options
        return fields | ({"maps": {name: MAPS[name] for name in item.maps}} if item.maps else {})
    fields |= {"shape": {"type": "mesh", "path": mesh}, "position": item.origin} | item.material | item.options
    if item.motion is not None:
        times, positions, rotations = item.motion
        fields["motion"] = {"type": "keyframes", "times": times, "positions": positions, "rotations": rotations}
        del fields["position"]
    return fields


def write_obj(
    path: Path, vertices: np.ndarray, faces: np.ndarray, maps: Mapping[str, np.ndarray] | None = None
) -> None:
    """Write a mesh of vertices (n, 3) and triangles (m, 3), with maps (n,) as colours of the vertices."""
    rows = [vertices]
    if maps:
        rows += [np.broadcast_to(maps.get(name, 1.0), len(vertices))[:, None] for name in MAPS]
    values = np.concatenate(rows, axis=1)
    head = "v" + " {:.9g}" * values.shape[1]
    lines = [head.format(*row) for row in values.tolist()]
    lines += ["f {} {} {}".format(*row) for row in (faces + 1).tolist()]
    path.write_text("\n".join([*lines, ""]), encoding="ascii")


def _table(head: str, fields: Mapping[str, Any]) -> str:
    return "\n".join([head, *(f"{key} = {_value(value)}" for key, value in fields.items()), ""])


def _value(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_value(each)}" for key, each in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(float(value)) if isinstance(value, (float, np.floating)) else str(int(value))


def chain(edges: np.ndarray, count: int) -> np.ndarray:
    """The order of vertices along a chain of edges.

    Args:
        edges: Edges, (m, 2).
        count: Number of vertices.

    Returns:
        Vertices from one end to the other, (count,).

    Raises:
        ValueError: The edges are no single open chain of all vertices.
    """
    neighbours: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges.tolist():
        neighbours[a].append(b)
        neighbours[b].append(a)
    ends = [vertex for vertex, others in enumerate(neighbours) if len(others) == 1]
    order = ends[:1]
    while len(ends) == 2 and len(order) < count:
        onward = [vertex for vertex in neighbours[order[-1]] if len(order) < 2 or vertex != order[-2]]
        if len(onward) != 1:
            break
        order.append(onward[0])
    if count < 2 or len(order) != count or len(edges) != count - 1:
        raise ValueError("the edges are no single open chain; delete faces, branches and loose vertices")
    return np.array(order)
