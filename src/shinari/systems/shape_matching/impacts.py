"""Rigid lumps against colliders and each other: how contacts change the velocity of a lump as a whole.

Contacts push single particles. Each has a small part of the mass, and matching hands its momentum on over several
substeps, in which the lump sinks in; the push that brings it out again would act as a spring, and throw it up. So the
velocity of the lump as a rigid body, which follows from its momenta, is brought to what the contacts ask for: at each
touching particle the speed along the normal that it had if it was leaving, else zero, or after an impact e times the
speed of approach; and no slip as long as friction can hold it (Mueller et al. 2020, Detailed Rigid Body Simulation with
Extended Position Based Dynamics, section 3.6). Impulses are found by sweeps over the contacts. They may take back what
a collider has pushed in this substep, and never pull beyond; friction is limited by the whole of the push. What they
give is recorded with the contacts, so that forces are those that act.

The touching point is the centre of the particle, as in all contacts of particles: a ball of radius R filled with
particles of radius r rolls as one of radius R - r.
"""

from typing import TYPE_CHECKING

import numpy as np

from shinari.collision.law import slow_approach
from shinari.collision.report import ContactImpulses
from shinari.compute import Program
from shinari.model.particles import Particles
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.systems.colliders.system import ColliderContacts
from shinari.systems.particle_contact.system import Pairs
from shinari.systems.shape_matching.impact_kernels import (
    apply_change,
    clear_impulse,
    compare_detections,
    count_collider_impacts,
    count_pair_impacts,
    find_rigid_lump,
    keep_impulse,
    list_collider_impacts,
    list_pair_impacts,
    prepare_collider_impact,
    prepare_pair_impact,
    sum_rigid_lump,
    sweep_impacts,
    write_collider_impulse,
    write_pair_impulse,
)
from shinari.systems.shape_matching.impact_records import (
    Changes,
    ContactParticles,
    Counts,
    ImpactRows,
    PairStarts,
    RigidLumps,
    Starts,
)
from shinari.systems.shape_matching.system import GRAIN, PIECES, ShapeMatchingSystem

if TYPE_CHECKING:
    from shinari.model.model import Model
    from shinari.model.settings import Settings


class LumpImpactModel(SystemModel):
    """Impacts of rigid lumps in all contacts of particles."""

    rebound = True

    def bind(self, bound: BoundSystems) -> "list[LumpImpacts]":
        """The impacts of a simulation."""
        lumps = [lumps for lumps in bound.all_bound(ShapeMatchingSystem) if lumps.lumps.rigid.any()]
        if not lumps or not any(system.solves_contacts for system in bound.all_bound(System)):
            return []
        solids, pairs = bound.find(ColliderContacts), bound.find(Pairs)
        return [LumpImpacts(each, bound.model, bound.settings, bound.particles, solids, pairs) for each in lumps]


class LumpImpacts(System):
    """The velocities of rigid lumps in contact; it has no contacts of its own."""

    order = 14
    can_rest = True
    on_device = True
    solves_contacts = True

    def __init__(
        self,
        matching: ShapeMatchingSystem,
        model: "Model",
        settings: "Settings",
        particles: Particles,
        solids: "ColliderContacts | None",
        pairs: "Pairs | None",
    ) -> None:
        self._matching, self._particles, self._solids, self._pairs = matching, particles, solids, pairs
        real, count = model.real, len(matching.lumps)
        self._h, self._kick = settings.substep, settings.substep * model.gravity
        self._slow = slow_approach(model.gravity, settings.substep)
        self._before, self._now, self._changes = RigidLumps.zeros(count), RigidLumps.zeros(count), Changes.zeros(count)
        self._points = ContactParticles(
            real,
            lump=_rigid_lumps(matching, model.particle_count),
            radius=model.radii,
            law=model.surfaces[model.owners],
        )
        self._started = PairStarts.zeros(0, real)
        self._counts, self._starts = Counts.zeros(1), Starts.zeros(count + 1)
        self._rows = ImpactRows.zeros(64)

    def record_detect(self, p: Program) -> None:
        """A substep begins: the motion of the lumps, with the gravity of the substep, and the impulses so far."""
        self._record_rigid_lumps(p, self._before, self._kick)
        if self._pairs is not None:
            control, rows = self._pairs.control, (self._pairs.control.rows, 0)
            p.copy(rows, (self._counts.rows, 0))
            p.copy((control.detections, 0), (self._counts.detections, 0))
            p.require(self._started, rows)
            p.launch(keep_impulse, self._pairs.detection.rows, self._started, count=rows)

    def record_restitution(self, p: Program) -> None:
        """Bring the velocities of the lumps to what their contacts ask for."""
        if self._solids is not None:
            listed = self._solids.particle_list
            p.serial(
                count_collider_impacts, listed.items, listed.contacts, listed.counts, self._points, self._starts,
                self._counts,
            )  # fmt: skip
        if self._pairs is not None:
            self._record_pair_count(p)
        with p.when((self._counts.all, 0)):
            p.require(self._rows, (self._counts.all, 0))
            self._record_rigid_lumps(p, self._now, np.zeros(3))
            if self._solids is not None:
                self._record_colliders(p)
            if self._pairs is not None:
                self._record_pairs(p)
            p.serial(sweep_impacts, self._rows, self._now, self._changes, self._counts)
            self._record_results(p)

    def _record_pair_count(self, p: Program) -> None:
        """Count the pairs of lumps that push; rows that were found within the substep began with nothing."""
        assert self._pairs is not None
        found, control, counts = self._pairs.detection, self._pairs.control, self._counts
        p.serial(compare_detections, control, counts)
        with p.when((counts.others, 0)):
            p.require(self._started, (control.rows, 0))
            p.launch(clear_impulse, self._started, 0.0, count=(control.rows, 0))
        records = found.row_balls, found.balls, found.rows, self._started, control
        p.serial(count_pair_impacts, *records, self._points, counts)

    def _record_colliders(self, p: Program) -> None:
        """List the contacts with colliders, and write what they ask for."""
        solids, rows, points = self._solids, self._rows, self._points
        assert solids is not None
        listed = solids.particle_list
        p.serial(list_collider_impacts, listed.items, listed.contacts, listed.counts, points, self._starts, rows)
        p.launch(
            prepare_collider_impact, rows, listed.contacts, self._before, self._now, points, self._particles,
            solids.colliders, solids.pose_table, self._h, self._slow, count=(self._counts.colliders, 0),
        )  # fmt: skip

    def _record_pairs(self, p: Program) -> None:
        """List the pairs of lumps, and write what they ask for."""
        assert self._pairs is not None
        found, rows, counts, points = self._pairs.detection, self._rows, self._counts, self._points
        records = found.row_balls, found.balls, found.rows, self._started, self._pairs.control
        p.serial(list_pair_impacts, *records, points, counts, rows)
        bodies = self._before, self._now, points, self._particles
        p.launch(
            prepare_pair_impact, rows, counts, found.rows, self._started, *bodies, self._slow, count=(counts.pairs, 0)
        )  # fmt: skip

    def _record_results(self, p: Program) -> None:
        """Write the impulses to the contacts, and change the velocities of the particles."""
        rows, counts, matched = self._rows, self._counts, self._matching.matched
        if self._solids is not None:
            contacts = self._solids.particle_list.contacts
            p.launch(write_collider_impulse, rows, contacts, self._particles, self._h, count=(counts.colliders, 0))
        if self._pairs is not None:
            pairs = self._pairs.detection.rows
            p.launch(write_pair_impulse, rows, counts, pairs, self._started, count=(counts.pairs, 0))
        p.launch(
            apply_change, matched, self._now, self._changes, self._particles, count=len(matched), grain=GRAIN
        )  # fmt: skip

    def _record_rigid_lumps(self, p: Program, bodies: RigidLumps, kick: np.ndarray) -> None:
        """Find the motion of the lumps, with a change of velocity on top."""
        m = self._matching
        p.launch(sum_rigid_lump, m.chunks, m.lumps, m.matched, self._particles, count=len(m.chunks), grain=PIECES)
        p.launch(find_rigid_lump, m.chunks, m.lumps, self._particles, bodies, *kick, count=len(m.lumps), grain=GRAIN)

    def contact_impulses(self) -> ContactImpulses:
        """None that are not those of the colliders."""
        return ContactImpulses.none()


def _rigid_lumps(matching: ShapeMatchingSystem, count: int) -> np.ndarray:
    """Rigid lump of each of so many particles, or -1, (N,)."""
    lumps = np.full(count, -1)
    own = matching.matched.lump
    lumps[matching.matched.particle] = np.where(matching.lumps.rigid[own], own, -1)
    return lumps
