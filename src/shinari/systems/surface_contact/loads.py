"""Loads of particles on cloth: a sheet that carries much moves as if it were heavier, and is swept more often.

Loads are grains, fluids, ropes, rods, soft bodies, lumps and loose particles; not other cloth.

How much has to be done while they are close to a cloth is told by `heavy_loads`: R = K A times as much as one sweep
over a sheet of its own mass.

- Up to `SWEEPS` it is K further sweeps over the rows that stretch and over the contacts.
- Beyond, a sheet that is held moves as if it were A times as heavy, by up to `SHARE` of the load above it, as if that
  were sewn into it: impulses stay pairs of equal and opposite ones. It weighs no more than it does: gravity acts on its
  own mass. One that is free is as heavy as it is, or what slides on it would not take it along.
- Beyond, K grows again, up to `MOST_SWEEPS`.

**R must not change as the sheet swings.** What is not converged acts as a spring of a stiffness in proportion to R. A
sheet that was stiffer on its way up than down would throw its load higher each time: with R from the force of the
contacts 8 J were left after two seconds, in place of 0.02. Nor must A: a light sheet that is fast and becomes heavy as
it meets its load throws it. So both come from the mass of what is above the sheet, once a step, and fade when it is no
longer close.

**A sheet is swept more often while its load goes down than while it comes up**, and so gives back less than it took.
With the velocity v of the load upwards, relative to what is pinned,

    K(v) = 1 + (K - 1) max(1 - v / slow, 0)      slow = 3 g h

What is close presses upwards, too: a sheet in a tank carries no part of the fluid above it. With the upward component
of the normals of the contacts as weights, the share of the load that it carries is

    s = max(sum of m n_up, 0) / sum of m |n_up|
"""

import math
from dataclasses import dataclass

import numpy as np

from shinari.compute import Field, Program, Record, convert, function, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.vec3 import ONE
from shinari.model.model import Model
from shinari.model.particles import Particles
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.scene.contents import Contents
from shinari.systems.rows.system import BlockSolver, block_solvers
from shinari.systems.surface_contact.heavier import Factors, Heavier, Needed
from shinari.systems.surface_contact.heavy_loads import (
    MOST_SWEEPS,
    SWEEPS,
    Carrier,
    carriers,
    warn_of_heavy_loads,
)
from shinari.systems.surface_contact.records import RowCounts, Rows
from shinari.systems.surface_contact.rows import NEAR
from shinari.systems.surface_contact.system import SurfaceContacts
from shinari.systems.surface_contact.upright import Drift, PinnedDrift, Upright, upward
from shinari.systems.surface_contact.weighing import Weighing, Weights

# Name in the state of the load that each object carries [kg], (T,).
LOADS = "loads/carried"
# Speed upwards of a load from which on its sheet is swept once, in those that gravity gives in a substep.
SLOW = 3.0
# Types of rows that carry a sheet.
STRETCHING = "distance", "strain_triangle", "tether"


class Carriers(Record):
    """Objects of the scene, T rows."""

    load = Field(np.bool_, doc="whether a cloth may carry it")
    sheet = Field(np.bool_, doc="whether it is a cloth that may carry something")
    mass = Field(np.float64, unit="kg", doc="of the free particles of a sheet")
    strain = Field(np.float64, doc="sweeps for the strain by a load of its own mass")
    dent = Field(np.float64, doc="sweeps for their heaviest particle")
    jolt = Field(np.float64, doc="how much heavier it moves for the weight of a layer of its loads")
    least = Field(np.float64, doc="sweeps as its load goes down, at least")
    share = Field(np.float64, doc="part of its load by which it may be heavier")
    fading = Field(np.float64, doc="what is left of a load in a substep when it is no longer close")
    close = Field(np.float64, unit="kg", doc="mass of what is close, by n_up: above less beneath")
    around = Field(np.float64, unit="kg", doc="the same, by the magnitude of n_up")
    momentum = Field(np.float64, unit="kg m/s", doc="of that upwards")
    carried = Field(np.float64, unit="kg", doc="load that a sheet carries", saved=True)


class Plan(Record):
    """One row: what is done in this substep."""

    sweeps = Field(np.int64, doc="sweeps in each further pass over the contacts")
    search = Field(np.int64, doc="number of the search for what is close")


class Owners(Record):
    """Particles, N rows."""

    object_index = Field(np.uint16)
    search = Field(np.int64, doc="search in which it was last found")


@function
def note_close(i, j, up, owners, particles, carriers, upright, search):
    """Note a particle of a load close to a sheet, once in a search; `up`: upward component of the normal towards it."""
    one, other = owners.object_index[i], owners.object_index[j]
    if carriers.load[one] and carriers.sheet[other] and owners.search[i] != search:
        owners.search[i] = search
        w = np.float64(particles.x[i, 3])
        if w > 0.0:
            carriers.close[other] += up / w
            carriers.around[other] += abs(up) / w
            carriers.momentum[other] += abs(up) * upward(particles.v[i], upright) / w


@kernel(fastmath=STEADY, mixed=True)
def find_close(_, rows: Rows, counts: RowCounts, owners: Owners, particles: Particles, carriers: Carriers, plan: Plan,
               upright: Upright):  # fmt: skip
    """Mass of the loads that are close to each sheet, above it less beneath it."""
    plan.search[0] += 1
    for t in range(len(carriers)):
        carriers.close[t] = carriers.around[t] = carriers.momentum[t] = 0.0
    for r in range(counts.rows[0]):
        if rows.bound[r] < NEAR * rows.gap[r]:
            up = upward(rows.normal[r], upright)
            note_close(rows.points[r, 0], rows.points[r, 2], up, owners, particles, carriers, upright, plan.search[0])
            note_close(rows.points[r, 2], rows.points[r, 0], -up, owners, particles, carriers, upright, plan.search[0])


@function
def load_of(t, carriers, above):
    """Load that a sheet carries [kg]: what is above it now, or what is left of the one before."""
    left = carriers.carried[t] * carriers.fading[t]
    # a load that is gone is gone for good
    left = left if left > 1e-3 * carriers.mass[t] else 0.0
    if carriers.close[t] <= 0.0:
        return left
    share = carriers.close[t] / carriers.around[t]
    return max(above * share, carriers.close[t], left)


@kernel
def choose_sweeps(_, carriers: Carriers, weights: Weights, drift: Drift, plan: Plan, factors: Factors, needed: Needed,
                  few: np.float64, most: np.float64, slow: np.float64):  # fmt: skip
    """How many sweeps a substep has, and how much heavier sheets are in it."""
    sweeps, needed.needed[0] = 1.0, 0
    for t in range(len(carriers)):
        factors.factor[t] = ONE
        load = load_of(t, carriers, weights.above[t]) if carriers.sheet[t] else 0.0
        carriers.carried[t] = load
        if load > 0.0:
            ratio = load / carriers.mass[t]
            wanted = max(carriers.strain[t] * ratio, carriers.dent[t])
            heavier = min(max(wanted / few, carriers.jolt[t], 1.0), 1.0 + carriers.share[t] * ratio)
            rising = carriers.momentum[t] / carriers.around[t] - drift.speed[t] if carriers.around[t] > 0.0 else 0.0
            down = 1.0 - min(max(rising / slow, 0.0), 1.0)
            sweeps = max(sweeps, 1.0 + (min(max(wanted / heavier, carriers.least[t]), most) - 1.0) * down)
            if heavier > 1.0:
                factors.factor[t] = convert(1.0 / heavier, factors.factor[t])
                needed.needed[0] = 1
    # there are two further passes at least
    plan.sweeps[0] = np.int64(np.ceil(0.5 * (sweeps - 1.0)))


@dataclass(frozen=True)
class LoadModel(SystemModel):
    """What lies on cloth.

    Attributes:
        loads: Which objects a cloth may carry, (T,) bool.
        sheets: Which are cloth, (T,) bool.
    """

    loads: np.ndarray
    sheets: np.ndarray
    rebound = True

    def start(self, model: Model) -> dict[str, np.ndarray]:
        """Load that each object carries."""
        return {LOADS: np.zeros(len(self.sheets))}

    def bind(self, bound: BoundSystems) -> "list[Loads]":
        """The loads of a simulation; none where nothing weighs, or nothing that can touch a cloth."""
        contacts = bound.find(SurfaceContacts)
        if contacts is None or not np.any(bound.model.gravity):
            return []
        found = carriers(bound, contacts.who, self.loads, self.sheets)
        if bound.state.frame == 0:
            warn_of_heavy_loads(bound, found)
        return [Loads(self, found, bound, contacts)] if found else []


def build_loads(scene: Contents) -> LoadModel | None:
    """Loads of a scene; None without cloth, or without anything else."""
    sheets = np.array([obj.kind == "cloth" for obj in scene.particle_objects], bool)
    loads = np.array([(obj.masses > 0.0).any() for obj in scene.particle_objects], bool) & ~sheets
    return LoadModel(loads, sheets) if loads.any() and sheets.any() else None


def stretching_rows(bound: BoundSystems, objects: np.ndarray) -> list[BlockSolver]:
    """The rows that stretch of some objects, (T,) bool, which are swept further."""
    owners = bound.model.owners
    return [
        solver
        for name, solver in block_solvers(bound).items()
        if name in STRETCHING and objects[owners[solver.block.indices]].any()
    ]


class Loads(System):
    """What lies on the cloths of one simulation."""

    order = 15
    can_rest = True
    on_device = True
    repeated = True
    advice = "sweeps for loads on cloth: more substeps, or a heavier or coarser cloth, need fewer"

    def __init__(self, loads: LoadModel, found: list[Carrier], bound: BoundSystems, contacts: SurfaceContacts) -> None:
        model, precision = bound.model, bound.model.real
        self._contacts, self._particles = contacts, bound.particles
        self._plan = Plan.zeros(1, precision)
        self._carriers = Carriers.zeros(len(loads.sheets), precision)
        self._carriers.bind(carried=bound.state.system_arrays[LOADS], load=loads.loads)
        g, h = float(np.linalg.norm(model.gravity)), bound.settings.substep
        for each in found:
            t = each.number
            self._carriers.sheet[t], self._carriers.mass[t] = True, each.mass
            self._carriers.strain[t], self._carriers.dent[t], self._carriers.jolt[t] = each.strain, each.dent, each.jolt
            self._carriers.share[t], self._carriers.least[t] = each.share, each.least
            self._carriers.fading[t] = math.exp(-h / each.memory)
        self._owners = Owners.zeros(model.particle_count, precision)
        self._owners.bind(object_index=model.owners)
        self._drift = PinnedDrift(model, bound.particles, self._carriers.sheet)
        numbers = [each.number for each in found]
        self._heavier = Heavier(bound, self._drift.upright, self._carriers.sheet)
        self._weighing = Weighing(bound, self._drift.upright, loads.loads, numbers, self._heavier.who)
        self._slow = SLOW * g * h
        self._rows = stretching_rows(bound, self._carriers.sheet)

    def record_begin(self, p: Program) -> None:
        """Record that what is above each sheet is weighed."""
        self._weighing.record(p)

    def record_detect(self, p: Program) -> None:
        """Record how much is done in the substep, and that sheets are heavier."""
        rows, counts, plan = self._contacts.rows.rows, self._contacts.rows.table, self._plan
        records = self._owners, self._particles, self._carriers, plan, self._drift.upright
        p.serial(find_close, rows, counts, *records)
        self._drift.record(p)
        heavier = self._heavier
        records = self._carriers, self._weighing.weights, self._drift.drift, plan, heavier.factors, heavier.needed
        p.serial(choose_sweeps, *records, SWEEPS, MOST_SWEEPS, self._slow)
        heavier.record_raise(p)

    def record_between(self, p: Program) -> None:
        """Record further sweeps over the rows that stretch, and over the contacts of surfaces."""
        with p.loop((self._plan.sweeps, 0)):
            for solver in self._rows:
                solver.record_project(p, False)
            self._contacts.record_contacts(p, False)

    def record_finish(self, p: Program) -> None:
        """Record that sheets are as heavy as they are."""
        self._heavier.record_restore(p)
