"""Where the arrays of simulations live: on the host, or on a GPU with copies on the host that are fetched."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from shinari import check
from shinari.compute import Program, Record
from shinari.compute.batch import Batch
from shinari.model.state import State

if TYPE_CHECKING:
    from shinari.compute.cuda.memory import DeviceMemory
    from shinari.compute.cuda.transfers import Transfer, Transfers


# A state on a GPU is copied to the host at least so far apart [s]; it is what is left when the GPU fails.
KEEP_EVERY = 5.0


class Host:
    """Arrays of the host."""

    program: Callable[[], Program] = Program

    def __init__(self) -> None:
        self._kept: dict[str, np.ndarray] = {}

    def state(self, state: State) -> State:
        """The state, there."""
        return state

    def beside(self) -> "Host":
        """Where another world lives beside this one."""
        return Host()

    def batch(self, count: int) -> Any:
        """So many programs that run side by side."""
        return Batch(count)

    def prepare(self, program: Program) -> None:
        """A program of one of many worlds was recorded."""
        program.prepare()

    def arrays(self, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Arrays that are up to date when they are asked for."""
        return arrays

    def lend(self, arrays: dict[str, np.ndarray], name: str) -> Any:
        """An array as it is on a device; None on the host."""
        return None

    def raw(self, record: Record) -> dict[str, np.ndarray]:
        """Arrays of a record as they are on the host."""
        return dict(record.arrays)

    def raw_state(self, state: State) -> dict[str, np.ndarray]:
        """Arrays of a state as they are on the host."""
        return state.arrays()

    def write(self, array: np.ndarray, values: Any) -> None:
        """Write values into an array."""
        array[...] = values

    def copied(self, array: np.ndarray) -> Any:
        """A copy of an array, for `write`."""
        return array.copy()

    def bind(self) -> None:
        """The systems are bound anew."""

    def rows(self, state: State, particles: np.ndarray) -> np.ndarray:
        """Positions and inverse masses of some particles in solver order."""
        return state.x[particles]

    def lasting(self, state: State) -> dict[str, Any]:
        """Copies of the arrays that last from step to step, to undo one; in the same memory until they are asked again.

        An interrupt comes when a step has run in compiled code, so what the user sees is new by then.
        """
        kept, self._kept = self._kept, {}
        for name, now in (state.of_last_step() | state.lasting()).items():
            memory = kept.get(name)
            if memory is None or memory.shape != now.shape or memory.dtype != now.dtype:
                memory = np.empty_like(now)
            memory[...] = now
            self._kept[name] = memory
        return self._kept

    def later(self, state: State, wanted: Callable[[str], bool]) -> "Transfer | None":
        """Arrays of the state as they are now, on their way to the host; None: they are there."""
        return None

    has_to_keep = False
    """Whether a state is to be kept before the next step: nothing can be lost."""

    def keep(self, state: State) -> None:
        """Nothing can be lost."""

    def abandon(self, state: State) -> None:
        """A device has failed, which a host cannot."""


class Gpu:
    """Arrays of a GPU.

    Args:
        memory: The memory there of another world, which this one shares.
    """

    def __init__(self, memory: "DeviceMemory | None" = None) -> None:
        from shinari.compute.cuda.api import device
        from shinari.compute.cuda.memory import DeviceMemory

        self.memory = DeviceMemory(device()) if memory is None else memory
        self._transfers: Transfers | None = None
        self._kept: State | None = None
        self._kept_at = 0.0

    def program(self) -> Program:
        """A program that is played there."""
        from shinari.compute.cuda.program import DeviceProgram

        return DeviceProgram(self.memory, self)

    def state(self, state: State) -> State:
        """The state, there."""
        return DeviceState(state, self.memory)

    def beside(self) -> "Gpu":
        """Where another world lives beside this one, in the same memory."""
        return Gpu(self.memory)

    def batch(self, count: int) -> Any:
        """So many programs that run side by side."""
        from shinari.compute.cuda.batch import DeviceBatch

        return DeviceBatch(count)

    def prepare(self, program: Program) -> None:
        """A program of one of many worlds was recorded: the batch gives it a place."""

    def arrays(self, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Arrays that are up to date when they are asked for."""
        from shinari.compute.cuda.memory import Arrays

        return Arrays(self.memory, arrays)

    def lend(self, arrays: dict[str, np.ndarray], name: str) -> Any:
        """An array as it is on the device, without fetching it."""
        from shinari.compute.cuda.memory import plain

        return self.memory.lend(plain(arrays)[name])

    def raw(self, record: Record) -> dict[str, np.ndarray]:
        """Arrays of a record as they are on the host, without fetching them."""
        from shinari.compute.cuda.memory import plain

        return dict(plain(record.arrays))

    def raw_state(self, state: State) -> dict[str, np.ndarray]:
        """Arrays of a state as they are on the host, without fetching them."""
        from shinari.compute.cuda.memory import plain

        there = object.__new__(State)
        vars(there).update({k: plain(v) if isinstance(v, dict) else v for k, v in vars(state).items()})
        return there.arrays()

    def write(self, array: np.ndarray, values: Any) -> None:
        """Write values into an array, where it is now."""
        self.memory.write(array, values)

    def copied(self, array: np.ndarray) -> Any:
        """A copy of an array, for `write`, where it is now."""
        return self.memory.copy_of(array)

    def bind(self) -> None:
        """The systems are bound anew: arrays there are fetched, and their memory is freed."""
        self.memory.release(self)

    def rows(self, state: State, particles: np.ndarray) -> np.ndarray:
        """Positions and inverse masses of some particles in solver order."""
        return self.memory.rows(vars(state)["x"], particles)

    def lasting(self, state: State) -> dict[str, Any]:
        """Copies of the arrays that last from step to step, where they are now, to undo one."""
        named = {part: vars(state)[part] for part in ("multipliers", "broken")} | {
            "parts": vars(state)["system_arrays"]
        }
        seen = {"positions": "_positions", "velocities": "_velocities", "x": "x"}
        kept = {name: self.memory.keep((id(self), name), vars(state)[mine]) for name, mine in seen.items()}
        return kept | {
            f"{part}/{name}": self.memory.keep((id(self), part, name), array)
            for part, arrays in named.items()
            for name, array in arrays.raw()
        }

    def later(self, state: State, wanted: Callable[[str], bool]) -> "Transfer | None":
        """Arrays of the state whose names are wanted as they are now, on their way to the host beside what follows."""
        if self._transfers is None:
            from shinari.compute.cuda.transfers import Transfers

            self._transfers = Transfers(self.memory)
        arrays = self.raw_state(state)
        return self._transfers.begin({name: array for name, array in arrays.items() if wanted(name)})

    @property
    def has_to_keep(self) -> bool:
        """Whether a state is to be kept before the next step: the last one is old."""
        return self._kept is None or time.monotonic() - self._kept_at >= KEEP_EVERY

    def keep(self, state: State) -> None:
        """Copy the state to the host, in case that the device fails."""
        self._kept, self._kept_at = state.copy(), time.monotonic()

    def abandon(self, state: State) -> None:
        """The device has failed: the state is the last one that was copied to the host."""
        self.memory.abandon()
        if self._kept is not None:
            state.restore(self._kept)


def for_device(name: str) -> Host | Gpu:
    """Where the arrays of a simulation live.

    Raises:
        MissingExtraError: A GPU is asked for and numba-cuda is not installed.
        DeviceError: There is no GPU.
    """
    return Host() if name == "cpu" else Gpu()


def _fetched(name: str) -> Any:
    """An array of a state that is brought up to date when it is asked for."""

    def get(self: "DeviceState") -> np.ndarray:
        return self.memory.fetch(vars(self)[name])

    def put(self: "DeviceState", value: np.ndarray) -> None:
        vars(self)[name] = value

    return property(get, put)


class DeviceState(State):
    """A state whose arrays live on a device; each is fetched when it is asked for."""

    def __init__(self, state: State, memory: "DeviceMemory") -> None:
        from shinari.compute.cuda.memory import Arrays

        vars(self).update(vars(state))
        self.memory = memory
        for name in ("multipliers", "broken", "system_arrays"):
            vars(self)[name] = Arrays(memory, vars(state)[name])

    def on_device(self, name: str) -> Any:
        """Positions or velocities as they are on the GPU; see `State.on_device`."""
        check.choice("state", "name", name, ("positions", "velocities"))
        return self.memory.lend(vars(self)[f"_{name}"])

    _positions = _fetched("_positions")
    _velocities = _fetched("_velocities")
    x = _fetched("x")
    v = _fetched("v")
    origins = _fetched("origins")
