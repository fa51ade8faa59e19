"""Clusters of shape matching: which particles are matched together, and the tables that the kernels need."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shinari import check
from shinari.errors import SceneError
from shinari.scene.contents import Contents
from shinari.scene.lump_material import Clusters, LumpMaterial
from shinari.scene.objects import ParticleObject
from shinari.systems.shape_matching.kernels import CHUNK
from shinari.systems.shape_matching.model import ShapeMatchingModel

# What is fixed counts as so many times the mass of what is free in its cluster.
HELD = 1e6
# Moments along an axis, over the largest, below which a cluster does not span it.
FLAT = 1e-10
# The same for the nine columns of a quadratic cluster.
FLAT_NINE = 1e-7
# Stiffness is the part of the way to its goal that a particle goes from rest in this time [s].
BLINK = 1.0 / 60.0


def whole(count: int) -> Clusters:
    """One cluster of all particles."""
    return Clusters(np.array([0, count]), np.arange(count))


def given_clusters(label: str, clusters: Sequence[Any], count: int) -> Clusters:
    """Clusters as a user gave them, each a list of the numbers of its particles.

    Raises:
        SceneError: A cluster is empty or names a particle twice, or a particle is in none; the message says which.
    """
    found = []
    for k, cluster in enumerate(check.sequence(label, "clusters", clusters)):
        members = check.indices(label, f"clusters[{k}]", cluster, count)
        if len(members) == 0:
            raise SceneError(f"{label}: clusters[{k}]: has no particles")
        members.sort()
        twice = np.flatnonzero(members[1:] == members[:-1])
        if len(twice):
            raise SceneError(f"{label}: clusters[{k}]: names particle {members[twice[0]]} twice")
        found.append(members)
    if not found:
        raise SceneError(f"{label}: clusters: none were given; leave them out for one of all particles")
    members = np.concatenate(found)
    alone = np.flatnonzero(np.bincount(members, minlength=count) == 0)
    if len(alone):
        raise SceneError(f"{label}: clusters: particle {alone[0]} is in none ({len(alone)} such particles)")
    return Clusters(np.cumsum([0, *map(len, found)]), members)


def lattice_clusters(points: NDArray[np.float64], size: float) -> Clusters:
    """Overlapping clusters: all particles in cubes of an edge, half an edge apart along each axis.

    A particle is in up to eight of them (Rivers and James 2007, FastLSM, section 3, with regions two cells wide). Cubes
    whose particles are all in a neighbouring cube are left out.

    Args:
        points: Particles at rest [m], (N, 3).
        size: Edge of a cube [m].
    """
    cells = np.floor((points - points.min(axis=0)) / (0.5 * size) + 1e-6).astype(np.int64)
    corners = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij"), axis=-1).reshape(8, 3)
    extent = cells.max(axis=0) + 3  # cubes reach from one cell before the first

    def key(cube: np.ndarray) -> np.ndarray:
        return ((cube[..., 0] + 1) * extent[1] + cube[..., 1] + 1) * extent[2] + cube[..., 2] + 1

    owner = key(cells[:, None] - corners)  # cubes of each particle, (N, 8); its cell is at `corners` of each
    cubes, place = np.unique(owner, return_inverse=True)
    place = place.reshape(-1, 8)
    counts = np.zeros((len(cubes), 8), np.int64)
    for k in range(8):
        np.add.at(counts[:, k], place[:, k], 1)
    keep = np.ones(len(cubes), bool)
    for shift in np.stack(np.meshgrid([-1, 0, 1], [-1, 0, 1], [-1, 0, 1], indexing="ij"), axis=-1).reshape(27, 3):
        if not shift.any():
            continue
        step = (shift[0] * extent[1] + shift[1]) * extent[2] + shift[2]
        there = np.minimum(np.searchsorted(cubes, cubes + step), len(cubes) - 1)
        common = ((corners - shift >= 0) & (corners - shift <= 1)).all(axis=1)
        inside = (cubes[there] == cubes + step) & (counts[:, ~common].sum(axis=1) == 0)
        same = inside & (counts[there].sum(axis=1) == counts.sum(axis=1))
        keep &= ~inside | (same & (step > 0))
    number = np.cumsum(keep) - 1
    particle, column = np.nonzero(keep[place])
    cluster = number[place[particle, column]]
    order = np.lexsort((particle, cluster))
    return Clusters(np.searchsorted(cluster[order], np.arange(keep.sum() + 1)), particle[order])


def check_quadratic(label: str, points: np.ndarray, clusters: Clusters) -> None:
    """Refuse clusters whose particles do not tell the nine columns of a quadratic map apart.

    Raises:
        SceneError: One has too few of them, or in too few layers.
    """
    for k, members in enumerate(np.split(clusters.members, clusters.offsets[1:-1])):
        _, _, moments = _nine(points[members] - points[members].mean(axis=0), np.ones(len(members)))
        values = np.linalg.eigvalsh(moments)
        if len(members) < 10 or values[0] < FLAT_NINE * values[-1]:
            raise SceneError(
                f"{label}: mode: 'quadratic' needs at least 10 particles in three layers along each axis; cluster {k} "
                f"has {len(members)}{'' if len(members) < 10 else ', too flat'}; take larger clusters, a smaller "
                f"spacing or mode 'linear'"
            )


def build_lumps(scene: Contents, slots: np.ndarray, real: type) -> ShapeMatchingModel | None:
    """The clusters of all lumps of a scene; None when it has no lumps.

    Args:
        scene: The scene.
        slots: Place in solver order of each particle as added, (N,).
        real: Floating point type of the solver.
    """
    starts = np.cumsum([0] + [len(obj.positions) for obj in scene.particle_objects])
    lumps = [
        (obj, int(start)) for obj, start in zip(scene.particle_objects, starts, strict=False) if obj.kind == "lump"
    ]
    if not lumps:
        return None
    pinned = np.zeros(scene.particle_count, bool)
    pinned[list(scene.pinned)] = True
    tables = [_lump(obj, pinned[start : start + len(obj.positions)]) for obj, start in lumps]
    materials = [_material(obj) for obj, _ in lumps]
    sizes = [len(obj.positions) for obj, _ in lumps]
    firsts = np.cumsum([0, *sizes])

    def joined(name: str) -> np.ndarray:
        return np.concatenate([table[name] for table in tables])

    counts = joined("counts")
    cluster_starts = np.cumsum([0, *counts.tolist()])
    local = np.concatenate([table["members"] + first for table, first in zip(tables, firsts, strict=False)])
    particles = np.concatenate([slots[start : start + size] for (_, start), size in zip(lumps, sizes, strict=True)])
    curved = joined("curved")
    entries = np.argsort(local, kind="stable")
    chunks, chunk_starts = _chunks(cluster_starts)
    lump_chunks, lump_chunk_starts = _chunks(firsts)
    return ShapeMatchingModel(
        particles=particles.astype(np.uint32),
        lumps=np.repeat(np.arange(len(lumps)), sizes),
        firsts=firsts,
        numbers=np.array([start for _, start in lumps]),
        held=np.array([table["held"] for table in tables]),
        frequencies=_frequencies(materials),
        stiffness=np.array([material.stiffness for material in materials]),
        owners=np.repeat(np.arange(len(lumps)), [len(table["counts"]) for table in tables]),
        starts=cluster_starts,
        members=particles[local].astype(np.uint32),
        clusters=np.repeat(np.arange(len(counts)), counts),
        rest=joined("rest").astype(real),
        weights=joined("weights"),
        entry_starts=np.searchsorted(local[entries], np.arange(len(particles) + 1)),
        entries=entries,
        masses=joined("masses"),
        centres=joined("centres"),
        inverse=joined("inverse"),
        open_part=joined("open_part"),
        laws=joined("laws"),
        quadratic=np.where(curved, np.cumsum(curved) - 1, -1),
        lengths=joined("lengths"),
        inverse_nine=joined("inverse_nine"),
        means=joined("means"),
        chunks=chunks,
        chunk_starts=chunk_starts,
        lump_chunks=lump_chunks,
        lump_chunk_starts=lump_chunk_starts,
    )


def stiffened(lumps: ShapeMatchingModel, scene: Contents) -> ShapeMatchingModel:
    """The clusters with stiffness and laws of the materials of a scene that differs in these alone."""
    objects = [obj for obj in scene.particle_objects if obj.kind == "lump"]
    materials, counts = [_material(obj) for obj in objects], np.bincount(lumps.owners, minlength=len(objects))
    laws = np.concatenate([_laws(material, count) for material, count in zip(materials, counts, strict=True)])
    stiffness = np.array([material.stiffness for material in materials])
    return replace(lumps, laws=laws, stiffness=stiffness, frequencies=_frequencies(materials))


def _frequencies(materials: Sequence[LumpMaterial]) -> np.ndarray:
    """Square of the angular frequency that the stiffness of each lump stands for [1/s^2], (L,)."""
    stiffness = np.array([material.stiffness for material in materials])
    with np.errstate(divide="ignore"):
        return stiffness / ((1.0 - stiffness) * BLINK**2)


def _laws(material: LumpMaterial, count: int) -> np.ndarray:
    """Laws of so many clusters, (C, 4)."""
    beta = 0.0 if material.mode == "rigid" else material.beta
    return np.tile([beta, material.yield_strain, material.creep, material.most_strain], (count, 1))


def _material(obj: ParticleObject) -> LumpMaterial:
    assert isinstance(obj.material, LumpMaterial)
    return obj.material


def _lump(obj: ParticleObject, pinned: np.ndarray) -> dict[str, Any]:
    """Tables of one lump, its particles numbered from 0."""
    clusters, material = obj.clusters, _material(obj)
    assert clusters is not None
    offsets, members = clusters.offsets, clusters.members
    counts = np.diff(offsets)
    of = np.repeat(np.arange(len(counts)), counts)
    fixed = (obj.masses == 0.0) | pinned
    shares = np.bincount(members, minlength=len(obj.positions))
    weights = (np.where(fixed, 0.0, obj.masses) / shares)[members]
    # what is fixed leads its cluster; a cluster that is fixed as a whole goes nowhere
    free = np.bincount(of, weights, len(counts))
    holding = np.bincount(of, fixed[members], len(counts))
    weights = np.where(fixed[members], (HELD * np.where(free > 0.0, free, 1.0) / np.maximum(holding, 1))[of], weights)
    masses = np.bincount(of, weights, len(counts))
    points = obj.positions[members]
    middle = obj.positions.mean(axis=0)
    centres = np.stack([np.bincount(of, weights * (points - middle)[:, k], len(counts)) for k in range(3)], axis=1)
    centres = centres / masses[:, None] + middle
    rest = points - centres[of]
    inverse, open_part = _spans(rest, weights, of, len(counts))
    curved = np.full(len(counts), material.mode == "quadratic")
    nine = [_inverse_nine(rest[a:b], weights[a:b]) for a, b in pairwise(offsets)]
    nine = nine if curved.any() else []
    return {
        "counts": counts,
        "members": members,
        "held": bool(fixed.any()),
        "rest": rest,
        "weights": weights,
        "masses": masses,
        "centres": centres,
        "inverse": inverse,
        "open_part": open_part,
        "laws": _laws(material, len(counts)),
        "curved": curved,
        "lengths": np.array([item[0] for item in nine]) if nine else np.ones(len(counts)),
        "means": np.array([item[1] for item in nine]).reshape(-1, 6),
        "inverse_nine": np.array([item[2] for item in nine]).reshape(-1, 9, 9),
    }


def _spans(rest: np.ndarray, weights: np.ndarray, of: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Inverse of sum m q q^T on what each cluster spans, and the projection on the rest, (C, 9) each."""
    moments = np.empty((count, 3, 3))
    for i in range(3):
        for j in range(3):
            moments[:, i, j] = np.bincount(of, weights * rest[:, i] * rest[:, j], count)
    values, vectors = np.linalg.eigh(moments)
    spanned = values > FLAT * np.maximum(values[:, 2:], np.finfo(float).tiny)
    over = np.divide(1.0, values, out=np.zeros_like(values), where=spanned)
    inverse = np.einsum("cik,ck,cjk->cij", vectors, over, vectors)
    open_part = np.einsum("cik,ck,cjk->cij", vectors, (~spanned).astype(float), vectors)
    return inverse.reshape(-1, 9), open_part.reshape(-1, 9)


def _nine(q: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Length, means of the products of coordinates (6,), and moments of all nine columns over the mass (9, 9)."""
    total = weights.sum()
    length = float(np.sqrt(weights @ (q * q).sum(axis=1) / total)) or 1.0
    products = np.concatenate([q * q, q * np.roll(q, -1, axis=1)], axis=1) / length
    means = weights @ products / total
    columns = np.concatenate([q, products - means], axis=1)
    return length, means, (columns * weights[:, None]).T @ columns / total


def _inverse_nine(q: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Length, means, and inverse of the moments; columns that the cluster does not span are left out."""
    length, means, moments = _nine(q, weights)
    return length, means, np.linalg.pinv(moments * weights.sum(), rcond=FLAT, hermitian=True)


def _chunks(starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ranges cut into pieces of at most `CHUNK`: range, first and end of each (K, 3), and first piece of each range."""
    counts = np.maximum(-(-np.diff(starts) // CHUNK), 1)
    chunk_starts = np.cumsum([0, *counts.tolist()])
    of = np.repeat(np.arange(len(counts)), counts)
    first = starts[of] + CHUNK * (np.arange(len(of)) - chunk_starts[of])
    return np.stack([of, first, np.minimum(first + CHUNK, starts[of + 1])], axis=1), chunk_starts
