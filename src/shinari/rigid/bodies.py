"""The rigid bodies of a simulation: what a step calls, in the order of the algorithm.

Mueller et al. 2020, algorithm 2: predict, solve the positions of joints and contacts, derive the velocities. In
place of a sweep over rows, the rows of a component are solved together; see `shinari.rigid.direct`.
"""

import math

import numpy as np

from shinari.contact.report import Contacts
from shinari.model import Model
from shinari.rigid import model as names
from shinari.rigid import sleep
from shinari.rigid.model import RigidModel
from shinari.rigid.motion import accelerate, as_frame, derive, predict, write_inertia
from shinari.rigid.system import System
from shinari.scene.motion import pose_at
from shinari.settings import Settings
from shinari.state import State

# A body bounces when it comes faster than what gravity adds in so many substeps.
SLOW = 2.0
# How often the contacts of a substep are solved again for what they have thrown off its path, at most.
MOST_AGAIN = 3


class Bodies:
    """The rigid bodies bound to the arrays of one simulation.

    Attributes:
        frames: Poses and velocities during a substep.
        system: Joints and contacts, and their solution.
    """

    def __init__(self, model: Model, rigid: RigidModel, state: State, settings: Settings) -> None:
        self._rigid, self._state, self._settings = rigid, state, settings
        self._gravity, self._damping = model.gravity, model.damping
        self.frames = rigid.frames()
        self._asleep = np.zeros(rigid.frame_count, bool)
        self._driven = [(i, b.motion) for i, b in enumerate(rigid.bodies) if b.motion is not None]
        seen = rigid.published(state.parts["bodies/x"], state.parts["bodies/q"])
        self._shown = dict(zip((names.POSITIONS, names.ROTATIONS), seen, strict=True))
        self.system = System(rigid, self.frames, model, state, settings)
        self._pushed, self._lost = 0.0, False
        self._slow = SLOW * settings.substep * float(np.linalg.norm(self._gravity))
        self._before = self.frames.v, self.frames.w
        self.system.recall(state.parts["bodies/contacts"])
        self._collide(0.0)

    def begin(self, time: float, threads: int) -> None:
        """A step begins at a time [s]."""
        self._take_in()
        self._collide(time)
        self._rest()
        frames = self.frames
        write_inertia(frames.inverse_inertia, frames.inverse_mass, frames.moments, frames.q)
        frames.impulses[...] = 0.0
        self._pushed = 0.0
        self.system.begin(threads)

    def predict(self, end: float, threads: int) -> None:
        """A substep begins that ends at a time [s]: find the contacts, then predict the poses."""
        frames, h = self.frames, self._settings.substep
        # contacts are not looked for among poses that are no numbers; the step will say so at its end
        self._lost = self._lost or not self._finite()
        if self._lost:
            return
        frames.x0[...], frames.q0[...] = frames.x, frames.q
        self.system.find(threads, self._slow)
        if self.system.contacts.fast:
            self._before = frames.v.copy(), frames.w.copy()
        accelerate(frames.v, frames.inverse_mass, self._asleep, h * self._gravity)
        predict(frames.x, frames.q, frames.v, frames.w, frames.x0, frames.q0, frames.inverse_mass, frames.moments,
                frames.inverse_inertia, self._asleep, len(self._rigid.bodies), h)  # fmt: skip
        self._drive(end)
        self.system.predicted()

    def project(self, threads: int, first: bool) -> None:
        """Solve the joints and contacts of all bodies, again only when something has pushed them since."""
        if self._lost:
            return
        pushed = float(np.abs(self.frames.impulses).sum())
        if first or pushed != self._pushed:
            self._solve(threads)
        self._pushed = pushed

    def _solve(self, threads: int) -> None:
        """Solve joints and contacts, again with what they throw something against that is too fast to be known of."""
        frames, system = self.frames, self.system
        if not system.contacts.fast:
            system.solve(threads)
            return
        x, q, v, w = (values.copy() for values in (frames.x, frames.q, frames.v, frames.w))
        for turn in range(MOST_AGAIN + 1):
            system.solve(threads)
            frames.v[...], frames.w[...] = self._before
            again = turn < MOST_AGAIN and system.find_left(threads, self._slow)
            frames.v[...], frames.w[...] = v, w
            if not again:
                break
            frames.x[...], frames.q[...] = x, q
            system.predicted()

    def finish(self, threads: int) -> None:
        """The poses of the substep are final: derive the velocities, and keep the forces."""
        if self._lost:
            return
        frames, h = self.frames, self._settings.substep
        derive(frames.x, frames.q, frames.v, frames.w, frames.x0, frames.q0, frames.inverse_mass, frames.moments,
               self._asleep, len(self._rigid.bodies), h, math.exp(-self._damping * h))  # fmt: skip
        self.system.finish()
        self.system.bounce(threads)

    def contacts(self) -> Contacts:
        """The contacts of bodies with each other and with colliders that pushed in the last step."""
        rigid = self._rigid
        named = [b.name for b in rigid.bodies] + ["world"] + [c.name for c in rigid.colliders]
        return self.system.log.contacts(np.array(named), self._settings.dt)

    def lost(self) -> str:
        """Name of the first body with a pose or velocity that is no finite number."""
        count, f = len(self._rigid.bodies), self.frames
        good = np.isfinite(np.concatenate([f.x, f.q, f.v, f.w], axis=1)[:count]).all(axis=1)
        return self._rigid.bodies[int(np.argmin(good))].name

    def publish(self) -> bool:
        """Show the poses and velocities to the user; False, and nothing shown, when one is no finite number."""
        count, frames, parts = len(self._rigid.bodies), self.frames, self._state.parts
        x, q, v, w = frames.x[:count], frames.q[:count], frames.v[:count], frames.w[:count]
        if self._lost or not self._finite():
            return False
        if self._settings.sleeping:
            self._tire()
        parts["bodies/x"][...], parts["bodies/q"][...] = x, q
        parts["bodies/contacts"] = self.system.remembered()
        self.system.end()
        parts[names.POSITIONS][...], parts[names.ROTATIONS][...] = self._rigid.published(x, q)
        parts[names.VELOCITIES][...], parts[names.SPINS][...] = v, w
        for name, shown in self._shown.items():
            shown[...] = parts[name]
        return True

    def _finite(self) -> bool:
        """Whether all poses and velocities are finite numbers."""
        f = self.frames
        with np.errstate(over="ignore", invalid="ignore"):
            total = float(f.x.sum()) + float(f.q.sum()) + float(f.v.sum()) + float(f.w.sum())
        return math.isfinite(total)

    def _rest(self) -> None:
        """Let those sleep that have been idle for long enough, unless a user has given them a speed."""
        if not self._settings.sleeping:
            return
        count, frames, idle = len(self._rigid.bodies), self.frames, self._state.parts["bodies/idle"]
        idle[frames.v[:count].any(axis=1) | frames.w[:count].any(axis=1)] %= sleep.WAIT
        self._asleep[:count] = sleep.asleep(idle)
        self.system.let_move((frames.inverse_mass > 0.0) & ~self._asleep)

    def _tire(self) -> None:
        """The step is over: follow how long bodies have been idle, and stop those that fall asleep."""
        count, frames, idle = len(self._rigid.bodies), self.frames, self._state.parts["bodies/idle"]
        free = frames.inverse_mass > 0.0
        stirred = np.where(free, frames.impulses.any(axis=1), frames.v.any(axis=1) | frames.w.any(axis=1))
        stirred[self.system.driven] = True
        v, w = frames.v[:count], frames.w[:count]
        sleep.follow(idle, v, w, self.system.pushing_pairs(), free, stirred, self._settings.dt)
        down = sleep.asleep(idle) & free[:count]
        v[down], w[down] = 0.0, 0.0

    def _take_in(self) -> None:
        """Take over what the user has written; poses that were not touched keep all of their digits."""
        parts, frames = self._state.parts, self.frames
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

    def _drive(self, end: float) -> None:
        """Move colliders, and bodies with a motion, to the end of the substep."""
        frames, first, h = self.frames, self._rigid.world + 1, self._settings.substep
        for k, collider in enumerate(self._rigid.colliders):
            if collider.motion is not None:
                pose = pose_at(collider.motion, end, collider.rotation, f"collider {collider.name!r}: motion")
                frames.x[first + k], frames.q[first + k] = pose
        self._follow(end)
        moving = [first + k for k, c in enumerate(self._rigid.colliders) if c.motion is not None]
        self._speeds(moving + [i for i, _ in self._driven], h)

    def _follow(self, time: float) -> None:
        for i, motion in self._driven:
            body = self._rigid.bodies[i]
            position, rotation = pose_at(motion, time, body.rotation, f"body {body.name!r}: motion")
            self.frames.x[i], self.frames.q[i] = as_frame(position, rotation, body.centre, body.axes)

    def _speeds(self, which: list[int], h: float) -> None:
        """Velocities of what goes where a function of time puts it."""
        if which:
            chosen, f = np.array(which), self.frames
            x, q, v, w, x0, q0 = (a[chosen] for a in (f.x, f.q, f.v, f.w, f.x0, f.q0))
            ones = np.ones(len(chosen))
            derive(x, q, v, w, x0, q0, ones, np.ones((len(chosen), 3)), ones == 0.0, len(chosen), h, 1.0)
            f.v[chosen], f.w[chosen] = v, w
