"""Loads of grains on cloth: more sweeps over a sheet that carries much, and a little of the load in its mass.

How much has to be done while grains are close to a cloth is told by `heavy_loads`: R = K A times as much as one sweep
over a sheet of its own mass.

- Up to `SWEEPS` it is K further sweeps over the rows that stretch and over the contacts.
- Beyond, the sheet takes part as if it were A times as heavy, by up to `SHARE` of the load that rests on it, as if that
  were sewn into it: impulses stay pairs of equal and opposite ones, and weights are too large by as much.
- Beyond, K grows again, up to `MOST_SWEEPS`.

**R must not change as the sheet swings.** What is not converged acts as a spring of a stiffness in proportion to R. A
sheet that was stiffer on its way up than down would throw its load higher each time: with R from the force of the
contacts 8 J were left after two seconds, in place of 0.02. So R comes from the mass of the grains above the sheet, once
a step, and only A, which K makes good, from the load that rests on it: the mean force of the contacts over `MEMORY`, or
the mass of the grains that are close where that is more.
"""

from dataclasses import dataclass

import numpy as np

from shinari.compute import Field, Program, Record, convert, kernel, real
from shinari.compute.kernels import STEADY
from shinari.maths.vec3 import ONE, ZERO
from shinari.model.model import Model
from shinari.model.particles import Particles
from shinari.model.state import State
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.scene.contents import Contents
from shinari.systems.rows.system import BlockSolver, block_solvers
from shinari.systems.surface_contact.heavy_loads import (
    MOST_SWEEPS,
    SHARE,
    SWEEPS,
    Carrier,
    carriers,
    warn_of_heavy_loads,
)
from shinari.systems.surface_contact.records import RowCounts, Rows
from shinari.systems.surface_contact.rows import NEAR
from shinari.systems.surface_contact.system import SurfaceContacts

# Name in the state of the mass that rests on each object [kg], (T,).
LOADS = "loads/resting"
# Time over which the force of the contacts is averaged [s].
MEMORY = 0.5
# Types of rows that carry a sheet.
STRETCHING = "distance", "strain_triangle", "tether"


class Carriers(Record):
    """Objects of the scene, T rows."""

    grains = Field(np.bool_)
    sheet = Field(np.bool_, doc="whether it is a cloth that may carry grains")
    mass = Field(np.float64, unit="kg", doc="of the free particles of a sheet")
    strain = Field(np.float64, doc="sweeps for the strain by a load of its own mass")
    dent = Field(np.float64, doc="sweeps for the heaviest grain")
    above = Field(np.float64, unit="kg", doc="mass of the grains above a sheet as the step begins")
    close = Field(np.float64, unit="kg", doc="mass of the grains that are close")
    resting = Field(np.float64, unit="kg", doc="mean force of the contacts over g", saved=True)
    factor = Field(real, doc="on the inverse masses in this substep")


class Plan(Record):
    """One row: what is done in this substep."""

    sweeps = Field(np.int64, doc="sweeps in each further pass over the contacts")
    heavier = Field(np.int64, doc="whether a sheet is heavier than it is")
    search = Field(np.int64, doc="number of the search for grains that are close")


class Owners(Record):
    """Particles, N rows."""

    object_index = Field(np.uint16)
    search = Field(np.int64, doc="search in which it was last found")


class SheetParticles(Record):
    """Free particles of sheets."""

    particle = Field(np.uint32)
    object_index = Field(np.uint16)
    inverse_mass = Field(real, unit="1/kg")


@kernel
def find_close(_, rows: Rows, counts: RowCounts, owners: Owners, particles: Particles, carriers: Carriers, plan: Plan):
    """Mass of the grains that are close to each sheet."""
    plan.search[0] += 1
    for t in range(len(carriers)):
        carriers.close[t] = 0.0
    for r in range(counts.rows[0]):
        if rows.bound[r] < NEAR * rows.gap[r]:
            i, j = rows.points[r, 0], rows.points[r, 2]
            one, other = owners.object_index[i], owners.object_index[j]
            if carriers.grains[one] and carriers.sheet[other] and owners.search[i] != plan.search[0]:
                owners.search[i] = plan.search[0]
                w = np.float64(particles.x[i, 3])
                carriers.close[other] += 1.0 / w if w > 0.0 else 0.0


@kernel
def choose_sweeps(_, carriers: Carriers, plan: Plan, few: np.float64, share: np.float64, most: np.float64):
    """How many sweeps a substep has, and how much heavier sheets are in it."""
    sweeps, plan.heavier[0] = 1.0, 0
    for t in range(len(carriers)):
        carriers.factor[t] = ONE
        if carriers.close[t] > 0.0:
            own = carriers.mass[t]
            wanted = max(carriers.strain[t] * max(carriers.above[t], carriers.close[t]) / own, carriers.dent[t])
            resting = max(carriers.resting[t], carriers.close[t])
            heavier = min(max(wanted / few, 1.0), 1.0 + share * resting / own)
            sweeps = max(sweeps, min(wanted / heavier, most))
            if heavier > 1.0:
                carriers.factor[t] = convert(1.0 / heavier, carriers.factor[t])
                plan.heavier[0] = 1
    # there are two further passes at least
    plan.sweeps[0] = np.int64(np.ceil(0.5 * (sweeps - 1.0)))


@kernel
def raise_mass(k, sheets: SheetParticles, carriers: Carriers, particles: Particles):
    """Let a particle of a sheet be heavier."""
    particles.x[sheets.particle[k], 3] = sheets.inverse_mass[k] * carriers.factor[sheets.object_index[k]]


@kernel
def restore_mass(k, sheets: SheetParticles, particles: Particles):
    """Let a particle of a sheet be as heavy as it is."""
    particles.x[sheets.particle[k], 3] = sheets.inverse_mass[k]


@kernel(fastmath=STEADY, mixed=True)
def average_load(_, rows: Rows, counts: RowCounts, owners: Owners, carriers: Carriers, up_x: np.float64,
                 up_y: np.float64, up_z: np.float64, fall: np.float64, part: np.float64):  # fmt: skip
    """Follow the mean force of grains on sheets; `fall` is g h^2 [m], a substep counts by `part`."""
    for t in range(len(carriers)):
        left = carriers.resting[t] * (1.0 - part)
        # a load that is gone is gone for good
        carriers.resting[t] = left if left > 1e-6 * carriers.mass[t] else 0.0
    for r in range(counts.rows[0]):
        push = rows.multiplier[r]
        if rows.active[r] and push > ZERO:
            one, other = owners.object_index[rows.points[r, 0]], owners.object_index[rows.points[r, 2]]
            if carriers.grains[one] and carriers.sheet[other]:
                n = rows.normal[r]
                up = np.float64(n[0]) * up_x + np.float64(n[1]) * up_y + np.float64(n[2]) * up_z
                carriers.resting[other] += part * up * np.float64(push) / fall


@dataclass(frozen=True)
class LoadModel(SystemModel):
    """Grains on cloth.

    Attributes:
        grains: Which objects are grains, (T,) bool.
        sheets: Which are cloth, (T,) bool.
    """

    grains: np.ndarray
    sheets: np.ndarray
    rebound = True

    def start(self, model: Model) -> dict[str, np.ndarray]:
        """Mass that rests on each object."""
        return {LOADS: np.zeros(len(self.sheets))}

    def bind(self, bound: BoundSystems) -> "list[Loads]":
        """The loads of a simulation; none where nothing weighs, or no grain can touch a cloth."""
        contacts = bound.find(SurfaceContacts)
        if contacts is None or not np.any(bound.model.gravity):
            return []
        found = carriers(bound, contacts.who, self.grains, self.sheets)
        if bound.state.frame == 0:
            warn_of_heavy_loads(bound, found)
        return [Loads(self, found, bound, contacts)] if found else []


def build_loads(scene: Contents) -> LoadModel | None:
    """Loads of a scene; None without grains or cloth."""
    kinds = np.array([obj.kind for obj in scene.particle_objects])
    grains, sheets = kinds == "grains", kinds == "cloth"
    return LoadModel(grains, sheets) if grains.any() and sheets.any() else None


class Loads(System):
    """Grains on the cloths of one simulation."""

    order = 15
    can_rest = True
    on_device = True
    repeated = True
    advice = "sweeps for loads on cloth: more substeps, or a heavier or coarser cloth, need fewer"

    def __init__(self, loads: LoadModel, found: list[Carrier], bound: BoundSystems, contacts: SurfaceContacts) -> None:
        model, state, precision = bound.model, bound.state, bound.model.real
        self._contacts, self._particles, self._model, self._state = contacts, bound.particles, model, state
        self._found, self._plan = found, Plan.zeros(1, precision)
        self._carriers = Carriers.zeros(len(loads.sheets), precision)
        self._carriers.bind(resting=state.system_arrays[LOADS], grains=loads.grains)
        for each in found:
            t = each.number
            self._carriers.sheet[t], self._carriers.mass[t] = True, each.mass
            self._carriers.strain[t], self._carriers.dent[t] = each.strain, each.dent
        self._owners = Owners.zeros(model.particle_count, precision)
        self._owners.bind(object_index=model.owners)
        self._grains = np.flatnonzero(loads.grains[model.owners])
        who = np.flatnonzero(self._carriers.sheet[model.owners] & (model.inverse_masses > 0.0))
        self._sheets = SheetParticles.zeros(len(who), precision)
        self._sheets.particle[...], self._sheets.object_index[...] = who, model.owners[who]
        self._sheets.inverse_mass[...] = state.x[who, 3] = model.inverse_masses[who]
        g, h = float(np.linalg.norm(model.gravity)), bound.settings.substep
        self._frame = upright(model.gravity / g)
        self._average = *(-model.gravity / g), g * h * h, min(h / MEMORY, 1.0)
        self._rows: list[BlockSolver] = [
            solver
            for name, solver in block_solvers(bound).items()
            if name in STRETCHING and self._carriers.sheet[model.owners[solver.block.indices]].any()
        ]

    def begin(self, time: float, ends: np.ndarray) -> None:
        """A step begins: weigh the grains above each sheet."""
        points, masses = _places(self._model, self._state, self._grains, self._frame)
        for each in self._found:
            who = self._sheets.particle[self._sheets.object_index == each.number]
            sheet, _ = _places(self._model, self._state, who, self._frame)
            low, high = sheet.min(axis=0), sheet.max(axis=0)
            over = (points >= low).all(axis=1) & (points[:, :2] <= high[:2]).all(axis=1)
            self._carriers.above[each.number] = masses[over].sum()

    def record_detect(self, p: Program) -> None:
        """Record how much is done in the substep, and that sheets are heavier."""
        rows, counts, plan = self._contacts.rows.rows, self._contacts.rows.table, self._plan
        p.serial(find_close, rows, counts, self._owners, self._particles, self._carriers, plan)
        p.serial(choose_sweeps, self._carriers, plan, SWEEPS, SHARE, MOST_SWEEPS)
        with p.when((plan.heavier, 0)):
            p.launch(raise_mass, self._sheets, self._carriers, self._particles, count=len(self._sheets), grain=4096)

    def record_between(self, p: Program) -> None:
        """Record further sweeps over the rows that stretch, and over the contacts of surfaces."""
        with p.loop((self._plan.sweeps, 0)):
            for solver in self._rows:
                solver.record_project(p, False)
            self._contacts.record_contacts(p, False)

    def record_finish(self, p: Program) -> None:
        """Record that the load is measured, and that sheets are as heavy as they are."""
        rows, counts = self._contacts.rows.rows, self._contacts.rows.table
        p.serial(average_load, rows, counts, self._owners, self._carriers, *self._average)
        with p.when((self._plan.heavier, 0)):
            p.launch(restore_mass, self._sheets, self._particles, count=len(self._sheets), grain=4096)


def upright(down: np.ndarray) -> np.ndarray:
    """Two horizontal axes and one upwards, as columns (3, 3)."""
    across = np.cross(down, np.eye(3)[np.argmin(np.abs(down))])
    across /= np.linalg.norm(across)
    return np.stack([across, np.cross(down, across), -down], axis=1)


def _places(model: Model, state: State, who: np.ndarray, frame: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of particles along the axes of a frame [m], (K, 3), and their masses [kg], (K,); 0 where fixed."""
    x = state.x[who].astype(np.float64)
    masses = np.divide(1.0, x[:, 3], out=np.zeros(len(x)), where=x[:, 3] > 0.0)
    return (x[:, :3] + state.origins[model.origin_index[who]]) @ frame, masses
