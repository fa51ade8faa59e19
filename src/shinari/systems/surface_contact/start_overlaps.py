"""Looks at a scene before it runs: warns of objects that overlap, or intersect, where they were put.

Points, edges and triangles are compared as lines with faces: a loose particle is a line of length zero, a segment of
rope also a face whose last two corners are one. The distance of a line and a face that it does not pierce is the least
of those of its ends and the face, and of the line and the sides of the face.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shinari.compute import Field, Program, Record, function, kernel, real
from shinari.compute.kernels import STEADY
from shinari.errors import ContactWarning, warn_of_several
from shinari.geometry.bvh import Tree
from shinari.geometry.proximity import pair_distance
from shinari.maths.vec3 import ONE, ZERO, cross, dot, norm, sub
from shinari.model.model import Model
from shinari.scene.contents import Contents
from shinari.systems.surface_contact.build import Participants, participants
from shinari.systems.surface_contact.rows import TANGLED

# An overlap below this part of the gap is rounding, and no error of the user. So is a line that pierces a face with an
# end nearer than that to its plane: the triangles of a flat sheet lie in one plane.
ROUNDING = 1e-6
# So many boxes are compared with each other without a tree: a scene may have many thousand pairs of short strands.
FEW = 4096

Boxes = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Places:
    """Where the particles are, in solver order.

    Attributes:
        x: Positions in the world [m], (N, 3) float64.
        radii: Half thicknesses [m], (N,) float64.
        free: Which can move, (N,) bool.
        real: Floating point type of the solver.
    """

    x: np.ndarray
    radii: np.ndarray
    free: np.ndarray
    real: type


@dataclass(frozen=True)
class Part:
    """What of an object takes part, with boxes that hold its thickness.

    Attributes:
        lines: Edges, segments and loose particles, (L, 2) uint32.
        faces: Triangles and segments, (F, 3) uint32.
        line_boxes: Low and high corners of the lines [m], two of (L, 3).
        face_boxes: The same of the faces, two of (F, 3).
        low: Low corner of the object [m], (3,).
        high: High corner [m], (3,).
    """

    lines: np.ndarray
    faces: np.ndarray
    line_boxes: Boxes
    face_boxes: Boxes
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Overlap:
    """How two objects, or an object and itself, lie in each other.

    Attributes:
        depth: How far they would have to be moved apart at the worst place [m].
        solves_contacts: Whether they have no distance there.
        edges: Edges that pierce triangles.
        triangles: Triangles that they pierce.
        particle: Particle of the first at the worst place, in solver order.
    """

    depth: float
    solves_contacts: bool
    edges: int
    triangles: int
    particle: int


def warn_of_overlaps(scene: Contents, model: Model) -> None:
    """Warn of each two objects that overlap, and of each sheet that intersects itself, where they were put.

    Balls against balls are not looked at here, see `shinari.systems.particle_contact.build`; nor are colliders.

    Warns:
        ContactWarning: They do; the message names them, how deep, one particle, and what becomes of it.
    """
    who = participants(scene, model)
    if who is None:
        return
    added = np.argsort(model.slots)
    radii = np.concatenate([obj.radii for obj in scene.particle_objects])
    places = Places(scene.positions[added], radii[added], model.inverse_masses > 0.0, model.real)
    parts = _parts(who, model, places)
    links = _links(model)
    found = []
    for first, second in _near(who, parts):
        joint = _around_joints(links, model.owners, first, second, who)
        overlap = _overlap(parts[first], parts[second], places, joint)
        if overlap is not None:
            name, particles = model.object_ranges[first]
            place = f"particle {added[overlap.particle] - particles.start} of {name!r}"
            sheets = all((parts[k].faces[:, 1] != parts[k].faces[:, 2]).any() for k in (first, second))
            text = _text(name, None if first == second else model.object_ranges[second][0], overlap, place, sheets)
            found.append((overlap.depth, text))
    warn_of_several(found, ContactWarning)


def _text(one: str, other: str | None, overlap: Overlap, place: str, sheets: bool) -> str:
    both = f"{one!r} and {other!r} intersect" if other else f"{one!r} intersects itself"
    stay = "they stay entangled there" if other else "it stays entangled there"
    if overlap.edges:
        becomes = f"{'they are' if other else 'it is'} pulled apart at depenetration_speed" if sheets else stay
        pierced = f"{overlap.edges} edges pierce {overlap.triangles} triangles"
        return f"{both} at the start: {pierced}, one at {place}; {becomes}"
    if overlap.solves_contacts:
        return f"{both} at the start: there is no distance at {place}, so neither side is the right one; {stay}"
    return (
        f"{one!r} and {other!r} overlap at the start, by {overlap.depth:.3g} m at {place}; they are pushed apart at "
        f"depenetration_speed"
    )


def _parts(who: Participants, model: Model, places: Places) -> dict[int, Part]:
    """Lines and faces of each object that takes part."""
    lines = np.concatenate([who.edges, who.beads])
    faces = np.concatenate([who.triangles, who.segments[:, [0, 1, 1]]])
    count = len(who.members)
    lines, faces = (_by_object(table, model.owners, count) for table in (lines, faces))
    parts = {}
    for k, members in enumerate(who.members):
        if members is not None:
            x, wide = places.x[members], places.radii[members, None]
            of_lines, of_faces = (
                _boxes(places.x[table], places.radii[table][:, :, None]) for table in (lines[k], faces[k])
            )
            parts[k] = Part(lines[k], faces[k], of_lines, of_faces, (x - wide).min(axis=0), (x + wide).max(axis=0))
    return parts


def _by_object(table: np.ndarray, owners: np.ndarray, count: int) -> list[np.ndarray]:
    """Rows of a table by the object that they belong to."""
    order = np.argsort(owners[table[:, 0]], kind="stable")
    return np.split(table[order], np.searchsorted(owners[table[order, 0]], np.arange(1, count)))


def _near(who: Participants, parts: dict[int, Part]) -> Iterator[tuple[int, int]]:
    """Things that may meet and whose boxes touch, first < second; sheets that collide with themselves, twice."""
    known = list(parts)
    low, high = np.array([part.low for part in parts.values()]), np.array([part.high for part in parts.values()])
    for at, k in enumerate(known):
        faces = parts[k].faces
        if who.may_collide(k, k) and (faces[:, 1] != faces[:, 2]).any():
            yield k, k
        near = (low[at] <= high[at + 1 :]).all(axis=1) & (low[at + 1 :] <= high[at]).all(axis=1)
        for other in np.flatnonzero(near):
            if who.may_collide(k, known[at + 1 + other]):
                yield k, known[at + 1 + other]


def _links(model: Model) -> np.ndarray:
    """Pairs of particles of different objects that share a row, (K, 2)."""
    pairs = [np.zeros((0, 2), np.uint32)]
    for block in model.blocks.values():
        for a, b in itertools.combinations(range(block.indices.shape[1]), 2):
            two = block.indices[:, [a, b]]
            pairs.append(two[model.owners[two[:, 0]] != model.owners[two[:, 1]]])
    return np.concatenate(pairs)


def _around_joints(links: np.ndarray, owners: np.ndarray, first: int, second: int, who: Participants) -> np.ndarray:
    """Which particles are joined to the other of two objects, or neighbours of one that is, (N,) bool."""
    joint = np.zeros(len(owners), np.bool_)
    both = owners[links]
    mine = links[((both == [first, second]) | (both == [second, first])).all(axis=1)].ravel()
    joint[mine] = True
    for particle in mine:
        joint[who.neighbours[who.neighbour_offsets[particle] : who.neighbour_offsets[particle + 1]]] = True
    return joint


def _overlap(first: Part, second: Part, places: Places, joint: np.ndarray) -> Overlap | None:
    """How two objects overlap, or an object intersects itself; None: not at all."""
    own = first is second
    x, radii = places.x, places.radii
    depth, particle, edges, triangles, solves_contacts = 0.0, -1, 0, 0, False
    for a, b in [(first, second)] if own else [(first, second), (second, first)]:
        lines, faces, raw = _candidates(a, b, places)
        if len(raw) == 0:
            continue
        found = _compare(raw, lines, faces, places, joint, own)
        depths, pierced = found.depth, found.pierced
        hits = raw[pierced]
        edges += len(np.unique(hits[:, 0]))
        triangles += len(np.unique(hits[:, 1]))
        if depths.max() > depth:
            worst = int(np.argmax(depths))
            depth = float(depths[worst])
            line, face = lines[raw[worst, 0]], faces[raw[worst, 1]]
            solves_contacts = bool(depth >= (1.0 - float(TANGLED)) * (radii[line[0]] + radii[face[0]]))
            mine, other = (line, face) if a is first else (face, line)
            particle = int(mine[np.argmin(np.linalg.norm(x[mine] - x[other].mean(axis=0), axis=1))])
    return None if particle < 0 else Overlap(depth, solves_contacts, edges, triangles, particle)


def _candidates(a: Part, b: Part, places: Places) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lines of a part and faces of another, and pairs (K, 2) of them that may be nearer than the gap."""
    if a is b:
        return a.lines, a.faces, _near_pairs(a.lines, a.faces, places, float(TANGLED))
    if len(a.lines) * len(b.faces) <= FEW:
        (low, high), (other_low, other_high) = a.line_boxes, b.face_boxes
        touch = (low[:, None] <= other_high) & (other_low <= high[:, None])
        return a.lines, b.faces, np.argwhere(touch.all(axis=2))
    lines, faces = a.lines[_inside(a.line_boxes, b)], b.faces[_inside(b.face_boxes, a)]
    if len(lines) == 0 or len(faces) == 0:
        return lines, faces, np.zeros((0, 2), np.uint32)
    return lines, faces, _near_pairs(lines, faces, places, 1.0)


def _near_pairs(lines: np.ndarray, faces: np.ndarray, places: Places, share: float) -> np.ndarray:
    """Pairs of a line and a face nearer than a share of the gap along every axis, and a few more, (K, 2).

    The tree has the precision of the solver, which compiles it anyway; its boxes are wider by what that rounds.
    """
    ends, corners = (places.x[table] - places.x[faces[0, 0]] for table in (lines, faces))
    wide, wider = (share * places.radii[table][:, :, None] for table in (lines, faces))
    largest = max(np.abs(ends).max() + wide.max(), np.abs(corners).max() + wider.max())
    rounding = largest * float(np.finfo(places.real).eps)
    tree = Tree(corners.mean(axis=1), places.real)
    low, high = _boxes(corners, wider + rounding)
    tree.refit(low.astype(places.real), high.astype(places.real), 1)
    low, high = _boxes(ends, wide + rounding)
    return tree.overlaps(low.astype(places.real), high.astype(places.real), 1)


def _boxes(corners: np.ndarray, reach: np.ndarray) -> Boxes:
    """Boxes around rows of points (M, P, 3) and what they reach (M, P, 1), two of (M, 3)."""
    return (corners - reach).min(axis=1), (corners + reach).max(axis=1)


def _inside(boxes: Boxes, other: Part) -> np.ndarray:
    """Which boxes reach into that of another object."""
    low, high = boxes
    return np.all((low <= other.high) & (other.low <= high), axis=1)


class Lines(Record):
    """Lines, L rows."""

    particles = Field(np.uint32, 2)


class Faces(Record):
    """Faces, F rows."""

    particles = Field(np.uint32, 3)


class Particles(Record):
    """Particles where they were put, N rows."""

    x = Field(real, 3, unit="m")
    radius = Field(real, unit="m", doc="half thickness")
    free = Field(np.bool_, doc="whether it can move")
    joint = Field(np.bool_, doc="whether it is near a joint of both objects")


class Comparisons(Record):
    """Pairs of a line and a face, K rows."""

    pair = Field(np.uint32, 2)
    depth = Field(real, unit="m", doc="how deep they overlap; 0: none that counts")
    pierced = Field(np.bool_, doc="whether the line pierces the face")


@function(fastmath=STEADY)
def pierces(p, q, a, b, c, least):
    """Whether a line goes through a triangle and its ends are at least so far from the plane, on both sides."""
    ap, aq = sub(p, a), sub(q, a)
    normal = cross(sub(b, a), sub(c, a))
    size = norm(normal)
    above, below = dot(normal, ap), dot(normal, aq)
    line = sub(q, p)
    pa, pb, pc = sub(a, p), sub(b, p), sub(c, p)
    s0, s1, s2 = dot(line, cross(pa, pb)), dot(line, cross(pb, pc)), dot(line, cross(pc, pa))
    through = (s0 >= ZERO and s1 >= ZERO and s2 >= ZERO) or (s0 <= ZERO and s1 <= ZERO and s2 <= ZERO)
    limit = least * size
    return through and size > ZERO and min(above, below) < -limit and max(above, below) > limit


@function(fastmath=STEADY)
def line_face_distance(p, q, a, b, c):
    """Distance of a line and a face that it does not pierce [m]."""
    pq, pa, pb, pc = sub(q, p), sub(a, p), sub(b, p), sub(c, p)
    ends = min(pair_distance(False, pa, pb, pc), pair_distance(False, sub(a, q), sub(b, q), sub(c, q)))
    sides = min(pair_distance(True, pq, pa, pb), min(pair_distance(True, pq, pb, pc), pair_distance(True, pq, pc, pa)))
    return min(ends, sides)


@kernel(fastmath=STEADY)
def compare_pair(r, comparisons: Comparisons, lines: Lines, faces: Faces, particles: Particles, own: np.int64):
    """How deep a line and a face overlap, and whether they intersect.

    Pairs of which no particle can move are passed over, and those that both have a particle near a joint. `own`: both
    belong to one object, and only what has no distance counts.
    """
    a, b = comparisons.pair[r]
    i, j = lines.particles[a]
    k0, k1, k2 = faces.particles[b]
    free, joint, x = particles.free, particles.joint, particles.x
    gap = particles.radius[i] + particles.radius[k0]
    shared = i in (k0, k1, k2) or j in (k0, k1, k2)
    tied = (joint[i] or joint[j]) and (joint[k0] or joint[k1] or joint[k2])
    compared = not shared and not tied and (free[i] or free[j] or free[k0] or free[k1] or free[k2])
    depth, pierced = ZERO * gap, False
    if compared:
        pierced = k1 != k2 and pierces(x[i], x[j], x[k0], x[k1], x[k2], ROUNDING * gap)
        least = (ONE - TANGLED) * gap if own != 0 else ROUNDING * gap
        depth = gap if pierced else gap - line_face_distance(x[i], x[j], x[k0], x[k1], x[k2])
        depth = depth if pierced or depth >= least else ZERO * gap
    comparisons.depth[r], comparisons.pierced[r] = depth, pierced


def _compare(
    raw: np.ndarray, lines: np.ndarray, faces: np.ndarray, places: Places, joint: np.ndarray, own: bool
) -> Comparisons:
    """How deep the pairs (K, 2) of lines (L, 2) and faces (F, 3) overlap; `joint` as of `_around_joints`."""
    comparisons: Comparisons = Comparisons.zeros(len(raw), np.float64)
    comparisons.pair[...] = raw
    tables = Lines(particles=np.ascontiguousarray(lines)), Faces(particles=np.ascontiguousarray(faces))
    particles = Particles(np.float64, x=places.x, radius=places.radii, free=places.free, joint=joint)
    p = Program()
    p.launch(compare_pair, comparisons, *tables, particles, int(own), count=len(raw))
    p.run()
    return comparisons
