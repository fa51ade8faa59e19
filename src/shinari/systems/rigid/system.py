"""The system of rigid bodies: its phases, in the order of the algorithm.

Mueller et al. 2020, algorithm 2: predict, solve the positions of joints and contacts, derive the velocities. In
place of a sweep over rows, the rows of a component are solved together; see `shinari.systems.rigid.direct`.
"""

import math

import numpy as np

from shinari.collision.report import Contacts
from shinari.compute import Program
from shinari.geometry.motion import pose_at, poses_at
from shinari.model.model import Model
from shinari.model.particles import Clock
from shinari.model.settings import Settings
from shinari.model.state import State
from shinari.model.system import System
from shinari.systems.rigid import model as names
from shinari.systems.rigid import sleep
from shinari.systems.rigid.contact.collision_shapes import CollisionShapes
from shinari.systems.rigid.equations import BodyEquations
from shinari.systems.rigid.frames import Frames, KinematicFrames, Path
from shinari.systems.rigid.integration import (
    as_frame,
    compare_impulses,
    derive_velocities,
    expect_kinematic_frame,
    find_non_finite,
    predict_body,
    predict_woken,
    restore_final_velocity,
    restore_predicted_pose,
    restore_start_pose,
    restore_start_velocity,
    set_kinematic_frame,
    start_substep,
    store_predicted_pose,
    store_predicted_velocity,
    update_inertia,
)
from shinari.systems.rigid.medium import drag_body, dragged
from shinari.systems.rigid.model import RigidModel
from shinari.systems.rigid.progress import ExternalImpulses, NonFinite

# Most repeated solutions of a substep for frames that left their paths.
MOST_AGAIN = 3


class RigidBodySystem(System):
    """The rigid bodies bound to the arrays of one simulation.

    Attributes:
        frames: Poses and velocities during a substep.
        equations: Joints and contacts, and their solution.
    """

    order = 30
    can_rest = True
    on_device = True
    advice = "bodies in motion; resting ones sleep unless sleep=False; fewer substeps are faster"
    repeated = True

    def __init__(self, model: Model, rigid: RigidModel, state: State, settings: Settings, clock: Clock) -> None:
        self._rigid, self._state, self._settings, self._clock = rigid, state, settings, clock
        self._gravity, self._damping = model.gravity, model.damping
        self.frames = rigid.frames()
        self._moving = [(k, c.motion) for k, c in enumerate(rigid.colliders) if c.motion is not None]
        self._kinematic = [(i, b.motion) for i, b in enumerate(rigid.bodies) if b.motion is not None]
        which = [rigid.world + 1 + k for k, _ in self._moving] + [i for i, _ in self._kinematic]
        self._kinematic_frames = KinematicFrames(frame=np.array(which, np.int64))
        self._path = Path.zeros(settings.substeps * len(which))
        seen = rigid.published(state.system_arrays["bodies/x"], state.system_arrays["bodies/q"])
        self._shown = dict(zip((names.POSITIONS, names.ROTATIONS), seen, strict=True))
        self._shown_velocities = {name: state.system_arrays[name].copy() for name in (names.VELOCITIES, names.SPINS)}
        self.equations = BodyEquations(rigid, self.frames, model, state, settings)
        self._external = ExternalImpulses.zeros(1)
        self.equations.flags.finite[0] = 1
        self._dragged = dragged(rigid.bodies)
        self._non_finite = NonFinite.zeros(1)
        self.equations.set_warm_start(state.system_arrays["bodies/contacts"])
        self._idle_times = sleep.IdleTimes(
            time=state.system_arrays["bodies/idle"], slow=np.zeros(len(rigid.bodies), np.bool_)
        )
        self._waking = sleep.Waking(
            self.equations.contacts.table, self.equations.joints, self.equations.tendons.links, self.frames,
            self.equations.counts, self.equations.flags, self.equations.log.entries, clock, settings.substeps,
        )  # fmt: skip
        self._islands = sleep.Islands(self.frames, self.equations.solver_frames)
        self._woken = False
        self._was_active, self._was_moving = True, np.zeros(len(self._kinematic_frames), bool)
        self._set_kinematic_poses(0.0)

    @property
    def collision_shapes(self) -> CollisionShapes:
        """Shapes of the bodies and of the colliders."""
        return self._rigid.collision_shapes

    @property
    def frame_names(self) -> np.ndarray:
        """Names of the frames, (F,)."""
        rigid = self._rigid
        return np.array([b.name for b in rigid.bodies] + ["world"] + [c.name for c in rigid.colliders])

    def frames_now(self) -> Frames:
        """The frames between two steps, with what the user has written to the state."""
        self._read_user_state()
        return self.frames

    def disturbed(self, time: float, ends: np.ndarray) -> bool:
        """Whether a motor acts, a motion goes on, or the user has changed a body."""
        self._set_kinematic_poses(time)
        self._tabulate(time)
        if len(self._kinematic_frames) and self._paths_move().any():
            return True
        parts, shown = self._state.system_arrays, self._shown | self._shown_velocities
        changed = any(not np.array_equal(parts[name], values) for name, values in shown.items())
        return changed or self._woken or len(self.equations.motorised_frames) > 0

    def begin(self, time: float, ends: np.ndarray) -> None:
        """A step begins at a time [s]."""
        self._woken = False
        self._read_user_state()
        self._set_kinematic_poses(time)
        self._tabulate(time)
        self._put_to_sleep()
        self._mark_active()
        self.frames.impulses[...] = 0.0
        self._external.total[0] = 0.0
        # what sleeps keeps its contacts and their report
        if self.equations.flags.awake[0]:
            self.equations.begin(time)

    def record_begin(self, p: Program) -> None:
        """A step begins."""
        p.launch(update_inertia, self.frames, count=len(self.frames))
        self.equations.record_begin(p)

    def record_detect(self, p: Program) -> None:
        """A substep begins: find the contacts at its start.

        Contacts are not sought when a pose is not finite: the bodies stop, and the step fails at its end.
        """
        flags = self.equations.flags
        p.launch(start_substep, self.frames, self.equations.solver_frames, flags, count=len(self.frames))
        p.copy((flags.awake, 0), (flags.solving, 0))
        if len(self._kinematic_frames):
            # contacts are sought along the paths that these frames will go
            records = self._kinematic_frames, self._path, self.frames, self._clock
            p.launch(expect_kinematic_frame, *records, self._settings.substep, count=len(self._kinematic_frames))
        with p.when(self._finite), p.when((flags.solving, 0)):
            self.equations.record_find(p)
            if self._settings.sleep:
                self._waking.record_touched(p)
            self.equations.record_points(p)

    def record_predict(self, p: Program) -> None:
        """Predict the poses."""
        frames, solver_frames, h = self.frames, self.equations.solver_frames, self._settings.substep
        with p.when(self._finite):
            p.launch(drag_body, self._dragged, frames, h, count=len(self._dragged))
            self.equations.record_start(p)
            # after rotors, motors and drag have read the velocities: the joints take most of it back
            self.equations.joints.record_take_returned(p, frames, solver_frames)
            p.launch(predict_body, frames, solver_frames, *(h * self._gravity), h, count=len(self._rigid.bodies))
            records = self._kinematic_frames, self._path, frames, self._clock
            p.launch(set_kinematic_frame, *records, h, count=len(self._kinematic_frames))
            p.launch(store_predicted_velocity, frames, solver_frames, count=len(frames))

    def record_contacts(self, p: Program, first: bool) -> None:
        """Solve the joints and contacts of all bodies; a repeated solve needs external impulses since the last one."""
        flags = self.equations.flags
        with p.when(self._finite):
            if self._settings.sleep:
                self._waking.record_pushed(p)
                with p.when((flags.waking, 0)):
                    self._record_woken(p)
            p.serial(compare_impulses, self.frames, self._external, flags)
            if first:
                p.copy(1, (flags.again, 0))
            with p.when((flags.again, 0)), p.when((flags.solving, 0)):
                if not first:
                    self.equations.record_continue(p)
                self._record_solve(p)

    def _record_woken(self, p: Program) -> None:
        """Predict what was woken by a push in this substep; find its contacts where all have slept."""
        equations, frames, solver_frames, flags = (
            self.equations,
            self.frames,
            self.equations.solver_frames,
            self.equations.flags,
        )
        count, h = len(frames), self._settings.substep
        self._waking.record_islands(p)
        with p.when((flags.woken_blind, 0)):
            p.launch(store_predicted_pose, frames, solver_frames, count=count)
            p.launch(restore_start_pose, frames, count=count)
            equations.record_find(p)
            self._waking.record_touched(p)
            equations.record_points(p)
            p.launch(restore_predicted_pose, frames, solver_frames, count=count)
        bodies = len(self._rigid.bodies)
        p.launch(predict_woken, frames, solver_frames, *(h * self._gravity), h, count=bodies)

    def _record_solve(self, p: Program) -> None:
        """Solve joints and contacts.

        Where the solution moves a frame off its path by more than its margin, find contacts along the new path and
        solve again.
        """
        equations, frames, solver_frames, flags = (
            self.equations,
            self.frames,
            self.equations.solver_frames,
            self.equations.flags,
        )
        contacts, count = equations.contacts, len(self.frames)
        with p.when(contacts.swept_cell):
            p.launch(store_predicted_pose, frames, solver_frames, count=count)
        equations.record_solve(p)
        with p.when(contacts.swept_cell), p.repeat(MOST_AGAIN, until=(flags.on_path, 0)):
            p.copy(1, (flags.on_path, 0))
            p.launch(restore_start_velocity, frames, solver_frames, count=count)
            contacts.record_find_left(p)
            with p.when(contacts.left_path_cell):
                p.copy(0, (flags.on_path, 0))
                p.launch(restore_start_pose, frames, count=count)
                equations.record_points(p)
                p.launch(restore_predicted_pose, frames, solver_frames, count=count)
            p.launch(restore_final_velocity, frames, solver_frames, count=count)
            with p.when(contacts.left_path_cell):
                equations.record_solve(p)

    def record_velocities(self, p: Program) -> None:
        """Derive the velocities from the final poses, and store the forces."""
        h = self._settings.substep
        with p.when(self._finite):
            records, decay = (self.frames, self.equations.solver_frames), math.exp(-self._damping * h)
            with p.when((self.equations.flags.solving, 0)):
                self.equations.record_return_moments(p)
            p.launch(derive_velocities, *records, h, decay, count=len(self._rigid.bodies))
            with p.when((self.equations.flags.solving, 0)):
                self.equations.record_finish(p)
                self.equations.record_bounce(p)

    @property
    def _finite(self) -> tuple[np.ndarray, int]:
        """Cell: whether all poses and velocities are finite."""
        return self.equations.flags.finite, 0

    def record_check(self, p: Program) -> None:
        """Stop the run where a pose or velocity is not finite."""
        p.serial(find_non_finite, self.frames, self.equations.flags, self._non_finite, len(self._rigid.bodies))
        p.stop_if((self._non_finite.flag, 0))

    def record_end(self, p: Program) -> None:
        """A step is over."""
        equations, flags = self.equations, self.equations.flags
        if self._settings.sleep:
            p.copy(0, (flags.idling, 0))
            records = self._idle_times, self.frames, equations.contacts.margins, flags
            p.launch(sleep.measure_idleness, *records, self._settings.dt, count=len(self._rigid.bodies))
        with p.when((flags.awake, 0)):
            equations.record_end(p)

    def tell_moving(self, p: Program) -> None:
        """Tell the clock whether a body moves."""
        p.launch(sleep.find_moving, self._idle_times, self.frames, self._clock, count=len(self._rigid.bodies))

    def contacts(self) -> Contacts:
        """Contacts of bodies with each other and with colliders that had a force in the last step."""
        return self.equations.log.contacts(self.frame_names, self._settings.dt)

    def non_finite(self) -> str:
        """Name of the first body with a pose or velocity that is not finite."""
        count, f = len(self._rigid.bodies), self.frames
        good = np.isfinite(np.concatenate([f.x, f.q, f.v, f.w], axis=1)[:count]).all(axis=1)
        return self._rigid.bodies[int(np.argmin(good))].name

    def end(self) -> None:
        """Write the poses and velocities to the state."""
        count, frames, parts = len(self._rigid.bodies), self.frames, self._state.system_arrays
        if self._settings.sleep and self.equations.flags.idling[0]:
            self._update_idle_times()
        if not self.equations.flags.awake[0]:
            return
        x, q, v, w = frames.x[:count], frames.q[:count], frames.v[:count], frames.w[:count]
        parts["bodies/x"][...], parts["bodies/q"][...] = x, q
        # not a copy: nothing can stop a step after these rows are written
        parts["bodies/contacts"] = self.equations.warm_start()
        parts["bodies/swept"][...] = self.equations.solver_frames.swept[:count]
        parts["bodies/returned"][...] = self.equations.solver_frames.returned[:count]
        parts[names.POSITIONS][...], parts[names.ROTATIONS][...] = self._rigid.published(x, q)
        parts[names.VELOCITIES][...], parts[names.SPINS][...] = v, w
        for name, shown in (self._shown | self._shown_velocities).items():
            shown[...] = parts[name]
        self._state.external_work += self.equations.joints.work + self.equations.tendons.work

    def wake(self) -> None:
        """The scene has changed: all bodies are awake."""
        self._woken = True
        self._state.system_arrays["bodies/idle"][...] = 0.0

    def _put_to_sleep(self) -> None:
        """Put bodies to sleep that have been idle for `WAIT`, unless a user has given them a velocity."""
        if not self._settings.sleep:
            return
        count, frames, idle = len(self._rigid.bodies), self.frames, self._state.system_arrays["bodies/idle"]
        down = np.flatnonzero(sleep.asleep(idle))
        idle[down[frames.v[down].any(axis=1) | frames.w[down].any(axis=1)]] %= sleep.WAIT
        frames.asleep[:count] = sleep.asleep(idle)
        self.equations.set_free_frames((frames.inverse_mass > 0.0) & ~frames.asleep)

    def _mark_active(self) -> None:
        """Mark the frames that can move in this step. A step after one without such frames has nothing to do."""
        frames, flags, kinematic = self.frames, self.equations.flags, self._kinematic_frames.frame
        active = (frames.inverse_mass > 0.0) & ~frames.asleep
        others = np.flatnonzero(~active)
        active[others] = frames.v[others].any(axis=1) | frames.w[others].any(axis=1)
        if len(kinematic):
            moving = self._paths_move()
            # one step more, in which the velocities become zero
            active[kinematic] = moving | self._was_moving
            self._was_moving = moving
        frames.active[...] = active
        flags.awake[0] = active.any() or self._was_active
        self._was_active = active.any()

    def _paths_move(self) -> np.ndarray:
        """Which kinematic frames leave their poses in the step, (K,)."""
        kinematic = self._kinematic_frames.frame
        moving = np.zeros(len(kinematic), bool)
        for path, now in ((self._path.x, self.frames.x), (self._path.q, self.frames.q)):
            poses = path.reshape(self._settings.substeps, len(kinematic), -1)
            moving |= (poses != now[kinematic]).any(axis=(0, 2))
        return moving

    def _update_idle_times(self) -> None:
        """Update the idle times of slow bodies after a step, by their islands, and stop those that fall asleep."""
        count, frames, idle = len(self._rigid.bodies), self.frames, self._idle_times.time
        v, w, free = frames.v[:count], frames.w[:count], frames.inverse_mass > 0.0
        awake = free & ~frames.asleep
        disturbed = np.where(free, frames.impulses.any(axis=1), frames.active)
        disturbed[self.equations.motorised_frames] = True
        pairs, holds = self.equations.connections()
        roots = self._islands.roots(pairs)
        sleep.update_idle_times(
            idle, self._idle_times.slow, pairs, holds, roots, awake, disturbed, self._settings.dt
        )  # fmt: skip
        down = sleep.asleep(idle) & awake[:count]
        v[down], w[down] = 0.0, 0.0

    def _read_user_state(self) -> None:
        """Read poses and velocities that the user has written; unchanged poses keep all of their digits."""
        parts, frames, count = self._state.system_arrays, self.frames, len(self._rigid.bodies)
        frames.x[:count], frames.q[:count] = parts["bodies/x"], parts["bodies/q"]
        frames.v[:count], frames.w[:count] = parts[names.VELOCITIES], parts[names.SPINS]
        self.equations.solver_frames.swept[:count] = parts["bodies/swept"]
        self.equations.solver_frames.returned[:count] = parts["bodies/returned"]
        if all(np.array_equal(parts[name], shown) for name, shown in self._shown.items()):
            return
        moved = [(parts[name] != shown).any(axis=1) for name, shown in self._shown.items()]
        for i in np.flatnonzero(moved[0] | moved[1]):
            body, rotation = self._rigid.bodies[i], parts[names.ROTATIONS][i]
            # the largest first: squares may overflow; values that are no rotation are found when the step has ended
            with np.errstate(invalid="ignore"):
                rotation = rotation / np.abs(rotation).max()
                rotation = rotation / np.linalg.norm(rotation)
            # what it held may fall, and what its joints had left belongs to another place
            parts["bodies/idle"][...] = 0.0
            self.equations.solver_frames.returned[i] = 0.0
            frames.x[i], frames.q[i] = as_frame(parts[names.POSITIONS][i], rotation, body.centre, body.axes)

    def _set_kinematic_poses(self, time: float) -> None:
        """Set the poses of colliders, and of bodies with a motion, at a time [s]."""
        frames, first = self.frames, self._rigid.world + 1
        for k, collider in enumerate(self._rigid.colliders):
            pose = (collider.position, collider.rotation)
            if collider.motion is not None:
                pose = pose_at(collider.motion, time, collider.rotation, f"collider {collider.name!r}: motion")
            frames.x[first + k], frames.q[first + k] = pose
        self._set_kinematic_bodies(time)

    def _tabulate(self, time: float) -> None:
        """Tabulate the poses of kinematic frames with a motion at the ends of the substeps of a step."""
        settings, count, bodies = self._settings, len(self._kinematic_frames), self._rigid.bodies
        if not count:
            return
        ends = time + settings.substep * np.arange(1, settings.substeps + 1)
        for at, (k, motion) in enumerate(self._moving):
            collider = self._rigid.colliders[k]
            poses = poses_at(motion, ends, collider.rotation, f"collider {collider.name!r}: motion")
            self._path.x[at::count], self._path.q[at::count] = poses
        for at, (i, motion) in enumerate(self._kinematic, len(self._moving)):
            body = bodies[i]
            poses = poses_at(motion, ends, body.rotation, f"body {body.name!r}: motion")
            for row, pose in zip(range(at, count * len(ends), count), zip(*poses, strict=True), strict=True):
                self._path.x[row], self._path.q[row] = as_frame(*pose, body.centre, body.axes)

    def _set_kinematic_bodies(self, time: float) -> None:
        for i, motion in self._kinematic:
            body = self._rigid.bodies[i]
            position, rotation = pose_at(motion, time, body.rotation, f"body {body.name!r}: motion")
            self.frames.x[i], self.frames.q[i] = as_frame(position, rotation, body.centre, body.axes)
