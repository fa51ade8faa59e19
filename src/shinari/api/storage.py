"""What a simulation needs of the packages that read and write files, which stand above it.

`shinari` connects the two when it is imported; a program that has other files than those of the package can connect its
own.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from shinari.api.scene import Scene
    from shinari.api.simulation import Simulation


class RecorderProtocol(Protocol):
    """Writes frames of a simulation to files; `shinari.output.recorder.Recorder` is one."""

    def plan(self, steps: int) -> None:
        """Refuse, before a long run, to write the frames of so many steps to a file that cannot hold them."""
        ...

    def record(self, simulation: "Simulation | None" = None) -> None:
        """Write the moment if a frame is due."""
        ...


class Storage(Protocol):
    """Files of simulations."""

    def recorder(
        self, simulation: "Simulation", paths: Sequence[str | os.PathLike]
    ) -> AbstractContextManager[RecorderProtocol]:
        """Open files for the frames of a simulation."""
        ...

    def save(self, simulation: "Simulation", path: str | os.PathLike) -> None:
        """Write a checkpoint."""
        ...

    def load(self, path: str | os.PathLike, scene: "Scene | None") -> "Simulation":
        """The simulation of a checkpoint."""
        ...


_connected: dict[str, Callable[[], Any]] = {}


def connect(storage: Callable[[], Storage]) -> None:
    """Say what reads and writes files; `storage` is called when a file is first asked for."""
    _connected["storage"] = storage


def connected() -> Storage:
    """What reads and writes files."""
    return _connected["storage"]()
