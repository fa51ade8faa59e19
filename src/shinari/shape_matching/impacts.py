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

from shinari.compute import Program
from shinari.contact.family import Touches
from shinari.shape_matching.impact_kernels import (
    apply_change,
    count_collider_impacts,
    count_pair_impacts,
    find_body,
    list_collider_impacts,
    list_pair_impacts,
    prepare_collider_impact,
    prepare_pair_impact,
    sum_body,
    sweep_impacts,
    write_collider_impulse,
    write_pair_impulse,
)
from shinari.shape_matching.impact_records import (
    Bodies,
    Changes,
    Counts,
    ImpactRows,
    PairContacts,
    Points,
    Starts,
)
from shinari.shape_matching.part import GRAIN, PIECES, Matching
from shinari.solver.particles import Particles
from shinari.solver.segment import Segment

if TYPE_CHECKING:
    from shinari.contact.particle.particle_pairs import Pairs
    from shinari.contact.solid.solids import Solids
    from shinari.model import Model
    from shinari.settings import Settings

# Approaches up to so many times the speed that gravity gives in a substep do not bounce.
SLOW = 2.0


class Impacts:
    """The velocities of rigid lumps in contact, as a family of contacts; it has no contacts of its own."""

    def __init__(
        self,
        matching: Matching,
        model: "Model",
        settings: "Settings",
        particles: Particles,
        solids: "Solids | None",
        pairs: "Pairs | None",
    ) -> None:
        self._matching, self._particles, self._solids, self._pairs = matching, particles, solids, pairs
        real, count = model.real, len(matching.lumps)
        self._h, self._kick = settings.substep, settings.substep * model.gravity
        self._slow = SLOW * float(np.linalg.norm(self._kick))
        self._before, self._now, self._changes = Bodies.zeros(count), Bodies.zeros(count), Changes.zeros(count)
        self._points = Points(
            real,
            lump=_rigid_lumps(matching, model.particle_count),
            radius=model.radii,
            law=model.surfaces[model.owners],
        )
        self._pair_contacts = PairContacts.zeros(0, real)
        self._counts, self._starts = Counts.zeros(1), Starts.zeros(count + 1)
        self._rows = ImpactRows.zeros(64)
        self._measure, self._bounce = Segment(self.record_predict), Segment(self.record_restitution)

    def record_predict(self, p: Program) -> None:
        """A substep begins: the motion of the lumps, with the gravity of the substep."""
        self._record_bodies(p, self._before, self._kick)

    def record_restitution(self, p: Program) -> None:
        """Bring the velocities of the lumps to what their contacts ask for."""
        matching, rows, counts, points = self._matching, self._rows, self._counts, self._points
        solids, starts = self._solids, self._starts
        if solids is not None:
            near = solids.particle_list
            lists = near.items, near.contacts, near.counts, points, starts
            p.serial(count_collider_impacts, *lists, counts)
        if self._pairs is not None:
            p.serial(count_pair_impacts, self._pair_contacts, points, counts)
        with p.when((counts.all, 0)):
            p.require(rows, (counts.all, 0))
            bodies = self._before, self._now
            self._record_bodies(p, self._now, np.zeros(3))
            if solids is not None:
                p.serial(list_collider_impacts, *lists, rows)
                moving = points, self._particles, solids.colliders, solids.pose_table
                records = rows, near.contacts, *bodies, *moving
                p.launch(prepare_collider_impact, *records, self._h, self._slow, count=(counts.colliders, 0))
            if self._pairs is not None:
                p.serial(list_pair_impacts, self._pair_contacts, points, counts, rows)
                records = rows, counts, self._pair_contacts, *bodies, points, self._particles
                p.launch(prepare_pair_impact, *records, self._slow, count=(counts.pairs, 0))
            p.serial(sweep_impacts, rows, self._now, self._changes, counts)
            if solids is not None:
                records = rows, near.contacts, self._particles
                p.launch(write_collider_impulse, *records, self._h, count=(counts.colliders, 0))
            if self._pairs is not None:
                p.launch(write_pair_impulse, rows, counts, self._pair_contacts, count=(counts.pairs, 0))
            records = matching.matched, self._now, self._changes, self._particles
            p.launch(apply_change, *records, count=len(matching.matched), grain=GRAIN)

    def _record_bodies(self, p: Program, bodies: Bodies, kick: np.ndarray) -> None:
        """Find the motion of the lumps, with a change of velocity on top."""
        m = self._matching
        p.launch(sum_body, m.pieces, m.lumps, m.matched, self._particles, count=len(m.pieces), grain=PIECES)
        p.launch(find_body, m.pieces, m.lumps, self._particles, bodies, *kick, count=len(m.lumps), grain=GRAIN)

    def begin(self, time: float) -> None:
        """Nothing is carried from step to step."""

    def prepare(self, end: float, threads: int) -> None:
        """Run `record_predict`, and keep the impulses of the pairs so far."""
        self._measure(threads)
        if self._pairs is not None:
            self._start, self._detections = self._pairs.rows()[2].copy(), self._pairs.detections

    def project(self, threads: int, first: bool) -> float:
        """Nothing: positions are the business of the colliders and of matching."""
        return 0.0

    def settle(self, threads: int) -> None:
        """Nothing to undo."""

    def bounce(self, threads: int) -> None:
        """Run `record_restitution` on the contacts as they are now."""
        if self._pairs is not None:
            particles, normals, impulses = self._pairs.rows()
            # rows that were found anew within the substep have what they pushed since
            same = self._pairs.detections == self._detections and len(self._start) == len(impulses)
            start = self._start if same else np.zeros_like(impulses)
            self._pair_contacts.bind(particles=particles, normal=normals, impulse=impulses, start=start)
        self._bounce(threads)

    def touches(self) -> Touches:
        """None that are not those of the colliders."""
        return Touches.none()


def _rigid_lumps(matching: Matching, count: int) -> np.ndarray:
    """Rigid lump of each of so many particles, or -1, (N,)."""
    lumps = np.full(count, -1)
    own = matching.matched.lump
    lumps[matching.matched.particle] = np.where(matching.lumps.rigid[own], own, -1)
    return lumps
