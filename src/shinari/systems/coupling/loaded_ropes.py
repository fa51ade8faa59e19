"""Ropes that carry loads, as a part of the model; see `rope_nets` for which they are, and `rope_solver`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari.compute import Program
from shinari.constraints.coincidence import COINCIDENCE
from shinari.constraints.distance import DISTANCE
from shinari.model.contact_passes import ContactPasses
from shinari.model.model import Model
from shinari.model.state import State
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.systems.coupling.attachment_rows import AttachmentRows
from shinari.systems.coupling.attachments import Attachments
from shinari.systems.coupling.block_elimination import Blocks, Pivots
from shinari.systems.coupling.records import BodySweeps
from shinari.systems.coupling.response import begin_body_sweep, end_body_sweep
from shinari.systems.coupling.rope_nets import RopeNet, rope_nets
from shinari.systems.coupling.rope_solver import (
    RopeLinks,
    RopeNets,
    RopePoints,
    StoredEnergy,
    ask_for_passes,
    begin_nets,
    solve_nets,
    tell_energy,
    tell_knot,
    tell_pull,
)
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.model import frames_of
from shinari.systems.rows.system import block_solvers

ELASTIC = "ropes/elastic"


@dataclass(frozen=True)
class LoadedRopesModel(SystemModel):
    """Ropes that may carry loads."""

    def start(self, model: Model) -> dict[str, np.ndarray]:
        """What ropes store because their rows give by a thousandth [J], an entry for each object, (T,)."""
        return {ELASTIC: np.zeros(int(model.owners.max()) + 1)}

    def energy(self, model: Model, state: State, h: float) -> tuple[float, float, float]:
        """None, and that elastic energy [J]."""
        return 0.0, 0.0, float(state.system_arrays[ELASTIC].sum())

    def bind(self, bound: BoundSystems) -> "list[LoadedRopes]":
        """The ropes of a simulation that sweeps would leave too long; none where they are not swept in order."""
        settings, attachments = bound.settings, bound.find(Attachments)
        swept = settings.method == "xpbd" and settings.sweep == "gauss-seidel" and not settings.hierarchy
        found = rope_nets(bound, None if attachments is None else attachments.rows) if swept else []
        stored = bound.state.system_arrays[ELASTIC]
        solved = [bound.model.owners[net.particles] for net in found]
        stored[np.isin(np.arange(len(stored)), np.concatenate([*solved, np.zeros(0, np.int64)]), invert=True)] = 0.0
        return [LoadedRopes(found, bound)] if found else []


class LoadedRopes(System):
    """Ropes of one simulation that carry loads."""

    order = 50
    can_rest = True
    repeated = True
    most_passes = 24
    on_device = True

    def __init__(self, nets: list[RopeNet], bound: BoundSystems) -> None:
        solvers, attachments = block_solvers(bound), bound.find(Attachments)
        self._segments, self._knots = solvers[DISTANCE.name], solvers.get(COINCIDENCE.name)
        self._h, self._particles, self._origins = bound.settings.substep, bound.particles, bound.origins
        self._stored = StoredEnergy(energy=bound.state.system_arrays[ELASTIC])
        self._place(nets, bound)
        self._attachments = AttachmentRows.zeros(0)
        self._points.attachment[:] = -1
        if attachments is not None:
            self._attachments, held = attachments.records, attachments.rows
            row_of = {int(held.particles[m]): m for m in np.flatnonzero(held.tight)[::-1]}
            self._points.attachment[:] = [row_of.get(int(i), -1) for i in self._points.particle]
        for solver, rows in ((self._segments, self._links.row), (self._knots, self._links.knot)):
            if solver is not None:
                solver.leave(rows[rows >= 0])

    def _place(self, nets: list[RopeNet], bound: BoundSystems) -> None:
        """Make the records of all nets, one net after the other."""
        orders = [net.elimination() for net in nets]
        points, links = _starts([net.particles for net in nets]), _starts([net.links for net in nets])
        blocks, fills = _starts([order.rows for order in orders]), _starts([order.fills for order in orders])
        self._nets = RopeNets(
            begin=points[:-1], end=points[1:], first_link=links[:-1], end_link=links[1:],
            shortest=np.array([net.shortest for net in nets]), fresh=np.ones(len(nets), bool),
        )  # fmt: skip
        self._points, self._pivots = RopePoints.zeros(points[-1]), Pivots.zeros(points[-1])
        self._links = RopeLinks.zeros(links[-1])
        self._blocks = Blocks(
            row=np.zeros(blocks[-1], np.int64), value=np.zeros((blocks[-1], 9)), fill=np.zeros(fills[-1], np.int64)
        )
        for net, order, p, j, b, f in zip(nets, orders, points, links, blocks, fills, strict=False):
            own = slice(p, p + len(net.particles))
            self._points.particle[own] = net.particles[order.order]
            self._pivots.first[own], self._pivots.end[own] = b + order.firsts[:-1], b + order.firsts[1:]
            self._pivots.fill[own] = f + order.first_fills[:-1]
            self._blocks.row[b : b + len(order.rows)] = p + order.rows
            self._blocks.fill[f : f + len(order.fills)] = b + order.fills
            place = {int(i): k for k, i in enumerate(self._points.particle[own])}
            for number, link in enumerate(net.links, int(j)):
                first, second = sorted(place[i] for i in link.points)
                self._links.first[number], self._links.second[number] = p + first, p + second
                self._links.block[number] = b + order.block(first, second)
                self._links.row[number], self._links.knot[number] = link.row, link.knot
                self._links.object[number] = bound.model.owners[self._points.particle[p + first]]
                self._links.side[number] = 1.0 if place[link.points[0]] == first else -1.0
            for name, values in net.springs(bound).items():
                getattr(self._links, name)[j : j + len(net.links)] = values

    def connect(self, bound: BoundSystems) -> None:
        """Take the frames of the bodies."""
        frames = frames_of(bound)
        self._frames = Frames.zeros(0) if frames is None else frames
        self._body_sweeps = BodySweeps.zeros(len(self._frames))

    def record_between(self, p: Program) -> None:
        """Record that ropes are solved again after contacts have moved them."""
        self.record_project(p, False)

    def record_project(self, p: Program, first: bool) -> None:
        """Record that all ropes are solved once."""
        frames, body_sweeps = self._frames, self._body_sweeps
        if first:
            p.launch(begin_nets, self._nets, self._links, self._segments.access.parameters, count=len(self._nets))
        p.launch(begin_body_sweep, frames, body_sweeps, count=len(frames))
        p.serial(
            solve_nets, self._nets, self._points, self._pivots, self._links, self._blocks,
            self._particles, self._origins, frames, body_sweeps, self._attachments, self._h,
        )  # fmt: skip
        p.launch(end_body_sweep, frames, body_sweeps, self._h, count=len(frames))

    def record_overlap(self, p: Program, passes: ContactPasses) -> None:
        """Record that all passes are asked for while contacts move nets."""
        p.serial(ask_for_passes, self._nets, self._points, self._particles, passes, self.most_passes)

    def record_finish(self, p: Program) -> None:
        """Record that pulls and energies are told."""
        p.serial(tell_energy, self._links, self._stored, self._h)
        p.launch(tell_pull, self._links, self._segments.multipliers, count=len(self._links))
        if self._knots is not None:
            p.launch(tell_knot, self._links, self._knots.multipliers, count=len(self._links))


def _starts(parts: list[Any]) -> np.ndarray:
    """Where each part begins when all are laid end to end, and the end, (parts + 1,)."""
    return np.cumsum([0, *map(len, parts)])
