"""`shinari info`: what is in a file."""

import json as json_module
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from shinari import check
from shinari.errors import FileError, require
from shinari.scene.body import WORLD


def info(*paths: Path, json: Annotated[bool, Parameter(negative=())] = False, package: Path | None = None) -> None:
    """Say what is in scene files, robots, meshes, tetrahedra, results or checkpoints.

    Args:
        paths: .toml scene; .urdf or .xml robot; .obj .ply .stl .gltf .glb mesh; .node .ele .msh .vtk .vtu
            tetrahedra; .npz or .vtkhdf result, or the .npy that a killed run has left; checkpoint.
        json: Print it as JSON, a line for each file.
        package: Folder of the files that a robot names, where that is not its own.
    """
    if not paths:
        raise FileError("info: paths: missing; give at least one file")
    for number, path in enumerate(paths):
        facts = describe(path, package)
        if json:
            print(json_module.dumps(facts, default=str))
            continue
        if len(paths) > 1:
            print(f"{chr(10) if number else ''}{path}")
        width = max(len(key) for key in facts)
        for key, value in facts.items():
            print(f"{key.replace('_', ' '):{width}}  {_text(value)}")


def describe(path: Path, package: Path | None = None) -> dict[str, Any]:
    """What is in a file, by name of the fact; `kind` comes first.

    Raises:
        FileError: The file is missing, damaged, or of no known kind.
        SceneError: It is a scene file that cannot be a scene.
    """
    from shinari.geometry.files.meshes import EXTENSIONS
    from shinari.geometry.files.tetra_files import EXTENSIONS as TETRAHEDRA

    suffix = check.path("info", "path", path).suffix.lower()
    if not path.exists():
        raise FileError(f"{path}: no such file")
    if path.is_dir():
        raise FileError(f"{path}: is a folder")
    if not path.is_file():
        raise FileError(f"{path}: is no regular file")
    if suffix == ".toml":
        return _scene(path)
    if suffix in (".urdf", ".xml", ".mjcf"):
        return _robot(path, package)
    if suffix in EXTENSIONS:
        return _mesh(path)
    if suffix in TETRAHEDRA:
        return _tetrahedra(path)
    if suffix in (".npz", ".npy"):
        return _result(path)
    with path.open("rb") as stream:
        head = stream.read(4)
    if head == b"\x89HDF" or suffix in (".vtkhdf", ".hdf", ".h5", ".hdf5"):
        return _hdf5(path)
    known = ", ".join((".toml", ".urdf", ".xml", *EXTENSIONS, *TETRAHEDRA, ".npz", ".vtkhdf"))
    raise FileError(f"{path}: unknown kind of file {check.short(suffix)}, expected one of {known}")


def _scene(path: Path) -> dict[str, Any]:
    from dataclasses import asdict

    from shinari.io.scene_file import load_scene_file

    scene, options = load_scene_file(path)
    objects = {obj.name: _object(obj) for obj in scene.particle_objects}
    objects |= {collider.name: f"collider, {type(collider.shape).__name__.lower()}" for collider in scene.colliders}
    objects |= {sink.name: f"sink, {type(sink.shape).__name__.lower()}" for sink in scene.sinks}
    objects |= {body.name: _body(body) for body in scene.bodies}
    objects |= {joint.name: _joint(joint, scene.bodies) for joint in scene.joints}
    return {
        "kind": "scene",
        "title": options.title,
        "particles": scene.particle_count,
        "pinned": len(scene.pinned),
        "bodies": len(scene.bodies),
        "joints": len(scene.joints),
        "objects": objects,
        "volumes kept": len(scene.volumes),
        "rows added": sum(len(rows.indices) for rows in scene.rows),
        "wind": "none" if scene.wind is None else str(scene.wind),
        "duration": options.duration,
        "frames_per_second": options.frames_per_second,
        "settings": asdict(options.settings),
    }


def _robot(path: Path, package: Path | None) -> dict[str, Any]:
    import warnings

    from shinari.errors import RobotWarning
    from shinari.io.robots.show import robot_scene

    with warnings.catch_warnings():
        # what the file has and the scene has not is listed below
        warnings.simplefilter("ignore", RobotWarning)
        scene, robot = robot_scene(path, package)
    bodies = {name: scene.bodies[handle.index] for name, handle in robot.bodies.items()}
    return {
        "kind": "robot",
        "name": robot.name,
        "mass": sum(body.mass for body in scene.bodies),
        "bodies": {name: _body(body) for name, body in bodies.items()},
        "joints": {name: _moving(handle) for name, handle in robot.joints.items()},
        "actuators": {name: actuator.target for name, actuator in robot.actuators.items()},
        "tendons": list(robot.tendons),
        "sensors": {name: sensor.kind for name, sensor in robot.sensors.items()},
        "flexible_parts": {name: f"{len(handle)} points" for name, handle in robot.flexes.items()},
        "poses": list(robot.poses),
        "colliders": list(robot.colliders),
        "skipped": robot.skipped,
        "repaired": robot.repaired,
    }


def _moving(handle: Any) -> str:
    """What a joint of a robot is and how far it goes."""
    low, high = handle.limits
    text = handle.kind
    if low > -float("inf") or high < float("inf"):
        text += f" from {low:.4g} to {high:.4g}"
    for value, what in ((handle.max_force, "force"), (handle.max_speed, "speed")):
        text += f", {what} up to {value:.4g}" if value < float("inf") else ""
    return text


def _object(obj: Any) -> str:
    """What an object of a scene consists of."""
    tables = {
        "tetrahedra": obj.tetrahedra,
        "triangles": obj.faces,
        "segments": None if obj.rod is None else obj.rod.frames,
        "clusters": None if obj.clusters is None else obj.clusters.offsets[1:],
    }
    if obj.emitter is not None:
        text = f"emitter of a fluid, at most {len(obj.positions)} particles"
    else:
        text = f"{obj.kind}, {len(obj.positions)} particles"
    if obj.sampling is not None:
        text += f" at {obj.sampling.spacing:g} m, {obj.masses[0]:g} kg each"
    text += "".join(f", {len(table)} {what}" for what, table in tables.items() if table is not None)
    if obj.visual is not None:
        shown = obj.visual
        text += f", shown by a surface of {len(shown.vertices)} vertices, {len(shown.faces)} triangles"
    return text


def _body(body: Any) -> str:
    """What a rigid body is made of."""
    shapes = ", ".join(type(piece.shape).__name__.lower() for piece in body.pieces) or "no shape"
    shapes = shapes if len(body.pieces) <= 3 else f"{len(body.pieces)} shapes"
    return f"rigid body, {shapes}, {'kinematic' if body.kinematic else f'{body.mass:g} kg'}"


def _joint(joint: Any, bodies: Any) -> str:
    """What a joint holds together."""
    second = "the world" if joint.second == WORLD else bodies[joint.second].name
    driven = "" if joint.drive is None else f", {joint.drive.kind} motor"
    return f"{joint.kind} joint between {bodies[joint.first].name} and {second}{driven}"


def _mesh(path: Path) -> dict[str, Any]:
    import numpy as np

    from shinari.geometry.files.meshes import read_mesh

    vertices, faces = read_mesh(path)
    pairs = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    edges, uses = np.unique(pairs, axis=0, return_counts=True)
    lengths = np.linalg.norm(vertices[edges[:, 0]] - vertices[edges[:, 1]], axis=1)
    corners = vertices[faces]
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum()
    return {
        "kind": "mesh",
        "vertices": len(vertices),
        "triangles": len(faces),
        "edges": len(edges),
        "edges_on_a_boundary": int((uses == 1).sum()),
        "edges_of_three_or_more_triangles": int((uses > 2).sum()),
        "vertices_in_no_triangle": len(vertices) - len(np.unique(faces)),
        "lower_corner": vertices.min(axis=0).round(6).tolist(),
        "upper_corner": vertices.max(axis=0).round(6).tolist(),
        "area": float(area),
        "shortest_edge": float(lengths.min()),
        "mean_edge": float(lengths.mean()),
        "longest_edge": float(lengths.max()),
    }


def _tetrahedra(path: Path) -> dict[str, Any]:
    from shinari.geometry.files.tetra_files import read_tetrahedra
    from shinari.geometry.tetrahedra.check import boundary_faces, longest_edges, pieces
    from shinari.geometry.tetrahedra.quality import measure_quality

    vertices, tetrahedra = read_tetrahedra(path)
    quality, lengths = measure_quality(vertices, tetrahedra), longest_edges(vertices, tetrahedra)
    return {
        "kind": "tetrahedra",
        "vertices": len(vertices),
        "tetrahedra": len(tetrahedra),
        "triangles_of_the_boundary": len(boundary_faces(tetrahedra)),
        "pieces": int(pieces(tetrahedra).max()) + 1,
        "lower_corner": vertices.min(axis=0).round(6).tolist(),
        "upper_corner": vertices.max(axis=0).round(6).tolist(),
        "volume": quality.volume,
        "worst_shape": float(quality.shape.min()),
        "mean_shape": float(quality.shape.mean()),
        "mean_of_the_longest_edges": float(lengths.mean()),
    }


def _result(path: Path) -> dict[str, Any]:
    from shinari.io.run_reader import open_cache

    with open_cache(path) as cache:
        layout, times = cache.layout, cache.times
        return {
            "kind": "result",
            "title": cache.title,
            "frames": len(times),
            "times": [float(time) for time in times[[0, -1]]] if len(times) else [],
            "particles": layout.particle_count,
            "vertices_of_visual_surfaces": layout.vertex_count,
            "measured": _measured(layout.measured),
            "parts": [part.name for part in layout.parts],
            "bodies": [body.name for body in layout.bodies if body.rigid],
            "colliders": [body.name for body in layout.bodies if not body.rigid],
        }


def _hdf5(path: Path) -> dict[str, Any]:
    from shinari.io import checkpoint

    h5py = require("h5py", "cache")
    try:
        with h5py.File(path, "r") as file:
            is_result = "shinari" in file and "checkpoint" not in file
    except OSError:  # why it cannot be read, `describe` says
        is_result = False
    return _result(path) if is_result else {"kind": "checkpoint", **checkpoint.describe(path)}


def _measured(measured: bool) -> list[str]:
    """What a result holds beside the motion."""
    return ["strains", "forces", "energies", "momenta", "residuals"] if measured else []


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key}: {item}" for key, item in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(f"{item:g}" if isinstance(item, float) else str(item) for item in value) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
