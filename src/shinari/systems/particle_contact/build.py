"""Who takes part in contacts between particles, and which pairs keep another distance than the sum of their radii.

Loose particles with a radius, those of lumps and the vertices of sheets whose self-collision is "particles" are balls.
Two of them keep off each other when they belong to different objects, or to one whose self-collision is "particles",
as that of grains always is. Pairs that share a row are left out, and so are neighbours along an edge; balls of a sheet
that overlap at the start keep the distance that they have there, while grains are pushed apart.
"""

import itertools
from dataclasses import dataclass, replace

import numpy as np

from shinari.collision.broad.pairs import PairFinder
from shinari.errors import ContactWarning, warn_of_several
from shinari.geometry.topology import edges
from shinari.model.model import Model
from shinari.scene.contents import Contents

# An overlap below this part of the sum of the radii is rounding, and no error of the user.
ROUNDING = 1e-6
# Grains that have settled overlap a little: no error either up to this part.
SETTLED = 0.05
# Types whose rows say how far two particles are from each other, also where a material made them.
JOINING = ("distance", "coincidence", "seam")
# With more objects than this nobody asks which of them may meet.
MANY = 200


@dataclass(frozen=True)
class MemberTable:
    """Particles that keep off each other as balls.

    Attributes:
        particles: Their numbers in solver order, ascending, (P,) uint32.
        radii: Their radii [m], (P,) float64.
        owners: Object of each, (P,) uint16.
        alone: Objects whose own particles pass through each other, (T,) bool.
        ignored: Sorted keys first x T + second (first < second) of objects that ignore each other, (I,) int64.
        offsets: Where the special pairs of each member start, (P + 1,): each stands with its smaller member.
        partners: Larger member of each special pair, ascending for each member, (S,) uint32.
        distances: Distance that it keeps [m], (S,); 0 where it is left out.
        grains: Which objects are grains, (T,) bool.
        scaling: Rate at which their masses fall with the height [1/m], (T,).
        cohesion: Tensile strength of a heap of them [Pa], (T,).
    """

    particles: np.ndarray
    radii: np.ndarray
    owners: np.ndarray
    alone: np.ndarray
    ignored: np.ndarray
    offsets: np.ndarray
    partners: np.ndarray
    distances: np.ndarray
    grains: np.ndarray
    scaling: np.ndarray
    cohesion: np.ndarray

    def candidate_objects(self) -> np.ndarray | None:
        """Pairs of different objects that may meet, (K, 2), first < second; None: too many to tell."""
        numbers = np.unique(self.owners).astype(np.int64)
        if len(numbers) > MANY:
            return None
        first, second = np.triu_indices(len(numbers), 1)
        pairs = np.stack([numbers[first], numbers[second]], axis=1)
        return pairs[~np.isin(pairs[:, 0] * len(self.alone) + pairs[:, 1], self.ignored)]


def pair_members(scene: Contents, model: Model) -> MemberTable | None:
    """The members of a scene; None when no two of them can ever touch.

    Warns:
        ContactWarning: Two objects overlap at the start.
    """
    if model.particle_count == 0:
        return None
    takes_part = [
        obj.kind in ("particles", "lump", "grains") or (obj.kind == "cloth" and obj.self_collision == "particles")
        for obj in scene.particle_objects
    ]
    particles = np.flatnonzero(np.array(takes_part)[model.owners] & (model.radii > 0.0)).astype(np.uint32)
    names = {obj.name: k for k, obj in enumerate(scene.particle_objects)}
    pairs = [sorted(names[name] for name in pair) for pair in scene.ignored if all(name in names for name in pair)]
    radii = np.concatenate([obj.radii for obj in scene.particle_objects])
    world = np.empty((model.particle_count, 3))
    world[model.slots] = scene.positions
    by_slot = np.empty(model.particle_count)
    by_slot[model.slots] = radii
    none = np.zeros(len(particles) + 1, np.int64), np.zeros(0, np.uint32), np.zeros(0)
    members = MemberTable(
        particles,
        by_slot[particles],
        model.owners[particles],
        np.array([obj.self_collision != "particles" for obj in scene.particle_objects]),
        np.array(sorted(a * len(scene.particle_objects) + b for a, b in pairs), np.int64),
        *none,
        np.array([obj.kind == "grains" for obj in scene.particle_objects]),
        np.array([getattr(obj.material, "mass_scaling", 0.0) for obj in scene.particle_objects]),
        np.array([getattr(obj.material, "cohesion", 0.0) for obj in scene.particle_objects]),
    )
    movable = np.zeros(len(scene.particle_objects), bool)
    movable[np.unique(members.owners[model.inverse_masses[particles] > 0.0])] = True
    counts = np.bincount(members.owners, minlength=len(scene.particle_objects))
    crowd = ~members.alone & movable & (counts > 1)
    candidate_objects = members.candidate_objects()
    if not crowd.any() and candidate_objects is not None and not movable[candidate_objects].any():
        return None
    points = world[particles]
    apart = _left_out(scene, model, particles)
    if (
        not crowd.any()
        and candidate_objects is not None
        and not (box_gaps(members, points, candidate_objects) < 0.0).any()
    ):
        return _with_special(members, apart, np.zeros(len(apart)))
    close = PairFinder(members.radii).find(points, 0.0, 1).astype(np.int64)
    distances = np.linalg.norm(points[close[:, 0]] - points[close[:, 1]], axis=1)
    joined = np.isin(_keys(close), _keys(apart))
    own = members.owners[close[:, 0]] == members.owners[close[:, 1]]
    grains = members.grains[members.owners[close[:, 0]]]
    keep = own & ~joined & ~grains & ~members.alone[members.owners[close[:, 0]]]
    fixed = (model.inverse_masses[particles[close]] == 0.0).all(axis=1)
    deep = distances < (1.0 - SETTLED) * members.radii[close].sum(axis=1)
    _report(members, model, close, distances, np.where(own, grains & deep, ~joined) & ~fixed)
    special = np.concatenate([apart, close[keep]])
    return _with_special(members, special, np.concatenate([np.zeros(len(apart)), distances[keep]]))


def box_gaps(members: MemberTable, points: np.ndarray, candidate_objects: np.ndarray) -> np.ndarray:
    """Distance between the bounding boxes of the balls of pairs of objects [m], (K,); negative where they overlap."""
    order = np.argsort(members.owners, kind="stable")
    numbers, starts = np.unique(members.owners[order], return_index=True)
    low = np.minimum.reduceat((points - members.radii[:, None])[order], starts)
    high = np.maximum.reduceat((points + members.radii[:, None])[order], starts)
    a, b = np.searchsorted(numbers, candidate_objects[:, 0]), np.searchsorted(numbers, candidate_objects[:, 1])
    gap = np.maximum(low[a] - high[b], low[b] - high[a])
    return np.where((gap > 0.0).any(axis=1), np.linalg.norm(np.maximum(gap, 0.0), axis=1), gap.max(axis=1))


def _left_out(scene: Contents, model: Model, particles: np.ndarray) -> np.ndarray:
    """Pairs of members that share a row or an edge, (K, 2) ascending."""
    tables = [model.slots[row.indices] for row in scene.rows]
    tables += [model.blocks[name].indices for name in JOINING if name in model.blocks]
    start = 0
    for obj in scene.particle_objects:
        if obj.faces is not None:
            tables.append(model.slots[edges(obj.faces) + start])
        start += len(obj.positions)
    pairs = [np.zeros((0, 2), np.int64)]
    for table in tables:
        for a, b in itertools.combinations(range(table.shape[1]), 2):
            pairs.append(table[:, [a, b]].astype(np.int64))
    number = np.full(model.particle_count, -1)
    number[particles] = np.arange(len(particles))
    joined = np.sort(number[np.concatenate(pairs)], axis=1)
    return np.unique(joined[(joined[:, 0] >= 0) & (joined[:, 0] < joined[:, 1])], axis=0)


def _with_special(members: MemberTable, pairs: np.ndarray, distances: np.ndarray) -> MemberTable:
    """The members with pairs (S, 2), first < second, that keep distances (S,)."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    offsets = np.searchsorted(pairs[order, 0], np.arange(len(members.particles) + 1))
    partners = pairs[order, 1].astype(np.uint32)
    return replace(members, offsets=offsets.astype(np.int32), partners=partners, distances=distances[order])


def _report(members: MemberTable, model: Model, pairs: np.ndarray, distances: np.ndarray, cross: np.ndarray) -> None:
    """Warn of each two objects of which balls overlap, and of grains that do."""
    depths = members.radii[pairs].sum(axis=1) - distances
    cross &= depths > ROUNDING * members.radii[pairs].sum(axis=1)
    owners = np.sort(members.owners[pairs[cross]].astype(np.int64), axis=1)
    keys = owners[:, 0] * len(members.alone) + owners[:, 1]
    cross_pairs, depths = pairs[cross], depths[cross]
    added = np.empty(model.particle_count, np.int64)
    added[model.slots] = np.arange(model.particle_count)
    found = []
    for key in np.unique(keys[~np.isin(keys, members.ignored)]):
        worst = np.flatnonzero(keys == key)[np.argmax(depths[keys == key])]
        (one, particles), (other, _) = (model.object_ranges[k] for k in divmod(int(key), len(members.alone)))
        both = added[members.particles[cross_pairs[worst]]]
        index = next(int(p) for p in both if p in particles) - particles.start
        who = f"{one!r} and {other!r} overlap" if one != other else f"grains {one!r} overlap each other"
        found.append((depths[worst], f"{who} at the start, by {depths[worst]:.3g} m at particle {index} of {one!r}"))
    warn_of_several(found, ContactWarning, "they are pushed apart slowly")


def _keys(pairs: np.ndarray) -> np.ndarray:
    return pairs[:, 0] << 32 | pairs[:, 1]
