"""The rest shape, maps and sewing of a cloth, from what a user gave."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari import check
from shinari.compute.once import cached_property
from shinari.errors import SceneError
from shinari.geometry.flat_shape import check_flat_shape
from shinari.geometry.topology import (
    boundary_edges,
    check_mesh,
    corner_areas,
    edge_keys,
    edge_rows,
    edges,
    hinges,
    mesh_arrays,
    vertex_masses,
)
from shinari.scene.materials import ClothMaterial
from shinari.scene.sewing import ElasticBand, Fold, Seam, Sewing, Tailoring, length_rounding

UV = "uv"
MAPS: dict[str, dict[str, float]] = {
    "pin": {"least": 0.0, "most": 1.0},
    "thickness": {"least": 0.0},
    "stiffness": {"above": 0.0},
    "mass": {"above": 0.0},
}
"""Maps of a cloth, and the bounds of their values."""
SCALES = 4.0
"""Texture coordinates with so much more or less area than the mesh are taken for parts of a picture, not for metres."""


@dataclass(frozen=True)
class Tailored:
    """A cloth as it was tailored.

    Attributes:
        tailoring: What the cloth keeps of it; None: nothing.
        thickness: Factor of the thickness at each vertex, (V,).
        masses: Lumped masses [kg], (V,).
        pinned: Vertices with a pin of weight one, (K,).
    """

    tailoring: Tailoring | None
    thickness: np.ndarray
    masses: np.ndarray
    pinned: np.ndarray


class _Attributes:
    """Attributes of the file that a mesh was given as, which is read when the first one is asked for."""

    def __init__(self, label: str, mesh: Any) -> None:
        self._label, self._mesh = label, mesh

    @cached_property
    def _found(self) -> dict[str, np.ndarray]:
        from shinari.geometry.files.attributes import read_attributes

        return read_attributes(self._mesh)

    def get(self, field: str, name: str) -> np.ndarray:
        """The attribute that a field names."""
        label, wanted = f"{self._label}: {field}", check.short(name)
        if not isinstance(self._mesh, (str, os.PathLike)):
            raise SceneError(f"{label}: {wanted} names an attribute of a mesh file; give an array")
        if name not in self._found:
            names = check.names(self._found, near=name)
            raise SceneError(f"{label}: {self._mesh} has no attribute {wanted}; it has {names}")
        return self._found[name]


def tailored(
    label: str, mesh: Any, vertices: np.ndarray, faces: np.ndarray, material: ClothMaterial, given: tuple[Any, Any, Any]
) -> Tailored:
    """What a cloth becomes of its rest shape, maps and sewing; see `Scene.add_cloth`.

    Args:
        label: Name of the cloth, for messages.
        mesh: The mesh as it was given.
        vertices: Its vertices [m], (V, 3).
        faces: Its triangles, (F, 3).
        material: Its material.
        given: Arguments `rest`, `maps` and `sewing`.

    Raises:
        SceneError: A value has the wrong shape, is outside its bounds or does not fit the mesh.
        FileError: A file cannot be read.
    """
    rest, maps, sewing = given
    attributes = _Attributes(label, mesh)
    shape = None if rest is None else _rest_shape(label, attributes, rest, vertices, faces)
    values = _maps(label, attributes, maps, len(vertices))
    corners = vertices[faces] if shape is None else shape[faces] if shape.ndim == 2 else shape
    tools = _sewing(label, sewing, len(vertices))
    seams = _seams(label, tools, corners, faces)
    folds, angles = _folds(label, tools, faces, material)
    bands, elastic = _bands(label, tools, faces)
    if len(seams[0]) and material.tear_strain < np.inf:
        raise SceneError(f"{label}: sewing: a cloth with seams cannot tear; leave out tear_strain")
    if material.tethers and shape is not None and shape.ndim == 3:
        raise SceneError(f"{label}: rest: tethers measure along a surface; leave them out, or give a mesh as rest")
    pins = values.get("pin")
    tailoring = Tailoring(shape, values.get("stiffness"), pins, *seams, folds, angles, bands, elastic)
    bare = rest is None and not values and not tools
    one = np.ones(len(vertices))
    return Tailored(
        None if bare else tailoring,
        values.get("thickness", one),
        vertex_masses(corner_areas(corners), faces, material.density, values.get("mass", one)),
        np.zeros(0, np.int64) if pins is None else np.flatnonzero(pins == 1.0),
    )


def _rest_shape(label: str, attributes: _Attributes, rest: Any, vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Vertices (V, 3) of the rest shape, or the corners of the triangles in the plane, (F, 3, 2)."""
    if isinstance(rest, str) and rest == UV:
        return _flat(label, attributes.get("rest", UV), vertices, faces)
    if (
        isinstance(rest, (str, os.PathLike))
        or hasattr(rest, "vertices")
        or (isinstance(rest, tuple) and len(rest) == 2)
    ):
        other, triangles = check_mesh(*mesh_arrays(f"{label}: rest", rest), f"{label}: rest")
        _same_topology(label, other, triangles, vertices, faces)
        return other
    shape = check.shaped(label, "rest", rest).shape
    if len(shape) == 3 or shape[1:] == (2,):
        flat = check.array(label, "rest", rest, (len(vertices), 2) if len(shape) == 2 else (len(faces), 3, 2))
        return _flat(label, flat[faces] if flat.ndim == 2 else flat, vertices, faces)
    return check_mesh(check.array(label, "rest", rest, (len(vertices), 3)), faces, f"{label}: rest")[0]


def _same_topology(
    label: str, other: np.ndarray, triangles: np.ndarray, vertices: np.ndarray, faces: np.ndarray
) -> None:
    if len(other) != len(vertices) or len(triangles) != len(faces):
        raise SceneError(
            f"{label}: rest: has {len(other)} vertices and {len(triangles)} faces, the cloth {len(vertices)} and "
            f"{len(faces)}; a rest shape is the same mesh with its vertices elsewhere"
        )
    differ = np.flatnonzero((triangles != faces).any(axis=1))
    if differ.size:
        raise SceneError(
            f"{label}: rest: face {differ[0]} is {triangles[differ[0]].tolist()}, in the cloth "
            f"{faces[differ[0]].tolist()}; export both meshes with the same order of vertices"
        )


def _flat(label: str, corners: np.ndarray, vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Corners in the plane, checked."""
    check_flat_shape(f"{label}: rest", corners, faces)
    ratio = float(corner_areas(corners).sum() / corner_areas(vertices[faces]).sum())
    if not 1.0 / SCALES < ratio < SCALES:
        raise SceneError(
            f"{label}: rest: the texture coordinates have {ratio:.3g} times the area of the mesh; they are lengths in "
            f"metres here: multiply them by {ratio**-0.5:.4g} to have the area of the mesh, as in "
            f"rest={ratio**-0.5:.4g} * read_attributes(path)['uv']"
        )
    return corners


def _maps(label: str, attributes: _Attributes, maps: Any, count: int) -> dict[str, np.ndarray]:
    """Values at the vertices by the name of the map."""
    if maps is None:
        return {}
    found = {}
    for name, value in check.kind(label, "maps", maps, Mapping).items():
        check.choice(label, "maps", name, tuple(MAPS))
        field = f"maps: {name}"
        values = attributes.get(field, value) if isinstance(value, str) else value
        shape = check.shaped(label, field, values).shape
        if shape != (count,):
            raise SceneError(
                f"{label}: {field}: expected one value for each of the {count} vertices, got shape {shape}"
            )
        found[name] = check.per_row(label, field, values, count, **MAPS[name])
    return found


def _sewing(label: str, sewing: Any, count: int) -> list[Sewing]:
    """Seams, folds and bands, their vertices in range."""
    tools = check.sequence(label, "sewing", sewing)
    for number, tool in enumerate(tools):
        if not isinstance(tool, (Seam, Fold, ElasticBand)):
            raise SceneError(
                f"{label}: sewing: expected a Seam, a Fold or an ElasticBand, got {check.short(tool)} at {number}"
            )
        for field in ("first", "second") if isinstance(tool, Seam) else ("vertices",):
            check.indices(label, f"sewing[{number}]: {field}", getattr(tool, field), count)
    return tools


def _seams(label: str, tools: list[Sewing], corners: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of vertices (S, 2) and their closing times (S,)."""
    sewn = [(number, tool) for number, tool in enumerate(tools) if isinstance(tool, Seam)]
    if not sewn:
        return np.zeros((0, 2), np.int64), np.zeros(0)
    rim, lengths = _rim(corners, faces)
    for number, seam in sewn:
        rounding = length_rounding(2 * len(seam.first), float(np.abs(corners).max()))
        _check_lengths(f"{label}: sewing[{number}]", seam, rim, lengths, rounding)
    pairs = np.concatenate([np.stack([seam.first, seam.second], axis=1) for _, seam in sewn])
    times = np.concatenate([np.full(len(seam.first), seam.closing_time) for _, seam in sewn])
    kept = np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)[1]
    kept.sort()
    return pairs[kept], times[kept]


def _rim(corners: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges of one triangle alone, (B, 2), and their lengths at rest [m], (B,)."""
    rim = boundary_edges(faces)
    sides = np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1).reshape(-1, 2)
    lengths = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2).ravel()
    return rim, lengths[edge_rows(rim, sides)]


def _check_lengths(label: str, seam: Seam, rim: np.ndarray, lengths: np.ndarray, rounding: float) -> None:
    """Refuse a seam of which both sides, along edges of the rim, differ in length at rest by more than its ease."""
    first, second = (sum(lengths[np.isin(rim, side).all(axis=1)].tolist()) for side in (seam.first, seam.second))
    if abs(first - second) > seam.ease * max(first, second) + rounding:
        raise SceneError(
            f"{label}: its sides are {first:.4g} m and {second:.4g} m long at rest, from vertices {seam.first[0]} and "
            f"{seam.second[0]} on, {abs(first - second) / max(first, second):.1%} apart; change the pattern, or give "
            f"the seam an ease above {seam.ease:g} to gather the longer one"
        )


def _folds(
    label: str, tools: list[Sewing], faces: np.ndarray, material: ClothMaterial
) -> tuple[np.ndarray, np.ndarray]:
    """Edges of fold lines (K, 2), and their angles and factors (K, 2)."""
    pairs, values = [np.zeros((0, 2), np.int64)], [np.zeros((0, 2))]
    inner: np.ndarray | None = None
    for number, fold in enumerate(tools):
        if not isinstance(fold, Fold):
            continue
        if material.bend_stiffness == 0.0:
            raise SceneError(f"{label}: sewing[{number}]: a fold needs a bend_stiffness of the material above 0")
        inner = hinges(faces, label)[:, :2] if inner is None else inner
        line = np.stack([fold.vertices[:-1], fold.vertices[1:]], axis=1)
        _check_line(
            f"{label}: sewing[{number}]", line, inner, "an inner edge of the cloth, with a triangle on each side"
        )
        pairs.append(line)
        values.append(np.tile([fold.angle, fold.stiffness], (len(line), 1)))
    lines = np.concatenate(pairs)
    _check_once(label, lines)
    return lines, np.concatenate(values)


def _bands(label: str, tools: list[Sewing], faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges of elastic bands (B, 2), and their ratios and stiffnesses (B, 2)."""
    pairs, values = [np.zeros((0, 2), np.int64)], [np.zeros((0, 2))]
    every: np.ndarray | None = None
    for number, band in enumerate(tools):
        if not isinstance(band, ElasticBand):
            continue
        every = edges(faces) if every is None else every
        line = np.stack([band.vertices[:-1], band.vertices[1:]], axis=1)
        _check_line(f"{label}: sewing[{number}]", line, every, "an edge of the cloth")
        pairs.append(line)
        values.append(np.tile([band.ratio, band.stiffness], (len(line), 1)))
    return np.concatenate(pairs), np.concatenate(values)


def _check_line(label: str, line: np.ndarray, among: np.ndarray, what: str) -> None:
    missing = np.flatnonzero(~np.isin(edge_keys(line), edge_keys(among)))
    if missing.size:
        raise SceneError(
            f"{label}: vertices: from {line[missing[0], 0]} to {line[missing[0], 1]} is not {what}; list the vertices "
            f"in the order of the line, each next to the one before"
        )


def _check_once(label: str, folds: np.ndarray) -> None:
    keys, counts = np.unique(edge_keys(folds), return_counts=True)
    if (counts > 1).any():
        key = int(keys[np.argmax(counts > 1)])
        raise SceneError(f"{label}: sewing: the edge ({key >> 32}, {key & 0xFFFFFFFF}) is in more than one fold")
