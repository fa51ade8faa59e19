"""What of a scene can touch what: its points, edges and triangles, and which of them may meet."""

import math
from dataclasses import dataclass

import numpy as np

from shinari.compute.colouring import incidence
from shinari.geometry.topology import edges
from shinari.model.model import Model
from shinari.model.state import State
from shinari.scene.contents import Contents
from shinari.scene.objects import ParticleObject
from shinari.systems.failure.tearing import elements_left, faces_left

# A loop of rope cannot be bent to less than its own radius: points nearer along it than half such a loop never touch.
HALF_TURN = math.pi


@dataclass(frozen=True)
class Participants:
    """Points, edges and triangles that keep off each other, in solver order.

    Attributes:
        points: Vertices of sheets and points of ropes, which keep off triangles, (P,) uint32.
        edges: Edges of sheets and segments of ropes, (E, 2) uint32.
        beads: Loose particles, which keep off triangles and segments of ropes, as edges of length zero, (L, 2) uint32.
        segments: Segments of ropes, (S, 2) uint32.
        triangles: Triangles of sheets, (F, 3) uint32.
        members: Particles of each object that takes part, as a list by object; None: it does not.
        alone: Objects that pass through themselves, (T,) bool.
        loose: Objects whose particles have neither edges nor triangles, (T,) bool.
        ignored: Sorted keys first x T + second (first < second) of objects that ignore each other, (I,) int64.
        reach_along: Distance along a rope or rod below which its points never touch each other, and how long it is
            around when it is a ring, else infinite [m], by object, (T, 2).
        arcs: Distance along the rope of each particle [m], (N,).
        neighbour_offsets: Where the neighbours of each particle start, (N + 1,).
        neighbours: Particles that share an edge or a row between objects with each particle, ascending.
        rest: Positions at the start relative to their origin, (N, 3).
        sewn: Vertices that are sewn to others, and the one that stands for all that are, (S, 2).
        edge_length: Median length of all edges [m].
    """

    points: np.ndarray
    edges: np.ndarray
    beads: np.ndarray
    segments: np.ndarray
    triangles: np.ndarray
    members: list[np.ndarray | None]
    alone: np.ndarray
    loose: np.ndarray
    ignored: np.ndarray
    reach_along: np.ndarray
    arcs: np.ndarray
    neighbour_offsets: np.ndarray
    neighbours: np.ndarray
    rest: np.ndarray
    sewn: np.ndarray
    edge_length: float

    def may_collide(self, first: int, second: int) -> bool:
        """Whether two objects, or an object and itself, may touch through edges and triangles."""
        if self.members[first] is None or self.members[second] is None:
            return False
        if first == second:
            return not self.alone[first]
        low, high = min(first, second), max(first, second)
        return low * len(self.members) + high not in self.ignored

    @property
    def surfaces_meet(self) -> bool:
        """Whether objects with edges or triangles may touch each other or themselves."""
        count = len(self.members)
        surfaces = [k for k in range(count) if self.members[k] is not None and not self.loose[k]]
        apart = np.isin(np.stack(np.divmod(self.ignored, count)), surfaces).all(axis=0).sum()
        return not self.alone[surfaces].all() or len(surfaces) * (len(surfaces) - 1) // 2 > apart


def participants(scene: Contents, model: Model, state: State | None = None) -> Participants | None:
    """What can touch through edges and triangles, but for what has torn in a state; None when nothing can."""
    slots, objects = model.slots, scene.particle_objects
    points, lines, beads, segments, triangles = [], [], [], [], []
    members: list[np.ndarray | None] = []
    arcs = np.zeros(model.particle_count)
    start = 0
    for owner, obj in enumerate(objects):
        own = slots[start : start + len(obj.positions)]
        start += len(own)
        thick = obj.radii > 0.0
        members.append(own if thick.any() else None)
        if not thick.any():
            continue
        left = None if state is None else elements_left(model, state, owner)
        if not _is_loose(obj) and obj.faces is not None:
            faces = faces_left(obj, left)
            points.append(own[thick])
            triangles.append(own[faces])
            lines.append(own[edges(faces)])
        elif not _is_loose(obj):
            points.append(own[thick])
            length = np.linalg.norm(np.diff(obj.positions, axis=0), axis=1)
            arcs[own[1:]] = np.cumsum(length)
            pieces = own[obj.segments]
            segments.append(pieces if left is None else pieces[left])
        else:
            beads.append(np.stack([own[thick], own[thick]], axis=1))
    names = {obj.name: k for k, obj in enumerate(objects)}
    pairs = [sorted(names[name] for name in pair) for pair in scene.ignored if all(name in names for name in pair)]
    alone = np.array([obj.self_collision not in ("triangles", "segments") for obj in objects])
    if not triangles and not segments:
        return None
    everyone = sum(member is not None for member in members)
    if everyone < 2 and alone.all():
        return None
    all_lines = _joined(lines + segments, 2)
    sewn = _sewn(scene, slots)
    offsets, near = _neighbours(_sewn_lines(all_lines, sewn), _links(model, state), model.particle_count)
    rest = np.empty((model.particle_count, 3), model.real)
    rest[slots] = scene.positions - model.origins[model.origin_index][slots]
    # points that are sewn together are at one place: a seam does not keep itself open
    rest[sewn[:, 0]] = rest[sewn[:, 1]]
    world = np.empty((model.particle_count, 3))
    world[slots] = scene.positions
    lengths = np.linalg.norm(world[all_lines[:, 0]] - world[all_lines[:, 1]], axis=1)
    return Participants(
        points=_joined(points, 0),
        edges=all_lines,
        beads=_joined(beads, 2),
        segments=_joined(segments, 2),
        triangles=_joined(triangles, 3),
        members=members,
        alone=alone,
        loose=np.array([_is_loose(obj) for obj in objects]),
        ignored=np.array(sorted(a * len(objects) + b for a, b in pairs), np.int64),
        reach_along=np.array([_reach_along(obj) for obj in objects], model.real).reshape(-1, 2),
        arcs=arcs.astype(model.real),
        neighbour_offsets=offsets,
        neighbours=near,
        rest=rest,
        sewn=sewn,
        edge_length=float(np.median(lengths)),
    )


def _is_loose(obj: ParticleObject) -> bool:
    """Whether the particles of an object have neither edges nor triangles that keep off others."""
    return obj.kind not in ("rope", "rod") and (obj.faces is None or obj.self_collision == "particles")


def _reach_along(obj: ParticleObject) -> tuple[float, float]:
    """Distance along a rope or rod below which its points never touch, and its length around if it is a ring [m]."""
    reach = HALF_TURN * float(obj.radii.max()) if obj.kind in ("rope", "rod") else 0.0
    if obj.rod is None or not obj.rod.closed:
        return reach, math.inf
    x = obj.positions
    return reach, float(np.linalg.norm(x - np.roll(x, -1, axis=0), axis=1).sum())


def _joined(parts: list[np.ndarray], width: int) -> np.ndarray:
    empty = np.zeros((0, width) if width else 0, np.uint32)
    return np.ascontiguousarray(np.concatenate([empty, *parts]), np.uint32)


def _links(model: Model, state: State | None) -> np.ndarray:
    """Pairs of particles of different objects that share a row which has not let go, (K, 2)."""
    pairs = [np.zeros((0, 2), np.uint32)]
    for name, block in model.blocks.items():
        broken = None if state is None else state.broken.get(name)
        rows = block.indices if broken is None else block.indices[~broken]
        for k in range(1, rows.shape[1]):
            two = rows[:, [0, k]]
            pairs.append(two[model.owners[two[:, 0]] != model.owners[two[:, 1]]])
    return np.concatenate(pairs)


def _sewn(scene: Contents, slots: np.ndarray) -> np.ndarray:
    """Vertices that are sewn to another one, and the one that stands for all that are, in solver order, (K, 2)."""
    pairs, start = [np.zeros((0, 2), np.uint32)], 0
    for obj in scene.particle_objects:
        if obj.tailoring is not None and len(obj.tailoring.seams):
            joined = obj.tailoring.joined(len(obj.positions))
            sewn = np.unique(obj.tailoring.seams)
            pairs.append(slots[np.stack([sewn, joined[sewn]], axis=1) + start])
        start += len(obj.positions)
    return np.concatenate(pairs)


def _sewn_lines(lines: np.ndarray, sewn: np.ndarray) -> np.ndarray:
    """Edges (E, 2), and those that they become when all that is sewn together has the neighbours of each."""
    if not len(sewn):
        return lines
    copies: dict[int, list[int]] = {}
    for vertex, first in sewn.tolist():
        copies.setdefault(first, []).append(vertex)
    alike = {vertex: copies[first] for vertex, first in sewn.tolist()}
    found = [(a, b) for several in copies.values() for a in several for b in several if a < b]
    for a, b in lines[np.isin(lines, sewn[:, 0]).any(axis=1)].tolist():
        found += [(c, d) for c in alike.get(a, [a]) for d in alike.get(b, [b])]
    return np.unique(np.sort(np.concatenate([lines, np.array(found, lines.dtype)]), axis=1), axis=0)


def _neighbours(lines: np.ndarray, links: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Particles joined to each particle, as offsets (N + 1,) and entries."""
    both = np.concatenate([lines, links])
    offsets, entries = incidence(both, count)
    near = both[entries // 2, 1 - entries % 2]
    return offsets, near.astype(np.uint32)
