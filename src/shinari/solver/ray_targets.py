"""What rays can meet of a scene: shapes of bodies and colliders, in their own axes, and surfaces of objects."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from shinari.collision.rays import ENDLESS
from shinari.geometry.boxes import Nodes
from shinari.geometry.motion import NO_ROTATION, rotation_matrix
from shinari.geometry.ray_tree import Meshes, Triangles, TriangleTree, joined
from shinari.scene.body import Body
from shinari.scene.objects import Collider, ParticleObject
from shinari.shapes.base import Shape
from shinari.shapes.box import Box
from shinari.shapes.mesh import MESH_SHEET, Mesh
from shinari.shapes.registry import four_numbers, type_of

OUT, TURNED, TO_ORIGIN = 1, -1, 0
"""Sides of normals: out of the solid, out of what is hollow here, towards the origin of the ray."""

Rows = tuple[np.ndarray, dict[str, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Names, fields of `RaySolids`, and boxes."""


class Targets(NamedTuple):
    """What rays can meet at a moment; see `shinari.collision.rays.cast`.

    Attributes:
        names: Name of each row, (K,).
        solids: Fields of `RaySolids`, K rows.
        boxes: Low and high corners of the boxes around them [m], (K, 3).
        parts: The meshes.
    """

    names: np.ndarray
    solids: dict[str, np.ndarray]
    boxes: tuple[np.ndarray, np.ndarray]
    parts: tuple[Meshes, Nodes, Triangles]


class RayTargets:
    """What rays can meet of a scene, apart from where it is.

    Args:
        colliders: The colliders.
        bodies: The rigid bodies.
        objects: Objects with particles.

    Attributes:
        surfaces: Objects that have a surface by name, and whether they are solid within.
    """

    def __init__(
        self, colliders: Sequence[Collider], bodies: Sequence[Body], objects: Sequence[ParticleObject]
    ) -> None:
        shown = [obj for obj in objects if obj.faces is not None or obj.visual is not None]
        self.surfaces = {obj.name: obj.tetrahedra is not None for obj in shown}
        pieces = [(c.name, k, c.shape, np.zeros(3), NO_ROTATION) for k, c in enumerate(colliders)]
        first = len(pieces)
        pieces += [
            (body.name, first + b, piece.shape, piece.position, piece.rotation)
            for b, body in enumerate(bodies)
            for piece in body.pieces
        ]
        self._names = np.array([name for name, *_ in pieces], object)
        self._frames = np.array([frame for _, frame, *_ in pieces], np.int64)
        self._places = np.array([place for *_, place, _ in pieces]).reshape(-1, 3)
        self._turns = np.array([rotation_matrix(turn) for *_, turn in pieces]).reshape(-1, 3, 3)
        self._still: list[TriangleTree] = []
        self._moving: dict[str, TriangleTree] = {}
        self._encode([shape for _, _, shape, _, _ in pieces])
        self._parts = joined(self._still)

    def _encode(self, shapes: list[Shape]) -> None:
        """Kinds, numbers, meshes and bounds of shapes; those without a distance of their own are met as meshes."""
        count, meshes = len(shapes), {}
        self._own = {
            "kind": np.zeros(count, np.int64),
            "size": np.zeros((count, 4)),
            "mesh": np.full(count, -1),
            "reach": np.full(count, np.inf),
            "side": np.full(count, OUT),
            "body": self._frames,
        }
        self._middles, self._halves = np.zeros((count, 3)), np.full((count, 3), ENDLESS)
        for k, shape in enumerate(shapes):
            given = shape if type_of(shape).distance is not None else shape.as_mesh
            if isinstance(given, Box) and given.inside:
                given, self._own["side"][k] = Box(given.size), TURNED
            self._own["kind"][k] = kind = type_of(given).kind
            if isinstance(given, Mesh):
                if id(given) not in meshes:
                    meshes[id(given)] = len(self._still)
                    self._still.append(TriangleTree(np.asarray(given.vertices)[given.faces], threads=1))
                self._own["mesh"][k] = meshes[id(given)]
                self._own["side"][k] = TO_ORIGIN if kind == MESH_SHEET else OUT
            else:
                self._own["size"][k] = four_numbers(given)
            low, high = given.bounds()
            if np.isfinite(low).all() and np.isfinite(high).all():
                self._own["reach"][k] = np.linalg.norm(np.maximum(np.abs(low), np.abs(high)))
                self._middles[k], self._halves[k] = 0.5 * (low + high), 0.5 * (high - low)

    def now(
        self,
        poses: tuple[np.ndarray, np.ndarray],
        surfaces: Mapping[str, tuple[np.ndarray, np.ndarray]],
        passed: Collection[str],
        threads: int | None,
    ) -> Targets:
        """What rays can meet now.

        Args:
            poses: Positions [m], (F, 3), and rotations, (F, 4), of the colliders and then of the bodies.
            surfaces: Vertices [m], (V, 3), and faces, (F, 3), of the objects that are not passed.
            passed: Names of what rays pass through.
            threads: Threads to use; None: all.
        """
        shapes = self._shapes_now(poses, passed)
        trees = {
            name: self._moved(name, vertices, faces, threads)
            for name, (vertices, faces) in surfaces.items()
            if len(faces)
        }
        if not trees:
            return Targets(*shapes, self._parts)
        found = [tree for _, tree in trees.values()]
        names, solids, boxes = self._surfaces_now(trees)
        return Targets(
            np.concatenate([shapes[0], names]),
            {field: np.concatenate([values, solids[field]]) for field, values in shapes[1].items()},
            tuple(np.concatenate(sides) for sides in zip(shapes[2], boxes, strict=True)),  # type: ignore[arg-type]
            joined([*self._still, *found]),
        )

    def _shapes_now(self, poses: tuple[np.ndarray, np.ndarray], passed: Collection[str]) -> Rows:
        """Rows of the shapes of bodies and colliders."""
        kept = np.array([name not in passed for name in self._names], bool)
        frames = self._frames[kept]
        turns = rotation_matrix(poses[1]).reshape(-1, 3, 3)[frames]
        axes = turns @ self._turns[kept]
        places = poses[0][frames] + _turned(turns, self._places[kept])
        middles, halves = places + _turned(axes, self._middles[kept]), _turned(np.abs(axes), self._halves[kept])
        solids = {field: values[kept] for field, values in self._own.items()}
        solids |= {"position": places, "axes": axes.transpose(0, 2, 1).reshape(-1, 9)}
        return self._names[kept], solids, (middles - halves, middles + halves)

    def _surfaces_now(self, trees: Mapping[str, tuple[np.ndarray, TriangleTree]]) -> Rows:
        """Rows of surfaces by their middles and trees."""
        count, still = len(trees), len(self._still)
        middles = np.array([middle for middle, _ in trees.values()])
        boxes = np.array([tree.nodes[1] for _, tree in trees.values()])
        low, high = boxes[:, :3], boxes[:, 3:]
        solids = {
            "kind": np.zeros(count, np.int64),
            "size": np.zeros((count, 4)),
            "mesh": np.arange(still, still + count),
            "reach": np.linalg.norm(np.maximum(np.abs(low), np.abs(high)), axis=1),
            "side": np.array([OUT if self.surfaces[name] else TO_ORIGIN for name in trees]),
            "position": middles,
            "axes": np.tile(np.eye(3).ravel(), (count, 1)),
            "body": -1 - np.arange(count),
        }
        return np.array(list(trees), object), solids, (low + middles, high + middles)

    def _moved(
        self, name: str, vertices: np.ndarray, faces: np.ndarray, threads: int | None
    ) -> tuple[np.ndarray, TriangleTree]:
        """The middle of a surface, and the tree over its triangles seen from there."""
        vertices = np.asarray(vertices, np.float64)
        middle = vertices.mean(axis=0)
        corners = (vertices - middle)[faces]
        tree = self._moving.get(name)
        if tree is None or len(tree.triangles) != len(faces):
            self._moving[name] = tree = TriangleTree(corners, threads)
        else:
            tree.move(corners, threads)
        return middle, tree


def _turned(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Products of matrices (K, 3, 3) and vectors (K, 3)."""
    return (matrices @ vectors[:, :, None])[:, :, 0]
