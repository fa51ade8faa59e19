"""Ropes that carry heavy bodies, as a part of the model: which they are, and how stiff.

Sweeps leave a rope of N segments with the load M longer by N M g h^2 / m, m the mass of a point
(`docs/tuning.md`). Where that is more than `STRAIN` of its length the rope is solved at once, see `rope_solver`, by
springs that give by `STRAIN` under the weight of the load, and by what the material asks for.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from shinari.compute import Program
from shinari.constraints.distance import DISTANCE
from shinari.model.model import Model
from shinari.model.state import State
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.scene.body import WORLD
from shinari.scene.contents import Contents
from shinari.scene.materials import RopeMaterial
from shinari.systems.coupling.attachments import AttachmentModel, Attachments
from shinari.systems.coupling.records import BodySweeps
from shinari.systems.coupling.response import begin_body_sweep, end_body_sweep
from shinari.systems.coupling.rope_solver import RopePoints, Ropes, StoredEnergy, solve_ropes, tell_pull
from shinari.systems.rigid.model import frames_of
from shinari.systems.rows.system import block_solvers

# Strain of a loaded rope under its load.
STRAIN = 1e-3
# Least stiffness of a segment in masses of a point: a rope that hardly carries anything is stiff, too.
LEAST = 10.0
ELASTIC = "ropes/elastic"


@dataclass(frozen=True)
class LoadedRope:
    """A rope that carries bodies.

    Attributes:
        number: Its number among the objects.
        particles: Its particles in solver order, (N,).
        rows: Distance rows of its segments, (N - 1,).
        lengths: Their lengths [m], (N - 1,).
        load: Mass that it carries, with its own [kg].
        material: Its material.
    """

    number: int
    particles: np.ndarray
    rows: np.ndarray
    lengths: np.ndarray
    load: float
    material: RopeMaterial

    def springs(self, bound: BoundSystems) -> dict[str, np.ndarray]:
        """Fields of `RopePoints` that say how stiff the segments are, by name."""
        h2, inverse = bound.settings.substep**2, bound.model.inverse_masses[self.particles]
        weight = self.load * float(np.linalg.norm(bound.model.gravity))
        give = np.minimum(STRAIN * self.lengths / (weight * h2), inverse.max() / LEAST)
        stretch, press = self.material.stretch_compliance, self.material.compression_compliance
        press = stretch if press is None else press
        return {
            "stretching": 1.0 / (give + stretch * self.lengths / h2),
            "pressing": 1.0 / (give + press * self.lengths / h2),
            # what the material gives is told with its rows
            "stores": np.array([stretch == 0.0, press == 0.0]),
        }


@dataclass(frozen=True)
class LoadedRopesModel(SystemModel):
    """Ropes that may carry bodies.

    Attributes:
        objects: Objects of the scene.
    """

    objects: int

    def start(self, model: Model) -> dict[str, np.ndarray]:
        """What ropes store because their rows give by `STRAIN` [J], an entry for each object, (T,)."""
        return {ELASTIC: np.zeros(self.objects)}

    def energy(self, model: Model, state: State, h: float) -> tuple[float, float, float]:
        """None, and that elastic energy [J]."""
        return 0.0, 0.0, float(state.system_arrays[ELASTIC].sum())

    def bind(self, bound: BoundSystems) -> "list[LoadedRopes]":
        """The ropes of a simulation that sweeps would leave too long; none where they are not swept in order."""
        settings, attachments = bound.settings, bound.find(Attachments)
        swept = settings.method == "xpbd" and settings.sweep == "gauss-seidel" and not settings.hierarchy
        found = loaded_ropes(bound, attachments.rows) if attachments is not None and swept else []
        others = np.isin(np.arange(self.objects), [rope.number for rope in found], invert=True)
        bound.state.system_arrays[ELASTIC][others] = 0.0
        return [LoadedRopes(found, bound)] if found else []


class LoadedRopes(System):
    """Ropes of one simulation that carry bodies."""

    order = 50
    repeated = True
    on_device = True

    def __init__(self, ropes: list[LoadedRope], bound: BoundSystems) -> None:
        self._attachments, self._solver = bound.get(Attachments), block_solvers(bound)[DISTANCE.name]
        self._h, self._particles, self._origins = bound.settings.substep, bound.particles, bound.origins
        ends = np.cumsum([len(rope.particles) for rope in ropes])
        begins = ends - [len(rope.particles) for rope in ropes]
        self._ropes = Ropes(begin=begins, end=ends, object=np.array([rope.number for rope in ropes]))
        self._stored = StoredEnergy(energy=bound.state.system_arrays[ELASTIC])
        self._points = RopePoints.zeros(int(ends[-1]))
        held = self._attachments.rows
        row_of = {int(held.particles[m]): m for m in np.flatnonzero(held.tight)[::-1]}
        for rope, begin in zip(ropes, begins.tolist(), strict=True):
            end = begin + len(rope.particles)
            self._points.particle[begin:end] = rope.particles
            self._points.attachment[begin:end] = [row_of.get(int(i), -1) for i in rope.particles]
            self._points.row[begin:end] = [*rope.rows, -1]
            for name, values in rope.springs(bound).items():
                getattr(self._points, name)[begin : end - 1] = values
        self._solver.leave(np.concatenate([rope.rows for rope in ropes]))

    def connect(self, bound: BoundSystems) -> None:
        """Take the frames of the bodies."""
        frames = frames_of(bound)
        assert frames is not None  # an attachment has a body
        self._frames, self._body_sweeps = frames, BodySweeps.zeros(len(frames))

    def record_between(self, p: Program) -> None:
        """Record that ropes are solved again after contacts have moved them."""
        self.record_project(p, False)

    def record_project(self, p: Program, first: bool) -> None:
        """Record that all ropes are solved once."""
        frames, body_sweeps = self._frames, self._body_sweeps
        p.launch(begin_body_sweep, frames, body_sweeps, count=len(frames))
        p.serial(
            solve_ropes, self._ropes, self._points, self._particles, self._origins, frames, body_sweeps,
            self._attachments.records, self._solver.access.parameters, self._stored, int(first), self._h,
        )  # fmt: skip
        p.launch(end_body_sweep, frames, body_sweeps, self._h, count=len(frames))

    def record_finish(self, p: Program) -> None:
        """Record that the pulls are told."""
        p.launch(tell_pull, self._points, self._solver.multipliers, count=len(self._points))


def loaded_ropes(bound: BoundSystems, attachments: AttachmentModel) -> list[LoadedRope]:
    """The ropes that sweeps would leave too long under the bodies that are attached to them."""
    scene, model, found = bound.scene, bound.model, []
    fall = float(np.linalg.norm(model.gravity)) * bound.settings.substep**2
    inverse, joined, end = model.inverse_masses, _joined(scene), 0
    for number, obj in enumerate(scene.particle_objects):
        end += len(obj.positions)
        material = obj.material
        if not isinstance(material, RopeMaterial) or not _is_springy(material):
            continue
        particles = model.slots[end - len(obj.positions) : end].astype(np.int64)
        own = 1.0 / inverse[particles][inverse[particles] > 0.0]
        on = np.isin(attachments.particles, particles) & attachments.tight
        load = _mass_of_joined(scene, joined, attachments.bodies[on].tolist())
        lengths = np.linalg.norm(np.diff(obj.positions, axis=0), axis=1)
        left = len(lengths) * load * fall / bound.settings.iterations
        if len(own) > 0 and left > STRAIN * lengths.sum() * own.min():
            none = np.zeros(0, np.int64)
            found.append(LoadedRope(number, particles, none, lengths, load + float(own.sum()), material))
    return _with_rows(found, model)


def _is_springy(material: RopeMaterial) -> bool:
    """Whether a rope is nothing but springs: one that tears, flows or is damped is left to the sweeps."""
    return material.damping == 0.0 and min(material.tear_strain, material.yield_strain) == np.inf


def _with_rows(ropes: list[LoadedRope], model: Model) -> list[LoadedRope]:
    """Ropes with the rows of their segments; without those that have another row along a segment."""
    if not ropes:
        return []
    indices, found = model.blocks[DISTANCE.name].indices, []
    rows_of: dict[frozenset[int], list[int]] = {}
    for row in np.flatnonzero(np.isin(indices, np.concatenate([rope.particles for rope in ropes])).all(axis=1)):
        rows_of.setdefault(frozenset(indices[row].tolist()), []).append(int(row))
    for rope in ropes:
        points = rope.particles.tolist()
        rows = [rows_of.get(frozenset(pair), []) for pair in pairwise(points)]
        if all(len(each) == 1 for each in rows):
            found.append(replace(rope, rows=np.concatenate(rows)))
    return found


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
