"""The simulation: builds a scene, steps it, and answers questions about it."""

import math
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shinari.build.model import build_model
from shinari.compute.threads import processors
from shinari.contact.family import Touches
from shinari.contact.report import Contacts, report
from shinari.contact.start import warn_of_overlaps
from shinari.diagnostics import Diagnostics, Energy, Residual
from shinari.errors import DivergenceError, MemoryLimitError, SceneError
from shinari.fluid.answers import FluidAnswers
from shinari.fluid.flow_answers import FlowAnswers
from shinari.live.changes import Changes
from shinari.live.grabs import Grab, Grabs
from shinari.live.pins import Pins
from shinari.point_values import PointAnswers
from shinari.rigid.answers import BodyAnswers
from shinari.rigid.report import joined
from shinari.rods.answers import RodAnswers
from shinari.scene import check
from shinari.scene.body_handle import BodyHandle
from shinari.scene.handle import ColliderHandle, Handle, RowsHandle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.scene import Scene
from shinari.settings import Settings
from shinari.solver.step import record_step, step
from shinari.solver.tearing import elements_left, faces_left, shown_left
from shinari.solver.volume_answers import VolumeAnswers
from shinari.solver.workspace import Workspace
from shinari.state import State, start

# An object this far from its origin is given a new one, so that single precision keeps its digits.
REACH = 64.0

# Rows or particles for which it pays to wake one more thread. Below, waiting for each other costs more than it saves,
# and far more when something else runs on the machine.
WORTH_A_THREAD = 5000
# A rigid body with its contacts takes about as long as so many rows.
WORTH_OF_A_BODY = 50


class Simulation(BodyAnswers, RodAnswers, FluidAnswers, FlowAnswers, Changes, Grabs, Pins, PointAnswers, VolumeAnswers):
    """A scene that runs.

    Args:
        scene: The scene. It is built now; once it changes, this simulation refuses to go on.
        dt: Time of one `step` [s].
        substeps: Substeps of a step; more of them make stiff objects stiffer (Macklin et al. 2019).
        iterations: Iterations of the solver in each substep.
        method: `"xpbd"` (compliances in physical units) or `"pbd"` (stiffnesses 0 to 1).
        sweep: `"gauss-seidel"` (coloured), `"jacobi"` (one relaxation factor, keeps momentum), `"jacobi-averaged"`
            (each particle by its number of rows: keeps neither momentum nor the static forces of the compliances) or
            `"chebyshev"` (Jacobi, accelerated from its fourth iteration on).
        precision: `"float32"` or `"float64"`.
        threads: Threads to use; None: as many as pay. The result does not depend on it.
        stiffness_mode: With `"pbd"`, `"per-step"` makes stiffness independent of the iterations, `"raw"` does not.
        relaxation: Relaxation of Jacobi sweeps; None: a factor that is always stable.
        spectral_radius: Spectral radius that the Chebyshev acceleration assumes, below 1.
        depenetration_speed: Speed at which initial overlaps are separated [m/s].
        hierarchy: Solve coarse levels of the distance rows first (Mueller 2008): large cloth stretches far less for a
            few per cent more time.
        contact_detection: When pairs that may touch are looked for: `"frame"`, once a step and again when something
            leaves its predicted path, or `"substep"`, in each.
        rigid_solver: How joints and contacts of rigid bodies are solved: `"direct"`, by factoring the matrix of all
            bodies that hang together, exact whatever their masses; `"sweeps"`, one after the other; `"auto"`: direct
            unless a heap is so large and dense that its factor would cost too much.
        sleeping: Rigid bodies that have been at rest for half a second stop, with all that they touch, until something
            comes. Faster, and not exact.

    Raises:
        SceneError: A setting or the scene is unusable; the message names the object and the field.

    Warns:
        ContactWarning: Objects overlap or intersect at the start; the message gives names, depth and position.
    """

    def __init__(
        self,
        scene: Scene,
        *,
        dt: float = 1.0 / 60.0,
        substeps: int = 20,
        iterations: int = 1,
        method: str = "xpbd",
        sweep: str = "gauss-seidel",
        precision: str = "float32",
        threads: int | None = None,
        stiffness_mode: str = "per-step",
        relaxation: float | None = None,
        spectral_radius: float = 0.9,
        depenetration_speed: float = 1.0,
        hierarchy: bool = False,
        contact_detection: str = "frame",
        rigid_solver: str = "auto",
        sleeping: bool = False,
    ) -> None:
        check.kind("simulation", "scene", scene, Scene)
        self.settings = Settings(
            dt=dt,
            substeps=substeps,
            iterations=iterations,
            method=method,
            sweep=sweep,
            precision=precision,
            threads=threads,
            stiffness_mode=stiffness_mode,
            relaxation=relaxation,
            spectral_radius=spectral_radius,
            depenetration_speed=depenetration_speed,
            hierarchy=hierarchy,
            contact_detection=contact_detection,
            rigid_solver=rigid_solver,
            sleeping=sleeping,
        )
        self.scene = self.described = scene
        self._table = None
        self._revision = scene.revision
        self.model = build_model(scene, self.settings)
        self.state = start(self.model, scene)
        self.state.coloured = sweep == "gauss-seidel"
        self._grabs: list[Grab] = []
        self._bind()
        warn_of_overlaps(scene, self.model)
        if self.model.rigid is not None:
            # imported here: a scene without bodies does not wait for their kernels
            from shinari.rigid.contact.overlaps import warn_of_body_overlaps

            warn_of_body_overlaps(self.model.rigid)
        # the first particle of each group stands for it when asking how far it has travelled
        self._firsts = np.unique(self.model.groups, return_index=True)[1]
        self._left_over = 0.0
        self._diagnostics = Diagnostics(self.model, self.settings)

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.state.frame * self.settings.dt

    def step(self, count: int = 1) -> None:
        """Advance by `count` times dt.

        Raises:
            DivergenceError: A position left the finite numbers; the state is that of the last good step.
            MemoryLimitError: Contacts need more memory than there is; the state is that of the last good step.
            SceneError: The scene was changed after the simulation was built.
        """
        check.count("simulation", "count", count, least=0)
        if self.scene.revision != self._revision:
            raise SceneError("simulation: scene: was changed after the simulation was built; build a new Simulation")
        self._take_steps(count)

    @property
    def threads(self) -> int:
        """Threads that a step uses: those asked for, or as many as have enough rows to be worth waking."""
        most = processors()
        if self.settings.threads is not None:
            return min(self.settings.threads, most)
        work = max([self.model.particle_count, *(block.row_count for block in self.model.blocks.values())])
        work += 0 if self.model.rigid is None else WORTH_OF_A_BODY * len(self.model.rigid.bodies)
        return min(max(work // WORTH_A_THREAD, 1), most)

    def _take_steps(self, count: int) -> None:
        for _ in range(count):
            before = {name: values.copy() for name, values in self.state.lasting().items()}
            if not self._step_or_undo(before):
                self._diverged(before)
            if self.settings.precision == "float32":
                self._recentre()

    def _step_or_undo(self, before: dict[str, np.ndarray]) -> bool:
        """A step; when it is interrupted, or a function of the user fails, the state is that before it."""
        try:
            return step(self.state, self._work, self.settings, self.threads)
        except MemoryError as error:
            # what the step has taken is given back before the state is bound anew
            traceback.clear_frames(error.__traceback__)
            del self._work
            self._restore_published(before)
            if isinstance(error, MemoryLimitError):
                raise
            raise MemoryLimitError(
                f"simulation: step: memory ran out in frame {self.state.frame + 1}: {error}. The state is that of "
                f"frame {self.state.frame}. Take fewer or slower objects, more substeps, or raise the limit on memory."
            ) from error
        except BaseException:
            self._restore_published(before)
            raise

    def run(
        self,
        seconds: float,
        *,
        progress: bool = True,
        record: Callable[["Simulation"], Any] | str | Path | Sequence[str | Path] | None = None,
    ) -> None:
        """Advance by a time [s], rounded to whole steps.

        Args:
            seconds: Time to advance [s].
            progress: Show a progress bar with the time left, when the output is a terminal.
            record: Files to write 30 frames a second to, the format by extension as in `shinari run`; or a function
                called with the simulation after every step.

        Raises:
            DivergenceError: A position left the finite numbers; the state is that of the last good step.
            FileError: A file cannot be written.
        """
        seconds = check.number("simulation", "seconds", seconds, least=0.0)
        check.flag("simulation", "progress", progress)
        steps = range(check.count("simulation", "seconds / dt", round(seconds / self.settings.dt), least=0))
        if callable(record):
            check.function("simulation", "record", record)
        elif record is not None:
            from shinari.files.record import Recorder

            with Recorder(self, [record] if isinstance(record, (str, Path)) else record) as recorder:
                recorder.plan(len(steps))
                recorder.record()
                self.run(seconds, progress=progress, record=recorder.record)
            return
        if progress and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import track

            steps = track(steps, description="simulating", console=Console(stderr=True))
        for _ in steps:
            self.step()
            if record is not None:
                record(self)

    def advance(self, elapsed: float, *, most_steps: int = 4) -> int:
        """Advance by as many whole steps as fit into a time that has passed, for real time use.

        The remainder counts towards the next call. When more than `most_steps` are due the rest is given up, so
        that a slow machine falls behind instead of being asked for ever more.

        Args:
            elapsed: Time that has passed since the last call [s].
            most_steps: Most steps to take in one call.

        Returns:
            Steps taken.

        Raises:
            DivergenceError: A position left the finite numbers.
        """
        elapsed = check.number("simulation", "elapsed", elapsed, least=0.0)
        check.count("simulation", "most_steps", most_steps)
        self._left_over += elapsed
        # a whole step that is short by rounding only is due
        due = math.floor(self._left_over / self.settings.dt + 1e-9)
        steps = min(due, most_steps)
        self._left_over = max(self._left_over - due * self.settings.dt, 0.0)
        self.step(steps)
        return steps

    @property
    def left_over(self) -> float:
        """Time that `advance` has not simulated yet [s], below dt."""
        return self._left_over

    def positions(self, handle: Handle | str) -> np.ndarray:
        """Positions of an object [m], (N, 3): a writable view of `state.positions`.

        Raises:
            SceneError: It is no object with particles of this scene.
        """
        return self.state.positions[self._range(handle)]

    def velocities(self, handle: Handle | str) -> np.ndarray:
        """Velocities of an object [m/s], (N, 3): a writable view of `state.velocities`.

        Raises:
            SceneError: It is no object with particles of this scene.
        """
        return self.state.velocities[self._range(handle)]

    def surface(self, handle: Handle | BodyHandle | str) -> tuple[np.ndarray, np.ndarray]:
        """The visible surface of an object now, a copy.

        That is its visual surface if it has one, else its own triangles: of a soft body the boundary of its
        tetrahedra. Torn elements are left out.

        Returns:
            Vertices [m], (V, 3), and faces, (F, 3). Where the object's own triangles are shown the vertices are all of
            its particles.

        Raises:
            SceneError: It is no object of this scene, or has no surface.
        """
        thing = self.scene.find("surface", "handle", handle, Handle, BodyHandle)
        if isinstance(thing, BodyHandle):
            return self.body_surface(thing)
        particles, number = self._range(thing), self._group_index(thing)
        group, left = self.scene.groups[number], elements_left(self.model, self.state, number)
        if group.visual is not None:
            members = range(particles.start, particles.stop)
            return group.visual.vertices_now(self.model, self.state, members, self.threads), shown_left(group, left)
        if group.faces is None:
            raise SceneError(f"surface: handle: {group.name!r} is made of {group.kind} and has no triangles")
        return self.state.positions[particles].copy(), np.array(faces_left(group, left))

    def energy(self) -> Energy:
        """Kinetic, gravitational and elastic energy [J], their sum, and the work done from outside; see `Energy`.

        Gravity counts from the world's origin.
        """
        return self._diagnostics.energy(self.state)

    def momentum(self) -> np.ndarray:
        """Linear momentum of all free particles [kg m/s], (3,)."""
        return self._diagnostics.momentum(self.state)

    def angular_momentum(self, about: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
        """Angular momentum of all free particles about a point [kg m^2/s], (3,)."""
        return self._diagnostics.angular_momentum(self.state, check.vector("angular_momentum", "about", about))

    def residual(self) -> Residual:
        """How far each block is from being solved, and its strains; see `Residual`."""
        return self._diagnostics.residual(self.state)

    def forces(self, of: str | RowsHandle | Handle | ColliderHandle | BodyHandle | JointHandle) -> Any:
        """Forces of constraint rows or of a joint in the last substep, or the contact force on an object over a step.

        Args:
            of: Name of a constraint type, for all of its rows in the order in which they were added (those of cloth
                and ropes last); what `add_constraint` or `attach` returned, for its rows; a joint; or a thing, a body
                or a collider.

        Returns:
            -lambda / h^2, (M,) [N] for a distance: positive where the row pulls its points together. (M, rows) for
            rows that are solved as a system: an attachment gives the force with which the particle pulls at its
            target, so a hanging weight reads (0, -m g, 0). Of a joint `.force` (3,) [N] and `.torque` (3,) [N m] on
            its second body, world axes. For a thing, a body or a collider the sum of its contact forces, (3,) [N], see
            `contacts`.

        Raises:
            SceneError: The scene has no such rows or no such object.
        """
        if isinstance(of, RowsHandle):
            if of._scene is not self.scene:
                raise SceneError(f"forces: of: {of!r} belongs to another scene")
            return self._diagnostics.forces(self.state, of.type)[of.rows.start : of.rows.stop]
        if isinstance(of, JointHandle):
            return self.joint_load(of)
        if not isinstance(of, str):
            of = self.scene.find("forces", "of", of, Handle, ColliderHandle, BodyHandle)
            contacts = self.contacts()
            on, back = contacts.first == of.name, contacts.second == of.name
            return contacts.forces[on].sum(axis=0) - contacts.forces[back].sum(axis=0)
        return self._diagnostics.forces(self.state, of)

    def contacts(self) -> Contacts:
        """Active contacts of the last step that this simulation took: points, normals, forces, objects."""
        boundaries = () if self._work.fluid is None else self._work.fluid.boundaries
        touches = Touches.joined([pushing.touches() for pushing in (*self._work.contacts, *boundaries)])
        found = report(touches, self.model, self.state, self.settings.dt)
        return found if self._work.bodies is None else joined(found, self._work.bodies.contacts())

    def strains(self, of: str = "distance") -> np.ndarray:
        """Strain C / rest value of each row of a type, (M,), in the order in which they were added.

        Raises:
            SceneError: The scene has no such rows, or the type no rest value to compare with.
        """
        return self._diagnostics.strains(self.state, of)

    def collider_poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions (K, 3) [m] and rotations (K, 4), w x y z, of the colliders now."""
        if self._work.solids is None:
            return np.zeros((0, 3)), np.zeros((0, 4))
        return self._work.solids.poses(self.time)

    def restore(self, state: State, *, left_over: float = 0.0) -> None:
        """Go on from another state of the same model, for example from a copy of `state` that was kept.

        Args:
            state: The state; its values are copied.
            left_over: Time that `advance` has still to simulate [s].

        Raises:
            SceneError: The state belongs to another model.
        """
        left_over = check.number("simulation", "left_over", left_over, least=0.0)
        self.state.restore(state)
        self._left_over = left_over
        self._follow_pins()
        self._follow_order(state)
        # rows that have broken, or are whole again, are softened in the workspace
        self._bind()

    def save(self, path: str | Path) -> None:
        """Write a checkpoint from which `load` goes on bit by bit; needs the extra [cache].

        A function of the user (a motion, a force field) is kept by name only; `load` then needs the scene.

        Raises:
            FileError: The file cannot be written.
        """
        from shinari.files.checkpoint import save

        save(self, path)

    @staticmethod
    def load(path: str | Path, *, scene: Scene | None = None) -> "Simulation":
        """Read a checkpoint.

        Args:
            path: File that `save` wrote.
            scene: The scene, for one that holds functions; it has to be built as it was when it was saved.

        Raises:
            FileError: The file is missing, damaged or of another version.
            SceneError: The scene holds functions and was not given, or is not the one that was saved.
        """
        from shinari.files.checkpoint import load

        return load(path, scene)

    def _range(self, handle: object, field: str = "handle") -> slice:
        """Particles of an object, given its handle or its name as this argument."""
        found = self.scene.find("simulation", field, handle, Handle)
        return slice(found.particles.start, found.particles.stop)

    def _group_index(self, handle: object, field: str = "handle") -> int:
        """Its number among the groups of the scene."""
        found = self.scene.find("simulation", field, handle, Handle)
        return [group.name for group in self.scene.groups].index(found.name)

    def _recentre(self) -> None:
        """Move the origins of objects that have travelled far."""
        model, state = self.model, self.state
        away = np.abs(state.x[self._firsts, :3]).max(axis=1) >= REACH
        for g in np.flatnonzero(away & ~model.anchored):
            members = np.flatnonzero(model.groups == g)
            points = state.x[members, :3].astype(np.float64)
            shift = np.round(0.5 * (points.min(axis=0) + points.max(axis=0)))
            state.origins[g] += shift
            state.x[members, :3] = points - shift
            for solver in self._work.solvers:
                solver.place(model, state)

    def _bind(self) -> None:
        """Bind the kernels anew to the arrays of the state."""
        self._work = Workspace(self.described, self.model, self.state, self.settings, self._grabs)
        self._work.prepare(record_step)

    def _diverged(self, before: dict[str, np.ndarray]) -> None:
        """Report where the state left the finite numbers, after putting the last good one back."""
        state, model = self.state, self.model
        bad = ~np.isfinite(state.x[model.slots, :3]).all(axis=1)
        first = int(np.argmax(bad)) if bad.any() else 0
        thing = next((name for name, members in model.things if first in members), "?")
        where = f"particle {first}: its position"
        if not bad.any() and self._work.bodies is not None:
            thing, where = self._work.bodies.lost(), "its pose or velocity"
        worst = self._diagnostics.worst_block(state)
        frame = state.frame + 1
        self._restore_published(before)
        raise DivergenceError(
            f"frame {frame} (t = {frame * self.settings.dt:g} s): {thing!r}, {where} is no finite "
            f"number; worst constraint block: {worst}. The state is that of frame {frame - 1}. More substeps, "
            f"a smaller dt or a larger compliance may help."
        )

    def _restore_published(self, before: dict[str, np.ndarray]) -> None:
        """Bring the solver back to the last step that the user has seen, with what lasted from it."""
        state, model = self.state, self.model
        state.x[model.slots, :3] = state.positions - state.origins[model.groups][model.slots]
        state.v[model.slots] = state.velocities
        for values in state.multipliers.values():
            values[...] = 0.0
        state.take(before)
        self._bind()
