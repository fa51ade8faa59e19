"""The systems of a simulation, in the order in which a step goes through them, and the program that they record."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from shinari.compute import Program
from shinari.compute.kernels import CompileError
from shinari.errors import SceneError, UnsupportedDeviceError
from shinari.model.model import Model
from shinari.model.particles import Clock, Origins, Particles, UserState
from shinari.model.settings import Settings
from shinari.model.state import State
from shinari.model.system import System
from shinari.model.system_model import SystemModel
from shinari.scene.contents import Contents
from shinari.solver.particle_motion import ParticleMotion
from shinari.solver.rest import Rest

if TYPE_CHECKING:
    from shinari.systems.grabs.queries import Grab

RecordStep = Callable[[Program, Sequence[System], Clock, Settings], None]
T = TypeVar("T")


class BoundSystems:
    """The systems of one simulation.

    Attributes:
        scene: The scene.
        model: Its model.
        state: The state.
        settings: The settings.
        grabs: What is grabbed.
        particles: The particles.
        origins: Origins that positions are relative to.
        user: Particles as the user reads and writes them.
        clock: Where the step is.
        moved_in: Number of the pass over the contacts that last moved each particle noticeably, (N,).
        new_program: A program that is played where the simulation runs, on the host or on a GPU.
        systems: Systems that take part, in the order in which a step goes through them.
    """

    def __init__(
        self,
        scene: Contents,
        model: Model,
        state: State,
        settings: Settings,
        grabs: "list[Grab]",
        new_program: Callable[[], Program] = Program,
    ) -> None:
        real = model.real
        self.scene, self.model, self.state, self.settings, self.grabs = scene, model, state, settings, grabs
        self.new_program = new_program
        predicted = np.zeros((model.particle_count, 3), real)
        self.particles = Particles(real, x=state.x, v=state.v, predicted=predicted, origin_index=model.origin_index)
        self.origins, self.clock = Origins(real, position=state.origins), Clock.zeros(1, real)
        self.clock.substep_length[0], self.clock.awake[0] = settings.substep, 1
        self.moved_in = np.zeros(model.particle_count, np.uint32)
        self.user = UserState(real, position=state.positions, velocity=state.velocities, slot=model.slots)
        motion = ParticleMotion(model, settings, self.user, self.particles, self.origins, self.clock)
        self._by_model: list[tuple[SystemModel | None, Sequence[System]]] = [(None, [motion])]
        for each in model.systems:
            self._by_model.append((each, each.bind(self)))
        self._motion = motion
        self._first = True
        self._kept: State | None = None
        self._connect()
        self._read = new_program()
        self.record_read(self._read)

    def all_bound(self, kind: type[T]) -> list[T]:
        """The systems of a kind that are bound so far, whether they take part or not."""
        return [system for _, systems in self._by_model for system in systems if isinstance(system, kind)]

    def find(self, kind: type[T]) -> T | None:
        """The system of a kind, or None."""
        return next(iter(self.all_bound(kind)), None)

    def get(self, kind: type[T]) -> T:
        """The system of a kind, which there is."""
        return self.all_bound(kind)[0]

    def record_read(self, p: Program) -> None:
        """Record how to take over the values that the user wrote, and whether there is anything to do then."""
        self._motion.record_read(p)
        rest = self.find(Rest)
        if rest is not None and rest.active:
            rest.record_read(p)

    def read(self, threads: int) -> None:
        """Take over what the user wrote."""
        if self.model.particle_count:
            self._read.run(threads)

    def prepare(self, record: RecordStep) -> Program:
        """The program of a step, with all its kernels loaded or compiled."""
        if self._program is None:
            self.refuse_on_device()
            self._program = self.new_program()
            record(self._program, self.systems, self.clock, self.settings)
            try:
                self._program.prepare(self._read)
                self._read.prepare()
            except CompileError as error:
                raise SceneError(str(error)) from error
        return self._program

    def refuse_on_device(self) -> None:
        """Refuse systems that do not run on a GPU yet."""
        missing = [type(system).__name__ for system in self.systems if not system.on_device]
        if self.settings.device != "cpu" and missing:
            raise UnsupportedDeviceError(
                f"simulation: device: {', '.join(missing)}: does not run on a GPU yet; expected device='cpu' "
                "for this scene, see docs/gpu.md"
            )

    @property
    def program(self) -> Program | None:
        """The program of a step, if it has been recorded since a system came or went."""
        return self._program

    def advance(self, threads: int, record: RecordStep) -> bool:
        """Run a step; False when it was stopped."""
        return self.prepare(record).run(threads)

    def begin_rest(self, time: float, ends: np.ndarray) -> bool:
        """Whether the step that begins has nothing to do; arguments as of `System.begin`."""
        clock = self.clock
        if not clock.awake[0] and any(system.disturbed(time, ends) for system in self.systems):
            self.wake_rest()
        first, self._first = self._first, False
        if first and not clock.awake[0]:
            # what pushes is in no state: a step finds it, and is taken back
            self._kept, clock.awake[0] = self.state.copy(), 1
        return not clock.awake[0]

    def wake_rest(self) -> None:
        """A scene at rest is simulated again, from this step on."""
        self.clock.awake[0] = 1
        rest = self.find(Rest)
        if rest is not None:
            rest.wake()

    def take_back(self) -> bool:
        """Put the state back after a step that only found what pushes in a scene at rest; False: it was another one."""
        kept, self._kept = self._kept, None
        if kept is None:
            return False
        if self.get(Rest).left(kept.x):
            # a state in which something was changed, such as rows that are broken now
            self.wake_rest()
            return False
        self.state.take(kept.arrays())
        return True

    def follow_changes(self) -> None:
        """Bind contacts anew after constraint rows have been released; record anew where a system comes or goes."""
        systems = self.all_bound(System)
        for system in systems:
            system.follow_state()
        released = [system.take_released() for system in systems]
        if any(released):
            for system in systems:
                system.follow_release()
            for k, (model, _) in enumerate(self._by_model):
                if model is not None and model.rebound:
                    self._by_model[k] = model, ()
            for k, (model, _) in enumerate(self._by_model):
                if model is not None and model.rebound:
                    self._by_model[k] = model, model.bind(self)
            self._connect()
        elif self._active() != self.systems:
            self.arrange()
        else:
            return
        self.wake_rest()

    def arrange(self) -> None:
        """Put the systems in their order; the step is recorded anew."""
        self.systems = self._active()
        self._program: Program | None = None

    def _connect(self) -> None:
        for system in self.all_bound(System):
            system.connect(self)
        self.arrange()

    def _active(self) -> list[System]:
        """The systems that take part, in order."""
        return sorted((s for s in self.all_bound(System) if s.active), key=lambda system: system.order)
