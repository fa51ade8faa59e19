"""Steps of many worlds: each world on one thread, several worlds at once."""

from collections.abc import Sequence

import numpy as np

from shinari.errors import LostDeviceError, MemoryLimitError, ShinariError
from shinari.solver.step import record_step
from shinari.solver.world import Progress, World

Errors = dict[int, ShinariError]
"""Why worlds could not take a step, by their numbers; their states are those of their last good steps."""


class WorldSteps:
    """Takes the steps of many worlds.

    Args:
        worlds: The worlds.
        progress: The record with which they were built.

    Attributes:
        frames: Steps that each world has taken, (W,) int64.
    """

    def __init__(self, worlds: Sequence[World], progress: Progress) -> None:
        self._worlds, self._progress = worlds, progress
        self._batch = worlds[0].device.batch(len(worlds))
        # counted for all at once: a loop over a thousand small worlds takes a tenth of the time of their steps
        self.frames = np.zeros(len(worlds), np.int64)
        for k, world in enumerate(worlds):
            world.state.show("frame", self.frames[k : k + 1])

    def take(self, chosen: np.ndarray, count: int, threads: int) -> Errors:
        """Take steps of some worlds.

        Args:
            chosen: Their numbers, (C,) int64.
            count: Steps.
            threads: Threads to use.

        Returns:
            The errors of those that could not take all steps.

        Raises:
            LostDeviceError: The GPU failed; the states are the last ones that were copied to the host.
        """
        try:
            if self._worlds[0].device.has_to_keep:
                for world in self._worlds:
                    world.device.keep(world.state)
            return self._take(chosen, count, threads)
        except LostDeviceError as error:
            for world in self._worlds:
                world.device.abandon(world.state)
            frames = sorted(world.state.frame for world in self._worlds)
            raise LostDeviceError(
                f"worlds: step: the GPU failed: {error}. The states are those of frames {frames[0]} to {frames[-1]}, "
                "the last ones copied to the host: save them, and go on in a new process."
            ) from error

    def _take(self, chosen: np.ndarray, count: int, threads: int) -> Errors:
        worlds = self._worlds
        compiled = np.array([worlds[k].steps is not None and not worlds[k].grabs for k in chosen.tolist()], bool)
        errors = self._take_compiled(chosen[compiled], count, threads)
        left = chosen[~compiled]
        for _ in range(count if len(left) else 0):
            errors |= self._take_one(left, threads)
            left = left[[k not in errors for k in left.tolist()]]
        return errors

    # ---- worlds that need no Python between steps ----

    def _take_compiled(self, left: np.ndarray, count: int, threads: int) -> Errors:
        errors: Errors = {}
        progress = self._progress
        progress.left[left] = count
        while len(left):
            self._batch.put({k: steps for k in left.tolist() if (steps := self._worlds[k].steps) is not None})
            progress.begun[left] = progress.done[left] = progress.far[left] = 0
            try:
                stopped, failed = self._batch.run(left, threads)
            except LostDeviceError:
                raise
            except BaseException:
                self._count(left)
                within = progress.begun[left] > progress.done[left]
                for k in left[within].tolist():
                    self._worlds[k].undo(self._worlds[k].before)
                for k in left[~within & (progress.far[left] != 0)].tolist():
                    self._worlds[k].recentre()
                raise
            self._count(left)
            for k in stopped[progress.far[stopped] == 0].tolist():
                errors[k] = self._worlds[k].diverged(self._worlds[k].before)
            errors |= {k: self._out_of_memory(k, error, self._worlds[k].before) for k, error in failed.items()}
            # an origin moves between two steps
            far = left[progress.far[left] != 0]
            for k in far.tolist():
                self._worlds[k].recentre()
            progress.left[far] -= progress.done[far]
            left = far[progress.left[far] > 0]
        return errors

    def _count(self, worlds: np.ndarray) -> None:
        """Count the steps that were done."""
        self.frames[worlds] += self._progress.done[worlds]

    # ---- worlds that do ----

    def _take_one(self, chosen: np.ndarray, threads: int) -> Errors:
        """Take one step of some worlds."""
        worlds = {k: self._worlds[k] for k in chosen.tolist()}
        before = {k: world.lasting() for k, world in worlds.items()}
        frames = {k: world.state.frame for k, world in worlds.items()}
        try:
            for world in worlds.values():
                world.begin_step()
            self._batch.put({k: world.bound.prepare(record_step) for k, world in worlds.items()})
            stopped, failed = self._batch.run(chosen, threads)
            errors = {k: self._stopped(worlds[k], before[k]) for k in stopped.tolist()}
            errors |= {k: self._out_of_memory(k, error, before[k]) for k, error in failed.items()}
            for k, world in worlds.items():
                if k not in errors:
                    world.end_step()
        except LostDeviceError:
            raise
        except BaseException:
            for k, world in worlds.items():
                if world.state.frame == frames[k]:
                    world.undo(before[k])
            raise
        return errors

    @staticmethod
    def _stopped(world: World, before: dict[str, np.ndarray]) -> ShinariError:
        """Why a step was stopped."""
        try:
            for system in world.bound.systems:
                system.check()
        except ShinariError as error:
            world.undo(before)
            return error
        return world.diverged(before)

    def _out_of_memory(self, k: int, error: Exception, before: dict[str, np.ndarray]) -> ShinariError:
        self._worlds[k].undo(before)
        return (
            error if isinstance(error, ShinariError) else MemoryLimitError(f"simulation: step: memory ran out: {error}")
        )
