"""Which ropes are solved at once with the loads that hang on them, and how stiff: nets of ropes.

Sweeps leave a rope of N segments with the load M longer by N M g h^2 / m, m the mass of a point
(`docs/tuning.md`). Where that is more than `STRAIN` of its length the rope is solved at once, see `rope_solver`, by
springs that give by `STRAIN` under the weight of the load, and by what the material asks for. So are the ropes that are
tied to it, and the particles that hang on them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from shinari.constraints.coincidence import COINCIDENCE
from shinari.constraints.distance import DISTANCE
from shinari.model.model import Model
from shinari.model.system_model import BoundSystems
from shinari.scene.body import WORLD
from shinari.scene.contents import Contents
from shinari.scene.materials import RopeMaterial
from shinari.scene.objects import ParticleObject
from shinari.systems.coupling.attachments import AttachmentModel
from shinari.systems.coupling.block_elimination import Elimination, least_degree

# Strain of a loaded rope under its load.
STRAIN = 1e-3
# Least stiffness of a segment in masses of a point: a rope that hardly carries anything is stiff, too.
LEAST = 10.0
# Types of rows that tie ropes to each other.
TYING = DISTANCE.name, COINCIDENCE.name


@dataclass(frozen=True)
class Rope:
    """A rope that is nothing but springs.

    Attributes:
        particles: Its particles in solver order, (N,).
        rows: Distance rows of its segments, (N - 1,).
        lengths: Their lengths [m], (N - 1,).
        compliances: Inverse stiffness of a metre where it is stretched, and where it is pressed [1/N].
    """

    particles: np.ndarray
    rows: list[int]
    lengths: np.ndarray
    compliances: tuple[float, float]


@dataclass(frozen=True)
class Link:
    """A row between two particles.

    Attributes:
        points: The particles in solver order.
        row: Its number among the distance rows; -1: none of them.
        knot: Its number among the rows that hold two particles together; -1: none of them.
        length: Its length [m]; 0: held together.
        compliances: Inverse stiffness of a metre where it is stretched, and where it is pressed [1/N].
    """

    points: tuple[int, int]
    row: int
    knot: int
    length: float
    compliances: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class RopeNet:
    """Ropes that are tied to each other, and the particles that hang on them.

    Attributes:
        particles: Particles in solver order, (N,).
        links: The rows between them.
        load: Mass of all that hangs on it, its own included [kg].
    """

    particles: np.ndarray
    links: list[Link]
    load: float

    @property
    def shortest(self) -> float:
        """Length of its shortest segment [m]."""
        return min(link.length for link in self.links if link.length > 0.0)

    def elimination(self) -> Elimination:
        """In which order its points are eliminated."""
        place = {int(i): k for k, i in enumerate(self.particles)}
        return least_degree(len(place), [(place[a], place[b]) for a, b in (link.points for link in self.links)])

    def springs(self, bound: BoundSystems) -> dict[str, np.ndarray]:
        """Fields of `RopeLinks` that say how stiff the links are, by name."""
        h2, inverse = bound.settings.substep**2, bound.model.inverse_masses[self.particles]
        weight = self.load * float(np.linalg.norm(bound.model.gravity))
        lengths = np.array([link.length or self.shortest for link in self.links])
        compliances = np.array([link.compliances for link in self.links])
        give = np.minimum(STRAIN * lengths / (weight * h2), inverse.max() / LEAST)
        stiffness = 1.0 / (give[:, None] + compliances * (lengths / h2)[:, None])
        # what the material gives is told with its rows
        return {"stretching": stiffness[:, 0], "pressing": stiffness[:, 1], "stores": compliances == 0.0}


def rope_nets(bound: BoundSystems, attachments: AttachmentModel | None) -> list[RopeNet]:
    """The ropes that sweeps would leave too long under what hangs on them."""
    scene, model, found = bound.scene, bound.model, []
    of_rope, loose = _numbers(scene, model, _is_swept_alone), _numbers(scene, model, _is_loose) >= 0
    tight = np.zeros(0, np.uint32) if attachments is None else attachments.particles[attachments.tight]
    if not (of_rope[tight] >= 0).any() and not any(len(_pairs(model, kind, of_rope >= 0, loose)) for kind in TYING):
        return found
    ropes, joined = _ropes(scene, model, of_rope), _joined(scene)
    links = [link for rope in ropes.values() for link in _segments(rope)] + _joins(model, ropes, loose)
    for particles, own in _nets(links):
        inverse = model.inverse_masses[particles]
        masses = np.divide(1.0, inverse, where=inverse > 0.0, out=np.zeros(len(inverse)))
        on, bodies = loose[particles], []
        if attachments is not None:
            held = np.isin(attachments.particles, particles) & attachments.tight
            bodies = attachments.bodies[held].tolist()
        load = _mass_of_joined(scene, joined, bodies) + float(masses[on].sum())
        if any(_is_too_long(ropes[k], load, bound) for k in np.unique(of_rope[particles[~on]]).tolist()):
            found.append(RopeNet(particles, own, load + float(masses[~on].sum())))
    return found


def _is_too_long(rope: Rope, load: float, bound: BoundSystems) -> bool:
    """Whether sweeps leave a rope too long under that load [kg]."""
    fall = float(np.linalg.norm(bound.model.gravity)) * bound.settings.substep**2
    inverse = bound.model.inverse_masses[rope.particles]
    own = 1.0 / inverse[inverse > 0.0]
    left = len(rope.lengths) * load * fall / bound.settings.iterations
    return len(own) > 0 and left > STRAIN * rope.lengths.sum() * own.min()


def _is_swept_alone(obj: ParticleObject) -> bool:
    """Whether an object is a rope that is nothing but springs: none that tears, flows or is damped."""
    m = obj.material
    return isinstance(m, RopeMaterial) and m.damping == 0.0 and min(m.tear_strain, m.yield_strain) == np.inf


def _is_loose(obj: ParticleObject) -> bool:
    """Whether an object is made of loose particles."""
    return obj.kind == "particles"


def _numbers(scene: Contents, model: Model, takes: Callable[[ParticleObject], bool]) -> np.ndarray:
    """Object of each particle in solver order, (N,); -1 in objects that are not taken."""
    numbers = [k if takes(obj) else -1 for k, obj in enumerate(scene.particle_objects)]
    return np.array(numbers, np.int64)[model.owners]


def _ropes(scene: Contents, model: Model, of_rope: np.ndarray) -> dict[int, Rope]:
    """Ropes by their number among the objects; without those with another row along a segment."""
    found, end, rows_of = {}, 0, _rows_of_pairs(model, DISTANCE.name, of_rope >= 0, of_rope >= 0)
    for number, obj in enumerate(scene.particle_objects):
        end += len(obj.positions)
        particles, material = model.slots[end - len(obj.positions) : end].astype(np.int64), obj.material
        if not isinstance(material, RopeMaterial) or of_rope[particles[0]] != number:
            continue
        lengths = np.linalg.norm(np.diff(obj.positions, axis=0), axis=1)
        stretch, press = material.stretch_compliance, material.compression_compliance
        rows = [rows_of.get(frozenset(pair), []) for pair in pairwise(particles.tolist())]
        if all(len(each) == 1 for each in rows):
            compliances = (stretch, stretch if press is None else press)
            found[number] = Rope(particles, [each[0] for each in rows], lengths, compliances)
    return found


def _pairs(model: Model, kind: str, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Rows of a type between one of some particles and one of some others, given as flags, (N,)."""
    if kind not in model.blocks:
        return np.zeros(0, np.int64)
    i, j = model.blocks[kind].indices.T
    return np.flatnonzero((first[i] & second[j]) | (second[i] & first[j]))


def _rows_of_pairs(model: Model, kind: str, first: np.ndarray, second: np.ndarray) -> dict[frozenset[int], list[int]]:
    """The same by the two particles of each."""
    found: dict[frozenset[int], list[int]] = {}
    for row in _pairs(model, kind, first, second).tolist():
        found.setdefault(frozenset(model.blocks[kind].indices[row].tolist()), []).append(row)
    return found


def _segments(rope: Rope) -> list[Link]:
    points = pairwise(rope.particles.tolist())
    rows = zip(points, rope.rows, rope.lengths.tolist(), strict=True)
    return [Link(pair, row, -1, length, rope.compliances) for pair, row, length in rows]


def _joins(model: Model, ropes: dict[int, Rope], loose: np.ndarray) -> list[Link]:
    """Hard rows that tie ropes to each other, and particles to them."""
    of_ropes, found = np.zeros(model.particle_count, bool), []
    for rope in ropes.values():
        of_ropes[rope.particles] = True
    for kind in TYING:
        taken, distance = _weak_rows(model, kind), kind == DISTANCE.name
        if distance:
            taken[[row for rope in ropes.values() for row in rope.rows]] = True
        for rows in _rows_of_pairs(model, kind, of_ropes, of_ropes | loose).values():
            if len(rows) == 1 and not taken[rows[0]]:
                block, row = model.blocks[kind], rows[0]
                a, b = block.indices[row].tolist()
                length = float(block.parameters[row, 0]) if distance else 0.0
                found.append(Link((a, b), row if distance else -1, -1 if distance else row, length))
    return found


def _weak_rows(model: Model, kind: str) -> np.ndarray:
    """Rows of a type that give way, break, tear or flow, or that hold an offset, (M,) bool."""
    if kind not in model.blocks:
        return np.zeros(0, bool)
    block = model.blocks[kind]
    weak = (block.coefficient != 0.0).any(axis=1)
    if len(block.damping):
        weak |= block.damping > 0.0
    if kind == COINCIDENCE.name:
        weak |= (block.parameters != 0.0).any(axis=1)
    for failing in (*model.breakables, *model.tearable_rows, *model.plastic_rows):
        if failing.block == kind:
            weak[failing.rows] = True
    return weak


def _nets(links: list[Link]) -> Iterator[tuple[np.ndarray, list[Link]]]:
    """Nets: their particles and the links between these, in the order of the links."""
    of: dict[int, list[int]] = {}
    for number, link in enumerate(links):
        for i in link.points:
            of.setdefault(i, []).append(number)
    seen: set[int] = set()
    for start in of:
        if start in seen:
            continue
        seen.add(start)
        particles, own = [start], set()
        for i in particles:
            own.update(of[i])
            for j in (j for number in of[i] for j in links[number].points if j not in seen):
                seen.add(j)
                particles.append(j)
        yield np.array(particles), [links[number] for number in sorted(own)]


def _joined(scene: Contents) -> dict[int, list[int]]:
    """Bodies that joints connect with each body."""
    joined: dict[int, list[int]] = {}
    for joint in scene.joints:
        if joint.second != WORLD:
            joined.setdefault(joint.first, []).append(joint.second)
            joined.setdefault(joint.second, []).append(joint.first)
    return joined


def _mass_of_joined(scene: Contents, joined: dict[int, list[int]], bodies: list[int]) -> float:
    """Mass of bodies and of all that joints connect them with [kg]; what cannot move connects nothing."""
    found: set[int] = set()
    left = list(bodies)
    while left:
        k = left.pop()
        body = scene.bodies[k]
        if k not in found and body.mass > 0.0 and not body.kinematic:
            found.add(k)
            left += joined.get(k, [])
    return sum(scene.bodies[k].mass for k in found)
