"""The simulation: builds a scene, steps it, and answers questions about it."""

import math
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar, cast

import numpy as np

from shinari import check
from shinari.api import storage
from shinari.api.changes import Changes
from shinari.api.contact_queries import ContactQueries
from shinari.api.pins import Pins
from shinari.api.ray_queries import RayQueries
from shinari.api.scene import Scene
from shinari.api.visual_surfaces import surface_now
from shinari.attributes import OwnAttributes
from shinari.errors import SceneError
from shinari.model.model import Model
from shinari.model.settings import Settings, device_or_default
from shinari.model.state import State
from shinari.scene.handle import BodyHandle, ColliderHandle, Handle, RowsHandle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.running import set_simulation
from shinari.solver.bound_systems import BoundSystems
from shinari.solver.build import build_model
from shinari.solver.diagnostics import Energy, Measured, Residual
from shinari.solver.profile import Profile
from shinari.solver.run import Run
from shinari.systems.colliders.system import poses_at
from shinari.systems.fluid.queries import FluidQueries
from shinari.systems.grabs.queries import Grab, Grabs
from shinari.systems.grains.queries import GrainQueries
from shinari.systems.rigid.queries import BodyQueries
from shinari.systems.rods.queries import RodQueries
from shinari.systems.volume.queries import VolumeQueries

P = ParamSpec("P")
R = TypeVar("R")


def forward(part: str, method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A method of a simulation that is one of its part of that name."""

    @wraps(method)
    def call(self: Any, *arguments: P.args, **options: P.kwargs) -> R:
        self._run.refuse_later(*arguments, *options.values())
        return method(getattr(self, part), *arguments, **options)

    return call


class Simulation(OwnAttributes):
    """A scene that runs.

    Args:
        scene: The scene. It is built now; once it changes, this simulation refuses to go on.
        dt: Time of one `step` [s].
        substeps: Substeps of a step; more of them make stiff objects stiffer (Macklin et al. 2019).
        iterations: Iterations of the solver in each substep.
        method: `"xpbd"` (compliances in physical units) or `"pbd"` (stiffnesses 0 to 1).
        sweep: How rows, constraints between a few points, are visited: `"gauss-seidel"` (coloured), `"jacobi"` (one
            relaxation factor, keeps momentum), `"jacobi-averaged"` (each particle by its number of rows: keeps neither
            momentum nor the static forces of compliances) or `"chebyshev"` (Jacobi, accelerated from its fourth on).
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
            connected bodies, exact whatever their masses; `"sweeps"`, one after the other; `"auto"`: direct, but large
            heaps only while they rest, and never those whose factor would cost too much.
        sleep: Rigid bodies that have been at rest for half a second are not simulated until something comes: before it
            touches them they go on from the same poses and forces. A scene with particles that can touch something is
            not simulated, until something in it is changed, once nothing was faster for half a second than 1e-4 of the
            size of its object a second, or 1e-7 in double precision.
        sleeping: Old name of `sleep`.
        device: `"cpu"`, or `"cuda"` for an NVIDIA GPU, which needs the extra [cuda]. Arrays of the state are fetched
            when `state` is asked for them: ask again after a step. None: `"cpu"`.

    Raises:
        MissingExtraError: `device="cuda"` without numba-cuda.
        DeviceError: `device="cuda"` without a driver or a GPU.
        SceneError: A setting or the scene is unusable; the message names the object and the field.

    Warns:
        ContactWarning: Objects overlap or intersect at the start; the message gives names, depth and position.
    """

    _label = "simulation"

    def __init__(  # noqa: PLR0913  public interface, by keyword
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
        sleep: bool = True,
        sleeping: bool | None = None,
        device: str | None = None,
    ) -> None:
        check.kind("simulation", "scene", scene, Scene)
        settings = Settings(
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
            sleep=sleep if sleeping is None else check.flag("simulation", "sleeping", sleeping),
            device=device_or_default(device),
        )
        self._run = Run(scene, settings, build_model(scene, settings))
        for system in self.model.systems:
            system.warn(scene, self.model)
        self._left_over = 0.0
        set_simulation(scene, self)

    @classmethod
    def of_run(cls, run: Run) -> "Simulation":
        """The simulation of a run that exists: one of many worlds."""
        simulation = cls.__new__(cls)
        simulation._run, simulation._left_over = run, 0.0
        return simulation

    @property
    def scene(self) -> Scene:
        """The scene that it was built of."""
        return cast(Scene, self._run.scene)

    @property
    def described(self) -> Scene:
        """The scene with the materials, gravity, wind and damping that hold now.

        It is `scene` as long as none of them was changed. Its handles are those of `scene`.
        """
        return cast(Scene, self._run.described)

    @property
    def initial_scene(self) -> Scene:
        """The scene that it began with: `scene`, or of one of many worlds the scene with the values of that world."""
        return cast(Scene, self._run.initial)

    @property
    def settings(self) -> Settings:
        """The settings that hold now."""
        return self._run.settings

    @property
    def model(self) -> Model:
        """The model, with the pins that hold now."""
        return self._run.model

    @property
    def state(self) -> State:
        """The state: writing to its positions and velocities acts on the next step."""
        return self._run.state

    @property
    def _idle(self) -> Run:
        """The run, for what another thread than the one that takes steps must not ask meanwhile."""
        self._run.stepping.refuse_elsewhere("read")
        return self._run

    @property
    def bodies(self) -> BodyQueries:
        """Poses of rigid bodies, and states, loads and motors of joints."""
        return BodyQueries(self._idle)

    @property
    def rods(self) -> RodQueries:
        """Frames and loads of rods."""
        return RodQueries(self._idle)

    @property
    def fluids(self) -> FluidQueries:
        """Densities, pressures, particles and surfaces of fluids."""
        return FluidQueries(self._idle)

    @property
    def volumes(self) -> VolumeQueries:
        """Pressures and volumes of closed meshes."""
        return VolumeQueries(self._idle)

    @property
    def _grains(self) -> GrainQueries:
        return GrainQueries(self._idle)

    @property
    def _contact_queries(self) -> ContactQueries:
        return ContactQueries(self._idle)

    @property
    def _ray_queries(self) -> RayQueries:
        return RayQueries(self._idle)

    @property
    def _changes(self) -> Changes:
        return Changes(self._idle)

    @property
    def _grab_queries(self) -> Grabs:
        return Grabs(self._idle)

    @property
    def _pins(self) -> Pins:
        return Pins(self._idle)

    @property
    def _bound(self) -> BoundSystems:
        """The bound systems, for checks that look inside."""
        return self._run.bound

    @property
    def _grabs(self) -> list[Grab]:
        return self._run.grabs

    pose = forward("bodies", BodyQueries.pose)
    joint = forward("bodies", BodyQueries.joint)
    drive = forward("bodies", BodyQueries.drive)
    joint_load = forward("bodies", BodyQueries.load)
    body_surface = forward("bodies", BodyQueries.surface)
    frames = forward("rods", RodQueries.frames)
    rod_loads = forward("rods", RodQueries.loads)
    densities = forward("fluids", FluidQueries.densities)
    pressures = forward("fluids", FluidQueries.pressures)
    active = forward("fluids", FluidQueries.active)
    sunk = forward("fluids", FluidQueries.sunk)
    fluid_surface = forward("fluids", FluidQueries.surface)
    pressure = forward("volumes", VolumeQueries.pressure)
    volume = forward("volumes", VolumeQueries.volume)
    angular_velocities = forward("_grains", GrainQueries.angular_velocities)
    contacts = forward("_contact_queries", ContactQueries.contacts)
    cast_rays = forward("_ray_queries", RayQueries.cast_rays)
    grab = forward("_grab_queries", Grabs.grab)
    pin = forward("_pins", Pins.pin)
    unpin = forward("_pins", Pins.unpin)
    pinned = forward("_pins", Pins.pinned)
    model_as_described = forward("_pins", Pins.model_as_described)
    change = forward("_changes", Changes.change)
    change_material = forward("_changes", Changes.change_material)
    material = forward("_changes", Changes.material)
    changes = forward("_changes", Changes.changes)
    take_changes = forward("_changes", Changes.take_changes)

    def __repr__(self) -> str:
        return f"<Simulation: {self.time:g} s of {self.scene!r}>"

    def __reduce__(self) -> NoReturn:
        """Refuse copies by `copy` and `pickle`: memory that compiled code points to cannot be copied so.

        Raises:
            SceneError: Always.
        """
        raise SceneError(
            "simulation: cannot be copied or pickled; copy its `state` (`state.copy()` and `restore`), save it to a "
            "file with `save`, or build another Simulation of the scene, which can be pickled"
        )

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._run.time

    @property
    def at_rest(self) -> bool:
        """Whether nothing has moved for so long that steps simulate nothing, see `sleep`; on a GPU never."""
        return self._run.at_rest

    def step(self, count: int = 1) -> None:
        """Advance by `count` times dt.

        Raises:
            DivergenceError: A position left the finite numbers; the state is that of the last good step.
            MemoryLimitError: Contacts need more memory than there is; the state is that of the last good step.
            DeviceError: The GPU failed; the state is the last one that was copied to the host.
            SceneError: The scene was changed after the simulation was built.
        """
        check.count("simulation", "count", count, least=0)
        # docs/step.md follows it from here
        if self._run.changed():
            raise SceneError("simulation: scene: was changed after the simulation was built; build a new Simulation")
        self._run.take_steps(count)

    def profile(self) -> Profile:
        """Where the time of the steps since the last call went, by system, phase and kernel; print it for a table."""
        return self._run.profile(len(self.contacts().positions))

    @property
    def threads(self) -> int:
        """Threads that a step uses: those asked for, or as many as have enough rows to be worth waking."""
        return self._run.threads

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
            paths = [record] if isinstance(record, (str, Path)) else record
            with storage.connected().recorder(self, paths) as recorder:
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
        return self.state.positions[self._run.particles_of(handle)]

    def velocities(self, handle: Handle | str) -> np.ndarray:
        """Velocities of an object [m/s], (N, 3): a writable view of `state.velocities`.

        Raises:
            SceneError: It is no object with particles of this scene.
        """
        return self.state.velocities[self._run.particles_of(handle)]

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
        self._run.refuse_later(handle)
        known = self.scene.find("surface", "handle", handle, Handle, BodyHandle)
        if isinstance(known, BodyHandle):
            return self.body_surface(known)
        return surface_now(self._idle, known)

    def energy(self) -> Energy:
        """Kinetic, gravitational and elastic energy [J], their sum, and the work done from outside; see `Energy`.

        Gravity counts from the world's origin.
        """
        return self._idle.diagnostics.energy(self.state)

    def momentum(self) -> np.ndarray:
        """Linear momentum of all free particles [kg m/s], (3,)."""
        return self._idle.diagnostics.momentum(self.state)

    def angular_momentum(self, about: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
        """Angular momentum of all free particles about a point [kg m^2/s], (3,)."""
        return self._idle.diagnostics.angular_momentum(self.state, check.vector("angular_momentum", "about", about))

    def point_strains(self) -> np.ndarray:
        """How far the rows at each particle are strained, (N,): the mean over those that hold.

        |C| / rest value for rows with a rest length or volume; |S - 1| with the stretches S for triangles and
        tetrahedra; stretch, shear and bending of the outermost fibre for rods; |S - 1| of the clusters for lumps. 0 for
        what has no rest shape: fluids, grains, loose particles.
        """
        return self._idle.diagnostics.point_strains(self.state)

    def point_forces(self) -> np.ndarray:
        """Largest force of a constraint row or a segment of a rod on each particle in the last substep [N], (N,).

        Contacts, the pressure of fluids and the goals of lumps are no rows; see `forces` and `contacts`.
        """
        return self._idle.diagnostics.point_forces(self.state)

    def measure(self) -> Measured:
        """Strains, forces, energies, momenta and residual at once, cheaper than one after the other."""
        return self._idle.diagnostics.measure(self.state)

    def residual(self) -> Residual:
        """How far each block is from being solved, and its strains; see `Residual`."""
        return self._idle.diagnostics.residual(self.state)

    def forces(self, of: str | RowsHandle | Handle | ColliderHandle | BodyHandle | JointHandle) -> Any:
        """Forces of constraint rows or of a joint in the last substep, or the contact force on an object over a step.

        Args:
            of: Name of a constraint type, for all of its rows in the order in which they were added (those of cloth
                and ropes last); what `add_constraint` or `attach` returned, for its rows; a joint; or an object, a body
                or a collider.

        Returns:
            -lambda / h^2, (M,) [N] for a distance: positive where the row pulls its points together. (M, rows) for
            rows that are solved as a system: an attachment gives the force with which the particle pulls at its
            target, so a hanging weight reads (0, -m g, 0). Of a joint `.force` (3,) [N] and `.torque` (3,) [N m] on
            its second body, world axes. Of an object, a body or a collider the sum of its `contacts`, (3,) [N]; the
            pressure of two fluids on each other is no contact.

        Raises:
            SceneError: The scene has no such rows or no such object.
        """
        self._run.refuse_later(of)
        if isinstance(of, RowsHandle):
            if of._scene is not self.scene:
                raise SceneError(f"forces: of: {of!r} belongs to another scene")
            return self._idle.diagnostics.forces(self.state, of.type)[of.rows.start : of.rows.stop]
        if isinstance(of, JointHandle):
            return self.joint_load(of)
        if not isinstance(of, str):
            of = self.scene.find("forces", "of", of, Handle, ColliderHandle, BodyHandle)
            return self._contact_queries.force_on(of.name)
        return self._idle.diagnostics.forces(self.state, of)

    def strains(self, of: str = "distance") -> np.ndarray:
        """Strain C / rest value of each row of a type, (M,), in the order in which they were added.

        Raises:
            SceneError: The scene has no such rows, or the type no rest value to compare with.
        """
        return self._idle.diagnostics.strains(self.state, of)

    def collider_poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions (K, 3) [m] and rotations (K, 4), w x y z, of the colliders now."""
        return poses_at(self.model.colliders, self.time)

    def restore(self, state: State, *, left_over: float = 0.0) -> None:
        """Go on from another state of the same model, for example from a copy of `state` that was kept.

        Args:
            state: The state; its values are copied.
            left_over: Time that `advance` has still to simulate [s].

        Raises:
            SceneError: The state belongs to another model.
        """
        left_over = check.number("simulation", "left_over", left_over, least=0.0)
        self._run.stepping.refuse_within("restore")
        self.state.restore(state)
        self._left_over = left_over
        self._pins.follow_state()
        self._run.follow_order(state)
        # rows that have let go, or are whole again, are softened in the workspace
        self._run.bind()

    def save(self, path: str | Path) -> None:
        """Write a checkpoint from which `load` goes on bit by bit; needs the extra [cache].

        A function of the user (a motion, a force field) is kept by name only; `load` then needs the scene.

        Raises:
            FileError: The file cannot be written.
        """
        storage.connected().save(self, path)

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
        return storage.connected().load(path, scene)
