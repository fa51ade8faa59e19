"""Sheets, ropes and loose particles against each other and against themselves, by triangles, edges and points.

Candidates are found once a step; particles that leave the way that they were to go are looked at again. In each substep
the nearest points of all candidates are taken from the positions at its start; rows keep the thickness; and before the
velocities are derived every way is certified not to cross another (`shinari.contact.surface.crossing`), so that layers
stay in order whatever the rows achieved.
"""

import numba
import numpy as np

from shinari.contact.family import Touches
from shinari.contact.surface.candidates import Candidates
from shinari.contact.surface.crossing import find_impacts, join_zones, mean_of, move_as_one, part, ways
from shinari.contact.surface.participants import Participants
from shinari.contact.surface.row_table import BLOCK, RowTable
from shinari.contact.surface.rows import bounce, evaluate, project, refresh
from shinari.fluid.waiting import waiting
from shinari.maths.function import STEADY
from shinari.model import Model
from shinari.settings import Settings
from shinari.state import State

# Rounds in which ways that meet are pushed apart before what still meets moves as one, and rounds of that.
ROUNDS, ZONES = 6, 60
# A particle may stray from its way by this part of the median edge: more finds more pairs, less looks more often.
STRAY = 0.08
# A detection looks ahead as far as the particles typically move this many edges relative to each other.
AHEAD = 0.25
FEW = 0.15
ROUNDING = 4.0 * float(np.finfo(np.float32).eps)
FAR = np.float32(1e30)
GEOMETRY = ("weights", "normals", "shifts", "starts", "distances", "approach")


class Surfaces:
    """Contacts of triangles, edges and points.

    Attributes:
        detections: Times in the last step at which all pairs were found.
        renewals: Times in the last step at which the pairs of a few particles were found anew.
        impacts: Ways that met in the last step, and were mended.
        zones: Rounds in the last step in which particles had to move as one.
        unmended: Substeps in the last step after which ways still met.
        few: When more than this part of the particles has left its way all pairs are found anew.
    """

    def __init__(
        self, model: Model, state: State, settings: Settings, predicted: np.ndarray, who: Participants
    ) -> None:
        self._model, self._state, self._settings, self._predicted, self._who = model, state, settings, predicted, who
        real, n = model.real, model.particle_count
        self._members = np.unique(np.concatenate([member for member in who.members if member is not None]))
        self._all = self._members
        self._candidates = Candidates(model, who)
        self.rows = RowTable(real, self._candidates.free)
        self._begin, self._lengths, self._astray = np.zeros((n, 3), real), np.zeros(n, real), np.zeros(n, np.bool_)
        self._bounces = bool((model.surfaces[:, 2] > 0.0).any())
        self._h = real(settings.substep)
        self._travels = np.zeros((n, 2), real)
        self._found, self.few = False, FEW
        self.detections = self.renewals = self.impacts = self.zones = self.unmended = 0

    def begin(self, time: float) -> None:
        """A step begins: pairs are to be found anew, and what pushed is forgotten."""
        self._found = False
        self.rows.clear()
        self._travels[...] = 0.0
        self._left = self._settings.substeps
        self.detections = self.renewals = self.impacts = self.zones = self.unmended = 0
        absent = waiting(self._model, self._state)
        self._all = np.setdiff1d(self._members, absent) if len(absent) else self._members
        self._candidates.absent = absent
        origins = self._state.origins
        self._origins = origins.astype(self._model.real)
        self._offsets = (origins - np.round(origins.mean(axis=0))).astype(self._model.real)[self._model.groups]

    def prepare(self, end: float, threads: int) -> None:
        """Keep the positions at the start of the substep, and take the nearest points of all candidates."""
        state = self._state
        self._begin[...] = state.x[:, :3]
        if self._settings.contact_detection == "substep":
            self._found = False
        self._look(self._begin + self._h * state.v, state.v, threads)
        self._left -= 1
        if len(self.rows):
            model = self._model
            mean = (self._h * mean_of(state.v, self._all)).astype(model.real)
            ways(self._begin, self._begin + self._h * state.v, mean, self._lengths)
            self._travels[:, 1] = self._lengths
            edges, indices, gaps, active, multipliers, bases = self.rows.get(
                "edges", "indices", "gaps", "active", "multipliers", "bases"
            )
            weights, normals, shifts, starts, distances, approach = self.rows.get(*GEOMETRY)
            refresh(threads, edges, indices, gaps, self._begin, state.v, model.groups, self._origins, self._h,
                    self._travels, weights, normals, shifts, starts, distances, approach, active, multipliers,
                    bases)  # fmt: skip

    def project(self, threads: int, first: bool) -> float:
        """Solve all rows once; the largest overlap, as part of the gap."""
        found = np.zeros(threads, self._model.real)
        rows, state, model = self.rows, self._state, self._model
        if len(rows):
            indices, gaps, distances, active, *rest = rows.get(
                "indices",
                "gaps",
                "distances",
                "active",
                "edges",
                "weights",
                "normals",
                "shifts",
                "multipliers",
                "impulses",
            )
            edges, weights, normals, shifts, multipliers, impulses = rest
            reach = self._h * model.real(self._settings.depenetration_speed if first else 0.0)
            project(
                threads, rows.order, rows.offsets, BLOCK, edges, indices, weights, normals, shifts, gaps, distances,
                active, model.owners, model.surfaces, model.groups, self._origins, state.x, self._predicted, state.v,
                multipliers, impulses, self._h, reach, found,
            )  # fmt: skip
        return float(found.max())

    def settle(self, threads: int) -> None:
        """Certify the ways of the substep; mend those that cross."""
        state = self._state
        ends = state.x[:, :3]
        new = self._look(ends, state.v + (ends - self._predicted) / self._h, threads)
        if len(self.rows) == 0:
            return
        if len(new):
            edges, indices, bases = self.rows.get("edges", "indices", "bases")
            weights, normals, shifts, starts, distances, approach = self.rows.get(*GEOMETRY)
            _evaluate(new, edges, indices, self._begin, state.v, self._model.groups, self._origins, self._h,
                      self._travels, weights, normals, shifts, starts, distances, approach, bases)  # fmt: skip
        self._mend(threads)
        self._travels[:, 0] += self._lengths

    def _mend(self, threads: int) -> None:
        """Push apart what meets on its way, then let what still does move as one."""
        state = self._state
        zone = None
        for turn in range(ROUNDS + ZONES):
            hits = self._impacts(threads)
            if len(hits) == 0:
                return
            self.impacts += len(hits)
            if turn < ROUNDS:
                times, edges, indices, gaps, starts, impulses = self.rows.get(
                    "times", "edges", "indices", "gaps", "starts", "impulses"
                )
                part(hits, times, edges, indices, gaps, starts, self._begin, state.x, self._model.groups, self._origins,
                     impulses, self._h)  # fmt: skip
            else:
                zone = np.arange(self._model.particle_count) if zone is None else zone
                self.zones += 1
                join_zones(hits, self.rows.get("indices")[0], zone)
                move_as_one(zone, self._begin, state.x)
        self.unmended += len(self._impacts(threads)) > 0

    def bounce(self, threads: int) -> None:
        """Restitution."""
        if self._bounces and len(self.rows):
            state, model = self._state, self._model
            slow = model.real(2.0 * float(np.linalg.norm(model.gravity)) * self._settings.substep)
            indices, weights, normals, approach, multipliers, impulses = self.rows.get(
                "indices", "weights", "normals", "approach", "multipliers", "impulses"
            )
            bounce(indices, weights, normals, approach, multipliers, model.owners, model.surfaces, state.x, state.v,
                   impulses, slow)  # fmt: skip

    def touches(self) -> Touches:
        """The contacts that pushed in the last step; their places are those of the last substep."""
        return self.rows.touches()

    def _look(self, ends: np.ndarray, velocities: np.ndarray, threads: int) -> np.ndarray:
        """See to it that the rows hold every pair that may touch on the way to `ends` (N, 3).

        What is looked for stays valid as long as the particles go on at the velocities (N, 3) from there.

        Returns:
            The rows that are new, (K,).
        """
        begin, places = self._begin + self._offsets, ends + self._offsets
        centre = mean_of(begin, self._all)
        if not self._found:
            return self._look_at_all(begin, places, velocities, centre, threads)
        drift = (mean_of(places, self._all) - self._mean).astype(places.dtype)
        candidates = self._candidates
        astray = _leave(self._all, places, drift, candidates.low, candidates.high, self._astray)
        if astray == 0:
            return np.zeros(0, np.int64)
        if astray > self.few * len(self._all):
            return self._look_at_all(begin, places, velocities, centre, threads)
        who = np.flatnonzero(self._astray)
        here = (centre - self._mean).astype(places.dtype)
        pairs = candidates.renew(
            who, begin - here, self._ways(places - drift, velocities), self._stray(begin), threads
        )  # fmt: skip
        if pairs is None:
            return self._look_at_all(begin, places, velocities, centre, threads)
        self.renewals += 1
        return self.rows.exchange(self._astray, pairs)

    def _look_at_all(
        self, begin: np.ndarray, places: np.ndarray, velocities: np.ndarray, centre: np.ndarray, threads: int
    ) -> np.ndarray:
        """Find all pairs; see `_look`."""
        self._mean = centre
        drift = (mean_of(places, self._all) - centre).astype(places.dtype)
        ways = self._ways(places - drift, velocities)
        pairs = self._candidates.find(begin, ways, self._stray(begin), threads)
        self.rows.fill(pairs)
        self._found = True
        self.detections += 1
        return np.arange(len(self.rows))

    def _ways(self, places: np.ndarray, velocities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places at the end of the substep, and where the velocities take them until the next look, (N, 3) each."""
        mean = mean_of(velocities, self._all)
        typical = 2.0 * _spread(velocities, mean, self._all) * float(self._h)
        ahead = float(self._left)
        if typical > 0.0:
            ahead = min(ahead, AHEAD * self._who.edge_length / typical)
        if self._settings.contact_detection == "substep":
            ahead = 0.0
        return places, places + self._model.real(ahead) * self._h * (velocities - mean.astype(places.dtype))

    def _stray(self, begin: np.ndarray) -> float:
        return STRAY * self._who.edge_length + ROUNDING * float(np.abs(begin[self._all]).max())

    def _impacts(self, threads: int) -> np.ndarray:
        """Rows whose ways meet, (K,)."""
        state, model = self._state, self._model
        mean = mean_of(state.x[:, :3] - self._begin, self._all).astype(model.real)
        ways(self._begin, state.x, mean, self._lengths)
        edges, indices, gaps, starts, times = self.rows.get("edges", "indices", "gaps", "starts", "times")
        find_impacts(threads, edges, indices, gaps, starts, self._begin, state.x, model.groups, self._origins,
                     self._lengths, times)  # fmt: skip
        return np.flatnonzero(times < 1.0)


@numba.njit(cache=True, **STEADY)
def _leave(who, places, drift, low, high, astray):
    """Mark the particles that leave their boxes in a frame that has moved by `drift` (3,), and count them."""
    astray[:] = False
    count = 0
    for i in who:
        out = False
        for c in range(3):
            at = places[i, c] - drift[c]
            out = out or at < low[i, c] or at > high[i, c]
        astray[i] = out
        count += out
    return count


@numba.njit(cache=True, **STEADY)
def _spread(velocities, mean, who):
    """Root mean square of the velocities of the particles `who` less their mean [m/s]."""
    total = 0.0
    for i in who:
        for c in range(3):
            total += (velocities[i, c] - mean[c]) ** 2
    return np.sqrt(total / len(who))


@numba.njit(cache=True, **STEADY)
def _evaluate(new, edges, indices, x, velocities, groups, origins, h, travels, weights, normals, shifts, starts,
              distances, approach, bases):  # fmt: skip
    """Take the nearest points of new rows in the middle of a substep, from the positions at its start."""
    for r in new:
        evaluate(r, FAR, edges, indices, x, velocities, groups, origins, h, travels, weights, normals, shifts, starts,
                 distances, approach, bases)  # fmt: skip
