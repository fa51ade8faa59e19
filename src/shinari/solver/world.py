"""One world among many: a run whose steps are replayed beside those of others.

Where no system needs Python between steps, the steps of a world are one program: take over what the user wrote, keep
what a failed step needs, take the step, see whether an origin has to move. Else Python begins and ends each step, and
the program between is that of a simulation. The launches are the same in both, and so are the bits.
"""

import numpy as np

from shinari.compute import Field, Program, Record, kernel
from shinari.compute.batch import record_copy
from shinari.model.model import Model
from shinari.model.particles import Particles
from shinari.model.settings import Settings
from shinari.model.state import State, start
from shinari.scene.contents import Contents
from shinari.solver.device_state import Gpu, Host
from shinari.solver.run import REACH, Run
from shinari.solver.step import begin_step, end_step, record_step
from shinari.solver.stepping import Stepping


class Progress(Record):
    """Steps of a call, a row for each world."""

    left = Field(np.int64, doc="steps to take")
    begun = Field(np.int64, doc="steps that were begun")
    done = Field(np.int64, doc="steps that were taken")
    far = Field(np.int64, doc="whether a particle is so far from its origin that the origin has to move")


class Firsts(Record):
    """The first particle of each object whose origin moves along."""

    particle = Field(np.int64)


@kernel
def begin_counting(_, progress: Progress, world: int):
    """A step begins: until it is done its world is between two states."""
    progress.begun[world] = progress.done[world] + 1


@kernel
def count_step(_, progress: Progress, particles: Particles, firsts: Firsts, world: int):
    """A step is done: see whether an object has travelled far."""
    far = 0
    for k in range(len(firsts)):
        x = particles.x[firsts.particle[k]]
        if max(abs(x[0]), abs(x[1]), abs(x[2])) >= np.float32(REACH):
            far = 1
    progress.done[world] += 1
    progress.far[world] = far


class World(Run):
    """A world among many.

    Args:
        scene: The scene.
        settings: How it is simulated.
        model: Its model.
        described: The scene with the values of this world.
        shown: Arrays that are to hold what the user sees, by their name in the state.
        progress: Steps of a call, of all worlds.
        index: Its row there.
        device: Where its arrays live.
        stepping: Who takes steps of all worlds.

    Attributes:
        steps: The program of several steps, where no system needs Python; else None.
    """

    def __init__(
        self,
        scene: Contents,
        settings: Settings,
        model: Model,
        described: Contents,
        shown: dict[str, np.ndarray],
        progress: Progress,
        index: int,
        device: Host | Gpu,
        stepping: Stepping,
    ) -> None:
        self._shown, self._progress, self._index = shown, progress, index
        self.steps: Program | None = None
        super().__init__(scene, settings, model, described, device, stepping)

    def first_state(self) -> State:
        """The state in which the scene begins; the user sees its arrays in those of all worlds."""
        state = super().first_state()
        for name, target in self._shown.items():
            target[...] = state.arrays()[name]
            state.show(name, target)
        return state

    def prepare(self) -> None:
        """Record the steps, or where Python takes part, a step."""
        self.steps = None
        if any(system.needs_python for system in self.bound.systems):
            super().prepare()
            return
        self.bound.refuse_on_device()
        self._before = {name: values.copy() for name, values in self._kept().items()}
        self.steps = self._device.program()
        with self.steps.loop((self._progress.left, self._index)):
            self._record_step(self.steps)
        self._device.prepare(self.steps)

    def _record_step(self, p: Program) -> None:
        bound = self.bound
        bound.record_read(p)
        for name, array in self._kept().items():
            record_copy(p, array, self._before[name])
        p.serial(begin_counting, self._progress, self._index)
        record_step(p, bound.systems, bound.clock, self.settings)
        moves = self.settings.precision == "float32"
        firsts = Firsts(particle=self.firsts if moves else np.zeros(0, np.int64))
        p.serial(count_step, self._progress, bound.particles, firsts, self._index)
        if moves:
            p.stop_if((self._progress.far, self._index))

    def _kept(self) -> dict[str, np.ndarray]:
        """Arrays that a step is undone to; positions and velocities are written when it is done."""
        return {"x": self.state.x} | self.state.lasting()

    @property
    def needs_no_python(self) -> bool:
        """Whether its steps follow each other in compiled code."""
        return self.steps is not None and not self.grabs

    @property
    def device(self) -> Host | Gpu:
        """Where its arrays live."""
        return self._device

    def begin_step(self) -> None:
        """Begin a step in Python, where a system needs it."""
        begin_step(self.state, self.bound, self.settings, 1)

    def end_step(self) -> None:
        """End a step in Python, where a system needs it."""
        end_step(self.state, self.bound)
        if self.settings.precision == "float32":
            self.recentre()

    def go_back(self, kept: State | None) -> None:
        """Go back to a state that was kept, or the start of the scene, with the materials and pins that hold now."""
        for grab in list(self.grabs):
            grab.release()
        state = start(self.model, self.described) if kept is None else kept
        self.state.take(state.arrays())
        self.state.x[:, 3] = self.model.inverse_masses
        self.state.frame, self.state.external_work = state.frame, state.external_work
        self.bind()

    @property
    def before(self) -> dict[str, np.ndarray]:
        """The lasting arrays as they were before the last step that was replayed."""
        return self._device.arrays(self._before)
