"""From the rows and volumes of a scene to its free groups."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from shinari.constraints.attachment import ATTACHMENT
from shinari.constraints.registry import constraint_type
from shinari.scene.contents import Contents
from shinari.scene.objects import Rows
from shinari.systems.free_groups.model import FreeGroupsModel
from shinari.systems.rows.cloth_rows import at_rest

# Particles of one partial sum.
CHUNK = 256
# Types of rows whose forces have no moment, at any rotation. A type of the user may hold a direction in space.
WITHOUT_MOMENT = frozenset((
    "attachment_distance_segment", "attachment_distance_tetrahedron", "attachment_distance_triangle",
    "attachment_segment", "attachment_tetrahedron", "attachment_triangle", "coincidence", "corotated", "dihedral",
    "distance", "isometric_bend", "neo_hookean", "seam", "strain_tetrahedron", "strain_triangle", "stvk", "volume",
))  # fmt: skip
# Parameters of a shape at rest, and the part by which one that is given differs from that at the start by rounding.
REST = frozenset(("rest_length", "rest_angle", "rest_volume", "inverse_rest"))
ROUNDING = 1e-5
# Kinds of objects whose particles are moved by rows and volumes alone.
OF_ROWS = frozenset(("particles", "cloth", "rope", "soft"))


def build_free_groups(scene: Contents, rows: Sequence[Rows], slots: np.ndarray) -> FreeGroupsModel | None:
    """The free groups of a scene; None when it has none.

    Args:
        scene: The scene.
        rows: Its rows.
        slots: Place of each particle in solver order, (N,).
    """
    stressed = [row.indices for row in rows if row.type in WITHOUT_MOMENT and _is_stressed(row, scene.positions)]
    stressed += [volume.faces for volume in scene.volumes]
    if not any(each.size for each in stressed):
        return None
    shells = [np.stack([np.full(v.faces.size, v.faces[0, 0]), v.faces.ravel()], axis=1) for v in scene.volumes]
    names = joined(len(slots), [*(row.indices for row in rows), *shells])
    left = np.isin(names, names[_unique(stressed)]) & ~np.isin(names, names[_moved_by_others(scene, rows)])
    particles = np.flatnonzero(left)
    if not len(particles):
        return None
    _, groups = np.unique(names[particles], return_inverse=True)
    order = np.lexsort((slots[particles], groups))
    particles, groups = slots[particles[order]], groups[order]
    ends = np.searchsorted(groups, np.arange(groups[-1] + 2))
    chunks = [
        (begin, min(begin + CHUNK, last), group, int(particles[first]))
        for group, (first, last) in enumerate(pairwise(ends.tolist()))
        for begin in range(first, last, CHUNK)
    ]
    places = [row.indices for row in rows if row.type == ATTACHMENT.name]
    held = slots[_unique([*places, *(row.particles for row in scene.body_rows), np.zeros(0, np.int64)])]
    return FreeGroupsModel(particles.astype(np.uint32), np.array(chunks, np.int64), held, bool(scene.volumes))


def joined(count: int, tables: Sequence[np.ndarray]) -> np.ndarray:
    """The least particle that each one is joined with by rows of particles, each (M, K), directly or by others."""
    names = np.arange(count)
    pairs = [table[:, [0, k]].astype(np.int64) for table in tables for k in range(1, table.shape[1])]
    ends = np.concatenate([np.zeros((0, 2), np.int64), *pairs])
    while len(ends):
        first, second = names[ends].T
        apart = first != second
        ends = ends[apart]
        np.minimum.at(names, np.maximum(first, second)[apart], np.minimum(first, second)[apart])
        while not np.array_equal(shorter := names[names], names):
            names = shorter
    return names


def _is_stressed(rows: Rows, x: np.ndarray) -> bool:
    """Whether the shape at rest that rows were given is another than that at the start."""
    if not rows.indices.size or REST.isdisjoint(rows.parameters) or constraint_type(rows.type).rest is None:
        return False
    start = at_rest(rows.type, x[rows.indices])
    pairs = [(given, start[name]) for name, given in rows.parameters.items() if name in REST]
    return any((np.abs(a.reshape(b.shape) - b) > ROUNDING * np.abs(b).max(initial=0.0)).any() for a, b in pairs)


def _moved_by_others(scene: Contents, rows: Sequence[Rows]) -> np.ndarray:
    """Particles that are moved by something else than rows without moment and what holds one particle."""
    others = [row.indices for row in rows if row.type not in WITHOUT_MOMENT and row.type != ATTACHMENT.name]
    kinds = [obj.kind in OF_ROWS for obj in scene.particle_objects]
    sizes = [len(obj.positions) for obj in scene.particle_objects]
    others.append(np.flatnonzero(~np.repeat(kinds, sizes)))
    return _unique(others)


def _unique(indices: Sequence[np.ndarray]) -> np.ndarray:
    return np.unique(np.concatenate([np.ravel(each).astype(np.int64) for each in indices]))
