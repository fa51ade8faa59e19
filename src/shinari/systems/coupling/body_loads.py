"""Loads of bodies on cloth and ropes: a held sheet carries what lies on it, and does not throw it up again.

A sweep that has not converged acts as a spring (`shinari.systems.surface_contact.heavy_loads`) that no one asked for:
a body lands on a sheet that cannot stretch, and swings. Grains rub on each other until they rest; a single body has
nothing that takes its energy. So a sheet is swept more often while its load goes down than while it comes up:

    K(v) = 1 + (K - 1) max(1 - v / slow, 0)      v > 0: speed of the load upwards      slow = 3 g h

A cloth moves as if it were heavier before it is swept more than `LEAST` times, or where a body moves what is beneath
it by more than `STILL` edges in a substep, as beneath other loads (`shinari.systems.surface_contact.loads`).

The spring gives back 1 / K of what it took, and comes to rest between both. A sheet that is asked to be elastic, by a
compliance of more than a tenth of that of the spring, is swept as often on both ways.

v is relative to the mean velocity of what is pinned, which may be carried along. (The mean of all particles follows the
load: a light one then kept the sheet moving.) K follows from the mass of the bodies above
the sheet, once a step: it does not follow the force.
"""

import math
from dataclasses import dataclass

import numpy as np

from shinari.compute import Field, Program, Record, convert, kernel
from shinari.maths.vec3 import dot
from shinari.model.model import Model
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.scene.contents import Contents
from shinari.systems.colliders.supports import lies_on_ground
from shinari.systems.coupling.heavy_bodies import LEAST, BodyCarrier, bodies_above, body_carriers, warn_of_heavy_bodies
from shinari.systems.coupling.records import BodyShapeTable, BodySweeps, ContactParticles, Contacts, Counts, Items
from shinari.systems.coupling.system import BodyParticles
from shinari.systems.rigid.frames import Frames
from shinari.systems.surface_contact.heavier import Factors, Heavier, Needed
from shinari.systems.surface_contact.loads import SLOW, stretching_rows
from shinari.systems.surface_contact.upright import Drift, PinnedDrift, Upright, upright_axes

# Name in the state of the mass of the bodies that each object carries [kg], (T,).
CARRIED_BODIES = "body_loads/carried"
# A contact presses downwards where the vertical part of its normal is more than this.
STEEP = 0.1


class Carriers(Record):
    """Objects of the scene, T rows."""

    carries = Field(np.bool_, doc="whether it is a cloth or a rope")
    wanted = Field(np.float64, doc="sweeps that the bodies above it ask for as they go down")
    heavier = Field(np.float64, doc="how much heavier it moves beneath them")
    above = Field(np.float64, unit="kg", doc="mass of these bodies")
    fading = Field(np.float64, doc="what is left in a substep of a load that no longer presses")
    carried = Field(np.float64, unit="kg", doc="load that it carries", saved=True)
    rigid = Field(np.float64, doc="1 where it should give nothing back, 0 where it is elastic")
    pressing = Field(np.float64, unit="kg", doc="mass of the bodies that press on it")
    momentum = Field(np.float64, unit="kg m/s", doc="of these upwards")


class Plan(Record):
    """One row: what is done in this substep."""

    loaded = Field(np.int64, doc="whether a body is above something that may carry it")
    sweeps = Field(np.int64, doc="sweeps in each further pass over the contacts")
    search = Field(np.int64, doc="number of the search for bodies that press")
    slow = Field(np.float64, unit="m/s", doc="speed upwards from which on there is one sweep")


class Found(Record):
    """Frames, F rows."""

    search = Field(np.int64, doc="search in which it was last found")


@kernel
def begin_search(_, carriers: Carriers, plan: Plan):
    """Nothing is known to press."""
    plan.search[0] += 1
    for t in range(len(carriers)):
        carriers.pressing[t] = carriers.momentum[t] = 0.0


@kernel
def find_pressing(_, counts: Counts, contacts: Contacts, items: Items, contact_particles: ContactParticles,
                  body_shapes: BodyShapeTable, frames: Frames, body_sweeps: BodySweeps, found: Found,
                  carriers: Carriers, plan: Plan, upright: Upright):  # fmt: skip
    """Mass and momentum of the bodies that press on each cloth and rope, where it lies on no collider."""
    for m in range(counts.contacts[0]):
        e, b = contacts.item[m], body_shapes.frame[contacts.body_shape[m]]
        t, i = items.object[e], items.points[e]
        if contacts.multiplier[m] > 0.0 and carriers.carries[t] and found.search[b] != plan.search[0]:
            lies = lies_on_ground(contact_particles, i[0]) or lies_on_ground(contact_particles, i[1])
            lies = lies or lies_on_ground(contact_particles, i[2])
            w = frames.inverse_mass[b]
            if w > 0.0 and not lies and dot(contacts.normal[m], upright.up[0]) < -STEEP:
                found.search[b] = plan.search[0]
                carriers.pressing[t] += 1.0 / w
                carriers.momentum[t] += dot(body_sweeps.start_v[b], upright.up[0]) / w


@kernel
def choose_factors(_, carriers: Carriers, factors: Factors, needed: Needed):
    """How much heavier sheets are in a substep: as they carry what is above them, or what is left of it."""
    needed.needed[0] = 0
    for t in range(len(carriers)):
        part = min(carriers.carried[t] / carriers.above[t], 1.0) if carriers.above[t] > 0.0 else 0.0
        factors.factor[t] = convert(1.0 / (1.0 + (carriers.heavier[t] - 1.0) * part), factors.factor[t])
        if carriers.heavier[t] > 1.0 and part > 0.0:
            needed.needed[0] = 1


@kernel
def remember_loads(_, carriers: Carriers, plan: Plan):
    """What each sheet has carried in a substep."""
    for t in range(len(carriers)):
        left = carriers.carried[t] * carriers.fading[t]
        presses = plan.loaded[0] != 0 and carriers.pressing[t] > 0.0
        carriers.carried[t] = carriers.above[t] if presses else left
        # no substep takes what the last one found, which is not in the state
        carriers.pressing[t] = 0.0


@kernel
def choose_sweeps(_, carriers: Carriers, factors: Factors, drift: Drift, plan: Plan, least: np.float64):
    """How many sweeps a pass has."""
    sweeps = 1.0
    for t in range(len(carriers)):
        if carriers.pressing[t] > 0.0:
            rising = carriers.momentum[t] / carriers.pressing[t] - drift.speed[t]
            part = carriers.rigid[t] * min(max(rising / plan.slow[0], 0.0), 1.0)
            wanted = max(carriers.wanted[t] * np.float64(factors.factor[t]), min(carriers.wanted[t], least))
            sweeps = max(sweeps, 1.0 + (wanted - 1.0) * (1.0 - part))
    # there are two further passes at least
    plan.sweeps[0] = np.int64(0.5 * (sweeps - 1.0) + 0.5)


@dataclass(frozen=True)
class BodyLoadModel(SystemModel):
    """Bodies on cloth and ropes.

    Attributes:
        objects: Objects of the scene.
    """

    objects: int
    rebound = True

    def start(self, model: Model) -> dict[str, np.ndarray]:
        """Mass of the bodies that each object carries."""
        return {CARRIED_BODIES: np.zeros(self.objects)}

    def bind(self, bound: BoundSystems) -> "list[BodyLoads]":
        """The loads of a simulation; none where nothing weighs."""
        contacts, found = bound.find(BodyParticles), body_carriers(bound)
        if contacts is None or not found or not np.any(bound.model.gravity):
            return []
        loads = BodyLoads(found, self.objects, bound, contacts)
        if bound.state.frame == 0:
            warn_of_heavy_bodies(bound, found, loads.above())
        return [loads]


def build_body_loads(scene: Contents) -> BodyLoadModel | None:
    """Loads of bodies of a scene; None without bodies, cloth and ropes."""
    carries = any(obj.kind in ("cloth", "rope") for obj in scene.particle_objects)
    return BodyLoadModel(len(scene.particle_objects)) if carries and any(body.pieces for body in scene.bodies) else None


class BodyLoads(System):
    """Bodies on the cloths and ropes of one simulation."""

    order = 15
    can_rest = True
    on_device = True
    repeated = True
    advice = "sweeps for bodies on cloth: more substeps, or a heavier or coarser cloth, need fewer"

    def __init__(self, found: list[BodyCarrier], objects: int, bound: BoundSystems, contacts: BodyParticles) -> None:
        model, scene = bound.model, bound.scene
        self._model, self._state, self._contacts, self._carriers = model, bound.state, contacts, found
        self._masses = np.array([body.mass for body in scene.bodies])
        self._plan, self._table = Plan.zeros(1, np.float64), Carriers.zeros(objects, np.float64)
        self._found = Found.zeros(len(contacts.frames), np.float64)
        g = float(np.linalg.norm(model.gravity))
        self._frame = upright_axes(model.gravity)
        self._plan.slow[0] = SLOW * g * bound.settings.substep
        self._table.bind(carried=bound.state.system_arrays[CARRIED_BODIES])
        for each in found:
            self._table.fading[each.number] = math.exp(-bound.settings.substep / each.memory) if each.sheet else 0.0
            self._table.carries[each.number], self._table.rigid[each.number] = True, each.rigid
        self._drift = PinnedDrift(model, bound.particles, self._table.carries)
        sheets = np.zeros(objects, bool)
        sheets[[each.number for each in found if each.sheet]] = True
        self._heavier = Heavier(bound, self._drift.upright, sheets)
        self._rows = stretching_rows(bound, self._table.carries)

    def above(self) -> list[np.ndarray]:
        """Mass of each body that can lie on a carrier and is above it, else 0 [kg]."""
        state, loads = self._state, []
        with np.errstate(invalid="ignore"):  # places that are infinite end the step
            places = state.body_positions @ self._frame
            for each in self._carriers:
                points = state.x[each.members, :3] + state.origins[self._model.origin_index[each.members]]
                over = bodies_above(places[each.bodies], points @ self._frame)
                loads.append(np.where(over, self._masses[each.bodies], 0.0))
        return loads

    def begin(self, time: float, ends: np.ndarray) -> None:
        """A step begins: weigh the bodies above each carrier."""
        for each, masses in zip(self._carriers, self.above(), strict=True):
            self._table.above[each.number] = load = float(masses.sum())
            self._table.wanted[each.number] = each.wanted(load)
            self._table.heavier[each.number] = each.heavier(masses) if each.sheet else 1.0
        self._plan.loaded[0] = int((self._table.wanted > 1.0).any())

    def record_detect(self, p: Program) -> None:
        """Record that the velocities of carriers are measured."""
        with p.when((self._plan.loaded, 0)):
            self._drift.record(p)
        p.serial(choose_factors, self._table, self._heavier.factors, self._heavier.needed)
        self._heavier.record_raise(p)

    def record_between(self, p: Program) -> None:
        """Record further sweeps over the rows that stretch, and over the contacts with bodies."""
        contacts, plan, table = self._contacts, self._plan, self._table
        moving = contacts.contact_particles, contacts.table, contacts.frames, contacts.body_sweeps
        with p.when((plan.loaded, 0)):
            p.serial(begin_search, table, plan)
            for each in contacts.lists:
                p.serial(
                    find_pressing,
                    each.counts,
                    each.contacts,
                    each.items,
                    *moving,
                    self._found,
                    table,
                    plan,
                    self._drift.upright,
                )
            p.serial(choose_sweeps, table, self._heavier.factors, self._drift.drift, plan, LEAST)
            with p.loop((plan.sweeps, 0)):
                for solver in self._rows:
                    solver.record_project(p, False)
                contacts.record_contacts(p, False)

    def record_finish(self, p: Program) -> None:
        """Record that what is carried is remembered, and that sheets are as heavy as they are."""
        p.serial(remember_loads, self._table, self._plan)
        self._heavier.record_restore(p)
