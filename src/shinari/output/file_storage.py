"""Files as `shinari.api.storage` asks for them: the recorder, and checkpoints."""

import os
from collections.abc import Sequence

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.output.recorder import Recorder


class FileStorage:
    """Result files by extension, and checkpoints."""

    def recorder(self, simulation: Simulation, paths: Sequence[str | os.PathLike]) -> Recorder:
        """Open files for the frames of a simulation; see `Recorder`."""
        return Recorder(simulation, paths)

    def save(self, simulation: Simulation, path: str | os.PathLike) -> None:
        """Write a checkpoint."""
        from shinari.io.checkpoint import save

        save(simulation, path)

    def load(self, path: str | os.PathLike, scene: Scene | None) -> Simulation:
        """The simulation of a checkpoint."""
        from shinari.io.checkpoint import load

        return load(path, scene)
