"""Sheets, ropes and loose particles against each other and against themselves, by triangles, edges and points.

Candidates are found once a step; particles that leave the way that they were to go are looked at again. In each substep
the nearest points of all candidates are taken from the positions at its start; rows keep the thickness; and before the
velocities are derived every way is certified not to cross another (`shinari.systems.surface_contact.crossing`), so that
layers stay in order whatever the rows achieved.
"""

import numpy as np

from shinari.collision.law import slow_approach
from shinari.collision.report import ContactImpulses
from shinari.compute import Program
from shinari.model.contact_passes import ContactPasses, count_pass
from shinari.model.particles import Particles
from shinari.model.system import System
from shinari.model.system_model import BoundSystems
from shinari.systems.colliders.supports import Supports
from shinari.systems.colliders.system import ColliderContacts
from shinari.systems.paths.certifier import Certificate
from shinari.systems.paths.records import PathState
from shinari.systems.surface_contact.affine_frame import begin_substep
from shinari.systems.surface_contact.build import Participants
from shinari.systems.surface_contact.candidates import Finder, skin_of
from shinari.systems.surface_contact.crossing import SurfacePaths
from shinari.systems.surface_contact.detection import (
    SurfaceDetection,
    add_length,
    count_substep,
    end_paths,
    expect_length,
    measure_displacement,
    measure_path,
    start_paths,
)
from shinari.systems.surface_contact.layers import LayerSupports
from shinari.systems.surface_contact.loose import MANY, LooseParticles, loose_pairs
from shinari.systems.surface_contact.records import ContactParticles, Frames, Objects, Paths
from shinari.systems.surface_contact.row_table import RowTable
from shinari.systems.surface_contact.rows import (
    count_batches,
    evaluate_fresh,
    find_deep,
    find_overlap,
    refresh_rows,
    solve_block,
    step_aside,
    tell_overlap,
)
from shinari.systems.surface_contact.settling import settle_block

# Passes when pairs are found in the middle of a substep, of what is deep and of what that moves.
LATE_PASSES = 4
# Passes of sheets and ropes on each other that are slower than gravity makes them in a substep: with three they shiver.
CALM_PASSES = 6


class SurfaceContacts(System):
    """Contacts of triangles, edges and points.

    Attributes:
        rows: The contact rows.
        who: What can be in contact.
        layers: What lies in layers on colliders, where something may press on it.
    """

    order = 11
    can_rest = True
    on_device = True
    advice = "triangles that may touch; self_collision='particles' or fewer substeps are faster"
    solves_contacts = tells_moved = steps_aside = True

    def __init__(self, bound: BoundSystems, who: Participants) -> None:
        model, settings, particles, origins = bound.model, bound.settings, bound.particles, bound.origins
        self._model, self._state, self._settings, self._particles = model, bound.state, settings, particles
        self.who, self._clock = who, bound.clock
        precision, n = model.real, model.particle_count
        self._contact_particles, self._paths = skin_of(model, who), Paths.zeros(n, precision)
        self._contact_particles.bind(moved_in=bound.moved_in)
        self._inactive: np.ndarray | None = None
        self._frames = Frames.zeros(len(model.origins), precision)
        self.rows = RowTable(self._contact_particles, precision)
        self._finder = Finder(model, who, self.rows, self._contact_particles, self._paths)
        members = np.unique(self._finder.objects.member)
        self._each_substep = settings.contact_detection == "substep"
        self._detection = SurfaceDetection(self._finder, self.rows, members, who, settings.substep, self._each_substep)
        detection, pairs = self._detection.detection, loose_pairs(who)
        self._loose = (
            LooseParticles(model, who, members, particles, origins, detection) if 0 < len(pairs) <= MANY else None
        )
        self._colliders: ColliderContacts | None = None
        self._supports = Supports.zeros(0, precision)
        self.layers: LayerSupports | None = None

    def watch(self, reach: float) -> None:
        """Let loose particles take part as soon as they may be within a reach [m] of a surface."""
        if self._loose is not None:
            self._loose.reach = max(self._loose.reach, reach)

    def connect(self, bound: BoundSystems) -> None:
        """Take the contacts with colliders, into which late pushes may go."""
        self._colliders = bound.find(ColliderContacts)
        if self._colliders is not None:
            self._supports = self._colliders.supports
        if len(self._supports):
            self.layers = LayerSupports(self.rows, self._supports, self._contact_particles, self._finder.objects)
            if self._supports.even[0]:
                self._detection.slow = float(np.linalg.norm(self._model.gravity)) * self._settings.substep

    @property
    def detections(self) -> int:
        """Times in the last step at which all pairs were found."""
        return int(self._detection.detection.detections[0])

    @property
    def renewals(self) -> int:
        """Times in the last step at which the pairs of a few particles were found anew."""
        return int(self._detection.detection.renewals[0])

    @property
    def few(self) -> float:
        """When more than this part of the particles has left its way all pairs are found anew."""
        return float(self._detection.detection.few[0])

    @few.setter
    def few(self, value: float) -> None:
        self._detection.detection.few[0] = value

    def begin(self, time: float, ends: np.ndarray) -> None:
        """A step begins: pairs are to be found anew, and what pushed is forgotten."""
        self.rows.clear()
        self._paths.travel[...] = self._contact_particles.path[...] = 0.0
        inactive = self._model.inactive(self._state)
        if self._inactive is None or not np.array_equal(inactive, self._inactive):
            self._inactive = inactive
            self._contact_particles.inactive[...] = False
            self._contact_particles.inactive[inactive] = True
            self._detection.choose_members(self._contact_particles)
        self._detection.begin(self._paths, self._settings.substeps)
        origins = self._state.origins
        self._frames.origin[...], self._frames.offset[...] = origins, origins - np.round(origins.mean(axis=0))

    def record_begin(self, p: Program) -> None:
        """See whether loose particles are far from all surfaces."""
        if self._loose is not None:
            dt = self._settings.dt
            self._loose.record_begin(p, float(np.linalg.norm(self._model.gravity)) * dt, dt)

    def record_detect(self, p: Program) -> None:
        """A substep begins: keep the positions, and take the nearest points of all candidates."""
        h, table = self._settings.substep, self.rows.table
        detection, members = self._detection.detection, self._detection.members
        count = detection.members, 0
        p.serial(begin_substep, detection, self._each_substep)
        p.copy(0, (table.tangled, 0))
        starts = self._paths, self._contact_particles, self._particles, self._frames
        p.launch(start_paths, members, *starts, h, count=count, grain=2048)
        self._detection.record(p, self._clock)
        p.serial(count_substep, detection)
        p.launch(expect_length, members, self._paths, detection, h, count=count, grain=2048)
        p.serial(count_batches, table)
        if self.layers is not None:
            self.layers.record_forget(p)
            p.copy(0, (table.pressing, 0))
        records = self._particles, *self.surfaces, self._clock, self._supports, self._paths, self._frames, h
        p.launch(refresh_rows, table, self.rows.rows, *records, count=(table.batches, 0), grain=64)
        p.serial(step_aside, table, self._clock)

    def record_contacts(self, p: Program, first: bool) -> None:
        """Solve all rows once; `first` in the first iteration of a substep. `rows.table.overlap` tells the largest."""
        h, table = self._settings.substep, self.rows.table
        reach = h * (self._settings.depenetration_speed if first else 0.0)
        records = self._particles, self._contact_particles, self._supports, self._finder.objects, self._frames
        overlaps, colours, members = self.rows.overlaps, self.rows.colours, self._detection.members
        count = self._detection.detection.members, 0
        p.launch(measure_path, members, self._contact_particles, self._particles, count=count, grain=2048)
        if self.layers is not None:
            self.layers.record_find(p, self._particles)
        colours.record_sweep(p, solve_block, overlaps, self.rows.rows, *records, self._clock, reach)
        p.serial(find_overlap, overlaps, colours.current, table)
        if self.layers is not None:
            self.layers.record_pass_on(p, self._particles, h)

    def record_overlap(self, p: Program, passes: ContactPasses) -> None:
        """Tell the largest overlap, as part of the gap; a stack that is calm gets passes until it rests."""
        p.serial(tell_overlap, self.rows.table, passes, self._clock, CALM_PASSES)

    def path_certifier(self, certificate: Certificate) -> SurfacePaths:
        """The certifier of the displacements of the substep."""
        return SurfacePaths(certificate, self, self._settings.substep)

    @property
    def detection(self) -> SurfaceDetection:
        """Finds pairs when it is time to."""
        return self._detection

    @property
    def surfaces(self) -> tuple[ContactParticles, Objects]:
        """What contacts know of the particles, and of the objects."""
        return self._contact_particles, self._finder.objects

    @property
    def moving(self) -> tuple[Particles, Paths, Frames]:
        """The particles, their paths and the origins."""
        return self._particles, self._paths, self._frames

    def record_settle(self, p: Program) -> None:
        """Take loose particles in that come near a surface."""
        if self._loose is not None:
            h, members = self._settings.substep, self._detection.members
            moving = self._paths, self._contact_particles, self._particles, self._frames
            self._loose.record_watch(p, members, *moving, h)

    def record_pairs(self, p: Program, path_state: PathState) -> None:
        """Find the pairs that the displacements of the substep may bring together."""
        h, table, moving = self._settings.substep, self.rows.table, (self._particles, self._paths, self._frames)
        members, count = self._detection.members, (self._detection.detection.members, 0)
        p.launch(end_paths, members, self._paths, self._particles, self._frames, 1 / h, count=count, grain=2048)
        self._detection.record(p, self._clock)
        p.launch(evaluate_fresh, self.rows.fresh, self.rows.rows, *moving, count=(table.fresh, 0), grain=256)
        # what other contacts have pushed may be in each other now, off the paths that were expected
        p.copy(0, (table.deep, 0))
        p.launch(measure_displacement, members, self._paths, self._detection.detection, count=count, grain=2048)
        p.launch(measure_path, members, self._contact_particles, self._particles, count=count, grain=2048)
        records = self._particles, *self.surfaces, self._paths, self._frames, self._clock, table, path_state
        p.launch(find_deep, self.rows.rows, *records, count=(table.rows, 0), grain=1024)
        with p.when((table.deep, 0)):
            p.copy(1, (self._clock.local, 0))
            for _ in range(LATE_PASSES):
                self.record_contacts(p, False)
                if self._colliders is not None:
                    self._colliders.record_contacts(p, False)
                p.serial(count_pass, self._clock)
            p.copy(0, (self._clock.local, 0))

    def record_velocities(self, p: Program) -> None:
        """Add up the displacements."""
        members, count = self._detection.members, (self._detection.detection.members, 0)
        p.launch(add_length, members, self._paths, count=count, grain=4096)

    def record_restitution(self, p: Program) -> None:
        """Change velocities after impacts, and where something lies on each other."""
        h = self._settings.substep
        slow, supports = slow_approach(self._model.gravity, h), self._supports
        records = self._particles, self._contact_particles, supports, self._finder.objects
        self.rows.colours.record_sweep(p, settle_block, self.rows.table, self.rows.rows, *records, slow, h)

    def contact_impulses(self) -> ContactImpulses:
        """The contacts that pushed in the last step; their places are those of the last substep."""
        return self.rows.contact_impulses()
