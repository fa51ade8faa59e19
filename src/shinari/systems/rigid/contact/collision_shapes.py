"""Collision shapes: every shape of the bodies and colliders of a scene, as the arrays of contact detection.

A collision shape is convex or a mesh, and fixed to a frame; the shapes of a compound share one frame. Those of the
bodies come first, in the order in which they were added, then those of the colliders. A container is not convex: it is
replaced by six half spaces, each with its own pairs and points.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from shinari.collision.narrow.convex import Shapes, contact_shape, shapes_of
from shinari.collision.narrow.fields import BodyFields, body_fields
from shinari.compute import Field, Record
from shinari.geometry.motion import NO_ROTATION, rotation_matrix
from shinari.scene.body import WORLD
from shinari.scene.contents import Contents
from shinari.shapes.base import Shape
from shinari.shapes.box import Box
from shinari.shapes.kernels.mesh_field import build_field, join_fields
from shinari.shapes.mesh import PARTS, Mesh
from shinari.shapes.sharing import different


class CollisionShapeArrays(Record):
    """Collision shapes as kernels read them, G rows."""

    frame = Field(np.int64, doc="frame that it is fixed to")
    local = Field(np.float64, 12, doc="pose in the axes of its frame: matrix in rows, then position [m]")
    low = Field(np.float64, 3, unit="m", doc="low corner of the box around it in its own axes; infinite without an end")
    high = Field(np.float64, 3, unit="m", doc="high corner")
    radius = Field(np.float64, unit="m", doc="largest distance of its points from the origin of its frame, or infinite")
    size = Field(np.float64, unit="m", doc="half the diagonal of its box; infinite without an end")
    box = Field(np.int64, doc="row of its box in the broad phase; -1 without an end")
    surface = Field(
        np.float64,
        6,
        unit="1, 1, 1, m/N, m, m",
        doc="friction, static friction (both -1: as that of the other shape), restitution, compliance, rolling and "
        "torsional friction",
    )


class CollisionShapes(NamedTuple):
    """The collision shapes of a scene.

    Attributes:
        arrays: The collision shapes as kernels read them.
        shapes: The convex ones; the first number of a mesh is that of its field.
        fields: Distance fields of the meshes.
        solids: The shapes as the user gave them; a container is replaced by its six half spaces.
        meshes: The meshes, in the order of their fields.
        frame_count: Number of frames: bodies, the world, colliders.
        body_count: Number of bodies, whose frames come first.
        ignored_keys: Sorted keys first * frame_count + second, first < second, of frames that never collide, (A,)
            int64.
    """

    arrays: CollisionShapeArrays
    shapes: Shapes
    fields: BodyFields
    solids: list[Shape]
    meshes: list[Mesh]
    frame_count: int
    body_count: int
    ignored_keys: np.ndarray

    def __len__(self) -> int:
        return len(self.solids)


def collision_shapes_of(scene: Contents) -> CollisionShapes:
    """The collision shapes of a scene, and the pairs of frames that never collide.

    These are ignored pairs, and bodies whose joint excludes them.
    """
    frames, solids, poses, surfaces = [], [], [], []
    for frame, shape, pose, surface in _placed(scene):
        frames.append(frame)
        solids.append(shape)
        poses.append(pose)
        surfaces.append(surface)
    shapes = shapes_of(solids)
    given = [(g, mesh) for g, mesh in enumerate(map(contact_shape, solids)) if isinstance(mesh, Mesh)]
    meshes, places = different([mesh for _, mesh in given], *PARTS)
    for (g, _), place in zip(given, places, strict=True):
        shapes.size[g] = (place, 0.0, 0.0, 0.0)
    corners = np.array([shape.bounds() for shape in solids]).reshape(-1, 2, 3)
    local = np.array(poses).reshape(-1, 12)
    arrays = CollisionShapeArrays(
        np.float64,
        frame=np.array(frames, np.int64),
        local=local,
        low=np.ascontiguousarray(corners[:, 0]),
        high=np.ascontiguousarray(corners[:, 1]),
        radius=_radii(corners, local),
        size=0.5 * np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1),
        box=np.full(len(solids), -1),
        surface=np.array(surfaces).reshape(-1, 6),
    )
    bounded = np.flatnonzero(np.isfinite(arrays.size))
    arrays.box[bounded] = np.arange(len(bounded))
    fields = body_fields(join_fields([build_field(mesh) for mesh in meshes], np.float64))
    count = len(scene.bodies) + 1 + len(scene.colliders)
    return CollisionShapes(
        arrays, shapes, fields, solids, meshes, count, len(scene.bodies), _ignored_keys(scene, count)
    )


def _placed(scene: Contents) -> Iterator[tuple[int, Shape, np.ndarray, tuple[float, ...]]]:
    """Frame, shape, pose in the frame (12,) and surface numbers of each collision shape."""
    for frame, body in enumerate(scene.bodies):
        to_principal = rotation_matrix(body.axes).T
        surface = (*body.surface.numbers, body.rolling_friction, body.torsional_friction)
        for piece in body.pieces:
            turn = to_principal @ rotation_matrix(piece.rotation)
            at = to_principal @ (piece.position - body.centre)
            yield frame, piece.shape, np.concatenate([turn.ravel(), at]), surface
    for k, collider in enumerate(scene.colliders):
        pose = np.concatenate([rotation_matrix(NO_ROTATION).ravel(), np.zeros(3)])
        shape = collider.shape
        for part in shape.walls() if isinstance(shape, Box) and shape.inside else [shape]:
            yield len(scene.bodies) + 1 + k, part, pose, (*collider.surface.numbers, 0.0, 0.0)


def _radii(corners: np.ndarray, local: np.ndarray) -> np.ndarray:
    """Largest distance of a corner of each box (G, 2, 3) from the origin of the frame, (G,)."""
    picks = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    points = corners[:, picks, [0, 1, 2]]
    endless = np.isinf(points).any(axis=(1, 2))
    points[endless] = 0.0
    turned = np.einsum("gij,gpj->gpi", local[:, :9].reshape(-1, 3, 3), points) + local[:, None, 9:]
    radii = np.linalg.norm(turned, axis=2).max(axis=1, initial=0.0)
    radii[endless] = np.inf
    return radii


def _ignored_keys(scene: Contents, count: int) -> np.ndarray:
    """Sorted keys of the pairs of frames that never collide."""
    names = {body.name: frame for frame, body in enumerate(scene.bodies)}
    names |= {collider.name: len(scene.bodies) + 1 + k for k, collider in enumerate(scene.colliders)}
    pairs = [(names[one], names[other]) for one, other in scene.ignored if one in names and other in names]
    pairs += [(j.first, j.second) for j in scene.joints if not j.collide and WORLD not in (j.first, j.second)]
    return np.unique(np.array([min(pair) * count + max(pair) for pair in pairs], np.int64))
