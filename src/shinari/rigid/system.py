"""The joints and contacts of the bodies as one system: its elements, its graph, and its solution in a substep."""

import numpy as np

from shinari.contact.solid.shapes import CONE, CYLINDER
from shinari.model import Model
from shinari.rigid.bounce import drop_pulls, rub, speed_up, write_bounces
from shinari.rigid.contact.table import BodyContacts
from shinari.rigid.direct import shares_of, solve_direct
from shinari.rigid.elements import Bars, Elements
from shinari.rigid.frames import Frames
from shinari.rigid.graph import Graph, Places, graph_of, places_of
from shinari.rigid.impact_energy import (
    UNLIMITED,
    classify_components,
    drop_leaps,
    kinetic_energies,
    limit_bounces,
    limit_velocities,
    mark_missed,
    scale_impulses,
)
from shinari.rigid.joints.joints import Joints
from shinari.rigid.joints.table import DRIVE, FIRST, FLAGS, HAS_SWING, HAS_TRAVEL, HAS_TWIST, NO_DRIVE, SECOND
from shinari.rigid.line_search import APART, tighten
from shinari.rigid.model import RigidModel
from shinari.rigid.motion import derive, write_inertia
from shinari.rigid.points import PointWork, judge, keep_forces, meet, start_points
from shinari.rigid.report import PointLog
from shinari.rigid.sweeps import solve_sweeps
from shinari.settings import Settings
from shinari.state import State

# Newton steps of a substep. Most take one: bodies at rest keep their contacts.
MOST_STEPS = 30
# How often the limits of friction are taken anew in a substep, and how close they have to be.
MOST_RENEWALS, CLOSE = 4, 1e-2
# A key in two halves, each of which a float64 holds exactly.
HALF_KEY = 1 << 32
# A joint whose stiffness has changed by more than this part has come to a limit or off it.
OTHERWISE = 1e-2
# Part of the kinetic energy that the positions of an impact may gain before it is solved again without leaps.
MOST_GAIN = 1e-3
# Points for which it pays to wake one more thread.
SHARE = 512
# A joint's rows are straight for turns below the root of this [rad^2]; beyond, they are looked at again where they end.
FAR = 0.02**2


class System:
    """What acts between frames.

    Elements are numbered: joints, then points of contact; bars after them.

    Attributes:
        joints: The joints.
        contacts: The points of contact.
        log: What they pushed in the last step.
        steps: Newton steps of the last solution.
    """

    def __init__(self, rigid: RigidModel, frames: Frames, model: Model, state: State, settings: Settings) -> None:
        self._frames, self._settings, self._rigid = frames, settings, rigid
        self._free = frames.inverse_mass > 0.0
        self.joints = Joints(rigid.table, state.parts)
        weight = float(np.linalg.norm(model.gravity))
        self._gravity = tuple(model.gravity.tolist())
        self.contacts = BodyContacts(
            rigid.geoms, frames, settings.dt, settings.substep, weight, settings.contact_detection
        )
        self._curved = np.isin(rigid.geoms.shapes.kind, (CYLINDER, CONE))
        self._joint_count = len(rigid.joints)
        self._elements = Elements.zeros(self._joint_count)
        self._bars = Bars.zeros(self.joints.bars)
        self._bounded = bool(
            (rigid.table.codes[:, FLAGS] & (HAS_TRAVEL | HAS_TWIST | HAS_SWING)).any()
            or (rigid.table.codes[:, DRIVE] != NO_DRIVE).any()
        )
        self._work = PointWork.zeros(0)
        self.log = PointLog()
        self._moved = np.zeros((rigid.frame_count, 6))
        self._free_velocities = frames.v, frames.w
        self._active = rigid.table.active
        self._pairs = np.zeros(0, np.int64)
        self._graph: Graph | None = None
        self._places: Places | None = None
        self._placed = np.zeros((0, 2), np.int64)
        self._fresh, self._grown = True, False
        self.steps, self._open = 0, np.zeros(0, np.int64)
        self._d = self._blocks = self._g = np.zeros((0, 6))
        self._kept, self._bar_kept = np.zeros((self._joint_count, 6)), np.zeros(len(self._bars.force))

    def begin(self, threads: int) -> None:
        """A step begins."""
        self.contacts.begin(threads)
        self.joints.begin(self._frames)
        self.log.begin()
        self._kept[: self._joint_count] = -self.joints.loads
        self._fresh = True

    @property
    def driven(self) -> np.ndarray:
        """Frames on which a motor acts."""
        codes = self._rigid.table.codes
        return codes[codes[:, DRIVE] != NO_DRIVE, FIRST : SECOND + 1].ravel()

    def let_move(self, free: np.ndarray) -> None:
        """From now on these frames can move, (F,)."""
        if not np.array_equal(free, self._free):
            self._free, self._graph, self._places = free, None, None

    def end(self) -> None:
        """A step is over."""
        self.log.place(self.contacts.table, self._work.arms, self._frames)

    def remembered(self) -> np.ndarray:
        """What `recall` goes on from: the halves of the key of each point of contact, and what it carries, (P, 8)."""
        keys, rows = self.contacts.carried()
        return np.concatenate([(keys // HALF_KEY)[:, None], (keys % HALF_KEY)[:, None], rows], axis=1)

    def recall(self, remembered: np.ndarray) -> None:
        """Go on with the forces of points of contact that were remembered."""
        high, low = remembered[:, 0].astype(np.int64), remembered[:, 1].astype(np.int64)
        self.contacts.recall(high * HALF_KEY + low, remembered[:, 2:])

    def pushing_pairs(self) -> np.ndarray:
        """Frames that a joint or a pushing contact connects, (P, 2)."""
        points = self.contacts.table
        on = points.force[: points.count].any(axis=1)
        return np.concatenate([self._elements.frames[: self._joint_count], points.frames[: points.count][on]])

    def find(self, threads: int, slow: float) -> None:
        """A substep begins: find the points of contact at its start."""
        self._open = np.zeros(0, np.int64)
        self.contacts.find(threads)
        self._start(threads, slow)

    def find_left(self, threads: int, slow: float) -> bool:
        """Find the points of what the solution has thrown off its path; whether there is any.

        The poses are those of the solution; if it returns True they have to be set to those of the prediction, and the
        substep has to be solved again.
        """
        frames = self._frames
        if not self.contacts.find_left(threads):
            return False
        frames.x[...], frames.q[...] = frames.x0, frames.q0
        self._start(threads, slow)
        return True

    def _start(self, threads: int, slow: float) -> None:
        """Start the substep at the points of contact there are."""
        frames, h = self._frames, self._settings.substep
        points = self.contacts.table
        self._room(points.count)
        w = self._work
        parts = self._parts(threads, points.count)
        start_points(parts, points.count, points.frames, points.core, points.radius, points.normal, points.law,
                     points.force, w.arms, w.wanted, w.leap, w.stiff, w.load, w.mu, w.limit, w.fast,
                     frames.x, frames.q, frames.v, frames.w, frames.inverse_mass, frames.inverse_inertia,
                     self._gravity, h, self._settings.depenetration_speed, slow)  # fmt: skip

    def predicted(self) -> None:
        """The poses are predicted: nothing has been solved yet."""
        self._moved[...] = 0.0
        if self._work.fast[: self.contacts.table.count].any():
            self._free_velocities = self._frames.v.copy(), self._frames.w.copy()

    def solve(self, threads: int) -> None:
        """Solve the positions, again without the leaps of bounces where these contradict each other."""
        w, frames, count = self._work, self._frames, self.contacts.table.count
        if not w.leap[:count].any():
            self._solve_positions(threads)
            return
        changed = frames.x, frames.q, self._moved, w.limit
        before = [a.copy() for a in changed]
        self._solve_positions(threads)
        wrong = self._contradictory()
        if wrong.any() and self._places is not None:
            for now, was in zip(changed, before, strict=True):
                now[...] = was
            drop_leaps(count, self._joint_count, wrong, self._places.homes, w.wanted, w.leap)
            self._solve_positions(threads)

    def _contradictory(self) -> np.ndarray:
        """Components in which the leaps of bounces were missed or gained energy, (C,) bool."""
        frames, w, graph, places, count = self._frames, self._work, self._graph, self._places, self.contacts.table.count
        if graph is None or places is None:
            return np.zeros(0, bool)
        states, reference, limits = self._energy_limits(graph)
        after, energies = (frames.v.copy(), frames.w.copy()), np.zeros_like(limits)
        derive(frames.x, frames.q, *after, frames.x0, frames.q0, frames.inverse_mass, frames.moments,
               np.zeros(len(frames.x), bool), len(frames.x), self._settings.substep, 1.0)  # fmt: skip
        kinetic_energies(graph.nodes, graph.starts, *after, frames.q, frames.inverse_mass, frames.moments, reference,
                         energies)  # fmt: skip
        wrong = (energies > limits * (1.0 + MOST_GAIN)) & (states != UNLIMITED)
        mark_missed(count, self._joint_count, w.leap, w.gap, w.status, places.homes, wrong)
        return wrong

    def _energy_limits(self, graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """State, reference velocity and kinetic energy before the impacts of each component, (C,), (C, 3), (C,)."""
        frames, el, points = self._frames, self._elements, self.contacts.table
        states, reference = np.zeros(len(graph.direct), np.int64), np.zeros((len(graph.direct), 3))
        limits = np.zeros(len(graph.direct))
        free_v, free_w = self._free_velocities
        classify_components(points.count, self._joint_count, el.frames, self._work.status, points.law, self._active,
                            graph.node_of, graph.component_of, free_v, free_w, frames.impulses, reference,
                            states)  # fmt: skip
        kinetic_energies(graph.nodes, graph.starts, free_v, free_w, frames.q0, frames.inverse_mass, frames.moments,
                         reference, limits)  # fmt: skip
        return states, reference, limits

    def _solve_positions(self, threads: int) -> None:
        """Newton steps until the states of the contacts stay."""
        points, frames, w, el = self.contacts.table, self._frames, self._work, self._elements
        count, joints, h = points.count, self._joint_count, self._settings.substep
        parts = self._parts(threads, count)
        meet(parts, count, joints, points.frames, points.core, points.radius, points.normal, points.geoms,
             self._curved, w.arms, w.wanted, w.gap, w.slip, w.turn, points.law, w.status, frames.x, frames.q, frames.x0,
             frames.q0, el.frames, el.arms)  # fmt: skip
        self.joints.evaluate(frames, h, el, self._bars)
        graph, places = self._arrange(count)
        if len(graph.nodes) == 0:
            return
        unfinished = np.ones(len(graph.direct), np.int64)
        turns, pulls = np.zeros(len(graph.direct)), -self.joints.loads[:, :3]
        shares = np.array([0, len(graph.direct)])
        if threads > 1:
            shares = shares_of(np.diff(places.starts) + 4.0 * np.diff(graph.starts), threads)
        point_arguments = (parts, count, joints, points.normal, points.law, w.mu, w.gap, w.slip, w.turn, w.stiff,
                           w.load, w.limit, w.push, w.way, w.status, el.motion, el.force, el.stiffness,
                           places.homes)  # fmt: skip
        judge(*point_arguments[:3], True, *point_arguments[3:], unfinished)
        self.joints.swept[...] = ~np.append(graph.direct, True)[places.homes[:joints]]
        if not graph.direct.all():
            self._sweep(graph, places, count)
            unfinished = np.where(graph.direct, 1, 0)
        renewals, self._open = 0, np.zeros_like(unfinished)
        for self.steps in range(1, MOST_STEPS + 1):
            self._factor(threads, shares, unfinished, graph, places, turns, pulls, joints, count)
            judge(*point_arguments[:3], False, *point_arguments[3:], unfinished)
            # a step that was cut short goes on; so does one that turned a joint far
            unfinished[((turns > FAR) if joints else (turns == np.inf)) & (unfinished > 0)] = 2
            renewed = renewals < MOST_RENEWALS and self._renew_limits(count, unfinished, places)
            renewals += renewed
            if joints and (self._bounded or (unfinished == 2).any()):
                self._reconsider(unfinished, places.homes[:joints], places.homes[joints + count :])
            unfinished = np.where(unfinished == 2, 1, 0)
            self._open = unfinished
            if not unfinished.any():
                break
            if renewed:
                judge(*point_arguments[:3], True, *point_arguments[3:], unfinished)

    def _factor(
        self,
        threads: int,
        shares: np.ndarray,
        unfinished: np.ndarray,
        graph: Graph,
        places: Places,
        turns: np.ndarray,
        pulls: np.ndarray,
        first_point: int,
        count: int,
        bouncing: tuple | None = None,
    ) -> None:
        """A Newton step of unfinished components; `bouncing`: poses and motions to write in place of ours."""
        frames, el, bars, w, points = self._frames, self._elements, self._bars, self._work, self.contacts.table
        x, q, moved = (frames.x, frames.q, self._moved) if bouncing is None else bouncing
        solve_direct(
            threads, shares, unfinished, graph.direct, self._joint_count + count, graph.nodes, graph.starts,
            graph.columns, graph.rows, graph.targets, graph.target_starts, places.starts, places.order, places.nodes,
            el.arms, el.force, el.stiffness, el.motion, bars.jacobian, bars.force, bars.stiffness, bars.motion, x, q,
            frames.inverse_mass, frames.moments, moved, self._d, self._blocks, self._g, turns, pulls,
            self._settings.substep, first_point, points.normal, points.law, w.mu, w.gap, w.slip, w.stiff, w.load,
            w.limit, w.status, w.way
        )  # fmt: skip

    def bounce(self, threads: int) -> None:
        """The velocities of the substep are known: let go with the speed of restitution what has come too fast."""
        points, frames, w, el = self.contacts.table, self._frames, self._work, self._elements
        count, joints, h = points.count, self._joint_count, self._settings.substep
        if self._graph is None or self._places is None:
            return
        if not w.fast[:count].any():
            return
        homes, fast = self._places.homes[joints : joints + count], w.fast[:count] < 0.0
        near, chosen = (np.zeros(len(self._graph.direct), np.int64) for _ in range(2))
        near[homes[fast & (homes >= 0)]] = 1
        chosen[homes[fast & (homes >= 0) & (w.status[:count] != APART)]] = 1
        nodes, starts = self._graph.nodes, self._graph.starts
        states, reference, limits = self._energy_limits(self._graph)
        motion = frames.v, frames.w, frames.q, frames.inverse_mass, frames.moments, reference
        limit_velocities(nodes, starts, near, states, limits, *motion)
        if not chosen.any():
            return
        el.force[:joints], self._bars.force[...] = 0.0, 0.0
        write_bounces(count, joints, points.normal, points.law, w.fast, w.stiff, w.status, frames.v, frames.w,
                      el.frames, el.arms, h, el.force, el.stiffness)  # fmt: skip
        shares = shares_of(np.ones(len(chosen)), threads)
        for _ in range(2):
            moved = np.zeros_like(self._moved)
            self._factor(threads, shares, chosen, self._graph, self._places, np.zeros(len(chosen)), np.zeros((0, 3)),
                         joints + count, count, (frames.x.copy(), frames.q.copy(), moved))  # fmt: skip
            if not drop_pulls(count, joints, points.normal, el.force, el.stiffness, el.motion):
                break
        parts = np.ones_like(limits)
        limit_bounces(nodes, starts, states, limits, *motion, moved, h, parts)
        scale_impulses(count, joints, parts, self._places.homes, el.force, el.motion)
        speed_up(frames.v, frames.w, moved, h)
        # with that of the predicted poses, friction would increase the energy of a body that the impact has turned far
        inertia = np.zeros_like(frames.inverse_inertia)
        write_inertia(inertia, frames.inverse_mass, frames.moments, frames.q)
        rub(count, joints, points.normal, w.mu, w.fast, el.frames, el.arms, el.force, el.stiffness, el.motion,
            frames.v, frames.w, frames.inverse_mass, inertia, h)  # fmt: skip

    def _renew_limits(self, count: int, unfinished: np.ndarray, places: Places) -> bool:
        """Take the limits of friction anew in components whose points keep their states; whether that changes any."""
        settled = (unfinished == 1).astype(np.int64)
        if not settled.any():
            return False
        w, points = self._work, self.contacts.table
        tighten(count, self._joint_count, points.normal, w.mu, w.limit, w.status, w.push, places.homes, settled, CLOSE)
        unfinished[settled == 2] = 2
        return bool((settled == 2).any())

    def _reconsider(self, unfinished: np.ndarray, homes: np.ndarray, bar_homes: np.ndarray) -> None:
        """Evaluate the joints where the bodies are now, and find those whose limits or motors have changed.

        What is finished keeps the forces that its motion was found with: what is left of a turn at second order would
        else be taken for a force.
        """
        el, count = self._elements, self._joint_count
        gears = [getattr(self._bars, name).copy() for name in ("jacobian", "force", "stiffness")]
        before = el.force[:count].copy(), el.stiffness[:count].copy(), self.joints.rows.copy()
        self.joints.evaluate(self._frames, self._settings.substep, el, self._bars)
        sizes = np.abs(before[1]).max(axis=1) + np.abs(el.stiffness[:count]).max(axis=1)
        other = np.abs(el.stiffness[:count] - before[1]).max(axis=1) > OTHERWISE * sizes
        other &= (homes >= 0) & (unfinished[homes] > 0)
        unfinished[homes[other]] = 2
        done = (homes < 0) | (unfinished[homes] != 2)
        kept = (bar_homes < 0) | (unfinished[bar_homes] != 2)
        for now, was in zip((el.force[:count], el.stiffness[:count], self.joints.rows), before, strict=True):
            now[done] = was[done]
        for now, was in zip((self._bars.jacobian, self._bars.force, self._bars.stiffness), gears, strict=True):
            now[kept] = was[kept]

    def _sweep(self, graph: Graph, places: Places, count: int) -> None:
        """Solve the components that are too costly to factor."""
        points, frames, w, el, bars = self.contacts.table, self._frames, self._work, self._elements, self._bars
        joints = self._joint_count
        self._kept[joints : joints + count, :3] = w.load[:count]
        solve_sweeps(
            graph.direct, joints, joints + count, graph.nodes, graph.starts, places.starts, places.order, places.nodes,
            el.frames, el.arms, el.force, el.stiffness, el.motion, self._kept, bars.frames, bars.jacobian, bars.force,
            bars.stiffness, bars.motion, self._bar_kept, points.normal, points.law, w.gap, w.slip, w.stiff, w.load,
            w.push, frames.x, frames.q, frames.inverse_mass, frames.inverse_inertia, self._moved, self._g,
            self._settings.substep
        )  # fmt: skip

    def finish(self) -> None:
        """The substep is over: carry its forces on to the next."""
        points = self.contacts.table
        keep_forces(points.count, self._work.push, points.force)
        if self._open.any() and self._places is not None:
            # forces that were not found are no guess for the next substep
            homes = self._places.homes[self._joint_count : self._joint_count + points.count]
            points.force[: points.count][(homes >= 0) & (self._open[homes] > 0)] = 0.0
        self.log.add(points, self._work.arms, self._work.push, self._frames, self._settings.substep)
        self.joints.settle(self._frames, self._settings.substep, self._elements, self._bars)
        if self.joints.break_over():
            self._places = None

    @staticmethod
    def _parts(threads: int, count: int) -> int:
        """Threads that so many points are worth."""
        return max(1, min(threads, count // SHARE))

    def _room(self, count: int) -> None:
        """Make room for so many points."""
        if count > len(self._work.gap):
            room = 2 * count
            self._work = PointWork.zeros(room)
            self._kept = np.concatenate([self._kept[: self._joint_count], np.zeros((room, 6))])
            old, self._elements = self._elements, Elements.zeros(self._joint_count + room)
            for name in ("frames", "arms", "force", "stiffness", "motion"):
                getattr(self._elements, name)[: self._joint_count] = getattr(old, name)[: self._joint_count]

    def _arrange(self, count: int) -> tuple[Graph, Places]:
        """The graph of the elements there are, and where they stand in it.

        In a step the graph grows by the pairs that come into contact; each step begins anew from what it finds, so
        that it depends on the state alone.
        """
        used = np.concatenate([self._elements.frames[: self._joint_count + count], self._bars.frames])
        same = self._places is not None and np.array_equal(used, self._placed)
        if not same or (self._fresh and self._grown):
            frames = self._rigid.frame_count
            pairs = np.unique(used.min(axis=1) * frames + used.max(axis=1))
            known = pairs if self._fresh else np.union1d(self._pairs, pairs)
            self._grown = len(known) > len(pairs)
            if self._graph is None or not np.array_equal(known, self._pairs):
                self._pairs = known
                ends = np.stack([known // frames, known % frames], axis=1)
                self._graph = graph_of(ends, self._free, self._settings.rigid_solver)
                self._d, self._g = np.zeros((len(self._graph.nodes), 36)), np.zeros((len(self._graph.nodes), 6))
                self._blocks = np.zeros((len(self._graph.rows), 36))
            self._places, self._placed = places_of(self._graph, used), used
        self._fresh = False
        assert self._graph is not None
        assert self._places is not None
        return self._graph, self._places
