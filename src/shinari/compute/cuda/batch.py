"""Programs of many worlds on a device: those of the same lines are played by the same launches."""

import numpy as np

from shinari.compute.cuda import words
from shinari.compute.cuda.player import Player
from shinari.compute.cuda.program import DeviceProgram


class DeviceBatch:
    """Programs that run side by side on a device; `shinari.compute.batch.Batch` is that of the host.

    Args:
        count: How many.
    """

    def __init__(self, count: int) -> None:
        self._programs: list[DeviceProgram | None] = [None] * count
        self._groups: list[tuple[np.ndarray, Player]] | None = None

    def put(self, programs: dict[int, DeviceProgram]) -> None:
        """Make programs those of their places in the batch; most are so already."""
        for job, program in programs.items():
            if self._programs[job] is not program:
                self._programs[job], self._groups = program, None

    def prepare(self) -> None:
        """Compile all kernels, and give the programs a place on the device."""
        if self._groups is not None:
            return
        members: dict[tuple, list[int]] = {}
        for job, program in enumerate(self._programs):
            if program is not None:
                members.setdefault(program.signature(), []).append(job)
        self._groups = [
            (np.array(jobs), Player([program for job in jobs if (program := self._programs[job]) is not None]))
            for jobs in members.values()
        ]

    def run(self, jobs: np.ndarray, threads: int) -> tuple[np.ndarray, dict[int, Exception]]:
        """Run programs from their begin to their end.

        Args:
            jobs: Their places in the batch, (J,) int64.
            threads: Not used.

        Returns:
            Those that a `stop_if` ended, and errors of others: no memory for a list.
        """
        self.prepare()
        stopped: list[int] = []
        errors: dict[int, Exception] = {}
        for members, player in self._groups or ():
            chosen = np.isin(members, jobs)
            if not chosen.any():
                continue
            halts, failed = player.run(chosen)
            stopped += members[chosen & (halts == words.STOP)].tolist()
            errors |= {int(members[k]): error for k, error in failed.items()}
        return np.array(sorted(stopped), np.int64), errors
