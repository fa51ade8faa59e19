"""A scene that runs: its model, its state and its systems, and how they go on from step to step."""

import time
import traceback
from collections import Counter
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from shinari import check
from shinari.compute.once import cached_property
from shinari.compute.threads import processors
from shinari.errors import DivergenceError, LostDeviceError, MemoryLimitError, SceneError
from shinari.model.model import Model
from shinari.model.settings import Settings
from shinari.model.state import State, start
from shinari.scene.contents import Contents
from shinari.scene.handle import Handle, RowsHandle
from shinari.solver.bound_systems import BoundSystems
from shinari.solver.device_state import Gpu, Host, for_device
from shinari.solver.diagnostics import Diagnostics
from shinari.solver.profile import Profile, Profiler
from shinari.solver.ray_targets import RayTargets
from shinari.solver.rebuild import RowTable
from shinari.solver.recolour import move_rows, recoloured
from shinari.solver.rest import IDLE
from shinari.solver.step import record_step, step
from shinari.solver.stepping import Stepping
from shinari.systems.grabs.queries import Grab
from shinari.systems.rigid.sleep import WAIT, asleep

if TYPE_CHECKING:
    from shinari.compute.cuda.transfers import Transfer

# An object this far from its origin is given a new one, so that single precision keeps its digits.
REACH = 64.0

# Rows or particles for which it pays to wake one more thread. Below, waiting for each other costs more than it saves,
# and far more when something else runs on the machine.
WORTH_A_THREAD = 5000

# A gravity or a wind that gives more than this in a step [m/s], a third of the speed of light, is told as what made a
# run leave the finite numbers.
MOST_SPEED = 1e8

S = TypeVar("S")


class Run:
    """A scene that runs.

    Args:
        scene: The scene.
        settings: How it is simulated.
        model: Its model with these settings.
        described: The scene with other materials and the like, of which the model is; None: the scene.
        device: Where its arrays live; None: in memory of its own.
        stepping: Who takes steps; None: this run has nothing to do with others.

    Attributes:
        scene: The scene as it was built.
        initial: The scene with the values with which it began: `scene`, unless it is one of many worlds.
        described: The scene with the materials, gravity, wind and damping that hold now.
        settings: The settings.
        model: The model, with the pins that hold now.
        state: The state.
        bound: The systems, bound to the arrays of the state.
        grabs: What is held now.
        diagnostics: What is measured of a state.
        stepping: Who takes steps.
    """

    def __init__(
        self,
        scene: Contents,
        settings: Settings,
        model: Model,
        described: Contents | None = None,
        device: Host | Gpu | None = None,
        stepping: Stepping | None = None,
    ) -> None:
        self.scene, self.described = scene, scene if described is None else described
        self.initial = self.described
        self.stepping = Stepping() if stepping is None else stepping
        self.settings, self.model = settings, model
        self._revision, self._built = scene.revision, frozenset(scene.handles)
        self._built_rows: Counter[str] = Counter()
        for rows in scene.rows:
            self._built_rows[rows.type] += len(rows.indices)
        self._rows: RowTable | None = None
        self._device = for_device(settings.device) if device is None else device
        self.state = self._device.state(self.first_state())
        self.state.coloured = settings.sweep == "gauss-seidel"
        self.grabs: list[Grab] = []
        self._profiler = Profiler()
        self.bind()
        self.diagnostics = Diagnostics(model, settings)

    def first_state(self) -> State:
        """The state in which the scene begins."""
        return start(self.model, self.described)

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.state.frame * self.settings.dt

    @property
    def at_rest(self) -> bool:
        """Whether a step has nothing to do unless something is changed."""
        arrays = self.state.system_arrays
        if IDLE in arrays:
            return bool(arrays[IDLE][0] >= WAIT)
        movable = np.array([body.mass > 0.0 for body in self.scene.bodies], bool)
        return bool(asleep(arrays["bodies/idle"])[movable].all()) if movable.any() else False

    @property
    def threads(self) -> int:
        """Threads that a step uses: those asked for, or as many as have enough rows to be worth waking."""
        most = processors()
        if self.settings.threads is not None:
            return min(self.settings.threads, most)
        rows = max([self.model.particle_count, *(block.row_count for block in self.model.blocks.values())])
        rows += sum(system.workload for system in self.model.systems)
        return min(max(rows // WORTH_A_THREAD, 1), most)

    def take_steps(self, count: int) -> None:
        """Take steps.

        Raises:
            DivergenceError: A position left the finite numbers; the state is that of the last good step.
            MemoryLimitError: Contacts need more memory than there is; the state is that of the last good step.
            DeviceError: The GPU failed; the state is the last one that was copied to the host.
            SceneError: A function of the scene, which a step calls, takes a step itself.
        """
        with self.stepping.alone("step"):
            self._take_steps(count)

    def _take_steps(self, count: int) -> None:
        begun = time.perf_counter()
        for _ in range(count):
            frame = self.state.frame + 1
            try:
                if self._device.has_to_keep:
                    self._device.keep(self.state)
                self._take_step()
            except LostDeviceError as error:
                self._device.abandon(self.state)
                raise LostDeviceError(
                    f"simulation: step: the GPU failed in frame {frame}: {error}. The state is that of frame "
                    f"{self.state.frame}, the last one copied to the host: save it, and go on in a new process."
                ) from error
        self._profiler.add(count, time.perf_counter() - begun)

    def _take_step(self) -> None:
        before = self.lasting()
        if not self._step_or_undo(before):
            raise self.diverged(before)
        if self.settings.precision == "float32":
            self.recentre()

    def later(self, wanted: Callable[[str], bool]) -> "Transfer | None":
        """The wanted arrays of the state as they are now, on their way to the host; None: they are there."""
        return self._device.later(self.state, wanted)

    def at(self, state: State) -> "Run":
        """This run with a state of another moment, to be looked at."""
        then = copy(self)
        then.state, then.stepping = state, Stepping()
        return then

    def profile(self, contacts: int) -> Profile:
        """Where the time of the steps since the last profile went, with the number of contacts at their end."""
        return self._profiler.profile(self.bound.program, self.bound.systems, contacts, self.threads)

    def lasting(self) -> dict[str, Any]:
        """Copies of the arrays that last from step to step, to undo a step.

        `np.asarray` of each is the copy, wherever it is.
        """
        return self._device.lasting(self.state)

    def _step_or_undo(self, before: dict[str, Any]) -> bool:
        """A step; when it is interrupted, or a function of the user fails, the state is that before it."""
        frame, work = self.state.frame, self.state.external_work
        try:
            return step(self.state, self.bound, self.settings, self.threads)
        except LostDeviceError:
            raise
        except MemoryError as error:
            # what the step has taken is given back before the state is bound anew
            traceback.clear_frames(error.__traceback__)
            del self.bound
            self.undo(before)
            if isinstance(error, MemoryLimitError):
                raise
            raise MemoryLimitError(
                f"simulation: step: memory ran out in frame {self.state.frame + 1}: {error}. The state is that of "
                f"frame {self.state.frame}. Take fewer or slower objects, more substeps, or raise the limit on memory."
            ) from error
        except BaseException:
            self.state.frame, self.state.external_work = frame, work
            self.undo(before)
            raise

    def follow_order(self, state: State) -> None:
        """Bring what was taken over from a state, of which rows stood in the order of another sweep, to the own one."""
        if state.coloured == self.state.coloured:
            return
        other = "gauss-seidel" if state.coloured else "jacobi"
        _, orders = recoloured(self.model, self.described, self.model.masses, other)
        move_rows(self.state, {name: np.argsort(order) for name, order in orders.items()})

    def bind(self) -> None:
        """Bind the kernels anew to the arrays of the state."""
        self._device.bind()
        arguments = self.described, self.model, self.state, self.settings, self.grabs
        self.bound = BoundSystems(*arguments, self._device.program)
        self.prepare()

    def prepare(self) -> None:
        """Record a step of the systems that are bound."""
        self.bound.prepare(record_step)

    def system(self, kind: type[S]) -> S:
        """The system of a class; there must be one."""
        return self.bound.get(kind)

    def take_model(self, model: Model) -> None:
        """Take another model of the same particles; `bind` has to follow."""
        self.model = model
        self.diagnostics = Diagnostics(model, self.settings)

    def go_on(self, scene: Contents, model: Model, settings: Settings, orders: dict[str, np.ndarray]) -> None:
        """Bind another model of the same particles to the state, in place of the one so far; all of it or nothing.

        Args:
            scene: The scene with the values that hold from now on.
            model: Its model.
            settings: Its settings.
            orders: For each block whose rows have moved the old row at each new place.

        Raises:
            SceneError: A function of the scene calls it within a step.
        """
        self.stepping.refuse_within("change")
        before = self.described, self.model, self.settings
        move_rows(self.state, orders)
        self.described, self.model, self.settings = scene, model, settings
        try:
            self.bind()
        except BaseException:
            self.described, self.model, self.settings = before
            move_rows(self.state, {name: np.argsort(order) for name, order in orders.items()})
            raise
        self.wake()
        self.state.coloured = settings.sweep == "gauss-seidel"
        scale = (settings.substep / before[2].substep) ** 2
        if scale != 1.0:
            names = [name for system in model.systems for name in system.multipliers]
            held = [*self.state.multipliers.values(), *map(self.state.system_arrays.get, names)]
            for values in (array for array in held if array is not None):
                values *= values.dtype.type(scale)
        self.diagnostics = Diagnostics(model, settings)

    def wake(self) -> None:
        """Tell all systems that nothing may be at rest any more."""
        for system in self.bound.systems:
            system.wake()

    def rows(self) -> RowTable:
        """The rows as they are now; made when they are first asked for."""
        if self._rows is None:
            self._rows = RowTable(self.described)
        return self._rows

    def take_rows(self, rows: RowTable) -> None:
        """Take over the rows of changed materials."""
        self._rows = rows

    def changed(self) -> bool:
        """Whether the scene was changed after it was built."""
        return self.scene.revision != self._revision

    def refuse_later(self, *given: object) -> None:
        """Refuse handles and names, also in lists and mappings, of what was added after the scene was built.

        Raises:
            SceneError: One of them was.
        """
        if not self.changed():
            return
        several = (each for value in given if isinstance(value, (list, tuple, dict)) for each in value)
        for value in (*given, *several):
            name = value if isinstance(value, str) else getattr(value, "name", None)
            later = self.scene.handles.get(name) if isinstance(name, str) and name not in self._built else None
            if isinstance(value, RowsHandle):
                known = value.rows.stop <= self._built_rows[value.type]
            else:
                known = later is None or (later is not value and name is not value)
            if not known:
                told = check.short(value if name is None else name)
                raise SceneError(f"simulation: {told} was added after the simulation was built; build a new Simulation")

    def particles_of(self, handle: object, field: str = "handle") -> slice:
        """Particles of an object, given its handle or its name as this argument."""
        self.refuse_later(handle)
        found = self.scene.find("simulation", field, handle, Handle)
        return slice(found.particles.start, found.particles.stop)

    def object_index(self, handle: object, field: str = "handle") -> int:
        """Its index among the particle objects of the scene."""
        self.refuse_later(handle)
        found = self.scene.find("simulation", field, handle, Handle)
        return [obj.name for obj in self.scene.particle_objects].index(found.name)

    @cached_property
    def ray_targets(self) -> RayTargets:
        """What rays can meet, wherever it is; made when it is first asked for."""
        objects = len(self.model.object_ranges)
        bodies = len(self.state.body_positions)
        return RayTargets(self.model.colliders, self.scene.bodies[:bodies], self.scene.particle_objects[:objects])

    @cached_property
    def firsts(self) -> np.ndarray:
        """The first particle of each origin that moves along, (G,): it stands for all when asking how far they went."""
        origins, particles = np.unique(self.model.origin_index, return_index=True)
        return particles[~self.model.anchored[origins]]

    def recentre(self) -> None:
        """Move the origins of objects that have travelled far."""
        model, state = self.model, self.state
        if len(self.firsts) == 0:
            return
        away = np.abs(self._device.rows(state, self.firsts)[:, :3]).max(axis=1) >= REACH
        for g in model.origin_index[self.firsts[away]]:
            members = np.flatnonzero(model.origin_index == g)
            points = state.x[members, :3].astype(np.float64)
            shift = np.round(0.5 * (points.min(axis=0) + points.max(axis=0)))
            state.origins[g] += shift
            state.x[members, :3] = points - shift
            for system in self.bound.systems:
                system.follow_origins()

    def diverged(self, before: dict[str, Any]) -> DivergenceError:
        """Put the last good state back; the error says where the numbers were not finite."""
        state, model = self.state, self.model
        bad = ~np.isfinite(state.x[model.slots, :3]).all(axis=1)
        first = int(np.argmax(bad)) if bad.any() else 0
        object_name = next((name for name, members in model.object_ranges if first in members), "?")
        where = f"particle {first}: its position"
        non_finite = [name for system in self.bound.systems if (name := system.non_finite()) is not None]
        if not bad.any() and non_finite:
            object_name, where = non_finite[0], "its pose or velocity"
        worst = self.diagnostics.worst_block(state)
        frame = state.frame + 1
        self.undo(before)
        return DivergenceError(
            f"frame {frame} (t = {frame * self.settings.dt:g} s): {object_name!r}, {where} is no finite "
            f"number; worst constraint block: {worst}. The state is that of frame {frame - 1}. "
            + self._advice(frame * self.settings.dt)
        )

    def _advice(self, time: float) -> str:
        """What to do about numbers that are not finite at a time [s]."""
        wind = self.model.wind
        blows = 0.0 if wind is None else wind(time) if callable(wind) else wind
        given = {
            "gravity": float(np.linalg.norm(self.model.gravity)) * self.settings.dt,
            "wind": float(np.linalg.norm(np.asarray(blows, np.float64))),
        }
        for name, speed in given.items():
            if speed > MOST_SPEED:
                return f"The {name} alone gives {speed:.3g} m/s in a step; less than {MOST_SPEED:g} can be followed."
        return "More substeps, a smaller dt or a larger compliance may help."

    def undo(self, before: dict[str, Any]) -> None:
        """Bring the solver back to the last step, to what the user saw of it where that was kept, and what lasted."""
        state, model = self.state, self.model
        if "positions" in before:
            state.take({name: np.asarray(before[name]) for name in ("positions", "velocities")})
        state.x[model.slots, :3] = state.positions - state.origins[model.origin_index][model.slots]
        state.v[model.slots] = state.velocities
        for values in state.multipliers.values():
            values[...] = 0.0
        state.take({name: np.asarray(values) for name, values in before.items()})
        self.bind()
