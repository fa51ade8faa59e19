"""The rigid bodies of a simulation: what a step calls, in the order of the algorithm.

Mueller et al. 2020, algorithm 2: predict, solve the positions of joints and contacts, derive the velocities. In
place of a sweep over rows, the rows of a component are solved together; see `shinari.systems.rigid.direct`.
"""

import math

import numpy as np

from shinari.collision.law import slow_approach
from shinari.collision.report import Contacts
from shinari.compute import Program
from shinari.geometry.motion import pose_at
from shinari.model.model import Model
from shinari.model.particles import Clock
from shinari.model.settings import Settings
from shinari.model.state import State
from shinari.model.system import System
from shinari.systems.rigid import model as names
from shinari.systems.rigid import sleep
from shinari.systems.rigid.equations import BodyEquations
from shinari.systems.rigid.frames import Driven, Path
from shinari.systems.rigid.model import RigidModel
from shinari.systems.rigid.motion import (
    as_frame,
    compare_impulses,
    derive_velocities,
    drive_frame,
    find_lost_frame,
    keep_predicted_pose,
    keep_prediction,
    predict_body,
    start_substep,
    take_later_velocity,
    take_predicted_pose,
    take_start_pose,
    take_start_velocity,
    update_inertia,
)
from shinari.systems.rigid.progress import Lost, Pushed

# How often the contacts of a substep are solved again for what they have thrown off its path, at most.
MOST_AGAIN = 3


class RigidBodySystem(System):
    """The rigid bodies bound to the arrays of one simulation.

    Attributes:
        frames: Poses and velocities during a substep.
        equations: Joints and contacts, and their solution.
    """

    order = 30
    repeated = True

    def __init__(self, model: Model, rigid: RigidModel, state: State, settings: Settings, clock: Clock) -> None:
        self._rigid, self._state, self._settings, self._clock = rigid, state, settings, clock
        self._gravity, self._damping = model.gravity, model.damping
        self.frames = rigid.frames()
        self._moving = [(k, c.motion) for k, c in enumerate(rigid.colliders) if c.motion is not None]
        self._driven = [(i, b.motion) for i, b in enumerate(rigid.bodies) if b.motion is not None]
        which = [rigid.world + 1 + k for k, _ in self._moving] + [i for i, _ in self._driven]
        self._driven_frames = Driven(frame=np.array(which, np.int64))
        self._path = Path.zeros(settings.substeps * len(which))
        seen = rigid.published(state.system_arrays["bodies/x"], state.system_arrays["bodies/q"])
        self._shown = dict(zip((names.POSITIONS, names.ROTATIONS), seen, strict=True))
        self.equations = BodyEquations(rigid, self.frames, model, state, settings)
        self._pushed = Pushed.zeros(1)
        self.equations.flags.finite[0] = 1
        self._slow = slow_approach(self._gravity, settings.substep)
        self._lost = Lost.zeros(1)
        self.equations.recall(state.system_arrays["bodies/contacts"])
        self._collide(0.0)

    def begin(self, time: float, ends: np.ndarray) -> None:
        """A step begins at a time [s]."""
        self._read_user_state()
        self._collide(time)
        self._tabulate(time)
        self._rest()
        self.frames.impulses[...] = 0.0
        self._pushed.total[0] = 0.0
        self.equations.begin()

    def record_begin(self, p: Program) -> None:
        """A step begins."""
        p.launch(update_inertia, self.frames, count=len(self.frames))
        self.equations.record_begin(p)

    def record_detect(self, p: Program) -> None:
        """A substep begins: find the contacts at its start.

        They are not looked for among poses that are no numbers: then no body moves any more, and the step says so at
        its end.
        """
        p.launch(start_substep, self.frames, self.equations.motions, self.equations.flags, count=len(self.frames))
        with p.when(self._finite):
            self.equations.record_detect(p, self._slow)

    def record_predict(self, p: Program) -> None:
        """Predict the poses."""
        frames, motions, h = self.frames, self.equations.motions, self._settings.substep
        with p.when(self._finite):
            p.launch(predict_body, frames, motions, *(h * self._gravity), h, count=len(self._rigid.bodies))
            records = self._driven_frames, self._path, frames, self._clock
            p.launch(drive_frame, *records, h, count=len(self._driven_frames))
            p.launch(keep_prediction, frames, motions, count=len(frames))

    def record_contacts(self, p: Program, first: bool) -> None:
        """Solve the joints and contacts of all bodies, again only when something has pushed them since."""
        flags = self.equations.flags
        with p.when(self._finite):
            p.serial(compare_impulses, self.frames, self._pushed, flags)
            if first:
                p.copy(1, (flags.again, 0))
            with p.when((flags.again, 0)):
                self._record_solve(p)

    def _record_solve(self, p: Program) -> None:
        """Solve joints and contacts, again with what they throw something against that is too fast to be known of."""
        equations, frames, motions, flags = self.equations, self.frames, self.equations.motions, self.equations.flags
        contacts, count = equations.contacts, len(self.frames)
        with p.when(contacts.fast_cell):
            p.launch(keep_predicted_pose, frames, motions, count=count)
        equations.record_solve(p)
        with p.when(contacts.fast_cell), p.repeat(MOST_AGAIN, until=(flags.on_path, 0)):
            p.copy(1, (flags.on_path, 0))
            p.launch(take_start_velocity, frames, motions, count=count)
            contacts.record_find_left(p)
            with p.when(contacts.thrown_cell):
                p.copy(0, (flags.on_path, 0))
                p.launch(take_start_pose, frames, count=count)
                equations.record_points(p, self._slow)
                p.launch(take_predicted_pose, frames, motions, count=count)
            p.launch(take_later_velocity, frames, motions, count=count)
            with p.when(contacts.thrown_cell):
                equations.record_solve(p)

    def record_velocities(self, p: Program) -> None:
        """The poses of the substep are final: derive the velocities, and keep the forces."""
        h = self._settings.substep
        with p.when(self._finite):
            records, decay = (self.frames, self.equations.motions), math.exp(-self._damping * h)
            p.launch(derive_velocities, *records, h, decay, count=len(self._rigid.bodies))
            self.equations.record_finish(p)
            self.equations.record_bounce(p)

    @property
    def _finite(self) -> tuple[np.ndarray, int]:
        """Where it stands whether all poses and velocities are finite numbers."""
        return self.equations.flags.finite, 0

    def record_check(self, p: Program) -> None:
        """Stop the run where a pose or velocity is no finite number."""
        p.serial(find_lost_frame, self.frames, self.equations.flags, self._lost, len(self._rigid.bodies))
        p.stop_if((self._lost.flag, 0))

    def contacts(self) -> Contacts:
        """The contacts of bodies with each other and with colliders that pushed in the last step."""
        rigid = self._rigid
        named = [b.name for b in rigid.bodies] + ["world"] + [c.name for c in rigid.colliders]
        return self.equations.log.contacts(np.array(named), self._settings.dt)

    def non_finite(self) -> str:
        """Name of the first body with a pose or velocity that is no finite number."""
        count, f = len(self._rigid.bodies), self.frames
        good = np.isfinite(np.concatenate([f.x, f.q, f.v, f.w], axis=1)[:count]).all(axis=1)
        return self._rigid.bodies[int(np.argmin(good))].name

    def end(self) -> None:
        """Show the poses and velocities to the user."""
        count, frames, parts = len(self._rigid.bodies), self.frames, self._state.system_arrays
        x, q, v, w = frames.x[:count], frames.q[:count], frames.v[:count], frames.w[:count]
        if self._settings.sleeping:
            self._update_idle_times()
        parts["bodies/x"][...], parts["bodies/q"][...] = x, q
        parts["bodies/contacts"] = self.equations.remembered()
        self.equations.end()
        parts[names.POSITIONS][...], parts[names.ROTATIONS][...] = self._rigid.published(x, q)
        parts[names.VELOCITIES][...], parts[names.SPINS][...] = v, w
        for name, shown in self._shown.items():
            shown[...] = parts[name]
        self._state.external_work += self.equations.joints.work

    def _rest(self) -> None:
        """Let those sleep that have been idle for long enough, unless a user has given them a speed."""
        if not self._settings.sleeping:
            return
        count, frames, idle = len(self._rigid.bodies), self.frames, self._state.system_arrays["bodies/idle"]
        idle[frames.v[:count].any(axis=1) | frames.w[:count].any(axis=1)] %= sleep.WAIT
        frames.asleep[:count] = sleep.asleep(idle)
        self.equations.let_move((frames.inverse_mass > 0.0) & ~frames.asleep)

    def _update_idle_times(self) -> None:
        """The step is over: follow how long bodies have been idle, and stop those that fall asleep."""
        count, frames, idle = len(self._rigid.bodies), self.frames, self._state.system_arrays["bodies/idle"]
        free = frames.inverse_mass > 0.0
        stirred = np.where(free, frames.impulses.any(axis=1), frames.v.any(axis=1) | frames.w.any(axis=1))
        stirred[self.equations.driven] = True
        v, w = frames.v[:count], frames.w[:count]
        sleep.follow(idle, v, w, self.equations.active_pairs(), free, stirred, self._settings.dt)
        down = sleep.asleep(idle) & free[:count]
        v[down], w[down] = 0.0, 0.0

    def _read_user_state(self) -> None:
        """Take over what the user has written; poses that were not touched keep all of their digits."""
        parts, frames = self._state.system_arrays, self.frames
        count = len(self._rigid.bodies)
        frames.x[:count], frames.q[:count] = parts["bodies/x"], parts["bodies/q"]
        frames.v[:count], frames.w[:count] = parts[names.VELOCITIES], parts[names.SPINS]
        moved = [(parts[name] != shown).any(axis=1) for name, shown in self._shown.items()]
        for i in np.flatnonzero(moved[0] | moved[1]):
            body, rotation = self._rigid.bodies[i], parts[names.ROTATIONS][i]
            rotation = rotation / np.linalg.norm(rotation)
            parts["bodies/idle"][i] = 0.0
            frames.x[i], frames.q[i] = as_frame(parts[names.POSITIONS][i], rotation, body.centre, body.axes)

    def _collide(self, time: float) -> None:
        """Put colliders, and bodies with a motion, where they are at a time."""
        frames, first = self.frames, self._rigid.world + 1
        for k, collider in enumerate(self._rigid.colliders):
            pose = (collider.position, collider.rotation)
            if collider.motion is not None:
                pose = pose_at(collider.motion, time, collider.rotation, f"collider {collider.name!r}: motion")
            frames.x[first + k], frames.q[first + k] = pose
        self._follow(time)

    def _tabulate(self, time: float) -> None:
        """Poses of what goes where a function of time puts it, at the ends of the substeps of a step."""
        settings, count, bodies = self._settings, len(self._driven_frames), self._rigid.bodies
        for substep in range(settings.substeps if count else 0):
            end, at = time + settings.substep * (substep + 1), substep * count
            for k, motion in self._moving:
                collider = self._rigid.colliders[k]
                pose = pose_at(motion, end, collider.rotation, f"collider {collider.name!r}: motion")
                self._path.x[at], self._path.q[at] = pose
                at += 1
            for i, motion in self._driven:
                position, rotation = pose_at(motion, end, bodies[i].rotation, f"body {bodies[i].name!r}: motion")
                self._path.x[at], self._path.q[at] = as_frame(position, rotation, bodies[i].centre, bodies[i].axes)
                at += 1

    def _follow(self, time: float) -> None:
        for i, motion in self._driven:
            body = self._rigid.bodies[i]
            position, rotation = pose_at(motion, time, body.rotation, f"body {body.name!r}: motion")
            self.frames.x[i], self.frames.q[i] = as_frame(position, rotation, body.centre, body.axes)
