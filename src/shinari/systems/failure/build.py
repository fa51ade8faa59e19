"""What tears with a row: the triangles at an edge, and the rows that cannot stay without them."""

import numpy as np

from shinari.geometry.topology import cross_edges, hinges
from shinari.model.model import ConstraintBlock, DependentRows, TearableMesh, TearableRows
from shinari.scene.contents import Contents
from shinari.scene.objects import ParticleObject

BENDING = ("isometric_bend", "dihedral")


def build_tearable_meshes(
    scene: Contents, slots: np.ndarray, blocks: dict[str, ConstraintBlock], tearable_rows: list[TearableRows]
) -> tuple[TearableMesh, ...]:
    """Elements of all objects that can tear."""
    tearable_meshes, start = [], 0
    added = np.empty(len(slots), np.int64)
    added[slots] = np.arange(len(slots))
    for object_number, obj in enumerate(scene.particle_objects):
        end = start + len(obj.positions)
        # rows that are made of this object's material: all their particles are its own
        own = [t for t in tearable_rows if start <= added[blocks[t.block].indices[t.rows[0], 0]] < end]
        if own and obj.faces is not None and obj.tetrahedra is None:
            tearable_meshes.append(
                _cloth(object_number, obj, start, added, blocks, np.concatenate([t.rows for t in own]))
            )
        elif own and obj.tetrahedra is None:
            tearable_meshes.append(_rope(object_number, obj, start, added, blocks, own[0].rows))
        elif own:
            tearable_meshes.append(TearableMesh(object_number, own[0].block, own[0].rows[:, None], ()))
        start = end
    return tuple(tearable_meshes)


def _cloth(
    object_number: int,
    obj: ParticleObject,
    start: int,
    added: np.ndarray,
    blocks: dict[str, ConstraintBlock],
    rows: np.ndarray,
) -> TearableMesh:
    """Triangles; edges without any and what spans two of them let go."""
    faces, n = np.asarray(obj.faces, np.int64), len(obj.positions)
    distance = blocks["distance"]
    pairs = added[distance.indices[rows]] - start
    sides = np.stack([_keys(faces[:, list(k)], n) for k in ((0, 1), (1, 2), (2, 0))], axis=1)
    own = _keys(pairs, n)
    is_edge = np.isin(own, sides)
    held = rows[is_edge][_find(own[is_edge], sides.ravel())].reshape(sides.shape)
    dependent_rows = [_edges(rows[is_edge], own[is_edge], sides)]

    bends = hinges(faces).astype(np.int64)
    triangles = _keys(faces, n)
    beside = np.stack([_find(triangles, _keys(bends[:, list(k)], n)) for k in ((0, 1, 2), (0, 1, 3))], axis=1)
    across = _keys(cross_edges(bends).astype(np.int64), n)
    everything = _rows_within(distance, added, start, n)
    everything = everything[np.argsort(distance.added_index[everything])]
    keys = _keys(added[distance.indices[everything]] - start, n)
    spans = np.isin(keys, across) & ~np.isin(keys, sides)
    dependent_rows.append(_spanning("distance", everything[spans], beside[_find_each(across, keys[spans])]))
    for name in BENDING:
        if name in blocks:
            bending = _rows_within(blocks[name], added, start, n)
            points = added[blocks[name].indices[bending]] - start
            two = np.stack([_find(triangles, _keys(points[:, list(k)], n)) for k in ((0, 1, 2), (0, 1, 3))], axis=1)
            dependent_rows.append(_spanning(name, bending, two))
    return TearableMesh(object_number, "distance", held, tuple(f for f in dependent_rows if len(f.rows)))


def _rope(
    object_number: int,
    obj: ParticleObject,
    start: int,
    added: np.ndarray,
    blocks: dict[str, ConstraintBlock],
    rows: np.ndarray,
) -> TearableMesh:
    """Segments; what spans two of them against bending lets go with either."""
    n = len(obj.positions)
    everything = _rows_within(blocks["distance"], added, start, n)
    ends = np.sort(added[blocks["distance"].indices[everything]] - start, axis=1)
    skips = ends[:, 1] - ends[:, 0] == 2
    first = ends[skips, 0]
    bending = _spanning("distance", everything[skips], np.stack([first, first + 1], axis=1))
    return TearableMesh(object_number, "distance", rows[:, None], (bending,) if len(first) else ())


def _edges(rows: np.ndarray, keys: np.ndarray, sides: np.ndarray) -> DependentRows:
    """Edges, which follow when all of their one or two triangles are gone."""
    order = np.argsort(sides.ravel(), kind="stable")
    ranked = sides.ravel()[order]
    first, last = np.searchsorted(ranked, keys), np.searchsorted(ranked, keys, side="right")
    beside = np.full((len(rows), 2), -1)
    beside[:, 0] = order[first] // 3
    two = last - first >= 2
    beside[two, 1] = order[first[two] + 1] // 3
    return DependentRows("distance", rows, beside, np.where(two, 2, 1))


def _spanning(block: str, rows: np.ndarray, elements: np.ndarray) -> DependentRows:
    """Rows that follow when either of two elements is gone."""
    return DependentRows(block, rows, elements, np.ones(len(rows), np.int64))


def _rows_within(block: ConstraintBlock, added: np.ndarray, start: int, count: int) -> np.ndarray:
    """Rows of a block between particles of one object."""
    local = added[block.indices] - start
    return np.flatnonzero(((local >= 0) & (local < count)).all(axis=1))


def _keys(indices: np.ndarray, count: int) -> np.ndarray:
    """One number for each set of indices, whatever their order."""
    ordered = np.sort(np.asarray(indices, np.int64), axis=1)
    key = ordered[:, 0]
    for column in ordered.T[1:]:
        key = key * count + column
    return key


def _find(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where each wanted key stands among others; all of them are there."""
    order = np.argsort(keys)
    return order[np.searchsorted(keys[order], wanted)]


def _find_each(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The same where keys repeat: the second of two that are alike is found for the second that is wanted.

    Two hinges may have the same far corners, and a row each; rows were added in the order of the hinges.
    """
    order, ranks = np.argsort(keys, kind="stable"), np.argsort(wanted, kind="stable")
    ordered, asked = keys[order], wanted[ranks]
    first, last = np.searchsorted(ordered, asked), np.searchsorted(ordered, asked, side="right") - 1
    repeat = np.arange(len(asked)) - np.searchsorted(asked, asked)
    found = np.empty(len(wanted), np.int64)
    found[ranks] = order[np.minimum(first + repeat, last)]
    return found
