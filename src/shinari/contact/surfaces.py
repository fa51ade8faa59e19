"""Sheets, ropes and loose particles against each other and against themselves, by triangles, edges and points.

Candidates are found once a step, or when something leaves the way it was to go. In each substep their nearest points
are taken from the positions at its start; rows keep the thickness; and before the velocities are derived every way is
certified not to cross another (`shinari.contact.crossing`), so that layers stay in order whatever the rows achieved.
"""

import numpy as np

from shinari.contact.blocks import colour_blocks
from shinari.contact.buffers import grown
from shinari.contact.candidates import STRAY, Candidates
from shinari.contact.crossing import find_impacts, move_as_one, part, ways
from shinari.contact.family import Touches
from shinari.contact.participants import Participants
from shinari.contact.rows import bounce, project, refresh
from shinari.model import Model
from shinari.settings import Settings
from shinari.state import State

BLOCK = 64
# Rounds in which ways that meet are pushed apart before what still meets moves as one, and rounds of that.
ROUNDS, ZONES = 6, 20
# A detection looks ahead as far as its candidates move this many edges relative to each other.
AHEAD = 0.5
ROOM = 4.0 * float(np.finfo(np.float32).eps)


class Surfaces:
    """Contacts of triangles, edges and points.

    Attributes:
        detections: Detections in the last step.
        impacts: Ways that met in the last step, and were mended.
        zones: Rounds in the last step in which particles had to move as one.
    """

    def __init__(
        self, model: Model, state: State, settings: Settings, predicted: np.ndarray, who: Participants
    ) -> None:
        self._model, self._state, self._settings, self._predicted, self._who = model, state, settings, predicted, who
        real, n = model.real, model.particle_count
        self._candidates: Candidates | None = None
        members = [member for member in who.members if member is not None]
        self._all = np.concatenate(members)
        self._begin = np.zeros((n, 3), real)
        self._lengths = np.zeros(n, real)
        self._centre = np.zeros(3)
        self._bounces = bool((model.surfaces[:, 2] > 0.0).any())
        self._every = settings.contact_detection == "substep"
        self._buffers: dict[str, np.ndarray] = {}
        self._valid = False
        self._kept: list[Touches] = []
        self.detections = self.impacts = self.zones = 0

    def begin(self, time: float) -> None:
        """A step begins: find candidates anew, forget what pushed."""
        self._valid = False
        self._kept = []
        self._substep = 0
        self._rows = np.zeros((0, 4), np.uint32)
        self.detections = self.impacts = self.zones = 0
        self._origins = self._state.origins.astype(self._model.real)

    def prepare(self, end: float, threads: int) -> None:
        """Keep the positions at the start of the substep, and take the nearest points of all candidates."""
        state, model, h = self._state, self._model, self._settings.substep
        self._begin[...] = state.x[:, :3]
        if not self._valid or self._every or self._astray(state.v * model.real(h)):
            self._detect(self._settings.substeps - self._substep, threads)
        self._substep += 1
        if len(self._rows):
            refresh(
                threads, self._points, self._rows, self._gaps, state.x, state.v, model.groups, self._origins,
                model.real(h), *(self._array(name) for name in ("weights", "normals", "shifts", "distances",
                "approach", "active", "multipliers"))
            )  # fmt: skip

    def project(self, threads: int, first: bool) -> None:
        """Solve all rows once."""
        if len(self._rows) == 0:
            return
        state, model, settings = self._state, self._model, self._settings
        project(
            threads, self._order, self._offsets, BLOCK, self._rows,
            *(self._array(name) for name in ("weights", "normals", "shifts")), self._gaps, self._array("distances"),
            self._array("active"), model.owners, model.surfaces, state.x, self._predicted, state.v,
            self._array("multipliers"), self._array("impulses"), model.real(settings.substep),
            model.real(settings.depenetration_speed * settings.substep),
        )  # fmt: skip

    def settle(self, threads: int) -> None:
        """Certify the ways of the substep; mend those that cross."""
        state = self._state
        if self._astray(state.x[:, :3] - self._begin):
            self._detect_ways(threads)
        if len(self._rows) == 0 or not len(self._impacts(threads)):
            return
        zone = None
        hits = self._hits
        for turn in range(ROUNDS + ZONES):
            self.impacts += len(hits)
            if turn < ROUNDS:
                self._part(hits)
            else:
                if zone is None:
                    n = self._model.particle_count
                    zone, mass, way = np.arange(n), np.zeros(n), np.zeros((n, 3))
                self.zones += 1
                move_as_one(hits, self._rows, self._begin, state.x, zone, mass, way)
            hits = self._impacts(threads)
            if len(hits) == 0:
                return

    def bounce(self, threads: int) -> None:
        """Restitution."""
        if not self._bounces or len(self._rows) == 0:
            return
        state, model, settings = self._state, self._model, self._settings
        slow = model.real(2.0 * float(np.linalg.norm(model.gravity)) * settings.substep)
        bounce(
            self._rows, *(self._array(name) for name in ("weights", "normals", "approach", "multipliers")),
            model.owners, model.surfaces, state.x, state.v, self._array("impulses"), slow
        )  # fmt: skip

    def touches(self) -> Touches:
        """The contacts that pushed in the last step."""
        self._keep()
        self._kept = [Touches.joined(self._kept)]
        return self._kept[0]

    def _array(self, name: str) -> np.ndarray:
        return self._buffers[name][: len(self._rows)]

    def _places(self, moves: np.ndarray) -> np.ndarray:
        """Positions at the start of the substep moved on, in the frame of the detection, (N, 3)."""
        model = self._model
        world = self._begin + moves
        if len(self._origins) > 1 or self._centre.any():
            world += (self._state.origins - self._centre).astype(model.real)[model.groups]
        return world

    def _astray(self, moves: np.ndarray) -> bool:
        """Whether a particle leaves its box with these moves, in the frame that goes with the mean of all."""
        if self._candidates is None:
            return True
        places = self._places(moves)[self._all]
        places -= (places.mean(axis=0, dtype=np.float64) - self._mean).astype(places.dtype)
        low, high = self._candidates.low[self._all], self._candidates.high[self._all]
        return bool(((places < low) | (places > high)).any())

    def _detect(self, substeps: int, threads: int) -> None:
        """Find the candidates of the coming substeps."""
        state, model, h = self._state, self._model, self._settings.substep
        v = state.v[self._all].astype(np.float64)
        mean = v.mean(axis=0)
        typical = float(np.sqrt(((v - mean) ** 2).sum(axis=1).mean()))
        ahead = substeps
        if 2.0 * typical * h > 0.0:
            ahead = int(np.clip(AHEAD * self._who.edge_length / (2.0 * typical * h), 1, substeps))
        if self._every:
            ahead = 1
        end = (state.v - mean.astype(model.real)) * model.real(ahead * h)
        self._find(self._places_of(end), threads)

    def _detect_ways(self, threads: int) -> None:
        """Find the candidates of the ways of this substep alone; the next one finds its own."""
        end = self._state.x[:, :3] - self._begin
        self._find(self._places_of(end), threads)
        self._valid = False
        if len(self._rows):
            state, model, h = self._state, self._model, self._settings.substep
            start = state.x.copy()
            start[:, :3] = self._begin
            refresh(
                threads, self._points, self._rows, self._gaps, start, state.v, model.groups, self._origins,
                model.real(h), *(self._array(name) for name in ("weights", "normals", "shifts", "distances",
                "approach", "active", "multipliers"))
            )  # fmt: skip

    def _places_of(self, moves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self._centre = np.round(self._state.origins.mean(axis=0))
        return self._places(np.zeros(3, self._model.real)), self._places(moves)

    def _find(self, ends: tuple[np.ndarray, np.ndarray], threads: int) -> None:
        self._keep()
        model = self._model
        if self._candidates is None:
            self._candidates = Candidates(model, self._who)
        begin, end = ends
        self._mean = begin[self._all].mean(axis=0, dtype=np.float64)
        stray = STRAY * self._who.edge_length + ROOM * float(np.abs(begin[self._all]).max())
        self._candidates.find(begin, end, stray, threads)
        self._rows, self._gaps = self._candidates.rows, self._candidates.gaps
        self._points = self._candidates.points
        count, real = len(self._rows), model.real
        shapes = {"weights": (4,), "normals": (3,), "impulses": (3,), "shifts": (), "distances": (), "approach": (),
                  "multipliers": (), "times": ()}  # fmt: skip
        for name, columns in shapes.items():
            self._buffers[name] = grown(self._buffers.get(name), count, real, *columns)
        self._buffers["active"] = grown(self._buffers.get("active"), count, np.bool_)
        self._array("impulses")[...] = 0.0
        self._order, self._offsets = colour_blocks(self._rows, self._candidates.free, BLOCK)
        self._valid = True
        self.detections += 1

    def _impacts(self, threads: int) -> np.ndarray:
        """Rows whose ways meet, (K,)."""
        state, model = self._state, self._model
        mean = (state.x[self._all, :3] - self._begin[self._all]).mean(axis=0)
        ways(threads, self._begin, state.x, mean, self._lengths)
        times = self._array("times")
        find_impacts(threads, self._points, self._rows, self._gaps, self._array("distances"), self._begin, state.x,
                     model.groups, self._origins, self._lengths, times)  # fmt: skip
        self._hits = np.flatnonzero(times < 1.0)
        return self._hits

    def _part(self, hits: np.ndarray) -> None:
        state, model = self._state, self._model
        part(hits, self._array("times"), self._points, self._rows, self._gaps, self._array("distances"), self._begin,
             state.x, model.groups, self._origins, self._array("impulses"), model.real(self._settings.substep))  # fmt: skip

    def _keep(self) -> None:
        """Put away what pushed, before the rows are forgotten."""
        if len(self._rows) == 0:
            return
        impulses = self._array("impulses")
        pushed = (impulses != 0.0).any(axis=1)
        if pushed.any():
            self._kept.append(
                Touches(
                    self._rows[pushed],
                    self._array("weights")[pushed].astype(np.float64),
                    np.full(int(pushed.sum()), -1),
                    self._array("normals")[pushed].astype(np.float64),
                    impulses[pushed].astype(np.float64),
                )
            )
            impulses[...] = 0.0
