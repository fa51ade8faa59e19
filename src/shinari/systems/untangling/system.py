"""Surfaces that intersect are pulled apart."""

from contextlib import suppress

import numpy as np

from shinari.compute import Program
from shinari.errors import MemoryLimitError
from shinari.model.system import System
from shinari.model.system_model import BoundSystems
from shinari.systems.paths.certifier import Certificate
from shinari.systems.paths.records import Begins
from shinari.systems.paths.system import PathCertificates
from shinari.systems.surface_contact.records import Frames
from shinari.systems.surface_contact.system import SurfaceContacts
from shinari.systems.untangling.directions import choose_push, measure_contours
from shinari.systems.untangling.pull import (
    clear_momentum,
    limit_speed,
    measure_regions,
    pull_crossings,
    release_fresh,
    release_row,
    slow_crossings,
)
from shinari.systems.untangling.regions import RegionFinder
from shinari.systems.untangling.search import CrossingSearch
from shinari.systems.untangling.tables import surface_tables

# Particles of a region that is pulled move relative to its mean at most so much faster than it is.
FASTER = 2.0
# In each period [s] small contours are let pass for so long.
PERIOD, PAUSE = 0.2, 0.08


class Untangling(System):
    """Pulls surfaces of one simulation apart that intersect.

    Attributes:
        search: Finds edges that pierce triangles.
    """

    order = 12
    can_rest = True
    on_device = True
    advice = "triangles that intersect; start them apart"

    def __init__(self, bound: BoundSystems, contacts: SurfaceContacts) -> None:
        model, self._bound = bound.model, bound
        self._contacts, self._particles = contacts, bound.particles
        self._state, self._settings = bound.state, bound.settings
        sheets = np.array([obj.kind == "cloth" for obj in bound.scene.particle_objects])
        edges, triangles, points = surface_tables(model, contacts.who, sheets)
        rest = model.origins[model.origin_index] + contacts.who.rest
        self.search = CrossingSearch(edges, triangles, points, rest, model.real)
        self._regions = RegionFinder(self.search)
        self._frames = Frames.zeros(len(model.origins), model.real)
        self._begins: Begins | None = None
        self._certificates: PathCertificates | None = None
        self._looked = self._tangled = False
        self._search = bound.new_program()
        self.search.record(self._search, self._particles, self._frames, *contacts.surfaces)
        # a simulation is bound even where a step of it cannot have its memory: the step looks again, and tells
        with suppress(MemoryError, MemoryLimitError):
            self._tangled = self._look()

    def connect(self, bound: BoundSystems) -> None:
        """Find the certificates, which tell whether paths still meet."""
        self._certificates = bound.find(PathCertificates)

    @property
    def active(self) -> bool:
        """Whether surfaces intersect."""
        return self._tangled

    def disturbed(self, time: float, ends: np.ndarray) -> bool:
        """Surfaces that intersect are pulled apart."""
        return True

    def follow_state(self) -> None:
        """Look again where the user has moved particles or paths still met."""
        clock = self._bound.clock
        met = self._certificates is not None and self._certificates.unresolved > 0
        if clock.written[0] or met or not self._looked:
            clock.written[0] = 0
            self._tangled = self._tangled or self._look()

    def _look(self) -> bool:
        self._follow()
        self._search.run()
        self._looked = True
        return bool(self.search.state.crossings[0] > 0)

    def _follow(self) -> None:
        origins = self._state.origins
        self._frames.origin[...], self._frames.offset[...] = origins, origins - np.round(origins.mean(axis=0))

    def begin(self, time: float, ends: np.ndarray) -> None:
        """A step begins: follow the origins, and pull at small contours or not."""
        self.search.state.pauses[0] = time % PERIOD > PERIOD - PAUSE
        self._follow()

    def end(self) -> None:
        """A step is over."""
        self._tangled = bool(self.search.state.crossings[0] > 0)

    def path_certifier(self, certificate: Certificate) -> "ReleasedPaths":
        """The certifier that lets pairs pass that are pulled through each other."""
        self._begins = certificate.begins
        return ReleasedPaths(self)

    def record_detect(self, p: Program) -> None:
        """Find what intersects and where it is to go; contacts let it pass."""
        search, rows, table = self.search, self._contacts.rows.rows, self._contacts.rows.table
        who = self._contacts.surfaces[0]
        search.record(p, self._particles, self._frames, *self._contacts.surfaces)
        with p.when((search.state.crossings, 0)):
            p.copy(1, (table.tangled, 0))
            self._regions.record(p)
            contours, moving = self._regions.contours, (self._particles, self._frames)
            p.serial(measure_contours, search.state, search.crossings, contours, search.edges, search.points, *moving)
            tables = search.edges, search.triangles, search.points
            p.serial(choose_push, search.state, search.crossings, contours, *tables, *moving, who)
            p.launch(release_row, rows, search.points, who, count=(table.rows, 0), grain=1024)

    def record_contacts(self, p: Program, first: bool) -> None:
        """Pull once."""
        search, reach = self.search, self._settings.depenetration_speed * self._settings.substep
        with p.when((search.state.crossings, 0)):
            tables = search.edges, search.triangles
            p.serial(pull_crossings, search.state, search.crossings, *tables, self._particles, self._begins, reach)

    def record_restitution(self, p: Program) -> None:
        """Bound the speeds of surfaces that are pulled."""
        search, most = self.search, FASTER * self._settings.depenetration_speed
        with p.when((search.state.crossings, 0)):
            points = search.points
            tables = search.edges, search.triangles
            p.serial(slow_crossings, search.state, search.crossings, *tables, self._particles, most)
            p.launch(clear_momentum, points, count=len(points), grain=4096)
            p.serial(measure_regions, search.state, search.crossings, search.edges, points, self._particles)
            p.launch(limit_speed, points, self._particles, most, count=len(points), grain=4096)

    def record_release(self, p: Program) -> None:
        """Release fresh rows."""
        search, contacts = self.search, self._contacts
        with p.when((search.state.crossings, 0)):
            records = contacts.rows.fresh, contacts.rows.rows, search.points, contacts.surfaces[0]
            p.launch(release_fresh, *records, count=(contacts.rows.table.fresh, 0), grain=256)


class ReleasedPaths:
    """Takes pairs that are pulled through each other out of the certificate."""

    def __init__(self, untangling: Untangling) -> None:
        self._untangling = untangling

    def record_pairs(self, p: Program) -> None:
        """Record that rows are released that have just been written."""
        self._untangling.record_release(p)

    def record_times(self, p: Program) -> None:
        """Nothing is certified here."""

    def record_part(self, p: Program) -> None:
        """Nothing is certified here."""

    def record_join(self, p: Program) -> None:
        """Nothing is certified here."""
